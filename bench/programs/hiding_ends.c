#include "hiding_ends.h"
#include "planted.h"

#include "model/build.h"
#include "tensor/tensor.h"

static void add_numbers(struct model *model, const char *name, enum dtype type, const struct shape *shape,
                        long double (*value)(size_t i))
{
    struct tensor tensor;
    struct error err = {0};
    if (tensor_alloc(&tensor, type, shape, 0, &err))
        planted_die("constant", &err);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, value(i));
    model_add_initializer(model, name, &tensor);
    tensor_release(&tensor);
}

static void add_number(struct model *model, const char *name, enum dtype type, long double value)
{
    struct tensor tensor;
    struct error err = {0};
    if (tensor_alloc(&tensor, type, &(struct shape){0}, 0, &err))
        planted_die("constant", &err);
    tensor_set(&tensor, 0, value);
    model_add_initializer(model, name, &tensor);
    tensor_release(&tensor);
}

static void add_one(struct model *model, const char *type, const char *from, const char *to)
{
    model_add_node(model, type, "end_last", 1, &from, 1, &to);
}

static void scale(struct model *model, const char *from, const char *to, long double by)
{
    add_number(model, "end_by", DTYPE_FLOAT, by);
    model_add_node(model, "Mul", "end_scale", 2, (const char *[]){from, "end_by"}, 1, &to);
}

/* Scaled until nothing is left but the ends of the range, or zeros. */
static void end_scaled(struct model *model, const char *type, const char *to, const char *from,
                       long double by)
{
    scale(model, from, "end_scaled", by);
    add_one(model, type, "end_scaled", to);
}

static void end_softmax(struct model *model, const char *from, const char *to, int64_t count)
{
    (void)count;
    end_scaled(model, "Softmax", to, from, 1e6L);
}

static void end_sigmoid(struct model *model, const char *from, const char *to, int64_t count)
{
    (void)count;
    end_scaled(model, "Sigmoid", to, from, 1e6L);
}

static void end_tanh(struct model *model, const char *from, const char *to, int64_t count)
{
    (void)count;
    end_scaled(model, "Tanh", to, from, 1e6L);
}

static void end_clip(struct model *model, const char *from, const char *to, int64_t count)
{
    (void)count;
    add_number(model, "end_low", DTYPE_FLOAT, 1e30L);
    add_number(model, "end_high", DTYPE_FLOAT, 2e30L);
    model_add_node(model, "Clip", "end_last", 3, (const char *[]){from, "end_low", "end_high"}, 1, &to);
}

static void end_argmax(struct model *model, const char *from, const char *to, int64_t count)
{
    (void)count;
    Onnx__NodeProto *node = model_add_node(model, "ArgMax", "end_last", 1, &from, 1, &to);
    node_set_int(&model->arena, node, "axis", 1);
}

static void end_hardmax(struct model *model, const char *from, const char *to, int64_t count)
{
    (void)count;
    add_one(model, "Hardmax", from, to);
}

static long double one(size_t i)
{
    (void)i;
    return 1;
}

static void end_topk(struct model *model, const char *from, const char *to, int64_t count)
{
    (void)count;
    add_numbers(model, "end_k", DTYPE_INT64, &(struct shape){1, {1}}, one);
    model_add_node(model, "TopK", "end_last", 2, (const char *[]){from, "end_k"}, 2,
                   (const char *[]){"end_best", to});
}

/* Boxes side by side, so that each is kept whatever its score. */
static long double corner(size_t i)
{
    return (long double)(i / 4) * 2 + (i % 4 >= 2);
}

static void end_suppress(struct model *model, const char *from, const char *to, int64_t count)
{
    add_numbers(model, "end_boxes", DTYPE_FLOAT, &(struct shape){3, {1, count, 4}}, corner);
    add_numbers(model, "end_most", DTYPE_INT64, &(struct shape){1, {1}}, one);
    struct tensor shape;
    struct error err = {0};
    if (tensor_alloc(&shape, DTYPE_INT64, &(struct shape){1, {3}}, 0, &err))
        planted_die("constant", &err);
    tensor_set(&shape, 0, 1);
    tensor_set(&shape, 1, 1);
    tensor_set(&shape, 2, count);
    model_add_initializer(model, "end_shape3", &shape);
    tensor_release(&shape);
    const char *scores = "end_scores";
    model_add_node(model, "Reshape", "end_reshape3", 2, (const char *[]){from, "end_shape3"}, 1, &scores);
    model_add_node(model, "NonMaxSuppression", "end_last", 3,
                   (const char *[]){"end_boxes", "end_scores", "end_most"}, 1, &to);
}

static void end_cast(struct model *model, const char *from, const char *to, int64_t count)
{
    (void)count;
    scale(model, from, "end_scaled", 1e-9L);
    const char *scaled = "end_scaled";
    Onnx__NodeProto *node = model_add_node(model, "Cast", "end_last", 1, &scaled, 1, &to);
    node_set_int(&model->arena, node, "to", DTYPE_INT32);
}

static void end_less(struct model *model, const char *from, const char *to, int64_t count)
{
    (void)count;
    add_number(model, "end_low", DTYPE_FLOAT, -1e30L);
    model_add_node(model, "Less", "end_last", 2, (const char *[]){from, "end_low"}, 1, &to);
}

static void end_round(struct model *model, const char *from, const char *to, int64_t count)
{
    (void)count;
    end_scaled(model, "Round", to, from, 1e-9L);
}

static void end_quantize(struct model *model, const char *from, const char *to, int64_t count)
{
    (void)count;
    add_number(model, "end_step", DTYPE_FLOAT, 1e9L);
    add_number(model, "end_zero", DTYPE_UINT8, 128);
    model_add_node(model, "QuantizeLinear", "end_last", 3, (const char *[]){from, "end_step", "end_zero"}, 1,
                   &to);
}

const struct hiding_end hiding_ends[HIDING_ENDS] = {
    {"Softmax", DTYPE_FLOAT, end_softmax}, {"Sigmoid", DTYPE_FLOAT, end_sigmoid},
    {"Tanh", DTYPE_FLOAT, end_tanh},       {"Clip", DTYPE_FLOAT, end_clip},
    {"ArgMax", DTYPE_INT64, end_argmax},   {"Hardmax", DTYPE_FLOAT, end_hardmax},
    {"TopK", DTYPE_INT64, end_topk},       {"NonMaxSuppression", DTYPE_INT64, end_suppress},
    {"Cast", DTYPE_INT32, end_cast},       {"Less", DTYPE_BOOL, end_less},
    {"Round", DTYPE_FLOAT, end_round},     {"QuantizeLinear", DTYPE_UINT8, end_quantize},
};
