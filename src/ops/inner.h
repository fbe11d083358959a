/*
 * Operators that are made of others: a kernel that runs the kernels of other rows, one after the other, on
 * values with bounds. What is between two of them is not stored by most engines, so infinities that appear
 * there are not certain for those that follow.
 *
 *     struct inner gelu;
 *     inner_begin(&gelu, call, "Gelu");
 *     node_set_string(&gelu.arena, gelu.node, "approximate", "tanh");
 *     return inner_last(&gelu, inputs, 1);
 */
#ifndef OPS_INNER_H
#define OPS_INNER_H

#include "base/arena.h"
#include "ops/op.h"

struct inner {
    struct op_call *call;
    const struct op *op;
    struct arena arena;
    Onnx__NodeProto *node; /* for attributes */
};

/* A step of `call` by the operator `name` of ONNX's own domain, in its newest form and without attributes. */
void inner_begin(struct inner *step, struct op_call *call, const char *name);

/* Runs the step, into a value between two steps, which the caller releases, or into the outputs of the call.
 * The step is over then, also when it failed. */
int inner_step(struct inner *step, const struct bounded *const *inputs, size_t count, struct bounded *out);
int inner_last(struct inner *step, const struct bounded *const *inputs, size_t count);

/* The same without attributes: out = name(a, b); b may be NULL. */
int inner_simple(struct op_call *call, const char *name, const struct bounded *a, const struct bounded *b,
                 struct bounded *out);

/* The dimensions in another order. */
int inner_transpose(struct op_call *call, const struct bounded *x, const int64_t *order, struct bounded *out);

/* Another shape for the same elements: x itself is changed. The number of elements must be the same. */
void inner_reshape(struct bounded *x, const struct shape *shape);

#endif
