/* Passes for If, Loop and Scan: replace the node by its body, and make the body smaller. */
#include "base/str.h"
#include "model/build.h"
#include "model/edit.h"
#include "ops/op.h"
#include "reduce/pass.h"

#include <string.h>

/*
 * IF: the branch taken; LOOP: the first turn; SCAN: the first turn on the first slices. OUTPUT: result `b` of
 * the node goes. TWIN: attribute `b` becomes what attribute `c` is. `a` is the node, of the top graph.
 */
enum { BODY_IF, BODY_LOOP, BODY_SCAN, BODY_OUTPUT, BODY_TWIN };

enum { SCAN_OPSET = 9, TYPES_LIMIT = 16 };

/* How many of the node's results a body carries from turn to turn: those cannot go. */
static size_t n_carried(const Onnx__NodeProto *node)
{
    if (op_has(node, OP_LOOPS))
        return node->n_input > 2 ? node->n_input - 2 : 0;
    int64_t scanned = node_int(node, "num_scan_inputs", 0);
    if (op_has(node, OP_SCANS) && scanned >= 0 && (size_t)scanned <= node->n_input)
        return node->n_input - (size_t)scanned;
    return 0;
}

struct uses {
    const char *name;
};

static int uses_name(void *context, Onnx__NodeProto *node)
{
    const struct uses *uses = context;
    for (size_t i = 0; i < node->n_input; i++)
        if (text_equal(node->input[i], uses->name))
            return 1;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__GraphProto *body = node->attribute[i]->g;
        for (size_t k = 0; body && k < body->n_output; k++)
            if (text_equal(body->output[k]->name, uses->name))
                return 1;
    }
    return 0;
}

static bool is_used(Onnx__GraphProto *graph, const char *name)
{
    struct uses uses = {name};
    for (size_t i = 0; i < graph->n_output; i++)
        if (text_equal(graph->output[i]->name, name))
            return true;
    return model_each_node(graph, uses_name, &uses) != 0;
}

static int count_operator(void *context, Onnx__NodeProto *node)
{
    (void)node;
    ++*(size_t *)context;
    return 0;
}

static int add_type(void *context, Onnx__NodeProto *node)
{
    str_printf(context, "%s ", node->op_type);
    return 0;
}

/* Whether a body has fewer nodes, or as many with operators that come first in the alphabet. This order makes
 * sure that making bodies alike comes to an end. */
static bool is_less(Onnx__GraphProto *a, Onnx__GraphProto *b)
{
    size_t n = 0, m = 0;
    model_each_node(a, count_operator, &n);
    model_each_node(b, count_operator, &m);
    if (n != m)
        return n < m;
    struct str x, y;
    str_init(&x);
    str_init(&y);
    model_each_node(a, add_type, &x);
    model_each_node(b, add_type, &y);
    bool less = strcmp(x.data, y.data) < 0;
    str_release(&x);
    str_release(&y);
    return less;
}

static void list_twins(const Onnx__NodeProto *node, size_t number, struct edits *edits)
{
    for (size_t b = 0; b < node->n_attribute; b++)
        for (size_t c = 0; c < node->n_attribute; c++)
            if (node->attribute[b]->g && node->attribute[c]->g &&
                is_less(node->attribute[c]->g, node->attribute[b]->g))
                edits_add(edits, (struct edit){.kind = BODY_TWIN, .a = number, .b = b, .c = c});
}

static void list_bodies(const struct subject *subject, const struct record *record, struct edits *edits)
{
    static const unsigned flags[] = {OP_BRANCHES, OP_LOOPS, OP_SCANS}; /* of BODY_IF, BODY_LOOP, BODY_SCAN */
    Onnx__GraphProto *graph = subject->model->graph;
    for (size_t n = graph->n_node; n-- > 0;) {
        const Onnx__NodeProto *node = graph->node[n];
        for (int kind = BODY_IF; kind <= BODY_SCAN; kind++)
            if (op_has(node, flags[kind]) && node->n_input &&
                (kind == BODY_LOOP || record_find(record, node->input[node->n_input - 1])))
                edits_add(edits, (struct edit){.kind = kind, .a = n});
        bool has_bodies = op_has(node, OP_BRANCHES | OP_LOOPS | OP_SCANS);
        for (size_t k = n_carried(node); k < node->n_output && has_bodies && node->n_output > 1; k++)
            if (!is_used(graph, node->output[k]))
                edits_add(edits, (struct edit){.kind = BODY_OUTPUT, .a = n, .b = k});
        list_twins(node, n, edits);
    }
}

static void rename_outputs(struct arena *arena, Onnx__GraphProto *body, const char *from, const char *to)
{
    graph_redirect(arena, body, from, to);
    for (size_t i = 0; i < body->n_output; i++)
        if (text_equal(body->output[i]->name, from))
            body->output[i]->name = arena_strdup(arena, to);
}

/* Gives names of values in a body a prefix, so that they clash with no other name. */
static void rename_body(struct arena *arena, Onnx__GraphProto *body, const char *prefix)
{
    for (size_t n = 0; n < body->n_node + body->n_initializer; n++) {
        bool made = n < body->n_node;
        size_t count = made ? body->node[n]->n_output : 1;
        for (size_t k = 0; k < count; k++) {
            char **name = made ? &body->node[n]->output[k] : &body->initializer[n - body->n_node]->name;
            if (!**name)
                continue;
            const char *to = arena_printf(arena, "%s%s", prefix, *name);
            rename_outputs(arena, body, *name, to);
            *name = arena_strdup(arena, to);
        }
    }
}

/* Replaces a node by the nodes of its body; result k of the node is output `first` + k of the body. */
static int inline_body(struct model *model, size_t number, Onnx__GraphProto *body, size_t first)
{
    Onnx__GraphProto *graph = model->graph;
    const Onnx__NodeProto *node = graph->node[number];
    if (body->n_output < first + node->n_output || body->n_sparse_initializer)
        return 1;
    size_t total = graph->n_node - 1 + body->n_node + node->n_output, at = 0;
    Onnx__NodeProto **nodes = arena_array(&model->arena, total, sizeof *nodes);
    for (size_t i = 0; i < number; i++)
        nodes[at++] = graph->node[i];
    for (size_t i = 0; i < body->n_node; i++)
        nodes[at++] = body->node[i];
    Onnx__GraphProto *aside = graph_new(&model->arena, "aside"); /* a node is made inside some graph */
    for (size_t i = 0; i < node->n_output; i++) {
        const char *in = body->output[first + i]->name, *out = node->output[i];
        if (*out)
            nodes[at++] = graph_add_node(&model->arena, aside, "Identity", out, 1, &in, 1, &out);
    }
    for (size_t i = number + 1; i < graph->n_node; i++)
        nodes[at++] = graph->node[i];
    graph->node = nodes;
    graph->n_node = at;
    for (size_t i = 0; i < body->n_initializer; i++)
        graph_add_initializer(&model->arena, graph, body->initializer[i]);
    return 0;
}

static char *prefix_of(struct model *model, size_t number)
{
    return arena_printf(&model->arena, "b%zu_", number);
}

static int inline_if(struct subject *copy, const struct record *record, size_t number)
{
    struct model *model = copy->model;
    const Onnx__NodeProto *node = model->graph->node[number];
    const struct tensor *condition = record_find(record, node->input[0]);
    bool taken = condition && condition->count && tensor_get(condition, 0) != 0;
    Onnx__GraphProto *body = node_graph(node, taken ? "then_branch" : "else_branch");
    if (!body || body->n_output != node->n_output)
        return 1;
    rename_body(&model->arena, body, prefix_of(model, number));
    return inline_body(model, number, body, 0);
}

/* Replaces an input of a body by the given value. */
static void bind_input(struct model *model, Onnx__GraphProto *body, size_t input, const char *to)
{
    rename_outputs(&model->arena, body, body->input[input]->name, to);
}

static int inline_loop(struct subject *copy, size_t number)
{
    struct model *model = copy->model;
    const Onnx__NodeProto *node = model->graph->node[number];
    Onnx__GraphProto *body = node_graph(node, "body");
    size_t carried = n_carried(node);
    struct tensor turn, going;
    struct shape scalar = {0};
    if (!body || body->n_input != carried + 2 || tensor_alloc(&turn, DTYPE_INT64, &scalar, 0, NULL))
        return 1;
    if (tensor_alloc(&going, DTYPE_BOOL, &scalar, 0, NULL)) {
        tensor_release(&turn);
        return 1;
    }
    tensor_set(&turn, 0, 0);
    tensor_set(&going, 0, 1);
    const char *prefix = prefix_of(model, number);
    const char *names[2] = {arena_printf(&model->arena, "%sturn", prefix),
                            arena_printf(&model->arena, "%sgoing", prefix)};
    rename_body(&model->arena, body, prefix);
    model_add_initializer(model, names[0], &turn);
    model_add_initializer(model, names[1], &going);
    for (size_t i = 0; i < body->n_input; i++)
        bind_input(model, body, i, i < 2 ? names[i] : node->input[i]);
    tensor_release(&turn);
    tensor_release(&going);
    return inline_body(model, number, body, 1);
}

/* The first place of a scanned input along its axis, as a leaf without that axis. */
static int add_slice(struct subject *copy, const struct tensor *whole, int64_t axis, const char *name)
{
    struct tensor part;
    if (axis < 0)
        axis += whole ? whole->shape.rank : 0;
    if (!whole || axis < 0 || axis >= whole->shape.rank || whole->shape.dims[axis] < 1 ||
        pass_slice(&part, whole, (int)axis, 0, 1))
        return 1;
    part.shape.rank--;
    memmove(part.shape.dims + axis, part.shape.dims + axis + 1,
            (size_t)(part.shape.rank - axis) * sizeof *part.shape.dims);
    int status = subject_add_input(copy, name, &part);
    tensor_release(&part);
    return status ? 1 : 0;
}

static int inline_scan(struct subject *copy, const struct record *record, size_t number)
{
    struct model *model = copy->model;
    const Onnx__NodeProto *node = model->graph->node[number];
    Onnx__GraphProto *body = node_graph(node, "body");
    size_t carried = n_carried(node), n_axes = 0;
    const int64_t *axes;
    if (!body || body->n_input != node->n_input || model_opset(model) < SCAN_OPSET)
        return 1;
    const char *prefix = prefix_of(model, number);
    rename_body(&model->arena, body, prefix);
    if (!node_ints(node, "scan_input_axes", &axes, &n_axes))
        n_axes = 0;
    for (size_t i = 0; i < body->n_input; i++) {
        const char *name =
            i < carried ? node->input[i] : arena_printf(&model->arena, "%sslice%zu", prefix, i);
        int64_t axis = i >= carried && i - carried < n_axes ? axes[i - carried] : 0;
        bind_input(model, body, i, name);
        if (i >= carried && add_slice(copy, record_find(record, node->input[i]), axis, name))
            return 1;
    }
    return inline_body(model, number, body, 0);
}

static void remove_output(Onnx__GraphProto *body, size_t number)
{
    if (number >= body->n_output)
        return;
    body->n_output--;
    memmove(body->output + number, body->output + number + 1,
            (body->n_output - number) * sizeof *body->output);
}

/* Axes and directions of a Scan's results are given one each: with fewer results they no longer fit. */
static int drop_output(struct subject *copy, const struct edit *edit)
{
    Onnx__NodeProto *node = copy->model->graph->node[edit->a];
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g)
            remove_output(node->attribute[i]->g, edit->b + (op_has(node, OP_LOOPS) ? 1 : 0));
    node_remove_attribute(node, "scan_output_axes");
    node_remove_attribute(node, "scan_output_directions");
    node->n_output--;
    memmove(node->output + edit->b, node->output + edit->b + 1,
            (node->n_output - edit->b) * sizeof *node->output);
    return 0;
}

static int apply_bodies(struct subject *copy, const struct record *record, const struct edit *edit)
{
    Onnx__NodeProto *node = copy->model->graph->node[edit->a];
    switch (edit->kind) {
    case BODY_IF:
        return inline_if(copy, record, edit->a);
    case BODY_LOOP:
        return inline_loop(copy, edit->a);
    case BODY_SCAN:
        return inline_scan(copy, record, edit->a);
    case BODY_OUTPUT:
        return drop_output(copy, edit);
    default:
        node->attribute[edit->b]->g = node->attribute[edit->c]->g;
        return 0;
    }
}

const struct pass pass_bodies = {"bodies", list_bodies, apply_bodies};
