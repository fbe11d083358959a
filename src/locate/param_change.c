#include "locate/param_change.h"

#include "locate/param_read.h"
#include "model/edit.h"
#include "ops/param_value.h"
#include "rules/rewriting.h"

#include <string.h>

/* Elements. */
enum { RESIZE_LIMIT = 1 << 24 };

struct editing {
    struct model *model;
    struct test_case *test; /* has a copy of the inputs, and no model yet */
    struct error *err;
};

static void declare_input(struct model *model, const char *name, const struct tensor *tensor)
{
    for (size_t i = 0; i < model->graph->n_input; i++)
        if (text_equal(model->graph->input[i]->name, name))
            model->graph->input[i]->type = type_make(&model->arena, tensor->type, &tensor->shape);
}

/* Takes over the tensor. */
static int write_value(struct editing *editing, const char *name, struct tensor *tensor)
{
    struct value *given = param_given(editing->test, name);
    int status = 0;
    if (given) {
        declare_input(editing->model, name, tensor);
        tensor_release(&given->tensors[0]);
        given->tensors[0] = *tensor;
        return 0;
    }
    status = model_replace_initializer(editing->model, name, tensor, editing->err);
    tensor_release(tensor);
    return status;
}

/* The same elements in another shape: cut where it is smaller, repeated where it is larger. */
static int resize(struct tensor *to, const struct tensor *from, const struct shape *shape, struct error *err)
{
    size_t count;
    if (shape->rank != from->shape.rank || !from->count || from->type == DTYPE_STRING)
        return error_set(err, ERROR_UNSUPPORTED, "no other shape can be made of this value");
    if (shape_count(shape, &count, err) || count > RESIZE_LIMIT ||
        tensor_alloc(to, from->type, shape, 0, err))
        return -1;
    int64_t index[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; i < count; i++, odometer_next(index, shape)) {
        size_t at = 0;
        for (int k = 0; k < shape->rank; k++)
            at = at * (size_t)from->shape.dims[k] + (size_t)(index[k] % from->shape.dims[k]);
        tensor_set(to, i, tensor_get(from, at));
    }
    return 0;
}

static int reshape_value(struct editing *editing, const char *name, const struct shape *shape)
{
    struct tensor from, to;
    if (param_read(editing->test, editing->model, name, &from, editing->err))
        return -1;
    int status = shape_equal(&from.shape, shape) ? 1 : resize(&to, &from, shape, editing->err);
    tensor_release(&from);
    return status == 0 ? write_value(editing, name, &to) : status == 1 ? 0 : -1;
}

/* Gives the inputs of a node the shapes that its attributes ask for. */
static int fit_inputs(struct editing *editing, const Onnx__NodeProto *node)
{
    enum { FITTED = 8 };
    const struct op *op = param_row(node);
    struct bounded shapes[FITTED] = {0};
    const struct bounded *inputs[FITTED] = {0};
    struct op_call call = {.op = op, .node = node, .n_inputs = node->n_input, .inputs = inputs};
    if (!op || !op->fit || node->n_input > FITTED)
        return 0;
    for (size_t i = 0; i < node->n_input; i++) {
        struct tensor tensor;
        if (!*node->input[i] || param_read(editing->test, editing->model, node->input[i], &tensor, NULL))
            continue;
        shapes[i] = (struct bounded){.type = tensor.type, .shape = tensor.shape, .count = tensor.count};
        inputs[i] = &shapes[i];
        tensor_release(&tensor);
        struct shape wanted = shapes[i].shape;
        op->fit(&call, i, &wanted);
        if (reshape_value(editing, node->input[i], &wanted))
            return -1;
        shapes[i].shape = wanted;
    }
    return 0;
}

static void drop_given(struct editing *editing, const char *name)
{
    struct test_case *test = editing->test;
    Onnx__GraphProto *graph = editing->model->graph;
    for (size_t n = 0; n < graph->n_node; n++)
        for (size_t i = 0; i < graph->node[n]->n_input; i++)
            if (text_equal(graph->node[n]->input[i], name))
                return;
    for (size_t i = 0; i < graph->n_input; i++)
        if (text_equal(graph->input[i]->name, name)) {
            graph->n_input--;
            memmove(graph->input + i, graph->input + i + 1, (graph->n_input - i) * sizeof *graph->input);
            break;
        }
    struct value *given = param_given(test, name);
    if (!given)
        return;
    size_t at = (size_t)(given - test->inputs);
    value_release(given);
    test->n_inputs--;
    memmove(given, given + 1, (test->n_inputs - at) * sizeof *given);
}

static int leave_out(struct editing *editing, Onnx__NodeProto *node, const struct op_param *param)
{
    if (param->kind != PARAM_INPUT) {
        node_remove_attribute(node, param->name);
        return 0;
    }
    const char *name = param_input_name(node, param);
    if (!name)
        return error_set(editing->err, ERROR_NOT_FOUND, "%s is left out already", param->name);
    node->input[param->input] = arena_strdup(&editing->model->arena, "");
    while (node->n_input && !*node->input[node->n_input - 1])
        node->n_input--;
    drop_given(editing, name);
    return 0;
}

static int set_input(struct editing *editing, const Onnx__NodeProto *node, const struct param_change *change)
{
    const char *name = param_input_name(node, change->param);
    long double numbers[PARAM_LIST];
    size_t count = param_numbers(change->text, numbers);
    struct tensor old, tensor;
    if (!name || !count || param_read(editing->test, editing->model, name, &old, editing->err))
        return -1;
    struct shape shape = old.shape;
    enum dtype type = old.type;
    tensor_release(&old);
    if (change->way == WAY_INPUT && shape.rank == 1)
        shape.dims[0] = (int64_t)count;
    if (type == DTYPE_STRING || tensor_alloc(&tensor, type, &shape, 0, editing->err))
        return -1;
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, numbers[i % count]);
    return write_value(editing, name, &tensor);
}

/* The sizes go into kernel_shape too, where `fit` reads them. */
static int set_kernel(struct editing *editing, Onnx__NodeProto *node, const struct param_change *change)
{
    long double numbers[PARAM_LIST];
    int64_t sizes[TENSOR_MAX_RANK];
    size_t count = param_numbers(change->text, numbers);
    const char *name = param_input_name(node, change->param);
    struct tensor weights;
    if (!name || param_read(editing->test, editing->model, name, &weights, editing->err))
        return -1;
    size_t spatial = weights.shape.rank > 2 ? (size_t)weights.shape.rank - 2 : 0;
    tensor_release(&weights);
    for (size_t i = 0; i < spatial && count; i++)
        sizes[i] = (int64_t)numbers[i % count];
    node_set_ints(&editing->model->arena, node, "kernel_shape", sizes, count ? spatial : 0);
    return spatial && count ? 0 : -1;
}

static int set_symmetric(struct editing *editing, const Onnx__NodeProto *node,
                         const struct param_change *change)
{
    const char *name = param_input_name(node, change->param);
    struct tensor w;
    if (!name || param_read(editing->test, editing->model, name, &w, editing->err))
        return -1;
    size_t plane = 1;
    for (int i = 2; i < w.shape.rank; i++)
        plane *= (size_t)w.shape.dims[i];
    for (size_t at = 0; plane > 1 && at + plane <= w.count; at += plane)
        for (size_t i = 0; i < plane / 2; i++) {
            long double mean = (tensor_get(&w, at + i) + tensor_get(&w, at + plane - 1 - i)) / 2;
            tensor_set(&w, at + i, mean);
            tensor_set(&w, at + plane - 1 - i, mean);
        }
    return write_value(editing, name, &w);
}

static int retype(struct editing *editing, const char *name, enum dtype from, enum dtype to)
{
    struct tensor old, tensor;
    if (param_read(editing->test, editing->model, name, &old, editing->err))
        return -1;
    int status = 0;
    if (old.type == from) {
        status = tensor_alloc(&tensor, to, &old.shape, 0, editing->err);
        for (size_t i = 0; !status && i < old.count; i++)
            tensor_set(&tensor, i, tensor_get(&old, i));
        if (!status)
            status = write_value(editing, name, &tensor);
    }
    tensor_release(&old);
    return status;
}

static int set_type(struct editing *editing, const char *text)
{
    enum dtype to = dtype_from_name(text), from = DTYPE_NONE;
    if (editing->test->n_inputs && editing->test->inputs[0].kind == VALUE_TENSOR)
        from = editing->test->inputs[0].tensors[0].type;
    if (to == DTYPE_NONE || from == DTYPE_NONE || from == DTYPE_STRING)
        return -1;
    for (size_t i = 0; i < editing->test->n_inputs; i++)
        if (retype(editing, editing->test->inputs[i].name, from, to))
            return -1;
    for (size_t i = 0; i < editing->model->graph->n_initializer; i++)
        if (retype(editing, editing->model->graph->initializer[i]->name, from, to))
            return -1;
    return 0;
}

static int set_size(struct editing *editing, const char *text)
{
    long double numbers[PARAM_LIST];
    if (param_numbers(text, numbers) != 2 || !editing->test->n_inputs ||
        editing->test->inputs[0].kind != VALUE_TENSOR)
        return -1;
    struct shape shape = editing->test->inputs[0].tensors[0].shape;
    int axis = (int)numbers[0];
    if (axis < 0 || axis >= shape.rank)
        return -1;
    shape.dims[axis] = (int64_t)numbers[1];
    return reshape_value(editing, editing->test->inputs[0].name, &shape);
}

static int apply_one(struct editing *editing, const struct param_change *change)
{
    Onnx__NodeProto *node = editing->model->graph->node[change->node];
    switch (change->way) {
    case WAY_ATTRIBUTE:
        return param_set(&editing->model->arena, node, change->param, 0, true, NULL, change->text);
    case WAY_LEFT_OUT:
        return leave_out(editing, node, change->param);
    case WAY_INPUT:
    case WAY_SPREAD:
        return set_input(editing, node, change);
    case WAY_KERNEL:
        return set_kernel(editing, node, change);
    case WAY_SYMMETRIC:
        return set_symmetric(editing, node, change);
    case WAY_TYPE:
        return set_type(editing, change->text);
    case WAY_SIZE:
        return set_size(editing, change->text);
    default:
        return -1;
    }
}

static int apply_all(struct editing *editing, const struct param_change *const *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (apply_one(editing, changes[i]))
            return -1;
    for (size_t i = 0; i < count; i++)
        if (fit_inputs(editing, editing->model->graph->node[changes[i]->node]))
            return -1;
    return 0;
}

int param_change_apply(struct test_case **changed, struct test_case *test,
                       const struct param_change *const *changes, size_t count, struct error *err)
{
    struct model *model;
    *changed = NULL;
    if (count == 1 && changes[0]->way == WAY_RESPELLED)
        return rewriting_apply(test, changes[0]->text, changed, err) == 1 ? 0 : -1;
    const struct model *present = test_case_model(test, err);
    if (!present || model_clone(&model, present, err))
        return -1;
    model->path = NULL;
    model->graph->n_value_info = 0;
    struct editing editing = {.model = model, .test = test_case_new(model), .err = err};
    int status = test_case_add_inputs(editing.test, test->inputs, test->n_inputs, err);
    if (!status)
        status = apply_all(&editing, changes, count);
    if (status)
        test_case_free(editing.test);
    else
        *changed = editing.test;
    return status ? -1 : 0;
}

void param_change_declare(struct test_case *changed, const struct bounded *outputs, size_t count)
{
    struct model *model = (struct model *)(uintptr_t)test_case_model(changed, NULL);
    for (size_t i = 0; model && i < count && i < model->graph->n_output; i++)
        model->graph->output[i]->type = type_make(&model->arena, outputs[i].type, &outputs[i].shape);
}
