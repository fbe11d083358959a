#include "against/plain_products.h"

#include "base/memory.h"
#include "model/build.h"
#include "model/index.h"
#include "ops/op.h"

#include <stdlib.h>
#include <string.h>

/* Where the inputs of such a product stand, each operand's levels in front of their scale and zero point. */
enum { FIRST = 0, SECOND = 3, RESULT_SCALE = 6, RESULT_ZERO = 7, BIAS = 8 };

enum { SCALES_ALONG_AXES = 13 /* the opset from which on DequantizeLinear has an axis */ };

struct writing {
    const struct model_index *index; /* of the original */
    struct model *made;
    struct plain_products *plain;
    size_t capacity, number; /* of the node that is being written */
};

static const Onnx__TensorProto *constant_of(const struct model_index *index, const char *name)
{
    const struct index_value *value = model_index_find(index, name);
    const Onnx__GraphProto *graph = index->model->graph;
    return value && value->source == SOURCE_INITIALIZER && value->number < graph->n_initializer
               ? graph->initializer[value->number]
               : NULL;
}

static bool is_single(const Onnx__TensorProto *tensor)
{
    return tensor->n_dims == 0 || (tensor->n_dims == 1 && tensor->dims[0] == 1);
}

/* The axis of an operand along which its scales lie: output channels. -1: there is one scale. False when
 * DequantizeLinear cannot say it. */
static bool axis_of(const struct writing *writing, const Onnx__NodeProto *node, size_t operand, int64_t *axis)
{
    const Onnx__TensorProto *levels = constant_of(writing->index, node->input[operand]);
    const Onnx__TensorProto *scale = constant_of(writing->index, node->input[operand + 1]);
    const Onnx__TensorProto *zero = constant_of(writing->index, node->input[operand + 2]);
    *axis = -1;
    if (!scale || !zero || is_single(scale) != is_single(zero))
        return false;
    if (is_single(scale))
        return true;
    if (operand != SECOND || !levels || levels->n_dims < 2 || scale->n_dims != 1 || zero->n_dims != 1 ||
        model_opset(writing->index->model) < SCALES_ALONG_AXES)
        return false;
    *axis = op_of(node)->on_levels.channels_last ? (int64_t)levels->n_dims - 1 : 0;
    return scale->dims[0] == zero->dims[0] && scale->dims[0] == levels->dims[*axis];
}

static bool can_be_written(const struct writing *writing, const Onnx__NodeProto *node)
{
    const struct op *op = op_of(node);
    int64_t axis;
    return op && op->on_levels.type && node->n_input >= BIAS && node->n_output == 1 &&
           axis_of(writing, node, FIRST, &axis) && axis_of(writing, node, SECOND, &axis) &&
           constant_of(writing->index, node->input[RESULT_SCALE]) &&
           is_single(constant_of(writing->index, node->input[RESULT_SCALE]));
}

static Onnx__NodeProto *add(struct writing *writing, const char *type, size_t inputs,
                            const char *const *input, const char *output)
{
    struct plain_products *plain = writing->plain;
    size_t number = writing->made->graph->n_node;
    plain->origin = memory_grow(plain->origin, &writing->capacity, number + 1, sizeof *plain->origin);
    plain->origin[number] = writing->number;
    return model_add_node(writing->made, type, NULL, inputs, input, 1, &output);
}

/* A name for a value of the node that is being written. */
static char *name_for(struct writing *writing, const Onnx__NodeProto *node, const char *what)
{
    return arena_printf(&writing->made->arena, "%s/assay-%zu-%s", node->output[0], writing->number, what);
}

static const char *add_numbers(struct writing *writing, const Onnx__NodeProto *node, size_t operand)
{
    int64_t axis;
    const char *name = name_for(writing, node, operand == FIRST ? "first" : "second");
    axis_of(writing, node, operand, &axis);
    Onnx__NodeProto *made =
        add(writing, "DequantizeLinear", 3, (const char *const *)&node->input[operand], name);
    if (axis >= 0)
        node_set_int(&writing->made->arena, made, "axis", axis);
    return name;
}

/* Its scale is the product of those of both operands. */
static const char *add_bias(struct writing *writing, const Onnx__NodeProto *node)
{
    const char *scale = name_for(writing, node, "bias-scale"), *name = name_for(writing, node, "bias");
    add(writing, "Mul", 2, (const char *const[]){node->input[FIRST + 1], node->input[SECOND + 1]}, scale);
    Onnx__NodeProto *made =
        add(writing, "DequantizeLinear", 2, (const char *const[]){node->input[BIAS], scale}, name);
    if (!is_single(constant_of(writing->index, node->input[SECOND + 1])))
        node_set_int(&writing->made->arena, made, "axis", 0);
    return name;
}

static void write_product(struct writing *writing, Onnx__NodeProto *node)
{
    const char *operands[3] = {add_numbers(writing, node, FIRST), add_numbers(writing, node, SECOND)};
    bool biased = node->n_input > BIAS && *node->input[BIAS];
    if (biased)
        operands[2] = add_bias(writing, node);
    const char *result = name_for(writing, node, "result");
    Onnx__NodeProto *product = add(writing, op_of(node)->on_levels.type, biased ? 3 : 2, operands, result);
    product->name =
        *node->name ? node->name : node->output[0]; /* what the original is called, not its part */
    product->attribute = node->attribute;
    product->n_attribute = node->n_attribute;
    add(writing, "QuantizeLinear", 3,
        (const char *const[]){result, node->input[RESULT_SCALE], node->input[RESULT_ZERO]}, node->output[0]);
}

static void write_nodes(struct writing *writing, Onnx__NodeProto **nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        writing->number = i;
        if (can_be_written(writing, nodes[i])) {
            write_product(writing, nodes[i]);
            continue;
        }
        *add(writing, "", 0, NULL, "") = *nodes[i];
    }
}

int plain_products_init(struct plain_products *plain, const struct model *model, struct error *err)
{
    struct model_index index;
    *plain = (struct plain_products){0};
    if (model_index_init(&index, model, err))
        return -1;
    struct writing writing = {.index = &index, .plain = plain};
    const Onnx__GraphProto *graph = model->graph;
    bool any = false;
    for (size_t i = 0; i < graph->n_node && !any; i++)
        any = can_be_written(&writing, graph->node[i]);
    int status = any ? model_clone(&plain->model, model, err) : 0;
    if (any && status == 0) {
        Onnx__GraphProto *made = plain->model->graph;
        Onnx__NodeProto **nodes = made->node;
        size_t count = made->n_node;
        writing.made = plain->model;
        made->node = NULL;
        made->n_node = 0;
        write_nodes(&writing, nodes, count);
    }
    model_index_release(&index);
    return status;
}

void plain_products_release(struct plain_products *plain)
{
    model_free(plain->model);
    free(plain->origin);
    *plain = (struct plain_products){0};
}
