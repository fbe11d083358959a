/*
 * Attention: softmax(scale Q K' + mask) V for each head, with grouped heads, a cache of past keys and values,
 * and masks (docs/bounds/attention.md derives the bounds).
 *
 * Two points of the text have changed between releases of ONNX, so their results are open: the order of
 * softcap and mask (1.20 adds the mask first, later releases cap first), and with it what
 * qk_matmul_output_mode 1 gives where there is a mask or a cap.
 */
#include "bounds/contract.h"
#include "ops/draw.h"
#include "ops/heads.h"
#include "ops/move_elements.h"
#include "ops/softmax.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS };
enum { MODE_PRODUCT, MODE_MASKED, MODE_CAPPED, MODE_WEIGHTS };

struct attention {
    struct heads q, k, v, past_k, past_v;
    const struct bounded *mask, *lengths;
    struct strides mask_at;
    int64_t past, total, mask_total; /* columns of the scores, and of the mask */
    bool causal, disputed;           /* disputed: a cap and a mask */
    long double scale, scale_error, cap;
    int64_t mode;
    double unit; /* the coarsest of those in use */
    struct bounded *y, *key, *value, *product;
    struct bounded scores, weights; /* of one head: rows of q, columns `total` */
};

/* Past keys or values: always of rank 4. */
static int take_past(struct op_call *call, size_t input, const struct heads *now, struct heads *past)
{
    if (!call_input(call, input))
        return 0;
    if (call_input(call, input)->shape.rank != 4)
        return call_invalid(call, "input %zu does not have rank 4", input);
    if (heads_take(call, input, "", past))
        return -1;
    if (past->batch != now->batch || past->heads != now->heads || past->size != now->size)
        return call_invalid(call, "input %zu does not fit the present one", input);
    return 0;
}

static int take_mask(struct op_call *call, struct attention *a)
{
    const struct bounded *mask = call_input(call, MASK);
    struct shape scores = {4, {a->q.batch, a->q.heads, a->q.rows, a->total}}, common;
    a->mask = mask;
    if (!mask)
        return 0;
    if (mask->type != DTYPE_BOOL && mask->type != a->q.of->type)
        return call_invalid(call, "the mask has type %s", dtype_name(mask->type));
    if (mask->shape.rank < 1)
        return call_invalid(call, "the mask is a scalar");
    a->mask_total = mask->shape.dims[mask->shape.rank - 1];
    bool shorter = call->opset >= 24 && a->mask_total < a->total;
    /* A single column may be repeated or filled up with columns that are masked. */
    a->disputed |= shorter && a->mask_total == 1;
    if (shorter)
        scores.dims[3] = a->mask_total;
    else
        a->mask_total = a->total;
    if (call_broadcast(call, &mask->shape, &scores, &common))
        return -1;
    if (!shape_equal(&common, &scores))
        return call_invalid(call, "the mask is larger than the scores");
    a->mask_at = strides_broadcast(&mask->shape, &scores);
    return 0;
}

static int take_inputs(struct op_call *call, struct attention *a)
{
    if (heads_take(call, Q, "q_num_heads", &a->q) || heads_take(call, K, "kv_num_heads", &a->k) ||
        heads_take(call, V, "kv_num_heads", &a->v) || take_past(call, PAST_KEY, &a->k, &a->past_k) ||
        take_past(call, PAST_VALUE, &a->v, &a->past_v))
        return -1;
    if (a->q.batch != a->k.batch || a->k.batch != a->v.batch || a->k.heads != a->v.heads ||
        a->k.rows != a->v.rows || a->q.size != a->k.size || a->q.of->shape.rank != a->k.of->shape.rank ||
        a->q.of->type != a->k.of->type)
        return call_invalid(call, "Q, K and V do not fit each other");
    if (a->k.heads < 1 || a->q.heads % a->k.heads)
        return call_invalid(call, "%" PRId64 " heads of Q are no multiple of %" PRId64 " of K", a->q.heads,
                            a->k.heads);
    if (!a->past_k.of != !a->past_v.of || a->past_k.rows != a->past_v.rows)
        return call_invalid(call, "past_key and past_value do not go together");
    a->past = a->past_k.rows;
    a->total = a->past + a->k.rows;
    a->lengths = call_input(call, LENGTHS);
    if (a->lengths &&
        (a->past_k.of || a->lengths->shape.rank != 1 || a->lengths->shape.dims[0] != a->q.batch))
        return call_invalid(call, "nonpad_kv_seqlen does not go with past keys, or has another batch");
    return take_mask(call, a);
}

static int take_attributes(struct op_call *call, struct attention *a)
{
    int64_t precision = call_int(call, "softmax_precision", 0);
    a->scale = call_float(call, "scale", 0);
    if (!call_has(call, "scale"))
        a->scale = a->q.size > 0 ? 1 / sqrtl((long double)a->q.size) : 1;
    a->cap = call_float(call, "softcap", 0);
    a->mode = call_int(call, "qk_matmul_output_mode", MODE_PRODUCT);
    a->causal = call_int(call, "is_causal", 0) != 0;
    if (a->mode < MODE_PRODUCT || a->mode > MODE_WEIGHTS)
        return call_invalid(call, "qk_matmul_output_mode %" PRId64 " is none of 0 to 3", a->mode);
    if (!(a->scale > 0) || !(a->cap >= 0))
        return call_unsupported(call, "a negative scale or softcap is not supported");
    if (precision && dtype_check(precision, call->err))
        return -1;
    a->unit = fmax(unit_of(a->q.of->type), unit_of(a->v.of->type));
    if (precision && unit_of((enum dtype)precision) > a->unit)
        return call_unsupported(call, "a softmax less precise than the inputs is not supported");
    /* ONNX's body computes the scale and its root in float32, whatever the type. */
    a->scale_error = a->q.of->type == DTYPE_DOUBLE ? 4 * 0x1p-24L : 0;
    a->disputed |= a->cap > 0 && (a->mask || a->causal || a->lengths);
    /* "Upper left" is another diagonal than that of ONNX's body, which counts past rows. */
    a->disputed |= a->causal && a->past > 0 && a->q.rows != a->k.rows;
    return 0;
}

static int make_outputs(struct op_call *call, struct attention *a)
{
    struct shape y = a->q.of->shape, key = {4, {a->k.batch, a->k.heads, a->total, a->k.size}}, value = key,
                 product = {4, {a->q.batch, a->q.heads, a->q.rows, a->total}};
    value.dims[3] = a->v.size;
    y.dims[y.rank - 1] = y.rank == 4 ? a->v.size : a->q.heads * a->v.size;
    if (!(a->y = call_output(call, 0, a->q.of->type, &y)))
        return -1;
    if (call->n_outputs > 1 && !(a->key = call_output(call, 1, a->k.of->type, &key)))
        return -1;
    if (call->n_outputs > 2 && !(a->value = call_output(call, 2, a->v.of->type, &value)))
        return -1;
    if (call->n_outputs > 3 && !(a->product = call_output(call, 3, a->q.of->type, &product)))
        return -1;
    return 0;
}

/* Row `row` of the keys or values, past ones first: which tensor, and where its elements begin. */
static const struct bounded *cached(const struct heads *past, const struct heads *now, int64_t batch,
                                    int64_t head, int64_t row, size_t *at)
{
    const struct heads *from = row < past->rows ? past : now;
    *at = heads_at(from, batch, head, row < past->rows ? row : row - past->rows, 0);
    return from->of;
}

/* Two vectors with a distance between their elements. */
struct vectors {
    const struct bounded *a, *b;
    size_t at_a, at_b, step_a, step_b, length;
};

/*
 * factor * sum of a_i b_i, with `more` roundings of each term besides those of the sum. The factor may be
 * multiplied into one vector, into both as its root, or into the sum.
 */
static struct number dot(const struct vectors *v, long double factor, double more, enum dtype type,
                         double unit)
{
    long double sum = 0, size = 0, squares = 0, inputs = 0, variance = 0, most = 0;
    for (size_t i = 0; i < v->length; i++) {
        struct number a = number_of(v->a, v->at_a + i * v->step_a),
                      b = number_of(v->b, v->at_b + i * v->step_b);
        long double term = a.v * b.v;
        sum += term;
        size += fabsl(term);
        squares += term * term;
        inputs += fabsl(a.v) * b.h + a.h * fabsl(b.v) + a.h * b.h;
        variance += a.v * a.v * b.l * b.l + a.l * a.l * b.v * b.v + a.l * a.l * b.l * b.l;
        most = fmaxl(most, fmaxl(number_most(a), number_most(b)));
    }
    long double roundings = (long double)v->length + more, large = fmaxl(factor, 1);
    long double lost = (long double)v->length * contract_underflow(type) * large * (1 + most);
    struct number y = {factor * sum, factor * inputs + roundings * unit * factor * (size + inputs) + lost,
                       factor * sqrtl(variance + roundings * unit * unit * (squares + sum * sum / 9)) +
                           lost / 3};
    if (!isfinite(y.v) || !((size + inputs) * large < dtype_highest(type)) ||
        !(most * large < dtype_highest(type)))
        return (struct number){isfinite(y.v) ? y.v : 0, INFINITY, 0};
    return y;
}

static long double cap_of(long double x, const void *context)
{
    long double cap = *(const long double *)context;
    return cap * tanhl(x / cap);
}

/* softcap * tanh(score / softcap): 8 units of tanh's scale, and a rounding of its argument, where it is
 * steepest. */
static struct number capped(struct number score, const struct attention *a)
{
    if (a->cap == 0 || !isfinite(score.h))
        return score;
    long double own = a->unit * (9 * a->cap + 4 * number_most(score));
    struct number y = number_monotone(score, cap_of, &a->cap, own);
    y.h = fminl(y.h, 2 * a->cap + own);
    return y;
}

/* What attn_mask adds to a score; minus infinity where it hides it, an infinite bound where it may. */
static struct number mask_of(const struct attention *a, const int64_t index[4])
{
    struct number hidden = {-INFINITY, 0, 0}, unsure = {0, INFINITY, 0};
    if (!a->mask)
        return number_exact(0);
    if (index[3] >= a->mask_total)
        return hidden;
    struct number mask = number_of(a->mask, strides_at(&a->mask_at, 4, index));
    if (a->mask->type != DTYPE_BOOL)
        return mask;
    return mask.h > 0 ? unsure : mask.v == 0 ? hidden : number_exact(0);
}

/* Whether a column is certainly masked for a row of the scores, and what the mask adds otherwise. */
static bool masked(const struct attention *a, const int64_t index[4], struct number *added)
{
    *added = mask_of(a, index);
    bool unsure = a->lengths && bounded_hard(a->lengths, (size_t)index[0]) > 0;
    bool beyond = (a->causal && index[3] > index[2] + a->past) ||
                  (a->lengths && !unsure && (long double)index[3] >= a->lengths->value[index[0]]);
    if (unsure)
        added->h = INFINITY;
    /* Where a mask hides what attn_mask makes infinite, ONNX's body adds both. */
    if (beyond && (isnan(added->v) || added->v == INFINITY || isinf(added->h))) {
        *added = (struct number){0, INFINITY, 0};
        return false;
    }
    return beyond || (added->v == -INFINITY && added->h == 0);
}

static void put_product(struct attention *a, const int64_t index[4], struct number product,
                        struct number score, bool hidden)
{
    bool bias = a->mask || a->causal || a->lengths;
    size_t columns = (size_t)a->total, rows = (size_t)a->q.rows;
    size_t at =
        (((size_t)index[0] * (size_t)a->q.heads + (size_t)index[1]) * rows + (size_t)index[2]) * columns +
        (size_t)index[3];
    if (!a->product || a->mode == MODE_WEIGHTS)
        return;
    bool open = (a->mode == MODE_MASKED && (bias || a->cap > 0)) || (a->mode == MODE_CAPPED && a->disputed);
    if (open)
        bounded_put_open(a->product, at);
    else if (a->mode == MODE_CAPPED && hidden) /* minus infinity, or the least number */
        bounded_put_undecided(a->product, at, 0);
    else
        number_put(a->product, at, a->mode == MODE_CAPPED ? score : product);
}

/* The scores of one head. */
static void score_head(struct attention *a, int64_t batch, int64_t head)
{
    int64_t group = head / (a->q.heads / a->k.heads);
    for (int64_t row = 0; row < a->q.rows; row++)
        for (int64_t column = 0; column < a->total; column++) {
            int64_t index[4] = {batch, head, row, column};
            struct vectors v = {.a = a->q.of,
                                .at_a = heads_at(&a->q, batch, head, row, 0),
                                .step_a = 1,
                                .step_b = 1,
                                .length = (size_t)a->q.size};
            struct number added;
            v.b = cached(&a->past_k, &a->k, batch, group, column, &v.at_b);
            struct number product = dot(&v, a->scale, 8, a->q.of->type, a->unit);
            long double scaled = a->scale_error * number_most(product);
            product = number_loosen(product, scaled, scaled / 3);
            bool hidden = masked(a, index, &added);
            struct number score = number_add(capped(product, a), added, a->unit);
            size_t at = (size_t)(row * a->total + column);
            put_product(a, index, product, score, hidden);
            if (hidden && isfinite(product.h))
                bounded_set(&a->scores, at, -INFINITY, 0, 0);
            else if (hidden || !isfinite(score.v)) /* an infinity that is masked may become NaN */
                bounded_put_undecided(&a->scores, at, 0);
            else
                number_put(&a->scores, at, score);
        }
}

/* The products of the weights of a row with one element of the values, summed up. */
struct mixture {
    struct number y;                   /* l: a variance */
    long double size, squares, values; /* values: their magnitudes, without the weights */
    bool open, lost;
};

static void mix(struct mixture *m, struct number w, struct number v)
{
    long double term = w.v * v.v;
    m->open |= isinf(w.h) && isinf(w.l);
    m->lost |= !isfinite(v.v) || !isfinite(v.h) || !isfinite(w.v) || !isfinite(w.h);
    m->y.v += term;
    m->y.h += w.h * fabsl(v.v) + w.v * v.h + w.h * v.h;
    m->y.l += w.l * w.l * v.v * v.v + w.v * w.v * v.l * v.l + w.l * w.l * v.l * v.l;
    m->size += fabsl(term);
    m->values += fabsl(v.v) + v.h;
    m->squares += term * term;
}

/* How much more than to first order a result may move when scores and values move together: an estimate that
 * the tests hold, not yet derived (docs/bounds/attention.md). */
static const long double second_order = 2;

/* One element of the result. An implementation that divides in the end sums up to `columns` numbers as large
 * as the values; one that goes along the columns once, and weighs by the largest score so far, may have
 * summed all values up to the last column with weights of 1. The last rounding is that of the number as it
 * may be. */
static void put_mixture(struct attention *a, size_t to, struct mixture *m)
{
    enum dtype type = a->q.of->type;
    long double columns = (long double)a->total, roundings = columns + 8, most = m->size + m->y.h;
    long double own =
        roundings * a->unit * most + 2 * columns * contract_underflow(type) + 2 * a->unit * m->y.h;
    long double variance = m->y.l + roundings * a->unit * a->unit * (m->squares + m->y.v * m->y.v / 9);
    if (m->open || a->disputed)
        bounded_put_open(a->y, to);
    else if (m->lost || a->total == 0 || !(most * columns < dtype_highest(type)) ||
             !(m->values < dtype_highest(type)))
        bounded_put_undecided(a->y, to, 0);
    else
        bounded_put(a->y, to, m->y.v, second_order * m->y.h + own, sqrtl(variance));
}

/* The weights of a row and their products with the values. */
static void weigh_row(struct attention *a, int64_t batch, int64_t head, int64_t row)
{
    size_t columns = (size_t)a->total, base = (size_t)row * columns;
    int64_t group = head / (a->q.heads / a->k.heads);
    softmax_lane(&a->weights, &a->scores, base, 1, columns, false);
    struct heads y = a->q;
    y.size = a->v.size;
    y.row_step = a->y->shape.rank == 4 ? (size_t)y.size : (size_t)(y.heads * y.size);
    y.head_step = a->y->shape.rank == 4 ? (size_t)(y.rows * y.size) : (size_t)y.size;
    y.batch_step = (size_t)(y.heads * y.rows * y.size);
    for (int64_t element = 0; element < a->v.size; element++) {
        struct mixture m = {0};
        for (size_t column = 0; column < columns; column++) {
            size_t at;
            const struct bounded *from = cached(&a->past_v, &a->v, batch, group, (int64_t)column, &at);
            mix(&m, number_of(&a->weights, base + column), number_of(from, at + (size_t)element));
        }
        put_mixture(a, heads_at(&y, batch, head, row, element), &m);
    }
}

static void keep_weights(struct attention *a, int64_t batch, int64_t head)
{
    size_t count = a->weights.count, first = ((size_t)batch * (size_t)a->q.heads + (size_t)head) * count;
    for (size_t i = 0; a->product && a->mode == MODE_WEIGHTS && i < count; i++)
        if (a->disputed)
            bounded_put_open(a->product, first + i);
        else
            bounded_set(a->product, first + i, a->weights.value[i],
                        bounded_hard(&a->weights, i) * (1 + 4 * a->unit), bounded_likely(&a->weights, i));
}

/* The keys or values with the past ones before them. */
static void keep_cache(struct bounded *out, const struct heads *past, const struct heads *now)
{
    size_t at = 0;
    for (int64_t batch = 0; out && batch < now->batch; batch++)
        for (int64_t head = 0; head < now->heads; head++)
            for (int64_t row = 0; row < past->rows + now->rows; row++, at += (size_t)now->size) {
                size_t start;
                const struct bounded *from = cached(past, now, batch, head, row, &start);
                move_run(out, at, from, start, (size_t)now->size);
            }
}

static int eval_attention(struct op_call *call)
{
    struct attention a = {0};
    if (take_inputs(call, &a) || take_attributes(call, &a) || make_outputs(call, &a))
        return -1;
    if (call->shapes_only)
        return 0;
    keep_cache(a.key, &a.past_k, &a.k);
    keep_cache(a.value, &a.past_v, &a.v);
    struct shape scores = {2, {a.q.rows, a.total}};
    bounded_init(&a.scores);
    bounded_init(&a.weights);
    int result = bounded_alloc(&a.scores, a.q.of->type, &scores, false, call->err) ||
                         bounded_alloc(&a.weights, a.q.of->type, &scores, false, call->err)
                     ? -1
                     : 0;
    for (int64_t batch = 0; !result && batch < a.q.batch; batch++)
        for (int64_t head = 0; head < a.q.heads; head++) {
            score_head(&a, batch, head);
            for (int64_t row = 0; row < a.q.rows; row++)
                weigh_row(&a, batch, head, row);
            keep_weights(&a, batch, head);
        }
    bounded_release(&a.scores);
    bounded_release(&a.weights);
    return result;
}

/* Some columns of every row are left, or there would be nothing to normalise. */
static void draw_mask(struct draw *d, enum dtype type, const struct shape *scores)
{
    struct shape shape = *scores;
    int rank = (int)draw_between(d, 2, 4);
    if (draw_chance(d, 0.3))
        shape.dims[0] = 1;
    if (draw_chance(d, 0.3))
        shape.dims[1] = 1;
    shape = shape_make(rank, shape.dims + 4 - rank);
    bool boolean = draw_chance(d, 0.5);
    if (boolean)
        draw_data(d, DTYPE_BOOL, &shape);
    else
        draw_range(d, type, &shape, -4, 4);
    struct drawn *mask = &d->inputs[d->n_inputs - 1];
    for (size_t i = 0; boolean && mask->source == DRAWN_NEW && i < mask->data.count;
         i += (size_t)shape.dims[rank - 1])
        tensor_set(&mask->data, i, 1);
}

struct drawn_sizes {
    int64_t batch, heads, kv_heads, rows, keys, size, value_size, past;
};

/* K or V, in the form of Q. */
static void draw_heads(struct draw *d, const struct drawn *q, const struct drawn_sizes *n, int64_t size)
{
    struct shape shape = {4, {n->batch, n->kv_heads, n->keys, size}};
    if (q->shape.rank == 3)
        shape = (struct shape){3, {n->batch, n->keys, n->kv_heads * size}};
    draw_data(d, q->type, &shape);
}

static void draw_past(struct draw *d, enum dtype type, struct drawn_sizes *n)
{
    struct shape key = {4, {n->batch, n->kv_heads, n->past, n->size}}, value = key;
    value.dims[3] = n->value_size;
    draw_data(d, type, &key);
    draw_data(d, type, &value);
    bool product = draw_chance(d, 0.4);
    draw_outputs(d, product ? 4 : 3);
    if (product && draw_chance(d, 0.7))
        draw_int(d, "qk_matmul_output_mode", draw_chance(d, 0.5) ? MODE_WEIGHTS : MODE_CAPPED);
}

static int sample_attention(struct draw *d)
{
    struct drawn q = draw_primary(d);
    if (shape_span(&q.shape, 0, q.shape.rank) == 0)
        return -1;
    bool flat = q.shape.rank == 3;
    struct drawn_sizes n = {.batch = q.shape.dims[0], .keys = draw_dim(d), .value_size = draw_dim(d)};
    n.heads = flat ? heads_draw(d, q.shape.dims[2]) : q.shape.dims[1];
    n.rows = q.shape.dims[flat ? 1 : 2];
    n.size = flat ? q.shape.dims[2] / n.heads : q.shape.dims[3];
    n.kv_heads = heads_draw(d, n.heads);
    if (draw_chance(d, 0.5))
        n.value_size = n.size;
    n.past = draw_chance(d, 0.3) ? draw_between(d, 1, 4) : 0;
    draw_heads(d, &q, &n, n.size);
    draw_heads(d, &q, &n, n.value_size);
    if (flat) {
        draw_int(d, "q_num_heads", n.heads);
        draw_int(d, "kv_num_heads", n.kv_heads);
    }
    struct shape scores = {4, {n.batch, n.heads, n.rows, n.keys + n.past}};
    bool mask = draw_chance(d, 0.4), lengths = d->opset >= 24 && !n.past && draw_chance(d, 0.15);
    bool causal = !lengths && draw_chance(d, 0.3);
    if (mask)
        draw_mask(d, q.type, &scores);
    else if (n.past || lengths)
        draw_omit(d);
    if (n.past)
        draw_past(d, q.type, &n);
    if (lengths) {
        struct shape batch = {1, {n.batch}};
        draw_omit(d);
        draw_omit(d);
        draw_range(d, DTYPE_INT64, &batch, 1, (double)n.keys);
    }
    if (causal || draw_chance(d, 0.2))
        draw_int(d, "is_causal", causal);
    if (draw_chance(d, 0.3))
        draw_float(d, "scale", (float)draw_between(d, 1, 8) / 8);
    if (!mask && !causal && !lengths && draw_chance(d, 0.3))
        draw_float(d, "softcap", (float)draw_between(d, 1, 8) / 2);
    return 0;
}

static const struct op_param attention_params[] = {
    {"is_causal", PARAM_INT, .legal = "0|1", .illegal = "2|-1", .initial = "0"},
    {"kv_num_heads", PARAM_INT, .legal = "1|2", .illegal = "-1|99", .initial = "0"},
    {"q_num_heads", PARAM_INT, .legal = "1|2|4", .illegal = "-1|99", .initial = "0"},
    {"qk_matmul_output_mode", PARAM_INT, .legal = "0|2|3", .illegal = "-1|9", .initial = "0"},
    {"scale", PARAM_FLOAT, .legal = "0.125|0.5|1", .initial = "1"},
    {"softcap", PARAM_FLOAT, .legal = "0|1|4", .initial = "0"},
    {"softmax_precision", PARAM_INT, .legal = "1|11", .illegal = "7|99", .initial = "1"},
    {"nonpad_kv_seqlen", PARAM_INPUT, .input = LENGTHS, .since = 24, .legal = "1|2", .initial = "1"},
    {0},
};
static const struct op_param attention_extras[] = {
    {"attn_mask", PARAM_INPUT, .input = MASK},
    {"past_key", PARAM_INPUT, .input = PAST_KEY},
    {"past_value", PARAM_INPUT, .input = PAST_VALUE},
    {0},
};

enum { ATTENTION_TYPES = 1 << DTYPE_FLOAT | 1 << DTYPE_FLOAT16 };

const struct op ops_attention[] = {
    {OP("Attention", 23),
     .open = "the order of softcap and mask, the diagonal of a causal mask, or a row masked as a whole",
     .inputs = {3, 7}, .outputs = {1, 4},
     .ranks = {3,
               4}, /* ONNX's body, by which engines compute float64 and bfloat16, mixes them with float32. */
     .types = {{23, ATTENTION_TYPES}}, .params = attention_params, .extras = attention_extras,
     .eval = eval_attention, .sample = sample_attention, .data = DATA_FIRST,
     .range = {RANGE_FIXED, .gives = {-20, 20}, .wants = {-20, 20}}, .factors = {FACTORS_NONE},
     .result = RESULT_TYPE, .work = WORK_PRODUCTS, .slope = SLOPE_EVERYWHERE,
     .dangers = {{DANGER_EXP, .power = 1}, {DANGER_INNER, .power = 2}}},
    {0},
};
