#include "campaign/node_alone.h"

#include "base/memory.h"
#include "campaign/constant_nodes.h"
#include "campaign/other_data.h"
#include "locate/expected.h"
#include "model/edit.h"

#include <stdlib.h>

struct node_values {
    const struct test_case *test;
    struct model_index index;
    bool *constant; /* for each node */
    size_t count;
    const char **names;
    struct tensor *tensors;
    const struct tensor **types; /* the same, for model_cut */
};

static const Onnx__GraphProto *graph_of(const struct node_values *values)
{
    return values->index.model->graph;
}

static void list_names(struct node_values *values)
{
    size_t capacity = 0;
    const Onnx__GraphProto *graph = graph_of(values);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++) {
            if (!*graph->node[i]->output[k])
                continue;
            values->names = memory_grow(values->names, &capacity, values->count + 1, sizeof *values->names);
            values->names[values->count++] = graph->node[i]->output[k];
        }
}

static int compute(struct node_values *values)
{
    struct model *model;
    struct expected expected;
    if (!values->count || model_clone(&model, values->index.model, NULL))
        return -1;
    int status = model_set_outputs(model, values->names, values->count, NULL) ||
                 expected_compute(&expected, model, NULL, values->test->inputs, values->test->n_inputs);
    if (!status) {
        for (size_t i = 0; i < values->count && !status; i++)
            status = bounded_to_tensor(&expected.values[i], &values->tensors[i], NULL);
        expected_release(&expected);
    }
    model_free(model);
    return status;
}

struct node_values *node_values_new(const struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    struct node_values *values = memory_zeroed(1, sizeof *values);
    values->test = test;
    if (!model || model_index_init(&values->index, model, NULL)) {
        free(values);
        return NULL;
    }
    list_names(values);
    values->constant = constant_nodes_find(&values->index);
    values->tensors = memory_zeroed(values->count + 1, sizeof *values->tensors);
    values->types = memory_zeroed(values->count + 1, sizeof *values->types);
    for (size_t i = 0; i < values->count; i++)
        values->types[i] = &values->tensors[i];
    if (!compute(values))
        return values;
    node_values_free(values);
    return NULL;
}

void node_values_free(struct node_values *values)
{
    if (!values)
        return;
    for (size_t i = 0; i < values->count; i++)
        tensor_release(&values->tensors[i]);
    free(values->tensors);
    free(values->types);
    free(values->names);
    free(values->constant);
    model_index_release(&values->index);
    free(values);
}

size_t node_values_at(const struct node_values *values, size_t place)
{
    return values->index.order[place];
}

bool node_values_constant(const struct node_values *values, size_t node)
{
    return values->constant[node];
}

const struct test_case *node_values_case(const struct node_values *values)
{
    return values->test;
}

static struct tensor *find(const struct node_values *values, const char *name)
{
    for (size_t i = 0; i < values->count; i++)
        if (text_equal(values->names[i], name))
            return &values->tensors[i];
    return NULL;
}

const struct tensor *node_values_find(const struct node_values *values, const char *name)
{
    return find(values, name);
}

static bool is_constant(const struct node_values *values, const char *name)
{
    const struct index_value *value = model_index_find(&values->index, name);
    return value && value->source == SOURCE_NODE && values->constant[value->number];
}

/* Gives an input of the part its value. */
static int give(const struct node_values *values, struct test_case *part, char *name)
{
    struct tensor *tensor = find(values, name);
    if (tensor) {
        struct value value = {.name = name, .kind = VALUE_TENSOR, .count = 1, .tensors = tensor};
        return test_case_add_inputs(part, &value, 1, NULL);
    }
    for (size_t i = 0; i < values->test->n_inputs; i++)
        if (text_equal(values->test->inputs[i].name, name))
            return test_case_add_inputs(part, &values->test->inputs[i], 1, NULL);
    return -1;
}

static struct test_case *with_inputs(const struct node_values *values, struct model *model)
{
    struct test_case *part = test_case_new(model);
    int status = 0;
    for (size_t i = 0; i < model->graph->n_input && !status; i++)
        status = give(values, part, model->graph->input[i]->name);
    if (!status)
        return constant_nodes_declared(part);
    test_case_free(part);
    return NULL;
}

/* Makes an input of the part a constant, where it is one. */
static int freeze_one(const struct node_values *values, struct model *model, const char *name)
{
    for (size_t i = 0; i < model->graph->n_input; i++)
        if (text_equal(model->graph->input[i]->name, name))
            return model_freeze_input(model, name, find(values, name), NULL);
    return 0;
}

/* What depends on constants alone becomes a constant. */
static int freeze(const struct node_values *values, struct model *model)
{
    for (size_t i = model->graph->n_input; i-- > 0;) {
        const char *name = model->graph->input[i]->name;
        if (is_constant(values, name) && freeze_one(values, model, name))
            return -1;
    }
    return 0;
}

struct test_case *node_alone(const struct node_values *values, size_t node, bool filled)
{
    struct edit_types types = {values->count, values->names, values->types};
    struct model *model;
    if (model_cut(&model, &values->index, &node, 1, &types, NULL))
        return NULL;
    if (freeze(values, model)) {
        model_free(model);
        return NULL;
    }
    struct test_case *alone = with_inputs(values, model);
    if (filled && alone) {
        struct test_case *whole = other_data_filled(alone);
        test_case_free(alone);
        alone = whole;
    }
    if (!alone || !constant_nodes_alone(alone))
        return alone;
    struct test_case *with = constant_nodes_with_variables(alone);
    test_case_free(alone);
    return with;
}

struct test_case *node_replaced(const struct node_values *values, size_t node, bool constant, bool *nothing)
{
    const Onnx__GraphProto *graph = graph_of(values);
    const Onnx__NodeProto *gone = graph->node[node];
    struct edit_types types = {values->count, values->names, values->types};
    const char **from = memory_zeroed(gone->n_output + 1, sizeof *from),
               **to = memory_zeroed(graph->n_output + 1, sizeof *to);
    size_t n_from = 0, n_to = 0;
    struct model *model = NULL;
    for (size_t i = 0; i < gone->n_output; i++)
        if (*gone->output[i])
            from[n_from++] = gone->output[i];
    for (size_t i = 0; i < graph->n_output; i++) {
        const struct index_value *value = model_index_find(&values->index, graph->output[i]->name);
        if (value && value->source == SOURCE_NODE && value->number != node)
            to[n_to++] = graph->output[i]->name;
    }
    *nothing = !n_to;
    int status = n_to ? model_cut_between(&model, &values->index, from, n_from, to, n_to, &types, NULL) : -1;
    for (size_t i = 0; constant && i < n_from && !status; i++)
        status = freeze_one(values, model, from[i]);
    free(from);
    free(to);
    if (!status)
        return with_inputs(values, model);
    model_free(model);
    return NULL;
}
