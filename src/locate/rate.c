#include "locate/rate.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

void rate_add(struct rate_mean *mean, const struct tensor *a, const struct tensor *b)
{
    if (a->type != b->type || !shape_equal(&a->shape, &b->shape)) {
        mean->apart = true;
        return;
    }
    if (!dtype_is_real(a->type))
        return;
    mean->count += a->count;
    for (size_t i = 0; i < a->count; i++) {
        long double x = tensor_get(a, i), y = tensor_get(b, i);
        if (x == y || (isnan(x) && isnan(y)))
            continue;
        if (isfinite(x) && isfinite(y))
            mean->sum += fabsl(x - y);
        else
            mean->apart = true;
    }
}

double rate_delta(const struct rate_mean *mean)
{
    if (mean->apart)
        return INFINITY;
    return mean->count ? (double)(mean->sum / (long double)mean->count) : NAN;
}

double rate_change(double delta, double before)
{
    if (isnan(delta))
        return NAN;
    if (isinf(before))
        return isinf(delta) ? 0 : -1;
    return (delta - before) / (before + RATE_EPSILON);
}

void rate_all(const struct model_index *index, const double *delta, double *rate)
{
    for (size_t i = 0; i < index->model->graph->n_node; i++) {
        double before = 0;
        for (size_t k = 0; k < index->n_uses[i]; k++) {
            const struct index_value *value = &index->values[index->uses[i][k]];
            if (value->source == SOURCE_NODE && delta[value->number] > before)
                before = delta[value->number];
        }
        rate[i] = rate_change(delta[i], before);
    }
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

double rate_quartile(const double *rate, size_t count)
{
    double *sorted = memory_zeroed(count, sizeof *sorted);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(rate[i]))
            sorted[n++] = rate[i];
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    double quartile = NAN;
    if (n) {
        double at = 0.75 * (double)(n - 1);
        size_t below = (size_t)at;
        double part = at - (double)below;
        /* Not by difference when both are the same: inf - inf. */
        quartile = sorted[below];
        if (part > 0 && sorted[below + 1] != sorted[below])
            quartile += part * (sorted[below + 1] - sorted[below]);
    }
    free(sorted);
    return quartile;
}
