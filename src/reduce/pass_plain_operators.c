/* Bystanders that a failure needs as some node, but not as that one: the plainest operators in their place.
 */
#include "base/str.h"
#include "model/build.h"
#include "ops/op.h"
#include "reduce/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * LEAF: a node of the top graph whose result comes from a leaf of its own instead: what led to it goes. LIKE:
 * the node is plain on its first input. CAST: CastLike is Cast. ONEWAY: of a bidirectional network one half,
 * `c` tells which. `a` is the graph, `b` the node.
 */
enum { PLAIN_LEAF, PLAIN_LIKE, PLAIN_CAST, PLAIN_ONEWAY };

bool pass_is_plain(const char *type, size_t length)
{
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        if (op->flags & OP_UNDOES_ITSELF && strlen(op->name) == length &&
            strncmp(op->name, type, length) == 0)
            return true;
    return false;
}

/* The plain operator that an opset has for a type, or NULL. Of those that have a sign Abs, the first in the
 * table, is none: the last counts. */
static const struct op *plain_of(const struct model *model, enum dtype type)
{
    const struct op *plain = NULL;
    for (const struct op *op = op_after(NULL); op; op = op_after(op))
        if (op->flags & OP_UNDOES_ITSELF && dtype_in(type, op_types_at(op, model_opset(model))))
            plain = op;
    return plain;
}

/* Inside a body nothing is recorded: what gives what it takes, and only takes numbers with a sign, can be
 * Neg. */
static bool can_be_negation(const struct model *model, const Onnx__NodeProto *node)
{
    const struct op *op = op_of(node);
    dtype_set types = op ? op_types_at(op, model_opset(model)) : 0;
    return types && op->inputs.most == 1 && op->result == RESULT_LIKE_INPUT &&
           (types & (DTYPES_FLOAT | DTYPES_SIGNED)) == types && !(op->flags & OP_UNDOES_ITSELF);
}

static bool is_leaf(const struct subject *subject, const char *name)
{
    for (size_t i = 0; i < subject_leaves(subject); i++)
        if (text_equal(subject_leaf_name(subject, i), name))
            return true;
    return false;
}

static bool is_bidirectional(const Onnx__NodeProto *node)
{
    const char *text;
    size_t size;
    return node_string(node, "direction", &text, &size) && size == strlen("bidirectional") &&
           memcmp(text, "bidirectional", size) == 0;
}

static bool is_mentioned(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t n = 0; n < graph->n_node; n++) {
        for (size_t i = 0; i < graph->node[n]->n_input; i++)
            if (text_equal(graph->node[n]->input[i], name))
                return true;
        for (size_t i = 0; i < graph->node[n]->n_attribute; i++)
            if (graph->node[n]->attribute[i]->g)
                return true; /* a body may: it is not looked into */
    }
    return false;
}

static void list_top(const struct subject *subject, const struct record *record, size_t n,
                     struct edits *edits)
{
    const Onnx__GraphProto *graph = subject->model->graph;
    const Onnx__NodeProto *node = graph->node[n];
    const struct tensor *result = node->n_output ? record_find(record, node->output[0]) : NULL;
    const struct tensor *input = node->n_input ? record_find(record, node->input[0]) : NULL;
    if (text_equal(node->op_type, "CastLike") && result)
        edits_add(edits, (struct edit){.kind = PLAIN_CAST, .b = n});
    for (size_t c = 0; c < 2 && is_bidirectional(node); c++)
        edits_add(edits, (struct edit){.kind = PLAIN_ONEWAY, .b = n, .c = c});
    if (graph->n_node < 2)
        return;
    const struct op *own = result ? plain_of(subject->model, result->type) : NULL;
    if (own && !(op_has(node, OP_UNDOES_ITSELF) && is_leaf(subject, node->input[0])))
        edits_add(edits, (struct edit){.kind = PLAIN_LEAF, .b = n});
    /* Who uses the result must be given the type it had. */
    bool same = input && result && (input->type == result->type || !is_mentioned(graph, node->output[0]));
    if (same && plain_of(subject->model, input->type) && !op_has(node, OP_UNDOES_ITSELF))
        edits_add(edits, (struct edit){.kind = PLAIN_LIKE, .b = n});
}

static void list_plain(const struct subject *subject, const struct record *record, struct edits *edits)
{
    size_t count;
    Onnx__GraphProto **graphs = pass_graphs(subject->model, &count);
    for (size_t g = 0; g < count; g++)
        for (size_t n = graphs[g]->n_node; n-- > 0;) {
            const Onnx__NodeProto *node = graphs[g]->node[n];
            if (!g)
                list_top(subject, record, n, edits);
            else if (node->n_input && node->n_output && can_be_negation(subject->model, node))
                edits_add(edits, (struct edit){.kind = PLAIN_LIKE, .a = g, .b = n});
        }
    free(graphs);
}

static void make_plain(struct model *model, Onnx__NodeProto *node, const char *type, const char *input)
{
    node->op_type = arena_strdup(&model->arena, type);
    node->domain = arena_strdup(&model->arena, "");
    node->n_attribute = 0;
    node->n_input = 1;
    node->input = arena_array(&model->arena, 1, sizeof *node->input);
    node->input[0] = arena_strdup(&model->arena, input);
    node->n_output = 1;
}

/* The leaf holds what the plain operator turns into the result. */
static int plain_leaf(struct subject *copy, const struct record *record, Onnx__NodeProto *node)
{
    struct model *model = copy->model;
    const struct tensor *result = record_find(record, node->output[0]);
    struct tensor leaf;
    if (!result || tensor_copy(&leaf, result, NULL))
        return 1;
    const struct op *op = plain_of(model, leaf.type);
    const char *name = arena_printf(&model->arena, "%s_leaf", node->output[0]);
    if (is_leaf(copy, name) || record_find(record, name)) {
        tensor_release(&leaf);
        return 1;
    }
    bool is_signed = dtype_in(leaf.type, DTYPES_FLOAT | DTYPES_SIGNED);
    for (size_t i = 0; i < leaf.count; i++) {
        long double x = tensor_get(&leaf, i);
        tensor_set(&leaf, i, leaf.type == DTYPE_BOOL ? x == 0 : is_signed ? -x : x);
    }
    int status = subject_add_input(copy, name, &leaf);
    tensor_release(&leaf);
    make_plain(model, node, op->type, name);
    return status ? 1 : 0;
}

static int plain_like(struct subject *copy, const struct record *record, const struct edit *edit,
                      Onnx__NodeProto *node)
{
    const struct tensor *input = edit->a ? NULL : record_find(record, node->input[0]);
    make_plain(copy->model, node, input ? plain_of(copy->model, input->type)->type : "Neg", node->input[0]);
    return 0;
}

static int plain_cast(struct subject *copy, const struct record *record, Onnx__NodeProto *node)
{
    struct arena *arena = &copy->model->arena;
    const struct tensor *result = record_find(record, node->output[0]);
    if (!result)
        return 1;
    node->op_type = arena_strdup(arena, "Cast");
    node->n_input = 1;
    node_set_int(arena, node, "to", (int64_t)result->type);
    return 0;
}

/* One half of a leaf along the axis of directions; what is no leaf, or has no two halves, stays. */
static void halve_leaf(struct subject *copy, const char *name, int axis, size_t half)
{
    for (size_t i = 0; i < subject_leaves(copy); i++) {
        struct tensor whole, part;
        if (!text_equal(subject_leaf_name(copy, i), name) || subject_leaf(copy, i, &whole))
            continue;
        if (axis < whole.shape.rank && whole.shape.dims[axis] == 2 &&
            !pass_slice(&part, &whole, axis, (int64_t)half, 1)) {
            subject_set_leaf(copy, i, &part);
            tensor_release(&part);
        }
        tensor_release(&whole);
    }
}

/* Lists of activations and of their numbers come in two halves. */
static void halve_lists(Onnx__NodeProto *node, size_t half)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__AttributeProto *attribute = node->attribute[i];
        attribute->n_strings /= 2;
        attribute->n_floats /= 2;
        if (half && attribute->n_strings)
            attribute->strings += attribute->n_strings;
        if (half && attribute->n_floats)
            attribute->floats += attribute->n_floats;
    }
}

static int plain_oneway(struct subject *copy, Onnx__NodeProto *node, size_t half)
{
    enum { SEQUENCE = 0, LENGTHS = 4, INITIAL = 5, LAST_INITIAL = 6 };
    bool batch_first = node_int(node, "layout", 0) != 0;
    for (size_t i = 0; i < node->n_input; i++) {
        bool initial = i >= INITIAL && i <= LAST_INITIAL;
        if (i != SEQUENCE && i != LENGTHS && *node->input[i])
            halve_leaf(copy, node->input[i], initial && batch_first ? 1 : 0, half);
    }
    halve_lists(node, half);
    if (half)
        node_set_string(&copy->model->arena, node, "direction", "reverse");
    else
        node_remove_attribute(node, "direction");
    return 0;
}

static int apply_plain(struct subject *copy, const struct record *record, const struct edit *edit)
{
    size_t count;
    Onnx__GraphProto **graphs = pass_graphs(copy->model, &count);
    Onnx__NodeProto *node = graphs[edit->a]->node[edit->b];
    free(graphs);
    switch (edit->kind) {
    case PLAIN_LEAF:
        return plain_leaf(copy, record, node);
    case PLAIN_LIKE:
        return plain_like(copy, record, edit, node);
    case PLAIN_CAST:
        return plain_cast(copy, record, node);
    default:
        return plain_oneway(copy, node, edit->c);
    }
}

const struct pass pass_plain = {"plain", list_plain, apply_plain};
