#include "campaign/other_data.h"

#include "locate/expected.h"
#include "locate/param_change.h"
#include "model/build.h"
#include "model/edit.h"

#include <float.h>
#include <math.h>
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
    switch (type) {
    case DTYPE_FLOAT:
        return -FLT_MAX;
    case DTYPE_DOUBLE:
        return -DBL_MAX;
    case DTYPE_FLOAT16:
        return -65504;
    default:
        return dtype_is_integer(type) && dtype_is_signed(type) ? -ldexpl(1, 8 * (int)dtype_size(type) - 1)
                                                               : 0;
    }
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

static void declare_inputs(struct model *model, const struct test_case *other)
{
    for (size_t i = 0; i < model->graph->n_input; i++)
        for (size_t k = 0; k < other->n_inputs; k++)
            if (text_equal(other->inputs[k].name, model->graph->input[i]->name) &&
                other->inputs[k].kind == VALUE_TENSOR)
                model->graph->input[i]->type = type_make(&model->arena, other->inputs[k].tensors[0].type,
                                                         &other->inputs[k].tensors[0].shape);
}

static struct test_case *change_tensors(const struct test_case *test, bool (*change)(struct tensor *tensor))
{
    struct model *model;
    struct test_case *other = begin(test, &model);
    bool changed = false;
    if (!other)
        return NULL;
    for (size_t i = 0; i < other->n_inputs; i++)
        if (other->inputs[i].kind == VALUE_TENSOR)
            changed |= change(&other->inputs[i].tensors[0]);
    declare_inputs(model, other);
    for (size_t i = 0; i < model->graph->n_initializer; i++) {
        struct tensor tensor;
        if (model_tensor_read(model->graph->initializer[i], &tensor, NULL))
            continue;
        if (change(&tensor) &&
            model_replace_initializer(model, model->graph->initializer[i]->name, &tensor, NULL) == 0)
            changed = true;
        tensor_release(&tensor);
    }
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

struct test_case *other_data_filled(const struct test_case *test)
{
    return change_tensors(test, fill);
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
