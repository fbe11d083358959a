#include "net.h"

#include "base/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_empty(const struct walk_call *call, size_t n_inputs)
{
    for (size_t i = 0; i < n_inputs; i++)
        if (call->inputs[i] && call->inputs[i]->count == 0)
            return true;
    return call->outputs[0].count == 0;
}

int net_init(struct net *net, struct walk_call *call)
{
    return net_init_of(net, call, call->n_inputs);
}

int net_init_of(struct net *net, struct walk_call *call, size_t n_inputs)
{
    const struct library *library = call->engine;
    *net = (struct net){.call = call, .library = library, .api = &library->api};
    if (is_empty(call, n_inputs))
        return walk_unsupported(call, "an empty tensor");
    if (call->inputs[0]->type == DTYPE_FLOAT16 && !library_since(library, 3, 9, 0))
        return walk_unsupported(call, "of float16 in this release");
    size_t size = NET_MAX_TENSORS * net->api->tensor_overhead() +
                  net->api->graph_overhead_custom(NET_MAX_TENSORS, false);
    net->context = net->api->init((struct ggml_init_params){.mem_size = size, .no_alloc = true});
    if (!net->context)
        return error_set(call->err, ERROR_MEMORY, "ggml_init gives nothing");
    net->graph = net->api->new_graph_custom(net->context, NET_MAX_TENSORS, false);
    return 0;
}

void net_release(struct net *net)
{
    if (net->buffer)
        net->api->backend_buffer_free(net->buffer);
    if (net->context)
        net->api->free(net->context);
    for (size_t i = 0; i < net->n_inputs; i++)
        free(net->inputs[i].owned);
}

static int type_of(enum dtype type)
{
    switch (type) {
    case DTYPE_FLOAT:
        return TYPE_F32;
    case DTYPE_FLOAT16:
        return TYPE_F16;
    case DTYPE_BFLOAT16:
        return TYPE_BF16;
    default:
        return TYPE_I32;
    }
}

static struct ggml_tensor *make(struct net *net, int type, int rank, const int64_t *dims)
{
    int64_t ne[NET_RANK] = {1, 1, 1, 1};
    if (rank > NET_RANK)
        return NULL;
    for (int i = 0; i < rank; i++)
        ne[i] = dims[rank - 1 - i];
    return net->api->new_tensor(net->context, type, NET_RANK, ne);
}

static struct ggml_tensor *add_input(struct net *net, int type, int rank, const int64_t *dims,
                                     const void *data, void *owned)
{
    struct ggml_tensor *t = net->n_inputs < NET_MAX_INPUTS ? make(net, type, rank, dims) : NULL;
    if (!t) {
        free(owned);
        return NULL;
    }
    net->inputs[net->n_inputs++] = (struct net_input){.tensor = t, .data = data, .owned = owned};
    return t;
}

/* NULL where an element is beyond int32. */
static int32_t *narrowed(const struct tensor *tensor)
{
    const int64_t *wide = tensor->data;
    int32_t *narrow = memory_zeroed(tensor->count, sizeof *narrow);
    for (size_t i = 0; i < tensor->count; i++) {
        narrow[i] = (int32_t)wide[i];
        if (narrow[i] != wide[i]) {
            free(narrow);
            return NULL;
        }
    }
    return narrow;
}

struct ggml_tensor *net_input_as(struct net *net, const struct tensor *tensor, int rank, const int64_t *dims)
{
    void *owned = NULL;
    if (tensor->type == DTYPE_INT64 && !(owned = narrowed(tensor)))
        return NULL;
    return add_input(net, type_of(tensor->type), rank, dims, owned ? owned : tensor->data, owned);
}

struct ggml_tensor *net_input(struct net *net, const struct tensor *tensor)
{
    return net_input_as(net, tensor, tensor->shape.rank, tensor->shape.dims);
}

struct ggml_tensor *net_computed(struct net *net, int type, void *data, int rank, const int64_t *dims)
{
    return add_input(net, type, rank, dims, data, data);
}

struct ggml_tensor *net_shape(struct net *net, const struct shape *shape)
{
    return make(net, TYPE_F32, shape->rank, shape->dims);
}

/* Every release makes float32 of rows of any type by ggml_get_rows, not all of them by ggml_cast. */
int net_check(struct net *net, struct ggml_tensor *values, int type, int64_t row)
{
    const struct api *api = net->api;
    int64_t count = (int64_t)(api->nbytes(values) / sizeof(float)) / row;
    if (net->n_checks == NET_MAX_CHECKS || count > INT32_MAX)
        return -1;
    int32_t *numbers = memory_zeroed((size_t)count, sizeof *numbers);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = (int32_t)i;
    struct ggml_tensor *all = net_computed(net, TYPE_I32, numbers, 1, &count);
    if (!all)
        return -1;
    struct ggml_tensor *rounded =
        api->cast(net->context, api->reshape_2d(net->context, values, row, count), type);
    rounded = api->get_rows(net->context, rounded, all);
    net->checks[net->n_checks++] = (struct net_check){.values = values, .rounded = rounded};
    return 0;
}

struct net_rows net_rows_of(const struct tensor *tensor, int first, int count)
{
    struct net_rows rows = {1, 1, 1};
    for (int i = 0; i < tensor->shape.rank; i++) {
        int64_t *part = i < first ? &rows.outer : i < first + count ? &rows.count : &rows.inner;
        *part *= tensor->shape.dims[i];
    }
    return rows;
}

struct ggml_tensor *net_columns(struct net *net, struct ggml_tensor *rows)
{
    return net->api->cont(net->context, net->api->permute(net->context, rows, 1, 0, 2, 3));
}

struct ggml_tensor *net_rows(struct net *net, const struct tensor *tensor, const struct net_rows *rows)
{
    int64_t straight[] = {rows->outer, 1, rows->count}, turned[] = {rows->outer, rows->count, rows->inner};
    if (rows->inner == 1)
        return net_input_as(net, tensor, 3, straight);
    struct ggml_tensor *t = net_input_as(net, tensor, 3, turned);
    return t ? net_columns(net, t) : NULL;
}

struct ggml_tensor *net_repeat(struct net *net, struct ggml_tensor *t, const struct shape *from,
                               const struct shape *to)
{
    bool same = true;
    for (int i = 1; i <= to->rank; i++) {
        int64_t dim = i <= from->rank ? from->dims[from->rank - i] : 1;
        same = same && dim == to->dims[to->rank - i];
    }
    return same ? t : net->api->repeat(net->context, t, net_shape(net, to));
}

/* Views and new shapes compute nothing. */
static bool computes(const char *kernel)
{
    static const char *const names[] = {"NONE", "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(kernel, names[i]) == 0)
            return false;
    return true;
}

/* Asks the backend for each operation whether it has it, and tells them. */
static int look_through(struct net *net)
{
    for (int i = 0; i < net->api->graph_n_nodes(net->graph); i++) {
        const struct ggml_tensor *node = net->api->graph_node(net->graph, i);
        const char *kernel = net->api->op_desc(node);
        if (!net->api->backend_supports_op(net->library->backend, node))
            return walk_unsupported(net->call,
                                    "ggml's processor backend says that it does not support this %s", kernel);
        if (computes(kernel))
            adapter_trace_kernel(net->call->adapter, kernel, NULL, NULL);
    }
    return 0;
}

static int compute(struct net *net)
{
    const struct api *api = net->api;
    net->buffer = api->backend_alloc_ctx_tensors(net->context, net->library->backend);
    if (!net->buffer)
        return error_set(net->call->err, ERROR_MEMORY, "%s: ggml allocates no buffer",
                         net->call->node->op_type);
    api->backend_buffer_clear(net->buffer, 0xFF);
    for (size_t i = 0; i < net->n_inputs; i++) {
        const struct net_input *input = &net->inputs[i];
        api->backend_tensor_set(input->tensor, input->data, 0, api->nbytes(input->tensor));
    }
    int status = api->backend_graph_compute(net->library->backend, net->graph);
    return status == 0 ? 0
                       : error_set(net->call->err, ERROR_IO, "%s: ggml_backend_graph_compute gives %d",
                                   net->call->node->op_type, status);
}

static bool is_equal(struct net *net, const struct net_check *check)
{
    size_t size = net->api->nbytes(check->values), count = size / sizeof(float);
    float *values = memory_zeroed(size, 1), *rounded = memory_zeroed(size, 1);
    net->api->backend_tensor_get(check->values, values, 0, size);
    net->api->backend_tensor_get(check->rounded, rounded, 0, size);
    bool equal = true;
    for (size_t i = 0; i < count && equal; i++)
        equal = values[i] == rounded[i];
    free(values);
    free(rounded);
    return equal;
}

int net_run(struct net *net, struct ggml_tensor *const *ends, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!ends[i])
            return walk_unsupported(net->call, "more inputs, dims or elements than ggml's tensors take");
        net->api->build_forward_expand(net->graph, ends[i]);
    }
    for (size_t i = 0; i < net->n_checks; i++)
        net->api->build_forward_expand(net->graph, net->checks[i].rounded);
    if (look_through(net) || compute(net))
        return -1;
    for (size_t i = 0; i < net->n_checks; i++)
        if (!is_equal(net, &net->checks[i]))
            return walk_unsupported(net->call, "values that the chosen type of weights must round");
    return 0;
}

int net_give(struct net *net, const struct ggml_tensor *t, struct tensor *output)
{
    size_t size = net->api->nbytes(t);
    bool widen = output->type == DTYPE_INT64;
    if (size != (widen ? output->size / 2 : output->size))
        return error_set(net->call->err, ERROR_IO, "%s: ggml computes %zu bytes where %zu are expected",
                         net->call->node->op_type, size, widen ? output->size / 2 : output->size);
    if (!widen) {
        net->api->backend_tensor_get(t, output->data, 0, size);
        return 0;
    }
    int32_t *narrow = memory_zeroed(size, 1);
    net->api->backend_tensor_get(t, narrow, 0, size);
    for (size_t i = 0; i < output->count; i++)
        ((int64_t *)output->data)[i] = narrow[i];
    free(narrow);
    return 0;
}

int net_finish(struct net *net, struct ggml_tensor *t)
{
    int result = net_run(net, &t, 1);
    if (result == 0)
        result = net_give(net, t, &net->call->outputs[0]);
    net_release(net);
    return result;
}

int net_refuse(struct net *net, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    net_release(net);
    return walk_unsupported(net->call, "%s", text);
}
