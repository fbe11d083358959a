/* Windows, matrices and normalisation. */
#include "dlib.h"

#include <limits.h>

long long dlib_product(const struct shape *shape, int from, int to)
{
    long long product = 1;
    for (int i = from; i < to; i++)
        product *= shape->dims[i];
    return product;
}

void dlib_softmax_dims(const struct walk_call *call, long long dims[3])
{
    const struct shape *shape = &call->inputs[0]->shape;
    bool flatten = call->opset < 13; /* all dims from the axis on are one */
    int axis = walk_axis(node_int(call->node, "axis", flatten ? 1 : -1), shape->rank);
    dims[0] = dlib_product(shape, 0, axis);
    dims[1] = dlib_product(shape, axis, flatten ? shape->rank : axis + 1);
    dims[2] = flatten ? 1 : dlib_product(shape, axis + 1, shape->rank);
}

int dlib_softmax(struct walk_call *call)
{
    struct face_call face = {.op = FACE_SOFTMAX};
    long long d[3];
    dlib_softmax_dims(call, d);
    if (dlib_take(call, &face, 0, d[0], d[1], d[2], 1) || dlib_give(call, &face, d[0], d[1], d[2], 1))
        return -1;
    return dlib_run(call, &face);
}

int dlib_matmul(struct walk_call *call)
{
    struct face_call face = {.op = FACE_GEMM, .numbers = {1, 0}};
    const struct shape *a = &call->inputs[0]->shape, *b = &call->inputs[1]->shape;
    if (b->rank > 2)
        return walk_unsupported(call, "a stack of matrices on the right");
    long long rows = dlib_product(a, 0, a->rank - 1), middle = a->dims[a->rank - 1];
    long long columns = b->rank == 2 ? b->dims[1] : 1;
    if (dlib_take(call, &face, 0, rows, middle, 1, 1) || dlib_take(call, &face, 1, middle, columns, 1, 1) ||
        dlib_give(call, &face, rows, columns, 1, 1))
        return -1;
    return dlib_run(call, &face);
}

int dlib_gemm(struct walk_call *call)
{
    struct face_call face = {.op = FACE_GEMM};
    const struct shape *a = &call->inputs[0]->shape, *b = &call->inputs[1]->shape;
    const struct shape *out = &call->outputs[0].shape;
    float beta = walk_input(call, 2) ? node_float(call->node, "beta", 1) : 0;
    face.numbers[0] = node_float(call->node, "alpha", 1);
    face.window[0] = node_int(call->node, "transA", 0) != 0;
    face.window[1] = node_int(call->node, "transB", 0) != 0;
    if (dlib_take(call, &face, 0, a->dims[0], a->dims[1], 1, 1) ||
        dlib_take(call, &face, 1, b->dims[0], b->dims[1], 1, 1) ||
        dlib_give(call, &face, out->dims[0], out->dims[1], 1, 1) || dlib_run(call, &face))
        return -1;
    return beta != 0 ? dlib_add_input(call, 2, beta) : 0;
}

void dlib_image(const struct shape *shape, long long dims[4])
{
    dims[0] = shape->dims[0];
    dims[1] = shape->dims[1];
    dims[2] = shape->rank == 4 ? shape->dims[2] : 1;
    dims[3] = shape->dims[shape->rank - 1];
}

/*
 * Sizes, strides and paddings as dlib takes them. dlib pads both ends alike, by less than the window, and its
 * output has 1 + (input + 2 * padding - window) / stride elements. Where that is ONNX's size too, what ONNX
 * pads at the far end makes no difference.
 */
static int window(struct walk_call *call, const struct walk_window *from, const struct shape *in,
                  const struct shape *out, int window[6])
{
    for (int i = 0; i < 2; i++) {
        int d = from->rank - 2 + i;
        int64_t size = d < 0 ? 1 : from->kernel[d], stride = d < 0 ? 1 : from->stride[d];
        int64_t pad = d < 0 ? 0 : from->before[d];
        if (d >= 0 && from->dilation[d] != 1 && size != 1)
            return walk_unsupported(call, "dilation");
        if (size > INT_MAX || stride > INT_MAX || pad < 0 || pad >= size)
            return walk_unsupported(call, "padding beyond the window");
        int64_t reach = d < 0 ? 0 : in->dims[d + 2] + 2 * pad - size;
        if (d >= 0 && (reach < 0 || out->dims[d + 2] != 1 + reach / stride))
            return walk_unsupported(call, "padding that differs from end to end");
        window[i] = (int)size;
        window[i + 2] = (int)stride;
        window[i + 4] = (int)pad;
    }
    return 0;
}

int dlib_window(struct walk_call *call, const struct shape *filters, int sizes[6])
{
    struct walk_window from = walk_window(call, filters);
    return window(call, &from, &call->inputs[0]->shape, &call->outputs[0].shape, sizes);
}

int dlib_window_transposed(struct walk_call *call, const struct shape *filters, int sizes[6])
{
    struct walk_window from = walk_window_transposed(call, filters);
    return window(call, &from, &call->outputs[0].shape, &call->inputs[0]->shape, sizes);
}

/* The filters as input 1; dlib takes their size from their shape. */
static int take_filters(struct walk_call *call, struct face_call *face, const int sizes[6])
{
    long long w[4];
    dlib_image(&call->inputs[1]->shape, w);
    for (int i = 0; i < 4; i++)
        face->window[i] = sizes[i + 2];
    return dlib_take(call, face, 1, w[0], w[1], w[2], w[3]);
}

int dlib_conv(struct walk_call *call)
{
    struct face_call face = {.op = FACE_CONV};
    const struct shape *x = &call->inputs[0]->shape, *y = &call->outputs[0].shape;
    long long in[4], out[4];
    int sizes[6];
    if (node_int(call->node, "group", 1) != 1)
        return walk_unsupported(call, "groups");
    if (dlib_window(call, &call->inputs[1]->shape, sizes))
        return -1;
    dlib_image(x, in);
    dlib_image(y, out);
    if (dlib_take(call, &face, 0, in[0], in[1], in[2], in[3]) || take_filters(call, &face, sizes) ||
        (walk_input(call, 2) && dlib_take(call, &face, 2, 1, out[1], 1, 1)) ||
        dlib_give(call, &face, out[0], out[1], out[2], out[3]))
        return -1;
    return dlib_run(call, &face);
}

/* The gradient of a convolution that makes the input's shape of the output's; the bias is added after. */
int dlib_conv_transpose(struct walk_call *call)
{
    struct face_call face = {.op = FACE_CONV_TRANSPOSED}, bias = {.op = FACE_ADD_TO, .numbers = {1}};
    const struct shape *x = &call->inputs[0]->shape, *y = &call->outputs[0].shape;
    long long in[4], out[4];
    int sizes[6];
    if (node_int(call->node, "group", 1) != 1)
        return walk_unsupported(call, "groups");
    if (dlib_window_transposed(call, &call->inputs[1]->shape, sizes))
        return -1;
    dlib_image(x, in);
    dlib_image(y, out);
    if (dlib_take(call, &face, 0, in[0], in[1], in[2], in[3]) || take_filters(call, &face, sizes) ||
        dlib_give(call, &face, out[0], out[1], out[2], out[3]) || dlib_run(call, &face))
        return -1;
    if (!walk_input(call, 2))
        return 0;
    if (dlib_take(call, &bias, 2, 1, out[1], 1, 1) || dlib_give(call, &bias, out[0], out[1], out[2], out[3]))
        return -1;
    return dlib_run(call, &bias);
}

int dlib_pool(struct walk_call *call)
{
    struct face_call face = {.op = (enum face_op)call->row->kind};
    const struct shape *x = &call->inputs[0]->shape, *y = &call->outputs[0].shape;
    long long in[4], out[4];
    if (walk_wants(call, 1))
        return walk_unsupported(call, "indices");
    if (dlib_window(call, NULL, face.window))
        return -1;
    if (face.op == FACE_AVERAGE_POOL && node_int(call->node, "count_include_pad", 0) &&
        (face.window[4] || face.window[5]))
        return walk_unsupported(call, "count_include_pad");
    dlib_image(x, in);
    dlib_image(y, out);
    if (dlib_take(call, &face, 0, in[0], in[1], in[2], in[3]) ||
        dlib_give(call, &face, out[0], out[1], out[2], out[3]))
        return -1;
    return dlib_run(call, &face);
}

int dlib_global_window(struct walk_call *call, int sizes[6])
{
    const struct shape *x = &call->inputs[0]->shape;
    long long size = dlib_product(x, 2, x->rank);
    if (size > INT_MAX)
        return walk_unsupported(call, "an image of %lld elements", size);
    const int window[6] = {1, (int)size, 1, 1, 0, 0};
    for (int i = 0; i < 6; i++)
        sizes[i] = window[i];
    return 0;
}

int dlib_global_pool(struct walk_call *call)
{
    struct face_call face = {.op = (enum face_op)call->row->kind};
    const struct shape *x = &call->inputs[0]->shape;
    if (dlib_global_window(call, face.window))
        return -1;
    long long size = face.window[1];
    if (dlib_take(call, &face, 0, x->dims[0], x->dims[1], 1, size) ||
        dlib_give(call, &face, x->dims[0], x->dims[1], 1, 1))
        return -1;
    return dlib_run(call, &face);
}

int dlib_batch_normalization(struct walk_call *call)
{
    struct face_call face = {.op = FACE_BATCH_NORMALIZE};
    const struct shape *x = &call->inputs[0]->shape;
    long long inner = dlib_product(x, 2, x->rank);
    bool training =
        call->opset < 7 ? !node_int(call->node, "is_test", 0) : node_int(call->node, "training_mode", 0);
    if (training || walk_wants(call, 1))
        return walk_unsupported(call, "training");
    if (!node_int(call->node, "spatial", 1))
        return walk_unsupported(call, "spatial=0");
    face.numbers[0] = node_float(call->node, "epsilon", 1e-5F);
    if (!(face.numbers[0] > 0))
        return walk_unsupported(call, "an epsilon of %g", (double)face.numbers[0]);
    if (dlib_take(call, &face, 0, x->dims[0], x->dims[1], inner, 1))
        return -1;
    for (size_t i = 1; i < 5; i++)
        if (dlib_take(call, &face, i, 1, x->dims[1], 1, 1))
            return -1;
    if (dlib_give(call, &face, x->dims[0], x->dims[1], inner, 1))
        return -1;
    return dlib_run(call, &face);
}

/* SpaceToDepth and its inverse; dlib has ONNX's DCR order alone. */
int dlib_reorg(struct walk_call *call)
{
    struct face_call face = {.op = (enum face_op)call->row->kind};
    const struct shape *x = &call->inputs[0]->shape, *y = &call->outputs[0].shape;
    if (!walk_text_is(call, "mode", "DCR", "DCR"))
        return walk_unsupported(call, "mode CRD");
    face.window[0] = (int)node_int(call->node, "blocksize", 1);
    if (dlib_take(call, &face, 0, x->dims[0], x->dims[1], x->dims[2], x->dims[3]) ||
        dlib_give(call, &face, y->dims[0], y->dims[1], y->dims[2], y->dims[3]))
        return -1;
    return dlib_run(call, &face);
}
