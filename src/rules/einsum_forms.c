/* Einsum of one or two operands by ReduceSum, Transpose and MatMul. */
#include "rules/rule.h"

#include <string.h>

enum {
    LETTERS = 52,
    LABELS = LETTERS + TENSOR_MAX_RANK, /* letters, then the dimensions under the ellipsis */
    EQUATION_MAX = 200,
};

struct term {
    int count;
    int of[TENSOR_MAX_RANK];
};

struct equation {
    size_t operands;
    struct term in[2], out;
    int64_t dim[LABELS];
    bool has[2][LABELS], kept[LABELS];
    int ellipsis; /* dimensions it stands for; -1: not known yet */
};

static int label_of(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* Reads a term up to ',' or the end. An ellipsis takes what a rank of `rank` leaves for it; with rank -1 what
 * the operands gave it. */
static bool read_term(const char *text, size_t length, int rank, struct equation *e, struct term *term)
{
    int letters = 0;
    bool dots = false;
    for (size_t i = 0; i < length; i++)
        letters += label_of(text[i]) >= 0;
    for (size_t i = 0; i < length; i++) {
        int label = label_of(text[i]), count = 1;
        if (text[i] == '.') {
            if (dots || length - i < 3 || memcmp(text + i, "...", 3) != 0)
                return false;
            dots = true;
            i += 2;
            label = LETTERS;
            count = rank < 0 ? e->ellipsis : rank - letters;
            if (count < 0 || (e->ellipsis >= 0 && e->ellipsis != count))
                return false;
            e->ellipsis = count;
        }
        if (label < 0 || term->count + count > TENSOR_MAX_RANK)
            return false;
        for (int k = 0; k < count; k++)
            term->of[term->count++] = label + k;
    }
    return rank < 0 || term->count == rank;
}

/* Enters the dimensions of an operand. A repeated letter (a diagonal) and dimensions that broadcast are left
 * alone. */
static bool enter_operand(struct equation *e, size_t number, const struct shape *shape)
{
    const struct term *term = &e->in[number];
    for (int i = 0; i < term->count; i++) {
        int label = term->of[i];
        if (e->has[number][label] || (number == 1 && e->has[0][label] && e->dim[label] != shape->dims[i]))
            return false;
        e->has[number][label] = true;
        e->dim[label] = shape->dims[i];
    }
    return true;
}

/* Without "->" the output has the ellipsis, then the letters that occur once, sorted. */
static bool imply_output(struct equation *e)
{
    for (int i = 0; i < e->ellipsis; i++)
        e->out.of[e->out.count++] = LETTERS + i;
    for (int label = 0; label < LETTERS; label++)
        if (e->has[0][label] != e->has[1][label]) {
            if (e->out.count == TENSOR_MAX_RANK)
                return false;
            e->out.of[e->out.count++] = label;
        }
    return true;
}

static bool read_output(struct equation *e, const char *arrow)
{
    if (!arrow)
        return imply_output(e);
    if (!read_term(arrow + 2, strlen(arrow + 2), -1, e, &e->out))
        return false;
    for (int i = 0; i < e->out.count; i++)
        for (int k = 0; k < i; k++)
            if (e->out.of[i] == e->out.of[k])
                return false;
    return true;
}

static bool read_equation(struct rewrite *rewrite, const Onnx__NodeProto *node, struct equation *e)
{
    const char *given = rewrite_string(rewrite, node, "equation", "");
    char text[EQUATION_MAX];
    size_t length = 0;
    *e = (struct equation){.operands = node->n_input, .ellipsis = -1};
    for (; *given; given++)
        if (*given != ' ' && length + 1 < EQUATION_MAX)
            text[length++] = *given;
    text[length] = '\0';
    if (length + 1 == EQUATION_MAX || e->operands < 1 || e->operands > 2)
        return false;
    const char *arrow = strstr(text, "->"), *at = text;
    for (size_t i = 0; i < e->operands; i++) {
        const struct bounded *x = rewrite_input(rewrite, node, i);
        size_t end = strcspn(at, ",-");
        if (!x || x->count == 0 || !read_term(at, end, x->shape.rank, e, &e->in[i]) ||
            !enter_operand(e, i, &x->shape))
            return false;
        at += end;
        if ((*at == ',') != (i + 1 < e->operands))
            return false;
        at += *at == ',';
    }
    if (!read_output(e, arrow))
        return false;
    for (int i = 0; i < e->out.count; i++) {
        e->kept[e->out.of[i]] = true;
        if (!e->has[0][e->out.of[i]] && !e->has[1][e->out.of[i]])
            return false;
    }
    return true;
}

/* Sums an operand over the labels that nothing else has, and takes them off its term. */
static const char *sum_alone(struct rewrite *rewrite, struct equation *e, size_t number, const char *value)
{
    struct term left = {0}, *term = &e->in[number];
    int64_t axes[TENSOR_MAX_RANK];
    size_t count = 0;
    for (int i = 0; i < term->count; i++) {
        int label = term->of[i];
        if (e->kept[label] || e->has[1 - number][label])
            left.of[left.count++] = label;
        else
            axes[count++] = i;
    }
    *term = left;
    return count ? rewrite_reduce(rewrite, "ReduceSum", value, axes, count, false) : value;
}

/* Reorders the dimensions of a value from one term's order to another's. */
static const char *reorder(struct rewrite *rewrite, const char *value, const struct term *from,
                           const struct term *to)
{
    int64_t order[TENSOR_MAX_RANK] = {0};
    bool same = true;
    for (int i = 0; i < to->count; i++) {
        for (int k = 0; k < from->count; k++)
            if (from->of[k] == to->of[i])
                order[i] = k;
        same &= order[i] == i;
    }
    return same ? value : rewrite_transpose(rewrite, value, order, (size_t)to->count);
}

/* The labels of both operands by what becomes of them. */
struct roles {
    struct term batch, summed, own[2];
    int64_t sizes[4]; /* products of their dimensions, in this order */
};

static void give_role(struct term *role, int64_t *size, const struct equation *e, int label)
{
    role->of[role->count++] = label;
    *size *= e->dim[label];
}

static struct roles find_roles(const struct equation *e)
{
    struct roles r = {.sizes = {1, 1, 1, 1}};
    for (int number = 0; number < 2; number++)
        for (int i = 0; i < e->in[number].count; i++) {
            int label = e->in[number].of[i];
            bool both = e->has[1 - number][label];
            if (both && number == 0 && e->kept[label])
                give_role(&r.batch, &r.sizes[0], e, label);
            else if (both && number == 0)
                give_role(&r.summed, &r.sizes[1], e, label);
            else if (!both)
                give_role(&r.own[number], &r.sizes[2 + number], e, label);
        }
    return r;
}

static void append(struct term *to, const struct term *from)
{
    for (int i = 0; i < from->count && to->count < TENSOR_MAX_RANK; i++)
        to->of[to->count++] = from->of[i];
}

/* An operand as [batch, own, summed] or, the second, as [batch, summed, own]. */
static const char *as_matrices(struct rewrite *rewrite, const struct equation *e, const struct roles *r,
                               int number, const char *value)
{
    struct term order = {0};
    int64_t own = r->sizes[2 + number], summed = r->sizes[1];
    struct shape shape = {.rank = 3, .dims = {r->sizes[0], number ? summed : own, number ? own : summed}};
    append(&order, &r->batch);
    append(&order, number ? &r->summed : &r->own[0]);
    append(&order, number ? &r->own[1] : &r->summed);
    return rewrite_reshape(rewrite, reorder(rewrite, value, &e->in[number], &order), &shape);
}

static const char *multiply(struct rewrite *rewrite, struct equation *e, const char *const values[2],
                            enum dtype type)
{
    struct roles r = find_roles(e);
    struct term order = {0};
    struct shape shape = {.rank = 0};
    /* A product without a sum may as well be a Mul. */
    bool plain = r.sizes[1] == 1 && rewrite_takes(rewrite, "Mul", type) &&
                 (rng_below(&rewrite->rng, 2) == 0 || !rewrite_takes(rewrite, "MatMul", type));
    if (!plain && !rewrite_takes(rewrite, "MatMul", type))
        return NULL;
    append(&order, &r.batch);
    append(&order, &r.own[0]);
    append(&order, &r.own[1]);
    for (int i = 0; i < order.count; i++)
        shape.dims[shape.rank++] = e->dim[order.of[i]];
    const char *left = as_matrices(rewrite, e, &r, 0, values[0]);
    const char *right = as_matrices(rewrite, e, &r, 1, values[1]);
    const char *product = rewrite_op(rewrite, plain ? "Mul" : "MatMul", NULL, left, right, NULL);
    e->in[0] = order;
    return rewrite_reshape(rewrite, product, &shape);
}

static int einsum_by_matmul(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    struct equation e;
    const char *values[2];
    if (!read_equation(rewrite, node, &e))
        return 0;
    enum dtype type = rewrite_input(rewrite, node, 0)->type;
    if (!rewrite_takes(rewrite, "ReduceSum", type))
        return 0;
    for (size_t i = 0; i < e.operands; i++)
        values[i] = sum_alone(rewrite, &e, i, node->input[i]);
    const char *result = e.operands == 2 ? multiply(rewrite, &e, values, type) : values[0];
    if (!result)
        return 0;
    rewrite_remove(rewrite, node);
    rewrite_result(rewrite, reorder(rewrite, result, &e.in[0], &e.out), node->output[0]);
    return 1;
}

const struct rule rule_einsum_by_matmul = {
    .name = "einsum-by-matmul",
    .summary = "an Einsum by ReduceSum, Transpose and MatMul",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Einsum",
    .apply = einsum_by_matmul,
};
