/*
 * Resize and GridSample. Coordinates and weights are exact rationals (GMP), so that ties are ties; samples
 * are added up in MPFR, so that NaN and infinities are what they are.
 */
#include "nodes.h"

#include <gmp.h>
#include <math.h>
#include <string.h>

enum { TAPS = 4 };

/* Samples along one axis with their weights; index -1: a zero. */
struct taps {
    int count;
    int64_t index[TAPS];
    mpq_t weight[TAPS];
    bool outside; /* of the image: the extrapolation value is used */
};

static void taps_init(struct taps *t)
{
    for (int i = 0; i < TAPS; i++)
        mpq_init(t->weight[i]);
}

static void taps_clear(struct taps *t)
{
    for (int i = 0; i < TAPS; i++)
        mpq_clear(t->weight[i]);
}

static int64_t floor_of(const mpq_t x)
{
    mpz_t z;
    mpz_init(z);
    mpz_fdiv_q(z, mpq_numref(x), mpq_denref(x));
    int64_t result = mpz_get_si(z);
    mpz_clear(z);
    return result;
}

/* x += n / d */
static void shift(mpq_t x, long n, unsigned long d)
{
    mpq_t t;
    mpq_init(t);
    mpq_set_si(t, n, d);
    mpq_canonicalize(t);
    mpq_add(x, x, t);
    mpq_clear(t);
}

static void set(mpq_t x, long n)
{
    mpq_set_si(x, n, 1);
}

/* Keys' cubic convolution at distance s >= 0, by the coefficients of its two pieces. */
static void cubic_weight(mpq_t w, const mpq_t s, const mpq_t a)
{
    mpq_t c[4], t;
    for (int i = 0; i < 4; i++)
        mpq_init(c[i]);
    mpq_init(t);
    set(w, 0);
    bool near = mpq_cmp_si(s, 1, 1) <= 0, far = mpq_cmp_si(s, 2, 1) >= 0;
    if (near) { /* (a + 2) s^3 - (a + 3) s^2 + 1 */
        mpq_set(c[3], a);
        shift(c[3], 2, 1);
        mpq_set(c[2], a);
        shift(c[2], 3, 1);
        mpq_neg(c[2], c[2]);
        set(c[0], 1);
    } else if (!far) { /* a s^3 - 5 a s^2 + 8 a s - 4 a */
        static const long factors[] = {-4, 8, -5, 1};
        for (int i = 0; i < 4; i++) {
            set(t, factors[i]);
            mpq_mul(c[i], a, t);
        }
    }
    for (int i = 3; i >= 0; i--) {
        mpq_mul(w, w, s);
        mpq_add(w, w, c[i]);
    }
    for (int i = 0; i < 4; i++)
        mpq_clear(c[i]);
    mpq_clear(t);
}

/* The samples around x by linear or cubic interpolation; their indices may lie outside. */
static void taps_around(struct taps *t, const mpq_t x, bool cubic, const mpq_t a)
{
    int64_t first = floor_of(x) - (cubic ? 1 : 0);
    t->count = cubic ? 4 : 2;
    for (int i = 0; i < t->count; i++) {
        mpq_t s;
        mpq_init(s);
        t->index[i] = first + i;
        mpq_set(s, x);
        shift(s, -(long)t->index[i], 1);
        mpq_abs(s, s);
        if (cubic) {
            cubic_weight(t->weight[i], s, a);
        } else {
            mpq_neg(t->weight[i], s);
            shift(t->weight[i], 1, 1);
        }
        mpq_clear(s);
    }
}

static void tap_single(struct taps *t, int64_t index)
{
    t->count = 1;
    t->index[0] = index;
    set(t->weight[0], 1);
}

/* Sum over all combinations of taps of the axes, of the block of x that begins at `base`. */
static void add_samples(mpfr_t sum, const struct reals *x, size_t base, const struct shape *shape,
                        const struct taps *taps)
{
    struct shape combinations = {.rank = shape->rank};
    size_t count = 1;
    for (int i = 0; i < shape->rank; i++) {
        combinations.dims[i] = taps[i].count;
        count *= (size_t)taps[i].count;
    }
    mpq_t weight;
    mpfr_t term;
    mpq_init(weight);
    mpfr_init(term);
    for (size_t n = 0; n < count; n++) {
        int64_t pick[TENSOR_MAX_RANK], index[TENSOR_MAX_RANK];
        bool zero = false;
        index_of(n, &combinations, pick);
        set(weight, 1);
        for (int i = 0; i < shape->rank; i++) {
            index[i] = taps[i].index[pick[i]];
            zero = zero || index[i] < 0;
            mpq_mul(weight, weight, taps[i].weight[pick[i]]);
        }
        if (zero)
            continue;
        mpfr_mul_q(term, x->at[base + place_of(shape, index)], weight, MPFR_RNDN);
        mpfr_add(sum, sum, term, MPFR_RNDN);
    }
    mpq_clear(weight);
    mpfr_clear(term);
}

struct axis {
    int64_t in, out;
    mpq_t scale, start, end;
};

/* The coordinate of output p by the formulas of the ONNX text. */
static void coordinate(mpq_t x, const struct axis *axis, const char *mode, int64_t p)
{
    mpq_t t;
    mpq_init(t);
    set(x, (long)p);
    bool half = strstr(mode, "half_pixel") != NULL, one = axis->out == 1;
    if (strcmp(mode, "align_corners") == 0) {
        mpq_set_si(t, one ? 0 : (long)(axis->in - 1), one ? 1 : (unsigned long)(axis->out - 1));
        mpq_canonicalize(t);
        mpq_mul(x, x, t);
    } else if (strcmp(mode, "tf_crop_and_resize") == 0) {
        /* start (in - 1) + p (end - start) (in - 1) / (out - 1), or the middle */
        mpq_sub(t, axis->end, axis->start);
        mpq_mul(x, x, t);
        if (one)
            mpq_add(x, axis->start, axis->end);
        set(t, one ? 2 : (long)(axis->out - 1));
        mpq_div(x, x, t);
        if (!one)
            mpq_add(x, x, axis->start);
        set(t, (long)(axis->in - 1));
        mpq_mul(x, x, t);
    } else if (strcmp(mode, "pytorch_half_pixel") == 0 && one) {
        set(x, 0);
    } else {
        if (half)
            shift(x, 1, 2);
        mpq_div(x, x, axis->scale);
        if (half && strcmp(mode, "tf_half_pixel_for_nn") != 0)
            shift(x, -1, 2);
    }
    if (strcmp(mode, "half_pixel_symmetric") == 0) {
        /* in / 2 (1 - out / (scale in)) = (in - out / scale) / 2 */
        mpq_t offset;
        mpq_init(offset);
        set(offset, (long)axis->out);
        mpq_div(offset, offset, axis->scale);
        set(t, (long)axis->in);
        mpq_sub(offset, t, offset);
        mpq_div_2exp(offset, offset, 1);
        mpq_add(x, x, offset);
        mpq_clear(offset);
    }
    mpq_clear(t);
}

static int64_t nearest_of(const mpq_t x, const char *rounding)
{
    mpq_t t;
    mpq_init(t);
    mpq_set(t, x);
    int64_t result;
    if (strcmp(rounding, "floor") == 0) {
        result = floor_of(t);
    } else if (strcmp(rounding, "ceil") == 0) {
        mpq_neg(t, t);
        result = -floor_of(t);
    } else if (strcmp(rounding, "round_prefer_ceil") == 0) {
        shift(t, 1, 2);
        result = floor_of(t);
    } else { /* round_prefer_floor: ceil(x - 1/2) */
        shift(t, -1, 2);
        mpq_neg(t, t);
        result = -floor_of(t);
    }
    mpq_clear(t);
    return result;
}

static void set_double(mpq_t x, mpfr_srcptr value)
{
    mpfr_get_q(x, value);
}

/* Weights of samples outside become 0, the others are scaled to a sum of 1. */
static void leave_out(struct taps *t, int64_t length)
{
    mpq_t total;
    mpq_init(total);
    for (int i = 0; i < t->count; i++)
        if (t->index[i] >= 0 && t->index[i] < length)
            mpq_add(total, total, t->weight[i]);
        else
            set(t->weight[i], 0);
    for (int i = 0; mpq_sgn(total) != 0 && i < t->count; i++)
        mpq_div(t->weight[i], t->weight[i], total);
    mpq_clear(total);
}

static void resize_taps(struct taps *t, const struct node *node, const struct axis *axis, int64_t p)
{
    const struct op_call *call = node->call;
    const char *mode = call_string(call, "mode", "nearest");
    const char *transform = call_string(call, "coordinate_transformation_mode", "half_pixel");
    mpq_t x, a;
    mpq_inits(x, a, NULL);
    mpq_set_d(a, call_float(call, "cubic_coeff_a", -0.75));
    coordinate(x, axis, transform, p);
    t->outside = strcmp(transform, "tf_crop_and_resize") == 0 &&
                 (mpq_sgn(x) < 0 || mpq_cmp_si(x, (long)(axis->in - 1), 1) > 0);
    if (strcmp(mode, "nearest") == 0)
        tap_single(t, nearest_of(x, call_string(call, "nearest_mode", "round_prefer_floor")));
    else
        taps_around(t, x, strcmp(mode, "cubic") == 0, a);
    if (call_int(call, "exclude_outside", 0) && t->count > 1)
        leave_out(t, axis->in);
    for (int i = 0; i < t->count; i++)
        t->index[i] = t->index[i] < 0 ? 0 : t->index[i] >= axis->in ? axis->in - 1 : t->index[i];
    mpq_clears(x, a, NULL);
}

static void read_axis(const struct node *node, struct axis *axis, int k, size_t entry, size_t count)
{
    bool by_sizes = node_has(node, 3) && node->in[3].count > 0;
    mpq_inits(axis->scale, axis->start, axis->end, NULL);
    (void)k;
    set(axis->scale, 1);
    set(axis->end, 1);
    if (entry == count)
        return;
    if (by_sizes) {
        mpq_set_si(axis->scale, (long)axis->out, (unsigned long)axis->in);
        mpq_canonicalize(axis->scale);
    } else {
        set_double(axis->scale, node->in[2].at[entry]);
    }
    if (node_has(node, 1) && node->in[1].count == 2 * count) {
        set_double(axis->start, node->in[1].at[entry]);
        set_double(axis->end, node->in[1].at[count + entry]);
    }
}

bool resize_truth(const struct node *node, struct reals *out)
{
    const struct op_call *call = node->call;
    const struct reals *x = &node->in[0];
    int rank = x->shape.rank;
    size_t named;
    const int64_t *names = call_ints(call, "axes", &named);
    if (x->count == 0 || out->count == 0 || call_int(call, "antialias", 0) ||
        strcmp(call_string(call, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0)
        return false;
    struct axis axes[TENSOR_MAX_RANK];
    struct taps taps[TENSOR_MAX_RANK];
    for (int k = 0; k < rank; k++) {
        size_t entry = named ? named : (size_t)k, count = named ? named : (size_t)rank;
        for (size_t i = 0; i < named; i++)
            if (axis_of(names[i], rank) == k)
                entry = i;
        axes[k] = (struct axis){.in = x->shape.dims[k], .out = out->shape.dims[k]};
        read_axis(node, &axes[k], k, entry, count);
        taps_init(&taps[k]);
    }
    for (size_t i = 0; i < out->count; i++) {
        int64_t index[TENSOR_MAX_RANK];
        bool outside = false;
        index_of(i, &out->shape, index);
        for (int k = 0; k < rank; k++) {
            resize_taps(&taps[k], node, &axes[k], index[k]);
            outside = outside || taps[k].outside;
        }
        if (outside)
            mpfr_set_d(out->at[i], call_float(call, "extrapolation_value", 0), MPFR_RNDN);
        else
            add_samples(out->at[i], x, 0, &x->shape, taps);
    }
    for (int k = 0; k < rank; k++) {
        mpq_clears(axes[k].scale, axes[k].start, axes[k].end, NULL);
        taps_clear(&taps[k]);
    }
    return true;
}

/* Brings a coordinate into [low, high] by reflection at both ends. */
static void reflect(mpq_t x, const mpq_t low, const mpq_t high)
{
    mpq_t span, n;
    mpq_inits(span, n, NULL);
    mpq_sub(span, high, low);
    if (mpq_sgn(span) == 0) {
        mpq_set(x, low);
    } else {
        mpq_sub(x, x, low);
        mpq_div(n, x, span);
        int64_t turns = floor_of(n);
        set(n, (long)turns);
        mpq_mul(n, n, span);
        mpq_sub(x, x, n);
        if (turns % 2 != 0)
            mpq_sub(x, span, x);
        mpq_add(x, x, low);
    }
    mpq_clears(span, n, NULL);
}

static int64_t pad_index(int64_t index, int64_t length, const char *padding, bool align)
{
    if (index >= 0 && index < length)
        return index;
    if (strcmp(padding, "zeros") == 0)
        return -1;
    if (strcmp(padding, "border") == 0)
        return index < 0 ? 0 : length - 1;
    mpq_t x, low, high;
    mpq_inits(x, low, high, NULL);
    set(x, (long)index);
    mpq_set_si(low, align ? 0 : -1, align ? 1 : 2);
    mpq_set_si(high, align ? (long)length - 1 : 2 * (long)length - 1, align ? 1 : 2);
    mpq_canonicalize(high);
    reflect(x, low, high);
    int64_t result = floor_of(x);
    mpq_clears(x, low, high, NULL);
    return result;
}

/* A location beyond the image, whose edge is that of its outermost pixels unless corners are aligned, becomes
 * the nearest sample. */
static void clamp(mpq_t x, int64_t length, bool align)
{
    mpq_t edge;
    mpq_init(edge);
    mpq_set_si(edge, align ? 0 : -1, align ? 1 : 2);
    if (mpq_cmp(x, edge) < 0)
        set(x, 0);
    mpq_set_si(edge, align ? (long)length - 1 : 2 * (long)length - 1, align ? 1 : 2);
    mpq_canonicalize(edge);
    if (mpq_cmp(x, edge) > 0)
        set(x, (long)length - 1);
    mpq_clear(edge);
}

/* The samples of one axis at n, a coordinate from -1 to 1. */
static void grid_taps(struct taps *t, const struct node *node, mpfr_srcptr n, int64_t length)
{
    const char *mode = call_string(node->call, "mode", "linear");
    const char *padding = call_string(node->call, "padding_mode", "zeros");
    bool align = call_int(node->call, "align_corners", 0);
    mpq_t x, l, a;
    mpq_inits(x, l, a, NULL);
    set_double(x, n);
    shift(x, 1, 1);
    set(l, (long)(align ? length - 1 : length));
    mpq_mul(x, x, l);
    if (!align)
        shift(x, -1, 1);
    mpq_div_2exp(x, x, 1);
    if (strcmp(padding, "border") == 0)
        clamp(x, length, align);
    mpq_set_si(a, -3, 4);
    if (strcmp(mode, "nearest") == 0) { /* to nearest, ties to even */
        int64_t low = nearest_of(x, "round_prefer_floor"), high = nearest_of(x, "round_prefer_ceil");
        tap_single(t, low % 2 == 0 ? low : high);
    } else {
        taps_around(t, x, strstr(mode, "cubic") != NULL, a);
    }
    for (int i = 0; i < t->count; i++)
        t->index[i] = pad_index(t->index[i], length, padding, align);
    mpq_clears(x, l, a, NULL);
}

bool grid_sample_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0], *grid = &node->in[1];
    int rank = x->shape.rank - 2;
    if (x->count == 0 || out->count == 0)
        return false;
    struct shape image = shape_make(rank, x->shape.dims + 2);
    struct taps taps[TENSOR_MAX_RANK];
    for (int k = 0; k < rank; k++)
        taps_init(&taps[k]);
    size_t channels = (size_t)x->shape.dims[1], block = x->count / (size_t)x->shape.dims[0] / channels;
    size_t positions = out->count / (size_t)x->shape.dims[0] / channels;
    for (size_t i = 0; i < out->count; i++) {
        size_t plane = i / positions, at = (plane / channels * positions + i % positions) * (size_t)rank;
        bool known = true;
        for (int k = 0; k < rank; k++) { /* the grid is in the order x, y, z */
            mpfr_srcptr n = grid->at[at + (size_t)(rank - 1 - k)];
            known = known && mpfr_number_p(n) && mpfr_cmpabs_ui(n, 1000000) < 0;
            if (known)
                grid_taps(&taps[k], node, n, image.dims[k]);
        }
        if (known)
            add_samples(out->at[i], x, plane * block, &image, taps);
        else
            mpfr_set_nan(out->at[i]);
    }
    for (int k = 0; k < rank; k++)
        taps_clear(&taps[k]);
    return true;
}
