#include "model/function.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/str.h"
#include "model/build.h"
#include "model/index.h"
#include "model/newer_fields.h"
#include "model/tree.h"

#include <stdlib.h>

static const char *plain_domain(const char *domain)
{
    return !domain || text_equal(domain, "ai.onnx") ? "" : domain;
}

const Onnx__FunctionProto *model_function(const struct model *model, const Onnx__NodeProto *node)
{
    const char *domain = plain_domain(node->domain);
    for (size_t i = 0; *domain && i < model->proto->n_functions; i++) {
        const Onnx__FunctionProto *function = model->proto->functions[i];
        if (function->name && text_equal(function->name, node->op_type) &&
            text_equal(plain_domain(function->domain), domain))
            return function;
    }
    return NULL;
}

static int64_t find_version(Onnx__OperatorSetIdProto *const *imports, size_t count, const char *domain)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(plain_domain(imports[i]->domain), plain_domain(domain)))
            return imports[i]->version;
    return 0;
}

int64_t function_opset(const Onnx__FunctionProto *function, const char *domain)
{
    return find_version(function->opset_import, function->n_opset_import, domain);
}

int64_t model_opset_of(const struct model *model, const char *domain)
{
    return find_version(model->proto->opset_import, model->proto->n_opset_import, domain);
}

/* Calls between the functions of a model: which functions each calls. */
struct calls {
    struct map numbers; /* of functions, by domain and name */
    struct arena keys;
    size_t *callee; /* those of function i: from first[i] to first[i + 1] */
    size_t n_callees, room;
    size_t *first;
};

/* A name has no line end (model.c), so that no two pairs are alike. */
static const char *key_of(struct arena *arena, const char *domain, const char *name)
{
    return arena_printf(arena, "%s\n%s", plain_domain(domain), name);
}

static int note_call(void *context, ProtobufCMessage *message)
{
    struct calls *calls = context;
    const Onnx__NodeProto *node = (const Onnx__NodeProto *)message;
    size_t number;
    if (message->descriptor != &onnx__node_proto__descriptor || !*plain_domain(node->domain))
        return 0;
    struct arena scratch;
    arena_init(&scratch);
    if (map_get(&calls->numbers, key_of(&scratch, node->domain, node->op_type), &number)) {
        calls->callee = memory_grow(calls->callee, &calls->room, calls->n_callees + 1, sizeof *calls->callee);
        calls->callee[calls->n_callees++] = number;
    }
    arena_release(&scratch);
    return 0;
}

static void list_calls(struct calls *calls, const Onnx__ModelProto *proto)
{
    *calls = (struct calls){.first = memory_zeroed(proto->n_functions + 1, sizeof *calls->first)};
    map_init(&calls->numbers);
    arena_init(&calls->keys);
    for (size_t i = proto->n_functions; i-- > 0;) /* of two with one name the first counts: model_function */
        map_set(&calls->numbers, key_of(&calls->keys, proto->functions[i]->domain, proto->functions[i]->name),
                i);
    for (size_t i = 0; i < proto->n_functions; i++) {
        tree_each(&proto->functions[i]->base, note_call, calls);
        calls->first[i + 1] = calls->n_callees;
    }
}

/* Walks from a function along calls. Returns one that is met again while its own calls are followed; `count`
 * when there is none. next[i]: the place of the call of function i that is followed next; 0 before the first
 * walk to it. */
static size_t find_circle(const struct calls *calls, size_t start, size_t count, bool *open, size_t *next,
                          size_t *path)
{
    size_t depth = 0;
    path[depth++] = start;
    open[start] = true;
    while (depth > 0) {
        size_t at = path[depth - 1];
        if (next[at] == calls->first[at + 1] - calls->first[at]) {
            open[at] = false;
            depth--;
            continue;
        }
        size_t to = calls->callee[calls->first[at] + next[at]++];
        if (open[to])
            return to;
        if (next[to] == 0) { /* otherwise all of its calls were followed before */
            open[to] = true;
            path[depth++] = to;
        }
    }
    return count;
}

int functions_check(const struct model *model, struct error *err)
{
    size_t count = model->proto->n_functions, found = count;
    if (count == 0)
        return 0;
    struct calls calls;
    list_calls(&calls, model->proto);
    bool *open = memory_zeroed(count, sizeof *open);
    size_t *next = memory_zeroed(count, sizeof *next), *path = memory_zeroed(count + 1, sizeof *path);
    for (size_t i = 0; i < count && found == count; i++)
        found = find_circle(&calls, i, count, open, next, path);
    free(open);
    free(next);
    free(path);
    free(calls.callee);
    free(calls.first);
    map_release(&calls.numbers);
    arena_release(&calls.keys);
    if (found == count)
        return 0;
    const Onnx__FunctionProto *function = model->proto->functions[found];
    return error_set(
        err, ERROR_INVALID,
        "the function '%s' of domain '%s' calls itself, or others that call it; ONNX allows no recursion",
        function->name, function->domain);
}

/* Names of the body and what they are called where it is inlined. */
struct renaming {
    struct model *model;
    struct map names; /* to a number in `renamed` */
    size_t count, capacity;
    const char **renamed;
    function_namer *namer;
    void *context;
    const Onnx__NodeProto *call, *defaults;
};

static void rename_to(struct renaming *renaming, const char *from, const char *to)
{
    renaming->renamed =
        memory_grow(renaming->renamed, &renaming->capacity, renaming->count + 1, sizeof *renaming->renamed);
    map_set(&renaming->names, from, renaming->count);
    renaming->renamed[renaming->count++] = to;
}

static char *rename_value(struct renaming *renaming, const char *name)
{
    size_t number;
    if (!name || !*name)
        return arena_strdup(&renaming->model->arena, "");
    if (!map_get(&renaming->names, name, &number)) {
        rename_to(renaming, name, renaming->namer(renaming->context, name));
        number = renaming->count - 1;
    }
    return arena_strdup(&renaming->model->arena, renaming->renamed[number]);
}

static void rename_infos(struct renaming *renaming, Onnx__ValueInfoProto **infos, size_t count)
{
    for (size_t i = 0; i < count; i++)
        infos[i]->name = rename_value(renaming, infos[i]->name);
}

/* Names are unique over all bodies, so that one map serves nodes and nested graphs alike. */
static int rename_message(void *context, ProtobufCMessage *message)
{
    struct renaming *renaming = context;
    if (message->descriptor == &onnx__node_proto__descriptor) {
        Onnx__NodeProto *node = (Onnx__NodeProto *)message;
        for (size_t i = 0; i < node->n_input; i++)
            node->input[i] = rename_value(renaming, node->input[i]);
        for (size_t i = 0; i < node->n_output; i++)
            node->output[i] = rename_value(renaming, node->output[i]);
        node->name = arena_strdup(&renaming->model->arena, "");
    } else if (message->descriptor == &onnx__graph_proto__descriptor) {
        Onnx__GraphProto *graph = (Onnx__GraphProto *)message;
        rename_infos(renaming, graph->input, graph->n_input);
        rename_infos(renaming, graph->output, graph->n_output);
        graph->n_value_info = 0;
        for (size_t i = 0; i < graph->n_initializer; i++)
            graph->initializer[i]->name = rename_value(renaming, graph->initializer[i]->name);
    }
    return 0;
}

/* An attribute that stands for one of the call gets its value; NULL when the call has none. */
static Onnx__AttributeProto *resolve(const struct renaming *renaming, Onnx__AttributeProto *attribute)
{
    struct arena *arena = &renaming->model->arena;
    if (!attribute->ref_attr_name || !*attribute->ref_attr_name)
        return attribute;
    const Onnx__AttributeProto *given = node_attribute(renaming->call, attribute->ref_attr_name);
    if (!given && renaming->defaults)
        given = node_attribute(renaming->defaults, attribute->ref_attr_name);
    if (!given)
        return NULL;
    Onnx__AttributeProto *copy = (Onnx__AttributeProto *)tree_copy(&given->base, arena, NULL, NULL);
    copy->name = attribute->name;
    return copy;
}

static int resolve_attributes(void *context, ProtobufCMessage *message)
{
    const struct renaming *renaming = context;
    if (message->descriptor != &onnx__node_proto__descriptor)
        return 0;
    Onnx__NodeProto *node = (Onnx__NodeProto *)message;
    size_t kept = 0;
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__AttributeProto *attribute = resolve(renaming, node->attribute[i]);
        if (attribute)
            node->attribute[kept++] = attribute;
    }
    node->n_attribute = kept;
    return 0;
}

/* Appends a node of the body; names of nodes are made by the model, which must have each once. */
static void append(struct renaming *renaming, const Onnx__NodeProto *node)
{
    Onnx__NodeProto *added = model_add_node(
        renaming->model, node->op_type, renaming->namer(renaming->context, node->op_type), node->n_input,
        (const char *const *)node->input, node->n_output, (const char *const *)node->output);
    added->domain = node->domain ? node->domain : arena_strdup(&renaming->model->arena, "");
    added->attribute = node->attribute;
    added->n_attribute = node->n_attribute;
}

static void bind(struct renaming *renaming, const Onnx__FunctionProto *function)
{
    const Onnx__NodeProto *call = renaming->call;
    for (size_t i = 0; i < function->n_input; i++)
        rename_to(renaming, function->input[i], i < call->n_input ? call->input[i] : "");
    for (size_t i = 0; i < function->n_output; i++) {
        const char *wanted = i < call->n_output ? call->output[i] : "";
        size_t number;
        if (!*wanted)
            continue;
        if (!map_get(&renaming->names, function->output[i], &number))
            rename_to(renaming, function->output[i], wanted);
        else /* an input, or another output, passed on as it is */
            model_add_node(renaming->model, "Identity", renaming->namer(renaming->context, "Identity"), 1,
                           &renaming->renamed[number], 1, &wanted);
    }
}

static void remove_call(struct model *model, const Onnx__NodeProto *call)
{
    size_t kept = 0;
    for (size_t i = 0; i < model->graph->n_node; i++)
        if (model->graph->node[i] != call)
            model->graph->node[kept++] = model->graph->node[i];
    model->graph->n_node = kept;
    model->path = NULL;
}

/* The default values of a function's attributes, as the attributes of a node. */
static Onnx__NodeProto defaults_of(const Onnx__FunctionProto *function, struct arena *arena)
{
    Onnx__NodeProto node;
    onnx__node_proto__init(&node);
    Onnx__AttributeProto **list = function_defaults(function, arena, &node.n_attribute);
    node.attribute = list;
    for (size_t i = 0; i < node.n_attribute; i++)
        if (!list[i]->name)
            list[i]->name = arena_strdup(arena, "");
    return node;
}

void function_inline(struct model *model, const Onnx__NodeProto *call, const Onnx__FunctionProto *function,
                     const Onnx__NodeProto *defaults, function_namer *namer, void *context)
{
    Onnx__NodeProto own = defaults_of(function, &model->arena);
    struct renaming renaming = {.model = model,
                                .namer = namer,
                                .context = context,
                                .call = call,
                                .defaults = defaults ? defaults : &own};
    map_init(&renaming.names);
    bind(&renaming, function);
    for (size_t i = 0; i < function->n_node; i++) {
        ProtobufCMessage *node = tree_copy(&function->node[i]->base, &model->arena, NULL, NULL);
        tree_each(node, rename_message, &renaming);
        /* After renaming: names inside a graph that the call hands over are the caller's. */
        tree_each(node, resolve_attributes, &renaming);
        append(&renaming, (Onnx__NodeProto *)node);
    }
    remove_call(model, call);
    map_release(&renaming.names);
    free(renaming.renamed);
}

/* The names that a model has, so that new ones are none of them. */
struct taken {
    struct arena *arena;
    struct map names;
    size_t made;
};

static int take_names(void *context, Onnx__NodeProto *node, int depth)
{
    struct taken *taken = context;
    (void)depth;
    for (size_t i = 0; i < node->n_input; i++)
        map_set(&taken->names, node->input[i], 0);
    for (size_t i = 0; i < node->n_output; i++)
        map_set(&taken->names, node->output[i], 0);
    map_set(&taken->names, node->name, 0);
    return 0;
}

static const char *free_name(void *context, const char *stem)
{
    struct taken *taken = context;
    const char *name;
    do
        name = arena_numbered(taken->arena, stem, "_inlined_", taken->made++);
    while (map_has(&taken->names, name));
    return name;
}

static const Onnx__FunctionProto *function_to_inline(const struct model *model, const Onnx__NodeProto *node)
{
    const Onnx__FunctionProto *function = model_function(model, node);
    bool fits = function && function_opset(function, "") == model_opset_of(model, "") &&
                node->n_input <= function->n_input && node->n_output <= function->n_output;
    return fits ? function : NULL;
}

int model_inline_functions(struct model *model, struct error *err)
{
    struct taken taken = {.arena = &model->arena};
    int result = 0;
    map_init(&taken.names);
    model_each_node(model->graph, take_names, &taken);
    for (size_t i = 0; !result && i < model->graph->n_node;) {
        const Onnx__NodeProto *node = model->graph->node[i];
        const Onnx__FunctionProto *function = function_to_inline(model, node);
        if (!function) {
            i++; /* otherwise another node has moved to this place */
        } else if (model->graph->n_node + function->n_node > FUNCTION_MAX_NODES) {
            result =
                error_set(err, ERROR_LIMIT, "calls of functions make more than %d nodes", FUNCTION_MAX_NODES);
        } else {
            function_inline(model, node, function, NULL, free_name, &taken);
        }
    }
    map_release(&taken.names);
    return result;
}
