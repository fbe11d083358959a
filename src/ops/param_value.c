#include "ops/param_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool param_exists(const struct op_param *param, int opset)
{
    return (!param->since || opset >= param->since) && (!param->until || opset <= param->until);
}

const struct op_param *param_taken(const Onnx__NodeProto *node, const char *name,
                                   const struct op_param *after)
{
    const struct op *op = op_of(node);
    const struct op_param *param = after ? after + 1 : op ? op->params : NULL;
    for (; param && param->name; param++)
        if (param->kind == PARAM_INPUT && param->input < node->n_input &&
            text_equal(node->input[param->input], name))
            return param;
    return NULL;
}

const struct op_param *param_named(const struct op *op, const char *name)
{
    for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
        if (text_equal(param->name, name))
            return param;
    return NULL;
}

const char *param_input(const Onnx__NodeProto *node, const char *name)
{
    const struct op *op = op_of(node);
    for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
        if (param->kind == PARAM_INPUT && param->input < node->n_input && text_equal(param->name, name) &&
            *node->input[param->input])
            return node->input[param->input];
    return NULL;
}

bool param_is_value(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_node; i++)
        if (param_taken(graph->node[i], name, NULL))
            return true;
    return false;
}

/* "-2..2": both ends of a range. */
static bool read_range(const char *values, double *low, double *high, bool *whole)
{
    const char *dots = strstr(values, "..");
    char *end;
    if (!dots || strchr(values, '|'))
        return false;
    *low = strtod(values, &end);
    /* "1..6": strtod reads "1." */
    if (end != dots && end != dots + 1)
        return false;
    *high = strtod(dots + 2, &end);
    *whole = *low == trunc(*low) && *high == trunc(*high) && fabs(*low) < 0x1p62 && fabs(*high) < 0x1p62;
    return !*end && *low <= *high;
}

static void give_range(const struct op_param *param, double low, double high, bool whole,
                       void (*give)(void *context, const char *value), void *context)
{
    enum { SHORT = 8 };
    char text[40];
    bool each = whole && high - low <= SHORT && param->kind != PARAM_FLOAT && param->kind != PARAM_FLOATS;
    double step = each ? 1 : (high - low) / 2;
    for (int i = 0; i <= SHORT && step > 0 && low + i * step <= high; i++) {
        snprintf(text, sizeof text, "%.7g", low + i * step);
        give(context, text);
    }
}

void param_legal(const struct op_param *param, void (*give)(void *context, const char *value), void *context)
{
    char word[PARAM_WORD];
    double low, high;
    bool whole;
    for (const char *at = param->legal; at && *at;) {
        size_t length = strcspn(at, "|");
        if (length < sizeof word) {
            snprintf(word, sizeof word, "%.*s", (int)length, at);
            if (read_range(word, &low, &high, &whole))
                give_range(param, low, high, whole, give, context);
            else
                give(context, word);
        }
        at += length + (at[length] == '|');
    }
    if (param->initial && *param->initial)
        give(context, param->initial);
    if (param->kind == PARAM_FLOAT) /* what most often switches something off */
        give(context, "0");
}

bool param_same(const char *a, const char *b)
{
    long double x[PARAM_LIST], y[PARAM_LIST];
    if (strcmp(a, b) == 0)
        return true;
    size_t n = param_numbers(a, x), m = param_numbers(b, y);
    if (!n || !m || (n != m && n != 1 && m != 1))
        return false;
    for (size_t i = 0; i < n || i < m; i++)
        if ((float)x[n == 1 ? 0 : i] != (float)y[m == 1 ? 0 : i])
            return false;
    return true;
}

bool param_draw(struct rng *rng, const char *values, bool fractions, char word[PARAM_WORD])
{
    double low, high;
    bool whole;
    if (!values)
        return false;
    if (read_range(values, &low, &high, &whole)) {
        if (whole && !fractions)
            snprintf(word, PARAM_WORD, "%lld", (long long)rng_range(rng, (int64_t)low, (int64_t)high));
        else
            snprintf(word, PARAM_WORD, "%.3g", rng_uniform(rng, low, high));
        return true;
    }
    uint64_t count = 1;
    for (const char *at = values; *at; at++)
        count += *at == '|';
    const char *at = values;
    for (uint64_t skip = rng_below(rng, count); skip; skip--)
        at = strchr(at, '|') + 1;
    size_t length = strcspn(at, "|");
    if (length >= PARAM_WORD)
        return false;
    memcpy(word, at, length);
    word[length] = '\0';
    return true;
}

size_t param_ints(const char *text, int64_t values[PARAM_LIST])
{
    size_t count = 0;
    while (*text && count < PARAM_LIST) {
        char *end;
        values[count++] = strtoll(text, &end, 10);
        if (end == text)
            return 0;
        text = *end == ',' ? end + 1 : end;
    }
    return *text ? 0 : count;
}

size_t param_numbers(const char *text, long double values[PARAM_LIST])
{
    size_t count = 0;
    while (*text && count < PARAM_LIST) {
        char *end;
        values[count++] = strtold(text, &end);
        if (end == text || (*end && *end != ','))
            return 0;
        text = *end == ',' ? end + 1 : end;
    }
    return *text ? 0 : count;
}

/* What stands before element i of a list. */
static const char *comma(size_t i)
{
    return i ? "," : "";
}

void param_list_text(struct str *out, const long double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool whole = numbers[i] == truncl(numbers[i]) && fabsl(numbers[i]) < 0x1p62L;
        str_printf(out, "%s%.*Lg", comma(i), whole ? 19 : 9, numbers[i]);
    }
}

size_t param_list_length(const Onnx__NodeProto *node, const char *name, int rank)
{
    const Onnx__AttributeProto *old = node_attribute(node, name);
    size_t spatial = rank > 2 ? (size_t)rank - 2 : 1;
    return old ? old->n_ints : strcmp(name, "pads") == 0 ? 2 * spatial : spatial;
}

size_t param_spread(struct rng *rng, const Onnx__NodeProto *node, const char *name, int rank,
                    int64_t values[PARAM_LIST])
{
    const Onnx__AttributeProto *old = node_attribute(node, name);
    int64_t number = values[0];
    size_t count = param_list_length(node, name, rank);
    if (count == 0 || count > PARAM_LIST)
        return 1;
    bool all = rng_chance(rng, 0.3);
    size_t one = (size_t)rng_below(rng, count);
    for (size_t i = 0; i < count; i++)
        values[i] = all || i == one ? number : old ? old->ints[i] : strcmp(name, "pads") == 0 ? 0 : 1;
    return count;
}

static size_t list_for(struct rng *rng, const Onnx__NodeProto *node, const char *name, int rank,
                       bool as_it_is, int64_t values[PARAM_LIST], size_t count)
{
    if (!rng)
        return count;
    if (count == 1)
        return param_spread(rng, node, name, rank, values);
    size_t wanted = param_list_length(node, name, rank);
    if (as_it_is || count == 0 || wanted == 0 || wanted > PARAM_LIST)
        return count;
    for (size_t i = count; i < wanted; i++)
        values[i] = values[i % count];
    return wanted;
}

static size_t commas(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == ',';
    return count;
}

/* A part of a text as a text of its own; `text` may be NULL when the length is 0. */
static const char *copy_word(struct arena *arena, const char *text, size_t length)
{
    char *word = arena_alloc(arena, length + 1);
    if (length)
        memcpy(word, text, length);
    word[length] = '\0';
    return word;
}

/* A list of words keeps its length; where it is left out it has that of the default or, for operators that
 * work in two directions, twice that. One word is put at one place, now and then at all. */
static int set_words(struct arena *arena, Onnx__NodeProto *node, const struct op_param *param,
                     struct rng *rng, const char *word)
{
    const Onnx__AttributeProto *old = node_attribute(node, param->name);
    const char *words[PARAM_LIST], *at = param->initial;
    if (!at || !rng)
        return -1;
    size_t length = commas(at) + 1, count = old ? old->n_strings : length << rng_below(rng, 2);
    if (!count || count > PARAM_LIST || length > PARAM_LIST)
        return -1;
    bool all = rng_chance(rng, 0.3);
    size_t one = (size_t)rng_below(rng, count);
    for (size_t i = 0; i < length; i++, at += strcspn(at, ","), at += *at == ',')
        words[i] = copy_word(arena, at, strcspn(at, ","));
    for (size_t i = length; i < count; i++)
        words[i] = words[i % length];
    for (size_t i = 0; i < count; i++)
        if (all || i == one)
            words[i] = word;
        else if (old)
            words[i] = copy_word(arena, (const char *)old->strings[i].data, old->strings[i].len);
    node_set_strings(arena, node, param->name, words, count);
    return 0;
}

static int set_floats(struct arena *arena, Onnx__NodeProto *node, const struct op_param *param,
                      const char *text)
{
    long double numbers[PARAM_LIST];
    float floats[PARAM_LIST];
    size_t count = param_numbers(text, numbers);
    for (size_t i = 0; i < count; i++)
        floats[i] = (float)numbers[i];
    if (!count || (param->kind == PARAM_FLOAT && count > 1))
        return -1;
    if (param->kind == PARAM_FLOAT)
        node_set_float(arena, node, param->name, floats[0]);
    else
        node_set_floats(arena, node, param->name, floats, count);
    return 0;
}

int param_set(struct arena *arena, Onnx__NodeProto *node, const struct op_param *param, int rank,
              bool as_it_is, struct rng *rng, const char *text)
{
    int64_t ints[PARAM_LIST] = {0};
    size_t count = param_ints(text, ints);
    switch (param->kind) {
    case PARAM_STRING:
        node_set_string(arena, node, param->name, text);
        return 0;
    case PARAM_FLOAT:
    case PARAM_FLOATS:
        return set_floats(arena, node, param, text);
    case PARAM_INT:
        if (!count)
            return -1;
        node_set_int(arena, node, param->name, ints[0]);
        return 0;
    case PARAM_INTS:
        count = list_for(rng, node, param->name, rank, as_it_is, ints, count);
        if (!count)
            return -1;
        node_set_ints(arena, node, param->name, ints, count);
        return 0;
    case PARAM_STRINGS:
        return set_words(arena, node, param, rng, text);
    default:
        return -1;
    }
}

static void add_bytes(struct str *out, const ProtobufCBinaryData *text)
{
    enum { SHOWN = 100 };
    for (size_t i = 0; i < text->len && i < SHOWN; i++)
        str_printf(out, "%c", text->data[i] >= ' ' && text->data[i] <= '~' ? text->data[i] : '?');
}

void param_text(struct str *out, const Onnx__AttributeProto *attribute)
{
    switch (attribute->type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        str_printf(out, "%lld", (long long)attribute->i);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        str_printf(out, "%.7g", (double)attribute->f);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        add_bytes(out, &attribute->s);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        for (size_t i = 0; i < attribute->n_ints && i < PARAM_LIST; i++)
            str_printf(out, "%s%lld", comma(i), (long long)attribute->ints[i]);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        for (size_t i = 0; i < attribute->n_floats && i < PARAM_LIST; i++)
            str_printf(out, "%s%.7g", comma(i), (double)attribute->floats[i]);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
        for (size_t i = 0; i < attribute->n_strings && i < PARAM_LIST; i++) {
            str_add(out, comma(i));
            add_bytes(out, &attribute->strings[i]);
        }
        break;
    default:
        str_add(out, "...");
    }
}
