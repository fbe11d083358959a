#include "bounds/contract.h"

#include "base/limits.h"
#include "base/wide.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 1 << 14,       /* products below which packing costs more than it saves */
    EFFORT = 1 << 24,      /* terms of large contractions that are looked at one by one */
    PANEL = (1 << 22) / 2, /* elements of one packed matrix: 16 MB */
    STRIP = 1 << 18,       /* elements of B at a time, where that leaves enough columns */
    COLUMNS = 256,         /* which are enough */
    FEW_ROWS = 64,
    FEW_TERMS = 128,
};

/* A weight as it is stored: all that must be looked for is whether it has integers only. */
static struct operand operand_of_floats(const struct bounded *b)
{
    struct operand o = {.type = b->type, .floats = b->floats, .count = b->count, .finite = true};
    o.largest = b->largest;
    o.integral = true;
    for (size_t i = 0; i < b->count && o.integral; i++)
        o.integral = b->floats[i] == rintf(b->floats[i]);
    return o;
}

struct operand operand_of(const struct bounded *b)
{
    if (b->floats)
        return operand_of_floats(b);
    struct operand o = {
        .type = b->type, .value = b->value, .count = b->count, .hard = b->hard, .likely = b->likely};
    o.integral = o.finite = true;
    for (size_t i = 0; i < b->count && !b->hard; i++) {
        long double size = fabsl(b->value[i]);
        o.largest = size > o.largest ? size : o.largest;
        o.finite &= size <= WIDE_HIGHEST;
        if (o.integral)
            o.integral = size == rintl(size);
    }
    for (size_t i = 0; i < b->count && b->hard; i++) {
        long double v = b->value[i];
        o.finite = o.finite && isfinite(v) && !isinf(bounded_hard(b, i));
        o.integral = o.integral && v == rintl(v) && bounded_hard(b, i) == 0;
        long double size = fabsl(v) + (isinf(bounded_hard(b, i)) ? 0 : bounded_hard(b, i));
        o.largest = size > o.largest ? size : o.largest;
    }
    o.integral = o.integral && o.finite;
    return o;
}

/* Whether all operands are integers and every partial sum is exact in the type: then no order rounds. */
static bool all_exact(const struct contraction *c)
{
    const struct operand *a = c->a.of, *b = c->b.of;
    if (!a->integral || !b->integral)
        return false;
    long double size = a->largest * b->largest * (long double)c->k;
    if (c->then) {
        const struct epilogue *e = c->then;
        struct operand addend = {.integral = true};
        if (e->c)
            addend = operand_of(e->c);
        if (!addend.integral || e->alpha != rintl(e->alpha) || e->beta != rintl(e->beta))
            return false;
        size = size * fmaxl(1, fabsl(e->alpha)) + fabsl(e->beta) * addend.largest;
    }
    return size <= (dtype_is_float(c->type) ? 1 / (long double)unit_of(c->type) : 0x1p63L);
}

size_t *offsets_linear(size_t count, size_t step, struct error *err)
{
    size_t *table = malloc((count ? count : 1) * sizeof *table);
    if (!table)
        error_set(err, ERROR_MEMORY, "no memory for %zu offsets", count);
    for (size_t i = 0; table && i < count; i++)
        table[i] = i * step;
    return table;
}

size_t *offsets_of(const struct shape *shape, const struct strides *strides, struct error *err)
{
    size_t count;
    if (shape_count(shape, &count, err))
        return NULL;
    if (count > BOUNDED_LIMIT) {
        error_set(err, ERROR_LIMIT, "a sum of %zu terms is longer than the reference supports", count);
        return NULL;
    }
    size_t *table = offsets_linear(count, 0, err);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; table && i < count; i++) {
        table[i] = strides_at(strides, shape->rank, index);
        odometer_next(index, shape);
    }
    return table;
}

/* Everything the bound of one element needs. */
struct tally {
    long double value, squares;      /* sums of t and t^2 */
    long double up, down;            /* sums of |t| over positive and negative terms */
    long double inherited, variance; /* hard and likely error from the bounds of the inputs */
};

long double contract_underflow(enum dtype type)
{
    struct dtype_precision p = dtype_precision(type);
    return type == DTYPE_FLOAT16 ? p.smallest : p.tiny;
}

/* Makes the sum undecided when a partial sum may overflow; `up` and `down` are the largest partial sums of
 * either sign. */
static struct number guard(const struct contraction *c, struct number y, long double up, long double down)
{
    long double highest = dtype_highest(c->type);
    if (!dtype_is_float(c->type) || !isfinite(y.v))
        return y;
    bool over = !(up < highest), under = !(down < highest);
    bool beyond = fabsl(y.v) - y.h > highest * (1 + (long double)unit_of(c->type));
    bool sure = over != under && beyond && (y.v > 0) == over;
    if ((over || under) && !sure)
        y.h = INFINITY;
    return y;
}

static size_t at_a(const struct contraction *c, size_t i, size_t k)
{
    return c->a.base + c->a.rows[i] + c->a.cols[k];
}

static size_t at_b(const struct contraction *c, size_t k, size_t j)
{
    return c->b.base + c->b.rows[k] + c->b.cols[j];
}

static inline long double value_at(const struct operand *o, size_t i)
{
    return o->floats ? (long double)o->floats[i] : o->value[i];
}

static double bound_at(const double *bounds, size_t i)
{
    return bounds ? bounds[i] : 0;
}

bool contract_strays(const struct contraction *c, size_t i, size_t j)
{
    long double a = 0, b = 0, highest = dtype_highest(c->type);
    for (size_t k = 0; k < c->k; k++) {
        size_t p = at_a(c, i, k), q = at_b(c, k, j);
        a += fabsl(value_at(c->a.of, p)) + bound_at(c->a.of->hard, p);
        b += fabsl(value_at(c->b.of, q)) + bound_at(c->b.of->hard, q);
    }
    return !(a < highest && b < highest);
}

/* Whether an element overflows when it is multiplied by alpha: an implementation may compute alpha A' B' in
 * any order. */
static bool grows_too_large(const struct contraction *c, size_t i, size_t j)
{
    long double alpha = fabsl(c->then->alpha), most = dtype_highest(c->type) / alpha;
    if (!dtype_is_float(c->type) || alpha <= 1 || (c->a.of->largest <= most && c->b.of->largest <= most))
        return false;
    for (size_t k = 0; k < c->k; k++) {
        size_t p = at_a(c, i, k), q = at_b(c, k, j);
        long double a = fabsl(value_at(c->a.of, p)) + bound_at(c->a.of->hard, p);
        long double b = fabsl(value_at(c->b.of, q)) + bound_at(c->b.of->hard, q);
        if ((a > most && isfinite(a)) || (b > most && isfinite(b)))
            return true;
    }
    return false;
}

/*
 * What underflow may take where alpha is multiplied into A or B first: a product alpha a that falls below the
 * smallest normal number loses up to `lost`, which is multiplied by b afterwards. Large contractions take all
 * elements to be as small, and as large, as any.
 */
static long double lost_to_alpha(const struct contraction *c, size_t i, size_t j, long double lost)
{
    long double alpha = fabsl(c->then->alpha), by_a = 0, by_b = 0, tiny = dtype_precision(c->type).tiny;
    long double largest = fmaxl(c->a.of->largest, c->b.of->largest);
    if (is_power_of_two(alpha) && alpha >= 1)
        return 0;
    if ((double)c->m * (double)c->n * (double)c->k > SMALL && isfinite(largest))
        return lost * (long double)c->k * largest;
    for (size_t k = 0; k < c->k; k++) {
        size_t p = at_a(c, i, k), q = at_b(c, k, j);
        long double a = fabsl(value_at(c->a.of, p)), ha = bound_at(c->a.of->hard, p);
        long double b = fabsl(value_at(c->b.of, q)), hb = bound_at(c->b.of->hard, q);
        by_a += alpha * (a - ha) < tiny ? b + hb : 0;
        by_b += alpha * (b - hb) < tiny ? a + ha : 0;
    }
    return lost * fmaxl(by_a, by_b);
}

/* The same for both factors of the epilogue, and for the scaled sum itself. */
static long double epilogue_underflow(const struct contraction *c, size_t i, size_t j)
{
    long double lost = contract_underflow(c->type);
    return (c->then->alpha != 1 ? lost_to_alpha(c, i, j, lost) + lost : 0) + (c->then->beta != 1 ? lost : 0);
}

/*
 * Applies the epilogue. BLAS does not read what is multiplied by zero, other implementations do: an infinity
 * or a NaN there may or may not show. The sum itself must not overflow when it is scaled afterwards.
 */
static struct number follow(const struct contraction *c, size_t i, size_t j, struct number sum,
                            long double up, long double down, bool exact)
{
    const struct epilogue *e = c->then;
    if (!e)
        return guard(c, sum, up, down);
    if (isnan(sum.v) && sum.h == 0 && e->alpha != 0)
        return sum;
    if (e->alpha != 1)
        sum = guard(c, sum, up, down);
    if (e->alpha != 1 && (!isfinite(sum.h) || !isfinite(sum.v) ||
                          fabsl(sum.v) + sum.h > dtype_highest(c->type) || grows_too_large(c, i, j)))
        return (struct number){sum.v, INFINITY, INFINITY};
    long double alpha = fabsl(e->alpha), reach_up = e->alpha < 0 ? down : up,
                reach_down = e->alpha < 0 ? up : down;
    struct number y = {e->alpha * sum.v, alpha * sum.h, alpha * sum.l};
    if (!exact && dtype_is_float(c->type) && (e->alpha != 1 || e->beta != 1)) {
        long double lost = epilogue_underflow(c, i, j);
        y = number_loosen(y, lost, lost / 4);
    }
    if (!e->c)
        return guard(c, y, alpha * reach_up, alpha * reach_down);
    struct number add = number_of(e->c, e->rows[i] + e->cols[j]);
    if (isnan(add.v) && add.h == 0 && e->beta != 0)
        return number_exact(NAN);
    if (e->beta == 0 && !(isfinite(add.v) && isfinite(add.h)))
        return (struct number){y.v, INFINITY, INFINITY};
    bool is_exact = exact || !dtype_is_float(c->type);
    long double u = is_exact ? 0 : unit_of(c->type), scaled = e->beta * add.v;
    long double more = fabsl(e->beta) * add.h, size = (isfinite(scaled) ? fabsl(scaled) : 0) + more;
    /* An infinity that is added determines the result, unless the sum can overflow to the opposite infinity.
     */
    long double farthest = fmaxl(1, alpha) * fmaxl(up, down);
    bool open = !isfinite(scaled) && (add.h > 0 || !(farthest < dtype_highest(c->type)));
    y.v += scaled;
    y.h += more + (long double)c->roundings * u * size;
    y.l = likely_add(likely_add(y.l, e->beta * add.l), sqrtl((long double)c->roundings) * u * size);
    if (open)
        y.h = INFINITY;
    return guard(c, y, alpha * reach_up + fmaxl(scaled, 0) + more,
                 alpha * reach_down + fmaxl(-scaled, 0) + more);
}

/* The result and bounds of a tally whose sums are finite. */
static struct number settle(const struct contraction *c, const struct tally *t)
{
    struct number sum = {t->value, t->inherited, sqrtl(t->variance)};
    long double size = t->up + t->down, steps = (long double)c->roundings;
    if (!dtype_is_float(c->type)) {
        /* Beyond 2^63 the sums are no longer exact in long double. */
        if (size + t->inherited >= 0x1p63L && size != fabsl(t->value))
            sum.h = sum.l = INFINITY;
        return sum;
    }
    /* The one rounding of a single product is added by bounded_put. */
    if (steps <= 1)
        return sum;
    long double u = unit_of(c->type);
    sum.h += (steps - 1) * u * (size + t->inherited) + steps * contract_underflow(c->type);
    sum.l = likely_add(sum.l, u * sqrtl(steps * (t->squares + t->value * t->value / 9)));
    return sum;
}

/* What the terms that are no numbers make of a sum. */
struct specials {
    bool nan, up, down;       /* a term certainly is NaN, inf or -inf */
    bool unsure;              /* one may be any of them */
    long double above, below; /* the most that all other terms of either sign may add up to */
};

static void add_finite(struct specials *s, long double term, long double reach)
{
    s->above += fmaxl(term, 0) + reach;
    s->below += fmaxl(-term, 0) + reach;
}

/* A NaN makes the product NaN, whatever the other factor is. An infinity does unless the other factor may be
 * 0 or of either sign. */
static void add_special(struct specials *s, long double a, double ha, long double b, double hb)
{
    long double product = a * b;
    if ((isnan(a) && ha == 0) || (isnan(b) && hb == 0))
        s->nan = true;
    else if ((ha > 0 && !(fabsl(a) > ha && isfinite(a))) || (hb > 0 && !(fabsl(b) > hb && isfinite(b))))
        s->unsure = true;
    else if (isnan(product))
        s->nan = true;
    else
        *(product > 0 ? &s->up : &s->down) = true;
}

/*
 * The result when a term is an infinity or NaN. NaN is certain when one term certainly is, or when there are
 * infinities of both signs. An infinity is certain if that term is (both factors are exact, or the other
 * factor is certainly not zero and of one sign) and if the finite terms stay far from the opposite infinity:
 * an eighth of the way, as a caller may add to the sum.
 */
static struct number settle_special(const struct contraction *c, size_t i, size_t j, long double value)
{
    struct specials s = {0};
    for (size_t k = 0; k < c->k && !s.nan; k++) {
        size_t p = at_a(c, i, k), q = at_b(c, k, j);
        long double a = value_at(c->a.of, p), b = value_at(c->b.of, q);
        double ha = bound_at(c->a.of->hard, p), hb = bound_at(c->b.of->hard, q);
        if (isfinite(a) && isfinite(b))
            add_finite(&s, a * b, fabsl(a) * hb + ha * fabsl(b) + (ha > 0 ? ha * hb : 0));
        else
            add_special(&s, a, ha, b, hb);
    }
    if (c->then && c->then->c) {
        struct number add = number_of(c->then->c, c->then->rows[i] + c->then->cols[j]);
        if (isfinite(add.v))
            add_finite(&s, c->then->beta * add.v, fabsl(c->then->beta) * add.h);
    }
    if (s.nan || (s.up && s.down))
        return number_exact(NAN);
    long double against = value > 0 ? s.below : s.above, room = (long double)dtype_highest(c->type) / 8;
    bool certain = !s.unsure && (s.up || s.down) && against < room;
    return (struct number){value, certain ? 0 : INFINITY, 0};
}

/* Some terms of a sum: a value and a bound each. */
struct terms {
    const long double *values;
    const double *bounds;
    const size_t *at, *bounds_at;
    size_t count;
};

/* The sum of magnitudes times bounds, or of their squares. */
static long double sum_terms(const struct terms *t, bool squares)
{
    long double sum = 0;
    for (size_t k = 0; !squares && k < t->count; k++)
        sum += fabsl(t->values[t->at[k]]) * t->bounds[t->bounds_at[k]];
    for (size_t k = 0; squares && k < t->count; k++) {
        long double term = t->values[t->at[k]] * t->bounds[t->bounds_at[k]];
        sum += term * term;
    }
    return sum;
}

/* The same where some bound is infinite, and so is the sum. Processors take a hundred times as long for that
 * in long double. */
static double sum_endless(const struct terms *t)
{
    double sum = 0;
    for (size_t k = 0; k < t->count; k++)
        sum += fabs((double)t->values[t->at[k]]) * t->bounds[t->bounds_at[k]];
    return sum;
}

static long double sum_bounds(const struct terms *t, bool squares)
{
    for (size_t k = 0; k < t->count; k++)
        if (isinf(t->bounds[t->bounds_at[k]]))
            return sum_endless(t);
    return sum_terms(t, squares);
}

/* The error from the bounds of one factor when the other has none. In one loop the sums would not stay in
 * registers. */
static void inherit_one(const struct contraction *c, struct tally *t, size_t i, size_t j)
{
    bool of_b = c->b.of->hard != NULL;
    size_t a = c->a.base + c->a.rows[i], b = c->b.base + c->b.cols[j];
    struct terms terms =
        of_b ? (struct terms){c->a.of->value + a, c->b.of->hard + b, c->a.cols, c->b.rows, c->k}
             : (struct terms){c->b.of->value + b, c->a.of->hard + a, c->b.rows, c->a.cols, c->k};
    t->inherited = sum_bounds(&terms, false);
    terms.bounds = of_b ? c->b.of->likely + b : c->a.of->likely + a;
    t->variance = sum_bounds(&terms, true);
}

static void inherit_both(const struct contraction *c, struct tally *t, size_t i, size_t j)
{
    long double inherited = 0, variance = 0;
    for (size_t k = 0; k < c->k; k++) {
        size_t p = at_a(c, i, k), q = at_b(c, k, j);
        long double a = fabsl(value_at(c->a.of, p)), b = fabsl(value_at(c->b.of, q));
        long double ha = c->a.of->hard[p], hb = c->b.of->hard[q], la = c->a.of->likely[p],
                    lb = c->b.of->likely[q];
        inherited += a * hb + ha * (b + hb);
        variance += a * a * lb * lb + la * la * (b * b + lb * lb);
    }
    t->inherited = inherited;
    t->variance = variance;
}

/* Sums the products in registers and without a branch on their sign: t + |t| is twice a positive term, or 0.
 * The bounds are summed in a separate loop. */
static void sum_products(const struct contraction *c, struct tally *t, size_t i, size_t j)
{
    long double value = 0, squares = 0, up = 0, down = 0;
    for (size_t k = 0; k < c->k; k++) {
        long double product = value_at(c->a.of, at_a(c, i, k)) * value_at(c->b.of, at_b(c, k, j));
        long double magnitude = fabsl(product);
        value += product;
        squares += product * product;
        up += magnitude + product;
        down += magnitude - product;
    }
    *t = (struct tally){.value = value, .squares = squares, .up = up / 2, .down = down / 2};
}

/* The rows of A and the columns of B as pairs of doubles, k of each one behind the other, where sums of these
 * take less than those of long double; NULL: they do not. */
struct pairs {
    struct wide_pair *a, *b;
};

/* What sum_products does, in pairs. Terms of either sign have a sum of their own: a small one would be lost
 * beside a large one. */
static void sum_pairs(const struct contraction *c, const struct pairs *pairs, struct tally *t, size_t i,
                      size_t j)
{
    struct wide_pair sums[2] = {0}; /* of those that are positive, and of the others */
    double squares = 0;
    const struct wide_pair *a = pairs->a + i * c->k, *b = pairs->b + j * c->k;
    for (size_t k = 0; k < c->k; k++) {
        struct wide_pair product = wide_pair_product(a[k], b[k]);
        wide_pair_add(&sums[product.high < 0], product);
        squares += product.high * product.high;
    }
    long double up = wide_join(sums[0]), down = -wide_join(sums[1]);
    *t = (struct tally){.value = up - down, .squares = squares, .up = up, .down = down};
}

static struct number sum_one(const struct contraction *c, const struct pairs *pairs, size_t i, size_t j,
                             bool exact)
{
    struct tally t = {0};
    if (WIDE_IN_SOFTWARE && pairs->a)
        sum_pairs(c, pairs, &t, i, j);
    else
        sum_products(c, &t, i, j);
    if (c->a.of->hard && c->b.of->hard)
        inherit_both(c, &t, i, j);
    else if (c->a.of->hard || c->b.of->hard)
        inherit_one(c, &t, i, j);
    if (!isfinite(t.value))
        return follow(c, i, j, settle_special(c, i, j, t.value), 0, 0, exact);
    struct number sum = exact ? number_exact(t.value) : settle(c, &t);
    return follow(c, i, j, sum, t.up + t.inherited, t.down + t.inherited, exact);
}

static void contract_loops(const struct contraction *c, const struct pairs *pairs, bool exact)
{
    for (size_t i = 0; i < c->m; i++)
        for (size_t j = 0; j < c->n && !limits_late(c->k); j++)
            c->sink(c->context, i, j, sum_one(c, pairs, i, j, exact));
}

/*
 * The blocked form. With gamma = (roundings - 1) u and c2 = roundings u^2 one factor absorbs the rounding, so
 * that each bound is a plain product of non-negative matrices without cancellation:
 *   hard   = |A| (hb (1 + gamma) + gamma |B|)  +  ha ((|B| + hb) (1 + gamma))
 *   likely = A^2 (lb^2 + c2 B^2)               +  la^2 (B^2 + lb^2)
 * The second products vanish when A is exact. When B is, A absorbs all factors, and B's parts are |B| and
 * B^2: hard   = (gamma |A| + ha (1 + gamma)) |B| likely = (c2 A^2 + la^2) B^2
 */
enum part { VALUE, HARD, LIKELY, HARD_A, LIKELY_A, PARTS };

struct panel {
    double *part[PARTS];
};

struct blocks {
    const struct contraction *c;
    bool exact;    /* values only */
    bool a_bounds; /* neither A nor B is exact */
    bool b_exact;  /* B is */
    double gamma, c2;
    size_t mb, nb; /* rows of A and columns of B at a time */
    size_t kb;     /* terms of B at a time: all, unless A has so few rows that packing B costs most */
    size_t effort; /* terms that may still be looked at one by one */
    struct panel a, b, out;
    struct panel ready; /* what B is a view of, where it reads elements several times; NULL otherwise */
};

/* All parts of element `at` of A, to place `to` of the panel. */
static void pack_one_a(const struct blocks *s, size_t at, size_t to)
{
    const struct operand *o = s->c->a.of;
    double v = o->floats ? (double)o->floats[at] : (double)o->value[at];
    s->a.part[VALUE][to] = v;
    if (s->exact)
        return;
    if (s->b_exact) {
        double h = bound_at(o->hard, at), l = bound_at(o->likely, at);
        s->a.part[HARD][to] = s->gamma * fabs(v) + h * (1 + s->gamma);
        s->a.part[LIKELY][to] = s->c2 * v * v + l * l;
        return;
    }
    s->a.part[HARD][to] = fabs(v);
    s->a.part[LIKELY][to] = v * v;
    if (!s->a_bounds)
        return;
    s->a.part[HARD_A][to] = o->hard[at];
    s->a.part[LIKELY_A][to] = o->likely[at] * o->likely[at];
}

/* The same of B, into a panel or, at its own place, into `ready`. */
static inline void pack_one_b(const struct blocks *s, const struct panel *panel, size_t at, size_t to)
{
    const struct operand *o = s->c->b.of;
    double v = o->floats ? (double)o->floats[at] : (double)o->value[at];
    panel->part[VALUE][to] = v;
    if (s->exact)
        return;
    if (s->b_exact) {
        panel->part[HARD][to] = fabs(v);
        panel->part[LIKELY][to] = v * v;
        return;
    }
    double h = bound_at(o->hard, at), l = bound_at(o->likely, at);
    panel->part[HARD][to] = h * (1 + s->gamma) + s->gamma * fabs(v);
    panel->part[LIKELY][to] = l * l + s->c2 * v * v;
    if (!s->a_bounds)
        return;
    panel->part[HARD_A][to] = (fabs(v) + h) * (1 + s->gamma);
    panel->part[LIKELY_A][to] = v * v + l * l;
}

static bool part_used(const struct blocks *s, int part)
{
    return part == VALUE || (!s->exact && (part < HARD_A || s->a_bounds));
}

static void pack_a(struct blocks *s, size_t from, size_t rows)
{
    const struct contraction *c = s->c;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < c->k; k++)
            pack_one_a(s, at_a(c, from + i, k), i * c->k + k);
}

enum { LANES = 2 };

typedef double lanes_t __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t lane_bits_t __attribute__((vector_size(LANES * sizeof(int64_t))));

/* A row of stored floats, which is exact: its values, magnitudes and squares. */
static void pack_floats(const struct blocks *s, const float *from, size_t to, size_t cols)
{
    double *value = s->b.part[VALUE] + to, *size = s->exact ? NULL : s->b.part[HARD] + to,
           *square = s->exact ? NULL : s->b.part[LIKELY] + to;
    size_t j = 0;
    for (; j + LANES <= cols; j += LANES) {
        lanes_t v = {from[j], from[j + 1]};
        memcpy(value + j, &v, sizeof v);
        if (s->exact)
            continue;
        lane_bits_t magnitude = (lane_bits_t)v & INT64_MAX;
        v *= v;
        memcpy(size + j, &magnitude, sizeof magnitude);
        memcpy(square + j, &v, sizeof v);
    }
    for (; j < cols; j++) {
        double v = value[j] = from[j];
        if (s->exact)
            continue;
        size[j] = fabs(v);
        square[j] = v * v;
    }
}

static bool is_run(const size_t *table, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (table[i] != table[0] + i)
            return false;
    return true;
}

/* Terms `top` to `top` + `terms` of some columns. */
static void pack_b(struct blocks *s, size_t top, size_t terms, size_t from, size_t cols)
{
    const struct contraction *c = s->c;
    const size_t *at = c->b.cols + from;
    if (c->b.of->floats && !s->ready.part[VALUE] && is_run(at, cols)) {
        for (size_t k = 0; k < terms; k++)
            pack_floats(s, c->b.of->floats + at_b(c, top + k, from), k * cols, cols);
        return;
    }
    for (size_t k = 0; k < terms && !s->ready.part[VALUE]; k++)
        for (size_t j = 0; j < cols; j++)
            pack_one_b(s, &s->b, at_b(c, top + k, from + j), k * cols + j);
    for (int part = 0; part < PARTS && s->ready.part[VALUE]; part++)
        for (size_t k = 0; part_used(s, part) && k < terms; k++) {
            const double *in = s->ready.part[part] + c->b.rows[top + k];
            double *out = s->b.part[part] + k * cols;
            for (size_t j = 0; j < cols; j++)
                out[j] = in[at[j]];
        }
}

static void multiply(struct blocks *s, size_t rows, size_t top, size_t terms, size_t cols)
{
    /* HARD_A adds to HARD's result, LIKELY_A to LIKELY's. */
    static const enum part target[PARTS] = {VALUE, HARD, LIKELY, HARD, LIKELY};
    for (int part = 0; part < PARTS; part++)
        if (part_used(s, part))
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)cols, (int)terms, 1,
                        s->a.part[part] + top, (int)s->c->k, s->b.part[part], (int)cols,
                        part >= HARD_A || top > 0, s->out.part[target[part]], (int)cols);
}

/* What is no number is settled term by term, while that costs little. */
static struct number settle_strange(struct blocks *s, size_t i, size_t j, long double value)
{
    if (s->effort < s->c->k)
        return (struct number){value, INFINITY, 0};
    s->effort -= s->c->k;
    return settle_special(s->c, i, j, value);
}

static struct number settle_block(struct blocks *s, size_t i, size_t j, size_t at)
{
    const struct contraction *c = s->c;
    struct number sum = {.v = s->out.part[VALUE][at]};
    if (s->exact)
        return follow(c, i, j, sum, 0, 0, true);
    sum.h = s->out.part[HARD][at] + (long double)c->roundings * contract_underflow(c->type);
    sum.l = sqrtl(s->out.part[LIKELY][at] + (long double)s->c2 * sum.v * sum.v / 9);
    /* h / gamma is at least the sum of magnitudes. */
    long double size = s->gamma > 0 ? sum.h / s->gamma : fabsl(sum.v) + sum.h;
    if (!isfinite(sum.v))
        return follow(c, i, j, settle_strange(s, i, j, sum.v), 0, 0, false);
    return follow(c, i, j, sum, size, size, false);
}

enum { ROW = 256 }; /* sums that are settled at once */

struct row {
    double value[ROW], hard[ROW], likely[ROW];
};

/* What the epilogue adds to sums, as follow does. */
static void add_row(const struct blocks *s, size_t i, size_t j, size_t count, struct row *row)
{
    const struct contraction *c = s->c;
    const struct epilogue *e = c->then;
    double unit = unit_of(c->type), u = c->roundings * unit, v = sqrt(c->roundings) * unit;
    for (size_t q = 0; q < count; q++) {
        size_t at = e->rows[i] + e->cols[j + q];
        double added = (double)e->c->value[at], more = bounded_hard(e->c, at), l = bounded_likely(e->c, at);
        double size = fabs(added) + more;
        row->value[q] += added;
        row->hard[q] += more + u * size;
        row->likely[q] = sqrt(row->likely[q] * row->likely[q] + l * l + v * size * (v * size));
    }
}

/* False where some sum is no number, or may pass the largest number on the way: then they are settled one by
 * one. */
static bool settle_row(const struct blocks *s, size_t i, size_t j, size_t at, size_t count, struct row *row)
{
    const struct contraction *c = s->c;
    double highest = (double)dtype_highest(c->type) / 2,
           lost = c->roundings * (double)contract_underflow(c->type);
    double to_size = s->gamma > 0 ? 1 / s->gamma : 1;
    bool ordinary = true;
    for (size_t q = 0; q < count; q++) {
        double v = s->out.part[VALUE][at + q];
        row->value[q] = v;
        row->hard[q] = s->exact ? 0 : s->out.part[HARD][at + q] + lost;
        row->likely[q] = s->exact ? 0 : sqrt(s->out.part[LIKELY][at + q] + s->c2 * v * v / 9);
    }
    if (c->then && c->then->c)
        add_row(s, i, j, count, row);
    for (size_t q = 0; q < count; q++) {
        double size = fabs(row->value[q]) + row->hard[q] * to_size;
        ordinary &= size < highest;
        row->likely[q] = row->likely[q] <= row->hard[q] ? row->likely[q] : row->hard[q];
    }
    return ordinary;
}

static void give_row(struct blocks *s, size_t i, size_t j, size_t at, size_t count)
{
    const struct contraction *c = s->c;
    const struct epilogue *e = c->then;
    struct row row;
    if (c->row && dtype_is_float(c->type) && (!e || (e->alpha == 1 && e->beta == 1)) &&
        settle_row(s, i, j, at, count, &row)) {
        c->row(c->context, i, j,
               &(struct bounded_row){count, row.value, s->exact ? NULL : row.hard,
                                     s->exact ? NULL : row.likely});
        return;
    }
    for (size_t q = 0; q < count; q++)
        c->sink(c->context, i, j + q, settle_block(s, i, j + q, at + q));
}

static void run_blocks(struct blocks *s)
{
    const struct contraction *c = s->c;
    for (size_t i = 0; i < c->m; i += s->mb) {
        size_t rows = c->m - i < s->mb ? c->m - i : s->mb;
        pack_a(s, i, rows);
        for (size_t j = 0; j < c->n && !limits_late(c->k * s->nb); j += s->nb) {
            size_t cols = c->n - j < s->nb ? c->n - j : s->nb;
            for (size_t top = 0, terms; top < c->k; top += terms) {
                terms = c->k - top < s->kb ? c->k - top : s->kb;
                pack_b(s, top, terms, j, cols);
                multiply(s, rows, top, terms, cols);
            }
            for (size_t r = 0; r < rows; r++)
                for (size_t q = 0; q < cols; q += ROW)
                    give_row(s, i + r, j + q, r * cols + q, cols - q < ROW ? cols - q : ROW);
        }
    }
}

static int panel_alloc(const struct blocks *s, struct panel *p, size_t count, bool result, struct error *err)
{
    for (int part = 0; part < PARTS; part++) {
        if (!part_used(s, part) || (result && part >= HARD_A))
            continue;
        p->part[part] = malloc(count * sizeof(double));
        if (!p->part[part])
            return error_set(err, ERROR_MEMORY, "no memory for a matrix of %zu elements", count);
    }
    return 0;
}

static void panel_release(struct panel *p)
{
    for (int part = 0; part < PARTS; part++)
        free(p->part[part]);
}

static size_t largest_of(const size_t *table, size_t count)
{
    size_t largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = table[i] > largest ? table[i] : largest;
    return largest;
}

/* Windows overlap, and several blocks of rows read B: its elements are made ready once for all of these. */
static int make_ready(struct blocks *s, struct error *err)
{
    const struct contraction *c = s->c;
    size_t span = largest_of(c->b.rows, c->k) + largest_of(c->b.cols, c->n) + 1;
    if ((double)span * 2 > (double)c->k * (double)c->n * (double)((c->m + s->mb - 1) / s->mb))
        return 0;
    if (panel_alloc(s, &s->ready, span, false, err))
        return -1;
    for (size_t i = 0; i < span; i++)
        pack_one_b(s, &s->ready, c->b.base + i, i);
    return 0;
}

static size_t clamp_block(size_t wanted, size_t count)
{
    return wanted == 0 ? 1 : wanted < count ? wanted : count;
}

/* Setting the number starts the threads that the library lost when this process was forked, which then wait
 * busily for work. */
void contract_on_one_thread(void)
{
    if (openblas_get_num_threads() != 1)
        openblas_set_num_threads(1);
}

static int contract_blocks(const struct contraction *c, bool exact, struct error *err)
{
    double u = unit_of(c->type), steps = c->roundings > 1 ? c->roundings : 1;
    struct blocks s = {.c = c, .exact = exact, .b_exact = !c->b.of->hard, .effort = EFFORT};
    s.a_bounds = c->a.of->hard && !s.b_exact;
    s.gamma = (steps - 1) * u;
    s.c2 = steps * u * u;
    s.mb = clamp_block(PANEL / c->k, c->m);
    size_t longer = c->k > s.mb ? c->k : s.mb;
    s.kb = c->m <= FEW_ROWS && c->k > FEW_TERMS ? FEW_TERMS : c->k;
    s.nb = clamp_block(s.kb < c->k                 ? COLUMNS
                       : STRIP / longer >= COLUMNS ? STRIP / longer
                                                   : PANEL / longer,
                       c->n);
    int result = -1;
    if (make_ready(&s, err) || panel_alloc(&s, &s.a, s.mb * c->k, false, err) ||
        panel_alloc(&s, &s.b, s.kb * s.nb, false, err) || panel_alloc(&s, &s.out, s.mb * s.nb, true, err))
        goto out;
    contract_on_one_thread();
    run_blocks(&s);
    result = 0;
out:
    panel_release(&s.a);
    panel_release(&s.b);
    panel_release(&s.out);
    panel_release(&s.ready);
    return result;
}

/* The loops read long double. */
static int read_operand(struct operand *read, const struct operand *o, long double **values,
                        struct error *err)
{
    *read = *o;
    *values = NULL;
    if (!o->floats)
        return 0;
    *values = malloc(o->count * sizeof **values);
    if (!*values)
        return error_set(err, ERROR_MEMORY, "no memory for a matrix of %zu elements", o->count);
    for (size_t i = 0; i < o->count; i++)
        (*values)[i] = o->floats[i];
    read->value = *values;
    read->floats = NULL;
    return 0;
}

/* False also where an element is not for pairs: long double does it then. */
static bool split(struct wide_pair *pair, long double value)
{
    *pair = wide_split(value);
    return wide_pair_holds(value);
}

static bool split_operands(struct pairs *pairs, const struct contraction *c)
{
    bool held = true;
    for (size_t i = 0; i < c->m; i++)
        for (size_t k = 0; k < c->k && held; k++)
            held = split(&pairs->a[i * c->k + k], value_at(c->a.of, at_a(c, i, k)));
    for (size_t j = 0; j < c->n; j++)
        for (size_t k = 0; k < c->k && held; k++)
            held = split(&pairs->b[j * c->k + k], value_at(c->b.of, at_b(c, k, j)));
    return held;
}

static void pairs_release(struct pairs *pairs)
{
    free(pairs->a);
    free(pairs->b);
    *pairs = (struct pairs){0};
}

static void make_pairs(struct pairs *pairs, const struct contraction *c)
{
    *pairs = (struct pairs){0};
    if (!WIDE_IN_SOFTWARE || c->m == 0 || c->n == 0 || c->k == 0)
        return;
    pairs->a = calloc(c->m, c->k * sizeof *pairs->a);
    pairs->b = calloc(c->n, c->k * sizeof *pairs->b);
    if (!pairs->a || !pairs->b || !split_operands(pairs, c))
        pairs_release(pairs);
}

static int contract_small(const struct contraction *c, bool exact, struct error *err)
{
    struct contraction read = *c;
    struct pairs pairs;
    struct operand a, b;
    long double *of_a = NULL, *of_b = NULL;
    int result = read_operand(&a, c->a.of, &of_a, err) || read_operand(&b, c->b.of, &of_b, err) ? -1 : 0;
    read.a.of = &a;
    read.b.of = &b;
    if (!result) {
        make_pairs(&pairs, &read);
        contract_loops(&read, &pairs, exact);
        pairs_release(&pairs);
    }
    free(of_a);
    free(of_b);
    return result;
}

static double epilogue_roundings(const struct epilogue *e)
{
    return e ? (e->alpha != 1 ? 2 : 0) + (e->c ? 1 : 0) + (e->beta != 1 ? 1 : 0) : 0;
}

int contract(const struct contraction *wanted, struct error *err)
{
    struct contraction counted = *wanted;
    const struct contraction *c = &counted;
    counted.roundings += epilogue_roundings(wanted->then);
    const struct operand *a = c->a.of, *b = c->b.of;
    bool exact = all_exact(c);
    double work = (double)c->m * (double)c->n * (double)c->k;
    /* The blocked form computes in double, which suffices for what is exact below 2^53 and for the narrow
     * floats. */
    bool fits = exact ? a->largest * b->largest * (long double)c->k <= 0x1p53L
                      : dtype_is_float(c->type) && c->type != DTYPE_DOUBLE;
    if (work > SMALL && fits && c->k < INT32_MAX)
        return contract_blocks(c, exact || c->unbounded, err);
    return contract_small(c, exact, err);
}
