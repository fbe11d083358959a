/* Rule 16 of EAGLE: the model written and read again, in the forms that files and engines have for it. */
#include "rules/rule.h"

#include <string.h>

enum { ITEMS = 1 << 20 }; /* larger weights stay as they are: their copies would be in memory */

/* Moves the elements of a tensor to the other place that the format has for them. Types that are not known
 * here stay where they are. */
static bool move_elements(struct rewrite *rewrite, Onnx__TensorProto **proto)
{
    struct arena *arena = &rewrite->model->arena;
    struct tensor tensor;
    if (model_tensor_read(*proto, &tensor, NULL))
        return false;
    bool moved = tensor.count > 0 && tensor.count <= ITEMS && tensor.type != DTYPE_STRING;
    if (moved)
        *proto = model_tensor_is_raw(*proto) ? model_tensor_write_typed(arena, (*proto)->name, &tensor)
                                             : model_tensor_write(arena, (*proto)->name, &tensor);
    tensor_release(&tensor);
    return moved;
}

static bool move_constant(struct rewrite *rewrite, Onnx__NodeProto *node)
{
    bool result = false;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->t)
            result |= move_elements(rewrite, &node->attribute[i]->t);
    return result;
}

static int typed_data(struct rewrite *rewrite, const struct rule_site *site)
{
    (void)site;
    Onnx__GraphProto *graph = rewrite->model->graph;
    bool result = false;
    for (size_t i = 0; i < graph->n_initializer; i++)
        result |= move_elements(rewrite, &graph->initializer[i]);
    for (size_t i = 0; i < graph->n_node; i++)
        if (node_is_constant(graph->node[i]))
            result |= move_constant(rewrite, graph->node[i]);
    rewrite->model->path = NULL;
    return result;
}

const struct rule rule_typed_data = {
    .name = "typed-data",
    .paper = 16,
    .summary = "weights in the file as raw bytes against numbers of their type",
    .scope = RULE_MODEL,
    .relation = RELATION_BITS,
    .nothing_new = true,
    .apply = typed_data,
};

static int external_data(struct rewrite *rewrite, const struct rule_site *site)
{
    (void)site;
    rewrite->way->by_path = true;
    return 1;
}

const struct rule rule_external_data = {
    .name = "external-data",
    .paper = 16,
    .summary = "the model as a file with weights in another file beside it",
    .scope = RULE_RUN,
    .relation = RELATION_BITS,
    .nothing_new = true,
    .apply = external_data,
};

/* Engines have their own names for the formats that they save to, so the setting comes from what they
 * declare. */
static int reloaded(struct rewrite *rewrite, const struct rule_site *site)
{
    if (strncmp(site->knob, "reload=", 7) != 0 || strchr(site->knob, ','))
        return 0;
    rewrite_add_knobs(rewrite, site->knob);
    return 1;
}

/* The engine may optimise what it has already optimised, and round otherwise. */
const struct rule rule_reloaded = {
    .name = "reloaded",
    .paper = 16,
    .summary = "the model as the engine saves it, loaded again: as ONNX or in a format of its own",
    .scope = RULE_RUN,
    .relation = RELATION_BOUNDS,
    .each_knob = true,
    .nothing_new = true,
    .apply = reloaded,
};
