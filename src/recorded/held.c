#include "recorded/held.h"

#include "judge/verdict.h"

#include <math.h>
#include <stdio.h>

enum { MOST_AXES = 5 };

/* For each element of the recording in turn, its number in the reference. */
struct walk {
    int rank;
    int64_t dims[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], at[TENSOR_MAX_RANK];
    size_t number;
};

static void walk_begin(struct walk *walk, const struct shape *shape, const struct axes *axes)
{
    int64_t stride[TENSOR_MAX_RANK], size = 1;
    *walk = (struct walk){.rank = axes ? axes->count : 0};
    for (int i = shape->rank; i--; size *= shape->dims[i])
        stride[i] = size;
    for (int i = 0; i < walk->rank; i++) {
        walk->dims[i] = shape->dims[axes->axis[i]];
        walk->stride[i] = stride[axes->axis[i]];
    }
}

static void walk_on(struct walk *walk)
{
    if (walk->rank == 0)
        walk->number++;
    for (int i = walk->rank; i--;) {
        walk->number += (size_t)walk->stride[i];
        if (++walk->at[i] < walk->dims[i])
            return;
        walk->number -= (size_t)(walk->stride[i] * walk->dims[i]);
        walk->at[i] = 0;
    }
}

double held_stored(enum dtype type, double size)
{
    double least = type == DTYPE_FLOAT16 ? 0x1p-25 : 0; /* half the step of its subnormals */
    return dtype_is_float(type) ? fmax(unit_of(type) * size, least) : 0;
}

/* What a right element may be off: the smaller of what rounding can do and what it probably does. */
static double bound_of(const struct bounded *reference, size_t i, const struct tensor *recorded,
                       double rounded)
{
    double size = fabs((double)reference->value[i]), hard = bounded_hard(reference, i);
    double likely = verdict_unsuspected(bounded_likely(reference, i)) + unit_of(reference->type) * size;
    double stored = dtype_is_float(reference->type) ? held_stored(recorded->type, size) : 0;
    if (!dtype_is_float(reference->type))
        likely = hard;
    return fmin(hard, likely) * (1 + 1e-6) + stored + rounded;
}

static void hold(struct held *held, const struct bounded *reference, size_t i, size_t place, long double got,
                 double bound)
{
    long double value = reference->value[i];
    if (!isfinite(bounded_hard(reference, i))) {
        held->open++;
        return;
    }
    held->compared++;
    double error = value == got || (isnan(value) && isnan(got)) ? 0 : (double)fabsl(value - got);
    held->widest = fmax(held->widest, bound);
    held->farthest = isfinite(error) ? fmax(held->farthest, error) : INFINITY;
    if (error <= bound && isfinite(error)) {
        held->error = fmax(held->error, error);
        held->beyond = fmax(held->beyond, error > 0 ? error / bound : 0);
        return;
    }
    double beyond = isfinite(error) && bound > 0 ? error / bound : INFINITY;
    if (held->off++ == 0 || beyond > held->beyond)
        held->worst = (struct held_element){.place = place, .expected = value, .got = got, .bound = bound};
    held->error = isfinite(error) ? fmax(held->error, error) : INFINITY;
    held->beyond = fmax(held->beyond, beyond);
}

struct held held_against(const struct bounded *reference, const struct tensor *recorded,
                         const struct axes *axes, double rounded, bool quick)
{
    struct held held = {.same_count = reference->kind == BOUNDED_TENSOR && dtype_is_real(reference->type) &&
                                      reference->count == recorded->count};
    struct walk walk;
    double largest = 0;
    if (!held.same_count)
        return held;
    walk_begin(&walk, &reference->shape, axes);
    for (size_t i = 0; i < recorded->count && !(quick && held.off); i++, walk_on(&walk)) {
        hold(&held, reference, walk.number, i, tensor_get(recorded, i),
             bound_of(reference, walk.number, recorded, rounded));
        double size = fabs((double)reference->value[walk.number]);
        if (isfinite(size))
            largest = fmax(largest, size);
    }
    if (largest > 0)
        held.error /= largest;
    return held;
}

bool held_agrees(const struct held *held)
{
    return held->same_count && held->off == 0;
}

/* The next order of axes, as in a dictionary; false after the last. */
static bool next_order(struct axes *axes)
{
    int i = axes->count - 1, k = axes->count - 1;
    while (i > 0 && axes->axis[i - 1] >= axes->axis[i])
        i--;
    if (i <= 0)
        return false;
    while (axes->axis[k] <= axes->axis[i - 1])
        k--;
    int kept = axes->axis[i - 1];
    axes->axis[i - 1] = axes->axis[k];
    axes->axis[k] = kept;
    for (k = axes->count - 1; i < k; i++, k--) {
        kept = axes->axis[i];
        axes->axis[i] = axes->axis[k];
        axes->axis[k] = kept;
    }
    return true;
}

/* Whether the recording's shape has the axes in this order, but for those of 1: any other shape with as many
 * elements would be a coincidence. A flat one says nothing. */
static bool has_shape(const struct tensor *recorded, const struct shape *shape, const struct axes *axes)
{
    int k = 0, wide = 0;
    for (int i = 0; i < recorded->shape.rank; i++)
        wide += recorded->shape.dims[i] > 1;
    if (wide <= 1)
        return true;
    for (int i = 0; i < axes->count; i++) {
        if (shape->dims[axes->axis[i]] == 1)
            continue;
        while (k < recorded->shape.rank && recorded->shape.dims[k] == 1)
            k++;
        if (k == recorded->shape.rank || recorded->shape.dims[k++] != shape->dims[axes->axis[i]])
            return false;
    }
    return true;
}

bool held_layout(const struct bounded *reference, const struct tensor *recorded, double rounded,
                 struct axes *axes)
{
    const struct shape *shape = &reference->shape;
    if (reference->kind != BOUNDED_TENSOR || reference->count != recorded->count || shape->rank < 2 ||
        shape->rank > MOST_AXES)
        return false;
    axes->count = shape->rank;
    for (int i = 0; i < shape->rank; i++)
        axes->axis[i] = i;
    while (next_order(axes)) {
        if (!has_shape(recorded, shape, axes))
            continue;
        struct held held = held_against(reference, recorded, axes, rounded, true);
        if (held_agrees(&held) && held.compared)
            return true;
    }
    return false;
}

void axes_text(const struct axes *axes, char *text, size_t size)
{
    static const int nhwc[] = {0, 2, 3, 1}, nchw[] = {0, 3, 1, 2};
    bool last = axes->count == 4, first = axes->count == 4;
    for (int i = 0; i < axes->count && axes->count == 4; i++) {
        last &= axes->axis[i] == nhwc[i];
        first &= axes->axis[i] == nchw[i];
    }
    if (last || first) {
        snprintf(text, size, "%s", last ? "NHWC in place of NCHW" : "NCHW in place of NHWC");
        return;
    }
    size_t length = (size_t)snprintf(text, size, "axes");
    for (int i = 0; i < axes->count && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%d", i ? "," : " ", axes->axis[i]);
}

int held_as(const struct bounded *reference, const struct tensor *recorded, const struct axes *axes,
            struct tensor *tensor, struct error *err)
{
    struct walk walk;
    if (tensor_alloc(tensor, reference->type, &reference->shape, 0, err))
        return -1;
    walk_begin(&walk, &reference->shape, axes);
    for (size_t i = 0; i < recorded->count; i++, walk_on(&walk))
        tensor_set(tensor, walk.number, tensor_get(recorded, i));
    return 0;
}
