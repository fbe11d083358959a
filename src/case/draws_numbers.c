/* Whether the model of a case draws random numbers. */
#include "base/str.h"
#include "case/test_case.h"
#include "model/build.h"
#include "model/index.h"
#include "ops/op.h"

/* A model and the inputs of its case, which may say what it draws. */
struct drawing {
    const struct model *model;
    const struct test_case *test;
};

/* The single number a value is known to have: an initialiser, or an input of this case. */
static bool known_number(const struct drawing *drawing, const char *name, double *number)
{
    for (size_t i = 0; i < drawing->test->n_inputs; i++) {
        const struct value *value = &drawing->test->inputs[i];
        if (value->name && text_equal(value->name, name) && value->kind == VALUE_TENSOR &&
            value->tensors[0].count == 1) {
            *number = (double)tensor_get(&value->tensors[0], 0);
            return true;
        }
    }
    const Onnx__GraphProto *graph = drawing->model->graph;
    for (size_t i = 0; i < graph->n_initializer; i++) {
        struct tensor tensor;
        if (!graph->initializer[i]->name || !text_equal(graph->initializer[i]->name, name) ||
            model_weight(drawing->model, i, &tensor, NULL))
            continue;
        bool single = tensor.count == 1;
        if (single)
            *number = (double)tensor_get(&tensor, 0);
        tensor_release(&tensor);
        return single;
    }
    return false;
}

/* Dropout draws numbers only in training, and changes nothing at ratio 0. */
static bool dropout_is_random(const struct drawing *drawing, const Onnx__NodeProto *node)
{
    double training = 1, ratio = 0.5;
    if (model_opset(drawing->model) < 7)
        return node_int(node, "is_test", 0) == 0;
    if (node->n_input < 3 || !node->input[2] || !*node->input[2])
        return false;
    known_number(drawing, node->input[2], &training);
    if (node->input[1] && *node->input[1])
        known_number(drawing, node->input[1], &ratio);
    return training != 0 && ratio != 0;
}

static int visit_random(void *context, Onnx__NodeProto *node)
{
    return op_has(node, OP_RANDOM) ||
           (op_has(node, OP_RANDOM_IN_TRAINING) && dropout_is_random(context, node));
}

bool test_case_draws_numbers(const struct test_case *test)
{
    struct drawing drawing = {test_case_model(test, NULL), test};
    return drawing.model && model_each_node(drawing.model->graph, visit_random, &drawing) != 0;
}
