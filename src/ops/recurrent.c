/* LSTM, GRU and RNN: the equations; everything around them is in rnn.c. */
#include "ops/recurrent.h"

#include "ops/draw.h"

#include <math.h>
#include <string.h>

static struct number gate_sum(const struct rnn *rnn, size_t time, size_t batch, size_t gate, size_t unit)
{
    return rnn_add(rnn, rnn_from_input(rnn, time, batch, gate, unit), rnn_from_state(rnn, batch, gate, unit));
}

/* Ends a direction. */
static void finish(struct rnn *rnn, enum rnn_kind kind, bool coupled, struct bounded *cells)
{
    struct rnn_range range = rnn_range_of(rnn, kind, coupled);
    rnn_finish(rnn);
    rnn_cut(rnn, &range, cells);
}

int simple_run(struct rnn *rnn)
{
    for (size_t n = 0; n < rnn->steps; n++) {
        rnn_follow(rnn, n);
        if (rnn_recur(rnn, &rnn->state, 0, 1))
            return -1;
        for (size_t b = 0; b < rnn->batch; b++)
            for (size_t j = 0; n < rnn_length(rnn, b) && j < rnn->hidden; j++) {
                size_t t = rnn_time(rnn, b, n);
                rnn_record(rnn, SIMPLE_BEFORE, t, b, j, number_of(&rnn->state, b * rnn->hidden + j));
                rnn_emit(rnn, t, b, j, rnn_gate(rnn, 0, SIMPLE_GATE, t, b, j, gate_sum(rnn, t, b, 0, j)));
            }
    }
    return 0;
}

int simple_begin(struct rnn *rnn, struct op_call *call)
{
    static const enum activation_kind defaults[] = {ACT_TANH};
    return rnn_begin(rnn, call, 1, defaults, 1);
}

static int eval_rnn(struct op_call *call)
{
    struct rnn rnn;
    int result = simple_begin(&rnn, call);
    for (size_t d = 0; result == 0 && !call->shapes_only && d < rnn.directions; d++) {
        result = rnn_direction(&rnn, d) || simple_run(&rnn) ? -1 : 0;
        if (result == 0)
            finish(&rnn, RNN_SIMPLE, false, NULL);
    }
    rnn_end(&rnn);
    return result;
}

/* Ht = (1 - z) h + z H, which some implementations compute as h + z (H - h): a few roundings of the size of
 * both. */
static struct number blend(const struct rnn *rnn, struct number z, struct number h, struct number before)
{
    struct number rest = number_sub(number_exact(1), z, rnn->u);
    struct number sum = number_add(number_mul(rest, h, rnn->u), number_mul(z, before, rnn->u), rnn->u);
    long double scale = rnn->u * (fabsl(h.v) + h.h + fabsl(before.v) + before.h);
    return number_loosen(sum, 4 * scale, scale);
}

static struct number reset_gate(const struct rnn *rnn, size_t time, size_t batch, size_t unit)
{
    return rnn_gate(rnn, 0, GRU_FIRST + 2 * GRU_R, time, batch, unit,
                    gate_sum(rnn, time, batch, GRU_R, unit));
}

/* Computes r . H for all units: the state that is multiplied for the hidden gate. */
static void reset_state(const struct rnn *rnn, size_t n, struct bounded *reset)
{
    for (size_t b = 0; b < rnn->batch; b++)
        for (size_t j = 0; n < rnn_length(rnn, b) && j < rnn->hidden; j++) {
            size_t at = b * rnn->hidden + j;
            struct number r = reset_gate(rnn, rnn_time(rnn, b, n), b, j);
            number_put(reset, at, number_mul(r, number_of(&rnn->state, at), rnn->u));
        }
}

static struct number hidden_gate(const struct rnn *rnn, size_t time, size_t batch, size_t unit, bool late)
{
    struct number part = rnn_from_state(rnn, batch, GRU_H, unit);
    rnn_record(rnn, GRU_PART, time, batch, unit, part);
    if (late)
        part = number_mul(reset_gate(rnn, time, batch, unit), part, rnn->u);
    struct number sum = rnn_add(rnn, rnn_from_input(rnn, time, batch, GRU_H, unit), part);
    return rnn_gate(rnn, 1, GRU_FIRST + 2 * GRU_H, time, batch, unit, sum);
}

static int gru_step(struct rnn *rnn, size_t n, bool late, struct bounded *reset)
{
    rnn_follow(rnn, n);
    if (rnn_recur(rnn, &rnn->state, 0, late ? 3 : 2))
        return -1;
    if (!late) {
        reset_state(rnn, n, reset);
        if (rnn_recur(rnn, reset, GRU_H, 1))
            return -1;
    }
    for (size_t b = 0; b < rnn->batch; b++)
        for (size_t j = 0; n < rnn_length(rnn, b) && j < rnn->hidden; j++) {
            size_t t = rnn_time(rnn, b, n);
            struct number z = rnn_gate(rnn, 0, GRU_FIRST + 2 * GRU_Z, t, b, j, gate_sum(rnn, t, b, GRU_Z, j));
            struct number before = number_of(&rnn->state, b * rnn->hidden + j);
            rnn_record(rnn, GRU_BEFORE, t, b, j, before);
            rnn_emit(rnn, t, b, j, blend(rnn, z, hidden_gate(rnn, t, b, j, late), before));
        }
    return 0;
}

int gru_run(struct rnn *rnn)
{
    bool late = call_int(rnn->call, "linear_before_reset", 0) != 0;
    struct bounded reset;
    int result = bounded_copy(&reset, &rnn->state, rnn->call->err);
    for (size_t n = 0; result == 0 && n < rnn->steps; n++)
        result = gru_step(rnn, n, late, &reset);
    bounded_release(&reset);
    return result;
}

int gru_begin(struct rnn *rnn, struct op_call *call)
{
    static const enum activation_kind defaults[] = {ACT_SIGMOID, ACT_TANH};
    return rnn_begin(rnn, call, GRU_GATES, defaults, 2);
}

static int eval_gru(struct op_call *call)
{
    struct rnn rnn;
    int result = gru_begin(&rnn, call);
    for (size_t d = 0; result == 0 && !call->shapes_only && d < rnn.directions; d++) {
        result = rnn_direction(&rnn, d) || gru_run(&rnn) ? -1 : 0;
        if (result == 0)
            finish(&rnn, RNN_GRU, false, NULL);
    }
    rnn_end(&rnn);
    return result;
}

/* A gate with its peephole (P is in the order i, o, f, as the gates are). */
static struct number lstm_gate(const struct lstm *l, size_t time, size_t batch, size_t gate, size_t unit,
                               struct number cell)
{
    const struct rnn *rnn = l->rnn;
    struct number sum = gate_sum(rnn, time, batch, gate, unit);
    if (l->peepholes && gate != LSTM_C) {
        size_t at = (rnn->direction * 3 + gate) * rnn->hidden + unit;
        sum = rnn_add(rnn, sum, number_mul(number_of(l->peepholes, at), cell, rnn->u));
    }
    return rnn_gate(rnn, gate == LSTM_C ? 1 : 0, LSTM_FIRST + 2 * gate, time, batch, unit, sum);
}

/*
 * h(Ct). According to ONNX, clip bounds "the input of activations", of which Ct is one; implementations that
 * clip only the gates are as common. Both pass.
 */
static struct number squash_cell(const struct rnn *rnn, struct number cell)
{
    struct number clipped = rnn_activate(rnn, 2, cell);
    if (!(fabsl(cell.v) + cell.h > rnn->clip))
        return clipped;
    struct number plain = rnn_activate_unclipped(rnn, 2, cell);
    /* For any value of the cell within its bounds, either result is possible. */
    clipped.h += fabsl(plain.v - clipped.v) + plain.h + clipped.h;
    clipped.l = fmaxl(clipped.l, fabsl(plain.v - clipped.v) + plain.l);
    return clipped;
}

/* What the gradient needs of the cell. Whether it is clipped is as open as above. */
static void record_cell(const struct rnn *rnn, size_t time, size_t batch, size_t unit, struct number cell,
                        struct number squashed)
{
    rnn_record(rnn, LSTM_CELL, time, batch, unit, cell);
    rnn_record(rnn, LSTM_SQUASHED, time, batch, unit, squashed);
    if (!rnn->tape)
        return;
    bool clipped = fabsl(cell.v) + cell.h >= rnn->clip;
    rnn_record(rnn, LSTM_SQUASHED + 1, time, batch, unit,
               clipped ? (struct number){0, INFINITY, 0} : rnn_slope(rnn, 2, cell, squashed));
}

static void lstm_unit(struct lstm *l, size_t time, size_t batch, size_t unit)
{
    struct rnn *rnn = l->rnn;
    long double u = rnn->u;
    size_t at = batch * rnn->hidden + unit;
    struct number before = number_of(&l->cell, at);
    rnn_record(rnn, LSTM_BEFORE, time, batch, unit, number_of(&rnn->state, at));
    rnn_record(rnn, LSTM_CELL_BEFORE, time, batch, unit, before);
    struct number in = lstm_gate(l, time, batch, LSTM_I, unit, before), forget;
    if (l->coupled)
        forget = number_sub(number_exact(1), in, u);
    else
        forget = lstm_gate(l, time, batch, LSTM_F, unit, before);
    struct number fresh = lstm_gate(l, time, batch, LSTM_C, unit, before);
    number_put(&l->cell, at,
               rnn_state(rnn, number_add(number_mul(forget, before, u), number_mul(in, fresh, u), u)));
    struct number cell = number_of(&l->cell, at);
    struct number out = lstm_gate(l, time, batch, LSTM_O, unit, cell), squashed = squash_cell(rnn, cell);
    record_cell(rnn, time, batch, unit, cell, squashed);
    rnn_emit(rnn, time, batch, unit, number_mul(out, squashed, u));
}

int lstm_run(struct lstm *l)
{
    struct rnn *rnn = l->rnn;
    if (rnn_state_load(rnn, 6, &l->cell))
        return -1;
    for (size_t n = 0; n < rnn->steps; n++) {
        rnn_follow(rnn, n);
        if (rnn_recur(rnn, &rnn->state, 0, 4))
            return -1;
        for (size_t b = 0; b < rnn->batch; b++)
            for (size_t j = 0; n < rnn_length(rnn, b) && j < rnn->hidden; j++)
                lstm_unit(l, rnn_time(rnn, b, n), b, j);
    }
    return 0;
}

static int lstm_check(struct lstm *l)
{
    struct op_call *call = l->rnn->call;
    l->peepholes = call_input(call, 7);
    l->coupled = call_int(call, "input_forget", 0) != 0;
    const struct shape want = {.rank = 2, .dims = {(int64_t)l->rnn->directions, 3 * (int64_t)l->rnn->hidden}};
    if (l->peepholes && !shape_equal(&l->peepholes->shape, &want))
        return call_invalid(call, "P has the wrong shape");
    return rnn_state_check(l->rnn, 6);
}

int lstm_begin(struct lstm *l, struct rnn *rnn, struct op_call *call)
{
    static const enum activation_kind defaults[] = {ACT_SIGMOID, ACT_TANH, ACT_TANH};
    *l = (struct lstm){.rnn = rnn};
    bounded_init(&l->cell);
    int result = rnn_begin(rnn, call, LSTM_GATES, defaults, 3);
    return result == 0 ? lstm_check(l) : result;
}

static int eval_lstm(struct op_call *call)
{
    struct rnn rnn;
    struct lstm l;
    struct bounded *cells = NULL;
    int result = lstm_begin(&l, &rnn, call);
    if (result == 0 && call->n_outputs > 2) {
        struct shape shape = rnn_state_shape(&rnn);
        cells = call_output(call, 2, rnn.type, &shape);
        result = cells ? 0 : -1;
    }
    for (size_t d = 0; result == 0 && !call->shapes_only && d < rnn.directions; d++) {
        result = rnn_direction(&rnn, d) || lstm_run(&l) ? -1 : 0;
        if (result == 0) {
            rnn_store(&rnn, &l.cell, cells);
            finish(&rnn, RNN_LSTM, l.coupled, cells);
        }
    }
    bounded_release(&l.cell);
    rnn_end(&rnn);
    return result;
}

/* The choices for a drawn node. */
struct recipe {
    int64_t gates, activations, directions, steps, batch, input, hidden, layout;
};

static void draw_activations(struct draw *d, const struct recipe *r)
{
    const char *names[RNN_DIRECTIONS * RNN_ACTIVATIONS];
    float alphas[RNN_DIRECTIONS * RNN_ACTIVATIONS], betas[RNN_DIRECTIONS * RNN_ACTIVATIONS];
    size_t count = (size_t)(r->activations * r->directions), n_alphas = 0, n_betas = 0;
    if (draw_chance(d, 0.6))
        return;
    bool need = false, values = draw_chance(d, 0.4);
    for (size_t i = 0; i < count; i++) {
        enum activation_kind kind = (enum activation_kind)draw_between(d, 0, ACT_COUNT - 1);
        names[i] = activation_name(kind);
        need = need || kind == ACT_SCALED_TANH || kind == ACT_AFFINE;
        if (activation_has_alpha(kind))
            alphas[n_alphas++] = (float)draw_between(d, 1, 8) / 8;
        if (activation_has_beta(kind))
            betas[n_betas++] = (float)draw_between(d, 1, 8) / 8;
    }
    node_set_strings(d->arena, d->node, "activations", names, count);
    if ((values || need) && n_alphas)
        node_set_floats(d->arena, d->node, "activation_alpha", alphas, n_alphas);
    if ((values || need) && n_betas)
        node_set_floats(d->arena, d->node, "activation_beta", betas, n_betas);
}

static int draw_recipe(struct draw *d, const struct drawn *x, struct recipe *r)
{
    for (int i = 0; i < 3; i++)
        if (x->shape.rank != 3 || x->shape.dims[i] < 1)
            return -1;
    r->layout = d->opset >= 14 && draw_chance(d, 0.25);
    r->steps = x->shape.dims[r->layout];
    r->batch = x->shape.dims[1 - r->layout];
    r->input = x->shape.dims[2];
    r->hidden = draw_between(d, 1, 6);
    const char *direction = draw_word(d, "forward|reverse|bidirectional");
    r->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    if (r->layout || (d->opset >= 14 && draw_chance(d, 0.2)))
        draw_int(d, "layout", r->layout);
    if (strcmp(direction, "forward") != 0 || draw_chance(d, 0.5))
        draw_string(d, "direction", direction);
    draw_int(d, "hidden_size", r->hidden);
    if (draw_chance(d, 0.2))
        draw_float(d, "clip", (float)draw_between(d, 1, 12) / 4);
    draw_activations(d, r);
    return 0;
}

static void draw_state(struct draw *d, enum dtype type, const struct recipe *r)
{
    struct shape shape = {.rank = 3, .dims = {r->directions, r->batch, r->hidden}};
    if (r->layout)
        shape = (struct shape){.rank = 3, .dims = {r->batch, r->directions, r->hidden}};
    if (draw_chance(d, 0.5))
        draw_omit(d);
    else
        draw_data(d, type, &shape);
}

/* Inputs up to initial_h: optional ones at the end are left out or omitted by name. */
static int sample_common(struct draw *d, struct recipe *r, enum dtype *type)
{
    struct drawn x = draw_primary_ranked(d, 3, 3);
    if (draw_recipe(d, &x, r))
        return -1;
    *type = x.type;
    int64_t rows = r->gates * r->hidden, lengths[64];
    struct shape w = {.rank = 3, .dims = {r->directions, rows, r->input}};
    struct shape recurrence = {.rank = 3, .dims = {r->directions, rows, r->hidden}};
    struct shape bias = {.rank = 2, .dims = {r->directions, 2 * rows}},
                 batch = {.rank = 1, .dims = {r->batch}};
    draw_data(d, x.type, &w);
    draw_data(d, x.type, &recurrence);
    if (draw_chance(d, 0.4))
        draw_omit(d);
    else
        draw_data(d, x.type, &bias);
    if (r->batch > 64 || draw_chance(d, 0.7)) {
        draw_omit(d);
    } else {
        for (int64_t i = 0; i < r->batch; i++)
            lengths[i] = draw_between(d, 1, r->steps);
        draw_int_typed(d, DTYPE_INT32, &batch, lengths);
    }
    draw_state(d, x.type, r);
    draw_outputs(d, (size_t)draw_between(d, 1, d->op->outputs.most));
    return 0;
}

static int sample_rnn(struct draw *d)
{
    struct recipe r = {.gates = 1, .activations = 1};
    enum dtype type;
    return sample_common(d, &r, &type);
}

static int sample_gru(struct draw *d)
{
    struct recipe r = {.gates = 3, .activations = 2};
    enum dtype type;
    if (draw_chance(d, 0.5))
        draw_int(d, "linear_before_reset", draw_between(d, 0, 1));
    return sample_common(d, &r, &type);
}

static int sample_lstm(struct draw *d)
{
    struct recipe r = {.gates = 4, .activations = 3};
    enum dtype type;
    if (draw_chance(d, 0.25))
        draw_int(d, "input_forget", draw_between(d, 0, 1));
    if (sample_common(d, &r, &type))
        return -1;
    struct shape peepholes = {.rank = 2, .dims = {r.directions, 3 * r.hidden}};
    draw_state(d, type, &r);
    if (draw_chance(d, 0.4))
        draw_data(d, type, &peepholes);
    return 0;
}

/* Weights, biases and states have one part for each direction, states between batch and units in layout 1. */
static void fit_recurrent(const struct op_call *call, size_t input, struct shape *shape)
{
    enum { LENGTHS = 4, FIRST_STATE = 5, LAST_STATE = 6 };
    int64_t directions = strcmp(call_string(call, "direction", "forward"), "bidirectional") == 0 ? 2 : 1;
    bool state = input == FIRST_STATE || input == LAST_STATE;
    int axis = state && call_int(call, "layout", 0) ? 1 : 0;
    if (input > 0 && input != LENGTHS && shape->rank > axis)
        shape->dims[axis] = directions;
}

#define RECURRENT_PARAMS(activations)                                                                        \
    {"activations", PARAM_STRINGS, .legal = "Sigmoid|Tanh|Relu|HardSigmoid|LeakyRelu|Softsign|Softplus|Elu", \
     .initial = activations},                                                                                \
        {"clip", PARAM_FLOAT, .legal = "0.5|1|10", .illegal = "0|-1"},                                       \
        {"direction", PARAM_STRING, .legal = "forward|reverse|bidirectional", .illegal = "backward",         \
         .initial = "forward"},                                                                              \
        {"hidden_size", PARAM_INT, .illegal = "0|-1"},                                                       \
        {"layout", PARAM_INT, .since = 14, .legal = "0|1", .illegal = "2|-1", .initial = "0"},               \
        {"sequence_lens", PARAM_INPUT, .input = 4},

static const struct op_param rnn_params[] = {RECURRENT_PARAMS("Tanh"){0}};
static const struct op_param gru_params[] = {
    RECURRENT_PARAMS("Sigmoid,Tanh"){"linear_before_reset", PARAM_INT, .legal = "0|1", .initial = "0"}, {0}};
static const struct op_param lstm_params[] = {
    RECURRENT_PARAMS("Sigmoid,Tanh,Tanh"){"input_forget", PARAM_INT, .legal = "0|1", .initial = "0"}, {0}};

#define RECURRENT_EXTRAS {"B", PARAM_INPUT, .input = 3}, {"initial_h", PARAM_INPUT, .input = 5},
static const struct op_param plain_extras[] = {RECURRENT_EXTRAS{0}};
static const struct op_param lstm_extras[] = {
    RECURRENT_EXTRAS{"initial_c", PARAM_INPUT, .input = 6}, {"P", PARAM_INPUT, .input = 7}, {0}};

enum { RECURRENT_FLOAT = 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16 };
#define RECURRENT_TYPES       \
    {                         \
        {7, RECURRENT_FLOAT}, \
        {                     \
            22, DTYPES_FLOAT  \
        }                     \
    }

/* Members that the rows have in common. */
#define USUAL                                                                                            \
    .ranks = {3, 3}, .data = DATA_FIRST, .range = {RANGE_FIXED, .gives = {-1, 1}, .wants = {-100, 100}}, \
    .factors = {FACTORS_NONE}, .result = RESULT_TYPE, .work = WORK_PRODUCTS,                             \
    .slope = SLOPE_ALMOST_EVERYWHERE, .fit = fit_recurrent, .flags = OP_STATES

const struct op ops_recurrent[] = {
    {OP("GRU", 1), .open = "the output behind the end of a sequence", USUAL, .inputs = {3, 6},
     .outputs = {1, 2}, .types = RECURRENT_TYPES, .params = gru_params, .extras = plain_extras,
     .index = {.input = 4, .any = true, .lengths = true}, .eval = eval_gru,
     .gradient = recurrent_gradient_gru, .sample = sample_gru, .history = {.same_since = 7},
     .dangers = {{DANGER_INNER, .power = 1}}},
    {OP("LSTM", 1), .open = "the output behind the end of a sequence", USUAL, .inputs = {3, 8},
     .outputs = {1, 3}, .types = RECURRENT_TYPES, .params = lstm_params, .extras = lstm_extras,
     .index = {.input = 4, .any = true, .lengths = true}, .eval = eval_lstm,
     .gradient = recurrent_gradient_lstm, .sample = sample_lstm, .history = {.same_since = 7},
     .dangers = {{DANGER_INNER, .power = 1}}},
    {OP("RNN", 1), .open = "the output behind the end of a sequence", USUAL, .inputs = {3, 6},
     .outputs = {1, 2}, .types = RECURRENT_TYPES, .params = rnn_params, .extras = plain_extras,
     .index = {.input = 4, .any = true, .lengths = true}, .eval = eval_rnn,
     .gradient = recurrent_gradient_rnn, .sample = sample_rnn, .history = {.same_since = 7},
     .dangers = {{DANGER_INNER, .power = 1}}},
    {0},
};
