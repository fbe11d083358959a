#include "model/index.h"

#include "base/memory.h"
#include "base/str.h"
#include "model/build.h"
#include "model/tree.h"

#include <stdio.h>
#include <stdlib.h>

const char *model_node_text(const struct model *model, size_t number, char *buffer, size_t size)
{
    const Onnx__NodeProto *node = model->graph->node[number];
    snprintf(buffer, size, "node %zu (%.60s '%.60s')", number, node->op_type, node->name);
    return buffer;
}

static struct index_value *add_value(struct model_index *index, const char *name, enum value_source source,
                                     size_t number)
{
    if (!map_set(&index->names, name, index->count))
        return NULL;
    struct index_value *value = &index->values[index->count++];
    *value = (struct index_value){.name = name, .source = source, .number = number};
    return value;
}

static struct index_value *find(const struct model_index *index, const char *name)
{
    size_t number;
    return map_get(&index->names, name, &number) ? &index->values[number] : NULL;
}

static int twice(const char *name, const char *what, struct error *err)
{
    return error_set(err, ERROR_INVALID, "the value '%.100s' is defined twice, the second time by %s", name,
                     what);
}

/* An initialiser with the name of an input is the default of that input. */
static int add_initializer(struct model_index *index, const char *name, size_t number, struct error *err)
{
    struct index_value *value = find(index, name);
    if (value && value->source != SOURCE_INPUT)
        return twice(name, "an initialiser", err);
    if (value) {
        value->source = SOURCE_INITIALIZER;
        value->number = number;
    } else {
        add_value(index, name, SOURCE_INITIALIZER, number);
    }
    return 0;
}

static int add_outside(struct model_index *index, struct error *err)
{
    const Onnx__GraphProto *graph = index->model->graph;
    for (size_t i = 0; i < graph->n_input; i++)
        if (!add_value(index, graph->input[i]->name, SOURCE_INPUT, i))
            return twice(graph->input[i]->name, "an input", err);
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (add_initializer(index, graph->initializer[i]->name, i, err))
            return -1;
    for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
        const Onnx__TensorProto *values = graph->sparse_initializer[i]->values;
        if (!values)
            return error_set(err, ERROR_INVALID, "sparse initialiser %zu has no values", i);
        if (add_initializer(index, values->name, graph->n_initializer + i, err))
            return -1;
    }
    return 0;
}

static int add_made(struct model_index *index, struct error *err)
{
    const Onnx__GraphProto *graph = index->model->graph;
    char text[200];
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++) {
            const char *name = graph->node[i]->output[k];
            if (name[0] && !add_value(index, name, SOURCE_NODE, i))
                return twice(name, model_node_text(index->model, i, text, sizeof text), err);
        }
    return 0;
}

static size_t count_values(const Onnx__GraphProto *graph)
{
    size_t count = graph->n_input + graph->n_initializer + graph->n_sparse_initializer;
    for (size_t i = 0; i < graph->n_node; i++)
        count += graph->node[i]->n_output;
    return count;
}

/* Names that a body and the bodies around it define. */
struct scope {
    const struct scope *parent;
    struct map names;
};

static bool in_scope(const struct scope *scope, const char *name)
{
    for (; scope; scope = scope->parent)
        if (map_has(&scope->names, name))
            return true;
    return false;
}

static void scope_init(struct scope *scope, const struct scope *parent, const Onnx__GraphProto *graph)
{
    scope->parent = parent;
    map_init(&scope->names);
    for (size_t i = 0; i < graph->n_input; i++)
        map_set(&scope->names, graph->input[i]->name, 0);
    for (size_t i = 0; i < graph->n_initializer; i++)
        map_set(&scope->names, graph->initializer[i]->name, 0);
    for (size_t i = 0; i < graph->n_sparse_initializer; i++)
        if (graph->sparse_initializer[i]->values)
            map_set(&scope->names, graph->sparse_initializer[i]->values->name, 0);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            map_set(&scope->names, graph->node[i]->output[k], 0);
}

/* Collects the values that one node uses: stamp[value] is the last node (plus one) that uses it. */
struct collector {
    struct model_index *index;
    size_t node;
    size_t *stamp;
    size_t *found, count, capacity;
    struct error *err;
};

static int collect_name(struct collector *collector, const char *name, const struct scope *scope)
{
    size_t number;
    char text[200];
    if (!name[0] || in_scope(scope, name))
        return 0;
    if (!map_get(&collector->index->names, name, &number))
        return error_set(collector->err, ERROR_INVALID, "%s uses '%.100s', which no node produces",
                         model_node_text(collector->index->model, collector->node, text, sizeof text), name);
    if (collector->stamp[number] == collector->node + 1)
        return 0;
    collector->stamp[number] = collector->node + 1;
    collector->index->values[number].consumers++;
    collector->found =
        memory_grow(collector->found, &collector->capacity, collector->count + 1, sizeof number);
    collector->found[collector->count++] = number;
    return 0;
}

static int collect_node(struct collector *collector, const Onnx__NodeProto *node, const struct scope *scope,
                        int depth);

static int collect_body(struct collector *collector, const Onnx__GraphProto *graph,
                        const struct scope *parent, int depth)
{
    if (depth > MODEL_MAX_DEPTH)
        return error_set(collector->err, ERROR_LIMIT, "bodies nested deeper than %d", MODEL_MAX_DEPTH);
    struct scope scope;
    scope_init(&scope, parent, graph);
    int result = 0;
    for (size_t i = 0; !result && i < graph->n_node; i++)
        result = collect_node(collector, graph->node[i], &scope, depth);
    for (size_t i = 0; !result && i < graph->n_output; i++)
        result = collect_name(collector, graph->output[i]->name, &scope);
    map_release(&scope.names);
    return result;
}

static int collect_node(struct collector *collector, const Onnx__NodeProto *node, const struct scope *scope,
                        int depth)
{
    int result = 0;
    for (size_t i = 0; !result && i < node->n_input; i++)
        result = collect_name(collector, node->input[i], scope);
    for (size_t i = 0; !result && i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->attribute[i];
        if (attribute->g)
            result = collect_body(collector, attribute->g, scope, depth + 1);
        for (size_t k = 0; !result && k < attribute->n_graphs; k++)
            result = collect_body(collector, attribute->graphs[k], scope, depth + 1);
    }
    return result;
}

static int collect_uses(struct model_index *index, struct error *err)
{
    const Onnx__GraphProto *graph = index->model->graph;
    struct arena *arena = &index->arena;
    struct collector collector = {.index = index, .err = err};
    index->n_uses = arena_array(arena, graph->n_node, sizeof *index->n_uses);
    index->uses = arena_array(arena, graph->n_node, sizeof *index->uses);
    collector.stamp = memory_zeroed(index->count, sizeof *collector.stamp);
    int result = 0;
    for (size_t i = 0; !result && i < graph->n_node; i++) {
        collector.node = i;
        collector.count = 0;
        result = collect_node(&collector, graph->node[i], NULL, 0);
        index->n_uses[i] = collector.count;
        index->uses[i] = arena_copy(arena, collector.found, collector.count * sizeof *collector.found);
    }
    free(collector.found);
    free(collector.stamp);
    return result;
}

static void list_consumers(struct model_index *index)
{
    for (size_t i = 0; i < index->count; i++) {
        struct index_value *value = &index->values[i];
        value->consumer = arena_array(&index->arena, value->consumers, sizeof *value->consumer);
        value->consumers = 0;
    }
    for (size_t i = 0; i < index->model->graph->n_node; i++)
        for (size_t k = 0; k < index->n_uses[i]; k++) {
            struct index_value *value = &index->values[index->uses[i][k]];
            value->consumer[value->consumers++] = i;
        }
}

static void note_info(struct model_index *index, Onnx__ValueInfoProto *const *infos, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct index_value *value = find(index, infos[i]->name);
        if (value && infos[i]->type && (!value->info || !value->info->type))
            value->info = infos[i];
    }
}

static int mark_outputs(struct model_index *index, struct error *err)
{
    const Onnx__GraphProto *graph = index->model->graph;
    for (size_t i = 0; i < graph->n_output; i++) {
        struct index_value *value = find(index, graph->output[i]->name);
        if (!value)
            return error_set(err, ERROR_INVALID, "no node produces the output '%.100s'",
                             graph->output[i]->name);
        value->is_output = true;
    }
    note_info(index, graph->input, graph->n_input);
    note_info(index, graph->output, graph->n_output);
    note_info(index, graph->value_info, graph->n_value_info);
    return 0;
}

/* Sorts the nodes: those whose producers have all been placed go next; among nodes that become ready
 * together, the earliest in the file goes first. */
static size_t place_nodes(struct model_index *index, size_t *missing)
{
    const Onnx__GraphProto *graph = index->model->graph;
    size_t placed = 0, ready = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        if (!missing[i])
            index->order[ready++] = i;
    for (; placed < ready; placed++) {
        const Onnx__NodeProto *node = graph->node[index->order[placed]];
        for (size_t k = 0; k < node->n_output; k++) {
            const struct index_value *value = node->output[k][0] ? find(index, node->output[k]) : NULL;
            for (size_t c = 0; value && c < value->consumers; c++)
                if (--missing[value->consumer[c]] == 0)
                    index->order[ready++] = value->consumer[c];
        }
    }
    return placed;
}

static int sort_nodes(struct model_index *index, struct error *err)
{
    size_t nodes = index->model->graph->n_node;
    size_t *missing = memory_zeroed(nodes, sizeof *missing);
    bool sorted = true;
    index->order = arena_array(&index->arena, nodes, sizeof *index->order);
    index->position = arena_array(&index->arena, nodes, sizeof *index->position);
    for (size_t i = 0; i < nodes; i++) {
        index->order[i] = i;
        for (size_t k = 0; k < index->n_uses[i]; k++) {
            const struct index_value *value = &index->values[index->uses[i][k]];
            if (value->source != SOURCE_NODE)
                continue;
            missing[i]++;
            sorted = sorted && value->number < i;
        }
    }
    int result = 0;
    if (!sorted && place_nodes(index, missing) < nodes) {
        size_t stuck = 0;
        char text[200];
        while (!missing[stuck])
            stuck++;
        result = error_set(err, ERROR_INVALID, "the graph has a cycle that %s depends on",
                           model_node_text(index->model, stuck, text, sizeof text));
    }
    for (size_t i = 0; !result && i < nodes; i++)
        index->position[index->order[i]] = i;
    free(missing);
    return result;
}

int model_index_init(struct model_index *index, const struct model *model, struct error *err)
{
    *index = (struct model_index){.model = model};
    arena_init(&index->arena);
    map_init(&index->names);
    index->values = arena_array(&index->arena, count_values(model->graph), sizeof *index->values);
    if (add_outside(index, err) || add_made(index, err) || collect_uses(index, err))
        goto fail;
    list_consumers(index);
    if (mark_outputs(index, err) || sort_nodes(index, err))
        goto fail;
    return 0;
fail:
    model_index_release(index);
    return -1;
}

void model_index_release(struct model_index *index)
{
    arena_release(&index->arena);
    map_release(&index->names);
    *index = (struct model_index){0};
}

const struct index_value *model_index_find(const struct model_index *index, const char *name)
{
    return find(index, name);
}

Onnx__TypeProto *model_index_type(const struct model_index *index, const struct index_value *value,
                                  struct arena *arena)
{
    const Onnx__GraphProto *graph = index->model->graph;
    if (value->info)
        return (Onnx__TypeProto *)tree_copy(&value->info->type->base, arena, NULL, NULL);
    if (value->source != SOURCE_INITIALIZER || value->number >= graph->n_initializer)
        return NULL;
    const Onnx__TensorProto *tensor = graph->initializer[value->number];
    struct shape shape = shape_make((int)tensor->n_dims, tensor->dims);
    return type_make(arena, (enum dtype)tensor->data_type, &shape);
}

static int each_node(Onnx__GraphProto *graph, int depth, int (*visit)(void *context, Onnx__NodeProto *node),
                     void *context)
{
    int result = 0;
    for (size_t i = 0; !result && depth <= MODEL_MAX_DEPTH && i < graph->n_node; i++) {
        Onnx__NodeProto *node = graph->node[i];
        result = visit(context, node);
        for (size_t k = 0; !result && k < node->n_attribute; k++) {
            Onnx__AttributeProto *attribute = node->attribute[k];
            if (attribute->g)
                result = each_node(attribute->g, depth + 1, visit, context);
            for (size_t g = 0; !result && g < attribute->n_graphs; g++)
                result = each_node(attribute->graphs[g], depth + 1, visit, context);
        }
    }
    return result;
}

int model_each_node(Onnx__GraphProto *graph, int (*visit)(void *context, Onnx__NodeProto *node),
                    void *context)
{
    return each_node(graph, 0, visit, context);
}

const char *model_node_name(const Onnx__NodeProto *node)
{
    if (node->name && *node->name)
        return node->name;
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i])
            return node->output[i];
    return "?";
}

size_t graph_find_node(const Onnx__GraphProto *graph, const char *name)
{
    size_t node = 0;
    while (node < graph->n_node && !text_equal(model_node_name(graph->node[node]), name))
        node++;
    return node;
}
