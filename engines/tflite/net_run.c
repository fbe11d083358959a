/* Running the model of a net: the library loads it, computes it once, and gives the outputs. */
#include "net.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
    struct flat file;
    void *model, *options, *delegate, *interpreter;
};

static void report(void *user, const char *format, va_list args)
{
    struct str *said = user;
    char text[1000];
    vsnprintf(text, sizeof text, format, args);
    str_printf(said, "%s%s", said->length ? "; " : "", text);
}

static void set_options(const struct net *net, struct session *s)
{
    struct library *l = net->library;
    s->options = l->TfLiteInterpreterOptionsCreate();
    l->TfLiteInterpreterOptionsSetNumThreads(s->options, l->threads);
    l->TfLiteInterpreterOptionsSetErrorReporter(s->options, report, &l->said);
    if (l->xnnpack) {
        s->delegate = l->TfLiteXNNPackDelegateCreate(NULL);
        l->TfLiteInterpreterOptionsAddDelegate(s->options, s->delegate);
    }
#ifdef HAVE_REFERENCE_KERNELS
    if (l->reference)
        l->TfLiteInterpreterOptionsSetOpResolver(s->options, reference_find_builtin, reference_find_custom,
                                                 NULL);
#endif
}

static void close_session(struct library *l, struct session *s)
{
    if (s->interpreter)
        l->TfLiteInterpreterDelete(s->interpreter);
    if (s->options)
        l->TfLiteInterpreterOptionsDelete(s->options);
    if (s->delegate)
        l->TfLiteXNNPackDelegateDelete(s->delegate);
    if (s->model)
        l->TfLiteModelDelete(s->model);
    free(s->file.data);
}

/* What the library refuses before it computes is a limit of its own: the adapter wrote the model. */
static int refused(const struct net *net, const char *stage)
{
    const char *said = net->library->said.data;
    return walk_unsupported(net->call, "%s: %s", stage, said && *said ? said : "refused without a message");
}

/* Kernels that learn of a type or a size only when they compute. */
static int invoke_failed(const struct net *net)
{
    static const char *const lacks[] = {"not supported",
                                        "unsupported",
                                        "Unsupported",
                                        "not currently supported",
                                        "only supports",
                                        "Only support",
                                        "Does not support",
                                        "only support",
                                        "type !=",
                                        " types",
                                        NULL};
    const char *said = net->library->said.data ? net->library->said.data : "";
    /* Some give no reason, such as CAST of a type that it lacks: then only the operator is named. */
    if (adapter_says(said, lacks) || text_starts(said, "Node number"))
        return refused(net, "invoke");
    return error_set(net->call->err, ERROR_IO, "%s: invoke fails: %s", net->call->node->op_type,
                     *said ? said : "without a message");
}

/* The model of the last node that ran, for whoever wants to try it without Assay. */
static void keep(const struct net *net, const struct flat *file)
{
    FILE *out = net->library->save[0] ? fopen(net->library->save, "wb") : NULL;
    if (!out)
        return;
    fwrite(file->data, 1, file->size, out);
    fclose(out);
}

static int open_session(const struct net *net, struct session *s)
{
    struct library *l = net->library;
    net_write(net, &s->file);
    keep(net, &s->file);
    s->model = l->TfLiteModelCreate(s->file.data, s->file.size);
    if (!s->model)
        return error_set(net->call->err, ERROR_IO, "%s: the library does not read the model",
                         net->call->node->op_type);
    set_options(net, s);
    s->interpreter = l->TfLiteInterpreterCreate(s->model, s->options);
    if (!s->interpreter)
        return refused(net, "create");
    return l->TfLiteInterpreterAllocateTensors(s->interpreter) ? refused(net, "allocate") : 0;
}

static int give_inputs(const struct net *net, const struct session *s)
{
    struct library *l = net->library;
    int32_t index = 0;
    for (size_t i = 0; i < net->n_tensors; i++) {
        const struct net_tensor *t = &net->tensors[i];
        if (!t->runtime)
            continue;
        void *input = l->TfLiteInterpreterGetInputTensor(s->interpreter, index++);
        if (!input || l->TfLiteTensorByteSize(input) != t->size || !l->TfLiteTensorData(input))
            return error_set(net->call->err, ERROR_IO, "%s: input %d has another size in the library",
                             net->call->node->op_type, (int)index - 1);
        memcpy(l->TfLiteTensorData(input), t->data, t->size);
    }
    return 0;
}

/* What a kernel leaves out shows as NaN. An output whose size the library learns only when it computes has no
 * memory yet. */
static void spoil_outputs(const struct net *net, const struct session *s)
{
    struct library *l = net->library;
    int32_t index = 0;
    for (size_t i = 0; i < net->n_tensors; i++) {
        if (!net->tensors[i].target)
            continue;
        const void *output = l->TfLiteInterpreterGetOutputTensor(s->interpreter, index++);
        void *data = output ? l->TfLiteTensorData(output) : NULL;
        if (data && l->TfLiteTensorByteSize(output) == net->tensors[i].size)
            memset(data, 0xFF, net->tensors[i].size);
    }
}

static bool same_shape(struct library *l, const struct net_tensor *t, const void *output)
{
    int32_t rank = l->TfLiteTensorNumDims(output);
    size_t count = 1;
    for (int32_t i = 0; i < rank; i++)
        count *= (size_t)l->TfLiteTensorDim(output, i);
    return count * dtype_size(t->type) == t->size && l->TfLiteTensorByteSize(output) == t->size;
}

static int take_output(const struct net *net, const struct net_tensor *t, const void *output)
{
    struct library *l = net->library;
    if (!output || !same_shape(l, t, output) || !l->TfLiteTensorData(output))
        return error_set(net->call->err, ERROR_IO, "%s: the output has another size in the library",
                         net->call->node->op_type);
    const void *data = l->TfLiteTensorData(output);
    if (t->image)
        net_from_nhwc(data, t->target);
    else
        memcpy(t->target->data, data, t->size);
    return 0;
}

static int take_outputs(const struct net *net, const struct session *s)
{
    int32_t index = 0;
    for (size_t i = 0; i < net->n_tensors; i++) {
        const struct net_tensor *t = &net->tensors[i];
        if (!t->target)
            continue;
        const void *output = net->library->TfLiteInterpreterGetOutputTensor(s->interpreter, index++);
        if (take_output(net, t, output))
            return -1;
    }
    return 0;
}

static const char *op_name(enum lite_op code)
{
    switch (code) {
#define LITE_OP_NAME(name, number) \
    case OP_##name:                \
        return #name;
        LITE_OPS(LITE_OP_NAME)
#undef LITE_OP_NAME
    }
    return "unknown";
}

static void tell(const struct net *net)
{
    for (size_t i = 0; i < net->n_ops && adapter_traces(net->call->adapter); i++)
        adapter_trace_kernel(net->call->adapter, op_name(net->ops[i].code), NULL, NULL);
}

static int run(const struct net *net, struct session *s)
{
    if (open_session(net, s) || give_inputs(net, s))
        return -1;
    spoil_outputs(net, s);
    tell(net);
    if (net->library->TfLiteInterpreterInvoke(s->interpreter))
        return invoke_failed(net);
    return take_outputs(net, s);
}

int net_finish(struct net *net)
{
    struct session session = {0};
    if (net->refused)
        return net_refuse(net, net->refused);
    str_clear(&net->library->said);
    int result = run(net, &session);
    close_session(net->library, &session);
    net_release(net);
    return result;
}
