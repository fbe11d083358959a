/*
 * Einsum. One and two operands are contractions through views (contract.h). Three and more are summed term by
 * term: with p operands and n terms a product passes p - 1 roundings and n - 1 additions, whatever the order.
 */
#include "base/limits.h"
#include "bounds/contract.h"
#include "ops/draw.h"
#include "ops/gradient.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LETTERS = 52,                       /* A to Z, then a to z: alphabetical as NumPy sorts */
    LABELS = LETTERS + TENSOR_MAX_RANK, /* then the dimensions under the ellipsis */
    EQUATION_MAX = 1000,
};

struct labels {
    int count;
    int of[TENSOR_MAX_RANK];
};

struct equation {
    size_t operands;
    int ellipsis; /* dimensions it stands for; -1: there is none */
    int64_t dim[LABELS];
    int uses[LABELS]; /* in the operands */
    struct labels out;
    struct labels summed; /* used and not in the output */
};

static int letter_label(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* Reads one term up to ',' or the end; the ellipsis takes `ellipsis` labels. */
static int parse_term(struct op_call *call, const char **text, int ellipsis, struct labels *term, bool *dots)
{
    *term = (struct labels){0};
    *dots = false;
    for (; **text && **text != ','; (*text)++) {
        int count = 1, label = letter_label(**text);
        if (strncmp(*text, "...", 3) == 0 && !*dots) {
            *dots = true;
            *text += 2;
            count = ellipsis;
            label = LETTERS;
        }
        if (label < 0)
            return call_invalid(call, "the equation has '%c' in the place of a letter", **text);
        if (term->count + count > TENSOR_MAX_RANK)
            return call_invalid(call, "a term of the equation has more than %d dimensions", TENSOR_MAX_RANK);
        for (int i = 0; i < count; i++)
            term->of[term->count++] = label + i;
    }
    return 0;
}

/* Counts the dimensions under the ellipsis of a term; every term must have the same number. */
static int count_ellipsis(struct op_call *call, const char *text, const struct bounded *x, struct equation *e)
{
    struct labels letters;
    bool dots;
    if (parse_term(call, &text, 0, &letters, &dots))
        return -1;
    int count = x->shape.rank - letters.count;
    if (count < 0 || (!dots && count != 0))
        return call_invalid(call, "a term has %d letters for an operand of rank %d", letters.count,
                            x->shape.rank);
    if (dots && e->ellipsis >= 0 && e->ellipsis != count)
        return call_invalid(call, "the ellipsis stands for different numbers of dimensions");
    if (dots)
        e->ellipsis = count;
    return 0;
}

static int join_dim(struct op_call *call, struct equation *e, int label, int64_t dim)
{
    int64_t *known = &e->dim[label];
    if (e->uses[label]++ == 0)
        *known = dim;
    if (*known == dim)
        return 0;
    if (label < LETTERS && (*known == 1 || dim == 1))
        return call_unsupported(call, "one letter for dimensions of 1 and of another size is not supported");
    if (*known != 1 && dim != 1)
        return call_invalid(call, "one letter stands for dimensions of different sizes");
    *known = *known == 1 ? dim : *known;
    return 0;
}

static int parse_operands(struct op_call *call, const char *left, struct equation *e, struct labels *terms)
{
    const char *text = left;
    for (size_t i = 0; i < e->operands; i++) {
        const struct bounded *x = call_need(call, i);
        if (!x || count_ellipsis(call, text, x, e))
            return -1;
        text += strcspn(text, ",");
        if ((*text == ',') != (i + 1 < e->operands))
            return call_invalid(call, "the number of terms differs from the %zu operands", e->operands);
        text += *text == ',';
    }
    text = left;
    for (size_t i = 0; i < e->operands; i++) {
        const struct bounded *x = call_input(call, i);
        bool dots;
        if (parse_term(call, &text, e->ellipsis < 0 ? 0 : e->ellipsis, &terms[i], &dots))
            return -1;
        for (int d = 0; d < terms[i].count; d++)
            if (join_dim(call, e, terms[i].of[d], x->shape.dims[d]))
                return -1;
        text += *text == ',';
    }
    return 0;
}

/* Without "->": the ellipsis, then the letters that occur once. */
static int implicit_output(struct op_call *call, struct equation *e)
{
    for (int i = 0; i < e->ellipsis; i++)
        e->out.of[e->out.count++] = LETTERS + i;
    for (int label = 0; label < LETTERS; label++) {
        if (e->uses[label] != 1)
            continue;
        if (e->out.count == TENSOR_MAX_RANK)
            return call_unsupported(call, "an output of more than %d dimensions is not supported",
                                    TENSOR_MAX_RANK);
        e->out.of[e->out.count++] = label;
    }
    return 0;
}

static int explicit_output(struct op_call *call, const char *text, struct equation *e)
{
    bool dots, seen[LABELS] = {false};
    if (parse_term(call, &text, e->ellipsis < 0 ? 0 : e->ellipsis, &e->out, &dots))
        return -1;
    if (*text)
        return call_invalid(call, "the equation has two outputs");
    if (e->ellipsis > 0 && !dots)
        return call_invalid(call, "the output lacks the ellipsis");
    for (int i = 0; i < e->out.count; i++) {
        if (!e->uses[e->out.of[i]] || seen[e->out.of[i]])
            return call_invalid(call, "an output subscript is unknown or repeated");
        seen[e->out.of[i]] = true;
    }
    return 0;
}

static int find_summed(struct op_call *call, struct equation *e)
{
    bool kept[LABELS] = {false};
    for (int i = 0; i < e->out.count; i++)
        kept[e->out.of[i]] = true;
    for (int label = 0; label < LABELS; label++) {
        if (!e->uses[label] || kept[label])
            continue;
        if (e->summed.count == TENSOR_MAX_RANK)
            return call_unsupported(call, "a sum over more than %d dimensions is not supported",
                                    TENSOR_MAX_RANK);
        e->summed.of[e->summed.count++] = label;
    }
    return 0;
}

static int parse(struct op_call *call, struct equation *e, struct labels *terms)
{
    const char *equation = call_string(call, "equation", NULL);
    char text[EQUATION_MAX];
    size_t length = 0;
    *e = (struct equation){.operands = call->n_inputs, .ellipsis = -1};
    if (!equation || strlen(equation) >= EQUATION_MAX)
        return call_invalid(call, "the equation is missing or too long");
    for (const char *c = equation; *c; c++)
        if (*c != ' ')
            text[length++] = *c;
    text[length] = 0;
    char *arrow = strstr(text, "->");
    if (arrow)
        *arrow = 0;
    if (parse_operands(call, text, e, terms) ||
        (arrow ? explicit_output(call, arrow + 2, e) : implicit_output(call, e)))
        return -1;
    return find_summed(call, e);
}

/* The strides of each label in an operand: a repeated label walks the diagonal. */
struct reach {
    size_t of[LABELS];
    bool has[LABELS];
};

static struct reach reach_of(const struct equation *e, const struct labels *term, const struct shape *shape)
{
    struct reach reach = {{0}, {false}};
    struct strides dense = strides_dense(shape);
    for (int i = 0; i < term->count; i++) {
        reach.has[term->of[i]] = true;
        if (shape->dims[i] != 1 || e->dim[term->of[i]] == 1)
            reach.of[term->of[i]] += dense.of[i];
    }
    return reach;
}

static size_t *table_for(const struct equation *e, const struct labels *labels, const struct reach *reach,
                         struct error *err)
{
    struct shape shape = {.rank = labels->count};
    struct strides strides = {{0}};
    for (int i = 0; i < labels->count; i++) {
        shape.dims[i] = e->dim[labels->of[i]];
        strides.of[i] = reach->of[labels->of[i]];
    }
    return offsets_of(&shape, &strides, err);
}

static size_t span_of(const struct equation *e, const struct labels *labels)
{
    size_t span = 1;
    for (int i = 0; i < labels->count; i++)
        span *= (size_t)e->dim[labels->of[i]];
    return span;
}

/* The labels of the output, by the operands that have them. */
struct split {
    struct labels both, left, right;
};

static struct split split_output(const struct equation *e, const struct reach *a, const struct reach *b)
{
    struct split s = {{0}, {0}, {0}};
    for (int i = 0; i < e->out.count; i++) {
        int label = e->out.of[i];
        struct labels *to = a->has[label] && b->has[label] ? &s.both : b->has[label] ? &s.right : &s.left;
        to->of[to->count++] = label;
    }
    return s;
}

struct einsum_target {
    struct bounded *out;
    const size_t *rows, *cols;
    size_t base;
    const struct contraction *early; /* see sums_early; NULL: no such sum */
    bool slopes;                     /* of a gradient: a sum with a NaN or an infinity is undecided */
};

static void put_einsum(void *context, size_t i, size_t j, struct number sum)
{
    struct einsum_target *t = context;
    if (t->early && contract_strays(t->early, i, j))
        sum.h = INFINITY;
    if (t->slopes && !isfinite(sum.v))
        sum = (struct number){0, INFINITY, 0};
    number_put(t->out, t->base + t->rows[i] + t->cols[j], sum);
}

enum table { A_BATCH, A_ROWS, A_SUM, B_BATCH, B_COLS, B_SUM, OUT_BATCH, OUT_ROWS, OUT_COLS, TABLES };

static int make_tables(const struct equation *e, const struct split *s, const struct reach reach[3],
                       size_t *tables[TABLES], struct error *err)
{
    const struct labels *labels[TABLES] = {&s->both,   &s->left, &e->summed, &s->both, &s->right,
                                           &e->summed, &s->both, &s->left,   &s->right};
    static const int operand[TABLES] = {0, 0, 0, 1, 1, 1, 2, 2, 2};
    for (int i = 0; i < TABLES; i++)
        if (!(tables[i] = table_for(e, labels[i], &reach[operand[i]], err)))
            return -1;
    return 0;
}

/* Whether a label that only one operand has may be summed before the product, where it may overflow or meet
 * an infinity. */
static bool sums_early(const struct equation *e, const struct reach *reach, const struct operand *o,
                       const struct reach *other, bool finite)
{
    long double largest = o->largest;
    bool any = false;
    for (int i = 0; i < e->summed.count; i++) {
        int label = e->summed.of[i];
        if (reach->has[label] && !other->has[label]) {
            any = true;
            largest *= (long double)e->dim[label];
        }
    }
    return any && dtype_is_float(o->type) && !(finite && largest < dtype_highest(o->type));
}

/* A contraction of operands: their values, the strides of their labels, and those of the result. */
struct contracted {
    const struct equation *e;
    const struct bounded *const *inputs; /* e->operands of them */
    const struct reach *reach;
    struct reach out_reach;
    struct bounded *out;
    bool slopes; /* a gradient */
};

/* Two operands (b is a scalar 1 when there is one). */
static int contract_two(const struct contracted *p, const struct bounded *a, const struct reach *reach_a,
                        const struct bounded *b, const struct reach *reach_b, struct error *err)
{
    const struct equation *e = p->e;
    struct reach reach[3] = {*reach_a, *reach_b, p->out_reach};
    struct split s = split_output(e, &reach[0], &reach[1]);
    struct operand left = operand_of(a), right = operand_of(b);
    size_t *t[TABLES] = {NULL};
    int result = make_tables(e, &s, reach, t, err);
    struct einsum_target target = {p->out, t[OUT_ROWS], t[OUT_COLS], 0, NULL, p->slopes};
    bool finite = left.finite && right.finite,
         early = e->operands == 2 && (sums_early(e, &reach[0], &left, &reach[1], finite) ||
                                      sums_early(e, &reach[1], &right, &reach[0], finite));
    size_t batches = span_of(e, &s.both);
    for (size_t i = 0; result == 0 && i < batches; i++) {
        target.base = t[OUT_BATCH][i];
        struct contraction c = {.type = p->out->type, .m = span_of(e, &s.left), .n = span_of(e, &s.right)};
        c.k = span_of(e, &e->summed);
        c.a = (struct view){&left, t[A_BATCH][i], t[A_ROWS], t[A_SUM]};
        c.b = (struct view){&right, t[B_BATCH][i], t[B_SUM], t[B_COLS]};
        c.roundings = (double)c.k;
        target.early = early ? &c : NULL;
        c.sink = put_einsum;
        c.context = &target;
        result = contract(&c, err);
    }
    for (int i = 0; i < TABLES; i++)
        free(t[i]);
    return result;
}

static int contract_single(const struct contracted *p, struct error *err)
{
    struct shape scalar = {.rank = 0};
    struct reach nowhere = {{0}, {false}};
    struct bounded one;
    if (bounded_alloc(&one, p->out->type, &scalar, false, err))
        return -1;
    one.value[0] = 1;
    int result = contract_two(p, p->inputs[0], &p->reach[0], &one, &nowhere, err);
    bounded_release(&one);
    return result;
}

/* The sum over all tuples of the summed labels for one output element, by tables of every operand. */
struct many {
    const struct contracted *p;
    size_t **out_tables, **sum_tables; /* one an operand */
    size_t *places;                    /* of the results */
    size_t terms;
};

struct many_sum {
    long double value, size, squares, hard, variance;
    bool wild; /* a partial product may overflow */
};

static void add_product(const struct many *m, struct many_sum *sum, size_t at, size_t k)
{
    struct number product = number_exact(1);
    enum dtype type = m->p->out->type;
    long double high = 1, low = 1;
    for (size_t i = 0; i < m->p->e->operands; i++) {
        struct number x = number_of(m->p->inputs[i], m->out_tables[i][at] + m->sum_tables[i][k]);
        product = number_mul(product, x, 0);
        high *= fmaxl(1, fabsl(x.v) + x.h);
        low *= x.v == 0 && x.h == 0 ? 1 : fminl(1, fmaxl(fabsl(x.v) - x.h, 0));
    }
    sum->value += product.v;
    sum->size += fabsl(product.v);
    sum->squares += product.v * product.v;
    sum->hard += product.h;
    sum->variance += product.l * product.l;
    /* The error of a partial product that underflows may be multiplied by the other factors. */
    if (dtype_is_float(type) && low < dtype_precision(type).tiny)
        sum->hard += contract_underflow(type) * (long double)m->p->e->operands * high;
    sum->wild = sum->wild || !(high < dtype_highest(type));
}

static void put_many(const struct many *m, size_t at, bool integral)
{
    struct bounded *out = m->p->out;
    struct many_sum sum = {0};
    for (size_t k = 0; k < m->terms; k++)
        add_product(m, &sum, at, k);
    bool is_float = dtype_is_float(out->type);
    long double u = unit_of(out->type), roundings = (long double)(m->terms + m->p->e->operands - 2);
    bool exact = !is_float || (integral && sum.size * u <= 1);
    struct number y = {sum.value, sum.hard, sqrtl(sum.variance)};
    if (!exact) {
        y.h += roundings * u * (sum.size + sum.hard);
        y.l = likely_add(y.l, u * sqrtl((roundings + 1) * (sum.squares + y.v * y.v / 9)));
    }
    /* The order of operations determines what overflows and what meets an infinity. */
    bool far =
        is_float ? sum.wild || !(sum.size + y.h < dtype_highest(out->type)) : sum.size + sum.hard >= 0x1p63L;
    if (far || (m->p->slopes && !isfinite(y.v)))
        bounded_put_undecided(out, m->places[at], is_float && isfinite(sum.value) ? sum.value : 0);
    else
        number_put(out, m->places[at], y);
}

static int contract_many(const struct contracted *p, struct error *err)
{
    const struct equation *e = p->e;
    struct many m = {.p = p, .terms = span_of(e, &e->summed)};
    m.out_tables = calloc(2 * e->operands, sizeof *m.out_tables);
    if (!m.out_tables)
        return error_set(err, ERROR_MEMORY, "no memory for %zu operands", e->operands);
    m.sum_tables = m.out_tables + e->operands;
    m.places = table_for(e, &e->out, &p->out_reach, err);
    bool integral = true;
    int result = m.places ? 0 : -1;
    for (size_t i = 0; result == 0 && i < e->operands; i++) {
        m.out_tables[i] = table_for(e, &e->out, &p->reach[i], err);
        m.sum_tables[i] = table_for(e, &e->summed, &p->reach[i], err);
        integral = integral && operand_of(p->inputs[i]).integral;
        result = m.out_tables[i] && m.sum_tables[i] ? 0 : -1;
    }
    for (size_t at = 0; result == 0 && at < span_of(e, &e->out) && !limits_late(m.terms); at++)
        put_many(&m, at, integral);
    for (size_t i = 0; i < 2 * e->operands; i++)
        free(m.out_tables[i]);
    free(m.out_tables);
    free(m.places);
    return result;
}

static int contract_operands(const struct contracted *p, struct error *err)
{
    if (p->e->operands == 1)
        return contract_single(p, err);
    if (p->e->operands == 2)
        return contract_two(p, p->inputs[0], &p->reach[0], p->inputs[1], &p->reach[1], err);
    return contract_many(p, err);
}

/* Transposition and diagonals copy. */
static int copy_elements(const struct equation *e, const struct labels *terms, const struct bounded *a,
                         struct bounded *out, struct error *err)
{
    struct reach reach = reach_of(e, &terms[0], &a->shape);
    size_t *from = table_for(e, &e->out, &reach, err);
    for (size_t i = 0; from && i < out->count; i++)
        bounded_move(out, i, a, from[i]);
    free(from);
    return from ? 0 : -1;
}

static int evaluate(struct op_call *call, const struct equation *e, const struct labels *terms)
{
    struct shape shape = {.rank = e->out.count};
    for (int i = 0; i < e->out.count; i++)
        shape.dims[i] = e->dim[e->out.of[i]];
    struct bounded *out = call_output(call, 0, call->inputs[0]->type, &shape);
    if (!out || call->shapes_only)
        return out ? 0 : -1;
    if (e->operands == 1 && e->summed.count == 0)
        return copy_elements(e, terms, call->inputs[0], out, call->err);
    struct reach *reach = calloc(e->operands, sizeof *reach);
    if (!reach)
        return error_set(call->err, ERROR_MEMORY, "no memory for %zu operands", e->operands);
    for (size_t i = 0; i < e->operands; i++)
        reach[i] = reach_of(e, &terms[i], &call->inputs[i]->shape);
    struct contracted p = {.e = e, .inputs = call->inputs, .reach = reach, .out = out};
    p.out_reach = reach_of(e, &e->out, &out->shape);
    int result = contract_operands(&p, call->err);
    free(reach);
    return result;
}

static int eval_einsum(struct op_call *call)
{
    if (call->n_inputs < 1 || call->n_inputs > EQUATION_MAX)
        return call_invalid(call, "has %zu operands", call->n_inputs);
    for (size_t i = 0; i < call->n_inputs; i++) {
        const struct bounded *x = call_need(call, i);
        if (!x)
            return -1;
        if (x->type != call->inputs[0]->type)
            return call_invalid(call, "the operands have different types");
    }
    struct equation e;
    struct labels *terms = calloc(call->n_inputs, sizeof *terms);
    if (!terms)
        return error_set(call->err, ERROR_MEMORY, "no memory for %zu terms", call->n_inputs);
    int result = parse(call, &e, terms);
    if (result == 0)
        result = evaluate(call, &e, terms);
    free(terms);
    return result;
}

/*
 * The equation of the derivatives by one operand, in whose place the upstream derivatives stand: its labels
 * remain, all others are summed, also those along which it was broadcast. A label that no other term has is
 * repeated, and of a diagonal only the elements on it have derivatives.
 */
static int equation_of_slope(struct op_call *call, const struct equation *e, const struct labels *term,
                             const struct shape *shape, struct equation *slope)
{
    bool kept[LABELS] = {false};
    *slope = *e;
    slope->out.count = slope->summed.count = 0;
    for (int i = 0; i < term->count; i++) {
        int label = term->of[i];
        if (kept[label] || (shape->dims[i] == 1 && e->dim[label] != 1))
            continue;
        kept[label] = true;
        slope->out.of[slope->out.count++] = label;
    }
    for (int label = 0; label < LABELS; label++) {
        if (!e->uses[label] || kept[label])
            continue;
        if (slope->summed.count == TENSOR_MAX_RANK)
            return call_unsupported(call, "a sum over more than %d dimensions is not supported",
                                    TENSOR_MAX_RANK);
        slope->summed.of[slope->summed.count++] = label;
    }
    return 0;
}

static int differentiate(struct op_gradient *g, const struct equation *e, const struct labels *terms,
                         struct reach *reach, const struct bounded **inputs)
{
    struct op_call *call = g->call;
    for (size_t i = 0; i < e->operands; i++) {
        reach[i] = reach_of(e, &terms[i], &call->inputs[i]->shape);
        inputs[i] = call->inputs[i];
    }
    for (size_t i = 0; i < e->operands; i++) {
        struct equation slope;
        struct contracted p = {.e = &slope, .inputs = inputs, .reach = reach, .slopes = true};
        if (!g->wanted[i])
            continue;
        if (!(p.out = gradient_make(g, i)) ||
            equation_of_slope(call, e, &terms[i], &call->inputs[i]->shape, &slope))
            return -1;
        p.out_reach = reach[i];
        inputs[i] = g->upstream[0];
        reach[i] = reach_of(e, &e->out, &g->upstream[0]->shape);
        if (p.out->count > 0 && contract_operands(&p, call->err))
            return -1;
        inputs[i] = call->inputs[i];
        reach[i] = p.out_reach;
    }
    return 0;
}

static int gradient_einsum(struct op_gradient *g)
{
    struct op_call *call = g->call;
    struct equation e;
    if (!g->upstream[0])
        return 0;
    size_t count = call->n_inputs;
    struct labels *terms = calloc(count, sizeof *terms);
    struct reach *reach = calloc(count, sizeof *reach);
    const struct bounded **inputs = calloc(count, sizeof *inputs);
    int result = terms && reach && inputs
                     ? parse(call, &e, terms)
                     : error_set(call->err, ERROR_MEMORY, "no memory for %zu terms", count);
    if (result == 0)
        result = differentiate(g, &e, terms, reach, inputs);
    free(terms);
    free(reach);
    free(inputs);
    return result;
}

/* An equation as it is drawn: labels with their sizes, the text, and how often each label was used. */
struct sketch {
    char text[200];
    size_t length;
    int64_t dim[26];
    int uses[26];
    int dots; /* dimensions under the ellipsis; 0: none */
    struct shape under;
};

static void write_char(struct draw *d, struct sketch *s, char c)
{
    if (draw_chance(d, 0.1))
        s->text[s->length++] = ' ';
    s->text[s->length++] = c;
}

static void write_text(struct draw *d, struct sketch *s, const char *text)
{
    write_char(d, s, *text);
    while (*++text)
        s->text[s->length++] = *text;
}

/* Chooses a letter for a dimension: now and then a used one of this size, else a new one. */
static int draw_letter(struct draw *d, struct sketch *s, int64_t dim, double reuse)
{
    int start = (int)draw_between(d, 0, 25), fresh = -1;
    bool known = draw_chance(d, reuse);
    for (int i = 0; i < 26; i++) {
        int letter = (start + i) % 26;
        if (known && s->uses[letter] && s->dim[letter] == dim)
            return letter;
        if (fresh < 0 && !s->uses[letter])
            fresh = letter;
    }
    return fresh;
}

static void use_letter(struct draw *d, struct sketch *s, int letter, int64_t dim)
{
    s->dim[letter] = dim;
    s->uses[letter]++;
    write_char(d, s, (char)('a' + letter));
}

static void sketch_first(struct draw *d, struct sketch *s, const struct shape *shape)
{
    if (shape->rank > 0 && draw_chance(d, 0.2))
        s->dots = (int)draw_between(d, 1, shape->rank);
    s->under = shape_make(s->dots, shape->dims);
    if (s->dots)
        write_text(d, s, "...");
    for (int i = s->dots; i < shape->rank; i++)
        use_letter(d, s, draw_letter(d, s, shape->dims[i], 0.05), shape->dims[i]);
}

/* Adds an operand: some labels that are already used, some new. */
static void sketch_more(struct draw *d, struct sketch *s, enum dtype type)
{
    struct shape shape = {.rank = 0};
    write_char(d, s, ',');
    if (s->dots && draw_chance(d, 0.6)) {
        write_text(d, s, "...");
        for (int i = 0; i < s->dots; i++)
            shape.dims[shape.rank++] = draw_chance(d, 0.2) ? 1 : s->under.dims[i];
    }
    int shared = (int)draw_between(d, 0, 2), own = (int)draw_between(d, 0, 1);
    for (int i = 0; i < 26 && shared > 0; i++) {
        int letter = (i * 7 + 3) % 26;
        if (!s->uses[letter] || draw_chance(d, 0.4))
            continue;
        use_letter(d, s, letter, s->dim[letter]);
        shape.dims[shape.rank++] = s->dim[letter];
        shared--;
    }
    for (; own > 0; own--) {
        int64_t dim = draw_between(d, 1, 4);
        use_letter(d, s, draw_letter(d, s, dim, 0), dim);
        shape.dims[shape.rank++] = dim;
    }
    draw_data(d, type, &shape);
}

static void sketch_output(struct draw *d, struct sketch *s)
{
    int start = (int)draw_between(d, 0, 25);
    write_text(d, s, "->");
    bool late = draw_chance(d, 0.5);
    if (s->dots && !late)
        write_text(d, s, "...");
    for (int i = 0; i < 26; i++) {
        int letter = (start + i * 11) % 26;
        if (s->uses[letter] && draw_chance(d, s->uses[letter] > 1 ? 0.4 : 0.7))
            write_char(d, s, (char)('a' + letter));
    }
    if (s->dots && late)
        write_text(d, s, "...");
}

static int sample_einsum(struct draw *d)
{
    struct drawn x = draw_primary_ranked(d, 1, 4);
    struct sketch s = {.length = 0};
    int more = draw_chance(d, 0.25) ? 0 : draw_chance(d, 0.8) ? 1 : 2;
    sketch_first(d, &s, &x.shape);
    for (int i = 0; i < more; i++)
        sketch_more(d, &s, x.type);
    if (draw_chance(d, 0.75))
        sketch_output(d, &s);
    s.text[s.length] = 0;
    draw_string(d, "equation", s.text);
    return 0;
}

/* The equation with other outputs: the letters of the present one in alphabetical order, the other way round,
 * all letters, and none. */
struct outputs {
    char terms[EQUATION_MAX];               /* what stands before the arrow, without spaces */
    const char *ellipsis;                   /* "..." or "" */
    char kept[LABELS + 1], all[LABELS + 1]; /* letters; those of the output, and those of the terms */
};

static bool read_outputs(const Onnx__NodeProto *node, struct outputs *outputs)
{
    const Onnx__AttributeProto *equation = node_attribute(node, "equation");
    size_t length = 0, uses[128] = {0}, kept = 0, all = 0;
    if (!equation || equation->s.len >= EQUATION_MAX)
        return false;
    for (size_t i = 0; i < equation->s.len; i++)
        if (equation->s.data[i] != ' ')
            outputs->terms[length++] = (char)equation->s.data[i];
    outputs->terms[length] = 0;
    char *arrow = strstr(outputs->terms, "->");
    if (arrow)
        *arrow = 0;
    outputs->ellipsis = strstr(outputs->terms, "...") ? "..." : "";
    for (const char *c = outputs->terms; *c; c++)
        uses[*c & 127] += isalpha((unsigned char)*c) != 0;
    for (int c = 0; c < 128 && all < LABELS; c++)
        if (uses[c])
            outputs->all[all++] = (char)c;
    for (const char *c = arrow ? arrow + 2 : ""; *c && kept < LABELS; c++)
        if (isalpha((unsigned char)*c))
            outputs->kept[kept++] = *c;
    for (int c = 0; !arrow && c < 128 && kept < LABELS; c++)
        if (uses[c] == 1)
            outputs->kept[kept++] = (char)c;
    outputs->kept[kept] = outputs->all[all] = 0;
    return true;
}

static void sort_letters(char *letters)
{
    for (char *a = letters; *a; a++)
        for (char *b = a + 1; *b; b++)
            if (*b < *a) {
                char kept = *a;
                *a = *b;
                *b = kept;
            }
}

static void other_equations(const Onnx__NodeProto *node, const struct op_param *param,
                            void (*give)(void *context, const char *value), void *context)
{
    struct outputs outputs;
    char text[2 * EQUATION_MAX], turned[LABELS + 1] = "";
    (void)param;
    if (!read_outputs(node, &outputs))
        return;
    size_t count = strlen(outputs.kept);
    for (size_t i = 0; i < count; i++)
        turned[i] = outputs.kept[count - 1 - i];
    sort_letters(outputs.kept);
    const char *const others[] = {outputs.kept, turned, outputs.all, ""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(text, sizeof text, "%s->%s%s", outputs.terms, outputs.ellipsis, others[i]);
        give(context, text);
    }
}

static const struct op_param einsum_params[] = {
    {"equation", PARAM_STRING, .illegal = "|->|i,j,k->z|ii...|i->ii"},
    {0},
};

enum { TYPES = DTYPES_NUMBER & ~(1 << DTYPE_BFLOAT16) };

const struct op ops_einsum[] = {
    {OP("Einsum", 12), .inputs = {1, OP_VARIADIC}, .outputs = {1, 1}, .ranks = {0, 5}, .types = {{12, TYPES}},
     .params = einsum_params, .others = other_equations, .eval = eval_einsum, .gradient = gradient_einsum,
     .sample = sample_einsum, .data = DATA_ALL, .range = {RANGE_DOT}, .factors = {FACTORS_PRODUCT_OF_ALL},
     .result = RESULT_TYPE, .work = WORK_PRODUCTS, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
