#include "diagnose/spoiled.h"

#include "diagnose/changed_case.h"
#include "diagnose/single_node.h"
#include "model/build.h"
#include "model/edit.h"
#include "ops/op.h"

#define SPOILED_ONES "spoiled_ones_"

enum {
    MULTIPLIED =
        1 << DTYPE_FLOAT | 1 << DTYPE_DOUBLE | 1 << DTYPE_FLOAT16 | 1 << DTYPE_INT32 | 1 << DTYPE_INT64
};

/* What a node reads that is no constant; NULL: none of the case's tensors, or a constant. */
static const struct tensor *operand_of(const struct test_case *test, const struct node_values *values,
                                       const char *name)
{
    for (size_t i = 0; i < test->n_inputs; i++)
        if (test->inputs[i].kind == VALUE_TENSOR && text_equal(test->inputs[i].name, name))
            return &test->inputs[i].tensors[0];
    return node_values_find(values, name);
}

static size_t readers_of(const Onnx__GraphProto *graph, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->n_output; i++)
        count += text_equal(graph->output[i]->name, name);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_input; k++)
            count += text_equal(graph->node[i]->input[k], name);
    return count;
}

/* The name of an input of the type that holds a one. */
static const char *ones_of(struct test_case *changed, struct model *model, enum dtype type)
{
    static const struct shape shape = {.rank = 1, .dims = {1}};
    char *name = arena_printf(&model->arena, SPOILED_ONES "%s", dtype_name(type));
    struct tensor one;
    for (size_t i = 0; i < changed->n_inputs; i++)
        if (text_equal(changed->inputs[i].name, name))
            return name;
    if (tensor_alloc(&one, type, &shape, 0, NULL))
        return NULL;
    tensor_set(&one, 0, 1);
    int status = changed_add_input(changed, model, name, &one);
    tensor_release(&one);
    return status ? NULL : name;
}

/* Gives the node a copy in the place of one operand. */
static bool copy_operand(struct test_case *changed, struct model *model, Onnx__NodeProto *node, size_t input,
                         const struct tensor *operand)
{
    if (!operand || !operand->shape.rank || !(MULTIPLIED >> operand->type & 1))
        return false;
    const char *ones = ones_of(changed, model, operand->type);
    if (!ones)
        return false;
    char *copy = arena_printf(&model->arena, "%s_copy%zu", node->input[input], model->graph->n_node);
    model_add_node(model, "Mul", copy, 2, (const char *[]){node->input[input], ones}, 1,
                   (const char *[]){copy});
    node->input[input] = copy;
    return true;
}

/* Whether others read the value, too, or one that it may be a view of: a node made it from as many elements
 * of the same type. */
static bool is_shared(const struct node_values *values, const Onnx__GraphProto *graph, const char *name)
{
    for (size_t steps = 0; steps <= graph->n_node; steps++) {
        const Onnx__NodeProto *maker = NULL;
        if (readers_of(graph, name) > 1)
            return true;
        for (size_t i = 0; i < graph->n_node && !maker; i++)
            if (graph->node[i]->n_input && graph->node[i]->n_output &&
                text_equal(graph->node[i]->output[0], name))
                maker = graph->node[i];
        const struct tensor *made = maker ? node_values_find(values, name) : NULL;
        const struct tensor *from =
            maker ? operand_of(node_values_case(values), values, maker->input[0]) : NULL;
        if (!made || !from || made->type != from->type || made->count != from->count)
            return false;
        name = maker->input[0];
    }
    return false;
}

static bool copy_operands(struct test_case *changed, struct model *model, const struct node_values *values,
                          const Onnx__GraphProto *graph, size_t number)
{
    Onnx__NodeProto *node = model->graph->node[number];
    bool copied = false;
    for (size_t i = 0; i < node->n_input; i++) {
        const char *name = graph->node[number]->input[i];
        if (is_shared(values, graph, name))
            copied |=
                copy_operand(changed, model, node, i, operand_of(node_values_case(values), values, name));
    }
    return copied;
}

struct test_case *spoiled_copied(const struct test_case *test, size_t node)
{
    const struct model *present = test_case_model(test, NULL);
    struct node_values *values = present ? node_values_new(test) : NULL;
    struct model *model;
    struct test_case *changed = values ? changed_begin(test, &model) : NULL;
    bool copied = false;
    for (size_t i = 0; changed && i < present->graph->n_node; i++)
        if (node == SIZE_MAX || i == node)
            copied |= copy_operands(changed, model, values, present->graph, i);
    node_values_free(values);
    if (changed && copied && model_sort_nodes(model, NULL))
        copied = false;
    return changed ? changed_finish(changed, copied) : NULL;
}

bool spoiled_operands(const struct experiment *how)
{
    const struct model *model = test_case_model(how->base, NULL);
    if (!how->of_numbers || !experiment_ask_right(how, spoiled_copied(how->base, SIZE_MAX)))
        return false;
    for (size_t i = model->graph->n_node; i-- > 0;) /* a copy further in front helps as well */
        if (experiment_ask_right(how, spoiled_copied(how->base, i))) {
            struct arena *arena = &how->evidence->arena;
            how->evidence->spoiler = arena_strdup(arena, op_title(model->graph->node[i]));
            return true;
        }
    return false;
}
