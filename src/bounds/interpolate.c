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

/* The derivative of Keys' cubic convolution. */
static long double cubic_slope(long double t, double a)
{
    long double size = fabsl(t), slope = 0;
    if (size <= 1)
        slope = (3 * (a + 2) * size - 2 * (a + 3)) * size;
    else if (size < 2)
        slope = (3 * a * size - 10 * a) * size + 8 * a;
    return t < 0 ? -slope : slope;
}

size_t tap_slopes_at(const struct kernel *kernel, long double x, long double e, struct tap *taps)
{
    size_t count = taps_at(kernel, x, e, taps);
    if (!kernel->cubic && floorl(x - e) != ceill(x + e) - 1)
        return 0;
    for (size_t i = 0; i < count; i++) {
        long double t = (long double)taps[i].index - x, a = fabs(kernel->a);
        if (kernel->cubic) {
            /* The second derivative is at most 8|a| + 18 on [0,1] and 10|a| beyond; terms reach 30|a| + 12.
             */
            taps[i].weight = -cubic_slope(t, kernel->a);
            taps[i].hard = (18 + 10 * a) * e + kernel->unit * (60 + 100 * a);
        } else {
            taps[i].weight = fabsl(t) >= 1 ? 0 : t > 0 ? 1 : -1;
            taps[i].hard = 0;
        }
    }
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

bool taps_are_copy(int rank, const struct tap_list *lists, size_t *at)
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

struct adding {
    struct total total;
    const struct bounded *x;
};

/* One term: the product of weights w and of |w| + error, times the element. */
static void add_term(void *context, size_t at, long double weight, long double reach)
{
    struct total *t = &((struct adding *)context)->total;
    const struct bounded *x = ((struct adding *)context)->x;
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

void taps_visit(size_t base, int rank, const struct tap_list *lists, tap_visit *visit, void *context)
{
    size_t digit[TENSOR_MAX_RANK] = {0};
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
            visit(context, at, weight, reach);
        a = rank - 1;
        while (a >= 0 && ++digit[a] == lists[a].count)
            digit[a--] = 0;
    }
}

/* The most by which the weights of all axes together may make a sample larger. */
static long double growth(int rank, const struct tap_list *lists)
{
    long double most = 1;
    for (int a = 0; a < rank; a++) {
        long double sum = 0;
        for (size_t k = 0; k < lists[a].count; k++)
            sum += fabsl(lists[a].taps[k].weight) + lists[a].taps[k].hard;
        most *= fmaxl(sum, 1);
    }
    return most;
}

/*
 * What underflow may take: each term is multiplied once per axis and added, and what is lost on one axis may
 * be multiplied by the weights of the others.
 */
static long double lost_by_underflow(const struct total *t, enum dtype type, int rank,
                                     const struct tap_list *lists)
{
    if (!dtype_is_float(type) || t->size == 0)
        return 0;
    struct dtype_precision p = dtype_precision(type);
    long double one = type == DTYPE_FLOAT16 ? p.smallest : p.tiny;
    return one * (long double)t->terms * (rank + 1) * growth(rank, lists);
}

/* Whether an intermediate result may overflow although the whole is small: an implementation that goes axis
 * by axis has not yet applied the weights of the other axes. */
static bool may_overflow(const struct total *t, enum dtype type, int rank, const struct tap_list *lists)
{
    bool large = dtype_is_float(type) && !(t->largest * growth(rank, lists) < dtype_highest(type));
    return t->size >= dtype_highest(type) || large;
}

/* The samples along one axis that an implementation may read, those with weight 0 included: `beyond` more to
 * each side, and any where a sample is outside, as it may be read elsewhere and multiplied by 0. */
static void reads(const struct tap_list *list, int64_t length, int64_t beyond, int64_t *low, int64_t *high)
{
    *low = length - 1;
    *high = 0;
    for (size_t k = 0; k < list->count; k++) {
        int64_t index = list->taps[k].index;
        bool outside = index == TAP_OUTSIDE;
        *low = outside ? 0 : index - beyond < *low ? index - beyond : *low;
        *high = outside ? length - 1 : index + beyond > *high ? index + beyond : *high;
    }
    *low = *low < 0 ? 0 : *low;
    *high = *high > length - 1 ? length - 1 : *high;
}

bool taps_may_be_strange(const struct bounded *x)
{
    const long double weights = 1e6L; /* more than those of all axes together are */
    bool large = false;
    for (size_t i = 0; i < x->count && dtype_is_float(x->type) && !large; i++)
        large = fabsl(x->value[i]) * weights > dtype_highest(x->type);
    return large || bounded_may_be_strange(x);
}

bool taps_near_strange(const struct bounded *x, size_t base, int rank, const struct tap_list *lists,
                       const int64_t *lengths, int64_t beyond)
{
    int64_t low[TENSOR_MAX_RANK], high[TENSOR_MAX_RANK], index[TENSOR_MAX_RANK];
    long double most = dtype_is_float(x->type) ? dtype_highest(x->type) / growth(rank, lists) : INFINITY;
    for (int a = 0; a < rank; a++) {
        reads(&lists[a], lengths[a], beyond, &low[a], &high[a]);
        index[a] = low[a];
    }
    for (int a = 0; a >= 0;) {
        size_t at = base;
        for (int k = 0; k < rank; k++)
            at += (size_t)index[k] * lists[k].stride;
        if (!(fabsl(x->value[at]) + bounded_hard(x, at) < most))
            return true;
        a = rank - 1;
        while (a >= 0 && ++index[a] > high[a]) {
            index[a] = low[a];
            a--;
        }
    }
    return false;
}

/* Whether a sample that is certainly read and certainly has a weight is NaN. */
static void find_nan(void *context, size_t at, long double weight, long double reach)
{
    struct adding *adding = context;
    bool surely = 2 * fabsl(weight) > reach; /* the weight is larger than its error */
    adding->total.strange |= surely && isnan(adding->x->value[at]) && bounded_hard(adding->x, at) == 0;
}

void put_beside_strange(struct bounded *out, size_t i, const struct bounded *x, size_t base, int rank,
                        const struct tap_list *lists)
{
    struct adding adding = {.x = x};
    bool some = true;
    for (int a = 0; a < rank; a++)
        some = some && lists[a].count > 0;
    if (some)
        taps_visit(base, rank, lists, find_nan, &adding);
    if (adding.total.strange)
        bounded_put(out, i, NAN, 0, 0);
    else
        bounded_put_undecided(out, i, 0);
}

void put_interpolated(struct bounded *out, size_t i, const struct bounded *x, size_t base, int rank,
                      const struct tap_list *lists)
{
    size_t at = base;
    if (taps_are_copy(rank, lists, &at)) {
        bounded_move(out, i, x, at);
        return;
    }
    for (int a = 0; a < rank; a++)
        if (lists[a].count == 0) { /* weights that cancel, or none left */
            bounded_put_undecided(out, i, 0);
            return;
        }
    struct adding adding = {.x = x};
    taps_visit(base, rank, lists, add_term, &adding);
    struct total t = adding.total;
    double unit = unit_of(out->type);
    /* Each term is multiplied once per axis and added once. */
    long double own = rounding_growth(unit, t.terms + 2 * (size_t)rank) * t.size +
                      lost_by_underflow(&t, out->type, rank, lists);
    long double likely = likely_add(sqrtl(t.variance), unit * t.size * sqrtl((long double)t.terms));
    if (t.strange || may_overflow(&t, out->type, rank, lists))
        bounded_put_undecided(out, i, isnan(t.value) ? 0 : t.value);
    else if (!dtype_is_float(out->type))
        put_whole(out, i, t.value, t.hard + own);
    else
        bounded_put(out, i, t.value, t.hard + own, likely);
}

void nearest_each(size_t base, int rank, const struct nearest *axes, nearest_map *map, const void *mapping,
                  nearest_visit *visit, void *context)
{
    int64_t pick[TENSOR_MAX_RANK];
    for (int a = 0; a < rank; a++)
        pick[a] = axes[a].low;
    for (bool more = true; more;) {
        size_t at = base;
        bool chosen = true, zero = false;
        for (int a = 0; a < rank; a++) {
            int64_t index = map(mapping, a, pick[a]);
            chosen &= pick[a] == axes[a].chosen;
            zero |= index < 0;
            at += index < 0 ? 0 : (size_t)index * axes[a].stride;
        }
        visit(context, at, !zero, chosen);
        int a = rank - 1;
        while (a >= 0 && ++pick[a] > axes[a].high) {
            pick[a] = axes[a].low;
            a--;
        }
        more = a >= 0;
    }
}

/* All candidates of one output. */
struct choice {
    const struct bounded *x;
    struct extreme low, high;
    long double chosen, room;
    size_t only, found;
    bool zeros, same;
};

static void consider(void *context, size_t at, bool inside, bool chosen)
{
    struct choice *c = context;
    long double v = inside ? c->x->value[at] : 0, h = inside ? bounded_hard(c->x, at) : 0;
    extreme_add(&c->low, v - h, 0, 0);
    extreme_add(&c->high, v + h, 0, 0);
    c->same &= c->found == 0 || (!inside == c->zeros && (!inside || at == c->only));
    c->zeros = !inside;
    c->only = at;
    c->found++;
    if (chosen) {
        c->chosen = v;
        c->room = 2 * h; /* a range about a moved element is as wide on either side of it */
    }
}

void put_nearest(struct bounded *out, size_t i, const struct bounded *x, size_t base, int rank,
                 const struct nearest *axes, nearest_map *map, const void *mapping)
{
    struct choice c = {.x = x, .low = {.sign = -1}, .high = {.sign = 1}, .same = true};
    nearest_each(base, rank, axes, map, mapping, consider, &c);
    long double low = extreme_value(&c.low), high = extreme_value(&c.high);
    if (c.same && !c.zeros)
        bounded_move(out, i, x, c.only);
    else if (c.same)
        bounded_put(out, i, 0, 0, 0);
    else if (c.low.nan || c.high.nan || isinf(low) || isinf(high))
        bounded_put_undecided(out, i, c.chosen);
    else
        bounded_put_range(out, i, c.chosen, low - c.room, high + c.room);
}
