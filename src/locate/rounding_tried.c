#include "locate/rounding_tried.h"

#include "base/random.h"
#include "eval/evaluate.h"

#include <math.h>
#include <stdlib.h>

/* A sum of n terms is off by about sqrt(n) units of its terms, of which there are seldom more than 256. */
enum { TRIES = 8, UNITS = 16 };

/* The size of what is in a tensor: terms that cancel leave an error that is large beside their sum. */
static long double size_of(const struct bounded *b)
{
    long double sum = 0;
    size_t finite = 0;
    for (size_t i = 0; i < b->count; i++)
        if (isfinite(b->value[i])) {
            sum += b->value[i] * b->value[i];
            finite++;
        }
    return finite ? sqrtl(sum / (long double)finite) : 0;
}

struct rounding_disturbance rounding_disturbance(void)
{
    return (struct rounding_disturbance){.units = UNITS};
}

int rounding_disturb(void *context, struct op_call *call)
{
    const struct rounding_disturbance *how = context;
    if (call->op->eval(call))
        return -1;
    if (call->n_inputs == 0) /* a constant is not rounded, and may be the exponent of a negative number */
        return 0;
    for (size_t k = 0; k < call->n_outputs && !call->shapes_only; k++) {
        struct bounded *out = &call->outputs[k];
        if (!dtype_is_float(out->type) || !out->value)
            continue;
        long double unit = fmax(unit_of(out->type), how->least) * how->units;
        long double size = fmaxl(size_of(out), how->size);
        for (size_t i = 0; i < out->count; i++)
            out->value[i] += unit * (fabsl(out->value[i]) + size) * (long double)rng_uniform(how->rng, -1, 1);
    }
    return 0;
}

static int try_once(const struct test_case *test, struct rng *rng, size_t output, size_t element,
                    long double *value, struct error *err)
{
    struct rounding_disturbance how = rounding_disturbance();
    struct evaluate_options options = {.round = true, .hook = rounding_disturb, .context = &how};
    const struct model *model = test_case_model(test, err);
    struct evaluator *evaluator;
    struct bounded *results = NULL;
    size_t count = 0;
    how.rng = rng;
    if (!model || evaluator_new(&evaluator, model, &options, err))
        return -1;
    int status = evaluator_run(evaluator, test->inputs, test->n_inputs, NULL, 0, &results, &count, err);
    if (!status && (output >= count || element >= results[output].count))
        status = error_set(err, ERROR_USAGE, "the model has no such element");
    if (!status)
        *value = results[output].value[element];
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
    evaluator_free(evaluator);
    return status;
}

int rounding_tried(const struct test_case *test, size_t output, size_t element, long double exact,
                   double *moved, struct error *err)
{
    struct rng seed = rng_seed(1);
    *moved = 0;
    for (uint64_t i = 0; i < TRIES; i++) {
        struct rng rng = rng_split(&seed, i);
        long double value = 0;
        if (try_once(test, &rng, output, element, &value, err))
            return -1;
        double off = (double)fabsl(value - exact);
        *moved = off <= *moved ? *moved : isnan(off) ? INFINITY : off;
    }
    return 0;
}
