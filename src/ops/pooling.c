/*
 * Pooling: AveragePool, MaxPool, LpPool and their global forms. Padding takes part in no maximum and no sum;
 * AveragePool may count it, but never what lies beyond it (the overhang of ceil_mode).
 */
#include "base/limits.h"
#include "bounds/sum.h"
#include "ops/draw.h"
#include "ops/gradient.h"
#include "ops/pool_geometry.h"

#include <inttypes.h>
#include <math.h>

extern const struct op ops_pooling[];

enum kind { AVERAGE, GLOBAL_AVERAGE, GLOBAL_LP, GLOBAL_MAX, LP, MAX };

static enum kind kind_of(const struct op *op)
{
    return (enum kind)(op - ops_pooling);
}

struct pooling {
    enum kind kind;
    struct geometry geometry;
    bool count_padding, column_major;
    double p;
    size_t block; /* elements of one channel */
    const struct bounded *x;
    struct bounded *out, *indices;
};

/* Divided by the count, or multiplied by its rounded inverse: two more roundings; none for a power of two. */
static void put_average(const struct pooling *pool, size_t at, const struct sum *sum, size_t count)
{
    double unit = bounded_unit(pool->out);
    long double n = (long double)count, mean = sum_value(sum) / n;
    if (count == 0) {
        bounded_put_open(pool->out, at);
    } else if (sum_overflows(sum, pool->out->type)) {
        bounded_put_undecided(pool->out, at, mean);
    } else {
        long double hard = sum_hard(sum, unit) / n;
        long double own = (count & (count - 1)) == 0 || !isfinite(mean) ? 0 : 2 * unit * (fabsl(mean) + hard);
        bounded_put(pool->out, at, mean, hard + own, likely_add(sum_likely(sum, unit) / n, own / 2));
    }
}

/* The units of e ln x in exp(e ln x): 8 of the logarithm, one each of the product and of the exponent. */
static const long double argument_units = 10;

/* The largest |p ln v| v^p in [low, high], of which there is a turn of 1/e below 1. */
static long double argument_of_power(long double low, long double high, double p, long double most)
{
    if (most == 0)
        return 0;
    long double at_high = most * p * fabsl(logl(high));
    return low > 0 ? fmaxl(at_high, most * p * fabsl(logl(low))) : fmaxl(at_high, 0.4L);
}

/* Adds |x|^p with the error of pow (p = 2: one rounding; p = 1 may go through pow, too); the error from the
 * bound of the input is also added to *inherited. */
static void add_power(struct sum *sum, long double *inherited, const struct bounded *x, size_t at, double p,
                      double unit)
{
    long double v = fabsl(x->value[at]), h = bounded_hard(x, at), power = powl(v, p);
    bool exact = h == 0 && power == floorl(power) && power * unit <= 1 && p <= 2;
    long double most = h > 0 ? powl(v + h, p) : power, reach = most - power;
    long double own = exact ? 0 : (p == 2 ? 1 : 8 + p) * unit * most, usual = own;
    if (p != 2 && !exact)
        own += argument_units * unit * argument_of_power(v - h, v + h, p, most);
    long double spread = bounded_likely(x, at), likely = spread * p * (p == 1 ? 1 : powl(v + spread, p - 1));
    if (isinf(power)) { /* of an infinity, or of a number that is too large even for long double */
        own = usual = likely = 0;
        reach = isinf(v) && h == 0 ? 0 : INFINITY;
    }
    *inherited += reach;
    sum_add(sum, power, own + reach, likely_add(usual / 2, likely));
}

static void put_root(const struct pooling *pool, size_t at, const struct sum *sum, long double inherited)
{
    double unit = bounded_unit(pool->out);
    long double s = sum_value(sum), inverse = 1 / (long double)pool->p, root = powl(s, inverse);
    if (sum_overflows(sum, pool->out->type)) {
        bounded_put_undecided(pool->out, at, root);
        return;
    }
    if (!isfinite(s)) {
        bounded_put(pool->out, at, root, isinf(sum->hard) ? INFINITY : 0, 0);
        return;
    }
    long double hard = sum_hard(sum, unit), likely = sum_likely(sum, unit);
    /* Powers below the smallest normal number may be flushed. */
    long double lost = 0;
    if (pool->p > 1 && (sum->inexact || hard > 0))
        lost = (long double)sum->count * dtype_precision(pool->out->type).tiny;
    hard += lost;
    long double most = powl(s + hard, inverse);
    long double reach = root_hard(s, inherited, hard - inherited, inverse);
    bool plain = hard == 0 && root == floorl(root) && pool->p <= 2;
    /* pow's error grows with its argument, also below 1 where the logarithm does not; the argument is that of
     * the sum that an implementation has. */
    long double argument = pool->p == 2 ? 0 : argument_of_power(s - hard, s + hard, (double)inverse, most);
    long double log = fabsl(logl(s + hard > 0 ? s + hard : 1));
    long double usual = pool->p == 2 ? 2 : fmaxl(8, pool->p) + log;
    long double units = pool->p == 2 ? 2 : fmaxl(8, pool->p);
    long double own = plain ? 0 : unit * (units * most + fmaxl(pool->p, argument_units) * argument);
    long double slope = s > 0 ? likely * inverse * root / s : powl(likely, inverse),
                flushed = (powl(s + lost, inverse) - root) / 2;
    long double deviation = plain ? 0 : usual * unit * most / 2;
    bounded_put(pool->out, at, root, reach + own, likely_add(slope, likely_add(deviation, flushed)));
}

/* Column-major numbering of the spatial coordinates; 0 is row-major and needs no conversion. */
static size_t column_major(const struct geometry *g, size_t offset)
{
    size_t result = 0, step = 1, rest = offset, weight = 1;
    for (int i = 0; i < g->rank; i++)
        weight *= (size_t)g->in[i];
    for (int i = 0; i < g->rank; i++) {
        weight /= (size_t)g->in[i];
        result += rest / weight * step;
        rest %= weight;
        step *= (size_t)g->in[i];
    }
    return result;
}

struct candidates {
    size_t low, high, first;
    bool any;
};

static size_t tap_index(const struct pooling *pool, size_t base, size_t offset)
{
    return base + (pool->column_major ? column_major(&pool->geometry, offset) : offset);
}

/* Elements that may be the maximum; the text does not order equal ones. */
static struct candidates find_candidates(const struct pooling *pool, size_t base, const struct window *w,
                                         const struct extreme *top)
{
    struct candidates c = {0};
    int64_t tap[TENSOR_MAX_RANK] = {0};
    do {
        size_t offset = window_offset(&pool->geometry, w, tap), at = base + offset;
        if (pool->x->value[at] + bounded_hard(pool->x, at) < top->low)
            continue;
        size_t index = tap_index(pool, base, offset);
        if (!c.any || index < c.low)
            c.low = index;
        if (!c.any || index > c.high)
            c.high = index;
        if (!c.any)
            c.first = index;
        c.any = true;
    } while (odometer_next(tap, &w->taps));
    return c;
}

static void put_maximum(const struct pooling *pool, size_t at, size_t base, const struct window *w,
                        const struct extreme *top)
{
    if (top->nan ||
        top->count == 0) { /* ONNX does not specify max(NaN, x), or the maximum of padding alone */
        bounded_put_open(pool->out, at);
        if (pool->indices)
            bounded_put_open(pool->indices, at);
        return;
    }
    bounded_put(pool->out, at, extreme_value(top), extreme_hard(top), top->likely);
    if (!pool->indices)
        return;
    /* ONNX does not say whether column-major numbering includes N and C. An element that is not judged may be
     * NaN. */
    if ((pool->column_major && pool->block != pool->x->count) || isinf(extreme_hard(top))) {
        bounded_put_open(pool->indices, at);
        return;
    }
    struct candidates c = find_candidates(pool, base, w, top);
    bounded_put_range(pool->indices, at, (long double)c.first, (long double)c.low, (long double)c.high);
}

static bool is_empty(const struct shape *shape)
{
    return shape_span(shape, 0, shape->rank) == 0;
}

static void pool_window(const struct pooling *pool, size_t at, size_t base, const int64_t *position)
{
    struct window w = window_at(&pool->geometry, position);
    struct sum sum = {0};
    struct extreme top = {.sign = 1};
    bool max = pool->kind == MAX || pool->kind == GLOBAL_MAX,
         lp = pool->kind == LP || pool->kind == GLOBAL_LP;
    int64_t tap[TENSOR_MAX_RANK] = {0};
    double unit = bounded_unit(pool->out);
    long double inherited = 0;
    bool more = !is_empty(&w.taps);
    for (; more && !limits_late(1); more = odometer_next(tap, &w.taps)) {
        size_t from = base + window_offset(&pool->geometry, &w, tap);
        if (max)
            extreme_add(&top, pool->x->value[from], bounded_hard(pool->x, from),
                        bounded_likely(pool->x, from));
        else if (lp)
            add_power(&sum, &inherited, pool->x, from, pool->p, unit);
        else
            sum_add(&sum, pool->x->value[from], bounded_hard(pool->x, from), bounded_likely(pool->x, from));
    }
    if (max)
        put_maximum(pool, at, base, &w, &top);
    else if (lp)
        put_root(pool, at, &sum, inherited);
    else
        put_average(pool, at, &sum, pool->count_padding ? w.padded : sum.count);
}

static int fix_outputs(struct op_call *call, struct pooling *pool)
{
    struct shape shape = pool->x->shape;
    for (int i = 0; i < pool->geometry.rank; i++)
        shape.dims[i + 2] = pool->geometry.out[i];
    pool->out = call_output(call, 0, pool->x->type, &shape);
    if (!pool->out)
        return -1;
    if (pool->kind == MAX && call->n_outputs > 1 &&
        !(pool->indices = call_output(call, 1, DTYPE_INT64, &shape)))
        return -1;
    return 0;
}

static int read_pooling(struct op_call *call, struct pooling *pool)
{
    int64_t p = call_int(call, "p", 2);
    if (p < 1)
        return call_invalid(call, "p %" PRId64 " is out of range", p);
    if (p > 1000)
        return call_unsupported(call, "p %" PRId64 " is too large", p);
    pool->p = (double)p;
    pool->count_padding = pool->kind == AVERAGE && call_int(call, "count_include_pad", 0) != 0;
    pool->column_major = call_int(call, "storage_order", 0) != 0;
    if (pool->x->shape.rank < 2)
        return call_invalid(call, "input of rank %d has no channels", pool->x->shape.rank);
    if (pool->kind == GLOBAL_AVERAGE || pool->kind == GLOBAL_LP || pool->kind == GLOBAL_MAX) {
        /* ONNX requires N x C x D1 ...; it does not say whether there may be no spatial dim. */
        call->open |= pool->x->shape.rank < 3;
        geometry_global(&pool->x->shape, &pool->geometry);
        return 0;
    }
    bool dilations = pool->kind == MAX || call->opset >= (pool->kind == AVERAGE ? 19 : 18);
    bool ceil = pool->kind != LP || call->opset >= 18;
    return geometry_read(call, &pool->x->shape, dilations, ceil, &pool->geometry);
}

static int eval_pool(struct op_call *call)
{
    struct pooling pool = {.kind = kind_of(call->op), .x = call_need(call, 0)};
    if (!pool.x || read_pooling(call, &pool) || fix_outputs(call, &pool))
        return -1;
    if (call->shapes_only || pool.out->count == 0)
        return 0;
    pool.block = shape_span(&pool.x->shape, 2, pool.x->shape.rank);
    struct shape positions = shape_make(pool.geometry.rank, pool.geometry.out);
    size_t channels = shape_span(&pool.x->shape, 0, 2), at = 0;
    for (size_t c = 0; c < channels; c++) {
        int64_t position[TENSOR_MAX_RANK] = {0};
        do
            pool_window(&pool, at++, c * pool.block, position);
        while (odometer_next(position, &positions));
    }
    return 0;
}

/* One window of the gradient: what arrives at it, and what it gives to its elements. */
struct share {
    const struct pooling *pool;
    struct gradient_sums *sums;
    struct number up;
    size_t base;
    struct window window;
};

/* Calls `give` for each element of the window that lies inside the input. */
typedef void give_element(const struct share *s, size_t at, void *context);

static void share_out(const struct share *s, give_element *give, void *context)
{
    int64_t tap[TENSOR_MAX_RANK] = {0};
    bool more = !is_empty(&s->window.taps);
    for (; more; more = odometer_next(tap, &s->window.taps))
        give(s, s->base + window_offset(&s->pool->geometry, &s->window, tap), context);
}

static void give_undecided(const struct share *s, size_t at, void *context)
{
    (void)context;
    gradient_sums_undecided(s->sums, at);
}

static void give_term(const struct share *s, size_t at, void *context)
{
    gradient_sums_add(s->sums, at, *(const struct number *)context);
}

/* Divided by the count, or multiplied by its rounded inverse, before or after the sum over windows. */
static void share_average(const struct share *s)
{
    size_t inside = shape_span(&s->window.taps, 0, s->window.taps.rank),
           count = s->pool->count_padding ? s->window.padded : inside;
    long double n = (long double)(count ? count : 1), unit = unit_of(s->pool->x->type);
    struct number part = {s->up.v / n, s->up.h / n, s->up.l / n};
    if ((count & (count - 1)) != 0)
        part = number_loosen(part, 2 * unit * (fabsl(part.v) + part.h), unit * fabsl(part.v));
    share_out(s, give_term, &part);
}

/* The maximum of a window, and how many elements may be it. */
struct maximum {
    struct extreme top;
    size_t candidates;
    bool given; /* to the first of them */
};

static void see_element(const struct share *s, size_t at, void *context)
{
    struct maximum *m = context;
    extreme_add(&m->top, s->pool->x->value[at], bounded_hard(s->pool->x, at), 0);
}

static bool is_candidate(const struct share *s, size_t at, const struct maximum *m)
{
    return s->pool->x->value[at] + bounded_hard(s->pool->x, at) >= m->top.low;
}

static void count_candidate(const struct share *s, size_t at, void *context)
{
    struct maximum *m = context;
    m->candidates += is_candidate(s, at, m);
}

/* The first candidate gets all, of which the others may get any part. */
static void give_candidate(const struct share *s, size_t at, void *context)
{
    struct maximum *m = context;
    long double all = fabsl(s->up.v);
    struct number part = {m->given ? 0 : s->up.v, all + s->up.h, all + s->up.l};
    if (!is_candidate(s, at, m))
        return;
    gradient_sums_add(s->sums, at, m->candidates == 1 ? s->up : part);
    m->given = true;
}

/*
 * To the maximum goes all that arrives. Of equal elements, implementations choose the first or the last, or
 * give to each of them all or an equal part: anything between nothing and all of it.
 */
static void share_maximum(const struct share *s)
{
    struct maximum m = {.top = {.sign = 1}};
    share_out(s, see_element, &m);
    if (m.top.count == 0)
        return;
    /* Padding is -inf or the lowest number in implementations, and may win against such elements. */
    if (m.top.nan || m.top.open || !(m.top.low > -(long double)dtype_highest(s->pool->x->type))) {
        share_out(s, give_undecided, NULL);
        return;
    }
    share_out(s, count_candidate, &m);
    share_out(s, give_candidate, &m);
}

static long double odd_power(long double x, long double p)
{
    return copysignl(powl(fabsl(x), p), x);
}

/*
 * x |x|^(p-2) / y^(p-1), the derivative of a root of a sum of powers, with y as any implementation may have
 * it. The powers of either may be formed on the way, or y^(p-1) as a power of the sum. The absolute value,
 * which p = 1 leaves, has a kink at 0; the root has one where all elements are 0.
 */
static struct number root_slope(const struct pooling *pool, size_t at, size_t from)
{
    struct number x = number_of(pool->x, from), y = number_of(pool->out, at), none = {0, INFINITY, 0},
                  slope = {0};
    enum dtype type = pool->x->type;
    long double p = pool->p - 1, unit = unit_of(type), highest = dtype_highest(type);
    bool clear = isfinite(x.v) && isfinite(x.h) && isfinite(y.v) && y.v - y.h > 0;
    if (!clear || (p < 1 && !(fabsl(x.v) > x.h)))
        return none;
    long double power = powl(y.v, p), least = powl(y.v - y.h, p), most = powl(fabsl(x.v) + x.h, p);
    long double largest = pool->p * powl(fmaxl(y.v + y.h, fabsl(x.v) + x.h), pool->p);
    if (!(largest < highest && 1 / least < highest && most / least < highest))
        return none;
    slope.v = odd_power(x.v, p) / power;
    long double low = odd_power(x.v - x.h, p), high = odd_power(x.v + x.h, p), far = powl(y.v + y.h, p);
    slope.h =
        fmaxl(0, fmaxl(high / (high > 0 ? least : far) - slope.v, slope.v - low / (low > 0 ? far : least)));
    long double log = fmaxl(fabsl(logl(y.v - y.h)), fabsl(logl(y.v + y.h)));
    long double units = p < 1 ? 4 : 24 + 4 * p + 2 * pool->p * log;
    slope.l = fabsl(slope.v) * p * (y.l / y.v + (x.v != 0 ? x.l / fabsl(x.v) : 0));
    return number_loosen(slope, units * unit * most / least + dtype_precision(type).tiny * (1 + 1 / least),
                         units / 4 * unit * fabsl(slope.v));
}

static void give_root(const struct share *s, size_t at, void *context)
{
    struct number slope = root_slope(s->pool, *(const size_t *)context, at);
    struct number part = number_mul(s->up, slope, unit_of(s->pool->x->type));
    if (isfinite(part.v) && isfinite(part.h))
        gradient_sums_add(s->sums, at, part);
    else
        gradient_sums_undecided(s->sums, at);
}

static void share_window(const struct share *s, size_t at)
{
    switch (s->pool->kind) {
    case MAX:
    case GLOBAL_MAX:
        share_maximum(s);
        break;
    case LP:
    case GLOBAL_LP:
        share_out(s, give_root, &at);
        break;
    default:
        share_average(s);
    }
}

/* Elements in no window get nothing. But 0 times a power that overflows is NaN, which shows in
 * implementations that take the powers of all elements. */
static void mark_large(const struct pooling *pool, struct gradient_sums *sums)
{
    long double highest = dtype_highest(pool->x->type);
    for (size_t i = 0; i < pool->x->count; i++) {
        long double most = fabsl(pool->x->value[i]) + bounded_hard(pool->x, i);
        if (sums->sums[i].count == 0 && !(pool->p * powl(most, pool->p) < highest))
            gradient_sums_undecided(sums, i);
    }
}

static int gradient_pool(struct op_gradient *g)
{
    struct op_call *call = g->call;
    const struct bounded *up = g->upstream[0];
    struct pooling pool = {.kind = kind_of(call->op), .x = call->inputs[0], .out = &call->outputs[0]};
    if (!up || !g->wanted[0])
        return 0;
    struct bounded *slope = gradient_make(g, 0);
    struct gradient_sums sums;
    if (!slope || read_pooling(call, &pool) || gradient_sums_init(&sums, slope, call->err))
        return -1;
    struct share s = {.pool = &pool, .sums = &sums};
    struct shape positions = shape_make(pool.geometry.rank, pool.geometry.out);
    size_t channels = shape_span(&pool.x->shape, 0, 2), at = 0;
    pool.block = shape_span(&pool.x->shape, 2, pool.x->shape.rank);
    for (size_t c = 0; up->count > 0 && c < channels; c++) {
        int64_t position[TENSOR_MAX_RANK] = {0};
        s.base = c * pool.block;
        do {
            s.window = window_at(&pool.geometry, position);
            s.up = number_of(up, at);
            if (isfinite(s.up.v))
                share_window(&s, at);
            else
                share_out(&s, give_undecided, NULL);
            at++;
        } while (odometer_next(position, &positions));
    }
    if (pool.kind == LP || pool.kind == GLOBAL_LP)
        mark_large(&pool, &sums);
    gradient_sums_store(&sums);
    return 0;
}

static int sample_global(struct draw *d)
{
    struct drawn x = draw_primary(d);
    if (is_empty(&x.shape))
        return -1;
    if (kind_of(d->op) == GLOBAL_LP && draw_chance(d, 0.6))
        draw_int(d, "p", draw_between(d, 1, 3));
    return 0;
}

/* Sizes along one spatial dim so that a window fits; explicit padding stays below the kernel. */
struct sizes {
    int64_t kernel, stride, dilation, begin, end;
};

static struct sizes draw_sizes(struct draw *d, int64_t in, bool dilations)
{
    struct sizes s = {.kernel = draw_between(d, 1, 4), .stride = draw_between(d, 1, 3), .dilation = 1};
    if (dilations && draw_chance(d, 0.5))
        s.dilation = draw_between(d, 1, 3);
    s.begin = draw_between(d, 0, s.kernel - 1);
    s.end = draw_between(d, 0, s.kernel - 1);
    if ((s.kernel - 1) * s.dilation + 1 > in + s.begin + s.end) {
        s.dilation = 1;
        s.kernel = draw_between(d, 1, in < 4 ? in : 4);
        s.begin = s.begin < s.kernel ? s.begin : s.kernel - 1;
        s.end = s.end < s.kernel ? s.end : s.kernel - 1;
    }
    return s;
}

/* Whether a last window starts beyond the input in ceil mode: versions of ONNX and engines disagree on it. */
static bool is_disputed(const struct sizes *s, int64_t in)
{
    int64_t span = (s->kernel - 1) * s->dilation + 1, room = in + s->begin + s->end - span;
    int64_t last = (room + s->stride - 1) / s->stride * s->stride;
    return last >= in + s->begin;
}

static void draw_attributes(struct draw *d, enum kind kind, bool ceil)
{
    if (ceil)
        draw_int(d, "ceil_mode", draw_between(d, 0, 1));
    if (kind == AVERAGE && draw_chance(d, 0.6))
        draw_int(d, "count_include_pad", draw_between(d, 0, 1));
    if (kind == LP && draw_chance(d, 0.6))
        draw_int(d, "p", draw_between(d, 1, 3));
    if (kind == MAX && draw_chance(d, 0.4)) {
        draw_outputs(d, 2);
        if (draw_chance(d, 0.5))
            draw_int(d, "storage_order", draw_between(d, 0, 1));
    }
}

static int sample_pool(struct draw *d)
{
    struct drawn x = draw_primary(d);
    enum kind kind = kind_of(d->op);
    if (is_empty(&x.shape) || x.shape.rank < 3)
        return -1;
    bool dilations = kind == MAX || d->opset >= (kind == AVERAGE ? 19 : 18);
    bool ceil = draw_chance(d, 0.5) && (kind != LP || d->opset >= 18), dilated = false;
    const char *pad = draw_chance(d, 0.35) ? draw_word(d, "SAME_UPPER|SAME_LOWER|VALID|NOTSET") : NULL;
    bool explicit_pads = !pad || pad[0] == 'N', same = pad && pad[0] == 'S';
    int64_t kernel[3], stride[3], dilation[3], pads[6];
    int rank = x.shape.rank - 2;
    for (int i = 0; i < rank; i++) {
        /* SAME with dilations: ONNX does not say for which extent the padding is. */
        struct sizes s = draw_sizes(d, x.shape.dims[i + 2], dilations && !same);
        if (!explicit_pads)
            s.begin = s.end = 0;
        /* SAME with windows that leave gaps: the padding would be negative, which ONNX does not define. */
        if (same && s.stride > s.kernel)
            s.stride = s.kernel;
        if (!same && (s.kernel - 1) * s.dilation + 1 > x.shape.dims[i + 2] + s.begin + s.end)
            s.kernel = 1;
        kernel[i] = s.kernel;
        stride[i] = s.stride;
        dilation[i] = s.dilation;
        pads[i] = s.begin;
        pads[i + rank] = s.end;
        dilated |= s.dilation != 1;
        ceil = ceil && explicit_pads && !is_disputed(&s, x.shape.dims[i + 2]);
    }
    draw_ints(d, "kernel_shape", kernel, (size_t)rank);
    if (draw_chance(d, 0.8))
        draw_ints(d, "strides", stride, (size_t)rank);
    else
        ceil = false; /* strides of 1 */
    if (dilated)
        draw_ints(d, "dilations", dilation, (size_t)rank);
    if (pad)
        draw_string(d, "auto_pad", pad);
    if (explicit_pads)
        draw_ints(d, "pads", pads, 2 * (size_t)rank);
    draw_attributes(d, kind, ceil);
    return 0;
}

#define KERNEL                                                                                       \
    {                                                                                                \
        "kernel_shape", PARAM_INTS, .legal = "1,1|2,2|3,3|1,3|3,1", .illegal = "0,0|-1,1|1|999999,1" \
    }
#define STRIDES                                                                                      \
    {                                                                                                \
        "strides", PARAM_INTS, .legal = "1,1|2,2|3,3|2,1", .illegal = "0,0|-1,1|1", .initial = "1,1" \
    }
#define PADS                                                                                       \
    {                                                                                              \
        "pads", PARAM_INTS, .legal = "0,0,0,0|1,1,1,1|0,1,1,0", .illegal = "-1,0,0,0|9,9,9,9|1,1", \
                            .initial = "0,0,0,0"                                                   \
    }
#define AUTO_PAD                                                                                     \
    {                                                                                                \
        "auto_pad", PARAM_STRING, .legal = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .illegal = "SAME|", \
                                  .initial = "NOTSET"                                                \
    }
#define DILATIONS(first)                                                                              \
    {                                                                                                 \
        "dilations", PARAM_INTS, .since = first, .legal = "1,1|2,2|1,2", .illegal = "0,0|-1,1|99,99", \
                                 .initial = "1,1"                                                     \
    }
#define CEIL_MODE(first)                                                                          \
    {                                                                                             \
        "ceil_mode", PARAM_INT, .since = first, .legal = "0|1", .illegal = "-1|2", .initial = "0" \
    }
#define P                                                                   \
    {                                                                       \
        "p", PARAM_INT, .legal = "1|2|3", .illegal = "0|-1", .initial = "2" \
    }

static const struct op_param average_params[] = {
    KERNEL,
    STRIDES,
    PADS,
    AUTO_PAD,
    DILATIONS(19),
    CEIL_MODE(0),
    {"count_include_pad", PARAM_INT, .legal = "0|1", .illegal = "-1|2", .initial = "0"},
    {0},
};
static const struct op_param max_params[] = {
    KERNEL,
    STRIDES,
    PADS,
    AUTO_PAD,
    DILATIONS(0),
    CEIL_MODE(0),
    {"storage_order", PARAM_INT, .legal = "0|1", .illegal = "-1|2", .initial = "0"},
    {0},
};
static const struct op_param lp_params[] = {KERNEL,        STRIDES,       PADS, AUTO_PAD,
                                            DILATIONS(18), CEIL_MODE(18), P,    {0}};
static const struct op_param global_lp_params[] = {P, {0}};

enum {
    FLOATS = DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE),
    BYTES = DTYPE_BIT(DTYPE_UINT8) | DTYPE_BIT(DTYPE_INT8)
};

#define ROW(op_name, most_outputs, op_params, kind)                                                       \
    OP(op_name, 1), .inputs = {1, 1}, .outputs = {1, most_outputs}, .ranks = {3, 5}, .params = op_params, \
                    .eval = eval_pool, .gradient = gradient_pool, .sample = sample_##kind,                \
                    .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_SUM},           \
                    .result = RESULT_TYPE, .work = WORK_REDUCES

const struct op ops_pooling[] = {
    [AVERAGE] = {ROW("AveragePool", 1, average_params, pool),
                 .open = "the mean of padding alone, or a negative padding of SAME",
                 .types = {{1, FLOATS}, {22, DTYPES_FLOAT}}, .history = {.same_since = 1},
                 .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 1}}},
    [GLOBAL_AVERAGE] = {ROW("GlobalAveragePool", 1, NULL, global), .flags = OP_SPECIMEN_OF_NAN,
                        .types = {{1, FLOATS}, {22, DTYPES_FLOAT}}, .history = {.same_since = 1},
                        .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 1}}},
    [GLOBAL_LP] = {ROW("GlobalLpPool", 1, global_lp_params, global),
                   .types = {{1, FLOATS}, {22, DTYPES_FLOAT}}, .history = {.same_since = 2},
                   .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 2}}},
    [GLOBAL_MAX] = {ROW("GlobalMaxPool", 1, NULL, global), .types = {{1, FLOATS}, {22, DTYPES_FLOAT}},
                    .history = {.same_since = 1}, .slope = SLOPE_ALMOST_EVERYWHERE,
                    .dangers = {{DANGER_NONE}}},
    [LP] = {ROW("LpPool", 1, lp_params, pool), .open = "a negative padding of SAME",
            .types = {{1, FLOATS}, {22, DTYPES_FLOAT}}, .history = {.same_since = 2},
            .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 2}}},
    [MAX] = {ROW("MaxPool", 2, max_params, pool),
             .open = "the maximum of a window with NaN, or of padding alone; a negative padding of SAME",
             .types = {{1, FLOATS}, {12, FLOATS | BYTES}, {22, DTYPES_FLOAT | BYTES}},
             .history = {.same_since = 1}, .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
