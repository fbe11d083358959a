/* Cutting a part out of a model (model_cut and model_cut_between of edit.h). */
#include "model/edit.h"

#include "base/memory.h"
#include "base/str.h"
#include "model/build.h"
#include "model/file.h"
#include "model/tree.h"

#include <stdlib.h>

/* Numbers of values in the order in which they were first named. */
struct list {
    size_t *items, count, capacity;
    struct map seen;
};

static void list_init(struct list *list)
{
    *list = (struct list){0};
    map_init(&list->seen);
}

static void list_release(struct list *list)
{
    free(list->items);
    map_release(&list->seen);
}

static bool list_add(struct list *list, const struct model_index *index, size_t value)
{
    if (!map_set(&list->seen, index->values[value].name, list->count))
        return false;
    list->items = memory_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] = value;
    return true;
}

struct cut {
    const struct model_index *index;
    const struct edit_types *types;
    const struct list *given; /* values that become inputs even if they are initialisers; may be NULL */
    size_t *nodes, count;     /* ascending by position in the index's order, each once */
    struct list inputs, initializers, outputs, inside;
    struct model *part;
};

static size_t position(const struct cut *cut, size_t i)
{
    return cut->index->position[cut->nodes[i]];
}

static bool has_node(const struct cut *cut, size_t node)
{
    size_t low = 0, high = cut->count, wanted = cut->index->position[node];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (position(cut, middle) < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low < cut->count && cut->nodes[low] == node;
}

static int compare_positions(const void *left, const void *right)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return a < b ? -1 : a > b;
}

/* Sorts positions instead of nodes, because qsort cannot pass the index; then turns them into nodes again. */
static int take_nodes(struct cut *cut, const size_t *nodes, size_t count, struct error *err)
{
    size_t limit = cut->index->model->graph->n_node, kept = 0;
    if (!count)
        return error_set(err, ERROR_USAGE, "the part has no nodes");
    cut->nodes = memory_zeroed(count, sizeof *cut->nodes);
    for (size_t i = 0; i < count; i++) {
        if (nodes[i] >= limit)
            return error_set(err, ERROR_USAGE, "there is no node %zu: the model has %zu nodes", nodes[i],
                             limit);
        cut->nodes[i] = cut->index->position[nodes[i]];
    }
    qsort(cut->nodes, count, sizeof *cut->nodes, compare_positions);
    for (size_t i = 0; i < count; i++)
        if (!i || cut->nodes[i] != cut->nodes[kept - 1])
            cut->nodes[kept++] = cut->nodes[i];
    for (size_t i = 0; i < kept; i++)
        cut->nodes[i] = cut->index->order[cut->nodes[i]];
    cut->count = kept;
    return 0;
}

static void sort_use(struct cut *cut, size_t number)
{
    const struct index_value *value = &cut->index->values[number];
    bool given = cut->given && map_has(&cut->given->seen, value->name);
    /* A given value cannot become an input when a node that is needed for another output makes it anyway. */
    if (value->source == SOURCE_NODE && has_node(cut, value->number))
        list_add(&cut->inside, cut->index, number);
    else if (!given && value->source == SOURCE_INITIALIZER)
        list_add(&cut->initializers, cut->index, number);
    else
        list_add(&cut->inputs, cut->index, number);
}

static bool used_outside(const struct cut *cut, const struct index_value *value)
{
    if (value->is_output)
        return true;
    for (size_t i = 0; i < value->consumers; i++)
        if (!has_node(cut, value->consumer[i]))
            return true;
    return false;
}

/* Finds the outputs: the values used outside or, with dead_ends, those that no node inside uses. */
static void sort_outputs(struct cut *cut, bool dead_ends)
{
    const Onnx__GraphProto *graph = cut->index->model->graph;
    for (size_t i = 0; i < cut->count; i++) {
        const Onnx__NodeProto *node = graph->node[cut->nodes[i]];
        for (size_t k = 0; k < node->n_output; k++) {
            size_t number;
            if (!node->output[k][0] || !map_get(&cut->index->names, node->output[k], &number))
                continue;
            const struct index_value *value = &cut->index->values[number];
            if (dead_ends ? value->consumers == 0 : used_outside(cut, value))
                list_add(&cut->outputs, cut->index, number);
        }
    }
}

static const struct tensor *known_tensor(const struct edit_types *types, const char *name)
{
    for (size_t i = 0; types && i < types->count; i++)
        if (text_equal(types->names[i], name))
            return types->tensors[i];
    return NULL;
}

static Onnx__ValueInfoProto *describe(const struct cut *cut, size_t number)
{
    const struct index_value *value = &cut->index->values[number];
    struct arena *arena = &cut->part->arena;
    const struct tensor *tensor = known_tensor(cut->types, value->name);
    return value_info_make(arena, value->name,
                           tensor ? type_make(arena, tensor->type, &tensor->shape)
                                  : model_index_type(cut->index, value, arena));
}

static Onnx__ValueInfoProto **describe_all(const struct cut *cut, const struct list *list)
{
    Onnx__ValueInfoProto **infos = arena_array(&cut->part->arena, list->count, sizeof *infos);
    for (size_t i = 0; i < list->count; i++)
        infos[i] = describe(cut, list->items[i]);
    return infos;
}

static int make_inputs(const struct cut *cut, struct error *err)
{
    Onnx__GraphProto *graph = cut->part->graph;
    bool also = cut->part->proto->ir_version < MODEL_IR_FREE_INITIALIZERS;
    size_t extra = also ? cut->initializers.count : 0;
    graph->input = arena_array(&cut->part->arena, cut->inputs.count + extra, sizeof *graph->input);
    for (size_t i = 0; i < cut->inputs.count + extra; i++) {
        size_t number =
            i < cut->inputs.count ? cut->inputs.items[i] : cut->initializers.items[i - cut->inputs.count];
        Onnx__ValueInfoProto *info = describe(cut, number);
        if (!info->type)
            return error_set(err, ERROR_NOT_FOUND,
                             "the type of '%.100s', which the part needs as an input, is not known",
                             info->name);
        graph->input[graph->n_input++] = info;
    }
    return 0;
}

static void copy_initializers(const struct cut *cut)
{
    const struct model *whole = cut->index->model;
    Onnx__GraphProto *graph = cut->part->graph;
    struct arena *arena = &cut->part->arena;
    size_t count = cut->initializers.count, dense = whole->graph->n_initializer;
    graph->initializer = arena_array(arena, count, sizeof *graph->initializer);
    graph->sparse_initializer = arena_array(arena, count, sizeof *graph->sparse_initializer);
    for (size_t i = 0; i < count; i++) {
        size_t number = cut->index->values[cut->initializers.items[i]].number;
        const ProtobufCMessage *from = number < dense
                                           ? &whole->graph->initializer[number]->base
                                           : &whole->graph->sparse_initializer[number - dense]->base;
        ProtobufCMessage *copy = tree_copy(from, arena, model_file_holds, whole);
        if (number < dense)
            graph->initializer[graph->n_initializer++] = (Onnx__TensorProto *)copy;
        else
            graph->sparse_initializer[graph->n_sparse_initializer++] = (Onnx__SparseTensorProto *)copy;
    }
}

/* A model with the versions, operator sets and functions of the whole and an empty graph. */
static struct model *make_frame(const struct model *whole)
{
    struct model *part = model_new(1);
    Onnx__ModelProto frame = *whole->proto;
    frame.graph = part->graph;
    frame.n_training_info = 0;
    part->proto = (Onnx__ModelProto *)tree_copy(&frame.base, &part->arena, model_file_holds, whole);
    part->graph = part->proto->graph;
    model_file_share(part, whole);
    part->folder = whole->folder ? arena_strdup(&part->arena, whole->folder) : NULL;
    return part;
}

static int make_part(struct cut *cut, struct error *err)
{
    const struct model *whole = cut->index->model;
    cut->part = make_frame(whole);
    Onnx__GraphProto *graph = cut->part->graph;
    if (make_inputs(cut, err))
        return -1;
    copy_initializers(cut);
    graph->output = describe_all(cut, &cut->outputs);
    graph->n_output = cut->outputs.count;
    graph->node = arena_array(&cut->part->arena, cut->count, sizeof *graph->node);
    for (size_t i = 0; i < cut->count; i++)
        graph->node[graph->n_node++] = (Onnx__NodeProto *)tree_copy(
            &whole->graph->node[cut->nodes[i]]->base, &cut->part->arena, model_file_holds, whole);
    graph->value_info = arena_array(&cut->part->arena, cut->inside.count, sizeof *graph->value_info);
    for (size_t i = 0; i < cut->inside.count; i++) {
        Onnx__ValueInfoProto *info = describe(cut, cut->inside.items[i]);
        if (info->type && !map_has(&cut->outputs.seen, info->name))
            graph->value_info[graph->n_value_info++] = info;
    }
    return 0;
}

static void cut_init(struct cut *cut, const struct model_index *index, const struct edit_types *types)
{
    *cut = (struct cut){.index = index, .types = types};
    list_init(&cut->inputs);
    list_init(&cut->initializers);
    list_init(&cut->outputs);
    list_init(&cut->inside);
}

/* Hands the part over on success. */
static int cut_finish(struct cut *cut, int result, struct model **part)
{
    *part = NULL;
    if (result)
        model_free(cut->part);
    else
        *part = cut->part;
    free(cut->nodes);
    list_release(&cut->inputs);
    list_release(&cut->initializers);
    list_release(&cut->outputs);
    list_release(&cut->inside);
    return result;
}

static void sort_uses(struct cut *cut)
{
    for (size_t i = 0; i < cut->count; i++)
        for (size_t k = 0; k < cut->index->n_uses[cut->nodes[i]]; k++)
            sort_use(cut, cut->index->uses[cut->nodes[i]][k]);
}

int model_cut(struct model **part, const struct model_index *index, const size_t *nodes, size_t count,
              const struct edit_types *types, struct error *err)
{
    struct cut cut;
    cut_init(&cut, index, types);
    int result = take_nodes(&cut, nodes, count, err);
    if (!result) {
        sort_uses(&cut);
        sort_outputs(&cut, false);
        if (!cut.outputs.count)
            sort_outputs(&cut, true);
        result = make_part(&cut, err);
    }
    return cut_finish(&cut, result, part);
}

static int list_names(struct list *list, const struct model_index *index, const char *const *names,
                      size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t number;
        if (!map_get(&index->names, names[i], &number))
            return error_set(err, ERROR_NOT_FOUND, "the model has no value '%.100s'", names[i]);
        list_add(list, index, number);
    }
    return 0;
}

/* The nodes needed to compute the wanted values from the given ones. */
static size_t needed_nodes(const struct model_index *index, const struct list *wanted,
                           const struct list *given, size_t **nodes)
{
    struct list todo;
    size_t count = 0, capacity = 0;
    list_init(&todo);
    for (size_t i = 0; i < wanted->count; i++)
        list_add(&todo, index, wanted->items[i]);
    for (size_t i = 0; i < todo.count; i++) {
        const struct index_value *value = &index->values[todo.items[i]];
        if (value->source != SOURCE_NODE || map_has(&given->seen, value->name))
            continue;
        *nodes = memory_grow(*nodes, &capacity, count + 1, sizeof **nodes);
        (*nodes)[count++] = value->number;
        for (size_t k = 0; k < index->n_uses[value->number]; k++)
            list_add(&todo, index, index->uses[value->number][k]);
    }
    list_release(&todo);
    return count;
}

static int check_made(const struct cut *cut, struct error *err)
{
    for (size_t i = 0; i < cut->outputs.count; i++) {
        const struct index_value *value = &cut->index->values[cut->outputs.items[i]];
        if (value->source != SOURCE_NODE || map_has(&cut->given->seen, value->name))
            return error_set(err, ERROR_USAGE, "'%.100s' is an input or an initialiser: no node computes it",
                             value->name);
    }
    return 0;
}

int model_cut_between(struct model **part, const struct model_index *index, const char *const *from,
                      size_t n_from, const char *const *to, size_t n_to, const struct edit_types *types,
                      struct error *err)
{
    struct cut cut;
    struct list given;
    size_t *nodes = NULL;
    cut_init(&cut, index, types);
    list_init(&given);
    cut.given = &given;
    int result = -1;
    if (list_names(&given, index, from, n_from, err) || list_names(&cut.outputs, index, to, n_to, err) ||
        check_made(&cut, err))
        goto out;
    size_t count = needed_nodes(index, &cut.outputs, &given, &nodes);
    if (take_nodes(&cut, nodes, count, err))
        goto out;
    sort_uses(&cut);
    result = make_part(&cut, err);
out:
    free(nodes);
    list_release(&given);
    return cut_finish(&cut, result, part);
}
