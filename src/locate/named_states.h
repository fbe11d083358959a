/*
 * The states of recurrent operators as values of their own. A model that takes only the last state of a GRU
 * leaves its first output out, and nothing shows the steps. Judged as a whole, 28 steps have an error bound
 * that is as large as the result; judged step by step, each on the state that the engine had, the bound is
 * that of one step.
 */
#ifndef LOCATE_NAMED_STATES_H
#define LOCATE_NAMED_STATES_H

#include "case/test_case.h"

/* A case that differs in nothing but that recurrent nodes give their first output a name. NULL: no node of
 * the top graph leaves it out, or the model cannot be copied. */
struct test_case *named_states(const struct test_case *test);

#endif
