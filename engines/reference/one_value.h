/*
 * A planted fault that one value wakes: knob one-value=OP:TYPE:PATTERN:HOW. Where input 0 of a node of this
 * operator has this type, the elements whose bits are PATTERN, a number, get another result; so do, of an
 * operator of two operands, those for PATTERN_PATTERN, the bits of both. HOW is `far`, or how many steps of
 * the result's type it lies outside the bounds.
 */
#ifndef REFERENCE_ONE_VALUE_H
#define REFERENCE_ONE_VALUE_H

#include "ops/op.h"

struct one_value {
    char op[64];
    enum dtype type;
    bool pair;
    uint64_t patterns[2];
    int steps; /* 0: far away */
};

/* false: the text is no such fault. */
bool one_value_read(struct one_value *value, const char *text);

/* A hook for evaluate_options; context is a struct one_value. */
int one_value_hook(void *context, struct op_call *call);

#endif
