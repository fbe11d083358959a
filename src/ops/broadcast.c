#include "ops/broadcast.h"

#include <stdlib.h>

int broadcast_init(struct broadcast *b, struct op_call *call)
{
    *b = (struct broadcast){.count = call->n_inputs};
    for (size_t k = 0; k < b->count; k++) {
        const struct bounded *in = call_need(call, k);
        struct shape joined;
        if (!in || call_broadcast(call, &b->shape, &in->shape, &joined))
            return -1;
        b->shape = joined;
    }
    b->strides = calloc(b->count ? b->count : 1, sizeof *b->strides);
    b->at = calloc(b->count ? b->count : 1, sizeof *b->at);
    if (!b->strides || !b->at)
        return error_set(call->err, ERROR_MEMORY, "no memory for %zu inputs", b->count);
    for (size_t k = 0; k < b->count; k++)
        b->strides[k] = strides_broadcast(&call->inputs[k]->shape, &b->shape);
    return 0;
}

void broadcast_next(struct broadcast *b)
{
    for (int i = b->shape.rank - 1; i >= 0; i--) {
        if (++b->index[i] < b->shape.dims[i]) {
            for (size_t k = 0; k < b->count; k++)
                b->at[k] += b->strides[k].of[i];
            return;
        }
        for (size_t k = 0; k < b->count; k++)
            b->at[k] -= b->strides[k].of[i] * (size_t)(b->index[i] - 1);
        b->index[i] = 0;
    }
}

void broadcast_release(struct broadcast *b)
{
    free(b->strides);
    free(b->at);
    *b = (struct broadcast){.count = 0};
}

int broadcast_same_type(struct op_call *call, size_t first)
{
    for (size_t k = first + 1; k < call->n_inputs; k++) {
        const struct bounded *in = call_need(call, k), *like = call_need(call, first);
        if (!in || !like)
            return -1;
        if (in->type != like->type)
            return call_invalid(call, "input %zu has type %s, input %zu has %s", k, dtype_name(in->type),
                                first, dtype_name(like->type));
    }
    return 0;
}

static void put_all(struct op_call *call, struct broadcast *walk, struct bounded *out,
                    void (*put)(const struct pair *pair, struct bounded *out, size_t i))
{
    const struct bounded *a = call->inputs[0], *b = call->inputs[1];
    struct pair pair = {.call = call, .type = out->type, .exact = !a->hard && !b->hard, .given_b = b->given};
    bool exact = pair.exact;
    for (size_t i = 0; i < out->count; i++, broadcast_next(walk)) {
        size_t at_a = walk->at[0], at_b = walk->at[1];
        pair.a = a->value[at_a];
        pair.b = b->value[at_b];
        if (!exact) {
            pair.hard_a = bounded_hard(a, at_a);
            pair.hard_b = bounded_hard(b, at_b);
            pair.likely_a = bounded_likely(a, at_a);
            pair.likely_b = bounded_likely(b, at_b);
            pair.exact = pair.hard_a == 0 && pair.hard_b == 0;
        }
        put(&pair, out, i);
    }
}

int broadcast_binary(struct op_call *call, enum dtype type,
                     void (*put)(const struct pair *pair, struct bounded *out, size_t i))
{
    int result = -1;
    struct broadcast walk;
    if (call->n_inputs != 2)
        return call_invalid(call, "has %zu inputs instead of 2", call->n_inputs);
    if (broadcast_init(&walk, call))
        goto out;
    struct bounded *out =
        call_output(call, 0, type == DTYPE_NONE ? call->inputs[0]->type : type, &walk.shape);
    if (!out)
        goto out;
    if (!call->shapes_only)
        put_all(call, &walk, out, put);
    result = 0;
out:
    broadcast_release(&walk);
    return result;
}

int broadcast_gradient(struct op_gradient *g, void (*add)(struct op_gradient *g, const struct broadcast *walk,
                                                          struct number upstream, struct gradient_sums *sums))
{
    struct gradient_sums *sums = NULL;
    struct broadcast walk;
    if (!g->upstream[0])
        return 0;
    int result = broadcast_init(&walk, g->call);
    if (!result)
        result = gradient_sums_all(g, &sums);
    for (size_t i = 0; !result && i < g->call->outputs[0].count; i++, broadcast_next(&walk))
        add(g, &walk, gradient_upstream(g, 0, i), sums);
    if (sums)
        gradient_sums_finish(g, sums);
    broadcast_release(&walk);
    return result;
}

struct shape broadcast_partner(struct draw *d, const struct shape *shape)
{
    struct shape partner = draw_broadcastable(d, shape);
    if (!draw_chance(d, 0.35))
        return partner;
    /* Larger where the other has 1, and of higher rank: as when the constant [1,1,1] meets a vector. */
    for (int i = 0; i < partner.rank; i++)
        if (shape->dims[shape->rank - partner.rank + i] == 1 && draw_chance(d, 0.5))
            partner.dims[i] = draw_between(d, 1, 4);
    int more = (int)draw_between(d, 0, 2);
    if (partner.rank != shape->rank || partner.rank + more > 6)
        return partner;
    struct shape wide = {.rank = partner.rank + more};
    for (int i = 0; i < wide.rank; i++)
        wide.dims[i] = i < more ? draw_between(d, 1, 3) : partner.dims[i - more];
    return wide;
}
