/*
 * Integer expressions over named sizes, as blocks use them: "2*C", "(H+1)/2", "C%G". Operators are + - * / %
 * and parentheses; division rounds towards 0.
 */
#ifndef GENERATE_EXPRESSION_H
#define GENERATE_EXPRESSION_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Gives the value of a name; false when there is none. */
typedef bool expression_lookup(const void *context, const char *name, size_t length, int64_t *value);

/* Fails with ERROR_FORMAT on a syntax error, an unknown name, overflow or a division by 0. */
int expression_eval(const char *text, expression_lookup *lookup, const void *context, int64_t *value,
                    struct error *err);

#endif
