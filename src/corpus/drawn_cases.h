/*
 * Cases of one operator, drawn until they cover it: each form of each operator (corpus/tally.h) with each of
 * its element types, each parameter with each class of its values, each rank and each choice of inputs; and
 * its edges, which are special numbers (NaN, infinities, subnormals, huge ones) in each type, empty tensors,
 * dimensions of 1, odd ones, and inputs that are all constants. A case is kept where it shows something that
 * none before it shows.
 */
#ifndef CORPUS_DRAWN_CASES_H
#define CORPUS_DRAWN_CASES_H

#include "corpus/tally.h"

/* What a drawn case shows. */
struct drawn_cover {
    const struct op *op;
    int form;
    const char *things; /* that none before it shows, a line each */
    const char *part;   /* the parameter that it shows first, or "" */
};

struct drawn_options {
    uint64_t seed;
    const char *ops; /* as in generate_options */
    /* Called with each case that shows something new. Sets *kept where it is of use; else another one for the
     * same is looked for. -1: an error that ends all. */
    int (*take)(void *context, const struct test_case *test, const struct drawn_cover *cover, bool *kept,
                struct error *err);
    void *context;
};

/* Draws all. Fails as `take` does, and for names of no operator. */
int draw_cases(const struct drawn_options *options, struct error *err);

#endif
