/* The right answer to a case, by the reference. */
#ifndef CASE_CASE_ANSWERS_H
#define CASE_CASE_ANSWERS_H

#include "case/test_case.h"

/*
 * Makes what the reference answers (outputs, or the gradients that the case asks for) the expected outputs of
 * the case. *open, which may be NULL, tells whether ONNX leaves some element open. Only for the maker of the
 * case.
 */
int test_case_add_answers(struct test_case *test, bool *open, struct error *err);

#endif
