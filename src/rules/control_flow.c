/* Rules that put a node into the body of an If or a Loop, which uses the values around it. */
#include "rules/rule.h"

#include "base/str.h"
#include "model/tree.h"

enum { MAX_OUTPUTS = 16, MAX_BODY_RANK = 7 };

/* A node that is moved into a body, with the outputs that it has. */
struct moved {
    struct rewrite *rewrite;
    Onnx__NodeProto *node;
    size_t count;
    const char *names[MAX_OUTPUTS]; /* in the graph */
    const struct bounded *types[MAX_OUTPUTS];
};

static bool has_body(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g || node->attribute[i]->n_graphs)
            return true;
    return false;
}

/* False when the node cannot be moved: its outputs must be tensors of known types. */
static bool moved_init(struct moved *moved, struct rewrite *rewrite, Onnx__NodeProto *node)
{
    *moved = (struct moved){.rewrite = rewrite, .node = node};
    if (has_body(node) || node->n_output > MAX_OUTPUTS || rewrite_opset(rewrite) < 11)
        return false;
    for (size_t i = 0; i < node->n_output; i++) {
        if (!*node->output[i])
            continue;
        const struct bounded *type = rewrite_type(rewrite, node->output[i]);
        /* From opset 13 on If and Loop take every type. */
        if (!type || (type->type == DTYPE_BFLOAT16 && rewrite_opset(rewrite) < 13))
            return false;
        moved->names[moved->count] = node->output[i];
        moved->types[moved->count++] = type;
    }
    return moved->count > 0;
}

static const char *body_node(struct moved *moved, Onnx__GraphProto *body, const char *op_type,
                             const char *input, Onnx__NodeProto **node)
{
    struct rewrite *rewrite = moved->rewrite;
    const char *output = rewrite_name(rewrite, "inner");
    Onnx__NodeProto *made = graph_add_node(&rewrite->model->arena, body, op_type,
                                           rewrite_name(rewrite, op_type), input != NULL, &input, 1, &output);
    if (node)
        *node = made;
    return output;
}

/* The node in a body. `results` are the names of the outputs there; the value `from` is called `to`. */
static void body_copy(struct moved *moved, Onnx__GraphProto *body, const char *from, const char *to,
                      const char **results)
{
    struct arena *arena = &moved->rewrite->model->arena;
    Onnx__NodeProto *copy = (Onnx__NodeProto *)tree_copy(&moved->node->base, arena, NULL, NULL);
    Onnx__NodeProto *added =
        graph_add_node(arena, body, copy->op_type, rewrite_name(moved->rewrite, "inner"), copy->n_input,
                       (const char *const *)copy->input, copy->n_output, (const char *const *)copy->output);
    added->domain = copy->domain;
    added->attribute = copy->attribute;
    added->n_attribute = copy->n_attribute;
    for (size_t i = 0; from && i < added->n_input; i++)
        if (text_equal(added->input[i], from))
            added->input[i] = arena_strdup(arena, to);
    size_t count = 0;
    for (size_t i = 0; i < added->n_output; i++)
        if (*added->output[i]) {
            results[count] = rewrite_name(moved->rewrite, "inner");
            added->output[i] = arena_strdup(arena, results[count++]);
        }
}

static void body_outputs(struct moved *moved, Onnx__GraphProto *body, const char *const *results)
{
    for (size_t i = 0; i < moved->count; i++)
        graph_add_output(&moved->rewrite->model->arena, body,
                         rewrite_info(moved->rewrite, results[i], moved->types[i]));
}

static const char *body_bool(struct moved *moved, Onnx__GraphProto *body, bool value)
{
    struct tensor tensor;
    struct shape scalar = {.rank = 0};
    Onnx__NodeProto *node;
    const char *name = body_node(moved, body, "Constant", NULL, &node);
    if (tensor_alloc(&tensor, DTYPE_BOOL, &scalar, 0, NULL))
        return name;
    tensor_set(&tensor, 0, value);
    node_set_tensor(&moved->rewrite->model->arena, node, "value", &tensor);
    tensor_release(&tensor);
    return name;
}

/* Whether ConstantOfShape can give all outputs. */
static bool can_be_zeros(const struct moved *moved)
{
    const dtype_set types = (DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL)) & ~DTYPE_BIT(DTYPE_BFLOAT16);
    for (size_t i = 0; i < moved->count; i++)
        if (!dtype_in(moved->types[i]->type, types))
            return false;
    return true;
}

/* Says which element the ConstantOfShape node repeats: a zero of the type. */
static void set_zero(struct moved *moved, Onnx__NodeProto *node, enum dtype type)
{
    struct tensor zero;
    struct shape one = {.rank = 1, .dims = {1}};
    if (tensor_alloc(&zero, type, &one, 0, NULL))
        return;
    node_set_tensor(&moved->rewrite->model->arena, node, "value", &zero);
    tensor_release(&zero);
}

static const char *sizes(struct moved *moved, size_t output)
{
    const struct shape *shape = &moved->types[output]->shape;
    return rewrite_ints(moved->rewrite, shape->dims, (size_t)shape->rank);
}

/* --- If --- */

/* True, known before the run or only then: the number of elements of a value is what it is. */
static const char *condition(struct moved *moved)
{
    struct rewrite *rewrite = moved->rewrite;
    const struct bounded *x = rewrite_input(rewrite, moved->node, 0);
    if (!x || rng_chance(&rewrite->rng, 0.4) || !rewrite_takes(rewrite, "Size", x->type))
        return rewrite_scalar(rewrite, DTYPE_BOOL, 0, 1);
    const char *size = rewrite_op(rewrite, "Size", NULL, moved->node->input[0], NULL);
    if (rng_chance(&rewrite->rng, 0.5))
        return rewrite_op(rewrite, "Greater", NULL, size, rewrite_scalar(rewrite, DTYPE_INT64, 0, -1), NULL);
    return rewrite_op(rewrite, "Equal", NULL, size,
                      rewrite_scalar(rewrite, DTYPE_INT64, 0, (long double)x->count), NULL);
}

/* The branch that is not taken: zeros, or the same node. */
static Onnx__GraphProto *other_branch(struct moved *moved)
{
    struct rewrite *rewrite = moved->rewrite;
    const char *results[MAX_OUTPUTS];
    Onnx__GraphProto *body = graph_new(&rewrite->model->arena, rewrite_name(rewrite, "other"));
    if (rng_chance(&rewrite->rng, 0.5) && can_be_zeros(moved))
        for (size_t i = 0; i < moved->count; i++) {
            Onnx__NodeProto *node;
            results[i] = body_node(moved, body, "ConstantOfShape", sizes(moved, i), &node);
            set_zero(moved, node, moved->types[i]->type);
        }
    else
        body_copy(moved, body, NULL, NULL, results);
    body_outputs(moved, body, results);
    return body;
}

static int if_true(struct rewrite *rewrite, const struct rule_site *site)
{
    struct moved moved;
    const char *results[MAX_OUTPUTS];
    struct arena *arena = &rewrite->model->arena;
    if (!moved_init(&moved, rewrite, site->node))
        return 0;
    Onnx__GraphProto *body = graph_new(arena, rewrite_name(rewrite, "taken"));
    body_copy(&moved, body, NULL, NULL, results);
    body_outputs(&moved, body, results);
    const char *decision = condition(&moved);
    bool negated = rng_chance(&rewrite->rng, 0.3);
    if (negated)
        decision = rewrite_op(rewrite, "Not", NULL, decision, NULL);
    Onnx__NodeProto *node = model_add_node(rewrite->model, "If", rewrite_name(rewrite, "If"), 1, &decision,
                                           moved.count, moved.names);
    node_set_graph(arena, node, negated ? "else_branch" : "then_branch", body);
    node_set_graph(arena, node, negated ? "then_branch" : "else_branch", other_branch(&moved));
    rewrite_remove(rewrite, site->node);
    return 1;
}

const struct rule rule_if_true = {
    .name = "if-true",
    .summary = "a node in that branch of an If which is always taken",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .apply = if_true,
};

/* --- Loop --- */

/* How a Loop comes to run once: by its trip count, or because its condition ends it. */
struct once {
    const char *trips, *condition; /* "": omitted */
    bool goes_on;                  /* what the body says */
};

static struct once draw_once(struct rewrite *rewrite)
{
    const char *one = rewrite_scalar(rewrite, DTYPE_INT64, 0, 1),
               *yes = rewrite_scalar(rewrite, DTYPE_BOOL, 0, 1);
    switch (rng_below(&rewrite->rng, 4)) {
    case 0:
        return (struct once){one, "", true};
    case 1:
        return (struct once){one, yes, true};
    case 2:
        return (struct once){"", yes, false};
    default:
        return (struct once){rewrite_scalar(rewrite, DTYPE_INT64, 0, 5), yes, false};
    }
}

static const char *body_input(struct moved *moved, Onnx__GraphProto *body, const struct bounded *type)
{
    const char *name = rewrite_name(moved->rewrite, "inner");
    graph_add_input(&moved->rewrite->model->arena, body, rewrite_info(moved->rewrite, name, type));
    return name;
}

/* A Loop under construction: what goes in, what comes out, and its body. */
struct loop {
    struct once once;
    Onnx__GraphProto *body;
    size_t count; /* carried values */
    const char *initial[MAX_OUTPUTS + 3], *last[MAX_OUTPUTS + 1];
};

static void loop_init(struct loop *loop, struct moved *moved)
{
    static const struct bounded counter = {.type = DTYPE_INT64}, flag = {.type = DTYPE_BOOL};
    struct rewrite *rewrite = moved->rewrite;
    struct arena *arena = &rewrite->model->arena;
    loop->count = 0;
    loop->once = draw_once(rewrite);
    loop->body = graph_new(arena, rewrite_name(rewrite, "body"));
    body_input(moved, loop->body, &counter);
    body_input(moved, loop->body, &flag);
    const char *goes_on = body_bool(moved, loop->body, loop->once.goes_on);
    graph_add_output(arena, loop->body, rewrite_info(rewrite, goes_on, &flag));
}

static void loop_finish(struct loop *loop, struct moved *moved)
{
    struct rewrite *rewrite = moved->rewrite;
    const char *inputs[MAX_OUTPUTS + 3] = {loop->once.trips, loop->once.condition};
    size_t outputs = loop->body->n_output - 1;
    for (size_t i = 0; i < loop->count; i++)
        inputs[i + 2] = loop->initial[i];
    Onnx__NodeProto *node = model_add_node(rewrite->model, "Loop", rewrite_name(rewrite, "Loop"),
                                           loop->count + 2, inputs, outputs, loop->last);
    node_set_graph(&rewrite->model->arena, node, "body", loop->body);
    rewrite_remove(rewrite, moved->node);
}

/* Results that the loop carries from zeros to what the node gives. */
static void carry_results(struct loop *loop, struct moved *moved)
{
    for (size_t i = 0; i < moved->count; i++) {
        Onnx__NodeProto *node;
        loop->initial[loop->count] =
            rewrite_op(moved->rewrite, "ConstantOfShape", &node, sizes(moved, i), NULL);
        set_zero(moved, node, moved->types[i]->type);
        body_input(moved, loop->body, moved->types[i]);
        loop->last[loop->count++] = moved->names[i];
    }
}

/* The first input of the node as a carried value that stays the same; NULL when it is not a known tensor. */
static const char *carry_input(struct loop *loop, struct moved *moved)
{
    const struct bounded *x = rewrite_input(moved->rewrite, moved->node, 0);
    if (!x || rng_chance(&moved->rewrite->rng, 0.5) ||
        (x->type == DTYPE_BFLOAT16 && rewrite_opset(moved->rewrite) < 13))
        return NULL;
    const char *inner = body_input(moved, loop->body, x);
    const char *same = body_node(moved, loop->body, "Identity", inner, NULL);
    graph_add_output(&moved->rewrite->model->arena, loop->body, rewrite_info(moved->rewrite, same, x));
    loop->initial[loop->count] = moved->node->input[0];
    loop->last[loop->count++] = rewrite_name(moved->rewrite, "last");
    return inner;
}

/* The results are carried, or stacked along a new first axis of one place, which is taken off. */
static int loop_once(struct rewrite *rewrite, const struct rule_site *site)
{
    struct moved moved;
    struct loop loop;
    const char *results[MAX_OUTPUTS];
    if (!moved_init(&moved, rewrite, site->node) || moved.count >= MAX_OUTPUTS)
        return 0;
    bool stacked = !can_be_zeros(&moved) || rng_chance(&rewrite->rng, 0.5);
    for (size_t i = 0; i < moved.count; i++)
        if (stacked && (moved.types[i]->shape.rank > MAX_BODY_RANK ||
                        !rewrite_takes(rewrite, "Squeeze", moved.types[i]->type)))
            return 0;
    loop_init(&loop, &moved);
    const char *x = carry_input(&loop, &moved);
    if (!stacked)
        carry_results(&loop, &moved);
    body_copy(&moved, loop.body, x ? site->node->input[0] : NULL, x, results);
    body_outputs(&moved, loop.body, results);
    for (size_t i = 0; stacked && i < moved.count; i++) {
        loop.last[loop.count + i] = rewrite_name(rewrite, "stack");
        rewrite_result(rewrite, rewrite_squeeze(rewrite, loop.last[loop.count + i], 0), moved.names[i]);
    }
    loop_finish(&loop, &moved);
    return 1;
}

const struct rule rule_loop_once = {
    .name = "loop-once",
    .summary = "a node in the body of a Loop that runs once",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .apply = loop_once,
};
