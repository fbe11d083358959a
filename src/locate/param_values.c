#include "locate/param_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t param_list_read(const char *text, double *numbers)
{
    size_t count = 0;
    while (*text) {
        char *end;
        if (count == PARAM_NUMBERS)
            return 0;
        numbers[count++] = strtod(text, &end);
        if (end == text || (*end && *end != ','))
            return 0;
        text = *end ? end + 1 : end;
    }
    return count;
}

void param_list_text(struct str *out, const double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        str_printf(out, "%s%.9g", i ? "," : "", numbers[i]);
}

void param_attribute_text(struct str *out, const Onnx__AttributeProto *attribute)
{
    switch (attribute->type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        str_printf(out, "%lld", (long long)attribute->i);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        str_printf(out, "%.7g", (double)attribute->f);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        str_append(out, attribute->s.data, attribute->s.len < 80 ? attribute->s.len : 80);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        for (size_t i = 0; i < attribute->n_ints && i < PARAM_NUMBERS; i++)
            str_printf(out, "%s%lld", i ? "," : "", (long long)attribute->ints[i]);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        for (size_t i = 0; i < attribute->n_floats && i < PARAM_NUMBERS; i++)
            str_printf(out, "%s%.7g", i ? "," : "", (double)attribute->floats[i]);
        break;
    default:
        break;
    }
}

bool param_same(const char *a, const char *b)
{
    double x[PARAM_NUMBERS], y[PARAM_NUMBERS];
    if (text_equal(a, b))
        return true;
    size_t n = param_list_read(a, x), m = param_list_read(b, y);
    if (!n || !m || (n != m && n != 1 && m != 1))
        return false;
    for (size_t i = 0; i < n || i < m; i++)
        if ((float)x[n == 1 ? 0 : i] != (float)y[m == 1 ? 0 : i])
            return false;
    return true;
}

/* "low..high" */
static bool give_range(const struct op_param *param, const char *word,
                       void (*give)(void *context, const char *value), void *context)
{
    enum { SHORT = 8 };
    char text[40];
    const char *dots = strstr(word, "..");
    if (!dots || dots == word)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)(dots - word), word); /* strtod would take the first dot */
    double low = strtod(text, NULL), high = strtod(dots + 2, NULL);
    bool whole = param->kind == PARAM_INT && high - low <= SHORT;
    double step = whole ? 1 : (high - low) / 2;
    for (int i = 0; i <= SHORT && step > 0 && low + i * step <= high; i++) {
        snprintf(text, sizeof text, "%.7g", low + i * step);
        give(context, text);
    }
    return true;
}

void param_legal(const struct op_param *param, void (*give)(void *context, const char *value), void *context)
{
    char word[80];
    for (const char *at = param->legal; at && *at;) {
        size_t length = strcspn(at, "|");
        if (length < sizeof word) {
            snprintf(word, sizeof word, "%.*s", (int)length, at);
            if (!give_range(param, word, give, context))
                give(context, word);
        }
        at += length + (at[length] == '|');
    }
    if (param->initial && *param->initial)
        give(context, param->initial);
    if (param->kind == PARAM_FLOAT) /* what most often switches something off */
        give(context, "0");
}

bool param_put(struct arena *arena, Onnx__NodeProto *node, const struct op_param *param, const char *text)
{
    double numbers[PARAM_NUMBERS];
    int64_t ints[PARAM_NUMBERS];
    float floats[PARAM_NUMBERS];
    if (param->kind == PARAM_STRING) {
        node_set_string(arena, node, param->name, text);
        return true;
    }
    size_t count = param_list_read(text, numbers);
    for (size_t i = 0; i < count; i++) {
        if (!(fabs(numbers[i]) < 0x1p62))
            return false;
        ints[i] = (int64_t)numbers[i];
        floats[i] = (float)numbers[i];
    }
    if (param->kind == PARAM_INT && count == 1)
        node_set_int(arena, node, param->name, ints[0]);
    else if (param->kind == PARAM_FLOAT && count == 1)
        node_set_float(arena, node, param->name, floats[0]);
    else if (param->kind == PARAM_INTS && count)
        node_set_ints(arena, node, param->name, ints, count);
    else if (param->kind == PARAM_FLOATS && count)
        node_set_floats(arena, node, param->name, floats, count);
    else
        return false;
    return true;
}
