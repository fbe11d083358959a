/* A small case with its axes and steps written otherwise, for experiments (changed_case.h). */
#include "diagnose/changed_case.h"

#include "base/str.h"
#include "diagnose/single_node.h"
#include "model/build.h"
#include "model/edit.h"
#include "ops/param_value.h"

#include <stdlib.h>

/* Changes the axes that a node names of a tensor of this rank. False when there was nothing to change. */
typedef bool change_axes(int64_t *axes, size_t count, int rank);

static int compare_ints(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool count_forward(int64_t *axes, size_t count, int rank)
{
    bool changed = false;
    for (size_t i = 0; i < count; i++)
        if (axes[i] < 0 && axes[i] >= -rank) {
            axes[i] += rank;
            changed = true;
        }
    return changed;
}

/* Negative axes are first counted from the front, as -1 is the last. */
static bool sort(int64_t *axes, size_t count, int rank)
{
    bool sorted = true;
    count_forward(axes, count, rank);
    for (size_t i = 1; i < count; i++)
        sorted &= axes[i - 1] <= axes[i];
    qsort(axes, count, sizeof *axes, compare_ints);
    return !sorted;
}

/* Reads the constant of this name; false when there is none. The caller releases the tensor. */
static bool read_constant(const struct model *model, const char *name, struct tensor *tensor)
{
    for (size_t i = 0; i < model->graph->n_initializer; i++)
        if (text_equal(model->graph->initializer[i]->name, name))
            return !model_tensor_read(model->graph->initializer[i], tensor, NULL);
    return false;
}

static bool change_constant(struct model *model, const char *name, int rank, change_axes *change)
{
    struct tensor tensor;
    if (!read_constant(model, name, &tensor))
        return false;
    bool changed = tensor.type == DTYPE_INT64 && change(tensor.data, tensor.count, rank) &&
                   model_replace_initializer(model, name, &tensor, NULL) == 0;
    tensor_release(&tensor);
    return changed;
}

static bool change_input(struct test_case *other, const char *name, int rank, change_axes *change)
{
    for (size_t i = 0; i < other->n_inputs; i++) {
        struct tensor *tensor = other->inputs[i].tensors;
        if (other->inputs[i].kind == VALUE_TENSOR && text_equal(other->inputs[i].name, name))
            return tensor->type == DTYPE_INT64 && change(tensor->data, tensor->count, rank);
    }
    return false;
}

static bool names_axes(const char *name)
{
    return text_equal(name, "axes") || text_equal(name, "axis");
}

/* Changes a node of the other case; its values have the same ranks as in the first case. */
static bool change_node(struct test_case *other, const struct node_values *values, struct model *model,
                        Onnx__NodeProto *node, change_axes *change)
{
    const struct op *op = op_of(node);
    const struct tensor *made = values && node->n_input ? node_values_find(values, node->input[0]) : NULL;
    int rank = made ? made->shape.rank : node->n_input ? changed_rank_of(other, node->input[0]) : 0;
    bool changed = false;
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__AttributeProto *attribute = node->attribute[i];
        if (!names_axes(attribute->name))
            continue;
        changed |= attribute->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT
                       ? change(&attribute->i, 1, rank)
                       : change(attribute->ints, attribute->n_ints, rank);
    }
    for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
        if (param->kind == PARAM_INPUT && names_axes(param->name) && param->input < node->n_input)
            changed |= change_constant(model, node->input[param->input], rank, change) ||
                       change_input(other, node->input[param->input], rank, change);
    return changed;
}

/* Another list, such as pads, may belong to the axes one by one. Then the changed case gives another result,
 * and is not used. */
static struct test_case *with_axes(const struct test_case *test, change_axes *change)
{
    struct model *model;
    struct test_case *other = changed_begin(test, &model);
    bool changed = false;
    if (!other)
        return NULL;
    struct node_values *values = model->graph->n_node > 1 ? node_values_new(test) : NULL;
    for (size_t i = 0; i < model->graph->n_node; i++)
        changed |= change_node(other, values, model, model->graph->node[i], change);
    node_values_free(values);
    return changed_if_same(test, changed_finish(other, changed));
}

struct test_case *changed_axes_sorted(const struct test_case *test)
{
    return with_axes(test, sort);
}

struct test_case *changed_axes_forward(const struct test_case *test)
{
    return with_axes(test, count_forward);
}

/* Sets those elements of a constant that `which` marks; false when it is no constant of integers. */
static bool set_elements(struct model *model, const char *name, const bool *which, size_t count,
                         int64_t value)
{
    struct tensor tensor;
    if (!read_constant(model, name, &tensor))
        return false;
    bool fits = dtype_is_integer(tensor.type) && tensor.count == count;
    for (size_t k = 0; fits && k < count; k++)
        if (which[k])
            tensor_set(&tensor, k, value);
    fits = fits && model_replace_initializer(model, name, &tensor, NULL) == 0;
    tensor_release(&tensor);
    return fits;
}

/* Marks the negative elements of a constant, and returns how many it has; 0 as well when it is no constant of
 * a few integers. */
static size_t find_negative(const struct model *model, const char *name, bool negative[TENSOR_MAX_RANK])
{
    struct tensor tensor;
    bool any = false;
    if (!read_constant(model, name, &tensor))
        return 0;
    size_t count = dtype_is_integer(tensor.type) && tensor.count <= TENSOR_MAX_RANK ? tensor.count : 0;
    for (size_t k = 0; k < count; k++)
        any |= negative[k] = tensor_get(&tensor, k) < 0;
    tensor_release(&tensor);
    return any ? count : 0;
}

struct test_case *changed_steps_forward(const struct test_case *test)
{
    struct model *model;
    struct test_case *other = changed_begin(test, &model);
    bool changed = false;
    for (size_t i = 0; other && i < model->graph->n_node; i++) {
        const Onnx__NodeProto *node = model->graph->node[i];
        const char *starts = param_input(node, "starts"), *ends = param_input(node, "ends"),
                   *steps = param_input(node, "steps");
        bool negative[TENSOR_MAX_RANK] = {false};
        size_t count = starts && ends && steps ? find_negative(model, steps, negative) : 0;
        if (count)
            changed |= set_elements(model, steps, negative, count, 1) &&
                       set_elements(model, starts, negative, count, 0) &&
                       set_elements(model, ends, negative, count, INT32_MAX);
    }
    return other ? changed_finish(other, changed) : NULL;
}
