/*
 * Cases through an engine that crashes or hangs on one in a hundred of them, decided by the input so that the
 * truth is known, beside a healthy one; then this program's own violent death. Run by bench/containment.
 *
 *     containment CASES DEADLINE KILLS REGISTRY-FILE
 *     containment --victim REGISTRY-FILE      works for ever, to be killed
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/random.h"
#include "engine/pool.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WINDOW = 32, BAD = 0, GOOD = 1, ELEMENTS = 64 };

/* Every process started from here carries this variable, so that none can hide. */
#define MARK "ASSAY_CONTAINMENT_RUN"

extern char **environ;

struct test_case {
    struct value input;
    enum outcome truth; /* on the bad engine */
    int open;           /* results still to come */
};

struct tally {
    size_t cases, ok, crash, hang, faults;
};

static void fault(struct tally *tally, const char *text, const struct result *result)
{
    tally->faults++;
    fprintf(stderr, "fault: %s: %s at %s, signal %d, status %d, %s\n", text, outcome_name(result->outcome),
            stage_name(result->stage), result->signal, result->exit_status,
            result->message ? result->message : "");
}

/* The same rule as mode=random of the bad adapter. */
static enum outcome truth_of(uint64_t number)
{
    return number % 200 == 13 ? OUTCOME_CRASH : number % 200 == 113 ? OUTCOME_HANG : OUTCOME_OK;
}

static void make_case(struct test_case *c, struct rng *rng)
{
    struct tensor tensor;
    struct shape shape = shape_make(1, (int64_t[]){ELEMENTS});
    uint64_t number = rng_below(rng, 1000000); /* exact in float32 */
    if (tensor_alloc(&tensor, DTYPE_FLOAT, &shape, 0, NULL))
        memory_exhausted(0);
    for (size_t i = 0; i < ELEMENTS; i++)
        tensor_set(&tensor, i, (long double)(number + i));
    value_init(&c->input);
    value_set_name(&c->input, "x");
    value_set_tensor(&c->input, &tensor);
    c->truth = truth_of(number);
    c->open = 2;
}

static bool is_answer(const struct result *result, const struct test_case *c)
{
    return result->outcome == OUTCOME_OK && result->count == 1 && result->outputs[0].kind == VALUE_TENSOR &&
           tensor_identical(&result->outputs[0].tensors[0], &c->input.tensors[0]);
}

static bool log_says(const struct result *result, const char *text)
{
    return result->log && strstr(result->log, text);
}

static void check_result(struct tally *tally, const struct test_case *c, enum outcome truth,
                         const struct result *result)
{
    tally->cases++;
    tally->ok += result->outcome == OUTCOME_OK;
    tally->crash += result->outcome == OUTCOME_CRASH;
    tally->hang += result->outcome == OUTCOME_HANG;
    if (truth == OUTCOME_OK && !is_answer(result, c))
        fault(tally, "a good case", result);
    if (truth == OUTCOME_CRASH && (result->outcome != OUTCOME_CRASH || result->signal != SIGSEGV ||
                                   result->stage != STAGE_RUN || !log_says(result, "about to crash")))
        fault(tally, "a case that crashes", result);
    if (truth == OUTCOME_HANG &&
        (result->outcome != OUTCOME_HANG || result->stage != STAGE_RUN || !log_says(result, "about to hang")))
        fault(tally, "a case that hangs", result);
}

/* The state letter and parent from /proc/PID/stat, behind the name in parentheses. */
static bool process_state(const char *pid, char *state, long *parent)
{
    char path[300], text[512];
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *in = fopen(path, "re");
    if (!in)
        return false;
    size_t got = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[got] = '\0';
    const char *behind = strrchr(text, ')');
    return behind && sscanf(behind + 1, " %c %ld", state, parent) == 2;
}

static bool is_marked(const char *pid, const char *mark)
{
    char path[300], *data;
    size_t size;
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    if (file_read(path, 1 << 20, &data, &size, NULL))
        return false;
    bool found = memmem(data, size, mark, strlen(mark) + 1) != NULL;
    free(data);
    return found;
}

struct census {
    size_t marked;  /* alive with our mark, ourselves not counted */
    size_t zombies; /* among our children */
};

static struct census count_processes(const char *mark)
{
    struct census census = {0};
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char state;
        long parent;
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || atol(entry->d_name) == getpid() ||
            !process_state(entry->d_name, &state, &parent))
            continue;
        census.zombies += state == 'Z' && parent == getpid();
        census.marked += state != 'Z' && is_marked(entry->d_name, mark);
    }
    if (dir)
        closedir(dir);
    return census;
}

/* Waits for the number of marked processes to become what it should. */
static bool wait_for(const char *mark, bool some, double seconds)
{
    for (double until = clock_seconds() + seconds; clock_seconds() < until; usleep(10 * 1000))
        if ((count_processes(mark).marked > 0) == some)
            return true;
    return false;
}

static size_t own_resident(void)
{
    unsigned long total, resident = 0;
    FILE *in = fopen("/proc/self/statm", "re");
    if (in && fscanf(in, "%lu %lu", &total, &resident) != 2)
        resident = 0;
    if (in)
        fclose(in);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE) >> 10;
}

static struct pool *open_pool(struct registry *registry, double deadline)
{
    static const char *const labels[] = {"bad:mode=random", "identity"};
    struct pool *pool =
        pool_new(&(struct pool_options){.deadline = deadline, .start_deadline = 30, .workers = 2});
    for (int i = 0; i < 2; i++) {
        const struct engine_spec *spec;
        struct error err;
        if (registry_find(registry, given_typed(registry_arena(registry), labels[i]), &spec, &err)) {
            fprintf(stderr, "containment: %s\n", err.message);
            exit(2);
        }
        pool_add(pool, spec);
    }
    pool_warm(pool);
    return pool;
}

static void submit(struct pool *pool, struct test_case *c)
{
    for (int engine = BAD; engine <= GOOD; engine++) {
        struct job job = {
            .engine = engine, .model = "model", .model_size = 5, .n_inputs = 1, .inputs = &c->input};
        job.user = c;
        pool_submit(pool, &job);
    }
}

/* A few cases are open at a time, as in a campaign; memory must not grow with their number. */
static void run_cases(struct pool *pool, size_t cases, struct tally tallies[2], size_t resident[2])
{
    struct rng rng = rng_seed(20260101);
    struct progress progress;
    size_t submitted = 0, done = 0;
    progress_begin(&progress, "containment", cases);
    while (done < cases) {
        for (; submitted < cases && submitted < done + WINDOW; submitted++) {
            struct test_case *c = memory_zeroed(1, sizeof *c);
            make_case(c, &rng);
            submit(pool, c);
        }
        struct job job;
        struct result result;
        struct error err;
        if (pool_next(pool, -1, &job, &result, NULL, &err) != 1) {
            fprintf(stderr, "containment: %zu cases lost\n", cases - done);
            tallies[BAD].faults += cases - done;
            break;
        }
        struct test_case *c = job.user;
        check_result(&tallies[job.engine], c, job.engine == BAD ? c->truth : OUTCOME_OK, &result);
        result_release(&result);
        if (--c->open == 0) {
            value_release(&c->input);
            free(c);
            if (++done == cases / 10)
                resident[0] = own_resident();
            progress_step(&progress, done);
        }
    }
    progress_end(&progress);
    resident[1] = own_resident();
}

static void print_row(const char *name, const struct tally *tally, struct pool_counters counters)
{
    printf("%-18s %7zu %7zu %7zu %7zu %8zu %7zu\n", name, tally->cases, tally->ok, tally->crash, tally->hang,
           counters.started, tally->faults);
}

static size_t print_check(const char *what, bool good, const char *figure)
{
    printf("%-42s %-22s %s\n", what, figure, good ? "good" : "FAULT");
    return good ? 0 : 1;
}

static size_t contain(struct registry *registry, const char *mark, size_t cases, double deadline)
{
    struct tally tallies[2] = {0};
    size_t resident[2] = {0}, faults = 0;
    char figure[64];
    double before = clock_seconds();
    struct pool *pool = open_pool(registry, deadline);
    run_cases(pool, cases, tallies, resident);
    double took = clock_seconds() - before;
    size_t zombies = count_processes(mark).zombies;
    printf("%-18s %7s %7s %7s %7s %8s %7s\n", "engine", "cases", "ok", "crash", "hang", "workers", "faults");
    print_row("bad:mode=random", &tallies[BAD], pool_counters(pool, BAD));
    print_row("identity", &tallies[GOOD], pool_counters(pool, GOOD));
    pool_free(pool);
    snprintf(figure, sizeof figure, "%.1f s, deadline %g s", took, deadline);
    faults += print_check("all cases answered", tallies[BAD].cases == cases && tallies[GOOD].cases == cases,
                          figure);
    snprintf(figure, sizeof figure, "%zu", zombies);
    faults += print_check("zombies while running", zombies == 0, figure);
    bool none = wait_for(mark, false, 5) && waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
    faults += print_check("processes left after the end", none, none ? "0" : "some");
    snprintf(figure, sizeof figure, "%zu to %zu KB", resident[0], resident[1]);
    faults +=
        print_check("resident memory, 10 % to 100 % of cases", resident[1] <= resident[0] + 2048, figure);
    return faults + tallies[BAD].faults + tallies[GOOD].faults;
}

static pid_t start_victim(const char *program, const char *file)
{
    char *argv[] = {(char *)(uintptr_t)program, "--victim", (char *)(uintptr_t)file, NULL};
    pid_t pid;
    if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ)) {
        fprintf(stderr, "containment: cannot start a victim\n");
        exit(2);
    }
    return pid;
}

/* Kills a working copy of ourselves at a random moment; counts the times a worker outlived it. */
static size_t kill_victims(const char *program, const char *file, const char *mark, size_t kills)
{
    struct rng rng = rng_seed(7);
    size_t survived = 0, idle = 0;
    for (size_t i = 0; i < kills; i++) {
        pid_t victim = start_victim(program, file);
        double until = clock_seconds() + 20;
        while (count_processes(mark).marked < 3 && clock_seconds() < until) /* the victim and its workers */
            usleep(5 * 1000);
        usleep((useconds_t)rng_below(&rng, 400 * 1000));
        idle += count_processes(mark).marked < 2;
        kill(victim, SIGKILL);
        waitpid(victim, NULL, 0);
        survived += !wait_for(mark, false, 2);
    }
    char figure[64];
    snprintf(figure, sizeof figure, "%zu of %zu times", survived, kills);
    size_t faults = print_check("workers that outlived a killed driver", survived == 0, figure);
    if (idle)
        faults += print_check("drivers killed before they worked", false, "");
    return faults + (survived ? survived - 1 : 0);
}

static int be_victim(struct registry *registry)
{
    struct tally tallies[2] = {0};
    size_t resident[2];
    struct pool *pool = open_pool(registry, 0.5);
    run_cases(pool, SIZE_MAX / 2, tallies, resident);
    return 1;
}

static size_t number(const char *text)
{
    long long value;
    if (!text_int64(text, &value) || value < 1) {
        fprintf(stderr, "containment: not a number: %s\n", text);
        exit(2);
    }
    return (size_t)value;
}

int main(int argc, char **argv)
{
    bool victim = argc == 3 && text_equal(argv[1], "--victim");
    double deadline;
    if (!victim && (argc != 5 || !text_double(argv[2], &deadline))) {
        fprintf(stderr, "usage: containment CASES DEADLINE KILLS REGISTRY-FILE\n");
        return 2;
    }
    struct registry *registry;
    struct error err;
    const char *file = argv[argc - 1];
    if (registry_open(&registry, &file, 1, &err)) {
        fprintf(stderr, "containment: %s\n", err.message);
        return 2;
    }
    if (victim)
        return be_victim(registry);
    char value[64], mark[128];
    snprintf(value, sizeof value, "%ld-%lld", (long)getpid(), (long long)clock_ns());
    snprintf(mark, sizeof mark, MARK "=%s", value);
    setenv(MARK, value, 1);
    size_t faults = contain(registry, mark, number(argv[1]), deadline);
    fflush(stdout);
    faults += kill_victims(argv[0], file, mark, number(argv[3]));
    registry_free(registry);
    printf("containment: %zu faults (target 0)\n", faults);
    return faults ? 1 : 0;
}
