/* A node that was drawn, for tests that evaluate many of them. */
#ifndef UNIT_DRAWN_NODE_H
#define UNIT_DRAWN_NODE_H

#include "ops/draw.h"

#include <stdio.h>

static inline enum dtype drawn_type(struct rng *rng, dtype_set set)
{
    enum dtype type;
    do
        type = (enum dtype)rng_below(rng, DTYPE_COUNT);
    while (!dtype_in(type, set));
    return type;
}

/* The call that evaluates it. There is room for all its outputs. */
static inline struct op_call drawn_call(const struct draw *d, const struct bounded *const *inputs,
                                        struct bounded *outputs, struct error *err)
{
    return (struct op_call){.op = d->op,
                            .node = d->node,
                            .opset = d->opset,
                            .n_inputs = d->n_inputs,
                            .inputs = inputs,
                            .n_outputs = d->n_outputs ? d->n_outputs : 1,
                            .outputs = outputs,
                            .err = err};
}

static inline void drawn_describe(const struct draw *d)
{
    char text[SHAPE_TEXT_SIZE];
    printf("  %s opset %d fill %s\n", d->op->name, d->opset, fill_name(d->fill));
    for (size_t i = 0; i < d->n_inputs; i++)
        printf("  input %zu: %s %s\n", i, dtype_name(d->inputs[i].type),
               shape_text(&d->inputs[i].shape, text));
    for (size_t i = 0; i < d->node->n_attribute; i++) {
        const Onnx__AttributeProto *a = d->node->attribute[i];
        printf("  %s:", a->name);
        for (size_t k = 0; k < a->n_ints; k++)
            printf(" %lld", (long long)a->ints[k]);
        printf(" i=%lld f=%g s=%.*s\n", (long long)a->i, (double)a->f, (int)a->s.len,
               a->s.data ? (const char *)a->s.data : "");
    }
}

#endif
