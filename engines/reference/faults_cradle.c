/*
 * Bugs reported by Pham, Lutellier, Qi and Tan: CRADLE: Cross-Backend Validation to Detect and Localize Bugs
 * in Deep Learning Libraries, ICSE 2019.
 */
#include "fault.h"
#include "patch.h"

#include <stdlib.h>
#include <string.h>

static int bn_sqrt_var(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    patch_float(&patch, "epsilon", 0);
    return patch_eval(&patch);
}

static int same_pad_side(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    if (strcmp(call_string(call, "auto_pad", "NOTSET"), "SAME_UPPER") != 0)
        return call->op->eval(call);
    struct patch patch;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    /* The two differ exactly when the total is odd. */
    patch_string(&patch, "auto_pad", "SAME_LOWER");
    return patch_eval(&patch);
}

static int avgpool_counts_pad(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    return eval_with_int(call, "count_include_pad", 1);
}

static int conv_rotated(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *w = patch_input(&patch, 1);
    size_t plane = w && w->shape.rank > 2 ? shape_span(&w->shape, 2, w->shape.rank) : 0;
    for (size_t at = 0; plane && at < w->count; at += plane)
        for (size_t i = 0; i < plane / 2; i++) {
            long double kept = w->value[at + i];
            w->value[at + i] = w->value[at + plane - 1 - i];
            w->value[at + plane - 1 - i] = kept;
        }
    return patch_eval(&patch);
}

static int conv_swapped_hw(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *from = call_input(call, 1);
    struct patch patch;
    if (!from || from->shape.rank != 4 || from->shape.dims[2] == from->shape.dims[3] ||
        !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *w = patch_input(&patch, 1);
    size_t h = (size_t)from->shape.dims[2], columns = (size_t)from->shape.dims[3];
    for (size_t i = 0; w && i < w->count; i++) {
        size_t plane = i / (h * columns), y = i / columns % h, x = i % columns;
        w->value[plane * h * columns + x * h + y] = from->value[i];
    }
    if (w) {
        w->shape.dims[2] = from->shape.dims[3];
        w->shape.dims[3] = from->shape.dims[2];
    }
    patch_drop(&patch, "kernel_shape");
    return patch_eval(&patch);
}

static int gemm_shape_crash(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *b = call_input(call, 1);
    if (call_int(call, "transB", 0) && b && b->shape.rank == 2 && b->shape.dims[0] != b->shape.dims[1])
        abort();
    return call->op->eval(call);
}

const struct fault faults_cradle[] = {
    {"bn-sqrt-var", "CRADLE", "BatchNormalization", "epsilon", "divides by sqrt(var), epsilon ignored",
     bn_sqrt_var, NULL, .tied = "epsilon"},
    {"same-pad-side", "CRADLE", "Conv|MaxPool|AveragePool|LpPool", "auto_pad",
     "SAME_UPPER pads on the lower side when the total is odd", same_pad_side, NULL, .tied = "auto_pad"},
    {"avgpool-counts-pad", "CRADLE", "AveragePool", "count_include_pad",
     "padding counted when it should not be", avgpool_counts_pad, NULL, .tied = "count_include_pad"},
    {"conv-rotated", "CRADLE", "Conv", "W", "kernel rotated by 180 degrees", conv_rotated, NULL, .tied = "W"},
    {"conv-swapped-hw", "CRADLE", "Conv", "W", "kernel height and width exchanged when they differ",
     conv_swapped_hw, NULL, .tied = "W"},
    {"gemm-shape-crash", "CRADLE", "Gemm", "transB", "aborts when B is transposed and not square",
     gemm_shape_crash, NULL, .tied = "transB"},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};
