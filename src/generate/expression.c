#include "generate/expression.h"

#include <ctype.h>

enum { EXPRESSION_DEPTH = 32 };

struct reader {
    const char *text, *at;
    expression_lookup *lookup;
    const void *context;
    int depth;
    struct error *err;
};

static int bad(const struct reader *r, const char *why)
{
    return error_set(r->err, ERROR_FORMAT, "expression '%.100s': %s", r->text, why);
}

static char next(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
    return *r->at;
}

static int read_sum(struct reader *r, int64_t *value);

static int read_number(struct reader *r, int64_t *value)
{
    *value = 0;
    for (; isdigit((unsigned char)*r->at); r->at++)
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *r->at - '0', value))
            return bad(r, "the number is too large");
    return 0;
}

static int read_name(struct reader *r, int64_t *value)
{
    const char *start = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_')
        r->at++;
    if (!r->lookup(r->context, start, (size_t)(r->at - start), value))
        return error_set(r->err, ERROR_FORMAT, "expression '%.100s': no size is named '%.*s'", r->text,
                         (int)(r->at - start), start);
    return 0;
}

static int read_factor(struct reader *r, int64_t *value)
{
    char c = next(r);
    if (isdigit((unsigned char)c))
        return read_number(r, value);
    if (isalpha((unsigned char)c) || c == '_')
        return read_name(r, value);
    if (c != '(')
        return bad(r, "a number, a name or a parenthesis is missing");
    if (++r->depth > EXPRESSION_DEPTH)
        return bad(r, "too many parentheses");
    r->at++;
    if (read_sum(r, value))
        return -1;
    if (next(r) != ')')
        return bad(r, "a closing parenthesis is missing");
    r->at++;
    r->depth--;
    return 0;
}

static int divide(struct reader *r, char sign, int64_t by, int64_t *value)
{
    if (by == 0)
        return bad(r, "division by 0");
    if (by == -1)
        return bad(r, "division by a negative number");
    *value = sign == '/' ? *value / by : *value % by;
    return 0;
}

static int read_product(struct reader *r, int64_t *value)
{
    if (read_factor(r, value))
        return -1;
    for (char sign = next(r); sign == '*' || sign == '/' || sign == '%'; sign = next(r)) {
        int64_t other;
        r->at++;
        if (read_factor(r, &other))
            return -1;
        if (sign == '*' && __builtin_mul_overflow(*value, other, value))
            return bad(r, "the result is too large");
        if (sign != '*' && divide(r, sign, other, value))
            return -1;
    }
    return 0;
}

static int read_sum(struct reader *r, int64_t *value)
{
    bool minus = next(r) == '-';
    r->at += minus;
    if (read_product(r, value))
        return -1;
    if (minus && __builtin_sub_overflow(0, *value, value))
        return bad(r, "the result is too large");
    for (char sign = next(r); sign == '+' || sign == '-'; sign = next(r)) {
        int64_t other;
        r->at++;
        if (read_product(r, &other))
            return -1;
        if (sign == '+' ? __builtin_add_overflow(*value, other, value)
                        : __builtin_sub_overflow(*value, other, value))
            return bad(r, "the result is too large");
    }
    return 0;
}

int expression_eval(const char *text, expression_lookup *lookup, const void *context, int64_t *value,
                    struct error *err)
{
    struct reader r = {.text = text, .at = text, .lookup = lookup, .context = context, .err = err};
    if (read_sum(&r, value))
        return -1;
    return next(&r) ? bad(&r, "unexpected text after its end") : 0;
}
