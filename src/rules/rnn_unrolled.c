/* Rule 7 of EAGLE for recurrent operators: every step written as nodes. */
#include "rules/formula.h"
#include "rules/recurrent.h"

#include "base/str.h"

#include <string.h>
#include <strings.h>

enum { UNROLLED_STEPS = 8, UNROLLED_STATE = 1 << 16, GATES = 4, FUNCTIONS = 3 };

/* Gates in the order in which ONNX stores them. */
enum { GRU_Z, GRU_R, GRU_H };
enum { LSTM_I, LSTM_O, LSTM_F, LSTM_C };

struct unrolled {
    struct formula f;
    struct recurrent r;
    const char *functions[2][FUNCTIONS]; /* of each direction, as operators */
    const char *lengths;                 /* [batch, 1], or NULL */
    const char *x;                       /* [time, batch, input] */
    const char *low, *high;              /* of clip; NULL: there is none */
    /* Of the direction at hand: */
    size_t direction;
    const char *from_x[GATES];     /* [time, batch, hidden]: x W' and its bias */
    const char *weights[GATES];    /* [hidden, hidden]: R' */
    const char *biases[GATES];     /* [hidden], or NULL */
    const char *peepholes[GATES];  /* [hidden], or NULL */
    const char *state[2];          /* [batch, hidden]: h, and the cell of LSTM */
    const char *y[UNROLLED_STEPS]; /* [1, 1, batch, hidden] */
};

/* --- What the node says --- */

/* Functions that are operators with the same default parameters. ThresholdedRelu is not: it keeps alpha. */
static const char *function_of(const ProtobufCBinaryData *name)
{
    static const char *const known[] = {"Relu",        "Tanh", "Sigmoid",  "LeakyRelu",
                                        "HardSigmoid", "Elu",  "Softsign", "Softplus"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == name->len && strncasecmp(known[i], (const char *)name->data, name->len) == 0)
            return known[i];
    return NULL;
}

static bool read_functions(struct unrolled *u)
{
    const Onnx__AttributeProto *names = node_attribute(u->r.node, "activations");
    size_t count = u->r.gates == 4 ? 3 : u->r.gates == 3 ? 2 : 1, wanted = count * (size_t)u->r.directions;
    bool given = names && names->n_strings > 0;
    if (node_attribute(u->r.node, "activation_alpha") || node_attribute(u->r.node, "activation_beta") ||
        (given && names->n_strings != wanted))
        return false;
    for (size_t i = 0; i < wanted; i++) {
        const char *usual = i % count == 0 && count > 1 ? "Sigmoid" : "Tanh";
        const char *function = given ? function_of(&names->strings[i]) : usual;
        u->functions[i / count][i % count] = function;
        if (!function)
            return false;
    }
    return true;
}

/* Whether the cell of LSTM is clipped too is disputed. */
static bool read_clip(struct unrolled *u)
{
    float clip = node_float(u->r.node, "clip", 0);
    if (!node_attribute(u->r.node, "clip"))
        return true;
    if (!(clip > 0) || u->r.gates == 4)
        return false;
    u->low = formula_number(&u->f, -(long double)clip);
    u->high = formula_number(&u->f, (long double)clip);
    return true;
}

static bool begin(struct unrolled *u, struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    static const int64_t order[] = {1, 0, 2};
    *u = (struct unrolled){0};
    if (!recurrent_read(&u->r, rewrite, node) || !formula_begin_any(&u->f, rewrite, node, true) ||
        u->r.steps > UNROLLED_STEPS || u->r.batch > UNROLLED_STATE || u->r.hidden > UNROLLED_STATE ||
        u->r.batch * u->r.hidden > UNROLLED_STATE || !read_functions(u) || !read_clip(u))
        return false;
    u->x = formula_input(&u->f, RECURRENT_X);
    if (u->r.batch_first)
        u->x = rewrite_transpose(rewrite, u->x, order, 3);
    if (rewrite_has_input(node, RECURRENT_LENGTHS))
        u->lengths = rewrite_unsqueeze(rewrite, node->input[RECURRENT_LENGTHS], 1);
    return true;
}

/* --- What a direction uses --- */

/* A parameter of one direction, cut into gates along its first axis. */
static void cut(struct unrolled *u, size_t input, int64_t first, size_t gates, const char **parts)
{
    struct rewrite *rewrite = u->r.rewrite;
    int64_t direction = (int64_t)u->direction, hidden = u->r.hidden;
    const char *all = rewrite_slice(rewrite, formula_input(&u->f, input), 0, direction, direction + 1);
    all = rewrite_squeeze(rewrite, all, 0);
    for (size_t i = 0; i < gates; i++) {
        int64_t from = (first + (int64_t)i) * hidden;
        parts[i] = rewrite_slice(rewrite, all, 0, from, from + hidden);
    }
}

static void load_weights(struct unrolled *u)
{
    static const int64_t order[] = {1, 0};
    struct rewrite *rewrite = u->r.rewrite;
    size_t gates = u->r.gates;
    const char *weights[GATES], *biases[GATES];
    bool biased = rewrite_has_input(u->r.node, RECURRENT_B);
    cut(u, RECURRENT_W, 0, gates, weights);
    cut(u, RECURRENT_R, 0, gates, u->weights);
    if (biased) {
        cut(u, RECURRENT_B, 0, gates, biases);
        cut(u, RECURRENT_B, (int64_t)gates, gates, u->biases);
    }
    for (size_t i = 0; i < gates; i++) {
        const char *turned = rewrite_transpose(rewrite, weights[i], order, 2);
        u->from_x[i] = formula_two(&u->f, "MatMul", u->x, turned);
        if (biased)
            u->from_x[i] = formula_two(&u->f, "Add", u->from_x[i], biases[i]);
        u->weights[i] = rewrite_transpose(rewrite, u->weights[i], order, 2);
    }
    if (gates == 4 && rewrite_has_input(u->r.node, RECURRENT_P))
        cut(u, RECURRENT_P, 0, 3, u->peepholes);
}

static void load_state(struct unrolled *u, size_t number)
{
    struct rewrite *rewrite = u->r.rewrite;
    size_t input = RECURRENT_INITIAL_H + number;
    struct shape shape = {2, {u->r.batch, u->r.hidden}};
    if (!rewrite_has_input(u->r.node, input)) {
        const char *size = rewrite_ints(rewrite, shape.dims, 2);
        u->state[number] = formula_two(&u->f, "Expand", formula_number(&u->f, 0), size);
        return;
    }
    int64_t direction = (int64_t)u->direction, axis = recurrent_directions_of_state(&u->r);
    const char *one = rewrite_slice(rewrite, formula_input(&u->f, input), axis, direction, direction + 1);
    u->state[number] = rewrite_squeeze(rewrite, one, axis);
}

/* --- The equations --- */

static const char *activate(struct unrolled *u, size_t function, const char *x)
{
    if (u->low)
        x = rewrite_op(u->r.rewrite, "Clip", NULL, x, u->low, u->high, NULL);
    return formula_one(&u->f, u->functions[u->direction][function], x);
}

static const char *from_input(struct unrolled *u, size_t gate, int64_t time)
{
    const char *one = rewrite_slice(u->r.rewrite, u->from_x[gate], 0, time, time + 1);
    return rewrite_squeeze(u->r.rewrite, one, 0);
}

static const char *from_state(struct unrolled *u, size_t gate, const char *state)
{
    const char *product = formula_two(&u->f, "MatMul", state, u->weights[gate]);
    return u->biases[gate] ? formula_two(&u->f, "Add", product, u->biases[gate]) : product;
}

static const char *gate_sum(struct unrolled *u, size_t gate, int64_t time)
{
    const char *input = from_input(u, gate, time);
    return formula_two(&u->f, "Add", input, from_state(u, gate, u->state[0]));
}

static const char *rest_of_one(struct unrolled *u, const char *x)
{
    return formula_two(&u->f, "Sub", formula_number(&u->f, 1), x);
}

static const char *gru_step(struct unrolled *u, int64_t time)
{
    struct formula *f = &u->f;
    const char *z = activate(u, 0, gate_sum(u, GRU_Z, time));
    const char *reset = activate(u, 0, gate_sum(u, GRU_R, time)), *part;
    if (node_int(u->r.node, "linear_before_reset", 0))
        part = formula_two(f, "Mul", reset, from_state(u, GRU_H, u->state[0]));
    else
        part = from_state(u, GRU_H, formula_two(f, "Mul", reset, u->state[0]));
    const char *fresh = activate(u, 1, formula_two(f, "Add", part, from_input(u, GRU_H, time)));
    const char *taken = formula_two(f, "Mul", fresh, rest_of_one(u, z));
    return formula_two(f, "Add", taken, formula_two(f, "Mul", z, u->state[0]));
}

static const char *lstm_gate(struct unrolled *u, size_t gate, int64_t time, const char *cell)
{
    const char *sum = gate_sum(u, gate, time);
    if (u->peepholes[gate])
        sum = formula_two(&u->f, "Add", sum, formula_two(&u->f, "Mul", cell, u->peepholes[gate]));
    return activate(u, gate == LSTM_C ? 1 : 0, sum);
}

static const char *lstm_step(struct unrolled *u, int64_t time, const char **cell)
{
    struct formula *f = &u->f;
    const char *before = u->state[1], *in = lstm_gate(u, LSTM_I, time, before);
    const char *forget =
        node_int(u->r.node, "input_forget", 0) ? rest_of_one(u, in) : lstm_gate(u, LSTM_F, time, before);
    const char *fresh = formula_two(f, "Mul", in, lstm_gate(u, LSTM_C, time, before));
    *cell = formula_two(f, "Add", formula_two(f, "Mul", forget, before), fresh);
    const char *out = lstm_gate(u, LSTM_O, time, *cell);
    return formula_two(f, "Mul", out, activate(u, 2, *cell));
}

/* Behind the end of a sequence the state stays, and Y is 0. */
static void run_step(struct unrolled *u, int64_t time)
{
    const char *made[2] = {NULL, NULL}, *shown;
    if (u->r.gates == 4)
        made[0] = lstm_step(u, time, &made[1]);
    else
        made[0] = u->r.gates == 3 ? gru_step(u, time) : activate(u, 0, gate_sum(u, 0, time));
    shown = made[0];
    if (u->lengths) {
        const char *now = rewrite_scalar(u->r.rewrite, DTYPE_INT32, 0, (long double)time);
        const char *runs = rewrite_op(u->r.rewrite, "Less", NULL, now, u->lengths, NULL);
        for (size_t i = 0; i < u->r.states; i++)
            made[i] = formula_where(&u->f, runs, made[i], u->state[i]);
        shown = formula_where(&u->f, runs, shown, formula_number(&u->f, 0));
    }
    memcpy(u->state, made, sizeof made);
    struct shape shape = {4, {1, 1, u->r.batch, u->r.hidden}};
    if (recurrent_wants(&u->r, RECURRENT_Y))
        u->y[time] = rewrite_reshape(u->r.rewrite, shown, &shape);
}

/* Runs a direction; *results get Y [time, 1, batch, hidden] and the last states [1, batch, hidden]. */
static void run_direction(struct unrolled *u, size_t direction, const char *results[RECURRENT_OUTPUTS])
{
    struct rewrite *rewrite = u->r.rewrite;
    bool backwards = u->r.reverse || direction == 1;
    u->direction = direction;
    load_weights(u);
    for (size_t i = 0; i < u->r.states; i++)
        load_state(u, i);
    for (int64_t n = 0; n < u->r.steps; n++)
        run_step(u, backwards ? u->r.steps - 1 - n : n);
    if (recurrent_wants(&u->r, RECURRENT_Y))
        results[RECURRENT_Y] = rewrite_concat(rewrite, 0, u->y, (size_t)u->r.steps);
    for (size_t i = 0; i < u->r.states; i++)
        if (recurrent_wants(&u->r, RECURRENT_Y_H + i))
            results[RECURRENT_Y_H + i] = rewrite_unsqueeze(rewrite, u->state[i], 0);
}

static int unroll(struct rewrite *rewrite, const struct rule_site *site)
{
    static const int64_t of_state[] = {1, 0, 2}, of_y[] = {2, 0, 1, 3};
    const char *results[2][RECURRENT_OUTPUTS] = {0};
    struct unrolled u;
    if (!begin(&u, rewrite, site->node))
        return 0;
    for (size_t d = 0; d < (size_t)u.r.directions; d++)
        run_direction(&u, d, results[d]);
    for (size_t i = 0; i < RECURRENT_OUTPUTS; i++) {
        if (!recurrent_wants(&u.r, i))
            continue;
        const char *both[2] = {results[0][i], results[1][i]}, *result = both[0];
        if (u.r.directions == 2)
            result = rewrite_concat(rewrite, i ? 0 : 1, both, 2);
        if (u.r.batch_first)
            result = rewrite_transpose(rewrite, result, i ? of_state : of_y, i ? 3 : 4);
        formula_output(&u.f, i, result, u.r.type);
    }
    return formula_end_outputs(&u.f);
}

const struct rule rule_rnn_unrolled = {
    .name = "rnn-unrolled",
    .paper = 7,
    .summary = "LSTM, GRU and RNN by the equations of every step",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "LSTM|GRU|RNN",
    .apply = unroll,
};
