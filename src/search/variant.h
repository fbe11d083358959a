/*
 * Variants of a network: a seed model with other parameters (Guo et al., Audee, ASE 2020, call this the
 * network level).
 *
 * The parameters are those of the operator table: attributes, and inputs that act as parameters. A variant is
 * a pure function of its seed model, a seed number and its own number; some numbers give no variant.
 *
 * - A legal variant has legal values of the table in one to three places. Its shapes are solved again and its
 *   weights cut or tiled to fit (search/refit.h). It is valid: libonnx's checker and shape inference and the
 *   reference accept it. It is a case like any other.
 * - An illegal variant has exactly one value that ONNX forbids (search/illegal_value.h). It is made only if
 * that is certain: test_case.forbidden says by whom. An engine must refuse it cleanly.
 *
 * The note of the case says what was changed: "Conv conv2: strides 1,1 -> 2,2".
 */
#ifndef SEARCH_VARIANT_H
#define SEARCH_VARIANT_H

#include "case/test_case.h"
#include "ops/op.h"

enum variant_law { VARIANT_LEGAL = 1, VARIANT_ILLEGAL };

struct variant_seed;

/* Prepares a model with one sample of inputs; takes a share of the case. Fails with ERROR_NOT_FOUND when no
 * node of it has a parameter. */
int variant_seed_new(struct variant_seed **seed, struct test_case *origin, struct error *err);
void variant_seed_free(struct variant_seed *seed);

/* The parameters that its nodes have, each once for every operator. */
struct variant_param {
    const struct op *op;
    const struct op_param *param;
    size_t sites; /* nodes at which it can be changed */
    bool varies;  /* it has other legal values */
};
size_t variant_params(const struct variant_seed *seed, const struct variant_param **params);

/* What was changed first: a number of variant_params. */
struct variant_facts {
    size_t param;
    size_t changes;
};

/*
 * Makes a variant; `facts` may be NULL. Fails with ERROR_NOT_FOUND, and *facts filled in, when this number
 * gives none: the values drawn cannot be made to fit, or are not certain to be illegal. The recipe is
 * "variant legal seed=1 number=5 of RECIPE", with the recipe of the original or, if it has none, its name.
 */
int variant_make(const struct variant_seed *seed, enum variant_law law, uint64_t seed_number, uint64_t number,
                 struct test_case **made, struct variant_facts *facts, struct error *err);

#endif
