/* The answers of all engines to one sample, added to a comparison. Inside this folder only. */
#ifndef COMPARE_FOLD_H
#define COMPARE_FOLD_H

#include "compare/compare.h"

/* What folding needs besides the comparison; the buffers belong to it. */
struct fold {
    struct compare *compare;
    const struct inputs *inputs;
    const struct compare_options *options;
    double **first; /* the first output of each engine, or NULL */
    size_t *counts;
    size_t *capacities;
    double *truth;
    size_t truth_capacity;
};
void fold_init(struct fold *fold, struct compare *compare, const struct inputs *inputs,
               const struct compare_options *options);
void fold_release(struct fold *fold);

/*
 * results: one an engine. True when the sample is one the judge should hear: farther apart on some pair than
 * all before it, or the first failure of an engine.
 */
bool fold_sample(struct fold *fold, size_t sample, const struct result *results);

/* Whether a pair or an engine still points at the sample as its worst. */
bool fold_wanted(const struct compare *compare, size_t sample);

/* Decides, when all samples are in. */
void fold_conclude(struct fold *fold);

#endif
