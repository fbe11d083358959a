#include "rewrites.h"

#include "base/arena.h"
#include "base/memory.h"
#include "base/str.h"
#include "model/build.h"
#include "model/edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rewriting {
    struct model *model;
    rewrites_known known;
    const void *context;
    size_t names; /* made up so far */
};

static bool is(const Onnx__NodeProto *node, const char *op)
{
    return node && strcmp(node->op_type, op) == 0;
}

static Onnx__NodeProto *maker(const struct rewriting *r, const char *name)
{
    for (size_t i = 0; i < r->model->graph->n_node; i++)
        for (size_t o = 0; o < r->model->graph->node[i]->n_output; o++)
            if (*name && strcmp(r->model->graph->node[i]->output[o], name) == 0)
                return r->model->graph->node[i];
    return NULL;
}

static bool is_float(const struct rewriting *r, const char *name)
{
    const struct bounded *b = r->known(r->context, name);
    return b && dtype_is_float(b->type);
}

/* A single number: as a factor of this product it leaves the shape alone. */
static bool is_single(const struct rewriting *r, const char *name, const char *product)
{
    const struct bounded *b = r->known(r->context, name), *p = r->known(r->context, product);
    return b && p && b->count == 1 && b->shape.rank <= 1 && b->shape.rank <= p->shape.rank;
}

static bool same_shape(const struct rewriting *r, const char *a, const char *b)
{
    const struct bounded *x = r->known(r->context, a), *y = r->known(r->context, b);
    return x && y && shape_equal(&x->shape, &y->shape);
}

/* A new node of two operands; its output's name. */
static char *put(struct rewriting *r, const char *op, const char *a, const char *b)
{
    char name[40];
    snprintf(name, sizeof name, "rewritten%zu", r->names++);
    char *output = arena_strdup(&r->model->arena, name);
    model_add_node(r->model, op, NULL, b ? 2 : 1, (const char *[]){a, b}, 1, (const char *[]){output});
    return output;
}

/* The node becomes another one, which makes the same value. */
static void become(struct rewriting *r, Onnx__NodeProto *node, const char *op, const char *a, const char *b)
{
    size_t count = b ? 2 : 1;
    node->op_type = arena_strdup(&r->model->arena, op);
    node->input = arena_array(&r->model->arena, count, sizeof *node->input);
    node->n_input = count;
    node->input[0] = arena_strdup(&r->model->arena, a);
    if (b)
        node->input[1] = arena_strdup(&r->model->arena, b);
    node->n_attribute = 0;
}

static void inherit(Onnx__NodeProto *node, const Onnx__NodeProto *from)
{
    node->attribute = from->attribute;
    node->n_attribute = from->n_attribute;
}

static bool is_scaling(const Onnx__NodeProto *node)
{
    return is(node, "Mul") || is(node, "Div");
}

/* (x * c) . y = (x . y) * c, on either side. */
static bool draw_out(struct rewriting *r, Onnx__NodeProto *node)
{
    for (size_t side = 0; is(node, "MatMul") && side < 2; side++) {
        const Onnx__NodeProto *scale = maker(r, node->input[side]);
        if (!is_scaling(scale) || !is_single(r, scale->input[1], node->output[0]) ||
            !is_float(r, scale->input[0]) || !same_shape(r, scale->input[0], scale->output[0]))
            continue;
        const char *x = scale->input[0], *y = node->input[1 - side];
        char *product = side == 0 ? put(r, "MatMul", x, y) : put(r, "MatMul", y, x);
        become(r, node, scale->op_type, product, scale->input[1]);
        return true;
    }
    return false;
}

/* (x . y) * c = x . (y * c), on either side. */
static bool draw_in(struct rewriting *r, Onnx__NodeProto *node)
{
    const Onnx__NodeProto *product = is_scaling(node) ? maker(r, node->input[0]) : NULL;
    if (!is(product, "MatMul") || !is_single(r, node->input[1], node->output[0]) ||
        !is_float(r, product->input[0]))
        return false;
    size_t side = r->names % 2;
    char *scaled = put(r, node->op_type, product->input[side], node->input[1]);
    if (side == 0)
        become(r, node, "MatMul", scaled, product->input[1]);
    else
        become(r, node, "MatMul", product->input[0], scaled);
    return true;
}

/* (a + b) + c = a + (b + c); the same for products. */
static bool associate(struct rewriting *r, Onnx__NodeProto *node)
{
    if (!(is(node, "Add") || is(node, "Mul")) || !is_float(r, node->output[0]))
        return false;
    for (size_t side = 0; side < 2; side++) {
        const Onnx__NodeProto *inner = maker(r, node->input[side]);
        if (!is(inner, node->op_type))
            continue;
        char *later = put(r, node->op_type, inner->input[1], node->input[1 - side]);
        become(r, node, node->op_type, inner->input[0], later);
        return true;
    }
    return false;
}

/* a / b / c = a / (b c);  a / b * c = a c / b = a (c / b);  a b / c = a (b / c). */
static bool regroup(struct rewriting *r, Onnx__NodeProto *node)
{
    const Onnx__NodeProto *inner =
        is_scaling(node) && is_float(r, node->output[0]) ? maker(r, node->input[0]) : NULL;
    if (!is_scaling(inner))
        return false;
    const char *a = inner->input[0], *b = inner->input[1], *c = node->input[1];
    if (is(inner, "Div") && is(node, "Div"))
        become(r, node, "Div", a, put(r, "Mul", b, c));
    else if (is(inner, "Div") && r->names % 2)
        become(r, node, "Div", put(r, "Mul", a, c), b);
    else if (is(inner, "Div"))
        become(r, node, "Mul", a, put(r, "Div", c, b));
    else if (is(node, "Div"))
        become(r, node, "Mul", a, put(r, "Div", b, c));
    else
        return false;
    return true;
}

/* (a + b) * c = a * c + b * c, also for differences, quotients and matrix products. */
static bool distribute(struct rewriting *r, Onnx__NodeProto *node)
{
    if (!(is_scaling(node) || is(node, "MatMul")) || !is_float(r, node->output[0]))
        return false;
    const Onnx__NodeProto *sum = maker(r, node->input[0]);
    if (!(is(sum, "Add") || is(sum, "Sub")))
        return false;
    const char *a = sum->input[0], *b = sum->input[1];
    if (is(node, "MatMul") && !(same_shape(r, a, sum->output[0]) && same_shape(r, b, sum->output[0])))
        return false;
    char *left = put(r, node->op_type, a, node->input[1]);
    become(r, node, sum->op_type, left, put(r, node->op_type, b, node->input[1]));
    return true;
}

/* log(softmax(x)) has an operator of its own, which never underflows. */
static bool log_softmax(struct rewriting *r, Onnx__NodeProto *node)
{
    const Onnx__NodeProto *inner = is(node, "Log") ? maker(r, node->input[0]) : NULL;
    if (!is(inner, "Softmax"))
        return false;
    become(r, node, "LogSoftmax", inner->input[0], NULL);
    inherit(node, inner);
    return true;
}

/* So has log(sum(exp(x))), which never overflows. */
static bool log_sum(struct rewriting *r, Onnx__NodeProto *node)
{
    const Onnx__NodeProto *sum = is(node, "Log") ? maker(r, node->input[0]) : NULL;
    const Onnx__NodeProto *inner = is(sum, "ReduceSum") && sum->n_input == 1 ? maker(r, sum->input[0]) : NULL;
    if (!is(inner, "Exp"))
        return false;
    become(r, node, "ReduceLogSumExp", inner->input[0], NULL);
    inherit(node, sum);
    return true;
}

/* A square is a product. */
static bool square(struct rewriting *r, Onnx__NodeProto *node)
{
    const struct bounded *power = is(node, "Pow") ? r->known(r->context, node->input[1]) : NULL;
    if (!power || power->count != 1 || !power->value || power->value[0] != 2 ||
        !is_float(r, node->input[0]) || !same_shape(r, node->input[0], node->output[0]))
        return false;
    char *x = node->input[0];
    become(r, node, "Mul", x, x);
    return true;
}

/* conv(x, w) * c = conv(x, w * c). */
static bool scale_weights(struct rewriting *r, Onnx__NodeProto *node)
{
    const Onnx__NodeProto *conv = is_scaling(node) ? maker(r, node->input[0]) : NULL;
    if (!is(conv, "Conv") || !is_single(r, node->input[1], node->output[0]))
        return false;
    char *op = node->op_type, *c = node->input[1];
    char *weights = put(r, op, conv->input[1], c);
    char *bias = conv->n_input > 2 && *conv->input[2] ? put(r, op, conv->input[2], c) : NULL;
    become(r, node, "Conv", conv->input[0], weights);
    if (bias) {
        char **inputs = arena_array(&r->model->arena, 3, sizeof *inputs);
        memcpy(inputs, node->input, 2 * sizeof *inputs);
        inputs[2] = bias;
        node->input = inputs;
        node->n_input = 3;
    }
    inherit(node, conv);
    return true;
}

static char *put_tensor(struct rewriting *r, struct tensor *tensor)
{
    char *name = arena_printf(&r->model->arena, "rewritten%zu", r->names++);
    model_add_initializer(r->model, name, tensor);
    tensor_release(tensor);
    return name;
}

static char *put_number(struct rewriting *r, enum dtype type, double number)
{
    struct tensor tensor;
    if (tensor_alloc(&tensor, type, &(struct shape){0}, 0, NULL))
        abort();
    dtype_store(type, tensor.data, 0, number);
    return put_tensor(r, &tensor);
}

/* One number a channel, in the shape [1, C, 1, 1 ...]. */
static char *put_channels(struct rewriting *r, const char *value, int rank)
{
    struct tensor shape;
    if (tensor_alloc(&shape, DTYPE_INT64, &(struct shape){.rank = 1, .dims = {rank}}, 0, NULL))
        abort();
    for (int i = 0; i < rank; i++)
        dtype_store(DTYPE_INT64, shape.data, (size_t)i, i == 1 ? -1 : 1);
    return put(r, "Reshape", value, put_tensor(r, &shape));
}

/* (x - m) / sqrt(v + e) * s + b = x * s' + b' with s' = s / sqrt(v + e) and b' = b - m * s'. */
static bool scale_and_shift(struct rewriting *r, Onnx__NodeProto *node)
{
    const struct bounded *x = is(node, "BatchNormalization") ? r->known(r->context, node->input[0]) : NULL;
    if (!x || x->shape.rank < 2 || x->count == 0 || x->type == DTYPE_FLOAT16 ||
        node_int(node, "training_mode", 0) || node->n_output > 1)
        return false;
    for (size_t i = 1; i < 5; i++) {
        const struct bounded *b = r->known(r->context, node->input[i]);
        if (!b || b->type != x->type)
            return false;
    }
    char **in = node->input;
    char *root =
        put(r, "Sqrt",
            put(r, "Add", in[4], put_number(r, x->type, (double)node_float(node, "epsilon", 1e-5F))), NULL);
    char *scale = put(r, "Div", in[1], root);
    char *shift = put(r, "Sub", in[2], put(r, "Mul", in[3], scale));
    char *scaled = put(r, "Mul", in[0], put_channels(r, scale, x->shape.rank));
    become(r, node, "Add", scaled, put_channels(r, shift, x->shape.rank));
    return true;
}

/* mean((x - m)^2) = mean(x^2) - m^2. */
static bool one_pass(struct rewriting *r, Onnx__NodeProto *node)
{
    const Onnx__NodeProto *power =
        is(node, "ReduceMean") && node_int(node, "keepdims", 1) ? maker(r, node->input[0]) : NULL;
    const struct bounded *two = is(power, "Pow") ? r->known(r->context, power->input[1]) : NULL;
    const Onnx__NodeProto *difference =
        two && two->count == 1 && two->value && two->value[0] == 2 ? maker(r, power->input[0]) : NULL;
    const Onnx__NodeProto *mean = is(difference, "Sub") ? maker(r, difference->input[1]) : NULL;
    if (!is(mean, "ReduceMean") || strcmp(mean->input[0], difference->input[0]) != 0 ||
        !same_shape(r, mean->output[0], node->output[0]) || !is_float(r, node->output[0]))
        return false;
    char *squares = put(r, "Mul", mean->input[0], mean->input[0]);
    char *sum = put(r, "ReduceMean", squares, mean->n_input > 1 ? mean->input[1] : NULL);
    Onnx__NodeProto *made = maker(r, sum);
    inherit(made, mean);
    become(r, node, "Sub", sum, put(r, "Mul", mean->output[0], mean->output[0]));
    return true;
}

/* a / sqrt(b) = a * (1 / sqrt(b)). */
static bool turn_root(struct rewriting *r, Onnx__NodeProto *node)
{
    const Onnx__NodeProto *root = is(node, "Div") ? maker(r, node->input[1]) : NULL;
    if (!is(root, "Sqrt"))
        return false;
    become(r, node, "Mul", node->input[0], put(r, "Reciprocal", root->output[0], NULL));
    return true;
}

/* exp(x) / sum(exp(x)) has an operator of its own, which never overflows. */
static bool softmax(struct rewriting *r, Onnx__NodeProto *node)
{
    const Onnx__NodeProto *top = is(node, "Div") ? maker(r, node->input[0]) : NULL;
    const Onnx__NodeProto *sum = is(top, "Exp") ? maker(r, node->input[1]) : NULL;
    if (!is(sum, "ReduceSum") || strcmp(sum->input[0], top->output[0]) != 0)
        return false;
    const struct bounded *x = r->known(r->context, sum->input[0]), *y = r->known(r->context, sum->output[0]);
    int axis = -1;
    for (int i = 0; x && y && x->shape.rank == y->shape.rank && i < x->shape.rank; i++)
        if (x->shape.dims[i] != y->shape.dims[i])
            axis = axis < 0 ? i : x->shape.rank;
    if (axis < 0 || axis >= x->shape.rank || (axis != x->shape.rank - 1 && model_opset(r->model) < 13))
        return false;
    become(r, node, "Softmax", top->input[0], NULL);
    node_set_int(&r->model->arena, node, "axis", axis);
    return true;
}

static const struct rule {
    const char *name;
    bool (*apply)(struct rewriting *r, Onnx__NodeProto *node);
} rules[] = {
    {"associate", associate},         {"distribute", distribute},   {"draw-in", draw_in},
    {"draw-out", draw_out},           {"log-softmax", log_softmax}, {"log-sum", log_sum},
    {"one-pass", one_pass},           {"regroup", regroup},         {"scale-and-shift", scale_and_shift},
    {"scale-weights", scale_weights}, {"softmax", softmax},         {"square", square},
    {"turn-root", turn_root},
};

enum { N_RULES = sizeof rules / sizeof *rules };

size_t rewrite(struct model *model, size_t most, struct rng *rng, rewrites_known known, const void *context,
               char *told, size_t size)
{
    struct rewriting r = {.model = model, .known = known, .context = context};
    size_t done = 0, nodes = model->graph->n_node, start = nodes ? (size_t)rng_below(rng, nodes) : 0;
    size_t first = (size_t)rng_below(rng, N_RULES);
    struct str text = {0};
    r.names = (size_t)rng_below(rng, 2);
    for (size_t i = 0; i < nodes && done < most; i++)
        for (size_t k = 0; k < N_RULES && done < most; k++) {
            const struct rule *rule = &rules[(first + k) % N_RULES];
            Onnx__NodeProto *node = model->graph->node[(start + i) % nodes];
            if (!rule->apply(&r, node))
                continue;
            str_printf(&text, "%s%s at %s", done++ ? ", " : "", rule->name, node->output[0]);
            break;
        }
    snprintf(told, size, "%s", text.data ? text.data : "");
    str_release(&text);
    return done && !model_sort_nodes(model, NULL) ? done : 0;
}
