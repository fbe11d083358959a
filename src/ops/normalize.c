/*
 * Normalisations y = scale * (x - mean) / sqrt(variance + epsilon) + bias: with given statistics
 * (BatchNormalization, inference) or those of a block of elements (Instance-, Layer-, GroupNormalization).
 */
#include "ops/normalize.h"

#include "bounds/sum.h"

#include <inttypes.h>
#include <math.h>

struct number inverse_root(struct number variance, double epsilon, double unit, enum dtype type)
{
    long double w = variance.v + epsilon, inverse = 1 / sqrtl(w);
    long double hard = variance.h + unit * (fabsl(w) + epsilon) + dtype_precision(type).smallest;
    if (variance.h == 0 && w < 0 && w + hard < 0)
        return (struct number){NAN, 0, 0};
    if (!(w - hard > 0))
        return (struct number){w > 0 ? inverse : 0, INFINITY, 0};
    long double most = 1 / sqrtl(w - hard);
    return (struct number){inverse, most - inverse + 4 * unit * most,
                           likely_add(inverse / (2 * w) * variance.l, 2 * unit * inverse)};
}

struct affine {
    struct number x, mean, inverse, scale, bias;
};

/* The error of the factor a = scale * inverse, or of a product before it is scaled up, when it falls below
 * the smallest normal number. */
static long double underflow_error(const struct affine *t, long double a, enum dtype type)
{
    struct dtype_precision p = dtype_precision(type);
    long double lost = type == DTYPE_FLOAT16 ? p.smallest : p.tiny,
                error = lost * (1 + number_most(t->inverse));
    if (number_least(t->inverse) * number_least(t->scale) < p.tiny)
        error += fminl(a + p.smallest, lost) * (number_most(t->x) + number_most(t->mean));
    return error;
}

/*
 * Computed as written or folded into x * a + (bias - mean * a) with a = scale * inverse. The folded form
 * rounds a x, a mean and the bias separately, 4 units each, which covers the plain form too. Roundings are
 * relative to the largest magnitudes within the bounds.
 */
static void put_affine(struct bounded *out, size_t i, const struct affine *t, double unit)
{
    long double d = t->x.v - t->mean.v, y = d * t->inverse.v * t->scale.v + t->bias.v;
    if (isnan(y) || isinf(y)) {
        long double unsure = t->x.h + t->mean.h + t->inverse.h + t->scale.h + t->bias.h;
        bool clear =
            isnan(t->x.v) || isnan(t->inverse.v) || isnan(t->scale.v) || isnan(t->bias.v) || isnan(t->mean.v);
        /* inf - inf occurs in one form and not in the other. */
        if (clear && !isinf(unsure))
            bounded_put(out, i, NAN, 0, 0);
        else
            bounded_put_undecided(out, i, y);
        return;
    }
    long double width = number_most(t->inverse), scale = number_most(t->scale), a = width * scale,
                shift = t->x.h + t->mean.h, reach = fabsl(d) + shift;
    long double inputs = fabsl(t->scale.v) * (width * shift + fabsl(d) * t->inverse.h) +
                         t->scale.h * reach * width + t->bias.h;
    long double size = a * (number_most(t->x) + number_most(t->mean)) + number_most(t->bias);
    /* In some order of the three factors, a partial product may overflow. */
    long double highest = dtype_highest(out->type);
    if (!(size < highest && a < highest && reach < highest && reach * scale < highest &&
          reach * width < highest)) {
        bounded_put_undecided(out, i, y);
        return;
    }
    long double lost = underflow_error(t, a, out->type), factor = t->inverse.v * t->scale.v;
    long double spread = likely_add(factor * t->x.l, factor * t->mean.l);
    spread = likely_add(spread, d * t->scale.v * t->inverse.l);
    spread = likely_add(spread, likely_add(d * t->inverse.v * t->scale.l, t->bias.l));
    spread = likely_add(spread, lost / 3);
    bounded_put(out, i, y, inputs + lost + 4 * unit * size, likely_add(spread, unit * size));
}

double normalize_coarser(double a, double b)
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
    if (call_int(call, "training_mode", 0) != 0)
        return normalize_train(call, x, scale, bias, mean, variance);
    if (call->n_outputs > 1)
        return call_unsupported(call, "the outputs of training before opset 14");
    struct bounded *out = call_output(call, 0, x->type, &x->shape);
    if (!out || call->shapes_only || x->count == 0)
        return out ? 0 : -1;
    double epsilon = call_float(call, "epsilon", (double)1e-5f);
    double unit =
        normalize_coarser(normalize_coarser(unit_of(x->type), unit_of(scale->type)), unit_of(mean->type));
    size_t inner = x->shape.rank < 2 ? 1 : shape_span(&x->shape, 2, x->shape.rank);
    for (size_t i = 0; i < x->count; i++) {
        size_t c = i / inner % (size_t)channels;
        struct affine t = {number_of(x, i), number_of(mean, c),
                           inverse_root(number_of(variance, c), epsilon, unit, x->type), number_of(scale, c),
                           number_of(bias, c)};
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

struct moments moments_of(const struct bounded *x, size_t start, size_t n, double epsilon, double unit,
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
    m.mean = (struct number){mean, sum.hard / count + rounding_growth(unit, n + 3) * peak,
                             likely_add(sqrtl(sum.variance) / count, unit * peak * (1 + sqrtl(count) / 3))};
    long double one_pass = 4 * rounding_growth(unit, n + 3) * q, shift = m.mean.h;
    struct number variance = {spread / count,
                              drift / count + one_pass + 2 * sqrtl((spread + drift) / count) * shift +
                                  shift * shift,
                              likely_add(sqrtl(deviation) / count, unit * q * (1 + sqrtl(count) / 2))};
    m.variance = variance;
    m.inverse = inverse_root(variance, epsilon, unit, type);
    if (epsilon >= 2 * dtype_precision(type).tiny && squares < dtype_highest(type) / 1024)
        m.most = 2 / sqrtl(epsilon);
    return m;
}

/* Whether the steps mean, difference, mean of the squares, root and quotient stay far from overflow. */
static bool is_far_from_overflow(const struct affine *t, const struct moments *m, enum dtype type)
{
    long double reach = number_most(t->x) + number_most(t->mean), room = dtype_highest(type) / 1024;
    long double scale = fmaxl(1, number_most(t->scale)), wide = fmaxl(1, m->most);
    return m->most > 0 && reach * reach < room && reach * wide * scale + number_most(t->bias) < room;
}

void normalize_put(struct bounded *out, size_t i, const struct bounded *x, const struct moments *m,
                   struct number scale, struct number bias, double unit, enum dtype type)
{
    if (m->nan) {
        bounded_put(out, i, NAN, 0, 0);
    } else if (m->undecided) {
        bounded_put_undecided(out, i, 0);
    } else {
        struct affine t = {number_of(x, i), m->mean, m->inverse, scale, bias};
        /* Statistics in a coarser type: x - mean and its product with the inverse are computed in it as well,
         * and either may underflow. */
        if (unit > bounded_unit(x)) {
            double tiny = dtype_precision(type).tiny;
            t.x.h += unit * number_most(t.x) + tiny;
            t.bias.h += tiny * number_most(t.scale);
        }
        put_affine(out, i, &t, unit);
        if (isinf(m->inverse.h) && isinf(bounded_hard(out, i)) && is_far_from_overflow(&t, m, out->type) &&
            is_far_from_overflow(&t, m, type))
            bounded_put_some_number(out, i, out->value[i]);
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
    if (!out || call->shapes_only || x->count == 0)
        return out ? 0 : -1;
    double epsilon = call_float(call, "epsilon", (double)1e-5f), unit = unit_of(x->type);
    size_t inner = shape_span(&x->shape, 2, x->shape.rank), channels = (size_t)x->shape.dims[1];
    for (size_t block = 0; block < x->count / inner; block++) {
        struct moments m = moments_of(x, block * inner, inner, epsilon, unit, x->type);
        size_t c = block % channels;
        for (size_t i = block * inner; i < (block + 1) * inner; i++)
            normalize_put(out, i, x, &m, number_of(scale, c), number_of(bias, c), unit, x->type);
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

int normalize_stash(struct op_call *call, enum dtype *stash)
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

static void put_statistic(struct bounded *out, size_t i, const struct moments *m, const struct number *k)
{
    if (!out)
        return;
    if (m->nan)
        bounded_put(out, i, NAN, 0, 0);
    else if (m->undecided)
        bounded_put_undecided(out, i, 0);
    else if (isinf(k->h) && m->most > 0)
        bounded_put_some_number(out, i, k->v);
    else
        bounded_put(out, i, k->v, k->h, k->l);
}

static void run_layer(const struct layer *l)
{
    int64_t index[TENSOR_MAX_RANK] = {0};
    struct moments m = {0};
    struct number none = {0, 0, 0};
    for (size_t i = 0; i < l->x->count; i++) {
        size_t block = i / l->length;
        if (i % l->length == 0) {
            m = moments_of(l->x, i, l->length, l->epsilon, l->unit,
                           l->x->type == DTYPE_DOUBLE ? l->stash : l->x->type);
            put_statistic(l->mean, block, &m, &m.mean);
            put_statistic(l->inverse, block, &m, &m.inverse);
        }
        struct number scale = number_of(l->scale, strides_at(&l->scale_at, l->x->shape.rank, index));
        struct number bias =
            l->bias ? number_of(l->bias, strides_at(&l->bias_at, l->x->shape.rank, index)) : none;
        normalize_put(l->y, i, l->x, &m, scale, bias, l->unit, l->stash);
        odometer_next(index, &l->x->shape);
    }
}

static int eval_layer(struct op_call *call)
{
    struct layer l = {.x = call_need(call, 0), .scale = call_need(call, 1), .bias = call_input(call, 2)};
    int axis;
    if (!l.x || !l.scale || normalize_stash(call, &l.stash) ||
        call_axis(call, call_int(call, "axis", -1), l.x->shape.rank, &axis) || fix_layer(call, &l, axis))
        return -1;
    if (call->shapes_only || l.x->count == 0)
        return 0;
    l.epsilon = call_float(call, "epsilon", (double)1e-5f);
    l.unit = normalize_coarser(unit_of(l.x->type), unit_of(l.stash));
    l.length = shape_span(&l.x->shape, axis, l.x->shape.rank);
    run_layer(&l);
    return 0;
}

int normalize_draw_scaled(struct draw *d, double usually, struct drawn *x, struct shape *part)
{
    *x = draw_primary(d);
    int64_t axis = draw_between(d, -x->shape.rank, x->shape.rank - 1);
    bool usual = draw_chance(d, usually);
    int from = usual ? x->shape.rank - 1 : (int)(axis < 0 ? axis + x->shape.rank : axis);
    *part = shape_make(x->shape.rank - from, x->shape.dims + from);
    if (shape_span(&x->shape, 0, x->shape.rank) == 0)
        return -1;
    if (!usual)
        draw_int(d, "axis", axis);
    draw_data(d, x->type, part);
    return 0;
}

static int sample_layer(struct draw *d)
{
    struct drawn x;
    struct shape part;
    if (normalize_draw_scaled(d, 0.2, &x, &part))
        return -1;
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
    if (!x || (call->opset >= 21 && normalize_stash(call, &stash)))
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
    if (!out || call->shapes_only || x->count == 0)
        return out ? 0 : -1;
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
        normalize_put(out, i, x, &m, number_of(scale, at), number_of(bias, at), unit, type);
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

/* The mean of the squares of a block, as `inverse` of moments without a mean. The squares may underflow. */
static struct moments mean_square(const struct bounded *x, size_t start, size_t n, double epsilon,
                                  double unit, enum dtype type)
{
    struct moments m = {0};
    long double squares = 0, most = 0, drift = 0, deviation = 0, count = (long double)n;
    for (size_t i = start; i < start + n; i++) {
        long double v = x->value[i], h = bounded_hard(x, i), l = bounded_likely(x, i);
        m.nan |= isnan(v);
        m.undecided |= isinf(v) || isinf(h);
        squares += v * v;
        most += (fabsl(v) + h) * (fabsl(v) + h);
        drift += (2 * fabsl(v) + h) * h;
        deviation += 4 * v * v * l * l;
    }
    m.undecided |= !(most < dtype_highest(type));
    if (m.nan || m.undecided)
        return m;
    struct number mean = {squares / count,
                          drift / count + rounding_growth(unit, n + 5) * most / count +
                              dtype_precision(type).tiny,
                          likely_add(sqrtl(deviation) / count, unit * most / count * (1 + sqrtl(count) / 2))};
    m.inverse = inverse_root(mean, epsilon, unit, type);
    return m;
}

/* y = scale * x / sqrt(mean of x^2 + epsilon), over the dimensions from `axis` on; y has the type of the
 * scale. */
static int eval_rms(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *scale = call_need(call, 1);
    enum dtype stash;
    struct shape common;
    int axis;
    if (!x || !scale || normalize_stash(call, &stash) ||
        call_axis(call, call_int(call, "axis", -1), x->shape.rank, &axis) ||
        call_broadcast(call, &scale->shape, &x->shape, &common))
        return -1;
    if (!shape_equal(&common, &x->shape))
        return call_invalid(call, "scale is larger than the input");
    struct bounded *out = call_output(call, 0, scale->type, &x->shape);
    if (!out || call->shapes_only || x->count == 0)
        return out ? 0 : -1;
    double epsilon = call_float(call, "epsilon", (double)1e-5f);
    double unit =
        normalize_coarser(normalize_coarser(unit_of(x->type), unit_of(stash)), unit_of(scale->type));
    size_t length = shape_span(&x->shape, axis, x->shape.rank);
    struct strides scale_at = strides_broadcast(&scale->shape, &x->shape);
    int64_t index[TENSOR_MAX_RANK] = {0};
    struct moments m = {0};
    for (size_t i = 0; i < x->count; i++, odometer_next(index, &x->shape)) {
        if (i % length == 0)
            m = mean_square(x, i, length, epsilon, unit, x->type == DTYPE_DOUBLE ? stash : x->type);
        struct number factor = number_of(scale, strides_at(&scale_at, x->shape.rank, index));
        /* x / rms may fall below the smallest normal number before it is multiplied. */
        double tiny = dtype_precision(x->type).tiny;
        bool small = !m.nan && !m.undecided && number_least(number_of(x, i)) * number_least(m.inverse) < tiny;
        struct number lost = {0, small ? tiny * number_most(factor) : 0, 0};
        normalize_put(out, i, x, &m, factor, lost, unit, stash);
    }
    return 0;
}

static int sample_rms(struct draw *d)
{
    struct drawn x;
    struct shape part;
    if (normalize_draw_scaled(d, 0.3, &x, &part))
        return -1;
    draw_epsilon(d);
    if (draw_chance(d, 0.3))
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
     .gradient = normalize_gradient_batch, .sample = sample_batch, .data = DATA_FIRST,
     .range = {RANGE_MUL, .never_negative = 4},
     .factors = {FACTORS_PRODUCT, .powers = {1, 1, 0, 0, -0.5}, .added = 1 << 2 | 1 << 3},
     .history = {.same_since = 7}, .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS,
     .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_DOMAIN, .input = 4, .inside = {0, INFINITY}, .attribute = "epsilon",
                  .otherwise = 1e-5F},
                 {DANGER_POLE, .input = 4, .attribute = "epsilon", .otherwise = 1e-5F}}},
    {OP("GroupNormalization", 18), .inputs = {3, 3}, .outputs = {1, 1}, .ranks = {3, 5},
     /* The form of opset 18 is deprecated; ONNX 1.18 and later refuse it. */
     .types = {{21, DTYPES_FLOAT}}, .params = group_params, .eval = eval_group,
     .gradient = normalize_gradient_group, .sample = sample_group, .data = DATA_FIRST,
     .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-1e3, 1e3}},
     .factors = {FACTORS_PRODUCT, .powers = {0, 1}, .added = 1 << 2}, .result = RESULT_LIKE_INPUT,
     .work = WORK_REDUCES, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 2}}},
    {OP("InstanceNormalization", 1), .inputs = {3, 3}, .outputs = {1, 1}, .ranks = {3, 5},
     .types = {{6, BASE}, {22, DTYPES_FLOAT}}, .params = instance_params, .eval = eval_instance,
     .gradient = normalize_gradient_instance, .sample = sample_instance, .data = DATA_FIRST,
     .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-1e3, 1e3}},
     .factors = {FACTORS_PRODUCT, .powers = {0, 1}, .added = 1 << 2}, .history = {.same_since = 1},
     .result = RESULT_LIKE_INPUT, .work = WORK_REDUCES, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_INNER, .power = 2}}},
    {OP("LayerNormalization", 17), .inputs = {2, 3}, .outputs = {1, 3}, .ranks = {1, 5},
     .types = {{17, DTYPES_FLOAT}}, .params = layer_params, .eval = eval_layer,
     .gradient = normalize_gradient_layer, .sample = sample_layer, .data = DATA_FIRST,
     .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-1e3, 1e3}},
     .factors = {FACTORS_PRODUCT, .powers = {0, 1}, .added = 1 << 2}, .result = RESULT_LIKE_INPUT,
     .work = WORK_REDUCES, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 2}}},
    {OP("RMSNormalization", 23), .inputs = {2, 2}, .outputs = {1, 1}, .ranks = {1, 5},
     .types = {{23, DTYPES_FLOAT}}, .params = layer_params, .eval = eval_rms, .sample = sample_rms,
     .data = DATA_FIRST, .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-1e3, 1e3}},
     .factors = {FACTORS_PRODUCT, .powers = {0, 1}}, .result = RESULT_LIKE_INPUT, .work = WORK_REDUCES,
     .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_INNER, .power = 2}}},
    {0},
};
