#include "campaign/made_lists.h"

#include "base/str.h"
#include "campaign/other_data.h"
#include "model/build.h"
#include "model/edit.h"

static struct shape shape_as(enum made_form form, int64_t length)
{
    switch (form) {
    case MADE_ROWS:
        return (struct shape){.rank = 2, .dims = {1, length}};
    case MADE_COLUMNS:
        return (struct shape){.rank = 2, .dims = {length, 1}};
    case MADE_LISTS:
        break;
    }
    return (struct shape){.rank = 1, .dims = {length}};
}

/* The dimensions as a constant of the model, by its name. */
static const char *add_dims(struct model *model, const struct shape *shape, size_t number)
{
    struct tensor dims;
    const char *name = arena_printf(&model->arena, "made_lists_dims_%zu", number);
    struct shape length = {.rank = 1, .dims = {shape->rank}};
    if (tensor_alloc(&dims, DTYPE_INT64, &length, 0, NULL))
        return NULL;
    for (int i = 0; i < shape->rank; i++)
        tensor_set(&dims, (size_t)i, shape->dims[i]);
    model_add_initializer(model, name, &dims);
    tensor_release(&dims);
    return name;
}

static bool is_taken(const struct model *model, const char *value)
{
    for (size_t i = 0; i < model->graph->n_node; i++)
        for (size_t k = 0; k < model->graph->node[i]->n_input; k++)
            if (text_equal(model->graph->node[i]->input[k], value))
                return true;
    return false;
}

/* Appends a Reshape, whose result is taken in the place of the value; false when that is no list, or nothing
 * takes it as data. */
static bool reshape(const struct node_values *values, struct model *model, const char *value,
                    enum made_form form)
{
    const struct tensor *list = node_values_find(values, value);
    size_t number = model->graph->n_node;
    if (!list || list->shape.rank != 1 || !list->count || other_data_is_parameter(model, value) ||
        !is_taken(model, value))
        return false;
    struct shape shape = shape_as(form, list->shape.dims[0]);
    const char *inputs[] = {value, add_dims(model, &shape, number)};
    if (!inputs[1])
        return false;
    const char *other = arena_printf(&model->arena, "made_lists_%zu", number);
    graph_redirect(&model->arena, model->graph, value, other);
    model_add_node(model, "Reshape", other, 2, inputs, 1, &other);
    return true;
}

static bool reshape_all_of(const struct node_values *values, struct model *model, size_t node,
                           enum made_form form)
{
    const Onnx__NodeProto *maker = model->graph->node[node];
    bool changed = false;
    for (size_t i = 0; !node_values_constant(values, node) && i < maker->n_output; i++)
        changed |= reshape(values, model, maker->output[i], form);
    return changed;
}

struct test_case *made_lists_as(const struct node_values *values, size_t node, enum made_form form)
{
    const struct test_case *test = node_values_case(values);
    struct model *model;
    struct test_case *other = other_data_begin(test, &model);
    bool changed = false;
    if (!other)
        return NULL;
    for (size_t i = 0, nodes = model->graph->n_node; i < nodes; i++)
        if (node == MADE_BY_ALL || node == MADE_OR_GIVEN || i == node)
            changed |= reshape_all_of(values, model, i, form);
    if (changed && node == MADE_OR_GIVEN && form != MADE_LISTS)
        other_data_make_matrices(other, model, form == MADE_COLUMNS);
    other = other_data_finish(other, model, changed && !model_sort_nodes(model, NULL));
    if (other && !other_data_same_elements(test, other)) {
        test_case_free(other);
        return NULL;
    }
    return other;
}
