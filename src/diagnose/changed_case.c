#include "diagnose/changed_case.h"

#include "locate/expected.h"
#include "locate/param_change.h"
#include "model/build.h"
#include "model/edit.h"
#include "model/index.h"
#include "ops/op.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 8, FILLED = 2 };

struct test_case *changed_begin(const struct test_case *test, struct model **model)
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

struct test_case *changed_finish(struct test_case *other, bool changed)
{
    struct expected expected;
    if (!changed ||
        expected_compute(&expected, test_case_model(other, NULL), NULL, other->inputs, other->n_inputs)) {
        test_case_free(other);
        return NULL;
    }
    param_change_declare(other, expected.values, expected.count);
    expected_release(&expected);
    return other;
}

int changed_feed(struct test_case *changed, const char *name, const struct tensor *tensor)
{
    struct value value = {.name = (char *)(uintptr_t)name,
                          .kind = VALUE_TENSOR,
                          .count = 1,
                          .tensors = (struct tensor *)(uintptr_t)tensor};
    return test_case_add_inputs(changed, &value, 1, NULL);
}

int changed_add_input(struct test_case *changed, struct model *model, const char *name,
                      const struct tensor *tensor)
{
    model_add_input(model, name, tensor->type, &tensor->shape);
    return changed_feed(changed, name, tensor);
}

int changed_rank_of(const struct test_case *test, const char *name)
{
    const Onnx__GraphProto *graph = test_case_model(test, NULL)->graph;
    for (size_t i = 0; i < test->n_inputs; i++)
        if (test->inputs[i].kind == VALUE_TENSOR && text_equal(test->inputs[i].name, name))
            return test->inputs[i].tensors[0].shape.rank;
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (text_equal(graph->initializer[i]->name, name))
            return (int)graph->initializer[i]->n_dims;
    return -1;
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
        if (tensor_get(tensor, i) <= lowest_of(tensor->type)) {
            tensor_set(tensor, i, 1);
            changed = true;
        }
    return changed;
}

/* The lowest becomes the largest. */
static bool turn_lowest(struct tensor *tensor)
{
    bool changed = false;
    if (!dtype_is_integer(tensor->type) && lowest_of(tensor->type) == 0)
        return false;
    for (size_t i = 0; i < tensor->count; i++) {
        long double x = tensor_get(tensor, i);
        if (x > lowest_of(tensor->type) || isnan(x))
            continue;
        tensor_set(tensor, i, isinf(x) ? INFINITY : dtype_highest(tensor->type));
        changed = true;
    }
    return changed;
}

/* Numbers so large that products of two of them are infinite become small. */
static bool make_moderate(struct tensor *tensor)
{
    bool changed = false;
    for (size_t i = 0; dtype_is_float(tensor->type) && i < tensor->count; i++) {
        long double x = tensor_get(tensor, i);
        if (isfinite(x) && fabsl(x) > sqrtl(dtype_highest(tensor->type))) {
            tensor_set(tensor, i,
                       x < 0 ? -2.7L : 2.7L); /* a number that other elements are no multiples of */
            changed = true;
        }
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

/* Numbers that differ from their neighbours and are exact in every type of floating point. */
static bool count_up(struct tensor *tensor)
{
    enum { PERIOD = 13 };
    for (size_t i = 0; dtype_is_float(tensor->type) && i < tensor->count; i++)
        tensor_set(tensor, i, (long double)(i % PERIOD) / 4 - 1);
    return dtype_is_float(tensor->type) && tensor->count;
}

void changed_declare_inputs(struct model *model, const struct test_case *other)
{
    for (size_t i = 0; i < model->graph->n_input; i++)
        for (size_t k = 0; k < other->n_inputs; k++)
            if (text_equal(other->inputs[k].name, model->graph->input[i]->name) &&
                other->inputs[k].kind == VALUE_TENSOR)
                model->graph->input[i]->type = type_make(&model->arena, other->inputs[k].tensors[0].type,
                                                         &other->inputs[k].tensors[0].shape);
}

bool changed_inputs(struct test_case *other, struct model *model, choose_value *chosen, change_tensor *change)
{
    bool changed = false;
    for (size_t i = 0; i < other->n_inputs; i++)
        if (other->inputs[i].kind == VALUE_TENSOR && (!chosen || chosen(model, other->inputs[i].name)))
            changed |= change(&other->inputs[i].tensors[0]);
    changed_declare_inputs(model, other);
    return changed;
}

bool changed_constants(struct model *model, choose_value *chosen, change_tensor *change)
{
    bool changed = false;
    for (size_t i = 0; i < model->graph->n_initializer; i++) {
        struct tensor tensor;
        const char *name = model->graph->initializer[i]->name;
        if ((chosen && !chosen(model, name)) ||
            model_tensor_read(model->graph->initializer[i], &tensor, NULL))
            continue;
        changed |= change(&tensor) && model_replace_initializer(model, name, &tensor, NULL) == 0;
        tensor_release(&tensor);
    }
    return changed;
}

struct inner_change {
    struct model *model;
    change_tensor *change;
    bool changed;
};

static void change_inner_constant(struct inner_change *context, Onnx__TensorProto **constant)
{
    struct tensor tensor;
    if (model_tensor_read(*constant, &tensor, NULL))
        return;
    if (context->change(&tensor)) {
        *constant = model_tensor_write(&context->model->arena, (*constant)->name, &tensor);
        context->changed = true;
    }
    tensor_release(&tensor);
}

/* Changes the constants in the bodies of a node. */
static int change_bodies(void *data, Onnx__NodeProto *node)
{
    struct inner_change *context = data;
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__GraphProto *body = node->attribute[i]->g;
        for (size_t k = 0; body && k < body->n_initializer; k++)
            change_inner_constant(context, &body->initializer[k]);
    }
    return 0;
}

struct test_case *changed_tensors(const struct test_case *test, change_tensor *change)
{
    struct model *model;
    struct test_case *other = changed_begin(test, &model);
    if (!other)
        return NULL;
    bool changed = changed_inputs(other, model, NULL, change);
    changed |= changed_constants(model, NULL, change);
    struct inner_change inner = {model, change, false};
    model_each_node(model->graph, change_bodies, &inner);
    changed |= inner.changed;
    return changed_finish(other, changed);
}

struct test_case *changed_finite(const struct test_case *test)
{
    return changed_tensors(test, make_finite);
}

struct test_case *changed_above_lowest(const struct test_case *test)
{
    return changed_tensors(test, raise_lowest);
}

struct test_case *changed_largest(const struct test_case *test)
{
    return changed_tensors(test, turn_lowest);
}

struct test_case *changed_moderate(const struct test_case *test)
{
    return changed_tensors(test, make_moderate);
}

struct test_case *changed_ranked(const struct test_case *test)
{
    return changed_tensors(test, give_rank);
}

struct test_case *changed_counted(const struct test_case *test)
{
    struct model *model;
    struct test_case *other = changed_begin(test, &model);
    return other ? changed_finish(other, changed_inputs(other, model, NULL, count_up)) : NULL;
}

struct test_case *changed_filled(const struct test_case *test)
{
    return changed_tensors(test, fill);
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

/* Whether the value is an operand to write out in full. Of a node that works on elements every operand is; of
 * others only an optional one that no other node takes. */
static bool is_broadcast(const Onnx__NodeProto *node, const char *name)
{
    const struct op *op = op_of(node);
    size_t taken = 0;
    bool extra = false;
    for (size_t i = 0; i < node->n_input; i++)
        taken += text_equal(node->input[i], name);
    for (const struct op_param *param = op->extras; param && param->name; param++)
        extra |= param->input < node->n_input && text_equal(node->input[param->input], name);
    return op->work == WORK_ELEMENTS || (extra && taken == 1);
}

static bool expand_all(struct test_case *other, struct model *model, const struct shape *shape)
{
    const Onnx__NodeProto *node = model->graph->node[0];
    bool changed = false;
    for (size_t i = 0; i < other->n_inputs; i++)
        if (other->inputs[i].kind == VALUE_TENSOR && is_broadcast(node, other->inputs[i].name))
            changed |= expand(&other->inputs[i].tensors[0], shape);
    changed_declare_inputs(model, other);
    for (size_t i = 0; i < model->graph->n_initializer; i++) {
        struct tensor tensor;
        const char *name = model->graph->initializer[i]->name;
        if (!is_broadcast(node, name) || model_tensor_read(model->graph->initializer[i], &tensor, NULL))
            continue;
        changed |= expand(&tensor, shape) && model_replace_initializer(model, name, &tensor, NULL) == 0;
        tensor_release(&tensor);
    }
    return changed;
}

struct test_case *changed_expanded(const struct test_case *test)
{
    struct model *model;
    struct expected expected;
    const struct model *present = test_case_model(test, NULL);
    const struct op *op = present && present->graph->n_node == 1 ? op_of(present->graph->node[0]) : NULL;
    bool elements = op && op->work == WORK_ELEMENTS && op->inputs.most >= 2 && op->data == DATA_ALL;
    if ((!elements && !(op && op->extras)) ||
        expected_compute(&expected, present, NULL, test->inputs, test->n_inputs))
        return NULL;
    struct shape shape = expected.values[0].shape;
    expected_release(&expected);
    struct test_case *other = changed_begin(test, &model);
    return other ? changed_if_same(test, changed_finish(other, expand_all(other, model, &shape))) : NULL;
}

struct test_case *changed_word(const struct test_case *test, size_t node, const char *attribute, size_t index,
                               const char *word)
{
    struct model *model;
    struct test_case *other = changed_begin(test, &model);
    if (!other)
        return NULL;
    Onnx__NodeProto *at = node < model->graph->n_node ? model->graph->node[node] : NULL;
    const Onnx__AttributeProto *list = at ? node_attribute(at, attribute) : NULL;
    const char *words[WORDS];
    size_t count = list && list->n_strings <= WORDS ? list->n_strings : 0;
    for (size_t i = 0; i < count; i++)
        words[i] = arena_printf(&model->arena, "%.*s", (int)list->strings[i].len,
                                (const char *)list->strings[i].data);
    const char *old = index < count ? words[index] : word;
    bool changed = !text_equal(old, word);
    for (size_t i = 0; i < count; i++)
        if (text_equal(words[i], old))
            words[i] = word;
    if (changed)
        node_set_strings(&model->arena, at, attribute, words, count);
    return changed_finish(other, changed);
}

struct test_case *changed_fewer_outputs(const struct test_case *test)
{
    struct model *model;
    const struct model *present = test_case_model(test, NULL);
    const struct op *op = present && present->graph->n_node == 1 ? op_of(present->graph->node[0]) : NULL;
    size_t least = op ? (size_t)op->outputs.least : 0;
    if (!least || present->graph->node[0]->n_output <= least)
        return NULL;
    for (size_t i = 0; i < least; i++)
        if (!*present->graph->node[0]->output[i])
            return NULL;
    struct test_case *other = changed_begin(test, &model);
    if (!other)
        return NULL;
    Onnx__NodeProto *node = model->graph->node[0];
    bool changed = model_set_outputs(model, (const char *const *)node->output, least, NULL) == 0;
    node->n_output = least;
    return changed_finish(other, changed);
}

/* Whether there are no elements, or ONNX says nothing of them. */
static bool nothing_known(const struct expected *expected)
{
    for (size_t i = 0; i < expected->count; i++)
        for (size_t k = 0; k < expected->values[i].count; k++)
            if (isfinite(bounded_hard(&expected->values[i], k)))
                return false;
    return true;
}

/* Gives the second answer the shapes of the first; false when it has other numbers of elements, or other
 * shapes where they matter. */
static bool match_shapes(const struct expected *first, const struct expected *second, bool matter)
{
    if (first->count != second->count)
        return false;
    for (size_t i = 0; i < first->count; i++) {
        if (first->values[i].count != second->values[i].count ||
            (matter && !shape_equal(&first->values[i].shape, &second->values[i].shape)))
            return false;
        second->values[i].shape = first->values[i].shape;
    }
    return true;
}

static bool are_same(const struct test_case *a, const struct test_case *b, bool shapes)
{
    struct expected first, second;
    bool same = false;
    if (expected_compute(&first, test_case_model(a, NULL), NULL, a->inputs, a->n_inputs))
        return false;
    if (!expected_compute(&second, test_case_model(b, NULL), NULL, b->inputs, b->n_inputs)) {
        same = match_shapes(&first, &second, shapes) &&
               (nothing_known(&first) || expected_apart(&first, &second) <= 0);
        expected_release(&second);
    }
    expected_release(&first);
    return same;
}

static struct test_case *keep_if(bool same, struct test_case *changed)
{
    if (same)
        return changed;
    test_case_free(changed);
    return NULL;
}

struct test_case *changed_if_same(const struct test_case *test, struct test_case *changed)
{
    return keep_if(changed && are_same(test, changed, true), changed);
}

struct test_case *changed_if_same_elements(const struct test_case *test, struct test_case *changed)
{
    return keep_if(changed && are_same(test, changed, false), changed);
}

bool changed_mean_the_same(const struct test_case *a, const struct test_case *b)
{
    struct test_case *first = changed_tensors(a, count_up), *second = changed_tensors(b, count_up);
    bool same = first && second ? are_same(first, second, false) : are_same(a, b, false);
    test_case_free(first);
    test_case_free(second);
    return same;
}
