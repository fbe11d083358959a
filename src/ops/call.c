/* What kernels call: their errors, attributes, inputs and outputs (struct op_call in op.h). */
#include "ops/param_value.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int fail(struct op_call *call, enum error_code code, const char *format, va_list args)
{
    char text[400];
    vsnprintf(text, sizeof text, format, args);
    const Onnx__NodeProto *node = call->node;
    const char *name = node->name && *node->name ? node->name : node->n_output ? node->output[0] : "";
    if (!name || !*name)
        return error_set(call->err, code, "%s: %s", op_title(node), text);
    return error_set(call->err, code, "%s (node %s): %s", op_title(node), name, text);
}

int call_invalid(struct op_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int result = fail(call, ERROR_INVALID, format, args);
    va_end(args);
    return result;
}

int call_unsupported(struct op_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int result = fail(call, ERROR_UNSUPPORTED, format, args);
    va_end(args);
    return result;
}

/* The attribute types of the kinds of parameters; inputs have none. */
static const struct {
    Onnx__AttributeProto__AttributeType type;
    const char *words;
} attribute_types[] = {
    [PARAM_INT] = {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT, "an integer"},
    [PARAM_FLOAT] = {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT, "a float"},
    [PARAM_STRING] = {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING, "a string"},
    [PARAM_INTS] = {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS, "a list of integers"},
    [PARAM_FLOATS] = {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS, "a list of floats"},
    [PARAM_TENSOR] = {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR, "a tensor"},
    [PARAM_GRAPH] = {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH, "a graph"},
    [PARAM_STRINGS] = {ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS, "a list of strings"},
};

/* An attribute may have had another type in another opset, in a row of its own. Models of the first IR
 * versions write no types. */
static int check_attribute(struct op_call *call, const Onnx__AttributeProto *attribute)
{
    const struct op_param *wanted = NULL;
    for (const struct op_param *param = call->op->params; param && param->name; param++) {
        if (param->kind == PARAM_INPUT || !text_equal(param->name, attribute->name) ||
            (call->opset && !param_exists(param, call->opset)))
            continue;
        if (attribute->type == attribute_types[param->kind].type)
            return 0;
        wanted = param;
    }
    return wanted ? call_invalid(call, "the attribute %s is not %s", wanted->name,
                                 attribute_types[wanted->kind].words)
                  : 0;
}

int call_check_attributes(struct op_call *call)
{
    for (size_t i = 0; i < call->node->n_attribute; i++)
        if (call->node->attribute[i]->has_type && check_attribute(call, call->node->attribute[i]))
            return -1;
    return 0;
}

int64_t call_int(const struct op_call *call, const char *name, int64_t otherwise)
{
    return node_int(call->node, name, otherwise);
}

double call_float(const struct op_call *call, const char *name, double otherwise)
{
    return call_has(call, name) ? (double)node_float(call->node, name, 0) : otherwise;
}

const char *call_string(const struct op_call *call, const char *name, const char *otherwise)
{
    const char *text;
    size_t size;
    /* The loader and the builder both leave a zero byte behind the text (model.h). */
    return node_string(call->node, name, &text, &size) ? text : otherwise;
}

bool call_has(const struct op_call *call, const char *name)
{
    return node_attribute(call->node, name) != NULL;
}

const int64_t *call_ints(const struct op_call *call, const char *name, size_t *count)
{
    const Onnx__AttributeProto *attribute = node_attribute(call->node, name);
    *count = attribute ? attribute->n_ints : 0;
    return attribute ? attribute->ints : NULL;
}

const struct bounded *call_input(const struct op_call *call, size_t index)
{
    return index < call->n_inputs ? call->inputs[index] : NULL;
}

const struct bounded *call_need(struct op_call *call, size_t index)
{
    const struct bounded *input = call_input(call, index);
    if (!input)
        call_invalid(call, "input %zu is missing", index);
    return input;
}

static int read_ints(struct op_call *call, size_t index, int64_t *values, size_t max, size_t *count)
{
    const struct bounded *input = call_need(call, index);
    if (!input)
        return -1;
    if (!dtype_is_integer(input->type))
        return call_invalid(call, "input %zu is not of an integer type", index);
    if (!input->value)
        return call_unsupported(call, "the shape depends on data (input %zu)", index);
    if (input->count > max)
        return call_invalid(call, "input %zu has %zu values, but at most %zu are allowed", index,
                            input->count, max);
    for (size_t i = 0; i < input->count; i++) {
        if (bounded_hard(input, i) > 0)
            return call_unsupported(call, "input %zu determines a shape, and its value is undecided", index);
        values[i] = (int64_t)input->value[i];
    }
    *count = input->count;
    return 0;
}

int call_int_list(struct op_call *call, size_t index, int64_t *values, size_t max, size_t *count)
{
    const struct bounded *input = call_input(call, index);
    if (input && input->shape.rank != 1)
        return call_invalid(call, "input %zu must be a list of rank 1, but has rank %d", index,
                            input->shape.rank);
    return read_ints(call, index, values, max, count);
}

int call_int_single(struct op_call *call, size_t index, int64_t *value)
{
    size_t count;
    if (read_ints(call, index, value, 1, &count))
        return -1;
    return count == 1 ? 0 : call_invalid(call, "input %zu is empty", index);
}

typedef int make_value(struct bounded *b, enum dtype type, const struct shape *shape, struct error *err);

static int make_form(struct bounded *b, enum dtype type, const struct shape *shape, struct error *err)
{
    return bounded_alloc(b, type, shape, true, err);
}

static int make_zeros(struct bounded *b, enum dtype type, const struct shape *shape, struct error *err)
{
    return bounded_alloc(b, type, shape, false, err);
}

static struct bounded *make_output(struct op_call *call, size_t index, enum dtype type,
                                   const struct shape *shape, make_value *make)
{
    if (dtype_is_narrow(type) && !dtype_in(type, op_narrow_at(call->op, call->opset))) {
        call_invalid(call, "its output cannot be %s in opset %d", dtype_name(type), call->opset);
        return NULL;
    }
    if (index >= call->n_outputs) {
        call_invalid(call, "has no output %zu", index);
        return NULL;
    }
    bounded_release(&call->outputs[index]);
    if (make(&call->outputs[index], type, shape, call->err)) {
        error_prefix(call->err, "%s", op_title(call->node));
        return NULL;
    }
    return &call->outputs[index];
}

struct bounded *call_sequence(struct op_call *call, size_t index, enum dtype type, size_t count)
{
    if (index >= call->n_outputs) {
        call_invalid(call, "has no output %zu", index);
        return NULL;
    }
    bounded_release(&call->outputs[index]);
    return bounded_sequence(&call->outputs[index], type, count, call->err) ? NULL : &call->outputs[index];
}

struct bounded *call_output(struct op_call *call, size_t index, enum dtype type, const struct shape *shape)
{
    return make_output(call, index, type, shape, call->shapes_only ? make_form : make_zeros);
}

struct bounded *call_output_unset(struct op_call *call, size_t index, enum dtype type,
                                  const struct shape *shape)
{
    return make_output(call, index, type, shape, call->shapes_only ? make_form : bounded_alloc_unset);
}

struct bounded *call_output_known(struct op_call *call, size_t index, enum dtype type,
                                  const struct shape *shape)
{
    return make_output(call, index, type, shape, make_zeros);
}

int call_axis(struct op_call *call, int64_t axis, int rank, int *normal)
{
    if (axis < -rank || axis >= rank)
        return call_invalid(call, "axis %" PRId64 " is out of range for rank %d", axis, rank);
    *normal = (int)(axis < 0 ? axis + rank : axis);
    return 0;
}

int call_mark_axes(struct op_call *call, const int64_t *axes, size_t count, int rank,
                   bool marked[TENSOR_MAX_RANK])
{
    memset(marked, 0, TENSOR_MAX_RANK * sizeof *marked);
    for (size_t i = 0; i < count; i++) {
        int axis;
        if (call_axis(call, axes[i], rank, &axis))
            return -1;
        if (marked[axis])
            return call_invalid(call, "axis %d is given twice", axis);
        marked[axis] = true;
    }
    return 0;
}

int call_broadcast(struct op_call *call, const struct shape *a, const struct shape *b, struct shape *out)
{
    struct shape result = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < result.rank; i++) {
        int at_a = i - (result.rank - a->rank), at_b = i - (result.rank - b->rank);
        int64_t x = at_a < 0 ? 1 : a->dims[at_a], y = at_b < 0 ? 1 : b->dims[at_b];
        if (x != y && x != 1 && y != 1) {
            char left[SHAPE_TEXT_SIZE], right[SHAPE_TEXT_SIZE];
            return call_invalid(call, "shapes %s and %s do not broadcast", shape_text(a, left),
                                shape_text(b, right));
        }
        result.dims[i] = x == 1 ? y : x;
    }
    *out = result;
    return 0;
}
