/* The pass over element types. */
#include "base/str.h"
#include "model/build.h"
#include "ops/op.h"
#include "reduce/pass.h"

/*
 * ALL: `a` becomes `b` everywhere. LEAF: leaf `a` gets type `b`. CAST: node `a` of the top graph casts to
 * `b`.
 */
enum { TYPES_EVERYWHERE, TYPES_LEAF, TYPES_CAST };

static const struct {
    enum dtype from, to;
} simpler[] = {
    {DTYPE_BFLOAT16, DTYPE_FLOAT}, {DTYPE_FLOAT16, DTYPE_FLOAT}, {DTYPE_DOUBLE, DTYPE_FLOAT},
    {DTYPE_INT8, DTYPE_INT32},     {DTYPE_UINT8, DTYPE_INT32},   {DTYPE_INT16, DTYPE_INT32},
    {DTYPE_UINT16, DTYPE_INT32},   {DTYPE_UINT32, DTYPE_INT32},  {DTYPE_UINT64, DTYPE_INT64},
};

/* From simple to not: a type only becomes one before it. */
static const enum dtype order[] = {DTYPE_FLOAT, DTYPE_INT32, DTYPE_INT64, DTYPE_BOOL};
enum { ORDER = sizeof order / sizeof *order };

/* Who uses a value, and whether all of them may be given it in another type. */
struct users {
    const struct subject *subject;
    const struct record *record;
    const char *name;
    enum dtype from, to;
    bool fits;
};

/* The checker does not look at types, and lenient engines take what ONNX does not allow. So a node that uses
 * the value must be of an operator that allows the new type, must use the value as its first input, and must
 * have nothing else of the old type, which would have to change as well. */
static int look_at_user(void *context, Onnx__NodeProto *node)
{
    struct users *users = context;
    size_t uses = 0, alike = 0;
    for (size_t i = 0; i < node->n_input; i++) {
        const struct tensor *tensor = record_find(users->record, node->input[i]);
        uses += text_equal(node->input[i], users->name);
        alike += *node->input[i] && (!tensor || tensor->type == users->from);
    }
    for (size_t i = 0; i < node->n_attribute; i++)
        users->fits = users->fits && !node->attribute[i]->g;
    if (!uses)
        return 0;
    const struct op *op = op_of(node);
    users->fits = users->fits && op && uses == 1 && alike == 1 && text_equal(node->input[0], users->name) &&
                  dtype_in(users->to, op_types_at(op, model_opset(users->subject->model)));
    return 0;
}

static void list_simpler(const struct users *value, struct edits *edits, struct edit edit)
{
    enum dtype from = value->from;
    if (!dtype_is_float(from) && !dtype_is_integer(from) && from != DTYPE_BOOL)
        return;
    for (int i = 0; i < ORDER && order[i] != from; i++) {
        struct users users = *value;
        users.to = order[i];
        users.fits = true;
        model_each_node(users.subject->model->graph, look_at_user, &users);
        edit.b = order[i];
        if (users.fits)
            edits_add(edits, edit);
    }
}

static void list_casts(const struct subject *subject, const struct record *record, struct edits *edits)
{
    const Onnx__GraphProto *graph = subject->model->graph;
    for (size_t n = 0; n < graph->n_node; n++) {
        const Onnx__NodeProto *node = graph->node[n];
        if (!op_has(node, OP_CASTS) || !node->n_output)
            continue;
        struct users users = {subject,    record, node->output[0], (enum dtype)node_int(node, "to", 0),
                              DTYPE_NONE, true};
        list_simpler(&users, edits, (struct edit){.kind = TYPES_CAST, .a = n});
    }
}

static void list_leaves(const struct subject *subject, const struct record *record, struct edits *edits)
{
    for (size_t i = 0; i < subject_leaves(subject); i++) {
        struct tensor tensor;
        if (subject_leaf(subject, i, &tensor))
            continue;
        struct users users = {subject, record, subject_leaf_name(subject, i), tensor.type, DTYPE_NONE, true};
        list_simpler(&users, edits, (struct edit){.kind = TYPES_LEAF, .a = i});
        tensor_release(&tensor);
    }
}

static void list_types(const struct subject *subject, const struct record *record, struct edits *edits)
{
    for (size_t t = 0; t < sizeof simpler / sizeof *simpler; t++) {
        bool there = false;
        for (size_t i = 0; i < subject_leaves(subject) && !there; i++) {
            struct tensor tensor;
            if (subject_leaf(subject, i, &tensor))
                continue;
            there = tensor.type == simpler[t].from;
            tensor_release(&tensor);
        }
        if (there)
            edits_add(edits, (struct edit){.a = simpler[t].from, .b = simpler[t].to});
    }
    list_leaves(subject, record, edits);
    list_casts(subject, record, edits);
}

static int convert(struct tensor *to, const struct tensor *from, enum dtype type)
{
    if (tensor_alloc(to, type, &from->shape, 0, NULL))
        return -1;
    for (size_t i = 0; i < from->count; i++)
        tensor_set(to, i, tensor_get(from, i));
    return 0;
}

static void retype_infos(Onnx__ValueInfoProto **infos, size_t count, const struct edit *edit)
{
    for (size_t i = 0; i < count; i++)
        if (infos[i]->type && infos[i]->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE &&
            infos[i]->type->tensor_type && infos[i]->type->tensor_type->elem_type == (int32_t)edit->a)
            infos[i]->type->tensor_type->elem_type = (int32_t)edit->b;
}

struct retype {
    struct arena *arena;
    const struct edit *edit;
};

static int retype_node(void *context, Onnx__NodeProto *node)
{
    const struct retype *retype = context;
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__AttributeProto *attribute = node->attribute[i];
        if ((text_equal(attribute->name, "to") || text_equal(attribute->name, "dtype")) &&
            attribute->i == (int64_t)retype->edit->a)
            attribute->i = (int64_t)retype->edit->b;
        if (attribute->g) {
            retype_infos(attribute->g->input, attribute->g->n_input, retype->edit);
            retype_infos(attribute->g->output, attribute->g->n_output, retype->edit);
        }
        struct tensor old, new;
        if (!attribute->t || attribute->t->data_type != (int32_t)retype->edit->a ||
            model_tensor_read(attribute->t, &old, NULL))
            continue;
        if (!convert(&new, &old, (enum dtype)retype->edit->b)) {
            attribute->t = model_tensor_write(retype->arena, attribute->t->name, &new);
            tensor_release(&new);
        }
        tensor_release(&old);
    }
    return 0;
}

/* A leaf that has the type, or the one asked for. */
static bool retype_leaf(struct subject *copy, size_t leaf, enum dtype from, enum dtype to)
{
    struct tensor old, new;
    bool changed = false;
    if (subject_leaf(copy, leaf, &old))
        return false;
    if ((from == DTYPE_NONE || old.type == from) && !convert(&new, &old, to)) {
        changed = !subject_set_leaf(copy, leaf, &new);
        tensor_release(&new);
    }
    tensor_release(&old);
    return changed;
}

static int apply_types(struct subject *copy, const struct record *record, const struct edit *edit)
{
    struct retype retype = {&copy->model->arena, edit};
    (void)record;
    if (edit->kind == TYPES_CAST)
        node_set_int(retype.arena, copy->model->graph->node[edit->a], "to", (int64_t)edit->b);
    if (edit->kind == TYPES_CAST)
        return 0;
    if (edit->kind == TYPES_LEAF)
        return retype_leaf(copy, edit->a, DTYPE_NONE, (enum dtype)edit->b) ? 0 : 1;
    for (size_t i = 0; i < subject_leaves(copy); i++)
        retype_leaf(copy, i, (enum dtype)edit->a, (enum dtype)edit->b);
    model_each_node(copy->model->graph, retype_node, &retype);
    return 0;
}

const struct pass pass_types = {"types", list_types, apply_types};
