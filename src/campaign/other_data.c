#include "campaign/other_data.h"

#include "locate/expected.h"
#include "locate/param_change.h"
#include "model/build.h"
#include "model/edit.h"
#include "ops/op.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 8, FILLED = 2 };

/* A case of its own with the same inputs; its model may be edited until `finish`. */
static struct test_case *begin(const struct test_case *test, struct model **model)
{
    const struct model *present = test_case_model(test, NULL);
    if (!present || model_clone(model, present, NULL))
        return NULL;
    (*model)->path = NULL;
    (*model)->graph->n_value_info = 0;
    struct test_case *other = test_case_new(*model);
    if (test_case_add_inputs(other, test->inputs, test->n_inputs, NULL)) {
        test_case_free(other);
        return NULL;
    }
    return other;
}

/* Declares the outputs as they are now; frees the case and gives NULL when nobody can say. */
static struct test_case *finish(struct test_case *other, const struct model *model, bool changed)
{
    struct expected expected;
    if (!changed || expected_compute(&expected, model, false, other->inputs, other->n_inputs)) {
        test_case_free(other);
        return NULL;
    }
    param_change_declare(other, expected.values, expected.count);
    expected_release(&expected);
    return other;
}

static bool make_finite(struct tensor *tensor)
{
    bool changed = false;
    for (size_t i = 0; tensor->type != DTYPE_STRING && i < tensor->count; i++)
        if (!isfinite(tensor_get(tensor, i))) {
            tensor_set(tensor, i, 1);
            changed = true;
        }
    return changed;
}

/* The largest finite number of a floating-point type, negated, or the smallest of integers. */
static long double lowest_of(enum dtype type)
{
    return type != DTYPE_BFLOAT16 && dtype_is_signed(type) ? dtype_lowest(type) : 0;
}

static bool raise_lowest(struct tensor *tensor)
{
    bool changed = false;
    if (!dtype_is_integer(tensor->type) && lowest_of(tensor->type) == 0)
        return false;
    for (size_t i = 0; i < tensor->count; i++)
        if (tensor_get(tensor, i) == lowest_of(tensor->type)) {
            tensor_set(tensor, i, 1);
            changed = true;
        }
    return changed;
}

static bool fill(struct tensor *tensor)
{
    struct shape shape = tensor->shape;
    struct tensor filled;
    bool empty = false;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] == 0) {
            shape.dims[i] = FILLED;
            empty = true;
        }
    if (!empty || tensor->type == DTYPE_STRING || tensor_alloc(&filled, tensor->type, &shape, 0, NULL))
        return false;
    for (size_t i = 0; i < filled.count; i++)
        tensor_set(&filled, i, 1);
    tensor_release(tensor);
    *tensor = filled;
    return true;
}

static bool give_rank(struct tensor *tensor)
{
    bool scalar = tensor->shape.rank == 0;
    if (scalar) {
        tensor->shape.rank = 1;
        tensor->shape.dims[0] = 1;
    }
    return scalar;
}

static bool make_row(struct tensor *tensor)
{
    bool list = tensor->shape.rank == 1;
    if (list)
        tensor->shape = (struct shape){.rank = 2, .dims = {1, tensor->shape.dims[0]}};
    return list;
}

static void declare_inputs(struct model *model, const struct test_case *other)
{
    for (size_t i = 0; i < model->graph->n_input; i++)
        for (size_t k = 0; k < other->n_inputs; k++)
            if (text_equal(other->inputs[k].name, model->graph->input[i]->name) &&
                other->inputs[k].kind == VALUE_TENSOR)
                model->graph->input[i]->type = type_make(&model->arena, other->inputs[k].tensors[0].type,
                                                         &other->inputs[k].tensors[0].shape);
}

static bool change_inputs(struct test_case *other, struct model *model, bool (*change)(struct tensor *tensor))
{
    bool changed = false;
    for (size_t i = 0; i < other->n_inputs; i++)
        if (other->inputs[i].kind == VALUE_TENSOR)
            changed |= change(&other->inputs[i].tensors[0]);
    declare_inputs(model, other);
    return changed;
}

static bool change_constants(struct model *model, bool (*change)(struct tensor *tensor))
{
    bool changed = false;
    for (size_t i = 0; i < model->graph->n_initializer; i++) {
        struct tensor tensor;
        if (model_tensor_read(model->graph->initializer[i], &tensor, NULL))
            continue;
        if (change(&tensor) &&
            model_replace_initializer(model, model->graph->initializer[i]->name, &tensor, NULL) == 0)
            changed = true;
        tensor_release(&tensor);
    }
    return changed;
}

static struct test_case *change_tensors(const struct test_case *test, bool (*change)(struct tensor *tensor))
{
    struct model *model;
    struct test_case *other = begin(test, &model);
    if (!other)
        return NULL;
    bool changed = change_inputs(other, model, change);
    changed |= change_constants(model, change);
    return finish(other, model, changed);
}

struct test_case *other_data_finite(const struct test_case *test)
{
    return change_tensors(test, make_finite);
}

struct test_case *other_data_above_lowest(const struct test_case *test)
{
    return change_tensors(test, raise_lowest);
}

struct test_case *other_data_ranked(const struct test_case *test)
{
    return change_tensors(test, give_rank);
}

struct test_case *other_data_two_dims(const struct test_case *test)
{
    struct model *model;
    struct test_case *other = begin(test, &model);
    return other ? finish(other, model, change_inputs(other, model, make_row)) : NULL;
}

struct test_case *other_data_filled(const struct test_case *test)
{
    return change_tensors(test, fill);
}

static int compare_ints(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool sort_ints(int64_t *values, size_t count)
{
    bool sorted = true;
    for (size_t i = 1; i < count; i++)
        sorted &= values[i - 1] <= values[i];
    qsort(values, count, sizeof *values, compare_ints);
    return !sorted;
}

static bool sort_constant(struct model *model, const char *name)
{
    bool changed = false;
    for (size_t i = 0; i < model->graph->n_initializer; i++) {
        struct tensor tensor;
        if (!text_equal(model->graph->initializer[i]->name, name) ||
            model_tensor_read(model->graph->initializer[i], &tensor, NULL))
            continue;
        changed = tensor.type == DTYPE_INT64 && sort_ints(tensor.data, tensor.count) &&
                  model_replace_initializer(model, name, &tensor, NULL) == 0;
        tensor_release(&tensor);
        break;
    }
    return changed;
}

static bool sort_axes(struct model *model, Onnx__NodeProto *node)
{
    const struct op *op = op_of(node);
    const Onnx__AttributeProto *list = node_attribute(node, "axes");
    bool changed = list && sort_ints(list->ints, list->n_ints);
    for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
        if (param->kind == PARAM_INPUT && text_equal(param->name, "axes") && param->input < node->n_input)
            changed |= sort_constant(model, node->input[param->input]);
    return changed;
}

/* Whether both cases must give the same: a list of axes may have to go with another list. */
static bool are_equivalent(const struct test_case *a, const struct test_case *b)
{
    struct expected first, second;
    bool same = false;
    if (expected_compute(&first, test_case_model(a, NULL), false, a->inputs, a->n_inputs))
        return false;
    if (!expected_compute(&second, test_case_model(b, NULL), false, b->inputs, b->n_inputs)) {
        same = expected_apart(&first, &second) <= 0;
        expected_release(&second);
    }
    expected_release(&first);
    return same;
}

struct test_case *other_data_axes_sorted(const struct test_case *test)
{
    struct model *model;
    struct test_case *other = begin(test, &model);
    bool changed = false;
    for (size_t i = 0; other && i < model->graph->n_node; i++)
        changed |= sort_axes(model, model->graph->node[i]);
    other = other ? finish(other, model, changed) : NULL;
    if (other && !are_equivalent(test, other)) {
        test_case_free(other);
        other = NULL;
    }
    return other;
}

/* False when the tensor has the shape already, or cannot be broadcast to it. */
static bool expand(struct tensor *tensor, const struct shape *shape)
{
    struct tensor to;
    int64_t index[TENSOR_MAX_RANK] = {0};
    int ahead = shape->rank - tensor->shape.rank;
    if (shape_equal(&tensor->shape, shape) || ahead < 0 || tensor->type == DTYPE_STRING || !tensor->count)
        return false;
    for (int k = 0; k < tensor->shape.rank; k++)
        if (tensor->shape.dims[k] != 1 && tensor->shape.dims[k] != shape->dims[ahead + k])
            return false;
    if (tensor_alloc(&to, tensor->type, shape, 0, NULL))
        return false;
    for (size_t i = 0; i < to.count; i++, odometer_next(index, shape)) {
        size_t at = 0;
        for (int k = 0; k < tensor->shape.rank; k++)
            at = at * (size_t)tensor->shape.dims[k] +
                 (tensor->shape.dims[k] == 1 ? 0 : (size_t)index[ahead + k]);
        tensor_set(&to, i, tensor_get(tensor, at));
    }
    tensor_release(tensor);
    *tensor = to;
    return true;
}

struct test_case *other_data_expanded(const struct test_case *test)
{
    struct model *model;
    struct expected expected;
    const struct model *present = test_case_model(test, NULL);
    const struct op *op = present && present->graph->n_node == 1 ? op_of(present->graph->node[0]) : NULL;
    if (!op || op->work != WORK_ELEMENTS || op->inputs.most < 2 || op->data != DATA_ALL ||
        expected_compute(&expected, present, false, test->inputs, test->n_inputs))
        return NULL;
    struct shape shape = expected.values[0].shape;
    expected_release(&expected);
    struct test_case *other = begin(test, &model);
    bool changed = false;
    if (!other)
        return NULL;
    for (size_t i = 0; i < other->n_inputs; i++)
        if (other->inputs[i].kind == VALUE_TENSOR)
            changed |= expand(&other->inputs[i].tensors[0], &shape);
    declare_inputs(model, other);
    for (size_t i = 0; i < model->graph->n_initializer; i++) {
        struct tensor tensor;
        if (model_tensor_read(model->graph->initializer[i], &tensor, NULL))
            continue;
        if (expand(&tensor, &shape) &&
            model_replace_initializer(model, model->graph->initializer[i]->name, &tensor, NULL) == 0)
            changed = true;
        tensor_release(&tensor);
    }
    return finish(other, model, changed);
}

struct test_case *other_data_word(const struct test_case *test, size_t node, const char *attribute,
                                  size_t index, const char *word)
{
    struct model *model;
    struct test_case *other = begin(test, &model);
    if (!other)
        return NULL;
    Onnx__NodeProto *at = node < model->graph->n_node ? model->graph->node[node] : NULL;
    const Onnx__AttributeProto *list = at ? node_attribute(at, attribute) : NULL;
    const char *words[WORDS];
    size_t count = list && list->n_strings <= WORDS ? list->n_strings : 0;
    for (size_t i = 0; i < count; i++)
        words[i] = i == index ? word
                              : arena_printf(&model->arena, "%.*s", (int)list->strings[i].len,
                                             (const char *)list->strings[i].data);
    bool changed = index < count && (list->strings[index].len != strlen(word) ||
                                     memcmp(list->strings[index].data, word, strlen(word)) != 0);
    if (changed)
        node_set_strings(&model->arena, at, attribute, words, count);
    return finish(other, model, changed);
}
