#include "trial/second_opinion.h"

#include "engine/handover.h"

#include <stdio.h>
#include <string.h>

/* Whether the verdict says that numbers, shape or type are wrong, and it is the reference that says so. */
static bool is_in_question(const struct verdict *verdict)
{
    return verdict_is(verdict->kind, CLASS_WRONG_ANSWER) && !verdict->by_vote && !verdict->of_pair &&
           !verdict->gradient && !verdict->invalid;
}

/* Runs the case on the engine that gives the second opinion; false when it has none. */
static bool run(const struct panel *panel, const struct test_case *test, struct result *result)
{
    struct job job = {.engine = panel->second_opinion - 1};
    return handover_run_case(panel->pool, test, false, &job, result, NULL) == 0 &&
           result->outcome == OUTCOME_OK;
}

/* What the reference says of that answer. */
static bool contradicts(const struct engine_info *engine, const struct result *result,
                        const struct result *reference)
{
    struct judge_entry entry = judge_entry_of(engine, result, false);
    struct judgement judgement;
    judge_case(&judgement, reference, &entry, 1);
    bool wrong = is_in_question(&judgement.verdicts[0]);
    judgement_release(&judgement);
    return wrong;
}

static void doubt(struct verdict *verdict, struct settlement *settlement, const struct engine_info *second)
{
    struct verdict before = *verdict;
    verdict_doubt(verdict);
    snprintf(verdict->text, sizeof verdict->text, "%s contradicts the reference, which says: %s",
             second->label, before.text);
    if (verdict_is(settlement->kind, CLASS_NOTHING))
        return;
    settlement_doubt(settlement);
    char said[sizeof settlement->text];
    memcpy(said, settlement->text, sizeof said);
    snprintf(settlement->text, sizeof settlement->text, "%s contradicts the reference, which says: %s",
             second->label, said);
}

void second_opinion_ask(const struct panel *panel, struct trial_done *done)
{
    bool wanted = false;
    if (!panel->second_opinion || !done->asked || done->test->forbidden)
        return;
    for (size_t i = 0; i < done->n_engines; i++)
        wanted = wanted || is_in_question(&done->judgement.verdicts[i]);
    if (!wanted)
        return;
    const struct engine_info *second = pool_engine(panel->pool, panel->second_opinion - 1);
    struct result result = {0};
    if (run(panel, done->test, &result) && contradicts(second, &result, &done->reference))
        for (size_t i = 0; i < done->n_engines; i++)
            if (is_in_question(&done->judgement.verdicts[i]))
                doubt(&done->judgement.verdicts[i], &done->settlements[i], second);
    result_release(&result);
}
