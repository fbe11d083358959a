/*
 * An adversary for every constant in the bounds: bench_adversary SECONDS [SEED [OPERATOR]].
 *
 * Each implementation of an operator, in float32, float16 and bfloat16, is right by construction: it uses a
 * formula and an order of summation that the bounds claim to cover (docs/bounds). For each, a search looks
 * for the inputs and shapes on which its error is the largest part of the hard bound. Random inputs reach a
 * fifth of what hill climbing finds: a climb changes a few elements by some units in the last place, by a
 * sign or a power of two, or a size of the shapes, and keeps what does not lessen the error. The largest
 * error must not exceed the bound. The table has a row for each operator, implementation and type.
 *
 * Implementations that the bounds do not admit are searched as well, and shown apart: they exceed the bounds,
 * which also shows that the search finds what is there.
 */
#include "adversary.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "ops/op.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rounds to `bits` bits of mantissa, to nearest, ties to even; below 2^least the grid stays that of 2^least.
 */
static double cut(double x, int bits, int least, double most)
{
    uint64_t word;
    double magnitude = fabs(x);
    if (!(magnitude >= ldexp(1, least)))
        return isnan(x)
                   ? x
                   : copysign(nearbyint(ldexp(magnitude, bits - 1 - least)) * ldexp(1, least - bits + 1), x);
    memcpy(&word, &x, sizeof word);
    int drop = 53 - bits;
    word += ((uint64_t)1 << (drop - 1)) - 1 + (word >> drop & 1);
    word &= ~(((uint64_t)1 << drop) - 1);
    memcpy(&x, &word, sizeof x);
    return fabs(x) > most ? copysign((double)INFINITY, x) : x;
}

double rounded(struct machine m, double x)
{
    double y = m.type == DTYPE_FLOAT     ? (double)(float)x
               : m.type == DTYPE_FLOAT16 ? cut(x, 11, -14, 65504)
                                         : cut(x, 8, -126, 0x1.fep127);
    return m.flush && fabs(y) < (double)FLT_MIN ? copysign(0, y) : y;
}

double fused(struct machine m, double a, double b, double c)
{
    if (m.type == DTYPE_FLOAT)
        return rounded(m, (double)fmaf((float)a, (float)b, (float)c));
    return rounded(m, fma(a, b, c));
}

double root(struct machine m, double a)
{
    return rounded(m, sqrt(a));
}

static double in_halves(struct machine m, const double *terms, size_t count)
{
    if (count < 2)
        return count ? terms[0] : 0;
    return add(m, in_halves(m, terms, count / 2), in_halves(m, terms + count / 2, count - count / 2));
}

/* Every `step`th of the terms, one after the other. */
static double in_steps(struct machine m, const double *terms, size_t count, size_t step)
{
    double sum = count ? terms[0] : 0;
    for (size_t i = step; i < count; i += step)
        sum = add(m, sum, terms[i]);
    return sum;
}

double total(struct machine m, enum order order, const double *terms, size_t count)
{
    enum { WIDTH = 8, BLOCK = 4 };
    double sum = 0, lanes[WIDTH];
    switch (order) {
    case BACKWARD:
        sum = count ? terms[count - 1] : 0;
        for (size_t i = count; i-- > 1;)
            sum = add(m, sum, terms[i - 1]);
        return sum;
    case PAIRWISE:
        return in_halves(m, terms, count);
    case LANES:
        for (size_t i = 0; i < WIDTH; i++)
            lanes[i] = i < count ? in_steps(m, terms + i, count - i, WIDTH) : 0;
        return in_halves(m, lanes, WIDTH);
    case BLOCKS:
        for (size_t i = 0; i < count; i += BLOCK)
            sum = add(m, sum, in_steps(m, terms + i, count - i < BLOCK ? count - i : BLOCK, 1));
        return sum;
    case EVEN_ODD:
        return add(m, in_steps(m, terms, count, 2), count > 1 ? in_steps(m, terms + 1, count - 1, 2) : 0);
    default:
        return in_steps(m, terms, count, 1);
    }
}

double inner(struct machine m, enum order order, bool fuse, const double *a, size_t a_step, const double *b,
             size_t b_step, size_t count)
{
    enum { MOST = 512 };
    double terms[MOST], sum = count ? mul(m, a[0], b[0]) : 0;
    for (size_t i = 1; fuse && i < count; i++)
        sum = fused(m, a[i * a_step], b[i * b_step], sum);
    for (size_t i = 0; !fuse && i < count && i < MOST; i++)
        terms[i] = mul(m, a[i * a_step], b[i * b_step]);
    return fuse ? sum : total(m, order, terms, count);
}

struct field *trial_input(struct trial *t, int rank, const int64_t *dims, double low, double high)
{
    struct field *f = &t->in[t->n_inputs++];
    struct shape shape = shape_make(rank, dims);
    size_t count = shape_span(&shape, 0, rank);
    f->at = memory_grow(f->at, &f->room, count + 1, sizeof *f->at);
    for (size_t i = f->count; i < count; i++)
        f->at[i] = NAN; /* to be drawn */
    *f = (struct field){t->machine.type, shape, count, f->room, f->at, low, high, false};
    return f;
}

void trial_constant(struct trial *t, enum dtype type, int64_t count, const double *values)
{
    struct field *f = trial_input(t, 1, &count, 0, 0);
    f->type = type;
    f->fixed = true;
    memcpy(f->at, values, (size_t)count * sizeof *values);
}

static void trial_copy(struct trial *to, const struct trial *from)
{
    for (size_t i = 0; i < TRIAL_INPUTS; i++) {
        struct field was = to->in[i];
        to->in[i] = from->in[i];
        to->in[i].room = was.room;
        to->in[i].at = memory_grow(was.at, &to->in[i].room, from->in[i].count + 1, sizeof *was.at);
        if (from->in[i].count)
            memcpy(to->in[i].at, from->in[i].at, from->in[i].count * sizeof *was.at);
    }
    to->is = from->is;
    to->machine = from->machine;
    to->n_inputs = from->n_inputs;
    memcpy(to->size, from->size, sizeof to->size);
}

static void trial_release(struct trial *t)
{
    for (size_t i = 0; i < TRIAL_INPUTS; i++)
        free(t->in[i].at);
}

/* One implementation in one type under search. */
struct search {
    const struct implementation *is;
    struct rng rng;
    size_t evaluations;
    size_t worst_at; /* element of the last evaluation */
    double *y;
    size_t room;
};

static struct bounded input_of(const struct field *f)
{
    struct bounded b;
    struct tensor tensor;
    struct error err = {0};
    if (tensor_alloc(&tensor, f->type, &f->shape, 0, &err))
        exit(2);
    for (size_t i = 0; i < f->count; i++)
        dtype_store(f->type, tensor.data, i, f->at[i]);
    if (bounded_from_tensor(&b, &tensor, &err))
        exit(2);
    tensor_release(&tensor);
    return b;
}

/* The largest error over its bound; elements that are not judged do not count. */
static double worst_of(struct search *s, const struct bounded *want, const double *got)
{
    double worst = 0;
    for (size_t i = 0; i < want->count; i++) {
        double hard = bounded_hard(want, i), ratio;
        long double off = fabsl(got[i] - want->value[i]);
        if (isinf(hard) || (isnan(got[i]) && isnan(want->value[i])) || got[i] == want->value[i])
            continue;
        ratio = !(off < INFINITY) || hard == 0 ? (double)INFINITY : (double)(off / hard);
        if (ratio > worst) {
            worst = ratio;
            s->worst_at = i;
        }
    }
    return worst;
}

static double evaluate(struct search *s, const struct trial *t)
{
    struct arena arena;
    struct bounded inputs[TRIAL_INPUTS], outputs[3];
    const struct bounded *given[TRIAL_INPUTS];
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    struct error err = {0};
    arena_init(&arena);
    for (size_t i = 0; i < 3; i++)
        bounded_init(&outputs[i]);
    for (size_t i = 0; i < t->n_inputs; i++) {
        inputs[i] = input_of(&t->in[i]);
        /* An empty list stands for an input that is left out. */
        given[i] = inputs[i].count ? &inputs[i] : NULL;
    }
    node.op_type = (char *)s->is->op;
    if (s->is->attributes)
        s->is->attributes(&arena, &node, t);
    struct op_call call = {.op = op_find(s->is->op),
                           .node = &node,
                           .opset = s->is->opset ? s->is->opset : 20,
                           .n_inputs = t->n_inputs,
                           .inputs = given,
                           .n_outputs = 1,
                           .outputs = outputs,
                           .err = &err};
    if (call.op->eval(&call)) {
        fprintf(stderr, "%s, %s: %s\n", s->is->op, s->is->name, err.message);
        exit(2);
    }
    s->y = memory_grow(s->y, &s->room, outputs[0].count + 1, sizeof *s->y);
    s->is->compute(t, s->y);
    double worst = worst_of(s, &outputs[0], s->y);
    s->evaluations++;
    for (size_t i = 0; i < t->n_inputs; i++)
        bounded_release(&inputs[i]);
    bounded_release(&outputs[0]);
    arena_release(&arena);
    return worst;
}

/* A number of the field: rounded to its type and within its limits. */
static double fit(const struct field *f, double x)
{
    struct machine m = {f->type, false};
    double within = fmin(fmax(x, f->low), f->high);
    return dtype_is_float(f->type) ? rounded(m, within) : nearbyint(within);
}

static double unit(const struct field *f)
{
    return dtype_is_float(f->type) ? dtype_precision(f->type).unit : 0.5;
}

/* Numbers that are hard to round: near powers of two on either side, half a unit of 1, small integers; and
 * ordinary ones. */
static double draw_number(struct rng *rng, const struct field *f)
{
    double u = unit(f), sign = f->low < 0 && rng_chance(rng, 0.5) ? -1 : 1, few = (double)rng_below(rng, 6);
    double power = ldexp(1, (int)rng_range(rng, -3, 3));
    switch (rng_below(rng, 8)) {
    case 0:
        return fit(f, sign * power * (1 + 2 * u * few));
    case 1:
        return fit(f, sign * power * (2 - 2 * u * few));
    case 2:
        return fit(f, sign * power * u * (1 + 2 * u * few));
    case 3:
        return fit(f, sign * few);
    case 4:
        return fit(f, sign * ldexp(1 + rng_unit(rng), (int)rng_range(rng, -20, 4)));
    case 5:
        return fit(f, rng_normal(rng));
    default:
        return fit(f, rng_uniform(rng, f->low, f->high));
    }
}

/* Some units in the last place away. */
static double step_away(struct rng *rng, const struct field *f, double x)
{
    int exponent;
    frexp(x == 0 ? unit(f) : x, &exponent);
    double ulp = ldexp(unit(f), exponent);
    double far = rng_chance(rng, 0.5) ? 1 : ldexp(1, (int)rng_below(rng, 22));
    return fit(f, x + (rng_chance(rng, 0.5) ? far : -far) * ulp);
}

/* Gives sizes a meaning and draws the elements that are new. */
static void lay_out(struct search *s, struct trial *t)
{
    t->n_inputs = 0;
    s->is->lay_out(t);
    for (size_t i = 0; i < t->n_inputs; i++)
        for (size_t k = 0; k < t->in[i].count; k++)
            if (isnan(t->in[i].at[k]))
                t->in[i].at[k] = draw_number(&s->rng, &t->in[i]);
}

static void draw_trial(struct search *s, struct trial *t)
{
    for (size_t i = 0; i < TRIAL_SIZES; i++)
        t->size[i] = rng_range(&s->rng, s->is->size[i].low, s->is->size[i].high);
    t->machine.flush = t->machine.type != DTYPE_FLOAT16 && rng_chance(&s->rng, 0.3);
    for (size_t i = 0; i < TRIAL_INPUTS; i++)
        t->in[i].count = 0;
    lay_out(s, t);
}

static void change_size(struct search *s, struct trial *t)
{
    size_t which = (size_t)rng_below(&s->rng, TRIAL_SIZES);
    int64_t low = s->is->size[which].low, high = s->is->size[which].high, size = t->size[which];
    size = rng_chance(&s->rng, 0.7) ? size + rng_range(&s->rng, -1, 1) : rng_range(&s->rng, low, high);
    t->size[which] = size < low ? low : size > high ? high : size;
    lay_out(s, t);
}

static void change_element(struct search *s, struct field *f)
{
    struct rng *rng = &s->rng;
    double *x = &f->at[rng_below(rng, f->count)], *other = &f->at[rng_below(rng, f->count)], was = *x;
    switch (rng_below(rng, 8)) {
    case 0:
        *x = draw_number(rng, f);
        break;
    case 1:
        *x = fit(f, -was);
        break;
    case 2:
        *x = fit(f, rng_chance(rng, 0.5) ? was * 2 : was / 2);
        break;
    case 3:
        *x = fit(f, rng_chance(rng, 0.5) ? *other : -*other);
        break;
    case 4:
        *x = *other;
        *other = was;
        break;
    default:
        *x = step_away(rng, f, was);
    }
}

/* All elements of an input at once. */
static void change_all(struct search *s, struct field *f)
{
    double factor = ldexp(1, (int)rng_range(&s->rng, -3, 3));
    bool steps = rng_chance(&s->rng, 0.5);
    for (size_t i = 0; i < f->count; i++)
        f->at[i] = steps ? step_away(&s->rng, f, f->at[i]) : fit(f, f->at[i] * factor);
}

static struct field *some_field(struct search *s, struct trial *t)
{
    for (int tries = 0; tries < 20; tries++) {
        struct field *f = &t->in[rng_below(&s->rng, t->n_inputs)];
        if (!f->fixed && f->count)
            return f;
    }
    return NULL;
}

static void change(struct search *s, struct trial *t)
{
    struct field *f = some_field(s, t);
    uint64_t kind = rng_below(&s->rng, 40);
    if (kind == 0)
        change_size(s, t);
    else if (kind == 1 && t->machine.type != DTYPE_FLOAT16)
        t->machine.flush = !t->machine.flush;
    else if (kind == 2 && f)
        change_all(s, f);
    else
        for (uint64_t n = 1 + (rng_chance(&s->rng, 0.3) ? rng_below(&s->rng, 4) : 0); f && n > 0; n--)
            change_element(s, f);
}

/* Where elements do not depend on each other: half of them near the worst one so far, the others anywhere. */
static void change_around(struct search *s, struct trial *t, double worst)
{
    struct field *f = &t->in[0];
    for (size_t i = 0; i < f->count; i++)
        f->at[i] = i % 2 ? draw_number(&s->rng, f) : step_away(&s->rng, f, worst);
    if (t->machine.type != DTYPE_FLOAT16)
        t->machine.flush = rng_chance(&s->rng, 0.3);
}

/* All numbers of a half-precision type, while there is time; the worst is kept. */
static double scan_all(struct search *s, struct trial *t, double until, double *at)
{
    struct field *f = &t->in[0];
    double worst = 0;
    for (uint32_t bits = 0; bits < 0x10000 && clock_seconds() < until;) {
        for (size_t i = 0; i < f->count; i++, bits++) {
            uint16_t half = (uint16_t)bits;
            double x = f->type == DTYPE_FLOAT16 ? (double)float16_to(half) : (double)bfloat16_to(half);
            f->at[i] = isnan(x) || x < f->low || x > f->high ? fit(f, 1) : x;
        }
        double ratio = evaluate(s, t);
        if (ratio > worst) {
            worst = ratio;
            *at = f->at[s->worst_at];
        }
    }
    return worst;
}

static double search_points(struct search *s, struct trial *t, double until)
{
    double at = 1, worst = 0;
    draw_trial(s, t);
    if (t->machine.type != DTYPE_FLOAT)
        worst = scan_all(s, t, until, &at);
    while (clock_seconds() < until) {
        change_around(s, t, at);
        double ratio = evaluate(s, t);
        if (ratio > worst) {
            worst = ratio;
            at = t->in[0].at[s->worst_at];
        }
    }
    return worst;
}

/* Climbs from a trial until nothing has helped for long. */
static double climb(struct search *s, struct trial *t, struct trial *next, double until)
{
    double now = evaluate(s, t);
    size_t patience = 300, failures = 0;
    for (size_t i = 0; i < t->n_inputs; i++)
        patience += 6 * t->in[i].count;
    while (failures < patience && clock_seconds() < until && !isinf(now)) {
        trial_copy(next, t);
        change(s, next);
        double then = evaluate(s, next);
        failures = then > now ? 0 : failures + 1;
        if (then >= now) {
            trial_copy(t, next);
            now = then;
        }
    }
    return now;
}

static double search_climbing(struct search *s, struct trial *t, double until)
{
    struct trial next = {.is = t->is, .machine = t->machine}, best = {.is = t->is, .machine = t->machine};
    double worst = -1;
    while (clock_seconds() < until) {
        bool fresh = worst < 0 || rng_chance(&s->rng, 0.5);
        if (fresh) {
            draw_trial(s, t);
        } else {
            trial_copy(t, &best);
            for (uint64_t n = 1 + rng_below(&s->rng, 30); n > 0; n--)
                change(s, t);
        }
        double ratio = climb(s, t, &next, until);
        if (ratio > worst) {
            worst = ratio;
            trial_copy(&best, t);
        }
    }
    trial_release(t);
    *t = best;
    trial_release(&next);
    return worst;
}

/* The constants of an operator's bound and where they are derived. */
static const struct {
    const char *op, *constant, *derivation;
} bounds[] = {
    {"MatMul", "n u sum abs(t)", "contraction.md"},
    {"Gemm", "(n+3) u sum abs(t)", "contraction.md"},
    {"Einsum", "(n+p-2) u sum abs(t)", "contraction.md"},
    {"Conv", "n u sum abs(t), Winograd", "contraction.md, Winograd"},
    {"ConvTranspose", "n u sum abs(t)", "contraction.md"},
    {"MatMulInteger", "0", "contraction.md"},
    {"ReduceSum", "g(n-1)", "reduce.md"},
    {"ReduceL1", "g(n-1)", "reduce.md"},
    {"ReduceMean", "g(n-1), 2u", "reduce.md"},
    {"ReduceSumSquare", "g(n-1), 1u a square", "reduce.md"},
    {"ReduceL2", "g(n-1), 2u", "reduce.md"},
    {"ReduceLogSum", "8u", "reduce.md"},
    {"ReduceLogSumExp", "(8 + 3 abs(x-m))u exp, 8u log", "reduce.md"},
    {"ReduceProd", "g(n)", "reduce.md"},
    {"CumSum", "g(n-1)", "reduce.md"},
    {"Sum", "g(n-1)", "elementwise.md"},
    {"Mean", "g(n-1), 2u", "elementwise.md"},
    {"Softmax", "(8 + 3 abs(x-m))u exp, 9u a maximum, 3u", "reduce.md"},
    {"LogSoftmax", "(8 + 3 abs(x-m))u exp, 9u a maximum, 8u log", "reduce.md"},
    {"AveragePool", "g(n-1), 2u", "pool.md"},
    {"LpPool", "(8 + 10p abs(log x))u, (8 + 10 abs(log s)/p)u", "pool.md"},
    {"LayerNormalization", "4 g(n+3), 4u, 4u", "normalize.md"},
    {"InstanceNormalization", "4 g(n+3), 4u, 4u", "normalize.md"},
    {"BatchNormalization", "4u, 4u", "normalize.md"},
    {"LpNormalization", "2u", "normalize.md"},
    {"LRN", "(8 + 10 abs(beta log b))u", "normalize.md"},
    {"LSTM", "16u, 4 roundings", "recurrent.md"},
    {"GRU", "16u, 4u(abs(h)+abs(H))", "recurrent.md"},
    {"RNN", "16u, 4 roundings", "recurrent.md"},
    {"Resize", "4 u32, 2u, (10+40 abs(a))u", "resize.md"},
    {"GridSample", "4u, 2u, (10+40 abs(a))u", "resize.md"},
    {"QuantizeLinear", "2u", "elementwise.md, Quantisation"},
    {"DequantizeLinear", "1u", "elementwise.md, Quantisation"},
    {"Exp", "(8 + 2 abs(x))u abs(y)", "elementwise.md"},
    {"Log", "8u abs(y)", "elementwise.md"},
    {"Pow", "(8 + 10 abs(y ln x))u", "elementwise.md"},
    {"Tanh", "8u(abs(y)+1)", "elementwise.md"},
    {"Erf", "8u(abs(y)+1) + 24 u32", "elementwise.md"},
    {"Sin", "8u(abs(y)+1)", "elementwise.md"},
    {"Cos", "8u(abs(y)+1)", "elementwise.md"},
    {"Tan", "8u(abs(y)+1)", "elementwise.md"},
    {"Sinh", "(8 + 2 abs(x))u abs(y)", "elementwise.md"},
    {"Cosh", "(8 + 2 abs(x))u abs(y)", "elementwise.md"},
    {"Atan", "8u abs(y)", "elementwise.md"},
    {"Asin", "12u abs(y)", "elementwise.md"},
    {"Acos", "8u(abs(y)+1)", "elementwise.md"},
    {"Asinh", "8u abs(y)", "elementwise.md"},
    {"Acosh", "8u(abs(y)+1), the root of x^2 - 1", "elementwise.md"},
    {"Atanh", "8u abs(y)", "elementwise.md"},
    {"Sqrt", "4u abs(y)", "elementwise.md"},
    {"Reciprocal", "4u abs(y)", "elementwise.md"},
    {"Div", "2u abs(q)", "elementwise.md"},
    {"Sigmoid", "8u(abs(y)+1)", "elementwise.md"},
    {"Softplus", "8u(abs(y)+1)", "elementwise.md"},
    {"Elu", "8u(abs(y)+alpha)", "elementwise.md"},
    {"Celu", "8u(abs(y)+alpha), 3u", "elementwise.md"},
    {"Selu", "8u(abs(y)+alpha gamma)", "elementwise.md"},
    {"Gelu", "8u(abs(y)+abs(x)) + 5 u32 abs(x)", "elementwise.md"},
    {"Mish", "16u(abs(y)+abs(x))", "elementwise.md"},
    {"HardSigmoid", "3u", "elementwise.md"},
    {"HardSwish", "4 max(u, 2^-25)", "elementwise.md"},
    {"Softsign", "4u abs(y)", "elementwise.md"},
};

static size_t bound_of(const char *op)
{
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (strcmp(bounds[i].op, op) == 0)
            return i;
    fprintf(stderr, "the table of constants does not have %s\n", op);
    exit(2);
}

/* Whether the reference has the operator in the type. */
static bool has_type(const struct implementation *is, enum dtype type)
{
    const struct op *op = op_find(is->op);
    dtype_set set = 0;
    for (size_t i = 0; i < sizeof op->types / sizeof *op->types && op->types[i].since; i++)
        if (op->types[i].since <= (is->opset ? is->opset : 20))
            set = op->types[i].set;
    return type == DTYPE_FLOAT || (!is->only_float && dtype_in(type, set));
}

/* What is searched, and for how long each. */
struct plan {
    uint64_t seed;
    const char *op; /* NULL: all */
    double seconds;
    bool shows; /* the worst inputs */
};

static void show(const struct trial *t)
{
    printf("  %s", t->machine.flush ? "flushing; " : "");
    for (size_t i = 0; i < t->n_inputs; i++) {
        char text[SHAPE_TEXT_SIZE];
        printf("input %zu %s:", i, shape_text(&t->in[i].shape, text));
        for (size_t k = 0; k < t->in[i].count && k < 100; k++)
            printf(" %a", t->in[i].at[k]);
        printf("; ");
    }
    printf("\n");
}

struct found {
    double largest;
    size_t implementations;
};

/* A search over points finds its best early; Winograd's bounds take long to compute. */
static double effort_of(const struct implementation *is)
{
    return is->effort > 0 ? is->effort : is->scans ? 0.4 : 1;
}

static void search_one(const struct plan *plan, const struct implementation *is, enum dtype type,
                       size_t number, struct found *found)
{
    struct rng seed = rng_seed(plan->seed);
    struct search s = {.is = is, .rng = rng_split(&seed, number)};
    struct trial t = {.is = is, .machine = {type, false}};
    double until = clock_seconds() + plan->seconds * effort_of(is);
    double worst = is->scans ? search_points(&s, &t, until) : search_climbing(&s, &t, until);
    size_t bound = bound_of(is->op);
    printf("| %s | %s | %s | %s | %s | %.3g | %zu |\n", is->op, is->name, dtype_name(type),
           bounds[bound].constant, bounds[bound].derivation, worst, s.evaluations);
    if (plan->shows)
        show(&t);
    fflush(stdout);
    found->largest = fmax(found->largest, worst);
    found->implementations++;
    trial_release(&t);
    free(s.y);
}

static const struct implementation *const families[] = {contractions, sums,  statistics,
                                                        functions,    cells, samplings};
static const enum dtype types[] = {DTYPE_FLOAT, DTYPE_FLOAT16, DTYPE_BFLOAT16};

/* Calls search_one for all that are admitted, or for those that are not; without `found` it only adds up
 * their efforts. */
static double search_all(const struct plan *plan, bool refused, struct found *found)
{
    size_t number = 0;
    double effort = 0;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const struct implementation *is = families[f]; is->op; is++)
            for (size_t i = 0; i < 3; i++, number++) {
                if (is->refused != refused || !has_type(is, types[i]) ||
                    (plan->op && strcmp(plan->op, is->op) != 0))
                    continue;
                effort += effort_of(is);
                if (found)
                    search_one(plan, is, types[i], number, found);
            }
    return effort;
}

int main(int argc, char **argv)
{
    struct plan plan = {.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
                        .op = argc > 3 && *argv[3] ? argv[3] : NULL,
                        .shows = argc > 4};
    struct found admitted = {0}, refused = {0};
    double seconds = argc > 1 ? atof(argv[1]) : 0;
    if (!(seconds > 0)) {
        fprintf(stderr, "usage: bench_adversary SECONDS [SEED [OPERATOR [show]]]\n");
        return 2;
    }
    plan.seconds = seconds / fmax(search_all(&plan, false, NULL) + search_all(&plan, true, NULL), 0.1);
    printf("| operator | implementation | type | constant | derivation | largest error / hard bound | "
           "evaluations |\n"
           "|---|---|---|---|---|---|---|\n");
    search_all(&plan, false, &admitted);
    printf("\nNot admitted by the bounds, for comparison:\n\n"
           "| operator | implementation | type | constant | derivation | largest error / hard bound | "
           "evaluations |\n"
           "|---|---|---|---|---|---|---|\n");
    search_all(&plan, true, &refused);
    printf("\nadversary: largest error over hard bound %.3g over %zu implementations (target 1)\n",
           admitted.largest, admitted.implementations);
    return admitted.largest <= 1 && admitted.implementations > 0 ? 0 : 1;
}
