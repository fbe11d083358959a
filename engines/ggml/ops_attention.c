/* Attention, by ggml_flash_attn_ext. */
#include "ops.h"

#include "base/memory.h"

#include <math.h>

enum {
    MASK = 3,
    PAST_KEY,
    PAST_VALUE,
    LENGTHS,
    ROWS_MULTIPLE = 64 /* older releases want masks so padded */
};

/* [batch, heads, rows, size] of [batch, heads, rows, size] or [batch, rows, heads * size]. */
static void head_dims(const struct walk_call *call, size_t index, int64_t *dims)
{
    const struct shape *shape = &call->inputs[index]->shape;
    int64_t heads = node_int(call->node, index ? "kv_num_heads" : "q_num_heads", 1);
    bool flat = shape->rank == 3;
    dims[0] = shape->dims[0];
    dims[1] = flat ? heads : shape->dims[1];
    dims[2] = flat ? shape->dims[1] : shape->dims[2];
    dims[3] = flat ? shape->dims[2] / heads : shape->dims[3];
}

/* Heads of a flat tensor are a view of it, as llama.cpp itself calls the function. */
static struct ggml_tensor *heads(struct net *net, size_t index)
{
    const struct tensor *t = net->call->inputs[index];
    int64_t dims[4];
    head_dims(net->call, index, dims);
    if (t->shape.rank == 4)
        return net_input(net, t);
    int64_t flat[] = {dims[0], dims[2], dims[1], dims[3]};
    struct ggml_tensor *x = net_input_as(net, t, 4, flat);
    return x ? net->api->permute(net->context, x, 0, 2, 1, 3) : NULL;
}

/* What is added to a score: 0, -infinity or the mask's element, whose dims are those of the scores or 1. */
static float added(const struct tensor *mask, const int64_t *at, bool causal)
{
    if (causal && at[3] > at[2])
        return -INFINITY;
    if (!mask)
        return 0;
    size_t index = 0;
    for (int i = 0; i < mask->shape.rank; i++) {
        int64_t dim = mask->shape.dims[i];
        index = index * (size_t)dim + (size_t)(dim == 1 ? 0 : at[4 - mask->shape.rank + i]);
    }
    if (mask->type == DTYPE_BOOL)
        return tensor_get(mask, index) != 0 ? 0 : -INFINITY;
    return (float)tensor_get(mask, index);
}

static int64_t mask_dim(const struct tensor *mask, int axis)
{
    int at = mask ? axis - (4 - mask->shape.rank) : -1;
    return at < 0 ? 1 : mask->shape.dims[at];
}

/* The mask and the causal one together, as float16, of values that it holds. NULL where that fails. */
static struct ggml_tensor *whole_mask(struct net *net, const struct tensor *mask, int64_t rows,
                                      int64_t columns, bool causal)
{
    int64_t padded = (rows + ROWS_MULTIPLE - 1) / ROWS_MULTIPLE * ROWS_MULTIPLE;
    int64_t dims[] = {mask_dim(mask, 0), mask_dim(mask, 1), padded, columns};
    size_t count = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]);
    float *data = memory_zeroed(count, sizeof *data);
    for (size_t i = 0; i < count; i++) {
        int64_t n = (int64_t)i, at[4];
        for (int axis = 4; axis-- > 0; n /= dims[axis])
            at[axis] = n % dims[axis];
        data[i] = at[2] < rows ? added(mask, at, causal) : 0;
    }
    struct ggml_tensor *t = net_computed(net, TYPE_F32, data, 4, dims);
    if (!t || net_check(net, t, TYPE_F16, 1))
        return NULL;
    return net->api->cast(net->context, t, TYPE_F16);
}

/* Why the library does not have this; NULL where it does. */
static const char *limit_of(const struct net *net, const int64_t *q, const int64_t *k)
{
    const struct walk_call *call = net->call;
    const struct tensor *mask = walk_input(call, MASK);
    if (!library_since(net->library, 3, 12, 0))
        return "of float32 keys: this release says 'fattn: unsupported K-type'";
    if (walk_input(call, PAST_KEY) || walk_input(call, PAST_VALUE) || walk_input(call, LENGTHS) ||
        walk_wants(call, 1) || walk_wants(call, 2) || walk_wants(call, 3))
        return "with past keys, lengths or other outputs";
    if (node_float(call->node, "softcap", 0) != 0 && (mask || node_int(call->node, "is_causal", 0)))
        return "with softcap and a mask";
    if (mask && (mask->shape.rank > 4 || mask_dim(mask, 3) != k[2]))
        return "with a mask of fewer columns";
    return q[1] % k[1] ? "of heads that are no whole groups" : NULL;
}

int run_attention(struct walk_call *call)
{
    struct net net;
    int64_t q[4], k[4];
    if (net_init(&net, call))
        return -1;
    head_dims(call, 0, q);
    head_dims(call, 1, k);
    const char *limit = limit_of(&net, q, k);
    if (limit)
        return net_refuse(&net, "%s", limit);
    const struct tensor *mask = walk_input(call, MASK);
    bool causal = node_int(call->node, "is_causal", 0);
    struct ggml_tensor *query = heads(&net, 0), *key = heads(&net, 1), *value = heads(&net, 2), *whole = NULL;
    if (mask || causal)
        whole = whole_mask(&net, mask, q[2], k[2], causal);
    if (!query || !key || !value || ((mask || causal) && !whole))
        return net_finish(&net, NULL);
    float scale = node_float(call->node, "scale", (float)(1 / sqrt((double)q[3])));
    struct ggml_tensor *y = net.api->flash_attn_ext(net.context, query, key, value, whole, scale, 0,
                                                    node_float(call->node, "softcap", 0));
    /* Its result has the heads behind the rows, as a flat output has them. */
    if (call->outputs[0].shape.rank == 4)
        y = net.api->cont(net.context, net.api->permute(net.context, y, 0, 2, 1, 3));
    return net_finish(&net, y);
}
