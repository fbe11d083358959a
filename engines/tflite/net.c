#include "net.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void net_init(struct net *net, struct walk_call *call)
{
    *net = (struct net){.call = call, .lite = call->engine};
    net->tensors = memory_zeroed(NET_TENSORS, sizeof *net->tensors);
    net->ops = memory_zeroed(NET_OPS, sizeof *net->ops);
}

uint64_t net_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void net_release(struct net *net)
{
    for (size_t i = 0; i < net->n_tensors; i++)
        free(net->tensors[i].data);
    free(net->tensors);
    free(net->ops);
}

int net_refuse(struct net *net, const char *why)
{
    net_release(net);
    return walk_unsupported(net->call, "%s", why);
}

/* The dims of an image as [N, C, H, W], or [N, C, D, H, W] for rank 5. Returns how many. */
static int image_dims(const struct shape *s, int64_t *dims)
{
    if (s->rank != 3) {
        memcpy(dims, s->dims, (size_t)s->rank * sizeof *dims);
        return s->rank;
    }
    dims[0] = s->dims[0];
    dims[1] = s->dims[1];
    dims[2] = 1;
    dims[3] = s->dims[2];
    return 4;
}

/* Channels from behind the batch to the end, or back. */
static void image_order(int rank, bool back, int *order)
{
    order[0] = 0;
    for (int i = 1; i < rank; i++)
        order[i] = back ? (i == 1 ? rank - 1 : i - 1) : (i == rank - 1 ? 1 : i + 1);
}

int net_nhwc(const struct shape *nchw, int64_t *dims)
{
    int64_t whole[TENSOR_MAX_RANK];
    int order[TENSOR_MAX_RANK], rank = image_dims(nchw, whole);
    image_order(rank, false, order);
    for (int i = 0; i < rank; i++)
        dims[i] = whole[order[i]];
    return rank;
}

void net_from_nhwc(const void *data, struct tensor *target)
{
    int64_t dims[TENSOR_MAX_RANK];
    int order[TENSOR_MAX_RANK], rank = net_nhwc(&target->shape, dims);
    image_order(rank, true, order);
    walk_permute(data, target->data, dtype_size(target->type), rank, dims, order);
}

/* A new tensor; after a refusal the last one again, so that callers need no checks. */
static struct net_tensor *add(struct net *net, enum dtype type, int rank, const int64_t *dims)
{
    if (net_type(type) < 0)
        net->refused = "an element type that the format lacks";
    if (rank > NET_MAX_RANK)
        net->refused = "too many dimensions";
    if (net->n_tensors == NET_TENSORS)
        net->refused = "too many tensors";
    if (net->n_tensors == NET_TENSORS || rank > NET_MAX_RANK)
        return &net->tensors[NET_TENSORS - 1];
    struct net_tensor *t = &net->tensors[net->n_tensors++];
    *t = (struct net_tensor){.type = type, .rank = rank, .size = dtype_size(type)};
    for (int i = 0; i < rank; i++) {
        t->dims[i] = dims[i];
        t->size *= (size_t)dims[i];
        if (dims[i] > INT32_MAX)
            net->refused = "a dimension beyond 32 bits";
    }
    if (t->size == 0)
        net->refused = "an empty tensor";
    return t;
}

static int number_of(const struct net *net, const struct net_tensor *t)
{
    return (int)(t - net->tensors);
}

static void *take_copy(const void *data, size_t size)
{
    void *copy = memory_zeroed(size ? size : 1, 1);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

int net_const_as(struct net *net, enum dtype type, const void *data, int rank, const int64_t *dims)
{
    struct net_tensor *t = add(net, type, rank, dims);
    if (!net->refused)
        t->data = take_copy(data, t->size);
    return number_of(net, t);
}

int net_const(struct net *net, const struct tensor *tensor)
{
    return net_const_as(net, tensor->type, tensor->data, tensor->shape.rank, tensor->shape.dims);
}

int net_input_as(struct net *net, const struct tensor *tensor, int rank, const int64_t *dims)
{
    int number = net_const_as(net, tensor->type, tensor->data, rank, dims);
    net->tensors[number].runtime = true;
    return number;
}

int net_input(struct net *net, const struct tensor *tensor)
{
    return net_input_as(net, tensor, tensor->shape.rank, tensor->shape.dims);
}

int net_turned(struct net *net, const struct tensor *tensor, int rank, const int64_t *dims, const int *order)
{
    int64_t turned[NET_MAX_RANK] = {0};
    for (int i = 0; i < rank; i++)
        turned[i] = dims[order[i]];
    struct net_tensor *t = add(net, tensor->type, rank, turned);
    if (!net->refused) {
        t->data = memory_zeroed(t->size, 1);
        walk_permute(tensor->data, t->data, dtype_size(tensor->type), rank, dims, order);
    }
    return number_of(net, t);
}

int net_image(struct net *net, const struct tensor *tensor)
{
    int64_t dims[TENSOR_MAX_RANK];
    int order[TENSOR_MAX_RANK], rank = image_dims(&tensor->shape, dims);
    image_order(rank, false, order);
    int number = net_turned(net, tensor, rank, dims, order);
    net->tensors[number].runtime = true;
    return number;
}

int net_output_as(struct net *net, struct tensor *tensor, int rank, const int64_t *dims)
{
    struct net_tensor *t = add(net, tensor->type, rank, dims);
    t->target = tensor;
    return number_of(net, t);
}

int net_output(struct net *net, struct tensor *tensor)
{
    return net_output_as(net, tensor, tensor->shape.rank, tensor->shape.dims);
}

int net_output_image(struct net *net, struct tensor *tensor)
{
    int64_t dims[TENSOR_MAX_RANK];
    int rank = net_nhwc(&tensor->shape, dims), number = net_output_as(net, tensor, rank, dims);
    net->tensors[number].image = true;
    return number;
}

int net_inner(struct net *net, enum dtype type, int rank, const int64_t *dims)
{
    return number_of(net, add(net, type, rank, dims));
}

int net_inner_like(struct net *net, const struct tensor *tensor)
{
    return net_inner(net, tensor->type, tensor->shape.rank, tensor->shape.dims);
}

int net_ints(struct net *net, size_t count, const int64_t *values)
{
    int32_t *narrow = memory_zeroed(count ? count : 1, sizeof *narrow);
    for (size_t i = 0; i < count; i++) {
        narrow[i] = (int32_t)values[i];
        if (narrow[i] != values[i])
            net->refused = "a number beyond 32 bits";
    }
    int64_t dims[] = {(int64_t)count};
    int number = net_const_as(net, DTYPE_INT32, narrow, 1, dims);
    free(narrow);
    return number;
}

int net_int(struct net *net, int64_t value)
{
    return net_number(net, DTYPE_INT32, (long double)value);
}

int net_number(struct net *net, enum dtype type, long double value)
{
    char element[sizeof(int64_t)];
    dtype_store(type, element, 0, value);
    return net_const_as(net, type, element, 0, NULL);
}

void net_scale(struct net *net, int tensor, float scale, int64_t zero)
{
    struct net_tensor *t = &net->tensors[tensor];
    t->one_scale = scale;
    t->one_zero = zero;
    t->scale = (struct net_scale){.count = 1, .scales = &t->one_scale, .zeros = &t->one_zero};
}

void net_scales(struct net *net, int tensor, struct net_scale scale)
{
    net->tensors[tensor].scale = scale;
}

void net_op_input(struct net *net, struct net_op *op, int tensor)
{
    if (op->n_inputs == NET_SLOTS)
        net->refused = "too many inputs";
    else
        op->inputs[op->n_inputs++] = tensor;
}

void net_op_output(struct net *net, struct net_op *op, int tensor)
{
    if (op->n_outputs == NET_SLOTS)
        net->refused = "too many outputs";
    else
        op->outputs[op->n_outputs++] = tensor;
}

struct net_op *net_op(struct net *net, enum lite_op code, int a, int b, int c, int y,
                      const struct net_options *options)
{
    if (net->n_ops == NET_OPS) {
        net->refused = "too many operators";
        net->n_ops--;
    }
    struct net_op *op = &net->ops[net->n_ops++];
    const int inputs[] = {a, b, c};
    *op = (struct net_op){.code = code, .version = 1};
    for (size_t i = 0; i < 3; i++)
        if (inputs[i] != NONE)
            net_op_input(net, op, inputs[i]);
    if (y != NONE)
        net_op_output(net, op, y);
    if (options)
        op->options = *options;
    return op;
}
