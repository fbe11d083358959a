#include "check/determinism.h"

#include "base/memory.h"
#include "base/progress.h"
#include "engine/everyones_knobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, MOST_THREADS = 64 };

/* The rewritings that are tried, with the axis of each. */
struct plan {
    size_t count, capacity;
    struct planned {
        char *rewriting;
        enum rule_axis axis;
    } * items;
};

static void plan_add(struct plan *plan, enum rule_axis axis, char *rewriting)
{
    plan->items = memory_grow(plan->items, &plan->capacity, plan->count + 1, sizeof *plan->items);
    plan->items[plan->count++] = (struct planned){rewriting, axis};
}

static void plan_release(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        free(plan->items[i].rewriting);
    free(plan->items);
}

static char *printed(const char *format, const char *name, int number)
{
    char text[200];
    snprintf(text, sizeof text, format, name, number);
    return memory_strdup(text);
}

static bool is_wanted(const struct rule_choice *choice, const struct rule *rule)
{
    return rule->axis != AXIS_NONE && (!choice->rules || rule_is_listed(choice->rules, rule)) &&
           (!choice->without || !rule_is_listed(choice->without, rule));
}

/* A rule about settings is one about the number of threads, which also tells whether their order matters. */
static void plan_rule(struct plan *plan, const struct rule *rule, int threads)
{
    for (int i = 0; !rule->each_knob && i < rule->variations; i++)
        plan_add(plan, rule->axis, printed("bytes %s#%d", rule->name, i));
    for (int i = 1; rule->each_knob && i <= threads; i++)
        plan_add(plan, rule->axis, printed("bytes %s@threads=%d", rule->name, i));
    if (rule->each_knob && threads > 1)
        plan_add(plan, AXIS_THREAD_ORDER, printed("bytes %s@threads=%d again-often", rule->name, threads));
}

/* In the order of the axes. */
static void make_plan(struct plan *plan, const struct determinism_options *options)
{
    int threads = options->threads > 0 ? options->threads : THREADS;
    for (int axis = AXIS_NONE + 1; axis < AXIS_COUNT; axis++)
        for (size_t i = 0; i < rules_count; i++)
            if ((int)rules_all[i]->axis == axis && is_wanted(&options->choice, rules_all[i]))
                plan_rule(plan, rules_all[i], threads < MOST_THREADS ? threads : MOST_THREADS);
}

/* --- Words --- */

static const struct {
    const char *word;
    bool compared, differs;
} answers[] = {
    [DETERMINISM_UNASKED] = {"not asked", false, false},
    [DETERMINISM_UNANSWERED] = {"not compared", false, false},
    [DETERMINISM_SAME] = {"same bytes", true, false},
    [DETERMINISM_ROUNDING] = {"within rounding", true, true},
    [DETERMINISM_UNBOUNDED] = {"other bytes", true, true},
    [DETERMINISM_BEYOND] = {"beyond rounding", true, true},
    [DETERMINISM_ENDED] = {"no answer", true, true},
};

bool determinism_compared(enum determinism_answer answer)
{
    return answers[answer].compared;
}

bool determinism_differs(enum determinism_answer answer)
{
    return answers[answer].differs;
}

const char *determinism_word(enum determinism_answer answer)
{
    return answers[answer].word;
}

bool determinism_unwritten(const struct determinism_axis *axis)
{
    return verdict_row(axis->verdict.kind)->of_memory;
}

/* Unwritten memory shows in any respect in which memory is another one, so it explains those. The first of
 * the others explains the rest. */
enum rule_axis determinism_cause(const struct determinism_engine *engine)
{
    if (determinism_unwritten(&engine->axes[AXIS_MEMORY]))
        return AXIS_MEMORY;
    int axis = AXIS_NONE + 1;
    while (axis < AXIS_COUNT && !determinism_differs(engine->axes[axis].answer))
        axis++;
    if (axis == AXIS_THREADS && determinism_differs(engine->axes[AXIS_THREAD_ORDER].answer))
        return AXIS_THREAD_ORDER; /* whatever the number is */
    return axis < AXIS_COUNT ? (enum rule_axis)axis : AXIS_NONE;
}

/* --- One rewriting --- */

/* The rewritings of one sample, one after the other. */
struct source {
    struct determinism *found;
    const struct determinism_options *options;
    struct test_case *origin;
    const struct plan *plan;
    size_t next;
    struct progress progress;
    size_t done;
};

/* What `user` of a case points to: its line of the plan. */
static int make(void *context, struct test_case **test, void **user, struct error *err)
{
    struct source *source = context;
    *test = NULL;
    *user = NULL;
    if (source->next == source->plan->count)
        return 0;
    struct planned *planned = &source->plan->items[source->next++];
    *user = planned;
    int made = rewriting_apply(source->origin, planned->rewriting, test, err);
    for (size_t i = 0; made == 0 && i < source->found->n_engines; i++) {
        struct determinism_axis *axis = &source->found->engines[i].axes[planned->axis];
        if (axis->answer == DETERMINISM_UNASKED && !axis->why) {
            snprintf(axis->text, sizeof axis->text, "%s", err ? err->message : "");
            axis->why = axis->text;
        }
    }
    return made < 0 ? -1 : 1;
}

/* Where the reference does not know the bounds of an element, nobody can tell. */
static enum determinism_answer judge_bytes(const struct trial_done *done, size_t engine)
{
    const struct verdict *pair = &done->pairs[engine], *own = &done->judgement.verdicts[engine];
    if (verdict_is(own->kind, CLASS_WRONG_ANSWER))
        return DETERMINISM_BEYOND;
    if (!done->judgement.by_reference)
        return DETERMINISM_UNBOUNDED;
    const struct verdict_row *row = verdict_row(pair->kind);
    if (pair->of_pair && (pair->wrong || (row->of_forms && !row->of_memory)))
        return DETERMINISM_BEYOND;
    return pair->undecided ? DETERMINISM_UNBOUNDED : DETERMINISM_ROUNDING;
}

/* Whether guards ended it: that tells more than the end of an engine which ends without them, too. */
static bool says_guards(const struct result *result)
{
    return result->outcome == OUTCOME_CRASH && result->log && strstr(result->log, GUARD_SAYS);
}

static enum determinism_answer answer_of(const struct trial_done *done, size_t engine)
{
    const struct result *before = &done->origin_results[engine], *after = &done->results[engine];
    const struct verdict *pair = &done->pairs[engine];
    if (before->outcome != OUTCOME_OK || done->bad_rewriting)
        return says_guards(after) ? DETERMINISM_ENDED : DETERMINISM_UNANSWERED;
    if (after->outcome == OUTCOME_UNSUPPORTED)
        return DETERMINISM_UNASKED;
    if (after->outcome != OUTCOME_OK)
        return verdict_is_finding(done->judgement.verdicts[engine].kind) ? DETERMINISM_ENDED
                                                                         : DETERMINISM_UNANSWERED;
    if (pair->other_bytes || done->repeats_differ[engine] || pair->of_pair)
        return judge_bytes(done, engine);
    return pair->total ? DETERMINISM_SAME : DETERMINISM_UNANSWERED;
}

static void find_node(struct determinism_axis *axis, const struct model *model, const char *value)
{
    const Onnx__GraphProto *graph = model->graph;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++) {
            if (strcmp(graph->node[i]->output[k], value) != 0)
                continue;
            const char *name = graph->node[i]->name;
            axis->located = true;
            axis->node_number = (long)i;
            snprintf(axis->node, sizeof axis->node, "%.50s %.100s", graph->node[i]->op_type,
                     name && *name ? name : value);
            snprintf(axis->value, sizeof axis->value, "%.99s", value);
            return;
        }
}

/* The node that ends the process by itself is known once the run has been settled. */
static void find_end(struct determinism_axis *axis, const struct trial_done *done, size_t engine)
{
    const struct settlement *settlement = &done->settlements[engine];
    const struct model *model = test_case_model(trial_done_subject(done, engine), NULL);
    axis->located = false;
    if (axis->answer == DETERMINISM_ENDED && settlement->count == 1 && model)
        find_node(axis, model, model->graph->node[settlement->nodes[0]]->output[0]);
}

static void say_apart(struct determinism_axis *axis, const struct trial_done *done, size_t engine)
{
    const struct verdict *pair = &done->pairs[engine], *own = &done->judgement.verdicts[engine];
    const struct model *model = test_case_model(done->test->equivalence->origin, NULL);
    if (axis->answer == DETERMINISM_ENDED || !pair->other_bytes || !model) {
        snprintf(axis->text, sizeof axis->text, "%s", *own->text ? own->text : pair->text);
        return;
    }
    const char *name =
        pair->bytes_output < model->graph->n_output ? model->graph->output[pair->bytes_output]->name : "";
    snprintf(axis->text, sizeof axis->text, "%zu of %zu elements, the first %.60s[%zu]: %.9Lg, then %.9Lg",
             pair->other_bytes, pair->total, name, pair->bytes_element, pair->bytes_before,
             pair->bytes_after);
    if (*pair->memcheck) {
        size_t length = strlen(axis->text);
        snprintf(axis->text + length, sizeof axis->text - length, "; %s", pair->memcheck);
    }
    axis->output = pair->bytes_output;
    axis->elements = pair->other_bytes;
}

/* The most serious of the answers of an axis is kept, of equals the first; that memory was read that nobody
 * wrote is more than that the answer changed. */
static void add_answer(struct determinism_axis *axis, const struct trial_done *done, size_t engine,
                       enum determinism_answer answer)
{
    const struct verdict *pair = &done->pairs[engine];
    bool clearer = verdict_row(pair->kind)->of_memory && !determinism_unwritten(axis);
    axis->runs += determinism_compared(answer);
    axis->differ += determinism_differs(answer);
    bool told = answer || axis->why;
    if (answer < axis->answer || (answer == axis->answer && told && !clearer))
        return;
    axis->answer = answer;
    axis->why = NULL;
    axis->verdict = pair->of_pair || !verdict_is_finding(done->judgement.verdicts[engine].kind)
                        ? *pair
                        : done->judgement.verdicts[engine];
    if (answer == DETERMINISM_UNASKED || answer == DETERMINISM_UNANSWERED) {
        snprintf(axis->text, sizeof axis->text, "%s",
                 answer == DETERMINISM_UNASKED ? done->judgement.verdicts[engine].text : pair->text);
        axis->why = axis->text;
    }
    if (!determinism_differs(answer))
        return;
    say_apart(axis, done, engine);
    find_end(axis, done, engine);
    free(axis->rewriting);
    test_case_free(axis->test);
    axis->rewriting = memory_strdup(done->test->equivalence->rewriting);
    axis->test = test_case_share(done->test);
}

/* The runs of one session are alike, and differ from the model as it is: that is told by the axis which asks
 * about it. The answer that is left is that they are the same. */
static enum determinism_answer tell_elsewhere(struct determinism_engine *engine, enum rule_axis axis,
                                              const struct trial_done *done, size_t place,
                                              enum determinism_answer answer)
{
    if (axis == AXIS_RUNS)
        add_answer(&engine->axes[AXIS_SESSIONS], done, place, answer);
    return DETERMINISM_SAME;
}

static int take(void *context, struct trial_done *done, struct error *err)
{
    struct source *source = context;
    const struct planned *planned = done->user;
    (void)err;
    for (size_t i = 0; i < done->n_engines; i++) {
        struct determinism_engine *engine = &source->found->engines[i];
        enum rule_axis axis = planned->axis;
        enum determinism_answer answer = answer_of(done, i);
        bool repeated = axis == AXIS_RUNS || axis == AXIS_THREAD_ORDER;
        if (repeated && !done->repeats_differ[i] && determinism_differs(answer) &&
            answer != DETERMINISM_ENDED)
            answer = tell_elsewhere(engine, axis, done, i, answer);
        add_answer(&engine->axes[axis], done, i, answer);
        if (verdict_is(engine->origin.kind, CLASS_NOTHING) ||
            (verdict_is_finding(done->origin_verdicts[i].kind) && !verdict_is_finding(engine->origin.kind)))
            engine->origin = done->origin_verdicts[i];
    }
    trial_done_release(done);
    progress_step(&source->progress, ++source->done);
    return 0;
}

static struct trials *start_trials(const struct determinism_options *options, const struct panel *panel,
                                   bool settle)
{
    return trials_new(&(struct trial_options){
        .panel = panel, .registry = options->registry, .settle = settle, .memcheck = settle, .ahead = 8});
}

/* --- Where it begins --- */

/* Runs the rewriting of the axis once, on the model whose values are all exposed and on this engine alone.
 * The reference is not asked: bytes tell. */
static int run_exposed(const struct determinism_options *options, size_t engine, struct test_case *exposed,
                       struct determinism_axis *axis, struct error *err)
{
    struct panel one = *options->panel;
    const struct model *model = test_case_model(exposed, err);
    struct test_case *test;
    struct trial_done done;
    one.count = 1;
    one.engines = &options->panel->engines[engine];
    one.reference = -1;
    if (!model)
        return -1;
    if (rewriting_apply(exposed, axis->rewriting, &test, NULL) != 1)
        return 0;
    pool_rest(one.pool, one.engines[0]); /* so that the process has seen nothing */
    struct trials *trials = start_trials(options, &one, false);
    int status = trials_submit(trials, test, NULL, err);
    if (!status)
        status = trials_next(trials, &done, err) == 1 ? 0 : -1;
    if (!status) {
        const struct verdict *pair = &done.pairs[0];
        if (pair->other_bytes && pair->bytes_output < model->graph->n_output)
            find_node(axis, model, model->graph->output[pair->bytes_output]->name);
        trial_done_release(&done);
    }
    trials_free(trials);
    return status;
}

/* What happens by chance may not happen the first time. */
static int locate(const struct determinism_options *options, size_t engine, struct test_case *exposed,
                  struct determinism_axis *axis, struct error *err)
{
    enum { TRIES = 3 };
    int status = 0;
    axis->node_number = -1;
    for (int i = 0; i < TRIES && !axis->located && !status; i++)
        status = run_exposed(options, engine, exposed, axis, err);
    return status;
}

/* --- All --- */

static void prepare(struct determinism *found, size_t engines)
{
    if (found->engines)
        return;
    found->n_engines = engines;
    found->engines = memory_zeroed(engines, sizeof *found->engines);
}

static int locate_all(struct determinism *found, struct test_case *exposed,
                      const struct determinism_options *options, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < found->n_engines && !status; i++)
        for (int k = AXIS_NONE + 1; k < AXIS_COUNT && !status; k++) {
            struct determinism_axis *axis = &found->engines[i].axes[k];
            if (!axis->rewriting || axis->located || axis->answer == DETERMINISM_ENDED)
                continue;
            status = locate(options, i, exposed, axis, err);
        }
    return status;
}

static int run_plan(struct source *source, const struct plan *plan, struct test_case *origin,
                    struct error *err)
{
    struct trials *trials = start_trials(source->options, source->options->panel, true);
    struct trial_source cases = {source, make, take};
    source->plan = plan;
    source->origin = origin;
    source->next = 0;
    int status = trials_run(trials, &cases, err);
    trials_free(trials);
    return status;
}

/* Whether what differs by chance may have been hidden from the outputs of some engine. */
static bool may_be_hidden(const struct determinism *found, enum rule_axis axis)
{
    bool same = false;
    for (size_t i = 0; i < found->n_engines; i++)
        same |= found->engines[i].axes[axis].answer == DETERMINISM_SAME;
    return same && (axis == AXIS_RUNS || axis == AXIS_THREAD_ORDER);
}

/* An element that differs by chance reaches an output only where no maximum or rectifier stands before it:
 * where all outputs are the same, the values inside are looked at. */
static int look_inside(struct source *source, const struct plan *plan, struct test_case *exposed,
                       struct error *err)
{
    struct plan inside = {0};
    for (size_t i = 0; i < plan->count; i++)
        if (may_be_hidden(source->found, plan->items[i].axis))
            plan_add(&inside, plan->items[i].axis, memory_strdup(plan->items[i].rewriting));
    int status = inside.count ? run_plan(source, &inside, exposed, err) : 0;
    plan_release(&inside);
    return status;
}

int determinism_run(struct determinism *found, struct test_case *origin,
                    const struct determinism_options *options, struct error *err)
{
    struct plan plan = {0};
    struct source source = {.found = found, .options = options};
    struct test_case *exposed = NULL;
    prepare(found, options->panel->count);
    make_plan(&plan, options);
    if (options->progress)
        progress_begin(&source.progress, "runs", plan.count);
    struct progress *outer = pool_show(options->panel->pool, &source.progress);
    int status = run_plan(&source, &plan, origin, err);
    /* Where there is nothing to expose, the outputs tell. */
    if (status == 0 && rewriting_apply(origin, "all-exposed", &exposed, NULL) == 1)
        status = look_inside(&source, &plan, exposed, err);
    if (status == 0)
        status = locate_all(found, exposed ? exposed : origin, options, err);
    test_case_free(exposed);
    pool_show(options->panel->pool, outer);
    progress_end(&source.progress);
    plan_release(&plan);
    found->samples++;
    return status;
}

void determinism_release(struct determinism *found)
{
    for (size_t i = 0; i < found->n_engines; i++)
        for (int k = 0; k < AXIS_COUNT; k++) {
            free(found->engines[i].axes[k].rewriting);
            test_case_free(found->engines[i].axes[k].test);
        }
    free(found->engines);
    *found = (struct determinism){0};
}
