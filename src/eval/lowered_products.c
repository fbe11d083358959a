#include "eval/lowered_products.h"

#include "bounds/steps.h"
#include "model/build.h"

#include <math.h>
#include <string.h>

bool lowered_lists(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at; at += strspn(at, "|")) {
        size_t here = strcspn(at, "|");
        if (here == length && strncmp(at, word, length) == 0)
            return true;
        at += here;
    }
    return false;
}

/* Signed codes are shifted, so that they and the zero point may be as large as the type is wide. */
struct codes codes_of(const struct lowered_products *lowered, const struct op_call *call)
{
    const struct bounded *code = call->n_inputs > 1 ? call->inputs[0] : NULL;
    const struct bounded *scale = call->n_inputs > 1 ? call->inputs[1] : NULL;
    struct codes codes = {0};
    if (!code || !scale || !scale->value || !lowered_lists(lowered->makers, call->node->op_type))
        return codes;
    for (size_t i = 0; i < scale->count; i++)
        codes.most = fmaxl(codes.most, fabsl(scale->value[i]));
    codes.most *= 2 * (dtype_highest(code->type) - dtype_lowest(code->type));
    codes.block = node_int(call->node, "block_size", 0);
    return codes;
}

/* The codes and the zero point may be summed up apart from each other (docs/bounds/microsoft.md). */
static int loosen_weights(struct bounded *out, const struct bounded *from, long double lost, long double u,
                          struct error *err)
{
    if (bounded_copy(out, from, err))
        return -1;
    for (size_t i = 0; out->value && i < out->count; i++)
        if (isfinite(out->value[i]))
            bounded_set(out, i, out->value[i], (double)(bounded_hard(out, i) + lost * u),
                        (double)(bounded_likely(out, i) + lost * u / 3));
    return 0;
}

int lower_operands(const struct lowered_products *lowered, const Onnx__NodeProto *node,
                   const struct codes *weights, const struct bounded **inputs, struct bounded *loosened,
                   struct error *err)
{
    const struct bounded *a = inputs[0];
    if (!(weights->most > 0) || !a || !a->value || !a->shape.rank ||
        !lowered_lists(lowered->products, node->op_type))
        return 0;
    size_t row = (size_t)a->shape.dims[a->shape.rank - 1];
    if (node_int(node, "transA", 0)) /* then the terms of one sum lie apart */
        row = a->count;
    size_t block = weights->block > 0 && row < a->count ? (size_t)weights->block : row;
    long double u = (long double)(row + 4) * unit_of(a->type);
    if (bounded_in_steps(&loosened[0], a, row, block ? block : 1, err) ||
        loosen_weights(&loosened[1], inputs[1], weights->most, u, err))
        return -1;
    inputs[0] = &loosened[0];
    inputs[1] = &loosened[1];
    return 0;
}
