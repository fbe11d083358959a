/* Products: MatMul and Gemm. */
#include "ops.h"

/* What a product by weights of this type rounds the other operand to. */
static int partner(int weights)
{
    bool blocks = weights == TYPE_Q4_0 || weights == TYPE_Q5_0;
    return blocks ? TYPE_Q8_0 : weights;
}

/*
 * ggml_mul_mat multiplies rows by rows: w is [.., N, K] in ONNX's order, x [.., M, K], both contiguous.
 * Weights of another type than float32 round x as well, so that both must be values of these types: then the
 * product is exact.
 */
static struct ggml_tensor *product(struct net *net, struct ggml_tensor *w, struct ggml_tensor *x, int64_t k)
{
    int type = net->library->weights;
    if (type != TYPE_F32) {
        if (net_check(net, w, type, k) || net_check(net, x, partner(type), k))
            return NULL;
        w = net->api->cast(net->context, w, type);
    }
    return net->api->mul_mat(net->context, w, x);
}

/* Types of blocks have 32 elements in each. */
static bool fits(const struct net *net, int64_t k)
{
    int type = net->library->weights;
    return type == TYPE_F32 || type == TYPE_F16 || type == TYPE_BF16 || k % 32 == 0;
}

static struct ggml_tensor *turn(struct net *net, struct ggml_tensor *t)
{
    return t ? net_columns(net, t) : NULL;
}

/* C, as many as it is, times beta, added to the product of shape [M, N]. */
static struct ggml_tensor *add_scaled(struct net *net, struct ggml_tensor *y, const struct tensor *c,
                                      float beta)
{
    struct ggml_tensor *t = net_input(net, c);
    if (!t || !y)
        return NULL;
    if (beta != 1.0F)
        t = net->api->scale(net->context, t, beta);
    return net->api->binary[BINARY_ADD](net->context, y, t);
}

int run_gemm(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    bool turned_a = node_int(call->node, "transA", 0), turned_b = node_int(call->node, "transB", 0);
    float alpha = node_float(call->node, "alpha", 1), beta = node_float(call->node, "beta", 1);
    int64_t k = call->inputs[1]->shape.dims[turned_b ? 1 : 0];
    if (!fits(&net, k))
        return net_refuse(&net, "of rows that are no whole blocks");
    struct ggml_tensor *a = net_input(&net, call->inputs[0]), *b = net_input(&net, call->inputs[1]);
    if (turned_a)
        a = turn(&net, a);
    if (!turned_b)
        b = turn(&net, b);
    struct ggml_tensor *y = a && b ? product(&net, b, a, k) : NULL;
    if (y && alpha != 1.0F)
        y = net.api->scale(net.context, y, alpha);
    const struct tensor *c = walk_input(call, 2);
    return net_finish(&net, c ? add_scaled(&net, y, c, beta) : y);
}

/* The first operand's rows, repeated where only the second one has more matrices. */
static struct ggml_tensor *left(struct net *net, const struct tensor *a, const struct shape *result,
                                bool vector)
{
    int64_t row[] = {1, a->shape.dims[0]};
    if (a->shape.rank == 1)
        return net_input_as(net, a, 2, row);
    struct ggml_tensor *t = net_input(net, a);
    if (!t || vector)
        return t;
    struct shape full = *result;
    full.dims[full.rank - 1] = a->shape.dims[a->shape.rank - 1];
    return net_repeat(net, t, &a->shape, &full);
}

int run_matmul(struct walk_call *call)
{
    struct net net;
    const struct tensor *a = call->inputs[0], *b = call->inputs[1];
    bool vector = b->shape.rank == 1;
    if (net_init(&net, call))
        return -1;
    if (a->shape.rank == 1 && b->shape.rank > 2)
        return net_refuse(&net, "of a vector by several matrices");
    int64_t k = b->shape.dims[vector ? 0 : b->shape.rank - 2];
    if (!fits(&net, k))
        return net_refuse(&net, "of rows that are no whole blocks");
    struct ggml_tensor *x = left(&net, a, &call->outputs[0].shape, vector || a->shape.rank == 1);
    struct ggml_tensor *w = net_input(&net, b);
    if (!vector)
        w = turn(&net, w);
    return net_finish(&net, x && w ? product(&net, w, x, k) : NULL);
}
