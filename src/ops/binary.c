/*
 * Arithmetic of two tensors that broadcast: correctly rounded operations, whose own error is the last
 * rounding alone; division allows a reciprocal and a product.
 */
#include "ops/broadcast.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* factor * bound, but 0 when the bound is 0, even if the factor is infinite. */
static long double times(long double factor, long double bound)
{
    return bound == 0 ? 0 : fabsl(factor) * bound;
}

/* Arithmetic with infinities takes a hundred times as long. */
static bool is_unknown(const struct pair *p)
{
    return isinf(p->hard_a) || isinf(p->hard_b);
}

static long double both_hard(const struct pair *p)
{
    return is_unknown(p) ? INFINITY : p->hard_a + p->hard_b;
}

static void put_add(const struct pair *p, struct bounded *out, size_t i)
{
    bounded_put(out, i, p->a + p->b, both_hard(p), p->exact ? 0 : likely_add(p->likely_a, p->likely_b));
}

static void put_sub(const struct pair *p, struct bounded *out, size_t i)
{
    bounded_put(out, i, p->a - p->b, both_hard(p), p->exact ? 0 : likely_add(p->likely_a, p->likely_b));
}

/* put_add and put_sub for several elements: the values are those of one long double operation, too. */
static void row_of_sums(struct pair_row *p)
{
    for (size_t i = 0; i < p->count; i++) {
        p->hard[i] = p->hard_a[i] + p->hard_b[i];
        p->likely[i] =
            p->hard[i] == 0 ? 0 : sqrt(p->likely_a[i] * p->likely_a[i] + p->likely_b[i] * p->likely_b[i]);
    }
}

static bool row_add(struct pair_row *p)
{
    for (size_t i = 0; i < p->count; i++)
        p->value[i] = p->a[i] + p->b[i];
    row_of_sums(p);
    return true;
}

static bool row_sub(struct pair_row *p)
{
    for (size_t i = 0; i < p->count; i++)
        p->value[i] = p->a[i] - p->b[i];
    row_of_sums(p);
    return true;
}

/* The last term is for a factor that may be 0 or not because of a jump: there the slopes say nothing. */
static long double product_likely(const struct pair *p)
{
    return likely_add(likely_add(times(p->a, p->likely_b), times(p->b, p->likely_a)),
                      times(p->likely_a, p->likely_b));
}

static void put_mul(const struct pair *p, struct bounded *out, size_t i)
{
    if (p->exact)
        bounded_put(out, i, p->a * p->b, 0, 0);
    else if (is_unknown(p))
        bounded_put(out, i, p->a * p->b, INFINITY, product_likely(p));
    else
        bounded_put(out, i, p->a * p->b,
                    times(p->a, p->hard_b) + times(p->b, p->hard_a) + times(p->hard_a, p->hard_b),
                    product_likely(p));
}

/* The same for several elements. The product of two infinite or unknown factors is left to put_mul. */
static bool row_mul(struct pair_row *p)
{
    bool known = true;
    for (size_t i = 0; i < p->count; i++) {
        double a = fabs((double)p->a[i]), b = fabs((double)p->b[i]), x = a * p->likely_b[i],
               y = b * p->likely_a[i], z = p->likely_a[i] * p->likely_b[i];
        known &= a <= FLT_MAX && b <= FLT_MAX && p->hard_a[i] <= FLT_MAX && p->hard_b[i] <= FLT_MAX;
        p->value[i] = p->a[i] * p->b[i];
        p->hard[i] = a * p->hard_b[i] + b * p->hard_a[i] + p->hard_a[i] * p->hard_b[i];
        p->likely[i] = p->hard_a[i] == 0 && p->hard_b[i] == 0 ? 0 : sqrt(x * x + y * y + z * z);
    }
    return known;
}

/*
 * Division may be computed as a product with an estimated and refined reciprocal: two more units, none for a
 * power of two.
 */
static void put_float_div(const struct pair *p, struct bounded *out, size_t i)
{
    long double q = p->a / p->b, own = isfinite(q) ? 2 * unit_of(p->type) * fabsl(q) : 0;
    /* The sign of the infinity depends on the sign of the zero, which operators do not guarantee for their
     * results. */
    if (p->b == 0 && isinf(q) && !p->given_b) {
        bounded_put_undecided(out, i, q);
        return;
    }
    if (is_power_of_two(p->b) && p->hard_b == 0)
        own = 0;
    /* Whether the reciprocal of a subnormal divisor overflows must not matter: a/b is a number. */
    if (p->exact || (isnan(q) && !isinf(p->hard_a) && fabsl(p->b) > p->hard_b)) {
        bounded_put(out, i, q, own, own / 2);
    } else if (fabsl(p->b) <= p->hard_b) {
        bounded_put(out, i, q, INFINITY, likely_add(p->likely_a, p->likely_b));
    } else {
        long double reach = (p->hard_a + times(q, p->hard_b)) / (fabsl(p->b) - p->hard_b);
        bounded_put(out, i, q, own + reach + 2 * unit_of(p->type) * reach,
                    likely_add(own / 2, likely_add(p->likely_a, times(q, p->likely_b)) /
                                            (fabsl(p->b) - fminl(p->likely_b, p->hard_b))));
    }
}

/* Divides towards zero, exactly: a - a mod b is a multiple of b that long double holds. */
static long double divide(long double a, long double b)
{
    return (a - fmodl(a, b)) / b;
}

/* Whether the divisor is or may be zero: ONNX leaves the result unspecified, and an implementation may refuse
 * it. */
static bool by_zero(const struct pair *p)
{
    return fabsl(p->b) <= p->hard_b;
}

/* An uncertain dividend changes the quotient in steps; an uncertain divisor changes it between the ends of
 * its interval. */
static void put_integer_div(const struct pair *p, struct bounded *out, size_t i)
{
    if (by_zero(p)) {
        bounded_put_open(out, i);
    } else if (p->exact) {
        bounded_put(out, i, divide(p->a, p->b), 0, 0);
    } else if (isinf(p->hard_a)) {
        bounded_put_undecided(out, i, divide(p->a, p->b));
    } else {
        long double low = INFINITY, high = -INFINITY;
        for (int corner = 0; corner < 4; corner++) {
            long double q = divide(p->a + (corner & 1 ? p->hard_a : -p->hard_a),
                                   p->b + (corner & 2 ? p->hard_b : -p->hard_b));
            low = fminl(low, q);
            high = fmaxl(high, q);
        }
        if (high > dtype_highest(p->type)) /* the least integer divided by -1 */
            bounded_put_open(out, i);
        else
            bounded_put_range(out, i, divide(p->a, p->b), low, high);
    }
}

/* Whether the rounded quotient is the same for all operands within their bounds; *n is that quotient. */
static bool one_quotient(const struct pair *p, long double (*round)(long double), long double *n)
{
    if (fabsl(p->b) <= p->hard_b || isinf(p->b) || isinf(p->hard_a) || isinf(p->hard_b))
        return false;
    *n = round(p->a / p->b);
    bool same = true;
    for (int corner = 0; corner < 4; corner++)
        same = same && round((p->a + (corner & 1 ? p->hard_a : -p->hard_a)) /
                             (p->b + (corner & 2 ? p->hard_b : -p->hard_b))) == *n;
    return same;
}

/* The remainder by an unknown quotient lies between 0 and the divisor, with the sign of the dividend for fmod
 * and of the divisor otherwise. Undecided when it may be NaN, as for a divisor of 0. */
static void put_any_remainder(const struct pair *p, struct bounded *out, size_t i, long double r, bool fmod)
{
    long double most = fabsl(p->b) + p->hard_b, sign = fmod ? p->a : p->b, slack = fmod ? p->hard_a : 0;
    bool number = isfinite(r) && isfinite(p->hard_a) && isfinite(most) && fabsl(p->b) > p->hard_b;
    /* A remainder that is subnormal may become 0, and has a bound that says so. */
    long double tiny = dtype_is_float(out->type) ? dtype_precision(out->type).tiny : 0;
    if (number)
        bounded_put_range(out, i, r, (sign - slack < 0 ? -most : 0) - tiny,
                          (sign + slack > 0 ? most : 0) + tiny);
    else
        bounded_put_undecided(out, i, r);
}

/* The remainder a - n b is exact, in every type. It jumps where the quotient passes an integer. */
static void put_remainder(const struct pair *p, struct bounded *out, size_t i, long double r,
                          long double (*round)(long double))
{
    long double n;
    if (p->exact)
        bounded_put(out, i, r, 0, 0);
    else if (one_quotient(p, round, &n))
        bounded_put(out, i, r, p->hard_a + times(n, p->hard_b),
                    likely_add(p->likely_a, times(n, p->likely_b)));
    else
        put_any_remainder(p, out, i, r, round == truncl);
}

static void put_fmod(const struct pair *p, struct bounded *out, size_t i)
{
    if (!dtype_is_float(p->type) && by_zero(p))
        bounded_put_open(out, i);
    else
        put_remainder(p, out, i, fmodl(p->a, p->b), truncl);
}

/* As in Python, the result has the sign of the divisor. */
static void put_mod(const struct pair *p, struct bounded *out, size_t i)
{
    if (by_zero(p)) {
        bounded_put_open(out, i);
        return;
    }
    long double r = fmodl(p->a, p->b);
    put_remainder(p, out, i, r != 0 && (r < 0) != (p->b < 0) ? r + p->b : r, floorl);
}

static void put_and(const struct pair *p, struct bounded *out, size_t i)
{
    /* An operand that is certainly false determines the result. */
    bool no = (p->a == 0 && p->hard_a == 0) || (p->b == 0 && p->hard_b == 0);
    bool value = p->a != 0 && p->b != 0;
    bounded_put_range(out, i, value, no || p->exact ? value : 0, no || p->exact ? value : 1);
}

static void put_or(const struct pair *p, struct bounded *out, size_t i)
{
    bool yes = (p->a != 0 && p->hard_a == 0) || (p->b != 0 && p->hard_b == 0);
    bool value = p->a != 0 || p->b != 0;
    bounded_put_range(out, i, value, yes || p->exact ? value : 0, yes || p->exact ? value : 1);
}

static void put_xor(const struct pair *p, struct bounded *out, size_t i)
{
    bool value = (p->a != 0) != (p->b != 0);
    bounded_put_range(out, i, value, p->exact ? value : 0, p->exact ? value : 1);
}

/* A shift by the width of the type or more is undefined in C: unspecified here. */
static void put_shift(const struct pair *p, struct bounded *out, size_t i)
{
    long double width = 8 * (long double)dtype_size(p->type);
    bool left = strcmp(call_string(p->call, "direction", ""), "LEFT") == 0;
    if (p->b >= width) {
        bounded_put_open(out, i);
    } else if (!p->exact) {
        bounded_put_undecided(out, i, 0);
    } else if (left) {
        uint64_t mask = UINT64_MAX >> (64 - (unsigned)width);
        bounded_put(out, i, (long double)(((uint64_t)p->a << (unsigned)p->b) & mask), 0, 0);
    } else {
        bounded_put(out, i, (long double)((uint64_t)p->a >> (unsigned)p->b), 0, 0);
    }
}

/* x < 0 ? slope * x : x. The slope broadcasts to x, not the other way round. Lipschitz continuous across 0.
 */
static void put_prelu(const struct pair *p, struct bounded *out, size_t i)
{
    bool negative = p->a < 0;
    long double value = negative ? p->a * p->b : p->a;
    if (p->exact || p->a - p->hard_a >= 0) {
        bounded_put(out, i, value, p->hard_a, p->likely_a);
        return;
    }
    long double slope = fabsl(p->b) + p->hard_b;
    if (p->a + p->hard_a >= 0 && !isfinite(slope)) { /* NaN or infinite only if x is below 0 */
        bounded_put_undecided(out, i, value);
        return;
    }
    if (p->a + p->hard_a >= 0)
        slope = fmaxl(1, slope);
    bounded_put(out, i, value, times(slope, p->hard_a) + times(p->a, p->hard_b),
                likely_add(times(slope, p->likely_a), times(p->a, p->likely_b)));
}

static uint64_t bits_of(enum dtype type, long double value)
{
    return dtype_is_signed(type) ? (uint64_t)(int64_t)value : (uint64_t)value;
}

/* Signed integers are sign-extended, so that their bits are those of the wider type. */
static void put_bits(const struct pair *p, struct bounded *out, size_t i, uint64_t bits)
{
    long double value = dtype_is_signed(p->type) ? (long double)(int64_t)bits : (long double)bits;
    if (p->exact)
        bounded_put(out, i, value, 0, 0);
    else
        bounded_put_undecided(out, i, value);
}

static void put_bitwise_and(const struct pair *p, struct bounded *out, size_t i)
{
    put_bits(p, out, i, bits_of(p->type, p->a) & bits_of(p->type, p->b));
}

static void put_bitwise_or(const struct pair *p, struct bounded *out, size_t i)
{
    put_bits(p, out, i, bits_of(p->type, p->a) | bits_of(p->type, p->b));
}

static void put_bitwise_xor(const struct pair *p, struct bounded *out, size_t i)
{
    put_bits(p, out, i, bits_of(p->type, p->a) ^ bits_of(p->type, p->b));
}

struct operation {
    const char *name;
    void (*put)(const struct pair *pair, struct bounded *out, size_t i);
    void (*put_integer)(const struct pair *pair, struct bounded *out, size_t i); /* NULL: the same */
    bool (*row)(struct pair_row *row); /* several elements at once (broadcast_binary_rows) */
};

static const struct operation operations[] = {
    {"Add", put_add, NULL, .row = row_add},
    {"And", put_and, NULL},
    {"BitShift", put_shift, NULL},
    {"Div", put_float_div, put_integer_div},
    {"Mul", put_mul, NULL, .row = row_mul},
    {"Or", put_or, NULL},
    {"PRelu", put_prelu, NULL},
    {"Sub", put_sub, NULL, .row = row_sub},
    {"Xor", put_xor, NULL},
    {"BitwiseAnd", put_bitwise_and, NULL},
    {"BitwiseOr", put_bitwise_or, NULL},
    {"BitwiseXor", put_bitwise_xor, NULL},
};

static struct number negated(struct number n)
{
    n.v = -n.v;
    return n;
}

static struct number operand(const struct op_gradient *g, const struct broadcast *walk, size_t k)
{
    return number_of(g->call->inputs[k], walk->at[k]);
}

static void add_add(struct op_gradient *g, const struct broadcast *walk, struct number upstream,
                    struct gradient_sums *sums)
{
    (void)g;
    gradient_sums_add(&sums[0], walk->at[0], upstream);
    gradient_sums_add(&sums[1], walk->at[1], upstream);
}

static void add_sub(struct op_gradient *g, const struct broadcast *walk, struct number upstream,
                    struct gradient_sums *sums)
{
    (void)g;
    gradient_sums_add(&sums[0], walk->at[0], upstream);
    gradient_sums_add(&sums[1], walk->at[1], negated(upstream));
}

static void add_mul(struct op_gradient *g, const struct broadcast *walk, struct number upstream,
                    struct gradient_sums *sums)
{
    enum dtype type = g->call->outputs[0].type;
    gradient_sums_add(&sums[0], walk->at[0], gradient_product(upstream, operand(g, walk, 1), type));
    gradient_sums_add(&sums[1], walk->at[1], gradient_product(upstream, operand(g, walk, 0), type));
}

/* g / b, and -g a / b^2 by any formula: -g a / (b b), -(g / b) (a / b), -g y / b. */
static void add_div(struct op_gradient *g, const struct broadcast *walk, struct number upstream,
                    struct gradient_sums *sums)
{
    enum dtype type = g->call->outputs[0].type;
    struct number inverse = gradient_inverse(operand(g, walk, 1), type);
    struct number factors[] = {upstream, inverse, negated(inverse), operand(g, walk, 0)};
    gradient_sums_add(&sums[0], walk->at[0], gradient_factors(factors, 2, type));
    if (sums[1].sums)
        gradient_sums_add(&sums[1], walk->at[1], gradient_factors(factors, 4, type));
}

/* The slope's derivative is continuous at 0, that of the data is not. */
static void add_prelu(struct op_gradient *g, const struct broadcast *walk, struct number upstream,
                      struct gradient_sums *sums)
{
    enum dtype type = g->call->outputs[0].type;
    struct number x = operand(g, walk, 0), slope = operand(g, walk, 1);
    bool decided = fabsl(x.v) > x.h, negative = x.v < 0;
    if (!gradient_is_number(x) || !gradient_is_number(slope) || !gradient_is_number(upstream)) {
        gradient_sums_undecided(&sums[0], walk->at[0]);
        gradient_sums_undecided(&sums[1], walk->at[1]);
        return;
    }
    if (decided && negative)
        gradient_sums_add(&sums[0], walk->at[0], gradient_product(upstream, slope, type));
    else
        gradient_sums_add(&sums[0], walk->at[0],
                          decided ? upstream
                                  : gradient_between(upstream, gradient_product(upstream, slope, type)));
    if (!decided && x.h > 0)
        gradient_sums_add(&sums[1], walk->at[1],
                          gradient_product(upstream, (struct number){negative ? x.v : 0, x.h, x.l}, type));
    else if (negative)
        gradient_sums_add(&sums[1], walk->at[1], gradient_product(upstream, x, type));
}

/* g, and -g trunc(a / b) where no error can change the quotient's whole part. */
static void add_mod(struct op_gradient *g, const struct broadcast *walk, struct number upstream,
                    struct gradient_sums *sums)
{
    enum dtype type = g->call->outputs[0].type;
    struct number a = operand(g, walk, 0), b = operand(g, walk, 1);
    long double q = a.v / b.v, n = truncl(q), unit = unit_of(type);
    long double error = fabsl(b.v) > b.h ? (a.h + fabsl(q) * b.h) / (fabsl(b.v) - b.h) : INFINITY;
    error += 4 * unit * fabsl(q);
    bool decided = isfinite(q) && truncl(q - error) == n && truncl(q + error) == n &&
                   (n == 0 || (q - error != n && q + error != n && q != n)) && fabsl(n) * unit < 1;
    gradient_sums_add(&sums[0], walk->at[0], decided ? upstream : gradient_undecided());
    gradient_sums_add(&sums[1], walk->at[1],
                      decided ? gradient_product(upstream, number_exact(-n), type) : gradient_undecided());
}

static int gradient_arithmetic(struct op_gradient *g)
{
    static const struct {
        const char *name;
        void (*add)(struct op_gradient *g, const struct broadcast *walk, struct number upstream,
                    struct gradient_sums *sums);
    } rules[] = {{"Add", add_add}, {"Div", add_div},     {"Mod", add_mod},
                 {"Mul", add_mul}, {"PRelu", add_prelu}, {"Sub", add_sub}};
    size_t kind = 0;
    while (strcmp(rules[kind].name, g->call->op->name) != 0)
        kind++;
    return broadcast_gradient(g, rules[kind].add);
}

/* An implementation may check the divisors for zeros even when there is nothing to divide. */
static int divide_integers(struct op_call *call,
                           void (*put)(const struct pair *pair, struct bounded *out, size_t i))
{
    if (broadcast_binary(call, DTYPE_NONE, put))
        return -1;
    const struct bounded *by = call->inputs[1];
    for (size_t i = 0; call->outputs[0].count == 0 && by->value && i < by->count; i++)
        call->open |= fabsl(by->value[i]) <= bounded_hard(by, i);
    return 0;
}

static int eval_arithmetic(struct op_call *call)
{
    const struct operation *operation = operations;
    while (strcmp(operation->name, call->op->name) != 0)
        operation++;
    const struct bounded *a = call_need(call, 0);
    if (!a || broadcast_same_type(call, 0))
        return -1;
    if (operation->put_integer && !dtype_is_float(a->type))
        return divide_integers(call, operation->put_integer);
    return broadcast_binary_rows(call, DTYPE_NONE, operation->put, operation->row);
}

static int eval_prelu(struct op_call *call)
{
    if (eval_arithmetic(call))
        return -1;
    if (!shape_equal(&call->outputs[0].shape, &call->inputs[0]->shape))
        return call_invalid(call, "the slope does not broadcast to the data");
    return 0;
}

static int eval_shift(struct op_call *call)
{
    const char *direction = call_string(call, "direction", "");
    if (strcmp(direction, "LEFT") != 0 && strcmp(direction, "RIGHT") != 0)
        return call_invalid(call, "direction '%s' is neither LEFT nor RIGHT", direction);
    return eval_arithmetic(call);
}

static int eval_mod(struct op_call *call)
{
    const struct bounded *a = call_need(call, 0);
    int64_t fmod_wanted = call_int(call, "fmod", 0);
    if (!a || broadcast_same_type(call, 0))
        return -1;
    if (dtype_is_float(a->type) && fmod_wanted != 1)
        return call_invalid(call, "needs fmod=1 for floats");
    if (!dtype_is_float(a->type))
        return divide_integers(call, fmod_wanted ? put_fmod : put_mod);
    return broadcast_binary(call, DTYPE_NONE, put_fmod);
}

static int sample_binary(struct draw *d)
{
    struct drawn a = draw_primary(d);
    struct shape shape = broadcast_partner(d, &a.shape);
    draw_data(d, a.type, &shape);
    return 0;
}

/*
 * Draws a divisor. Integer divisors are seldom 0, or -1 where the least integer may be divided, because these
 * end in SIGFPE or an error as often as in a number.
 */
static int sample_divisor(struct draw *d)
{
    struct drawn a = draw_primary(d);
    struct shape shape = broadcast_partner(d, &a.shape);
    if (strcmp(d->op->name, "Mod") == 0 && (dtype_is_float(a.type) || draw_chance(d, 0.5)))
        draw_int(d, "fmod", dtype_is_float(a.type) ? 1 : draw_between(d, 0, 1));
    if (dtype_is_float(a.type) || draw_chance(d, 0.05)) {
        draw_data(d, a.type, &shape);
        return 0;
    }
    size_t count = shape_span(&shape, 0, shape.rank);
    int64_t *values = arena_alloc(d->arena, (count ? count : 1) * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[i] = draw_between(d, 1, draw_chance(d, 0.1) ? 127 : 9);
        bool least = values[i] == 1 && d->fill == FILL_SPECIAL;
        if (dtype_is_signed(a.type) && !least && draw_chance(d, 0.5))
            values[i] = -values[i];
    }
    draw_int_typed(d, a.type, &shape, values);
    return 0;
}

static int sample_shift(struct draw *d)
{
    struct drawn a = draw_primary(d);
    struct shape shape = broadcast_partner(d, &a.shape);
    draw_string(d, "direction", draw_word(d, "LEFT|RIGHT"));
    draw_range(d, a.type, &shape, 0, 8 * (double)dtype_size(a.type) - 1);
    return 0;
}

static int sample_prelu(struct draw *d)
{
    struct drawn x = draw_primary(d);
    struct shape slope = draw_broadcastable(d, &x.shape);
    draw_data(d, x.type, &slope);
    return 0;
}

static const struct op_param mod_params[] = {
    {"fmod", PARAM_INT, .legal = "0|1", .illegal = "2", .initial = "0"}, {0}};
static const struct op_param shift_params[] = {
    {"direction", PARAM_STRING, .legal = "LEFT|RIGHT", .illegal = "UP|left"},
    {0},
};

enum {
    SOME_FLOATS = DTYPES_FLOAT & ~(1 << DTYPE_BFLOAT16),
    WIDE = 1 << DTYPE_INT32 | 1 << DTYPE_INT64 | 1 << DTYPE_UINT32 | 1 << DTYPE_UINT64,
    BOOLEAN = 1 << DTYPE_BOOL,
};

/* clang-format off */
#define ARITHMETIC {{11, SOME_FLOATS | WIDE}, {13, DTYPES_FLOAT | WIDE}, {14, DTYPES_NUMBER}}
/* clang-format on */

/* Members that the rows have in common. */
#define USUAL                                                                                      \
    .inputs = {2, 2}, .outputs = {1, 1}, .ranks = {0, 6}, .data = DATA_ALL, .work = WORK_ELEMENTS, \
    .each = {EACH_PAIR, .second = 1}

const struct op ops_binary[] = {
    {OP("Add", 1), .flags = OP_SPECIMEN | OP_SPECIMEN_OF_NAN, .gradient = gradient_arithmetic, USUAL,
     .types = ARITHMETIC, .eval = eval_arithmetic, .sample = sample_binary, .range = {RANGE_ADD},
     .factors = {FACTORS_SUM}, .history = {.same_since = 7}, .result = RESULT_TYPE, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("And", 1), USUAL, .types = {{11, BOOLEAN}}, .eval = eval_arithmetic, .sample = sample_binary,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .history = {.same_since = 7},
     .result = RESULT_TYPE, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}},
    {OP("BitShift", 11), .open = "a shift by the width of the type or more", USUAL,
     .types = {{11, DTYPES_UNSIGNED}}, .params = shift_params, .eval = eval_shift, .sample = sample_shift,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .result = RESULT_TYPE, .slope = SLOPE_NOWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("Div", 1), .gradient = gradient_arithmetic,
     .open = "a division of integers by 0, or an integer that overflows", USUAL, .types = ARITHMETIC,
     .eval = eval_arithmetic, .sample = sample_divisor, .range = {RANGE_DIV},
     .factors = {FACTORS_PRODUCT, .powers = {1, -1}}, .history = {.same_since = 7}, .result = RESULT_TYPE,
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_POLE, .input = 1}}},
    {OP("Mod", 10), .gradient = gradient_arithmetic, .open = "a remainder of a division by 0", USUAL,
     .types = {{11, SOME_FLOATS | DTYPES_INTEGER}, {13, DTYPES_NUMBER}}, .params = mod_params,
     .eval = eval_mod, .sample = sample_divisor, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM},
     .history = {.same_since = 10}, .result = RESULT_TYPE, .slope = SLOPE_ALMOST_EVERYWHERE,
     .dangers = {{DANGER_POLE, .input = 1}}},
    {OP("Mul", 1), .gradient = gradient_arithmetic, USUAL, .types = ARITHMETIC, .eval = eval_arithmetic,
     .sample = sample_binary, .range = {RANGE_MUL}, .factors = {FACTORS_PRODUCT, .powers = {1, 1}},
     .history = {.same_since = 7}, .result = RESULT_TYPE, .slope = SLOPE_EVERYWHERE,
     .flags = OP_MULTIPLIES | OP_SPECIMEN_OF_NAN, .dangers = {{DANGER_NONE}}},
    {OP("Or", 1), USUAL, .types = {{11, BOOLEAN}}, .eval = eval_arithmetic, .sample = sample_binary,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .history = {.same_since = 7},
     .result = RESULT_TYPE, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}},
    {OP("PRelu", 1), .gradient = gradient_arithmetic, USUAL,
     .types = {{11, SOME_FLOATS | WIDE}, {16, DTYPES_FLOAT | WIDE}}, .eval = eval_prelu,
     .sample = sample_prelu, .range = {RANGE_MUL}, .factors = {FACTORS_PRODUCT, .powers = {1, 1}},
     .history = {.same_since = 7}, .result = RESULT_LIKE_INPUT, .slope = SLOPE_ALMOST_EVERYWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("Sub", 1), .gradient = gradient_arithmetic, USUAL, .types = ARITHMETIC, .eval = eval_arithmetic,
     .sample = sample_binary, .range = {RANGE_ADD}, .factors = {FACTORS_SUM}, .history = {.same_since = 7},
     .result = RESULT_TYPE, .slope = SLOPE_EVERYWHERE, .flags = OP_SUBTRACTS, .dangers = {{DANGER_NONE}}},
    {OP("Xor", 1), USUAL, .types = {{11, BOOLEAN}}, .eval = eval_arithmetic, .sample = sample_binary,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .history = {.same_since = 7},
     .result = RESULT_TYPE, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}},
    {OP("BitwiseAnd", 18), USUAL, .flags = OP_ON_REQUEST, .types = {{18, DTYPES_INTEGER}},
     .eval = eval_arithmetic, .sample = sample_binary, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .result = RESULT_TYPE, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}},
    {OP("BitwiseOr", 18), USUAL, .flags = OP_ON_REQUEST, .types = {{18, DTYPES_INTEGER}},
     .eval = eval_arithmetic, .sample = sample_binary, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .result = RESULT_TYPE, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}},
    {OP("BitwiseXor", 18), USUAL, .flags = OP_ON_REQUEST, .types = {{18, DTYPES_INTEGER}},
     .eval = eval_arithmetic, .sample = sample_binary, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .result = RESULT_TYPE, .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
