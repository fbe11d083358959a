/* Sums of products, and windows over images. */
#include "nodes.h"

#include <string.h>

/* Element `at` of an input, less its zero point: one for all, or entry `channel`. */
static void without_zero_point(mpfr_t t, const struct node *node, size_t input, size_t at, size_t channel)
{
    mpfr_set(t, node->in[input].at[at], MPFR_RNDN);
    if (node_has(node, input + 2)) {
        const struct reals *zero = &node->in[input + 2];
        mpfr_sub(t, t, zero->at[zero->count == 1 ? 0 : channel], MPFR_RNDN);
    }
}

/* The shape of a matrix of a product: a vector is a row on the left and a column on the right. */
static struct shape as_matrix(const struct shape *shape, bool left)
{
    struct shape matrix = *shape;
    if (shape->rank == 1) {
        matrix.rank = 2;
        matrix.dims[0] = left ? 1 : shape->dims[0];
        matrix.dims[1] = left ? shape->dims[0] : 1;
    }
    return matrix;
}

bool matmul_truth(const struct node *node, struct reals *out)
{
    bool integers = strcmp(node->call->op->name, "MatMulInteger") == 0;
    struct shape a = as_matrix(&node->in[0].shape, true), b = as_matrix(&node->in[1].shape, false), c;
    c.rank = a.rank > b.rank ? a.rank : b.rank;
    for (int i = 0; i < c.rank - 2; i++) {
        int64_t p = i - (c.rank - a.rank) < 0 ? 1 : a.dims[i - (c.rank - a.rank)];
        int64_t q = i - (c.rank - b.rank) < 0 ? 1 : b.dims[i - (c.rank - b.rank)];
        c.dims[i] = p == 1 ? q : p;
    }
    c.dims[c.rank - 2] = a.dims[a.rank - 2];
    c.dims[c.rank - 1] = b.dims[b.rank - 1];
    int64_t depth = a.dims[a.rank - 1];
    mpfr_t p, q;
    mpfr_inits(p, q, (mpfr_ptr)0);
    for (size_t i = 0; i < out->count; i++) {
        int64_t index[TENSOR_MAX_RANK], ia[TENSOR_MAX_RANK], ib[TENSOR_MAX_RANK];
        index_of(i, &c, index);
        for (int k = 0; k < a.rank - 2; k++)
            ia[k] = a.dims[k] == 1 ? 0 : index[c.rank - a.rank + k];
        for (int k = 0; k < b.rank - 2; k++)
            ib[k] = b.dims[k] == 1 ? 0 : index[c.rank - b.rank + k];
        ia[a.rank - 2] = index[c.rank - 2];
        ib[b.rank - 1] = index[c.rank - 1];
        for (int64_t k = 0; k < depth; k++) {
            ia[a.rank - 1] = ib[b.rank - 2] = k;
            if (integers) {
                if (node_has(node, 2) && node->in[2].shape.rank > 1)
                    return false;
                if (node_has(node, 3) && node->in[3].shape.rank > 1)
                    return false;
                without_zero_point(p, node, 0, place_of(&a, ia), (size_t)ia[a.rank - 2]);
                without_zero_point(q, node, 1, place_of(&b, ib), (size_t)ib[b.rank - 1]);
                add_product(out->at[i], p, q);
            } else {
                add_product(out->at[i], node->in[0].at[place_of(&a, ia)], node->in[1].at[place_of(&b, ib)]);
            }
        }
    }
    mpfr_clears(p, q, (mpfr_ptr)0);
    return true;
}

/* alpha A' B' + beta C */
bool gemm_truth(const struct node *node, struct reals *out)
{
    const struct reals *a = &node->in[0], *b = &node->in[1];
    bool turn_a = call_int(node->call, "transA", 0), turn_b = call_int(node->call, "transB", 0);
    int64_t depth = a->shape.dims[turn_a ? 0 : 1], columns = out->shape.dims[1];
    mpfr_t c;
    mpfr_init(c);
    for (size_t i = 0; i < out->count; i++) {
        int64_t row = (int64_t)i / columns, column = (int64_t)i % columns;
        for (int64_t k = 0; k < depth; k++) {
            int64_t ia[] = {turn_a ? k : row, turn_a ? row : k},
                    ib[] = {turn_b ? column : k, turn_b ? k : column};
            add_product(out->at[i], a->at[place_of(&a->shape, ia)], b->at[place_of(&b->shape, ib)]);
        }
        mpfr_mul_d(out->at[i], out->at[i], call_float(node->call, "alpha", 1), MPFR_RNDN);
        if (!node_has(node, 2))
            continue;
        mpfr_mul_d(c, node->in[2].at[place_broadcast(i, &out->shape, &node->in[2].shape)],
                   call_float(node->call, "beta", 1), MPFR_RNDN);
        mpfr_add(out->at[i], out->at[i], c, MPFR_RNDN);
    }
    mpfr_clear(c);
    return true;
}

/* Geometry of a window: place of element k of output o is o * stride - before + k * dilation. */
struct window {
    int rank; /* of the image */
    int64_t size[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], dilation[TENSOR_MAX_RANK];
    int64_t before[TENSOR_MAX_RANK], behind[TENSOR_MAX_RANK];
};

static int64_t entry(const struct op_call *call, const char *name, int i, int64_t otherwise)
{
    size_t count;
    const int64_t *values = call_ints(call, name, &count);
    return (size_t)i < count ? values[i] : otherwise;
}

static struct window window_of(const struct node *node, const struct shape *image, const struct shape *kernel,
                               const struct shape *out)
{
    const struct op_call *call = node->call;
    const char *automatic = call_string(call, "auto_pad", "NOTSET");
    struct window w = {.rank = image->rank - 2};
    for (int i = 0; i < w.rank; i++) {
        w.size[i] = kernel ? kernel->dims[i + 2] : entry(call, "kernel_shape", i, 1);
        w.stride[i] = entry(call, "strides", i, 1);
        w.dilation[i] = entry(call, "dilations", i, 1);
        w.before[i] = entry(call, "pads", i, 0);
        w.behind[i] = entry(call, "pads", w.rank + i, 0);
        if (strcmp(automatic, "NOTSET") == 0)
            continue;
        int64_t total =
            (out->dims[i + 2] - 1) * w.stride[i] + (w.size[i] - 1) * w.dilation[i] + 1 - image->dims[i + 2];
        total = strcmp(automatic, "VALID") == 0 || total < 0 ? 0 : total;
        w.before[i] = strcmp(automatic, "SAME_LOWER") == 0 ? total - total / 2 : total / 2;
        w.behind[i] = total - w.before[i];
    }
    return w;
}

static struct shape window_shape(const struct window *w)
{
    return shape_make(w->rank, w->size);
}

/* Where element k of the window of an output is in the image; false: outside. *padded: inside the padding. */
static bool place_in_image(const struct window *w, const struct shape *image, const int64_t *out,
                           const int64_t *k, int64_t *place, bool *padded)
{
    bool inside = true;
    *padded = true;
    for (int i = 0; i < w->rank; i++) {
        place[i] = out[i] * w->stride[i] - w->before[i] + k[i] * w->dilation[i];
        inside = inside && place[i] >= 0 && place[i] < image->dims[i + 2];
        *padded = *padded && place[i] < image->dims[i + 2] + w->behind[i];
    }
    return inside;
}

static size_t volume(const struct shape *shape)
{
    size_t count = 1;
    for (int i = 0; i < shape->rank; i++)
        count *= (size_t)shape->dims[i];
    return count;
}

bool conv_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0], *kernel = &node->in[1];
    bool integers = strcmp(node->call->op->name, "ConvInteger") == 0;
    struct window w = window_of(node, &x->shape, &kernel->shape, &out->shape);
    struct shape box = window_shape(&w);
    int64_t groups = call_int(node->call, "group", 1), depth = kernel->shape.dims[1];
    mpfr_t p, q;
    mpfr_inits(p, q, (mpfr_ptr)0);
    for (size_t i = 0; i < out->count; i++) {
        int64_t index[TENSOR_MAX_RANK], ix[TENSOR_MAX_RANK], ik[TENSOR_MAX_RANK];
        bool padded;
        index_of(i, &out->shape, index);
        int64_t group = index[1] / (out->shape.dims[1] / groups);
        ix[0] = index[0];
        ik[0] = index[1];
        for (int64_t c = 0; c < depth; c++)
            for (size_t k = 0; k < volume(&box); k++) {
                index_of(k, &box, ik + 2);
                ik[1] = c;
                ix[1] = group * depth + c;
                if (!place_in_image(&w, &x->shape, index + 2, ik + 2, ix + 2, &padded))
                    continue;
                if (!integers) {
                    add_product(out->at[i], x->at[place_of(&x->shape, ix)],
                                kernel->at[place_of(&kernel->shape, ik)]);
                    continue;
                }
                without_zero_point(p, node, 0, place_of(&x->shape, ix), 0);
                without_zero_point(q, node, 1, place_of(&kernel->shape, ik), (size_t)ik[0]);
                add_product(out->at[i], p, q);
            }
        if (!integers && node_has(node, 2))
            mpfr_add(out->at[i], out->at[i], node->in[2].at[index[1]], MPFR_RNDN);
    }
    mpfr_clears(p, q, (mpfr_ptr)0);
    return true;
}

/* Each element of the image times the kernel, added at i * stride - before + k * dilation. */
bool conv_transpose_truth(const struct node *node, struct reals *out)
{
    const struct op_call *call = node->call;
    const struct reals *x = &node->in[0], *kernel = &node->in[1];
    const char *automatic = call_string(call, "auto_pad", "NOTSET");
    struct window w = window_of(node, &x->shape, &kernel->shape, &out->shape);
    struct shape box = window_shape(&w);
    size_t wanted;
    call_ints(call, "output_shape", &wanted);
    for (int i = 0; i < w.rank; i++) {
        int64_t full = w.stride[i] * (x->shape.dims[i + 2] - 1) + entry(call, "output_padding", i, 0) +
                       (w.size[i] - 1) * w.dilation[i] + 1;
        int64_t total = full - out->shape.dims[i + 2];
        if (wanted || strncmp(automatic, "SAME", 4) == 0) {
            if (total < 0)
                return false;
            w.before[i] = strcmp(automatic, "SAME_UPPER") == 0 ? total / 2 : total - total / 2;
        } else {
            w.before[i] = strcmp(automatic, "VALID") == 0 ? 0 : entry(call, "pads", i, 0);
        }
    }
    int64_t groups = call_int(call, "group", 1), each = kernel->shape.dims[1],
            per = x->shape.dims[1] / groups;
    for (size_t n = 0; n < x->count; n++) {
        int64_t ix[TENSOR_MAX_RANK], ik[TENSOR_MAX_RANK], io[TENSOR_MAX_RANK];
        index_of(n, &x->shape, ix);
        for (int64_t c = 0; c < each; c++)
            for (size_t k = 0; k < volume(&box); k++) {
                index_of(k, &box, ik + 2);
                ik[0] = ix[1];
                ik[1] = c;
                io[0] = ix[0];
                io[1] = ix[1] / per * each + c;
                bool inside = true;
                for (int i = 0; i < w.rank; i++) {
                    io[i + 2] = ix[i + 2] * w.stride[i] - w.before[i] + ik[i + 2] * w.dilation[i];
                    inside = inside && io[i + 2] >= 0 && io[i + 2] < out->shape.dims[i + 2];
                }
                if (inside)
                    add_product(out->at[place_of(&out->shape, io)], x->at[n],
                                kernel->at[place_of(&kernel->shape, ik)]);
            }
    }
    for (size_t i = 0; node_has(node, 2) && i < out->count; i++) {
        int64_t index[TENSOR_MAX_RANK];
        index_of(i, &out->shape, index);
        mpfr_add(out->at[i], out->at[i], node->in[2].at[index[1]], MPFR_RNDN);
    }
    return true;
}

/* Gathers one element of a pool. */
static void pool_add(mpfr_t sum, mpfr_srcptr x, char kind, int64_t p, bool first)
{
    mpfr_t t;
    mpfr_init(t);
    if (kind == 'M') {
        if (first || mpfr_nan_p(x) || (!mpfr_nan_p(sum) && mpfr_greater_p(x, sum)))
            mpfr_set(sum, x, MPFR_RNDN);
    } else if (kind == 'L') {
        mpfr_abs(t, x, MPFR_RNDN);
        mpfr_pow_ui(t, t, (unsigned long)p, MPFR_RNDN);
        mpfr_add(sum, sum, t, MPFR_RNDN);
    } else {
        mpfr_add(sum, sum, x, MPFR_RNDN);
    }
    mpfr_clear(t);
}

static void pool_finish(mpfr_t sum, char kind, int64_t p, size_t count)
{
    if (kind == 'A')
        mpfr_div_ui(sum, sum, count, MPFR_RNDN);
    if (kind == 'L')
        mpfr_rootn_ui(sum, sum, (unsigned long)p, MPFR_RNDN);
}

/* 'A': the mean, 'L': the norm, 'M': the maximum of each window. */
bool pool_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0];
    char kind = node->call->op->name[0];
    int64_t p = call_int(node->call, "p", 2);
    bool with_padding = call_int(node->call, "count_include_pad", 0);
    struct window w = window_of(node, &x->shape, NULL, &out->shape);
    struct shape box = window_shape(&w);
    for (size_t i = 0; i < out->count; i++) {
        int64_t index[TENSOR_MAX_RANK], ix[TENSOR_MAX_RANK], k[TENSOR_MAX_RANK];
        size_t found = 0, counted = 0;
        bool padded;
        index_of(i, &out->shape, index);
        ix[0] = index[0];
        ix[1] = index[1];
        for (size_t n = 0; n < volume(&box); n++) {
            index_of(n, &box, k);
            bool inside = place_in_image(&w, &x->shape, index + 2, k, ix + 2, &padded);
            counted += with_padding ? padded : inside;
            if (inside)
                pool_add(out->at[i], x->at[place_of(&x->shape, ix)], kind, p, found++ == 0);
        }
        if (found == 0) /* a window without elements */
            return false;
        pool_finish(out->at[i], kind, p, counted);
    }
    return true;
}

bool global_pool_truth(const struct node *node, struct reals *out)
{
    const struct reals *x = &node->in[0];
    char kind = node->call->op->name[strlen("Global")];
    int64_t p = call_int(node->call, "p", 2);
    if (x->count == 0)
        return false;
    size_t block = x->count / out->count;
    for (size_t i = 0; i < x->count; i++)
        pool_add(out->at[i / block], x->at[i], kind, p, i % block == 0);
    for (size_t i = 0; i < out->count; i++)
        pool_finish(out->at[i], kind, p, block);
    return true;
}

/* The equation's letters, at most this many in a term. */
enum { LETTERS = 128, TERM = 32 };

/* Reads a term up to a comma, an arrow or the end; NULL for an ellipsis. */
static const char *read_term(const char *text, char *term)
{
    size_t n = 0;
    for (; *text && *text != ',' && *text != '-'; text++) {
        if (*text == '.' || n + 1 == TERM)
            return NULL;
        if (*text != ' ')
            term[n++] = *text;
    }
    term[n] = 0;
    return text;
}

bool einsum_truth(const struct node *node, struct reals *out)
{
    const char *text = call_string(node->call, "equation", "");
    char terms[NODE_INPUTS][TERM], result[TERM] = "", letters[LETTERS + 1] = "";
    int64_t sizes[LETTERS] = {0}, at[LETTERS];
    size_t uses[LETTERS] = {0}, n_letters = 0;
    for (size_t k = 0; k < node->call->n_inputs; k++) {
        text = read_term(text, terms[k]);
        if (!text)
            return false;
        text += *text == ',';
        for (int i = 0; terms[k][i]; i++) {
            int letter = terms[k][i] & 127;
            int64_t size = node->in[k].shape.dims[i];
            if (uses[letter]++ == 0)
                letters[n_letters++] = (char)letter;
            sizes[letter] = size > sizes[letter] ? size : sizes[letter];
        }
    }
    if (*text == '-') {
        if (!read_term(text + 2, result))
            return false;
    } else { /* letters that occur once, in alphabetical order */
        size_t n = 0;
        for (int letter = 0; letter < LETTERS; letter++)
            if (uses[letter] == 1)
                result[n++] = (char)letter;
        result[n] = 0;
    }
    struct shape all = {.rank = (int)n_letters};
    if (n_letters > TENSOR_MAX_RANK)
        return false;
    for (size_t i = 0; i < n_letters; i++)
        all.dims[i] = sizes[(int)letters[i]];
    mpfr_t product;
    mpfr_init(product);
    for (size_t n = 0; n < volume(&all); n++) {
        int64_t index[TENSOR_MAX_RANK], own[TENSOR_MAX_RANK];
        index_of(n, &all, index);
        for (size_t i = 0; i < n_letters; i++)
            at[(int)letters[i]] = index[i];
        mpfr_set_ui(product, 1, MPFR_RNDN);
        for (size_t k = 0; k < node->call->n_inputs; k++) {
            for (int i = 0; terms[k][i]; i++)
                own[i] = node->in[k].shape.dims[i] == 1 ? 0 : at[terms[k][i] & 127];
            mpfr_mul(product, product, node->in[k].at[place_of(&node->in[k].shape, own)], MPFR_RNDN);
        }
        for (int i = 0; result[i]; i++)
            own[i] = at[result[i] & 127];
        size_t place = place_of(&out->shape, own);
        mpfr_add(out->at[place], out->at[place], product, MPFR_RNDN);
    }
    mpfr_clear(product);
    return true;
}
