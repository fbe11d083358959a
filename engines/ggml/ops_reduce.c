/* Operators that go along rows: sums, softmax, norms, sorting. */
#include "ops.h"

#include <float.h>
#include <math.h>

/* The axes to reduce, which must follow one another, since the builders reduce one dim. */
static int reduced(const struct walk_call *call, int *first, int *count)
{
    const int64_t *axes;
    int rank = call->inputs[0]->shape.rank;
    size_t n = walk_axes(call, &axes);
    unsigned set = 0;
    *first = 0;
    *count = rank;
    if (n == 0)
        return node_int(call->node, "noop_with_empty_axes", 0) ? -1 : 0;
    for (size_t i = 0; i < n; i++)
        set |= 1U << walk_axis(axes[i], rank);
    *count = __builtin_popcount(set);
    *first = __builtin_ctz(set);
    return set >> *first == (1U << *count) - 1 ? 0 : -1;
}

int run_reduce(struct walk_call *call)
{
    struct net net;
    int first, count;
    if (net_init_of(&net, call, 1)) /* the axes may be none */
        return -1;
    if (reduced(call, &first, &count))
        return net_refuse(&net, "of axes that do not follow one another, or of none");
    struct net_rows rows = net_rows_of(call->inputs[0], first, count);
    struct ggml_tensor *x = net_rows(&net, call->inputs[0], &rows);
    if (x && call->row->kind == REDUCE_SQUARES)
        x = net.api->unary[UNARY_SQR](net.context, x);
    if (!x)
        return net_finish(&net, NULL);
    bool mean = call->row->kind == REDUCE_MEAN;
    return net_finish(&net, mean ? net.api->mean(net.context, x) : net.api->sum_rows(net.context, x));
}

/* Back to the input's order. */
static int finish_rows(struct net *net, struct ggml_tensor *y, const struct net_rows *rows)
{
    return net_finish(net, y && rows->inner > 1 ? net_columns(net, y) : y);
}

/* Until opset 12, all axes from the axis on are one. */
int run_softmax(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    int rank = call->inputs[0]->shape.rank;
    int axis = walk_axis(node_int(call->node, "axis", call->opset < 13 ? 1 : -1), rank);
    struct net_rows rows = net_rows_of(call->inputs[0], axis, call->opset < 13 ? rank - axis : 1);
    struct ggml_tensor *x = net_rows(&net, call->inputs[0], &rows);
    return finish_rows(&net, x ? net.api->soft_max(net.context, x) : NULL, &rows);
}

int run_cumsum(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    if (!net.api->cumsum)
        return net_refuse(&net, "this release has no ggml_cumsum");
    if (node_int(call->node, "exclusive", 0) || node_int(call->node, "reverse", 0))
        return net_refuse(&net, "exclusive or reverse");
    int axis = walk_axis((int64_t)tensor_get(call->inputs[1], 0), call->inputs[0]->shape.rank);
    struct net_rows rows = net_rows_of(call->inputs[0], axis, 1);
    struct ggml_tensor *x = net_rows(&net, call->inputs[0], &rows);
    return finish_rows(&net, x ? net.api->cumsum(net.context, x) : NULL, &rows);
}

/* ggml_l2_norm divides by the larger of the norm and a limit. */
int run_lp_normalization(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    if (!net.api->l2_norm)
        return net_refuse(&net, "this release has no ggml_l2_norm");
    if (node_int(call->node, "p", 2) != 2)
        return net_refuse(&net, "of another p than 2");
    int axis = walk_axis(node_int(call->node, "axis", -1), call->inputs[0]->shape.rank);
    struct net_rows rows = net_rows_of(call->inputs[0], axis, 1);
    struct ggml_tensor *x = net_rows(&net, call->inputs[0], &rows);
    return finish_rows(&net, x ? net.api->l2_norm(net.context, x, FLT_MIN) : NULL, &rows);
}

/* How often the element that `at` points to is in its row; NaN counts as often, since no order holds it. */
static size_t occurrences(const float *row, int64_t count, int64_t step, float value)
{
    size_t n = 0;
    for (int64_t i = 0; i < count; i++)
        n += row[i * step] == value || isnan(row[i * step]);
    return n;
}

static float largest(const float *row, int64_t count, int64_t step)
{
    float most = row[0];
    for (int64_t i = 1; i < count; i++)
        most = fmaxf(most, row[i * step]);
    return most;
}

/* Whether the largest (or, `any`, some) element of a row is there twice: the builders promise no order of
 * equals. */
static bool has_equals(const struct tensor *x, const struct net_rows *rows, bool any)
{
    const float *data = x->data;
    for (int64_t o = 0; o < rows->outer; o++) {
        for (int64_t i = 0; i < rows->inner; i++) {
            const float *row = data + o * rows->count * rows->inner + i;
            if (occurrences(row, rows->count, rows->inner, largest(row, rows->count, rows->inner)) != 1)
                return true;
            for (int64_t j = 0; any && j < rows->count; j++)
                if (occurrences(row, rows->count, rows->inner, row[j * rows->inner]) != 1)
                    return true;
        }
    }
    return false;
}

int run_argmax(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    int axis = walk_axis(node_int(call->node, "axis", 0), call->inputs[0]->shape.rank);
    struct net_rows rows = net_rows_of(call->inputs[0], axis, 1);
    if (has_equals(call->inputs[0], &rows, false))
        return net_refuse(&net, "of equal elements, of which ggml_argmax promises none");
    struct ggml_tensor *x = net_rows(&net, call->inputs[0], &rows);
    if (!x)
        return net_finish(&net, NULL);
    x = net.api->reshape_2d(net.context, x, rows.count, rows.inner * rows.outer);
    return net_finish(&net, net.api->argmax(net.context, x));
}

/* The first k of each row's order. */
static struct ggml_tensor *first_of(struct net *net, struct ggml_tensor *order, const struct net_rows *rows,
                                    int64_t k)
{
    size_t row = (size_t)rows->count * sizeof(int32_t), all = row * (size_t)rows->inner;
    order = net->api->view_4d(net->context, order, k, rows->inner, rows->outer, 1, row, all,
                              all * (size_t)rows->outer, 0);
    return net->api->cont(net->context, order);
}

/* The elements with these numbers: rows of one element each, taken by ggml_get_rows. */
static struct ggml_tensor *elements(struct net *net, struct ggml_tensor *x, struct ggml_tensor *order,
                                    const struct net_rows *rows, int64_t k)
{
    int64_t batch = rows->inner * rows->outer;
    x = net->api->reshape_3d(net->context, x, 1, rows->count, batch);
    order = net->api->reshape_2d(net->context, order, k, batch);
    return net->api->reshape_3d(net->context, net->api->get_rows(net->context, x, order), k, rows->inner,
                                rows->outer);
}

static int give_both(struct net *net, struct ggml_tensor *values, struct ggml_tensor *order)
{
    struct ggml_tensor *const ends[] = {values, order};
    int result = net_run(net, ends, 2);
    if (result == 0 && walk_wants(net->call, 0))
        result = net_give(net, values, &net->call->outputs[0]);
    if (result == 0 && walk_wants(net->call, 1))
        result = net_give(net, order, &net->call->outputs[1]);
    net_release(net);
    return result;
}

int run_top_k(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    const struct tensor *input = call->inputs[0];
    int axis = walk_axis(node_int(call->node, "axis", -1), input->shape.rank);
    struct net_rows rows = net_rows_of(input, axis, 1);
    if (call->n_inputs < 2 || has_equals(input, &rows, true))
        return net_refuse(&net, "of equal elements, whose order ggml_argsort leaves open");
    int64_t k = call->outputs[0].shape.dims[axis];
    struct ggml_tensor *x = net_rows(&net, input, &rows);
    if (!x)
        return net_finish(&net, NULL);
    bool most = node_int(call->node, "largest", 1);
    struct ggml_tensor *order = net.api->argsort(net.context, x, most ? SORT_DESCENDING : SORT_ASCENDING);
    order = first_of(&net, order, &rows, k);
    struct ggml_tensor *values = elements(&net, x, order, &rows, k);
    if (rows.inner > 1) {
        values = net_columns(&net, values);
        order = net_columns(&net, order);
    }
    return give_both(&net, values, order);
}

/* y * scale + bias, where there are such. */
static struct ggml_tensor *affine(struct net *net, struct ggml_tensor *y, struct ggml_tensor *scale,
                                  struct ggml_tensor *bias)
{
    if (scale)
        y = net->api->binary[BINARY_MUL](net->context, y, scale);
    if (bias)
        y = net->api->binary[BINARY_ADD](net->context, y, bias);
    return y;
}

/* Whether it has the dims of x from the axis on, and may so be one row. */
static bool is_row(const struct tensor *t, const struct tensor *x, int axis)
{
    int rank = x->shape.rank - axis;
    if (t->shape.rank != rank)
        return false;
    for (int i = 0; i < rank; i++)
        if (t->shape.dims[i] != x->shape.dims[axis + i])
            return false;
    return true;
}

/* LayerNormalization, RMSNormalization. */
int run_row_norm(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    const struct tensor *x = call->inputs[0], *scale = walk_input(call, 1), *bias = walk_input(call, 2);
    int axis = walk_axis(node_int(call->node, "axis", -1), x->shape.rank);
    float eps = node_float(call->node, "epsilon", 1e-5F);
    if (walk_wants(call, 1) || walk_wants(call, 2) || node_int(call->node, "stash_type", 1) != 1)
        return net_refuse(&net, "with Mean and InvStdDev, or of another type");
    if (!(eps > 0) || (scale && !is_row(scale, x, axis)) || (bias && !is_row(bias, x, axis)))
        return net_refuse(&net, "without an epsilon, or with a scale or bias that is no row");
    struct net_rows rows = net_rows_of(x, axis, x->shape.rank - axis);
    struct ggml_tensor *y = net_rows(&net, x, &rows);
    if (!y)
        return net_finish(&net, NULL);
    bool centred = call->row->kind == NORM_CENTRED;
    y = centred ? net.api->norm(net.context, y, eps) : net.api->rms_norm(net.context, y, eps);
    struct ggml_tensor *w = scale ? net_input_as(&net, scale, 1, &rows.count) : NULL;
    return net_finish(&net, affine(&net, y, w, bias ? net_input_as(&net, bias, 1, &rows.count) : NULL));
}

/* [N, C, 1, all else] of [N, C, ..] or [N]. */
static void image_dims(const struct tensor *x, int64_t *dims)
{
    int64_t spatial = 1;
    for (int i = 2; i < x->shape.rank; i++)
        spatial *= x->shape.dims[i];
    dims[0] = x->shape.dims[0];
    dims[1] = x->shape.rank > 1 ? x->shape.dims[1] : 1;
    dims[2] = 1;
    dims[3] = spatial;
}

/* One number for each channel. */
static struct ggml_tensor *channels(struct net *net, const struct tensor *t)
{
    int64_t dims[] = {(int64_t)t->count, 1, 1};
    return net_input_as(net, t, 3, dims);
}

/* InstanceNormalization, GroupNormalization. */
int run_group_norm(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    const struct tensor *x = call->inputs[0];
    int64_t dims[4], groups = node_int(call->node, "num_groups", x->shape.dims[1]);
    float eps = node_float(call->node, "epsilon", 1e-5F);
    if (groups <= 0 || x->shape.dims[1] % groups || call->inputs[1]->count != (size_t)x->shape.dims[1] ||
        !(eps > 0))
        return net_refuse(
            &net, "of groups that do not divide the channels, with a scale of groups, or without epsilon");
    image_dims(x, dims);
    struct ggml_tensor *y = net_input_as(&net, x, 4, dims);
    if (!y)
        return net_finish(&net, NULL);
    y = net.api->group_norm(net.context, y, (int)groups, eps);
    return net_finish(&net,
                      affine(&net, y, channels(&net, call->inputs[1]), channels(&net, call->inputs[2])));
}

/* (x - mean) / sqrt(variance + epsilon) * scale + bias, an operation each. */
int run_batch_norm(struct walk_call *call)
{
    struct net net;
    if (net_init(&net, call))
        return -1;
    const struct tensor *x = call->inputs[0];
    if (node_int(call->node, "training_mode", 0) || walk_wants(call, 1))
        return net_refuse(&net, "in training");
    struct tensor eps = {.type = DTYPE_FLOAT, .count = 1};
    float epsilon = node_float(call->node, "epsilon", 1e-5F);
    eps.data = &epsilon;
    int64_t dims[4];
    image_dims(x, dims);
    struct ggml_tensor *y = net_input_as(&net, x, 4, dims), *deviation = channels(&net, call->inputs[4]);
    deviation = net.api->binary[BINARY_ADD](net.context, deviation, channels(&net, &eps));
    deviation = net.api->unary[UNARY_SQRT](net.context, deviation);
    y = net.api->binary[BINARY_SUB](net.context, y, channels(&net, call->inputs[3]));
    y = net.api->binary[BINARY_DIV](net.context, y, deviation);
    return net_finish(&net,
                      affine(&net, y, channels(&net, call->inputs[1]), channels(&net, call->inputs[2])));
}
