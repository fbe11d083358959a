/* The range that the outputs of recurrent operators cannot leave (rnn.h). */
#include "ops/rnn.h"

#include <math.h>

/* The most that correct implementations of a bounded function reach; infinite for the others. */
static long double reach_of(const struct activation *a)
{
    switch (a->kind) {
    case ACT_TANH:
    case ACT_SIGMOID:
    case ACT_HARD_SIGMOID:
    case ACT_SOFTSIGN:
        return 1;
    case ACT_SCALED_TANH:
        return fmaxl(1, fabsl(a->alpha));
    default:
        return INFINITY;
    }
}

/* Whether a gate lies between 0 and 1, so that 1 - gate does, too. */
static bool is_share(const struct activation *a)
{
    return a->kind == ACT_SIGMOID || a->kind == ACT_HARD_SIGMOID;
}

/* The largest magnitude of a tensor, bounds included; infinite when an element is not known. */
static long double largest_of(const struct bounded *b)
{
    long double most = 0;
    for (size_t i = 0; b && i < b->count; i++) {
        long double size = fabsl(b->value[i]) + bounded_hard(b, i);
        most = size <= most ? most : isnan(size) ? (long double)INFINITY : size;
    }
    return most;
}

struct rnn_range rnn_range_of(const struct rnn *rnn, enum rnn_kind kind, bool coupled)
{
    const struct activation *f = &rnn->activations[rnn->direction * rnn->per_direction];
    /* Errors of functions, products and sums of one step, on the scale of the results. */
    long double slack = 1 + 64 * rnn->u, gate = slack * reach_of(&f[0]);
    struct rnn_range range = {.h = largest_of(call_input(rnn->call, 5)), .gate = gate};
    if (kind == RNN_SIMPLE) {
        range.out = gate;
    } else if (kind == RNN_GRU) {
        long double fresh = slack * reach_of(&f[1]);
        range.out = fmaxl(fresh, range.h);
        for (size_t t = 0; t < rnn->steps; t++)
            range.out = slack * (is_share(&f[0]) ? range.out : (1 + gate) * fresh + gate * range.out);
    } else {
        long double keep = coupled && !is_share(&f[0]) ? 1 + gate : gate;
        range.cell = largest_of(call_input(rnn->call, 6));
        for (size_t t = 0; t < rnn->steps; t++)
            range.cell = slack * (keep * range.cell + gate * slack * reach_of(&f[1]));
        range.out = slack * gate * reach_of(&f[2]);
    }
    range.h = fmaxl(range.h, range.out);
    return range;
}

/* Whether an infinite element of the input makes every gate infinite and none NaN: no weight of its column
 * may be 0, and the activations must be such that an infinity saturates them in every formula. */
static bool saturates(const struct rnn *rnn, size_t column)
{
    const struct bounded *w = call_input(rnn->call, 1);
    size_t rows = rnn->gates * rnn->hidden, first = rnn->direction * rows;
    for (size_t i = 0; i < rnn->per_direction; i++) {
        enum activation_kind kind = rnn->activations[rnn->direction * rnn->per_direction + i].kind;
        if (kind != ACT_SIGMOID && kind != ACT_TANH)
            return false;
    }
    for (size_t r = first; r < first + rows; r++) {
        size_t at = r * rnn->input + column;
        if (!(fabsl(w->value[at]) > bounded_hard(w, at)))
            return false;
    }
    return true;
}

/* The largest magnitude of the inputs of one step, without one infinity that saturates; infinite when an
 * element is not known, or when two infinities may cancel. */
static long double largest_of_step(const struct rnn *rnn, size_t row)
{
    const struct bounded *x = call_input(rnn->call, 0);
    long double most = 0;
    size_t infinities = 0;
    for (size_t k = 0; k < rnn->input; k++) {
        size_t i = row * rnn->input + k;
        long double size = fabsl(x->value[i]) + bounded_hard(x, i);
        bool infinity = isinf(x->value[i]) && bounded_hard(x, i) == 0;
        if (infinity && infinities++ == 0 && saturates(rnn, k))
            continue;
        most = size <= most ? most : isnan(size) ? (long double)INFINITY : size;
    }
    return most;
}

/* The same for one sequence. */
static long double largest_input(const struct rnn *rnn, size_t batch)
{
    long double most = 0;
    for (size_t t = 0; t < rnn->steps; t++) {
        size_t row = rnn->batch_first ? batch * rnn->steps + t : t * rnn->batch + batch;
        most = fmaxl(most, largest_of_step(rnn, row));
    }
    return most;
}

bool rnn_range_holds(const struct rnn *rnn, const struct rnn_range *range, size_t batch)
{
    if (!rnn->w.finite || !rnn->r.finite)
        return false;
    long double input = (long double)rnn->input * largest_input(rnn, batch) * rnn->w.largest;
    long double state = (long double)rnn->hidden * range->h * rnn->r.largest * fmaxl(1, range->gate);
    long double more = 2 * fmaxl(1, range->gate) * largest_of(rnn->bias) +
                       range->cell * (range->cell > 0 ? largest_of(call_input(rnn->call, 7)) : 0);
    long double room = (long double)dtype_highest(rnn->type) / 1024;
    return input + state + more < room && range->out < room && range->cell < room;
}

void rnn_range_apply(struct bounded *out, size_t i, long double most)
{
    long double v = out->value[i];
    if (isfinite(v) && fabsl(v) <= most && bounded_hard(out, i) >= 2 * most)
        bounded_put_range(out, i, v, -3 * most, 3 * most);
}
