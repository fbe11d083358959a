#include "compare/explain.h"

#include "base/memory.h"
#include "compare/fold.h"

#include <stdlib.h>
#include <string.h>

enum { EXPLAINED = 20 }; /* pairs; the text lists as many */

struct heard_sample {
    size_t sample;
    struct verdict *verdicts; /* one for each engine, in the comparison's arena */
};

void explain_release(struct explain *explain)
{
    free(explain->samples);
    *explain = (struct explain){0};
}

void explain_hear(struct explain *explain, struct compare *compare, size_t sample,
                  const struct verdict *verdicts)
{
    if (!fold_wanted(compare, sample))
        return;
    struct verdict *kept = arena_array(&compare->arena, compare->engines, sizeof *kept);
    memcpy(kept, verdicts, compare->engines * sizeof *kept);
    explain->samples =
        memory_grow(explain->samples, &explain->capacity, explain->count + 1, sizeof *explain->samples);
    explain->samples[explain->count++] = (struct heard_sample){.sample = sample, .verdicts = kept};
}

static const struct verdict *verdicts_on(const struct explain *explain, size_t sample)
{
    for (size_t i = 0; i < explain->count; i++)
        if (explain->samples[i].sample == sample)
            return explain->samples[i].verdicts;
    return NULL;
}

/* The sample on which a pair differs most, by the first of the reasons for which it differs. */
static size_t sample_of(const struct compare *compare, const struct compare_pair *pair, bool *by_rank)
{
    *by_rank = !pair->beyond && !pair->mismatched && pair->class_inconsistent;
    if (pair->mismatched)
        return pair->mismatch_sample;
    if (pair->beyond)
        return pair->worst_sample;
    if (*by_rank)
        return pair->class.worst;
    if (pair->mad_inconsistent)
        return pair->mad.worst;
    for (size_t k = 0; k < 2; k++) {
        const struct compare_engine *engine = &compare->engine[k ? pair->b : pair->a];
        if (engine->worst != OUTCOME_UNTESTED)
            return engine->worst_sample;
    }
    return pair->worst_sample;
}

static int explain_pair(const struct explain *explain, const struct compare *compare,
                        struct compare_pair *pair, const struct model *model, const struct inputs *inputs,
                        const struct panel *panel, struct error *err)
{
    bool by_rank;
    size_t sample = sample_of(compare, pair, &by_rank);
    const struct verdict *verdicts = verdicts_on(explain, sample);
    struct value *values;
    if (!verdicts)
        return 0;
    if (inputs_get(inputs, sample, &values, err))
        return -1;
    struct test_case *test = test_case_view(model, values, inputs->count);
    classify_difference(&pair->why, &(struct answer_difference){
                                        .a = &verdicts[pair->a],
                                        .b = &verdicts[pair->b],
                                        .name_a = panel_engine(panel, pair->a)->label,
                                        .name_b = panel_engine(panel, pair->b)->label,
                                        .test = test,
                                        .output = pair->worst_output,
                                        .element = pair->beyond ? pair->worst_element : UNCERTAIN_ANY,
                                        .by_rank = by_rank,
                                    });
    test_case_free(test);
    values_free(values, inputs->count);
    return 0;
}

int explain_pairs(const struct explain *explain, struct compare *compare, const struct model *model,
                  const struct inputs *inputs, const struct panel *panel, struct error *err)
{
    int status = 0;
    size_t explained = 0;
    for (size_t i = 0; i < compare->pairs && !status && explained < EXPLAINED; i++)
        if (compare->pair[i].differs) {
            status = explain_pair(explain, compare, &compare->pair[i], model, inputs, panel, err);
            explained++;
        }
    return status;
}
