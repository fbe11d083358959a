#include "generate/harvest_text.h"

#include "ops/op.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    DISTINCT_SIZES = 24,
    CUT_VALUES = 256,
    SMALL_CONSTANT = 64, /* integers that may be shapes, axes, indices */
    SMALL_FLOATS = 4,    /* floats whose values matter: 0.5, 6, 1e-5 */
    LARGEST_MULTIPLE = 8
};

struct writer {
    const struct cutting *cut;
    struct str *out;
    int64_t sizes[DISTINCT_SIZES]; /* distinct, ascending; of inputs and weights */
    size_t n_sizes;
    struct error *err;
};

static int cannot(const struct writer *w, const char *what)
{
    return error_set(w->err, ERROR_UNSUPPORTED, "%s", what);
}

static const Onnx__NodeProto *node_at(const struct cutting *cut, size_t i)
{
    return cut->index->model->graph->node[cut->nodes[i]];
}

static bool inside(const struct cutting *cut, const struct index_value *value)
{
    for (size_t i = 0; value->source == SOURCE_NODE && i < cut->count; i++)
        if (cut->nodes[i] == value->number)
            return true;
    return false;
}

/* ---- Sizes ---- */

static void add_size(struct writer *w, int64_t size)
{
    size_t at = 0;
    while (at < w->n_sizes && w->sizes[at] < size)
        at++;
    if (size < 2 || w->n_sizes == DISTINCT_SIZES || (at < w->n_sizes && w->sizes[at] == size))
        return;
    memmove(w->sizes + at + 1, w->sizes + at, (w->n_sizes - at) * sizeof *w->sizes);
    w->sizes[at] = size;
    w->n_sizes++;
}

/* The smallest size of which this one is a small multiple. */
static int64_t base_of(const struct writer *w, int64_t size)
{
    for (size_t i = 0; i < w->n_sizes && w->sizes[i] < size; i++)
        if (size % w->sizes[i] == 0 && size / w->sizes[i] <= LARGEST_MULTIPLE)
            return w->sizes[i];
    return size;
}

static bool is_open(const struct writer *w, int64_t size)
{
    for (size_t i = 0; i < w->n_sizes; i++)
        if (w->sizes[i] == size)
            return w->cut->opening != OPEN_NONE;
    return false;
}

static void write_size(const struct writer *w, int64_t size)
{
    int64_t base = w->cut->opening == OPEN_MULTIPLE ? base_of(w, size) : size;
    if (!is_open(w, size))
        str_printf(w->out, "%" PRId64, size);
    else if (base != size)
        str_printf(w->out, "$(%" PRId64 "*D%" PRId64 ")", size / base, base);
    else
        str_printf(w->out, "$D%" PRId64, size);
}

/* ---- Values ---- */

static void write_name(const struct writer *w, const char *name)
{
    size_t number;
    if (*name && map_get(&w->cut->index->names, name, &number))
        str_printf(w->out, "v%zu", number);
}

static const char *type_word(enum dtype type)
{
    return type == DTYPE_FLOAT ? "float" : type == DTYPE_DOUBLE ? "double" : dtype_name(type);
}

static void write_number(const struct writer *w, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", value);
    str_printf(w->out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

/* Sizes of kernels belong to attributes and stay fixed. */
static bool fixed_dim(const struct writer *w, const struct index_value *value, int dim)
{
    for (size_t i = 0; i < w->cut->count; i++) {
        const Onnx__NodeProto *node = node_at(w->cut, i);
        if (op_has(node, OP_CONVOLVES) && dim >= 2 && node->n_input > 1 &&
            strcmp(node->input[1], value->name) == 0)
            return true;
    }
    return false;
}

static void write_type(const struct writer *w, const struct index_value *value, size_t number)
{
    const struct bounded *b = &w->cut->values[number];
    str_printf(w->out, "%s", type_word(b->type));
    for (int i = 0; i < b->shape.rank; i++) {
        str_add(w->out, i ? ", " : "[");
        if (fixed_dim(w, value, i))
            str_printf(w->out, "%" PRId64, b->shape.dims[i]);
        else
            write_size(w, b->shape.dims[i]);
    }
    str_add(w->out, b->shape.rank ? "]" : "");
}

/* A literal "int64[2] {1, 2}"; integers that are sizes become names when they may be shapes. */
static int write_tensor(const struct writer *w, const struct tensor *tensor, bool sizes)
{
    bool is_float = tensor->type == DTYPE_FLOAT || tensor->type == DTYPE_DOUBLE;
    bool known = is_float || tensor->type == DTYPE_INT64 || tensor->type == DTYPE_INT32 ||
                 tensor->type == DTYPE_UINT8 || tensor->type == DTYPE_INT8 || tensor->type == DTYPE_BOOL;
    if (!known)
        return cannot(w, "a constant of this type");
    str_printf(w->out, "%s", type_word(tensor->type));
    for (int i = 0; i < tensor->shape.rank; i++)
        str_printf(w->out, "%s%" PRId64, i ? ", " : "[", tensor->shape.dims[i]);
    str_add(w->out, tensor->shape.rank ? "] {" : " {");
    for (size_t i = 0; i < tensor->count; i++) {
        long double value = tensor_get(tensor, i);
        if (!isfinite((double)value))
            return cannot(w, "a constant that is not finite");
        str_add(w->out, i ? ", " : "");
        if (is_float)
            write_number(w, (double)value);
        else if (sizes && tensor->type == DTYPE_INT64)
            write_size(w, (int64_t)value);
        else
            str_printf(w->out, "%" PRId64, (int64_t)value);
    }
    str_add(w->out, "}");
    return 0;
}

/* ---- What comes from outside ---- */

enum outside { OUTSIDE_DATA, OUTSIDE_WEIGHT, OUTSIDE_CONSTANT };

/* The numbers of the values that the cut uses and does not make, in the order of their use; -1: too many. */
static int find_outside(const struct writer *w, size_t *numbers, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < w->cut->count; i++) {
        const Onnx__NodeProto *node = node_at(w->cut, i);
        for (size_t k = 0; k < node->n_input; k++) {
            size_t number, at = 0;
            if (!*node->input[k] || !map_get(&w->cut->index->names, node->input[k], &number) ||
                inside(w->cut, &w->cut->index->values[number]))
                continue;
            while (at < *count && numbers[at] != number)
                at++;
            if (at < *count)
                continue;
            if (*count == CUT_VALUES)
                return cannot(w, "too many inputs");
            numbers[(*count)++] = number;
        }
    }
    return 0;
}

static int classify(const struct writer *w, size_t number, enum outside *kind)
{
    const struct bounded *b = &w->cut->values[number];
    if (b->type == DTYPE_NONE || b->type == DTYPE_STRING || b->shape.rank > 6)
        return cannot(w, "a value of unknown type or shape");
    if (w->cut->index->values[number].source != SOURCE_INITIALIZER) {
        *kind = OUTSIDE_DATA;
        return dtype_is_float(b->type) ? 0 : cannot(w, "data that is not of floats");
    }
    bool is_float = dtype_is_float(b->type);
    *kind =
        b->count <= (size_t)(is_float ? SMALL_FLOATS : SMALL_CONSTANT) ? OUTSIDE_CONSTANT : OUTSIDE_WEIGHT;
    if (is_float && b->shape.rank && b->count > 1)
        *kind = OUTSIDE_WEIGHT; /* its shape follows sizes */
    return !is_float && *kind == OUTSIDE_WEIGHT ? cannot(w, "a large constant of integers") : 0;
}

static void write_input(const struct writer *w, size_t number, bool first)
{
    str_add(w->out, first ? "" : ", ");
    write_type(w, &w->cut->index->values[number], number);
    str_add(w->out, " ");
    write_name(w, w->cut->index->values[number].name);
}

static int write_constant(const struct writer *w, size_t number)
{
    const struct index_value *value = &w->cut->index->values[number];
    struct tensor tensor;
    if (model_weight(w->cut->index->model, value->number, &tensor, w->err))
        return -1;
    str_add(w->out, "  ");
    write_name(w, value->name);
    str_add(w->out, " = Constant <value = ");
    int result = write_tensor(w, &tensor, true);
    str_add(w->out, "> ()\n");
    tensor_release(&tensor);
    return result;
}

/* ---- Nodes ---- */

static int write_ints(const struct writer *w, const Onnx__AttributeProto *a)
{
    if (!a->n_ints)
        return cannot(w, "an empty list");
    for (size_t i = 0; i < a->n_ints; i++)
        str_printf(w->out, "%s%" PRId64, i ? ", " : "[", a->ints[i]);
    str_add(w->out, "]");
    return 0;
}

static int write_floats(const struct writer *w, const Onnx__AttributeProto *a)
{
    for (size_t i = 0; i < a->n_floats; i++) {
        str_add(w->out, i ? ", " : "[");
        write_number(w, a->floats[i]);
    }
    str_add(w->out, "]");
    return a->n_floats ? 0 : cannot(w, "an empty list");
}

static int write_quoted(const struct writer *w, const ProtobufCBinaryData *text)
{
    for (size_t i = 0; i < text->len; i++)
        if (text->data[i] < ' ' || text->data[i] > '~' || text->data[i] == '"' || text->data[i] == '\\')
            return cannot(w, "a text with odd letters");
    str_printf(w->out, "\"%.*s\"", (int)text->len, (const char *)text->data);
    return 0;
}

static int write_strings(const struct writer *w, const Onnx__AttributeProto *a)
{
    int result = a->n_strings ? 0 : cannot(w, "an empty list");
    for (size_t i = 0; !result && i < a->n_strings; i++) {
        str_add(w->out, i ? ", " : "[");
        result = write_quoted(w, &a->strings[i]);
    }
    str_add(w->out, "]");
    return result;
}

static int write_attribute(const struct writer *w, const Onnx__AttributeProto *a)
{
    bool size = strcmp(a->name, "group") == 0 || strcmp(a->name, "hidden_size") == 0;
    struct tensor tensor;
    str_printf(w->out, "%s = ", a->name);
    switch (a->type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        if (size)
            write_size(w, a->i);
        else
            str_printf(w->out, "%" PRId64, a->i);
        return 0;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        write_number(w, a->f);
        return isfinite(a->f) ? 0 : cannot(w, "an attribute that is not finite");
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        return write_quoted(w, &a->s);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        return write_ints(w, a);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        return write_floats(w, a);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
        return write_strings(w, a);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
        if (!a->t || model_tensor_read(a->t, &tensor, w->err))
            return -1;
        int result = tensor.count > SMALL_CONSTANT || tensor.type == DTYPE_STRING
                         ? cannot(w, "a large constant")
                         : write_tensor(w, &tensor, true);
        tensor_release(&tensor);
        return result;
    default:
        return cannot(w, "an attribute of this kind");
    }
}

static int write_node(const struct writer *w, const Onnx__NodeProto *node)
{
    str_add(w->out, "  ");
    for (size_t i = 0; i < node->n_output; i++) {
        str_add(w->out, i ? ", " : "");
        write_name(w, node->output[i]);
    }
    str_printf(w->out, " = %s", node->op_type);
    for (size_t i = 0; i < node->n_attribute; i++) {
        str_add(w->out, i ? ", " : " <");
        if (write_attribute(w, node->attribute[i]))
            return -1;
    }
    str_add(w->out, node->n_attribute ? "> (" : " (");
    for (size_t i = 0; i < node->n_input; i++) {
        str_add(w->out, i ? ", " : "");
        write_name(w, node->input[i]);
    }
    str_add(w->out, ")\n");
    return 0;
}

/* Whether a value is an output of the cut: no node inside uses it, or a node outside does. */
static bool goes_out(const struct cutting *cut, const struct index_value *value)
{
    bool used = false;
    for (size_t i = 0; i < value->consumers; i++) {
        bool within = false;
        for (size_t k = 0; k < cut->count; k++)
            within |= cut->nodes[k] == value->consumer[i];
        if (!within)
            return true;
        used = true;
    }
    return !used || value->is_output;
}

static void write_outputs(const struct writer *w)
{
    bool first = true;
    for (size_t i = 0; i < w->cut->count; i++) {
        const Onnx__NodeProto *node = node_at(w->cut, i);
        for (size_t k = 0; k < node->n_output; k++) {
            const struct index_value *value =
                *node->output[k] ? model_index_find(w->cut->index, node->output[k]) : NULL;
            size_t number = value ? (size_t)(value - w->cut->index->values) : 0;
            if (!value || !goes_out(w->cut, value) || w->cut->values[number].type == DTYPE_NONE)
                continue;
            str_printf(w->out, "%s%s[] ", first ? "" : ", ", type_word(w->cut->values[number].type));
            write_name(w, value->name);
            first = false;
        }
    }
}

/* A variance drawn like other weights would be negative half of the time. */
static bool is_variance(const struct cutting *cut, const char *name)
{
    for (size_t i = 0; i < cut->count; i++) {
        const Onnx__NodeProto *node = node_at(cut, i);
        const struct op *op = op_of(node);
        size_t input = op ? op->range.never_negative : 0;
        if (input && node->n_input > input && strcmp(node->input[input], name) == 0)
            return true;
    }
    return false;
}

static void write_directives(const struct writer *w, const size_t *numbers, const enum outside *kinds,
                             size_t count)
{
    const struct cutting *cut = w->cut;
    str_printf(w->out, "#: opsets %d..%d\n", cut->since, cut->until);
    for (size_t i = 0; i < w->n_sizes && cut->opening != OPEN_NONE; i++)
        if (cut->opening == OPEN_ALL || base_of(w, w->sizes[i]) == w->sizes[i])
            str_printf(w->out, "#: dim D%" PRId64 " %d..%d\n", w->sizes[i], cut->low, cut->high);
    str_add(w->out, "#: data");
    for (size_t i = 0, n = 0; i < count; i++)
        if (kinds[i] == OUTSIDE_DATA) {
            str_add(w->out, n++ ? ", " : " ");
            write_name(w, cut->index->values[numbers[i]].name);
        }
    str_add(w->out, "\n");
    for (size_t i = 0; i < count; i++)
        if (kinds[i] == OUTSIDE_WEIGHT && is_variance(cut, cut->index->values[numbers[i]].name)) {
            str_add(w->out, "#: fill ");
            write_name(w, cut->index->values[numbers[i]].name);
            str_add(w->out, " 0.3..2\n");
        }
}

static int write_all(struct writer *w, const size_t *numbers, const enum outside *kinds, size_t count)
{
    bool first = true;
    write_directives(w, numbers, kinds, count);
    str_printf(w->out, "<ir_version: 8, opset_import: [\"\" : %d]>\ncut (", w->cut->since);
    for (int kind = OUTSIDE_DATA; kind <= OUTSIDE_WEIGHT; kind++)
        for (size_t i = 0; i < count; i++)
            if (kinds[i] == (enum outside)kind) {
                write_input(w, numbers[i], first);
                first = false;
            }
    str_add(w->out, ") => (");
    write_outputs(w);
    str_add(w->out, ")\n{\n");
    for (size_t i = 0; i < count; i++)
        if (kinds[i] == OUTSIDE_CONSTANT && write_constant(w, numbers[i]))
            return -1;
    for (size_t i = 0; i < w->cut->count; i++)
        if (write_node(w, node_at(w->cut, i)))
            return -1;
    str_add(w->out, "}\n");
    return 0;
}

int harvest_text(struct str *out, const struct cutting *cut, struct error *err)
{
    struct writer w = {.cut = cut, .out = out, .err = err};
    size_t numbers[CUT_VALUES], count, data = 0;
    enum outside kinds[CUT_VALUES];
    if (find_outside(&w, numbers, &count))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (classify(&w, numbers[i], &kinds[i]))
            return -1;
        data += kinds[i] == OUTSIDE_DATA;
        const struct bounded *b = &cut->values[numbers[i]];
        for (int k = 0; kinds[i] != OUTSIDE_CONSTANT && k < b->shape.rank; k++)
            if (!fixed_dim(&w, &cut->index->values[numbers[i]], k))
                add_size(&w, b->shape.dims[k]);
    }
    if (!data)
        return cannot(&w, "no data comes in");
    return write_all(&w, numbers, kinds, count);
}
