/*
 * Planted faults: bugs in the manner of real frameworks, in ONNX form, the ground truth for everything that
 * claims to find bugs.
 *
 * There is one file for each paper whose published bugs these are, and one row for each fault. The faults in
 * faults_graph.c, faults_images.c and faults_running.c are not published ones: they are there so that every
 * equivalence rule (src/rules) has something to find, and their paper is "rules". Those in faults_gradient.c,
 * of paper "gradients", show in gradients alone; faults_newer.c, faults_narrow.c and
 * faults_microsoft.c, of paper "newer", give each operator and element type that newer releases of ONNX
 * brought, and the operators of com.microsoft, a fault of their own. Those of faults_reaching.c, of paper
 * "memory", read and write memory that is not theirs. A fault is active
 * only when its condition holds; everywhere else the engine is right. The reference without a fault never
 * runs this code: the evaluator's hook is set only when a fault is asked for.
 */
#ifndef REFERENCE_FAULT_H
#define REFERENCE_FAULT_H

#include "model/index.h"
#include "ops/op.h"

/* How the engine's model came into memory, knob `reload`, in the order of the knob's values. */
enum fault_reload { RELOAD_NO, RELOAD_ONNX, RELOAD_OWN };

struct fault_memory; /* what faults keep from run to run; see fault_memory.h */

/* What a fault may look at besides the call: the model around the node, the engine's knobs, and the past. */
struct fault_scene {
    const struct fault *fault;
    const struct model *model;
    const struct model_index *index;
    bool optimised; /* opt=all */
    int threads;
    bool bound; /* binding=on */
    enum fault_reload reload;
    bool from_file; /* the model was loaded by its path */
    size_t loads;   /* how often this process has loaded the same model before */
    struct fault_memory *memory;
};

struct fault {
    const char *name, *paper;
    const char *operators; /* "Conv|MaxPool", "any" */
    const char *parameter; /* the parameter at fault; "-" when there is none */
    const char *summary;
    /* Called instead of the kernel of each node with one of its operators; calls call->op->eval itself where
     * the result should be right. May be NULL. */
    int (*eval)(const struct fault_scene *scene, struct op_call *call);
    /* Called when a model is loaded. May be NULL. */
    void (*load)(const struct fault_scene *scene);
    /* Changes a model that was loaded, as an optimiser or a reader of files does. May be NULL. */
    void (*edit)(const struct fault_scene *scene, struct model *model);
    /* The parameter of the operator, as src/ops names it, without whose present value the fault sleeps: what
     * a search for the cause must name. NULL: none; data, types, other nodes or settings wake it. */
    const char *tied;
    /* Called instead of the gradient of each node with one of its operators; calls call->op->gradient itself.
     * May be NULL. A fault that has only this gives right outputs. */
    int (*gradient)(const struct fault_scene *scene, struct op_gradient *gradient);
    /* What a fault of memory reaches (faults_reaching.c); NULL of others. */
    const struct reach *reach;
};

/* Rows of paper "newer": a parameter that is not looked at, and anything else. */
#define FAULT_OF_PARAMETER(fault_name, of, at, says, function)                                               \
    {                                                                                                        \
        .name = fault_name, .paper = "newer", .operators = of, .parameter = at, .tied = at, .summary = says, \
        .eval = function                                                                                     \
    }
#define FAULT_OF_DATA(fault_name, of, says, function)                                             \
    {                                                                                             \
        .name = fault_name, .paper = "newer", .operators = of, .parameter = "-", .summary = says, \
        .eval = function                                                                          \
    }

/* Each file's rows end with a NULL name. */
extern const struct fault faults_cradle[], faults_audee[], faults_eagle[], faults_graph_fuzzing[],
    faults_graph[], faults_images[], faults_running[], faults_gradient[], faults_newer[], faults_narrow[],
    faults_microsoft[], faults_reaching[];

/* The fault with that name; NULL when there is none. */
const struct fault *fault_find(const char *name);

/* The hooks for evaluate_options: context is a struct fault_scene. */
int fault_hook(void *context, struct op_call *call);
int fault_gradient_hook(void *context, struct op_gradient *gradient);

/* "name\tpaper\toperators\tparameter\ttied\tsummary\n" for each, on the heap: the help text of the knob. */
char *fault_list(void);

#endif
