#include "net.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

int net_init(struct net *net, struct walk_call *call)
{
    *net = (struct net){.call = call};
    if (xnn_create_subgraph(NET_MAX_VALUES, 0, &net->graph) != xnn_status_success)
        return error_set(call->err, ERROR_MEMORY, "XNNPACK makes no subgraph");
    return 0;
}

static void release(struct net *net)
{
    if (net->graph)
        xnn_delete_subgraph(net->graph);
    for (size_t i = 0; i < net->n_buffers; i++)
        free(net->buffers[i]);
}

static const char *status_text(enum xnn_status status)
{
    switch (status) {
    case xnn_status_invalid_parameter:
        return "invalid parameter";
    case xnn_status_invalid_state:
        return "invalid state";
    case xnn_status_unsupported_parameter:
        return "unsupported parameter";
    case xnn_status_unsupported_hardware:
        return "unsupported hardware";
    case xnn_status_out_of_memory:
        return "out of memory";
    default:
        return "not initialized";
    }
}

/* Its "invalid parameter" means its own limits (a pooling of 1x1, a scale out of range), not a bad model. */
static int fail(struct net *net, enum xnn_status status)
{
    if (status == xnn_status_invalid_parameter || status == xnn_status_unsupported_parameter)
        return walk_unsupported(net->call, "XNNPACK says %s", status_text(status));
    return error_set(net->call->err, status == xnn_status_out_of_memory ? ERROR_MEMORY : ERROR_IO,
                     "%s: XNNPACK says %s", net->call->node->op_type, status_text(status));
}

/* [N, C, H, W] of a tensor of rank 3 or 4. */
static void image_dims(const struct tensor *tensor, int64_t *dims)
{
    const struct shape *s = &tensor->shape;
    bool signal = s->rank == 3;
    dims[0] = s->dims[0];
    dims[1] = s->dims[1];
    dims[2] = signal ? 1 : s->dims[2];
    dims[3] = s->dims[signal ? 2 : 3];
}

static const int to_nhwc[] = {0, 2, 3, 1}, to_nchw[] = {0, 3, 1, 2};

void net_permute(const float *from, float *to, int rank, const int64_t *dims, const int *order)
{
    walk_permute(from, to, sizeof *from, rank, dims, order);
}

static void give_result(struct net *net)
{
    if (!net->target->size)
        return;
    if (!net->image) {
        memcpy(net->target->data, net->result, net->target->size);
        return;
    }
    int64_t nchw[4];
    image_dims(net->target, nchw);
    int64_t nhwc[4] = {nchw[0], nchw[2], nchw[3], nchw[1]};
    net_permute(net->result, net->target->data, 4, nhwc, to_nchw);
}

void net_note(struct net *net, const char *function)
{
    if (net->n_defined < NET_MAX_VALUES)
        net->defined[net->n_defined++] = function;
}

#ifdef XNN_FLAG_BASIC_PROFILING
static const uint32_t profiling = XNN_FLAG_BASIC_PROFILING;

/* The operators that ran, by the library's own names, which follow one another. */
static bool tell_profile(const struct net *net, xnn_runtime_t runtime)
{
    size_t size = 0;
    if (xnn_get_runtime_profiling_info(runtime, xnn_profile_info_operator_name, 0, NULL, &size) !=
            xnn_status_out_of_memory ||
        !size)
        return false;
    char *names = memory_zeroed(size + 1, 1);
    enum xnn_status status =
        xnn_get_runtime_profiling_info(runtime, xnn_profile_info_operator_name, size, names, &size);
    for (const char *at = names; status == xnn_status_success && *at && at < names + size;
         at += strlen(at) + 1)
        adapter_trace_kernel(net->call->adapter, at, NULL, NULL);
    free(names);
    return status == xnn_status_success;
}
#else
/* Releases before 2022-11 have no profile. */
static const uint32_t profiling = 0;

static bool tell_profile(const struct net *net, xnn_runtime_t runtime)
{
    (void)net, (void)runtime;
    return false;
}
#endif

/* Where there is no profile, the operators that were defined. */
static void tell_operators(const struct net *net, xnn_runtime_t runtime)
{
    static const char prefix[] = "xnn_define_";
    if (!adapter_traces(net->call->adapter) || (runtime && tell_profile(net, runtime)))
        return;
    for (size_t i = 0; i < net->n_defined; i++)
        adapter_trace_kernel(net->call->adapter, net->defined[i] + strlen(prefix), NULL, NULL);
}

int net_finish(struct net *net, enum xnn_status defined)
{
    xnn_runtime_t runtime = NULL;
    enum xnn_status status = net->failed ? xnn_status_unsupported_parameter : defined;
    if (status == xnn_status_success)
        status = xnn_create_runtime_v2(net->graph, NULL, adapter_traces(net->call->adapter) ? profiling : 0,
                                       &runtime);
    if (status == xnn_status_success)
        status = xnn_setup_runtime(runtime, net->n_external, net->external);
    if (status == xnn_status_success)
        status = xnn_invoke_runtime(runtime);
    if (status == xnn_status_success)
        give_result(net);
    tell_operators(net, runtime);
    if (runtime)
        xnn_delete_runtime(runtime);
    release(net);
    return status == xnn_status_success ? 0 : fail(net, status);
}

int net_refuse(struct net *net, const char *why)
{
    release(net);
    return walk_unsupported(net->call, "%s", why);
}

static size_t count_of(int rank, const int64_t *dims)
{
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    return count;
}

/* The memory is NaN until written, so that what a kernel leaves out shows. */
static float *buffer(struct net *net, int rank, const int64_t *dims)
{
    if (net->n_buffers == NET_MAX_VALUES)
        return NULL;
    size_t count = count_of(rank, dims) + XNN_EXTRA_BYTES / sizeof(float);
    float *data = memory_zeroed(count, sizeof *data);
    memset(data, 0xFF, count * sizeof *data);
    return net->buffers[net->n_buffers++] = data;
}

static uint32_t define(struct net *net, int rank, const int64_t *dims, const float *fixed, float *outside,
                       uint32_t flags)
{
    size_t sizes[XNN_MAX_TENSOR_DIMS];
    uint32_t id = outside ? (uint32_t)net->n_external : XNN_INVALID_VALUE_ID;
    if (rank > XNN_MAX_TENSOR_DIMS || (!fixed && !outside && flags)) {
        net->failed = true;
        return XNN_INVALID_VALUE_ID;
    }
    for (int i = 0; i < rank; i++)
        sizes[i] = (size_t)dims[i];
    if (xnn_define_tensor_value(net->graph, xnn_datatype_fp32, (size_t)rank, sizes, fixed, id, flags, &id) !=
        xnn_status_success) {
        net->failed = true;
        return XNN_INVALID_VALUE_ID;
    }
    if (outside)
        net->external[net->n_external++] = (struct xnn_external_value){id, outside};
    return id;
}

static const int64_t one = 1;

uint32_t net_input_as(struct net *net, const struct tensor *tensor, int rank, const int64_t *dims)
{
    float *data = buffer(net, rank, dims);
    if (data && tensor->size)
        memcpy(data, tensor->data, tensor->size);
    return define(net, rank, dims, NULL, data, XNN_VALUE_FLAG_EXTERNAL_INPUT);
}

uint32_t net_input(struct net *net, const struct tensor *tensor)
{
    return tensor->shape.rank ? net_input_as(net, tensor, tensor->shape.rank, tensor->shape.dims)
                              : net_input_as(net, tensor, 1, &one);
}

uint32_t net_image(struct net *net, const struct tensor *tensor)
{
    int64_t nchw[4];
    image_dims(tensor, nchw);
    int64_t nhwc[4] = {nchw[0], nchw[2], nchw[3], nchw[1]};
    float *data = buffer(net, 4, nhwc);
    if (data)
        net_permute(tensor->data, data, 4, nchw, to_nhwc);
    return define(net, 4, nhwc, NULL, data, XNN_VALUE_FLAG_EXTERNAL_INPUT);
}

uint32_t net_output_as(struct net *net, struct tensor *tensor, int rank, const int64_t *dims)
{
    net->target = tensor;
    net->result = buffer(net, rank, dims);
    return define(net, rank, dims, NULL, net->result, XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
}

uint32_t net_output(struct net *net, struct tensor *tensor)
{
    return tensor->shape.rank ? net_output_as(net, tensor, tensor->shape.rank, tensor->shape.dims)
                              : net_output_as(net, tensor, 1, &one);
}

uint32_t net_output_image(struct net *net, struct tensor *tensor)
{
    int64_t nchw[4];
    image_dims(tensor, nchw);
    int64_t nhwc[4] = {nchw[0], nchw[2], nchw[3], nchw[1]};
    net->image = true;
    return net_output_as(net, tensor, 4, nhwc);
}

uint32_t net_inner(struct net *net, int rank, const int64_t *dims)
{
    return rank ? define(net, rank, dims, NULL, NULL, 0) : define(net, 1, &one, NULL, NULL, 0);
}

uint32_t net_weights(struct net *net, int rank, const int64_t *dims, float **data)
{
    *data = buffer(net, rank, dims);
    return define(net, rank, dims, *data, NULL, 0);
}

uint32_t net_static(struct net *net, const struct tensor *tensor)
{
    float *data;
    uint32_t id = net_weights(net, tensor->shape.rank ? tensor->shape.rank : 1,
                              tensor->shape.rank ? tensor->shape.dims : &one, &data);
    if (tensor->size)
        memcpy(data, tensor->data, tensor->size);
    return id;
}

uint32_t net_number(struct net *net, float value)
{
    float *data;
    uint32_t id = net_weights(net, 1, &one, &data);
    *data = value;
    return id;
}
