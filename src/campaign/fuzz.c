#include "campaign/fuzz_running.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "campaign/folder_source.h"
#include "campaign/search_source.h"
#include "diagnose/known_findings.h"
#include "findings/known_witness.h"
#include "generate/case_maker.h"
#include "rules/knob_settings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How often progress is kept and the watcher called. */
#define KEEP_SECONDS 0.25

/* Snapshots of bred cases are saved at most this often, and may take at most this share of the time. */
#define SNAPSHOT_SECONDS 0.5
#define SNAPSHOT_SHARE 0.05

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

/* The options that determine the cases: a campaign is resumed only with the same ones. */
static char *describe(const struct fuzz_options *options)
{
    const struct fuzz_source_options *s = &options->source;
    struct str text;
    if (options->search)
        return describe_search(options);
    str_init(&text);
    str_printf(&text, "seed %" PRIu64 ", strategy %s", s->seed, fuzz_strategy_name(s->strategy));
    if (s->blocks)
        str_printf(&text, ", %zu blocks", s->blocks);
    str_printf(&text, "%s%s, engines", s->redraw ? "" : ", drawn once", options->probe ? "" : ", no probe");
    describe_engines(options, &text);
    if (s->only_blocks)
        str_printf(&text, ", only blocks %s", s->only_blocks);
    if (s->rules_share > 0)
        str_printf(&text, ", %s %s, share %g, depth %zu", s->rules.bytes ? "bytes by rules" : "rules",
                   s->rules.rules ? s->rules.rules : "all", s->rules_share, s->rules_depth);
    if (s->method)
        str_printf(&text, ", method %s", s->method);
    if (options->from)
        str_printf(&text, ", from %s", options->from);
    if (options->sweep)
        str_add(&text, ", exhaustive");
    if (options->sweep && options->sweep->of)
        str_printf(&text, ", shard %zu of %zu", options->sweep->shard, options->sweep->of);
    recipe_options(&text, &s->generate);
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

void fuzz_update_status(struct fuzz *fuzz)
{
    struct fuzz_status *status = fuzz->status;
    status->session = clock_seconds() - fuzz->started;
    status->elapsed = fuzz->before + status->session;
    fuzz->source.kind->figures(fuzz->source.self, status);
}

bool fuzz_time_is_up(const struct fuzz *fuzz)
{
    double limit = fuzz->options->seconds;
    return limit > 0 && clock_seconds() - fuzz->started >= limit;
}

/* A leased range counts only as a whole, so when the time is over a worker finishes it first. A signal hands
 * it back at once. */
bool fuzz_time_ends_range(const struct fuzz *fuzz)
{
    return !fuzz->sharing && fuzz_time_is_up(fuzz);
}

/* Whoever removes or replaces the folder ends the campaign: what it finds would be written nowhere. */
static int check_folder(const struct fuzz *fuzz, struct error *err)
{
    bool same = fuzz->lock < 0 ||
                (folder_is_there(&fuzz->folder) && folder_is_file(&fuzz->folder, "lock", fuzz->lock));
    return same ? 0
                : error_set(err, ERROR_IO, "the campaign's folder %s was removed or replaced while it ran",
                            fuzz->options->folder);
}

static void tell_watcher(struct fuzz *fuzz)
{
    fuzz_update_status(fuzz);
    if (fuzz->options->watch && fuzz->options->watch(fuzz->options->context, fuzz->status))
        fuzz->stop = true;
}

/* Every so often, and at once when something new was met. */
int fuzz_keep(struct fuzz *fuzz, bool now, struct error *err)
{
    if (!now && clock_seconds() - fuzz->kept < KEEP_SECONDS)
        return 0;
    fuzz->kept = clock_seconds();
    if (check_folder(fuzz, err))
        return -1;
    tell_watcher(fuzz);
    return fuzz->sharing ? fuzz_renew(fuzz, err) : fuzz_state_keep(&fuzz->state, fuzz->store, err);
}

/* The next of what the probe found, as a case: a crash in probing is a finding. */
static int make_probe_find(void *context, struct test_case **test, void **user, struct error *err)
{
    struct fuzz *fuzz = context;
    if (fuzz->stop || fuzz->next == fuzz->probe.n_recipes)
        return 0;
    *user = (void *)(uintptr_t)RANGE_MOST;
    if (generate_recipe(fuzz->probe.recipes[fuzz->next++], test, err))
        *test = NULL; /* the probe was of a release with other operators */
    return 1;
}

static int run_probe_finds(struct fuzz *fuzz, struct error *err)
{
    fuzz->next = 0;
    return trials_run(fuzz->trials, &(struct trial_source){fuzz, make_probe_find, fuzz_take}, err);
}

/* The case at the next place of the range, unless it was run before. */
static int make_next(void *context, struct test_case **test, void **user, struct error *err)
{
    struct fuzz *fuzz = context;
    struct fuzz_state *state = &fuzz->state;
    uint64_t most = fuzz->source.kind->bred ? 0 : fuzz->count;
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
    fuzz->stop |= fuzz_time_ends_range(fuzz);
    return 1;
}

/* 1: the range is done; 0: the campaign ends within it. */
static int run_range(struct fuzz *fuzz, struct error *err)
{
    struct trials *trials = fuzz->range.unjudged ? fuzz->unjudged
                            : fuzz->range.rough  ? fuzz->rough
                                                 : fuzz->trials;
    fuzz->next = 0;
    if (trials_run(trials, &(struct trial_source){fuzz, make_next, fuzz_take}, err))
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

/* A range of bred cases may be only a few engine runs: to save a snapshot could cost more than to run it
 * again. */
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

/* Begins the next range, whose guidance knows what was found in the one before. */
static int begin_range(struct fuzz *fuzz, struct error *err)
{
    struct store_filter all = {.merged = true, .gone = true};
    if (store_list(fuzz->store, &all, learn, &fuzz->state, err))
        return -1;
    fuzz_update_status(fuzz);
    fuzz->source.kind->plan(fuzz->source.self, &fuzz->range);
    if (snapshot_is_due(fuzz))
        return save_snapshot(fuzz, err);
    fuzz_state_clear(&fuzz->state);
    return 0;
}

/* Whether the campaign has made all its cases. */
static bool is_over(const struct fuzz *fuzz)
{
    const struct case_source *source = &fuzz->source;
    uint64_t most = fuzz->count, made = source->kind->bred ? fuzz->status->cases : fuzz->state.first;
    if (fuzz->sharing)
        return fuzz->over;
    if (fuzz->range.sequel)
        return false; /* the range belongs to the one before it, and is run first */
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
int fuzz_note_engines(struct fuzz *fuzz, int64_t cases, struct error *err)
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

/* Tells the source that the range has ended, and begins the next one. */
static int end_range(struct fuzz *fuzz, struct error *err)
{
    if (fuzz->source.kind->end(fuzz->source.self, fuzz->state.marks, fuzz->range.count, err))
        return -1;
    if (fuzz->sharing)
        return fuzz_return_range(fuzz, err);
    fuzz->state.first += fuzz->range.count;
    return begin_range(fuzz, err);
}

int fuzz_run_ranges(struct fuzz *fuzz, struct error *err)
{
    while (!fuzz->stop && !is_over(fuzz)) {
        int status = fuzz->sharing && !fuzz->going_on ? fuzz_lease_range(fuzz, err) : 1;
        fuzz->going_on = false;
        if (status > 0)
            status = run_range(fuzz, err);
        if (status > 0 && fuzz->sharing)
            status = fuzz_finish_leased(fuzz, err);
        if (fuzz->lost && status == 0)
            continue;
        if (status <= 0)
            return status;
        if (end_range(fuzz, err) || (!fuzz->going_on && fuzz_reduce_findings(fuzz, err)))
            return -1;
        fuzz->stop |= !fuzz->going_on && fuzz_time_is_up(fuzz);
    }
    bool snapshot = fuzz->source.kind->bred && !fuzz->range.sequel && !fuzz->sharing;
    return snapshot ? save_snapshot(fuzz, err) : 0;
}

/* One start at a time: the lock goes with the process that holds it. */
static int lock_folder(struct fuzz *fuzz, struct error *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fuzz->lock = folder_open_in_place(&fuzz->folder, "lock", err);
    if (fuzz->lock < 0)
        return -1;
    return fcntl(fuzz->lock, F_SETLK, &whole)
               ? error_set(err, ERROR_IO, "another start of this campaign is still running in %s",
                           fuzz->options->folder)
               : 0;
}

/* Refuses a database that is no campaign's before anything is written beside it. An empty one is that of a
 * campaign that was killed at its very beginning. */
static int check_store(const struct folder *folder, struct error *err)
{
    struct store *store = NULL;
    struct stat info;
    if (!folder_has(folder, STORE_FILE))
        return 0;
    int fd = folder_open_file(folder, STORE_FILE, err);
    if (fd < 0)
        return -1;
    bool there = fstat(fd, &info) == 0 && info.st_size > 0;
    close(fd);
    int status = there ? store_open(&store, folder->path, STORE_READ, err) : 0;
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

/* Rules about settings need the engines' knobs. Pairs of knobs are left out, as each would need a process of
 * its own. */
static void choose_rules(struct fuzz *fuzz, struct rule_choice *rules)
{
    const struct panel *panel = fuzz->options->panel;
    rules->n_knobs = knob_settings_of_panel(&fuzz->arena, panel, false, false, &rules->knobs);
    if (!panel->fresh && !rules->without)
        rules->without = "fresh";
}

/* A link that leads out of the folder is reported before the campaign begins, not when the campaign comes to
 * it. */
static int check_entries(const struct folder *folder, struct error *err)
{
    char **names;
    size_t count;
    int status = folder_list(folder, &names, &count, err);
    for (size_t i = 0; i < count && !status; i++)
        if (folder_look(folder, names[i]) == ENTRY_OTHER)
            status = folder_check_in_place(folder, names[i], err);
    file_names_free(names, count);
    return status;
}

/* The store of a campaign in a folder, which one process has at a time. */
static int open_folder(struct fuzz *fuzz, struct error *err)
{
    const char *path = fuzz->options->folder;
    return store_check_folder(path, err) || folder_make(&fuzz->folder, USERS_PATH, path, err) ||
                   check_entries(&fuzz->folder, err) || check_store(&fuzz->folder, err) ||
                   lock_folder(fuzz, err) || store_open(&fuzz->store, path, STORE_CREATE, err)
               ? -1
               : 0;
}

/* Sweeps leave out what all engines lack. They are finite: so is the campaign, whatever its limit. */
static int open_sweep(struct fuzz *fuzz, struct error *err)
{
    struct generate_options generate = fuzz->options->source.generate;
    uint64_t count;
    generate.lacks = fuzz->probe.all_lack ? probe_lacks_any : NULL;
    generate.lacks_context = fuzz->probe.all_lack;
    if (sweep_source_new(&fuzz->source, fuzz->options->sweep, fuzz->options->source.seed, &generate, &count,
                         err))
        return -1;
    if (!fuzz->count || fuzz->count > count)
        fuzz->count = count;
    return 0;
}

static int open_campaign(struct fuzz *fuzz, struct error *err)
{
    const struct fuzz_options *o = fuzz->options;
    struct fuzz_source_options source = o->source;
    struct fuzz_options probing = *o;
    /* Mistakes in the options are reported before the folder is made. */
    if (options_check(&source.generate, err) || rule_choice_check(&source.rules, err) ||
        open_known(fuzz, err))
        return -1;
    if (source.only_blocks && fuzz_source_operators(&source, &fuzz->arena, &probing.source.generate.ops, err))
        return -1;
    if (o->shared ? folder_open(&fuzz->folder, USERS_PATH, o->folder, err) ||
                        fuzz_shared_store(&fuzz->store, o->shared, STORE_CREATE, err)
                  : open_folder(fuzz, err))
        return -1;
    if (check_options(fuzz, err))
        return -1;
    if (o->search)
        return search_source_new(&fuzz->source, o->search, o->panel, &fuzz->folder, err);
    if (o->from)
        return folder_source_new(&fuzz->source, o->from, err);
    if (o->shared ? fuzz_probe_share(&fuzz->probe, &probing, &fuzz->folder, fuzz->store, err)
                  : fuzz_probe_load(&fuzz->probe, &probing, &fuzz->folder, err))
        return -1;
    fuzz->status->probe_finds = fuzz->probe.failures;
    source.n_engines = fuzz->probe.n_engines;
    source.lacks = (const struct probe_support *const *)fuzz->probe.lacks;
    source.all_lack = fuzz->probe.all_lack;
    if (o->sweep)
        return open_sweep(fuzz, err);
    if (source.rules_share > 0)
        choose_rules(fuzz, &source.rules);
    struct fuzz_source *made;
    if (fuzz_source_new(&made, &source, err))
        return -1;
    fuzz->source = fuzz_source_cases(made);
    return 0;
}

static int run_campaign(struct fuzz *fuzz, struct error *err)
{
    bool found;
    if (fuzz_state_load(&fuzz->state, fuzz->store, &fuzz->source, &found, err) ||
        witnesses_try(&fuzz->known, fuzz->options->panel, fuzz->store, err) ||
        known_again(&fuzz->known, fuzz->store, false, err) || fuzz_recount(fuzz->status, fuzz->store, err))
        return -1;
    fuzz->before = fuzz->status->elapsed;
    fuzz->source.kind->plan(fuzz->source.self, &fuzz->range);
    if (fuzz_note_engines(fuzz, (int64_t)fuzz->status->cases, err))
        return -1;
    tell_watcher(fuzz); /* at the beginning, as the first case may take long */
    if (!found && (run_probe_finds(fuzz, err) || fuzz->stop || begin_range(fuzz, err)))
        return fuzz->stop ? 0 : -1;
    if (fuzz_run_ranges(fuzz, err) || fuzz_keep(fuzz, true, err) ||
        known_again(&fuzz->known, fuzz->store, true, err) || fuzz_recount(fuzz->status, fuzz->store, err))
        return -1;
    return fuzz_note_engines(fuzz, (int64_t)fuzz->status->cases, err) || publish(fuzz, err) ? -1 : 0;
}

/* Checks that every engine starts, before the folder and thousands of cases are made. */
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
    struct fuzz fuzz = {.options = options,
                        .status = status,
                        .count = options->count,
                        .started = clock_seconds(),
                        .lock = -1};
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
        trials.narrow = !fuzz.source.kind->bred;
        fuzz.trials = trials_new(&trials);
        if (fuzz.source.kind->bred)
            open_rough_trials(&fuzz, trials);
        result = options->shared ? fuzz_take_part(&fuzz, err) : run_campaign(&fuzz, err);
        trials_free(fuzz.unjudged);
        trials_free(fuzz.rough);
        trials_free(fuzz.trials);
        fuzz_update_status(&fuzz);
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
    folder_close(&fuzz.folder);
    return result;
}

int fuzz_run(const struct fuzz_options *options, struct fuzz_status *status, struct error *err)
{
    struct fuzz_options own = *options;
    char *scratch;
    *status = (struct fuzz_status){0};
    if (!options->shared)
        return run_fuzz(options, status, err);
    /* A folder for temporary files of this worker. When it is killed, the next process removes the folder. */
    if (pool_folder(options->panel->pool, &scratch, err))
        return -1;
    own.folder = scratch;
    int result = run_fuzz(&own, status, err);
    file_remove_tree(scratch, NULL);
    free(scratch);
    return result;
}
