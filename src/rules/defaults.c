/* Attributes with their default values, written down or left out. */
#include "base/str.h"
#include "model/onnx.h"
#include "model/tree.h"
#include "rules/rule.h"

#include <stdlib.h>
#include <string.h>

/* A node that has every attribute of the operator that has a default, with that default; NULL when libonnx
 * does not know the operator or the opset, in which defaults may be others. */
static const Onnx__NodeProto *schema_defaults(struct rewrite *rewrite, const char *op_type)
{
    const Onnx__NodeProto *defaults = NULL;
    uint8_t *bytes = NULL;
    size_t size;
    if (rewrite_opset(rewrite) <= onnx_max_opset() &&
        onnx_attribute_defaults("", op_type, rewrite_opset(rewrite), &bytes, &size, NULL) == 0)
        defaults = (const Onnx__NodeProto *)tree_unpack(&onnx__node_proto__descriptor, bytes, size,
                                                        &rewrite->model->arena, NULL);
    free(bytes);
    return defaults;
}

static bool same_value(const Onnx__AttributeProto *a, const Onnx__AttributeProto *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        return a->i == b->i;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        return a->f == b->f;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        return a->s.len == b->s.len && memcmp(a->s.data, b->s.data, a->s.len) == 0;
    default:
        return false;
    }
}

/* Gives a node the defaults that it lacks. */
static bool write_defaults(struct rewrite *rewrite, Onnx__NodeProto *node, const Onnx__NodeProto *defaults)
{
    size_t count = node->n_attribute;
    Onnx__AttributeProto **all =
        arena_array(&rewrite->model->arena, count + defaults->n_attribute + 1, sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = node->attribute[i];
    for (size_t i = 0; i < defaults->n_attribute; i++)
        if (!node_attribute(node, defaults->attribute[i]->name))
            all[count++] = defaults->attribute[i];
    bool changed = count != node->n_attribute;
    node->attribute = all;
    node->n_attribute = count;
    return changed;
}

/* Takes off a node what it has by default. */
static bool leave_out_defaults(Onnx__NodeProto *node, const Onnx__NodeProto *defaults)
{
    bool changed = false;
    for (size_t i = 0; i < defaults->n_attribute; i++) {
        const Onnx__AttributeProto *given = node_attribute(node, defaults->attribute[i]->name);
        if (!given || !same_value(given, defaults->attribute[i]))
            continue;
        node_remove_attribute(node, defaults->attribute[i]->name);
        changed = true;
    }
    return changed;
}

/* --- Lists with a value for each spatial axis, whose defaults schemas do not tell --- */

static bool is_one_of(const char *op_type, const char *const *names)
{
    while (*names && !text_equal(*names, op_type))
        names++;
    return *names != NULL;
}

/* A list whose default is the same number for every axis. */
struct list {
    const char *name;
    int64_t value;
    size_t halves;
    const char *const *operators;
};

static const char *const windows[] = {"Conv",   "ConvInteger", "ConvTranspose", "MaxPool", "AveragePool",
                                      "LpPool", NULL};
static const char *const convolutions[] = {"Conv", "ConvInteger", "ConvTranspose", NULL};
static const char *const dilating[] = {"Conv", "ConvInteger", "ConvTranspose", "MaxPool", NULL};
static const char *const transposed[] = {"ConvTranspose", NULL};

static const struct list lists[] = {
    {.name = "strides", .value = 1, .halves = 1, .operators = windows},
    {.name = "pads", .value = 0, .halves = 2, .operators = windows},
    {.name = "dilations", .value = 1, .halves = 1, .operators = dilating},
    {.name = "output_padding", .value = 0, .halves = 1, .operators = transposed},
};

/* Pads may not stand beside an auto_pad or an output_shape that replaces them. */
static bool may_have(const Onnx__NodeProto *node, const struct list *list, const char *auto_pad)
{
    return is_one_of(node->op_type, list->operators) &&
           (list->halves == 1 || (text_equal(auto_pad, "NOTSET") && !node_attribute(node, "output_shape")));
}

static bool write_list(struct rewrite *rewrite, Onnx__NodeProto *node, const struct list *list, size_t axes)
{
    int64_t values[2 * TENSOR_MAX_RANK];
    if (node_attribute(node, list->name))
        return false;
    for (size_t i = 0; i < list->halves * axes; i++)
        values[i] = list->value;
    node_set_ints(&rewrite->model->arena, node, list->name, values, list->halves * axes);
    return true;
}

static bool leave_out_list(Onnx__NodeProto *node, const struct list *list)
{
    const int64_t *values;
    size_t count;
    if (!node_ints(node, list->name, &values, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (values[i] != list->value)
            return false;
    node_remove_attribute(node, list->name);
    return true;
}

/* The kernel_shape of a convolution is that of its weights. */
static bool change_kernel(struct rewrite *rewrite, Onnx__NodeProto *node, size_t axes, bool write)
{
    const struct bounded *weights = rewrite_input(rewrite, node, 1);
    bool given = node_attribute(node, "kernel_shape") != NULL;
    if (!is_one_of(node->op_type, convolutions) || !weights || (size_t)weights->shape.rank != axes + 2 ||
        given == write)
        return false;
    if (write)
        node_set_ints(&rewrite->model->arena, node, "kernel_shape", weights->shape.dims + 2, axes);
    else
        node_remove_attribute(node, "kernel_shape");
    return true;
}

static bool change_lists(struct rewrite *rewrite, Onnx__NodeProto *node, bool write)
{
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    const char *auto_pad = rewrite_string(rewrite, node, "auto_pad", "NOTSET");
    bool changed = false;
    if (!is_one_of(node->op_type, windows) || !x || x->shape.rank < 3)
        return false;
    size_t axes = (size_t)x->shape.rank - 2;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (may_have(node, &lists[i], auto_pad))
            changed |= write ? write_list(rewrite, node, &lists[i], axes) : leave_out_list(node, &lists[i]);
    return change_kernel(rewrite, node, axes, write) || changed;
}

static int defaults(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    bool write = rng_below(&rewrite->rng, 2) == 0, changed = false;
    if (node->domain && *node->domain)
        return 0;
    const Onnx__NodeProto *known = schema_defaults(rewrite, node->op_type);
    for (int turn = 0; turn < 2 && !changed; turn++, write = !write) {
        changed = change_lists(rewrite, node, write);
        if (known)
            changed |= write ? write_defaults(rewrite, node, known) : leave_out_defaults(node, known);
    }
    return changed;
}

const struct rule rule_defaults = {
    .name = "defaults",
    .respells = true,
    .summary = "attributes with their default values, written down or left out",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .apply = defaults,
};
