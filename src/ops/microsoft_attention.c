/*
 * com.microsoft: RotaryEmbedding, MultiHeadAttention, Attention and GroupQueryAttention by ONNX's
 * RotaryEmbedding and Attention. Packed inputs, buffers that past and present share, quantized caches and
 * windows are not supported.
 */
#include "bounds/number.h"
#include "ops/draw.h"
#include "ops/heads.h"
#include "bounds/strides.h"
#include "ops/inner.h"

#include <inttypes.h>
#include <math.h>

/* ---- RotaryEmbedding ---- */

/* Positions [batch, rows], counted on from `first` of each batch. */
static int count_positions(struct op_call *call, int64_t batch, int64_t rows, const struct bounded *first,
                           struct bounded *out)
{
    struct shape shape = {2, {batch, rows}};
    if (bounded_alloc(out, DTYPE_INT64, &shape, call->shapes_only, call->err))
        return -1;
    for (size_t i = 0; out->value && i < out->count; i++) {
        struct number start = first ? number_of(first, 0) : number_exact(0);
        bounded_set(out, i, start.v + (long double)(i % (size_t)rows), (double)start.h, (double)start.l);
    }
    return 0;
}

struct turning {
    const struct bounded *x, *ids, *cos, *sin;
    int64_t heads, turned, interleaved; /* heads: of an input of rank 3 */
};

static int turn(struct op_call *call, const struct turning *t, struct bounded *out)
{
    const struct bounded *in[4] = {t->x, t->cos, t->sin, t->ids};
    struct inner step;
    inner_begin(&step, call, "RotaryEmbedding");
    if (t->x->shape.rank == 3)
        node_set_int(&step.arena, step.node, "num_heads", t->heads);
    node_set_int(&step.arena, step.node, "rotary_embedding_dim", t->turned);
    node_set_int(&step.arena, step.node, "interleaved", t->interleaved);
    return out ? inner_step(&step, in, 4, out) : inner_last(&step, in, 4);
}

static int eval_rotary(struct op_call *call)
{
    struct turning t = {.x = call_need(call, 0), .cos = call_need(call, 2), .sin = call_need(call, 3)};
    const struct bounded *ids = call_need(call, 1);
    struct bounded counted;
    bounded_init(&counted);
    if (!t.x || !ids || !t.cos || !t.sin)
        return -1;
    if (call_int(call, "is_packed_batching", 0) || call_float(call, "scale", 1) != 1)
        return call_unsupported(call, "a scale or a packed batch is not supported");
    if (t.x->shape.rank < 3 || t.x->shape.rank > 4 || t.cos->shape.rank != 2 || t.cos->shape.dims[1] < 1)
        return call_invalid(call, "the input or the caches have another rank");
    t.turned = call_int(call, "rotary_embedding_dim", 0);
    t.interleaved = call_int(call, "interleaved", 0);
    t.heads = call_int(call, "num_heads", 0);
    if (!t.heads)
        t.heads = t.x->shape.dims[2] / (2 * t.cos->shape.dims[1]);
    t.ids = ids;
    int result = 0;
    if (ids->count == 1 && ids->shape.rank == 1) {
        int64_t rows = t.x->shape.dims[t.x->shape.rank == 3 ? 1 : 2];
        result = count_positions(call, t.x->shape.dims[0], rows, ids, &counted);
        t.ids = &counted;
    }
    if (!result)
        result = turn(call, &t, NULL);
    bounded_release(&counted);
    return result;
}

static int sample_rotary(struct draw *d)
{
    int64_t batch = draw_between(d, 1, 3), heads = draw_between(d, 1, 4), rows = draw_between(d, 1, 5),
            half = draw_between(d, 1, 4), turned = half;
    bool flat = d->rank ? d->rank - 1 == 3 : draw_chance(d, 0.6), from = draw_chance(d, 0.4);
    struct shape x = {4, {batch, heads, rows, 2 * half}}, one = {1, {1}}, each = {2, {batch, rows}};
    if (d->given)
        return -1;
    if (flat)
        x = (struct shape){3, {batch, rows, heads * 2 * half}};
    draw_data(d, d->type, &x);
    int64_t positions = rows + draw_between(d, 0, 4);
    draw_range(d, DTYPE_INT64, from ? &one : &each, 0, (double)(from ? positions - rows : positions - 1));
    if (half > 1 && draw_chance(d, 0.3)) {
        turned = draw_between(d, 1, half);
        draw_int(d, "rotary_embedding_dim", 2 * turned);
        draw_int(d, "num_heads", heads);
    }
    struct shape cache = {2, {positions, turned}};
    draw_range(d, d->type, &cache, -1, 1);
    draw_range(d, d->type, &cache, -1, 1);
    if (draw_chance(d, 0.6))
        draw_int(d, "interleaved", draw_between(d, 0, 1));
    return 0;
}

/* ---- What both attentions share ---- */

struct attending {
    const struct bounded *q, *k, *v, *mask, *past_key, *past_value;
    int64_t heads, kv_heads, causal;
};

/* By this factor a result may move further than the bounds of Attention alone allow, as query, key, value and
 * mask move together in the steps before: an estimate, which the tests confirm. */
static const double together = 1.1;

/* The last step: ONNX's Attention on tensors of rank 3. */
static int attend(struct op_call *call, const struct attending *a)
{
    const struct bounded *in[6] = {a->q, a->k, a->v, a->mask, a->past_key, a->past_value};
    struct inner step;
    inner_begin(&step, call, "Attention");
    node_set_int(&step.arena, step.node, "q_num_heads", a->heads);
    node_set_int(&step.arena, step.node, "kv_num_heads", a->kv_heads);
    node_set_int(&step.arena, step.node, "is_causal", a->causal);
    node_set_int(&step.arena, step.node, "qk_matmul_output_mode", 3);
    double scale = call_float(call, "scale", 0);
    if (scale != 0)
        node_set_float(&step.arena, step.node, "scale", (float)scale);
    if (call_float(call, "softcap", 0) != 0)
        node_set_float(&step.arena, step.node, "softcap", (float)call_float(call, "softcap", 0));
    if (inner_last(&step, in, a->past_key ? 6 : a->mask ? 4 : 3))
        return -1;
    for (size_t i = 0; call->outputs[0].hard && i < call->outputs[0].count; i++)
        call->outputs[0].hard[i] *= together;
    return 0;
}

/* Columns `from` on of the last dimension. */
static int cut_columns(struct op_call *call, const struct bounded *x, int64_t from, int64_t count,
                       struct bounded *out)
{
    struct shape shape = x->shape;
    int64_t width = x->shape.dims[2];
    shape.dims[2] = count;
    if (bounded_alloc(out, x->type, &shape, call->shapes_only, call->err))
        return -1;
    for (size_t i = 0; out->value && i < out->count; i++)
        bounded_move(out, i, x, i / (size_t)count * (size_t)width + (size_t)from + i % (size_t)count);
    return 0;
}

/* ---- MultiHeadAttention ---- */

enum { QUERY, KEY, VALUE, BIAS, PADDING, SCORES, PAST_KEY, PAST_VALUE, PAST_LENGTH, BEAMS };

/* Part of the bias, added to one of the three. */
static int add_part(struct op_call *call, const struct bounded *bias, size_t from, const struct bounded **x,
                    struct bounded *sum)
{
    struct shape part = {1, {(*x)->shape.dims[2]}};
    struct bounded cut;
    bounded_init(&cut);
    if (!bias)
        return 0;
    if (from + (size_t)part.dims[0] > bias->count || bias->type != (*x)->type)
        return call_invalid(call, "the bias does not fit");
    if (bounded_alloc(&cut, bias->type, &part, call->shapes_only, call->err))
        return -1;
    for (size_t i = 0; cut.value && i < cut.count; i++)
        bounded_move(&cut, i, bias, from + i);
    int result = inner_simple(call, "Add", *x, &cut, sum);
    *x = sum;
    bounded_release(&cut);
    return result;
}

/* Whether a mask of integers hides column `column`: lengths [batch], or 0 and 1 [batch, columns] or
 * [batch, rows, columns]. */
static struct number seen(const struct bounded *padding, const int64_t at[4], int64_t rows, int64_t columns)
{
    if (padding->shape.rank == 1) {
        struct number length = number_of(padding, (size_t)at[0]);
        return length.h > 0 ? length : number_exact((long double)at[3] < length.v);
    }
    bool each_row = padding->shape.rank == 3;
    return number_of(padding,
                     (size_t)((at[0] * (each_row ? rows : 1) + (each_row ? at[2] : 0)) * columns + at[3]));
}

/* attention_bias plus mask_filter_value where the padding mask hides a column, as one mask [batch, heads or
 * 1, rows, columns]. */
static int join_masks(struct op_call *call, const struct attending *a, const struct bounded *padding,
                      const struct bounded *scores, int64_t columns, struct bounded *out)
{
    int64_t batch = a->q->shape.dims[0], rows = a->q->shape.dims[1];
    struct shape shape = {4, {batch, scores ? scores->shape.dims[1] : 1, rows, columns}}, common;
    if (scores && (scores->shape.rank != 4 || scores->type != a->q->type || scores->shape.dims[2] != rows ||
                   scores->shape.dims[3] != columns || call_broadcast(call, &scores->shape, &shape, &common)))
        return call_invalid(call, "attention_bias does not fit");
    size_t wanted = !padding ? 0
                    : padding->shape.rank == 1
                        ? (size_t)batch
                        : (size_t)(batch * columns * (padding->shape.rank == 3 ? rows : 1));
    if (padding && (padding->count != wanted || padding->type != DTYPE_INT32 || padding->shape.rank > 3))
        return call_unsupported(call, "this form of the mask is not supported");
    if (bounded_alloc(out, a->q->type, &shape, call->shapes_only, call->err))
        return -1;
    struct strides of = scores ? strides_broadcast(&scores->shape, &shape) : (struct strides){{0}};
    double filter = call_float(call, "mask_filter_value", -10000);
    int64_t at[TENSOR_MAX_RANK] = {0};
    for (size_t i = 0; out->value && i < out->count; i++, odometer_next(at, &shape)) {
        struct number sum = scores ? number_of(scores, strides_at(&of, 4, at)) : number_exact(0);
        struct number open = padding ? seen(padding, at, rows, columns) : number_exact(1);
        if (open.h > 0)
            sum.h = INFINITY;
        else if (open.v == 0)
            sum = number_add(sum, number_exact(filter), unit_of(out->type));
        number_put(out, i, sum);
    }
    return 0;
}

static int take_multi_head(struct op_call *call, struct attending *a)
{
    a->q = call_need(call, QUERY);
    a->k = call_input(call, KEY);
    a->v = call_input(call, VALUE);
    a->past_key = call_input(call, PAST_KEY);
    a->past_value = call_input(call, PAST_VALUE);
    a->heads = a->kv_heads = call_int(call, "num_heads", 0);
    a->causal = call_int(call, "unidirectional", 0) != 0;
    if (!a->q)
        return -1;
    if (!a->k || !a->v || a->q->shape.rank != 3 || a->k->shape.rank != 3 || a->v->shape.rank != 3 ||
        call_input(call, PAST_LENGTH) || call_input(call, BEAMS))
        return call_unsupported(call, "packed or cached keys and values, and beams, are not supported");
    return 0;
}

static int eval_multi_head(struct op_call *call)
{
    struct attending a = {0};
    struct bounded sums[3], mask;
    const struct bounded *bias = call_input(call, BIAS), **parts[3] = {&a.q, &a.k, &a.v};
    size_t from = 0;
    int result = take_multi_head(call, &a);
    bounded_init(&mask);
    for (int i = 0; i < 3; i++)
        bounded_init(&sums[i]);
    for (int i = 0; i < 3 && !result; i++) {
        size_t length = (size_t)(*parts[i])->shape.dims[2];
        result = add_part(call, bias, from, parts[i], &sums[i]);
        from += length;
    }
    if (!result && (call_input(call, PADDING) || call_input(call, SCORES))) {
        int64_t past = a.past_key && a.past_key->shape.rank == 4 ? a.past_key->shape.dims[2] : 0;
        result = join_masks(call, &a, call_input(call, PADDING), call_input(call, SCORES),
                            past + a.k->shape.dims[1], &mask);
        a.mask = &mask;
    }
    if (!result)
        result = attend(call, &a);
    for (int i = 0; i < 3; i++)
        bounded_release(&sums[i]);
    bounded_release(&mask);
    return result;
}

static void draw_past(struct draw *d, enum dtype type, const struct shape *shape)
{
    draw_data(d, type, shape);
    draw_data(d, type, shape);
    draw_outputs(d, 3);
}

static int sample_multi_head(struct draw *d)
{
    int64_t batch = draw_between(d, 1, 3), heads = draw_between(d, 1, 4), rows = draw_between(d, 1, 5),
            size = 4 * draw_between(d, 1, 2);
    bool has_past = draw_chance(d, 0.3), bias = draw_chance(d, 0.3), padding = draw_chance(d, 0.3),
         scores = draw_chance(d, 0.3);
    int64_t keys = has_past || draw_chance(d, 0.5) ? rows : draw_between(d, 1, 5),
            past = has_past ? draw_between(d, 1, 4) : 0;
    struct shape q = {3, {batch, rows, heads * size}}, k = {3, {batch, keys, heads * size}},
                 all = {1, {3 * heads * size}}, mask = {2, {batch, past + keys}},
                 added = {4, {batch, heads, rows, past + keys}}, cache = {4, {batch, heads, past, size}};
    if (d->given)
        return -1;
    draw_data(d, d->type, &q);
    draw_data(d, d->type, &k);
    draw_data(d, d->type, &k);
    if (bias)
        draw_data(d, d->type, &all);
    else if (padding || scores || past)
        draw_omit(d);
    if (padding)
        draw_range(d, DTYPE_INT32, &mask, 0, 1);
    else if (scores || past)
        draw_omit(d);
    struct drawn *last = &d->inputs[d->n_inputs - 1];
    for (size_t i = 0; padding && last->source == DRAWN_NEW && i < last->data.count;
         i += (size_t)(past + keys))
        tensor_set(&last->data, i, 1); /* or there would be nothing to normalise */
    if (scores)
        draw_range(d, d->type, &added, -4, 4);
    else if (past)
        draw_omit(d);
    if (past)
        draw_past(d, d->type, &cache);
    draw_int(d, "num_heads", heads);
    if (draw_chance(d, 0.3))
        draw_float(d, "scale", (float)draw_between(d, 1, 8) / 8);
    if (keys == rows && !padding && draw_chance(d, 0.3))
        draw_int(d, "unidirectional", 1);
    return 0;
}

/* ---- Attention ---- */

enum { A_WEIGHTS = 1, A_BIAS, A_MASK, A_PAST, A_SCORES, A_PAST_LENGTH };

/* How wide query, key and value are within the weights. */
static int take_widths(struct op_call *call, int64_t all, int64_t heads, int64_t widths[3])
{
    size_t count;
    const int64_t *given = call_ints(call, "qkv_hidden_sizes", &count);
    for (int i = 0; i < 3; i++)
        widths[i] = count == 3 ? given[i] : all / 3;
    if ((count && count != 3) || heads < 1)
        return call_invalid(call, "num_heads or qkv_hidden_sizes is out of range");
    for (int i = 0; i < 3; i++)
        if (widths[i] < 1 || widths[i] > all || widths[i] % heads)
            return call_invalid(call, "the heads do not divide the weights");
    if (widths[0] != widths[1] || widths[0] + widths[1] + widths[2] != all)
        return call_invalid(call, "the weights are not those of query, key and value");
    return 0;
}

/* input times weights plus bias, cut into query, key and value. The bias may be what the sums begin with. */
static int project(struct op_call *call, const struct bounded *x, const struct bounded *weights,
                   const int64_t widths[3], struct bounded parts[3])
{
    const struct bounded *bias = call_input(call, A_BIAS);
    struct shape rows = {2, {x->shape.dims[0] * x->shape.dims[1], x->shape.dims[2]}},
                 wide = {3, {x->shape.dims[0], x->shape.dims[1], weights->shape.dims[1]}};
    struct bounded flat = *x, made; /* flat is borrowed */
    const struct bounded *in[3] = {&flat, weights, bias};
    struct inner step;
    if (bias && (bias->shape.rank != 1 || bias->shape.dims[0] != wide.dims[2] || bias->type != x->type))
        return call_invalid(call, "the bias does not fit");
    inner_reshape(&flat, &rows);
    inner_begin(&step, call, "Gemm");
    int result = inner_step(&step, in, bias ? 3 : 2, &made);
    int64_t from = 0;
    if (!result)
        inner_reshape(&made, &wide);
    for (int i = 0; i < 3 && !result; i++) {
        result = cut_columns(call, &made, from, widths[i], &parts[i]);
        from += widths[i];
    }
    bounded_release(&made);
    return result;
}

/* Half of the past state: keys or values. */
static int cut_past(struct op_call *call, const struct bounded *past, size_t half, struct bounded *out)
{
    struct shape shape = {4, {0}};
    for (int i = 0; i < 4; i++)
        shape.dims[i] = past->shape.dims[i + 1];
    if (bounded_alloc(out, past->type, &shape, call->shapes_only, call->err))
        return -1;
    for (size_t i = 0; out->value && i < out->count; i++)
        bounded_move(out, i, past, half * out->count + i);
    return 0;
}

/* Keys and values behind each other as the present state. */
static int put_present(struct op_call *call, const struct bounded *keys, const struct bounded *values)
{
    struct shape shape = {5, {2}};
    if (!shape_equal(&keys->shape, &values->shape))
        return call_invalid(call, "keys and values of the present state differ in size");
    for (int i = 0; i < 4; i++)
        shape.dims[i + 1] = keys->shape.dims[i];
    struct bounded *out = call_output(call, 1, keys->type, &shape);
    for (size_t i = 0; out && out->value && i < out->count; i++)
        bounded_move(out, i, i < keys->count ? keys : values, i % keys->count);
    return out ? 0 : -1;
}

/* The last step, whose keys and values become one tensor. */
static int attend_with_state(struct op_call *call, const struct attending *a)
{
    struct bounded made[3];
    struct op_call last = *call;
    for (int i = 0; i < 3; i++)
        bounded_init(&made[i]);
    last.outputs = made;
    last.n_outputs = call->n_outputs > 1 ? 3 : 1;
    int result = attend(&last, a);
    call->open |= last.open;
    if (!result && call->n_outputs > 1)
        result = put_present(call, &made[1], &made[2]);
    if (result)
        bounded_release(&made[0]);
    else
        call->outputs[0] = made[0];
    bounded_release(&made[1]);
    bounded_release(&made[2]);
    return result;
}

static int check_attention(struct op_call *call, const struct bounded *x, const struct bounded *weights)
{
    const struct bounded *past = call_input(call, A_PAST);
    if (call_int(call, "do_rotary", 0) || call_int(call, "past_present_share_buffer", 0) ||
        call_input(call, A_PAST_LENGTH))
        return call_unsupported(call, "rotation and shared buffers are not supported");
    if (x->shape.rank != 3 || weights->shape.rank != 2 || weights->type != x->type ||
        weights->shape.dims[0] != x->shape.dims[2])
        return call_invalid(call, "input and weights do not fit together");
    if (past && (past->shape.rank != 5 || past->shape.dims[0] != 2 || past->type != x->type))
        return call_invalid(call, "the past state does not fit");
    return 0;
}

static int eval_attention(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0), *weights = call_need(call, A_WEIGHTS),
                         *past = call_input(call, A_PAST), *padding = call_input(call, A_MASK),
                         *scores = call_input(call, A_SCORES);
    struct bounded parts[6]; /* query, key, value, their past, mask */
    struct attending a = {.q = &parts[0], .k = &parts[1], .v = &parts[2]};
    int64_t widths[3];
    for (int i = 0; i < 6; i++)
        bounded_init(&parts[i]);
    a.heads = a.kv_heads = call_int(call, "num_heads", 0);
    a.causal = call_int(call, "unidirectional", 0) != 0;
    if (!x || !weights || check_attention(call, x, weights) ||
        take_widths(call, weights->shape.dims[1], a.heads, widths))
        return -1;
    int result = project(call, x, weights, widths, parts);
    for (size_t i = 0; past && i < 2 && !result; i++)
        result = cut_past(call, past, i, &parts[3 + i]);
    if (past) {
        a.past_key = &parts[3];
        a.past_value = &parts[4];
    }
    if (!result && (padding || scores)) {
        int64_t columns = x->shape.dims[1] + (past ? past->shape.dims[3] : 0);
        result = join_masks(call, &a, padding, scores, columns, &parts[5]);
        a.mask = &parts[5];
    }
    if (!result)
        result = attend_with_state(call, &a);
    for (int i = 0; i < 6; i++)
        bounded_release(&parts[i]);
    return result;
}

/* A mask that hides some columns, never the first: or there would be nothing to normalise. */
static void draw_mask(struct draw *d, int64_t batch, int64_t rows, int64_t columns)
{
    struct shape lengths = {1, {batch}}, columns_only = {2, {batch, columns}},
                 each_row = {3, {batch, rows, columns}};
    int64_t rank = draw_between(d, 1, 3);
    if (rank == 1)
        draw_range(d, DTYPE_INT32, &lengths, 1, (double)columns);
    else
        draw_range(d, DTYPE_INT32, rank == 2 ? &columns_only : &each_row, 0, 1);
    struct drawn *last = &d->inputs[d->n_inputs - 1];
    for (size_t i = 0; rank > 1 && last->source == DRAWN_NEW && i < last->data.count; i += (size_t)columns)
        tensor_set(&last->data, i, 1);
}

static int sample_attention(struct draw *d)
{
    int64_t batch = draw_between(d, 1, 3), heads = draw_between(d, 1, 3), rows = draw_between(d, 1, 5),
            size = 4 * draw_between(d, 1, 2), in = draw_between(d, 1, 8);
    bool mask = draw_chance(d, 0.4), has_past = draw_chance(d, 0.3), other = !has_past && draw_chance(d, 0.3),
         scores = !has_past && draw_chance(d, 0.3);
    int64_t past = has_past ? draw_between(d, 1, 4) : 0, columns = past + rows;
    int64_t widths[3] = {heads * size, heads * size, heads * (other ? 4 * draw_between(d, 1, 3) : size)};
    struct shape x = {3, {batch, rows, in}}, weights = {2, {in, widths[0] + widths[1] + widths[2]}},
                 each = {1, {weights.dims[1]}}, state = {5, {2, batch, heads, past, size}},
                 added = {4, {batch, heads, rows, columns}};
    if (d->given)
        return -1;
    draw_data(d, d->type, &x);
    draw_range(d, d->type, &weights, -1, 1);
    /* The bias is optional, but the engine that has this operator dies without it at once, and refuses a past
     * state beside attention_bias: cases of these kinds would find nothing else. */
    draw_range(d, d->type, &each, -1, 1);
    if (mask)
        draw_mask(d, batch, rows, columns);
    else if (past || scores)
        draw_omit(d);
    if (past)
        draw_data(d, d->type, &state);
    else if (scores)
        draw_omit(d);
    if (scores)
        draw_range(d, d->type, &added, -4, 4);
    if (past)
        draw_outputs(d, 2);
    draw_int(d, "num_heads", heads);
    if (other)
        draw_ints(d, "qkv_hidden_sizes", widths, 3);
    if (draw_chance(d, 0.3))
        draw_float(d, "scale", (float)draw_between(d, 1, 8) / 8);
    if (!mask && draw_chance(d, 0.4))
        draw_int(d, "unidirectional", 1);
    return 0;
}

/* ---- GroupQueryAttention ---- */

enum { G_PAST_KEY = 3, G_PAST_VALUE, G_LENGTHS, G_TOTAL, G_COS, G_SIN, G_IDS, G_SCORES, G_SINK };

/* Query, key and value, which may be one tensor. */
static int unpack(struct op_call *call, struct attending *a, struct bounded parts[3])
{
    a->q = call_need(call, 0);
    a->k = call_input(call, 1);
    a->v = call_input(call, 2);
    if (!a->q)
        return -1;
    if (a->heads < 1 || a->kv_heads < 1 || a->q->shape.rank != 3 || !a->k != !a->v ||
        (a->k && (a->k->shape.rank != 3 || a->v->shape.rank != 3)))
        return call_invalid(call, "query, key and value do not fit together");
    if (a->k)
        return 0;
    int64_t width = a->q->shape.dims[2], all = a->heads + 2 * a->kv_heads;
    if (width % all)
        return call_invalid(call, "the packed query cannot be divided");
    int64_t size = width / all;
    if (cut_columns(call, a->q, 0, a->heads * size, &parts[0]) ||
        cut_columns(call, a->q, a->heads * size, a->kv_heads * size, &parts[1]) ||
        cut_columns(call, a->q, (a->heads + a->kv_heads) * size, a->kv_heads * size, &parts[2]))
        return -1;
    a->q = &parts[0];
    a->k = &parts[1];
    a->v = &parts[2];
    return 0;
}

/* Where not every sequence of the batch is as long as the cache and what is new, some of it is padding, and
 * nothing is judged. */
static int check_lengths(struct op_call *call, int64_t past, int64_t rows, bool *padded)
{
    const struct bounded *lengths = call_need(call, G_LENGTHS), *total = call_need(call, G_TOTAL);
    long double all = (long double)(past + rows);
    if (!lengths || !total)
        return -1;
    if (total->count != 1 || lengths->shape.rank != 1)
        return call_invalid(call, "seqlens_k is no list, or total_sequence_length no scalar");
    *padded = total->value && (bounded_hard(total, 0) > 0 || total->value[0] != all);
    for (size_t i = 0; lengths->value && i < lengths->count; i++)
        *padded |= bounded_hard(lengths, i) > 0 || lengths->value[i] != all - 1;
    return 0;
}

static int refuse_rest(struct op_call *call)
{
    for (size_t i = G_SINK; i < call->n_inputs; i++)
        if (call->inputs[i])
            return call_unsupported(call, "input %zu is not supported", i);
    if (call_int(call, "local_window_size", -1) != -1 || call_int(call, "smooth_softmax", 0) > 0 ||
        call_int(call, "sliding_window_cache", 0) || call_int(call, "qk_output", 0))
        return call_unsupported(call, "a window, a smooth softmax or the scores are not supported");
    return 0;
}

/* Turns query and key; positions go on from the cache. */
static int turn_both(struct op_call *call, struct attending *a, int64_t past, struct bounded turned[2])
{
    struct shape one = {1, {1}};
    struct bounded first, ids;
    struct turning t = {.cos = call_need(call, G_COS), .sin = call_need(call, G_SIN)};
    bounded_init(&first);
    bounded_init(&ids);
    if (!t.cos || !t.sin)
        return -1;
    t.interleaved = call_int(call, "rotary_interleaved", 0);
    t.turned = t.cos->shape.rank == 2 ? 2 * t.cos->shape.dims[1] : 0;
    t.ids = call_input(call, G_IDS);
    int result = bounded_alloc(&first, DTYPE_INT64, &one, false, call->err);
    if (!result) {
        first.value[0] = (long double)past;
        result = count_positions(call, a->q->shape.dims[0], a->q->shape.dims[1], &first, &ids);
    }
    t.ids = &ids;
    t.x = a->q;
    t.heads = a->heads;
    if (!result)
        result = turn(call, &t, &turned[0]);
    t.x = a->k;
    t.heads = a->kv_heads;
    if (!result)
        result = turn(call, &t, &turned[1]);
    a->q = &turned[0];
    a->k = &turned[1];
    bounded_release(&first);
    bounded_release(&ids);
    return result;
}

static int eval_group_query(struct op_call *call)
{
    struct attending a = {.heads = call_int(call, "num_heads", 0),
                          .kv_heads = call_int(call, "kv_num_heads", 0)};
    struct bounded parts[5];
    bool padded = false;
    for (int i = 0; i < 5; i++)
        bounded_init(&parts[i]);
    a.past_key = call_input(call, G_PAST_KEY);
    a.past_value = call_input(call, G_PAST_VALUE);
    a.mask = call_input(call, G_SCORES);
    a.causal = call_int(call, "causal", 1) != 0;
    int result = refuse_rest(call);
    if (!result)
        result = unpack(call, &a, parts);
    if (!result && a.past_key && (a.past_key->type != a.q->type || a.past_key->shape.rank != 4))
        result = call_unsupported(call, "a quantized cache is not supported");
    int64_t past = !result && a.past_key ? a.past_key->shape.dims[2] : 0;
    if (!result && past == 0)
        a.past_key = a.past_value = NULL;
    if (!result)
        result = check_lengths(call, past, a.q->shape.dims[1], &padded);
    if (!result && call_input(call, G_IDS))
        result = call_unsupported(call, "position_ids are not supported");
    if (!result && call_int(call, "do_rotary", 0))
        result = turn_both(call, &a, past, &parts[3]);
    if (!result)
        result = attend(call, &a);
    for (size_t o = 0; !result && padded && o < call->n_outputs; o++)
        for (size_t i = 0; call->outputs[o].value && i < call->outputs[o].count; i++)
            bounded_put_undecided(&call->outputs[o], i, 0);
    for (int i = 0; i < 5; i++)
        bounded_release(&parts[i]);
    return result;
}

static int sample_group_query(struct draw *d)
{
    int64_t batch = draw_between(d, 1, 3), groups = draw_between(d, 1, 2), kv = draw_between(d, 1, 3),
            heads = groups * kv, size = 16;
    bool rotary = draw_chance(d, 0.5), packed = draw_chance(d, 0.3), has_past = draw_chance(d, 0.6);
    int64_t past = has_past ? draw_between(d, 1, 5) : 0, rows = has_past ? 1 : draw_between(d, 1, 5),
            total = past + rows;
    struct shape q = {3, {batch, rows, (packed ? heads + 2 * kv : heads) * size}},
                 k = {3, {batch, rows, kv * size}}, cache = {4, {batch, kv, past, size}}, each = {1, {batch}},
                 one = {1, {1}}, angles = {2, {total + draw_between(d, 0, 3), size / 2}};
    int64_t lengths[3] = {total - 1, total - 1, total - 1};
    if (d->given)
        return -1;
    draw_data(d, d->type, &q);
    for (int i = 0; i < 2; i++)
        if (packed)
            draw_omit(d);
        else
            draw_data(d, d->type, &k);
    for (int i = 0; i < 2; i++)
        if (past)
            draw_data(d, d->type, &cache);
        else
            draw_omit(d);
    draw_int_typed(d, DTYPE_INT32, &each, lengths);
    draw_int_typed(d, DTYPE_INT32, &one, &total);
    /* Where it is not known beforehand, the engine takes the present cache to be as long as the past one. */
    d->inputs[d->n_inputs - 1].constant |= d->inputs[d->n_inputs - 1].source == DRAWN_NEW;
    for (int i = 0; i < 2 && rotary; i++)
        draw_range(d, d->type, &angles, -1, 1);
    draw_int(d, "num_heads", heads);
    draw_int(d, "kv_num_heads", kv);
    if (rotary)
        draw_int(d, "do_rotary", 1);
    if (rotary && draw_chance(d, 0.4))
        draw_int(d, "rotary_interleaved", 1);
    if (draw_chance(d, 0.3))
        draw_float(d, "scale", (float)draw_between(d, 1, 8) / 8);
    draw_outputs(d, 3);
    return 0;
}

static const struct op_param rotary_params[] = {
    {"interleaved", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"is_packed_batching", PARAM_INT, .legal = "0", .initial = "0"},
    {"num_heads", PARAM_INT, .legal = "1|2", .initial = "0"},
    {"rotary_embedding_dim", PARAM_INT, .legal = "2|4", .initial = "0"},
    {"scale", PARAM_FLOAT, .legal = "1", .initial = "1"},
    {0},
};
static const struct op_param multi_params[] = {
    {"mask_filter_value", PARAM_FLOAT, .initial = "-10000"},
    {"num_heads", PARAM_INT, .legal = "1|2|4", .illegal = "0|-1|99"},
    {"scale", PARAM_FLOAT, .legal = "0.125|0.5|1"},
    {"unidirectional", PARAM_INT, .legal = "0|1", .initial = "0"},
    {0},
};
static const struct op_param multi_extras[] = {{"bias", PARAM_INPUT, .input = BIAS},
                                               {"key_padding_mask", PARAM_INPUT, .input = PADDING},
                                               {"attention_bias", PARAM_INPUT, .input = SCORES},
                                               {"past_key", PARAM_INPUT, .input = PAST_KEY},
                                               {"past_value", PARAM_INPUT, .input = PAST_VALUE},
                                               {0}};
static const struct op_param attention_params[] = {
    {"do_rotary", PARAM_INT, .legal = "0", .initial = "0"},
    {"mask_filter_value", PARAM_FLOAT, .initial = "-10000"},
    {"num_heads", PARAM_INT, .legal = "1|2", .illegal = "0|-1|99"},
    {"past_present_share_buffer", PARAM_INT, .legal = "0", .initial = "0"},
    {"qkv_hidden_sizes", PARAM_INTS},
    {"scale", PARAM_FLOAT, .legal = "0.125|0.5|1"},
    {"unidirectional", PARAM_INT, .legal = "0|1", .initial = "0"},
    {0},
};
static const struct op_param attention_extras[] = {{"bias", PARAM_INPUT, .input = A_BIAS},
                                                   {"mask_index", PARAM_INPUT, .input = A_MASK},
                                                   {"past", PARAM_INPUT, .input = A_PAST},
                                                   {"attention_bias", PARAM_INPUT, .input = A_SCORES},
                                                   {0}};
static const struct op_param group_params[] = {
    {"do_rotary", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"kv_num_heads", PARAM_INT, .legal = "1|2", .illegal = "0|-1|99"},
    {"local_window_size", PARAM_INT, .legal = "-1", .initial = "-1"},
    {"num_heads", PARAM_INT, .legal = "1|2|4", .illegal = "0|-1|99"},
    {"rotary_interleaved", PARAM_INT, .legal = "0|1", .initial = "0"},
    {"scale", PARAM_FLOAT, .legal = "0.125|0.5|1"},
    {"softcap", PARAM_FLOAT, .legal = "0", .initial = "0"},
    {0},
};

enum { TYPES = 1 << DTYPE_FLOAT | 1 << DTYPE_FLOAT16 };

/* Members that the rows have in common. */
#define USUAL                                                                                  \
    .types = {{1, TYPES}}, .data = DATA_FIRST,                                                 \
    .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-20, 20}}, .factors = {FACTORS_NONE}, \
    .slope = SLOPE_EVERYWHERE

const struct op ops_microsoft_attention[] = {
    {OP_MICROSOFT("Attention"), USUAL, .inputs = {2, 7}, .outputs = {1, 2}, .ranks = {3, 3},
     .params = attention_params, .extras = attention_extras, .eval = eval_attention,
     .sample = sample_attention, .result = RESULT_TYPE, .work = WORK_PRODUCTS,
     .dangers = {{DANGER_EXP, .power = 1}, {DANGER_INNER, .power = 2}}},
    {OP_MICROSOFT("GroupQueryAttention"), USUAL, .inputs = {7, 16}, .outputs = {1, 4}, .ranks = {3, 3},
     .params = group_params, .eval = eval_group_query, .sample = sample_group_query, .result = RESULT_TYPE,
     .work = WORK_PRODUCTS, .dangers = {{DANGER_EXP, .power = 1}, {DANGER_INNER, .power = 2}},
     .open = "the order of softcap and mask"},
    {OP_MICROSOFT("MultiHeadAttention"), USUAL, .inputs = {1, 10}, .outputs = {1, 4}, .ranks = {3, 3},
     .params = multi_params, .extras = multi_extras, .eval = eval_multi_head, .sample = sample_multi_head,
     .result = RESULT_TYPE, .work = WORK_PRODUCTS,
     .dangers = {{DANGER_EXP, .power = 1}, {DANGER_INNER, .power = 2}}},
    {OP_MICROSOFT("RotaryEmbedding"), USUAL, .inputs = {4, 4}, .outputs = {1, 1}, .ranks = {3, 4},
     .params = rotary_params, .index = {.input = 1, .of = 2}, .eval = eval_rotary, .sample = sample_rotary,
     .result = RESULT_LIKE_INPUT, .work = WORK_ELEMENTS, .dangers = {{DANGER_NONE}}},
    {0},
};
