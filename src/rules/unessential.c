/* Rules about what a model says besides its computation: the order of nodes, names, declared types, texts. */
#include "rules/rule.h"

#include "base/map.h"
#include "model/tree.h"

#include <string.h>

/* --- The order of nodes --- */

/* How many of the values that each node uses are made by nodes which have no place yet. */
static size_t *count_waiting(struct rewrite *rewrite)
{
    const struct model_index *index = &rewrite->index;
    size_t nodes = rewrite->model->graph->n_node;
    size_t *waiting = arena_array(&rewrite->model->arena, nodes, sizeof *waiting);
    for (size_t i = 0; i < index->count; i++)
        for (size_t k = 0; index->values[i].source == SOURCE_NODE && k < index->values[i].consumers; k++)
            waiting[index->values[i].consumer[k]]++;
    return waiting;
}

/* The values that node `number` makes have a place now: adds the nodes that waited for nothing else. */
static size_t release_consumers(const struct rewrite *rewrite, size_t number, size_t *waiting, size_t *ready,
                                size_t count)
{
    const struct model_index *index = &rewrite->index;
    const Onnx__NodeProto *node = index->model->graph->node[number];
    for (size_t i = 0; i < node->n_output; i++) {
        const struct index_value *value = *node->output[i] ? model_index_find(index, node->output[i]) : NULL;
        for (size_t k = 0; value && k < value->consumers; k++)
            if (--waiting[value->consumer[k]] == 0)
                ready[count++] = value->consumer[k];
    }
    return count;
}

/* Any order in which every value is made before it is used. */
static int order(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__GraphProto *graph = rewrite->model->graph;
    struct arena *arena = &rewrite->model->arena;
    size_t nodes = graph->n_node, count = 0, placed = 0;
    size_t *waiting = count_waiting(rewrite), *ready = arena_array(arena, nodes, sizeof *ready);
    Onnx__NodeProto **sorted = arena_array(arena, nodes, sizeof *sorted);
    bool changed = false;
    (void)site;
    for (size_t i = 0; i < nodes; i++)
        if (waiting[i] == 0)
            ready[count++] = i;
    while (count > 0) {
        size_t k = (size_t)rng_below(&rewrite->rng, count), number = ready[k];
        ready[k] = ready[--count];
        changed |= number != placed;
        sorted[placed++] = graph->node[number];
        count = release_consumers(rewrite, number, waiting, ready, count);
    }
    if (!changed || placed != nodes)
        return 0;
    memcpy(graph->node, sorted, nodes * sizeof *sorted);
    rewrite->model->path = NULL;
    return 1;
}

const struct rule rule_order = {
    .name = "order",
    .summary = "the nodes in another topological order",
    .scope = RULE_MODEL,
    .relation = RELATION_BOUNDS,
    .nothing_new = true,
    .apply = order,
};

/* --- Names --- */

/*
 * Old names to new ones, the same in all bodies. So a name that has two meanings, in the two branches of an
 * If or by shadowing, keeps both.
 */
struct renaming {
    struct arena *arena;
    struct map names; /* to a number in `fresh`; kept ones to KEPT */
    const char **fresh;
    size_t count;
    const char *style;
};
static const size_t KEPT = SIZE_MAX;

/* How converters name values: PyTorch's numbers, TensorFlow's paths, and what only a hand would write. */
static const char *const styles[] = {"%zu", "model/block_%zu/out:0", "x%zu",
                                     "a.rather-long name, #%zu (of many)", "_%zu_"};

static void note(struct renaming *renaming, const char *name)
{
    if (name && *name && !map_has(&renaming->names, name))
        map_set(&renaming->names, name, renaming->count++);
}

static void note_all(struct renaming *renaming, char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        note(renaming, names[i]);
}

static int note_message(void *context, ProtobufCMessage *message)
{
    struct renaming *renaming = context;
    if (message->descriptor == &onnx__node_proto__descriptor) {
        const Onnx__NodeProto *node = (const Onnx__NodeProto *)message;
        note(renaming, node->name);
        note_all(renaming, node->input, node->n_input);
        note_all(renaming, node->output, node->n_output);
    } else if (message->descriptor == &onnx__value_info_proto__descriptor) {
        note(renaming, ((const Onnx__ValueInfoProto *)message)->name);
    } else if (message->descriptor == &onnx__tensor_proto__descriptor) {
        note(renaming, ((const Onnx__TensorProto *)message)->name);
    }
    return 0;
}

static void rename_one(struct renaming *renaming, char **name)
{
    size_t number;
    if (*name && **name && map_get(&renaming->names, *name, &number) && number != KEPT)
        *name = arena_strdup(renaming->arena, renaming->fresh[number]);
}

static void rename_all(struct renaming *renaming, char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rename_one(renaming, &names[i]);
}

static int rename_message(void *context, ProtobufCMessage *message)
{
    struct renaming *renaming = context;
    if (message->descriptor == &onnx__node_proto__descriptor) {
        Onnx__NodeProto *node = (Onnx__NodeProto *)message;
        rename_one(renaming, &node->name);
        rename_all(renaming, node->input, node->n_input);
        rename_all(renaming, node->output, node->n_output);
    } else if (message->descriptor == &onnx__value_info_proto__descriptor) {
        rename_one(renaming, &((Onnx__ValueInfoProto *)message)->name);
    } else if (message->descriptor == &onnx__tensor_proto__descriptor) {
        rename_one(renaming, &((Onnx__TensorProto *)message)->name);
    }
    return 0;
}

static const char *fresh_name(const struct renaming *renaming, size_t number)
{
    const char *mark = strstr(renaming->style, "%zu");
    const char *front = arena_copy(renaming->arena, renaming->style, (size_t)(mark - renaming->style));
    return arena_printf(renaming->arena, "%s%zu%s", front, number, mark + strlen("%zu"));
}

/* New names that are none of the old ones, so that nothing kept meets them. */
static void make_names(struct renaming *renaming)
{
    size_t next = 0;
    renaming->fresh = arena_array(renaming->arena, renaming->count, sizeof *renaming->fresh);
    for (size_t i = 0; i < renaming->count; i++)
        do
            renaming->fresh[i] = fresh_name(renaming, next++);
        while (map_has(&renaming->names, renaming->fresh[i]));
}

static void keep_interface(struct renaming *renaming, const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_input; i++)
        map_set(&renaming->names, graph->input[i]->name, KEPT);
    for (size_t i = 0; i < graph->n_output; i++)
        map_set(&renaming->names, graph->output[i]->name, KEPT);
}

static int renamed(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__GraphProto *graph = rewrite->model->graph;
    struct renaming renaming = {.arena = &rewrite->model->arena};
    (void)site;
    /* Annotations name values in ways of their own. */
    if (graph->n_quantization_annotation || rewrite->model->proto->n_training_info)
        return 0;
    renaming.style = styles[rng_below(&rewrite->rng, sizeof styles / sizeof *styles)];
    map_init(&renaming.names);
    tree_each(&graph->base, note_message, &renaming);
    keep_interface(&renaming, graph);
    make_names(&renaming);
    tree_each(&graph->base, rename_message, &renaming);
    map_release(&renaming.names);
    rewrite->model->path = NULL;
    return 1;
}

const struct rule rule_renamed = {
    .name = "renamed",
    .summary = "other names for all nodes and inner values",
    .scope = RULE_MODEL,
    .relation = RELATION_BITS,
    .nothing_new = true,
    .apply = renamed,
};

/* --- Declared types --- */

/* Declares the inner values whose types are known. Returns how many. */
static size_t declare_all(struct rewrite *rewrite)
{
    const struct model_index *index = &rewrite->index;
    Onnx__GraphProto *graph = rewrite->model->graph;
    struct arena *arena = &rewrite->model->arena;
    size_t count = 0;
    Onnx__ValueInfoProto **infos = arena_array(arena, index->count, sizeof *infos);
    for (size_t i = 0; i < index->count; i++) {
        const struct index_value *value = &index->values[i];
        const struct bounded *type = rewrite_type(rewrite, value->name);
        if (type && value->source == SOURCE_NODE && !value->is_output)
            infos[count++] = value_info_make(arena, value->name, type_make(arena, type->type, &type->shape));
    }
    graph->value_info = infos;
    graph->n_value_info = count;
    return count;
}

/* Declared types are dropped where there are any, else filled in: where no size is left open, what holds for
 * the inputs of this case holds for all. */
static int value_info(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__GraphProto *graph = rewrite->model->graph;
    (void)site;
    rewrite->model->path = NULL;
    if (graph->n_value_info == 0)
        return rewrite_has_fixed_sizes(rewrite) && declare_all(rewrite) > 0;
    graph->n_value_info = 0;
    return 1;
}

const struct rule rule_value_info = {
    .name = "value-info",
    .summary = "declared types and shapes of inner values dropped, or filled in",
    .scope = RULE_MODEL,
    .relation = RELATION_BOUNDS,
    .nothing_new = true,
    .apply = value_info,
};

/* --- Texts --- */

static void add_metadata(struct model *model)
{
    struct arena *arena = &model->arena;
    Onnx__ModelProto *proto = model->proto;
    Onnx__StringStringEntryProto **entries = arena_array(arena, proto->n_metadata_props + 1, sizeof *entries);
    if (proto->n_metadata_props)
        memcpy(entries, proto->metadata_props, proto->n_metadata_props * sizeof *entries);
    Onnx__StringStringEntryProto *entry = arena_alloc(arena, sizeof *entry);
    onnx__string_string_entry_proto__init(entry);
    entry->key = arena_strdup(arena, "a note");
    entry->value = arena_strdup(arena, "without meaning for the result");
    entries[proto->n_metadata_props++] = entry;
    proto->metadata_props = entries;
}

static int add_comment(void *context, Onnx__NodeProto *node)
{
    struct arena *arena = context;
    node->doc_string = arena_printf(arena, "a comment on %s", node->op_type);
    return 0;
}

static int unessential(struct rewrite *rewrite, const struct rule_site *site)
{
    struct arena *arena = &rewrite->model->arena;
    Onnx__ModelProto *proto = rewrite->model->proto;
    (void)site;
    add_metadata(rewrite->model);
    model_each_node(proto->graph, add_comment, arena);
    proto->producer_name = arena_strdup(arena, "another producer");
    proto->producer_version = arena_strdup(arena, "7.5.3");
    proto->doc_string = arena_strdup(arena, "A model with a comment.\nOf two lines.");
    proto->graph->doc_string = arena_strdup(arena, "A graph with a comment.");
    proto->graph->name = arena_strdup(arena, "another_name");
    proto->has_model_version = true;
    proto->model_version = 3;
    rewrite->model->path = NULL;
    return 1;
}

const struct rule rule_unessential = {
    .name = "unessential",
    .summary = "other comments, metadata, producer and version",
    .scope = RULE_MODEL,
    .relation = RELATION_BITS,
    .nothing_new = true,
    .apply = unessential,
};
