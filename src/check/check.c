#include "check/check.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/progress.h"

#include <stdio.h>
#include <stdlib.h>

enum { DRAW_TRIES = 20 };

/* The rewritings of one sample, one after the other. */
struct source {
    struct check *check;
    const struct check_options *options;
    struct test_case *origin;
    struct rewriting_steps list;
    size_t next, drawn;
    int64_t end_ns; /* 0: no limit */
    struct progress progress;
    size_t done;
};

/* Of a rule's `count` sites the wanted ones are spread evenly; of settings, which are listed by how much they
 * differ (rules/knob_settings.h), they are the first. */
static bool is_wanted(const struct rule *rule, size_t at, size_t count, size_t sites)
{
    if (sites == 0 || count <= sites)
        return true;
    return rule->each_knob ? at < sites : at * sites / count != (at + 1) * sites / count;
}

/* The steps of a rule stand together. */
static void leave_out(struct check *check, struct rewriting_steps *list, size_t sites)
{
    size_t kept = 0;
    for (size_t first = 0, end; first < list->count; first = end) {
        const struct rule *rule = list->rules[first];
        for (end = first; end < list->count && list->rules[end] == rule; end++)
            continue;
        for (size_t i = first; i < end; i++) {
            char *step = list->steps[i];
            if (!is_wanted(rule, i - first, end - first, sites)) {
                free(step);
                check->untried++;
                continue;
            }
            list->steps[kept] = step;
            list->rules[kept++] = rule;
        }
    }
    list->count = kept;
}

static size_t rule_number(const struct rule *rule)
{
    size_t number = 0;
    while (number < rules_count && rules_all[number] != rule)
        number++;
    return number;
}

static void count_rules(const char *rewriting, size_t *counts)
{
    size_t number = rule_number(rewriting_rule(rewriting));
    if (number < rules_count)
        counts[number]++;
}

static bool time_is_up(const struct source *source)
{
    return source->end_ns && clock_ns() > source->end_ns;
}

/* The next step alone, or a random rewriting. Returns as rewriting_apply does. */
static int make_next(struct source *source, struct test_case **test, struct error *err)
{
    const struct check_options *options = source->options;
    if (source->next < source->list.count)
        return rewriting_apply(source->origin, source->list.steps[source->next++], test, err);
    struct rng seed = rng_seed(options->seed), rng = rng_split(&seed, source->drawn++);
    return rewriting_draw(source->origin, &options->choice, options->depth ? options->depth : 3, DRAW_TRIES,
                          &rng, test, err);
}

static int make(void *context, struct test_case **test, void **user, struct error *err)
{
    struct source *source = context;
    *user = NULL;
    *test = NULL;
    bool over = source->next == source->list.count && source->drawn >= source->options->combined;
    if (over || time_is_up(source)) {
        source->check->untried += source->list.count - source->next;
        source->next = source->list.count;
        source->drawn = source->options->combined;
        return 0;
    }
    return make_next(source, test, err) < 0 ? -1 : 1;
}

/* What the engine was asked to run is the rewritten form, in its own setting. */
static const char *look_up(const struct known_issues *known, size_t engine, const struct trial_done *done)
{
    struct engine_verdict found = {0};
    struct sample_results sample = {
        .test = trial_done_subject(done, engine), .results = done->results, .reference = &done->reference};
    struct sample_finding finding = {
        .engine = done->engines[engine],
        .sample = &sample,
        .result = &done->results[engine],
        .verdict = &done->judgement.verdicts[engine],
        .settlement = done->settlements[engine].count ? &done->settlements[engine] : NULL,
    };
    if (known && finding.engine)
        known_look_up(known, &finding, &found);
    return found.known;
}

static void keep_finding(struct check *check, const struct known_issues *known, size_t engine,
                         const struct trial_done *done, enum check_answer answer)
{
    check->findings = memory_grow(check->findings, &check->findings_capacity, check->n_findings + 1,
                                  sizeof *check->findings);
    struct check_finding *finding = &check->findings[check->n_findings++];
    /* Where the rewritten form is right and the original is not, only the pair tells. */
    bool own = verdict_is_finding(done->judgement.verdicts[engine].kind);
    const struct verdict *verdict = own ? &done->judgement.verdicts[engine] : &done->pairs[engine];
    *finding = (struct check_finding){
        .engine = engine,
        .answer = answer,
        .sample = check->samples,
        .test = test_case_share(done->test),
        .verdict = *verdict,
        .by_reference = own && done->judgement.by_reference && !verdict_is(verdict->kind, CLASS_UNSTABLE),
    };
    const struct settlement *settled = &done->settlements[engine];
    finding->known = look_up(known, engine, done);
    snprintf(finding->text, sizeof finding->text, "%s",
             own && settled->count ? settled->text : verdict->text);
}

/* A pair is suspect where there is no reference: it is reported, as there is no stronger judge. */
static enum check_answer answer_of(const struct trial_done *done, size_t engine)
{
    const struct verdict *own = &done->judgement.verdicts[engine], *pair = &done->pairs[engine];
    bool alike =
        verdict_is(own->kind, CLASS_WRONG_ANSWER)
            ? verdict_is(pair->kind, CLASS_AGREES | CLASS_UNJUDGED)
            : verdict_is(own->kind, CLASS_NO_ANSWER) && own->kind == done->origin_verdicts[engine].kind;
    if (verdict_is_finding(own->kind))
        return alike ? CHECK_WRONG : CHECK_CHANGED;
    if (verdict_is_finding(pair->kind) || verdict_is(pair->kind, CLASS_SUSPECT))
        return CHECK_CHANGED;
    if (verdict_is(own->kind, CLASS_LACK) || done->results[engine].outcome == OUTCOME_UNSUPPORTED)
        return CHECK_LACKING;
    return verdict_is(pair->kind, CLASS_AGREES) ? CHECK_SAME : CHECK_UNCOMPARED;
}

static void count_engine(struct check *check, const struct known_issues *known, const struct trial_done *done,
                         size_t i)
{
    struct check_engine *engine = &check->engines[i];
    const struct verdict *origin = &done->origin_verdicts[i];
    if (verdict_is(engine->origin.kind, CLASS_NOTHING) ||
        (verdict_is_finding(origin->kind) && !verdict_is_finding(engine->origin.kind)))
        engine->origin = *origin;
    enum check_answer answer = answer_of(done, i);
    engine->answers[answer]++;
    if (answer == CHECK_LACKING && !engine->lacking_form) {
        snprintf(engine->lacking, sizeof engine->lacking, "%s", done->judgement.verdicts[i].text);
        engine->lacking_form = memory_strdup(done->test->equivalence->rewriting);
    }
    engine->unanswered += answer == CHECK_CHANGED && done->results[i].outcome != OUTCOME_OK;
    if (answer == CHECK_CHANGED)
        count_rules(done->test->equivalence->rewriting, check->changed_by_rule);
    /* What is wrong in every form is kept once. */
    if (answer == CHECK_CHANGED || (answer == CHECK_WRONG && engine->answers[CHECK_WRONG] == 1))
        keep_finding(check, known, i, done, answer);
}

static int take(void *context, struct trial_done *done, struct error *err)
{
    struct source *source = context;
    struct check *check = source->check;
    (void)err;
    const char *rewriting = done->test->equivalence->rewriting;
    if (done->bad_rewriting) {
        if (!check->bad++)
            snprintf(check->bad_text, sizeof check->bad_text, "%s", rewriting);
    } else {
        check->rewritings++;
        count_rules(rewriting, check->by_rule);
        for (size_t i = 0; i < done->n_engines; i++)
            count_engine(check, source->options->known, done, i);
    }
    trial_done_release(done);
    progress_step(&source->progress, ++source->done);
    return 0;
}

static void prepare(struct check *check, const struct panel *panel)
{
    if (check->engines)
        return;
    check->n_engines = panel->count;
    check->engines = memory_zeroed(panel->count, sizeof *check->engines);
    check->by_rule = memory_zeroed(rules_count, sizeof *check->by_rule);
    check->changed_by_rule = memory_zeroed(rules_count, sizeof *check->changed_by_rule);
}

int check_run(struct check *check, struct test_case *origin, const struct check_options *options,
              struct error *err)
{
    struct source source = {.check = check, .options = options, .origin = origin};
    prepare(check, options->panel);
    if (options->seconds > 0)
        source.end_ns = clock_ns() + (int64_t)(options->seconds * 1e9);
    if (rewriting_steps(&source.list, origin, &options->choice, err)) {
        rewriting_steps_free(&source.list);
        return -1;
    }
    leave_out(check, &source.list, options->sites);
    struct trials *trials = trials_new(&(struct trial_options){.panel = options->panel,
                                                               .registry = options->registry,
                                                               .tolerance = options->tolerance,
                                                               .settle = true,
                                                               .ahead = 8});
    if (options->progress)
        progress_begin(&source.progress, "rewritings", source.list.count + options->combined);
    struct progress *outer = pool_show(options->panel->pool, &source.progress);
    progress_limit(&source.progress, options->seconds);
    struct trial_source cases = {&source, make, take};
    int status = trials_run(trials, &cases, err);
    pool_show(options->panel->pool, outer);
    progress_end(&source.progress);
    trials_free(trials);
    rewriting_steps_free(&source.list);
    check->samples++;
    return status;
}

void check_release(struct check *check)
{
    for (size_t i = 0; i < check->n_findings; i++)
        test_case_free(check->findings[i].test);
    for (size_t i = 0; i < check->n_engines; i++)
        free(check->engines[i].lacking_form);
    free(check->findings);
    free(check->engines);
    free(check->by_rule);
    free(check->changed_by_rule);
    *check = (struct check){0};
}

static size_t nodes_of(const struct test_case *test)
{
    const struct model *model = test_case_model(test, NULL);
    return model ? model->graph->n_node : 0;
}

static bool is_smaller(const struct check_finding *a, const struct check_finding *b)
{
    size_t depth_a = rewriting_depth(a->test->equivalence->rewriting);
    size_t depth_b = rewriting_depth(b->test->equivalence->rewriting);
    return depth_a != depth_b ? depth_a < depth_b : nodes_of(a->test) < nodes_of(b->test);
}

const struct check_finding *check_smallest(const struct check *check, size_t engine)
{
    const struct check_finding *best = NULL;
    for (size_t i = 0; i < check->n_findings; i++)
        if (check->findings[i].engine == engine && (!best || is_smaller(&check->findings[i], best)))
            best = &check->findings[i];
    return best;
}
