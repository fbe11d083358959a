/*
 * What the reference expects a model to answer, with bounds, and an engine's answer held against it.
 */
#ifndef LOCATE_EXPECTED_H
#define LOCATE_EXPECTED_H

#include "bounds/bounded.h"
#include "engine/outcome.h"
#include "judge/verdict.h"
#include "model/model.h"

struct expected {
    size_t count;
    struct bounded *values; /* one an output */
};

/* fused: what computing several nodes as one may do is allowed for (evaluate_options.loose), unless a shape
 * (of Range, say) hangs on it. After a failure there is nothing to release. */
int expected_compute(struct expected *expected, const struct model *model, bool fused,
                     const struct value *inputs, size_t n_inputs);
void expected_release(struct expected *expected);

void expected_judge(const struct expected *expected, const struct model *model, const struct result *result,
                    struct verdict *verdict);

/* Whether an answer would be wrong if each node were computed by itself: one that is right then is so only
 * because another formula was allowed for. */
bool expected_by_fusing(const struct model *model, const struct value *inputs, size_t n_inputs,
                        const struct result *result);

#endif
