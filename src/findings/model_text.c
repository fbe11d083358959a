#include "findings/model_text.h"

#include "base/clean.h"
#include "case/test_case.h"
#include "model/onnx.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 3, DEPTH = 8 };

const char *model_text_type(int type)
{
    return dtype_onnx_name((enum dtype)type);
}

/* With a point or an exponent, so that it reads back as a float. */
static void add_float(struct str *out, double value, int digits)
{
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, value);
    str_add(out, text);
    if (isfinite(value) && !strpbrk(text, ".e"))
        str_add(out, ".0");
}

static int digits_of(enum dtype type)
{
    return type == DTYPE_DOUBLE ? 17 : type == DTYPE_FLOAT ? 9 : 5;
}

static void add_strings(struct str *out, const struct tensor *tensor, size_t most)
{
    const unsigned char *at = tensor->data;
    if (tensor_strings_check(tensor, NULL))
        return;
    for (size_t i = 0; i < tensor->count && i < most; i++) {
        size_t size = at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
        str_add(out, i ? ", " : "");
        clean_quoted(out, at + 4, size);
        at += 4 + size;
    }
}

void model_text_elements(struct str *out, const struct tensor *tensor, const struct tensor *hard, size_t most)
{
    if (tensor->type == DTYPE_STRING)
        add_strings(out, tensor, most);
    for (size_t i = 0; i < tensor->count && i < most && tensor->type != DTYPE_STRING; i++) {
        str_add(out, i ? ", " : "");
        if (hard && i < hard->count && isinf(tensor_get(hard, i)))
            str_add(out, "?");
        else if (isnan(tensor_get(tensor, i)))
            str_add(out, "nan"); /* whatever its sign */
        else if (dtype_is_float(tensor->type))
            str_printf(out, "%.*Lg", digits_of(tensor->type), tensor_get(tensor, i));
        else
            str_printf(out, "%.0Lf", tensor_get(tensor, i));
    }
    str_add(out, tensor->count > most ? ", ..." : "");
}

static void add_shape(struct str *out, const Onnx__TensorShapeProto *shape)
{
    if (!shape)
        return;
    for (size_t i = 0; i < shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
        str_add(out, i ? "," : "[");
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            str_printf(out, "%lld", (long long)dim->dim_value);
        else
            str_add(out, dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                                 dim->dim_param && *dim->dim_param
                             ? dim->dim_param
                             : "?");
    }
    str_add(out, shape->n_dim ? "]" : "");
}

static void add_type(struct str *out, const Onnx__TypeProto *type, int depth)
{
    if (!type || depth > DEPTH)
        return;
    switch (type->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        str_add(out, model_text_type(type->tensor_type->elem_type));
        add_shape(out, type->tensor_type->shape);
        break;
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        str_add(out, "seq(");
        add_type(out, type->sequence_type->elem_type, depth + 1);
        str_add(out, ")");
        break;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        str_add(out, "optional(");
        add_type(out, type->optional_type->elem_type, depth + 1);
        str_add(out, ")");
        break;
    default:
        str_add(out, "unknown");
    }
}

static void add_infos(struct str *out, Onnx__ValueInfoProto *const *infos, size_t count)
{
    str_add(out, "(");
    for (size_t i = 0; i < count; i++) {
        str_add(out, i ? ", " : "");
        size_t before = out->length;
        add_type(out, infos[i]->type, 0);
        str_printf(out, "%s%s", out->length > before ? " " : "", infos[i]->name);
    }
    str_add(out, ")");
}

/* "float[2] name = {1, 2}"; what is too large stands there as a comment, which the caller puts on a line. */
static void add_tensor(struct str *out, const Onnx__TensorProto *proto, const char *name)
{
    struct tensor tensor;
    size_t count = 1;
    str_add(out, model_text_type(proto->data_type));
    for (size_t i = 0; i < proto->n_dims; i++) {
        str_printf(out, "%s%lld", i ? "," : "[", (long long)proto->dims[i]);
        count = count <= MODEL_TEXT_ELEMENTS ? count * (size_t)proto->dims[i] : count;
    }
    str_add(out, proto->n_dims ? "]" : "");
    if (name)
        str_printf(out, " %s =", name);
    str_add(out, " {");
    if (count <= MODEL_TEXT_ELEMENTS && model_tensor_read(proto, &tensor, NULL) == 0) {
        model_text_elements(out, &tensor, NULL, MODEL_TEXT_ELEMENTS);
        tensor_release(&tensor);
    } else {
        str_add(out, "...");
    }
    str_add(out, "}");
}

static void add_graph(struct str *out, const Onnx__GraphProto *graph, int depth, size_t limit);

static void add_attribute(struct str *out, const Onnx__AttributeProto *a, int depth, size_t limit)
{
    str_printf(out, "%s = ", a->name);
    switch (a->type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        add_float(out, (double)a->f, 9);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        str_printf(out, "%lld", (long long)a->i);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        clean_quoted(out, a->s.data, a->s.len);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
        if (a->t)
            add_tensor(out, a->t, NULL);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH:
        if (a->g)
            add_graph(out, a->g, depth + 1, limit);
        break;
    default:
        str_add(out, "[");
        for (size_t i = 0; i < a->n_floats && (!limit || out->length < limit); i++) {
            str_add(out, i ? ", " : "");
            add_float(out, (double)a->floats[i], 9);
        }
        for (size_t i = 0; i < a->n_ints && (!limit || out->length < limit); i++)
            str_printf(out, "%s%lld", i ? ", " : "", (long long)a->ints[i]);
        for (size_t i = 0; i < a->n_strings && (!limit || out->length < limit); i++) {
            str_add(out, i ? ", " : "");
            clean_quoted(out, a->strings[i].data, a->strings[i].len);
        }
        str_add(out, "]");
    }
}

static void add_names(struct str *out, char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        str_printf(out, "%s%s", i ? ", " : "", names[i]);
}

static void add_node(struct str *out, const Onnx__NodeProto *node, int depth, size_t limit)
{
    str_printf(out, "%*s", (depth + 1) * INDENT, "");
    add_names(out, node->output, node->n_output);
    str_add(out, " = ");
    if (*node->domain && strcmp(node->domain, "ai.onnx") != 0)
        str_printf(out, "%s.", node->domain);
    str_add(out, node->op_type);
    for (size_t i = 0; i < node->n_attribute; i++) {
        str_add(out, i ? ", " : " <");
        add_attribute(out, node->attribute[i], depth, limit);
    }
    str_add(out, node->n_attribute ? "> (" : " (");
    add_names(out, node->input, node->n_input);
    str_add(out, ")\n");
}

static void add_graph(struct str *out, const Onnx__GraphProto *graph, int depth, size_t limit)
{
    if (depth > DEPTH) {
        str_add(out, "...");
        return;
    }
    str_printf(out, "%s ", graph->name && *graph->name ? graph->name : "graph");
    add_infos(out, graph->input, graph->n_input);
    str_add(out, " => ");
    add_infos(out, graph->output, graph->n_output);
    str_add(out, "\n");
    for (size_t i = 0; i < graph->n_initializer && (!limit || out->length < limit); i++) {
        str_printf(out, "%*s%s", depth * INDENT, "", i ? " " : "<");
        add_tensor(out, graph->initializer[i], graph->initializer[i]->name);
        str_add(out, i + 1 < graph->n_initializer ? ",\n" : ">\n");
    }
    str_printf(out, "%*s{\n", depth * INDENT, "");
    for (size_t i = 0; i < graph->n_node; i++) {
        if (limit && out->length > limit) {
            str_printf(out, "%*s# and %zu more nodes: see model.onnx\n", (depth + 1) * INDENT, "",
                       graph->n_node - i);
            break;
        }
        add_node(out, graph->node[i], depth, limit);
    }
    str_printf(out, "%*s}", depth * INDENT, "");
}

void model_text(struct str *out, const struct model *model, size_t limit)
{
    const Onnx__ModelProto *proto = model->proto;
    str_printf(out, "<ir_version: %lld, opset_import: [", (long long)proto->ir_version);
    for (size_t i = 0; i < proto->n_opset_import; i++)
        str_printf(out, "%s\"%s\" : %lld", i ? ", " : "",
                   proto->opset_import[i]->domain ? proto->opset_import[i]->domain : "",
                   (long long)proto->opset_import[i]->version);
    str_add(out, "]>\n");
    add_graph(out, model->graph, 0, limit ? out->length + limit : 0);
    str_add(out, "\n");
}

static bool has_shape(const Onnx__ValueInfoProto *info)
{
    return info->type && info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
           info->type->tensor_type->shape;
}

static bool is_empty_list(const Onnx__AttributeProto *a)
{
    return !a->n_floats && !a->n_ints && !a->n_strings &&
           (a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS ||
            a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS ||
            a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);
}

/* Whether the text says everything of the graph that matters. A type without a shape reads as that of a
 * scalar. */
static bool says_all(const Onnx__GraphProto *graph, int depth)
{
    bool all = !graph->n_sparse_initializer && !graph->n_quantization_annotation && depth <= DEPTH;
    for (size_t i = 0; i < graph->n_input && all; i++)
        all = has_shape(graph->input[i]);
    for (size_t i = 0; i < graph->n_output && all; i++)
        all = has_shape(graph->output[i]);
    for (size_t i = 0; i < graph->n_node && all; i++)
        for (size_t k = 0; k < graph->node[i]->n_attribute && all; k++) {
            const Onnx__AttributeProto *a = graph->node[i]->attribute[k];
            all = !is_empty_list(a) && (!a->g || says_all(a->g, depth + 1));
        }
    return all;
}

bool model_text_parsed(struct str *out, const struct model *model)
{
    struct str text, again;
    uint8_t *bytes = NULL;
    size_t size;
    bool same = false;
    str_init(&text);
    str_init(&again);
    if (!model->proto->n_functions && says_all(model->graph, 0)) {
        model_text(&text, model, 0);
        if (onnx_parse_text(text.data, &bytes, &size, NULL) == 0) {
            struct test_case *test = test_case_from_bytes(bytes, size);
            const struct model *parsed = test_case_model(test, NULL);
            if (parsed)
                model_text(&again, parsed, 0);
            same = parsed && text_equal(text.data, again.data);
            test_case_free(test);
        }
    }
    if (same)
        str_add(out, text.data);
    str_release(&text);
    str_release(&again);
    return same;
}
