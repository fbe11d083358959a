/* Rule 11 of EAGLE: values that a case feeds as inputs against initialisers of the model. */
#include "rules/rule.h"

enum { ELEMENTS = 1 << 20 }; /* of the largest value that is moved */

/* Writes the value that the case gives for an input into the model. Before initialisers could stand alone it
 * would have to stay an input. */
static int freeze(struct rewrite *rewrite, const char *name, struct error *err)
{
    const struct tensor *given = rewrite_given(rewrite, name);
    struct tensor tensor;
    if (!given || given->count > ELEMENTS || rewrite->model->proto->ir_version < MODEL_IR_FREE_INITIALIZERS)
        return 0;
    const struct index_value *value = model_index_find(&rewrite->index, name);
    if (tensor_copy(&tensor, given, err))
        return -1;
    /* A default value that the case replaces. */
    if (value && value->source == SOURCE_INITIALIZER)
        rewrite_drop_initializer(rewrite, value->number);
    rewrite_drop_case_input(rewrite, name);
    model_add_initializer(rewrite->model, name, &tensor);
    tensor_release(&tensor);
    return 1;
}

static int input_as_initializer(struct rewrite *rewrite, const struct rule_site *site)
{
    return freeze(rewrite, site->value->name, rewrite->err);
}

const struct rule rule_input_as_initializer = {
    .name = "input-as-initializer",
    .respells = true,
    .paper = 11,
    .summary = "an input as an initialiser with the same value",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = input_as_initializer,
};

static int inputs_as_initializers(struct rewrite *rewrite, const struct rule_site *site)
{
    const Onnx__GraphProto *graph = rewrite->model->graph;
    int result = 0;
    (void)site;
    for (size_t i = 0; i < graph->n_input; i++)
        if (model_index_find(&rewrite->index, graph->input[i]->name)->source == SOURCE_INITIALIZER)
            return 0; /* numbers of initialisers would not stay as the index has them */
    while (graph->n_input) {
        int frozen = freeze(rewrite, graph->input[0]->name, rewrite->err);
        if (frozen != 1)
            return frozen;
        result = 1;
    }
    return result;
}

const struct rule rule_inputs_as_initializers = {
    .name = "inputs-as-initializers",
    .paper = 11,
    .summary = "all inputs as initialisers: a model that computes one constant",
    .scope = RULE_MODEL,
    .relation = RELATION_BOUNDS,
    .apply = inputs_as_initializers,
};

static int initializer_as_input(struct rewrite *rewrite, const struct rule_site *site)
{
    const struct index_value *value = site->value;
    const struct bounded *type = rewrite_type(rewrite, value->name);
    struct tensor tensor;
    if (value->source != SOURCE_INITIALIZER || rewrite_is_input(rewrite, value->name) || !type ||
        type->count > ELEMENTS)
        return 0;
    if (model_weight(rewrite->model, value->number, &tensor, rewrite->err))
        return -1;
    rewrite_drop_initializer(rewrite, value->number);
    rewrite_add_case_input(rewrite, value->name, &tensor);
    return 1;
}

const struct rule rule_initializer_as_input = {
    .name = "initializer-as-input",
    .respells = true,
    .paper = 11,
    .summary = "an initialiser as an input that is given the same value",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = initializer_as_input,
};
