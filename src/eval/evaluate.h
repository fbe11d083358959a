/*
 * The reference: evaluates a model node by node with the kernels of the operator table (ops/op.h). It
 * computes every value with its error bounds, types and shapes alone for the generators, or, as an engine
 * would, rounded values without bounds.
 */
#ifndef EVAL_EVALUATE_H
#define EVAL_EVALUATE_H

#include "bounds/precision.h"
#include "eval/lowered_products.h"
#include "model/index.h"
#include "ops/op.h"

struct evaluator;

struct evaluate_options {
    /*
     * Behave as an engine: every value is rounded to its type and has no bounds. Otherwise values are exact
     * and have bounds.
     */
    bool round;
    /*
     * Bounds for nodes that an engine may compute as one, by another formula that is equal in real numbers (a
     * running mean, a factor multiplied into a sum). Only constants are exact then; every other value gets
     * the bound of a few more roundings.
     */
    bool loose;
    /* Convolutions are computed as sums of products: the bounds do not allow for Winograd's algorithm. */
    bool direct;
    /* Nobody looks at the numbers of elements that are not judged: where bounds have grown so far that they
     * tell nothing (lost_bounds.h), numbers are not computed either. */
    bool only_judged;
    /* Operators of whose NaN ONNX says nothing are computed by the other reading (OP_NAN_UNSAID). */
    bool nans_left_out;
    /* With loose: products that the engine computes in fewer bits (lowered_products.h); NULL: none. */
    const struct lowered_products *lowered;
    /* What the device keeps values in, where that is not their type (bounds/precision.h); with bounds only.
     */
    enum precision precision;
    bool containers; /* results may be sequences and absent optionals, which are refused otherwise */
    /*
     * Called instead of a node's kernel unless NULL: for planted faults and disturbances. It may call
     * op->eval itself.
     */
    int (*hook)(void *context, struct op_call *call);
    bool results_only; /* the hook looks at no elements of inputs: weights may stay as they are stored */
    /* The same for gradients (gradient.h): called instead of op->gradient unless NULL. */
    int (*gradient_hook)(void *context, struct op_gradient *gradient);
    /* Called with each value that a node of the top graph gives, which it may replace, unless NULL: for
     * values that were recorded elsewhere. */
    int (*given)(void *context, const char *name, struct bounded *value, struct error *err);
    void *context; /* of all */
    /* Set to true, unless NULL, by a run in which ONNX leaves some value unspecified, even when no output
     * shows it, or the operator itself, which is an engine's own. */
    bool *open;
    /* Set to true, unless NULL, by a run with `direct` whose bounds may be narrower than without. */
    bool *narrow;
    /* Set to true, unless NULL, by a run in which the branch that an If does not take is not valid. */
    bool *idle;
};

/*
 * Prepares a model, which is borrowed; calls of its own functions are evaluated as the nodes of these. Fails
 * with ERROR_UNSUPPORTED, naming the operator, when the table does not have one at its opset, and with
 * ERROR_INVALID when the model breaks the rules of ONNX in a way that shows without data.
 */
int evaluator_new(struct evaluator **evaluator, const struct model *model,
                  const struct evaluate_options *options, struct error *err);
void evaluator_free(struct evaluator *evaluator);

/* The index of the model as it is evaluated, without calls of its own functions, and the options given. */
const struct model_index *evaluator_index(const struct evaluator *evaluator);
const struct evaluate_options *evaluator_options(const struct evaluator *evaluator);

/* Sets options.direct, or options.only_judged, for the runs that follow. */
void evaluator_set_direct(struct evaluator *evaluator, bool direct);
void evaluator_set_only_judged(struct evaluator *evaluator, bool only_judged);

/*
 * Runs the model. Inputs are found by name, those with name NULL by position. Outputs are those named;
 * n_outputs 0: all graph outputs in order. *results is a heap array of *count values; the caller releases
 * each and frees the array.
 */
int evaluator_run(struct evaluator *evaluator, const struct value *inputs, size_t n_inputs,
                  const char *const *outputs, size_t n_outputs, struct bounded **results, size_t *count,
                  struct error *err);

/*
 * Runs one node on given inputs, each a tensor of an engine (NULL: omitted). The results have the bounds of
 * this node alone. Of the options, `loose` makes them those of a node that is computed as one with the nodes
 * before it, `direct` is as above, and nothing else is looked at; NULL: neither. Outer values that the bodies
 * of the node use are looked up by name in `captured`. `shown` as in struct op_call: the engine's output 0,
 * or NULL.
 */
int evaluate_node(const struct model *model, const Onnx__NodeProto *node, const struct tensor *const *inputs,
                  const struct value *captured, size_t n_captured, const struct tensor *shown,
                  const struct evaluate_options *how, struct bounded *outputs, size_t n_outputs,
                  struct error *err);

/*
 * Infers types and shapes of the outputs of a node from those of its inputs, for generators. An input has a
 * value only if it is constant. Outer values that the bodies of the node use are looked up in `captured`.
 */
struct captured {
    const char *name;
    const struct bounded *value;
};
int infer_node_capturing(int opset, const Onnx__NodeProto *node, const struct bounded *const *inputs,
                         size_t n_inputs, const struct captured *captured, size_t n_captured,
                         struct bounded *outputs, size_t n_outputs, struct error *err);

/* Turns the result of a node into what the next node may read: an element that is not judged counts as a
 * number, and an infinite half is undecided (bounded_settle, bounded_widen). */
void evaluate_pass_on(struct bounded *result);

/* infer_node_capturing for a node whose bodies use no outer values. */
int infer_node(int opset, const Onnx__NodeProto *node, const struct bounded *const *inputs, size_t n_inputs,
               struct bounded *outputs, size_t n_outputs, struct error *err);

#endif
