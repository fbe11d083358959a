#include "campaign/fuzz.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "campaign/follow_up.h"
#include "campaign/fuzz_probe.h"
#include "campaign/fuzz_record.h"
#include "campaign/fuzz_shared.h"
#include "campaign/fuzz_state.h"
#include "campaign/kept_case.h"
#include "campaign/search_source.h"
#include "findings/stored_files.h"
#include "generate/case_maker.h"
#include "rules/knob_settings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How often progress is kept and the watcher called. */
#define KEEP_SECONDS 0.25

/* Snapshots of bred cases are saved this often, and may take this part of the time. */
#define SNAPSHOT_SECONDS 0.5
#define SNAPSHOT_SHARE 0.05

/* Reducing may take this part of the time, and so long for one finding. */
#define REDUCE_SHARE 0.33
#define REDUCE_SECONDS 15

/*
 * In a shared campaign other releases are asked as well. When a worker dies, another begins after this long.
 * How far a finding is reduced shall not hang on how fast the machine is, so that the number of candidates is
 * limited; the time only ends what is out of proportion.
 */
#define FOLLOW_UP_SECONDS 60
#define SHARED_REDUCE_SECONDS 300
#define SHARED_REDUCE_DEADLINE 30
enum { SHARED_REDUCE_MOST = 4000 };

enum { SILENT_CASES = 20 };

struct fuzz {
    const struct fuzz_options *options;
    struct fuzz_status *status;
    struct store *store;
    struct case_source source;
    struct case_range range; /* the one at hand */
    struct fuzz_state state;
    struct fuzz_probe probe;
    struct known_issues known;
    struct arena arena;                       /* settings of the engines */
    struct trials *trials, *rough, *unjudged; /* the last two settle nothing, the last has no reference */
    struct panel engines;                     /* without the reference */
    double started, before;                   /* clock at the start; elapsed of earlier starts */
    double kept;                              /* clock when progress was kept last */
    double snapshot;                          /* the same for the snapshot */
    double snapshot_took;                     /* seconds */
    int lock;                                 /* file, held while the campaign runs */
    double reducing;                          /* seconds spent on it in this start */
    bool stop;
    struct fuzz_shared shared; /* of a campaign of many workers, */
    bool sharing;              /* which this is; */
    bool over;                 /* all its cases are done, or it was stopped */
    bool going_on;             /* a search is not done with its range yet, */
    size_t steps;              /* of which so many were run */
    bool lost;                 /* another has taken the range at hand over */
    size_t next;       /* place in the range, or among the probe's finds, of the case to be made next */
    bool fresh, added; /* of the case that is being recorded: new to the range, new to the store */
    const struct trial_done *first_run; /* the same, when it shall be run again if it shows something new */
};

static void describe_engines(const struct fuzz_options *options, struct str *text)
{
    for (size_t i = 0; i < options->panel->count; i++)
        str_printf(text, " %s", panel_engine(options->panel, i)->label);
}

static char *describe_search(const struct fuzz_options *options)
{
    struct str text;
    str_init(&text);
    search_source_describe(options->search, &text);
    str_add(&text, ", engines");
    describe_engines(options, &text);
    return str_detach(&text);
}

/* What makes the cases: a campaign goes on only with the same. */
static char *describe(const struct fuzz_options *options)
{
    const struct fuzz_source_options *s = &options->source;
    struct str text;
    if (options->search)
        return describe_search(options);
    str_init(&text);
    str_printf(&text, "seed %" PRIu64 ", strategy %s, blocks %zu, %s, probe %s, engines", s->seed,
               s->strategy == FUZZ_MCTS ? "mcts" : "random", s->blocks, s->redraw ? "redrawn" : "drawn once",
               options->probe ? "yes" : "no");
    describe_engines(options, &text);
    if (s->only_blocks)
        str_printf(&text, ", only blocks %s", s->only_blocks);
    if (s->rules_share > 0)
        str_printf(&text, ", rules %s, share %g, depth %zu", s->rules.rules ? s->rules.rules : "all",
                   s->rules_share, s->rules_depth);
    char *recipe = recipe_text(", cases", 0, 0, &s->generate);
    str_add(&text, recipe);
    free(recipe);
    char *detached = str_detach(&text);
    str_release(&text);
    return detached;
}

static int check_options(struct fuzz *fuzz, struct error *err)
{
    static const char key[] = "fuzz-options";
    const struct fuzz_options *o = fuzz->options;
    char *now = describe(o);
    struct str then;
    str_init(&then);
    int status = store_agree(fuzz->store, key, now, &then, err);
    if (!status && !text_equal(then.data, now))
        status = error_set(
            err, ERROR_USAGE, "%s holds a campaign with other options (%s); use the same ones or another %s",
            o->shared ? o->shared->campaign : o->folder, then.data, o->shared ? "name" : "folder");
    if (!status && o->shared && o->shared->words)
        status = store_agree(fuzz->store, FUZZ_SHARED_WORDS, o->shared->words, &then, err);
    str_release(&then);
    free(now);
    return status;
}

static void init_status(struct fuzz *fuzz)
{
    const struct fuzz_options *o = fuzz->options;
    const struct panel *panel = o->panel;
    struct fuzz_status *status = fuzz->status;
    *status = (struct fuzz_status){
        .folder = o->shared ? o->shared->campaign : o->folder,
        .seed = o->search ? o->search->seed : o->source.seed,
        .strategy = o->source.strategy,
        .last_new = -1,
        .n_engines = panel->count + (panel->reference >= 0),
        .judged_engines = panel->count,
        .engines = memory_zeroed(panel->count + 1, sizeof *status->engines),
    };
    for (size_t i = 0; i < panel->count; i++)
        status->engines[i].label = panel_engine(panel, i)->label;
    if (panel->reference >= 0)
        status->engines[panel->count].label = "reference";
}

void fuzz_status_release(struct fuzz_status *status)
{
    free(status->engines);
    free(status->searched);
    status->engines = NULL;
    status->searched = NULL;
    status->n_searched = 0;
}

static void update_status(struct fuzz *fuzz)
{
    struct fuzz_status *status = fuzz->status;
    status->session = clock_seconds() - fuzz->started;
    status->elapsed = fuzz->before + status->session;
    fuzz->source.kind->figures(fuzz->source.self, status);
}

static bool time_is_up(const struct fuzz *fuzz)
{
    double limit = fuzz->options->seconds;
    return limit > 0 && clock_seconds() - fuzz->started >= limit;
}

/* A leased range counts only as a whole, so that a worker ends it first; a signal hands it back at once. */
static bool time_ends_range(const struct fuzz *fuzz)
{
    return !fuzz->sharing && time_is_up(fuzz);
}

static int renew(struct fuzz *fuzz, struct error *err)
{
    bool held, had = fuzz->shared.held;
    if (fuzz_shared_renew(&fuzz->shared, &held, err))
        return -1;
    fuzz->lost |= had && !held;
    return 0;
}

/* Whoever removes or replaces the folder ends the campaign: what it finds would be written nowhere. */
static int check_folder(const struct fuzz *fuzz, struct error *err)
{
    struct stat held, there;
    if (fuzz->lock < 0)
        return 0;
    char *path = file_join(fuzz->options->folder, "lock");
    bool same = fstat(fuzz->lock, &held) == 0 && stat(path, &there) == 0 && held.st_ino == there.st_ino &&
                held.st_dev == there.st_dev;
    free(path);
    return same ? 0
                : error_set(err, ERROR_IO, "the campaign's folder %s was removed or replaced while it ran",
                            fuzz->options->folder);
}

/* Every so often, and at once when something new was met. */
static int keep(struct fuzz *fuzz, bool now, struct error *err)
{
    if (!now && clock_seconds() - fuzz->kept < KEEP_SECONDS)
        return 0;
    update_status(fuzz);
    fuzz->kept = clock_seconds();
    if (check_folder(fuzz, err))
        return -1;
    if (fuzz->options->watch && fuzz->options->watch(fuzz->options->context, fuzz->status))
        fuzz->stop = true;
    return fuzz->sharing ? renew(fuzz, err) : fuzz_state_keep(&fuzz->state, fuzz->store, err);
}

static void met(void *context, uint64_t signature, bool is_new)
{
    struct fuzz *fuzz = context;
    bool fresh = !fuzz_state_knows(&fuzz->state, signature);
    fuzz->fresh |= fresh;
    fuzz->added |= is_new;
    if (fuzz->first_run && fresh)
        second_looks_add(&fuzz->shared.looks,
                         &(struct second_look){.number = (size_t)(uintptr_t)fuzz->first_run->user,
                                               .recipe = fuzz->first_run->test->recipe,
                                               .signature = signature});
}

/* What is run of a leased range is run again, in fresh processes, where something new shows. Bred cases
 * cannot be made again. */
static bool looks_twice(const struct fuzz *fuzz, size_t number)
{
    return fuzz->sharing && !fuzz->source.kind->bred && number < RANGE_MOST;
}

/* An engine that started once and no longer does, case after case, is not tested any more. */
static void watch_engines(struct fuzz *fuzz, const struct trial_done *done)
{
    for (size_t i = 0; i < done->n_engines; i++) {
        struct fuzz_engine *engine = &fuzz->status->engines[i];
        engine->silent = done->results[i].outcome == OUTCOME_NO_ENGINE ? engine->silent + 1 : 0;
        if (engine->silent < SILENT_CASES || fuzz->stop)
            continue;
        fuzz->stop = true;
        snprintf(fuzz->status->stopped, sizeof fuzz->status->stopped,
                 "the campaign stopped, as %s did not start on %d cases in a row: %.180s", engine->label,
                 SILENT_CASES, done->results[i].message ? done->results[i].message : "it gave no reason");
    }
}

/* Whether the case has a finding that was not there before; from then on it is known. */
static bool finds_new(struct fuzz *fuzz, const struct trial_done *done)
{
    bool found = false;
    for (size_t i = 0; i < done->n_engines; i++) {
        struct signature signature;
        if (!verdict_is_finding(done->judgement.verdicts[i].kind) ||
            !follow_up_signature(fuzz->options->panel, i, done, &signature))
            continue;
        uint64_t hash = hash_text(signature.text);
        found |= !fuzz_state_knows(&fuzz->state, hash);
        fuzz_state_learn(&fuzz->state, hash);
    }
    return found;
}

/* A bred case cannot be made again, so that of a new finding is kept in the folder. */
static int record_bred(struct fuzz *fuzz, struct fuzz_recorder *recorder, const struct trial_done *done,
                       struct error *err)
{
    char unkept[KEPT_NAME_SIZE + 20];
    snprintf(unkept, sizeof unkept, "unkept %s", done->test->name);
    if (finds_new(fuzz, done)) {
        fuzz->fresh = true;
        recorder->state = NULL; /* which knows it by now */
        if (kept_case_write(fuzz->options->folder, done->test->name, done->test, err))
            return -1;
    } else {
        recorder->recipe = unkept;
    }
    return fuzz_record(recorder, done, met, fuzz, err);
}

/* Where the second opinion contradicts the reference, one of the two is wrong: the case is written down for
 * whoever maintains them. */
static int keep_contradictions(const struct fuzz *fuzz, const struct trial_done *done, struct error *err)
{
    const struct fuzz_options *options = fuzz->options;
    char path[PATH_MAX];
    for (size_t i = 0; options->panel->second_opinion && options->folder && i < done->n_engines; i++) {
        const struct verdict *verdict = &done->judgement.verdicts[i];
        if (!verdict_is(verdict->kind, CLASS_DOUBT) || verdict->no_evidence)
            continue;
        snprintf(path, sizeof path, "%s/mistrusted.tsv", options->folder);
        FILE *file = fopen(path, "a");
        if (!file)
            return error_set(err, ERROR_IO, "cannot write %s", path);
        fprintf(file, "%s\t%s\t%s\n", done->test->recipe, panel_engine(options->panel, i)->label,
                verdict->text);
        if (fclose(file))
            return error_set(err, ERROR_IO, "cannot write %s", path);
    }
    return 0;
}

static struct fuzz_recorder recorder_for(struct fuzz *fuzz, size_t number)
{
    struct fuzz_recorder recorder = {
        .store = fuzz->store, .known = &fuzz->known, .panel = fuzz->options->panel};
    if (number < RANGE_MOST && fuzz->sharing) {
        recorder.buffer = &fuzz->shared.findings;
        recorder.state = &fuzz->state;
        recorder.number = number;
        recorder.first = fuzz->shared.lease.first;
    }
    return recorder;
}

static int record(struct fuzz *fuzz, size_t number, const struct trial_done *done, struct error *err)
{
    struct fuzz_recorder recorder = recorder_for(fuzz, number);
    recorder.only_met = fuzz->first_run != NULL;
    int status = fuzz->source.kind->bred ? record_bred(fuzz, &recorder, done, err)
                                         : fuzz_record(&recorder, done, met, fuzz, err);
    if (!status)
        status = keep_contradictions(fuzz, done, err);
    if (status || !fuzz->added)
        return status;
    update_status(fuzz);
    fuzz->status->last_new = fuzz->status->elapsed;
    return fuzz_recount(fuzz->status, fuzz->store, err);
}

/* Counts a case of the range, and lets the source hear of it. */
static int count(struct fuzz *fuzz, size_t number, const struct trial_done *done, struct error *err)
{
    const struct case_source_kind *kind = fuzz->source.kind;
    uint64_t before = fuzz->status->cases;
    fuzz->state.marks[number] = fuzz->fresh ? MARK_NEW : MARK_DONE;
    if (!fuzz->range.rough)
        fuzz_count(fuzz->status, done);
    fuzz->status->elapsed = fuzz->before + (clock_seconds() - fuzz->started);
    if (kind->hear && kind->hear(fuzz->source.self, number, done, fuzz->status, err))
        return -1;
    watch_engines(fuzz, done);
    fuzz->status->session_cases += fuzz->status->cases - before;
    return keep(fuzz, fuzz->added, err);
}

/* A case of a leased range that came to nothing: it is as if it had not been run yet. */
static int put_off(struct fuzz *fuzz, size_t number, const struct trial_done *done, struct error *err)
{
    second_looks_add(&fuzz->shared.looks,
                     &(struct second_look){.number = number, .recipe = done->test->recipe, .mishap = true});
    watch_engines(fuzz, done);
    return keep(fuzz, false, err);
}

static int record_and_count(struct fuzz *fuzz, size_t number, const struct trial_done *done,
                            struct error *err)
{
    bool of_range = number < RANGE_MOST;
    if (!(of_range && fuzz->range.rough) && record(fuzz, number, done, err))
        return -1;
    return of_range ? count(fuzz, number, done, err) : 0;
}

/* One finished case; number: its place in the range, or RANGE_MOST for one of the probe's. */
static int take(void *context, struct trial_done *done, struct error *err)
{
    struct fuzz *fuzz = context;
    size_t number = (size_t)(uintptr_t)done->user;
    fuzz->fresh = fuzz->added = false;
    bool of_range = number < RANGE_MOST, twice = looks_twice(fuzz, number);
    fuzz->first_run = twice ? done : NULL;
    int status = fuzz->lost              ? 0
                 : twice && done->mishap ? put_off(fuzz, number, done, err)
                                         : record_and_count(fuzz, number, done, err);
    fuzz->first_run = NULL;
    trial_done_release(done);
    if (of_range)
        fuzz->stop |= time_ends_range(fuzz);
    return status;
}

/* The next of what the probe found, as a case: a crash in probing is a finding. */
static int make_probe_find(void *context, struct test_case **test, void **user, struct error *err)
{
    struct fuzz *fuzz = context;
    if (fuzz->stop || fuzz->next == fuzz->probe.n_recipes)
        return 0;
    *user = (void *)(uintptr_t)RANGE_MOST;
    if (generate_recipe(fuzz->probe.recipes[fuzz->next++], test, err))
        *test = NULL; /* of a release with other operators */
    return 1;
}

static int run_probe_finds(struct fuzz *fuzz, struct error *err)
{
    fuzz->next = 0;
    return trials_run(fuzz->trials, &(struct trial_source){fuzz, make_probe_find, take}, err);
}

/* The case at the next place of the range, unless it was run before. */
static int make_next(void *context, struct test_case **test, void **user, struct error *err)
{
    struct fuzz *fuzz = context;
    struct fuzz_state *state = &fuzz->state;
    uint64_t most = fuzz->source.kind->bred ? 0 : fuzz->options->count;
    size_t number = fuzz->next;
    struct error why = {0};
    if (fuzz->stop || fuzz->lost || number == fuzz->range.count || (most && state->first + number >= most))
        return 0;
    fuzz->next++;
    *user = (void *)(uintptr_t)number;
    if (fuzz->source.kind->make(fuzz->source.self, state->first + number, number, test, &why)) {
        *test = NULL;
        if (why.code != ERROR_NOT_FOUND && why.code != ERROR_UNSUPPORTED) {
            *err = why;
            return -1;
        }
        state->marks[number] = MARK_DONE; /* nothing can be drawn there */
    } else if (state->marks[number] != MARK_TODO) {
        test_case_free(*test);
        *test = NULL;
    }
    fuzz->stop |= time_ends_range(fuzz);
    return 1;
}

/* 1: the range is done; 0: the campaign ends within it. */
static int run_range(struct fuzz *fuzz, struct error *err)
{
    struct trials *trials = fuzz->range.unjudged ? fuzz->unjudged
                            : fuzz->range.rough  ? fuzz->rough
                                                 : fuzz->trials;
    fuzz->next = 0;
    if (trials_run(trials, &(struct trial_source){fuzz, make_next, take}, err))
        return -1;
    return fuzz->next == fuzz->range.count;
}

static int learn(void *context, const struct stored *stored, struct error *err)
{
    (void)err;
    fuzz_state_learn(context, hash_text(stored->signature));
    return 0;
}

/* Coverage so far and the engines' counters, as others read them from the store. */
static int publish(struct fuzz *fuzz, struct error *err)
{
    const struct fuzz_status *s = fuzz->status;
    const struct coverage_point points[] = {
        {"OLC", (int64_t)s->cases, s->elapsed, s->coverage.olc},
        {"pairs", (int64_t)s->cases, s->elapsed, s->coverage.pairs},
    };
    int status = 0;
    for (size_t i = 0; i < sizeof points / sizeof *points && !status; i++)
        status = store_coverage(fuzz->store, &points[i], err);
    return status;
}

/* A short range of bred cases is no more than a few engine runs: it may be lost rather than saved. */
static bool snapshot_is_due(const struct fuzz *fuzz)
{
    double since = clock_seconds() - fuzz->snapshot;
    if (fuzz->range.sequel)
        return false; /* the range before it would be run and counted again */
    return !fuzz->source.kind->bred ||
           (since >= SNAPSHOT_SECONDS && fuzz->snapshot_took <= SNAPSHOT_SHARE * since);
}

static int save_snapshot(struct fuzz *fuzz, struct error *err)
{
    double start = clock_seconds();
    if (fuzz_state_begin(&fuzz->state, fuzz->store, &fuzz->source, err) || publish(fuzz, err))
        return -1;
    fuzz->snapshot = clock_seconds();
    fuzz->snapshot_took = fuzz->snapshot - start;
    return 0;
}

/* The next range: its guidance knows what the one before found. */
static int begin_range(struct fuzz *fuzz, struct error *err)
{
    struct store_filter all = {.merged = true, .gone = true};
    if (store_list(fuzz->store, &all, learn, &fuzz->state, err))
        return -1;
    update_status(fuzz);
    fuzz->source.kind->plan(fuzz->source.self, &fuzz->range);
    if (snapshot_is_due(fuzz))
        return save_snapshot(fuzz, err);
    fuzz_state_clear(&fuzz->state);
    return 0;
}

/* A finding that nobody has looked at yet. */
struct waiting {
    char *signature, *recipe, *engine;
};

static int find_waiting(void *context, const struct stored *stored, struct error *err)
{
    struct waiting *waiting = context;
    (void)err;
    if (stored->state != STATE_NEW)
        return 0;
    waiting->signature = memory_strdup(stored->signature);
    waiting->recipe = memory_strdup(stored->recipe);
    waiting->engine = memory_strdup(stored->engine);
    return 1;
}

/* A case of a shared search lies in the database. */
static int fetch_case(struct fuzz *fuzz, const char *recipe, struct error *err)
{
    static const char prefix[] = "case cases/";
    const char *name = recipe + strlen(prefix);
    size_t count;
    if (!fuzz->sharing || !text_starts(recipe, prefix) || !kept_case_name_valid(name))
        return 0;
    struct str path;
    str_init(&path);
    str_printf(&path, "%s/cases/%s", fuzz->options->folder, name);
    int status = stored_files_write(fuzz->store, recipe, path.data, &count, err);
    str_release(&path);
    return status;
}

/* A finding that this worker follows up. */
struct followed {
    struct fuzz *fuzz;
    const char *signature;
    double renewed; /* clock */
};

/* Should the lease be lost all the same, another finds out what this worker would have. */
static void renew_follow_up(void *context)
{
    struct followed *followed = context;
    struct fuzz *fuzz = followed->fuzz;
    bool held;
    if (clock_seconds() - followed->renewed < FOLLOW_UP_SECONDS / 4.0)
        return;
    followed->renewed = clock_seconds();
    work_follow_up_renew(fuzz->shared.work, followed->signature, FOLLOW_UP_SECONDS, &held, NULL);
}

static int reduce_one(struct fuzz *fuzz, const char *signature, const char *recipe, const char *engine,
                      struct error *err)
{
    const struct fuzz_options *o = fuzz->options;
    bool sharing = fuzz->sharing;
    struct followed followed = {fuzz, signature, clock_seconds()};
    struct follow_up_options options = {
        .panel = o->panel,
        .store = fuzz->store,
        .folder = o->folder,
        .work = sharing ? fuzz->shared.work : NULL,
        .alive = sharing ? renew_follow_up : NULL,
        .context = &followed,
        .draw = o->draw,
        .known = &fuzz->known,
        .registry = o->registry,
        .no_bisect = !sharing,
        .reduce_seconds = sharing ? SHARED_REDUCE_SECONDS : REDUCE_SECONDS,
        .reduce_deadline = sharing ? SHARED_REDUCE_DEADLINE : 0,
        .reduce_most = sharing ? SHARED_REDUCE_MOST : 0,
    };
    struct follow_up_done done;
    struct error why = {0};
    char reason[200];
    if (!fetch_case(fuzz, recipe, &why) &&
        !follow_up_finding(&options, signature, recipe, engine, &done, &why))
        return 0;
    snprintf(reason, sizeof reason, "%.180s", why.message);
    struct work_outcome failed = {.from = signature, .state = STATE_FAILED, .detail = reason};
    return sharing ? work_follow_up_done(fuzz->shared.work, &failed, err)
                   : store_settle(fuzz->store, signature,
                                  &(struct settled){.state = STATE_FAILED, .detail = reason}, err);
}

/* The next finding that nobody has looked at: 1, 0 when there is none. */
static int reduce_waiting(struct fuzz *fuzz, struct error *err)
{
    struct store_filter all = {0};
    struct waiting waiting = {0};
    int status = store_list(fuzz->store, &all, find_waiting, &waiting, err);
    if (status == 1 && reduce_one(fuzz, waiting.signature, waiting.recipe, waiting.engine, err))
        status = -1;
    free(waiting.signature);
    free(waiting.recipe);
    free(waiting.engine);
    return status;
}

/* The same in a shared campaign, where no other worker may look at it. */
static int reduce_leased(struct fuzz *fuzz, struct error *err)
{
    struct work_finding finding;
    bool found;
    work_finding_init(&finding);
    int status = work_follow_up(fuzz->shared.work, FOLLOW_UP_SECONDS, &finding, &found, err);
    if (!status && found)
        status =
            reduce_one(fuzz, finding.signature.data, finding.recipe.data, finding.engine.data, err) ? -1 : 1;
    work_finding_release(&finding);
    return status;
}

/* While no case is under way: as many new findings as there is time for. */
static int reduce_findings(struct fuzz *fuzz, struct error *err)
{
    while (fuzz->options->reduce && !fuzz->stop && !time_is_up(fuzz)) {
        double start = clock_seconds();
        if (fuzz->reducing > REDUCE_SHARE * (start - fuzz->started) && !fuzz->over)
            break;
        int status = fuzz->sharing ? reduce_leased(fuzz, err) : reduce_waiting(fuzz, err);
        fuzz->reducing += clock_seconds() - start;
        if (status <= 0)
            return status;
        if (fuzz_recount(fuzz->status, fuzz->store, err) || keep(fuzz, true, err))
            return -1;
    }
    return 0;
}

/* Whether the campaign has made all its cases. */
static bool is_over(const struct fuzz *fuzz)
{
    const struct case_source *source = &fuzz->source;
    uint64_t most = fuzz->options->count, made = source->kind->bred ? fuzz->status->cases : fuzz->state.first;
    if (fuzz->sharing)
        return fuzz->over;
    if (fuzz->range.sequel)
        return false; /* what looks like a finding is judged first */
    return (most && made >= most) || (source->kind->over && source->kind->over(source->self));
}

/* Engines as the store shows them; their cases are those of the whole campaign. */
static int add_cases(void *context, const struct stored_engine *engine, struct error *err)
{
    struct fuzz_engine *known = context;
    (void)err;
    if (text_equal(engine->label, known->label))
        known->stored_cases = engine->cases;
    return 0;
}

/* `cases`: of the campaign; negative: not known yet. */
static int note_engines(struct fuzz *fuzz, int64_t cases, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < fuzz->options->panel->count && !status; i++) {
        struct fuzz_engine *engine = &fuzz->status->engines[i];
        const char *version = panel_engine(fuzz->options->panel, i)->version;
        engine->stored_cases = 0;
        status = store_engines(fuzz->store, add_cases, engine, err);
        if (!status)
            status = store_engine(fuzz->store, engine->label, version,
                                  cases < 0 ? 0 : cases - engine->stored_cases, err);
    }
    return status;
}

static int note_all_engines(struct fuzz *fuzz, struct error *err)
{
    return note_engines(fuzz, (int64_t)fuzz->shared.totals.cases, err);
}

/* While no range is free: reduces findings, and waits a little. */
static int pass_time(struct fuzz *fuzz, double *pause, struct error *err)
{
    static const double longest = 1;
    if (reduce_findings(fuzz, err) || keep(fuzz, true, err))
        return -1;
    struct timespec time = {(time_t)*pause, (long)((*pause - floor(*pause)) * 1e9)};
    nanosleep(&time, NULL);
    *pause = fmin(longest, *pause * 1.5);
    fuzz->stop |= time_is_up(fuzz);
    return 0;
}

/* Drawn cases are one range; of bred ones a lease is several. */
static void plan_leased(struct fuzz *fuzz)
{
    fuzz->range = (struct case_range){.count = (size_t)fuzz->shared.lease.count};
    if (fuzz->source.kind->bred)
        fuzz->source.kind->plan(fuzz->source.self, &fuzz->range);
    fuzz->steps = 0;
}

/* Whether the search at hand has another step to do before its range is returned. */
static bool go_on(struct fuzz *fuzz)
{
    enum { MOST_STEPS = 1000 };
    const struct case_source *source = &fuzz->source;
    if (!source->kind->bred || fuzz->lost)
        return false;
    source->kind->plan(source->self, &fuzz->range);
    bool more =
        fuzz_shared_goes_on(&fuzz->shared) && !source->kind->over(source->self) && ++fuzz->steps < MOST_STEPS;
    if (!more && !fuzz->range.sequel)
        return false;
    fuzz_state_clear(&fuzz->state);
    return true;
}

/* When all cases are done, a campaign goes on until its findings are reduced, those of workers that died,
 * too. */
static int is_all_done(struct fuzz *fuzz, enum work_kind kind, bool *done, struct error *err)
{
    bool left = false;
    fuzz->over = kind == WORK_OVER || kind == WORK_STOPPED;
    if (kind == WORK_OVER && fuzz->options->reduce && work_follow_ups_left(fuzz->shared.work, &left, err))
        return -1;
    *done = fuzz->over && !left;
    return 0;
}

/* Gets a range of a shared campaign: 1, or 0 when there will be none. */
static int lease_range(struct fuzz *fuzz, struct error *err)
{
    double pause = 0.02;
    while (!fuzz->stop) {
        enum work_kind kind;
        bool done;
        if (fuzz_shared_next(&fuzz->shared, &kind, err) || is_all_done(fuzz, kind, &done, err))
            return -1;
        fuzz->lost = false;
        if (done)
            return 0;
        if (kind == WORK_RANGE) {
            plan_leased(fuzz);
            return 1;
        }
        if (kind == WORK_FOLD ? note_all_engines(fuzz, err) : pass_time(fuzz, &pause, err))
            return -1;
    }
    return 0;
}

static int return_range(struct fuzz *fuzz, struct error *err)
{
    size_t added = 0;
    fuzz->going_on = go_on(fuzz);
    if (fuzz->lost || fuzz->going_on)
        return 0;
    if (fuzz_shared_return(&fuzz->shared, &added, err))
        return -1;
    const struct case_source_kind *kind = fuzz->source.kind; /* one island that has all is enough */
    if (kind->bred && kind->over(fuzz->source.self) && work_set_stopped(fuzz->store, true, err))
        return -1;
    if (!added)
        return 0;
    fuzz->status->last_new = fuzz->status->elapsed;
    return fuzz_recount(fuzz->status, fuzz->store, err);
}

/* An engine that does not start has not been asked: then the range is for a worker where it does. */
static int check_started(const struct fuzz *fuzz, const struct trial_done *done, struct error *err)
{
    for (size_t i = 0; i <= done->n_engines; i++) {
        const struct result *result = i < done->n_engines ? &done->results[i] : &done->reference;
        if (result->outcome == OUTCOME_NO_ENGINE)
            return error_set(err, ERROR_NOT_FOUND,
                             "%s does not start any more, so that another worker gets this range: %.180s",
                             fuzz->status->engines[i].label,
                             result->message ? result->message : "it gave no reason");
    }
    return 0;
}

static int look_again(struct fuzz *fuzz, const struct second_look *look, struct error *err)
{
    const struct fuzz_options *o = fuzz->options;
    struct trial_done done;
    fuzz->fresh = fuzz->added = false;
    if (follow_up_again(o->panel, o->registry, o->folder, look->recipe, &done, err))
        return -1;
    int status = check_started(fuzz, &done, err);
    if (!status && look->mishap) {
        status = record_and_count(fuzz, look->number, &done, err);
    } else if (!status) {
        struct fuzz_recorder recorder = recorder_for(fuzz, look->number);
        status = fuzz_record(&recorder, &done, met, fuzz, err);
        fuzz->state.marks[look->number] = fuzz->fresh ? MARK_NEW : MARK_DONE;
    }
    trial_done_release(&done);
    return status;
}

/*
 * What a leased range found is found again in fresh processes, and that counts: else the range would differ
 * with what its worker had run before, and with how much its machine had to do. Of the cases that showed the
 * same, it is enough that the first shows it again.
 */
static int look_twice(struct fuzz *fuzz, struct error *err)
{
    struct second_looks *looks = &fuzz->shared.looks;
    size_t last = RANGE_MOST;
    second_looks_sort(looks);
    for (size_t i = 0; i < looks->count && !fuzz->lost && !fuzz->stop; i++) {
        const struct second_look *look = &looks->looks[i];
        if (look->number == last ||
            (!look->mishap && !finding_buffer_wants(&fuzz->shared.findings, look->signature, look->number)))
            continue;
        last = look->number;
        if (look_again(fuzz, look, err) || keep(fuzz, false, err))
            return -1;
    }
    return 0;
}

/* 1: a leased range may be returned. A signal hands it back at once: it may have ended engines as well, so
 * that what they said last is no answer. */
static int finish_leased(struct fuzz *fuzz, struct error *err)
{
    if ((looks_twice(fuzz, 0) && look_twice(fuzz, err)) || keep(fuzz, true, err))
        return -1;
    return !fuzz->stop;
}

/* Lets the source hear of it, and goes on to the next. */
static int end_range(struct fuzz *fuzz, struct error *err)
{
    if (fuzz->source.kind->end(fuzz->source.self, fuzz->state.marks, fuzz->range.count, err))
        return -1;
    if (fuzz->sharing)
        return return_range(fuzz, err);
    fuzz->state.first += fuzz->range.count;
    return begin_range(fuzz, err);
}

static int run_ranges(struct fuzz *fuzz, struct error *err)
{
    while (!fuzz->stop && !is_over(fuzz)) {
        int status = fuzz->sharing && !fuzz->going_on ? lease_range(fuzz, err) : 1;
        fuzz->going_on = false;
        if (status > 0)
            status = run_range(fuzz, err);
        if (status > 0 && fuzz->sharing)
            status = finish_leased(fuzz, err);
        if (fuzz->lost && status == 0)
            continue;
        if (status <= 0)
            return status;
        if (end_range(fuzz, err) || (!fuzz->going_on && reduce_findings(fuzz, err)))
            return -1;
        fuzz->stop |= !fuzz->going_on && time_is_up(fuzz);
    }
    bool snapshot = fuzz->source.kind->bred && !fuzz->range.sequel && !fuzz->sharing;
    return snapshot ? save_snapshot(fuzz, err) : 0;
}

/* One start at a time: the lock goes with the process that holds it. */
static int lock_folder(struct fuzz *fuzz, struct error *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *path = file_join(fuzz->options->folder, "lock");
    int status = file_make_folders(fuzz->options->folder, err);
    if (!status && (fuzz->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
        status = error_errno(err, "cannot open %s", path);
    if (!status && fcntl(fuzz->lock, F_SETLK, &whole))
        status = error_set(err, ERROR_IO, "another start of this campaign is still running in %s",
                           fuzz->options->folder);
    free(path);
    return status;
}

/* A database that is no campaign's is told before anything is made beside it; an empty one is a campaign that
 * was killed at its first moment. */
static int check_store(const char *folder, struct error *err)
{
    char *path = file_join(folder, "assay.db");
    struct store *store = NULL;
    struct stat info;
    bool there = stat(path, &info) == 0 && info.st_size > 0;
    free(path);
    int status = there ? store_open(&store, folder, STORE_READ, err) : 0;
    store_close(store);
    return status;
}

static int open_known(struct fuzz *fuzz, struct error *err)
{
    const struct fuzz_options *options = fuzz->options;
    struct known_files files = {
        .named = options->known, .folder = options->folder, .none_installed = options->no_known};
    return known_open(&fuzz->known, &files, err);
}

/* Rules about settings need the engines' knobs; pairs of them would be a process each. */
static void choose_rules(struct fuzz *fuzz, struct rule_choice *rules)
{
    const struct panel *panel = fuzz->options->panel;
    rules->n_knobs = knob_settings_of_panel(&fuzz->arena, panel, false, false, &rules->knobs);
    if (!panel->fresh && !rules->without)
        rules->without = "fresh";
}

/* The store of a campaign in a folder, which one process has at a time. */
static int open_folder(struct fuzz *fuzz, struct error *err)
{
    const char *folder = fuzz->options->folder;
    return store_check_folder(folder, err) || check_store(folder, err) || lock_folder(fuzz, err) ||
                   store_open(&fuzz->store, folder, STORE_CREATE, err)
               ? -1
               : 0;
}

static int open_campaign(struct fuzz *fuzz, struct error *err)
{
    const struct fuzz_options *o = fuzz->options;
    struct fuzz_source_options source = o->source;
    struct fuzz_options probing = *o;
    /* Whatever may be wrong with the options comes before the folder. */
    if (options_check(&source.generate, err) || rule_choice_check(&source.rules, err) ||
        open_known(fuzz, err))
        return -1;
    if (source.only_blocks && fuzz_source_operators(&source, &fuzz->arena, &probing.source.generate.ops, err))
        return -1;
    if (o->shared ? fuzz_shared_store(&fuzz->store, o->shared, STORE_CREATE, err) : open_folder(fuzz, err))
        return -1;
    if (check_options(fuzz, err))
        return -1;
    if (o->search)
        return search_source_new(&fuzz->source, o->search, o->panel, o->folder, err);
    if (o->probe && (o->shared ? fuzz_probe_share(&fuzz->probe, &probing, fuzz->store, err)
                               : fuzz_probe_load(&fuzz->probe, &probing, err)))
        return -1;
    source.n_engines = fuzz->probe.n_engines;
    source.lacks = (const struct probe_support *const *)fuzz->probe.lacks;
    source.all_lack = fuzz->probe.all_lack;
    if (source.rules_share > 0)
        choose_rules(fuzz, &source.rules);
    struct fuzz_source *made;
    if (fuzz_source_new(&made, &source, err))
        return -1;
    fuzz->source = fuzz_source_cases(made);
    return 0;
}

#define PROBE_TASK "probe finds"

static int run_probe_find(struct fuzz *fuzz, size_t number, struct error *err)
{
    const struct fuzz_options *o = fuzz->options;
    struct fuzz_recorder recorder = recorder_for(fuzz, number);
    struct trial_done done;
    struct error why = {0};
    recorder.state = NULL;
    recorder.first = -1 - (int64_t)fuzz->probe.n_recipes;
    if (follow_up_again(o->panel, o->registry, o->folder, fuzz->probe.recipes[number], &done, &why))
        return 0; /* of a release with other operators */
    int status = check_started(fuzz, &done, err);
    if (!status)
        status = fuzz_record(&recorder, &done, met, fuzz, err);
    trial_done_release(&done);
    return status;
}

/* In fresh processes, and written at once: then it does not matter who runs them, and who dies of them. */
static int run_shared_probe_finds(struct fuzz *fuzz, struct error *err)
{
    struct finding_buffer *found = &fuzz->shared.findings;
    bool mine = true;
    finding_buffer_clear(found);
    for (size_t i = 0; i < fuzz->probe.n_recipes && mine && !fuzz->stop; i++)
        if (run_probe_find(fuzz, i, err) || keep(fuzz, false, err) ||
            work_task(fuzz->shared.work, PROBE_TASK, FOLLOW_UP_SECONDS, &mine, err))
            return -1;
    if (!mine || fuzz->stop)
        return 0;
    return work_task_return(fuzz->shared.work, PROBE_TASK, found->findings, found->count, &mine, err);
}

/* One worker runs them, and another when it dies of them. They come before all ranges, so that the others
 * wait. */
static int share_probe_finds(struct fuzz *fuzz, struct error *err)
{
    static const struct timespec pause = {.tv_nsec = 200000000};
    bool mine, done = !fuzz->probe.n_recipes;
    while (!done && !fuzz->stop) {
        if (work_task(fuzz->shared.work, PROBE_TASK, FOLLOW_UP_SECONDS, &mine, err) ||
            (mine && run_shared_probe_finds(fuzz, err)) ||
            work_task_is_done(fuzz->shared.work, PROBE_TASK, &done, err))
            return -1;
        if (done)
            break;
        if (keep(fuzz, true, err))
            return -1;
        nanosleep(&pause, NULL);
        fuzz->stop |= time_is_up(fuzz);
    }
    return fuzz_recount(fuzz->status, fuzz->store, err);
}

/* To the end of a shared campaign, or of this worker's time. The summary is about the whole campaign. */
static int take_part(struct fuzz *fuzz, struct error *err)
{
    const struct fuzz_options *o = fuzz->options;
    fuzz->sharing = true;
    if (fuzz_shared_open(&fuzz->shared, fuzz->store, o->shared, (int64_t)o->count, o->folder, &fuzz->state,
                         &fuzz->source, fuzz->status, err) ||
        known_again(&fuzz->known, fuzz->store, err) || note_engines(fuzz, -1, err) ||
        share_probe_finds(fuzz, err))
        return -1;
    int status = run_ranges(fuzz, err);
    fuzz_shared_drop(&fuzz->shared);
    if (status || keep(fuzz, true, err))
        return -1;
    return fuzz_recount(fuzz->status, fuzz->store, err) || fuzz_shared_count(&fuzz->shared, fuzz->status, err)
               ? -1
               : 0;
}

static int run_campaign(struct fuzz *fuzz, struct error *err)
{
    bool found;
    if (fuzz_state_load(&fuzz->state, fuzz->store, &fuzz->source, &found, err) ||
        known_again(&fuzz->known, fuzz->store, err) || fuzz_recount(fuzz->status, fuzz->store, err))
        return -1;
    fuzz->before = fuzz->status->elapsed;
    fuzz->source.kind->plan(fuzz->source.self, &fuzz->range);
    if (note_engines(fuzz, (int64_t)fuzz->status->cases, err))
        return -1;
    if (!found && (run_probe_finds(fuzz, err) || fuzz->stop || begin_range(fuzz, err)))
        return fuzz->stop ? 0 : -1;
    if (run_ranges(fuzz, err) || keep(fuzz, true, err))
        return -1;
    return note_engines(fuzz, (int64_t)fuzz->status->cases, err) || publish(fuzz, err) ? -1 : 0;
}

/* Before a folder is made and thousands of cases are. */
static int check_engines(const struct panel *panel, struct error *err)
{
    for (size_t i = 0; i <= panel->count; i++) {
        int engine = i < panel->count ? panel->engines[i] : panel->reference;
        if (engine >= 0 && pool_starts(panel->pool, engine, err))
            return error_set(err, ERROR_NOT_FOUND, "%s does not start, so no campaign was begun",
                             pool_engine(panel->pool, engine)->label);
    }
    return 0;
}

static void open_rough_trials(struct fuzz *fuzz, struct trial_options options)
{
    options.settle = false;
    fuzz->rough = trials_new(&options);
    fuzz->engines = *options.panel;
    fuzz->engines.reference = -1;
    options.panel = &fuzz->engines;
    fuzz->unjudged = trials_new(&options);
}

static int run_fuzz(const struct fuzz_options *options, struct fuzz_status *status, struct error *err)
{
    struct fuzz fuzz = {.options = options, .status = status, .started = clock_seconds(), .lock = -1};
    struct trial_options trials = {.panel = options->panel, .settle = true, .registry = options->registry};
    arena_init(&fuzz.arena);
    *status = (struct fuzz_status){0};
    if (check_engines(options->panel, err)) {
        arena_release(&fuzz.arena);
        return -1;
    }
    init_status(&fuzz);
    fuzz_state_init(&fuzz.state, status);
    int result = open_campaign(&fuzz, err);
    if (!result) {
        fuzz.trials = trials_new(&trials);
        if (fuzz.source.kind->bred)
            open_rough_trials(&fuzz, trials);
        result = options->shared ? take_part(&fuzz, err) : run_campaign(&fuzz, err);
        trials_free(fuzz.unjudged);
        trials_free(fuzz.rough);
        trials_free(fuzz.trials);
        update_status(&fuzz);
    }
    if (fuzz.sharing)
        fuzz_shared_close(&fuzz.shared);
    if (fuzz.source.kind)
        fuzz.source.kind->free(fuzz.source.self);
    fuzz_probe_release(&fuzz.probe);
    fuzz_state_release(&fuzz.state);
    known_release(&fuzz.known);
    arena_release(&fuzz.arena);
    store_close(fuzz.store);
    if (fuzz.lock >= 0)
        close(fuzz.lock);
    return result;
}

int fuzz_run(const struct fuzz_options *options, struct fuzz_status *status, struct error *err)
{
    struct fuzz_options own = *options;
    char *scratch;
    *status = (struct fuzz_status){0};
    if (!options->shared)
        return run_fuzz(options, status, err);
    /* What a worker needs on disk for a while; of one that is killed, the next process removes it. */
    if (pool_folder(options->panel->pool, &scratch, err))
        return -1;
    own.folder = scratch;
    int result = run_fuzz(&own, status, err);
    file_remove_tree(scratch, NULL);
    free(scratch);
    return result;
}
