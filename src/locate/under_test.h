/*
 * The case and the engine under test, and runs of models on that engine: the case itself, variants and parts
 * of it. Everything in this folder that runs the engine under test does it through this.
 */
#ifndef LOCATE_UNDER_TEST_H
#define LOCATE_UNDER_TEST_H

#include "eval/lowered_products.h"
#include "locate/settlement.h"
#include "model/index.h"

struct under_test {
    const struct settle_case *which;
    const struct test_case *whole; /* the case */
    const struct model *model;     /* its model */
    struct arithmetic fusing;      /* how the engine computes several nodes together */
    struct arithmetic alone;       /* and one by itself */
    const char *lowering;          /* what it computes in fewer bits, in words; NULL: nothing */
    struct arena arena;            /* for everything that lives as long as the search */
    struct model_index index;      /* of the model */
    struct model *inferred;        /* set by under_test_infer: the model that the index has its types from */
    size_t runs;                   /* runs of the engine so far */
    struct error *err;             /* where failures are reported */
};

/* After a failure there is nothing to release. */
int under_test_init(struct under_test *test, const struct settle_case *which, struct error *err);
void under_test_release(struct under_test *test);

/* Runs a model on the engine and asks for its first `answers` outputs; 0: for all. */
int under_test_run(struct under_test *test, const struct model *model, const struct value *inputs,
                   size_t n_inputs, size_t answers, struct result *result);

/* Finds the types of values that the model does not declare, by shape inference, because some engines load no
 * model whose outputs have no type. Types that cannot be inferred stay undeclared. */
void under_test_infer(struct under_test *test);

#endif
