/*
 * Winograd's algorithm as a textbook has it, in float32 and in the halves: an implementation that is right by
 * construction. It must never be outside the hard bound, whatever the data.
 */
#include "base/arena.h"
#include "base/random.h"
#include "bounds/winograd.h"
#include "ops/op.h"
#include "winograd_worst.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = WINOGRAD_TILE };

/* How the sums of a transform are computed. */
enum order { FORWARD, BACKWARD, FUSED, PAIRWISE, ORDERS };

struct machine {
    enum dtype type; /* that it computes in */
    enum order order;
};

static double round_to(enum dtype type, double x)
{
    switch (type) {
    case DTYPE_FLOAT16:
        return (double)float16_to(float16_from(x));
    case DTYPE_BFLOAT16:
        return (double)bfloat16_to(bfloat16_from(x));
    default:
        return (double)(float)x;
    }
}

static double rounded(const struct machine *m, double x)
{
    return round_to(m->type, x);
}

static double add(const struct machine *m, double a, double b)
{
    return rounded(m, a + b); /* double has more than twice the digits: no double rounding */
}

static double sum_pairs(const struct machine *m, const double *terms, size_t count)
{
    if (count < 2)
        return count ? terms[0] : 0;
    return add(m, sum_pairs(m, terms, count / 2), sum_pairs(m, terms + count / 2, count - count / 2));
}

static double dot(const struct machine *m, const double *factors, const double *x, size_t step, size_t count)
{
    double terms[MOST], sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = m->order == BACKWARD ? count - 1 - i : i;
        double factor = rounded(m, factors[k]);
        if (factor == 0)
            continue;
        terms[used] = rounded(m, factor * x[k * step]);
        if (m->order == FUSED)
            sum = used ? (double)rounded(m, fma(factor, x[k * step], sum)) : terms[0];
        used++;
    }
    if (m->order == FUSED)
        return sum;
    if (m->order == PAIRWISE)
        return sum_pairs(m, terms, used);
    sum = used ? terms[0] : 0;
    for (size_t i = 1; i < used; i++)
        sum = add(m, sum, terms[i]);
    return sum;
}

/* out = left * in * right', all of them MOST columns wide. */
static void sandwich(const struct machine *m, const struct winograd_matrix *left,
                     const struct winograd_matrix *right, const double *in, double *out)
{
    double half[MOST * MOST];
    for (size_t i = 0; i < left->rows; i++)
        for (size_t j = 0; j < right->cols; j++)
            half[i * MOST + j] = dot(m, left->at[i], in + j, MOST, left->cols);
    for (size_t i = 0; i < left->rows; i++)
        for (size_t j = 0; j < right->rows; j++)
            out[i * MOST + j] = dot(m, right->at[j], half + i * MOST, 1, right->cols);
}

/* A convolution at stride 1: an image without padding, weights as Conv has them. */
struct problem {
    enum dtype type;
    struct machine machine;
    size_t channels, outputs, kernel[2], size[2];
    size_t groups;
    double *image, *weights;
};

static size_t extent(const struct problem *p, int axis)
{
    return p->size[axis] - p->kernel[axis] + 1;
}

static size_t images_of(const struct problem *p)
{
    return p->channels * p->size[0] * p->size[1];
}

static size_t weights_of(const struct problem *p)
{
    return p->outputs * p->channels / p->groups * p->kernel[0] * p->kernel[1];
}

static void take(const double *from, size_t rows, size_t cols, size_t step, double *to)
{
    memset(to, 0, MOST * MOST * sizeof *to);
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * MOST, from + i * step, cols * sizeof *to);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One tile of one output channel. */
static void winograd_tile(const struct problem *p, const struct winograd_transform t[2], size_t output,
                          size_t y, size_t x, double *out)
{
    double in[MOST * MOST], kernel[MOST * MOST], u[MOST * MOST], v[MOST * MOST], sum[MOST * MOST] = {0};
    size_t taps = p->kernel[0] * p->kernel[1], of_group = p->channels / p->groups;
    size_t first = output / (p->outputs / p->groups) * of_group;
    for (size_t c = 0; c < of_group; c++) {
        take(p->image + ((first + c) * p->size[0] + y) * p->size[1] + x, least(t[0].b.rows, p->size[0] - y),
             least(t[1].b.rows, p->size[1] - x), p->size[1], in);
        take(p->weights + (output * of_group + c) * taps, p->kernel[0], p->kernel[1], p->kernel[1], kernel);
        sandwich(&p->machine, &t[0].b, &t[1].b, in, v);
        sandwich(&p->machine, &t[0].g, &t[1].g, kernel, u);
        for (size_t i = 0; i < MOST * MOST; i++)
            if (i / MOST < t[0].b.rows && i % MOST < t[1].b.rows)
                sum[i] = add(&p->machine, sum[i], rounded(&p->machine, u[i] * v[i]));
    }
    sandwich(&p->machine, &t[0].a, &t[1].a, sum, out);
}

static void winograd_run(const struct problem *p, const struct winograd_points *points, double *result)
{
    struct winograd_transform t[2];
    size_t high = extent(p, 0), wide = extent(p, 1);
    for (int i = 0; i < 2; i++)
        t[i] = winograd_transform(points->at, p->kernel[i] == 1 ? 1 : points->count + 2 - p->kernel[i],
                                  p->kernel[i]);
    for (size_t m = 0; m < p->outputs; m++)
        for (size_t y = 0; y < high; y += t[0].a.rows)
            for (size_t x = 0; x < wide; x += t[1].a.rows) {
                double out[MOST * MOST];
                winograd_tile(p, t, m, y, x, out);
                for (size_t i = 0; i < t[0].a.rows && y + i < high; i++)
                    for (size_t j = 0; j < t[1].a.rows && x + j < wide; j++)
                        result[(m * high + y + i) * wide + x + j] = round_to(p->type, out[i * MOST + j]);
            }
}

static struct bounded tensor_of(enum dtype type, const struct shape *shape, const double *values)
{
    struct bounded b;
    assert_int_equal(bounded_alloc(&b, type, shape, false, NULL), 0);
    for (size_t i = 0; i < b.count; i++)
        b.value[i] = values[i];
    return b;
}

/* The reference's Conv of the problem, or ConvTranspose of `weights` in that operator's order. */
static struct bounded reference_of(const struct problem *p, const char *op, const double *weights)
{
    struct bounded out;
    struct arena arena;
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    bool transposed = strcmp(op, "ConvTranspose") == 0;
    int64_t of_group = (int64_t)(p->channels / p->groups), high = (int64_t)p->kernel[0],
            wide = (int64_t)p->kernel[1];
    struct shape image = {.rank = 4,
                          .dims = {1, (int64_t)p->channels, (int64_t)p->size[0], (int64_t)p->size[1]}};
    struct shape kernel = {.rank = 4, .dims = {(int64_t)p->outputs, of_group, high, wide}};
    if (transposed)
        kernel = (struct shape){.rank = 4, .dims = {(int64_t)p->channels, (int64_t)p->outputs, high, wide}};
    struct bounded x = tensor_of(p->type, &image, p->image);
    struct bounded w = tensor_of(p->type, &kernel, weights);
    const struct bounded *inputs[] = {&x, &w};
    bounded_init(&out);
    arena_init(&arena);
    node.op_type = (char *)op;
    if (transposed) /* as much as keeps the outputs that see the whole kernel */
        node_set_ints(&arena, &node, "pads", (const int64_t[]){high - 1, wide - 1, high - 1, wide - 1}, 4);
    node_set_int(&arena, &node, "group", (int64_t)p->groups);
    struct op_call call = {.op = op_find(op),
                           .node = &node,
                           .opset = 17,
                           .n_inputs = 2,
                           .inputs = inputs,
                           .n_outputs = 1,
                           .outputs = &out};
    assert_int_equal(call.op->eval(&call), 0);
    assert_int_equal(out.count, p->outputs * extent(p, 0) * extent(p, 1));
    bounded_release(&x);
    bounded_release(&w);
    arena_release(&arena);
    return out;
}

/* The largest error over the hard bound; one where it is infinite is 0, and one that is no number infinite.
 */
static double worst_of(const struct bounded *want, const double *got)
{
    double worst = 0;
    for (size_t i = 0; i < want->count; i++) {
        double hard = bounded_hard(want, i), error = fabs((double)(got[i] - want->value[i]));
        if (isinf(hard) || error == 0)
            continue;
        double ratio = error / hard;
        worst = ratio <= worst ? worst : isnan(ratio) ? (double)INFINITY : ratio;
    }
    return worst;
}

static double worst_by(const struct problem *p, const struct winograd_points *points,
                       const struct bounded *want)
{
    double *got = calloc(want->count, sizeof *got);
    assert_non_null(got);
    winograd_run(p, points, got);
    double worst = worst_of(want, got);
    free(got);
    return worst;
}

struct variant {
    enum dtype type;
    size_t channels, outputs, size[2], kernel[2], groups;
};

static struct problem problem_make(const struct variant *v)
{
    struct problem p = {.type = v->type,
                        .machine = {v->type, FORWARD},
                        .channels = v->channels,
                        .outputs = v->outputs,
                        .kernel = {v->kernel[0], v->kernel[1]},
                        .size = {v->size[0], v->size[1]},
                        .groups = v->groups};
    p.image = calloc(images_of(&p), sizeof *p.image);
    p.weights = calloc(weights_of(&p), sizeof *p.weights);
    assert_true(p.image && p.weights);
    return p;
}

static void problem_release(struct problem *p)
{
    free(p->image);
    free(p->weights);
}

static double draw(struct rng *rng, const struct machine *m, int kind)
{
    double x = kind == 0   ? rng_normal(rng)
               : kind == 1 ? 0.5 + rng_unit(rng) / 2
                           : (double)rng_range(rng, -4, 4);
    return rounded(m, x);
}

static void fill(struct problem *p, struct rng *rng, int kind)
{
    for (size_t i = 0; i < images_of(p); i++)
        p->image[i] = draw(rng, &p->machine, kind);
    for (size_t i = 0; i < weights_of(p); i++)
        p->weights[i] = draw(rng, &p->machine, kind == 2 ? 2 : 0);
}

/* The matrices of Lavin and Gray. */
static const double b63[8][8] = {{1, 0, -5.25, 0, 5.25, 0, -1, 0},    {0, 1, 1, -4.25, -4.25, 1, 1, 0},
                                 {0, -1, 1, 4.25, -4.25, -1, 1, 0},   {0, .5, .25, -2.5, -1.25, 2, 1, 0},
                                 {0, -.5, .25, 2.5, -1.25, -2, 1, 0}, {0, 2, 4, -2.5, -5, .5, 1, 0},
                                 {0, -2, 4, 2.5, -5, -.5, 1, 0},      {0, -1, 0, 5.25, 0, -5.25, 0, 1}};
static const double g63[8][3] = {{1, 0, 0},
                                 {-2. / 9, -2. / 9, -2. / 9},
                                 {-2. / 9, 2. / 9, -2. / 9},
                                 {1. / 90, 1. / 45, 2. / 45},
                                 {1. / 90, -1. / 45, 2. / 45},
                                 {32. / 45, 16. / 45, 8. / 45},
                                 {32. / 45, -16. / 45, 8. / 45},
                                 {0, 0, 1}};
static const double a63[6][8] = {{1, 1, 1, 1, 1, 1, 1, 0},           {0, 1, -1, 2, -2, .5, -.5, 0},
                                 {0, 1, 1, 4, 4, .25, .25, 0},       {0, 1, -1, 8, -8, .125, -.125, 0},
                                 {0, 1, 1, 16, 16, .0625, .0625, 0}, {0, 1, -1, 32, -32, .03125, -.03125, 1}};

static void transforms_are_the_textbook_s(void **state)
{
    (void)state;
    struct winograd_transform t = winograd_transform((const double[]){0, 1, -1, 2, -2, .5, -.5}, 6, 3);
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++)
            assert_true(fabs(t.b.at[i][j]) == fabs(b63[i][j]));
        for (int j = 0; j < 3; j++)
            assert_true(fabs(fabs(t.g.at[i][j]) - fabs(g63[i][j])) < 1e-15);
        for (int j = 0; j < 6; j++)
            assert_true(t.a.at[j][i] == a63[j][i]);
    }
}

/* For real numbers the transforms give the convolution: unit kernels on unit images, all of them. */
static void transforms_convolve(void **state)
{
    (void)state;
    for (const struct winograd_points *p = winograd_points; p->count; p++)
        for (size_t r = 2; r <= p->count; r++) {
            size_t m = p->count + 2 - r;
            struct winograd_transform t = winograd_transform(p->at, m, r);
            for (size_t i = 0; i < m * r * (m + r - 1); i++) {
                size_t output = i % m, tap = i / m % r, place = i / m / r;
                double sum = 0;
                for (size_t k = 0; k <= p->count; k++)
                    sum += t.a.at[output][k] * t.g.at[k][tap] * t.b.at[k][place];
                assert_true(fabs(sum - (place == output + tap)) < 1e-12);
            }
        }
}

/* F(6x6,3x3) in float32, the sums from left to right, on what a search found. */
static void the_worst_found_is_inside(void **state)
{
    (void)state;
    struct problem p = problem_make(&(struct variant){DTYPE_FLOAT, 1, 1, {8, 8}, {3, 3}, 1});
    memcpy(p.image, winograd_worst_image, sizeof winograd_worst_image);
    memcpy(p.weights, winograd_worst_kernel, sizeof winograd_worst_kernel);
    double got[36], weights = 0, largest = 0, error = 0;
    struct bounded want = reference_of(&p, "Conv", p.weights);
    const struct winograd_points *points = winograd_points;
    while (points->count != 7)
        points++;
    winograd_run(&p, points, got);
    for (int i = 0; i < 9; i++)
        weights += fabs(p.weights[i]);
    for (int i = 0; i < 64; i++)
        largest = fmax(largest, fabs(p.image[i]));
    for (int i = 0; i < 36; i++)
        error = fmax(error, fabs((double)(got[i] - want.value[i])));
    /* 256 units were once thought to be enough. */
    assert_true(error > 900 * 0x1p-24 * largest * weights);
    assert_true(worst_of(&want, got) <= 1);
    bounded_release(&want);
    problem_release(&p);
}

/* Every set of points and every order of summation, on images of several tiles. */
static void nothing_random_is_outside(void **state)
{
    (void)state;
    static const struct variant variants[] = {
        {DTYPE_FLOAT, 1, 1, {8, 8}, {3, 3}, 1},   {DTYPE_FLOAT, 3, 2, {13, 9}, {3, 3}, 1},
        {DTYPE_FLOAT, 17, 2, {8, 11}, {3, 3}, 1}, {DTYPE_FLOAT, 4, 6, {9, 9}, {3, 3}, 2},
        {DTYPE_FLOAT, 2, 2, {12, 12}, {5, 5}, 1}, {DTYPE_FLOAT, 2, 1, {9, 12}, {2, 4}, 1},
        {DTYPE_FLOAT, 1, 2, {9, 9}, {7, 7}, 1},   {DTYPE_FLOAT, 3, 2, {3, 19}, {1, 3}, 1},
        {DTYPE_FLOAT, 3, 1, {14, 2}, {5, 1}, 1},  {DTYPE_FLOAT, 2, 2, {8, 8}, {6, 3}, 1},
    };
    struct rng rng = rng_seed(1);
    double worst = 0;
    for (size_t i = 0; i < sizeof variants / sizeof *variants * 3; i++) {
        const struct variant *v = &variants[i / 3];
        struct problem p = problem_make(v);
        fill(&p, &rng, (int)(i % 3));
        struct bounded want = reference_of(&p, "Conv", p.weights);
        size_t larger = v->kernel[0] > v->kernel[1] ? v->kernel[0] : v->kernel[1];
        for (const struct winograd_points *points = winograd_points; points->count; points++)
            for (int order = 0; points->count >= larger && order < ORDERS; order++) {
                p.machine.order = (enum order)order;
                double ratio = worst_by(&p, points, &want);
                assert_true(ratio <= 1);
                worst = fmax(worst, ratio);
            }
        bounded_release(&want);
        problem_release(&p);
    }
    assert_true(worst > 0.05); /* and the bound is not far away */
}

/* In their own arithmetic the halves are for the smallest tile, and so are channels of their own; for the
 * other tiles halves are computed in float32. */
static void halves_and_single_channels(void **state)
{
    (void)state;
    static const struct variant variants[] = {
        {DTYPE_FLOAT16, 3, 2, {9, 9}, {3, 3}, 1},
        {DTYPE_BFLOAT16, 3, 2, {9, 9}, {3, 3}, 1},
        {DTYPE_FLOAT16, 4, 4, {9, 9}, {3, 3}, 4},
        {DTYPE_FLOAT, 4, 8, {9, 9}, {3, 3}, 4},
    };
    struct rng rng = rng_seed(2);
    for (size_t i = 0; i < 100; i++) {
        const struct variant *v = &variants[i % 4];
        struct problem p = problem_make(v);
        fill(&p, &rng, (int)(i / 4 % 3));
        p.machine.order = (enum order)(i / 12 % ORDERS);
        struct bounded want = reference_of(&p, "Conv", p.weights);
        assert_int_equal(winograd_points[1].count, 3);
        assert_true(worst_by(&p, &winograd_points[1], &want) <= 1);
        p.machine.type = DTYPE_FLOAT;
        for (const struct winograd_points *points = &winograd_points[2]; p.groups == 1 && points->count;
             points++)
            assert_true(worst_by(&p, points, &want) <= 1);
        bounded_release(&want);
        problem_release(&p);
    }
}

/* A transposed convolution at stride 1 is a convolution with the kernel turned round. */
static void a_transposed_one_is_inside(void **state)
{
    (void)state;
    struct problem p = problem_make(&(struct variant){DTYPE_FLOAT, 3, 2, {14, 14}, {3, 3}, 1});
    struct rng rng = rng_seed(3);
    fill(&p, &rng, 0);
    double weights[3 * 2 * 9];
    for (size_t m = 0; m < 2; m++)
        for (size_t c = 0; c < 3; c++)
            for (size_t k = 0; k < 9; k++)
                weights[(c * 2 + m) * 9 + 8 - k] = p.weights[(m * 3 + c) * 9 + k];
    struct bounded want = reference_of(&p, "ConvTranspose", weights);
    for (const struct winograd_points *points = winograd_points + 1; points->count; points++)
        assert_true(worst_by(&p, points, &want) <= 1);
    bounded_release(&want);
    problem_release(&p);
}

static void mutate(struct problem *p, struct rng *rng)
{
    for (int i = 0; i < 3; i++) {
        double *x = &p->image[rng_below(rng, images_of(p))];
        uint64_t how = rng_below(rng, 3);
        *x = how == 0 ? -*x : how == 1 ? rng_unit(rng) * 2 - 1 : *x * (1 + 1e-3 * rng_normal(rng));
        *x = rounded(&p->machine, fmax(-1, fmin(1, *x)));
    }
    double *w = &p->weights[rng_below(rng, weights_of(p))];
    uint64_t how = rng_below(rng, 4);
    *w = how == 0   ? -*w
         : how == 1 ? rng_unit(rng) * 2 - 1
         : how == 2 ? *w * (1 + 1e-2 * rng_normal(rng))
                    : *w;
    *w = rounded(&p->machine, *w);
}

static double climb(struct problem *p, const struct winograd_points *points, struct rng *rng, int steps)
{
    struct problem next = problem_make(
        &(struct variant){p->machine.type, 1, 1, {p->size[0], p->size[1]}, {p->kernel[0], p->kernel[1]}, 1});
    double best = 0;
    for (int step = 0; step < steps; step++) {
        memcpy(next.image, p->image, images_of(p) * sizeof *p->image);
        memcpy(next.weights, p->weights, weights_of(p) * sizeof *p->weights);
        next.machine = p->machine;
        if (step > 0)
            mutate(&next, rng);
        struct bounded want = reference_of(&next, "Conv", next.weights);
        double ratio = worst_by(&next, points, &want);
        bounded_release(&want);
        assert_true(ratio <= 1);
        if (ratio >= best) {
            best = ratio;
            memcpy(p->image, next.image, images_of(p) * sizeof *p->image);
            memcpy(p->weights, next.weights, weights_of(p) * sizeof *p->weights);
        }
    }
    problem_release(&next);
    return best;
}

/* Hill climbing for the data that come nearest to the bound, from random ones and from the worst found. */
static void nothing_searched_for_is_outside(void **state)
{
    (void)state;
    static const size_t taps[] = {3, 3, 3, 5, 5, 2, 7}, counts[] = {3, 5, 7, 5, 7, 7, 7};
    for (size_t i = 0; i < sizeof taps / sizeof *taps; i++) {
        struct rng rng = rng_seed(10 + i);
        struct problem p = problem_make(
            &(struct variant){DTYPE_FLOAT, 1, 1, {counts[i] + 1, counts[i] + 1}, {taps[i], taps[i]}, 1});
        fill(&p, &rng, 0);
        if (taps[i] == 3 && counts[i] == 7) {
            memcpy(p.image, winograd_worst_image, sizeof winograd_worst_image);
            memcpy(p.weights, winograd_worst_kernel, sizeof winograd_worst_kernel);
        }
        for (const struct winograd_points *points = winograd_points; points->count; points++)
            if (points->count == counts[i])
                print_message("F(%zu,%zu): %.3f of the bound\n", points->count + 2 - taps[i], taps[i],
                              climb(&p, points, &rng, 1000));
        problem_release(&p);
    }
}

static void check_overflow(enum dtype type, const struct winograd_points *points, double from, double decided)
{
    struct problem p =
        problem_make(&(struct variant){type, 2, 1, {2 * points->count + 2, points->count + 1}, {3, 3}, 1});
    struct rng rng = rng_seed(4);
    double *image = calloc(images_of(&p), sizeof *image);
    assert_non_null(image);
    fill(&p, &rng, 1);
    memcpy(image, p.image, images_of(&p) * sizeof *image);
    size_t strayed = 0;
    for (double scale = from; scale < (double)dtype_highest(type); scale *= 1.4) {
        for (size_t i = 0; i < images_of(&p); i++)
            p.image[i] = rounded(&p.machine, image[i] * scale * (rng_below(&rng, 2) ? 1 : -1));
        struct bounded want = reference_of(&p, "Conv", p.weights);
        double *got = calloc(want.count, sizeof *got);
        assert_non_null(got);
        winograd_run(&p, points, got);
        for (size_t i = 0; i < want.count; i++) {
            strayed += isfinite(got[i]) ? 0 : 1;
            assert_true(isfinite(got[i]) || isinf(bounded_hard(&want, i)));
            assert_true(scale > decided || isfinite(bounded_hard(&want, i)));
        }
        free(got);
        bounded_release(&want);
    }
    assert_true(strayed > 0);
    free(image);
    problem_release(&p);
}

/* Numbers that a transform of any tile may not hold are not judged, and those that it holds are. */
static void overflow_inside_is_undecided(void **state)
{
    (void)state;
    for (const struct winograd_points *points = winograd_points + 1; points->count; points++)
        check_overflow(DTYPE_FLOAT, points, 1e30, 1e33);
    check_overflow(DTYPE_FLOAT16, &winograd_points[1], 10, 100);
    check_overflow(DTYPE_BFLOAT16, &winograd_points[1], 1e30, 1e33);
}

/* An infinity may become NaN in all of a tile, and in no other one. */
static void an_infinity_reaches_its_tiles(void **state)
{
    (void)state;
    struct problem p = problem_make(&(struct variant){DTYPE_FLOAT, 1, 1, {32, 32}, {3, 3}, 1});
    struct rng rng = rng_seed(5);
    fill(&p, &rng, 0);
    p.image[0] = (double)INFINITY;
    struct bounded want = reference_of(&p, "Conv", p.weights);
    assert_true(isinf(bounded_hard(&want, 5 * 30 + 5)) && isfinite(bounded_hard(&want, 6 * 30 + 6)));
    bounded_release(&want);
    problem_release(&p);
}

/* Nothing comes of nothing. */
static void zeros_are_exact(void **state)
{
    (void)state;
    struct problem p = problem_make(&(struct variant){DTYPE_FLOAT, 2, 1, {16, 16}, {3, 3}, 1});
    struct rng rng = rng_seed(6);
    fill(&p, &rng, 0);
    memset(p.image, 0, images_of(&p) * sizeof *p.image);
    for (int i = 0; i < 18; i++)
        p.weights[i] = i; /* integers: the direct form is exact as well */
    struct bounded want = reference_of(&p, "Conv", p.weights);
    for (size_t i = 0; i < want.count; i++)
        assert_true(bounded_hard(&want, i) == 0);
    bounded_release(&want);
    problem_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_are_the_textbook_s),   cmocka_unit_test(transforms_convolve),
        cmocka_unit_test(the_worst_found_is_inside),       cmocka_unit_test(nothing_random_is_outside),
        cmocka_unit_test(halves_and_single_channels),      cmocka_unit_test(a_transposed_one_is_inside),
        cmocka_unit_test(nothing_searched_for_is_outside), cmocka_unit_test(overflow_inside_is_undecided),
        cmocka_unit_test(an_infinity_reaches_its_tiles),   cmocka_unit_test(zeros_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
