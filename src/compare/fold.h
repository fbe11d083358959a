/* Folding: adds the answers of all engines to one sample to a comparison, sample after sample. Only
 * compare.c uses it. */
#ifndef COMPARE_FOLD_H
#define COMPARE_FOLD_H

#include "compare/compare.h"

/* What folding needs besides the comparison; the buffers belong to it. */
struct fold {
    struct compare *compare;
    const struct inputs *inputs;
    const struct compare_options *options;
    double **first; /* the first output of each engine as doubles, counts[engine] of them; NULL: none */
    size_t *counts;
    size_t *capacities;
    double *truth;
    size_t truth_capacity;
};
void fold_init(struct fold *fold, struct compare *compare, const struct inputs *inputs,
               const struct compare_options *options);
void fold_release(struct fold *fold);

/*
 * Adds a sample; results: one for each engine; expected: the outputs that are expected, which may be none.
 * Returns true when the sample should perhaps be judged: some pair differs more on it than on all before, it
 * is the first failure of an engine, or an answer is not as expected.
 */
bool fold_sample(struct fold *fold, size_t sample, const struct result *results,
                 const struct expected *expected);

/* Whether an engine's worst failure is on the sample, or an answer to it is not as expected, and it is one of
 * those that are judged. */
bool fold_is_failure(const struct compare *compare, size_t sample);

/* Whether the sample is still the worst of some pair or engine, or not as expected. */
bool fold_wanted(const struct compare *compare, size_t sample);

/* Decides which pairs differ; to be called after the last sample. */
void fold_conclude(struct fold *fold);

/* After judging: an engine whose refusal turns out to be something that it lacks differs from nobody. */
void fold_excuse_lacks(struct compare *compare);

#endif
