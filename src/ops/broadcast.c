#include "ops/broadcast.h"

#include <stdlib.h>
#include <string.h>

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

typedef void put_pair(const struct pair *pair, struct bounded *out, size_t i);
typedef bool put_row(struct pair_row *row);

/* Output elements one after the other whose operands follow each other, too, or are the same. */
struct run {
    size_t first, count; /* of the output */
    size_t at[2], step[2];
};

static void put_each(const struct pair *like, const struct run *run, struct bounded *out, put_pair *put)
{
    const struct bounded *a = like->call->inputs[0], *b = like->call->inputs[1];
    struct pair pair = *like;
    size_t at_a = run->at[0], at_b = run->at[1];
    for (size_t i = 0; i < run->count; i++, at_a += run->step[0], at_b += run->step[1]) {
        pair.a = a->value[at_a];
        pair.b = b->value[at_b];
        if (!like->exact) {
            pair.hard_a = bounded_hard(a, at_a);
            pair.hard_b = bounded_hard(b, at_b);
            pair.likely_a = bounded_likely(a, at_a);
            pair.likely_b = bounded_likely(b, at_b);
            pair.exact = pair.hard_a == 0 && pair.hard_b == 0;
        }
        put(&pair, out, run->first + i);
    }
}

/* False where a standard deviation is large. */
static bool read_operand(const struct bounded *from, size_t at, size_t step, size_t count, long double *value,
                         double *hard, double *likely)
{
    const double large = 0x1p200;
    bool small = true;
    for (size_t i = 0; i < count; i++)
        value[i] = from->value[at + i * step];
    for (size_t i = 0; i < count; i++) {
        hard[i] = bounded_hard(from, at + i * step);
        likely[i] = bounded_likely(from, at + i * step);
        small &= likely[i] < large;
    }
    return small;
}

/* At most BOUNDED_BLOCK elements. */
static bool put_together(const struct pair *like, const struct run *run, struct bounded *out, put_row *row)
{
    const struct bounded *a = like->call->inputs[0], *b = like->call->inputs[1];
    struct pair_row some;
    some.count = run->count;
    return read_operand(a, run->at[0], run->step[0], run->count, some.a, some.hard_a, some.likely_a) &&
           read_operand(b, run->at[1], run->step[1], run->count, some.b, some.hard_b, some.likely_b) &&
           row(&some) &&
           bounded_put_ordinary(
               out, run->first,
               &(struct bounded_row){
                   .count = some.count, .wide = some.value, .hard = some.hard, .likely = some.likely});
}

/* Joins the last dimensions, as far as both operands go through them in one step; what is left of the walk
 * is over the others. */
static struct run join_dimensions(struct broadcast *walk)
{
    struct run run = {.count = 1};
    int rank = walk->shape.rank;
    for (; rank > 0; rank--) {
        const struct strides *a = &walk->strides[0], *b = &walk->strides[1];
        size_t size = (size_t)walk->shape.dims[rank - 1], of_a = a->of[rank - 1], of_b = b->of[rank - 1];
        if (size == 1)
            continue;
        if (run.count > 1 && (of_a != run.step[0] * run.count || of_b != run.step[1] * run.count))
            break;
        if (run.count == 1) {
            run.step[0] = of_a;
            run.step[1] = of_b;
        }
        run.count *= size;
    }
    walk->shape.rank = rank;
    return run;
}

static void put_all(struct op_call *call, struct broadcast *walk, struct bounded *out, put_pair *put,
                    put_row *row)
{
    enum { FEW = 16 };
    const struct bounded *a = call->inputs[0], *b = call->inputs[1];
    struct pair like = {.call = call, .type = out->type, .exact = !a->hard && !b->hard, .given_b = b->given};
    struct run run = join_dimensions(walk);
    size_t length = run.count, most = BOUNDED_BLOCK;
    if (!row || out->type != DTYPE_FLOAT || length < FEW) {
        row = NULL;
        most = length;
    }
    for (run.first = 0; run.first < out->count; broadcast_next(walk)) {
        memcpy(run.at, walk->at, sizeof run.at);
        for (size_t left = length; left > 0; left -= run.count, run.first += run.count) {
            run.count = left < most ? left : most;
            if (!row || !put_together(&like, &run, out, row))
                put_each(&like, &run, out, put);
            run.at[0] += run.count * run.step[0];
            run.at[1] += run.count * run.step[1];
        }
    }
}

int broadcast_binary_rows(struct op_call *call, enum dtype type, put_pair *put, put_row *row)
{
    int result = -1;
    struct broadcast walk;
    if (call->n_inputs != 2)
        return call_invalid(call, "has %zu inputs instead of 2", call->n_inputs);
    if (broadcast_init(&walk, call))
        goto out;
    if (type == DTYPE_NONE)
        type = call->inputs[0]->type;
    struct bounded *out =
        row ? call_output_unset(call, 0, type, &walk.shape) : call_output(call, 0, type, &walk.shape);
    if (!out)
        goto out;
    if (!call->shapes_only)
        put_all(call, &walk, out, put, row);
    result = 0;
out:
    broadcast_release(&walk);
    return result;
}

int broadcast_binary(struct op_call *call, enum dtype type, put_pair *put)
{
    return broadcast_binary_rows(call, type, put, NULL);
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
