/*
 * A test case: a model, its inputs, what is expected of it, and where it comes from. It is made once (by a
 * generator, from a folder, by cutting another) and passed on as it is: to trials, settling, signatures,
 * reducers, bundles.
 *
 * A case is shared: whoever keeps it beyond a call has a share of its own, and the last one to give it up
 * frees it. It is filled in by who makes it and not changed after it has been passed on.
 *
 * The model is there as a tree (model/model.h) and as bytes (a serialised ModelProto). A case is made with
 * one of the two; the other is made when it is first asked for, and kept. The tree of a model on disk stays
 * mapped and has its path, so that a model of several GB is a case like any other; only who asks for its
 * bytes is refused above protobuf's 2 GB (engine/handover.h gives engines a path then).
 */
#ifndef CASE_TEST_CASE_H
#define CASE_TEST_CASE_H

#include "model/model.h"

struct op;
struct case_model; /* a model in both forms */

struct test_case {
    struct case_model *model; /* see test_case_model and test_case_bytes */
    size_t n_inputs;
    struct value *inputs; /* owned, but by a view; named like the graph's inputs */
    size_t n_outputs;
    struct value *outputs; /* owned; what is expected, in the graph's order; may be fewer, or none */
    bool random;           /* the model draws random numbers: only types and shapes of outputs are expected */
    char *name;            /* owned; of its folder, or as it was given on the command line; else "" */
    char *recipe;          /* owned; one short line that says how to get the case again; never NULL */
    /* Of a generated case. */
    char *note;             /* owned; "illegal kernel_shape=0", or ""; never NULL */
    const struct op *first; /* the operator of the first node; NULL: not known */
    size_t shares;          /* beyond the first */
    bool is_view;           /* of another's inputs */
};

/* A case without inputs and with an empty recipe. The model, or the heap bytes, are the case's from now on.
 */
struct test_case *test_case_new(struct model *model);
struct test_case *test_case_from_bytes(uint8_t *bytes, size_t size);

/* Another case of the same model, which both share, again without inputs. */
struct test_case *test_case_same_model(const struct test_case *test);

/* A case that looks at a model and inputs of others, who outlive it: one sample of many, or a case that is
 * being edited. */
struct test_case *test_case_view(const struct model *model, const struct value *inputs, size_t count);

/* One more share of the case; returns it. */
struct test_case *test_case_share(struct test_case *test);
void test_case_free(struct test_case *test); /* gives one share up; NULL is fine */

/* Another model instead, which the case takes over; for who makes the case. */
void test_case_set_model(struct test_case *test, struct model *model);

void test_case_set_name(struct test_case *test, const char *name);
void test_case_set_recipe(struct test_case *test, const char *recipe);

/* Appends copies to the inputs. */
int test_case_add_inputs(struct test_case *test, const struct value *inputs, size_t count, struct error *err);

/* The model, which lives as long as the case; NULL and an error when the bytes are no valid model. */
const struct model *test_case_model(const struct test_case *test, struct error *err);

/* The whole model in one piece, weights in other files included, which lives as long as the case. */
int test_case_bytes(const struct test_case *test, const uint8_t **bytes, size_t *size, struct error *err);

#endif
