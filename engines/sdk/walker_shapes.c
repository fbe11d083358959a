/* Shapes and layouts that libraries have otherwise than ONNX, for rows of the walker (walker.h). */
#include "walker.h"

#include <string.h>

void walk_permute(const void *from, void *to, size_t size, int rank, const int64_t *dims, const int *order)
{
    size_t strides[TENSOR_MAX_RANK], step[TENSOR_MAX_RANK], count = 1;
    int64_t index[TENSOR_MAX_RANK] = {0}, turned[TENSOR_MAX_RANK];
    for (int i = rank; i-- > 0; count *= (size_t)dims[i])
        strides[i] = count;
    for (int i = 0; i < rank; i++) {
        step[i] = strides[order[i]];
        turned[i] = dims[order[i]];
    }
    for (size_t n = 0, at = 0; n < count; n++) {
        memcpy((char *)to + n * size, (const char *)from + at * size, size);
        for (int i = rank; i-- > 0;) {
            at += step[i];
            if (++index[i] < turned[i])
                break;
            at -= step[i] * (size_t)turned[i];
            index[i] = 0;
        }
    }
}

bool walk_resizes_plane(const struct walk_call *call)
{
    const struct tensor *scales = walk_input(call, 2), *in = call->inputs[0];
    if (call->opset < 11 || node_int(call->node, "exclude_outside", 0) ||
        node_int(call->node, "antialias", 0) || node_attribute(call->node, "axes") ||
        !walk_text_is(call, "keep_aspect_ratio_policy", "stretch", "stretch"))
        return false;
    for (int i = 0; i < 4; i++) {
        int64_t before = in->shape.dims[i], after = call->outputs[0].shape.dims[i];
        if (i < 2 && before != after)
            return false;
        if (scales && scales->count == 4 &&
            tensor_get(scales, (size_t)i) * (long double)before != (long double)after)
            return false;
    }
    return true;
}

bool walk_softmax_matrix(const struct walk_call *call, int64_t dims[2])
{
    const struct shape *shape = &call->inputs[0]->shape;
    int axis = walk_axis(node_int(call->node, "axis", call->opset < 13 ? 1 : -1), shape->rank);
    dims[0] = dims[1] = 1;
    for (int i = 0; i < shape->rank; i++)
        dims[i < axis ? 0 : 1] *= shape->dims[i];
    return call->opset < 13 || axis == shape->rank - 1;
}
