/*
 * What a case that is about gradients asks for: the derivatives, by inputs and initialisers, of a sum of
 * outputs' elements with random weights. The weights follow from a seed and from the name, the type and the
 * shape of each output, so that a case is asked the same again after it was stored, and a similar question
 * after it was made smaller.
 */
#ifndef CASE_CASE_GRADIENT_H
#define CASE_CASE_GRADIENT_H

#include "base/arena.h"
#include "case/test_case.h"

struct case_gradient {
    uint64_t seed;
    size_t n_upstream;
    struct value *upstream; /* the weights, named by the outputs of floating-point type */
    size_t n_wanted;
    const char **wanted; /* inputs and initialisers that are read as data (eval/gradient.h) */
    struct arena arena;  /* of the names */
};

/*
 * Makes the case ask for gradients. Only for the maker of the case. Fails with ERROR_UNSUPPORTED when there
 * is nothing to differentiate, or the shape of an output depends on data.
 */
int test_case_ask_gradient(struct test_case *test, uint64_t seed, struct error *err);

/* Makes it ask for the gradients of the sum of one output, whose name is given. */
int test_case_ask_loss(struct test_case *test, const char *output, struct error *err);

/* Does so when `like` asks for gradients, with the same seed. */
int test_case_ask_like(struct test_case *test, const struct test_case *like, struct error *err);

/* The same for any model; the caller frees *gradient. */
int case_gradient_new(struct case_gradient **gradient, const struct model *model, const struct value *inputs,
                      size_t n_inputs, uint64_t seed, struct error *err);
void case_gradient_free(struct case_gradient *gradient); /* accepts NULL */

#endif
