/* Passes over the values of leaves, over attributes and the operator set. */
#include "base/str.h"
#include "model/build.h"
#include "ops/op.h"
#include "reduce/pass.h"

#include <math.h>
#include <stdlib.h>

/* How simple a leaf's values are; an edit only goes to a smaller number. */
enum { LEVEL_ZERO, LEVEL_ONE, LEVEL_SMALL, LEVEL_WHOLE, LEVEL_SHORT, LEVEL_ANY, LEVEL_SPARSE };

enum { SMALL = 8, FEW_ELEMENTS = 32 };

static bool is_numeric(const struct tensor *tensor)
{
    return dtype_is_float(tensor->type) || dtype_is_integer(tensor->type) || tensor->type == DTYPE_BOOL;
}

/* One value at a level: one, a small number, rounded to a whole one or to eighths. Zero stays zero: what was
 * made sparse must not fill up again. */
static long double simplified(long double value, int level, size_t index)
{
    if (value == 0)
        return value;
    switch (level) {
    case LEVEL_ZERO:
        return 0;
    case LEVEL_ONE:
        return 1;
    case LEVEL_SMALL:
        return (long double)(1 + index % SMALL);
    case LEVEL_WHOLE:
        return isfinite(value) ? roundl(value) : value;
    case LEVEL_SHORT:
        return isfinite(value) && fabsl(value) < 1e6L ? roundl(value * 8) / 8 : value;
    default:
        return value;
    }
}

static int level_of(const struct tensor *tensor)
{
    for (int level = LEVEL_ZERO; level < LEVEL_ANY; level++) {
        bool all = true;
        for (size_t i = 0; i < tensor->count && all; i++) {
            long double value = tensor_get(tensor, i);
            all = value == simplified(value, level, i) || (isnan(value) && level >= LEVEL_WHOLE);
        }
        if (all)
            return level;
    }
    return LEVEL_ANY;
}

static size_t nonzero(const struct tensor *tensor)
{
    size_t count = 0;
    for (size_t i = 0; i < tensor->count; i++)
        count += tensor_get(tensor, i) != 0;
    return count;
}

/* SPARSE: elements a part of the leaf long become zero: `b` is the start, `c` the length. */
static void list_sparse(struct edits *edits, size_t leaf, const struct tensor *tensor)
{
    size_t least = tensor->count <= FEW_ELEMENTS ? 1 : (tensor->count + FEW_ELEMENTS - 1) / FEW_ELEMENTS;
    if (nonzero(tensor) < 2)
        return;
    for (size_t length = (tensor->count + 1) / 2;; length = (length + 1) / 2) {
        for (size_t start = 0; start < tensor->count; start += length)
            edits_add(edits, (struct edit){.kind = LEVEL_SPARSE, .a = leaf, .b = start, .c = length});
        if (length <= least)
            break;
    }
}

static void list_values(const struct subject *subject, const struct record *record, struct edits *edits)
{
    (void)record;
    for (size_t i = 0; i < subject_leaves(subject); i++) {
        struct tensor tensor;
        if (subject_leaf(subject, i, &tensor))
            continue;
        int level = is_numeric(&tensor) ? level_of(&tensor) : LEVEL_ZERO;
        for (int to = LEVEL_ZERO; to < level; to++)
            edits_add(edits, (struct edit){.kind = to, .a = i});
        if (level > LEVEL_ZERO)
            list_sparse(edits, i, &tensor);
        tensor_release(&tensor);
    }
}

static int apply_values(struct subject *copy, const struct record *record, const struct edit *edit)
{
    struct tensor tensor;
    bool changed = false;
    (void)record;
    if (subject_leaf(copy, edit->a, &tensor))
        return 1;
    size_t start = edit->kind == LEVEL_SPARSE ? edit->b : 0;
    size_t end = edit->kind == LEVEL_SPARSE ? edit->b + edit->c : tensor.count;
    for (size_t i = start; i < end && i < tensor.count; i++) {
        long double value = tensor_get(&tensor, i);
        long double simple = simplified(value, edit->kind == LEVEL_SPARSE ? LEVEL_ZERO : edit->kind, i);
        changed |= value != simple;
        tensor_set(&tensor, i, simple);
    }
    if (changed)
        subject_set_leaf(copy, edit->a, &tensor);
    tensor_release(&tensor);
    return changed ? 0 : 1;
}

const struct pass pass_values = {"values", list_values, apply_values};

/* Attributes: removed, or one of their numbers set to 0 or 1. */
enum { ATTRIBUTE_REMOVE, ATTRIBUTE_INTS, ATTRIBUTE_INT, ATTRIBUTE_ONE_INT, ATTRIBUTE_FLOAT };

/* Of whole numbers, what is nearer to 0 and 1 is simpler. */
static bool is_simpler(int64_t to, int64_t from)
{
    return to != from && (to == 0 || from != 0);
}

static void list_numbers(struct edits *edits, struct edit edit, const Onnx__AttributeProto *attribute)
{
    for (edit.to = 0; edit.to <= 1; edit.to++) {
        bool any = false;
        for (size_t i = 0; i < attribute->n_ints; i++)
            any |= is_simpler(edit.to, attribute->ints[i]);
        edit.kind = ATTRIBUTE_INTS;
        if (any)
            edits_add(edits, edit);
        edit.kind = ATTRIBUTE_ONE_INT;
        for (size_t i = 0; i < attribute->n_ints && attribute->n_ints > 1; i++) {
            edit.from = (int64_t)i;
            if (is_simpler(edit.to, attribute->ints[i]))
                edits_add(edits, edit);
        }
        edit.kind = ATTRIBUTE_INT;
        if (attribute->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT &&
            is_simpler(edit.to, attribute->i))
            edits_add(edits, edit);
        edit.kind = ATTRIBUTE_FLOAT;
        float f = attribute->f;
        if (attribute->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT && f != (float)edit.to && f != 0)
            edits_add(edits, edit);
    }
}

static void list_attributes(const struct subject *subject, const struct record *record, struct edits *edits)
{
    size_t count;
    Onnx__GraphProto **graphs = pass_graphs(subject->model, &count);
    (void)record;
    for (int numbers = 0; numbers < 2; numbers++)
        for (size_t g = 0; g < count; g++)
            for (size_t n = 0; n < graphs[g]->n_node; n++)
                for (size_t i = 0; i < graphs[g]->node[n]->n_attribute; i++) {
                    const Onnx__AttributeProto *attribute = graphs[g]->node[n]->attribute[i];
                    struct edit edit = {.kind = ATTRIBUTE_REMOVE, .a = g, .b = n, .c = i};
                    if (numbers)
                        list_numbers(edits, edit, attribute);
                    else if (!attribute->g)
                        edits_add(edits, edit);
                }
    free(graphs);
}

static int apply_attributes(struct subject *copy, const struct record *record, const struct edit *edit)
{
    size_t count;
    (void)record;
    Onnx__GraphProto **graphs = pass_graphs(copy->model, &count);
    Onnx__NodeProto *node = graphs[edit->a]->node[edit->b];
    Onnx__AttributeProto *attribute = node->attribute[edit->c];
    free(graphs);
    switch (edit->kind) {
    case ATTRIBUTE_REMOVE:
        node_remove_attribute(node, attribute->name);
        break;
    case ATTRIBUTE_INT:
        attribute->i = edit->to;
        break;
    case ATTRIBUTE_FLOAT:
        attribute->f = (float)edit->to;
        break;
    case ATTRIBUTE_ONE_INT:
        attribute->ints[edit->from] = edit->to;
        break;
    default:
        for (size_t i = 0; i < attribute->n_ints; i++)
            if (is_simpler(edit->to, attribute->ints[i]))
                attribute->ints[i] = edit->to;
    }
    return 0;
}

const struct pass pass_attributes = {"attributes", list_attributes, apply_attributes};

/* No opset below the operator's own. */
static int raise_to(void *context, Onnx__NodeProto *node)
{
    int *least = context;
    const struct op *op = op_of(node);
    if (op && op->since > *least)
        *least = op->since;
    return 0;
}

/* ONNX is far from it; a model may name any number. */
enum { OPSET_BEYOND = 200 };

static void list_opset(const struct subject *subject, const struct record *record, struct edits *edits)
{
    int least = OP_OLDEST; /* before it, texts leave open what they say since (negative axes, SAME_UPPER) */
    (void)record;
    model_each_node(subject->model->graph, raise_to, &least);
    for (int opset = least; opset < model_opset(subject->model) && opset < OPSET_BEYOND; opset++)
        edits_add(edits, (struct edit){.to = opset});
}

static int apply_opset(struct subject *copy, const struct record *record, const struct edit *edit)
{
    const Onnx__ModelProto *proto = copy->model->proto;
    (void)record;
    for (size_t i = 0; i < proto->n_opset_import; i++)
        if (!*proto->opset_import[i]->domain || text_equal(proto->opset_import[i]->domain, "ai.onnx"))
            proto->opset_import[i]->version = edit->to;
    return 0;
}

const struct pass pass_opset = {"opset", list_opset, apply_opset};
