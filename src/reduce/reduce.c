#include "reduce/reduce.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/ddmin.h"
#include "reduce/oracle_of_case.h"
#include "reduce/pass.h"
#include "rules/rewriting.h"
#include "trial/trial.h"

#include <stdlib.h>
#include <string.h>

/* The order: what makes the model smallest soonest. */
static const struct pass *const passes[] = {
#define PASS(name) &pass_##name,
#include "reduce/passes.inc"
#undef PASS
};

struct work {
    struct oracle oracle;
    struct subject best;
    struct record record; /* of the best */
    struct record had;    /* what the engine itself had, at the start */
    struct progress progress;
    struct panel panel; /* of the trials */
    bool up;            /* time is */
};

static void record_best(struct work *work)
{
    if (work->oracle.forbidden) {
        record_possible(&work->record, &work->best);
        return;
    }
    if (!record_reference(&work->record, &work->best, NULL) || !work->oracle.by_companion)
        return;
    record_release(&work->record);
    record_init(&work->record, &work->best);
    oracle_record(&work->oracle, work->oracle.companion, &work->best, &work->record);
}

/* Takes a smaller subject and records its values again. */
static void take(struct work *work, struct subject *found)
{
    subject_release(&work->best);
    work->best = *found;
    *found = (struct subject){0};
    record_release(&work->record);
    record_best(work);
    progress_step(&work->progress, work->oracle.made);
}

/* One pass over the best, edit by edit; true when something held. */
struct attempt {
    struct work *work;
    const struct pass *pass;
    const struct edits *edits;
};

static int make_edit(void *context, size_t number, struct subject *candidate)
{
    const struct attempt *attempt = context;
    progress_step(&attempt->work->progress, attempt->work->oracle.made);
    if (subject_copy(candidate, &attempt->work->best, NULL) ||
        attempt->pass->apply(candidate, &attempt->work->record, &attempt->edits->items[number]))
        return 1;
    subject_prune(candidate);
    return 0;
}

static bool run_pass(struct work *work, const struct pass *pass)
{
    bool any = false;
    for (size_t from = 0; !work->up;) {
        struct edits edits = {0};
        struct subject found = {0};
        struct attempt attempt = {work, pass, &edits};
        pass->list(&work->best, &work->record, &edits);
        long answer = from < edits.count
                          ? oracle_search(&work->oracle, from, edits.count, make_edit, &attempt, &found)
                          : (long)edits.count;
        bool held = answer >= 0 && (size_t)answer < edits.count;
        free(edits.items);
        work->up = answer < 0;
        if (!held)
            break;
        any = true;
        from = (size_t)answer; /* the edits before it were tried and did not hold */
        take(work, &found);
    }
    return any;
}

/* Cuts: sets of nodes of one subject, with the values recorded of it. */
struct cuts {
    struct work *work;
    const struct subject *whole;
    const struct record *record;
    const bool *const *kept;
    struct subject found;
};

static int make_cut(void *context, size_t number, struct subject *candidate)
{
    const struct cuts *cuts = context;
    progress_step(&cuts->work->progress, cuts->work->oracle.made);
    size_t n = cuts->whole->model->graph->n_node, count = 0;
    size_t *nodes = memory_zeroed(n, sizeof *nodes);
    for (size_t i = 0; i < n; i++)
        if (cuts->kept[number][i])
            nodes[count++] = i;
    int status = count ? pass_cut(candidate, cuts->whole, cuts->record, nodes, count) : 1;
    free(nodes);
    if (!status)
        subject_prune(candidate);
    return status ? 1 : 0;
}

static long test_cuts(void *context, const bool *const *candidates, size_t count)
{
    struct cuts *cuts = context;
    struct subject found = {0};
    cuts->kept = candidates;
    long answer = oracle_search(&cuts->work->oracle, 0, count, make_cut, cuts, &found);
    if (answer >= 0 && (size_t)answer < count) {
        subject_release(&cuts->found);
        cuts->found = found;
    }
    return answer;
}

static bool finish_cuts(struct work *work, struct cuts *cuts)
{
    if (!cuts->found.model)
        return false;
    take(work, &cuts->found);
    return true;
}

static bool drop_nodes(struct work *work)
{
    size_t n = work->best.model->graph->n_node;
    struct cuts cuts = {.work = work, .whole = &work->best, .record = &work->record};
    if (n < 2 || work->up)
        return false;
    bool *kept = memory_zeroed(n, sizeof *kept);
    memset(kept, true, n * sizeof *kept);
    work->up = ddmin(kept, n, test_cuts, &cuts) < 0;
    free(kept);
    return finish_cuts(work, &cuts);
}

/* The nodes to blame alone, on the reference's values or on those the engine had. */
static bool cut_blamed(struct work *work)
{
    size_t n = work->best.model->graph->n_node;
    bool *kept = memory_zeroed(n, sizeof *kept);
    const bool *candidates[1] = {kept};
    bool cut = false;
    for (size_t i = 0; i < work->oracle.n_blamed; i++)
        kept[work->oracle.blamed[i]] = true;
    for (int own = 0; own < 2 && work->oracle.n_blamed && work->oracle.n_blamed < n && !cut; own++) {
        struct cuts cuts = {.work = work, .whole = &work->best, .record = own ? &work->had : &work->record};
        work->up = work->up || test_cuts(&cuts, candidates, 1) < 0;
        cut = finish_cuts(work, &cuts);
    }
    free(kept);
    return cut;
}

static int start(struct work *work, const struct test_case *from, const struct reduce_options *options,
                 struct error *err)
{
    if (subject_from_case(&work->best, work->oracle.rewriting ? from->equivalence->origin : from, err))
        return -1;
    if (oracle_begin(&work->oracle, &work->best, options, err))
        return -1;
    oracle_shorten(&work->oracle, &work->best);
    record_best(work);
    return 0;
}

static void run(struct work *work)
{
    if (work->oracle.n_blamed) {
        record_init(&work->had, &work->best);
        oracle_record(&work->oracle, work->oracle.engine, &work->best, &work->had);
        cut_blamed(work);
    }
    for (bool any = true; any && !work->up;) {
        any = drop_nodes(work);
        for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
            any |= run_pass(work, passes[i]);
    }
}

/* Lets trials run both forms of every candidate. */
static void use_trials(struct work *work, const struct test_case *from, const struct reduce_options *options)
{
    if (!from->equivalence || !options->panel)
        return;
    work->panel = *options->panel;
    work->panel.pool = options->pool;
    work->panel.count = 1;
    work->oracle.rewriting = memory_strdup(from->equivalence->rewriting);
    work->oracle.trials = trials_new(&(struct trial_options){
        .panel = &work->panel, .registry = options->registry, .ahead = options->ahead ? options->ahead : 8});
}

/* The case that the best is, with the names and recipes of the one that was given. */
static int make_case(struct work *work, const struct test_case *from, struct test_case **smaller,
                     struct error *err)
{
    const struct test_case *subject = work->oracle.rewriting ? from->equivalence->origin : from;
    if (!work->oracle.rewriting) {
        int status = oracle_case(smaller, &work->best, from, from->forbidden_node, err);
        test_case_set_name(*smaller, subject->name);
        test_case_set_recipe(*smaller, subject->recipe);
        return status;
    }
    *smaller = subject_to_case(&work->best);
    test_case_set_name(*smaller, subject->name);
    test_case_set_recipe(*smaller, subject->recipe);
    struct test_case *origin = *smaller;
    int applied = rewriting_apply(origin, work->oracle.rewriting, smaller, err);
    test_case_free(origin);
    if (applied == 1)
        test_case_set_recipe(*smaller, from->recipe);
    return applied == 1 ? 0 : -1;
}

int reduce_case(struct test_case **smaller, const struct test_case *from,
                const struct reduce_options *options, struct reduce_stats *stats, struct error *err)
{
    double started = clock_seconds();
    struct work work = {
        .oracle = oracle_of_case(from, options),
    };
    *stats = (struct reduce_stats){0};
    *smaller = NULL;
    map_init(&work.record.names);
    map_init(&work.had.names);
    use_trials(&work, from, options);
    if (options->progress)
        progress_begin(&work.progress, "reducing: candidates", 0);
    struct progress *outer = pool_show(options->pool, &work.progress);
    int status = start(&work, from, options, err);
    if (!status) {
        stats->first = work.oracle.keep;
        stats->nodes_before = subject_nodes(&work.best);
        stats->elements_before = subject_elements(&work.best);
        run(&work);
        bool hangs = verdict_row(work.oracle.verdict.kind)->to_deadline;
        if ((hangs || !work.oracle.n_blamed) && !oracle_confirm(&work.oracle, &work.best) && hangs)
            status =
                error_set(err, ERROR_NOT_FOUND,
                          "the case reduced for a hang answers after more than 1 s: use a longer --deadline");
        oracle_stats(&work.oracle, &work.best, stats);
        stats->seconds = clock_seconds() - started;
        stats->complete = !work.up;
    }
    if (!status)
        status = make_case(&work, from, smaller, err);
    pool_show(options->pool, outer);
    progress_end(&work.progress);
    oracle_release(&work.oracle);
    subject_release(&work.best);
    record_release(&work.record);
    record_release(&work.had);
    return status;
}
