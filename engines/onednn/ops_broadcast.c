/* Operands that broadcast, and what gradients need for them: sums over what was repeated, and repetition. */
#include "onednn.h"

#include "base/memory.h"

#include <string.h>

struct view view_aligned(const struct tensor *tensor, int rank)
{
    int64_t dims[TENSOR_MAX_RANK] = {0};
    int lead = rank - tensor->shape.rank;
    for (int i = 0; i < rank; i++)
        dims[i] = i < lead ? 1 : tensor->shape.dims[i - lead];
    return view_as(tensor, rank, dims);
}

bool view_covers(const struct view *view, const struct view *dst)
{
    return memcmp(view->dims, dst->dims, (size_t)dst->rank * sizeof *dst->dims) == 0;
}

size_t view_count(const struct view *view)
{
    size_t count = 1;
    for (int i = 0; i < view->rank; i++)
        count *= (size_t)view->dims[i];
    return count;
}

struct view view_scratch(const struct view *like)
{
    struct view view =
        view_floats(memory_zeroed(view_count(like) + 1, sizeof(float)), like->rank, like->dims);
    view.type = like->type;
    return view;
}

int sum_to(struct walk_call *call, const struct view *from, const struct view *to)
{
    return view_covers(from, to)
               ? library_reorder(call->engine, from, to, call->err)
               : library_reduction(call->engine, dnnl_reduction_sum, from, to, 0, call->err);
}

int spread_to(struct walk_call *call, const struct view *from, const struct view *to)
{
    size_t size = to->type == dnnl_f32 ? sizeof(float) : 2;
    if (view_covers(from, to))
        return library_reorder(call->engine, from, to, call->err);
    memset(to->data, 0, view_count(to) * size);
    return library_binary(call->engine, dnnl_binary_add, to, from, to, call->err);
}
