/*
 * Faults of operators on images that no paper reports. For the equivalence rules that write these operators
 * in another way.
 */
#include "fault.h"
#include "patch.h"

#include <string.h>

/* The input of a patch without its last column. */
static void drop_column(struct bounded *x)
{
    size_t width = (size_t)x->shape.dims[x->shape.rank - 1], rows = x->count / width;
    for (size_t r = 0; r < rows; r++) {
        memmove(x->value + r * (width - 1), x->value + r * width, (width - 1) * sizeof *x->value);
        if (x->hard) {
            memmove(x->hard + r * (width - 1), x->hard + r * width, (width - 1) * sizeof *x->hard);
            memmove(x->likely + r * (width - 1), x->likely + r * width, (width - 1) * sizeof *x->likely);
        }
    }
    x->shape.dims[x->shape.rank - 1]--;
    x->count = rows * (width - 1);
}

static int global_pool_odd(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *x = call_input(call, 0);
    int64_t width = x && x->shape.rank > 2 ? x->shape.dims[x->shape.rank - 1] : 0;
    struct patch patch;
    if (width < 3 || width % 2 == 0 || !x->value || !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *narrow = patch_input(&patch, 0);
    if (narrow && narrow->value)
        drop_column(narrow);
    return patch_eval(&patch);
}

static int resize_floor_rounds(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (strcmp(call_string(call, "nearest_mode", ""), "floor") != 0 || !patch_init(&patch, call))
        return call->op->eval(call);
    patch_string(&patch, "nearest_mode", "round_prefer_floor");
    return patch_eval(&patch);
}

static int depth_mode_ignored(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    patch_string(&patch, "mode", "DCR");
    return patch_eval(&patch);
}

/* The diagonal is the main one, whichever is asked for. */
static int trilu_main_diagonal(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    struct patch patch;
    if (!call_input(call, 1) || !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *k = patch_input(&patch, 1);
    if (k && k->count)
        k->value[0] = 0;
    return patch_eval(&patch);
}

/* The elements of a block go to the channels column by column. */
static int space_block_turned(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    const struct bounded *x = call_input(call, 0);
    if (call->op->eval(call))
        return -1;
    struct bounded *y = &call->outputs[0];
    size_t b = (size_t)call_int(call, "blocksize", 1), depth = (size_t)x->shape.dims[1];
    size_t plane = shape_span(&y->shape, 2, 4), image = b * b * depth * plane;
    for (size_t at = 0; image && at < y->count; at++) {
        size_t place = at % image / (depth * plane), row = place / b, column = place % b;
        size_t other = at + (column * b + row) * depth * plane - place * depth * plane;
        if (row < column) {
            long double kept = y->value[at];
            y->value[at] = y->value[other];
            y->value[other] = kept;
        }
    }
    return 0;
}

/* As in libraries whose pools move on by their own size unless told otherwise. */
static int pool_default_stride(const struct fault_scene *scene, struct op_call *call)
{
    (void)scene;
    size_t strides, axes;
    const int64_t *kernel = call_ints(call, "kernel_shape", &axes);
    struct patch patch;
    call_ints(call, "strides", &strides);
    if (strides || !axes || !patch_init(&patch, call))
        return call->op->eval(call);
    patch_ints(&patch, "strides", kernel, axes);
    return patch_eval(&patch);
}

const struct fault faults_images[] = {
    {.name = "pool-default-stride",
     .tied = "strides",
     .paper = "rules",
     .operators = "MaxPool|AveragePool",
     .parameter = "strides",
     .summary = "strides that are left out are the size of the window",
     .eval = pool_default_stride},
    {.name = "global-pool-odd",
     .paper = "rules",
     .operators = "GlobalAveragePool|GlobalMaxPool",
     .parameter = "-",
     .summary = "the last column of an image of odd width is left out",
     .eval = global_pool_odd},
    {.name = "resize-floor-rounds",
     .tied = "nearest_mode",
     .paper = "rules",
     .operators = "Resize",
     .parameter = "nearest_mode",
     .summary = "nearest_mode floor rounds",
     .eval = resize_floor_rounds},
    {.name = "depth-mode-ignored",
     .tied = "mode",
     .paper = "rules",
     .operators = "DepthToSpace",
     .parameter = "mode",
     .summary = "mode CRD is taken as DCR",
     .eval = depth_mode_ignored},
    {.name = "trilu-main-diagonal",
     .tied = "k",
     .paper = "rules",
     .operators = "Trilu",
     .parameter = "k",
     .summary = "k is taken as 0",
     .eval = trilu_main_diagonal},
    {.name = "space-block-turned",
     .tied = "blocksize",
     .paper = "rules",
     .operators = "SpaceToDepth",
     .parameter = "blocksize",
     .summary = "elements of a block are read column by column",
     .eval = space_block_turned},
    {0},
};
