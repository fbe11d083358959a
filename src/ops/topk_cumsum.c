/*
 * Operators that depend on the order of elements: ArgMax, ArgMin, TopK; and CumSum, which walks the same
 * lanes.
 *
 * A lane is the run of elements along one axis. The place of an element in the order is decided where its
 * interval [v-h, v+h] overlaps no other; where it does, every index that could be there is a candidate, and
 * the bound reaches the farthest.
 */
#include "base/limits.h"
#include "bounds/sum.h"
#include "ops/draw.h"
#include "ops/gradient.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct lanes {
    size_t outer, length, inner;
};

static struct lanes lanes_of(const struct shape *shape, int axis)
{
    return (struct lanes){shape_span(shape, 0, axis), (size_t)shape->dims[axis],
                          shape_span(shape, axis + 1, shape->rank)};
}

/* Element `k` of lane (o, i) where lanes have `length` elements. */
static size_t lane_at(const struct lanes *lanes, size_t length, size_t o, size_t k, size_t i)
{
    return (o * length + k) * lanes->inner + i;
}

/* An element that is not judged may be NaN. */
static bool may_be_nan(const struct bounded *x, size_t at)
{
    return isnan(x->value[at]) || (dtype_is_float(x->type) && isinf(bounded_hard(x, at)));
}

static void put_arg(struct bounded *out, size_t at, const struct bounded *x, const struct lanes *lanes,
                    size_t o, size_t i, int sign, bool last)
{
    struct extreme best = {.sign = sign};
    size_t chosen = 0, low = lanes->length, high = 0;
    for (size_t k = 0; k < lanes->length; k++) {
        size_t from = lane_at(lanes, lanes->length, o, k, i);
        long double v = x->value[from] * sign;
        if (best.count == 0 || (last ? v >= best.value : v > best.value))
            chosen = k;
        extreme_add(&best, x->value[from], bounded_hard(x, from), 0);
        best.nan |= may_be_nan(x, from);
    }
    if (best.nan) { /* ONNX does not say whether NaN is the largest */
        bounded_put_open(out, at);
        return;
    }
    if (!x->hard) {
        bounded_put(out, at, (long double)chosen, 0, 0);
        return;
    }
    bool moves = bounded_hard(x, lane_at(lanes, lanes->length, o, chosen, i)) > 0;
    for (size_t k = 0; k < lanes->length; k++) {
        size_t from = lane_at(lanes, lanes->length, o, k, i);
        long double end = x->value[from] * sign + bounded_hard(x, from);
        /* An exact tie is decided by the index alone, but only among elements that cannot move. */
        bool candidate =
            k == chosen || end > best.low || (end == best.low && (moves || bounded_hard(x, from) > 0));
        if (candidate) {
            low = k < low ? k : low;
            high = k;
        }
    }
    bounded_put_range(out, at, (long double)chosen, (long double)low, (long double)high);
}

static int eval_arg(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    int axis;
    if (!x)
        return -1;
    if (call_axis(call, call_int(call, "axis", 0), x->shape.rank, &axis))
        return -1;
    struct lanes lanes = lanes_of(&x->shape, axis);
    if (lanes.length == 0 && lanes.outer > 0 && lanes.inner > 0)
        return call_invalid(call, "the axis has no elements");
    bool keep = call_int(call, "keepdims", 1) != 0, last = call_int(call, "select_last_index", 0) != 0;
    struct shape shape = {.rank = 0};
    for (int i = 0; i < x->shape.rank; i++)
        if (i != axis || keep)
            shape.dims[shape.rank++] = i == axis ? 1 : x->shape.dims[i];
    struct bounded *out = call_output(call, 0, DTYPE_INT64, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    int sign = call->op->name[3] == 'M' && call->op->name[4] == 'i' ? -1 : 1;
    for (size_t o = 0; o < lanes.outer; o++)
        for (size_t i = 0; i < lanes.inner; i++)
            put_arg(out, o * lanes.inner + i, x, &lanes, o, i, sign, last);
    return 0;
}

static int sample_arg(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t axis = draw_between(d, -x.shape.rank, x.shape.rank - 1);
    if (x.shape.dims[axis < 0 ? axis + x.shape.rank : axis] == 0)
        return -1;
    if (axis != 0 || draw_chance(d, 0.5))
        draw_int(d, "axis", axis);
    if (draw_chance(d, 0.6))
        draw_int(d, "keepdims", draw_between(d, 0, 1));
    if (d->opset >= 12 && draw_chance(d, 0.5))
        draw_int(d, "select_last_index", draw_between(d, 0, 1));
    if (d->fill == FILL_NORMAL && draw_chance(d, 0.5)) /* ties */
        draw_primary_range(d, -2, 2);
    return 0;
}

static void cumsum_lane(struct bounded *out, const struct bounded *x, const struct lanes *lanes, size_t o,
                        size_t i, bool exclusive, bool reverse)
{
    struct sum sum = {0};
    double unit = bounded_unit(out);
    /* Beyond these limits a signed sum is unspecified, and so is all that follows; a wrapped one would lose
     * its low bits. */
    bool whole = !dtype_is_float(out->type), lost = false;
    bool wraps = out->type == DTYPE_UINT32 || out->type == DTYPE_UINT64;
    long double most = wraps ? 0x1p64L : dtype_highest(out->type);
    for (size_t step = 0; step < lanes->length && !limits_late(64); step++) {
        size_t at = lane_at(lanes, lanes->length, o, reverse ? lanes->length - 1 - step : step, i);
        if (!exclusive)
            sum_add(&sum, x->value[at], bounded_hard(x, at), bounded_likely(x, at));
        lost = lost || (whole && fabsl(sum_value(&sum)) + sum.hard > most);
        if (lost)
            bounded_put_open(out, at);
        else if (!whole && sum_overflows(&sum, out->type))
            bounded_put_undecided(out, at, sum_value(&sum));
        else
            bounded_put(out, at, sum_value(&sum), sum_hard(&sum, unit), sum_likely(&sum, unit));
        if (exclusive)
            sum_add(&sum, x->value[at], bounded_hard(x, at), bounded_likely(x, at));
    }
}

static int eval_cumsum(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *axis_input = call_need(call, 1);
    if (!x || !axis_input)
        return -1;
    if (axis_input->count != 1)
        return call_invalid(call, "axis must be a single number");
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    int64_t value;
    int axis;
    if (call_int_single(call, 1, &value) || call_axis(call, value, x->shape.rank, &axis))
        return -1;
    bool exclusive = call_int(call, "exclusive", 0) != 0, reverse = call_int(call, "reverse", 0) != 0;
    struct lanes lanes = lanes_of(&x->shape, axis);
    for (size_t o = 0; o < lanes.outer; o++)
        for (size_t i = 0; i < lanes.inner; i++)
            cumsum_lane(out, x, &lanes, o, i, exclusive, reverse);
    return 0;
}

/* The derivatives are summed the other way round. */
static int gradient_cumsum(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0];
    struct bounded *slope;
    int64_t value;
    int axis;
    if (call_int_single(call, 1, &value) || call_axis(call, value, x->shape.rank, &axis) ||
        gradient_begin(g, 0, &slope))
        return -1;
    bool exclusive = call_int(call, "exclusive", 0) != 0, reverse = call_int(call, "reverse", 0) != 0;
    struct lanes lanes = lanes_of(&x->shape, axis);
    for (size_t o = 0; slope && o < lanes.outer; o++)
        for (size_t i = 0; i < lanes.inner; i++)
            cumsum_lane(slope, g->upstream[0], &lanes, o, i, exclusive, !reverse);
    for (size_t i = 0; slope && i < slope->count; i++)
        if (!isfinite(slope->value[i]))
            bounded_put_undecided(slope, i, 0);
    return 0;
}

static int sample_cumsum(struct draw *d)
{
    struct drawn x = draw_primary(d);
    draw_scalar(d, draw_chance(d, 0.5) ? DTYPE_INT64 : DTYPE_INT32,
                (double)draw_between(d, -x.shape.rank, x.shape.rank - 1));
    if (draw_chance(d, 0.5))
        draw_int(d, "exclusive", draw_between(d, 0, 1));
    if (draw_chance(d, 0.5))
        draw_int(d, "reverse", draw_between(d, 0, 1));
    return 0;
}

/* An element of a lane that is being sorted; elements with larger keys come first. */
struct entry {
    long double key;
    double hard, likely;
    size_t index;
};

static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int descending(const void *a, const void *b)
{
    long double x = *(const long double *)a, y = *(const long double *)b;
    return x > y ? -1 : x < y;
}

/* Buffers for one lane: entries sorted by value, and the lower and upper ends of all intervals, sorted. */
struct ranking {
    size_t length, k;
    struct entry *entries;
    long double *low, *high;
    double likely;
    bool nan, exact;
};

static void rank_lane(struct ranking *r, const struct bounded *x, const struct lanes *lanes, size_t o,
                      size_t i, int sign)
{
    r->nan = false;
    r->exact = true;
    r->likely = 0;
    for (size_t k = 0; k < r->length; k++) {
        size_t at = lane_at(lanes, r->length, o, k, i);
        double hard = bounded_hard(x, at);
        struct entry entry = {x->value[at] * sign, hard, bounded_likely(x, at), k};
        r->nan |= may_be_nan(x, at);
        r->exact &= hard == 0;
        r->likely = fmax(r->likely, entry.likely);
        r->low[k] = entry.key - hard;
        r->high[k] = entry.key + hard;
        r->entries[k] = entry;
    }
    qsort(r->entries, r->length, sizeof *r->entries, by_key);
    qsort(r->low, r->length, sizeof *r->low, descending);
    qsort(r->high, r->length, sizeof *r->high, descending);
}

/* The value in place p lies between the p-th largest lower end and the p-th largest upper end. */
static void put_place(struct bounded *values, struct bounded *indices, size_t at, const struct ranking *r,
                      size_t p, int sign)
{
    const struct entry *entry = &r->entries[p];
    if (r->exact) {
        bounded_put(values, at, entry->key * sign, 0, 0);
        bounded_put(indices, at, (long double)entry->index, 0, 0);
        return;
    }
    long double hard = fmaxl(r->high[p] - entry->key, entry->key - r->low[p]);
    bounded_put(values, at, entry->key * sign, hard, r->likely);
    size_t first = entry->index, final = entry->index;
    for (size_t k = 0; k < r->length; k++) {
        const struct entry *rival = &r->entries[k];
        if (rival->key + rival->hard < r->low[p] || rival->key - rival->hard > r->high[p])
            continue;
        first = rival->index < first ? rival->index : first;
        final = rival->index > final ? rival->index : final;
    }
    bounded_put_range(indices, at, (long double)entry->index, (long double)first, (long double) final);
}

/* Unsorted: the same elements in any order, so a place holds any of them. */
static void put_unsorted(struct bounded *values, struct bounded *indices, size_t at, const struct ranking *r,
                         size_t p, int sign)
{
    long double least = r->low[r->k - 1] * sign, greatest = r->high[0] * sign;
    bounded_put_range(values, at, r->entries[p].key * sign, fminl(least, greatest), fmaxl(least, greatest));
    bounded_put_open(indices, at);
}

static void topk_lane(struct bounded *values, struct bounded *indices, const struct ranking *r,
                      const struct lanes *lanes, size_t o, size_t i, int sign, bool sorted)
{
    for (size_t p = 0; p < r->k && !limits_late(r->exact ? 1 : r->length); p++) {
        size_t at = lane_at(lanes, r->k, o, p, i);
        if (r->nan) { /* ONNX does not say where NaN sorts */
            bounded_put_open(values, at);
            bounded_put_open(indices, at);
        } else if (sorted || r->k == 1) {
            put_place(values, indices, at, r, p, sign);
        } else {
            put_unsorted(values, indices, at, r, p, sign);
        }
    }
}

static int ranking_init(struct ranking *r, struct op_call *call, size_t length, size_t k)
{
    *r = (struct ranking){.length = length, .k = k};
    r->entries = calloc(length, sizeof *r->entries);
    r->low = calloc(length, sizeof *r->low);
    r->high = calloc(length, sizeof *r->high);
    if (!r->entries || !r->low || !r->high)
        return error_set(call->err, ERROR_MEMORY, "no memory to sort %zu elements", length);
    return 0;
}

static void ranking_release(struct ranking *r)
{
    free(r->entries);
    free(r->low);
    free(r->high);
}

static int eval_topk(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    int64_t k;
    size_t count;
    int axis, result = -1;
    if (!x || call_int_list(call, 1, &k, 1, &count) ||
        call_axis(call, call_int(call, "axis", -1), x->shape.rank, &axis))
        return -1;
    if (count != 1 || k < 0 || k > x->shape.dims[axis])
        return call_invalid(call, "k is not between 0 and the axis's %" PRId64 " elements",
                            x->shape.dims[axis]);
    struct shape shape = x->shape;
    shape.dims[axis] = k;
    struct bounded *values = call_output(call, 0, x->type, &shape);
    struct bounded *indices = values ? call_output(call, 1, DTYPE_INT64, &shape) : NULL;
    if (!indices || call->shapes_only || values->count == 0)
        return indices ? 0 : -1;
    struct lanes lanes = lanes_of(&x->shape, axis);
    struct ranking r;
    if (ranking_init(&r, call, lanes.length, (size_t)k))
        goto out;
    int sign = call_int(call, "largest", 1) != 0 ? 1 : -1;
    bool sorted = call_int(call, "sorted", 1) != 0;
    for (size_t o = 0; o < lanes.outer; o++)
        for (size_t i = 0; i < lanes.inner; i++) {
            rank_lane(&r, x, &lanes, o, i, sign);
            topk_lane(values, indices, &r, &lanes, o, i, sign, sorted);
        }
    result = 0;
out:
    ranking_release(&r);
    return result;
}

/*
 * The derivative goes to the element that is in the place. An element whose interval touches another's may be
 * in its place, too: undecided, unless both are surely not among the first k. In an unsorted result any of
 * the first k may be in any place.
 */
static void topk_slope(const struct op_gradient *g, struct bounded *slope, struct ranking *r,
                       const struct lanes *lanes, size_t o, size_t i, bool sorted)
{
    /* By now the sorted ends are not needed: low and high become the least and the greatest ends of the
     * elements before and behind. */
    long double least = INFINITY, greatest = -INFINITY;
    for (size_t p = 0; p < r->length; p++) {
        r->low[p] = least;
        least = fminl(least, r->entries[p].key - r->entries[p].hard);
    }
    for (size_t p = r->length; p-- > 0;) {
        r->high[p] = greatest;
        greatest = fmaxl(greatest, r->entries[p].key + r->entries[p].hard);
    }
    bool known = !r->nan && (sorted || r->k == 1);
    for (size_t p = 0; p < r->length; p++) {
        const struct entry *e = &r->entries[p];
        size_t at = lane_at(lanes, r->length, o, e->index, i);
        bool alone = e->key + e->hard < r->low[p] && e->key - e->hard > r->high[p];
        bool behind = p >= r->k && e->key + e->hard < r->low[r->k];
        if (p < r->k && alone && known)
            gradient_store(slope, at, gradient_upstream(g, 0, lane_at(lanes, r->k, o, p, i)));
        else if (!behind || r->nan)
            bounded_put_undecided(slope, at, 0);
    }
}

static int gradient_topk(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *x = call->inputs[0];
    struct bounded *slope;
    int axis;
    if (call_axis(call, call_int(call, "axis", -1), x->shape.rank, &axis) || gradient_begin(g, 0, &slope))
        return -1;
    if (!slope || !g->upstream[0] || call->outputs[0].count == 0)
        return 0;
    size_t k = (size_t)call->outputs[0].shape.dims[axis];
    struct lanes lanes = lanes_of(&x->shape, axis);
    struct ranking r;
    int sign = call_int(call, "largest", 1) != 0 ? 1 : -1, result = ranking_init(&r, call, lanes.length, k);
    bool sorted = call_int(call, "sorted", 1) != 0;
    for (size_t o = 0; !result && o < lanes.outer; o++)
        for (size_t i = 0; i < lanes.inner; i++) {
            rank_lane(&r, x, &lanes, o, i, sign);
            topk_slope(g, slope, &r, &lanes, o, i, sorted);
        }
    ranking_release(&r);
    return result;
}

static int sample_topk(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t axis = draw_between(d, -x.shape.rank, x.shape.rank - 1);
    int64_t length = x.shape.dims[axis < 0 ? axis + x.shape.rank : axis];
    if (length == 0)
        return -1;
    int64_t k = draw_chance(d, 0.2) ? length : draw_between(d, 1, length);
    draw_int_input(d, &k, 1);
    if (axis != -1 || draw_chance(d, 0.3))
        draw_int(d, "axis", axis);
    if (draw_chance(d, 0.6))
        draw_int(d, "largest", draw_between(d, 0, 1));
    if (draw_chance(d, 0.4))
        draw_int(d, "sorted", draw_chance(d, 0.7));
    draw_outputs(d, 2);
    return 0;
}

static const struct op_param arg_params[] = {
    {"axis", PARAM_INT, .legal = "-3..2", .illegal = "99|-99", .initial = "0"},
    {"keepdims", PARAM_INT, .legal = "0|1", .illegal = "-1|2", .initial = "1"},
    {"select_last_index", PARAM_INT, .since = 12, .legal = "0|1", .illegal = "-1|2", .initial = "0"},
    {0},
};

static const struct op_param cumsum_params[] = {
    {"axis", PARAM_INPUT, .input = 1, .legal = "-2..1", .illegal = "99|-99"},
    {"exclusive", PARAM_INT, .legal = "0|1", .illegal = "-1|2", .initial = "0"},
    {"reverse", PARAM_INT, .legal = "0|1", .illegal = "-1|2", .initial = "0"},
    {0},
};

static const struct op_param topk_params[] = {
    {"K", PARAM_INPUT, .input = 1, .legal = "1..8", .illegal = "0|-1|9999999"},
    {"axis", PARAM_INT, .legal = "-3..2", .illegal = "99|-99", .initial = "-1"},
    {"largest", PARAM_INT, .legal = "0|1", .illegal = "-1|2", .initial = "1"},
    {"sorted", PARAM_INT, .legal = "0|1", .illegal = "-1|2", .initial = "1"},
    {0},
};

enum {
    BRAIN = DTYPE_BIT(DTYPE_BFLOAT16),
    ORDERED = DTYPES_NUMBER & ~DTYPE_BIT(DTYPE_BFLOAT16),
    SUMMED = DTYPE_BIT(DTYPE_UINT32) | DTYPE_BIT(DTYPE_UINT64) | DTYPE_BIT(DTYPE_INT32) |
             DTYPE_BIT(DTYPE_INT64) | DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE)
};

const struct op ops_topk_cumsum[] = {
    {OP("ArgMax", 1), .flags = OP_SPECIMEN, .open = "whether NaN is the largest element", .inputs = {1, 1},
     .outputs = {1, 1}, .ranks = {1, 5}, .types = {{1, ORDERED}, {13, ORDERED | BRAIN}}, .params = arg_params,
     .eval = eval_arg, .sample = sample_arg, .data = DATA_FIRST, .range = {RANGE_FIXED, .gives = {0, 100}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 1}, .result = RESULT_OTHER, .work = WORK_REDUCES,
     .slope = SLOPE_NOWHERE, .dangers = {{DANGER_TIE}}},
    {OP("ArgMin", 1), .open = "whether NaN is the smallest element", .inputs = {1, 1}, .outputs = {1, 1},
     .ranks = {1, 5}, .types = {{1, ORDERED}, {13, ORDERED | BRAIN}}, .params = arg_params, .eval = eval_arg,
     .sample = sample_arg, .data = DATA_FIRST, .range = {RANGE_FIXED, .gives = {0, 100}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 1}, .result = RESULT_OTHER, .work = WORK_REDUCES,
     .slope = SLOPE_NOWHERE, .dangers = {{DANGER_TIE}}},
    {OP("CumSum", 11), .inputs = {2, 2}, .outputs = {1, 1}, .ranks = {1, 4},
     .types = {{11, SUMMED}, {14, SUMMED | DTYPE_BIT(DTYPE_FLOAT16) | BRAIN}}, .params = cumsum_params,
     .eval = eval_cumsum, .gradient = gradient_cumsum, .sample = sample_cumsum, .data = DATA_FIRST,
     .range = {RANGE_REDUCE}, .factors = {FACTORS_SUM}, .result = RESULT_LIKE_INPUT, .work = WORK_REDUCES,
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {OP("TopK", 1), .open = "where NaN sorts, or the order of unsorted elements", .inputs = {2, 2},
     .outputs = {2, 2}, .ranks = {1, 4}, .types = {{10, ORDERED}, {24, ORDERED | BRAIN}},
     .params = topk_params, .eval = eval_topk, .gradient = gradient_topk, .sample = sample_topk,
     .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM},
     .history = {.same_since = 1, .reformed = 10, .attributes = {{"k", PARAM_INT}}}, .result = RESULT_TYPE,
     .work = WORK_REDUCES, .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_TIE}}},
    {0},
};
