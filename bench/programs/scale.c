/*
 * Many workers on one PostgreSQL, with all that they ask of it and none of the engines: each is a thread with
 * a connection of its own that leases ranges, waits as long as a range took in a real campaign, and returns
 * it with the counters, the result and as many occurrences as a range had there, by the code that real
 * workers use (findings/work.h).
 *
 * usage: bench_scale URL TIMES RESULTS CAMPAIGN WORKERS SECONDS SPEED
 *        bench_scale URL RESULTS
 *
 * TIMES and RESULTS are real campaigns in the same database, and may be the same; the second form makes one,
 * for real workers to join, with generations so small that the first snapshots come soon. Of RESULTS the
 * later half is sampled: the first ranges find that everything is new. CAMPAIGN is made anew. Waits are
 * divided by SPEED. The campaign's first generation is so wide that no worker waits for a snapshot, as in one
 * that has run for hours. When all are connected they begin one by one within the time of a range, and then
 * SECONDS are measured; each ends the range that it has. Prints one line of names and numbers; latencies are
 * in milliseconds.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "findings/database.h"
#include "findings/work.h"

#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double LEASE_SECONDS = 60, RENEW_SECONDS = 15, ASK_AGAIN = 0.2;
enum { CONNECTING = 20 /* at the same time */ };

/* A range of the real campaign. */
struct sample {
    double seconds;
    int64_t cases, findings;
    char *counters, *result;
};
struct sampled_finding {
    char *signature, *name, *kind, *class, *engine, *version, *operators, *title;
};

struct samples {
    struct sample *ranges;
    size_t count, capacity;
    struct sampled_finding *findings;
    size_t n_findings, findings_capacity;
    char *snapshot; /* the newest */
    struct work_settings settings;
};

static int take_range(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct samples *samples = context;
    (void)err;
    if (count != 5)
        return 0;
    samples->ranges =
        memory_grow(samples->ranges, &samples->capacity, samples->count + 1, sizeof *samples->ranges);
    samples->ranges[samples->count++] = (struct sample){
        .seconds = cell_as_real(&cells[0]),
        .cases = cell_as_int(&cells[1]),
        .findings = cell_as_int(&cells[2]),
        .counters = memory_strdup(cell_as_text(&cells[3])),
        .result = memory_strdup(cell_as_text(&cells[4])),
    };
    return 0;
}

static int take_finding(void *context, const struct stored *stored, struct error *err)
{
    struct samples *samples = context;
    (void)err;
    samples->findings = memory_grow(samples->findings, &samples->findings_capacity, samples->n_findings + 1,
                                    sizeof *samples->findings);
    samples->findings[samples->n_findings++] = (struct sampled_finding){
        memory_strdup(stored->signature), memory_strdup(stored->name),   memory_strdup(stored->kind),
        memory_strdup(stored->class),     memory_strdup(stored->engine), memory_strdup(stored->version),
        memory_strdup(stored->operators), memory_strdup(stored->title),
    };
    return 0;
}

static int take_snapshot(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct samples *samples = context;
    (void)err;
    free(samples->snapshot);
    samples->snapshot = memory_strdup(count ? cell_as_text(&cells[0]) : "");
    return 0;
}

/* later: of the later half of the ranges alone. */
static int read_samples(struct samples *samples, const char *url, const char *campaign, bool later,
                        struct error *err)
{
    struct store *store;
    struct store_filter all = {.merged = true, .gone = true};
    bool found;
    if (store_open_campaign(&store, url, campaign, STORE_READ, err))
        return -1;
    samples->snapshot = memory_strdup("-");
    int status =
        work_settings(store, &samples->settings, &found, err) ||
        database_run(
            store_database(store),
            "SELECT finished - since, cases, findings, counters, result FROM @leases WHERE finished > 0 "
            "AND first >= $1 * (SELECT max(first) FROM @leases WHERE finished > 0) ORDER BY first",
            CELLS(cell_real(later ? 0.5 : 0)), take_range, samples, err) ||
        database_run(store_database(store), "SELECT snapshot FROM @generations ORDER BY number DESC LIMIT 1",
                     NULL, 0, take_snapshot, samples, err) ||
        store_list(store, &all, take_finding, samples, err);
    store_close(store);
    if (!status && (!found || samples->count == 0))
        return error_set(err, ERROR_NOT_FOUND, "the campaign '%s' has no finished range", campaign);
    return status ? -1 : 0;
}

static void release_samples(struct samples *samples)
{
    for (size_t i = 0; i < samples->count; i++) {
        free(samples->ranges[i].counters);
        free(samples->ranges[i].result);
    }
    for (size_t i = 0; i < samples->n_findings; i++) {
        struct sampled_finding *f = &samples->findings[i];
        char *texts[] = {f->signature, f->name,    f->kind,      f->class,
                         f->engine,    f->version, f->operators, f->title};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            free(texts[k]);
    }
    free(samples->ranges);
    free(samples->findings);
    free(samples->snapshot);
}

struct latencies {
    double *seconds;
    size_t count, capacity;
};

struct bench {
    const char *url, *campaign;
    struct samples times, samples; /* how long ranges take, what they return */
    double speed;
    double usual;      /* seconds of a range at this speed */
    double start, end; /* what is measured; set when all are connected */
    sem_t connecting;
    pthread_barrier_t connected, begun;
    /* What the workers add up, under the lock. */
    pthread_mutex_t lock;
    struct latencies leases, returns;
    int64_t ranges, cases, waits, folds, lost, failed;
    char trouble[300];
};

struct worker {
    struct bench *bench;
    int number;
    pthread_t thread;
    struct latencies leases, returns;
    int64_t ranges, cases, waits, folds, lost;
};

static bool is_measured(const struct bench *bench, double since)
{
    return since >= bench->start && since < bench->end;
}

static void note(struct bench *bench, struct latencies *latencies, double since)
{
    double now = clock_seconds();
    if (!is_measured(bench, since))
        return;
    latencies->seconds =
        memory_grow(latencies->seconds, &latencies->capacity, latencies->count + 1, sizeof(double));
    latencies->seconds[latencies->count++] = now - since;
}

static void sleep_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static int count_result(void *context, const struct work_result *result, struct error *err)
{
    (void)err;
    *(size_t *)context += strlen(result->result);
    return 0;
}

/* Folding reads all results of a generation and writes a snapshot, as large as the real one. */
static int fold(struct worker *worker, struct store *store, struct work *work, int64_t generation,
                struct error *err)
{
    size_t read = 0;
    worker->folds++;
    return work_results(store, work_settings_of(work), generation - WORK_LAG, count_result, &read, err) ||
                   work_make_snapshot(store, generation, worker->bench->samples.snapshot, err)
               ? -1
               : 0;
}

/* The engines' time. The lease is renewed as a worker does it. */
static int pass_time(const struct bench *bench, struct work *work, int64_t first, double seconds,
                     struct error *err)
{
    bool held = true;
    double left = seconds / bench->speed;
    for (; left > RENEW_SECONDS; left -= RENEW_SECONDS) {
        sleep_for(RENEW_SECONDS);
        if (work_renew(work, first, &held, err))
            return -1;
    }
    sleep_for(left);
    return 0;
}

static int return_range(struct worker *worker, struct work *work, const struct work_lease *lease,
                        const struct sample *sample, struct error *err)
{
    const struct samples *samples = &worker->bench->samples;
    size_t count = samples->n_findings ? (size_t)sample->findings : 0;
    struct finding *findings = memory_zeroed(count + 1, sizeof *findings);
    struct str *recipes = memory_zeroed(count + 1, sizeof *recipes);
    for (size_t i = 0; i < count; i++) {
        const struct sampled_finding *f =
            &samples->findings[hash_combine((uint64_t)lease->first, i) % samples->n_findings];
        str_init(&recipes[i]);
        str_printf(&recipes[i], "one seed=1 index=%" PRId64, lease->first + (int64_t)i);
        findings[i] = (struct finding){
            .signature = f->signature,
            .name = f->name,
            .kind = f->kind,
            .class = f->class,
            .engine = f->engine,
            .version = f->version,
            .operators = f->operators,
            .title = f->title,
            .recipe = recipes[i].data,
            .factor = 2,
            .nodes = 10,
        };
    }
    struct work_return range = {
        .first = lease->first,
        .cases = lease->count,
        .counters = sample->counters,
        .result = sample->result,
        .n_findings = count,
        .findings = findings,
    };
    bool held;
    double since = clock_seconds();
    int status = work_return(work, &range, &held, err);
    if (status == 0) {
        note(worker->bench, &worker->returns, since);
        worker->ranges += held && is_measured(worker->bench, since);
        worker->cases += held ? lease->count : 0;
        worker->lost += !held;
    }
    for (size_t i = 0; i < count; i++)
        str_release(&recipes[i]);
    free(recipes);
    free(findings);
    return status;
}

static int take_turn(struct worker *worker, struct store *store, struct work *work, struct error *err)
{
    const struct samples *samples = &worker->bench->samples;
    struct work_lease lease;
    double since = clock_seconds();
    if (work_lease(work, &lease, err))
        return -1;
    if (lease.kind == WORK_FOLD)
        return fold(worker, store, work, lease.generation, err);
    if (lease.kind != WORK_RANGE) {
        worker->waits++;
        sleep_for(ASK_AGAIN);
        return 0;
    }
    note(worker->bench, &worker->leases, since);
    const struct samples *times = &worker->bench->times;
    uint64_t drawn = hash_combine(1, (uint64_t)lease.first);
    const struct sample *sample = &samples->ranges[drawn % samples->count];
    double seconds = times->ranges[drawn % times->count].seconds;
    return pass_time(worker->bench, work, lease.first, seconds, err) ||
                   return_range(worker, work, &lease, sample, err)
               ? -1
               : 0;
}

static void append(struct latencies *to, struct latencies *from)
{
    to->seconds = memory_grow(to->seconds, &to->capacity, to->count + from->count + 1, sizeof(double));
    if (from->count)
        memcpy(to->seconds + to->count, from->seconds, from->count * sizeof(double));
    to->count += from->count;
    free(from->seconds);
}

static void *work_on(void *context)
{
    struct worker *worker = context;
    struct bench *bench = worker->bench;
    struct store *store = NULL;
    struct work *work = NULL;
    struct error err = {0};
    char owner[60];
    snprintf(owner, sizeof owner, "bench:%d:0", worker->number);
    sem_wait(&bench->connecting);
    int status = store_open_campaign(&store, bench->url, bench->campaign, STORE_WRITE, &err) ||
                 work_open(&work, store, owner, LEASE_SECONDS, &err);
    sem_post(&bench->connecting);
    pthread_barrier_wait(&bench->connected);
    pthread_barrier_wait(&bench->begun);
    sleep_for(bench->usual * (double)(hash_mix((uint64_t)worker->number) % 1000) / 1000);
    while (!status && clock_seconds() < bench->end)
        status = take_turn(worker, store, work, &err);
    work_close(work);
    store_close(store);
    pthread_mutex_lock(&bench->lock);
    append(&bench->leases, &worker->leases);
    append(&bench->returns, &worker->returns);
    bench->ranges += worker->ranges;
    bench->cases += worker->cases;
    bench->waits += worker->waits;
    bench->folds += worker->folds;
    bench->lost += worker->lost;
    if (status) {
        bench->failed++;
        snprintf(bench->trouble, sizeof bench->trouble, "%s", err.message);
    }
    pthread_mutex_unlock(&bench->lock);
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(struct latencies *latencies, double q)
{
    if (latencies->count == 0)
        return 0;
    qsort(latencies->seconds, latencies->count, sizeof(double), ascending);
    return 1000 * latencies->seconds[(size_t)(q * (double)(latencies->count - 1))];
}

static int begin(const char *url, const char *campaign, const struct work_settings *wanted, struct error *err)
{
    struct store *store;
    struct work_settings settings = *wanted;
    if (store_open_campaign(&store, url, campaign, STORE_CREATE, err))
        return -1;
    int status = work_agree(store, &settings, err);
    store_close(store);
    return status;
}

static void report(struct bench *bench, double seconds)
{
    printf("seconds %.2f ranges %" PRId64 " cases %" PRId64 " rate %.1f lease-p50 %.1f lease-p99 %.1f "
           "return-p50 %.1f return-p99 %.1f waits %" PRId64 " folds %" PRId64 " lost %" PRId64
           " failed %" PRId64 "\n",
           seconds, bench->ranges, bench->cases, (double)bench->ranges / seconds,
           quantile(&bench->leases, 0.5), quantile(&bench->leases, 0.99), quantile(&bench->returns, 0.5),
           quantile(&bench->returns, 0.99), bench->waits, bench->folds, bench->lost, bench->failed);
    if (bench->failed)
        fprintf(stderr, "bench_scale: %" PRId64 " workers failed: %s\n", bench->failed, bench->trouble);
}

/* False when they cannot all be started. */
static bool start_workers(struct bench *bench, struct worker *workers, int count)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    int started = 0;
    for (; started < count; started++) {
        workers[started] = (struct worker){.bench = bench, .number = started};
        if (pthread_create(&workers[started].thread, &attributes, work_on, &workers[started]))
            break;
    }
    pthread_attr_destroy(&attributes);
    return started == count;
}

static bool run_workers(struct bench *bench, int count, double seconds)
{
    struct worker *workers = memory_zeroed((size_t)count, sizeof *workers);
    sem_init(&bench->connecting, 0, CONNECTING);
    pthread_barrier_init(&bench->connected, NULL, (unsigned)count + 1);
    pthread_barrier_init(&bench->begun, NULL, (unsigned)count + 1);
    if (!start_workers(bench, workers, count))
        return false; /* those that wait end with the process */
    pthread_barrier_wait(&bench->connected);
    bench->start = clock_seconds() + bench->usual;
    bench->end = bench->start + seconds;
    pthread_barrier_wait(&bench->begun);
    for (int i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    free(workers);
    return true;
}

static double mean_seconds(const struct samples *samples)
{
    double sum = 0;
    for (size_t i = 0; i < samples->count; i++)
        sum += samples->ranges[i].seconds;
    return sum / (double)samples->count;
}

static int run_bench(struct bench *bench, char **names, int workers, double seconds, struct error *err)
{
    if (workers < 1 || !(seconds > 0) || !(bench->speed > 0))
        return error_set(err, ERROR_USAGE, "WORKERS, SECONDS and SPEED are positive");
    if (read_samples(&bench->times, bench->url, names[0], false, err) ||
        read_samples(&bench->samples, bench->url, names[1], true, err))
        return -1;
    struct work_settings settings = {.range = bench->samples.settings.range, .width = 64 * (int64_t)workers};
    if (begin(bench->url, bench->campaign, &settings, err))
        return -1;
    bench->usual = mean_seconds(&bench->times) / bench->speed;
    if (!run_workers(bench, workers, seconds))
        return error_set(err, ERROR_LIMIT, "%d threads cannot be started", workers);
    report(bench, seconds);
    release_samples(&bench->times);
    release_samples(&bench->samples);
    free(bench->leases.seconds);
    free(bench->returns.seconds);
    return 0;
}

int main(int argc, char **argv)
{
    struct bench bench = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct error err = {0};
    int status = -1;
    if (argc == 3) {
        status = begin(argv[1], argv[2], &(struct work_settings){.width = 1}, &err);
    } else if (argc == 8) {
        bench.url = argv[1];
        bench.campaign = argv[4];
        bench.speed = atof(argv[7]);
        status = run_bench(&bench, argv + 2, atoi(argv[5]), atof(argv[6]), &err);
    } else {
        error_set(&err, ERROR_USAGE,
                  "usage: bench_scale URL RESULTS, or URL TIMES RESULTS CAMPAIGN WORKERS SECONDS SPEED");
    }
    if (status)
        fprintf(stderr, "bench_scale: %s\n", err.message);
    return status ? 2 : bench.failed > 0;
}
