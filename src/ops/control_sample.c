#include "ops/control_sample.h"

/* A body under construction. Names carry a random prefix: a body may not use a name of the graph around it.
 */
struct body {
    struct draw *d;
    Onnx__GraphProto *graph;
    const char *prefix;
    int names;
};

static struct body body_new(struct draw *d, const char *name)
{
    const char *prefix = arena_printf(d->arena, "b%08llx", (unsigned long long)rng_u64(&d->rng) >> 32);
    return (struct body){.d = d, .graph = graph_new(d->arena, name), .prefix = prefix};
}

static const char *body_name(struct body *body)
{
    return arena_printf(body->d->arena, "%s_%d", body->prefix, body->names++);
}

static const char *body_node(struct body *body, const char *op_type, size_t inputs, const char *const *input)
{
    const char *output = body_name(body);
    graph_add_node(body->d->arena, body->graph, op_type, arena_printf(body->d->arena, "%s_node", output),
                   inputs, input, 1, &output);
    return output;
}

static const char *body_unary(struct body *body, const char *op_type, const char *input)
{
    return body_node(body, op_type, 1, &input);
}

static const char *body_input(struct body *body, enum dtype type, const struct shape *shape)
{
    const char *name = body_name(body);
    graph_add_input(body->d->arena, body->graph,
                    value_info_make(body->d->arena, name, type_make(body->d->arena, type, shape)));
    return name;
}

static void body_output(struct body *body, const char *name, enum dtype type, const struct shape *shape)
{
    graph_add_output(body->d->arena, body->graph,
                     value_info_make(body->d->arena, name, type_make(body->d->arena, type, shape)));
}

/* A constant, as an initialiser of the body or as a node. */
static const char *body_constant(struct body *body, enum dtype type, const struct shape *shape,
                                 enum fill fill)
{
    struct draw *d = body->d;
    struct tensor tensor;
    const char *name = body_name(body);
    if (tensor_alloc(&tensor, type, shape, 0, NULL))
        return name;
    fill_tensor(&tensor, fill, rng_split(&d->rng, 1));
    if (draw_chance(d, 0.5)) {
        graph_add_initializer(d->arena, body->graph, model_tensor_write(d->arena, name, &tensor));
    } else {
        Onnx__NodeProto *node = graph_add_node(d->arena, body->graph, "Constant",
                                               arena_printf(d->arena, "%s_node", name), 0, NULL, 1, &name);
        node_set_tensor(d->arena, node, "value", &tensor);
    }
    tensor_release(&tensor);
    return name;
}

/* Types on which Add, Sub and Mul exist in every opset. */
#define ARITHMETIC                                                                                          \
    (DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE) | DTYPE_BIT(DTYPE_FLOAT16) | DTYPE_BIT(DTYPE_INT32) | \
     DTYPE_BIT(DTYPE_INT64))

/* One step of computation that keeps type and shape; results stay of the size of the data. */
static const char *body_step(struct body *body, const char *value, enum dtype type, const struct shape *shape)
{
    struct draw *d = body->d;
    if (!dtype_in(type, ARITHMETIC) || draw_chance(d, 0.1))
        return body_unary(body, "Identity", value);
    if (dtype_is_float(type) && draw_chance(d, 0.4))
        return body_unary(body, draw_word(d, "Tanh|Sigmoid|Relu|Abs|Neg"), value);
    struct shape operand = draw_broadcastable(d, shape);
    const char *pair[2] = {value, value};
    if (draw_chance(d, 0.85))
        pair[1] = body_constant(body, type, &operand, FILL_NORMAL);
    return body_node(body, draw_word(d, "Add|Sub|Mul"), 2, pair);
}

/* Values of the graph that control flow may carry: bfloat16 came with opset 16. */
static bool pick_carried(struct draw *d, struct drawn *value)
{
    return draw_pick(d, value) && value->shape.rank <= 5 && (value->type != DTYPE_BFLOAT16 || d->opset >= 16);
}

/* A value of the outer graph for the body to capture: any the graph offers, or a new one. */
static const char *draw_outer(struct draw *d, enum dtype *type, struct shape *shape)
{
    struct drawn value;
    if (pick_carried(d, &value)) {
        *type = value.type;
        *shape = value.shape;
        return draw_capture_existing(d, &value);
    }
    *type = draw_chance(d, 0.6) ? DTYPE_FLOAT : draw_type(d, ARITHMETIC);
    *shape = draw_shape(d, 0, 3);
    return draw_capture(d, *type, shape);
}

/* One branch: for each output a few steps from its outer value; reshaped when `flat`. */
static Onnx__GraphProto *draw_branch(struct draw *d, const char *name, size_t outputs,
                                     const char *const *outer, const enum dtype *types,
                                     const struct shape *shapes, bool flat)
{
    struct body body = body_new(d, name);
    for (size_t i = 0; i < outputs; i++) {
        struct shape shape = shapes[i];
        const char *value = outer[i];
        for (int64_t steps = draw_between(d, 1, 3); steps > 0; steps--)
            value = body_step(&body, value, types[i], &shape);
        if (flat) {
            value = body_unary(&body, "Flatten", value);
            node_set_int(d->arena, body.graph->node[body.graph->n_node - 1], "axis", 0);
            shape = (struct shape){.rank = 2, .dims = {1, (int64_t)shape_span(&shape, 0, shape.rank)}};
        }
        body_output(&body, value, types[i], &shape);
    }
    return body.graph;
}

int sample_if(struct draw *d)
{
    const char *outer[2];
    enum dtype types[2];
    struct shape shapes[2];
    size_t outputs = (size_t)draw_between(d, 1, 2);
    struct shape cond = {.rank = draw_chance(d, 0.3), .dims = {1}};
    int64_t value = draw_between(d, 0, 1);
    draw_int_typed(d, DTYPE_BOOL, &cond, &value);
    for (size_t i = 0; i < outputs; i++)
        outer[i] = draw_outer(d, &types[i], &shapes[i]);
    bool flat_then = draw_chance(d, 0.15), flat_else = draw_chance(d, 0.15);
    node_set_graph(d->arena, d->node, "then_branch",
                   draw_branch(d, "then_body", outputs, outer, types, shapes, flat_then));
    node_set_graph(d->arena, d->node, "else_branch",
                   draw_branch(d, "else_body", outputs, outer, types, shapes, flat_else));
    draw_outputs(d, outputs);
    return 0;
}

/* iteration < limit, so that the loop ends by its condition. */
static const char *body_until(struct body *body, const char *iteration, int64_t limit)
{
    struct tensor tensor;
    const char *name = body_name(body);
    if (tensor_alloc(&tensor, DTYPE_INT64, &(struct shape){.rank = 0}, 0, NULL))
        return name;
    tensor_set(&tensor, 0, (long double)limit);
    graph_add_initializer(body->d->arena, body->graph, model_tensor_write(body->d->arena, name, &tensor));
    tensor_release(&tensor);
    return body_node(body, "Less", 2, (const char *const[]){iteration, name});
}

/* The carried values' first states: inputs 2 and on. */
static void draw_carried(struct draw *d, size_t count, enum dtype *types, struct shape *shapes)
{
    for (size_t i = 0; i < count; i++) {
        struct drawn value;
        if (pick_carried(d, &value)) {
            types[i] = value.type;
            shapes[i] = value.shape;
            draw_existing(d, &value);
            continue;
        }
        types[i] = draw_chance(d, 0.6) ? DTYPE_FLOAT : draw_type(d, ARITHMETIC);
        shapes[i] = draw_shape(d, 0, 3);
        draw_data(d, types[i], &shapes[i]);
    }
}

int sample_loop(struct draw *d)
{
    enum dtype types[2];
    struct shape shapes[2], scalar = {.rank = 0};
    size_t carried = (size_t)draw_between(d, 1, 2);
    bool by_condition = draw_chance(d, 0.3), limited = !by_condition || draw_chance(d, 0.5);
    bool scan = draw_chance(d, 0.6), count = draw_chance(d, 0.3);
    int64_t trips = draw_between(d, 0, 4), start = draw_chance(d, 0.9);
    if (limited)
        draw_int_typed(d, DTYPE_INT64, &scalar, &trips);
    else
        draw_omit(d);
    if (draw_chance(d, 0.6))
        draw_int_typed(d, DTYPE_BOOL, &scalar, &start);
    else
        draw_omit(d);
    draw_carried(d, carried, types, shapes);

    struct body body = body_new(d, "loop_body");
    const char *iteration = body_input(&body, DTYPE_INT64, &scalar), *state[2];
    const char *cond = body_input(&body, DTYPE_BOOL, &scalar);
    for (size_t i = 0; i < carried; i++)
        state[i] = body_input(&body, types[i], &shapes[i]);
    cond = by_condition ? body_until(&body, iteration, draw_between(d, 0, 3))
                        : body_unary(&body, "Identity", cond);
    body_output(&body, cond, DTYPE_BOOL, &scalar);
    for (size_t i = 0; i < carried; i++) {
        state[i] = body_step(&body, state[i], types[i], &shapes[i]);
        body_output(&body, state[i], types[i], &shapes[i]);
    }
    if (scan)
        body_output(&body, body_unary(&body, "Identity", state[0]), types[0], &shapes[0]);
    if (count)
        body_output(&body, body_unary(&body, "Identity", iteration), DTYPE_INT64, &scalar);
    node_set_graph(d->arena, d->node, "body", body.graph);
    draw_outputs(d, carried + scan + count);
    return 0;
}

enum { SCANNED = 2 }; /* at most */

/* Lists of an axis and a direction for each scanned value, or none where all are 0. */
static void draw_order(struct draw *d, const char *axes_name, const int64_t *axes,
                       const char *directions_name, size_t count)
{
    int64_t directions[SCANNED];
    bool other = draw_chance(d, 0.3);
    for (size_t i = 0; i < count; i++) {
        directions[i] = draw_between(d, 0, 1);
        other |= axes[i] != 0;
    }
    if (other)
        draw_ints(d, axes_name, axes, count);
    if (draw_chance(d, 0.5))
        draw_ints(d, directions_name, directions, count);
}

/* A state, perhaps, that slices of the same shape are added to; slices of all inputs come out again. */
int sample_scan(struct draw *d)
{
    size_t scanned = (size_t)draw_between(d, 1, SCANNED);
    bool has_state = draw_chance(d, 0.7);
    enum dtype type = draw_chance(d, 0.6) ? DTYPE_FLOAT : draw_type(d, ARITHMETIC);
    struct shape slice = draw_shape(d, 0, 3);
    int64_t length = draw_between(d, 1, 4), in_axes[SCANNED], out_axes[SCANNED];
    struct body body = body_new(d, "scan_body");
    const char *state = NULL, *slices[SCANNED];
    if (has_state) {
        draw_data(d, type, &slice);
        state = body_input(&body, type, &slice);
    }
    for (size_t i = 0; i < scanned; i++) {
        in_axes[i] = draw_chance(d, 0.5) ? 0 : draw_between(d, 0, slice.rank);
        out_axes[i] = draw_chance(d, 0.5) ? 0 : draw_between(d, 0, slice.rank);
        struct shape whole = shape_insert(&slice, (int)in_axes[i], length);
        draw_data(d, type, &whole);
        slices[i] = body_input(&body, type, &slice);
    }
    if (has_state) {
        state = body_node(&body, draw_word(d, "Add|Sub|Mul"), 2, (const char *const[]){state, slices[0]});
        body_output(&body, state, type, &slice);
        if (draw_chance(d, 0.5))
            slices[0] = state;
    }
    for (size_t i = 0; i < scanned; i++)
        body_output(&body, body_step(&body, slices[i], type, &slice), type, &slice);
    draw_int(d, "num_scan_inputs", (int64_t)scanned);
    draw_order(d, "scan_input_axes", in_axes, "scan_input_directions", scanned);
    draw_order(d, "scan_output_axes", out_axes, "scan_output_directions", scanned);
    node_set_graph(d->arena, d->node, "body", body.graph);
    draw_outputs(d, has_state + scanned);
    return 0;
}
