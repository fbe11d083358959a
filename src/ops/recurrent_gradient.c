/*
 * Gradients of LSTM, GRU and RNN: back through time.
 *
 * A run of the kernel records gates, states and derivatives of the activations (recurrent.h). From the last
 * step to the first, the derivatives by the state give those by the sums inside the gates, and these those by
 * the state before. All steps together, they give the derivatives by X, W, R and the biases, as contractions.
 */
#include "ops/recurrent.h"

#include "ops/gradient.h"

#include <math.h>
#include <stdlib.h>

enum { IN_X, IN_W, IN_R, IN_B, IN_LENGTHS, IN_H, IN_C, IN_P, INPUTS };

struct back {
    struct op_gradient *g;
    struct rnn *rnn;
    size_t width; /* gates * hidden */
    /* Of the current direction; rows are time * batch + sequence: */
    struct bounded inner;   /* [rows, width]: derivatives by the sums inside the gates */
    struct bounded outer;   /* [rows, width]: by the parts h R' + bias of these sums; other than `inner` only
                               with linear_before_reset */
    struct bounded before;  /* [rows, hidden]: states before each step */
    struct bounded reset;   /* [rows, hidden]: those that the hidden gate of GRU multiplies */
    struct bounded step;    /* [batch, width]: the rows of `outer` of one step */
    struct number *state;   /* [batch, hidden]: derivatives by the state after the step under way */
    struct number *cell;    /* the same for LSTM's cell */
    struct number *through; /* [batch, hidden]: what a product gave */
    struct number *x;       /* of all directions: derivatives by X, in its layout */
    struct gradient_sums bias, peepholes;
};

static int make(struct back *b, struct bounded *to, size_t rows, size_t columns)
{
    struct shape shape = {.rank = 2, .dims = {(int64_t)rows, (int64_t)columns}};
    return bounded_alloc(to, b->rnn->type, &shape, false, b->rnn->call->err);
}

static int make_numbers(struct back *b, struct number **to, size_t count)
{
    *to = calloc(count + 1, sizeof **to);
    return *to ? 0 : error_set(b->rnn->call->err, ERROR_MEMORY, "no memory for %zu derivatives", count);
}

static void clear_direction(struct back *b)
{
    bounded_release(&b->inner);
    bounded_release(&b->outer);
    bounded_release(&b->before);
    bounded_release(&b->reset);
    bounded_release(&b->step);
    free(b->state);
    free(b->cell);
    free(b->through);
    b->state = b->cell = b->through = NULL;
}

static int start_direction(struct back *b)
{
    const struct rnn *rnn = b->rnn;
    size_t rows = rnn->steps * rnn->batch, units = rnn->batch * rnn->hidden;
    clear_direction(b);
    return make(b, &b->inner, rows, b->width) || make(b, &b->outer, rows, b->width) ||
                   make(b, &b->before, rows, rnn->hidden) || make(b, &b->reset, rows, rnn->hidden) ||
                   make(b, &b->step, rnn->batch, b->width) || make_numbers(b, &b->state, units) ||
                   make_numbers(b, &b->cell, units) || make_numbers(b, &b->through, units)
               ? -1
               : 0;
}

struct numbers_target {
    struct number *to;
    const size_t *rows, *cols;
    bool add;
    long double u;
};

static void keep_numbers(void *context, size_t i, size_t j, struct number sum)
{
    const struct numbers_target *t = context;
    struct number *to = &t->to[t->rows[i] + t->cols[j]];
    if (!isfinite(sum.v))
        sum = (struct number){0, INFINITY, 0};
    *to = t->add ? number_add(*to, sum, t->u) : sum;
}

/* b->through = step * R, for `gates` gates from number `first` on. */
static int through_state(struct back *b, size_t first, size_t gates)
{
    const struct rnn *rnn = b->rnn;
    struct error *err = rnn->call->err;
    size_t hidden = rnn->hidden, inner = gates * hidden;
    size_t *rows = offsets_linear(rnn->batch, b->width, err), *out = offsets_linear(rnn->batch, hidden, err),
           *terms = offsets_linear(inner, 1, err), *weights = offsets_linear(inner, hidden, err),
           *cols = offsets_linear(hidden, 1, err);
    int result = -1;
    if (rows && out && terms && weights && cols) {
        struct operand left = operand_of(&b->step);
        struct numbers_target target = {.to = b->through, .rows = out, .cols = cols};
        struct contraction c = {.type = rnn->type, .m = rnn->batch, .n = hidden, .k = inner};
        c.a = (struct view){&left, first * hidden, rows, terms};
        c.b = (struct view){&rnn->r, (rnn->direction * b->width + first * hidden) * hidden, weights, cols};
        c.roundings = (double)(b->width + 8);
        c.sink = keep_numbers;
        c.context = &target;
        result = contract(&c, err);
    }
    free(rows);
    free(out);
    free(terms);
    free(weights);
    free(cols);
    return result;
}

/* One unit at one step, and what its gates recorded. */
struct spot {
    size_t time, sequence, unit;
    size_t at;  /* in the state */
    size_t row; /* in `inner` */
};

static struct spot spot_at(const struct back *b, size_t n, size_t sequence, size_t unit)
{
    size_t time = rnn_time(b->rnn, sequence, n);
    return (struct spot){time, sequence, unit, sequence * b->rnn->hidden + unit,
                         time * b->rnn->batch + sequence};
}

static struct number recorded(const struct back *b, const struct spot *s, size_t slot)
{
    return rnn_recorded(b->rnn, slot, s->time, s->sequence, s->unit);
}

static struct number times(const struct back *b, struct number x, struct number y)
{
    struct number product = number_mul(x, y, b->rnn->u);
    long double tiny = contract_underflow(b->rnn->type) * (1 + number_most(x) + number_most(y));
    return isfinite(product.v) ? number_loosen(product, tiny, tiny) : (struct number){0, INFINITY, 0};
}

static struct number plus(const struct back *b, struct number x, struct number y)
{
    return number_add(x, y, b->rnn->u);
}

/* Stores the derivative by the sum inside a gate, for both of its parts. */
static void put_gate(struct back *b, const struct spot *s, size_t gate, struct number slope)
{
    size_t column = gate * b->rnn->hidden + s->unit;
    number_put(&b->inner, s->row * b->width + column, slope);
    bounded_move(&b->outer, s->row * b->width + column, &b->inner, s->row * b->width + column);
    bounded_move(&b->step, s->sequence * b->width + column, &b->inner, s->row * b->width + column);
}

static void put_outer(struct back *b, const struct spot *s, size_t gate, struct number slope)
{
    size_t column = gate * b->rnn->hidden + s->unit;
    number_put(&b->outer, s->row * b->width + column, slope);
    bounded_move(&b->step, s->sequence * b->width + column, &b->outer, s->row * b->width + column);
}

/* What has arrived at the state after step n: from later steps, from Y, and from Y_h after the last one. */
static struct number arrived(const struct back *b, const struct spot *s, size_t n)
{
    const struct rnn *rnn = b->rnn;
    struct number sum = b->state[s->at],
                  y = gradient_upstream(b->g, 0, rnn_output_at(rnn, s->time, s->sequence, s->unit));
    sum = plus(b, sum, y);
    if (n + 1 == rnn_length(rnn, s->sequence))
        sum = plus(b, sum, gradient_upstream(b->g, 1, rnn_state_at(rnn, s->sequence, s->unit)));
    return isfinite(sum.v) ? sum : (struct number){0, INFINITY, 0};
}

/* Calls `each` for all units of the sequences that have step n. */
static void each_unit(struct back *b, size_t n, void (*each)(struct back *b, const struct spot *s, size_t n))
{
    for (size_t i = 0; i < b->rnn->batch; i++)
        for (size_t j = 0; n < rnn_length(b->rnn, i) && j < b->rnn->hidden; j++) {
            struct spot s = spot_at(b, n, i, j);
            each(b, &s, n);
        }
}

/* The derivatives by the state before: what went through R. */
static void take_through(struct back *b, const struct spot *s, size_t n)
{
    (void)n;
    b->state[s->at] = b->through[s->at];
}

static void add_through(struct back *b, const struct spot *s, size_t n)
{
    (void)n;
    b->state[s->at] = plus(b, b->state[s->at], b->through[s->at]);
}

static void simple_unit(struct back *b, const struct spot *s, size_t n)
{
    number_put(&b->before, s->row * b->rnn->hidden + s->unit, recorded(b, s, SIMPLE_BEFORE));
    put_gate(b, s, 0, times(b, arrived(b, s, n), recorded(b, s, SIMPLE_GATE + 1)));
}

static int simple_step(struct back *b, size_t n)
{
    each_unit(b, n, simple_unit);
    if (through_state(b, 0, 1))
        return -1;
    each_unit(b, n, take_through);
    return 0;
}

static struct number gru_gate(const struct back *b, const struct spot *s, enum gru_gate gate)
{
    return recorded(b, s, GRU_FIRST + 2 * (size_t)gate);
}

static struct number gru_slope(const struct back *b, const struct spot *s, enum gru_gate gate)
{
    return recorded(b, s, GRU_FIRST + 2 * (size_t)gate + 1);
}

/* The update and the hidden gate: H' = (1 - z) h + z H. */
static void gru_unit(struct back *b, const struct spot *s, size_t n)
{
    struct number up = arrived(b, s, n), z = gru_gate(b, s, GRU_Z), before = recorded(b, s, GRU_BEFORE);
    struct number apart = number_sub(before, gru_gate(b, s, GRU_H), b->rnn->u),
                  rest = number_sub(number_exact(1), z, b->rnn->u);
    size_t at = s->row * b->rnn->hidden + s->unit;
    number_put(&b->before, at, before);
    number_put(&b->reset, at, times(b, gru_gate(b, s, GRU_R), before));
    put_gate(b, s, GRU_Z, times(b, times(b, up, apart), gru_slope(b, s, GRU_Z)));
    put_gate(b, s, GRU_H, times(b, times(b, up, rest), gru_slope(b, s, GRU_H)));
    put_gate(b, s, GRU_R, number_exact(0));
    b->state[s->at] = times(b, up, z);
}

/* The reset gate, through r . H that the hidden gate multiplied. */
static void gru_reset_early(struct back *b, const struct spot *s, size_t n)
{
    (void)n;
    struct number up = b->through[s->at];
    put_gate(b, s, GRU_R, times(b, times(b, up, recorded(b, s, GRU_BEFORE)), gru_slope(b, s, GRU_R)));
    b->state[s->at] = plus(b, b->state[s->at], times(b, up, gru_gate(b, s, GRU_R)));
}

/* The reset gate, by which the hidden gate's part of the state was multiplied. */
static void gru_reset_late(struct back *b, const struct spot *s, size_t n)
{
    (void)n;
    struct number up = number_of(&b->inner, s->row * b->width + GRU_H * b->rnn->hidden + s->unit);
    put_gate(b, s, GRU_R, times(b, times(b, up, recorded(b, s, GRU_PART)), gru_slope(b, s, GRU_R)));
    put_outer(b, s, GRU_H, times(b, up, gru_gate(b, s, GRU_R)));
}

static int gru_step_early(struct back *b, size_t n)
{
    each_unit(b, n, gru_unit);
    if (through_state(b, GRU_H, 1))
        return -1;
    each_unit(b, n, gru_reset_early);
    if (through_state(b, GRU_Z, 2))
        return -1;
    each_unit(b, n, add_through);
    return 0;
}

static int gru_step_late(struct back *b, size_t n)
{
    each_unit(b, n, gru_unit);
    each_unit(b, n, gru_reset_late);
    if (through_state(b, GRU_Z, GRU_GATES))
        return -1;
    each_unit(b, n, add_through);
    return 0;
}

static struct number lstm_gate(const struct back *b, const struct spot *s, enum lstm_gate gate)
{
    return recorded(b, s, LSTM_FIRST + 2 * (size_t)gate);
}

static struct number lstm_slope(const struct back *b, const struct spot *s, enum lstm_gate gate)
{
    return recorded(b, s, LSTM_FIRST + 2 * (size_t)gate + 1);
}

/* A gate's peephole: adds to the derivatives by it, and gives those by the cell that it saw. */
static struct number through_peephole(struct back *b, const struct spot *s, enum lstm_gate gate,
                                      struct number slope, struct number cell)
{
    const struct bounded *peepholes = call_input(b->rnn->call, IN_P);
    if (!peepholes)
        return number_exact(0);
    size_t at = (b->rnn->direction * 3 + (size_t)gate) * b->rnn->hidden + s->unit;
    if (b->peepholes.slope)
        gradient_sums_add(&b->peepholes, at, times(b, slope, cell));
    return times(b, slope, number_of(peepholes, at));
}

/* C' = f C + i c, H' = o h(C') */
static void lstm_unit(struct back *b, const struct spot *s, size_t n)
{
    const struct rnn *rnn = b->rnn;
    bool coupled = call_int(rnn->call, "input_forget", 0) != 0;
    struct number up = arrived(b, s, n), before = recorded(b, s, LSTM_CELL_BEFORE),
                  cell = recorded(b, s, LSTM_CELL), in = lstm_gate(b, s, LSTM_I),
                  fresh = lstm_gate(b, s, LSTM_C);
    struct number forget = coupled ? number_sub(number_exact(1), in, rnn->u) : lstm_gate(b, s, LSTM_F);
    struct number by_out = times(b, times(b, up, recorded(b, s, LSTM_SQUASHED)), lstm_slope(b, s, LSTM_O));
    struct number by_cell =
        times(b, times(b, up, lstm_gate(b, s, LSTM_O)), recorded(b, s, LSTM_SQUASHED + 1));
    by_cell = plus(b, b->cell[s->at], by_cell);
    if (n + 1 == rnn_length(rnn, s->sequence))
        by_cell = plus(b, by_cell, gradient_upstream(b->g, 2, rnn_state_at(rnn, s->sequence, s->unit)));
    by_cell = plus(b, by_cell, through_peephole(b, s, LSTM_O, by_out, cell));
    struct number by_in = times(b, by_cell, fresh), by_forget = number_exact(0);
    if (coupled)
        by_in = number_sub(by_in, times(b, by_cell, before), rnn->u);
    else
        by_forget = times(b, times(b, by_cell, before), lstm_slope(b, s, LSTM_F));
    by_in = times(b, by_in, lstm_slope(b, s, LSTM_I));
    struct number carry = times(b, by_cell, forget);
    carry = plus(b, carry, through_peephole(b, s, LSTM_I, by_in, before));
    if (!coupled)
        carry = plus(b, carry, through_peephole(b, s, LSTM_F, by_forget, before));
    number_put(&b->before, s->row * rnn->hidden + s->unit, recorded(b, s, LSTM_BEFORE));
    put_gate(b, s, LSTM_I, by_in);
    put_gate(b, s, LSTM_O, by_out);
    put_gate(b, s, LSTM_F, by_forget);
    put_gate(b, s, LSTM_C, times(b, times(b, by_cell, in), lstm_slope(b, s, LSTM_C)));
    b->cell[s->at] = isfinite(carry.v) ? carry : (struct number){0, INFINITY, 0};
}

static int lstm_step(struct back *b, size_t n)
{
    each_unit(b, n, lstm_unit);
    if (through_state(b, 0, LSTM_GATES))
        return -1;
    each_unit(b, n, take_through);
    return 0;
}

/* Offsets of the rows of X, by time * batch + sequence. */
static size_t *x_rows(const struct rnn *rnn)
{
    size_t *rows = offsets_linear(rnn->steps * rnn->batch, rnn->input, rnn->call->err);
    for (size_t i = 0; rows && rnn->batch_first && i < rnn->steps * rnn->batch; i++)
        rows[i] = (i % rnn->batch * rnn->steps + i / rnn->batch) * rnn->input;
    return rows;
}

/* inner * W, which is added to what the other direction gave. */
static int by_x(struct back *b)
{
    const struct rnn *rnn = b->rnn;
    struct error *err = rnn->call->err;
    size_t rows = rnn->steps * rnn->batch;
    size_t *out = x_rows(rnn), *left = offsets_linear(rows, b->width, err),
           *terms = offsets_linear(b->width, 1, err), *weights = offsets_linear(b->width, rnn->input, err),
           *cols = offsets_linear(rnn->input, 1, err);
    int result = -1;
    if (out && left && terms && weights && cols) {
        struct operand inner = operand_of(&b->inner);
        struct numbers_target target = {b->x, out, cols, true, rnn->u};
        struct contraction c = {.type = rnn->type, .m = rows, .n = rnn->input, .k = b->width};
        c.a = (struct view){&inner, 0, left, terms};
        c.b = (struct view){&rnn->w, rnn->direction * b->width * rnn->input, weights, cols};
        c.roundings = (double)(b->width + 2);
        c.sink = keep_numbers;
        c.context = &target;
        result = contract(&c, err);
    }
    free(out);
    free(left);
    free(terms);
    free(weights);
    free(cols);
    return result;
}

/* The sum over all rows of `gates` columns of slopes times a row of `with`, which is `columns` wide. */
static int by_weights(struct back *b, const struct bounded *slopes, size_t first, size_t gates,
                      const struct operand *with, const size_t *with_rows, size_t columns,
                      struct bounded *slope)
{
    const struct rnn *rnn = b->rnn;
    struct error *err = rnn->call->err;
    size_t rows = rnn->steps * rnn->batch, m = gates * rnn->hidden;
    size_t *units = offsets_linear(m, 1, err), *terms = offsets_linear(rows, b->width, err),
           *cols = offsets_linear(columns, 1, err), *to = offsets_linear(m, columns, err);
    int result = -1;
    if (units && terms && cols && to && with_rows) {
        struct operand left = operand_of(slopes);
        struct gradient_target target = {slope, (rnn->direction * b->width + first * rnn->hidden) * columns,
                                         to, cols};
        struct contraction c = {.type = rnn->type, .m = m, .n = columns, .k = rows};
        c.a = (struct view){&left, first * rnn->hidden, units, terms};
        c.b = (struct view){with, 0, with_rows, cols};
        c.roundings = (double)(rows + 2);
        c.sink = gradient_put;
        c.context = &target;
        result = contract(&c, err);
    }
    free(units);
    free(terms);
    free(cols);
    free(to);
    return result;
}

static int by_recurrence(struct back *b, bool resets, struct bounded *slope)
{
    const struct rnn *rnn = b->rnn;
    struct operand before = operand_of(&b->before), reset = operand_of(&b->reset);
    size_t *rows = offsets_linear(rnn->steps * rnn->batch, rnn->hidden, rnn->call->err);
    size_t plain = resets ? rnn->gates - 1 : rnn->gates;
    int result = by_weights(b, &b->outer, 0, plain, &before, rows, rnn->hidden, slope);
    if (result == 0 && resets)
        result = by_weights(b, &b->outer, plain, 1, &reset, rows, rnn->hidden, slope);
    free(rows);
    return result;
}

static void add_biases(struct back *b)
{
    const struct rnn *rnn = b->rnn;
    for (size_t i = 0; i < b->inner.count; i++) {
        size_t at = rnn->direction * 2 * b->width + i % b->width;
        gradient_sums_add(&b->bias, at, number_of(&b->inner, i));
        gradient_sums_add(&b->bias, at + b->width, number_of(&b->outer, i));
    }
}

/* The derivatives by an initial state; for a sequence of length 0 ONNX leaves unspecified what becomes of it.
 */
static void put_initial(struct back *b, size_t input, size_t output, const struct number *from)
{
    const struct rnn *rnn = b->rnn;
    struct bounded *slope = &b->g->slopes[input];
    bool given = output < rnn->call->n_outputs && b->g->upstream[output];
    for (size_t i = 0; slope->type != DTYPE_NONE && i < rnn->batch; i++)
        for (size_t j = 0; j < rnn->hidden; j++) {
            size_t to = rnn_state_at(rnn, i, j);
            if (rnn_length(rnn, i) > 0)
                number_put(slope, to, from[i * rnn->hidden + j]);
            else if (given)
                bounded_put_undecided(slope, to, 0);
        }
}

/* What all steps of a direction give to the inputs. */
static int finish_direction(struct back *b, bool resets)
{
    const struct rnn *rnn = b->rnn;
    struct bounded *slopes = b->g->slopes;
    if (b->x && by_x(b))
        return -1;
    if (slopes[IN_W].type != DTYPE_NONE) {
        size_t *rows = x_rows(rnn);
        int result = by_weights(b, &b->inner, 0, rnn->gates, &rnn->x, rows, rnn->input, &slopes[IN_W]);
        free(rows);
        if (result)
            return -1;
    }
    if (slopes[IN_R].type != DTYPE_NONE && by_recurrence(b, resets, &slopes[IN_R]))
        return -1;
    if (b->bias.slope)
        add_biases(b);
    if (rnn->call->n_inputs > IN_H)
        put_initial(b, IN_H, 1, b->state);
    if (rnn->call->n_inputs > IN_C)
        put_initial(b, IN_C, 2, b->cell);
    return 0;
}

static int make_slopes(struct back *b)
{
    struct op_call *call = b->g->call;
    for (size_t i = 0; i < call->n_inputs; i++) {
        struct bounded *slope = gradient_make(b->g, i);
        if (!slope && call->inputs[i] && b->g->wanted[i])
            return -1;
        if (slope && ((i == IN_X && make_numbers(b, &b->x, slope->count)) ||
                      (i == IN_B && gradient_sums_init(&b->bias, slope, call->err)) ||
                      (i == IN_P && gradient_sums_init(&b->peepholes, slope, call->err))))
            return -1;
    }
    return 0;
}

static void store_slopes(struct back *b)
{
    struct bounded *x = &b->g->slopes[IN_X];
    for (size_t i = 0; b->x && i < x->count; i++)
        number_put(x, i, b->x[i]);
    if (b->bias.slope)
        gradient_sums_store(&b->bias);
    if (b->peepholes.slope)
        gradient_sums_store(&b->peepholes);
    free(b->x);
}

/* One direction: forwards with the tape, then backwards. */
struct way {
    int (*run)(void *context);
    void *context;
    int (*step)(struct back *b, size_t n);
    size_t slots;
    bool resets; /* the hidden gate multiplies r . H */
};

static int run_ways(struct back *b, const struct way *way)
{
    struct rnn *rnn = b->rnn;
    struct rnn_tape tape = {0};
    int result = rnn_tape_start(rnn, &tape, way->slots);
    if (result == 0)
        result = make_slopes(b);
    for (size_t d = 0; result == 0 && d < rnn->directions; d++) {
        result = rnn_direction(rnn, d) || way->run(way->context) || start_direction(b) ? -1 : 0;
        for (size_t n = rnn->steps; result == 0 && n-- > 0;)
            result = way->step(b, n);
        if (result == 0)
            result = finish_direction(b, way->resets);
    }
    store_slopes(b);
    clear_direction(b);
    rnn->tape = NULL;
    rnn_tape_release(&tape);
    return result;
}

/* The kernel runs again, into outputs of its own. */
struct rerun {
    struct op_call call;
    struct bounded outputs[3];
    struct rnn rnn;
    struct back back;
};

static bool rerun_start(struct rerun *r, struct op_gradient *g)
{
    *r = (struct rerun){.call = *g->call, .back = {.g = g}};
    for (size_t i = 0; i < 3; i++)
        bounded_init(&r->outputs[i]);
    r->call.outputs = r->outputs;
    r->call.n_outputs = 1;
    r->back.rnn = &r->rnn;
    return !gradient_is_idle(g);
}

static void rerun_end(struct rerun *r)
{
    rnn_end(&r->rnn);
    for (size_t i = 0; i < 3; i++)
        bounded_release(&r->outputs[i]);
}

static int run_rnn(void *context)
{
    return simple_run(context);
}

int recurrent_gradient_rnn(struct op_gradient *g)
{
    struct rerun r;
    if (!rerun_start(&r, g))
        return 0;
    const struct way way = {run_rnn, &r.rnn, simple_step, SIMPLE_SLOTS, false};
    int result = simple_begin(&r.rnn, &r.call);
    r.back.width = r.rnn.gates * r.rnn.hidden;
    if (result == 0)
        result = run_ways(&r.back, &way);
    rerun_end(&r);
    return result;
}

static int run_gru(void *context)
{
    return gru_run(context);
}

int recurrent_gradient_gru(struct op_gradient *g)
{
    struct rerun r;
    if (!rerun_start(&r, g))
        return 0;
    bool late = call_int(g->call, "linear_before_reset", 0) != 0;
    const struct way way = {run_gru, &r.rnn, late ? gru_step_late : gru_step_early, GRU_SLOTS, !late};
    int result = gru_begin(&r.rnn, &r.call);
    r.back.width = r.rnn.gates * r.rnn.hidden;
    if (result == 0)
        result = run_ways(&r.back, &way);
    rerun_end(&r);
    return result;
}

static int run_lstm(void *context)
{
    return lstm_run(context);
}

int recurrent_gradient_lstm(struct op_gradient *g)
{
    struct rerun r;
    struct lstm l;
    if (!rerun_start(&r, g))
        return 0;
    const struct way way = {run_lstm, &l, lstm_step, LSTM_SLOTS, false};
    int result = lstm_begin(&l, &r.rnn, &r.call);
    r.back.width = r.rnn.gates * r.rnn.hidden;
    if (result == 0)
        result = run_ways(&r.back, &way);
    bounded_release(&l.cell);
    rerun_end(&r);
    return result;
}
