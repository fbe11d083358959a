/* The adapter for dlib: the table of operators, and those that compute element by element. */
#include "dlib.h"

#include <math.h>
#include <string.h>

static int check_tensor(struct walk_call *call, const struct tensor *tensor)
{
    if (tensor->type != DTYPE_FLOAT)
        return walk_unsupported(call, "%s", dtype_name(tensor->type));
    if (tensor->count == 0)
        return walk_unsupported(call, "an empty tensor");
    return 0;
}

int dlib_take(struct walk_call *call, struct face_call *face, size_t index, long long n, long long k,
              long long nr, long long nc)
{
    const struct tensor *tensor = walk_input(call, index);
    if (check_tensor(call, tensor))
        return -1;
    face->inputs[face->n_inputs++] = (struct face_array){tensor->data, n, k, nr, nc};
    return 0;
}

int dlib_give(struct walk_call *call, struct face_call *face, long long n, long long k, long long nr,
              long long nc)
{
    if (check_tensor(call, &call->outputs[0]))
        return -1;
    face->out = (struct face_array){call->outputs[0].data, n, k, nr, nc};
    return 0;
}

int dlib_run(struct walk_call *call, struct face_call *face)
{
    if (face_run(face))
        return error_set(call->err, ERROR_IO, "%s: %s", call->row->name, face->message);
    return 0;
}

/* Elements one by one, whatever the shape. */
static int elementwise(struct walk_call *call, struct face_call *face)
{
    long long count = (long long)call->outputs[0].count;
    if (dlib_take(call, face, 0, count, 1, 1, 1) || dlib_give(call, face, count, 1, 1, 1))
        return -1;
    return dlib_run(call, face);
}

static int unary(struct walk_call *call)
{
    struct face_call face = {.op = (enum face_op)call->row->kind};
    face.numbers[0] = node_float(call->node, "alpha", face.op == FACE_ELU ? 1 : 0.01F);
    return elementwise(call, &face);
}

static int prelu(struct walk_call *call)
{
    struct face_call face = {.op = FACE_PRELU};
    long long count = (long long)call->outputs[0].count;
    if (walk_input(call, 1)->count != 1)
        return walk_unsupported(call, "more than one slope");
    if (dlib_take(call, &face, 0, count, 1, 1, 1) || dlib_take(call, &face, 1, 1, 1, 1, 1) ||
        dlib_give(call, &face, count, 1, 1, 1))
        return -1;
    return dlib_run(call, &face);
}

/* A bound of Clip: an input since opset 11, an attribute before. */
static float clip_bound(struct walk_call *call, size_t index, const char *name)
{
    const struct tensor *bound = walk_input(call, index);
    if (call->opset < 11)
        return node_float(call->node, name, NAN);
    return bound && bound->count == 1 ? (float)tensor_get(bound, 0) : NAN;
}

static int clip(struct walk_call *call)
{
    struct face_call face = {.op = FACE_CLIPPED_RELU};
    float low = clip_bound(call, 1, "min"), high = clip_bound(call, 2, "max");
    if (low != 0 || signbit(low) || isnan(high))
        return walk_unsupported(call, "bounds other than zero and a ceiling");
    face.numbers[0] = high;
    return elementwise(call, &face);
}

/*
 * How the second operand repeats in the output: neighbouring dims that both have, or that only the output
 * has, become one. dlib knows three patterns: before * both * after, where before or after may be 1.
 */
struct repeat {
    long long before, both, after;
};

static bool find_repeat(const struct shape *out, const struct shape *other, struct repeat *repeat)
{
    *repeat = (struct repeat){1, 1, 1};
    for (int i = 0; i < out->rank; i++) {
        int j = i - (out->rank - other->rank);
        bool own = j >= 0 && other->dims[j] != 1;
        if (out->dims[i] == 1)
            continue;
        if (own && repeat->after != 1)
            return false;
        if (own)
            repeat->both *= out->dims[i];
        else if (repeat->both == 1)
            repeat->before *= out->dims[i];
        else
            repeat->after *= out->dims[i];
    }
    return true;
}

/* The operand that has the output's shape, by its number; the other one repeats. */
static int whole_operand(const struct walk_call *call)
{
    for (int i = 0; i < 2; i++)
        if (shape_equal(&call->inputs[i]->shape, &call->outputs[0].shape))
            return i;
    return -1;
}

static int repeat_operand(struct walk_call *call, size_t index, struct repeat *repeat)
{
    if (!find_repeat(&call->outputs[0].shape, &walk_input(call, index)->shape, repeat))
        return walk_unsupported(call, "this kind of broadcasting");
    return 0;
}

int dlib_add_input(struct walk_call *call, size_t index, float factor)
{
    struct face_call face = {.op = FACE_ADD_TO, .numbers = {factor}};
    const struct tensor *other = walk_input(call, index);
    struct repeat r;
    if (repeat_operand(call, index, &r) || check_tensor(call, other))
        return -1;
    if (r.both == 1) {
        face =
            (struct face_call){.op = FACE_AFFINE, .numbers = {1, factor * ((const float *)other->data)[0]}};
        long long count = (long long)call->outputs[0].count;
        if (dlib_give(call, &face, count, 1, 1, 1))
            return -1;
        face.inputs[face.n_inputs++] = face.out;
    } else if (r.before == 1) {
        if (dlib_take(call, &face, index, r.both, 1, 1, 1) || dlib_give(call, &face, r.both, 1, r.after, 1))
            return -1;
    } else if (dlib_take(call, &face, index, 1, r.both, 1, 1) ||
               dlib_give(call, &face, r.before, r.both, r.after, 1)) {
        return -1;
    }
    return dlib_run(call, &face);
}

/* Add and Sub; the row's kind is the second operand's sign. */
static int add(struct walk_call *call)
{
    struct face_call face = {.op = FACE_BLEND, .numbers = {1, (float)call->row->kind}};
    long long count = (long long)call->outputs[0].count;
    int whole = whole_operand(call);
    if (whole < 0 || (whole == 1 && call->row->kind < 0))
        return walk_unsupported(call, "this kind of broadcasting");
    if (!shape_equal(&call->inputs[0]->shape, &call->inputs[1]->shape)) {
        if (check_tensor(call, call->inputs[whole]) || check_tensor(call, &call->outputs[0]))
            return -1;
        memcpy(call->outputs[0].data, call->inputs[whole]->data, call->outputs[0].size);
        return dlib_add_input(call, (size_t)!whole, (float)call->row->kind);
    }
    if (dlib_take(call, &face, 0, count, 1, 1, 1) || dlib_take(call, &face, 1, count, 1, 1, 1) ||
        dlib_give(call, &face, count, 1, 1, 1))
        return -1;
    return dlib_run(call, &face);
}

static int multiply(struct walk_call *call)
{
    struct face_call face = {.op = FACE_MULTIPLY};
    struct repeat r;
    int whole = whole_operand(call);
    if (whole < 0)
        return walk_unsupported(call, "this kind of broadcasting");
    size_t first = (size_t)whole, other = (size_t)!whole;
    if (repeat_operand(call, other, &r))
        return -1;
    if (r.before == 1 && r.after != 1) {
        face.op = FACE_SCALE_CHANNELS;
        if (dlib_take(call, &face, first, r.both, 1, r.after, 1) ||
            dlib_take(call, &face, other, r.both, 1, 1, 1) || dlib_give(call, &face, r.both, 1, r.after, 1))
            return -1;
        return dlib_run(call, &face);
    }
    if (r.after != 1)
        face.op = FACE_MULTIPLY_CONV;
    if (dlib_take(call, &face, first, r.before, r.both, r.after, 1) ||
        dlib_take(call, &face, other, 1, r.both, 1, 1) ||
        dlib_give(call, &face, r.before, r.both, r.after, 1))
        return -1;
    return dlib_run(call, &face);
}

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    (void)call;
    *engine = NULL;
    str_add(version, face_version());
    return 0;
}

static void stop(void *engine)
{
    (void)engine;
}

int main(int argc, char **argv)
{
    enum { F = DTYPE_BIT(DTYPE_FLOAT), ANY = TENSOR_MAX_RANK };
    const struct walk_row rows[] = {
        {"Relu", unary, F, 0, ANY, FACE_RELU},
        {"Sigmoid", unary, F, 0, ANY, FACE_SIGMOID},
        {"Tanh", unary, F, 0, ANY, FACE_TANH},
        {"Exp", unary, F, 0, ANY, FACE_EXP},
        {"Log", unary, F, 0, ANY, FACE_LOG},
        {"Mish", unary, F, 0, ANY, FACE_MISH},
        {"LeakyRelu", unary, F, 0, ANY, FACE_LEAKY_RELU},
        {"Elu", unary, F, 0, ANY, FACE_ELU},
        {"PRelu", prelu, F, 0, ANY, 0},
        {"Clip", clip, F, 0, ANY, 0},
        {"Add", add, F, 0, ANY, 1},
        {"Sub", add, F, 0, ANY, -1},
        {"Mul", multiply, F, 0, ANY, 0},
        {"Softmax", dlib_softmax, F, 0, ANY, 0},
        {"MatMul", dlib_matmul, F, 1, ANY, 0},
        {"Gemm", dlib_gemm, F, 2, 2, 0},
        {"Conv", dlib_conv, F, 3, 4, 0},
        {"ConvTranspose", dlib_conv_transpose, F, 3, 4, 0},
        {"MaxPool", dlib_pool, F, 3, 4, FACE_MAX_POOL},
        {"AveragePool", dlib_pool, F, 3, 4, FACE_AVERAGE_POOL},
        {"GlobalMaxPool", dlib_global_pool, F, 3, ANY, FACE_MAX_POOL},
        {"GlobalAveragePool", dlib_global_pool, F, 3, ANY, FACE_AVERAGE_POOL},
        {"BatchNormalization", dlib_batch_normalization, F, 2, ANY, 0},
        {"SpaceToDepth", dlib_reorg, F, 4, 4, FACE_REORG},
        {"DepthToSpace", dlib_reorg, F, 4, 4, FACE_REORG_BACK},
        {NULL, NULL, 0, 0, 0, 0},
    };
    const struct walk_library library = {.name = "dlib", .rows = rows, .start = start, .stop = stop};
    return walker_main(&library, argc, argv);
}
