#define _GNU_SOURCE
#include "loop_parts.h"

#include "base/memory.h"
#include "campaign/fuzz_record.h"
#include "campaign/fuzz_running.h"
#include "campaign/fuzz_source.h"
#include "judge/judge.h"
#include "locate/refusal.h"
#include "locate/settle.h"
#include "trial/second_opinion.h"

#include <poll.h>
#include <pthread.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

const char *const loop_part_names[PARTS] = {
    [PART_REST] = "rest",         [PART_GENERATING] = "generating", [PART_PACKING] = "packing",
    [PART_TALKING] = "talking",   [PART_WAKING] = "waking",         [PART_JUDGING] = "judging",
    [PART_SETTLING] = "settling", [PART_STORING] = "storing",
};

/* Functions that the linker puts before others have nobody to hand them a context. */
static struct {
    bool on;
    pthread_t thread; /* whose time it is: the one that watches sleeps, too */
    enum part now;
    double since;
    const struct panel *panel;
    struct loop_parts parts;
    struct case_source_kind kind; /* of the campaign's source, with `make` and `end` noted */
    const struct case_source_kind *own;
} noted;

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What ran until now belongs to the part at hand. */
static void turn_to(enum part part)
{
    double now = thread_seconds();
    noted.parts.core[noted.now] += now - noted.since;
    noted.since = now;
    noted.now = part;
}

static bool is_noted(void)
{
    return noted.on && pthread_equal(pthread_self(), noted.thread);
}

static enum part enter(enum part part)
{
    enum part before = noted.now;
    bool opens = before == PART_REST || (before == PART_TALKING && part == PART_WAKING) ||
                 (before == PART_STORING && part == PART_SETTLING);
    if (opens && is_noted())
        turn_to(part);
    return before;
}

static void leave(enum part before)
{
    if (noted.now != before && is_noted())
        turn_to(before);
}

void loop_parts_begin(const struct panel *panel)
{
    noted.panel = panel;
    noted.parts = (struct loop_parts){0};
    noted.thread = pthread_self();
    noted.since = thread_seconds();
    noted.on = true;
}

void loop_parts_end(struct loop_parts *parts)
{
    turn_to(PART_REST);
    noted.on = false;
    *parts = noted.parts;
}

static void add_result(int engine, const struct result *result)
{
    bool reference = noted.panel && engine == noted.panel->reference;
    bool settling = noted.now == PART_SETTLING || noted.now == PART_STORING;
    struct engine_parts *to = reference  ? &noted.parts.reference
                              : settling ? &noted.parts.settling
                                         : &noted.parts.cases;
    to->load += 1e-9 * (double)result->cpu.load;
    to->run += 1e-9 * (double)result->cpu.run;
    to->unload += 1e-9 * (double)result->cpu.unload;
    to->adapter += 1e-9 * (double)result->cpu.adapter;
    to->jobs++;
}

/* What is called in place of a function: it notes the time and calls it. */
#define NOTE(number, type, name, parameters, arguments) \
    type __real_##name parameters;                      \
    type __wrap_##name parameters;                      \
    type __wrap_##name parameters                       \
    {                                                   \
        enum part before = enter(number);               \
        type result = __real_##name arguments;          \
        leave(before);                                  \
        return result;                                  \
    }
#define NOTE_VOID(number, name, parameters, arguments) \
    void __real_##name parameters;                     \
    void __wrap_##name parameters;                     \
    void __wrap_##name parameters                      \
    {                                                  \
        enum part before = enter(number);              \
        __real_##name arguments;                       \
        leave(before);                                 \
    }

NOTE(PART_PACKING, int, test_case_bytes,
     (const struct test_case *test, const uint8_t **bytes, size_t *size, struct error *err),
     (test, bytes, size, err))
NOTE_VOID(PART_TALKING, pool_submit, (struct pool * pool, const struct job *job), (pool, job))
NOTE(PART_WAKING, int, poll, (struct pollfd * polls, nfds_t count, int wait), (polls, count, wait))
NOTE(PART_WAKING, int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))
NOTE(PART_WAKING, ssize_t, read, (int file, void *buffer, size_t size), (file, buffer, size))
NOTE(PART_WAKING, ssize_t, writev, (int file, const struct iovec *pieces, int count), (file, pieces, count))
NOTE_VOID(PART_JUDGING, judge_case,
          (struct judgement * judgement, const struct result *reference, const struct judge_entry *entries,
           size_t count),
          (judgement, reference, entries, count))
NOTE_VOID(PART_JUDGING, judge_blame, (struct judgement * judgement), (judgement))
NOTE(PART_SETTLING, bool, refusal_decide,
     (struct refusals * known, const struct settle_case *which, const struct result *ended,
      struct verdict *verdict),
     (known, which, ended, verdict))
NOTE(PART_SETTLING, bool, settle_verdict,
     (const struct settle_case *which, struct verdict *verdict, struct settlement *settlement),
     (which, verdict, settlement))
NOTE(PART_SETTLING, bool, settle_end,
     (const struct settle_case *which, const struct verdict *verdict, const struct result *ended,
      struct settlement *settlement),
     (which, verdict, ended, settlement))
NOTE_VOID(PART_SETTLING, second_opinion_ask, (const struct panel *panel, struct trial_done *done),
          (panel, done))
NOTE(PART_STORING, int, fuzz_take, (void *context, struct trial_done *done, struct error *err),
     (context, done, err))
NOTE(PART_STORING, int, fuzz_state_begin,
     (struct fuzz_state * state, struct store *store, const struct case_source *source, struct error *err),
     (state, store, source, err))
NOTE(PART_STORING, int, fuzz_keep, (struct fuzz * fuzz, bool now, struct error *err), (fuzz, now, err))

int __real_pool_next(struct pool *pool, double timeout, struct job *job, struct result *result, bool *differ,
                     struct error *err);
int __wrap_pool_next(struct pool *pool, double timeout, struct job *job, struct result *result, bool *differ,
                     struct error *err);
int __wrap_pool_next(struct pool *pool, double timeout, struct job *job, struct result *result, bool *differ,
                     struct error *err)
{
    enum part before = enter(PART_TALKING);
    int status = __real_pool_next(pool, timeout, job, result, differ, err);
    leave(before);
    if (status == 1 && job)
        add_result(job->engine, result);
    return status;
}

int __real_pool_run_one(struct pool *pool, const struct job *job, struct result *result, struct error *err);
int __wrap_pool_run_one(struct pool *pool, const struct job *job, struct result *result, struct error *err);
int __wrap_pool_run_one(struct pool *pool, const struct job *job, struct result *result, struct error *err)
{
    int status = __real_pool_run_one(pool, job, result, err);
    if (!status)
        add_result(job->engine, result);
    return status;
}

static int make(void *source, uint64_t index, size_t number, struct test_case **out, struct error *err)
{
    enum part before = enter(PART_GENERATING);
    int status = noted.own->make(source, index, number, out, err);
    leave(before);
    return status;
}

struct case_source __real_fuzz_source_cases(struct fuzz_source *source);
struct case_source __wrap_fuzz_source_cases(struct fuzz_source *source);
struct case_source __wrap_fuzz_source_cases(struct fuzz_source *source)
{
    struct case_source cases = __real_fuzz_source_cases(source);
    noted.own = cases.kind;
    noted.kind = *cases.kind;
    noted.kind.make = make;
    cases.kind = &noted.kind;
    return cases;
}
