/*
 * Pow: base of type T, exponent of any number type, result of type T.
 *
 * Floats: `library` units of exp, and those of its argument for implementations that compute exp(y ln x) in
 * the type itself. Integers go through pow of float64 in most
 * implementations: exact up to 2^53, and by a float exponent up to 2^24 only when it is whole. Open: a
 * negative power of an integer (NumPy refuses it), and where C and JavaScript disagree (1 to a NaN, +-1 to an
 * infinity).
 */
#include "ops/broadcast.h"

#include <math.h>

static const long double library = 8;

/* The relative error of y ln x in units, which exp multiplies by |y ln x|: 8 of the logarithm, one of the
 * product, and one of the exponent, which may be brought into the base's type. */
static const long double argument_units = 10;

static bool is_whole(long double y)
{
    return isfinite(y) && y == floorl(y);
}

static bool is_odd(long double y)
{
    return isfinite(y) && fabsl(fmodl(y, 2)) == 1;
}

/* x^y of x >= 0, neither of them NaN, y not 0. */
static long double magnitude(long double x, long double y)
{
    if (x == 1)
        return 1;
    if (x == 0 || isinf(x) || isinf(y))
        return (x > 1) == (y > 0) ? INFINITY : 0;
    return powl(x, y);
}

/*
 * Uses the C library for powers of positive finite numbers only; signs, zeros and infinities are handled here
 * according to IEEE 754, because powl differs between systems: that of glibc for x86 takes -2^63 for odd, and
 * a compiler that sees an even exponent may drop the fabsl of the base. Squares and cubes are handled first:
 * they are most frequent, and powl is slow.
 */
static long double power(long double x, long double y)
{
    if (y == 2)
        return x * x;
    if (y == 3)
        return x * x * x;
    if (y == 0 || x == 1) /* even for NaN */
        return 1;
    if (isnan(x) || isnan(y) || (x < 0 && isfinite(x) && isfinite(y) && !is_whole(y)))
        return NAN;
    long double size = magnitude(fabsl(x), y);
    return signbit(x) && is_odd(y) ? -size : size;
}

/* pow is monotone in each argument for x > 0, and in x on either side of 0 for a whole exponent: the ends of
 * the intervals are enough, and 0. */
static long double reach(long double z, long double x, long double hx, long double y, long double hy)
{
    if (hx == 0 && hy == 0)
        return 0;
    bool crosses = x - hx <= 0;
    if (isinf(hx) || isinf(hy) || (crosses && (hy > 0 || !is_whole(y) || (y < 0 && x + hx >= 0))))
        return INFINITY;
    /* x^0 and 1^y are 1, even for NaN and infinities: there is a jump. */
    if ((!isfinite(x) && fabsl(y) <= hy) || (!isfinite(y) && fabsl(fabsl(x) - 1) <= hx))
        return INFINITY;
    long double far = 0;
    for (int corner = 0; corner < (hy > 0 ? 4 : 2); corner++)
        far = fmaxl(far, fabsl(power(x + (corner & 1 ? hx : -hx), y + (corner & 2 ? hy : -hy)) - z));
    if (crosses && x + hx >= 0)
        far = fmaxl(far, fabsl(power(0, y) - z));
    return far;
}

/* The standard deviation from the slopes: y z / x for the base, z ln x for the exponent. For a base that may
 * be 0 or not because of a jump, the slope is taken where it is steep. */
static long double deviation(long double z, const struct pair *p, long double log_base)
{
    long double slope = fabsl(power(p->a, p->b - 1));
    if (p->b > 1 && p->likely_a > 0)
        slope = fmaxl(slope, power(fabsl(p->a) + p->likely_a, p->b - 1));
    long double by_base = p->likely_a == 0 ? 0 : fabsl(p->b) * slope * p->likely_a;
    return likely_add(by_base, p->likely_b == 0 ? 0 : fabsl(z * log_base) * p->likely_b);
}

/*
 * The largest |y ln x| x^y within the bounds of the operands, which multiplies the error of an implementation
 * by exp and log: where the base may be 0 it is at least 1/e, below 1.
 */
static long double growth_within(const struct pair *p, long double most)
{
    long double high = fabsl(p->a) + p->hard_a, low = fabsl(p->a) - p->hard_a;
    long double size = fabsl(logl(high)), exponent = fabsl(p->b) + p->hard_b;
    if (low > 0)
        size = fmaxl(size, fabsl(logl(low)));
    long double growth = exponent == 0 || most == 0 ? 0 : exponent * size * most;
    return low > 0 ? growth : fmaxl(growth, 0.4L);
}

/* What libraries disagree about. C gives 1 for NaN to the power of 0, but NaN where the NaN is a signalling
 * one, and ONNX does not distinguish these. */
static bool is_open(long double x, long double y)
{
    return (x == 1 && isnan(y)) || (isnan(x) && y == 0) || (fabsl(x) == 1 && isinf(y));
}

/* The power for all operands within their bounds, without its last rounding. */
static struct number raise(const struct pair *p)
{
    long double z = power(p->a, p->b);
    long double log_base = p->a == 0 || !isfinite(p->a) ? 0 : logl(fabsl(p->a));
    long double growth = fabsl(p->b * log_base);
    long double unit = unit_of(p->type);
    bool finite = isfinite(z) && isfinite(growth);
    long double own = finite ? (library + argument_units * growth) * unit * fabsl(z) : 0;
    long double likely = finite ? (1 + growth / library) * unit * fabsl(z) : 0;
    if (p->exact)
        return (struct number){z, own, likely};
    long double far = reach(z, p->a, p->hard_a, p->b, p->hard_b), most = fabsl(z) + far;
    long double widest =
        isfinite(most) ? unit * (library * most + argument_units * growth_within(p, most)) : own;
    return (struct number){z, far + fmaxl(own, widest), likely_add(likely, deviation(z, p, log_base))};
}

static void put_float(const struct pair *p, struct bounded *out, size_t i)
{
    long double z = power(p->a, p->b);
    if (is_open(p->a, p->b)) {
        bounded_put_open(out, i);
        return;
    }
    /* An exponent converted to the type of the base may become whole: then a negative base has a power. Or it
     * may become even: then the power has another sign. */
    long double converted = dtype_round(p->type, p->b);
    bool changed = p->a < 0 && isfinite(p->b) &&
                   (is_whole(p->b) != is_whole(converted) || is_odd(p->b) != is_odd(converted));
    /* An odd negative power of 0 is an infinity with the sign of the zero. */
    bool signed_zero = p->a == 0 && p->b < 0 && is_odd(p->b);
    if (changed || signed_zero) {
        bounded_put_undecided(out, i, z);
        return;
    }
    struct number n = raise(p);
    bounded_put(out, i, z, n.h, n.l);
}

static void put_integer(const struct pair *p, struct bounded *out, size_t i)
{
    long double z = truncl(power(p->a, p->b)), spread = 0;
    bool whole = is_whole(p->b);
    if (!whole || fabsl(z) > 0x1p53L)
        spread = 1 + fabsl(z) * library * (whole ? 0x1p-53L : 0x1p-24L);
    if (!(p->b >= 0) || is_open(p->a, p->b) || !(z - spread >= dtype_lowest(p->type)) ||
        !(z + spread <= dtype_highest(p->type)))
        bounded_put_open(out, i);
    else if (!p->exact)
        bounded_put_undecided(out, i, z);
    else
        bounded_put_range(out, i, z, z - spread, z + spread);
}

static int eval_pow(struct op_call *call)
{
    const struct bounded *base = call_need(call, 0);
    if (!base)
        return -1;
    return broadcast_binary(call, DTYPE_NONE, dtype_is_float(base->type) ? put_float : put_integer);
}

/* x to the power of y, which may first be brought into the type of x, and of which 1 may be subtracted. */
static struct number power_of(struct number x, struct number y, int less, enum dtype type)
{
    struct pair p = {.type = type,
                     .a = x.v,
                     .hard_a = x.h,
                     .likely_a = x.l,
                     .b = y.v - less,
                     .hard_b = y.h,
                     .likely_b = y.l};
    if (dtype_round(type, y.v) != y.v || dtype_round(type, p.b) != p.b)
        p.hard_b += 2 * unit_of(type) * (fabsl(y.v) + less);
    p.exact = p.hard_a == 0 && p.hard_b == 0;
    return raise(&p);
}

/* y x^(y-1), or y x^y / x, which may overflow or underflow on the way; of a square all make 2 x. */
static struct number by_base(struct number g, struct number x, struct number y, enum dtype type)
{
    struct number direct[] = {g, y, power_of(x, y, 1, type)};
    struct number slope = gradient_factors(direct, 3, type);
    if ((x.v == 0 && x.h == 0) || (y.v == 2 && y.h == 0))
        return slope;
    if (!(fabsl(x.v) > x.h)) /* so near to 0 that x^y may underflow and 1/x overflow */
        return gradient_undecided();
    struct number quotient[] = {g, y, power_of(x, y, 0, type), gradient_inverse(x, type)};
    struct number other = gradient_factors(quotient, 4, type);
    slope.h = fmaxl(slope.h, other.h);
    return slope;
}

static long double logarithm(long double x, const void *context)
{
    (void)context;
    return logl(x);
}

/* x^y ln x. A base of 0 or less has none. */
static struct number by_exponent(struct number g, struct number x, struct number y, enum dtype type)
{
    if (!(x.v > x.h) || !isfinite(x.v))
        return gradient_undecided();
    long double largest = fmaxl(fabsl(logl(x.v - x.h)), fabsl(logl(x.v + x.h)));
    struct number log_base = number_monotone(x, logarithm, NULL, library * unit_of(type) * largest);
    struct number factors[] = {g, power_of(x, y, 0, type), log_base};
    return gradient_factors(factors, 3, type);
}

static void add_pow(struct op_gradient *g, const struct broadcast *walk, struct number upstream,
                    struct gradient_sums *sums)
{
    const struct bounded *base = g->call->inputs[0], *exponent = g->call->inputs[1];
    struct number x = number_of(base, walk->at[0]), y = number_of(exponent, walk->at[1]);
    if (!gradient_is_number(x) || !gradient_is_number(y)) { /* 1 to the power of NaN may be 1 or NaN */
        gradient_sums_undecided(&sums[0], walk->at[0]);
        gradient_sums_undecided(&sums[1], walk->at[1]);
        return;
    }
    if (sums[0].sums)
        gradient_sums_add(&sums[0], walk->at[0], by_base(upstream, x, y, base->type));
    bool wider = unit_of(exponent->type) < unit_of(base->type);
    if (sums[1].sums)
        gradient_sums_add(&sums[1], walk->at[1],
                          by_exponent(upstream, x, y, wider ? base->type : exponent->type));
}

static int gradient_pow(struct op_gradient *g)
{
    return broadcast_gradient(g, add_pow);
}

enum {
    SOME_FLOATS = DTYPES_FLOAT & ~(1 << DTYPE_BFLOAT16),
    WHOLE = 1 << DTYPE_INT32 | 1 << DTYPE_INT64,
};

/* Whole exponents half of the time, 2 and 3 most often: engines have special kernels for them. */
static int sample_pow(struct draw *d)
{
    struct drawn base = draw_primary(d);
    bool whole_base = !dtype_is_float(base.type);
    dtype_set types = d->opset < 12   ? DTYPE_BIT(base.type)
                      : d->opset < 15 ? DTYPES_NUMBER & ~DTYPE_BIT(DTYPE_BFLOAT16)
                                      : DTYPES_NUMBER;
    enum dtype type = draw_chance(d, 0.4) && dtype_in(base.type, types) ? base.type : draw_type(d, types);
    struct shape shape = draw_chance(d, 0.3) ? (struct shape){.rank = 0} : broadcast_partner(d, &base.shape);
    if (draw_chance(d, 0.3)) {
        draw_range(d, type, &shape, 2, 3);
    } else if (whole_base || !dtype_is_float(type)) {
        draw_range(d, type, &shape, 0, 5);
    } else {
        if (base.source == DRAWN_NEW && draw_chance(d, 0.7))
            draw_primary_range(d, 0.01, 9);
        draw_data(d, type, &shape);
    }
    return 0;
}

static const struct op_param params[] = {{"Y", PARAM_INPUT, .input = 1, .legal = "0..5"}, {0}};

const struct op ops_power[] = {
    {OP("Pow", 1),
     .open = "a power of 1 or -1 with an exponent that is not finite, NaN to the power of 0, or an integer "
             "that overflows",
     .inputs = {2, 2},
     .outputs = {1, 1},
     .ranks = {0, 6},
     .types = {{11, SOME_FLOATS}, {12, SOME_FLOATS | WHOLE}, {13, DTYPES_FLOAT | WHOLE}},
     .params = params,
     .eval = eval_pow,
     .gradient = gradient_pow,
     .sample = sample_pow,
     .data = DATA_ALL,
     .range = {RANGE_POWER, .wants = {0.1, 4}},
     .factors = {FACTORS_NONE},
     .history = {.same_since = 7},
     .result = RESULT_TYPE,
     .work = WORK_ELEMENTS,
     .slope = SLOPE_EVERYWHERE,
     .flags = OP_RAISES,
     .each = {EACH_PAIR, .second = 1},
     .dangers = {{DANGER_POWER}}},
    {0},
};
