/* A model through the library's C interface. */
#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
    void *model, *options, *delegate, *interpreter;
};

static struct library *library_of(const struct net *net)
{
    return (struct library *)net->lite;
}

static void report(void *user, const char *format, va_list args)
{
    struct str *said = user;
    char text[1000];
    vsnprintf(text, sizeof text, format, args);
    str_printf(said, "%s%s", said->length ? "; " : "", text);
}

static void set_options(const struct net *net, struct session *s)
{
    struct library *l = library_of(net);
    s->options = l->TfLiteInterpreterOptionsCreate();
    l->TfLiteInterpreterOptionsSetNumThreads(s->options, l->threads);
    l->TfLiteInterpreterOptionsSetErrorReporter(s->options, report, &l->lite.said);
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
}

static int open_session(const struct net *net, const struct flat *file, struct session *s)
{
    struct library *l = library_of(net);
    s->model = l->TfLiteModelCreate(file->data, file->size);
    if (!s->model)
        return error_set(net->call->err, ERROR_IO, "%s: the library does not read the model",
                         net->call->node->op_type);
    set_options(net, s);
    s->interpreter = l->TfLiteInterpreterCreate(s->model, s->options);
    if (!s->interpreter)
        return net_refused(net, "create");
    return l->TfLiteInterpreterAllocateTensors(s->interpreter) ? net_refused(net, "allocate") : 0;
}

static int give_inputs(const struct net *net, const struct session *s)
{
    struct library *l = library_of(net);
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
    struct library *l = library_of(net);
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
    struct library *l = library_of(net);
    bool same = output && same_shape(l, t, output);
    return net_take(net, t, same ? l->TfLiteTensorData(output) : NULL, t->size);
}

static int take_outputs(const struct net *net, const struct session *s)
{
    int32_t index = 0;
    for (size_t i = 0; i < net->n_tensors; i++) {
        const struct net_tensor *t = &net->tensors[i];
        if (!t->target)
            continue;
        const void *output = library_of(net)->TfLiteInterpreterGetOutputTensor(s->interpreter, index++);
        if (take_output(net, t, output))
            return -1;
    }
    return 0;
}

int library_compute(const struct net *net, const struct flat *file)
{
    struct library *library = library_of(net);
    struct session session = {0};
    int result = open_session(net, file, &session) || give_inputs(net, &session) ? -1 : 0;
    if (!result) {
        spoil_outputs(net, &session);
        result = library->TfLiteInterpreterInvoke(session.interpreter) ? net_failed(net)
                                                                       : take_outputs(net, &session);
    }
    close_session(library, &session);
    return result;
}
