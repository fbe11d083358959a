#include "one_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool one_value_read(struct one_value *value, const char *text)
{
    char type[32], how[32];
    unsigned long long first, second = 0;
    *value = (struct one_value){0};
    value->pair =
        sscanf(text, "%63[A-Za-z]:%31[a-z0-9]:%llu_%llu:%31s", value->op, type, &first, &second, how) == 5;
    if (!value->pair && sscanf(text, "%63[A-Za-z]:%31[a-z0-9]:%llu:%31s", value->op, type, &first, how) != 4)
        return false;
    value->type = dtype_from_name(type);
    value->patterns[0] = first;
    value->patterns[1] = second;
    value->steps = atoi(how);
    return op_find(value->op) && value->type && (value->steps > 0 || strcmp(how, "far") == 0);
}

/* Whether a number is the one with this pattern, of types of up to 8 bytes. */
static bool has_pattern(enum dtype type, long double number, uint64_t pattern)
{
    uint64_t bits = 0;
    size_t size = dtype_size(type);
    struct tensor one = {.type = type, .shape = {1, {1}}, .count = 1, .data = &bits, .size = size};
    tensor_set(&one, 0, number);
    return bits == pattern;
}

static long double step_at(enum dtype type, long double number)
{
    struct dtype_precision p = dtype_precision(type);
    if (!(p.unit > 0))
        return 1;
    long double step = number == 0 ? 0 : 2 * (long double)p.unit * ldexpl(1, ilogbl(number));
    return fmaxl(step, (long double)p.smallest);
}

/* Away from 0 where there is room. */
static void move(const struct one_value *value, struct bounded *out, size_t i)
{
    long double number = out->value[i], step = step_at(out->type, number);
    long double hard = bounded_hard(out, i), by = (isfinite(hard) ? ceill(hard / step) : 0) * step;
    by += value->steps ? value->steps * step : 0;
    if (!value->steps)
        by = fabsl(number) + (dtype_highest(out->type) - fabsl(number)) / 4;
    long double sign = number < 0 ? -1 : 1;
    bool room = fabsl(number) + by <= dtype_highest(out->type);
    out->value[i] = room ? number + sign * by : number - sign * by;
    if (out->type == DTYPE_BOOL)
        out->value[i] = number == 0;
}

int one_value_hook(void *context, struct op_call *call)
{
    const struct one_value *value = context;
    if (call->op->eval(call))
        return -1;
    const struct bounded *x = call->n_inputs ? call->inputs[0] : NULL, *y = x;
    struct bounded *out = &call->outputs[0];
    size_t second = call->op->each.second;
    if (value->pair)
        y = second < call->n_inputs ? call->inputs[second] : NULL;
    bool here = strcmp(call->op->name, value->op) == 0 && x && y && x->value && y->value && out->value &&
                x->type == value->type && x->count == out->count && y->count == x->count;
    for (size_t i = 0; here && i < out->count; i++)
        if (isfinite(out->value[i]) && has_pattern(x->type, x->value[i], value->patterns[0]) &&
            (!value->pair || has_pattern(y->type, y->value[i], value->patterns[1])))
            move(value, out, i);
    return 0;
}
