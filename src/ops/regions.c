/*
 * Regions of images: RoiAlign, MaxRoiPool and NonMaxSuppression. Bounds: docs/bounds/regions.md.
 */
#include "bounds/number.h"
#include "bounds/sum.h"
#include "ops/draw.h"
#include "ops/op.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most samples or comparisons that one node makes: about a second. */
enum { WORK_LIMIT = 1 << 26 };

static int over_limit(struct op_call *call, long double work)
{
    if (work <= WORK_LIMIT)
        return 0;
    return error_set(call->err, ERROR_LIMIT, "%s: more work than the reference does", call->op->name);
}

/* What the bound of a sample depends on: the numbers of its channel. */
struct plane {
    const struct bounded *x;
    size_t at;
    int64_t height, width;
    long double least, most, hard, likely;
    bool strange;
};

static struct plane plane_of(const struct bounded *x, size_t number)
{
    struct plane p = {.x = x, .height = x->shape.dims[2], .width = x->shape.dims[3]};
    size_t count = (size_t)(p.height * p.width);
    p.at = number * count;
    p.least = INFINITY;
    p.most = -INFINITY;
    for (size_t i = p.at; i < p.at + count; i++) {
        struct number v = number_of(x, i);
        p.strange |= !isfinite(v.v) || !isfinite(v.h);
        p.least = fminl(p.least, v.v);
        p.most = fmaxl(p.most, v.v);
        p.hard = fmaxl(p.hard, v.h);
        p.likely = fmaxl(p.likely, v.l);
    }
    return p;
}

static long double plane_size(const struct plane *p)
{
    return fmaxl(fabsl(p->least), fabsl(p->most)) + p->hard;
}

/* ---- RoiAlign ---- */

/* A region along one axis: where it begins, how wide it and a bin are, and how many samples a bin has. */
struct stretch {
    long double begin, size, bin, error, likely; /* error, likely: of any coordinate */
    int64_t grid;
    bool sure;  /* of the number of samples */
    bool exact; /* its ends are */
};

struct align {
    const struct bounded *x, *rois, *batches;
    int64_t out[2], ratio; /* height, width */
    long double scale;
    bool half, max;
};

static int take_align(struct op_call *call, struct align *a)
{
    a->x = call_need(call, 0);
    a->rois = call_need(call, 1);
    a->batches = call_need(call, 2);
    if (!a->x || !a->rois || !a->batches)
        return -1;
    a->out[0] = call_int(call, "output_height", 1);
    a->out[1] = call_int(call, "output_width", 1);
    a->ratio = call_int(call, "sampling_ratio", 0);
    a->scale = (long double)call_float(call, "spatial_scale", 1);
    const char *mode = call_string(call, "mode", "avg");
    const char *transform = call_string(call, "coordinate_transformation_mode", "half_pixel");
    a->max = strcmp(mode, "max") == 0;
    a->half = call->opset >= 16 && strcmp(transform, "half_pixel") == 0;
    if (!a->max && strcmp(mode, "avg") != 0)
        return call_invalid(call, "mode '%s' is neither avg nor max", mode);
    if (call->opset >= 16 && !a->half && strcmp(transform, "output_half_pixel") != 0)
        return call_invalid(call, "coordinate_transformation_mode '%s'", transform);
    if (a->out[0] < 1 || a->out[1] < 1 || a->ratio < 0)
        return call_invalid(call, "an output size or sampling_ratio is out of range");
    if (a->x->shape.rank != 4 || a->rois->shape.rank != 2 || a->rois->shape.dims[1] != 4 ||
        a->batches->shape.rank != 1 || a->batches->shape.dims[0] != a->rois->shape.dims[0])
        return call_invalid(call, "input, regions and batch_indices do not fit together");
    if (a->rois->type != a->x->type || a->batches->type != DTYPE_INT64)
        return call_invalid(call, "input, regions and batch_indices do not have their types");
    return 0;
}

/* Coordinates have up to eight roundings of numbers no larger than their ends. */
static struct stretch stretch_of(const struct align *a, size_t roi, int axis)
{
    struct number low = number_of(a->rois, roi * 4 + (axis == 0)),
                  high = number_of(a->rois, roi * 4 + 2 + (axis == 0));
    struct stretch s = {.sure = true, .exact = low.h == 0 && high.h == 0};
    long double shift = a->half ? 0.5L : 0, end = high.v * a->scale - shift, u = unit_of(a->x->type);
    s.begin = low.v * a->scale - shift;
    s.size = end - s.begin;
    if (!a->half)
        s.size = fmaxl(s.size, 1);
    s.bin = s.size / (long double)a->out[axis];
    s.error =
        fabsl(a->scale) * (low.h + high.h) * 2 + 8 * u * (fabsl(s.begin) + fabsl(end) + fabsl(s.size) + 1);
    /* What the roundings on the way here add up to, none of them larger than that of this sum, and the
     * deviations of the two ends. */
    s.likely = likely_add(sqrtl(8.0L / 3) * u * (fabsl(s.begin) + fabsl(end) + fabsl(s.size) + 1),
                          2 * fabsl(a->scale) * likely_add(low.l, high.l));
    long double grid = ceill(s.bin), slack = s.error / (long double)a->out[axis];
    s.grid = a->ratio;
    if (a->ratio == 0) {
        bool least = !a->half && end - s.begin + s.error <= 1; /* its size is 1, whatever its ends are */
        s.sure = least || fmaxl(ceill(s.bin - slack), 0) == fmaxl(ceill(s.bin + slack), 0);
        s.grid = grid > 0 && grid < WORK_LIMIT ? (int64_t)grid : 0;
        s.sure &= grid < WORK_LIMIT;
    }
    return s;
}

/* The neighbours of a coordinate along an axis. */
struct neighbours {
    int64_t low, high;
    long double part; /* weight of high */
    bool outside, sure;
};

static struct neighbours neighbours_at(long double y, int64_t length, long double error)
{
    struct neighbours n = {.sure = true};
    long double end = (long double)length;
    n.sure = !(fabsl(y + 1) <= error) && !(fabsl(y - end) <= error);
    n.outside = !(y >= -1 && y <= end);
    if (n.outside)
        return n;
    y = fmaxl(y, 0);
    n.low = (int64_t)y;
    if (n.low >= length - 1) {
        n.low = n.high = length - 1;
        return n;
    }
    n.high = n.low + 1;
    n.part = y - (long double)n.low;
    return n;
}

/* Samples of a bin: their sum, and the two readings of the largest one. */
struct bin {
    long double sum, largest, corner;
    size_t count;
    bool sure;
};

static void bin_add(struct bin *b, const struct plane *p, struct neighbours y, struct neighbours x)
{
    b->sure &= y.sure && x.sure;
    long double values[4] = {0};
    if (!y.outside && !x.outside) {
        const long double *v = p->x->value + p->at;
        values[0] = (1 - y.part) * (1 - x.part) * v[y.low * p->width + x.low];
        values[1] = (1 - y.part) * x.part * v[y.low * p->width + x.high];
        values[2] = y.part * (1 - x.part) * v[y.high * p->width + x.low];
        values[3] = y.part * x.part * v[y.high * p->width + x.high];
    }
    long double value = values[0] + values[1] + values[2] + values[3];
    long double corner = fmaxl(fmaxl(values[0], values[1]), fmaxl(values[2], values[3]));
    b->sum += value;
    b->largest = b->count ? fmaxl(b->largest, value) : value;
    b->corner = b->count ? fmaxl(b->corner, corner) : corner;
    b->count++;
}

static struct bin bin_of(const struct plane *p, const struct stretch s[2], int64_t row, int64_t column)
{
    struct bin b = {.sure = s[0].sure && s[1].sure};
    const int64_t place[2] = {row, column};
    for (int64_t i = 0; i < s[0].grid; i++)
        for (int64_t j = 0; j < s[1].grid; j++) {
            struct neighbours n[2];
            const int64_t sample[2] = {i, j}, length[2] = {p->height, p->width};
            for (int a = 0; a < 2; a++) {
                long double at = s[a].begin + (long double)place[a] * s[a].bin +
                                 ((long double)sample[a] + 0.5L) * s[a].bin / (long double)s[a].grid;
                n[a] = neighbours_at(at, length[a], s[a].error);
            }
            bin_add(&b, p, n[0], n[1]);
        }
    return b;
}

/* Interpolation is continuous: an error of the coordinates costs at most so much of the range of numbers. */
static void put_bin(struct bounded *out, size_t at, const struct align *a, const struct plane *p,
                    const struct stretch s[2], struct bin b)
{
    long double u = unit_of(out->type), size = plane_size(p),
                range = fmaxl(p->most, 0) - fminl(p->least, 0) + 2 * p->hard;
    long double own = (s[0].error + s[1].error) * range + 8 * u * size + u * (long double)b.count * size;
    own += dtype_precision(out->type).tiny * 4;
    long double likely = likely_add(likely_add(s[0].likely, s[1].likely) * range,
                                    sqrtl((8 + (long double)b.count) / 3) * u * size);
    if (p->strange || !b.sure || !isfinite(own) || !(size * (long double)b.count < dtype_highest(out->type)))
        bounded_put_undecided(out, at, 0);
    else if (b.count == 0 || (a->max && (b.largest != b.corner || p->hard > 0 || !s[0].exact || !s[1].exact)))
        bounded_put_open(out, at);
    else
        bounded_put(out, at, a->max ? b.largest : b.sum / (long double)b.count, own + p->hard,
                    likely_add(fminl(likely, own), p->likely));
}

/* All bins of one region in one channel. */
static void align_channel(struct bounded *out, size_t at, const struct align *a, const struct plane *p,
                          const struct stretch s[2])
{
    for (int64_t i = 0; i < a->out[0]; i++)
        for (int64_t j = 0; j < a->out[1]; j++)
            put_bin(out, at++, a, p, s, bin_of(p, s, i, j));
}

/* The batch of a region: -1 when it is not certain. */
static int batch_at(struct op_call *call, const struct bounded *batches, size_t i, size_t step, int64_t count,
                    int64_t *batch)
{
    long double value = batches->value[i * step];
    *batch = -1;
    double off = bounded_hard(batches, i * step);
    /* An implementation may refuse one that is outside. */
    call->open |= off > 0 && !(value - off >= 0 && value + off < (long double)count);
    if (off > 0)
        return 0;
    if (!(value >= 0 && value < (long double)count))
        return call_invalid(call, "there is no batch %Lg", value);
    *batch = (int64_t)value;
    return 0;
}

static int align_region(struct op_call *call, const struct align *a, struct bounded *out, size_t roi)
{
    struct stretch s[2] = {stretch_of(a, roi, 0), stretch_of(a, roi, 1)};
    int64_t batch, channels = a->x->shape.dims[1];
    size_t bins = (size_t)(a->out[0] * a->out[1]);
    if (batch_at(call, a->batches, roi, 1, a->x->shape.dims[0], &batch) ||
        over_limit(call, (long double)s[0].grid * (long double)s[1].grid * (long double)out->count))
        return -1;
    for (int64_t c = 0; c < channels; c++) {
        size_t at = (roi * (size_t)channels + (size_t)c) * bins;
        if (batch < 0 || a->x->shape.dims[2] < 1 || a->x->shape.dims[3] < 1) {
            for (size_t i = 0; i < bins; i++)
                bounded_put_undecided(out, at + i, 0);
            continue;
        }
        struct plane p = plane_of(a->x, (size_t)(batch * channels + c));
        align_channel(out, at, a, &p, s);
    }
    return 0;
}

static int eval_roi_align(struct op_call *call)
{
    struct align a = {0};
    if (take_align(call, &a))
        return -1;
    struct shape shape = {4, {a.rois->shape.dims[0], a.x->shape.dims[1], a.out[0], a.out[1]}};
    struct bounded *out = call_output(call, 0, a.x->type, &shape);
    if (!out || call->shapes_only || !out->count)
        return out ? 0 : -1;
    long double pixels = (long double)a.x->shape.dims[2] * (long double)a.x->shape.dims[3];
    if (over_limit(call, pixels * (long double)(shape.dims[0] * shape.dims[1])))
        return -1;
    for (size_t i = 0; i < (size_t)shape.dims[0]; i++)
        if (align_region(call, &a, out, i))
            return -1;
    return 0;
}

/* Corners of a box inside the image, most of the time. */
static void draw_box(struct draw *d, long double *box, double height, double width)
{
    double room[2] = {width, height};
    for (int a = 0; a < 2; a++) {
        double begin = rng_uniform(&d->rng, 0, room[a] * 0.7),
               end = begin + rng_uniform(&d->rng, 0.3, room[a] * 0.6);
        box[a] = (float)begin;
        box[a + 2] = (float)end;
    }
}

static struct drawn draw_image(struct draw *d)
{
    return draw_primary_ranked(d, 4, 4);
}

static int sample_roi_align(struct draw *d)
{
    struct drawn x = draw_image(d);
    if (x.shape.rank != 4 || shape_span(&x.shape, 0, 4) == 0)
        return -1;
    int64_t count = draw_between(d, 1, 3);
    double scale = draw_chance(d, 0.5) ? 1 : 0.5;
    draw_range(d, x.type, &(struct shape){2, {count, 4}}, 0, 1);
    for (int64_t i = 0; i < count; i++) {
        long double box[4];
        draw_box(d, box, (double)x.shape.dims[2] / scale, (double)x.shape.dims[3] / scale);
        for (int64_t k = 0; k < 4; k++)
            tensor_set(&d->inputs[1].data, (size_t)(i * 4 + k), box[k]);
    }
    int64_t batches[3];
    for (int64_t i = 0; i < count; i++)
        batches[i] = draw_between(d, 0, x.shape.dims[0] - 1);
    draw_int_input(d, batches, (size_t)count);
    if (scale != 1 || draw_chance(d, 0.3))
        draw_float(d, "spatial_scale", (float)scale);
    draw_int(d, "output_height", draw_between(d, 1, 4));
    draw_int(d, "output_width", draw_between(d, 1, 4));
    if (draw_chance(d, 0.6))
        draw_int(d, "sampling_ratio", draw_between(d, 0, 3));
    if (draw_chance(d, 0.3))
        draw_string(d, "mode", draw_word(d, "avg|max"));
    if (d->opset >= 16 && draw_chance(d, 0.6))
        draw_string(d, "coordinate_transformation_mode", draw_word(d, "half_pixel|output_half_pixel"));
    return 0;
}

/* ---- NonMaxSuppression ---- */

struct suppression {
    const struct bounded *boxes, *scores;
    int64_t batches, classes, count, most;
    long double overlap, least;
    bool center, has_least;
};

static int one_number(struct op_call *call, size_t index, long double *value)
{
    const struct bounded *x = call_input(call, index);
    if (!x)
        return 0;
    if (x->count != 1)
        return call_invalid(call, "input %zu is not one number", index);
    if (!x->value || bounded_hard(x, 0) > 0)
        return call_unsupported(call, "the shape depends on data (input %zu)", index);
    *value = x->value[0];
    return 0;
}

static int exact_numbers(struct op_call *call, const struct bounded *x)
{
    if (!x->value)
        return call_unsupported(call, "the shape depends on data");
    for (size_t i = 0; i < x->count; i++)
        if (!isfinite(x->value[i]) || bounded_hard(x, i) > 0)
            return call_unsupported(call, "which boxes are selected is undecided");
    return 0;
}

static int take_suppression(struct op_call *call, struct suppression *s)
{
    s->boxes = call_need(call, 0);
    s->scores = call_need(call, 1);
    if (!s->boxes || !s->scores)
        return -1;
    const struct shape *b = &s->boxes->shape, *p = &s->scores->shape;
    if (b->rank != 3 || p->rank != 3 || b->dims[2] != 4 || b->dims[0] != p->dims[0] ||
        b->dims[1] != p->dims[2])
        return call_invalid(call, "boxes and scores do not fit together");
    s->batches = b->dims[0];
    s->classes = p->dims[1];
    s->count = b->dims[1];
    s->center = call_int(call, "center_point_box", 0) != 0;
    s->has_least = call_input(call, 4) != NULL;
    if (call_input(call, 2) && call_int_single(call, 2, &s->most))
        return -1;
    if (one_number(call, 3, &s->overlap) || one_number(call, 4, &s->least) || exact_numbers(call, s->boxes) ||
        exact_numbers(call, s->scores))
        return -1;
    if (!(s->overlap >= 0 && s->overlap <= 1))
        return call_invalid(call, "iou_threshold %Lg is not in [0, 1]", s->overlap);
    long double kept = (long double)(s->most < s->count ? s->most : s->count);
    return over_limit(call, kept * (long double)s->count * (long double)(s->batches * s->classes));
}

/* Lower and upper ends by x and y. */
struct box {
    long double low[2], high[2];
};

static struct box box_at(const struct suppression *s, int64_t batch, int64_t i)
{
    const long double *v = s->boxes->value + (batch * s->count + i) * 4;
    struct box b;
    for (int a = 0; a < 2; a++) {
        long double from = s->center ? v[a] - v[a + 2] / 2 : v[a],
                    to = s->center ? v[a] + v[a + 2] / 2 : v[a + 2];
        b.low[a] = fminl(from, to);
        b.high[a] = fmaxl(from, to);
    }
    return b;
}

/* 1: they overlap by more than the threshold; 0: they do not; -1: rounding decides. */
static int overlaps(const struct suppression *s, struct box a, struct box b)
{
    long double common = 1, first = 1, second = 1, u = unit_of(s->boxes->type), lost = 0;
    for (int i = 0; i < 2; i++) {
        long double side = fminl(a.high[i], b.high[i]) - fmaxl(a.low[i], b.low[i]);
        long double size =
            fmaxl(fmaxl(fabsl(a.low[i]), fabsl(a.high[i])), fmaxl(fabsl(b.low[i]), fabsl(b.high[i])));
        common *= fmaxl(side, 0);
        first *= a.high[i] - a.low[i];
        second *= b.high[i] - b.low[i];
        long double shortest = fminl(fabsl(side), fminl(a.high[i] - a.low[i], b.high[i] - b.low[i]));
        /* Ends are differences: what is lost is relative to their sizes. */
        lost += shortest > 0 ? 4 * u * size / shortest : 0;
    }
    long double whole = first + second - common, ratio = whole > 0 ? common / whole : 0;
    if (common > 0 && fabsl(ratio - s->overlap) <= (lost + 8 * u) * (1 + ratio))
        return ratio == 1 && s->overlap < 1 ? 1 : s->overlap == 1 ? 0 : -1;
    return common > 0 && ratio > s->overlap;
}

struct candidate {
    int64_t box;
    long double score;
};

/* The best first; of equal ones the first. */
static int by_score(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->box < b->box ? -1 : 1;
}

/* Indices of what was selected so far: [batch, class, box]. */
struct selected {
    int64_t (*at)[3];
    size_t count;
};

/* Whether the candidate stays beside those selected of its class, which begin at `first`. */
static int stays(struct op_call *call, const struct suppression *s, const struct selected *chosen,
                 size_t first, int64_t batch, int64_t box, bool *stay)
{
    *stay = true;
    for (size_t i = first; *stay && i < chosen->count; i++) {
        int over = overlaps(s, box_at(s, batch, chosen->at[i][2]), box_at(s, batch, box));
        if (over < 0)
            return call_unsupported(call, "whether boxes overlap enough is decided by rounding");
        *stay = over == 0;
    }
    return 0;
}

static int suppress_class(struct op_call *call, const struct suppression *s, int64_t batch, int64_t class,
                          struct candidate *order, struct selected *chosen)
{
    const long double *scores = s->scores->value + (batch * s->classes + class) * s->count;
    size_t count = 0, first = chosen->count;
    for (int64_t i = 0; i < s->count; i++)
        if (!s->has_least || scores[i] > s->least)
            order[count++] = (struct candidate){i, scores[i]};
    qsort(order, count, sizeof *order, by_score);
    for (size_t i = 0; i < count && (int64_t)(chosen->count - first) < s->most; i++) {
        bool stay;
        /* ONNX does not say which of two equal scores comes first. */
        call->open |= i > 0 && order[i].score == order[i - 1].score;
        if (stays(call, s, chosen, first, batch, order[i].box, &stay))
            return -1;
        if (!stay)
            continue;
        int64_t *at = chosen->at[chosen->count++];
        at[0] = batch;
        at[1] = class;
        at[2] = order[i].box;
    }
    return 0;
}

static int put_selected(struct op_call *call, const struct selected *chosen)
{
    struct bounded *out = call_output(call, 0, DTYPE_INT64, &(struct shape){2, {(int64_t)chosen->count, 3}});
    for (size_t i = 0; out && !call->shapes_only && i < out->count; i++)
        out->value[i] = (long double)chosen->at[i / 3][i % 3];
    return out ? 0 : -1;
}

static int eval_suppression(struct op_call *call)
{
    struct suppression s = {0};
    if (take_suppression(call, &s))
        return -1;
    int64_t kept = s.most < 0 ? 0 : s.most < s.count ? s.most : s.count;
    size_t room = (size_t)(kept * s.batches * s.classes);
    struct selected chosen = {calloc(room ? room : 1, sizeof *chosen.at), 0};
    struct candidate *order = calloc(s.count ? (size_t)s.count : 1, sizeof *order);
    int result = chosen.at && order ? 0 : error_set(call->err, ERROR_MEMORY, "no memory for %zu boxes", room);
    for (int64_t b = 0; !result && b < s.batches; b++)
        for (int64_t c = 0; !result && c < s.classes; c++)
            result = suppress_class(call, &s, b, c, order, &chosen);
    if (!result)
        result = put_selected(call, &chosen);
    free(chosen.at);
    free(order);
    return result;
}

static int sample_suppression(struct draw *d)
{
    int64_t batches = draw_between(d, 1, 2), classes = draw_between(d, 1, 3), count = draw_between(d, 1, 8);
    bool center = draw_chance(d, 0.4);
    if (d->given)
        return -1;
    draw_range(d, DTYPE_FLOAT, &(struct shape){3, {batches, count, 4}}, 0, 1);
    for (int64_t i = 0; i < batches * count; i++) {
        long double box[4];
        draw_box(d, box, 8, 8);
        for (int64_t k = 0; k < 4; k++)
            tensor_set(&d->inputs[0].data, (size_t)(i * 4 + k),
                       center && k > 1 ? box[k] - box[k - 2] : box[k]);
    }
    draw_range(d, DTYPE_FLOAT, &(struct shape){3, {batches, classes, count}}, 0, 1);
    int64_t most = draw_between(d, 1, count);
    draw_int_typed(d, DTYPE_INT64, &(struct shape){1, {1}}, &most);
    if (draw_chance(d, 0.8))
        draw_scalar(d, DTYPE_FLOAT, rng_uniform(&d->rng, 0, 1));
    if (d->n_inputs == 4 && draw_chance(d, 0.6))
        draw_scalar(d, DTYPE_FLOAT, rng_uniform(&d->rng, 0, 0.6));
    if (center || draw_chance(d, 0.3))
        draw_int(d, "center_point_box", center);
    return 0;
}

static const struct op_param align_params[] = {
    {"coordinate_transformation_mode", PARAM_STRING, .since = 16, .legal = "half_pixel|output_half_pixel",
     .illegal = "pixel", .initial = "half_pixel"},
    {"mode", PARAM_STRING, .legal = "avg|max", .illegal = "sum", .initial = "avg"},
    {"output_height", PARAM_INT, .legal = "1..4", .illegal = "0|-1", .initial = "1"},
    {"output_width", PARAM_INT, .legal = "1..4", .illegal = "0|-1", .initial = "1"},
    {"sampling_ratio", PARAM_INT, .legal = "0..3", .illegal = "-1", .initial = "0"},
    {"spatial_scale", PARAM_FLOAT, .legal = "1|0.5", .initial = "1"},
    {"batch_indices", PARAM_INPUT, .input = 2, .legal = "0", .illegal = "-1|1000000"},
    {0}};
static const struct op_param suppression_params[] = {
    {"center_point_box", PARAM_INT, .legal = "0|1", .illegal = "2", .initial = "0"},
    {"max_output_boxes_per_class", PARAM_INPUT, .input = 2, .legal = "0..4", .initial = "0"},
    {"iou_threshold", PARAM_INPUT, .input = 3, .legal = "0|0.5|1", .illegal = "-1|2", .initial = "0"},
    {"score_threshold", PARAM_INPUT, .input = 4, .legal = "0|0.5", .initial = ""},
    {0}};

enum { BASE = 1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16 };

const struct op ops_regions[] = {
    {OP("NonMaxSuppression", 10), .flags = OP_ON_REQUEST | OP_DATA_SHAPE, .inputs = {2, 5}, .outputs = {1, 1},
     .ranks = {3, 3}, .types = {{10, 1 << DTYPE_FLOAT}}, .params = suppression_params,
     .eval = eval_suppression, .sample = sample_suppression, .data = DATA_FIRST, .range = {RANGE_LIKE_INPUTS},
     .factors = {FACTORS_NONE}, .history = {.same_since = 10}, .result = RESULT_OTHER, .work = WORK_REDUCES,
     .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}, .open = "which of two equal scores comes first"},
    {OP("RoiAlign", 10), .flags = OP_ON_REQUEST, .inputs = {3, 3}, .outputs = {1, 1}, .ranks = {4, 4},
     .types = {{10, BASE}, {22, DTYPES_FLOAT}}, .params = align_params, .eval = eval_roi_align,
     .sample = sample_roi_align, .data = DATA_FIRST, .range = {RANGE_MOVE},
     .factors = {FACTORS_PRODUCT, .powers = {1}}, .history = {.same_since = 10}, .result = RESULT_TYPE,
     .work = WORK_REDUCES, .slope = SLOPE_ALMOST_EVERYWHERE, .dangers = {{DANGER_NONE}},
     .open =
         "whether the largest sample is one of interpolated or of weighted numbers, and what a bin without "
         "samples is"},
    {0},
};
