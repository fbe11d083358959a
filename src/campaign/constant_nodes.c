#include "campaign/constant_nodes.h"

#include "base/memory.h"
#include "locate/expected.h"
#include "locate/param_change.h"
#include "model/build.h"
#include "model/edit.h"
#include "ops/op.h"

#include <stdlib.h>
#include <string.h>

/* The names of nodes that are added. */
#define ADDED "constant_nodes_"

struct test_case *constant_nodes_declared(struct test_case *test)
{
    struct expected expected;
    if (expected_compute(&expected, test_case_model(test, NULL), NULL, test->inputs, test->n_inputs)) {
        test_case_free(test);
        return NULL;
    }
    param_change_declare(test, expected.values, expected.count);
    expected_release(&expected);
    return test;
}

/* Adds a value to the inputs of the case. */
static int feed(struct test_case *test, char *name, struct tensor *tensor)
{
    struct value value = {.name = name, .kind = VALUE_TENSOR, .count = 1, .tensors = tensor};
    return test_case_add_inputs(test, &value, 1, NULL);
}

/* Adds a node with one output, and returns the name of that. */
static const char *append(struct model *model, const char *op_type, const char *first, const char *second)
{
    const char *inputs[] = {first, second};
    const char *output = arena_printf(&model->arena, ADDED "%zu", model->graph->n_node);
    Onnx__NodeProto *node = model_add_node(model, op_type, output, second ? 2 : 1, inputs, 1, &output);
    if (!second)
        node_set_int(&model->arena, node, "to", (int64_t)DTYPE_FLOAT);
    return node->output[0];
}

bool constant_nodes_is_added(const Onnx__NodeProto *node)
{
    return strncmp(node->name, ADDED, sizeof ADDED - 1) == 0;
}

/* The output with this number becomes its sum with an input of zeros, in float32. */
static int add_variable(struct test_case *test, struct model *model, size_t number,
                        const struct bounded *output)
{
    struct tensor zeros;
    char *variable = arena_printf(&model->arena, "variable_%zu", number);
    const char *name = model->graph->output[number]->name;
    if (output->type == DTYPE_STRING || !output->count ||
        tensor_alloc(&zeros, DTYPE_FLOAT, &output->shape, 0, NULL))
        return -1;
    for (size_t i = 0; i < zeros.count; i++)
        tensor_set(&zeros, i, 0);
    model_add_input(model, variable, DTYPE_FLOAT, &output->shape);
    if (output->type != DTYPE_FLOAT)
        name = append(model, "Cast", name, NULL);
    model->graph->output[number]->name = (char *)(uintptr_t)append(model, "Add", name, variable);
    int status = feed(test, variable, &zeros);
    tensor_release(&zeros);
    return status;
}

struct test_case *constant_nodes_with_variables(const struct test_case *test)
{
    const struct model *present = test_case_model(test, NULL);
    struct model *model;
    struct expected expected;
    if (!present || expected_compute(&expected, present, NULL, test->inputs, test->n_inputs))
        return NULL;
    if (model_clone(&model, present, NULL)) {
        expected_release(&expected);
        return NULL;
    }
    model->path = NULL;
    struct test_case *other = test_case_new(model);
    int status = test_case_add_inputs(other, test->inputs, test->n_inputs, NULL);
    for (size_t i = 0; i < expected.count && i < model->graph->n_output && !status; i++)
        status = add_variable(other, model, i, &expected.values[i]);
    expected_release(&expected);
    if (status) {
        test_case_free(other);
        return NULL;
    }
    return constant_nodes_declared(other);
}

bool *constant_nodes_find(const struct model_index *index)
{
    const Onnx__GraphProto *graph = index->model->graph;
    bool *constant = memory_zeroed(graph->n_node + 1, sizeof *constant);
    for (size_t i = 0; i < graph->n_node; i++) {
        size_t node = index->order[i];
        const struct op *op = op_of(graph->node[node]);
        bool all = true;
        for (size_t k = 0; k < index->n_uses[node]; k++) {
            const struct index_value *value = &index->values[index->uses[node][k]];
            all &= value->source == SOURCE_INITIALIZER ||
                   (value->source == SOURCE_NODE && constant[value->number]);
        }
        constant[node] = all || (op && op->work == WORK_SHAPE);
    }
    return constant;
}

static bool has_constants_alone(const struct model_index *index, size_t node)
{
    bool *constant = constant_nodes_find(index), all = index->n_uses[node] > 0;
    for (size_t k = 0; k < index->n_uses[node]; k++) {
        const struct index_value *value = &index->values[index->uses[node][k]];
        all &=
            value->source == SOURCE_INITIALIZER || (value->source == SOURCE_NODE && constant[value->number]);
    }
    free(constant);
    return all;
}

bool constant_nodes_alone(const struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    struct model_index index;
    bool alone = true;
    if (!model || model_index_init(&index, model, NULL))
        return false;
    bool *constant = constant_nodes_find(&index);
    for (size_t i = 0; i < model->graph->n_output; i++) {
        const struct index_value *value = model_index_find(&index, model->graph->output[i]->name);
        alone &= value && (value->source == SOURCE_INITIALIZER ||
                           (value->source == SOURCE_NODE && constant[value->number]));
    }
    free(constant);
    model_index_release(&index);
    return alone;
}

/* The value of this name, as the reference computes it. */
static int value_of(const struct test_case *test, const char *name, struct tensor *tensor)
{
    struct model *model;
    struct expected expected;
    if (model_clone(&model, test_case_model(test, NULL), NULL))
        return -1;
    int status = model_set_outputs(model, &name, 1, NULL) ||
                 expected_compute(&expected, model, NULL, test->inputs, test->n_inputs);
    if (!status) {
        status = bounded_to_tensor(&expected.values[0], tensor, NULL);
        expected_release(&expected);
    }
    model_free(model);
    return status;
}

/* The input becomes one of float32 with a Cast behind it; false when it is of float32 already. */
static bool cast_input(struct test_case *test, struct model *model, const char *name)
{
    Onnx__GraphProto *graph = model->graph;
    for (size_t i = 0; i < test->n_inputs; i++) {
        struct tensor *tensor = test->inputs[i].tensors, floats;
        if (!text_equal(test->inputs[i].name, name))
            continue;
        if (tensor->type == DTYPE_FLOAT || tensor->type == DTYPE_STRING ||
            tensor_alloc(&floats, DTYPE_FLOAT, &tensor->shape, 0, NULL))
            return false;
        for (size_t k = 0; k < tensor->count; k++)
            tensor_set(&floats, k, tensor_get(tensor, k));
        const char *fed = "constant_nodes_fed";
        Onnx__NodeProto *cast = model_add_node(model, "Cast", "constant_nodes_cast", 1, &fed, 1, &name);
        node_set_int(&model->arena, cast, "to", (int64_t)tensor->type);
        for (size_t k = 0; k < graph->n_input; k++)
            if (text_equal(graph->input[k]->name, name)) {
                graph->input[k]->name = arena_strdup(&model->arena, fed);
                graph->input[k]->type = type_make(&model->arena, DTYPE_FLOAT, &floats.shape);
            }
        tensor_release(tensor);
        *tensor = floats;
        free(test->inputs[i].name);
        test->inputs[i].name = memory_strdup(fed);
        return model_sort_nodes(model, NULL) == 0;
    }
    return false;
}

/* The model from value `name` on, which is an input of it. */
static struct test_case *cut_behind(const struct test_case *test, const struct model_index *index,
                                    const char *name, struct tensor *tensor, bool cast)
{
    const Onnx__GraphProto *graph = index->model->graph;
    const char **outputs = memory_zeroed(graph->n_output + 1, sizeof *outputs);
    const struct tensor *types[] = {tensor};
    struct model *part;
    for (size_t i = 0; i < graph->n_output; i++)
        outputs[i] = graph->output[i]->name;
    int status = model_cut_between(&part, index, &name, 1, outputs, graph->n_output,
                                   &(struct edit_types){.count = 1, .names = &name, .tensors = types}, NULL);
    free(outputs);
    if (status)
        return NULL;
    struct test_case *fed = test_case_new(part);
    for (size_t i = 0; i < part->graph->n_input && !status; i++) {
        const char *input = part->graph->input[i]->name;
        if (text_equal(input, name))
            status = feed(fed, part->graph->input[i]->name, tensor);
        for (size_t k = 0; k < test->n_inputs && !status; k++)
            if (text_equal(input, test->inputs[k].name))
                status = test_case_add_inputs(fed, &test->inputs[k], 1, NULL);
    }
    if (status || (cast && !cast_input(fed, part, name))) {
        test_case_free(fed);
        return NULL;
    }
    return constant_nodes_declared(fed);
}

struct test_case *constant_nodes_fed(const struct test_case *test, size_t node, bool cast)
{
    const struct model *model = test_case_model(test, NULL);
    struct model_index index;
    struct tensor tensor;
    struct test_case *fed = NULL;
    if (!model || node >= model->graph->n_node || !model->graph->node[node]->n_input ||
        constant_nodes_is_added(model->graph->node[node]) || model_index_init(&index, model, NULL))
        return NULL;
    const char *name = model->graph->node[node]->input[0];
    if (*name && has_constants_alone(&index, node) && !value_of(test, name, &tensor)) {
        if (tensor.count)
            fed = cut_behind(test, &index, name, &tensor, cast);
        tensor_release(&tensor);
    }
    model_index_release(&index);
    return fed;
}

/* Whether the node does not compute on constants alone, and is of the operator; NULL: of any. */
static bool takes(const struct model_index *index, const bool *constant, size_t node,
                  const char *operator_name)
{
    const Onnx__NodeProto *taker = index->model->graph->node[node];
    return !constant[node] && (!operator_name || text_equal(op_title(taker), operator_name));
}

/* The first node that takes the value; NULL when there is none. */
static const Onnx__NodeProto *taker_of(const struct model_index *index, const bool *constant,
                                       const struct index_value *value, const char *operator_name)
{
    for (size_t i = 0; i < value->consumers; i++)
        if (takes(index, constant, value->consumer[i], operator_name))
            return index->model->graph->node[value->consumer[i]];
    return NULL;
}

/* The nodes that take the value get the constant. */
static void give(const struct model_index *index, const bool *constant, const struct index_value *value,
                 const char *operator_name, struct model *model, const struct tensor *tensor)
{
    char *given = arena_printf(&model->arena, "%s_given", value->name);
    model_add_initializer(model, given, tensor);
    for (size_t i = 0; i < value->consumers; i++) {
        Onnx__NodeProto *node = model->graph->node[value->consumer[i]];
        for (size_t k = 0; takes(index, constant, value->consumer[i], operator_name) && k < node->n_input;
             k++)
            if (text_equal(node->input[k], value->name))
                node->input[k] = given;
    }
}

/* Adds what nodes compute of constants alone, and others take, to the constants of the model. */
static int fold(const struct test_case *test, const struct model_index *index, const bool *constant,
                const char *operator_name, struct model *model, const char **taker)
{
    const Onnx__GraphProto *graph = index->model->graph;
    for (size_t i = 0; i < index->count; i++) {
        const struct index_value *value = &index->values[i];
        struct tensor tensor;
        if (value->source != SOURCE_NODE || !constant[value->number])
            continue;
        const Onnx__NodeProto *node = taker_of(index, constant, value, operator_name);
        if (value->is_output && !operator_name)
            return -1;
        if (!node)
            continue;
        if (constant_nodes_is_added(node) || value_of(test, value->name, &tensor))
            return -1;
        if (!*taker && !node_is_constant(graph->node[value->number]))
            *taker = op_title(node);
        give(index, constant, value, operator_name, model, &tensor);
        tensor_release(&tensor);
    }
    return *taker ? 0 : -1;
}

/* Whether a result of the node is an output, or taken by a node that is left. */
static bool is_needed(const struct model_index *index, size_t node, const bool *gone)
{
    bool needed = false;
    for (size_t i = 0; i < index->count; i++) {
        const struct index_value *value = &index->values[i];
        if (value->source != SOURCE_NODE || value->number != node)
            continue;
        needed |= value->is_output;
        for (size_t k = 0; k < value->consumers; k++)
            needed |= !gone[value->consumer[k]];
    }
    return needed;
}

/* Takes the nodes on constants away whose results nothing takes any more. */
static int drop_unused(struct model *model, const bool *constant)
{
    Onnx__GraphProto *graph = model->graph;
    struct model_index index;
    size_t left = 0;
    if (model_index_init(&index, model, NULL))
        return -1;
    bool *gone = memory_zeroed(graph->n_node + 1, sizeof *gone);
    for (size_t i = graph->n_node; i-- > 0;) {
        size_t node = index.order[i];
        gone[node] = constant[node] && !is_needed(&index, node, gone);
    }
    model_index_release(&index);
    for (size_t i = 0; i < graph->n_node; i++)
        if (!gone[i])
            graph->node[left++] = graph->node[i];
    graph->n_node = left;
    free(gone);
    return left ? 0 : -1;
}

struct test_case *constant_nodes_folded(const struct test_case *test, const char *operator_name,
                                        const char **taker)
{
    const struct model *present = test_case_model(test, NULL);
    struct model_index index;
    struct model *model;
    *taker = NULL;
    if (!present || model_index_init(&index, present, NULL))
        return NULL;
    if (model_clone(&model, present, NULL)) {
        model_index_release(&index);
        return NULL;
    }
    bool *constant = constant_nodes_find(&index);
    int status = fold(test, &index, constant, operator_name, model, taker) || drop_unused(model, constant);
    model->graph->n_value_info = 0;
    model->path = NULL;
    free(constant);
    model_index_release(&index);
    struct test_case *folded = test_case_new(model);
    if (status || test_case_add_inputs(folded, test->inputs, test->n_inputs, NULL)) {
        test_case_free(folded);
        return NULL;
    }
    return constant_nodes_declared(folded);
}

/* Makes the constant an input of the case; false when it is not of float32, or has no elements. */
static bool open_one(struct test_case *test, struct model *model, size_t number)
{
    Onnx__GraphProto *graph = model->graph;
    const Onnx__TensorProto *constant = graph->initializer[number];
    struct tensor tensor;
    if (constant->data_type != (int32_t)DTYPE_FLOAT || model_tensor_read(constant, &tensor, NULL))
        return false;
    bool fed = tensor.count && !feed(test, constant->name, &tensor);
    if (fed) {
        model_add_input(model, constant->name, DTYPE_FLOAT, &tensor.shape);
        memmove(graph->initializer + number, graph->initializer + number + 1,
                (--graph->n_initializer - number) * sizeof *graph->initializer);
    }
    tensor_release(&tensor);
    return fed;
}

struct test_case *constant_nodes_opened(const struct test_case *test)
{
    const struct model *present = test_case_model(test, NULL);
    struct model *model;
    bool opened = false;
    if (!present || present->graph->n_input || model_clone(&model, present, NULL))
        return NULL;
    model->path = NULL;
    struct test_case *other = test_case_new(model);
    for (size_t i = model->graph->n_initializer; i-- > 0;)
        opened |= open_one(other, model, i);
    if (opened)
        return constant_nodes_declared(other);
    test_case_free(other);
    return NULL;
}
