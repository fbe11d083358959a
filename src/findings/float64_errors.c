#include "findings/float64_errors.h"

#include "base/markup.h"
#include "judge/verdict.h"

#include <math.h>

struct measure {
    const struct tensor *wide, *hard; /* the answer in float64; the reference's bounds, or NULL */
    size_t element;
};

static const struct tensor *tensor_of(const struct result *result, size_t output)
{
    return result && result->outcome == OUTCOME_OK && output < result->count &&
                   result->outputs[output].kind == VALUE_TENSOR
               ? &result->outputs[output].tensors[0]
               : NULL;
}

static long double distance(long double a, long double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isfinite(a) && isfinite(b) ? fabsl(a - b) : (long double)INFINITY;
}

static bool is_judged(const struct measure *measure, size_t i)
{
    return !measure->hard || i >= measure->hard->count || !isinf(tensor_get(measure->hard, i));
}

/* The root of the mean square of the distances; infinite where one is. */
static long double mean_error(const struct measure *measure, const struct tensor *tensor)
{
    long double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < tensor->count; i++) {
        if (!is_judged(measure, i))
            continue;
        long double off = distance(tensor_get(tensor, i), tensor_get(measure->wide, i));
        sum += off * off;
        count++;
    }
    return count ? sqrtl(sum / (long double)count) : 0;
}

static void add_row(struct str *out, const struct measure *measure, const char *type, const char *words,
                    const struct tensor *tensor)
{
    str_printf(out, "| %s, ", type);
    markdown_cell(out, words);
    if (!tensor || tensor->count != measure->wide->count) {
        str_add(out, " | no such answer | | |\n");
        return;
    }
    long double value = tensor_get(tensor, measure->element);
    str_printf(out, " | %.*Lg", tensor->type == DTYPE_DOUBLE ? 17 : 9, isnan(value) ? fabsl(value) : value);
    if (tensor == measure->wide)
        str_add(out, " | | |\n");
    else
        str_printf(out, " | %.3Lg | %.3Lg |\n", distance(value, tensor_get(measure->wide, measure->element)),
                   mean_error(measure, tensor));
}

void float64_errors_add(struct str *out, const struct bundle_case *which)
{
    const struct verdict *verdict = which->engines[0].verdict;
    const struct bundle_float64 *said = which->float64;
    size_t k = verdict->output;
    const struct tensor *expected = tensor_of(which->reference, k);
    struct measure measure = {.wide = said ? tensor_of(said->wide, k) : NULL, .element = verdict->element};
    if (!expected || !measure.wide || !dtype_is_float(expected->type) ||
        measure.wide->count != expected->count || measure.element >= expected->count)
        return;
    if (which->reference->bounds && which->reference->bounds[k].present)
        measure.hard = &which->reference->bounds[k].hard;
    const char *type = dtype_name(expected->type);
    str_printf(
        out,
        "Errors against the library's own float64, of element %zu and, as root mean square, of all that "
        "are judged:\n\n| | value | error | of all |\n|---|---|---|---|\n",
        measure.element);
    add_row(out, &measure, "float64", said->plain, measure.wide);
    add_row(out, &measure, type, "the reference", expected);
    for (size_t i = 0; i < said->count; i++)
        add_row(out, &measure, type, said->settings[i], tensor_of(&said->answers[i], k));
    str_add(out, "\n");
}
