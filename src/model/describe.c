#include "model/describe.h"

#include "base/clean.h"
#include "tensor/dtype.h"

#include <inttypes.h>

enum { SHOWN_ITEMS = 12, SHOWN_BYTES = 60 };

static void add_comma(struct str *out, size_t i)
{
    str_add(out, i ? ", " : "");
}

static void describe_ints(struct str *out, const int64_t *items, size_t count)
{
    str_add(out, "[");
    for (size_t i = 0; i < count && i < SHOWN_ITEMS; i++) {
        add_comma(out, i);
        str_printf(out, "%" PRId64, items[i]);
    }
    str_add(out, count > SHOWN_ITEMS ? ", …]" : "]");
}

static void describe_floats(struct str *out, const float *items, size_t count)
{
    str_add(out, "[");
    for (size_t i = 0; i < count && i < SHOWN_ITEMS; i++) {
        add_comma(out, i);
        str_printf(out, "%.9g", (double)items[i]);
    }
    str_add(out, count > SHOWN_ITEMS ? ", …]" : "]");
}

static void describe_bytes(struct str *out, const ProtobufCBinaryData *bytes)
{
    clean_quoted(out, bytes->data, bytes->len < SHOWN_BYTES ? bytes->len : SHOWN_BYTES);
    str_add(out, bytes->len > SHOWN_BYTES ? "…" : "");
}

static void describe_tensor(struct str *out, const Onnx__TensorProto *tensor)
{
    str_printf(out, "%s tensor ", dtype_name((enum dtype)tensor->data_type));
    describe_ints(out, tensor->dims, tensor->n_dims);
}

void describe_attribute(struct str *out, const Onnx__AttributeProto *a)
{
    if (a->has_f)
        str_printf(out, "%.9g", (double)a->f);
    else if (a->has_i)
        str_printf(out, "%" PRId64, a->i);
    else if (a->has_s)
        describe_bytes(out, &a->s);
    else if (a->t)
        describe_tensor(out, a->t);
    else if (a->g)
        str_printf(out, "graph of %zu nodes", a->g->n_node);
    else if (a->n_floats)
        describe_floats(out, a->floats, a->n_floats);
    else if (a->n_strings)
        for (size_t i = 0; i < a->n_strings && i < SHOWN_ITEMS; i++) {
            add_comma(out, i);
            describe_bytes(out, &a->strings[i]);
        }
    else
        describe_ints(out, a->ints, a->n_ints);
}

void describe_type(struct str *out, const Onnx__TypeProto *type)
{
    if (type && type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE && type->sequence_type) {
        str_add(out, "sequence of ");
        describe_type(out, type->sequence_type->elem_type);
        return;
    }
    if (type && type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE && type->optional_type) {
        str_add(out, "optional ");
        describe_type(out, type->optional_type->elem_type);
        return;
    }
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !type->tensor_type) {
        str_add(out, "unknown");
        return;
    }
    const Onnx__TensorShapeProto *shape = type->tensor_type->shape;
    str_add(out, dtype_name((enum dtype)type->tensor_type->elem_type));
    if (!shape)
        return;
    str_add(out, " [");
    for (size_t i = 0; i < shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
        str_add(out, i ? "," : "");
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
            str_printf(out, "%" PRId64, dim->dim_value);
        else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && dim->dim_param)
            str_add(out, dim->dim_param);
        else
            str_add(out, "?");
    }
    str_add(out, "]");
}
