#include "locate/held_values.h"

#include "eval/evaluate.h"
#include "model/build.h"

#include <stdlib.h>

void held_values_init(struct held_values *values, struct under_test *test)
{
    const Onnx__GraphProto *graph = test->model->graph;
    size_t count = test->index.count;
    *values = (struct held_values){.test = test};
    values->known = arena_array(&test->arena, count, sizeof(struct tensor *));
    values->weights = arena_array(&test->arena, count, sizeof *values->weights);
    values->viewed = arena_array(&test->arena, count, sizeof *values->viewed);
    values->planned = arena_array(&test->arena, count, sizeof *values->planned);
    values->folded = arena_array(&test->arena, count, sizeof *values->folded);
    values->forms = arena_array(&test->arena, count, sizeof *values->forms);
    for (size_t i = 0; i < test->whole->n_inputs; i++) {
        const struct value *input = &test->whole->inputs[i];
        const char *name = input->name ? input->name : i < graph->n_input ? graph->input[i]->name : NULL;
        size_t number;
        if (name && input->kind == VALUE_TENSOR && map_get(&test->index.names, name, &number))
            values->known[number] = &input->tensors[0];
    }
}

void held_values_drop(struct held_values *values, size_t number)
{
    if (values->known[number] == &values->weights[number])
        values->known[number] = NULL;
    if (values->weights[number].data && !values->viewed[number])
        tensor_release(&values->weights[number]);
    else if (values->weights[number].data)
        file_map_forget(values->weights[number].data, values->weights[number].size);
    values->weights[number] = (struct tensor){0};
}

void held_values_release(struct held_values *values)
{
    for (size_t i = 0; i < values->test->index.count; i++) {
        held_values_drop(values, i);
        if (values->folded[i].data)
            tensor_release(&values->folded[i]);
    }
    for (size_t i = 0; i < values->n_computed; i++)
        tensor_release(&values->computed[i]);
}

const Onnx__TensorProto *held_values_constant(const struct held_values *values, size_t number)
{
    const struct index_value *value = &values->test->index.values[number];
    if (value->source != SOURCE_NODE)
        return NULL;
    const Onnx__NodeProto *node = values->test->model->graph->node[value->number];
    return node_is_constant(node) ? node_tensor(node, "value") : NULL;
}

bool held_values_is_hidden(const struct held_values *values, size_t number)
{
    return held_values_constant(values, number) || (values->skip_folded && values->folded[number].data);
}

const char **held_values_made(const struct held_values *values, size_t *count)
{
    const char **names = arena_array(&values->test->arena, values->test->index.count, sizeof *names);
    *count = 0;
    for (size_t i = 0; i < values->test->index.count; i++)
        if (values->test->index.values[i].source == SOURCE_NODE && !held_values_is_hidden(values, i))
            names[(*count)++] = values->test->index.values[i].name;
    return names;
}

/* What an earlier search computed. */
static void drop_computed(struct held_values *values)
{
    for (size_t i = 0; i < values->test->index.count && values->n_computed; i++)
        if (values->test->index.values[i].source == SOURCE_NODE)
            values->known[i] = NULL;
    for (size_t i = 0; i < values->n_computed; i++)
        tensor_release(&values->computed[i]);
    values->n_computed = 0;
}

int held_values_compute(struct held_values *values, const char *const *names, size_t wanted)
{
    struct evaluator *evaluator;
    struct bounded *results;
    size_t count;
    if (!wanted) { /* the evaluator would take that for all outputs */
        drop_computed(values);
        values->complete = true;
        return 0;
    }
    if (evaluator_new(&evaluator, values->test->model, &(struct evaluate_options){.round = true},
                      values->test->err))
        return -1;
    int status = evaluator_run(evaluator, values->test->whole->inputs, values->test->whole->n_inputs, names,
                               wanted, &results, &count, values->test->err);
    evaluator_free(evaluator);
    if (status)
        return -1;
    drop_computed(values);
    values->computed = arena_array(&values->test->arena, count, sizeof *values->computed);
    for (size_t i = 0; i < count; i++) {
        size_t number;
        struct tensor *tensor = &values->computed[values->n_computed];
        if (!bounded_to_tensor(&results[i], tensor, NULL)) {
            values->n_computed++;
            if (map_get(&values->test->index.names, names[i], &number)) {
                values->known[number] = tensor;
                values->forms[number] = (struct tensor){.type = tensor->type, .shape = tensor->shape};
            }
        }
        bounded_release(&results[i]);
    }
    free(results);
    values->complete = true;
    return 0;
}

static bool read_weight(struct held_values *values, size_t number)
{
    const struct model *model = values->test->model;
    size_t index = values->test->index.values[number].number;
    values->viewed[number] = model_weight_view(model, index, &values->weights[number]);
    return values->viewed[number] || !model_weight(model, index, &values->weights[number], NULL);
}

const struct tensor *held_values_get(struct held_values *values, size_t number)
{
    if (!values->known[number] && values->test->index.values[number].source == SOURCE_INITIALIZER &&
        read_weight(values, number))
        values->known[number] = &values->weights[number];
    if (values->known[number] || !held_values_is_hidden(values, number))
        return values->known[number];
    const Onnx__TensorProto *constant = held_values_constant(values, number);
    if (!constant)
        values->known[number] = &values->folded[number];
    else if (!model_tensor_read(constant, &values->weights[number], NULL)) {
        values->viewed[number] = false;
        values->known[number] = &values->weights[number];
    }
    return values->known[number];
}

const struct tensor *held_values_find(struct held_values *values, const char *name)
{
    size_t number;
    return map_get(&values->test->index.names, name, &number) ? held_values_get(values, number) : NULL;
}

struct edit_types held_values_types(const struct held_values *values, struct arena *arena)
{
    struct edit_types types = {0};
    const char **names = arena_array(arena, values->test->index.count, sizeof *names);
    const struct tensor **tensors = arena_array(arena, values->test->index.count, sizeof(struct tensor *));
    for (size_t i = 0; i < values->test->index.count; i++) {
        const struct tensor *form = values->known[i] ? values->known[i] : &values->forms[i];
        if (form->type == DTYPE_NONE)
            continue;
        names[types.count] = values->test->index.values[i].name;
        tensors[types.count++] = form;
    }
    types.names = names;
    types.tensors = tensors;
    return types;
}
