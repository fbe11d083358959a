/*
 * The case and the engine under test, and running models on that engine: the case itself, variants and parts
 * of it. Whatever else in this folder asks the engine stands on this.
 */
#ifndef LOCATE_UNDER_TEST_H
#define LOCATE_UNDER_TEST_H

#include "locate/settlement.h"
#include "model/index.h"

struct under_test {
    const struct settle_case *which;
    const struct test_case *whole; /* the case */
    const struct model *model;     /* its model */
    struct arena arena;            /* for all that lives as long as the search */
    struct model_index index;      /* of the model */
    struct model *inferred;        /* by under_test_infer: where the index has its types from */
    size_t runs;                   /* of the engine so far */
    struct error *err;             /* where failures are told */
};

/* After a failure there is nothing to release. */
int under_test_init(struct under_test *test, const struct settle_case *which, struct error *err);
void under_test_release(struct under_test *test);

/* Runs a model on the engine; answers: only the first so many outputs are asked for, 0: all. */
int under_test_run(struct under_test *test, const struct model *model, const struct value *inputs,
                   size_t n_inputs, size_t answers, struct result *result);

/* Types of values of which the model says nothing, from shape inference: some engines load no model whose
 * outputs have none. What cannot be inferred stays as it is. */
void under_test_infer(struct under_test *test);

#endif
