#include "bounds/interpolate.h"
#include "bounds/sum.h"

#include <math.h>

/* Keys' cubic convolution. */
static long double cubic_weight(long double t, double a)
{
    t = fabsl(t);
    if (t <= 1)
        return ((a + 2) * t - (a + 3)) * t * t + 1;
    if (t < 2)
        return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
    return 0;
}

static long double weight_at(const struct kernel *kernel, long double t)
{
    if (kernel->cubic)
        return cubic_weight(t, kernel->a);
    return fabsl(t) < 1 ? 1 - fabsl(t) : 0;
}

/* The largest slope of the kernel. Cubic: |w'| is at most 2|a|+6 on [0,1] and 4|a| beyond; a generous bound.
 */
static long double steepness(const struct kernel *kernel)
{
    return kernel->cubic ? 6 + 4 * fabs(kernel->a) : 1;
}

/* Roundings inside a weight: one or two for the hat; for the cubic, intermediate terms reach 16|a|. */
static long double weight_rounding(const struct kernel *kernel)
{
    return kernel->unit * (kernel->cubic ? 10 + 40 * fabs(kernel->a) : 2);
}

static long double support(const struct kernel *kernel)
{
    return (kernel->cubic ? 2 : 1) / kernel->stretch;
}

size_t taps_max(const struct kernel *kernel)
{
    return (size_t)(2 * support(kernel)) + 6;
}

size_t taps_at(const struct kernel *kernel, long double x, long double e, struct tap *taps)
{
    if (!(e <= 0.5L)) /* the coordinate is too uncertain */
        return 0;
    long double reach = support(kernel) + e;
    int64_t first = (int64_t)ceill(x - reach), last = (int64_t)floorl(x + reach);
    long double slope = steepness(kernel) * kernel->stretch;
    size_t count = 0, room = taps_max(kernel);
    for (int64_t i = first; i <= last && count < room; i++) {
        long double weight = weight_at(kernel, ((long double)i - x) * kernel->stretch);
        /* The rounding of the weights counts even when the coordinate is exact: weights that should add up to
         * 1 do not. */
        long double hard = slope * e + weight_rounding(kernel);
        taps[count++] = (struct tap){i, weight, hard};
    }
    if (kernel->stretch < 1)
        count = taps_normalise(taps, count, kernel->unit);
    return count;
}

size_t taps_normalise(struct tap *taps, size_t count, double unit)
{
    long double total = 0, size = 0, error = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (taps[i].index == TAP_OUTSIDE)
            continue;
        taps[kept++] = taps[i];
        total += taps[i].weight;
        size += fabsl(taps[i].weight);
        error += taps[i].hard;
    }
    error += rounding_growth(unit, kept) * size;
    bool sure = fabsl(total) - error > 0;
    for (size_t i = 0; i < kept; i++) {
        long double weight = total != 0 ? taps[i].weight / total : 0;
        long double off = (taps[i].hard + fabsl(weight) * error) / (fabsl(total) - error);
        taps[i].hard = sure ? off + 2 * unit * fabsl(weight) : INFINITY;
        taps[i].weight = weight;
    }
    return kept;
}

static void put_whole(struct bounded *out, size_t i, long double value, long double hard)
{
    long double low = floorl(value - hard), high = ceill(value + hard);
    if (!(low >= dtype_lowest(out->type) && high <= dtype_highest(out->type)) || out->type == DTYPE_BOOL)
        bounded_put_open(out, i);
    else
        bounded_put_range(out, i, rintl(value), low, high);
}

/* A single tap of weight 1 on every axis: *at is its element. */
static bool is_copy(int rank, const struct tap_list *lists, size_t *at)
{
    for (int a = 0; a < rank; a++) {
        const struct tap *tap = lists[a].taps;
        if (lists[a].count != 1 || tap->weight != 1 || tap->hard != 0 || tap->index == TAP_OUTSIDE)
            return false;
        *at += (size_t)tap->index * lists[a].stride;
    }
    return true;
}

struct total {
    long double value, size, hard, variance;
    long double largest; /* element */
    size_t terms;
    bool strange;
};

/* One term: the product of weights w and of |w| + error, times the element. */
static void add_term(struct total *t, const struct bounded *x, size_t at, long double weight,
                     long double reach)
{
    long double v = x->value[at], slack = reach - fabsl(weight), hard = bounded_hard(x, at);
    t->strange |= !isfinite(v);
    t->value += weight * v;
    t->size += reach * (fabsl(v) + hard);
    t->largest = fmaxl(t->largest, fabsl(v) + hard);
    t->hard += slack * fabsl(v) + reach * hard;
    long double likely = likely_add(slack * v / 3, weight * bounded_likely(x, at));
    t->variance += likely * likely;
    t->terms++;
}

/* The product of all lists, term by term. */
static struct total add_terms(const struct bounded *x, size_t base, int rank, const struct tap_list *lists)
{
    size_t digit[TENSOR_MAX_RANK] = {0};
    struct total t = {0};
    for (int a = 0; a >= 0;) {
        size_t at = base;
        long double weight = 1, reach = 1;
        bool zero = false;
        for (int k = 0; k < rank; k++) {
            const struct tap *tap = &lists[k].taps[digit[k]];
            zero |= tap->index == TAP_OUTSIDE;
            at += zero ? 0 : (size_t)tap->index * lists[k].stride;
            weight *= tap->weight;
            reach *= fabsl(tap->weight) + tap->hard;
        }
        if (!zero)
            add_term(&t, x, at, weight, reach);
        a = rank - 1;
        while (a >= 0 && ++digit[a] == lists[a].count)
            digit[a--] = 0;
    }
    return t;
}

/* Whether an intermediate result may overflow although the whole is small: an implementation that goes axis
 * by axis has not yet applied the weights of the other axes. */
static bool may_overflow(const struct total *t, enum dtype type, int rank, const struct tap_list *lists)
{
    long double largest = t->largest;
    for (int a = 0; a < rank && dtype_is_float(type); a++) {
        long double sum = 0;
        for (size_t k = 0; k < lists[a].count; k++)
            sum += fabsl(lists[a].taps[k].weight) + lists[a].taps[k].hard;
        largest *= fmaxl(sum, 1);
    }
    return t->size >= dtype_highest(type) || (dtype_is_float(type) && !(largest < dtype_highest(type)));
}

void put_interpolated(struct bounded *out, size_t i, const struct bounded *x, size_t base, int rank,
                      const struct tap_list *lists)
{
    size_t at = base;
    if (is_copy(rank, lists, &at)) {
        bounded_move(out, i, x, at);
        return;
    }
    for (int a = 0; a < rank; a++)
        if (lists[a].count == 0) { /* weights that cancel, or none left */
            bounded_put_undecided(out, i, 0);
            return;
        }
    struct total t = add_terms(x, base, rank, lists);
    double unit = unit_of(out->type);
    /* Each term is multiplied once per axis and added once. */
    long double own = rounding_growth(unit, t.terms + 2 * (size_t)rank) * t.size;
    long double likely = likely_add(sqrtl(t.variance), unit * t.size * sqrtl((long double)t.terms));
    if (t.strange || may_overflow(&t, out->type, rank, lists))
        bounded_put_undecided(out, i, isnan(t.value) ? 0 : t.value);
    else if (!dtype_is_float(out->type))
        put_whole(out, i, t.value, t.hard + own);
    else
        bounded_put(out, i, t.value, t.hard + own, likely);
}

void put_nearest(struct bounded *out, size_t i, const struct bounded *x, size_t base, int rank,
                 const struct nearest *axes, int64_t (*map)(const void *context, int axis, int64_t index),
                 const void *context)
{
    int64_t pick[TENSOR_MAX_RANK];
    struct extreme low = {.sign = -1}, high = {.sign = 1};
    long double chosen = 0, room = 0;
    size_t only = 0, found = 0;
    bool zeros = false, same = true;
    for (int a = 0; a < rank; a++)
        pick[a] = axes[a].low;
    for (bool more = true; more;) {
        size_t at = base;
        bool is_chosen = true, zero = false;
        for (int a = 0; a < rank; a++) {
            int64_t index = map(context, a, pick[a]);
            is_chosen &= pick[a] == axes[a].chosen;
            zero |= index < 0;
            at += index < 0 ? 0 : (size_t)index * axes[a].stride;
        }
        long double v = zero ? 0 : x->value[at], h = zero ? 0 : bounded_hard(x, at);
        extreme_add(&low, v - h, 0, 0);
        extreme_add(&high, v + h, 0, 0);
        same &= found == 0 || (zero == zeros && (zero || at == only));
        zeros = zero;
        only = at;
        found++;
        if (is_chosen) {
            chosen = v;
            room = 2 * h; /* a range about a moved element is as wide on either side of it */
        }
        int a = rank - 1;
        while (a >= 0 && ++pick[a] > axes[a].high) {
            pick[a] = axes[a].low;
            a--;
        }
        more = a >= 0;
    }
    if (same && !zeros)
        bounded_move(out, i, x, only);
    else if (same)
        bounded_put(out, i, 0, 0, 0);
    else if (low.nan || high.nan || isinf(extreme_value(&low)) || isinf(extreme_value(&high)))
        bounded_put_undecided(out, i, chosen);
    else
        bounded_put_range(out, i, chosen, extreme_value(&low) - room, extreme_value(&high) + room);
}
