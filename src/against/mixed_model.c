#include "against/mixed_model.h"

#include "base/memory.h"
#include "base/str.h"
#include "model/build.h"
#include "model/edit.h"
#include "model/tree.h"
#include "ops/op.h"

#include <stdlib.h>

/* One model that is being written. */
struct writing {
    const struct mixed_plan *plan;
    const bool *kept;
    struct model *made;
    struct map casts; /* casts and constants that were written already */
    struct error *err;
};

static size_t number_of(const struct model_index *index, const char *name)
{
    size_t number;
    return *name && map_get(&index->names, name, &number) ? number : NO_VALUE;
}

/* The maker of a layer in MODEL and in OTHER. */
static const Onnx__NodeProto *maker_of(const struct mixed_plan *plan, size_t layer, bool other)
{
    const struct match_layer *at = &plan->match->layers[layer];
    if (other)
        return match_maker(plan->other, at->other);
    return at->made == NO_VALUE ? NULL : match_maker(plan->model, at->made);
}

/* Whether MODEL has what a node of OTHER reads, but for `own`, and the node has no bodies. */
static bool can_be_copied(const struct mixed_plan *plan, const Onnx__NodeProto *there, size_t own)
{
    bool possible = there->n_output == 1;
    for (size_t i = 0; possible && i < there->n_input; i++) {
        size_t value = number_of(plan->other, there->input[i]);
        if (value == NO_VALUE)
            possible = !*there->input[i];
        else
            possible = value == own || match_is_constant(plan->other, value) ||
                       plan->match->reverse[value] != NO_VALUE;
    }
    for (size_t i = 0; possible && i < there->n_attribute; i++)
        possible = !there->attribute[i]->g && there->attribute[i]->n_graphs == 0;
    return possible;
}

/* The value that OTHER's node makes its result of, where MODEL's node stands for two of OTHER: a product, and
 * the activation behind it, which the range of the levels does. NO_VALUE: it stands for one. */
static size_t before_activation(const struct mixed_plan *plan, const Onnx__NodeProto *here,
                                const Onnx__NodeProto *there)
{
    size_t value = there->n_input ? number_of(plan->other, there->input[0]) : NO_VALUE;
    if (text_equal(op_title(here), op_title(there)) || value == NO_VALUE ||
        plan->match->reverse[value] != NO_VALUE)
        return NO_VALUE;
    const Onnx__NodeProto *product = match_maker(plan->other, value);
    return product && text_equal(op_title(here), op_title(product)) ? value : NO_VALUE;
}

bool mixed_is_possible(const struct mixed_plan *plan, size_t layer)
{
    const Onnx__NodeProto *here = maker_of(plan, layer, false), *there = maker_of(plan, layer, true);
    if (!here || !there || here->n_output != 1 ||
        model_opset(plan->model->model) != model_opset(plan->other->model))
        return false;
    size_t before = before_activation(plan, here, there);
    if (before == NO_VALUE)
        return text_equal(op_title(here), op_title(there)) && can_be_copied(plan, there, NO_VALUE);
    return can_be_copied(plan, there, before) &&
           can_be_copied(plan, match_maker(plan->other, before), NO_VALUE);
}

static const char *value_name(const struct writing *writing, size_t value)
{
    return writing->plan->model->values[value].name;
}

static enum dtype type_of(const struct writing *writing, const char *name)
{
    size_t value = number_of(writing->plan->model, name);
    enum dtype known = value == NO_VALUE ? DTYPE_NONE : writing->plan->types[value];
    return known == DTYPE_NONE ? DTYPE_FLOAT : known;
}

/* Appends a node that gives a value in another type. */
static void add_cast(struct writing *writing, const char *from, const char *to, enum dtype type)
{
    const struct op *op = op_after(NULL);
    while (op && !(op->flags & OP_CASTS && op->inputs.most == 1))
        op = op_after(op);
    Onnx__NodeProto *node = model_add_node(writing->made, op->type, NULL, 1, &(const char *const){from}, 1,
                                           &(const char *const){to});
    node_set_int(&writing->made->arena, node, "to", type);
}

/* A value of MODEL whose type is not float32 is given a cast, once. */
static const char *cast_to_float(struct writing *writing, const char *name)
{
    if (type_of(writing, name) == DTYPE_FLOAT)
        return name;
    struct arena *arena = &writing->made->arena;
    char *cast = arena_printf(arena, "%s_as_float32", name);
    size_t number;
    if (map_get(&writing->casts, cast, &number))
        return cast;
    map_set(&writing->casts, cast, 1);
    add_cast(writing, name, cast, DTYPE_FLOAT);
    return cast;
}

/* The value of a kept layer's chain that its node gives in float32: an output of the graph, else the one that
 * it computed before, else the first that is float32. NO_VALUE: none is. */
static size_t float_member(const struct writing *writing, size_t layer)
{
    const struct model_index *model = writing->plan->model;
    const struct match *match = writing->plan->match;
    size_t made = match->layers[layer].made, first = NO_VALUE, output = NO_VALUE;
    for (size_t i = 0; i < model->count; i++) {
        if (match->layer[i] != layer || type_of(writing, model->values[i].name) != DTYPE_FLOAT)
            continue;
        first = first == NO_VALUE || i == made ? i : first;
        output = model->values[i].is_output && output == NO_VALUE ? i : output;
    }
    return output != NO_VALUE ? output : first;
}

/* The name under which a kept node's result is float32. */
static const char *float_name(struct writing *writing, size_t layer)
{
    size_t member = float_member(writing, layer), made = writing->plan->match->layers[layer].made;
    return member != NO_VALUE ? value_name(writing, member)
                              : arena_printf(&writing->made->arena, "%s_kept", value_name(writing, made));
}

/* OTHER's constant becomes one of this model, under a name of its own. */
static const char *bring_constant(struct writing *writing, size_t value)
{
    const struct model_index *other = writing->plan->other;
    struct arena *arena = &writing->made->arena;
    char *name = arena_printf(arena, "%s_of_other", other->values[value].name);
    const Onnx__NodeProto *node = match_maker(other, value);
    size_t number;
    struct tensor tensor;
    if (map_get(&writing->casts, name, &number))
        return name;
    if (node ? !node_is_constant(node) || !node_tensor(node, "value") : false) {
        error_set(writing->err, ERROR_UNSUPPORTED, "constant %s is computed", other->values[value].name);
        return NULL;
    }
    if (node ? model_tensor_read(node_tensor(node, "value"), &tensor, writing->err)
             : model_weight(other->model, other->values[value].number, &tensor, writing->err))
        return NULL;
    model_add_initializer(writing->made, name, &tensor);
    tensor_release(&tensor);
    map_set(&writing->casts, name, 1);
    return name;
}

/* What a kept node reads in place of OTHER's value. */
static const char *input_of(struct writing *writing, const Onnx__NodeProto *here, size_t place, size_t value)
{
    const struct match *match = writing->plan->match;
    size_t layer = match->reverse[value];
    if (match_is_constant(writing->plan->other, value))
        return bring_constant(writing, value);
    const struct match_layer *at = &match->layers[layer];
    if (writing->kept[layer])
        return float_name(writing, layer);
    size_t root = at->made != NO_VALUE ? at->made : match->root[at->passed];
    if (!match_maker(writing->plan->model, root)) /* an input of the graph, before any levels */
        return cast_to_float(writing, value_name(writing, root));
    size_t read = place < here->n_input ? number_of(writing->plan->model, here->input[place]) : NO_VALUE;
    bool same = read != NO_VALUE && match->layer[read] == layer;
    size_t end = at->passed != NO_VALUE ? at->passed : at->made;
    return cast_to_float(writing, value_name(writing, same ? read : end));
}

/* Writes a node of OTHER, which reads `own` as the value that is called own_name. */
static int add_copy(struct writing *writing, const Onnx__NodeProto *here, const Onnx__NodeProto *there,
                    size_t own, const char *own_name, const char *name, const char *result)
{
    const struct mixed_plan *plan = writing->plan;
    struct arena *arena = &writing->made->arena;
    const char **inputs = arena_array(arena, there->n_input + 1, sizeof *inputs);
    for (size_t i = 0; i < there->n_input; i++) {
        size_t value = number_of(plan->other, there->input[i]);
        inputs[i] = value == NO_VALUE ? "" : value == own ? own_name : input_of(writing, here, i, value);
        if (!inputs[i])
            return -1;
    }
    Onnx__NodeProto *node = model_add_node(writing->made, there->op_type, name, there->n_input, inputs, 1,
                                           &(const char *const){result});
    if (*there->domain)
        model_set_domain(writing->made, node, there->domain);
    const Onnx__NodeProto *copy = (const Onnx__NodeProto *)tree_copy(&there->base, arena, NULL, NULL);
    node->attribute = copy->attribute;
    node->n_attribute = copy->n_attribute;
    return 0;
}

/* OTHER's node in place of MODEL's, with its result in float32, and cast back to the type it had. */
static int add_kept(struct writing *writing, size_t layer)
{
    const struct mixed_plan *plan = writing->plan;
    const Onnx__NodeProto *here = maker_of(plan, layer, false), *there = maker_of(plan, layer, true);
    const char *result = float_name(writing, layer), *name = model_node_name(here);
    size_t before = before_activation(plan, here, there);
    char *between = arena_printf(&writing->made->arena, "%s_before", result);
    if (before != NO_VALUE) {
        if (add_copy(writing, here, match_maker(plan->other, before), NO_VALUE, NULL, name, between))
            return -1;
        name = model_node_name(there);
    }
    if (add_copy(writing, here, there, before, between, name, result))
        return -1;
    const char *made = value_name(writing, plan->match->layers[layer].made);
    if (type_of(writing, made) != DTYPE_FLOAT)
        add_cast(writing, result, made, type_of(writing, made));
    return 0;
}

/* Whether a kept node gives the node's result. */
static bool is_replaced(const struct writing *writing, const Onnx__NodeProto *node)
{
    size_t value = node->n_output ? number_of(writing->plan->model, node->output[0]) : NO_VALUE;
    size_t layer = value == NO_VALUE ? NO_VALUE : writing->plan->match->layer[value];
    return layer != NO_VALUE && writing->kept[layer] &&
           (writing->plan->match->layers[layer].made == value || float_member(writing, layer) == value);
}

/* Nodes that read a kept layer in float32, from any place of its chain, read what its node gives: its levels
 * are no longer wanted. */
static void read_kept(struct writing *writing, Onnx__NodeProto *node)
{
    const struct match *match = writing->plan->match;
    for (size_t i = 0; i < node->n_input; i++) {
        size_t value = number_of(writing->plan->model, node->input[i]);
        size_t layer = value == NO_VALUE ? NO_VALUE : match->layer[value];
        if (layer != NO_VALUE && writing->kept[layer] && type_of(writing, node->input[i]) == DTYPE_FLOAT)
            node->input[i] = arena_strdup(&writing->made->arena, float_name(writing, layer));
    }
}

static void drop_replaced(struct writing *writing)
{
    Onnx__GraphProto *graph = writing->made->graph;
    size_t left = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        if (!is_replaced(writing, graph->node[i])) {
            read_kept(writing, graph->node[i]);
            graph->node[left++] = graph->node[i];
        }
    graph->n_node = left;
}

static bool is_used(const struct map *used, const Onnx__NodeProto *node)
{
    bool wanted = node->n_output == 0;
    for (size_t i = 0; i < node->n_output; i++)
        wanted |= *node->output[i] && map_has(used, node->output[i]);
    return wanted;
}

/* Bodies may read any value of the graph: then nothing is dropped. */
static bool has_bodies(const Onnx__GraphProto *graph)
{
    bool found = false;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_attribute; k++)
            found |= graph->node[i]->attribute[k]->g || graph->node[i]->attribute[k]->n_graphs;
    return found;
}

/* Levels that nobody reads any more are left out, and so are their constants. The nodes are in order. */
static void drop_unused(struct model *model)
{
    Onnx__GraphProto *graph = model->graph;
    struct map used;
    size_t left = 0;
    if (has_bodies(graph))
        return;
    map_init(&used);
    for (size_t i = 0; i < graph->n_output; i++)
        map_set(&used, graph->output[i]->name, 1);
    for (size_t i = graph->n_node; i-- > 0;)
        if (is_used(&used, graph->node[i]))
            for (size_t k = 0; k < graph->node[i]->n_input; k++)
                map_set(&used, graph->node[i]->input[k], 1);
    for (size_t i = 0; i < graph->n_node; i++)
        if (is_used(&used, graph->node[i]))
            graph->node[left++] = graph->node[i];
    graph->n_node = left;
    left = 0;
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (map_has(&used, graph->initializer[i]->name))
            graph->initializer[left++] = graph->initializer[i];
    graph->n_initializer = left;
    map_release(&used);
}

int mixed_write(struct model **mixed, const struct mixed_plan *plan, const bool *kept, struct error *err)
{
    struct writing writing = {.plan = plan, .kept = kept, .err = err};
    *mixed = NULL;
    if (model_clone(&writing.made, plan->model->model, err))
        return -1;
    int status = 0;
    writing.made->path = NULL;
    map_init(&writing.casts);
    drop_replaced(&writing);
    for (size_t i = 0; i < plan->match->n_layers && status == 0; i++)
        if (kept[i])
            status = add_kept(&writing, i);
    if (status == 0)
        status = model_sort_nodes(writing.made, err);
    if (status == 0)
        drop_unused(writing.made);
    map_release(&writing.casts);
    if (status == 0)
        *mixed = writing.made;
    else
        model_free(writing.made);
    return status;
}
