#include "eval/factor_order.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 4 };

typedef int32_t lanes_t __attribute__((vector_size(LANES * sizeof(int32_t))));

/* The smallest magnitude that is not 0. The bits of magnitudes, as integers, are in their order. */
static float smallest_of(const float *floats, size_t count)
{
    const int32_t none = INT32_MAX;
    lanes_t least = {none, none, none, none};
    int32_t bits, found = none;
    float smallest;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        lanes_t now;
        memcpy(&now, floats + i, sizeof now);
        now &= none;
        lanes_t less = (now < least) & (now != 0);
        least = (now & less) | (least & ~less);
    }
    for (int lane = 0; lane < LANES; lane++)
        found = least[lane] < found ? least[lane] : found;
    for (; i < count; i++) {
        memcpy(&bits, floats + i, sizeof bits);
        bits &= none;
        found = bits && bits < found ? bits : found;
    }
    memcpy(&smallest, &found, sizeof found);
    return smallest;
}

static struct factors factors_of_floats(const struct bounded *value)
{
    struct factors own = {.count = 1};
    if (value->largest > 0) {
        own.most = fmax(0, ilogbf(value->largest) + 1);
        own.least = fmin(0, ilogbf(smallest_of(value->floats, value->count)));
    }
    return own;
}

/* Exponents of the largest and the smallest finite element that is not 0. */
struct exponents {
    bool any, infinite;
    int most, least;
};

static void look_at(struct exponents *seen, long double value)
{
    if (value == 0)
        return;
    if (isinf(value))
        seen->infinite = true;
    if (!isfinite(value))
        return;
    int exponent = ilogbl(value);
    seen->most = seen->any && seen->most > exponent ? seen->most : exponent;
    seen->least = seen->any && seen->least < exponent ? seen->least : exponent;
    seen->any = true;
}

/* Most elements by their exponents as doubles, which are far from the ends of what a double holds and, as
 * long as none was rounded up to a power of two, those of the long doubles. */
static struct exponents exponents_of(const struct bounded *value)
{
    struct exponents seen = {.any = false};
    const uint64_t low = 1, high = 2046, one = (uint64_t)1 << 52;
    uint64_t most = 0, least = high + 1;
    for (size_t i = 0; i < value->count; i++) {
        double size = (double)value->value[i];
        uint64_t bits;
        memcpy(&bits, &size, sizeof bits);
        uint64_t exponent = bits >> 52 & 2047;
        if (exponent < low || exponent > high || bits % one == 0) {
            look_at(&seen, value->value[i]);
            continue;
        }
        most = exponent > most ? exponent : most;
        least = exponent < least ? exponent : least;
    }
    if (most) {
        look_at(&seen, ldexpl(1, (int)most - 1023));
        look_at(&seen, ldexpl(1, (int)least - 1023));
    }
    return seen;
}

struct factors factors_of(const struct bounded *value)
{
    struct factors own = {.count = 1};
    if (value->floats)
        return factors_of_floats(value);
    if (!value->value || !dtype_is_float(value->type))
        return own;
    struct exponents seen = exponents_of(value);
    own.infinite = seen.infinite;
    if (seen.any) {
        own.most = fmax(0, seen.most + 1);
        own.least = fmin(0, seen.least);
    }
    return own;
}

static struct factors times(struct factors a, struct factors b)
{
    return (struct factors){a.most + b.most, a.least + b.least, a.count + b.count, a.infinite || b.infinite};
}

static struct factors either(struct factors a, struct factors b)
{
    return (struct factors){fmax(a.most, b.most), fmin(a.least, b.least),
                            a.count > b.count ? a.count : b.count, a.infinite || b.infinite};
}

/* A division may become a product with the reciprocal, which adds a rounding and may overflow. */
static struct factors raised(struct factors a, double power)
{
    unsigned count = power > 1 ? (unsigned)ceil(power) * a.count : a.count;
    return power < 0 ? (struct factors){power * a.least, power * a.most, count + 1, a.infinite}
                     : (struct factors){power * a.most, power * a.least, count, a.infinite};
}

/* The factors that input i contributes to the output; none when the output is not proportional to it. */
static struct factors factor_of(const struct op_factors *rule, size_t i, struct factors input)
{
    double power = rule->rule == FACTORS_PRODUCT_OF_ALL             ? 1
                   : i < sizeof rule->powers / sizeof *rule->powers ? rule->powers[i]
                                                                    : 0;
    return power != 0 ? raised(input, power) : (struct factors){0};
}

static bool is_added(const struct op_factors *rule, size_t i)
{
    return rule->rule == FACTORS_SUM || (i < CHAR_BIT * sizeof rule->added && rule->added >> i & 1);
}

struct factors factors_through(const struct op_call *call, const struct factors *inputs)
{
    const struct op_factors *rule = &call->op->factors;
    struct factors sum = {0}, product = {0};
    size_t terms = rule->rule != FACTORS_SUM;
    for (size_t i = 0; rule->rule != FACTORS_NONE && i < call->n_inputs; i++) {
        if (!call->inputs[i] || !dtype_is_float(call->inputs[i]->type))
            continue;
        if (is_added(rule, i)) {
            terms++;
            sum = either(sum, inputs[i]);
        } else {
            product = times(product, factor_of(rule, i, inputs[i]));
        }
    }
    struct factors all = either(sum, product);
    /* (a + b) * c may become a * c + b * c: one product becomes several. */
    if (terms > 1)
        all.count++;
    /* The value itself shows what cancels in a sum of products, and the number of its terms. */
    struct factors own = factors_of(&call->outputs[0]);
    return either(all, own);
}

/* Powers of 2 beyond which a product overflows, or is 0. */
struct range {
    double highest, lowest;
};

/* Most engines compute halves in float32; one that has them in hardware does not, and has their subnormals.
 */
static struct range range_of(enum dtype type)
{
    if (type == DTYPE_DOUBLE)
        return (struct range){DBL_MAX_EXP, DBL_MIN_EXP};
    if (type == DTYPE_FLOAT16)
        return (struct range){16, -24};
    return (struct range){FLT_MAX_EXP, FLT_MIN_EXP};
}

void factors_loosen(struct bounded *value, const struct factors *factors)
{
    struct range range = range_of(value->type);
    /* Two factors have only one product, and the node that computes it is judged for it. */
    if (factors->count < 3 || !value->value || !dtype_is_float(value->type))
        return;
    double lost =
        factors->least < range.lowest ? ldexp(1, (int)fmin(factors->most + range.lowest, DBL_MAX_EXP)) : 0;
    for (size_t i = 0; i < value->count; i++) {
        if (factors->most >= range.highest || (factors->infinite && !isfinite(value->value[i])))
            bounded_put_undecided(value, i, value->value[i]);
        else if (lost > 0)
            bounded_set(value, i, value->value[i], bounded_hard(value, i) + lost,
                        bounded_likely(value, i) + lost);
    }
}
