#include "oracles.h"

#include "base/memory.h"
#include "bounds/bounded.h"
#include "campaign/fuzz_record.h"
#include "engine/wire_bounds.h"

#include <math.h>
#include <stdlib.h>

const char *oracle_name(enum oracle oracle)
{
    static const char *const names[ORACLE_COUNT] = {
        "class-distance", "mad-distance", "audee", "graph-dcf", "eagle", "allclose", "onnx-backend"};
    return names[oracle];
}

typedef bool judge_tensor(const struct tensor *got, const struct tensor *right);

/* One row: the last axis, as classes are. */
struct row {
    const struct tensor *tensor;
    size_t start, count;
};

static size_t top_class(const struct row *row)
{
    size_t best = 0;
    for (size_t i = 1; i < row->count; i++)
        if (tensor_get(row->tensor, row->start + i) > tensor_get(row->tensor, row->start + best))
            best = i;
    return best;
}

/* 2^(5 - rank) where the class is among the first five, else 0. */
static double class_score(const struct row *row, size_t class)
{
    long double own = tensor_get(row->tensor, row->start + class);
    size_t rank = 1;
    for (size_t i = 0; i < row->count; i++)
        rank += tensor_get(row->tensor, row->start + i) > own;
    return rank <= 5 && !isnan(own) ? ldexp(1, 5 - (int)rank) : 0;
}

static long double mean_deviation(const struct row *row, size_t class)
{
    long double sum = 0;
    for (size_t i = 0; i < row->count; i++)
        sum += fabsl(tensor_get(row->tensor, row->start + i) - (i == class));
    return sum / (long double)row->count;
}

static bool is_far_in_class(const struct row *got, const struct row *right)
{
    size_t class = top_class(right);
    return fabs(class_score(got, class) - class_score(right, class)) >= 8;
}

static bool is_far_in_mean(const struct row *got, const struct row *right)
{
    size_t class = top_class(right);
    long double a = mean_deviation(got, class), b = mean_deviation(right, class);
    return isnan(a) != isnan(b) || fabsl(a - b) / (a + b) >= 0.2L;
}

static bool is_other_class(const struct row *got, const struct row *right)
{
    for (size_t i = 0; i < got->count; i++)
        if (isnan(tensor_get(got->tensor, got->start + i)) &&
            !isnan(tensor_get(right->tensor, right->start + i)))
            return true;
    return top_class(got) != top_class(right);
}

static bool any_row(const struct tensor *got, const struct tensor *right,
                    bool (*is_far)(const struct row *, const struct row *))
{
    size_t width = got->shape.rank ? (size_t)got->shape.dims[got->shape.rank - 1] : 1;
    for (size_t i = 0; i + width <= got->count && width; i += width)
        if (is_far(&(struct row){got, i, width}, &(struct row){right, i, width}))
            return true;
    return false;
}

static bool class_reports(const struct tensor *got, const struct tensor *right)
{
    return any_row(got, right, is_far_in_class);
}

static bool mad_reports(const struct tensor *got, const struct tensor *right)
{
    return any_row(got, right, is_far_in_mean);
}

static bool audee_reports(const struct tensor *got, const struct tensor *right)
{
    return any_row(got, right, is_other_class);
}

static bool exceeds(const struct tensor *got, const struct tensor *right, long double fixed,
                    long double relative)
{
    for (size_t i = 0; i < got->count; i++) {
        long double a = tensor_get(got, i), b = tensor_get(right, i);
        if (a != b && !(isnan(a) && isnan(b)) &&
            !(isfinite(b) && fabsl(a - b) <= fixed + relative * fabsl(b)))
            return true;
    }
    return false;
}

static bool eagle_reports(const struct tensor *got, const struct tensor *right)
{
    return exceeds(got, right, 1e-2L, 1e-5L);
}

static bool numpy_reports(const struct tensor *got, const struct tensor *right)
{
    return exceeds(got, right, 1e-8L, 1e-5L);
}

static bool backend_reports(const struct tensor *got, const struct tensor *right)
{
    return exceeds(got, right, 1e-7L, 1e-3L);
}

static bool value_reports(const struct value *got, const struct value *right, judge_tensor *reports)
{
    if (got->kind != right->kind || got->count != right->count)
        return true;
    for (size_t i = 0; i < right->count; i++) {
        const struct tensor *a = &got->tensors[i], *b = &right->tensors[i];
        if (a->type != b->type || !shape_equal(&a->shape, &b->shape) ||
            (dtype_is_real(a->type) && reports(a, b)))
            return true;
    }
    return false;
}

bool oracle_reports(enum oracle oracle, const struct result *got, const struct result *right)
{
    static judge_tensor *const judges[ORACLE_COUNT] = {
        [ORACLE_CLASS] = class_reports, [ORACLE_MAD] = mad_reports,     [ORACLE_AUDEE] = audee_reports,
        [ORACLE_EAGLE] = eagle_reports, [ORACLE_NUMPY] = numpy_reports, [ORACLE_BACKEND] = backend_reports};
    if (oracle == ORACLE_DCF)
        return paper_status_of(got, right) == PAPER_DCF;
    for (size_t i = 0; i < right->count; i++)
        if (right->outputs[i].kind != VALUE_NONE &&
            (i >= got->count || value_reports(&got->outputs[i], &right->outputs[i], judges[oracle])))
            return true;
    return false;
}

/* Elements of which nothing is known are those of the other tensor. */
static int fill_open(struct tensor *right, const struct wire_bounds *bounds, const struct tensor *got,
                     struct error *err)
{
    struct bounded b;
    if (right->type != got->type || !shape_equal(&right->shape, &got->shape) || !dtype_is_real(right->type))
        return 0;
    if (bounds_from_wire(&b, right, bounds, err))
        return -1;
    for (size_t i = 0; i < right->count; i++)
        if (isinf(bounded_hard(&b, i)))
            tensor_set(right, i, tensor_get(got, i));
    bounded_release(&b);
    return 0;
}

int oracle_expect(const struct result *got, const struct result *reference, struct result *right,
                  struct error *err)
{
    int status = 0;
    *right = *reference;
    right->outputs = memory_zeroed(reference->count + 1, sizeof *right->outputs);
    for (size_t i = 0; i < reference->count && !status; i++) {
        struct value *value = &right->outputs[i];
        status = value_copy(value, &reference->outputs[i], err);
        if (!status && reference->bounds && i < got->count && value->kind == VALUE_TENSOR &&
            got->outputs[i].kind == VALUE_TENSOR)
            status = fill_open(value->tensors, &reference->bounds[i], got->outputs[i].tensors, err);
    }
    if (status)
        oracle_forget(right);
    return status;
}

void oracle_forget(struct result *right)
{
    for (size_t i = 0; i < right->count; i++)
        value_release(&right->outputs[i]);
    free(right->outputs);
}
