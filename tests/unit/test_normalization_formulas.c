/*
 * The gradient of LayerNormalization in float32 by every usual formula, on statistics computed in every usual
 * way: what any of them gives must be inside the bound, also for a mean that is large against the spread.
 */
#include "base/random.h"
#include "model/model.h"
#include "model/onnx.h"
#include "ops/gradient.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TRIALS = 400, ROWS = 3, LONGEST = 200, WAYS = 3, FORMULAS = 4 };

/* One node with its numbers, and its gradient by the reference. */
struct scene {
    struct model *model;
    size_t n;
    float epsilon, x[ROWS * LONGEST], g[ROWS * LONGEST], scale[LONGEST];
    struct bounded inputs[2], upstream, output, slopes[2];
};

static void fill(struct bounded *b, const float *values)
{
    for (size_t i = 0; i < b->count; i++)
        b->value[i] = values[i];
}

static void draw(struct scene *s, struct rng *rng)
{
    double offset = rng_chance(rng, 0.4) ? 0 : pow(10, rng_uniform(rng, -1, 4));
    double spread = pow(10, rng_uniform(rng, -3, 2));
    bool alike = rng_chance(rng, 0.3);
    s->n = 1 + rng_below(rng, rng_chance(rng, 0.2) ? LONGEST : 20);
    s->epsilon = (float)pow(10, -(double)rng_below(rng, 6));
    for (size_t i = 0; i < ROWS * s->n; i++) {
        s->x[i] = (float)(offset + spread * rng_normal(rng));
        s->g[i] = (float)(alike ? 1 + 0.1 * rng_normal(rng) : rng_normal(rng));
    }
    for (size_t i = 0; i < s->n; i++)
        s->scale[i] = (float)rng_normal(rng);
}

static void differentiate(struct scene *s)
{
    char text[300];
    uint8_t *bytes;
    size_t size;
    struct error err = {0};
    struct shape block = {.rank = 2, .dims = {ROWS, (int64_t)s->n}},
                 row = {.rank = 1, .dims = {(int64_t)s->n}};
    snprintf(
        text, sizeof text,
        "<ir_version: 8, opset_import: [\"\" : 17]> g (float[%d,%zu] x, float[%zu] s) => (float[%d,%zu] y) "
        "{ y = LayerNormalization<epsilon = %.12f>(x, s) }",
        ROWS, s->n, s->n, ROWS, s->n, (double)s->epsilon);
    if (onnx_parse_text(text, &bytes, &size, &err) || model_parse(&s->model, bytes, size, &err))
        fail_msg("%s", err.message);
    free(bytes);
    assert_int_equal(bounded_alloc(&s->inputs[0], DTYPE_FLOAT, &block, false, &err), 0);
    assert_int_equal(bounded_alloc(&s->inputs[1], DTYPE_FLOAT, &row, false, &err), 0);
    assert_int_equal(bounded_alloc(&s->upstream, DTYPE_FLOAT, &block, false, &err), 0);
    fill(&s->inputs[0], s->x);
    fill(&s->inputs[1], s->scale);
    fill(&s->upstream, s->g);
    const struct bounded *inputs[] = {&s->inputs[0], &s->inputs[1]}, *upstream[] = {&s->upstream};
    bounded_init(&s->output);
    bounded_init(&s->slopes[0]);
    bounded_init(&s->slopes[1]);
    struct op_call call = {.op = op_find("LayerNormalization"),
                           .node = s->model->graph->node[0],
                           .opset = 17,
                           .n_inputs = 2,
                           .inputs = inputs,
                           .n_outputs = 1,
                           .outputs = &s->output,
                           .err = &err};
    struct op_gradient g = {&call, upstream, (const bool[]){true, true}, s->slopes};
    if (call.op->eval(&call) || call.op->gradient(&g))
        fail_msg("%s", err.message);
}

static void release(struct scene *s)
{
    for (int i = 0; i < 2; i++) {
        bounded_release(&s->inputs[i]);
        bounded_release(&s->slopes[i]);
    }
    bounded_release(&s->upstream);
    bounded_release(&s->output);
    model_free(s->model);
}

/* The mean and the reciprocal deviation: in two passes, in one pass, or as running ones. */
static void statistics(int way, const float *x, size_t n, float epsilon, float *mean, float *r)
{
    float m = 0, v = 0, count = (float)n;
    for (size_t i = 0; i < n; i++) {
        float d = x[i] - m;
        m += way == 2 ? d / (float)(i + 1) : x[i];
        v += way == 2 ? d * (x[i] - m) : way == 1 ? x[i] * x[i] : 0;
    }
    m = way == 2 ? m : m / count;
    for (size_t i = 0; way == 0 && i < n; i++)
        v += (x[i] - m) * (x[i] - m);
    v /= count;
    if (way == 1)
        v = v > m * m ? v - m * m : 0;
    *mean = m;
    *r = 1 / sqrtf(v + epsilon);
}

static size_t judged;

static void expect(const struct bounded *slope, size_t at, float value, const char *what, int way)
{
    double hard = bounded_hard(slope, at);
    if (isinf(hard))
        return;
    judged++;
    if (!(fabsl(value - slope->value[at]) <= hard))
        fail_msg("%s, statistics %d: %g instead of %Lg, bound %g", what, way, (double)value, slope->value[at],
                 hard);
}

/* One line, the chain through the variance, b x + c, and the one line with means. */
static void try_row(const struct scene *s, int way, size_t row, float by_scale[2][LONGEST])
{
    static const char *const names[FORMULAS] = {"one line", "the chain", "b x + c", "means"};
    const float *x = s->x + row * s->n, *g = s->g + row * s->n;
    float mean, r, n = (float)s->n, s1 = 0, products = 0, hats = 0, centred = 0, rest = 0;
    statistics(way, x, s->n, s->epsilon, &mean, &r);
    for (size_t i = 0; i < s->n; i++) {
        float t = g[i] * s->scale[i];
        s1 += t;
        products += t * x[i];
        hats += t * ((x[i] - mean) * r);
        centred += t * (x[i] - mean);
        rest += x[i] - mean;
    }
    float b = (s1 * mean - products) * r * r * r / n, c = -b * mean - s1 * r / n;
    float variance = centred * -0.5f * r * r * r, by_mean = -r * s1 + variance * (-2 / n) * rest;
    for (size_t i = 0; i < s->n; i++) {
        float t = g[i] * s->scale[i], hat = (x[i] - mean) * r;
        const float results[FORMULAS] = {
            r / n * (n * t - s1 - hat * hats),
            t * r + variance * 2 * (x[i] - mean) / n + by_mean / n,
            r * t + b * x[i] + c,
            r * (t - s1 / n - hat * (hats / n)),
        };
        for (int k = 0; k < FORMULAS; k++)
            expect(&s->slopes[0], row * s->n + i, results[k], names[k], way);
        by_scale[0][i] += g[i] * hat;
        by_scale[1][i] += g[i] * (x[i] * r - r * mean);
    }
}

static void formulas_stay_within_the_bounds(void **state)
{
    (void)state;
    struct rng rng = rng_seed(17);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct scene s = {0};
        draw(&s, &rng);
        differentiate(&s);
        for (int way = 0; way < WAYS; way++) {
            float by_scale[2][LONGEST] = {{0}};
            for (size_t row = 0; row < ROWS; row++)
                try_row(&s, way, row, by_scale);
            for (size_t i = 0; i < s.n; i++) {
                expect(&s.slopes[1], i, by_scale[0][i], "by the scale", way);
                expect(&s.slopes[1], i, by_scale[1][i], "by the scale, x r - r mean", way);
            }
        }
        release(&s);
    }
    assert_true(judged > (size_t)TRIALS * 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(formulas_stay_within_the_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
