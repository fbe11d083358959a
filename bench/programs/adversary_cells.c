/* Recurrent cells: gate sums in several orders, gates by several formulas of sigmoid and tanh. */
#include "adversary.h"

#include <math.h>
#include <string.h>

/* A variant is a set of functions, an order of a gate's sum, and a form of the equations. */
enum { RATIONAL, EXPONENTIAL, HALF_TANH, FUNCTIONS };
enum { BIASES_LAST, BIASES_FIRST_FUSED, PARTS_APART, SUMS };
enum { AS_WRITTEN, BLENDED, FORMS };
#define VARIANT(functions, sum, form) (((functions)*SUMS + (sum)) * FORMS + (form))

enum { MOST = 64 };

static int functions_of(const struct trial *t)
{
    return t->is->variant / FORMS / SUMS;
}

static int64_t gates_of(const struct trial *t)
{
    return strcmp(t->is->op, "LSTM") == 0 ? 4 : strcmp(t->is->op, "GRU") == 0 ? 3 : 1;
}

/* Sizes are steps, inputs and units. */
static void cell_inputs(struct trial *t)
{
    int64_t rows = gates_of(t) * t->size[2];
    trial_input(t, 3, (const int64_t[]){t->size[0], 1, t->size[1]}, -4, 4);
    trial_input(t, 3, (const int64_t[]){1, rows, t->size[1]}, -4, 4);
    trial_input(t, 3, (const int64_t[]){1, rows, t->size[2]}, -4, 4);
    trial_input(t, 2, (const int64_t[]){1, 2 * rows}, -4, 4);
    trial_input(t, 1, (const int64_t[]){0}, 0, 0); /* no lengths */
    trial_input(t, 3, (const int64_t[]){1, 1, t->size[2]}, -1, 1);
    if (gates_of(t) == 4)
        trial_input(t, 3, (const int64_t[]){1, 1, t->size[2]}, -4, 4);
}

static void cell_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    node_set_int(arena, node, "hidden_size", t->size[2]);
}

static void late_attributes(struct arena *arena, Onnx__NodeProto *node, const struct trial *t)
{
    cell_attributes(arena, node, t);
    node_set_int(arena, node, "linear_before_reset", 1);
}

static double cell_tanh(const struct trial *t, double x)
{
    struct machine m = t->machine;
    if (functions_of(t) != EXPONENTIAL)
        return rational_tanh(m, x);
    double e = library_exp(m, mul(m, -2, fabs(x)));
    return copysign(quotient(m, sub(m, 1, e), add(m, 1, e)), x);
}

static double cell_sigmoid(const struct trial *t, double x)
{
    struct machine m = t->machine;
    if (functions_of(t) == RATIONAL)
        return rational_sigmoid(m, x);
    if (functions_of(t) == HALF_TANH)
        return add(m, mul(m, 0.5, rational_tanh(m, mul(m, 0.5, x))), 0.5);
    return quotient(m, 1, add(m, 1, library_exp(m, -x)));
}

/* The two parts of a gate's input: x W' with its bias, h R' with its bias. */
struct parts {
    double from_input, from_state;
};

static struct parts parts_of(const struct trial *t, size_t step, size_t row, const double *state)
{
    struct machine m = t->machine;
    size_t inputs = (size_t)t->size[1], units = (size_t)t->size[2], rows = (size_t)gates_of(t) * units;
    const double *x = t->in[0].at + step * inputs, *w = t->in[1].at + row * inputs,
                 *r = t->in[2].at + row * units;
    double wb = t->in[3].at[row], rb = t->in[3].at[rows + row];
    return (struct parts){add(m, inner(m, FORWARD, false, x, 1, w, 1, inputs), wb),
                          add(m, inner(m, FORWARD, false, state, 1, r, 1, units), rb)};
}

/* The whole input of a gate. */
static double gate(const struct trial *t, size_t step, size_t row, const double *state)
{
    struct machine m = t->machine;
    size_t inputs = (size_t)t->size[1], units = (size_t)t->size[2], rows = (size_t)gates_of(t) * units;
    const double *x = t->in[0].at + step * inputs, *w = t->in[1].at + row * inputs,
                 *r = t->in[2].at + row * units;
    double sum = add(m, t->in[3].at[row], t->in[3].at[rows + row]);
    switch (t->is->variant / FORMS % SUMS) {
    case BIASES_FIRST_FUSED:
        for (size_t i = 0; i < inputs; i++)
            sum = fused(m, x[i], w[i], sum);
        for (size_t i = 0; i < units; i++)
            sum = fused(m, state[i], r[i], sum);
        return sum;
    case PARTS_APART: {
        struct parts p = parts_of(t, step, row, state);
        return add(m, p.from_input, p.from_state);
    }
    default:
        return add(m,
                   add(m, inner(m, FORWARD, false, x, 1, w, 1, inputs),
                       inner(m, FORWARD, false, state, 1, r, 1, units)),
                   sum);
    }
}

static void simple_cell(const struct trial *t, double *y)
{
    size_t units = (size_t)t->size[2];
    const double *state = t->in[5].at;
    for (size_t step = 0; step < (size_t)t->size[0]; step++, state = y, y += units)
        for (size_t j = 0; j < units; j++)
            y[j] = cell_tanh(t, gate(t, step, j, state));
}

static void lstm_cell(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    size_t units = (size_t)t->size[2];
    double cell[MOST];
    const double *state = t->in[5].at;
    memcpy(cell, t->in[6].at, units * sizeof *cell);
    for (size_t step = 0; step < (size_t)t->size[0]; step++, state = y, y += units)
        for (size_t j = 0; j < units; j++) {
            double in = cell_sigmoid(t, gate(t, step, j, state)),
                   out = cell_sigmoid(t, gate(t, step, units + j, state)),
                   forget = cell_sigmoid(t, gate(t, step, 2 * units + j, state)),
                   fresh = cell_tanh(t, gate(t, step, 3 * units + j, state));
            cell[j] = t->is->variant % FORMS == AS_WRITTEN
                          ? add(m, mul(m, forget, cell[j]), mul(m, in, fresh))
                          : fused(m, forget, cell[j], mul(m, in, fresh));
            y[j] = mul(m, out, cell_tanh(t, cell[j]));
        }
}

static double blend(const struct trial *t, double z, double fresh, double before)
{
    struct machine m = t->machine;
    if (t->is->variant % FORMS == BLENDED)
        return add(m, fresh, mul(m, z, sub(m, before, fresh)));
    return add(m, mul(m, sub(m, 1, z), fresh), mul(m, z, before));
}

/* The reset gate multiplies the state before its product with R, or that product after it. */
static void gru_cell(const struct trial *t, double *y)
{
    struct machine m = t->machine;
    size_t units = (size_t)t->size[2];
    bool late = t->is->attributes == late_attributes;
    const double *state = t->in[5].at;
    double reset[MOST];
    for (size_t step = 0; step < (size_t)t->size[0]; step++, state = y, y += units) {
        for (size_t j = 0; j < units; j++)
            reset[j] = mul(m, cell_sigmoid(t, gate(t, step, units + j, state)), state[j]);
        for (size_t j = 0; j < units; j++) {
            double z = cell_sigmoid(t, gate(t, step, j, state)), sum;
            if (late) {
                struct parts p = parts_of(t, step, 2 * units + j, state);
                sum = add(m, p.from_input,
                          mul(m, cell_sigmoid(t, gate(t, step, units + j, state)), p.from_state));
            } else {
                sum = gate(t, step, 2 * units + j, reset);
            }
            y[j] = blend(t, z, cell_tanh(t, sum), state[j]);
        }
    }
}

#define CELL(operator, what, functions, sum, form, function)                                         \
    {                                                                                                \
        operator, what, VARIANT(functions, sum, form),                                               \
            .size = {{1, 3}, {1, 4}, {1, 3}}, .lay_out = cell_inputs, .attributes = cell_attributes, \
            .compute = function                                                                      \
    }

const struct implementation cells[] = {
    CELL("RNN", "quotient of polynomials", RATIONAL, BIASES_LAST, AS_WRITTEN, simple_cell),
    CELL("RNN", "exponential, fused sums", EXPONENTIAL, BIASES_FIRST_FUSED, AS_WRITTEN, simple_cell),
    CELL("LSTM", "quotients of polynomials", RATIONAL, BIASES_LAST, AS_WRITTEN, lstm_cell),
    CELL("LSTM", "exponentials, parts apart", EXPONENTIAL, PARTS_APART, AS_WRITTEN, lstm_cell),
    CELL("LSTM", "tanh of halves, fused", HALF_TANH, BIASES_FIRST_FUSED, BLENDED, lstm_cell),
    CELL("GRU", "quotients of polynomials", RATIONAL, BIASES_LAST, AS_WRITTEN, gru_cell),
    CELL("GRU", "exponentials, h + z(H - h)", EXPONENTIAL, PARTS_APART, BLENDED, gru_cell),
    CELL("GRU", "tanh of halves, fused sums", HALF_TANH, BIASES_FIRST_FUSED, BLENDED, gru_cell),
    {"GRU", "linear before reset", VARIANT(RATIONAL, PARTS_APART, BLENDED), .size = {{1, 3}, {1, 4}, {1, 3}},
     .lay_out = cell_inputs, .attributes = late_attributes, .compute = gru_cell},
    {0},
};
