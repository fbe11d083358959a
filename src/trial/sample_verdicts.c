#include "trial/sample_verdicts.h"

#include "base/memory.h"
#include "base/str.h"
#include "locate/refusal.h"
#include "locate/rounding_tried.h"
#include "locate/type_limits.h"
#include "locate/unjudged.h"
#include "ops/op.h"
#include "trial/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SETTLED = 4,
    MAX_UNDECIDED = 20
}; /* suspects of one engine; answers that cannot be judged whole */

void sample_verdicts_init(struct sample_verdicts *verdicts, struct arena *arena, const struct panel *panel)
{
    *verdicts = (struct sample_verdicts){.arena = arena, .panel = panel, .engines = panel->count};
    verdicts->engine = arena_array(arena, panel->count, sizeof *verdicts->engine);
    verdicts->refusals = refusals_new(true);
    verdicts->tolerance = &metrics_conformance;
}

void sample_verdicts_release(struct sample_verdicts *verdicts)
{
    refusals_free(verdicts->refusals);
    verdicts->refusals = NULL;
}

static int loudness(enum verdict_kind kind)
{
    return verdict_row(kind)->loudness;
}

static const char *node_name(const Onnx__NodeProto *node)
{
    if (node->name && *node->name)
        return node->name;
    return node->n_output ? node->output[0] : "?";
}

static void keep_nodes(struct sample_verdicts *verdicts, struct engine_verdict *overall,
                       const struct model *model, const size_t *nodes, size_t count)
{
    overall->n_nodes = count;
    overall->operators = arena_array(verdicts->arena, count, sizeof *overall->operators);
    overall->nodes = arena_array(verdicts->arena, count, sizeof *overall->nodes);
    for (size_t i = 0; i < count; i++) {
        const Onnx__NodeProto *node = model->graph->node[nodes[i]];
        overall->operators[i] = arena_strdup(verdicts->arena, op_title(node));
        overall->nodes[i] = arena_strdup(verdicts->arena, node_name(node));
    }
}

/* The node that goes wrong behind the others comes first. */
static void keep_settled(struct sample_verdicts *verdicts, struct engine_verdict *overall,
                         const struct model *model, const struct settlement *settlement)
{
    size_t *nodes = arena_array(verdicts->arena, settlement->count, sizeof *nodes), used = 0;
    if (settlement->behind)
        nodes[used++] = settlement->at;
    for (size_t i = 0; i < settlement->count; i++)
        if (!settlement->behind || settlement->nodes[i] != settlement->at)
            nodes[used++] = settlement->nodes[i];
    keep_nodes(verdicts, overall, model, nodes, used);
}

/* Settling runs the engine again. When the first answer was wrong and the second is right, no node can be
 * blamed, but the first answer was still wrong: mostly because of memory that was never written. */
static bool vanished(const struct verdict *verdict, const struct settlement *settlement)
{
    return verdict_is_finding(verdict->kind) && !verdict_is_finding(settlement->kind);
}

/* What is said about numbers beyond their type, where the class does not say it itself. */
static void keep_limit(struct sample_verdicts *verdicts, struct engine_verdict *overall,
                       const struct test_case *test)
{
    struct str text;
    str_init(&text);
    if (overall->class.class == FINDING_BUG)
        classification_limit(&text, &overall->class, test_case_model(test, NULL));
    overall->limit = text.length ? arena_strdup(verdicts->arena, text.data) : NULL;
    str_release(&text);
}

static void keep(struct sample_verdicts *verdicts, struct engine_verdict *overall,
                 const struct sample_results *sample, const struct verdict *verdict,
                 const struct settlement *settlement)
{
    struct str again;
    str_init(&again);
    if (settlement && vanished(verdict, settlement)) {
        str_printf(&again, "%s; run again, it was right", verdict->text);
        settlement = NULL;
    }
    overall->verdict = *verdict;
    overall->verdict.at_stage &= !settlement;
    const struct result *answer = &sample->results[overall - verdicts->engine];
    classify(&overall->class, verdict, sample->test);
    classify_finding_limit(&overall->class, settlement && settlement->count ? &settlement->verdict : verdict,
                           sample->test);
    if (answer->outcome == OUTCOME_OK)
        classify_handling(&overall->class, sample->test, answer->outputs, answer->count);
    keep_limit(verdicts, overall, sample->test);
    overall->known = NULL;
    overall->accepted = false;
    overall->sample = sample->number;
    overall->n_nodes = 0;
    overall->fused = settlement && settlement->fused;
    overall->behind = settlement && settlement->behind;
    overall->detail = arena_strdup(verdicts->arena, settlement     ? settlement->text
                                                    : again.length ? again.data
                                                                   : verdict->text);
    str_release(&again);
    static const size_t only = 0;
    const struct model *model = test_case_model(sample->test, NULL);
    if (settlement)
        keep_settled(verdicts, overall, model, settlement);
    else if (model && model->graph->n_node == 1 &&
             (verdict_is(verdict->kind, CLASS_NO_ANSWER) || verdict->kind == VERDICT_WRONG))
        keep_nodes(verdicts, overall, model, &only, 1);
    size_t engine = (size_t)(overall - verdicts->engine);
    if (verdicts->look_up && verdict_is_finding(verdict->kind))
        verdicts->look_up(verdicts->known,
                          &(struct sample_finding){panel_engine(verdicts->panel, engine), sample,
                                                   &sample->results[engine], verdict, settlement},
                          overall);
}

/* Whether some element of every output was judged by the reference, and that proves something. */
static bool is_judged(const struct verdict *verdict)
{
    return !verdict_is(verdict->kind, CLASS_UNJUDGED) && !verdict->blank && !verdict->by_vote &&
           !verdict->no_evidence;
}

static struct settle_case case_of(const struct sample_verdicts *verdicts, size_t engine,
                                  const struct sample_results *sample)
{
    return (struct settle_case){
        .pool = verdicts->panel->pool,
        .engine = verdicts->panel->engines[engine],
        .test = sample->test,
    };
}

/* Settles on the sample alone, and where it is right alone on the whole stack it was answered in. */
static bool settle_sample(const struct sample_verdicts *verdicts, size_t engine,
                          const struct sample_results *sample, struct verdict *verdict,
                          struct settlement *settlement)
{
    struct verdict before = *verdict;
    struct settle_case which = case_of(verdicts, engine, sample);
    if (sample->results[engine].outcome != OUTCOME_OK)
        return settle_end(&which, verdict, &sample->results[engine], settlement);
    bool settled = settle_verdict(&which, verdict, settlement);
    if (!settled || !verdict_is(settlement->kind, CLASS_AGREES) || !sample->stack)
        return settled;
    struct settlement stacked = {0};
    which.test = sample->stack;
    if (!settle_verdict(&which, &before, &stacked))
        return true;
    settlement_release(settlement);
    *settlement = stacked;
    *verdict = before;
    return true;
}

/* Gradients whose bounds are too wide: each operator's gradient can be judged by itself. */
static bool settle_undecided(const struct settle_case *which, struct verdict *verdict,
                             struct settlement *settlement, bool *every_node)
{
    struct error err = {0};
    if (settle(settlement, which, &err)) {
        settlement_release(settlement);
        *settlement = (struct settlement){0};
        return false;
    }
    if (verdict_is_finding(settlement->kind)) {
        verdict->kind = settlement->kind;
    } else if (settlement->every_node) {
        verdict->kind = settlement->kind = VERDICT_AGREES;
        *every_node = true;
        verdict->blank = 0;
        snprintf(settlement->text, sizeof settlement->text, "judged operator by operator");
    }
    return true;
}

static size_t count_elements(const struct result *result)
{
    size_t count = 0;
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; k < result->outputs[i].count; k++)
            count += result->outputs[i].tensors[k].count;
    return count;
}

/*
 * Checks the operators behind an answer that agrees or cannot be judged as a whole. An operator that is wrong
 * is blamed, whatever the answer; an answer that cannot be judged agrees when all operators are right. True
 * when the settlement tells of it. *every_node: what of the answer could not be judged was judged by them.
 */
static bool check_operators(struct sample_verdicts *verdicts, size_t engine,
                            const struct sample_results *sample, struct verdict *verdict,
                            struct settlement *settlement, bool *every_node)
{
    struct engine_verdict *overall = &verdicts->engine[engine];
    struct settle_case which = case_of(verdicts, engine, sample);
    const struct model *model = test_case_model(sample->test, NULL);
    /* Fusions of two products were judged on another sample; here the answer as a whole could not be. */
    enum operator_fusions fusions = sample->check == CHECK_UNDECIDED && overall->evidence.complete
                                        ? FUSIONS_OF_ONE_PRODUCT
                                        : FUSIONS_OF_TWO_PRODUCTS;
    struct operator_check check;
    struct error err = {0};
    bool told = false;
    if (operator_check(&check, &which, &sample->results[engine], fusions, &err)) {
        operator_evidence_fail(&overall->evidence, verdicts->arena, err.message);
    } else if (check.found.count) {
        *settlement = check.found;
        check.found = (struct settlement){0};
        verdict->kind = settlement->kind;
        told = true;
    } else {
        operator_evidence_add(&overall->evidence, verdicts->arena, model, &check);
        if (verdict->lowered && !overall->evidence.lowering)
            overall->evidence.lowering = arena_strdup(verdicts->arena, check.lowering);
        told = check.n_checked == check.n_nodes && !is_judged(verdict);
        *every_node = check.n_checked == check.n_nodes && (told || !check.partial);
        if (check.within_types) /* then explain_limit would find none */
            verdicts->limits_sought = verdicts->samples;
        if (told) {
            *settlement = (struct settlement){.kind = VERDICT_AGREES};
            snprintf(settlement->text, sizeof settlement->text, "judged operator by operator");
            *verdict = (struct verdict){.kind = VERDICT_AGREES,
                                        .total = count_elements(&sample->results[engine]),
                                        .judged = verdict->by_vote ? 0 : verdict->judged,
                                        .error = verdict->error,
                                        .visible = verdict->visible};
        }
    }
    operator_check_release(&check);
    return told;
}

/* What is done about a verdict beyond judging the answer. */
enum measure { MEASURE_NONE, MEASURE_SETTLE, MEASURE_UNDECIDED, MEASURE_CHECK };

/* Whether the operators may tell more of an answer that is not wrong: it agrees, cannot be judged, or proves
 * nothing. The reference need not be able to compute the model as a whole. */
static bool is_checkable(const struct sample_results *sample, const struct verdict *verdict)
{
    return sample->reference && !verdict->invalid && !verdict->unanswered &&
           (verdict_is(verdict->kind, CLASS_AGREES | CLASS_UNDECIDED | CLASS_OPEN) || verdict->no_evidence);
}

/* judged: the answer needs no more than that it agrees. */
static enum measure measure_for(const struct engine_verdict *overall, const struct sample_results *sample,
                                const struct verdict *verdict, bool judged)
{
    bool suspect = verdict_is(verdict->kind, CLASS_SUSPECT);
    if (is_checkable(sample, verdict) && sample->test->gradient)
        return !judged && overall->resolved < MAX_UNDECIDED ? MEASURE_UNDECIDED : MEASURE_NONE;
    if (is_checkable(sample, verdict) && sample->check == CHECK_OPERATORS)
        return MEASURE_CHECK;
    if (is_checkable(sample, verdict))
        return !judged && sample->check == CHECK_UNDECIDED && overall->resolved < MAX_UNDECIDED
                   ? MEASURE_CHECK
                   : MEASURE_NONE;
    bool wanted =
        suspect ? overall->settled < MAX_SETTLED : loudness(overall->verdict.kind) < loudness(verdict->kind);
    return wanted ? MEASURE_SETTLE : MEASURE_NONE;
}

static bool take_measure(struct sample_verdicts *verdicts, size_t engine, const struct sample_results *sample,
                         enum measure measure, struct verdict *verdict, struct settlement *settlement,
                         bool *every_node)
{
    struct settle_case which = case_of(verdicts, engine, sample);
    if (sample->results[engine].outcome != OUTCOME_OK && measure != MEASURE_SETTLE)
        return false;
    switch (measure) {
    case MEASURE_NONE:
        return false;
    case MEASURE_SETTLE:
        if (!settle_sample(verdicts, engine, sample, verdict, settlement))
            return false;
        if (!verdict->lowered ||
            measure_for(&verdicts->engine[engine], sample, verdict, is_judged(verdict)) != MEASURE_CHECK)
            return true;
        settlement_release(settlement);
        *settlement = (struct settlement){0};
        return check_operators(verdicts, engine, sample, verdict, settlement, every_node);
    case MEASURE_UNDECIDED:
        return settle_undecided(&which, verdict, settlement, every_node);
    case MEASURE_CHECK:
        return check_operators(verdicts, engine, sample, verdict, settlement, every_node);
    }
    return false;
}

static void note_heard(struct sample_verdicts *verdicts, struct engine_verdict *overall,
                       const struct verdict *verdict)
{
    enum heard heard = verdict_heard(verdict);
    if (!overall->heard[heard]++)
        overall->why[heard] = arena_strdup(verdicts->arena, verdict->text);
}

/* An engine that agrees is right only if each of its operators was judged on some sample. */
static void operators_stand(const struct engine_verdict *overall, const char *engine,
                            struct standing *standing)
{
    const struct operator_evidence *evidence = &overall->evidence;
    const struct node_evidence *first = operator_evidence_unjudged(evidence);
    if (evidence->complete || !verdict_is(overall->verdict.kind, CLASS_AGREES) ||
        overall->heard[HEARD_UNJUDGED])
        return;
    if (first)
        standing_trouble(standing,
                         "%s answered, and %zu of %zu operators could not be judged, first %s %s: %s", engine,
                         evidence->n_nodes - evidence->most, evidence->n_nodes, first->operator, first->name,
                         first->why ? first->why : "why is not known");
    else if (evidence->samples)
        standing_trouble(standing, "%s answered, and no sample shows all of its operators", engine);
    else if (evidence->failed)
        standing_trouble(standing, "%s answered, and its operators could not be checked: %s", engine,
                         evidence->failure);
}

void engine_verdict_stands(const struct engine_verdict *overall, const char *engine,
                           struct standing *standing)
{
    size_t all = 0;
    for (int i = 0; i < HEARD_COUNT; i++)
        all += overall->heard[i];
    for (int i = HEARD_COUNT; i-- > 0;)
        if (overall->heard[i])
            standing_heard(standing, engine,
                           i == HEARD_FINDING && overall->accepted ? HEARD_JUDGED : (enum heard)i,
                           overall->heard[i], all, overall->why[i]);
    if (!all)
        standing_heard(standing, engine, HEARD_NOTHING, 1, 1, "it was not asked");
    operators_stand(overall, engine, standing);
    if (overall->refuted)
        standing_mistake(standing, "%.1000s", overall->refuted);
}

/* False when there are no expected outputs, or no answer to compare with them. */
static bool dispute_of(const struct sample_verdicts *verdicts, size_t engine,
                       const struct sample_results *sample, struct dispute *dispute)
{
    const struct result *answer = &sample->results[engine];
    if (!sample->expected.count || answer->outcome != OUTCOME_OK)
        return false;
    expectation_dispute(dispute, &sample->expected, sample->reference, answer, !sample->test->random,
                        verdicts->tolerance);
    return true;
}

static void hold_expected(struct sample_verdicts *verdicts, struct engine_verdict *overall,
                          const struct sample_results *sample, const struct dispute *dispute,
                          bool by_operator, struct verdict *verdict)
{
    struct expectation_known known = {.right = by_operator, .moved = INFINITY};
    if (expectation_needs_moved(dispute, verdict, by_operator) &&
        rounding_tried(sample->test, dispute->output, dispute->element, dispute->given, &known.moved, NULL))
        known.moved = INFINITY;
    expectation_decide(verdict, dispute, &known);
    bool refuted = verdict->expectation == EXPECTATION_REFUTED || verdict->expectation == EXPECTATION_BOTH;
    if (refuted && !overall->refuted)
        overall->refuted = arena_strdup(verdicts->arena, dispute->claim.text);
}

static void add_elements(struct engine_verdict *overall, const struct verdict *verdict)
{
    overall->elements += verdict->total;
    overall->judged += verdict->judged;
    overall->factor = verdict->factor > overall->factor ? verdict->factor : overall->factor;
    overall->error = verdict->error > overall->error ? verdict->error : overall->error;
    overall->visible = verdict->visible > overall->visible ? verdict->visible : overall->visible;
}

/* Gradients have bounds of their own, of which a run of the model forward tells nothing. */
static void explain_unjudged(struct sample_verdicts *verdicts, const struct sample_results *sample,
                             const struct verdict *verdict)
{
    if (verdicts->unjudged || !sample->reference || verdict->gradient || verdict->by_vote ||
        !(verdict->undecided + verdict->open))
        return;
    struct str why;
    struct unjudged_sample which = {sample->test, sample->inputs, sample->number};
    str_init(&why);
    if (unjudged_explain(&why, &which, NULL) == 0 && why.length)
        verdicts->unjudged = arena_strdup(verdicts->arena, why.data);
    str_release(&why);
}

/* Where each operator is right and the whole has no useful bound: whether a type ended. That is a matter of
 * the model and the sample, whatever the engine. */
static void explain_limit(struct sample_verdicts *verdicts, const struct sample_results *sample,
                          const struct verdict *verdict)
{
    struct type_limit limit;
    struct str text;
    if (verdicts->beyond || verdict->gradient || verdict->judged == verdict->total ||
        verdicts->limits_sought == verdicts->samples)
        return;
    verdicts->limits_sought = verdicts->samples;
    if (type_limit_find(&limit, sample->test, NULL) || !limit.kind)
        return;
    str_init(&text);
    type_limit_text(&text, &limit, test_case_model(sample->test, NULL));
    verdicts->beyond = arena_strdup(verdicts->arena, text.data);
    str_release(&text);
}

/* A refusal is decided once where it comes before any data. */
static void decide_refusal(struct sample_verdicts *verdicts, size_t engine,
                           const struct sample_results *sample, struct verdict *verdict)
{
    struct load_refusal *refused = &verdicts->engine[engine].refused;
    const struct result *result = &sample->results[engine];
    struct settle_case which = case_of(verdicts, engine, sample);
    bool at_load = result->stage == STAGE_LOAD && result->message &&
                   verdict_is(verdict->kind, CLASS_REFUSAL | CLASS_LIMITED);
    if (at_load && refused->message && text_equal(refused->message, result->message)) {
        *verdict = refused->decided;
        return;
    }
    refusal_decide(verdicts->refusals, &which, result, verdict);
    if (at_load && !refused->message)
        *refused = (struct load_refusal){arena_strdup(verdicts->arena, result->message), *verdict};
}

static void add_verdict(struct sample_verdicts *verdicts, size_t engine, const struct sample_results *sample,
                        struct verdict *verdict)
{
    struct engine_verdict *overall = &verdicts->engine[engine];
    struct settlement settlement = {0};
    decide_refusal(verdicts, engine, sample, verdict);
    struct dispute dispute;
    bool expects = dispute_of(verdicts, engine, sample, &dispute);
    bool suspect = verdict_is(verdict->kind, CLASS_SUSPECT);
    bool judged = is_judged(verdict) && !(expects && expectation_needs_operators(&dispute, verdict));
    enum measure measure = measure_for(overall, sample, verdict, judged);
    bool every_node = false;
    bool settled = take_measure(verdicts, engine, sample, measure, verdict, &settlement, &every_node);
    if (expects)
        hold_expected(verdicts, overall, sample, &dispute, every_node, verdict);
    overall->expectations[verdict->expectation]++;
    add_elements(overall, verdict);
    if (every_node && verdict_is(verdict->kind, CLASS_AGREES | CLASS_REFUTED)) {
        overall->by_operator += verdict->total - verdict->judged;
        explain_limit(verdicts, sample, verdict);
    } else {
        explain_unjudged(verdicts, sample, verdict);
    }
    overall->settled += settled && suspect;
    overall->resolved += !judged && measure >= MEASURE_UNDECIDED;
    overall->counts[verdict->kind]++;
    overall->evidence.wrong |= verdict_is_finding(verdict->kind);
    note_heard(verdicts, overall, verdict);
    /* The text is about the expected outputs, not about what settling found. */
    bool told = verdict->expectation != EXPECTATION_NONE && verdict->expectation != EXPECTATION_MET &&
                !verdict_is_finding(verdict->kind);
    if (loudness(verdict->kind) > loudness(overall->verdict.kind))
        keep(verdicts, overall, sample, verdict, settled && !told ? &settlement : NULL);
    settlement_release(&settlement);
}

void sample_verdicts_add(struct sample_verdicts *verdicts, const struct sample_results *sample,
                         struct verdict *each)
{
    struct judgement judgement;
    struct judge_entry *entries = memory_zeroed(verdicts->engines, sizeof *entries);
    for (size_t i = 0; i < verdicts->engines; i++)
        entries[i] = judge_entry_of(panel_engine(verdicts->panel, i), &sample->results[i], false);
    trial_judge(&judgement, sample->test, sample->reference, entries, verdicts->engines);
    verdicts->samples++;
    verdicts->by_reference += judgement.by_reference;
    if (!judgement.by_reference && !verdicts->reason)
        verdicts->reason = arena_strdup(verdicts->arena, judgement.reason);
    for (size_t i = 0; i < verdicts->engines; i++) {
        add_verdict(verdicts, i, sample, &judgement.verdicts[i]);
        if (each)
            each[i] = judgement.verdicts[i];
    }
    judgement_release(&judgement);
    free(entries);
}

int sample_verdicts_culprit(const struct sample_verdicts *verdicts)
{
    int culprit = -1;
    for (size_t i = 0; i < verdicts->engines; i++) {
        if (!verdict_is_finding(verdicts->engine[i].verdict.kind))
            continue;
        if (culprit >= 0)
            return -1;
        culprit = (int)i;
    }
    return culprit;
}

static const char *predicate(const struct verdict *verdict)
{
    const struct verdict_row *row = verdict_row(verdict->kind);
    if (row->class == CLASS_OPEN && verdict->invalid)
        return "cannot be judged, as the case is not valid";
    return row->class == CLASS_AGREES && verdict->by_vote ? row->word : row->sentence;
}

/* The number of samples with a verdict as serious as that of the sample which the summary shows. */
static size_t alike(const struct engine_verdict *overall)
{
    size_t count = 0;
    for (enum verdict_kind kind = 0; verdict_exists(kind); kind++)
        if (loudness(kind) == loudness(overall->verdict.kind))
            count += overall->counts[kind];
    return count;
}

/* Why an answer that is no bug needs a word: which digits are lost, what is left open. */
static void add_explanation(struct str *out, const struct classification *class)
{
    if (class->class != FINDING_DIFFERENCE && class->class != FINDING_PRECISION)
        return;
    str_add(out, "; ");
    classification_text(out, class);
}

void engine_verdict_sentence(const struct engine_verdict *overall, struct str *out)
{
    enum verdict_kind kind = overall->verdict.kind;
    size_t samples = verdict_sum(overall->counts, CLASS_ALL);
    str_add(out, predicate(&overall->verdict));
    const struct finding_class_row *class = finding_class_row(overall->class.class);
    if (overall->class.class == FINDING_BUG || class->apart)
        str_printf(out, " (%s)", class->word);
    if (verdict_is(kind, CLASS_NO_ANSWER) && overall->n_nodes == 1)
        str_printf(out,
                   verdict_is(kind, CLASS_REFUSAL | CLASS_LIMITED) ? ", %s (node %s)," : " on %s (node %s)",
                   overall->operators[0], overall->nodes[0]);
    if (overall->detail && *overall->detail)
        str_printf(out, "%s%s", overall->verdict.at_stage && !verdict_is(kind, CLASS_OPEN) ? " " : ": ",
                   overall->detail);
    const struct verdict *verdict = &overall->verdict;
    if (verdict_is(kind, CLASS_AGREES) && !*overall->detail && verdict->judged < verdict->total)
        str_printf(out, "; %zu of %zu elements could not be judged", verdict->total - verdict->judged,
                   verdict->total);
    if (samples > 1 && loudness(kind) > 2)
        str_printf(out, ", on %zu of %zu samples, first on sample %zu", alike(overall), samples,
                   overall->sample);
    else if (samples > 1 && alike(overall) < samples)
        str_printf(out, " on %zu of %zu samples", alike(overall), samples);
    if (verdict_is_finding(kind) && overall->refuted)
        str_printf(out, "; the expected outputs do not belong to this model and input either: %s",
                   overall->refuted);
    if (!verdict->invalid)
        add_explanation(out, &overall->class);
    if (overall->limit)
        str_printf(out, "; %s", overall->limit);
    if (overall->known)
        str_printf(out, " (known: %s)", overall->known);
}
