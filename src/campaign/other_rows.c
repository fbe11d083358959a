/* A small case with rows in the place of lists, for experiments (other_data.h). */
#include "campaign/other_data.h"

#include "base/str.h"
#include "locate/expected.h"
#include "locate/param_change.h"
#include "model/build.h"
#include "model/edit.h"
#include "ops/op.h"

#include <string.h>

static bool make_row(struct tensor *tensor)
{
    bool list = tensor->shape.rank == 1;
    if (list)
        tensor->shape = (struct shape){.rank = 2, .dims = {1, tensor->shape.dims[0]}};
    return list;
}

static bool make_column(struct tensor *tensor)
{
    bool list = tensor->shape.rank == 1;
    if (list)
        tensor->shape = (struct shape){.rank = 2, .dims = {tensor->shape.dims[0], 1}};
    return list;
}

/* Whether a node takes the value as a parameter; indices, of which some operators need as many dimensions as
 * of the data, may count as data. */
static bool is_parameter(const struct model *model, const char *name, bool but_indices)
{
    for (size_t i = 0; i < model->graph->n_node; i++) {
        const Onnx__NodeProto *node = model->graph->node[i];
        const struct op *op = op_of(node);
        if (op && op->work == WORK_ELEMENTS && op->data == DATA_ALL) /* the exponent of Pow is an operand */
            continue;
        for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
            if (param->kind == PARAM_INPUT && param->input < node->n_input &&
                text_equal(node->input[param->input], name) &&
                !(but_indices && text_equal(param->name, "indices")))
                return true;
    }
    return false;
}

bool other_data_is_parameter(const struct model *model, const char *name)
{
    return is_parameter(model, name, false);
}

static bool change_inputs(struct test_case *other, struct model *model, bool (*change)(struct tensor *tensor),
                          bool indices)
{
    bool changed = false;
    for (size_t i = 0; i < other->n_inputs; i++)
        if (other->inputs[i].kind == VALUE_TENSOR && !is_parameter(model, other->inputs[i].name, indices))
            changed |= change(&other->inputs[i].tensors[0]);
    other_data_declare_inputs(model, other);
    return changed;
}

static bool change_constants(struct model *model, bool (*change)(struct tensor *tensor), bool indices)
{
    bool changed = false;
    for (size_t i = 0; i < model->graph->n_initializer; i++) {
        struct tensor tensor;
        const char *name = model->graph->initializer[i]->name;
        if (is_parameter(model, name, indices) ||
            model_tensor_read(model->graph->initializer[i], &tensor, NULL))
            continue;
        changed |= change(&tensor) && model_replace_initializer(model, name, &tensor, NULL) == 0;
        tensor_release(&tensor);
    }
    return changed;
}

/* The rank of an input or constant of the case; -1 of what a node makes. */
static int rank_of(const struct test_case *test, const char *name)
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

/* Whether the value was a list and is a row. */
static bool is_row(const struct test_case *test, const struct test_case *other, const char *name)
{
    return rank_of(test, name) == 1 && rank_of(other, name) == 2;
}

static char unused_letter(const char *equation)
{
    for (char letter = 'a'; letter <= 'z'; letter++)
        if (!strchr(equation, letter))
            return letter;
    return '\0';
}

/* Einsum names the dimensions of its operands: the new one, of size 1, gets a letter of its own, which the
 * result has, too. */
static void name_dimensions(const struct test_case *test, const struct test_case *other, struct model *model,
                            Onnx__NodeProto *node)
{
    const Onnx__AttributeProto *attribute = node_attribute(node, "equation");
    if (!attribute)
        return;
    char *left = arena_printf(&model->arena, "%.*s", (int)attribute->s.len, (const char *)attribute->s.data);
    char *right = strstr(left, "->");
    struct str equation, letters;
    str_init(&equation);
    str_init(&letters);
    str_add(&letters, left);
    size_t all = letters.length, operand = 0;
    if (right)
        *right = '\0';
    for (char *term = left; term && operand < node->n_input; operand++) {
        char *comma = strchr(term, ','), letter = unused_letter(letters.data);
        if (comma)
            *comma = '\0';
        str_add(&equation, operand ? "," : "");
        if (letter && !strchr(term, '.') && is_row(test, other, node->input[operand])) {
            str_append(&equation, &letter, 1);
            str_append(&letters, &letter, 1);
        }
        str_add(&equation, term);
        term = comma ? comma + 1 : NULL;
    }
    if (right)
        str_printf(&equation, "->%s%s", letters.data + all, right + 2);
    node_set_string(&model->arena, node, "equation", arena_strdup(&model->arena, equation.data));
    str_release(&letters);
    str_release(&equation);
}

/* Whether all operands are lists: as rows they mean the same as before. */
static bool are_all_lists(const struct test_case *test, const struct model *model)
{
    for (size_t i = 0; i < test->n_inputs; i++)
        if (test->inputs[i].kind != VALUE_TENSOR || test->inputs[i].tensors[0].shape.rank != 1)
            return false;
    for (size_t i = 0; i < model->graph->n_initializer; i++)
        if (model->graph->initializer[i]->n_dims != 1 &&
            !other_data_is_parameter(model, model->graph->initializer[i]->name))
            return false;
    return true;
}

static struct test_case *finish_rows(const struct test_case *test, struct test_case *other,
                                     struct model *model, bool changed)
{
    for (size_t i = 0; changed && i < model->graph->n_node; i++)
        if (text_equal(model->graph->node[i]->op_type, "Einsum"))
            name_dimensions(test, other, model, model->graph->node[i]);
    return other_data_finish(other, model, changed);
}

static struct test_case *with_rows(const struct test_case *test, bool constants)
{
    struct model *model;
    struct test_case *other = other_data_begin(test, &model);
    if (!other)
        return NULL;
    bool changed = change_inputs(other, model, make_row, false);
    if (constants)
        changed =
            are_all_lists(test, test_case_model(test, NULL)) && change_constants(model, make_row, false);
    return finish_rows(test, other, model, changed);
}

bool other_data_make_matrices(struct test_case *other, struct model *model, bool columns)
{
    bool changed = change_inputs(other, model, columns ? make_column : make_row, false);
    return change_constants(model, columns ? make_column : make_row, false) || changed;
}

struct test_case *other_data_rows(const struct test_case *test)
{
    struct model *model;
    struct test_case *other = other_data_begin(test, &model);
    return other ? finish_rows(test, other, model, other_data_make_matrices(other, model, false)) : NULL;
}

struct test_case *other_data_two_dims(const struct test_case *test)
{
    return with_rows(test, false);
}

struct test_case *other_data_all_two_dims(const struct test_case *test)
{
    return with_rows(test, true);
}

struct test_case *other_data_columns(const struct test_case *test, enum list_choice which, bool *computed)
{
    struct model *model;
    struct expected expected;
    struct test_case *other = other_data_begin(test, &model);
    if (!other)
        return NULL;
    bool changed = change_inputs(other, model, make_column, which == LISTS_INDICES);
    if (which != LISTS_INPUTS)
        changed |= change_constants(model, make_column, which == LISTS_INDICES);
    if (!changed) {
        test_case_free(other);
        return NULL;
    }
    *computed = !expected_compute(&expected, model, NULL, other->inputs, other->n_inputs);
    if (*computed) {
        param_change_declare(other, expected.values, expected.count);
        expected_release(&expected);
    }
    return other;
}

/* Of scalars nothing is changed: they may be at fault for themselves. */
static bool add_last_dim(struct tensor *tensor)
{
    struct shape *shape = &tensor->shape;
    if (!shape->rank || shape->rank >= TENSOR_MAX_RANK)
        return false;
    shape->dims[shape->rank++] = 1;
    return true;
}

static bool add_first_dim(struct tensor *tensor)
{
    struct shape *shape = &tensor->shape;
    if (!shape->rank || shape->rank >= TENSOR_MAX_RANK)
        return false;
    memmove(shape->dims + 1, shape->dims, (size_t)shape->rank++ * sizeof *shape->dims);
    shape->dims[0] = 1;
    return true;
}

/* Whether some input or constant that is no parameter is a list. */
static bool has_list(const struct test_case *test, const struct model *model)
{
    for (size_t i = 0; i < test->n_inputs; i++)
        if (test->inputs[i].kind == VALUE_TENSOR && test->inputs[i].tensors[0].shape.rank == 1 &&
            !is_parameter(model, test->inputs[i].name, true))
            return true;
    for (size_t i = 0; i < model->graph->n_initializer; i++)
        if (model->graph->initializer[i]->n_dims == 1 &&
            !is_parameter(model, model->graph->initializer[i]->name, true))
            return true;
    return false;
}

struct test_case *other_data_deeper(const struct test_case *test, bool first, bool indices)
{
    struct model *model;
    struct test_case *other =
        has_list(test, test_case_model(test, NULL)) ? other_data_begin(test, &model) : NULL;
    if (!other)
        return NULL;
    bool changed = change_inputs(other, model, first ? add_first_dim : add_last_dim, indices);
    changed |= change_constants(model, first ? add_first_dim : add_last_dim, indices);
    other = other_data_finish(other, model, changed);
    if (other && !other_data_mean_the_same(test, other)) {
        test_case_free(other);
        return NULL;
    }
    return other;
}
