/*
 * A model while a rule rewrites it, and what rules ask of it and do to it.
 *
 * The model is a copy that the rule edits in place. `index` and `types` describe it as it was before the
 * rule: they are not updated. Everything a rule makes is in the model's arena, and names it makes are unique.
 * Nodes may be appended in any order; they are sorted afterwards. A rule that replaces a node removes it and
 * lets new nodes make values of the same names.
 */
#ifndef RULES_REWRITE_H
#define RULES_REWRITE_H

#include "base/random.h"
#include "case/test_case.h"
#include "eval/value_types.h"
#include "model/build.h"
#include "model/index.h"

struct rewrite {
    struct model *model;
    struct model_index index; /* of the model before this rule */
    struct value_types types; /* likewise, for the inputs of the case */
    size_t n_inputs;
    struct value *inputs; /* of the case, in its order; a rule may change, remove or add some */
    /* Relation and way of running; the rule's own relation is already there. origin and rewriting are not
     * set. */
    struct equivalence *way;
    /* The same numbers whenever this rule is applied at this site; for choices such as a permutation. */
    struct rng rng;
    size_t made; /* names made so far */
    struct error *err;
};

/* --- Questions --- */

int rewrite_opset(const struct rewrite *rewrite);

/* Whether the graph's inputs declare all their sizes. */
bool rewrite_has_fixed_sizes(const struct rewrite *rewrite);

/* Type and shape of a value, with all sizes known for the inputs of the case; NULL when they are not. */
const struct bounded *rewrite_type(const struct rewrite *rewrite, const char *name);

/* The type of a node's input; NULL when it is omitted or not known. */
const struct bounded *rewrite_input(const struct rewrite *rewrite, const Onnx__NodeProto *node,
                                    size_t number);

/* Whether the node has this input: it is there and not "". */
bool rewrite_has_input(const Onnx__NodeProto *node, size_t number);

/* Whether the reference has the operator, in the form of the model's opset, for this type of its first input.
 * False for opsets before 11. */
bool rewrite_takes(const struct rewrite *rewrite, const char *op_type, enum dtype type);

/* Whether the node has only its first output. */
bool rewrite_one_output(const Onnx__NodeProto *node);

/* The value of an initialiser that is no input, or of a Constant node with a tensor. Returns 1 with a tensor
 * that the caller releases, 0 when the value is not constant, -1 when reading it fails. */
int rewrite_constant(const struct rewrite *rewrite, const char *name, struct tensor *tensor,
                     struct error *err);

/* The value of a constant, or what the case gives as an input. Returns as rewrite_constant does. */
int rewrite_known(const struct rewrite *rewrite, const char *name, struct tensor *tensor, struct error *err);

/* Least and largest magnitude of the numbers of a known value that are not 0 (0 and 0 when all are);
 * `zeros`: some are 0. False when the value is not known or has a NaN or an infinity. */
struct magnitudes {
    long double least, largest;
    bool zeros;
};
bool rewrite_magnitudes(const struct rewrite *rewrite, const char *name, struct magnitudes *found);

/* A constant list of integers (axes, pads, shapes) in `values`; false when it is none, or has more than
 * `max`. */
bool rewrite_constant_ints(const struct rewrite *rewrite, const char *name, int64_t *values, size_t max,
                           size_t *count);

/* Whether no element of a value can be NaN or infinite: it is of an integer type, or its elements are known
 * because it is constant or an input of the case. */
bool rewrite_is_finite(const struct rewrite *rewrite, const char *name);

/*
 * The axes that a reduction reduces, counted from the front and ascending: from its attribute or its constant
 * input, all when it names none. False when they are not constant or not valid, or when there is nothing to
 * do (noop_with_empty_axes).
 */
bool rewrite_reduced_axes(const struct rewrite *rewrite, const Onnx__NodeProto *node, int rank,
                          int64_t axes[TENSOR_MAX_RANK], size_t *count);

/* The text of a string attribute in the model's arena, `otherwise` when it is absent. */
const char *rewrite_string(struct rewrite *rewrite, const Onnx__NodeProto *node, const char *name,
                           const char *otherwise);

/* --- Making --- */

/* A name that nothing in the model has. */
const char *rewrite_name(struct rewrite *rewrite, const char *stem);

/* Adds a node with the given inputs and outputs. rewrite_op adds one with a single output of a new name,
 * which it returns; *node, unless NULL, is the node, for its attributes. Inputs are a list that ends with
 * NULL. */
Onnx__NodeProto *rewrite_node(struct rewrite *rewrite, const char *op_type, const char *const *inputs,
                              const char *const *outputs);
const char *rewrite_op(struct rewrite *rewrite, const char *op_type, Onnx__NodeProto **node, ...)
    __attribute__((sentinel));

/* rewrite_op whose output has the given name. */
Onnx__NodeProto *rewrite_op_to(struct rewrite *rewrite, const char *output, const char *op_type, ...)
    __attribute__((sentinel));

/* New initialisers: a tensor, a list of int64, one int64 scalar, one number of a floating-point or integer
 * type (of shape [], or of a shape of ones with `rank`). */
const char *rewrite_tensor(struct rewrite *rewrite, const struct tensor *tensor);
const char *rewrite_ints(struct rewrite *rewrite, const int64_t *values, size_t count);
const char *rewrite_scalar(struct rewrite *rewrite, enum dtype type, int rank, long double value);

/* Operators whose form depends on the opset: axes are an attribute or an input. Each returns the name of its
 * result. */
const char *rewrite_reshape(struct rewrite *rewrite, const char *value, const struct shape *shape);
const char *rewrite_transpose(struct rewrite *rewrite, const char *value, const int64_t *order, size_t rank);
const char *rewrite_unsqueeze(struct rewrite *rewrite, const char *value, int64_t axis);
const char *rewrite_squeeze(struct rewrite *rewrite, const char *value, int64_t axis);
const char *rewrite_slice(struct rewrite *rewrite, const char *value, int64_t axis, int64_t start,
                          int64_t end);
void rewrite_split(struct rewrite *rewrite, const char *value, int64_t axis, const int64_t *sizes,
                   size_t count, const char **parts);
const char *rewrite_cast(struct rewrite *rewrite, const char *value, enum dtype type);
const char *rewrite_concat(struct rewrite *rewrite, int64_t axis, const char *const *values, size_t count);
const char *rewrite_reduce(struct rewrite *rewrite, const char *op_type, const char *value,
                           const int64_t *axes, size_t n_axes, bool keepdims);

/* Gives the value made by the last helper another name; through an Identity when it is used already. */
void rewrite_result(struct rewrite *rewrite, const char *from, const char *to);

/* The declaration of a value, for an output of the graph or of a body. Sizes are declared only where the
 * graph's inputs declare theirs: else they hold for the inputs of this case alone. */
Onnx__ValueInfoProto *rewrite_info(struct rewrite *rewrite, const char *name, const struct bounded *type);

/* Makes a value a graph output as well. */
void rewrite_expose(struct rewrite *rewrite, const char *name, const struct bounded *type);

/* --- Changing --- */

/* Removes a node of the top graph. */
void rewrite_remove(struct rewrite *rewrite, const Onnx__NodeProto *node);

/* Lets every node that uses a value, also in bodies, use another one. Graph outputs keep their names. */
void rewrite_redirect(struct rewrite *rewrite, const char *from, const char *to);

/*
 * Makes room for nodes right behind a value: whoever used the value, a graph output included, uses what the
 * rule computes as `*after` from `*before`. Either name may be new.
 */
void rewrite_intercept(struct rewrite *rewrite, const struct index_value *value, const char **before,
                       const char **after);

/* A copy of a node with the same attributes, inputs and outputs, added to the graph; its lists may be
 * changed.
 */
Onnx__NodeProto *rewrite_copy_node(struct rewrite *rewrite, const Onnx__NodeProto *node);

/* Sets an input of a node; the node gets omitted inputs in between where it has fewer. */
void rewrite_set_input(struct rewrite *rewrite, Onnx__NodeProto *node, size_t number, const char *name);

/* Adds settings to the way of running: "opt=none". */
void rewrite_add_knobs(struct rewrite *rewrite, const char *knobs);

/* Replaces the tensor of one input of the case, or removes the input from model and case. */
int rewrite_set_case_input(struct rewrite *rewrite, const char *name, struct tensor *tensor,
                           struct error *err);
void rewrite_drop_case_input(struct rewrite *rewrite, const char *name);

/* Adds an input to model and case; takes over the tensor's payload. */
void rewrite_add_case_input(struct rewrite *rewrite, const char *name, struct tensor *tensor);

/* What the case gives as an input; NULL when it gives no tensor, and for every other value. */
const struct tensor *rewrite_given(const struct rewrite *rewrite, const char *name);

/* Removes an initialiser, dense or sparse, by its number in the index. */
void rewrite_drop_initializer(struct rewrite *rewrite, size_t number);

/* Whether a name is that of an input of the graph; an initialiser of that name is only a default. */
bool rewrite_is_input(const struct rewrite *rewrite, const char *name);

#endif
