#include "judged_sample.h"
#include "planted.h"

#include "base/memory.h"
#include "engine/handover.h"

#include <stdlib.h>

void run_case(struct pool *pool, int engine, const struct test_case *test, bool bounds, struct result *result)
{
    struct error err = {0};
    struct handover handover;
    struct job job = {.engine = engine, .n_inputs = test->n_inputs, .inputs = test->inputs, .bounds = bounds};
    result_init(result);
    if (handover_open_case(&handover, pool, test, &err))
        planted_die("model", &err);
    handover_give(&handover, &job);
    if (pool_run_one(pool, &job, result, &err))
        planted_die("pool", &err);
    handover_close(&handover);
}

bool judge_sample(struct sample_verdicts *verdicts, const struct panel *panel, const struct test_case *test,
                  bool *hidden)
{
    bool answered = true;
    struct result *results = memory_zeroed(panel->count, sizeof *results), reference;
    struct judge_entry *entries = memory_zeroed(panel->count, sizeof *entries);
    struct judgement judgement;
    for (size_t i = 0; i < panel->count; i++) {
        run_case(panel->pool, panel->engines[i], test, false, &results[i]);
        answered = answered && results[i].outcome == OUTCOME_OK;
        entries[i] = judge_entry_of(panel_engine(panel, i), &results[i], false);
    }
    run_case(panel->pool, panel->reference, test, true, &reference);
    judge_case(&judgement, &reference, entries, panel->count);
    for (size_t i = 0; i < panel->count; i++)
        hidden[i] = !verdict_is_finding(judgement.verdicts[i].kind);
    judgement_release(&judgement);
    sample_verdicts_add(
        verdicts,
        &(struct sample_results){
            .test = test, .results = results, .reference = &reference, .check = CHECK_OPERATORS},
        NULL);
    for (size_t i = 0; i < panel->count; i++)
        result_release(&results[i]);
    result_release(&reference);
    free(entries);
    free(results);
    return answered;
}
