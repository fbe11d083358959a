/* The facts of a finding, from what the engine answered and the judge says of it, and its known issue. */
#include "findings/known_issues.h"

/* A finding about a pair of equivalent forms gets its name from the store (findings/known_issues.h). */
static void set_name(struct finding_facts *facts, const struct facts_source *source)
{
    struct signature signature;
    const struct model *model = test_case_model(source->test, NULL);
    if (!model || source->verdict->of_pair)
        return;
    signature_of(&signature, source->engine, source->profile, source->verdict, source->settlement, model,
                 source->result);
    facts->name = arena_strdup(&facts->arena, signature.name);
}

void facts_of(struct finding_facts *facts, const struct facts_source *source)
{
    const struct settlement *settlement = source->settlement;
    bool settled = settlement && settlement->count && verdict_is_finding(settlement->kind);
    enum verdict_kind kind = settled ? settlement->kind : source->verdict->kind;
    const struct verdict *verdict = settled ? &settlement->verdict : source->verdict;
    const struct result *result = source->result;
    facts_of_nodes(facts, source->test, settlement ? settlement->nodes : NULL,
                   settlement ? settlement->count : 0, kind);
    facts->engine = arena_strdup(&facts->arena, source->engine);
    facts->like =
        source->profile && source->profile->like ? arena_strdup(&facts->arena, source->profile->like) : "";
    facts->version = arena_strdup(&facts->arena, source->version ? source->version : "");
    set_name(facts, source);
    facts->symptom = symptom_of(source->verdict, settlement, result);
    facts->factor = verdict->factor;
    /* A wrong gradient may be the right gradient of a wrong value: then the bug is in the outputs. */
    facts->gradient = facts->gradient && (!verdict_is(kind, CLASS_WRONG_ANSWER) || verdict->gradient);
    facts->compared = verdict_is(kind, CLASS_OTHER_VALUES);
    if (facts->compared) {
        facts->expected = (double)verdict->expected;
        facts->got = (double)verdict->got;
    }
    if (!result || result->outcome == OUTCOME_OK)
        return;
    facts->stage = stage_name(result->stage);
    facts->signal = result->signal;
    facts->message = result->message ? arena_strdup(&facts->arena, result->message) : "";
}

void known_look_up(const void *context, const struct sample_finding *finding, struct engine_verdict *overall)
{
    struct finding_facts facts;
    facts_of(&facts, &(struct facts_source){.engine = finding->engine->label,
                                            .version = finding->engine->version,
                                            .profile = finding->engine->profile,
                                            .verdict = finding->verdict,
                                            .settlement = finding->settlement,
                                            .result = finding->result,
                                            .test = finding->sample->test});
    const struct known_issue *issue = known_find(context, &facts);
    overall->known = issue ? known_document(issue) : NULL;
    overall->accepted = issue && issue->accepted;
    facts_release(&facts);
}
