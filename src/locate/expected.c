#include "locate/expected.h"

#include "bounds/strides.h"
#include "eval/evaluate.h"

#include <math.h>
#include <stdlib.h>

int expected_compute(struct expected *expected, const struct model *model, const struct arithmetic *how,
                     const struct value *inputs, size_t n_inputs)
{
    struct evaluator *evaluator;
    struct evaluate_options options = {0};
    if (how)
        options = (struct evaluate_options){.loose = how->fuses,
                                            .direct = how->direct,
                                            .nans_left_out = how->nans_left_out,
                                            .lowered = how->lowered};
    *expected = (struct expected){0};
    if (evaluator_new(&evaluator, model, &options, NULL))
        return -1;
    int status =
        evaluator_run(evaluator, inputs, n_inputs, NULL, 0, &expected->values, &expected->count, NULL);
    evaluator_free(evaluator);
    if (status)
        *expected = (struct expected){0};
    if (!status || !options.loose)
        return status;
    return expected_compute(
        expected, model,
        &(struct arithmetic){.direct = options.direct, .nans_left_out = options.nans_left_out}, inputs,
        n_inputs);
}

void expected_release(struct expected *expected)
{
    for (size_t i = 0; i < expected->count; i++)
        bounded_release(&expected->values[i]);
    free(expected->values);
    *expected = (struct expected){0};
}

void expected_judge(const struct expected *expected, const struct model *model, const struct result *result,
                    struct verdict *verdict)
{
    size_t count = expected->count;
    *verdict = verdict_begin(false);
    if (verdict_count(verdict, count, result->count))
        return;
    for (size_t i = 0; i < count; i++)
        verdict_output(verdict, i, &expected->values[i], &result->outputs[i]);
    verdict_finish(verdict, count ? model->graph->output[verdict->output]->name : NULL);
}

void expected_judge_fused(struct expected *expected, const struct model *model, const struct arithmetic *how,
                          const struct value *inputs, size_t n_inputs, const struct result *result,
                          struct verdict *verdict)
{
    struct verdict lowered = {0};
    struct arithmetic whole = *how;
    *verdict = lowered;
    whole.lowered = NULL;
    if (expected_compute(expected, model, &whole, inputs, n_inputs))
        return;
    expected_judge(expected, model, result, verdict);
    if (!how->lowered || !verdict_is(verdict->kind, CLASS_DEVIATES))
        return;
    expected_release(expected);
    if (expected_compute(expected, model, how, inputs, n_inputs)) {
        *verdict = lowered;
        return;
    }
    expected_judge(expected, model, result, &lowered);
    lowered.lowered = !verdict_is(lowered.kind, CLASS_DEVIATES);
    *verdict = lowered;
}

void expected_judge_gradients(const struct gradient *expected, size_t count, const struct result *result,
                              struct verdict *verdict)
{
    *verdict = verdict_begin(true);
    if (verdict_count(verdict, count, result->count))
        return;
    for (size_t i = 0; i < count; i++)
        verdict_output(verdict, i, &expected[i].slope, &result->outputs[i]);
    verdict_finish(verdict, count ? expected[verdict->output].name : NULL);
}

bool expected_by_fusing(const struct model *model, const struct arithmetic *alone, const struct value *inputs,
                        size_t n_inputs, const struct result *result)
{
    struct expected strict;
    struct verdict verdict = {0};
    if (!expected_compute(&strict, model, alone, inputs, n_inputs))
        expected_judge(&strict, model, result, &verdict);
    expected_release(&strict);
    return verdict_is_finding(verdict.kind);
}

struct places {
    size_t all, apart;
};

static void compare_places(struct places *places, const struct bounded *x, size_t i, const struct bounded *y,
                           size_t k)
{
    double bound = bounded_hard(x, i) + bounded_hard(y, k);
    long double a = x->value[i], b = y->value[k];
    if (!isfinite(bound))
        return;
    places->all++;
    places->apart += !(a == b || (isnan(a) && isnan(b)) || fabsl(a - b) <= (long double)bound);
}

/* The part of the shapes that both have; all other places are apart. */
static void compare_shapes(struct places *places, const struct bounded *x, const struct bounded *y)
{
    struct strides from = strides_dense(&x->shape), to = strides_dense(&y->shape);
    struct shape both = x->shape;
    int64_t index[TENSOR_MAX_RANK] = {0};
    size_t common = 1;
    for (int i = 0; i < both.rank; i++) {
        both.dims[i] = y->shape.dims[i] < both.dims[i] ? y->shape.dims[i] : both.dims[i];
        common *= (size_t)both.dims[i];
    }
    for (size_t i = 0; i < common; i++, odometer_next(index, &both))
        compare_places(places, x, strides_at(&from, both.rank, index), y, strides_at(&to, both.rank, index));
    size_t rest = x->count + y->count - 2 * common;
    places->all += rest;
    places->apart += rest;
}

double expected_apart(const struct expected *a, const struct expected *b)
{
    struct places places = {0};
    bool same_shape = true;
    if (a->count != b->count)
        return EXPECTED_OTHER_FORM;
    for (size_t o = 0; o < a->count; o++) {
        const struct bounded *x = &a->values[o], *y = &b->values[o];
        if (x->type != y->type || x->shape.rank != y->shape.rank || !x->value || !y->value)
            return EXPECTED_OTHER_FORM;
        same_shape = same_shape && shape_equal(&x->shape, &y->shape);
        compare_shapes(&places, x, y);
    }
    double share = places.all ? (double)places.apart / (double)places.all : 1;
    return same_shape ? share : 1 + share;
}
