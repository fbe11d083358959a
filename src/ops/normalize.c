/*
 * Normalisations y = scale * (x - mean) / sqrt(variance + epsilon) + bias: with given statistics
 * (BatchNormalization, inference) or those of a block of elements (Instance-, Layer-, GroupNormalization).
 */
#include "bounds/sum.h"
#include "ops/draw.h"
#include "ops/op.h"

#include <inttypes.h>
#include <math.h>

/* A number with its two bounds. */
struct known {
    long double value, hard, likely;
};

static struct known known_at(const struct bounded *b, size_t i)
{
    return (struct known){b->value[i], bounded_hard(b, i), bounded_likely(b, i)};
}

/* 1/sqrt(variance + epsilon). Epsilon may be rounded into the type; the inverse root has 4 units. */
static struct known inverse_root(const struct known *variance, double epsilon, double unit, enum dtype type)
{
    long double w = variance->value + epsilon, inverse = 1 / sqrtl(w);
    long double hard = variance->hard + unit * (fabsl(w) + epsilon) + dtype_precision(type).smallest;
    if (variance->hard == 0 && w < 0 && w + hard < 0)
        return (struct known){NAN, 0, 0};
    if (!(w - hard > 0))
        return (struct known){w > 0 ? inverse : 0, INFINITY, 0};
    long double most = 1 / sqrtl(w - hard);
    return (struct known){inverse, most - inverse + 4 * unit * most,
                          likely_add(inverse / (2 * w) * variance->likely, 2 * unit * inverse)};
}

struct affine {
    struct known x, mean, inverse, scale, bias;
};

/* How large a number may be, and how small. */
static long double most_of(const struct known *k)
{
    return fabsl(k->value) + k->hard;
}

static long double least_of(const struct known *k)
{
    return fmaxl(fabsl(k->value) - k->hard, 0);
}

/* The error of the factor a = scale * inverse, or of a product before it is scaled up, when it falls below
 * the smallest normal number. */
static long double underflow_error(const struct affine *t, long double a, enum dtype type)
{
    struct dtype_precision p = dtype_precision(type);
    long double lost = type == DTYPE_FLOAT16 ? p.smallest : p.tiny, error = lost * (1 + most_of(&t->inverse));
    if (least_of(&t->inverse) * least_of(&t->scale) < p.tiny)
        error += fminl(a + p.smallest, lost) * (most_of(&t->x) + most_of(&t->mean));
    return error;
}

/*
 * Computed as written or folded into x * a + (bias - mean * a) with a = scale * inverse. The folded form
 * rounds a x, a mean and the bias separately, 4 units each, which covers the plain form too. Roundings are
 * relative to the largest magnitudes within the bounds.
 */
static void put_affine(struct bounded *out, size_t i, const struct affine *t, double unit)
{
    long double d = t->x.value - t->mean.value, y = d * t->inverse.value * t->scale.value + t->bias.value;
    if (isnan(y) || isinf(y)) {
        long double unsure = t->x.hard + t->mean.hard + t->inverse.hard + t->scale.hard + t->bias.hard;
        bool clear = isnan(t->x.value) || isnan(t->inverse.value) || isnan(t->scale.value) ||
                     isnan(t->bias.value) || isnan(t->mean.value);
        /* inf - inf occurs in one form and not in the other. */
        if (clear && !isinf(unsure))
            bounded_put(out, i, NAN, 0, 0);
        else
            bounded_put_undecided(out, i, y);
        return;
    }
    long double width = most_of(&t->inverse), scale = most_of(&t->scale), a = width * scale,
                shift = t->x.hard + t->mean.hard, reach = fabsl(d) + shift;
    long double inputs = fabsl(t->scale.value) * (width * shift + fabsl(d) * t->inverse.hard) +
                         t->scale.hard * reach * width + t->bias.hard;
    long double size = a * (most_of(&t->x) + most_of(&t->mean)) + most_of(&t->bias);
    /* In some order of the three factors, a partial product may overflow. */
    long double highest = dtype_highest(out->type);
    if (!(size < highest && a < highest && reach < highest && reach * scale < highest &&
          reach * width < highest)) {
        bounded_put_undecided(out, i, y);
        return;
    }
    long double lost = underflow_error(t, a, out->type), factor = t->inverse.value * t->scale.value;
    long double spread = likely_add(factor * t->x.likely, factor * t->mean.likely);
    spread = likely_add(spread, d * t->scale.value * t->inverse.likely);
    spread = likely_add(spread, likely_add(d * t->inverse.value * t->scale.likely, t->bias.likely));
    spread = likely_add(spread, lost / 3);
    bounded_put(out, i, y, inputs + lost + 4 * unit * size, likely_add(spread, unit * size));
}

static double coarser(double a, double b)
{
    return a > b ? a : b;
}

static int need_vector(struct op_call *call, size_t index, int64_t length, const struct bounded **input)
{
    *input = call_need(call, index);
    if (!*input)
        return -1;
    if ((*input)->shape.rank != 1 || (*input)->shape.dims[0] != length)
        return call_invalid(call, "input %zu is not a vector of %" PRId64, index, length);
    return 0;
}

static int eval_batch(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *scale, *bias, *mean, *variance;
    if (!x)
        return -1;
    if (call->opset && call->opset < 9 && !call_int(call, "spatial", 1))
        return call_unsupported(call, "the reference does not support its form of opset %d", call->opset);
    if (x->shape.rank < 1)
        return call_invalid(call, "a scalar has no channels");
    int64_t channels = x->shape.rank == 1 ? 1 : x->shape.dims[1];
    if (need_vector(call, 1, channels, &scale) || need_vector(call, 2, channels, &bias) ||
        need_vector(call, 3, channels, &mean) || need_vector(call, 4, channels, &variance))
        return -1;
    if (call_int(call, "training_mode", 0) != 0 || call->n_outputs > 1)
        return call_unsupported(call, "training mode is not supported");
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    if (!out)
        return -1;
    if (call->shapes_only || x->count == 0)
        return 0;
    double epsilon = call_float(call, "epsilon", (double)1e-5f);
    double unit = coarser(coarser(unit_of(x->type), unit_of(scale->type)), unit_of(mean->type));
    size_t inner = x->shape.rank < 2 ? 1 : shape_span(&x->shape, 2, x->shape.rank);
    for (size_t i = 0; i < x->count; i++) {
        size_t c = i / inner % (size_t)channels;
        struct known v = known_at(variance, c);
        struct affine t = {known_at(x, i), known_at(mean, c), inverse_root(&v, epsilon, unit, x->type),
                           known_at(scale, c), known_at(bias, c)};
        put_affine(out, i, &t, unit);
    }
    return 0;
}

static void draw_epsilon(struct draw *d)
{
    static const float choices[] = {1e-5f, 1e-3f, 0.1f, 1e-2f, 1};
    if (draw_chance(d, 0.6))
        draw_float(d, "epsilon", choices[draw_between(d, 0, 4)]);
}

static int sample_batch(struct draw *d)
{
    struct drawn x = draw_primary(d);
    struct shape vector = {1, {x.shape.dims[1]}};
    enum dtype statistics = d->opset >= 14 && draw_chance(d, 0.1) ? DTYPE_FLOAT : x.type;
    enum dtype affine = d->opset >= 15 && statistics != x.type && draw_chance(d, 0.5) ? DTYPE_FLOAT : x.type;
    draw_data(d, affine, &vector);
    draw_data(d, affine, &vector);
    draw_data(d, statistics, &vector);
    /* Small variances show whether epsilon is used. */
    draw_range(d, statistics, &vector, 0, draw_chance(d, 0.3) ? 0.01 : 3);
    draw_epsilon(d);
    if (draw_chance(d, 0.3))
        draw_float(d, "momentum", 0.5f);
    if (d->opset >= 14 && draw_chance(d, 0.3))
        draw_int(d, "training_mode", 0);
    return 0;
}

/* Statistics of a contiguous block. */
struct moments {
    struct known mean, inverse;
    bool nan, undecided;
};

/*
 * The variance bound covers the one-pass form E[x^2] - E[x]^2, which engines use: with q = E[x^2], both terms
 * are off by at most ((1+u)^(n+3) - 1) q, twice for the square. The two-pass form is far better; a large mean
 * with a small variance thus has a wide bound. The mean may be a running one (Welford): step k rounds numbers
 * no larger than the largest |x| and later steps shrink that error by k/n, so n of them make n units of it.
 * When the bound leaves room for a negative variance + epsilon nothing is judged. `unit` may be coarser than
 * x's own (LayerNormalization's stash type): then x is rounded.
 */
static struct moments moments_of(const struct bounded *x, size_t start, size_t n, double epsilon, double unit,
                                 enum dtype type)
{
    struct moments m = {0};
    struct sum sum = {0};
    bool rounds = unit > bounded_unit(x);
    long double squares = 0, peak = 0; /* of the largest magnitudes within the bounds */
    for (size_t i = start; i < start + n; i++) {
        long double hard = bounded_hard(x, i), most = fabsl(x->value[i]) + hard;
        long double rounding = rounds ? unit * most + dtype_precision(type).tiny : 0;
        sum_add(&sum, x->value[i], hard + rounding, likely_add(bounded_likely(x, i), rounding / 2));
        squares += most * most;
        peak = fmaxl(peak, most);
    }
    m.nan = sum.nan;
    m.undecided = sum.up || sum.down || isinf(sum.hard) || !(squares < dtype_highest(type)) ||
                  sum_overflows(&sum, type);
    if (m.nan || m.undecided)
        return m;
    long double count = (long double)n, mean = sum.value / count, q = squares / count;
    long double spread = 0, drift = 0, deviation = 0;
    for (size_t i = start; i < start + n; i++) {
        long double d = x->value[i] - mean, h = bounded_hard(x, i), l = bounded_likely(x, i);
        spread += d * d;
        drift += (2 * fabsl(d) + h) * h;
        deviation += 4 * d * d * l * l;
    }
    m.mean = (struct known){mean, sum.hard / count + rounding_growth(unit, n + 3) * peak,
                            likely_add(sqrtl(sum.variance) / count, unit * peak * (1 + sqrtl(count) / 3))};
    long double one_pass = 4 * rounding_growth(unit, n + 3) * q, shift = m.mean.hard;
    struct known variance = {spread / count,
                             drift / count + one_pass + 2 * sqrtl((spread + drift) / count) * shift +
                                 shift * shift,
                             likely_add(sqrtl(deviation) / count, unit * q * (1 + sqrtl(count) / 2))};
    m.inverse = inverse_root(&variance, epsilon, unit, type);
    return m;
}

static void put_normal(struct bounded *out, size_t i, const struct bounded *x, const struct moments *m,
                       struct known scale, struct known bias, double unit, enum dtype type)
{
    if (m->nan) {
        bounded_put(out, i, NAN, 0, 0);
    } else if (m->undecided) {
        bounded_put_undecided(out, i, 0);
    } else {
        struct affine t = {known_at(x, i), m->mean, m->inverse, scale, bias};
        /* Statistics in a coarser type: x - mean and its product with the inverse are computed in it as well,
         * and either may underflow. */
        if (unit > bounded_unit(x)) {
            double tiny = dtype_precision(type).tiny;
            t.x.hard += unit * most_of(&t.x) + tiny;
            t.bias.hard += tiny * most_of(&t.scale);
        }
        put_affine(out, i, &t, unit);
    }
}

static int eval_instance(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *scale, *bias;
    if (!x)
        return -1;
    if (x->shape.rank < 3)
        return call_invalid(call, "input of rank %d has no spatial dims", x->shape.rank);
    if (need_vector(call, 1, x->shape.dims[1], &scale) || need_vector(call, 2, x->shape.dims[1], &bias))
        return -1;
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    if (!out)
        return -1;
    if (call->shapes_only || x->count == 0)
        return 0;
    double epsilon = call_float(call, "epsilon", (double)1e-5f), unit = unit_of(x->type);
    size_t inner = shape_span(&x->shape, 2, x->shape.rank), channels = (size_t)x->shape.dims[1];
    for (size_t block = 0; block < x->count / inner; block++) {
        struct moments m = moments_of(x, block * inner, inner, epsilon, unit, x->type);
        size_t c = block % channels;
        for (size_t i = block * inner; i < (block + 1) * inner; i++)
            put_normal(out, i, x, &m, known_at(scale, c), known_at(bias, c), unit, x->type);
    }
    return 0;
}

static int sample_instance(struct draw *d)
{
    struct drawn x = draw_primary(d);
    struct shape vector = {1, {x.shape.dims[1]}};
    draw_data(d, x.type, &vector);
    draw_data(d, x.type, &vector);
    draw_epsilon(d);
    return 0;
}

/* stash_type: the type statistics are computed in; 1 (float) or 16 (bfloat16). */
static int read_stash(struct op_call *call, enum dtype *stash)
{
    int64_t number = call_int(call, "stash_type", DTYPE_FLOAT);
    if (number != DTYPE_FLOAT && number != DTYPE_BFLOAT16)
        return call_unsupported(call, "stash_type %" PRId64 " is not supported", number);
    *stash = (enum dtype)number;
    return 0;
}

struct layer {
    const struct bounded *x, *scale, *bias;
    struct bounded *y, *mean, *inverse;
    struct strides scale_at, bias_at;
    size_t length;
    double epsilon, unit;
    enum dtype stash;
};

static int fix_layer(struct op_call *call, struct layer *l, int axis)
{
    struct shape common, reduced = l->x->shape;
    if (call_broadcast(call, &l->scale->shape, &l->x->shape, &common))
        return -1;
    if (!shape_equal(&common, &l->x->shape))
        return call_invalid(call, "scale is larger than the input");
    if (l->bias &&
        (call_broadcast(call, &l->bias->shape, &l->x->shape, &common) || !shape_equal(&common, &l->x->shape)))
        return call_invalid(call, "bias is larger than the input");
    for (int i = axis; i < reduced.rank; i++)
        reduced.dims[i] = 1;
    l->scale_at = strides_broadcast(&l->scale->shape, &l->x->shape);
    if (l->bias)
        l->bias_at = strides_broadcast(&l->bias->shape, &l->x->shape);
    if (!(l->y = call_output(call, 0, l->x->type, &l->x->shape)))
        return -1;
    if (call->n_outputs > 1 && !(l->mean = call_output(call, 1, l->stash, &reduced)))
        return -1;
    if (call->n_outputs > 2 && !(l->inverse = call_output(call, 2, l->stash, &reduced)))
        return -1;
    return 0;
}

static void put_statistic(struct bounded *out, size_t i, const struct moments *m, const struct known *k)
{
    if (!out)
        return;
    if (m->nan)
        bounded_put(out, i, NAN, 0, 0);
    else if (m->undecided)
        bounded_put_undecided(out, i, 0);
    else
        bounded_put(out, i, k->value, k->hard, k->likely);
}

static void run_layer(const struct layer *l)
{
    int64_t index[TENSOR_MAX_RANK] = {0};
    struct moments m = {0};
    struct known none = {0, 0, 0};
    for (size_t i = 0; i < l->x->count; i++) {
        size_t block = i / l->length;
        if (i % l->length == 0) {
            m = moments_of(l->x, i, l->length, l->epsilon, l->unit,
                           l->x->type == DTYPE_DOUBLE ? l->stash : l->x->type);
            put_statistic(l->mean, block, &m, &m.mean);
            put_statistic(l->inverse, block, &m, &m.inverse);
        }
        struct known scale = known_at(l->scale, strides_at(&l->scale_at, l->x->shape.rank, index));
        struct known bias =
            l->bias ? known_at(l->bias, strides_at(&l->bias_at, l->x->shape.rank, index)) : none;
        put_normal(l->y, i, l->x, &m, scale, bias, l->unit, l->stash);
        odometer_next(index, &l->x->shape);
    }
}

static int eval_layer(struct op_call *call)
{
    struct layer l = {.x = call_need(call, 0), .scale = call_need(call, 1), .bias = call_input(call, 2)};
    int axis;
    if (!l.x || !l.scale || read_stash(call, &l.stash) ||
        call_axis(call, call_int(call, "axis", -1), l.x->shape.rank, &axis) || fix_layer(call, &l, axis))
        return -1;
    if (call->shapes_only || l.x->count == 0)
        return 0;
    l.epsilon = call_float(call, "epsilon", (double)1e-5f);
    l.unit = coarser(unit_of(l.x->type), unit_of(l.stash));
    l.length = shape_span(&l.x->shape, axis, l.x->shape.rank);
    run_layer(&l);
    return 0;
}

static int sample_layer(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t axis = draw_between(d, -x.shape.rank, x.shape.rank - 1);
    bool usual = draw_chance(d, 0.2);
    int from = usual ? x.shape.rank - 1 : (int)(axis < 0 ? axis + x.shape.rank : axis);
    struct shape part = shape_make(x.shape.rank - from, x.shape.dims + from);
    if (shape_span(&x.shape, 0, x.shape.rank) == 0)
        return -1; /* there would be no elements for the statistics */
    if (!usual)
        draw_int(d, "axis", axis);
    draw_data(d, x.type, &part);
    if (draw_chance(d, 0.7))
        draw_data(d, x.type, &part);
    draw_epsilon(d);
    if (draw_chance(d, 0.2))
        draw_int(d, "stash_type", DTYPE_FLOAT);
    draw_outputs(d, (size_t)draw_between(d, 1, 3));
    return 0;
}

static int eval_group(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *scale, *bias;
    enum dtype stash = DTYPE_FLOAT;
    if (!x || (call->opset >= 21 && read_stash(call, &stash)))
        return -1;
    int64_t groups = call_int(call, "num_groups", 0);
    if (x->shape.rank < 2 || groups < 1 || x->shape.dims[1] % groups)
        return call_invalid(call, "%" PRId64 " groups do not divide the channels", groups);
    call->open |= x->shape.rank < 3; /* ONNX requires N x C x D1 ... */
    bool per_channel = call->opset >= 21;
    int64_t length = per_channel ? x->shape.dims[1] : groups;
    if (need_vector(call, 1, length, &scale) || need_vector(call, 2, length, &bias))
        return -1;
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    if (!out)
        return -1;
    if (call->shapes_only || x->count == 0)
        return 0;
    double epsilon = call_float(call, "epsilon", (double)1e-5f), unit = unit_of(x->type);
    enum dtype type = x->type;
    if (call->opset >= 21 && unit_of(stash) > unit) {
        unit = unit_of(stash);
        type = stash;
    }
    size_t inner = shape_span(&x->shape, 2, x->shape.rank), channels = (size_t)x->shape.dims[1];
    size_t block = channels / (size_t)groups * inner;
    struct moments m = {0};
    for (size_t i = 0; i < x->count; i++) {
        if (i % block == 0)
            m = moments_of(x, i, block, epsilon, unit, type);
        size_t at = per_channel ? i / inner % channels : i / block % (size_t)groups;
        put_normal(out, i, x, &m, known_at(scale, at), known_at(bias, at), unit, type);
    }
    return 0;
}

static int sample_group(struct draw *d)
{
    struct drawn x = draw_primary(d);
    int64_t channels = x.shape.dims[1];
    if (shape_span(&x.shape, 0, x.shape.rank) == 0)
        return -1; /* there would be no elements for the statistics */
    int64_t groups = draw_between(d, 1, channels);
    while (channels % groups)
        groups--;
    struct shape vector = {1, {d->opset >= 21 ? channels : groups}};
    draw_int(d, "num_groups", groups);
    draw_data(d, x.type, &vector);
    draw_data(d, x.type, &vector);
    draw_epsilon(d);
    if (d->opset >= 21 && draw_chance(d, 0.3))
        draw_int(d, "stash_type", DTYPE_FLOAT);
    return 0;
}

#define EPSILON                                                                                    \
    {                                                                                              \
        "epsilon", PARAM_FLOAT, .legal = "1e-5|1e-3|0.1|1", .illegal = "-1|nan", .initial = "1e-5" \
    }
#define STASH(first)                                                                             \
    {                                                                                            \
        "stash_type", PARAM_INT, .since = first, .legal = "1", .illegal = "0|99", .initial = "1" \
    }

static const struct op_param batch_params[] = {
    EPSILON,
    {"momentum", PARAM_FLOAT, .legal = "0|0.5|0.9|1", .illegal = "-1|2", .initial = "0.9"},
    {"training_mode", PARAM_INT, .since = 14, .legal = "0", .illegal = "2|-1", .initial = "0"},
    {0},
};
static const struct op_param instance_params[] = {EPSILON, {0}};
static const struct op_param layer_params[] = {
    EPSILON,
    STASH(0),
    {"axis", PARAM_INT, .legal = "-3..2", .illegal = "99|-99", .initial = "-1"},
    {0},
};
static const struct op_param group_params[] = {
    EPSILON,
    STASH(21),
    {"num_groups", PARAM_INT, .legal = "1|2|4", .illegal = "0|-1|99"},
    {0},
};

enum {
    BASE = DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE),
};

const struct op ops_normalize[] = {
    {OP("BatchNormalization", 1), .inputs = {5, 5}, .outputs = {1, 5}, .ranks = {2, 5},
     .types = {{9, BASE}, {14, DTYPES_FLOAT}}, .params = batch_params, .eval = eval_batch,
     .sample = sample_batch, .data = DATA_FIRST, .range = {RANGE_MUL, .never_negative = 4},
     .factors = {FACTORS_PRODUCT, .powers = {1, 1, 0, 0, -0.5}, .added = 1 << 2 | 1 << 3},
     .history = {.same_since = 7}, .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS,
     .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_DOMAIN, .input = 4, .inside = {0, INFINITY}, .attribute = "epsilon",
                  .otherwise = 1e-5F},
                 {DANGER_POLE, .input = 4, .attribute = "epsilon", .otherwise = 1e-5F}}},
    {OP("GroupNormalization", 18), .inputs = {3, 3}, .outputs = {1, 1}, .ranks = {3, 5},
     /* The form of opset 18 is deprecated; ONNX 1.18 and later refuse it. */
     .types = {{21, DTYPES_FLOAT}}, .params = group_params, .eval = eval_group, .sample = sample_group,
     .data = DATA_FIRST, .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-1e3, 1e3}},
     .factors = {FACTORS_PRODUCT, .powers = {0, 1}, .added = 1 << 2}, .result = RESULT_LIKE_INPUT,
     .work = WORK_REDUCES, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 2}}},
    {OP("InstanceNormalization", 1), .inputs = {3, 3}, .outputs = {1, 1}, .ranks = {3, 5},
     .types = {{6, BASE}}, .params = instance_params, .eval = eval_instance, .sample = sample_instance,
     .data = DATA_FIRST, .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-1e3, 1e3}},
     .factors = {FACTORS_PRODUCT, .powers = {0, 1}, .added = 1 << 2}, .history = {.same_since = 1},
     .result = RESULT_LIKE_INPUT, .work = WORK_REDUCES, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_INNER, .power = 2}}},
    {OP("LayerNormalization", 17), .inputs = {2, 3}, .outputs = {1, 3}, .ranks = {1, 5},
     .types = {{17, DTYPES_FLOAT}}, .params = layer_params, .eval = eval_layer, .sample = sample_layer,
     .data = DATA_FIRST, .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-1e3, 1e3}},
     .factors = {FACTORS_PRODUCT, .powers = {0, 1}, .added = 1 << 2}, .result = RESULT_LIKE_INPUT,
     .work = WORK_REDUCES, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 2}}},
    {0},
};
