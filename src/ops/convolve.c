#include "ops/convolve.h"

#include "bounds/winograd.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest size of a window: products of two stay far from overflow. Larger ones are cut to it. */
static const int64_t largest_size = (int64_t)1 << 30;

/* Sets *cut where a value is larger than is computed. */
static int read_sizes(struct op_call *call, const char *name, size_t count, int64_t least, int64_t otherwise,
                      int64_t *sizes, bool *cut)
{
    size_t given;
    const int64_t *values = call_ints(call, name, &given);
    if (given && given != count)
        return call_invalid(call, "%s has %zu values instead of %zu", name, given, count);
    for (size_t i = 0; i < count; i++) {
        int64_t size = given ? values[i] : otherwise;
        if (size < least)
            return call_invalid(call, "%s has the value %" PRId64 ", which is out of range", name, size);
        *cut = *cut || size > largest_size;
        sizes[i] = size > largest_size ? largest_size : size;
    }
    return 0;
}

static int read_auto_pad(struct op_call *call, enum auto_pad *auto_pad)
{
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    const char *text = call_string(call, "auto_pad", "NOTSET");
    for (int i = 0; i < 4; i++)
        if (strcmp(text, names[i]) == 0) {
            *auto_pad = (enum auto_pad)i;
            return 0;
        }
    return call_invalid(call, "auto_pad is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID");
}

static int read_kernel(struct op_call *call, const struct shape *weights, struct conv_attributes *w)
{
    size_t given;
    const int64_t *values = call_ints(call, "kernel_shape", &given);
    if (given && given != (size_t)w->rank)
        return call_invalid(call, "kernel_shape has %zu values instead of %d", given, w->rank);
    for (int i = 0; i < w->rank; i++) {
        w->kernel[i] = weights->dims[i + 2];
        if (given && values[i] != w->kernel[i])
            return call_invalid(call, "kernel_shape differs from the shape of the weights");
        if (w->kernel[i] < 1 || w->kernel[i] > largest_size)
            return call_invalid(call, "the kernel is empty");
    }
    return 0;
}

void conv_fit_kernel(const struct op_call *call, struct shape *weights)
{
    size_t given;
    const int64_t *values = call_ints(call, "kernel_shape", &given);
    for (size_t i = 0; i < given && given + 2 == (size_t)weights->rank; i++)
        weights->dims[i + 2] = values[i];
}

int conv_attributes_read(struct op_call *call, const struct shape *x, const struct shape *weights,
                         struct conv_attributes *w)
{
    int64_t pads[2 * SPATIAL_MAX];
    *w = (struct conv_attributes){.rank = x->rank - 2};
    if (x->rank < 3 || weights->rank != x->rank)
        return call_invalid(call, "input and weights must have the same rank, at least 3");
    size_t rank = (size_t)w->rank;
    if (read_auto_pad(call, &w->auto_pad) || read_kernel(call, weights, w) ||
        read_sizes(call, "pads", 2 * rank, 0, 0, pads, &w->cut))
        return -1;
    if (w->cut)
        return call_unsupported(call, "pads are too large");
    if (read_sizes(call, "strides", rank, 1, 1, w->stride, &w->cut) ||
        read_sizes(call, "dilations", rank, 1, 1, w->dilation, &w->cut))
        return -1;
    for (size_t i = 0; i < rank && w->auto_pad == PAD_NOTSET; i++) {
        w->begin[i] = pads[i];
        w->end[i] = pads[rank + i];
    }
    w->groups = call_int(call, "group", 1);
    if (w->groups < 1 || x->dims[1] % w->groups != 0)
        return call_invalid(call, "%" PRId64 " channels cannot be divided into %" PRId64 " groups",
                            x->dims[1], w->groups);
    return 0;
}

int64_t conv_extent(const struct conv_attributes *w, int axis)
{
    return (w->kernel[axis] - 1) * w->dilation[axis] + 1;
}

struct convolution convolution_plain(const struct conv_attributes *w, const int64_t *begin,
                                     const int64_t *size, const struct bounded *x,
                                     const struct bounded *weights)
{
    struct convolution c = {.x = x, .weights = weights, .rank = w->rank, .groups = (size_t)w->groups};
    c.roundings = (double)shape_span(&weights->shape, 1, weights->shape.rank);
    for (int i = 0; i < w->rank; i++) {
        c.lead[i] = begin[i];
        c.step[i] = 1;
        c.size[i] = size[i];
        c.kernel[i] = w->kernel[i];
        c.dilation[i] = w->dilation[i];
        c.stride[i] = w->stride[i];
    }
    return c;
}

static int64_t divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The number of terms of one output: the taps of the kernel that can meet input elements under the stride. */
static double transposed_terms(const struct conv_attributes *w, int64_t channels)
{
    double count = (double)channels;
    for (int i = 0; i < w->rank; i++) {
        int64_t period = w->stride[i] / divisor(w->dilation[i], w->stride[i]);
        count *= (double)((w->kernel[i] + period - 1) / period);
    }
    return count;
}

struct convolution convolution_transposed(const struct conv_attributes *w, const int64_t *begin,
                                          const int64_t *size, const struct bounded *x,
                                          const struct bounded *weights)
{
    struct convolution c = {.x = x, .weights = weights, .rank = w->rank, .transposed = true};
    c.groups = (size_t)w->groups;
    c.roundings = transposed_terms(w, x->shape.dims[1] / w->groups);
    for (int i = 0; i < w->rank; i++) {
        int64_t extent = conv_extent(w, i);
        c.lead[i] = extent - 1 - begin[i];
        c.step[i] = w->stride[i];
        c.size[i] = size[i] - 1 + extent;
        c.kernel[i] = w->kernel[i];
        c.dilation[i] = w->dilation[i];
        c.stride[i] = 1;
    }
    return c;
}

static struct shape image_shape(const struct convolution *c)
{
    struct shape shape = {.rank = c->rank + 1, .dims = {c->x->shape.dims[1]}};
    memcpy(shape.dims + 1, c->size, (size_t)c->rank * sizeof *c->size);
    return shape;
}

/* Where the row `index` of input elements (channel first, without the last axis) is in the image; false when
 * it is cropped. */
static bool place(const struct convolution *c, const struct strides *strides, const int64_t *index,
                  size_t *at)
{
    *at = strides->of[0] * (size_t)index[0];
    for (int i = 0; i + 1 < c->rank; i++) {
        int64_t position = c->lead[i] + index[i + 1] * c->step[i];
        if (position < 0 || position >= c->size[i])
            return false;
        *at += strides->of[i + 1] * (size_t)position;
    }
    return true;
}

/* Puts what is not cropped of a row of `count` elements from `from` on into the row of the image at `at`. */
static void row_fill(const struct convolution *c, size_t from, int64_t count, struct bounded *image,
                     size_t at)
{
    int64_t lead = c->lead[c->rank - 1], step = c->step[c->rank - 1], size = c->size[c->rank - 1], i = 0;
    while (i < count && lead + i * step < 0)
        i++;
    if (step == 1 && i < count && lead + i < size) {
        int64_t shown = size - lead < count ? size - lead : count;
        bounded_move_row(image, at + (size_t)(lead + i), c->x, from + (size_t)i, (size_t)(shown - i));
        return;
    }
    for (; i < count && lead + i * step < size; i++)
        bounded_move(image, at + (size_t)(lead + i * step), c->x, from + (size_t)i);
}

/* Puts the image of one sample at `base`. */
static void image_fill(const struct convolution *c, size_t sample, struct bounded *image, size_t base)
{
    struct shape shape = image_shape(c), one = shape_make(c->rank + 1, c->x->shape.dims + 1),
                 rows = shape_make(c->rank, c->x->shape.dims + 1);
    struct strides strides = strides_dense(&shape);
    int64_t wide = one.dims[c->rank];
    size_t count = shape_span(&one, 0, one.rank), at;
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < count; i += (size_t)wide) {
        if (place(c, &strides, index, &at))
            row_fill(c, sample * count + i, wide, image, base + at);
        odometer_next(index, &rows);
    }
}

/* Where nothing is padded, spread or cropped the image of a sample is a part of x, which is borrowed; false
 * where it must be made. */
static bool image_view(const struct convolution *c, size_t sample, struct bounded *image)
{
    bool whole = !c->x->floats;
    for (int i = 0; i < c->rank; i++)
        whole = whole && c->lead[i] == 0 && c->step[i] == 1 && c->size[i] == c->x->shape.dims[i + 2];
    if (!whole)
        return false;
    size_t count = shape_span(&c->x->shape, 1, c->x->shape.rank), at = sample * count;
    *image = (struct bounded){.type = c->x->type,
                              .shape = image_shape(c),
                              .count = count,
                              .value = c->x->value + at,
                              .hard = c->x->hard ? c->x->hard + at : NULL,
                              .likely = c->x->hard ? c->x->likely + at : NULL,
                              .opened = c->x->opened};
    return true;
}

static int image_make(const struct convolution *c, size_t sample, struct bounded *image, struct error *err)
{
    struct shape shape = image_shape(c);
    if (bounded_alloc(image, c->x->type, &shape, false, err))
        return -1;
    image_fill(c, sample, image, 0);
    return 0;
}

/* One group of one sample. */
struct plane {
    const struct convolution *c;
    struct winograd_errors winograd; /* of outputs computed by Winograd's algorithm; NULL: it never is used */
    size_t base;                     /* of the first output */
    size_t first, area;              /* first output channel; elements of one */
    bool odd_weights;                /* some weight is not finite, or may not be */
};

static void put_plane(void *context, size_t i, size_t j, struct number sum)
{
    const struct plane *p = context;
    const struct convolution *c = p->c;
    /* What is NaN as a sum is NaN by any algorithm that multiplies: each tap of a window has a way through
     * the transforms. */
    bool nan = isnan(sum.v) && sum.h == 0;
    if (p->winograd.hard && !nan)
        sum = number_loosen(sum, p->winograd.hard[i * p->area + j], p->winograd.likely[i * p->area + j]);
    /* Zeros of the padding times an infinite weight: some implementations multiply, some skip them. */
    if (p->odd_weights && !isfinite(sum.v))
        sum.h = INFINITY;
    number_put(c->out, p->base + i * p->area + j, sum);
}

static void put_planes(void *context, size_t i, size_t j, const struct bounded_row *sums)
{
    const struct plane *p = context;
    if (!p->winograd.hard) {
        bounded_put_row(p->c->out, p->base + i * p->area + j, sums);
        return;
    }
    /* What put_plane does: the sums are numbers. */
    enum { SOME = 128 };
    double hard[SOME], likely[SOME];
    const double *h = p->winograd.hard + i * p->area + j, *l = p->winograd.likely + i * p->area + j;
    for (size_t from = 0, count; from < sums->count; from += count) {
        count = sums->count - from < SOME ? sums->count - from : SOME;
        for (size_t q = 0; q < count; q++) {
            double own = sums->hard ? sums->likely[from + q] : 0, both = l[from + q];
            hard[q] = (sums->hard ? sums->hard[from + q] : 0) + h[from + q];
            likely[q] = sqrt(own * own + both * both);
            likely[q] = likely[q] < hard[q] ? likely[q] : hard[q];
        }
        bounded_put_row(p->c->out, p->base + i * p->area + j + from,
                        &(struct bounded_row){
                            .count = count, .value = sums->value + from, .hard = hard, .likely = likely});
    }
}

/* Offset tables, the same for every sample and group. */
struct tables {
    size_t *weight_rows, *weight_cols, *image_rows, *image_cols, *bias_rows, *bias_cols;
    size_t terms, area; /* of one sum; of one output plane */
    size_t channel;     /* elements of one in the image */
};

static int tables_make(const struct convolution *c, struct tables *t, struct error *err)
{
    struct shape image = image_shape(c), terms = {.rank = c->rank + 1}, area = {.rank = c->rank};
    struct strides dense = strides_dense(&image), rows = {{dense.of[0]}}, cols = {{0}};
    terms.dims[0] = c->x->shape.dims[1] / (int64_t)c->groups;
    for (int i = 0; i < c->rank; i++) {
        terms.dims[i + 1] = c->kernel[i];
        rows.of[i + 1] = dense.of[i + 1] * (size_t)c->dilation[i];
        area.dims[i] = c->out->shape.dims[i + 2];
        cols.of[i] = dense.of[i + 1] * (size_t)c->stride[i];
    }
    size_t taps = shape_span(&terms, 1, terms.rank), outputs = (size_t)c->out->shape.dims[1] / c->groups;
    t->terms = shape_span(&terms, 0, terms.rank);
    t->area = shape_span(&area, 0, area.rank);
    t->channel = shape_span(&image, 1, image.rank);
    t->image_rows = offsets_of(&terms, &rows, err);
    t->image_cols = offsets_of(&area, &cols, err);
    t->weight_rows = offsets_linear(outputs, c->transposed ? taps : t->terms, err);
    t->weight_cols = offsets_linear(t->terms, 1, err);
    t->bias_rows = offsets_linear((size_t)c->out->shape.dims[1], 1, err);
    t->bias_cols = offsets_linear(t->area, 0, err);
    if (!t->bias_rows || !t->bias_cols || !t->image_rows || !t->image_cols || !t->weight_rows ||
        !t->weight_cols)
        return -1;
    for (size_t k = 0; c->transposed && k < t->terms; k++)
        t->weight_cols[k] = k / taps * outputs * taps + (taps - 1 - k % taps);
    return 0;
}

static void tables_release(struct tables *t)
{
    free(t->weight_rows);
    free(t->weight_cols);
    free(t->image_rows);
    free(t->image_cols);
    free(t->bias_rows);
    free(t->bias_cols);
}

/* Whether Winograd's algorithm may be used: one or two axes, stride and dilation 1, transposed or not, any
 * float type but float64. */
static bool may_be_winograd(const struct convolution *c)
{
    size_t kernel[2] = {1, 1};
    if (c->unbounded || c->direct || c->rank > 2 || !dtype_is_float(c->out->type) ||
        c->out->type == DTYPE_DOUBLE)
        return false;
    for (int i = 0; i < c->rank; i++) {
        if (c->stride[i] != 1 || c->dilation[i] != 1 || c->step[i] != 1)
            return false;
        kernel[i] = (size_t)c->kernel[i];
    }
    return c->x->shape.dims[1] > 0 && winograd_applies(kernel);
}

static int errors_alloc(struct winograd_errors *errors, size_t count, struct error *err)
{
    errors->hard = malloc(count * sizeof *errors->hard);
    errors->likely = malloc(count * sizeof *errors->likely);
    if (errors->hard && errors->likely)
        return 0;
    return error_set(err, ERROR_MEMORY, "no memory for the bounds of %zu outputs", count);
}

static int winograd_group(const struct convolution *c, const struct tables *t, const struct bounded *image,
                          size_t group, struct winograd_errors *errors, struct error *err)
{
    size_t channels = (size_t)c->x->shape.dims[1];
    struct winograd w = {.type = c->out->type, .image = image, .kernel = {1, 1}, .size = {1, 1}};
    w.channels = channels / c->groups;
    w.first = group * w.channels;
    w.outputs = (size_t)c->out->shape.dims[1] / c->groups;
    w.depthwise = c->groups > 1 && w.channels == 1;
    w.weights = c->weights;
    w.base = group * (c->weights->count / c->groups);
    w.weight_rows = t->weight_rows;
    w.weight_cols = t->weight_cols;
    for (int i = 0; i < c->rank; i++) {
        w.kernel[i + 2 - c->rank] = (size_t)c->kernel[i];
        w.size[i + 2 - c->rank] = (size_t)(c->out->shape.dims[i + 2] + c->kernel[i] - 1);
    }
    return winograd_bound(&w, errors, err);
}

static int convolve_group(const struct tables *t, const struct operand *weights, const struct operand *pixels,
                          size_t group, struct plane *plane, struct error *err)
{
    const struct convolution *c = plane->c;
    size_t outputs = (size_t)c->out->shape.dims[1] / c->groups, terms = t->terms;
    struct contraction sums = {.type = c->out->type, .m = outputs, .n = t->area, .k = terms};
    size_t channels = (size_t)c->x->shape.dims[1] / c->groups;
    sums.a = (struct view){weights, group * (c->weights->count / c->groups), t->weight_rows, t->weight_cols};
    sums.b = (struct view){pixels, group * channels * t->channel, t->image_rows, t->image_cols};
    sums.roundings = c->roundings;
    sums.unbounded = c->unbounded;
    struct epilogue bias = {1, 1, c->bias, t->bias_rows + plane->first, t->bias_cols};
    sums.then = &bias;
    sums.sink = put_plane;
    sums.row = put_planes;
    sums.context = plane;
    return contract(&sums, err);
}

static int convolve_sample(const struct convolution *c, const struct tables *t, const struct operand *weights,
                           size_t sample, struct error *err)
{
    struct bounded image;
    bounded_init(&image);
    bool borrowed = false;
    int result = -1;
    size_t outputs = (size_t)c->out->shape.dims[1], of_group = outputs / c->groups;
    struct plane plane = {.c = c, .area = t->area, .odd_weights = !weights->finite};
    if (may_be_winograd(c) && errors_alloc(&plane.winograd, of_group * t->area, err))
        goto out;
    borrowed = image_view(c, sample, &image);
    if (!borrowed && image_make(c, sample, &image, err))
        goto out;
    struct operand pixels = operand_of(&image);
    result = 0;
    for (size_t g = 0; result == 0 && g < c->groups; g++) {
        plane.first = g * of_group;
        plane.base = (sample * outputs + plane.first) * t->area;
        if (plane.winograd.hard)
            result = winograd_group(c, t, &image, g, &plane.winograd, err);
        if (result == 0)
            result = convolve_group(t, weights, &pixels, g, &plane, err);
    }
out:
    if (!borrowed)
        bounded_release(&image);
    free(plane.winograd.hard);
    free(plane.winograd.likely);
    return result;
}

static int convolve_samples(const struct convolution *c, struct error *err)
{
    struct tables tables = {0};
    struct operand weights = operand_of(c->weights);
    int result = tables_make(c, &tables, err);
    for (size_t n = 0; result == 0 && c->out->count > 0 && n < (size_t)c->out->shape.dims[0]; n++)
        result = convolve_sample(c, &tables, &weights, n, err);
    tables_release(&tables);
    return result;
}

/* The transforms of Winograd's algorithm read weights as numbers, and groups are small products. */
int convolve(const struct convolution *c, struct error *err)
{
    struct convolution read = *c;
    struct bounded weights;
    if (!c->weights->floats || (c->groups == 1 && !may_be_winograd(c)))
        return convolve_samples(c, err);
    if (bounded_copy(&weights, c->weights, err))
        return -1;
    read.weights = &weights;
    int result = convolve_samples(&read, err);
    bounded_release(&weights);
    return result;
}

/* The images of all samples, [N, C, size ...]. */
static int images_make(const struct convolution *c, struct bounded *images, struct error *err)
{
    struct shape one = image_shape(c), shape = {.rank = one.rank + 1, .dims = {c->x->shape.dims[0]}};
    memcpy(shape.dims + 1, one.dims, (size_t)one.rank * sizeof *one.dims);
    if (bounded_alloc(images, c->x->type, &shape, false, err))
        return -1;
    for (size_t n = 0; n < (size_t)shape.dims[0]; n++)
        image_fill(c, n, images, n * shape_span(&one, 0, one.rank));
    return 0;
}

/* Offset tables of the weights' gradient. Terms are the windows of all samples, columns the taps of a group.
 */
enum { WINDOW_ROWS, WINDOW_TERMS, IMAGE_TERMS, IMAGE_TAPS, SLOPE_ROWS, SLOPE_TAPS, WEIGHT_TABLES };

static int weight_tables(const struct convolution *c, const struct bounded *windows, size_t of_group,
                         const struct bounded *images, size_t *tables[WEIGHT_TABLES], struct error *err)
{
    struct shape terms = windows->shape, taps = {.rank = c->rank + 1};
    struct strides image = strides_dense(&images->shape), across = {{image.of[0], 0}},
                   along = {{image.of[1]}}, dense = strides_dense(&windows->shape);
    size_t area = dense.of[1];
    terms.dims[1] = 1;
    taps.dims[0] = c->x->shape.dims[1] / (int64_t)c->groups;
    for (int i = 0; i < c->rank; i++) {
        across.of[i + 2] = image.of[i + 2] * (size_t)c->stride[i];
        along.of[i + 1] = image.of[i + 2] * (size_t)c->dilation[i];
        taps.dims[i + 1] = c->kernel[i];
    }
    size_t n_taps = shape_span(&taps, 0, taps.rank);
    tables[WINDOW_ROWS] = offsets_linear(of_group, area, err);
    tables[WINDOW_TERMS] = offsets_of(&terms, &dense, err);
    tables[IMAGE_TERMS] = offsets_of(&terms, &across, err);
    tables[IMAGE_TAPS] = offsets_of(&taps, &along, err);
    tables[SLOPE_ROWS] = offsets_linear(of_group, n_taps, err);
    tables[SLOPE_TAPS] = offsets_linear(n_taps, 1, err);
    for (int i = 0; i < WEIGHT_TABLES; i++)
        if (!tables[i])
            return -1;
    return 0;
}

int convolve_weights_gradient(const struct convolution *c, const struct bounded *windows,
                              struct bounded *slope, struct error *err)
{
    if (slope->count == 0 || windows->count == 0 || c->x->count == 0)
        return 0;
    struct bounded images;
    bounded_init(&images);
    size_t *tables[WEIGHT_TABLES] = {NULL}, rows = (size_t)windows->shape.dims[1] / c->groups,
           area = shape_span(&windows->shape, 2, windows->shape.rank);
    int result = images_make(c, &images, err);
    if (result == 0)
        result = weight_tables(c, windows, rows, &images, tables, err);
    struct operand left = operand_of(windows), right = {0};
    if (result == 0)
        right = operand_of(&images);
    size_t channels = result == 0 ? images.count / (size_t)images.shape.dims[0] / c->groups : 0;
    for (size_t g = 0; result == 0 && g < c->groups; g++) {
        struct contraction sums = {.type = slope->type, .m = rows};
        sums.n = shape_span(&slope->shape, 1, slope->shape.rank);
        sums.k = (size_t)windows->shape.dims[0] * area;
        sums.a = (struct view){&left, g * rows * area, tables[WINDOW_ROWS], tables[WINDOW_TERMS]};
        sums.b = (struct view){&right, g * channels, tables[IMAGE_TERMS], tables[IMAGE_TAPS]};
        sums.roundings = (double)sums.k;
        struct gradient_target target = {slope, g * rows * sums.n, tables[SLOPE_ROWS], tables[SLOPE_TAPS]};
        sums.sink = gradient_put;
        sums.context = &target;
        result = contract(&sums, err);
    }
    for (int i = 0; i < WEIGHT_TABLES; i++)
        free(tables[i]);
    bounded_release(&images);
    return result;
}

int convolve_bias_gradient(struct op_gradient *g)
{
    const struct bounded *up = g->upstream[0];
    struct bounded *slope = gradient_make(g, 2);
    struct gradient_sums sums;
    if (!slope || gradient_sums_init(&sums, slope, g->call->err))
        return -1;
    size_t area = shape_span(&up->shape, 2, up->shape.rank);
    for (size_t i = 0; i < up->count; i++) {
        size_t channel = i / area % slope->count;
        if (isfinite(up->value[i]))
            gradient_sums_add(&sums, channel, number_of(up, i));
        else
            gradient_sums_undecided(&sums, channel);
    }
    gradient_sums_store(&sums);
    return 0;
}
