/* Error classes from the library's text: its codes say -2 or -215 for everything. */
#include "opencv.h"

#include "ops/op.h"

#include <stdio.h>
#include <string.h>

#define LACKING(text) text,
static const char *const lacking[] = {
#include "lacking.inc"
    NULL,
};

/* Behind the reason, in the log of 5.0's new engine: "... occurred when processing node 'Add_3' (Add) with 2
 * inputs". */
static const char behind[] = "' occurred when processing node '";

/*
 * "OpenCV(4.6.0) ./modules/dnn/src/onnx/onnx_importer.cpp:1040: error: (-2:Unspecified error) in function
 * 'handleNode'\n> Node [Max@ai.onnx]:(onnx_node!Max_0) parse error: OpenCV(4.6.0) ./modules/...": the reason
 * stands last, behind paths of the machine that built the library. Kept are the node and the reason from its
 * file name on, in the same form for both engines.
 */
static void shorten(const char *message, char *text, size_t size)
{
    const char *node = strstr(message, "> Node "), *reason = message;
    const char *end = strstr(message, behind), *name = end ? end + sizeof behind - 1 : NULL;
    int name_length = name ? (int)strcspn(name, "'") : 0;
    const char *type = name ? strchr(name + name_length, '(') : NULL;
    for (const char *at = message; (at = strstr(at, "OpenCV(")); at++)
        reason = at;
    const char *path = strstr(reason, ") ");
    if (strncmp(reason, "OpenCV(", 7) == 0 && path) {
        reason = path + 2;
        size_t length = strcspn(reason, ":\n");
        for (const char *at = reason; at < reason + length; at++)
            if (*at == '/') {
                length -= (size_t)(at + 1 - reason);
                reason = at + 1;
            }
    }
    const char *node_end = node && node < reason ? strstr(node, " parse error: ") : NULL;
    if (type && reason < end)
        snprintf(text, size, "Node [%.*s@ai.onnx]:(onnx_node!%.*s): %.*s", (int)strcspn(type + 1, ")"),
                 type + 1, name_length, name, (int)(end - reason), reason);
    else if (node_end)
        snprintf(text, size, "%.*s: %s", (int)(node_end - node - 2), node + 2, reason);
    else
        snprintf(text, size, "%s", reason);
    for (char *at = text; *at; at++)
        if (*at == '\n')
            *at = at[1] ? ' ' : '\0';
}

/*
 * A check of the importer itself, which names what it expects of a node's attributes, inputs or shapes: it is
 * how the importer says which forms of an operator it has ("layer only supports keepdims = false (expected:
 * ..."). Assertions (-215) are no such list: they stop at what nobody expected. In a graph it may as well be
 * the importer's own rewriting that made such a node, so only a node alone says so.
 */
static bool importer_lacks(const struct opencv *opencv, const char *text)
{
    return opencv->model && opencv->model->graph->n_node == 1 && strstr(text, "onnx_importer") &&
           strstr(text, "(expected: '");
}

static bool is_usual(int64_t type)
{
    return type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT || type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64 ||
           type == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL;
}

/* Whether the model reads, holds or casts to another type than those that networks usually have. */
static bool has_unusual_type(const Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (!is_usual(graph->initializer[i]->data_type))
            return true;
    for (size_t i = 0; i < graph->n_input; i++) {
        const Onnx__TypeProto *type = graph->input[i]->type;
        if (type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
            !is_usual(type->tensor_type->elem_type))
            return true;
    }
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_attribute; k++) {
            const Onnx__AttributeProto *attribute = graph->node[i]->attribute[k];
            bool names = strcmp(attribute->name, "to") == 0 || strcmp(attribute->name, "dtype") == 0 ||
                         strcmp(attribute->name, "output_dtype") == 0;
            if ((names && !is_usual(attribute->i)) || (attribute->t && !is_usual(attribute->t->data_type)))
                return true;
        }
    return false;
}

/*
 * A check of types names those that a layer has and what it was given: "'inputs[0] == CV_32F' where
 * 'inputs[0]' is 6 (CV_64FC1)". Kernels assert the same without saying what they were given ("src.type() ==
 * CV_32F", "type == B.type()", "func != nullptr" of a table by types), which counts where the model has
 * unusual types: in one of float32 alone, it is the library that made another.
 */
static bool type_lacks(const struct opencv *opencv, const char *text)
{
    bool asserts = strstr(text, "(-215:") && (strstr(text, "type") || strstr(text, "func != "));
    if (!opencv->model || (!asserts && !strstr(text, "== CV_")))
        return false;
    const char *given = strstr(text, " (CV_");
    return given ? strncmp(given, " (CV_32FC1)", 11) != 0 : has_unusual_type(opencv->model->graph);
}

/* A check by a list says what a layer has: "'interpolation == "nearest" || ...' where 'interpolation' is
 * cubic". Those that compare two numbers say what they expected. */
static bool list_lacks(const char *text)
{
    return strstr(text, " == ") && strstr(text, "> where >") && !strstr(text, "(expected: '");
}

/* The library does not say which opsets it knows. An operator, or a form of it, that was new when the release
 * came out, or is newer, may be refused: Unsqueeze with its axes as an input, of opset 13. */
static bool opset_lacks(const struct opencv *opencv)
{
    for (size_t i = 0; opencv->model && i < opencv->model->graph->n_node; i++) {
        const struct op *op = op_of(opencv->model->graph->node[i]);
        if (op && (op->since > opencv->newest_opset || (op->history.reformed > opencv->newest_opset &&
                                                        model_opset(opencv->model) >= op->history.reformed)))
            return true;
    }
    return false;
}

static bool is_empty(const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto__Tensor *type =
        info->type && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? info->type->tensor_type
                                                                                    : NULL;
    for (size_t i = 0; type && type->shape && i < type->shape->n_dim; i++)
        if (type->shape->dim[i]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            type->shape->dim[i]->dim_value == 0)
            return true;
    return false;
}

/* Up to 4.x there are no tensors without elements. An empty list among the weights is a parameter: the shape
 * of a scalar, say. */
static bool empty_lacks(const struct opencv *opencv)
{
    const Onnx__GraphProto *graph = opencv->model && !opencv->all_types ? opencv->model->graph : NULL;
    for (size_t i = 0; graph && i < graph->n_input; i++)
        if (is_empty(graph->input[i]))
            return true;
    for (size_t i = 0; graph && i < graph->n_output; i++)
        if (is_empty(graph->output[i]))
            return true;
    for (size_t i = 0; graph && i < graph->n_initializer; i++)
        for (size_t k = 0; k < graph->initializer[i]->n_dims; k++)
            if (graph->initializer[i]->dims[k] == 0 && graph->initializer[i]->n_dims > 1)
                return true;
    return false;
}

static bool lacks(const struct opencv *opencv, const char *message)
{
    char text[FACE_MESSAGE_SIZE];
    shorten(message, text, sizeof text);
    return adapter_says(message, lacking) || importer_lacks(opencv, text) || type_lacks(opencv, text) ||
           list_lacks(text) || opset_lacks(opencv) || empty_lacks(opencv);
}

int opencv_fail(struct adapter_call *call, enum opencv_stage stage, const char *message)
{
    char text[FACE_MESSAGE_SIZE];
    shorten(message, text, sizeof text);
    enum adapter_class class = lacks(call->engine, message) ? ADAPTER_UNSUPPORTED
                               : stage == OPENCV_STAGE_LOAD ? ADAPTER_REJECTED
                                                            : ADAPTER_FAILED;
    return adapter_fail(call, class, "%s", text);
}

int opencv_refuse(struct adapter_call *call, const char *first, const char *message)
{
    return opencv_fail(call, OPENCV_STAGE_LOAD, *first && lacks(call->engine, first) ? first : message);
}
