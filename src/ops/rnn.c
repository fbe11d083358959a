/*
 * What LSTM, GRU and RNN share: checks, matrix products, states and outputs (rnn.h). The equations are in
 * recurrent.c.
 */
#include "ops/rnn.h"

#include "base/limits.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int check_shape(struct op_call *call, const struct bounded *b, const char *name, int rank,
                       const int64_t *dims)
{
    struct shape want = shape_make(rank, dims);
    char is[SHAPE_TEXT_SIZE], should[SHAPE_TEXT_SIZE];
    if (b && !shape_equal(&b->shape, &want))
        return call_invalid(call, "%s has shape %s instead of %s", name, shape_text(&b->shape, is),
                            shape_text(&want, should));
    return 0;
}

static int read_direction(struct rnn *rnn)
{
    const char *text = call_string(rnn->call, "direction", "forward");
    rnn->directions = strcmp(text, "bidirectional") == 0 ? 2 : 1;
    rnn->reverse = strcmp(text, "reverse") == 0;
    if (rnn->directions == 1 && !rnn->reverse && strcmp(text, "forward") != 0)
        return call_invalid(rnn->call, "direction is not one of forward, reverse, bidirectional");
    return 0;
}

static int read_attributes(struct rnn *rnn, const struct bounded *x, const struct bounded *r)
{
    struct op_call *call = rnn->call;
    int64_t layout = call_int(call, "layout", 0), hidden = call_int(call, "hidden_size", r->shape.dims[2]);
    if (read_direction(rnn))
        return -1;
    if (layout != 0 && (layout != 1 || call->opset < 14))
        return call_invalid(call, "layout %" PRId64 " is not known", layout);
    if (hidden < 1 || hidden != r->shape.dims[2])
        return call_invalid(call, "hidden_size %" PRId64 " differs from the weights", hidden);
    rnn->batch_first = layout == 1;
    rnn->steps = (size_t)x->shape.dims[layout];
    rnn->batch = (size_t)x->shape.dims[1 - layout];
    rnn->input = (size_t)x->shape.dims[2];
    rnn->hidden = (size_t)hidden;
    rnn->clip = call_float(call, "clip", INFINITY);
    if (!(rnn->clip >= 0))
        return call_invalid(call, "clip is negative");
    if (rnn->clip == 0)
        return call_unsupported(call, "whether a clip of 0 clips everything or nothing is not said");
    return 0;
}

static int check_inputs(const struct rnn *rnn, const struct bounded *w, const struct bounded *r)
{
    struct op_call *call = rnn->call;
    int64_t directions = (int64_t)rnn->directions, rows = (int64_t)(rnn->gates * rnn->hidden);
    int64_t hidden = (int64_t)rnn->hidden, batch = (int64_t)rnn->batch;
    const struct bounded *lengths = call_input(call, 4);
    for (size_t i = 0; i < call->n_inputs; i++) {
        const struct bounded *b = call_input(call, i);
        if (b && b->type != (i == 4 ? DTYPE_INT32 : rnn->type))
            return call_invalid(call, "input %zu has the wrong type", i);
    }
    if (check_shape(call, w, "W", 3, (const int64_t[]){directions, rows, (int64_t)rnn->input}) ||
        check_shape(call, r, "R", 3, (const int64_t[]){directions, rows, hidden}) ||
        check_shape(call, call_input(call, 3), "B", 2, (const int64_t[]){directions, 2 * rows}) ||
        check_shape(call, lengths, "sequence_lens", 1, &batch))
        return -1;
    for (size_t i = 0; lengths && lengths->value && i < lengths->count; i++) {
        if (bounded_hard(lengths, i) > 0)
            return call_unsupported(call, "a sequence length is undecided");
        if (lengths->value[i] < 0 || lengths->value[i] > (long double)rnn->steps)
            return call_invalid(call, "a sequence length is out of range");
    }
    return rnn_state_check(rnn, 5);
}

struct shape rnn_state_shape(const struct rnn *rnn)
{
    int64_t directions = (int64_t)rnn->directions, batch = (int64_t)rnn->batch, hidden = (int64_t)rnn->hidden;
    if (rnn->batch_first)
        return (struct shape){.rank = 3, .dims = {batch, directions, hidden}};
    return (struct shape){.rank = 3, .dims = {directions, batch, hidden}};
}

int rnn_state_check(const struct rnn *rnn, size_t input)
{
    struct shape shape = rnn_state_shape(rnn);
    return check_shape(rnn->call, call_input(rnn->call, input), "an initial state", shape.rank, shape.dims);
}

static int make_outputs(struct rnn *rnn)
{
    int64_t steps = (int64_t)rnn->steps, directions = (int64_t)rnn->directions;
    int64_t batch = (int64_t)rnn->batch, hidden = (int64_t)rnn->hidden;
    struct shape y = {.rank = 4, .dims = {steps, directions, batch, hidden}}, last = rnn_state_shape(rnn);
    if (rnn->batch_first)
        y = (struct shape){.rank = 4, .dims = {batch, steps, directions, hidden}};
    rnn->y = call_output(rnn->call, 0, rnn->type, &y);
    if (!rnn->y)
        return -1;
    if (rnn->call->n_outputs > 1)
        rnn->last = call_output(rnn->call, 1, rnn->type, &last);
    return rnn->call->n_outputs > 1 && !rnn->last ? -1 : 0;
}

int rnn_begin(struct rnn *rnn, struct op_call *call, size_t gates, const enum activation_kind *defaults,
              size_t activations)
{
    const struct bounded *x = call_need(call, 0), *w = call_need(call, 1), *r = call_need(call, 2);
    *rnn = (struct rnn){.call = call, .gates = gates, .per_direction = activations};
    bounded_init(&rnn->state);
    if (!x || !w || !r)
        return -1;
    if (x->shape.rank != 3 || r->shape.rank != 3)
        return call_invalid(call, "X and R must have rank 3");
    rnn->type = x->type;
    if (read_attributes(rnn, x, r) || check_inputs(rnn, w, r) ||
        activations_read(call, activations * rnn->directions, defaults, activations, rnn->activations) ||
        make_outputs(rnn))
        return -1;
    if (call->shapes_only)
        return 0;
    rnn->u = unit_of(rnn->type);
    /* Two biases, a peephole's product and sum. */
    rnn->roundings = (long double)(rnn->input + rnn->hidden + 4);
    rnn->x = operand_of(x);
    rnn->w = operand_of(w);
    rnn->r = operand_of(r);
    rnn->bias = call_input(call, 3);
    rnn->lengths = call_input(call, 4);
    size_t rows = rnn->batch * gates * rnn->hidden;
    rnn->input_part = calloc(rnn->steps * rows + 1, sizeof *rnn->input_part);
    rnn->state_part = calloc(rows + 1, sizeof *rnn->state_part);
    if (!rnn->input_part || !rnn->state_part)
        return error_set(call->err, ERROR_MEMORY, "no memory for %zu gates", rnn->steps * rows);
    return 0;
}

void rnn_end(struct rnn *rnn)
{
    free(rnn->input_part);
    free(rnn->state_part);
    bounded_release(&rnn->state);
}

size_t rnn_state_at(const struct rnn *rnn, size_t batch, size_t unit)
{
    size_t row =
        rnn->batch_first ? batch * rnn->directions + rnn->direction : rnn->direction * rnn->batch + batch;
    return row * rnn->hidden + unit;
}

int rnn_state_load(const struct rnn *rnn, size_t input, struct bounded *state)
{
    const struct bounded *from = call_input(rnn->call, input);
    struct shape shape = {.rank = 2, .dims = {(int64_t)rnn->batch, (int64_t)rnn->hidden}};
    bounded_release(state);
    if (bounded_alloc(state, rnn->type, &shape, false, rnn->call->err))
        return -1;
    for (size_t b = 0; from && b < rnn->batch; b++)
        for (size_t j = 0; j < rnn->hidden; j++)
            bounded_move(state, b * rnn->hidden + j, from, rnn_state_at(rnn, b, j));
    return 0;
}

struct part_target {
    struct number *to;
    size_t columns;
};

static void keep_part(void *context, size_t i, size_t j, struct number sum)
{
    struct part_target *t = context;
    t->to[i * t->columns + j] = sum;
}

/* rows [m, k] at `rows` times the rows of `weights` from `base` on, transposed. */
static int multiply(const struct rnn *rnn, const struct operand *a, const size_t *rows, size_t m,
                    const struct operand *weights, size_t base, size_t n, size_t k,
                    struct part_target *target)
{
    struct error *err = rnn->call->err;
    size_t *inner = offsets_linear(k, 1, err), *cols = offsets_linear(n, k, err);
    int result = -1;
    if (inner && cols) {
        struct contraction c = {.type = rnn->type, .m = m, .n = n, .k = k};
        c.a = (struct view){a, 0, rows, inner};
        c.b = (struct view){weights, base, inner, cols};
        c.roundings = (double)rnn->roundings;
        c.sink = keep_part;
        c.context = target;
        result = contract(&c, err);
    }
    free(inner);
    free(cols);
    return result;
}

int rnn_direction(struct rnn *rnn, size_t direction)
{
    rnn->direction = direction;
    if (rnn_state_load(rnn, 5, &rnn->state))
        return -1;
    size_t *rows = offsets_linear(rnn->steps * rnn->batch, 0, rnn->call->err);
    size_t width = rnn->gates * rnn->hidden;
    struct part_target target = {rnn->input_part, width};
    for (size_t i = 0; rows && i < rnn->steps * rnn->batch; i++) {
        size_t t = i / rnn->batch, b = i % rnn->batch;
        rows[i] = (rnn->batch_first ? b * rnn->steps + t : i) * rnn->input;
    }
    int result = rows ? multiply(rnn, &rnn->x, rows, rnn->steps * rnn->batch, &rnn->w,
                                 direction * width * rnn->input, width, rnn->input, &target)
                      : -1;
    free(rows);
    return result;
}

int rnn_recur(struct rnn *rnn, const struct bounded *from, size_t first, size_t gates)
{
    struct operand state = operand_of(from);
    size_t width = rnn->gates * rnn->hidden;
    if (limits_late(width * rnn->hidden))
        return -1;
    size_t *rows = offsets_linear(rnn->batch, rnn->hidden, rnn->call->err);
    struct part_target target = {rnn->state_part + first * rnn->hidden, width};
    size_t base = (rnn->direction * width + first * rnn->hidden) * rnn->hidden;
    int result = rows ? multiply(rnn, &state, rows, rnn->batch, &rnn->r, base, gates * rnn->hidden,
                                 rnn->hidden, &target)
                      : -1;
    free(rows);
    return result;
}

size_t rnn_length(const struct rnn *rnn, size_t batch)
{
    return rnn->lengths ? (size_t)rnn->lengths->value[batch] : rnn->steps;
}

size_t rnn_time(const struct rnn *rnn, size_t batch, size_t n)
{
    bool backwards = rnn->reverse || rnn->direction == 1;
    return backwards ? rnn_length(rnn, batch) - 1 - n : n;
}

static bool is_infinity(struct number n)
{
    return isinf(n.v) && n.h == 0;
}

/* Whether all partial sums of a gate's part stay far below overflow: its bound has at least
 * (roundings - 1) u times the sum of its magnitudes, unless it is exact, and then that sum is at most 1/u. */
static bool is_far_from_overflow(const struct rnn *rnn, struct number part)
{
    long double size = part.h / ((rnn->roundings - 1) * rnn->u) + fabsl(part.v);
    return size < (long double)dtype_highest(rnn->type) / 8;
}

/* The sum when one of both is infinite: certain if the other cannot become the opposite infinity. */
static struct number add_infinity(const struct rnn *rnn, struct number a, struct number b)
{
    if (is_infinity(a) && is_infinity(b))
        return (struct number){a.v, a.v == b.v ? 0 : INFINITY, 0};
    struct number infinity = is_infinity(a) ? a : b, other = is_infinity(a) ? b : a;
    return is_far_from_overflow(rnn, other) ? infinity : (struct number){infinity.v, INFINITY, 0};
}

struct number rnn_add(const struct rnn *rnn, struct number sum, struct number term)
{
    if (is_infinity(sum) || is_infinity(term))
        return add_infinity(rnn, sum, term);
    /* The most roundings of a term in any order. */
    long double u = rnn->u, steps = rnn->roundings;
    sum.h += term.h + steps * u * (fabsl(term.v) + term.h);
    sum.l = likely_add(likely_add(sum.l, term.l), u * sqrtl(steps) * fabsl(term.v));
    sum.v += term.v;
    /* Overflow depends on the order of the additions, and a clamp may hide it. */
    if (!(fabsl(sum.v) + fabsl(term.v) + sum.h + term.h < dtype_highest(rnn->type)))
        sum.h = INFINITY;
    return sum;
}

static struct number add_bias(const struct rnn *rnn, struct number sum, size_t half, size_t gate, size_t unit)
{
    size_t width = rnn->gates * rnn->hidden;
    if (!rnn->bias)
        return sum;
    size_t at = (rnn->direction * 2 + half) * width + gate * rnn->hidden + unit;
    return rnn_add(rnn, sum, number_of(rnn->bias, at));
}

struct number rnn_from_input(const struct rnn *rnn, size_t time, size_t batch, size_t gate, size_t unit)
{
    size_t width = rnn->gates * rnn->hidden;
    struct number sum = rnn->input_part[(time * rnn->batch + batch) * width + gate * rnn->hidden + unit];
    return add_bias(rnn, sum, 0, gate, unit);
}

struct number rnn_from_state(const struct rnn *rnn, size_t batch, size_t gate, size_t unit)
{
    size_t width = rnn->gates * rnn->hidden;
    return add_bias(rnn, rnn->state_part[batch * width + gate * rnn->hidden + unit], 1, gate, unit);
}

struct number rnn_activate_unclipped(const struct rnn *rnn, size_t which, struct number x)
{
    const struct activation *f = &rnn->activations[rnn->direction * rnn->per_direction + which];
    struct number y = activation_apply(f, x, rnn->u);
    /* A clamp of all that is computed to the finite numbers, as some engines have, hides infinities and NaN.
     */
    if (!isfinite(y.v))
        y.h = INFINITY;
    return y;
}

/* A number that may be beyond both ends may be anything between them. */
static struct number clip(const struct rnn *rnn, struct number x)
{
    struct number y = number_clamp(x, rnn->clip);
    if (x.h - fabsl(x.v) > rnn->clip && isfinite(x.h))
        y.h = x.h;
    return y;
}

struct number rnn_activate(const struct rnn *rnn, size_t which, struct number x)
{
    return rnn_activate_unclipped(rnn, which, isfinite(rnn->clip) ? clip(rnn, x) : x);
}

struct number rnn_slope(const struct rnn *rnn, size_t which, struct number x, struct number y)
{
    const struct activation *f = &rnn->activations[rnn->direction * rnn->per_direction + which];
    if (isfinite(x.v) && fabsl(x.v) - x.h > rnn->clip)
        return number_exact(0);
    if (!isfinite(x.v) || !isfinite(x.h) || fabsl(x.v) + x.h >= rnn->clip)
        return (struct number){0, INFINITY, 0};
    return activation_slope(f, x, y, rnn->u);
}

int rnn_tape_start(struct rnn *rnn, struct rnn_tape *tape, size_t slots)
{
    size_t units = rnn->steps * rnn->batch * rnn->hidden;
    *tape = (struct rnn_tape){.slots = slots};
    if (units > BOUNDED_LIMIT / slots)
        return error_set(rnn->call->err, ERROR_LIMIT,
                         "%zu steps of units are more than the reference supports", units);
    tape->at = calloc(units * slots + 1, sizeof *tape->at);
    if (!tape->at)
        return error_set(rnn->call->err, ERROR_MEMORY, "no memory for %zu steps of units", units);
    rnn->tape = tape;
    return 0;
}

void rnn_tape_release(struct rnn_tape *tape)
{
    free(tape->at);
    *tape = (struct rnn_tape){0};
}

static size_t tape_at(const struct rnn *rnn, size_t slot, size_t time, size_t batch, size_t unit)
{
    return ((time * rnn->batch + batch) * rnn->hidden + unit) * rnn->tape->slots + slot;
}

void rnn_record(const struct rnn *rnn, size_t slot, size_t time, size_t batch, size_t unit, struct number n)
{
    if (!isfinite(n.v)) /* what derivatives become beside NaN is left to engines */
        n.h = INFINITY;
    if (rnn->tape)
        rnn->tape->at[tape_at(rnn, slot, time, batch, unit)] = n;
}

struct number rnn_recorded(const struct rnn *rnn, size_t slot, size_t time, size_t batch, size_t unit)
{
    return rnn->tape->at[tape_at(rnn, slot, time, batch, unit)];
}

struct number rnn_gate(const struct rnn *rnn, size_t which, size_t slot, size_t time, size_t batch,
                       size_t unit, struct number x)
{
    struct number y = rnn_activate(rnn, which, x);
    rnn_record(rnn, slot, time, batch, unit, y);
    if (rnn->tape)
        rnn_record(rnn, slot + 1, time, batch, unit, rnn_slope(rnn, which, x, y));
    return y;
}

size_t rnn_output_at(const struct rnn *rnn, size_t time, size_t batch, size_t unit)
{
    size_t row = rnn->batch_first ? (batch * rnn->steps + time) * rnn->directions + rnn->direction
                                  : (time * rnn->directions + rnn->direction) * rnn->batch + batch;
    return row * rnn->hidden + unit;
}

struct number rnn_state(const struct rnn *rnn, struct number state)
{
    if (dtype_is_float(rnn->type) && !(fabsl(state.v) + state.h < dtype_highest(rnn->type) / 1024))
        state.h = INFINITY;
    return state;
}

void rnn_emit(struct rnn *rnn, size_t time, size_t batch, size_t unit, struct number h)
{
    size_t at = batch * rnn->hidden + unit;
    number_put(&rnn->state, at, rnn_state(rnn, h));
    bounded_move(rnn->y, rnn_output_at(rnn, time, batch, unit), &rnn->state, at);
}

/* An engine may keep a state wider than it shows it. */
static struct number shown_state(const struct rnn *rnn, long double value)
{
    long double half = rnn->u * fabsl(value);
    return (struct number){value, half, half / 2};
}

void rnn_follow(struct rnn *rnn, size_t n)
{
    const struct tensor *shown = rnn->call->shown;
    if (n == 0 || !shown || shown->type != rnn->type || !shape_equal(&shown->shape, &rnn->y->shape))
        return;
    for (size_t b = 0; b < rnn->batch; b++)
        for (size_t j = 0; n < rnn_length(rnn, b) && j < rnn->hidden; j++) {
            size_t time = rnn_time(rnn, b, n - 1);
            long double value = tensor_get(shown, rnn_output_at(rnn, time, b, j));
            if (isfinite(value))
                number_put(&rnn->state, b * rnn->hidden + j, shown_state(rnn, value));
        }
}

void rnn_store(const struct rnn *rnn, const struct bounded *state, struct bounded *out)
{
    for (size_t b = 0; out && b < rnn->batch; b++)
        for (size_t j = 0; j < rnn->hidden; j++)
            if (rnn_length(rnn, b) == 0)
                bounded_put_open(out, rnn_state_at(rnn, b, j));
            else
                bounded_move(out, rnn_state_at(rnn, b, j), state, b * rnn->hidden + j);
}

void rnn_cut(struct rnn *rnn, const struct rnn_range *range, struct bounded *cells)
{
    for (size_t b = 0; b < rnn->batch; b++) {
        if (rnn_length(rnn, b) == 0 || !rnn_range_holds(rnn, range, b))
            continue;
        for (size_t j = 0; j < rnn->hidden; j++) {
            for (size_t t = 0; t < rnn_length(rnn, b); t++)
                rnn_range_apply(rnn->y, rnn_output_at(rnn, t, b, j), range->out);
            if (rnn->last)
                rnn_range_apply(rnn->last, rnn_state_at(rnn, b, j), range->out);
            if (cells)
                rnn_range_apply(cells, rnn_state_at(rnn, b, j), range->cell);
        }
    }
}

void rnn_finish(struct rnn *rnn)
{
    rnn_store(rnn, &rnn->state, rnn->last);
    for (size_t b = 0; b < rnn->batch; b++)
        for (size_t t = rnn_length(rnn, b); t < rnn->steps; t++)
            for (size_t j = 0; j < rnn->hidden; j++)
                bounded_put_open(rnn->y, rnn_output_at(rnn, t, b, j));
}
