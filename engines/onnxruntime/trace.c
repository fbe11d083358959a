/*
 * What the library did with a model. Passes are named by its log, kernels by its profile, and the values that
 * a kernel computes by the optimised model, which a session of its own saves: where that fails, the model
 * runs all the same.
 */
#include "ort.h"

#include "base/file.h"
#include "base/json_read.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A profile takes up to 60 times its size to read, so that of a large model goes unread. */
enum { MOST_PROFILE = 4 << 20, MOST_VALUES = 8 };

static const char kernel_ending[] = "_kernel_time";

/* Passes run several times, until none changes anything. */
static void tell_pass(struct adapter_call *call, const char *name)
{
    for (size_t i = 0; i < call->trace->count; i++)
        if (call->trace->steps[i].kind == TRACE_PASS && text_equal(call->trace->steps[i].name, name))
            return;
    adapter_trace(call, &(struct trace_step){.kind = TRACE_PASS, .name = name});
}

void ORT_API_CALL ort_log(void *context, OrtLoggingLevel severity, const char *category, const char *id,
                          const char *place, const char *message)
{
    struct ort *ort = context;
    char name[TRACE_NAME];
    int modified = 0;
    (void)category, (void)id;
    if (severity >= ORT_LOGGING_LEVEL_FATAL)
        fprintf(stderr, "onnxruntime: %s %s\n", place, message);
    else if (ort->trace.load &&
             sscanf(message, "GraphTransformer %199s modified: %d", name, &modified) == 2 && modified)
        tell_pass(ort->trace.load, name);
}

int ort_trace_start(struct adapter_call *call)
{
    struct ort *ort = call->engine;
    const OrtSessionOptions *from = ort->reload_options ? ort->reload_options : ort->options;
    char *prefix = ort_scratch_file("profile");
    int result = ort_check(call, ORT_STAGE_LOAD, ort->api->CloneSessionOptions(from, &ort->trace.options));
    if (result == 0)
        result = ort_check(call, ORT_STAGE_LOAD,
                           ort->api->SetSessionLogSeverityLevel(ort->trace.options, ORT_LOGGING_LEVEL_INFO));
    if (result == 0)
        result = ort_check(call, ORT_STAGE_LOAD, ort->api->EnableProfiling(ort->trace.options, prefix));
    free(prefix);
    ort->trace.load = call;
    return result;
}

/* Lets a session of its own optimise the model and save it to the file. */
static int save_optimised(struct adapter_call *call, const struct adapter_model *model, const char *path)
{
    const struct ort *ort = call->engine;
    OrtSessionOptions *options = NULL;
    OrtSession *session = NULL;
    int result = ort_check(call, ORT_STAGE_LOAD, ort->api->CloneSessionOptions(ort->options, &options));
    if (result == 0)
        result = ort_check(call, ORT_STAGE_LOAD,
                           ort->api->AddSessionConfigEntry(options, "session.save_model_format", "ONNX"));
    if (result == 0)
        result = ort_check(call, ORT_STAGE_LOAD, ort->api->SetOptimizedModelFilePath(options, path));
    if (result == 0)
        result = ort_session_create(call, options, model->path, model->data, model->size, &session);
    ort->api->ReleaseSession(session);
    ort->api->ReleaseSessionOptions(options);
    return result;
}

void ort_trace_loaded(struct adapter_call *call, const struct adapter_model *model)
{
    struct ort *ort = call->engine;
    struct error err;
    char *path = ort_scratch_file("traced.onnx");
    ort->trace.load = NULL;
    if (save_optimised(call, model, path) < 0 || model_load(&ort->trace.optimised, path, &err))
        ort->trace.optimised = NULL;
    if (model->path ? model_load(&ort->trace.original, model->path, &err)
                    : model_parse(&ort->trace.original, model->data, model->size, &err))
        ort->trace.original = NULL;
    unlink(path);
    free(path);
}

/* Names of values, as many as a reader wants to see. */
struct value_names {
    size_t count;
    const char *names[MOST_VALUES];
};

static void add_value(struct value_names *to, const char *name)
{
    for (size_t i = 0; i < to->count; i++)
        if (text_equal(to->names[i], name))
            return;
    if (to->count < MOST_VALUES)
        to->names[to->count++] = name;
}

static void add_values(struct value_names *to, const struct value_names *from)
{
    for (size_t i = 0; i < from->count; i++)
        add_value(to, from->names[i]);
}

/* What flows into each value that the library added, by the value's number in `inner`. */
struct flow {
    struct map original; /* values of the model as it was given; empty: not known */
    struct map inner;
    size_t count, capacity;
    struct value_names *into;
};

static bool is_original(const struct flow *flow, const char *name)
{
    size_t number;
    return !flow->original.count || map_get(&flow->original, name, &number);
}

static void read_original(struct flow *flow, const struct model *model)
{
    for (size_t i = 0; model && i < model->graph->n_node; i++)
        for (size_t j = 0; j < model->graph->node[i]->n_output; j++)
            map_set(&flow->original, model->graph->node[i]->output[j], i);
}

/* The values of the model that a node helps to compute: its own, or those behind values that only the
 * optimised model has. */
static void trace_node_values(struct flow *flow, const Onnx__NodeProto *node, struct value_names *values)
{
    size_t number;
    for (size_t i = 0; i < node->n_output; i++)
        if (is_original(flow, node->output[i]))
            add_value(values, node->output[i]);
        else if (map_get(&flow->inner, node->output[i], &number))
            add_values(values, &flow->into[number]);
    for (size_t i = 0; i < node->n_input; i++) {
        if (!*node->input[i] || is_original(flow, node->input[i]))
            continue;
        if (!map_get(&flow->inner, node->input[i], &number)) {
            number = flow->count;
            flow->into = memory_grow(flow->into, &flow->capacity, flow->count + 1, sizeof *flow->into);
            flow->into[flow->count++] = (struct value_names){0};
            map_set(&flow->inner, node->input[i], number);
        }
        add_values(&flow->into[number], values);
    }
}

/* For each node of the optimised graph, which is in topological order, the values of the model. */
static struct value_names *trace_values(const Onnx__GraphProto *graph, const struct model *original)
{
    struct value_names *values = memory_zeroed(graph->n_node + 1, sizeof *values);
    struct flow flow = {.count = 0};
    map_init(&flow.original);
    map_init(&flow.inner);
    read_original(&flow, original);
    for (size_t i = graph->n_node; i-- > 0;)
        trace_node_values(&flow, graph->node[i], &values[i]);
    map_release(&flow.original);
    map_release(&flow.inner);
    free(flow.into);
    return values;
}

/* Where the last characters of a text of this length begin that are all among these. */
static size_t ending_of(const char *text, size_t length, const char *among)
{
    while (length > 0 && strchr(among, text[length - 1]))
        length--;
    return length;
}

/* "com.microsoft.FusedConv": operators of one name in two domains have different kernels. What a provider
 * compiles as a whole has a hash and a number behind its name, DNNL_14743771321473815199_0, which go. */
static void add_kernel_name(const char *domain, const char *operator, struct str * out)
{
    size_t length = strlen(operator), end;
    if (domain && *domain && !text_equal(domain, "ai.onnx"))
        str_printf(out, "%s.", domain);
    while ((end = ending_of(operator, length, "0123456789")) < length && end > 1 && operator[end - 1] == '_')
        length = end - 1;
    str_append(out, operator, length);
}

static void add_kernel(struct trace *kernels, const char *domain, const char *operator, const char * provider,
                       const struct value_names *values)
{
    struct str name;
    str_init(&name);
    add_kernel_name(domain, operator, & name);
    struct trace_step step = {.kind = TRACE_KERNEL, .name = name.data, .device = provider};
    if (values) {
        step.n_outputs = values->count;
        step.outputs = values->names;
    }
    trace_add(kernels, &step);
    str_release(&name);
}

/* The nodes of the optimised model that are not yet found in the profile, which names most of them and has
 * them in the same order. */
struct nodes {
    size_t count, next;
    Onnx__NodeProto *const *all;
    struct value_names *values; /* of each */
    bool *found;
};

/* Its place in `all`, or `count`. */
static size_t take_node(struct nodes *nodes, const char *name, size_t length, const char *operator)
{
    for (size_t i = 0; i < nodes->count; i++) {
        size_t at = (nodes->next + i) % nodes->count;
        const Onnx__NodeProto *node = nodes->all[at];
        bool named = strlen(node->name) == length && memcmp(node->name, name, length) == 0;
        if (nodes->found[at] || (!named && *node->name) || !text_equal(node->op_type, operator))
            continue;
        nodes->found[at] = true;
        nodes->next = at + 1;
        return at;
    }
    return nodes->count;
}

/* The events of kernels, each node once: one in a loop has many. */
static void read_events(const struct json_value *events, struct nodes *nodes, struct trace *kernels)
{
    struct map seen;
    size_t number;
    map_init(&seen);
    for (const struct json_value *event = events ? events->first : NULL; event; event = event->next) {
        const struct json_value *args = json_member(event, "args");
        const char *name = json_text_of(event, "name"), *operator= json_text_of(args, "op_name");
        size_t length = name ? strlen(name) : 0, ending = sizeof kernel_ending - 1;
        if (!operator|| length<ending || !text_equal(name + length - ending, kernel_ending) ||
            map_get(&seen, name, &number))
            continue;
        map_set(&seen, name, 0);
        size_t at = take_node(nodes, name, length - ending, operator);
        bool known = at < nodes->count;
        add_kernel(kernels, known ? nodes->all[at]->domain : NULL, operator, json_text_of(args, "provider"),
                   known ? &nodes->values[at] : NULL);
    }
    map_release(&seen);
}

static void read_profile(const char *path, struct nodes *nodes, struct trace *kernels)
{
    struct arena arena;
    struct error err;
    const struct json_value *events;
    char *data;
    size_t size;
    if (file_read(path, MOST_PROFILE, &data, &size, &err))
        return;
    arena_init(&arena);
    if (json_read(&arena, data, size, &events, &err) == 0)
        read_events(events, nodes, kernels);
    arena_release(&arena);
    free(data);
}

/* Ends the profile, which holds the runs so far, and reads it unless `kernels` is NULL. */
static void end_profile(struct ort *ort, struct nodes *nodes, struct trace *kernels)
{
    char *path = NULL;
    OrtStatus *status = ort->api->SessionEndProfiling(ort->loaded.session, ort->allocator, &path);
    if (status) {
        ort->api->ReleaseStatus(status);
        return;
    }
    if (kernels)
        read_profile(path, nodes, kernels);
    unlink(path);
    ort->allocator->Free(ort->allocator, path);
}

/* The profile of a session ends once: further runs of it use the same kernels. */
static struct trace *find_kernels(struct ort *ort)
{
    struct trace *kernels = trace_new();
    struct nodes nodes = {.count = 0};
    if (ort->trace.optimised) {
        const Onnx__GraphProto *graph = ort->trace.optimised->graph;
        nodes.count = graph->n_node;
        nodes.all = graph->node;
        nodes.values = trace_values(graph, ort->trace.original);
    }
    nodes.found = memory_zeroed(nodes.count + 1, sizeof *nodes.found);
    end_profile(ort, &nodes, kernels);
    for (size_t i = 0; kernels->count == 0 && i < nodes.count; i++)
        add_kernel(kernels, nodes.all[i]->domain, nodes.all[i]->op_type, NULL, &nodes.values[i]);
    free(nodes.values);
    free(nodes.found);
    return kernels;
}

void ort_trace_ran(struct adapter_call *call)
{
    struct ort *ort = call->engine;
    if (!ort->trace.kernels)
        ort->trace.kernels = find_kernels(ort);
    for (size_t i = 0; i < ort->trace.kernels->count; i++)
        adapter_trace(call, &ort->trace.kernels->steps[i]);
}

void ort_trace_end(struct ort *ort)
{
    if (ort->trace.options && !ort->trace.kernels && ort->loaded.session)
        end_profile(ort, NULL, NULL);
    if (ort->trace.options)
        ort->api->ReleaseSessionOptions(ort->trace.options);
    model_free(ort->trace.optimised);
    model_free(ort->trace.original);
    trace_free(ort->trace.kernels);
    ort->trace = (struct ort_trace){0};
}
