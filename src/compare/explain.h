/* Why two engines differ: the verdicts on the samples on which they differ most, and what follows from them.
 * Only compare.c uses it. */
#ifndef COMPARE_EXPLAIN_H
#define COMPARE_EXPLAIN_H

#include "compare/compare.h"

struct heard_sample;

/* The verdicts that are kept. All zero: none yet. */
struct explain {
    size_t count, capacity;
    struct heard_sample *samples;
};
void explain_release(struct explain *explain);

/* Keeps the verdicts on a sample, one for each engine, if some pair differs most on it. */
void explain_hear(struct explain *explain, struct compare *compare, size_t sample,
                  const struct verdict *verdicts);

/* Classifies the differences of the pairs that differ (compare_pair.why), of many pairs only those that come
 * first: each takes some evaluations of the model. A pair whose sample was not judged stays unclassified. */
int explain_pairs(const struct explain *explain, struct compare *compare, const struct model *model,
                  const struct inputs *inputs, const struct panel *panel, struct error *err);

#endif
