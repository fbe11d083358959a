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

/* Calls between the functions of a model: which functions each calls. The model's graph counts as one more,
 * the last. */
struct calls {
    struct map numbers; /* of functions, by domain and name */
    struct arena keys;
    size_t *callee; /* those of function i: from first[i] to first[i + 1] */
    size_t n_callees, room;
    size_t *first;
    size_t *others, n_others; /* nodes of function i that call none */
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
    if (message->descriptor != &onnx__node_proto__descriptor)
        return 0;
    struct arena scratch;
    arena_init(&scratch);
    if (*plain_domain(node->domain) &&
        map_get(&calls->numbers, key_of(&scratch, node->domain, node->op_type), &number)) {
        calls->callee = memory_grow(calls->callee, &calls->room, calls->n_callees + 1, sizeof *calls->callee);
        calls->callee[calls->n_callees++] = number;
    } else {
        calls->n_others++;
    }
    arena_release(&scratch);
    return 0;
}

static void list_calls_of(struct calls *calls, size_t number, ProtobufCMessage *function)
{
    calls->n_others = 0;
    tree_each(function, note_call, calls);
    calls->first[number + 1] = calls->n_callees;
    calls->others[number] = calls->n_others;
}

static void list_calls(struct calls *calls, const Onnx__ModelProto *proto)
{
    *calls = (struct calls){.first = memory_zeroed(proto->n_functions + 2, sizeof *calls->first),
                            .others = memory_zeroed(proto->n_functions + 1, sizeof *calls->others)};
    map_init(&calls->numbers);
    arena_init(&calls->keys);
    for (size_t i = proto->n_functions; i-- > 0;) /* of two with one name the first counts: model_function */
        map_set(&calls->numbers, key_of(&calls->keys, proto->functions[i]->domain, proto->functions[i]->name),
                i);
    for (size_t i = 0; i < proto->n_functions; i++)
        list_calls_of(calls, i, &proto->functions[i]->base);
    list_calls_of(calls, proto->n_functions, &proto->graph->base);
}

static void calls_release(struct calls *calls)
{
    free(calls->callee);
    free(calls->first);
    free(calls->others);
    map_release(&calls->numbers);
    arena_release(&calls->keys);
}

/* A walk along calls. */
struct walk {
    enum { NOT_MET, OPEN, LEFT } * state; /* of each function; open: its calls are being followed */
    size_t *next;                         /* which call of it is followed next */
    size_t *path, depth;
    size_t *order, n_left; /* functions whose calls were all followed: each behind those that it calls */
};

static void meet(struct walk *walk, size_t function)
{
    walk->state[function] = OPEN;
    walk->path[walk->depth++] = function;
}

/* Walks from a function. Returns one that is met again while its own calls are followed; `count` when there
 * is none. */
static size_t find_circle(const struct calls *calls, size_t start, size_t count, struct walk *walk)
{
    if (walk->state[start] == NOT_MET)
        meet(walk, start);
    while (walk->depth > 0) {
        size_t at = walk->path[walk->depth - 1];
        if (walk->next[at] == calls->first[at + 1] - calls->first[at]) {
            walk->state[at] = LEFT;
            walk->order[walk->n_left++] = at;
            walk->depth--;
            continue;
        }
        size_t to = calls->callee[calls->first[at] + walk->next[at]++];
        if (walk->state[to] == OPEN)
            return to;
        if (walk->state[to] == NOT_MET)
            meet(walk, to);
    }
    return count;
}

/* Fills in `order`, in which each function stands behind those that it calls, the graph at last. Returns a
 * function that calls itself in some way; `count` when there is none. */
static size_t order_functions(const struct calls *calls, size_t count, size_t *order)
{
    struct walk walk = {.state = memory_zeroed(count + 1, sizeof *walk.state),
                        .next = memory_zeroed(count + 1, sizeof *walk.next),
                        .path = memory_zeroed(count + 1, sizeof *walk.path),
                        .order = order};
    size_t found = count;
    for (size_t i = 0; i <= count && found == count; i++)
        found = find_circle(calls, i, count, &walk);
    free(walk.state);
    free(walk.next);
    free(walk.path);
    return found;
}

/* How many nodes the graph has once all calls are replaced by the nodes of the functions; one more than the
 * limit where it is more than that. Few functions that each call the one before twice stand for millions. */
static size_t count_inlined(const struct calls *calls, size_t count, const size_t *order)
{
    enum { TOO_MANY = FUNCTION_MAX_NODES + 1 };
    size_t *sizes = memory_zeroed(count + 1, sizeof *sizes);
    for (size_t i = 0; i <= count; i++) {
        size_t function = order[i], sum = calls->others[function];
        for (size_t k = calls->first[function]; k < calls->first[function + 1] && sum < TOO_MANY; k++)
            sum += sizes[calls->callee[k]];
        sizes[function] = sum < TOO_MANY ? sum : TOO_MANY;
    }
    size_t all = sizes[count];
    free(sizes);
    return all;
}

int functions_check(const struct model *model, struct error *err)
{
    size_t count = model->proto->n_functions, all = 0;
    if (count == 0)
        return 0;
    struct calls calls;
    size_t *order = memory_zeroed(count + 1, sizeof *order);
    list_calls(&calls, model->proto);
    size_t found = order_functions(&calls, count, order);
    if (found == count)
        all = count_inlined(&calls, count, order);
    calls_release(&calls);
    free(order);
    if (all > FUNCTION_MAX_NODES)
        return error_set(err, ERROR_LIMIT, "the calls of its functions stand for more than %d nodes",
                         FUNCTION_MAX_NODES);
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

static void add_body(struct model *model, const Onnx__NodeProto *call, const Onnx__FunctionProto *function,
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
    map_release(&renaming.names);
    free(renaming.renamed);
}

void function_inline(struct model *model, const Onnx__NodeProto *call, const Onnx__FunctionProto *function,
                     const Onnx__NodeProto *defaults, function_namer *namer, void *context)
{
    add_body(model, call, function, defaults, namer, context);
    remove_call(model, call);
}

/* The names that a model has, so that new ones are none of them. */
struct taken {
    struct arena *arena;
    struct map names;
    size_t made;
};

static int take_names(void *context, Onnx__NodeProto *node)
{
    struct taken *taken = context;
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

static bool can_be_inlined(const struct model *model, const Onnx__NodeProto *node,
                           const Onnx__FunctionProto *function)
{
    return function_opset(function, "") == model_opset_of(model, "") && node->n_input <= function->n_input &&
           node->n_output <= function->n_output;
}

static const Onnx__FunctionProto *function_to_inline(const struct model *model, const Onnx__NodeProto *node)
{
    const Onnx__FunctionProto *function = model_function(model, node);
    return function && can_be_inlined(model, node, function) ? function : NULL;
}

/* Without those that are NULL. */
static void close_gaps(Onnx__GraphProto *graph)
{
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        if (graph->node[i])
            graph->node[kept++] = graph->node[i];
    graph->n_node = kept;
}

int model_inline_functions(struct model *model, struct error *err)
{
    if (model->proto->n_functions == 0)
        return 0;
    if (functions_check(model, err))
        return -1;
    struct taken taken = {.arena = &model->arena};
    map_init(&taken.names);
    model_each_node(model->graph, take_names, &taken);
    for (size_t i = 0; i < model->graph->n_node; i++) { /* what is added stands behind, and is met in turn */
        const Onnx__NodeProto *node = model->graph->node[i];
        const Onnx__FunctionProto *function = function_to_inline(model, node);
        if (!function)
            continue;
        add_body(model, node, function, NULL, free_name, &taken);
        model->graph->node[i] = NULL;
        model->path = NULL;
    }
    close_gaps(model->graph);
    map_release(&taken.names);
    return 0;
}
