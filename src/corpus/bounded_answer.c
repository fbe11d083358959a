#include "corpus/bounded_answer.h"

#include "base/memory.h"
#include "eval/evaluate.h"

#include <math.h>
#include <stdlib.h>

/* Readers subtract in float64, and the bounds were themselves rounded on the way. */
static const double margin = 1 + 0x1p-40;

struct evaluated {
    struct bounded *values;
    size_t count;
};

static void evaluated_release(struct evaluated *evaluated)
{
    for (size_t i = 0; i < evaluated->count; i++)
        bounded_release(&evaluated->values[i]);
    free(evaluated->values);
    *evaluated = (struct evaluated){0};
}

static int evaluate(const struct test_case *test, const struct evaluate_options *options,
                    struct evaluated *evaluated, struct error *err)
{
    const struct model *model = test_case_model(test, err);
    struct evaluator *evaluator;
    if (!model || evaluator_new(&evaluator, model, options, err))
        return -1;
    int status = evaluator_run(evaluator, test->inputs, test->n_inputs, NULL, 0, &evaluated->values,
                               &evaluated->count, err);
    evaluator_free(evaluator);
    return status;
}

static bool same_number(long double a, long double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* A case as it is evaluated: node by node, by the other reading of what ONNX says of NaN, and with nodes
 * computed as one. */
struct readings {
    struct evaluated exact, other, fused;
};

static void set_element(struct bounded_output *output, size_t i, const struct bounded *exact,
                        const struct bounded *other, const struct bounded *fused)
{
    long double value = bounded_value(exact, i), rounded = tensor_get(&output->answer.tensors[0], i);
    long double apart =
        same_number(value, bounded_value(fused, i)) ? 0 : fabsl(value - bounded_value(fused, i));
    double bound = (double)fmaxl(bounded_hard(exact, i), bounded_hard(fused, i) + apart);
    bool judged = isfinite(bounded_hard(exact, i)) && isfinite(bounded_hard(fused, i)) && isfinite(apart) &&
                  same_number(value, bounded_value(other, i));
    if (!same_number(value, rounded))
        bound = nextafter((double)(bound + fabsl(value - rounded)), INFINITY);
    judged = judged && !(isinf(bound) && isfinite(rounded));
    tensor_set(&output->bound, i, judged ? bound * margin : INFINITY);
    tensor_set(&output->mask, i, judged);
    output->judged += judged;
}

static bool same_size(const struct bounded *a, const struct bounded *b)
{
    return a->count == b->count && (!a->count || ((a->value || a->floats) && (b->value || b->floats)));
}

static int set_output(struct bounded_output *output, const char *name, const struct readings *readings,
                      size_t k, struct error *err)
{
    const struct bounded *exact = &readings->exact.values[k], *other = &readings->other.values[k],
                         *fused = &readings->fused.values[k];
    struct tensor tensor;
    if (exact->kind != BOUNDED_TENSOR || !dtype_is_real(exact->type))
        return error_set(err, ERROR_UNSUPPORTED, "the output %s is no tensor of numbers", name);
    if (!same_size(exact, other) || !same_size(exact, fused))
        return error_set(err, ERROR_UNSUPPORTED, "the size of the output %s is not certain", name);
    if (bounded_to_tensor(exact, &tensor, err))
        return -1;
    value_set_tensor(&output->answer, &tensor);
    value_set_name(&output->answer, name);
    if (tensor_alloc(&output->bound, DTYPE_DOUBLE, &exact->shape, SIZE_MAX, err) ||
        tensor_alloc(&output->mask, DTYPE_BOOL, &exact->shape, SIZE_MAX, err))
        return -1;
    for (size_t i = 0; i < exact->count; i++)
        set_element(output, i, exact, other, fused);
    return 0;
}

/* What the reference gives as an engine is within the bounds, or they are wrong. */
static int check(const struct bounded_answer *answer, const struct evaluated *rounded, struct error *err)
{
    for (size_t k = 0; k < answer->count; k++) {
        const struct bounded_output *output = &answer->outputs[k];
        const struct bounded *got = &rounded->values[k];
        if (got->count != output->bound.count)
            return error_set(err, ERROR_IO, "output %zu has another size when values are rounded", k);
        for (size_t i = 0; i < got->count; i++)
            if (!bounded_output_passes(output, i, bounded_value(got, i)))
                return error_set(err, ERROR_IO,
                                 "output %zu[%zu]: the reference gives %.9Lg when values are rounded, %.9Lg "
                                 "when they are not, and its bound is %g",
                                 k, i, bounded_value(got, i), tensor_get(&output->answer.tensors[0], i),
                                 (double)tensor_get(&output->bound, i));
    }
    return 0;
}

static int set_outputs(struct bounded_answer *answer, const struct model *model,
                       const struct readings *readings, struct error *err)
{
    answer->outputs = memory_zeroed(readings->exact.count, sizeof *answer->outputs);
    for (size_t k = 0; k < readings->exact.count; k++) {
        struct bounded_output *output = &answer->outputs[answer->count++];
        value_init(&output->answer);
        tensor_init(&output->bound);
        tensor_init(&output->mask);
        if (set_output(output, model->graph->output[k]->name, readings, k, err))
            return -1;
        answer->elements += output->bound.count;
        answer->judged += output->judged;
    }
    return 0;
}

int bounded_answer(struct bounded_answer *answer, const struct test_case *test, struct error *err)
{
    struct readings readings = {0};
    struct evaluated rounded = {0};
    *answer = (struct bounded_answer){0};
    const struct model *model = test_case_model(test, err);
    if (!model)
        return -1;
    if (test->gradient || test->forbidden)
        return error_set(err, ERROR_UNSUPPORTED,
                         test->gradient ? "it asks for gradients" : "its model must be refused");
    if (test_case_draws_numbers(test))
        return error_set(err, ERROR_UNSUPPORTED, "its model draws random numbers");
    struct evaluate_options fused = {.loose = model->graph->n_node > 1};
    int status = evaluate(test, NULL, &readings.exact, err) ||
                 evaluate(test, &(struct evaluate_options){.nans_left_out = true}, &readings.other, err) ||
                 evaluate(test, &fused, &readings.fused, err) || set_outputs(answer, model, &readings, err) ||
                 evaluate(test, &(struct evaluate_options){.round = true}, &rounded, err) ||
                 check(answer, &rounded, err);
    evaluated_release(&readings.exact);
    evaluated_release(&readings.other);
    evaluated_release(&readings.fused);
    evaluated_release(&rounded);
    return status ? -1 : 0;
}

void bounded_answer_release(struct bounded_answer *answer)
{
    for (size_t k = 0; k < answer->count; k++) {
        value_release(&answer->outputs[k].answer);
        tensor_release(&answer->outputs[k].bound);
        tensor_release(&answer->outputs[k].mask);
    }
    free(answer->outputs);
    *answer = (struct bounded_answer){0};
}

bool bounded_output_passes(const struct bounded_output *output, size_t element, long double got)
{
    long double want = tensor_get(&output->answer.tensors[0], element);
    return tensor_get(&output->mask, element) == 0 || same_number(got, want) ||
           fabsl(got - want) <= tensor_get(&output->bound, element);
}

size_t bounded_output_misses(const struct bounded_output *output, const struct value *got, size_t *first)
{
    const struct tensor *want = &output->answer.tensors[0];
    size_t misses = 0;
    *first = 0;
    if (got->kind != VALUE_TENSOR || got->tensors[0].type != want->type ||
        !shape_equal(&got->tensors[0].shape, &want->shape))
        return want->count + 1;
    for (size_t i = want->count; i-- > 0;)
        if (!bounded_output_passes(output, i, tensor_get(&got->tensors[0], i))) {
            misses++;
            *first = i;
        }
    return misses;
}

double bounded_answer_tolerance(const struct bounded_answer *answer, double relative)
{
    double least = 0;
    for (size_t k = 0; k < answer->count; k++)
        for (size_t i = 0; i < answer->outputs[k].bound.count; i++) {
            long double want = tensor_get(&answer->outputs[k].answer.tensors[0], i);
            long double needed = tensor_get(&answer->outputs[k].bound, i) - relative * fabsl(want);
            if (tensor_get(&answer->outputs[k].mask, i) != 0 && isfinite(needed))
                least = fmax(least, (double)needed);
        }
    return least;
}
