#include "campaign/fuzz_shared.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "findings/stored_files.h"

#include <stdlib.h>
#include <string.h>

enum { ISLANDS = 8, ISLAND_RANGE = 500, LEASE_SECONDS = 60, RENEWALS = 4 /* in the time of a lease */ };

int fuzz_shared_store(struct store **store, const struct fuzz_shared_options *options, enum store_mode mode,
                      struct error *err)
{
    bool served = strstr(options->database, "://") || strchr(options->database, '=');
    return served ? store_open_campaign(store, options->database, options->campaign, mode, err)
                  : store_open(store, options->database, mode, err);
}

static void init_counters(struct fuzz_status *counters, const struct fuzz_status *like)
{
    *counters = (struct fuzz_status){.n_engines = like->n_engines, .last_new = -1};
    counters->engines = memory_zeroed(like->n_engines + 1, sizeof *counters->engines);
}

int fuzz_shared_open(struct fuzz_shared *shared, struct store *store,
                     const struct fuzz_shared_options *options, int64_t count, const struct folder *folder,
                     struct fuzz_state *state, const struct case_source *source, struct fuzz_status *status,
                     struct error *err)
{
    struct work_settings settings = {.range = options->range, .count = count};
    if (source->kind->bred) {
        settings.islands = ISLANDS;
        settings.range = options->range ? options->range : ISLAND_RANGE;
    }
    *shared = (struct fuzz_shared){
        .store = store,
        .folder = folder,
        .state = state,
        .source = source,
        .status = status,
        .seconds = options->lease > 0 ? options->lease : LEASE_SECONDS,
        .snapshot = -1,
    };
    init_counters(&shared->totals, status);
    init_counters(&shared->before, status);
    finding_buffer_init(&shared->findings);
    second_looks_init(&shared->looks);
    str_init(&shared->text);
    str_init(&shared->owner);
    work_owner(&shared->owner);
    state->status = &shared->totals;
    if (work_agree(store, &settings, err))
        return -1;
    if (settings.count != count)
        return error_set(err, ERROR_USAGE,
                         "the campaign has %lld cases (0: no limit), not %lld: give the same --count",
                         (long long)settings.count, (long long)count);
    return work_open(&shared->work, store, shared->owner.data, shared->seconds, err);
}

/* Copies the counters of cases. The time that engines took stays that of this worker. */
static void copy_counts(struct fuzz_status *to, const struct fuzz_status *from)
{
    to->cases = from->cases;
    for (size_t i = 0; i < to->n_engines; i++) {
        struct fuzz_engine *engine = &to->engines[i];
        memcpy(engine->verdicts, from->engines[i].verdicts, sizeof engine->verdicts);
        memcpy(engine->paper, from->engines[i].paper, sizeof engine->paper);
    }
}

static void copy_counters(struct fuzz_status *to, const struct fuzz_status *from)
{
    copy_counts(to, from);
    for (size_t i = 0; i < to->n_engines; i++)
        to->engines[i].busy = from->engines[i].busy;
}

/* Takes back what was counted since the range began. */
static void forget_range(struct fuzz_shared *shared)
{
    shared->held = false;
    copy_counters(shared->status, &shared->before);
}

void fuzz_shared_drop(struct fuzz_shared *shared)
{
    if (!shared->held)
        return;
    work_hand_back(shared->work, shared->lease.first, NULL);
    forget_range(shared);
}

void fuzz_shared_close(struct fuzz_shared *shared)
{
    fuzz_shared_drop(shared);
    work_close(shared->work);
    finding_buffer_release(&shared->findings);
    second_looks_release(&shared->looks);
    str_release(&shared->text);
    str_release(&shared->owner);
    free(shared->totals.engines);
    free(shared->before.engines);
}

/* Reads the snapshot of a generation into state and source. *found: false when it is not kept any more. */
static int read_snapshot(struct fuzz_shared *shared, int64_t generation, bool *found, struct error *err)
{
    *found = shared->snapshot == generation;
    if (!*found) {
        shared->snapshot = -1;
        if (work_snapshot(shared->store, generation, &shared->text, found, err))
            return -1;
    }
    if (!*found)
        return 0;
    shared->snapshot = generation;
    return fuzz_state_read(shared->state, shared->source, shared->text.data, err);
}

static int fold_range(void *context, const struct work_result *result, struct error *err)
{
    struct fuzz_shared *shared = context;
    return fuzz_counters_add(&shared->totals, result->counters, err) ||
                   fuzz_state_fold(shared->state, shared->source, result->result, err)
               ? -1
               : 0;
}

/* Coverage so far, as others read it from the store. */
static int publish(struct fuzz_shared *shared, struct error *err)
{
    struct fuzz_status figures = {0};
    double seconds = 0;
    shared->source->kind->figures(shared->source->self, &figures);
    if (work_elapsed(shared->store, &seconds, err))
        return -1;
    const struct coverage_point points[] = {
        {"OLC", (int64_t)shared->totals.cases, seconds, figures.coverage.olc},
        {"pairs", (int64_t)shared->totals.cases, seconds, figures.coverage.pairs},
    };
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        if (store_coverage(shared->store, &points[i], err))
            return -1;
    return 0;
}

/* Makes the snapshot of a generation. When the one before it is not kept any more, another worker was
 * faster. */
static int fold(struct fuzz_shared *shared, int64_t generation, struct error *err)
{
    bool found;
    if (read_snapshot(shared, generation - 1, &found, err))
        return -1;
    if (!found)
        return 0;
    shared->snapshot = -1;
    if (work_results(shared->store, work_settings_of(shared->work), generation - WORK_LAG, fold_range, shared,
                     err))
        return -1;
    str_clear(&shared->text);
    fuzz_state_write(shared->state, shared->source, &shared->text);
    if (work_make_snapshot(shared->store, generation, shared->text.data, err))
        return -1;
    shared->snapshot = generation;
    return publish(shared, err);
}

/* Reads the state in which the previous range of the same island ended. */
static int read_island(struct fuzz_shared *shared, bool *found, struct error *err)
{
    const struct work_settings *s = work_settings_of(shared->work);
    int64_t range = shared->lease.first / s->range, before = shared->lease.first - s->islands * s->range;
    str_clear(&shared->text);
    *found = true;
    if (before >= 0 && work_result_of(shared->store, before, &shared->text, found, err))
        return -1;
    return *found ? fuzz_island_read(shared->state, shared->source, (uint64_t)(range % s->islands),
                                     shared->text.data, err)
                  : 0;
}

static int read_start(struct fuzz_shared *shared, bool *found, struct error *err)
{
    if (shared->source->kind->bred)
        return read_island(shared, found, err);
    if (read_snapshot(shared, shared->lease.generation, found, err))
        return -1;
    if (*found)
        shared->source->kind->mark(shared->source->self);
    return 0;
}

static int begin_range(struct fuzz_shared *shared, enum work_kind *kind, struct error *err)
{
    bool found;
    if (read_start(shared, &found, err)) {
        work_hand_back(shared->work, shared->lease.first, NULL);
        return -1;
    }
    if (!found) { /* the range was taken over and returned while we slept */
        *kind = WORK_WAIT;
        return 0;
    }
    shared->state->first = (uint64_t)shared->lease.first;
    fuzz_state_clear(shared->state);
    finding_buffer_clear(&shared->findings);
    second_looks_clear(&shared->looks);
    copy_counters(&shared->before, shared->status);
    shared->began = shared->renewed = clock_seconds();
    shared->held = true;
    return 0;
}

int fuzz_shared_next(struct fuzz_shared *shared, enum work_kind *kind, struct error *err)
{
    if (work_lease(shared->work, &shared->lease, err))
        return -1;
    *kind = shared->lease.kind;
    if (*kind == WORK_FOLD)
        return fold(shared, shared->lease.generation, err);
    return *kind == WORK_RANGE ? begin_range(shared, kind, err) : 0;
}

int fuzz_shared_renew(struct fuzz_shared *shared, bool *held, struct error *err)
{
    double now = clock_seconds();
    *held = shared->held;
    if (!*held || now - shared->renewed < shared->seconds / RENEWALS)
        return 0;
    shared->renewed = now;
    if (work_renew(shared->work, shared->lease.first, held, err))
        return -1;
    if (!*held)
        forget_range(shared);
    return 0;
}

static void subtract_counters(struct fuzz_status *range, const struct fuzz_status *now,
                              const struct fuzz_status *before)
{
    copy_counters(range, now);
    range->cases -= before->cases;
    for (size_t i = 0; i < range->n_engines; i++) {
        for (enum verdict_kind k = 0; verdict_exists(k); k++)
            range->engines[i].verdicts[k] -= before->engines[i].verdicts[k];
        for (int k = 0; k < PAPER_COUNT; k++)
            range->engines[i].paper[k] -= before->engines[i].paper[k];
        range->engines[i].busy -= before->engines[i].busy;
    }
}

bool fuzz_shared_goes_on(const struct fuzz_shared *shared)
{
    uint64_t cases = shared->status->cases - shared->before.cases;
    return shared->held && cases < (uint64_t)shared->lease.count;
}

static int store_case(struct fuzz_shared *shared, const struct folder *cases, const char *name,
                      struct error *err)
{
    struct folder folder;
    struct str key;
    str_init(&key);
    str_printf(&key, "case cases/%s", name);
    int status = folder_open(&folder, cases, name, err);
    if (!status)
        status = stored_files_put(shared->store, key.data, &folder, err);
    folder_close(&folder);
    str_release(&key);
    return status;
}

/* Cases that a search kept on this machine go to the database. */
static int store_cases(struct fuzz_shared *shared, struct error *err)
{
    struct folder cases;
    char **names = NULL;
    size_t count = 0;
    if (!shared->source->kind->bred || !folder_has(shared->folder, "cases"))
        return 0;
    int status = folder_open(&cases, shared->folder, "cases", err) || folder_list(&cases, &names, &count, err)
                     ? -1
                     : 0;
    for (size_t i = 0; i < count && !status; i++) {
        if (names[i][0] != '.')
            status = store_case(shared, &cases, names[i], err);
        folder_remove(&cases, names[i], NULL);
    }
    file_names_free(names, count);
    folder_close(&cases);
    return status;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int write_result(struct fuzz_shared *shared, struct str *out, struct error *err)
{
    const struct finding_buffer *findings = &shared->findings;
    if (shared->source->kind->bred)
        return fuzz_island_write(shared->state, shared->source, out, err);
    uint64_t *hashes = memory_zeroed(findings->count + 1, sizeof *hashes);
    if (findings->count)
        memcpy(hashes, findings->hashes, findings->count * sizeof *hashes);
    qsort(hashes, findings->count, sizeof *hashes, by_number);
    fuzz_result_write(hashes, findings->count, shared->source, out);
    free(hashes);
    return 0;
}

static int give_back(struct fuzz_shared *shared, const struct fuzz_status *counters, bool *is_new, bool *held,
                     struct error *err)
{
    struct finding_buffer *findings = &shared->findings;
    struct str text, result;
    str_init(&text);
    str_init(&result);
    fuzz_counters_write(counters, &text);
    struct work_return range = {.first = shared->lease.first,
                                .cases = (int64_t)counters->cases,
                                .counters = text.data,
                                .n_findings = findings->count,
                                .findings = findings->findings,
                                .is_new = is_new};
    int status = write_result(shared, &result, err);
    range.result = result.data;
    if (!status)
        status = work_return(shared->work, &range, held, err);
    str_release(&text);
    str_release(&result);
    return status;
}

int fuzz_shared_return(struct fuzz_shared *shared, size_t *added, struct error *err)
{
    struct fuzz_status counters;
    size_t count = shared->findings.count;
    bool *is_new = memory_zeroed(count + 1, sizeof *is_new), held;
    init_counters(&counters, shared->status);
    subtract_counters(&counters, shared->status, &shared->before);
    counters.elapsed = clock_seconds() - shared->began;
    int status = store_cases(shared, err);
    if (!status)
        status = give_back(shared, &counters, is_new, &held, err);
    *added = 0;
    for (size_t i = 0; i < count && !status && held; i++)
        *added += is_new[i];
    if (!status && held)
        shared->held = false;
    else if (!status)
        forget_range(shared);
    free(counters.engines);
    free(is_new);
    return status;
}

struct count {
    struct fuzz_status *status;
    size_t ranges;
};

static int count_range(void *context, const struct work_result *result, struct error *err)
{
    struct count *count = context;
    count->ranges++;
    return fuzz_counters_add(count->status, result->counters, err);
}

static int count_islands(struct fuzz_shared *shared, struct fuzz_status *status, struct error *err)
{
    struct count count = {.status = status, .ranges = 1};
    copy_counts(status, &shared->totals); /* nothing */
    for (int64_t g = 0; count.ranges; g++) {
        count.ranges = 0;
        if (work_results(shared->store, work_settings_of(shared->work), g, count_range, &count, err))
            return -1;
    }
    return 0;
}

int fuzz_shared_count(struct fuzz_shared *shared, struct fuzz_status *status, struct error *err)
{
    int64_t newest;
    bool found;
    if (shared->source->kind->bred)
        return count_islands(shared, status, err);
    if (work_newest_snapshot(shared->store, &newest, err) || read_snapshot(shared, newest, &found, err))
        return -1;
    if (!found)
        return 0; /* a newer snapshot was made meanwhile: this worker's own counts are used */
    for (int64_t g = newest - WORK_LAG + 1; g <= newest; g++)
        if (work_results(shared->store, work_settings_of(shared->work), g, fold_range, shared, err))
            return -1;
    copy_counts(status, &shared->totals);
    shared->source->kind->figures(shared->source->self, status);
    return 0;
}
