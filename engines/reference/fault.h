/*
 * Planted faults: published bugs of real frameworks in ONNX form, the ground truth for everything that claims
 * to find bugs.
 *
 * One file a paper, one row a fault. A fault is active only under its trigger; the engine is right everywhere
 * else. The healthy reference never comes near this code: the evaluator's hook is set only when a fault is
 * asked for.
 */
#ifndef REFERENCE_FAULT_H
#define REFERENCE_FAULT_H

#include "model/index.h"
#include "ops/op.h"

/* What a fault may look at besides the call: the model around the node, and the engine's opt knob. */
struct fault_scene {
    const struct fault *fault;
    const struct model *model;
    const struct model_index *index;
    bool optimised; /* opt=all */
};

struct fault {
    const char *name, *paper;
    const char *operators; /* "Conv|MaxPool", "any" */
    const char *parameter; /* at fault, "-" when none */
    const char *summary;
    /* Instead of the kernel of a node of one of its operators; calls call->op->eval itself where it is right.
     * May be NULL. */
    int (*eval)(const struct fault_scene *scene, struct op_call *call);
    /* When a model is loaded. May be NULL. */
    void (*load)(const struct fault_scene *scene);
};

/* Each file's rows end with a NULL name. */
extern const struct fault faults_cradle[], faults_audee[], faults_eagle[], faults_graph_fuzzing[];

/* NULL when there is none of that name. */
const struct fault *fault_find(const char *name);

/* The hook for evaluate_options: context is a struct fault_scene. */
int fault_hook(void *context, struct op_call *call);

/* "name\tpaper\toperators\tparameter\tsummary\n" for each, on the heap: the help text of the knob. */
char *fault_list(void);

#endif
