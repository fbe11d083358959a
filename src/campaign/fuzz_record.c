#include "campaign/fuzz_record.h"

#include "base/hash.h"
#include "campaign/follow_up.h"
#include "diagnose/known_findings.h"
#include "findings/inlined_nodes.h"
#include "judge/metrics.h"
#include "locate/classify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *paper_status_name(enum paper_status status)
{
    static const char *const names[PAPER_COUNT] = {"none", "MCF", "IF", "DCF", "DCP"};
    return names[status];
}

/* Whether enough of all elements are within 0.1 %. Values of another kind, type or shape have none within. */
static bool data_passes(const struct result *result, const struct result *reference)
{
    double within = 0, total = 0;
    for (size_t i = 0; i < reference->count; i++) {
        const struct value *a = &reference->outputs[i], *b = i < result->count ? &result->outputs[i] : NULL;
        if (a->kind == VALUE_NONE)
            continue;
        if (!b || a->kind != b->kind || a->count != b->count)
            return false;
        for (size_t k = 0; k < a->count; k++) {
            const struct tensor *x = &a->tensors[k], *y = &b->tensors[k];
            struct metrics_difference difference;
            if (x->type != y->type || !shape_equal(&x->shape, &y->shape))
                return false;
            metrics_compare(x, y, &metrics_conformance, &difference);
            within += difference.ratio * (double)x->count;
            total += (double)x->count;
        }
    }
    return within >= METRICS_RATIO_PASS * total;
}

enum paper_status paper_status_of(const struct result *result, const struct result *reference)
{
    if (result->outcome == OUTCOME_OK)
        return reference->outcome != OUTCOME_OK ? PAPER_NONE
               : data_passes(result, reference) ? PAPER_DCP
                                                : PAPER_DCF;
    if (verdict_is(verdict_of_outcome(result->outcome), CLASS_NOTHING | CLASS_LACK | CLASS_TROUBLE))
        return PAPER_NONE;
    return result->stage == STAGE_RUN || result->stage == STAGE_UNLOAD ? PAPER_IF : PAPER_MCF;
}

static double seconds_of(const struct result *result)
{
    return (double)(result->load_ns + result->run_ns) * 1e-9;
}

/* Whether some engine's answers to the two forms differ, and only the published tolerance says so. */
static bool has_suspect_pair(const struct trial_done *done)
{
    for (size_t i = 0; done->pairs && i < done->n_engines; i++)
        if (verdict_is(done->pairs[i].kind, CLASS_SUSPECT))
            return true;
    return false;
}

/* In a campaign with a reference, agreement among the engines is no judgement of a case on which it was not
 * asked. */
static enum verdict_kind counted_kind(const struct fuzz_status *status, const struct trial_done *done,
                                      size_t engine)
{
    enum verdict_kind kind = done->judgement.verdicts[engine].kind;
    bool unasked = status->judged_engines < status->n_engines && !done->asked;
    return unasked && verdict_is(kind, CLASS_AGREES) ? VERDICT_UNDECIDED : kind;
}

void fuzz_count(struct fuzz_status *status, const struct trial_done *done)
{
    status->cases++;
    if (done->bad_rewriting && !status->bad_rewritings++)
        snprintf(status->bad_rewriting, sizeof status->bad_rewriting, "%s", done->test->recipe);
    if (has_suspect_pair(done) && !status->suspect_pairs++)
        snprintf(status->suspect_pair, sizeof status->suspect_pair, "%s", done->test->recipe);
    for (size_t i = 0; i < done->n_engines; i++) {
        struct fuzz_engine *engine = &status->engines[i];
        engine->verdicts[counted_kind(status, done, i)]++;
        engine->paper[paper_status_of(&done->results[i], &done->reference)]++;
        engine->busy += seconds_of(&done->results[i]);
    }
    if (done->n_engines < status->n_engines)
        status->engines[done->n_engines].busy += seconds_of(&done->reference);
}

static void count_heard(const struct fuzz_engine *engine, uint64_t heard[HEARD_COUNT])
{
    memset(heard, 0, HEARD_COUNT * sizeof *heard);
    for (enum verdict_kind kind = 0; verdict_exists(kind); kind++)
        heard[verdict_row(kind)->heard] += engine->verdicts[kind];
}

uint64_t fuzz_judged(const struct fuzz_status *status)
{
    uint64_t fewest = 0, heard[HEARD_COUNT];
    for (size_t i = 0; i < status->judged_engines; i++) {
        count_heard(&status->engines[i], heard);
        uint64_t judged =
            heard[HEARD_JUDGED] + heard[HEARD_FINDING] + heard[HEARD_LENIENT] + heard[HEARD_UNSAID];
        fewest = !i || judged < fewest ? judged : fewest;
    }
    return fewest;
}

static void engine_stands(const struct fuzz_engine *engine, uint64_t cases, struct standing *standing)
{
    uint64_t heard[HEARD_COUNT];
    count_heard(engine, heard);
    if (heard[HEARD_JUDGED] || heard[HEARD_FINDING] || heard[HEARD_LENIENT] || heard[HEARD_UNSAID])
        return;
    if (heard[HEARD_UNJUDGED])
        standing_trouble(standing, "none of the %" PRIu64 " answers of %s could be judged",
                         heard[HEARD_UNJUDGED], engine->label);
    else
        standing_trouble(standing, "%s answered none of %" PRIu64 " cases%s", engine->label, cases,
                         heard[HEARD_LACK] ? ": it says that it does not support them" : "");
}

void fuzz_stands(const struct fuzz_status *status, struct standing *standing)
{
    size_t unknown = status->findings - status->known + (standing->strict ? status->apart : 0);
    for (size_t i = 0; i < unknown; i++)
        standing_finding(standing);
    if (*status->stopped)
        standing_trouble(standing, "%s", status->stopped);
    if (status->bad_rewritings)
        standing_trouble(standing, "%zu rewritten cases are not equivalent, which is a fault of Assay: %s",
                         status->bad_rewritings, status->bad_rewriting);
    if (!status->cases)
        standing_trouble(standing, "no case was run");
    for (size_t i = 0; i < status->judged_engines && status->cases; i++)
        engine_stands(&status->engines[i], status->cases, standing);
}

static void operators_text(struct str *out, const struct model *model, const struct settlement *settlement,
                           enum verdict_kind kind)
{
    enum { MOST = 12 };
    struct inlined_nodes blamed;
    inlined_nodes_init(&blamed, model, settlement->nodes, settlement->count, kind);
    size_t count = blamed.count ? blamed.count : blamed.model->graph->n_node;
    for (size_t i = 0; i < count && i < MOST; i++)
        str_printf(out, "%s%s", i ? "+" : "",
                   op_title(blamed.model->graph->node[blamed.count ? blamed.numbers[i] : i]));
    inlined_nodes_release(&blamed);
}

static int store_it(const struct fuzz_recorder *recorder, const struct finding *finding,
                    const struct facts_source *source, bool *is_new, struct error *err)
{
    struct finding_facts facts;
    if (store_add(recorder->store, finding, is_new, err))
        return -1;
    if (!*is_new)
        return 0;
    facts_of(&facts, source);
    int status = known_mark(recorder->known, recorder->store, finding->signature, &facts, err);
    facts_release(&facts);
    return status;
}

static void keep_back(const struct fuzz_recorder *recorder, struct finding *finding, uint64_t hash,
                      const struct facts_source *source)
{
    if ((recorder->state && fuzz_state_knows(recorder->state, hash)) ||
        !finding_buffer_wants(recorder->buffer, hash, recorder->number))
        return;
    struct finding_facts facts;
    struct str text;
    str_init(&text);
    facts_of(&facts, source);
    facts_write(&text, &facts);
    const struct known_issue *issue = known_find(recorder->known, &facts);
    finding->known = issue ? known_document(issue) : NULL;
    finding->facts = text.data;
    finding->number = recorder->first + (int64_t)recorder->number;
    finding_buffer_add(recorder->buffer, finding, hash, recorder->number);
    facts_release(&facts);
    str_release(&text);
}

/* Keeps the finding on engine i. */
static int record_one(const struct fuzz_recorder *recorder, const struct trial_done *done, size_t i,
                      uint64_t *hash, bool *is_new, struct error *err)
{
    const struct test_case *subject = trial_done_subject(done, i);
    const struct model *model = test_case_model(subject, err);
    struct signature signature;
    if (!model || !follow_up_signature(recorder->panel, i, done, &signature))
        return -1;
    const struct verdict *verdict = &done->judgement.verdicts[i];
    const struct settlement *settlement = &done->settlements[i];
    const struct engine_info *info = panel_engine(recorder->panel, i);
    enum verdict_kind kind = settlement->count ? settlement->kind : verdict->kind;
    const char *text = settlement->count ? settlement->text : verdict->text;
    struct str operators;
    str_init(&operators);
    operators_text(&operators, model, settlement, kind);
    struct finding finding = {
        .signature = signature.text,
        .name = signature.name,
        .kind = verdict_name(kind),
        .class = finding_class_row(classify_verdict(verdict))->word,
        .engine = info->label,
        .version = info->version,
        .operators = operators.data,
        .title = text,
        .recipe = recorder->recipe ? recorder->recipe : done->test->recipe,
        .factor = verdict->factor,
        .nodes = (int64_t)model->graph->n_node,
    };
    *hash = hash_text(signature.text);
    struct facts_source source = {.engine = info->label,
                                  .version = info->version,
                                  .profile = info->profile,
                                  .verdict = verdict,
                                  .settlement = settlement,
                                  .result = &done->results[i],
                                  .test = subject};
    int status = 0;
    if (recorder->only_met)
        *is_new = false;
    else if (recorder->buffer)
        keep_back(recorder, &finding, *hash, &source);
    else
        status = store_it(recorder, &finding, &source, is_new, err);
    str_release(&operators);
    return status;
}

static bool is_finding(const struct trial_done *done, size_t engine)
{
    return done && verdict_is_finding(done->judgement.verdicts[engine].kind);
}

/* A rewritten form that only repeats what its original shows is no further finding. */
static bool repeats(const struct panel *panel, const struct trial_done *done, size_t engine)
{
    struct signature own, original;
    return is_finding(done->original, engine) && follow_up_signature(panel, engine, done, &own) &&
           follow_up_signature(panel, engine, done->original, &original) && signature_equal(&own, &original);
}

int fuzz_record(const struct fuzz_recorder *recorder, const struct trial_done *done,
                void (*met)(void *context, uint64_t signature, bool is_new), void *context, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < done->n_engines; i++) {
        const struct trial_done *both[] = {done->original, done};
        for (size_t k = 0; k < 2 && !status; k++) {
            uint64_t hash = 0;
            bool is_new = false;
            if (!is_finding(both[k], i) || (k == 1 && repeats(recorder->panel, done, i)))
                continue;
            status = record_one(recorder, both[k], i, &hash, &is_new, err);
            if (!status)
                met(context, hash, is_new);
        }
    }
    return status;
}

static int count_stored(void *context, const struct stored *stored, struct error *err)
{
    struct fuzz_status *status = context;
    (void)err;
    status->waiting += stored->state == STATE_NEW;
    if (finding_is_apart(stored->class)) {
        status->apart += stored->state != STATE_KNOWN;
        return 0;
    }
    status->findings++;
    status->known += stored->state == STATE_KNOWN;
    enum verdict_kind kind;
    if (verdict_parse(stored->kind, &kind))
        status->kinds[kind]++;
    for (size_t i = 0; i < status->n_engines; i++)
        status->engines[i].findings += text_equal(stored->engine, status->engines[i].label);
    snprintf(status->last, sizeof status->last, "%s: %s", stored->engine, stored->title);
    return 0;
}

int fuzz_recount(struct fuzz_status *status, struct store *store, struct error *err)
{
    struct store_filter all = {0};
    status->findings = status->known = status->waiting = status->apart = 0;
    memset(status->kinds, 0, sizeof status->kinds);
    for (size_t i = 0; i < status->n_engines; i++)
        status->engines[i].findings = 0;
    return store_list(store, &all, count_stored, status, err);
}
