#include "guide/coverage.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/packed.h"
#include "guide/coverage_param.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_VECTORS = 200, MOST_INPUTS = 5, OUT_DEGREES = 0x3f };

struct entry {
    char *name;
    const struct op *row; /* NULL when the operator table lacks it: no pairs */
    uint32_t in, out;     /* allowed */
    bool seen;
    uint32_t in_seen, out_seen;
    uint64_t *edges; /* one bit per operator of the corpus; allocated with the first model */
    size_t n_edges;
    uint64_t *vectors; /* ascending; at most n_max */
    size_t n_vectors, vectors_capacity;
    uint8_t values[COVERAGE_PARAMS]; /* number of values of each parameter */
    size_t n_params;
    uint64_t *pairs; /* one bit per pair of values */
    size_t n_pairs, pairs_seen;
};

struct coverage {
    struct coverage_options options;
    struct entry *entries;
    size_t count, capacity, words; /* 64-bit words of a set of operators */
    struct map names;
    uint64_t *peeked; /* items of the current coverage_peek that are new */
    size_t n_peeked, peeked_capacity;
};

struct coverage *coverage_new(const struct coverage_options *options)
{
    struct coverage *coverage = memory_zeroed(1, sizeof *coverage);
    double sum = 0;
    if (options)
        coverage->options = *options;
    if (!coverage->options.n_max)
        coverage->options.n_max = DEFAULT_VECTORS;
    for (int i = 0; i < 5; i++)
        sum += coverage->options.weights[i];
    for (int i = 0; i < 5 && !(sum > 0); i++)
        coverage->options.weights[i] = 1;
    map_init(&coverage->names);
    return coverage;
}

void coverage_free(struct coverage *coverage)
{
    if (!coverage)
        return;
    for (size_t i = 0; i < coverage->count; i++) {
        free(coverage->entries[i].name);
        free(coverage->entries[i].edges);
        free(coverage->entries[i].vectors);
        free(coverage->entries[i].pairs);
    }
    free(coverage->entries);
    free(coverage->peeked);
    map_release(&coverage->names);
    free(coverage);
}

/* The number of values that a parameter can have in a pair: its classes, and "left out" where that is
 * possible. */
static size_t values_of(const struct op_param *param)
{
    return param_classes(param) + (param_optional(param) ? 1 : 0);
}

static size_t count_pairs(struct entry *entry)
{
    size_t total = 0;
    const struct op_param *p = entry->row ? entry->row->params : NULL;
    for (; p && p[entry->n_params].name && entry->n_params < COVERAGE_PARAMS; entry->n_params++)
        entry->values[entry->n_params] = (uint8_t)values_of(&p[entry->n_params]);
    for (size_t i = 0; i < entry->n_params; i++)
        for (size_t k = i + 1; k < entry->n_params; k++)
            total += (size_t)entry->values[i] * entry->values[k];
    return total;
}

bool coverage_add_op(struct coverage *coverage, const char *name, uint32_t in_degrees, uint32_t out_degrees)
{
    if (coverage->words || map_has(&coverage->names, name))
        return false;
    coverage->entries =
        memory_grow(coverage->entries, &coverage->capacity, coverage->count + 1, sizeof *coverage->entries);
    struct entry *entry = &coverage->entries[coverage->count];
    *entry = (struct entry){.name = memory_strdup(name), .in = in_degrees, .out = out_degrees};
    entry->row = op_find(name);
    entry->n_pairs = count_pairs(entry);
    entry->pairs = memory_zeroed(entry->n_pairs / 64 + 1, sizeof *entry->pairs);
    map_set(&coverage->names, entry->name, coverage->count++);
    return true;
}

bool coverage_add_row(struct coverage *coverage, const struct op *op)
{
    int most = op->inputs.most < MOST_INPUTS || op->inputs.most < OP_VARIADIC ? op->inputs.most : MOST_INPUTS;
    uint32_t in = 0;
    for (int degree = op->inputs.least ? 1 : 0; degree <= most && degree < COVERAGE_DEGREES; degree++)
        in |= (uint32_t)1 << degree;
    return coverage_add_op(coverage, op->name, in, OUT_DEGREES);
}

size_t coverage_ops(const struct coverage *coverage)
{
    return coverage->count;
}

const char *coverage_op_name(const struct coverage *coverage, size_t op)
{
    return coverage->entries[op].name;
}

bool coverage_find(const struct coverage *coverage, const char *name, size_t *op)
{
    return map_get(&coverage->names, name, op);
}

bool coverage_grows(const struct coverage_gain *gain)
{
    return gain->types || gain->in_degrees || gain->out_degrees || gain->edges || gain->vectors;
}

/* Fixes the corpus when the first model comes, so that sets of operators have their size. */
static void fix_corpus(struct coverage *coverage)
{
    if (coverage->words)
        return;
    coverage->words = coverage->count / 64 + 1;
    for (size_t i = 0; i < coverage->count; i++)
        coverage->entries[i].edges = memory_zeroed(coverage->words, sizeof(uint64_t));
}

enum item { ITEM_TYPE, ITEM_IN, ITEM_OUT, ITEM_EDGE, ITEM_VECTOR, ITEMS };

/* 1 when coverage_peek has not counted this item yet: a model adds few, so a list is enough. */
static size_t peek_item(struct coverage *coverage, const struct entry *entry, enum item kind, uint64_t what)
{
    uint64_t item = hash_combine((uint64_t)(entry - coverage->entries) * ITEMS + kind, what);
    for (size_t i = 0; i < coverage->n_peeked; i++)
        if (coverage->peeked[i] == item)
            return 0;
    coverage->peeked = memory_grow(coverage->peeked, &coverage->peeked_capacity, coverage->n_peeked + 1,
                                   sizeof *coverage->peeked);
    coverage->peeked[coverage->n_peeked++] = item;
    return 1;
}

/* Sets a bit; 1 when it was not set before. */
static size_t set_bit(uint64_t *bits, size_t number)
{
    uint64_t bit = (uint64_t)1 << (number % 64);
    size_t new = !(bits[number / 64] & bit);
    bits[number / 64] |= bit;
    return new;
}

static bool has_bit(const uint64_t *bits, size_t number)
{
    return bits[number / 64] >> (number % 64) & 1;
}

static size_t add_degree(struct coverage *coverage, struct entry *entry, enum item kind, unsigned degree,
                         bool keep)
{
    uint32_t *seen = kind == ITEM_IN ? &entry->in_seen : &entry->out_seen,
             allowed = kind == ITEM_IN ? entry->in : entry->out,
             bit = degree < COVERAGE_DEGREES ? (uint32_t)1 << degree : 0;
    if (!(allowed & bit) || *seen & bit)
        return 0;
    if (!keep)
        return peek_item(coverage, entry, kind, degree);
    *seen |= bit;
    return 1;
}

/* Some bits of a vector's hash are enough to tell a few hundred apart; most of what is stored are these. */
static const uint64_t vector_bits = 0xffffff;

static size_t add_vector(struct coverage *coverage, struct entry *entry, uint64_t whole, bool keep)
{
    size_t low = 0, high = entry->n_vectors;
    uint64_t vector = whole & vector_bits;
    if (entry->n_vectors >= coverage->options.n_max)
        return 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (entry->vectors[middle] < vector)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < entry->n_vectors && entry->vectors[low] == vector)
        return 0;
    if (!keep)
        return peek_item(coverage, entry, ITEM_VECTOR, vector);
    entry->vectors =
        memory_grow(entry->vectors, &entry->vectors_capacity, entry->n_vectors + 1, sizeof *entry->vectors);
    memmove(&entry->vectors[low + 1], &entry->vectors[low], (entry->n_vectors - low) * sizeof(uint64_t));
    entry->vectors[low] = vector;
    entry->n_vectors++;
    return 1;
}

/* The number of a value in 0..values_of-1, or -1 when it is none (left out, though it cannot be). */
static int value_number(const struct op_param *param, unsigned class)
{
    return (int)class - (param_optional(param) ? 0 : 1);
}

static size_t add_pairs(struct entry *entry, const uint8_t *classes)
{
    size_t first = 0, new = 0;
    const struct op_param *p = entry->row ? entry->row->params : NULL;
    for (size_t i = 0; i < entry->n_params; i++)
        for (size_t k = i + 1; k < entry->n_params; k++) {
            int a = value_number(&p[i], classes[i]), b = value_number(&p[k], classes[k]);
            if (a >= 0 && b >= 0)
                new += set_bit(entry->pairs, first + (size_t)a * entry->values[k] + (size_t)b);
            first += (size_t)entry->values[i] * entry->values[k];
        }
    entry->pairs_seen += new;
    return new;
}

static size_t add_edges(struct coverage *coverage, struct entry *entry, const struct coverage_record *record,
                        const struct coverage_node *node, bool keep)
{
    size_t other, new = 0;
    for (size_t i = 0; i < node->n_to; i++) {
        if (!map_get(&coverage->names, record->nodes[node->to[i]].op, &other))
            continue;
        if (keep)
            new += set_bit(entry->edges, other);
        else if (!has_bit(entry->edges, other))
            new += peek_item(coverage, entry, ITEM_EDGE, other);
    }
    entry->n_edges += keep ? new : 0;
    return new;
}

/* Counts bits without __builtin_popcount, which is a function call on processors that may lack the
 * instruction. */
static size_t bits_in(uint32_t set)
{
    set -= set >> 1 & 0x55555555;
    set = (set & 0x33333333) + (set >> 2 & 0x33333333);
    set = (set + (set >> 4)) & 0x0f0f0f0f;
    return (size_t)(set * 0x01010101 >> 24);
}

static double share(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* Counts the new items of one node and what they add to OLC. */
static void add_node(struct coverage *coverage, struct entry *entry, const struct coverage_record *record,
                     const struct coverage_node *node, bool keep, struct coverage_gain *sum)
{
    const double *w = coverage->options.weights;
    struct coverage_gain gain = {
        .types = entry->seen ? 0
                 : keep      ? 1
                             : peek_item(coverage, entry, ITEM_TYPE, 0),
        .in_degrees = add_degree(coverage, entry, ITEM_IN, node->in, keep),
        .out_degrees = add_degree(coverage, entry, ITEM_OUT, node->out, keep),
        .edges = add_edges(coverage, entry, record, node, keep),
        .vectors = add_vector(coverage, entry, node->vector, keep),
        .pairs = keep && entry->row == node->row ? add_pairs(entry, node->classes) : 0,
    };
    if (keep)
        entry->seen = true;
    sum->types += gain.types;
    sum->in_degrees += gain.in_degrees;
    sum->out_degrees += gain.out_degrees;
    sum->edges += gain.edges;
    sum->vectors += gain.vectors;
    sum->pairs += gain.pairs;
    sum->olc +=
        (w[0] * (double)gain.types + w[1] * share(gain.in_degrees, bits_in(entry->in)) +
         w[2] * share(gain.out_degrees, bits_in(entry->out)) + w[3] * share(gain.edges, coverage->count) +
         w[4] * share(gain.vectors, coverage->options.n_max)) /
        ((w[0] + w[1] + w[2] + w[3] + w[4]) * (double)coverage->count);
}

static struct coverage_gain add_record(struct coverage *coverage, const struct coverage_record *record,
                                       bool keep)
{
    struct coverage_gain gain = {0};
    size_t number;
    fix_corpus(coverage);
    coverage->n_peeked = 0;
    for (size_t i = 0; i < record->n_nodes; i++)
        if (map_get(&coverage->names, record->nodes[i].op, &number))
            add_node(coverage, &coverage->entries[number], record, &record->nodes[i], keep, &gain);
    return gain;
}

struct coverage_gain coverage_add(struct coverage *coverage, const struct coverage_record *record)
{
    return add_record(coverage, record, true);
}

struct coverage_gain coverage_peek(struct coverage *coverage, const struct coverage_record *record)
{
    return add_record(coverage, record, false);
}

static double weighted(const struct coverage *coverage, const struct coverage_figures *f)
{
    const double *w = coverage->options.weights;
    return (w[0] * f->otc + w[1] * f->idc + w[2] * f->odc + w[3] * f->sec + w[4] * f->spc) /
           (w[0] + w[1] + w[2] + w[3] + w[4]);
}

struct coverage_figures coverage_of(const struct coverage *coverage, size_t op)
{
    const struct entry *entry = &coverage->entries[op];
    struct coverage_figures f = {
        .otc = entry->seen,
        .idc = share(bits_in(entry->in_seen), bits_in(entry->in)),
        .odc = share(bits_in(entry->out_seen), bits_in(entry->out)),
        .sec = share(entry->n_edges, coverage->count),
        .spc = share(entry->n_vectors, coverage->options.n_max),
        .pairs = share(entry->pairs_seen, entry->n_pairs),
    };
    f.olc = weighted(coverage, &f);
    return f;
}

double coverage_spc(const struct coverage *coverage, size_t op)
{
    return share(coverage->entries[op].n_vectors, coverage->options.n_max);
}

double coverage_olc(const struct coverage *coverage, size_t op)
{
    return coverage_of(coverage, op).olc;
}

struct coverage_figures coverage_total(const struct coverage *coverage)
{
    struct coverage_figures sum = {0};
    size_t seen = 0, pairs = 0;
    double n = coverage->count ? (double)coverage->count : 1;
    for (size_t i = 0; i < coverage->count; i++) {
        struct coverage_figures f = coverage_of(coverage, i);
        sum.otc += f.otc / n;
        sum.idc += f.idc / n;
        sum.odc += f.odc / n;
        sum.sec += f.sec / n;
        sum.spc += f.spc / n;
        seen += coverage->entries[i].pairs_seen;
        pairs += coverage->entries[i].n_pairs;
    }
    sum.pairs = share(seen, pairs);
    sum.olc = weighted(coverage, &sum);
    return sum;
}

/* Words that are not allocated yet are written as empty. */
static void write_words(struct str *out, const uint64_t *words, size_t count)
{
    str_printf(out, " %zu", count);
    for (size_t i = 0; i < count; i++)
        str_printf(out, " %" PRIx64, words ? words[i] : 0);
}

/* One line per operator: name, seen, in-degrees, out-degrees, then edges, pairs and vectors with their
 * counts. */
void coverage_write(const struct coverage *coverage, struct str *out)
{
    for (size_t i = 0; i < coverage->count; i++) {
        const struct entry *entry = &coverage->entries[i];
        str_printf(out, "%s %d %" PRIx32 " %" PRIx32, entry->name, entry->seen, entry->in_seen,
                   entry->out_seen);
        write_words(out, entry->edges, coverage->count / 64 + 1);
        write_words(out, entry->pairs, entry->n_pairs / 64 + 1);
        write_words(out, entry->vectors, entry->n_vectors);
        str_add(out, "\n");
    }
}

/* Reads the next number of the text; fails when there is none. */
static int take_number(const char **text, int base, uint64_t most, uint64_t *value)
{
    char *end;
    if (**text != ' ')
        return -1;
    *value = strtoull(*text + 1, &end, base);
    if (end == *text + 1 || *value > most)
        return -1;
    *text = end;
    return 0;
}

static int take_words(const char **text, uint64_t *words, size_t count)
{
    uint64_t given;
    if (take_number(text, 10, count, &given) || given != count)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (take_number(text, 16, UINT64_MAX, &words[i]))
            return -1;
    return 0;
}

static size_t bits_of(const uint64_t *words, size_t count)
{
    size_t bits = 0;
    for (size_t i = 0; i < count; i++)
        bits += (size_t)__builtin_popcountll(words[i]);
    return bits;
}

static int read_entry(struct coverage *coverage, struct entry *entry, const char **text)
{
    size_t length = strlen(entry->name), words = entry->n_pairs / 64 + 1;
    uint64_t seen, in, out, count, vector;
    if (strncmp(*text, entry->name, length) != 0)
        return -1;
    *text += length;
    if (take_number(text, 10, 1, &seen) || take_number(text, 16, UINT32_MAX, &in) ||
        take_number(text, 16, UINT32_MAX, &out) || take_words(text, entry->edges, coverage->words) ||
        take_words(text, entry->pairs, words) || take_number(text, 10, coverage->options.n_max, &count))
        return -1;
    entry->seen = seen != 0;
    entry->in_seen = (uint32_t)in & entry->in;
    entry->out_seen = (uint32_t)out & entry->out;
    entry->n_edges = bits_of(entry->edges, coverage->words);
    entry->pairs_seen = bits_of(entry->pairs, words);
    entry->n_vectors = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (take_number(text, 16, UINT64_MAX, &vector))
            return -1;
        add_vector(coverage, entry, vector, true);
    }
    return *(*text)++ == '\n' ? 0 : -1;
}

int coverage_read(struct coverage *coverage, const char *text, struct error *err)
{
    fix_corpus(coverage);
    for (size_t i = 0; i < coverage->count; i++)
        if (read_entry(coverage, &coverage->entries[i], &text))
            return error_set(err, ERROR_FORMAT, "the stored coverage is of another set of operators, near %s",
                             coverage->entries[i].name);
    return *text ? error_set(err, ERROR_FORMAT, "the stored coverage is of another set of operators") : 0;
}

void coverage_clear(struct coverage *coverage)
{
    fix_corpus(coverage);
    for (size_t i = 0; i < coverage->count; i++) {
        struct entry *entry = &coverage->entries[i];
        entry->seen = false;
        entry->in_seen = entry->out_seen = 0;
        entry->n_edges = entry->n_vectors = entry->pairs_seen = 0;
        memset(entry->edges, 0, coverage->words * sizeof *entry->edges);
        memset(entry->pairs, 0, (entry->n_pairs / 64 + 1) * sizeof *entry->pairs);
    }
}

void coverage_copy(struct coverage *coverage, const struct coverage *other)
{
    coverage_clear(coverage);
    for (size_t i = 0; i < coverage->count && other->words; i++) {
        struct entry *entry = &coverage->entries[i];
        const struct entry *from = &other->entries[i];
        entry->seen = from->seen;
        entry->in_seen = from->in_seen;
        entry->out_seen = from->out_seen;
        entry->n_edges = from->n_edges;
        entry->pairs_seen = from->pairs_seen;
        memcpy(entry->edges, from->edges, coverage->words * sizeof *entry->edges);
        memcpy(entry->pairs, from->pairs, (entry->n_pairs / 64 + 1) * sizeof *entry->pairs);
        entry->vectors = memory_grow(entry->vectors, &entry->vectors_capacity, from->n_vectors + 1,
                                     sizeof *entry->vectors);
        if (from->n_vectors)
            memcpy(entry->vectors, from->vectors, from->n_vectors * sizeof *entry->vectors);
        entry->n_vectors = from->n_vectors;
    }
}

/* Ascending numbers, each as its distance from the one before it, behind their count. */
struct list {
    struct str numbers;
    size_t count;
    uint64_t next; /* one above the last */
};

static void list_add(struct list *list, uint64_t number)
{
    packed_add(&list->numbers, number - list->next);
    list->next = number + 1;
    list->count++;
}

static void list_write(struct list *list, struct str *out)
{
    packed_add(out, list->count);
    str_append(out, list->numbers.data, list->numbers.length);
    str_clear(&list->numbers);
    list->count = 0;
    list->next = 0;
}

static void write_bits(struct list *list, const uint64_t *now, const uint64_t *before, size_t count,
                       struct str *out)
{
    for (size_t i = 0; now && i < count; i++)
        if (has_bit(now, i) && !(before && has_bit(before, i)))
            list_add(list, i);
    list_write(list, out);
}

/* Both are ascending. */
static void write_vectors(struct list *list, const struct entry *now, const struct entry *before,
                          struct str *out)
{
    size_t at = 0, count = before ? before->n_vectors : 0;
    for (size_t i = 0; i < now->n_vectors; i++) {
        while (at < count && before->vectors[at] < now->vectors[i])
            at++;
        if (at == count || before->vectors[at] != now->vectors[i])
            list_add(list, now->vectors[i]);
    }
    list_write(list, out);
}

static bool entry_grew(const struct entry *now, const struct entry *before)
{
    if (!before)
        return now->seen;
    return now->seen != before->seen || now->in_seen != before->in_seen ||
           now->out_seen != before->out_seen || now->n_edges != before->n_edges ||
           now->pairs_seen != before->pairs_seen || now->n_vectors != before->n_vectors;
}

/* For each operator that has something new: its distance from the one before it, from 1, and its news; then a
 * 0.
 */
void coverage_difference(const struct coverage *coverage, const struct coverage *before, struct str *out)
{
    struct list list = {0};
    size_t last = 0;
    str_init(&list.numbers);
    for (size_t i = 0; i < coverage->count; i++) {
        const struct entry *now = &coverage->entries[i],
                           *then = before && before->words ? &before->entries[i] : NULL;
        if (!entry_grew(now, then))
            continue;
        packed_add(out, i + 1 - last);
        last = i + 1;
        packed_add(out, now->in_seen & ~(then ? then->in_seen : 0));
        packed_add(out, now->out_seen & ~(then ? then->out_seen : 0));
        write_bits(&list, now->edges, then ? then->edges : NULL, coverage->count, out);
        write_bits(&list, now->pairs, then ? then->pairs : NULL, now->n_pairs, out);
        write_vectors(&list, now, then, out);
    }
    packed_add(out, 0);
    str_release(&list.numbers);
}

/* Takes the next number of a list; *next is one above the one before it. */
static bool take_next(const char **text, uint64_t *next, uint64_t below, uint64_t *number)
{
    uint64_t distance;
    if (*next >= below || !packed_take(text, below - 1 - *next, &distance))
        return false;
    *number = *next + distance;
    *next = *number + 1;
    return true;
}

/* The number of bits that were not set before, or -1. */
static long fold_bits(const char **text, uint64_t *bits, size_t count)
{
    uint64_t given, next = 0, number;
    long new = 0;
    if (!packed_take(text, count, &given))
        return -1;
    for (uint64_t i = 0; i < given; i++) {
        if (!take_next(text, &next, count, &number))
            return -1;
        new += (long)set_bit(bits, number);
    }
    return new;
}

static bool fold_entry(struct coverage *coverage, struct entry *entry, const char **text)
{
    uint64_t in, out, given, next = 0, vector;
    long edges, pairs;
    if (!packed_take(text, UINT32_MAX, &in) || !packed_take(text, UINT32_MAX, &out) ||
        (edges = fold_bits(text, entry->edges, coverage->count)) < 0 ||
        (pairs = fold_bits(text, entry->pairs, entry->n_pairs)) < 0 ||
        !packed_take(text, coverage->options.n_max, &given))
        return false;
    entry->seen = true;
    entry->in_seen |= (uint32_t)in & entry->in;
    entry->out_seen |= (uint32_t)out & entry->out;
    entry->n_edges += (size_t)edges;
    entry->pairs_seen += (size_t)pairs;
    for (uint64_t i = 0; i < given; i++) {
        if (!take_next(text, &next, vector_bits + 1, &vector))
            return false;
        add_vector(coverage, entry, vector, true);
    }
    return true;
}

int coverage_fold(struct coverage *coverage, const char **text, struct error *err)
{
    uint64_t step, at = 0;
    fix_corpus(coverage);
    while (packed_take(text, coverage->count - at, &step)) {
        if (!step)
            return 0;
        at += step;
        if (!fold_entry(coverage, &coverage->entries[at - 1], text))
            break;
    }
    return error_set(err, ERROR_FORMAT, "the coverage of a range is damaged, or of another set of operators");
}
