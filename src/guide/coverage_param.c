#include "guide/coverage_param.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLASSES = 250, VALUE_TEXT = 200 };

/* Parsed by hand, because it happens for every node and sscanf is slow. */
static bool int_range(const struct op_param *param, long long *low, long long *high)
{
    char *end;
    if (param->kind != PARAM_INT || !param->legal)
        return false;
    *low = strtoll(param->legal, &end, 10);
    if (end == param->legal || strncmp(end, "..", 2) != 0)
        return false;
    const char *second = end + 2;
    *high = strtoll(second, &end, 10);
    return end != second && *high >= *low && *high - *low < MAX_CLASSES;
}

static bool number_range(const struct op_param *param, double *low, double *high)
{
    char *end;
    if (!param->legal || !strstr(param->legal, ".."))
        return false;
    *low = strtod(param->legal, &end);
    if (end == param->legal || strncmp(end, "..", 2) != 0)
        return false;
    const char *second = end + 2;
    *high = strtod(second, &end);
    return end != second;
}

static unsigned words_in(const char *text)
{
    unsigned count = 1;
    for (; *text; text++)
        count += *text == '|';
    return count;
}

unsigned param_classes(const struct op_param *param)
{
    long long low, high;
    double from, to;
    if (param->kind == PARAM_INPUT)
        return 2;
    if (!param->legal || !*param->legal || param->kind >= PARAM_TENSOR)
        return 1;
    if (int_range(param, &low, &high))
        return (unsigned)(high - low + 1);
    if (number_range(param, &from, &to))
        return 2;
    return words_in(param->legal) + (param->kind != PARAM_STRING);
}

bool param_optional(const struct op_param *param)
{
    return param->initial || !param->legal;
}

/* The value in the form of the table; a list of equal numbers as one number. */
static void value_text(const Onnx__AttributeProto *attribute, char *text)
{
    size_t length = 0, count = attribute->n_ints;
    text[0] = '\0';
    switch (attribute->type) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        snprintf(text, VALUE_TEXT, "%lld", (long long)attribute->i);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        snprintf(text, VALUE_TEXT, "%g", (double)attribute->f);
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        length = attribute->s.len < VALUE_TEXT ? attribute->s.len : VALUE_TEXT - 1;
        memcpy(text, attribute->s.data, length);
        text[length] = '\0';
        break;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        for (size_t i = 1; i < attribute->n_ints && count; i++)
            count = attribute->ints[i] == attribute->ints[0] ? count : 0;
        count = count ? 1 : attribute->n_ints;
        for (size_t i = 0; i < count && i < attribute->n_ints && length + 24 < VALUE_TEXT; i++)
            length += (size_t)snprintf(text + length, VALUE_TEXT - length, "%s%lld", i ? "," : "",
                                       (long long)attribute->ints[i]);
        break;
    default:
        break;
    }
}

/* Compares numbers by value and texts by their characters. */
static bool same_value(const char *word, size_t length, const char *text)
{
    char copy[VALUE_TEXT];
    double a, b;
    if (length >= sizeof copy)
        return false;
    memcpy(copy, word, length);
    copy[length] = '\0';
    return strcmp(copy, text) == 0 ||
           (text_double(copy, &a) && text_double(text, &b) && (float)a == (float)b);
}

static unsigned class_in_list(const struct op_param *param, const char *text)
{
    unsigned number = 1;
    for (const char *word = param->legal;; number++) {
        size_t length = strcspn(word, "|");
        if (same_value(word, length, text))
            return number;
        if (!word[length])
            break;
        word += length + 1;
    }
    return param->kind == PARAM_STRING ? 0 : number + 1;
}

unsigned param_class(const struct op_param *param, const Onnx__NodeProto *node)
{
    const Onnx__AttributeProto *attribute = node_attribute(node, param->name);
    long long low, high;
    double from, to, value;
    char text[VALUE_TEXT];
    if (!attribute)
        return 0;
    if (param_classes(param) == 1)
        return 1;
    if (int_range(param, &low, &high))
        return attribute->i < low || attribute->i > high ? 0 : (unsigned)(attribute->i - low + 1);
    value_text(attribute, text);
    if (number_range(param, &from, &to))
        return text_double(text, &value) && value > (from + to) / 2 ? 2 : 1;
    return class_in_list(param, text);
}
