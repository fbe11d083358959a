#include "emit.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct emit_op *const families[] = {
    emit_math,   emit_reduce, emit_move,    emit_window,    emit_normal,
    emit_gather, emit_create, emit_product, emit_recurrent, emit_resize,
};
enum { FAMILIES = sizeof families / sizeof *families };

const struct emit_op *emit_at(size_t number)
{
    for (size_t f = 0; f < FAMILIES; f++)
        for (const struct emit_op *op = families[f]; op->name; op++)
            if (number-- == 0)
                return op;
    return NULL;
}

size_t emit_count(void)
{
    size_t count = 0;
    while (emit_at(count))
        count++;
    return count;
}

const struct emit_op *emit_find(const char *name)
{
    for (size_t f = 0; f < FAMILIES; f++)
        for (const struct emit_op *op = families[f]; op->name; op++)
            if (strcmp(op->name, name) == 0)
                return op;
    return NULL;
}

static int fail(struct emit *e, enum error_code code, const char *format, va_list args)
{
    char text[400];
    vsnprintf(text, sizeof text, format, args);
    return error_set(e->err, code, "%s: %s", e->node->op_type, text);
}

int emit_unsupported(struct emit *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int result = fail(e, ERROR_UNSUPPORTED, format, args);
    va_end(args);
    return result;
}

int emit_invalid(struct emit *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int result = fail(e, ERROR_INVALID, format, args);
    va_end(args);
    return result;
}

static const char *vtext(struct emit *e, const char *format, va_list args)
{
    return arena_vprintf(e->arena, format, args);
}

const char *emit_text(struct emit *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = vtext(e, format, args);
    va_end(args);
    return text;
}

void emit_line(struct emit *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    str_printf(e->text, "    %s\n", vtext(e, format, args));
    va_end(args);
}

const char *emit_let(struct emit *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *name = emit_text(e, "t%zu_%d", e->number, e->temporaries++);
    emit_line(e, "%s = %s", name, vtext(e, format, args));
    va_end(args);
    return name;
}

bool emit_wants(const struct emit *e, size_t i)
{
    return i < e->n_outputs && e->outputs[i];
}

int emit_out(struct emit *e, size_t i, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (emit_wants(e, i))
        emit_line(e, "%s = %s", e->outputs[i], vtext(e, format, args));
    va_end(args);
    return 0;
}

bool emit_has(const struct emit *e, size_t i)
{
    return i < e->n_inputs && e->inputs[i].name;
}

const char *emit_in(const struct emit *e, size_t i)
{
    return emit_has(e, i) ? e->inputs[i].name : "None";
}

const struct shape *emit_shape(const struct emit *e, size_t i)
{
    return &e->inputs[i].shape;
}

enum dtype emit_type(const struct emit *e, size_t i)
{
    return emit_has(e, i) ? e->inputs[i].type : DTYPE_NONE;
}

bool emit_is_float(const struct emit *e, size_t i)
{
    return dtype_is_float(emit_type(e, i));
}

int emit_scalar(struct emit *e, enum dtype type, int *number)
{
    *number = face_scalar_type(type);
    return *number < 0 ? emit_unsupported(e, "the library has no %s", dtype_name(type)) : 0;
}

/* An empty list has no element type of its own. */
static const char *no_ints(struct emit *e)
{
    const char *name = emit_text(e, "t%zu_%d", e->number, e->temporaries++);
    emit_line(e, "%s : List[int] = []", name);
    return name;
}

const char *emit_ints(struct emit *e, const int64_t *values, size_t count)
{
    struct str text;
    if (count == 0)
        return no_ints(e);
    str_init(&text);
    for (size_t i = 0; i < count; i++)
        str_printf(&text, "%s%" PRId64, i ? ", " : "", values[i]);
    const char *list = emit_text(e, "[%s]", text.data);
    str_release(&text);
    return list;
}

const char *emit_float(struct emit *e, double value)
{
    if (isnan(value))
        return "float('nan')";
    if (isinf(value))
        return value > 0 ? "float('inf')" : "float('-inf')";
    const char *text = emit_text(e, "%.17g", value);
    return strpbrk(text, ".e") ? text : emit_text(e, "%s.", text);
}

const char *emit_number(struct emit *e, enum dtype type, long double value)
{
    if (dtype_is_float(type))
        return emit_float(e, (double)value);
    return emit_text(e, "%" PRId64, (int64_t)value);
}

int64_t emit_attr(const struct emit *e, const char *name, int64_t otherwise)
{
    return node_int(e->node, name, otherwise);
}

const char *emit_attr_float(struct emit *e, const char *name, double otherwise)
{
    return emit_float(e, node_attribute(e->node, name) ? (double)node_float(e->node, name, 0) : otherwise);
}

bool emit_word(const struct emit *e, const char *name, const char *word, const char *otherwise)
{
    const char *text = otherwise;
    size_t size = strlen(otherwise);
    node_string(e->node, name, &text, &size);
    return size == strlen(word) && memcmp(text, word, size) == 0;
}

int emit_attr_list(struct emit *e, const char *name, int64_t *values, size_t count)
{
    const int64_t *given;
    size_t n;
    if (!node_ints(e->node, name, &given, &n) || n == 0)
        return 0;
    if (n != count)
        return emit_invalid(e, "%s has %zu values, not %zu", name, n, count);
    memcpy(values, given, n * sizeof *given);
    return 0;
}

int emit_read(struct emit *e, size_t i, struct tensor *tensor)
{
    char message[FACE_MESSAGE_SIZE];
    if (!emit_has(e, i))
        return emit_invalid(e, "input %zu is missing", i);
    if (!e->inputs[i].fixed)
        e->reads_data = true;
    e->as_numbers |= (uint64_t)1 << (i < 63 ? i : 63);
    if (face_tensor_read(e->inputs[i].tensor, tensor, message) < 0)
        return emit_unsupported(e, "%.300s", message);
    return 0;
}

int emit_list(struct emit *e, size_t i, int64_t *values, size_t max, size_t *count)
{
    struct tensor tensor;
    if (emit_read(e, i, &tensor) < 0)
        return -1;
    int result = 0;
    if (!dtype_is_integer(tensor.type))
        result = emit_invalid(e, "input %zu has no integers", i);
    else if (tensor.count > max)
        result = emit_unsupported(e, "input %zu has %zu elements", i, tensor.count);
    *count = result ? 0 : tensor.count;
    for (size_t k = 0; k < *count; k++)
        values[k] = (int64_t)tensor_get(&tensor, k);
    tensor_release(&tensor);
    return result;
}

int emit_scalar_value(struct emit *e, size_t i, long double *value)
{
    struct tensor tensor;
    if (emit_read(e, i, &tensor) < 0)
        return -1;
    bool one = tensor.count == 1;
    *value = one ? tensor_get(&tensor, 0) : 0;
    tensor_release(&tensor);
    return one ? 0 : emit_invalid(e, "input %zu is no scalar", i);
}

int emit_axis(struct emit *e, int64_t axis, int rank, int64_t *normal)
{
    *normal = axis < 0 ? axis + rank : axis;
    if (*normal < 0 || *normal >= rank)
        return emit_invalid(e, "axis %" PRId64 " of a tensor of rank %d", axis, rank);
    return 0;
}

static int compare_axes(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int emit_axes(struct emit *e, size_t input, int rank, int64_t *axes, size_t *count)
{
    const int64_t *given;
    *count = 0;
    if (input && emit_has(e, input)) {
        if (emit_list(e, input, axes, TENSOR_MAX_RANK, count) < 0)
            return -1;
    } else if (node_ints(e->node, "axes", &given, count)) {
        if (*count > TENSOR_MAX_RANK)
            return emit_invalid(e, "%zu axes", *count);
        memcpy(axes, given, *count * sizeof *axes);
    }
    for (size_t i = 0; i < *count; i++)
        if (emit_axis(e, axes[i], rank, &axes[i]) < 0)
            return -1;
    qsort(axes, *count, sizeof *axes, compare_axes);
    for (size_t i = 1; i < *count; i++)
        if (axes[i] == axes[i - 1])
            return emit_invalid(e, "an axis twice");
    return 0;
}

const char *emit_index(struct emit *e, size_t i, int64_t size)
{
    const char *index = emit_let(e, "torch.to(%s, %d)", emit_in(e, i), face_scalar_type(DTYPE_INT64));
    return emit_let(e, "torch.where(torch.lt(%s, 0), torch.add(%s, %" PRId64 "), %s)", index, index, size,
                    index);
}

/* {f:alpha=1.5}: *form stands behind the brace, and is moved behind the closing one. */
static void write_attribute(struct emit *e, const char **form, struct str *text)
{
    char name[40];
    bool is_float = **form == 'f';
    const char *equals = strchr(*form, '='), *end = strchr(*form, '}');
    snprintf(name, sizeof name, "%.*s", (int)(equals - *form - 2), *form + 2);
    double otherwise = strtod(equals + 1, NULL);
    if (is_float)
        str_add(text, emit_attr_float(e, name, otherwise));
    else
        str_printf(text, "%" PRId64, emit_attr(e, name, (int64_t)otherwise));
    *form = end + 1;
}

static int write_form(struct emit *e, const char *form)
{
    struct str text;
    int result = 0;
    str_init(&text);
    while (*form && !result) {
        char c = *form++;
        if (c == '$') {
            size_t input = (size_t)(*form++ - '0');
            if (!emit_has(e, input))
                result = emit_invalid(e, "input %zu is missing", input);
            else
                str_add(&text, emit_in(e, input));
        } else if (c == '{') {
            write_attribute(e, &form, &text);
        } else {
            str_append(&text, &c, 1);
        }
    }
    if (!result)
        emit_out(e, 0, "%s", text.data);
    str_release(&text);
    return result;
}

int emit_node(struct emit *e)
{
    const struct emit_op *op = emit_find(e->node->op_type);
    if (!op || (e->node->domain && e->node->domain[0] && strcmp(e->node->domain, "ai.onnx") != 0))
        return emit_unsupported(e, "no such operator");
    if (op->types && emit_has(e, 0) && !dtype_in(emit_type(e, 0), op->types))
        return emit_unsupported(e, "not of %s", dtype_name(emit_type(e, 0)));
    if (op->flags & EMIT_DATA_SHAPE && emit_has(e, 0) && !e->inputs[0].fixed)
        e->reads_data = true;
    return op->form ? write_form(e, op->form) : op->write(e);
}
