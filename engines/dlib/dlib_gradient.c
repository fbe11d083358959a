/*
 * Gradients of single nodes by dlib's own functions of them, and of products by transposed products. What is
 * repeated by broadcasting is summed by the gradient of a bias.
 */
#include "dlib.h"

#include <string.h>

struct dims {
    long long n, k, nr, nc;
};

static int put(struct walk_gradient *g, struct face_call *face, const struct tensor *tensor, struct dims d)
{
    if (dlib_check(g->call, tensor))
        return -1;
    face->inputs[face->n_inputs++] = (struct face_array){tensor->data, d.n, d.k, d.nr, d.nc};
    return 0;
}

/* Runs the call with the slope of an input as its result. */
static int run_into(struct walk_gradient *g, struct face_call *face, size_t input, struct dims d)
{
    if (dlib_check(g->call, &g->slopes[input]))
        return -1;
    face->out = (struct face_array){g->slopes[input].data, d.n, d.k, d.nr, d.nc};
    return dlib_run(g->call, face);
}

/* A call with the derivatives by the result and one tensor more, all of these dims. */
static int with_one(struct walk_gradient *g, struct face_call *face, const struct tensor *other,
                    struct dims d)
{
    return put(g, face, g->upstream, d) || put(g, face, other, d) ? -1 : run_into(g, face, 0, d);
}

static int elements(struct walk_gradient *g, struct face_call *face, const struct tensor *other)
{
    return with_one(g, face, other, (struct dims){(long long)g->upstream->count, 1, 1, 1});
}

/* What is taken as a number has no gradient in the library. */
static int only_first(struct walk_gradient *g)
{
    for (size_t i = 1; i < g->call->n_inputs; i++)
        if (g->wanted[i])
            return walk_unsupported(g->call, "dlib has no gradient of it by input %zu", i);
    return 0;
}

int dlib_unary_gradient(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    struct face_call face = {.numbers = {dlib_alpha(call)}};
    switch (call->row->kind) {
    case FACE_RELU:
        face.op = FACE_RELU_GRADIENT;
        break;
    case FACE_SIGMOID:
        face.op = FACE_SIGMOID_GRADIENT;
        break;
    case FACE_TANH:
        face.op = FACE_TANH_GRADIENT;
        break;
    case FACE_LEAKY_RELU:
        face.op = FACE_LEAKY_RELU_GRADIENT;
        break;
    case FACE_ELU:
        face.op = FACE_ELU_GRADIENT;
        break;
    case FACE_EXP: /* times the result */
        face.op = FACE_MULTIPLY;
        break;
    default:
        face.op = FACE_MISH_GRADIENT;
        return elements(g, &face, call->inputs[0]);
    }
    return elements(g, &face, &call->outputs[0]);
}

int dlib_clip_gradient(struct walk_gradient *g)
{
    struct face_call face = {.op = FACE_CLIPPED_RELU_GRADIENT};
    if (only_first(g) || dlib_ceiling(g->call, &face.numbers[0]))
        return -1;
    return elements(g, &face, &g->call->outputs[0]);
}

int dlib_prelu_gradient(struct walk_gradient *g)
{
    static const enum face_op ops[] = {FACE_PRELU_GRADIENT, FACE_PRELU_SLOPE_GRADIENT};
    struct dims d = {(long long)g->upstream->count, 1, 1, 1}, one = {1, 1, 1, 1};
    for (size_t i = 0; i < 2; i++) {
        struct face_call face = {.op = ops[i]};
        if (!g->wanted[i])
            continue;
        if (put(g, &face, g->upstream, d) || put(g, &face, g->call->inputs[0], d) ||
            put(g, &face, g->call->inputs[1], one) || run_into(g, &face, i, i ? one : d))
            return -1;
    }
    return 0;
}

static int scale(struct walk_gradient *g, size_t input, float factor)
{
    struct face_call face = {.op = FACE_AFFINE, .numbers = {factor, 0}};
    struct dims d = {(long long)g->slopes[input].count, 1, 1, 1};
    if (factor == 1)
        return 0;
    return put(g, &face, &g->slopes[input], d) ? -1 : run_into(g, &face, input, d);
}

/* The derivatives by an operand that was added, times a factor. */
static int added(struct walk_gradient *g, size_t input, float factor)
{
    struct face_call face = {.op = FACE_BIAS_GRADIENT};
    struct repeat r;
    if (dlib_check(g->call, g->upstream) || dlib_repeat(g->call, input, &r))
        return -1;
    if (shape_equal(&g->slopes[input].shape, &g->upstream->shape)) {
        memcpy(g->slopes[input].data, g->upstream->data, g->upstream->size);
    } else if (put(g, &face, g->upstream, (struct dims){r.before, r.both, r.after, 1}) ||
               run_into(g, &face, input, (struct dims){1, r.both, 1, 1})) {
        return -1;
    }
    return scale(g, input, factor);
}

int dlib_add_gradient(struct walk_gradient *g)
{
    for (size_t i = 0; i < 2; i++)
        if (g->wanted[i] && added(g, i, i ? (float)g->call->row->kind : 1))
            return -1;
    return 0;
}

/* Of the operand that has the output's shape: the derivatives times the other one, which repeats. */
static int multiplied(struct walk_gradient *g, size_t input, const struct repeat *r)
{
    struct face_call face = {.op = r->after == 1 ? FACE_MULTIPLY : FACE_MULTIPLY_CONV};
    struct dims whole = {r->before, r->both, r->after, 1}, other = {1, r->both, 1, 1};
    if (r->before == 1 && r->after != 1) {
        face.op = FACE_SCALE_CHANNELS;
        whole = (struct dims){r->both, 1, r->after, 1};
        other = (struct dims){r->both, 1, 1, 1};
    }
    return put(g, &face, g->upstream, whole) || put(g, &face, g->call->inputs[!input], other)
               ? -1
               : run_into(g, &face, input, whole);
}

/* Of an operand that repeats: sums of derivatives times the other one. */
static int multiplied_sum(struct walk_gradient *g, size_t input, const struct repeat *r)
{
    struct face_call face = {.op = FACE_MULTIPLY_CONV};
    struct dims whole = {r->before, r->both, r->after, 1};
    return put(g, &face, g->upstream, whole) || put(g, &face, g->call->inputs[!input], whole)
               ? -1
               : run_into(g, &face, input, (struct dims){1, r->both, 1, 1});
}

int dlib_multiply_gradient(struct walk_gradient *g)
{
    for (size_t i = 0; i < 2; i++) {
        bool whole = shape_equal(&g->call->inputs[i]->shape, &g->upstream->shape);
        struct repeat r;
        if (!g->wanted[i])
            continue;
        if (dlib_repeat(g->call, whole ? !i : i, &r) ||
            (whole ? multiplied(g, i, &r) : multiplied_sum(g, i, &r)))
            return -1;
    }
    return 0;
}

int dlib_softmax_gradient(struct walk_gradient *g)
{
    struct face_call face = {.op = FACE_SOFTMAX_GRADIENT};
    long long d[3];
    dlib_softmax_dims(g->call, d);
    return with_one(g, &face, &g->call->outputs[0], (struct dims){d[0], d[1], d[2], 1});
}

/* A matrix that a product takes, perhaps turned. */
struct factor {
    const struct tensor *tensor;
    struct dims dims;
    bool turned;
};

static int product_into(struct walk_gradient *g, size_t input, struct dims out, float alpha, struct factor a,
                        struct factor b)
{
    struct face_call face = {.op = FACE_GEMM, .numbers = {alpha, 0}, .window = {a.turned, b.turned}};
    return put(g, &face, a.tensor, a.dims) || put(g, &face, b.tensor, b.dims)
               ? -1
               : run_into(g, &face, input, out);
}

int dlib_matmul_gradient(struct walk_gradient *g)
{
    const struct tensor *a = g->call->inputs[0], *b = g->call->inputs[1];
    long long rows = dlib_product(&a->shape, 0, a->shape.rank - 1), middle = a->shape.dims[a->shape.rank - 1];
    long long columns = b->shape.rank == 2 ? b->shape.dims[1] : 1;
    struct dims da = {rows, middle, 1, 1}, db = {middle, columns, 1, 1}, dy = {rows, columns, 1, 1};
    if (g->wanted[0] &&
        product_into(g, 0, da, 1, (struct factor){g->upstream, dy, false}, (struct factor){b, db, true}))
        return -1;
    return g->wanted[1] ? product_into(g, 1, db, 1, (struct factor){a, da, true},
                                       (struct factor){g->upstream, dy, false})
                        : 0;
}

int dlib_gemm_gradient(struct walk_gradient *g)
{
    struct walk_call *call = g->call;
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    bool turn_a = node_int(call->node, "transA", 0) != 0, turn_b = node_int(call->node, "transB", 0) != 0;
    float alpha = node_float(call->node, "alpha", 1);
    struct dims da = {a->shape.dims[0], a->shape.dims[1], 1, 1};
    struct dims db = {b->shape.dims[0], b->shape.dims[1], 1, 1};
    struct dims dy = {g->upstream->shape.dims[0], g->upstream->shape.dims[1], 1, 1};
    struct factor y = {g->upstream, dy, false}, fa = {a, da, !turn_a}, fb = {b, db, !turn_b};
    struct factor turned_y = {g->upstream, dy, true};
    /* The slope of an operand that is turned is the turned one of the slope: factors turned, and exchanged.
     */
    if (g->wanted[0]) {
        struct factor own = {b, db, turn_b};
        if (turn_a ? product_into(g, 0, da, alpha, own, turned_y) : product_into(g, 0, da, alpha, y, fb))
            return -1;
    }
    if (g->wanted[1]) {
        struct factor own = {a, da, turn_a};
        if (turn_b ? product_into(g, 1, db, alpha, turned_y, own) : product_into(g, 1, db, alpha, fa, y))
            return -1;
    }
    return call->n_inputs > 2 && g->wanted[2] ? added(g, 2, node_float(call->node, "beta", 1)) : 0;
}

static struct dims image(const struct shape *shape)
{
    long long d[4];
    dlib_image(shape, d);
    return (struct dims){d[0], d[1], d[2], d[3]};
}

static int bias_slope(struct walk_gradient *g)
{
    struct face_call face = {.op = FACE_BIAS_GRADIENT};
    struct dims y = image(&g->upstream->shape);
    if (g->call->n_inputs < 3 || !g->wanted[2])
        return 0;
    return put(g, &face, g->upstream, y) ? -1 : run_into(g, &face, 2, (struct dims){1, y.k, 1, 1});
}

/* `op` makes the slope of the data from the derivatives and the filters; of the filters it is always that of
 * a convolution from `data`, whose result has the derivatives `by`. */
static int slopes_of_windows(struct walk_gradient *g, enum face_op op, const int sizes[6],
                             const struct tensor *by, const struct tensor *data)
{
    struct walk_call *call = g->call;
    struct face_call x = {.op = op}, w = {.op = FACE_CONV_FILTERS_GRADIENT};
    struct dims filters = image(&call->inputs[1]->shape), in = image(&call->inputs[0]->shape);
    for (int i = 0; i < 4; i++)
        x.window[i] = w.window[i] = sizes[i + 2];
    if (g->wanted[0] && (put(g, &x, g->upstream, image(&g->upstream->shape)) ||
                         put(g, &x, call->inputs[1], filters) || run_into(g, &x, 0, in)))
        return -1;
    if (g->wanted[1] && (put(g, &w, by, image(&by->shape)) || put(g, &w, data, image(&data->shape)) ||
                         run_into(g, &w, 1, filters)))
        return -1;
    return bias_slope(g);
}

int dlib_conv_gradient(struct walk_gradient *g)
{
    int sizes[6];
    if (dlib_window(g->call, &g->call->inputs[1]->shape, sizes))
        return -1;
    return slopes_of_windows(g, FACE_CONV_TRANSPOSED, sizes, g->upstream, g->call->inputs[0]);
}

int dlib_conv_transpose_gradient(struct walk_gradient *g)
{
    int sizes[6];
    if (dlib_window_transposed(g->call, &g->call->inputs[1]->shape, sizes))
        return -1;
    return slopes_of_windows(g, FACE_CONV, sizes, g->call->inputs[0], g->upstream);
}

static int pool_slope(struct walk_gradient *g, struct face_call *face, struct dims in, struct dims out)
{
    face->op = g->call->row->kind == FACE_MAX_POOL ? FACE_MAX_POOL_GRADIENT : FACE_AVERAGE_POOL_GRADIENT;
    if (put(g, face, g->upstream, out) || put(g, face, &g->call->outputs[0], out) ||
        put(g, face, g->call->inputs[0], in))
        return -1;
    return run_into(g, face, 0, in);
}

int dlib_pool_gradient(struct walk_gradient *g)
{
    struct face_call face = {.n_inputs = 0};
    if (dlib_window(g->call, NULL, face.window))
        return -1;
    return pool_slope(g, &face, image(&g->call->inputs[0]->shape), image(&g->upstream->shape));
}

int dlib_global_pool_gradient(struct walk_gradient *g)
{
    struct face_call face = {.n_inputs = 0};
    const struct shape *x = &g->call->inputs[0]->shape;
    if (dlib_global_window(g->call, face.window))
        return -1;
    return pool_slope(g, &face, (struct dims){x->dims[0], x->dims[1], 1, face.window[1]},
                      (struct dims){x->dims[0], x->dims[1], 1, 1});
}

/* The inverse is the gradient. */
int dlib_reorg_gradient(struct walk_gradient *g)
{
    struct face_call face = {.op = g->call->row->kind == FACE_REORG ? FACE_REORG_BACK : FACE_REORG};
    face.window[0] = (int)node_int(g->call->node, "blocksize", 1);
    if (put(g, &face, g->upstream, image(&g->upstream->shape)))
        return -1;
    return run_into(g, &face, 0, image(&g->call->inputs[0]->shape));
}
