/*
 * Inputs and outputs of a model in the types that the library takes and gives (struct lite's `takes`). A
 * tensor of another type is made inside of the model, from one of these: by CAST where the values are the
 * same, and by BITCAST from int32 where these would be too narrow. A quantised tensor stays as it is.
 */
#include "tflite.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* How many int32 have the bits of one element; 0: its value goes by CAST. */
static int words_of(enum dtype type)
{
    switch (type) {
    case DTYPE_UINT32:
        return 1;
    case DTYPE_INT64:
    case DTYPE_UINT64:
    case DTYPE_DOUBLE:
        return 2;
    default:
        return 0;
    }
}

/* A tensor outside for this one. */
static struct net_tensor *add_outer(struct net *net, const struct net_tensor *t)
{
    int64_t dims[NET_MAX_RANK + 1];
    int rank = t->rank;
    memcpy(dims, t->dims, sizeof t->dims);
    if (words_of(t->type) == 2)
        dims[rank++] = 2;
    return &net->tensors[net_inner(net, t->type == DTYPE_FLOAT16 ? DTYPE_FLOAT : DTYPE_INT32, rank, dims)];
}

static void convert(enum dtype from, const void *data, enum dtype to, void *result, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dtype_store(to, result, i, dtype_load(from, data, i));
}

static void add_op(struct net *net, const struct net_tensor *from, const struct net_tensor *to, bool bits)
{
    const struct net_options *cast = NET_OPTIONS(OPTIONS_CAST, {0, 1, (uint64_t)net_type(from->type)},
                                                 {1, 1, (uint64_t)net_type(to->type)});
    net_op(net, bits ? OP_BITCAST : OP_CAST, (int)(from - net->tensors), NONE, NONE, (int)(to - net->tensors),
           bits ? NULL : cast);
}

/* Its operator comes before all others. */
static void bring_in(struct net *net, struct net_tensor *t)
{
    struct net_tensor *outer = add_outer(net, t);
    bool bits = words_of(t->type) > 0;
    if (net->refused)
        return;
    outer->data = t->data;
    if (!bits) {
        outer->data = memory_zeroed(outer->size, 1);
        convert(t->type, t->data, outer->type, outer->data, t->size / dtype_size(t->type));
        free(t->data);
    }
    outer->runtime = true;
    t->data = NULL;
    t->runtime = false;
    add_op(net, outer, t, bits);
    struct net_op first = net->ops[net->n_ops - 1];
    memmove(net->ops + 1, net->ops, (net->n_ops - 1) * sizeof *net->ops);
    net->ops[0] = first;
}

static void bring_out(struct net *net, struct net_tensor *t)
{
    struct net_tensor *outer = add_outer(net, t);
    if (net->refused)
        return;
    outer->target = t->target;
    outer->image = t->image;
    outer->stands_for = t->type;
    t->target = NULL;
    add_op(net, t, outer, words_of(t->type) > 0);
}

void net_ends(struct net *net)
{
    size_t count = net->n_tensors;
    for (size_t i = 0; i < count && !net->refused; i++) {
        struct net_tensor *t = &net->tensors[i];
        if (!net->lite->takes || dtype_in(t->type, net->lite->takes) || t->scale.count)
            continue;
        if (t->runtime)
            bring_in(net, t);
        else if (t->target)
            bring_out(net, t);
    }
}

static int take_plain(const struct net_tensor *t, const void *data)
{
    if (t->image)
        net_from_nhwc(data, t->target);
    else
        memcpy(t->target->data, data, t->target->size);
    return 0;
}

int net_take(const struct net *net, const struct net_tensor *t, const void *data, size_t size)
{
    if (!data || size != t->size)
        return error_set(net->call->err, ERROR_IO, "%s: the output has another size in the library",
                         net->call->node->op_type);
    if (!t->stands_for || words_of(t->stands_for))
        return take_plain(t, data);
    void *values = memory_zeroed(t->target->size, 1);
    convert(t->type, data, t->stands_for, values, t->target->count);
    take_plain(t, values);
    free(values);
    return 0;
}
