/*
 * The reference: a model evaluated node by node by the operator table.
 */
#ifndef EVAL_EVALUATE_H
#define EVAL_EVALUATE_H

#include "model/index.h"
#include "ops/op.h"

struct evaluator;

struct evaluate_options {
    /*
     * Behave as an engine: every value is rounded into its type and carries no bounds. Without it values are
     * exact and carry bounds.
     */
    bool round;
    /*
     * Bounds for nodes that an engine may compute as one, by a formula that is the same for real numbers (a
     * mean that is kept up to date, a factor drawn into a sum): no value is exact but constants, each is as
     * if read with some units of its rounding more.
     */
    bool loose;
    /*
     * Called instead of a node's kernel when set: planted faults and disturbances. It may call op->eval
     * itself.
     */
    int (*hook)(void *context, struct op_call *call);
    void *context;
    /* Set to true, when it is there, by a run in which some value is open, shown or not. */
    bool *open;
    /* Set to true, when it is there, by a run in which the branch that an If does not take is not valid. */
    bool *idle;
};

/*
 * Prepares a model (borrowed): index, constants. Fails with ERROR_UNSUPPORTED naming the operator when the
 * table lacks one (at its opset), ERROR_INVALID when the model breaks ONNX's rules as far as that shows
 * without data.
 */
int evaluator_new(struct evaluator **evaluator, const struct model *model,
                  const struct evaluate_options *options, struct error *err);
void evaluator_free(struct evaluator *evaluator);

/*
 * Runs it. Inputs by name (values with name NULL by position); outputs by name, n_outputs 0: all graph
 * outputs in order. *results is a heap array the caller releases one by one and frees; *count its length.
 */
int evaluator_run(struct evaluator *evaluator, const struct value *inputs, size_t n_inputs,
                  const char *const *outputs, size_t n_outputs, struct bounded **results, size_t *count,
                  struct error *err);

/*
 * One node on given inputs, each an engine's own tensor (NULL: omitted); the results carry the bounds of this
 * node alone; loose: as of a node that is computed as one with those before it. For nodes with bodies,
 * captured outer values are looked up among `captured` by name.
 */
int evaluate_node(const struct model *model, const Onnx__NodeProto *node, const struct tensor *const *inputs,
                  const struct value *captured, size_t n_captured, bool loose, struct bounded *outputs,
                  size_t n_outputs, struct error *err);

/*
 * Types and shapes of one node's outputs from those of its inputs (value NULL unless constant). For
 * generators.
 */
struct captured {
    const char *name;
    const struct bounded *value;
};
int infer_node_capturing(int opset, const Onnx__NodeProto *node, const struct bounded *const *inputs,
                         size_t n_inputs, const struct captured *captured, size_t n_captured,
                         struct bounded *outputs, size_t n_outputs, struct error *err);

/* Makes of a node's result what the next node may see of it: an element that may be anything is a number, and
 * an infinite half may still be one. */
void evaluate_pass_on(struct bounded *result);

/* The same for a node whose bodies capture nothing. */
int infer_node(int opset, const Onnx__NodeProto *node, const struct bounded *const *inputs, size_t n_inputs,
               struct bounded *outputs, size_t n_outputs, struct error *err);

#endif
