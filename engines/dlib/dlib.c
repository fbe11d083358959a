/* The adapter for dlib: the table of operators, and those that compute element by element. */
#include "dlib.h"

#include <math.h>
#include <string.h>

int dlib_check(struct walk_call *call, const struct tensor *tensor)
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
    if (dlib_check(call, tensor))
        return -1;
    face->inputs[face->n_inputs++] = (struct face_array){tensor->data, n, k, nr, nc};
    return 0;
}

int dlib_give(struct walk_call *call, struct face_call *face, long long n, long long k, long long nr,
              long long nc)
{
    if (dlib_check(call, &call->outputs[0]))
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

float dlib_alpha(const struct walk_call *call)
{
    return node_float(call->node, "alpha", call->row->kind == FACE_ELU ? 1 : 0.01F);
}

static int unary(struct walk_call *call)
{
    struct face_call face = {.op = (enum face_op)call->row->kind};
    face.numbers[0] = dlib_alpha(call);
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

int dlib_ceiling(struct walk_call *call, float *ceiling)
{
    float low = clip_bound(call, 1, "min");
    *ceiling = clip_bound(call, 2, "max");
    if (low != 0 || signbit(low) || isnan(*ceiling))
        return walk_unsupported(call, "bounds other than zero and a ceiling");
    return 0;
}

static int clip(struct walk_call *call)
{
    struct face_call face = {.op = FACE_CLIPPED_RELU};
    return dlib_ceiling(call, &face.numbers[0]) ? -1 : elementwise(call, &face);
}

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

int dlib_repeat(struct walk_call *call, size_t index, struct repeat *repeat)
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
    if (dlib_repeat(call, index, &r) || dlib_check(call, other))
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
        if (dlib_check(call, call->inputs[whole]) || dlib_check(call, &call->outputs[0]))
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
    if (dlib_repeat(call, other, &r))
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
        {"Relu", unary, F, 0, ANY, FACE_RELU, dlib_unary_gradient},
        {"Sigmoid", unary, F, 0, ANY, FACE_SIGMOID, dlib_unary_gradient},
        {"Tanh", unary, F, 0, ANY, FACE_TANH, dlib_unary_gradient},
        {"Exp", unary, F, 0, ANY, FACE_EXP, dlib_unary_gradient},
        {"Log", unary, F, 0, ANY, FACE_LOG, NULL},
        {"Mish", unary, F, 0, ANY, FACE_MISH, dlib_unary_gradient},
        {"LeakyRelu", unary, F, 0, ANY, FACE_LEAKY_RELU, dlib_unary_gradient},
        {"Elu", unary, F, 0, ANY, FACE_ELU, dlib_unary_gradient},
        {"PRelu", prelu, F, 0, ANY, 0, dlib_prelu_gradient},
        {"Clip", clip, F, 0, ANY, 0, dlib_clip_gradient},
        {"Add", add, F, 0, ANY, 1, dlib_add_gradient},
        {"Sub", add, F, 0, ANY, -1, dlib_add_gradient},
        {"Mul", multiply, F, 0, ANY, 0, dlib_multiply_gradient},
        {"Softmax", dlib_softmax, F, 0, ANY, 0, dlib_softmax_gradient},
        {"MatMul", dlib_matmul, F, 1, ANY, 0, dlib_matmul_gradient},
        {"Gemm", dlib_gemm, F, 2, 2, 0, dlib_gemm_gradient},
        {"Conv", dlib_conv, F, 3, 4, 0, dlib_conv_gradient},
        {"ConvTranspose", dlib_conv_transpose, F, 3, 4, 0, dlib_conv_transpose_gradient},
        {"MaxPool", dlib_pool, F, 3, 4, FACE_MAX_POOL, dlib_pool_gradient},
        {"AveragePool", dlib_pool, F, 3, 4, FACE_AVERAGE_POOL, dlib_pool_gradient},
        {"GlobalMaxPool", dlib_global_pool, F, 3, ANY, FACE_MAX_POOL, dlib_global_pool_gradient},
        {"GlobalAveragePool", dlib_global_pool, F, 3, ANY, FACE_AVERAGE_POOL, dlib_global_pool_gradient},
        {"BatchNormalization", dlib_batch_normalization, F, 2, ANY, 0, NULL},
        {"SpaceToDepth", dlib_reorg, F, 4, 4, FACE_REORG, dlib_reorg_gradient},
        {"DepthToSpace", dlib_reorg, F, 4, 4, FACE_REORG_BACK, dlib_reorg_gradient},
        {NULL, NULL, 0, 0, 0, 0, NULL},
    };
    const struct walk_library library = {.name = "dlib", .rows = rows, .start = start, .stop = stop};
    return walker_main(&library, argc, argv);
}
