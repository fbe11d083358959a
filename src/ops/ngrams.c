/* TfIdfVectorizer: how often the n-grams of a pool occur in rows of whole numbers. */
#include "bounds/number.h"
#include "ops/draw.h"
#include "ops/op.h"

#include <inttypes.h>
#include <string.h>

/* The most comparisons that one node makes: about a second. */
enum { WORK_LIMIT = 1 << 27 };

enum mode { TF, IDF, TFIDF };

/* The pool holds all n-grams of 1, those of 2, and so on; `starts` says where those of each length begin. */
struct pool {
    const int64_t *grams, *starts, *columns;
    size_t n_grams, n_lengths, n_columns;
    const Onnx__AttributeProto *weights;
    int64_t shortest, longest, skips, width; /* width: of a row of the output */
    enum mode mode;
};

static int read_lengths(struct op_call *call, struct pool *p)
{
    p->shortest = call_int(call, "min_gram_length", 0);
    p->longest = call_int(call, "max_gram_length", 0);
    p->skips = call_int(call, "max_skip_count", 0);
    if (p->shortest < 1 || p->longest < p->shortest || p->skips < 0)
        return call_invalid(call, "n-grams of %" PRId64 " to %" PRId64 " with %" PRId64 " skipped",
                            p->shortest, p->longest, p->skips);
    if ((size_t)p->longest > p->n_lengths)
        return call_invalid(call, "ngram_counts ends before n-grams of %" PRId64, p->longest);
    return 0;
}

/* The number of n-grams of a length, and where they begin. */
static size_t grams_of(const struct pool *p, int64_t length, size_t *start)
{
    size_t from = (size_t)p->starts[length - 1];
    size_t to = (size_t)length < p->n_lengths ? (size_t)p->starts[length] : p->n_grams;
    *start = from;
    return (to - from) / (size_t)length;
}

/* Starts ascend and lie in the pool, and n-grams are whole. */
static int check_pool(struct op_call *call, const struct pool *p)
{
    size_t total = 0;
    for (size_t i = 0; i < p->n_lengths; i++) {
        int64_t from = p->starts[i], to = i + 1 < p->n_lengths ? p->starts[i + 1] : (int64_t)p->n_grams;
        if (from < 0 || to < from || (size_t)to > p->n_grams || (to - from) % (int64_t)(i + 1))
            return call_invalid(call, "ngram_counts do not divide the pool");
        total += (size_t)(to - from) / (i + 1);
    }
    if (total != p->n_columns)
        return call_invalid(call, "%zu indexes for %zu n-grams", p->n_columns, total);
    if (p->weights && p->weights->n_floats != p->n_columns)
        return call_invalid(call, "%zu weights for %zu n-grams", p->weights->n_floats, total);
    return 0;
}

static int read_pool(struct op_call *call, struct pool *p)
{
    static const char *const modes[] = {"TF", "IDF", "TFIDF"};
    const char *mode = call_string(call, "mode", "");
    int known = -1;
    for (int i = 0; i < 3; i++)
        known = strcmp(mode, modes[i]) == 0 ? i : known;
    if (known < 0)
        return call_invalid(call, "mode '%s' is none of TF, IDF and TFIDF", mode);
    p->mode = (enum mode)known;
    p->grams = call_ints(call, "pool_int64s", &p->n_grams);
    p->starts = call_ints(call, "ngram_counts", &p->n_lengths);
    p->columns = call_ints(call, "ngram_indexes", &p->n_columns);
    p->weights = node_attribute(call->node, "weights");
    if (call_has(call, "pool_strings"))
        return call_unsupported(call, "text is not supported");
    if (!p->grams || !p->starts || !p->columns)
        return call_invalid(call, "pool_int64s, ngram_counts or ngram_indexes is missing");
    if (read_lengths(call, p) || check_pool(call, p))
        return -1;
    for (size_t i = 0; i < p->n_columns; i++) {
        if (p->columns[i] < 0)
            return call_invalid(call, "ngram_indexes has the value %" PRId64, p->columns[i]);
        if (p->columns[i] >= (int64_t)BOUNDED_LIMIT)
            return call_unsupported(call, "ngram_indexes has the value %" PRId64, p->columns[i]);
        p->width = p->columns[i] >= p->width ? p->columns[i] + 1 : p->width;
    }
    return 0;
}

/* Which n-gram of the pool, counted over all lengths, is at the row's place; -1: none. */
static int64_t gram_at(const struct pool *p, const long double *row, int64_t length, int64_t step)
{
    size_t start, before = 0, count;
    for (int64_t i = 1; i < length; i++)
        before += grams_of(p, i, &start);
    count = grams_of(p, length, &start);
    for (size_t g = 0; g < count; g++) {
        bool same = true;
        for (int64_t k = 0; same && k < length; k++)
            same = row[k * step] == (long double)p->grams[start + g * (size_t)length + (size_t)k];
        if (same)
            return (int64_t)(before + g);
    }
    return -1;
}

/* Single numbers are counted once, whatever is skipped. */
static void count_row(const struct pool *p, const long double *row, int64_t length, long double *counts)
{
    for (int64_t n = p->shortest; n <= p->longest; n++)
        for (int64_t step = 1; step <= (n == 1 ? 1 : p->skips + 1); step++)
            for (int64_t i = 0; i < length && (n - 1) <= (length - 1 - i) / step; i++) {
                int64_t gram = gram_at(p, row + i, n, step);
                if (gram >= 0)
                    counts[p->columns[gram]] += 1;
            }
}

static long double weight_of(const struct pool *p, int64_t column)
{
    for (size_t i = 0; p->weights && i < p->n_columns; i++)
        if (p->columns[i] == column)
            return (long double)p->weights->floats[i];
    return 1;
}

static void weigh_row(const struct pool *p, struct bounded *out, size_t at)
{
    for (int64_t i = 0; i < p->width; i++) {
        long double count = out->value[at + (size_t)i], weight = weight_of(p, i);
        if (p->mode != TF)
            bounded_put(out, at + (size_t)i, p->mode == IDF ? (count > 0 ? weight : 0) : count * weight, 0,
                        0);
    }
}

static int check_rows(struct op_call *call, const struct pool *p, const struct bounded *x)
{
    long double work = (long double)x->count * (long double)p->n_grams * (long double)(p->skips + 1);
    for (size_t i = 0; i < x->count; i++)
        if (bounded_hard(x, i) > 0)
            return call_unsupported(call, "an element is undecided");
    if (work > WORK_LIMIT)
        return error_set(call->err, ERROR_LIMIT,
                         "TfIdfVectorizer: more comparisons than the reference makes");
    return 0;
}

static int eval_tfidf(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    struct pool p = {0};
    if (!x || read_pool(call, &p))
        return -1;
    if (x->shape.rank < 1 || x->shape.rank > 2 || !dtype_is_integer(x->type))
        return call_invalid(call, "the input is no row or rows of whole numbers");
    struct shape shape = x->shape;
    shape.dims[shape.rank - 1] = p.width;
    struct bounded *out = call_output(call, 0, DTYPE_FLOAT, &shape);
    if (!out || call->shapes_only || !out->count)
        return out ? 0 : -1;
    if (check_rows(call, &p, x))
        return -1;
    int64_t length = x->shape.dims[x->shape.rank - 1];
    for (size_t r = 0; r < out->count / (size_t)p.width; r++) {
        count_row(&p, x->value + (int64_t)r * length, length, out->value + r * (size_t)p.width);
        weigh_row(&p, out, r * (size_t)p.width);
    }
    return 0;
}

static int sample_tfidf(struct draw *d)
{
    struct shape shape = {1, {draw_between(d, 1, 12)}};
    int64_t pool[3 + 8], starts[2] = {0, 0}, columns[7];
    float weights[7];
    size_t singles = (size_t)draw_between(d, 1, 3), pairs = (size_t)draw_between(d, 1, 4), count = 0;
    if (d->given)
        return -1;
    if (draw_chance(d, 0.5))
        shape = (struct shape){2, {draw_between(d, 1, 3), shape.dims[0]}};
    draw_range(d, d->type, &shape, 0, 4);
    /* All n-grams of the pool are different. */
    for (size_t i = 0; i < singles; i++)
        pool[count++] = (int64_t)i;
    starts[1] = (int64_t)count;
    for (size_t i = 0; i < pairs; i++) {
        pool[count++] = (int64_t)i;
        pool[count++] = draw_between(d, 0, 4);
    }
    for (size_t i = 0; i < singles + pairs; i++) {
        columns[i] = (int64_t)(singles + pairs - 1 - i);
        weights[i] = (float)draw_between(d, 1, 8) / 4;
    }
    draw_ints(d, "pool_int64s", pool, count);
    draw_ints(d, "ngram_counts", starts, 2);
    draw_ints(d, "ngram_indexes", columns, singles + pairs);
    draw_int(d, "min_gram_length", draw_between(d, 1, 2));
    draw_int(d, "max_gram_length", 2);
    draw_int(d, "max_skip_count", draw_between(d, 0, 3));
    draw_string(d, "mode", draw_word(d, "TF|IDF|TFIDF"));
    if (draw_chance(d, 0.5))
        node_set_floats(d->arena, d->node, "weights", weights, singles + pairs);
    return 0;
}

static const struct op_param params[] = {{"max_gram_length", PARAM_INT, .illegal = "0|-1|99"},
                                         {"max_skip_count", PARAM_INT, .legal = "0..3", .illegal = "-1"},
                                         {"min_gram_length", PARAM_INT, .legal = "1|2", .illegal = "0|-1|99"},
                                         {"mode", PARAM_STRING, .legal = "TF|IDF|TFIDF", .illegal = "DF"},
                                         {"ngram_counts", PARAM_INTS, .illegal = "-1"},
                                         {"ngram_indexes", PARAM_INTS, .illegal = "-1"},
                                         {"pool_int64s", PARAM_INTS},
                                         {"pool_strings", PARAM_STRINGS},
                                         {"weights", PARAM_FLOATS},
                                         {0}};

const struct op ops_ngrams[] = {
    {OP("TfIdfVectorizer", 9), .flags = OP_ON_REQUEST, .inputs = {1, 1}, .outputs = {1, 1}, .ranks = {1, 2},
     .types = {{9, 1 << DTYPE_INT32 | 1 << DTYPE_INT64}}, .params = params, .eval = eval_tfidf,
     .sample = sample_tfidf, .data = DATA_FIRST, .range = {RANGE_FIXED, .gives = {0, 100}},
     .factors = {FACTORS_NONE}, .history = {.same_since = 9}, .result = RESULT_OTHER, .work = WORK_REDUCES,
     .slope = SLOPE_NOWHERE, .dangers = {{DANGER_NONE}}},
    {0},
};
