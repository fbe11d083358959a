/*
 * The reference's answer to a model, with bounds, and the judgement of an engine's answer against it.
 */
#ifndef LOCATE_EXPECTED_H
#define LOCATE_EXPECTED_H

#include "bounds/bounded.h"
#include "engine/outcome.h"
#include "eval/gradient.h"
#include "eval/lowered_products.h"
#include "judge/verdict.h"
#include "model/model.h"

struct expected {
    size_t count;
    struct bounded *values; /* one for each output */
};

/* Computes the expected answer. `how` the engine computes: the bounds allow for that, and for fusing unless a
 * shape (of Range, say) depends on the values; NULL: nothing is known of it. After a failure there is nothing
 * to release. */
int expected_compute(struct expected *expected, const struct model *model, const struct arithmetic *how,
                     const struct value *inputs, size_t n_inputs);
void expected_release(struct expected *expected);

void expected_judge(const struct expected *expected, const struct model *model, const struct result *result,
                    struct verdict *verdict);

/* What an engine that may fuse answered: judged by bounds without fewer bits and, where it is outside these,
 * with them; verdict->lowered tells that it is right by these. *expected takes the values that were judged by
 * last. The verdict is untested, and nothing is to be released, when the reference cannot compute the model.
 */
void expected_judge_fused(struct expected *expected, const struct model *model, const struct arithmetic *how,
                          const struct value *inputs, size_t n_inputs, const struct result *result,
                          struct verdict *verdict);

/* The same for gradients: the engine's are in the order in which they were asked for, as is `expected`. */
void expected_judge_gradients(const struct gradient *expected, size_t count, const struct result *result,
                              struct verdict *verdict);

/*
 * How far two answers are apart: the share of elements that differ by more than their bounds, up to 1. Where
 * the shapes differ, 1 plus the share of places that have no equal element in both; EXPECTED_OTHER_FORM for
 * other types, ranks or numbers of outputs. Elements without a finite bound say nothing.
 */
#define EXPECTED_OTHER_FORM 2.0
double expected_apart(const struct expected *a, const struct expected *b);

/* Whether the answer would be wrong if each node were computed by itself. An answer that passed with `fused`
 * then passed only because another formula was allowed for. */
bool expected_by_fusing(const struct model *model, const struct arithmetic *alone, const struct value *inputs,
                        size_t n_inputs, const struct result *result);

#endif
