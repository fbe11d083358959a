/*
 * ScatterElements and ScatterND.
 *
 * Without a reduction elements move with their bounds; an element that several updates reach is unspecified,
 * because ONNX forbids that. With one, all updates of an element are collected first (struct pile), because a
 * correct implementation may apply them in any order; docs/bounds/index.md has the derivations.
 */
#include "base/limits.h"
#include "base/memory.h"
#include "bounds/sum.h"
#include "ops/draw.h"
#include "ops/gradient.h"
#include "ops/indices.h"
#include "ops/move_elements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum reduction { REDUCE_NONE, REDUCE_ADD, REDUCE_MUL, REDUCE_MAX, REDUCE_MIN };

static int read_reduction(struct op_call *call, enum reduction *reduction)
{
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    const char *name = call->opset >= 16 ? call_string(call, "reduction", "none") : "none";
    for (int i = 0; i < (call->opset >= 18 ? 5 : 3); i++)
        if (strcmp(name, names[i]) == 0) {
            *reduction = (enum reduction)i;
            return 0;
        }
    return call_invalid(call, "reduction '%s' is not known", name);
}

/* The updates of one output element so far, including the element of the data. */
struct pile {
    size_t updates;
    long double value;     /* of the reduction */
    long double size;      /* sum of |t|, or product of |t| */
    long double reach;     /* add: sum of hard; mul: product of |t| + hard; max, min: the largest hard */
    long double variance;  /* add: sum of likely^2; mul: sum of (likely / t)^2; max, min: largest likely^2 */
    long double spread;    /* mul: product of |t| and likely, as they add up */
    long double squares;   /* add: sum of t^2 */
    long double high, low; /* mul: products of the factors above and below 1 */
    bool whole, nan;
    bool unsure; /* a factor may be 0, or of either sign */
};

static void pile_start(struct pile *p, enum reduction reduction)
{
    bool product = reduction == REDUCE_MUL;
    *p = (struct pile){
        .value = product, .size = product, .reach = product, .spread = 1, .high = 1, .low = 1, .whole = true};
}

static void pile_add(struct pile *p, enum reduction reduction, const struct bounded *x, size_t i, bool first)
{
    long double t = x->value[i], hard = bounded_hard(x, i), likely = bounded_likely(x, i);
    p->nan |= isnan(t);
    p->whole &= t == truncl(t) && hard == 0;
    switch (reduction) {
    case REDUCE_ADD:
        p->value += t;
        p->size += fabsl(t);
        p->reach += hard;
        p->variance += likely * likely;
        p->squares += t * t;
        break;
    case REDUCE_MUL:
        p->value *= t;
        p->size *= fabsl(t);
        p->reach *= fabsl(t) + hard;
        p->spread *= likely_add(fabsl(t), likely);
        p->variance += t != 0 ? (likely / t) * (likely / t) : 0;
        p->high *= fmaxl(fabsl(t) + hard, 1);
        p->low *= t == 0 && hard == 0 ? 1 : fmaxl(fminl(fabsl(t) - hard, 1), 0);
        p->unsure |= hard > 0 && !(fabsl(t) > hard);
        break;
    default:
        if (first || (reduction == REDUCE_MAX ? t > p->value : t < p->value))
            p->value = t;
        p->reach = fmaxl(p->reach, hard);
        p->variance = fmaxl(p->variance, likely * likely);
    }
}

/*
 * m updates are m roundings of partial results, the last of which bounded_put adds. Every partial sum is at
 * most the sum of magnitudes; whole numbers below 1/u are exact.
 */
static void put_sum(struct bounded *out, size_t i, const struct pile *p)
{
    long double u = dtype_precision(out->type).unit, m = (long double)p->updates, rounding = 0;
    long double most = p->size + p->reach, deviation = sqrtl(p->variance);
    bool exact = p->whole && p->size * u < 1;
    if (dtype_is_float(out->type) && isfinite(p->value) && most > dtype_highest(out->type)) {
        bounded_put_undecided(out, i, p->value);
        return;
    }
    if (!exact && isfinite(p->value))
        rounding = (m - 1) * u * most * (1 + m * u);
    bounded_put(out, i, p->value, p->reach + rounding,
                likely_add(deviation, exact ? 0 : u * sqrtl((m - 1) * p->squares)));
}

/*
 * m - 1 relative errors, and the last rounding. A partial product that overflows makes the element undecided;
 * the underflow error of a partial product is multiplied by the other factors.
 */
static void put_product(struct bounded *out, size_t i, const struct pile *p)
{
    struct dtype_precision precision = dtype_precision(out->type);
    long double u = precision.unit, m = (long double)p->updates, rounding = 0, lost = 0;
    bool on_the_way = dtype_is_float(out->type) && m > 1, exact = p->whole && p->size * u < 1;
    if (on_the_way && p->high > dtype_highest(out->type)) {
        bounded_put_undecided(out, i, p->value);
        return;
    }
    if (!isfinite(p->size)) {
        bounded_put(out, i, p->value, p->unsure ? INFINITY : 0, 0);
        return;
    }
    if (!exact)
        rounding = (m - 1) * u * p->reach * (1 + m * u);
    if (on_the_way && p->low < precision.tiny)
        lost = m * p->high * (out->type == DTYPE_FLOAT16 ? precision.smallest : precision.tiny);
    /* Factors that may be 0 or not. */
    long double deviation = likely_add(sqrtl(p->variance) * p->size, p->spread - p->size);
    bounded_put(out, i, p->value, p->reach - p->size + rounding + lost,
                likely_add(deviation, lost + (exact ? 0 : u * sqrtl(m - 1) * p->size)));
}

static void pile_put(struct bounded *out, size_t i, const struct pile *p, enum reduction reduction)
{
    if (out->type == DTYPE_BOOL || (p->nan && reduction >= REDUCE_MAX))
        bounded_put_open(out, i);
    else if (reduction == REDUCE_ADD)
        put_sum(out, i, p);
    else if (reduction == REDUCE_MUL)
        put_product(out, i, p);
    else
        bounded_put(out, i, p->value, p->reach, sqrtl(p->variance));
}

/* One update: element `from` of updates goes to element `to` of the output. */
struct target {
    size_t to;
    bool undecided, outside; /* as the index that it is from */
};

static void scatter_plain(struct bounded *out, const struct bounded *updates, const struct target *targets,
                          struct pile *piles)
{
    for (size_t i = 0; i < updates->count; i++) {
        if (piles[targets[i].to].updates++)
            bounded_put_open(out, targets[i].to);
        else
            bounded_move(out, targets[i].to, updates, i);
    }
}

static void scatter_reduce(struct bounded *out, const struct bounded *x, const struct bounded *updates,
                           const struct target *targets, struct pile *piles, enum reduction reduction)
{
    for (size_t i = 0; i < updates->count && !limits_late(64); i++) {
        struct pile *pile = &piles[targets[i].to];
        if (!pile->updates++) {
            pile_start(pile, reduction);
            pile->updates = 1;
            pile_add(pile, reduction, x, targets[i].to, true);
        }
        pile_add(pile, reduction, updates, i, false);
    }
    for (size_t i = 0; i < out->count && !limits_late(1); i++)
        if (piles[i].updates)
            pile_put(out, i, &piles[i], reduction);
}

static int scatter(struct op_call *call, const struct bounded *x, const struct bounded *updates,
                   const struct target *targets, enum reduction reduction)
{
    struct bounded *out = &call->outputs[0];
    struct pile *piles = calloc(out->count ? out->count : 1, sizeof *piles);
    if (!piles)
        return error_set(call->err, ERROR_MEMORY, "no memory for %zu elements", out->count);
    move_all(out, x);
    if (reduction == REDUCE_NONE)
        scatter_plain(out, updates, targets, piles);
    else
        scatter_reduce(out, x, updates, targets, piles, reduction);
    free(piles);
    /* An undecided index may select any element. */
    bool undecided = false, outside = false;
    for (size_t i = 0; i < updates->count; i++) {
        undecided |= targets[i].undecided;
        outside |= targets[i].outside;
    }
    for (size_t i = 0; undecided && i < out->count; i++)
        bounded_set(out, i, out->value[i], INFINITY, outside ? INFINITY : 0);
    return 0;
}

static int need_three(struct op_call *call, const struct bounded *in[3])
{
    for (size_t i = 0; i < 3; i++)
        if (!(in[i] = call_need(call, i)))
            return -1;
    return in[2]->type == in[0]->type ? 0 : call_invalid(call, "the updates have another type than the data");
}

static int element_targets(struct op_call *call, const struct bounded *x, const struct bounded *indices,
                           int axis, struct target *targets)
{
    struct strides strides = strides_dense(&x->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < indices->count; i++, odometer_next(index, &indices->shape)) {
        struct picked picked;
        if (index_at(call, indices, i, x->shape.dims[axis], &picked))
            return -1;
        size_t base = strides_at(&strides, x->shape.rank, index) - (size_t)index[axis] * strides.of[axis];
        targets[i] = (struct target){base + picked.at * strides.of[axis], picked.undecided, picked.outside};
    }
    return 0;
}

static int eval_scatter_elements(struct op_call *call)
{
    const struct bounded *in[3];
    enum reduction reduction = REDUCE_NONE;
    int axis;
    if (need_three(call, in) || read_reduction(call, &reduction) || indices_check(call, in[1], false) ||
        call_axis(call, call_int(call, "axis", 0), in[0]->shape.rank, &axis))
        return -1;
    if (in[1]->shape.rank != in[0]->shape.rank || !shape_equal(&in[1]->shape, &in[2]->shape))
        return call_invalid(call, "the shapes of data, indices and updates do not match");
    for (int i = 0; i < in[0]->shape.rank; i++)
        if (i != axis && in[1]->shape.dims[i] > in[0]->shape.dims[i])
            return call_invalid(call, "indices are larger than the data along axis %d", i);
    if (!call_output(call, 0, in[0]->type, &in[0]->shape))
        return -1;
    if (call->shapes_only)
        return 0;
    struct target *targets = calloc(in[1]->count ? in[1]->count : 1, sizeof *targets);
    if (!targets)
        return error_set(call->err, ERROR_MEMORY, "no memory for %zu indices", in[1]->count);
    int result = element_targets(call, in[0], in[1], axis, targets);
    if (!result)
        result = scatter(call, in[0], in[2], targets, reduction);
    free(targets);
    return result;
}

static int scatter_nd_check(struct op_call *call, const struct bounded *const in[3], size_t *run)
{
    int q = in[1]->shape.rank, r = in[0]->shape.rank;
    if (q < 1 || r < 1)
        return call_invalid(call, "data of rank %d and indices of rank %d must not be scalars", r, q);
    int64_t k = in[1]->shape.dims[q - 1];
    if (k < 1 || k > r)
        return call_invalid(call, "index tuples of %lld do not match rank %d", (long long)k, r);
    if (q - 1 + r - (int)k > TENSOR_MAX_RANK)
        return call_unsupported(call, "a rank above %d is not supported", TENSOR_MAX_RANK);
    struct shape wanted = in[1]->shape;
    wanted.rank = q - 1;
    for (int i = (int)k; i < r; i++)
        wanted.dims[wanted.rank++] = in[0]->shape.dims[i];
    if (!shape_equal(&wanted, &in[2]->shape))
        return call_invalid(call, "the shape of the updates does not match data and indices");
    *run = shape_span(&in[0]->shape, (int)k, r);
    return 0;
}

static int nd_targets(struct op_call *call, const struct bounded *const in[3], size_t run,
                      struct target *targets)
{
    for (size_t i = 0; i < in[2]->count; i += run) {
        struct picked picked;
        if (index_tuple(call, in[1], i / run, &in[0]->shape, 0, &picked))
            return -1;
        for (size_t j = 0; j < run; j++)
            targets[i + j] = (struct target){picked.at + j, picked.undecided, picked.outside};
    }
    return 0;
}

static int eval_scatter_nd(struct op_call *call)
{
    const struct bounded *in[3];
    enum reduction reduction = REDUCE_NONE;
    size_t run = 1;
    if (need_three(call, in) || read_reduction(call, &reduction) || indices_check(call, in[1], true) ||
        scatter_nd_check(call, in, &run))
        return -1;
    if (!call_output(call, 0, in[0]->type, &in[0]->shape))
        return -1;
    if (call->shapes_only)
        return 0;
    struct target *targets = calloc(in[2]->count ? in[2]->count : 1, sizeof *targets);
    if (!targets)
        return error_set(call->err, ERROR_MEMORY, "no memory for %zu updates", in[2]->count);
    int result = nd_targets(call, in, run, targets);
    if (!result)
        result = scatter(call, in[0], in[2], targets, reduction);
    free(targets);
    return result;
}

/* ---- gradients ---- */

/* An element of the data and all its updates. */
struct group {
    size_t updates;
    struct extreme extreme;
    size_t rivals;          /* elements that may be the extreme one */
    struct number multiple; /* the update, when there is one */
};

/* Whether an element may be the extreme one of its pile. */
static bool may_win(const struct group *r, const struct bounded *x, size_t i)
{
    const struct extreme *e = &r->extreme;
    return e->nan || e->open || !(e->sign * x->value[i] + bounded_hard(x, i) < e->low);
}

static void make_groups(const struct bounded *const in[3], const struct target *targets, struct group *all,
                        int sign)
{
    const struct bounded *x = in[0], *updates = in[2];
    for (size_t i = 0; i < x->count; i++) {
        all[i].extreme.sign = sign;
        extreme_add(&all[i].extreme, x->value[i], bounded_hard(x, i), 0);
    }
    for (size_t i = 0; i < updates->count; i++) {
        struct group *r = &all[targets[i].to];
        r->updates++;
        r->multiple = number_of(updates, i);
        extreme_add(&r->extreme, updates->value[i], bounded_hard(updates, i), 0);
    }
    for (size_t i = 0; i < x->count; i++)
        all[i].rivals += may_win(&all[i], x, i);
    for (size_t i = 0; i < updates->count; i++)
        all[targets[i].to].rivals += may_win(&all[targets[i].to], updates, i);
}

/*
 * x u of one update u: the derivative by either is the other one, or the whole product over it. The
 * derivatives by several updates of one element are left undecided.
 */
static struct number factor_slope(struct number g, struct number by, struct number other, size_t updates,
                                  enum dtype type)
{
    if (updates != 1)
        return updates ? gradient_undecided() : g;
    struct number factors[] = {g, other, by, gradient_inverse(by, type)};
    struct number slope = gradient_factors(factors, 2, type);
    if (by.v != 0 || by.h != 0)
        slope.h = fmaxl(slope.h, gradient_factors(factors, 4, type).h);
    return slope;
}

static struct number element_slope(const struct group *r, enum reduction reduction, struct number g,
                                   const struct bounded *of, size_t i, struct number other)
{
    if (reduction == REDUCE_ADD)
        return g;
    if (reduction == REDUCE_MUL)
        return factor_slope(g, number_of(of, i), other, r->updates, of->type);
    if (!may_win(r, of, i) && gradient_is_number(g))
        return number_exact(0);
    bool strange = r->extreme.nan || r->extreme.open; /* a NaN is not equal to the result */
    if (strange || !gradient_is_number(g))
        return gradient_undecided();
    return r->rivals == 1 ? g : gradient_between(g, number_exact(0));
}

static int scatter_slopes(struct op_gradient *g, const struct bounded *const in[3],
                          const struct target *targets, enum reduction reduction)
{
    struct bounded *data, *updates;
    if (gradient_begin(g, 0, &data) || gradient_begin(g, 2, &updates))
        return -1;
    struct group *all = memory_zeroed(in[0]->count + 1, sizeof *all);
    make_groups(in, targets, all, reduction == REDUCE_MIN ? -1 : 1);
    for (size_t i = 0; data && i < data->count; i++)
        gradient_store(
            data, i,
            element_slope(&all[i], reduction, gradient_upstream(g, 0, i), in[0], i, all[i].multiple));
    for (size_t i = 0; updates && i < updates->count; i++) {
        size_t to = targets[i].to;
        gradient_store(
            updates, i,
            element_slope(&all[to], reduction, gradient_upstream(g, 0, to), in[2], i, number_of(in[0], to)));
    }
    free(all);
    return 0;
}

/* An index that is not certain leaves everything undecided. */
static int gradient_scatter(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *in[3];
    enum reduction reduction = REDUCE_NONE;
    size_t run = 1;
    int axis = 0;
    if (read_reduction(call, &reduction) || need_three(call, in))
        return -1;
    if (reduction == REDUCE_NONE)
        return gradient_of_moves(g);
    bool tuples = strcmp(call->op->name, "ScatterND") == 0, undecided = false;
    struct target *targets = memory_zeroed(in[2]->count + 1, sizeof *targets);
    int result = tuples ? scatter_nd_check(call, in, &run)
                        : call_axis(call, call_int(call, "axis", 0), in[0]->shape.rank, &axis);
    if (!result)
        result =
            tuples ? nd_targets(call, in, run, targets) : element_targets(call, in[0], in[1], axis, targets);
    for (size_t i = 0; !result && i < in[2]->count; i++)
        undecided |= targets[i].undecided;
    if (!result && undecided)
        result = gradient_leave_undecided(g, 0) || gradient_leave_undecided(g, 2) ? -1 : 0;
    else if (!result)
        result = scatter_slopes(g, in, targets, reduction);
    free(targets);
    return result;
}

static const char *draw_reduction(struct draw *d)
{
    if (d->opset < 16 || draw_chance(d, 0.3))
        return NULL;
    return draw_word(d, d->opset >= 18 ? "none|add|mul|max|min" : "none|add|mul");
}

/* Without a reduction no index may come twice: a line of the index tensor gets a shuffled range. */
static int sample_scatter_elements(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int axis = (int)draw_between(d, 0, x.shape.rank - 1);
    const char *reduction = draw_reduction(d);
    bool twice = reduction && strcmp(reduction, "none") != 0;
    struct shape shape = x.shape;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] > 0 && draw_chance(d, 0.5))
            shape.dims[i] = draw_between(d, 1, shape.dims[i]);
    if (twice && x.shape.dims[axis] > 0 && draw_chance(d, 0.5))
        shape.dims[axis] = draw_between(d, 1, 8);
    size_t count = shape_span(&shape, 0, shape.rank), step = shape_span(&shape, axis + 1, shape.rank);
    int64_t *values = arena_array(d->arena, count + 1, sizeof *values);
    int64_t dim = x.shape.dims[axis], shift = draw_between(d, 0, dim > 0 ? dim - 1 : 0);
    bool negative = draw_chance(d, 0.3), backwards = draw_chance(d, 0.5);
    for (size_t i = 0; i < count; i++) {
        int64_t at = (int64_t)(i / step) % shape.dims[axis];
        values[i] = twice ? draw_between(d, 0, dim - 1) : ((backwards ? dim - 1 - at : at) + shift) % dim;
        values[i] -= negative && draw_chance(d, 0.5) ? dim : 0;
    }
    draw_int_typed(d, draw_chance(d, 0.3) ? DTYPE_INT32 : DTYPE_INT64, &shape, values);
    draw_data(d, x.type, &shape);
    if (axis || draw_chance(d, 0.5))
        draw_int(d, "axis", draw_chance(d, 0.3) ? axis - x.shape.rank : axis);
    if (reduction)
        draw_string(d, "reduction", reduction);
    return 0;
}

static int sample_scatter_nd(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int k = (int)draw_between(d, 1, x.shape.rank);
    const char *reduction = draw_reduction(d);
    bool twice = reduction && strcmp(reduction, "none") != 0, negative = draw_chance(d, 0.3);
    int64_t room = (int64_t)shape_span(&x.shape, 0, k);
    if (!room)
        return -1;
    int64_t tuples = draw_between(d, 1, twice ? 8 : room < 8 ? room : 8), at = draw_between(d, 0, room - 1);
    int64_t *values = arena_array(d->arena, (size_t)(tuples * k), sizeof *values);
    for (int64_t i = 0; i < tuples; i++) {
        int64_t rest = twice ? draw_between(d, 0, room - 1) : (at + i) % room;
        for (int j = k - 1; j >= 0; j--) {
            values[i * k + j] =
                rest % x.shape.dims[j] - (negative && draw_chance(d, 0.5) ? x.shape.dims[j] : 0);
            rest /= x.shape.dims[j];
        }
    }
    bool split = tuples % 2 == 0 && draw_chance(d, 0.3), single = tuples == 1 && draw_chance(d, 0.3);
    struct shape shape = {0};
    if (split)
        shape = (struct shape){2, {2, tuples / 2}};
    else if (!single)
        shape = (struct shape){1, {tuples}};
    struct shape updates = shape;
    shape.dims[shape.rank++] = k;
    for (int i = k; i < x.shape.rank; i++)
        updates.dims[updates.rank++] = x.shape.dims[i];
    draw_int_typed(d, DTYPE_INT64, &shape, values);
    draw_data(d, x.type, &updates);
    if (reduction)
        draw_string(d, "reduction", reduction);
    return 0;
}

/* The update of a cache: rows along `axis`, from where write_indices says for each batch. */
static int eval_tensor_scatter(struct op_call *call)
{
    const struct bounded *past = call_need(call, 0), *update = call_need(call, 1),
                         *indices = call_input(call, 2);
    int axis;
    if (!past || !update || call_axis(call, call_int(call, "axis", -2), past->shape.rank, &axis))
        return -1;
    struct shape wanted = past->shape;
    bool circular = strcmp(call_string(call, "mode", "linear"), "circular") == 0;
    if (axis == 0 || update->shape.rank != past->shape.rank)
        return call_invalid(call, "the axis is that of the batch, or the update has another rank");
    wanted.dims[axis] = update->shape.dims[axis];
    if (!shape_equal(&wanted, &update->shape) || update->shape.dims[axis] > past->shape.dims[axis])
        return call_invalid(call, "the update does not fit the cache");
    if (indices && (indices->shape.rank != 1 || indices->shape.dims[0] != past->shape.dims[0]))
        return call_invalid(call, "write_indices are not one for each batch");
    struct bounded *out = call_output(call, 0, past->type, &past->shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    move_all(out, past);
    size_t inner = shape_span(&past->shape, axis + 1, past->shape.rank),
           rows = (size_t)update->shape.dims[axis], room = (size_t)past->shape.dims[axis],
           outer = shape_span(&past->shape, 0, axis), batches = (size_t)past->shape.dims[0];
    for (size_t o = 0; o < outer && update->count; o++) {
        size_t batch = o / (outer / batches);
        long double at = indices ? indices->value[batch] : 0;
        bool unsure = indices && bounded_hard(indices, batch) > 0;
        bool outside = at < 0 || (!circular && at + (long double)rows > (long double)room);
        call->open |= outside;
        for (size_t i = 0; (unsure || outside) && i < room * inner; i++)
            bounded_put_open(out, o * room * inner + i);
        for (size_t row = 0; !unsure && !outside && row < rows; row++)
            move_run(out, (o * room + ((size_t)at + row) % room) * inner, update, (o * rows + row) * inner,
                     inner);
    }
    return 0;
}

static int sample_tensor_scatter(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (shape_span(&x.shape, 0, x.shape.rank) == 0)
        return -1;
    int axis = (int)draw_between(d, 1, x.shape.rank - 1);
    bool circular = draw_chance(d, 0.4);
    struct shape update = x.shape, batch = {1, {x.shape.dims[0]}};
    int64_t room = x.shape.dims[axis];
    update.dims[axis] = draw_between(d, 1, room);
    draw_data(d, x.type, &update);
    if (draw_chance(d, 0.7))
        draw_range(d, DTYPE_INT64, &batch, 0, (double)(circular ? 2 * room : room - update.dims[axis]));
    if (axis != x.shape.rank - 2 || draw_chance(d, 0.5))
        draw_int(d, "axis", draw_chance(d, 0.5) ? axis : axis - x.shape.rank);
    if (circular || draw_chance(d, 0.3))
        draw_string(d, "mode", circular ? "circular" : "linear");
    return 0;
}

static const struct op_param tensor_scatter_params[] = {
    {"axis", PARAM_INT, .legal = "-2..2", .illegal = "0|100|-100", .initial = "-2"},
    {"mode", PARAM_STRING, .legal = "linear|circular", .illegal = "square", .initial = "linear"},
    {"write_indices", PARAM_INPUT, .input = 2, .legal = "0|1", .initial = "0"},
    {0},
};

static const struct op_param elements_params[] = {
    {"axis", PARAM_INT, .legal = "-1..1", .illegal = "100|-100", .initial = "0"},
    {"indices", PARAM_INPUT, .input = 1, .legal = "0|-1", .illegal = "1000000|-1000000"},
    {"reduction", PARAM_STRING, .since = 16, .until = 17, .legal = "none|add|mul", .illegal = "max|average|",
     .initial = "none"},
    {"reduction", PARAM_STRING, .since = 18, .legal = "none|add|mul|max|min", .illegal = "average|",
     .initial = "none"},
    {0}};

const struct op ops_scatter[] = {
    {OP("ScatterElements", 11), .open = "which of several updates of one element is kept, or NaN among them",
     .inputs = {3, 3}, .outputs = {1, 1}, .ranks = {1, 5}, .types = MOVE_TYPES, .params = elements_params,
     .index = {.input = 1, .axis = "axis"}, .eval = eval_scatter_elements, .gradient = gradient_scatter,
     .sample = sample_scatter_elements, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_PRODUCT, .powers = {1, 0, 1}}, .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS,
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {OP("ScatterND", 11), .open = "which of several updates of one element is kept, or NaN among them",
     .inputs = {3, 3}, .outputs = {1, 1}, .ranks = {1, 5}, .types = MOVE_TYPES,
     .params = elements_params + 1 /* without an axis */, .index = {.input = 1, .any = true},
     .eval = eval_scatter_nd, .gradient = gradient_scatter, .sample = sample_scatter_nd, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_PRODUCT, .powers = {1, 0, 1}},
     .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_NONE}}},
    {OP("TensorScatter", 24), .open = "what is written outside the cache", .inputs = {2, 3},
     .outputs = {1, 1}, .ranks = {2, 5}, .types = {{24, MOVE_ANY}}, .params = tensor_scatter_params,
     .eval = eval_tensor_scatter, .sample = sample_tensor_scatter, .data = DATA_FIRST,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM}, .result = RESULT_LIKE_INPUT, .work = WORK_MOVES,
     .slope = SLOPE_EVERYWHERE, .narrow = {24, DTYPES_NARROW & ~DTYPES_INT2}, .dangers = {{DANGER_NONE}}},
    {0},
};
