/*
 * Whether an engine fails on a class of inputs whatever the operator. A finding that needs inputs of such a
 * class is then no bug of its operator (findings/cause_key.h).
 *
 * Small models of one operator each are run twice, with an input of the class and with a like one that is not
 * of it. The operators have nothing in common but that they work along the last axis. The class is at fault
 * when three of them answer the second right and the first not.
 */
#ifndef CAMPAIGN_ELSEWHERE_H
#define CAMPAIGN_ELSEWHERE_H

#include "case/test_case.h"

enum elsewhere_class {
    ELSEWHERE_CONSTANTS, /* an operator on constants alone; else on a variable */
    ELSEWHERE_LISTS,     /* tensors of one dimension; else the same as a matrix of one row */
    ELSEWHERE_CLASSES
};

enum { ELSEWHERE_OPERATORS = 6, ELSEWHERE_ENOUGH = 3 };

/* The model of an operator (below ELSEWHERE_OPERATORS) with an input of the class or not. The caller frees
 * it. */
struct test_case *elsewhere_case(enum elsewhere_class class, size_t operator, bool of_class);

/* A model that gives one constant as it is. The caller frees it. */
struct test_case *elsewhere_constant(void);

#endif
