#include "judge/metrics.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct metrics_thresholds metrics_cradle = {.k = 5, .class = 8, .mad = 0.2, .percent = 0};
const struct metrics_tolerance metrics_conformance = {.rtol = 1e-3, .atol = 1e-5, .scale = 1e-5};
const struct metrics_tolerance metrics_eagle = {.rtol = 1e-5, .atol = 1e-2};
const char *const metrics_class_bin_name[METRICS_CLASS_BINS] = {"16", "15-8", "7-4", "3-2", "1", "0"};
const char *const metrics_mad_bin_name[METRICS_MAD_BINS] = {"0.8-1.0", "0.6-0.8", "0.4-0.6", "0.2-0.4",
                                                            "0.0-0.2"};

static bool is_number(enum dtype type)
{
    return dtype_is_real(type);
}

static bool is_complex(enum dtype type)
{
    return type == DTYPE_COMPLEX64 || type == DTYPE_COMPLEX128;
}

void metrics_summarize(const struct tensor *tensor, struct metrics_summary *summary)
{
    *summary = (struct metrics_summary){.count = tensor->count, .min = NAN, .max = NAN, .mean = NAN};
    if (!is_number(tensor->type))
        return;
    size_t finite = 0;
    long double sum = 0;
    for (size_t i = 0; i < tensor->count; i++) {
        double value = (double)tensor_get(tensor, i);
        if (isnan(value)) {
            summary->nan++;
        } else if (isinf(value)) {
            summary->inf++;
        } else {
            summary->min = finite && summary->min <= value ? summary->min : value;
            summary->max = finite && summary->max >= value ? summary->max : value;
            sum += value;
            finite++;
        }
    }
    if (finite)
        summary->mean = (double)(sum / (long double)finite);
}

bool metrics_load(const struct tensor *tensor, double **values, size_t *count)
{
    *values = NULL;
    *count = 0;
    if (!is_number(tensor->type))
        return false;
    double *loaded = malloc(tensor->count ? tensor->count * sizeof *loaded : 1);
    if (!loaded)
        return false;
    for (size_t i = 0; i < tensor->count; i++)
        loaded[i] = (double)tensor_get(tensor, i);
    *values = loaded;
    *count = tensor->count;
    return true;
}

size_t metrics_rank(const double *confidence, size_t count, size_t truth)
{
    if (truth >= count || isnan(confidence[truth]))
        return count + 1;
    size_t rank = 1;
    for (size_t i = 0; i < count; i++)
        rank += confidence[i] > confidence[truth] || (i < truth && confidence[i] == confidence[truth]);
    return rank;
}

double metrics_class_score(const double *confidence, size_t count, size_t truth, int k)
{
    size_t rank = metrics_rank(confidence, count, truth);
    if (rank > count || k < 1 || rank > (size_t)k)
        return 0;
    return ldexp(1, k - (int)rank);
}

double metrics_class_distance(const double *a, const double *b, size_t count, size_t truth, int k)
{
    return fabs(metrics_class_score(a, count, truth, k) - metrics_class_score(b, count, truth, k));
}

static bool same_nonfinite(double a, double b)
{
    return (isnan(a) && isnan(b)) || (isinf(a) && isinf(b) && (a > 0) == (b > 0));
}

double metrics_mad_distance(const double *a, const double *b, const double *truth, size_t count)
{
    long double da = 0, db = 0;
    for (size_t i = 0; i < count; i++) {
        if (same_nonfinite(a[i], b[i]))
            continue;
        if (!isfinite(a[i]) || !isfinite(b[i]))
            return 1;
        if (!isfinite(truth[i]))
            continue;
        da += fabsl((long double)a[i] - truth[i]);
        db += fabsl((long double)b[i] - truth[i]);
    }
    /* Both sums run over the same elements, so the means' common divisor cancels. */
    return da + db > 0 ? (double)(fabsl(da - db) / (da + db)) : 0;
}

size_t metrics_top(const double *confidence, size_t count)
{
    size_t top = count;
    for (size_t i = 0; i < count; i++)
        if (!isnan(confidence[i]) && (top == count || confidence[i] > confidence[top]))
            top = i;
    return top;
}

static void count_sample(struct metrics_pattern *pattern, size_t sample, double distance, double threshold)
{
    if (pattern->samples++ == 0 || distance > pattern->largest) {
        pattern->largest = distance;
        pattern->worst = sample;
    }
    pattern->triggering += distance >= threshold;
}

void metrics_pattern_class(struct metrics_pattern *pattern, size_t sample, double distance,
                           const struct metrics_thresholds *thresholds)
{
    static const double least[METRICS_CLASS_BINS] = {16, 8, 4, 2, 1, 0};
    count_sample(pattern, sample, distance, thresholds->class);
    size_t bin = 0;
    while (bin + 1 < METRICS_CLASS_BINS && !(distance >= least[bin]))
        bin++;
    pattern->class_bins[bin]++;
}

void metrics_pattern_mad(struct metrics_pattern *pattern, size_t sample, double distance,
                         const struct metrics_thresholds *thresholds)
{
    static const double least[METRICS_MAD_BINS] = {0.8, 0.6, 0.4, 0.2, 0};
    count_sample(pattern, sample, distance, thresholds->mad);
    size_t bin = 0;
    while (bin + 1 < METRICS_MAD_BINS && !(distance >= least[bin]))
        bin++;
    pattern->mad_bins[bin]++;
}

bool metrics_inconsistent(const struct metrics_pattern *pattern, const struct metrics_thresholds *thresholds)
{
    return pattern->triggering > 0 &&
           (double)pattern->triggering * 100 >= thresholds->percent * (double)pattern->samples;
}

static double largest_magnitude(const struct tensor *tensor)
{
    double largest = 0;
    for (size_t i = 0; i < tensor->count; i++) {
        double magnitude = fabs((double)tensor_get(tensor, i));
        if (isfinite(magnitude) && magnitude > largest)
            largest = magnitude;
    }
    return largest;
}

/* How far an element is outside: 0 inside, infinite for a lone NaN or infinity. */
static double judge_element(long double a, long double b, long double allowed,
                            struct metrics_difference *difference, double *relative)
{
    *relative = 0;
    if (same_nonfinite((double)a, (double)b) || a == b)
        return 0;
    if (isnan(a) || isnan(b) || isinf(a) || isinf(b)) {
        difference->nan_mismatch += isnan(a) || isnan(b);
        difference->inf_mismatch += !isnan(a) && !isnan(b);
        *relative = INFINITY;
        return INFINITY;
    }
    double error = (double)fabsl(a - b);
    *relative = a != 0 ? (double)(fabsl(a - b) / fabsl(a)) : INFINITY;
    difference->max_abs = error > difference->max_abs ? error : difference->max_abs;
    difference->max_rel = *relative > difference->max_rel ? *relative : difference->max_rel;
    return fabsl(a - b) <= allowed ? 0 : (double)(fabsl(a - b) - allowed);
}

/* What is allowed whatever the element's magnitude. */
static double floor_of(const struct tensor *a, const struct metrics_tolerance *tolerance)
{
    double scaled = tolerance->scale > 0 ? tolerance->scale * largest_magnitude(a) : 0;
    return scaled > tolerance->atol ? scaled : tolerance->atol;
}

bool *metrics_outside(const struct tensor *a, const struct tensor *b,
                      const struct metrics_tolerance *tolerance)
{
    bool *outside = memory_zeroed(a->count + 1, sizeof *outside), exact = !dtype_is_float(a->type);
    double floor = exact ? 0 : floor_of(a, tolerance), relative;
    struct metrics_difference unused = {0};
    for (size_t i = 0; i < a->count; i++) {
        long double x = tensor_get(a, i), allowed = exact ? 0 : floor + tolerance->rtol * fabsl(x);
        outside[i] = judge_element(x, tensor_get(b, i), allowed, &unused, &relative) > 0;
    }
    return outside;
}

static void compare_numbers(const struct tensor *a, const struct tensor *b,
                            const struct metrics_tolerance *tolerance, struct metrics_difference *difference)
{
    bool exact = !dtype_is_float(a->type);
    double floor = exact ? 0 : floor_of(a, tolerance), farthest = -1, largest = -1;
    size_t within = 0;
    for (size_t i = 0; i < a->count; i++) {
        long double x = tensor_get(a, i), y = tensor_get(b, i);
        double relative;
        long double allowed = exact ? 0 : floor + tolerance->rtol * fabsl(x);
        double outside = judge_element(x, y, allowed, difference, &relative);
        double error = isfinite(x) && isfinite(y) ? (double)fabsl(x - y) : 0;
        within += relative <= METRICS_RATIO_ERROR;
        difference->beyond += outside > 0;
        if (outside > farthest || (outside == farthest && error > largest)) {
            farthest = outside;
            largest = error;
            difference->worst = i;
            difference->worst_a = (double)x;
            difference->worst_b = (double)y;
        }
    }
    difference->ratio = a->count ? (double)within / (double)a->count : 1;
}

static size_t string_size(const uint8_t *at)
{
    return (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

static void compare_strings(const struct tensor *a, const struct tensor *b,
                            struct metrics_difference *difference)
{
    const uint8_t *x = a->data, *y = b->data;
    for (size_t i = 0; i < a->count; i++) {
        size_t nx = string_size(x), ny = string_size(y);
        if (nx != ny || memcmp(x + 4, y + 4, nx) != 0) {
            if (difference->beyond++ == 0)
                difference->worst = i;
        }
        x += 4 + nx;
        y += 4 + ny;
    }
    difference->ratio = a->count ? 1 - (double)difference->beyond / (double)a->count : 1;
}

/* A complex tensor is its real and imaginary parts. */
static struct tensor as_real(const struct tensor *tensor)
{
    struct tensor real = *tensor;
    real.type = tensor->type == DTYPE_COMPLEX64 ? DTYPE_FLOAT : DTYPE_DOUBLE;
    real.count = tensor->count * 2;
    return real;
}

void metrics_compare(const struct tensor *a, const struct tensor *b,
                     const struct metrics_tolerance *tolerance, struct metrics_difference *difference)
{
    *difference = (struct metrics_difference){.count = a->count};
    if (a->type == DTYPE_STRING) {
        compare_strings(a, b, difference);
    } else if (is_complex(a->type)) {
        struct tensor ra = as_real(a), rb = as_real(b);
        compare_numbers(&ra, &rb, tolerance, difference);
    } else {
        compare_numbers(a, b, tolerance, difference);
    }
    difference->close = difference->beyond == 0;
}
