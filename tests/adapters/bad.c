/*
 * An engine that misbehaves as its knob `mode` says; see `modes` below. In all other respects it gives its
 * inputs back, like the identity engine. Modes that need the first input look at its first element.
 */
#define _GNU_SOURCE
#include "adapter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* The real stdout and the file of the shared memory, kept from before the SDK hides and closes them, for
 * those who do with them what they should not. */
enum { RAW_OUTPUT = 100, RAW_SHARED = 101 };

struct bad {
    const char *mode;
    int cases, runs;
    bool wants; /* the present model was loaded with wanted outputs */
};

static bool is(const struct adapter_call *call, const char *mode)
{
    return strcmp(((const struct bad *)call->engine)->mode, mode) == 0;
}

/* Engines tell the way to the fault before the fault. */
static const char long_way[] =
    "/home/builder/engine/src/core/graph/graph_of_the_model.cc:1234 void engine::Graph::Resolve(const "
    "engine::Model&, const engine::Options&): node 'first' of 12, after the passes ConstantFolding, "
    "CommonSubexpressionElimination and TransposeOptimizer: kernel of the operator at hand: ";

static void crash(void)
{
    fprintf(stderr, "about to crash\n");
    raise(SIGSEGV);
}

static void hang(void)
{
    fprintf(stderr, "about to hang\n");
    for (;;)
        pause();
}

/* A byte of memory that nobody wrote: so large a piece is new and zeroed, unless it is filled on purpose. */
static int unwritten(void)
{
#ifdef __SANITIZE_ADDRESS__ /* its allocator has a pattern of its own */
    const char *pattern = getenv("MALLOC_PERTURB_");
    return pattern ? atoi(pattern) : 0;
#endif
    enum { SIZE = 1 << 20 };
    volatile unsigned char *memory = malloc(SIZE);
    int byte = memory ? memory[SIZE / 2] : -1;
    free((void *)memory);
    return byte;
}

/* What stands behind the end of a piece of memory. */
#ifdef __SANITIZE_ADDRESS__
__attribute__((no_sanitize_address))
#endif
static unsigned
behind(const void *memory, size_t size)
{
    const volatile unsigned char *bytes = memory;
    enum { FAR = 64 };
    return bytes[size + FAR];
}

static void write_raw(const void *data, size_t size)
{
    if (write(RAW_OUTPUT, data, size) < 0)
        _exit(1);
}

/* The number of the present run, as a pool sends them. */
static uint64_t run_id(const struct bad *bad)
{
    return 3 + 3 * (uint64_t)(bad->cases - 1);
}

/* A reply with one tensor of bytes that claims `dim` elements and `size` bytes, at a place of the shared
 * memory or with the bytes to follow. */
static void write_claim_at(uint64_t id, int64_t dim, uint64_t size, Assay__Place *place)
{
    Assay__Reply reply = ASSAY__REPLY__INIT;
    Assay__Values list = ASSAY__VALUES__INIT;
    Assay__Value value = ASSAY__VALUE__INIT, *values[] = {&value};
    Assay__Tensor tensor = ASSAY__TENSOR__INIT, *tensors[] = {&tensor};
    reply.id = id;
    reply.result_case = ASSAY__REPLY__RESULT_VALUES;
    reply.values = &list;
    list.n_values = 1;
    list.values = values;
    value.n_tensors = 1;
    value.tensors = tensors;
    tensor.type = DTYPE_UINT8;
    tensor.n_dims = 1;
    tensor.dims = &dim;
    tensor.size = size;
    reply.payloads = place;
    uint8_t packed[204] = {0};
    size_t length = assay__reply__pack(&reply, packed + 4);
    packed[0] = (uint8_t)length;
    write_raw(packed, length + 4);
}

static void write_claim(uint64_t id, int64_t dim, uint64_t size)
{
    write_claim_at(id, dim, size, NULL);
}

/* 1000 bytes where the shared memory may not be used, or not so. The inputs lie at its beginning, and the
 * room for the reply is behind them. */
static void write_misplaced(const struct adapter_call *call, size_t inputs)
{
    static const struct {
        const char *mode;
        uint64_t offset, size;
        bool behind; /* the offset counts from the end of the inputs */
    } modes[] = {
        {"shared-beyond", (uint64_t)1 << 40, 1024, false},
        {"shared-inputs", 0, 1024, false},
        {"shared-short", 0, 64, true},
        {"shared-long", 0, 4096, true},
        {"shared-bytes", 0, 1024, true},
    };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (!is(call, modes[i].mode))
            continue;
        Assay__Place place = ASSAY__PLACE__INIT;
        place.offset = modes[i].offset + (modes[i].behind ? wire_place_size(inputs) : 0);
        place.size = modes[i].size;
        write_claim_at(run_id(call->engine), 1000, 1000, &place);
        if (is(call, "shared-bytes"))
            write_raw("\x14\0\0\0and these bytes, too", 24);
    }
}

static void eat_memory(void)
{
    enum { BITE = 8 << 20 };
    for (;;) {
        char *bite = malloc(BITE);
        if (!bite)
            abort();
        memset(bite, 1, BITE);
    }
}

/* Engines that need more than the 600 MB of "hungry": one that uses its memory and one that has it alone, and
 * neither asks whether it got it; one that says that it got none. */
static bool take_much(const struct adapter_call *call)
{
    enum { MUCH = 800 << 20 };
    char *much = malloc(MUCH);
    if (!much && is(call, "needs-says"))
        return false;
    if (!much)
        raise(SIGSEGV);
    if (is(call, "needs"))
        memset(much, 1, MUCH);
    free(much);
    return true;
}

/* Whether its luck is bad: always where it looks as though the limit on memory were to blame. */
static bool unlucky(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static void flood(void)
{
    for (int i = 0; i < 200 * 1000; i++) {
        printf("chatter on stdout, line %d\n", i);
        fprintf(stderr, "chatter on stderr, line %d\n", i);
    }
}

/* What the box must refuse. Gives the first thing that was possible, or NULL. */
static const char *escape(void)
{
    char *const nothing[] = {NULL};
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EACCES)
        return "a socket";
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (child > 0 || errno != EPERM)
        return "a fork";
    if (execve("/bin/true", nothing, nothing) == 0 || errno != EPERM)
        return "an exec";
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
        return "ptrace";
    if (ftruncate(RAW_SHARED, 0) == 0 || errno != EPERM)
        return "to cut off the shared memory";
    if (ftruncate(RAW_SHARED, (off_t)1 << 40) == 0 || (errno != EPERM && errno != EFBIG))
        return "to enlarge the shared memory";
    char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder) || strcmp(folder, getenv("TMPDIR")) != 0 || access(".", W_OK))
        return "no scratch folder of its own";
    return NULL;
}

static int count_processes(void)
{
    int count = 0;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
    if (folder)
        closedir(folder);
    return count;
}

/* What an engine has no business with. Gives the first thing that it could reach, or NULL. */
static const char *survey(void)
{
    static const char *const files[] = {"/etc/passwd",   "/etc/shadow", "/etc/hostname", "/root/.profile",
                                        "/root/.bashrc", "/var/log",    "/boot",         "/home"};
    static const char *const places[] = {"/usr/assay-survey", "/var/tmp/assay-survey", "/assay-survey",
                                         "/dev/assay-survey"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (access(files[i], R_OK) == 0)
            return files[i];
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int file = open(places[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (file >= 0) {
            close(file);
            unlink(places[i]);
            return places[i];
        }
    }
    if (getenv("SURVEY_SECRET"))
        return "an environment variable";
    if (count_processes() > 2)
        return "other processes";
    if (fcntl(WIRE_SHARED_FILE + 6, F_GETFD) >= 0)
        return "a descriptor of Assay's";
    return NULL;
}

static void *nothing_to_do(void *argument)
{
    return argument;
}

static int bad_start(struct adapter_call *call, void **engine, struct str *version)
{
    struct bad *bad = calloc(1, sizeof *bad);
    *engine = bad;
    bad->mode = adapter_knob(call->adapter, "mode");
    str_add(version, "1");
    if (is(call, "exit-hello")) {
        fprintf(stderr, "cannot start today\n");
        _exit(3); /* exit would let a leak checker have the last word on the status */
    }
    if (is(call, "slow-hello"))
        usleep(500 * 1000);
    if (is(call, "segv-hello"))
        crash();
    if (is(call, "hang-hello"))
        hang();
    if (is(call, "error-hello"))
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "not on this machine");
    if (is(call, "stubborn"))
        signal(SIGTERM, SIG_IGN);
    return 0;
}

static bool holds(const struct adapter_model *model, const char *text)
{
    return model->data && memmem(model->data, model->size, text, strlen(text));
}

/* What even an engine that gives its inputs back should refuse. */
static int refuse(struct adapter_call *call, const struct adapter_model *model)
{
    if (is(call, "any-model"))
        return 0;
    if (holds(model, "NoSuchOperator"))
        return adapter_fail(call, is(call, "wrong-class") ? ADAPTER_FAILED : ADAPTER_UNSUPPORTED,
                            "have no NoSuchOperator");
    return holds(model, "this is no model") ? adapter_fail(call, ADAPTER_REJECTED, "is no model") : 0;
}

static int bad_load(struct adapter_call *call, const struct adapter_model *model,
                    struct adapter_loaded *loaded)
{
    struct bad *bad = call->engine;
    bad->cases++;
    bad->runs = 0;
    bad->wants = model->n_outputs > 0;
    if (!is(call, "third") && !is(call, "negative")) /* there, it is luck whether earlier ones are shown */
        fprintf(stderr, "case %d\n", bad->cases);
    if (is(call, "segv-load"))
        crash();
    if (is(call, "reject-load"))
        return adapter_fail(call, ADAPTER_REJECTED, "do not like this model");
    if (is(call, "lack-load"))
        return adapter_fail(call, ADAPTER_UNSUPPORTED, "have no such operator");
    if (is(call, "borrow"))
        adapter_list_add(&loaded->borrowed, "Einsum");
    return refuse(call, model);
}

/* An answer of a million bytes, one every 10 ms. */
static void trickle(uint64_t id)
{
    write_claim(id, 1000000, 1000000);
    write_raw("\x40\x42\x0f\0", 4);
    for (;;) {
        write_raw("x", 1);
        usleep(10 * 1000);
    }
}

/* Starts a process that leaves the group and floods stderr and stdout, for a minute at most, and ends. */
static void leave_writer(void)
{
    static char noise[65536];
    if (fork() == 0) {
        setsid();
        signal(SIGPIPE, SIG_IGN);
        fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
        fcntl(RAW_OUTPUT, F_SETFL, O_NONBLOCK);
        for (time_t until = time(NULL) + 60; time(NULL) < until;)
            if (write(STDERR_FILENO, noise, sizeof noise) + write(RAW_OUTPUT, noise, sizeof noise) == -2)
                usleep(100);
        _exit(0);
    }
    usleep(100 * 1000); /* until it writes */
    _exit(9);
}

/* Bad runs that never come back or answer by themselves. */
static void misbehave(struct adapter_call *call, long first, size_t inputs)
{
    const struct bad *bad = call->engine;
    write_misplaced(call, inputs);
    if (is(call, "segv-run") || (is(call, "third") && bad->cases % 3 == 0) ||
        (is(call, "random") && first % 200 == 13) || (is(call, "negative") && first < 0) ||
        (is(call, "unlucky") && unlucky()))
        crash();
    if (is(call, "hang") || is(call, "stubborn") || (is(call, "random") && first % 200 == 113))
        hang();
    if (is(call, "garbage"))
        write_raw("\x0d\0\0\0Hello, world!", 17);
    if (is(call, "text"))
        write_raw("computing y\n", 12);
    if (is(call, "wrong-id")) {
        write_claim(run_id(bad) + 7, 4, 4);
        write_raw("\4\0\0\0four", 8);
    }
    if (is(call, "wrong-length"))
        write_claim(run_id(bad), 10, 11);
    if (is(call, "huge"))
        write_claim(run_id(bad), (int64_t)1 << 60, (uint64_t)1 << 60);
    if (is(call, "eat"))
        eat_memory();
    if (is(call, "flood"))
        flood();
    if (is(call, "trickle"))
        trickle(run_id(bad));
    if (is(call, "leave-writer"))
        leave_writer(); /* and then it ends */
    if (is(call, "die-writing")) {
        write_claim(run_id(bad), 1000, 1000);
        write_raw("\xe8\x03\0\0half", 8);
        _exit(7);
    }
    if (is(call, "close-output")) {
        for (int fd = 3; fd <= RAW_SHARED; fd++)
            close(fd);
        hang();
    }
    if (is(call, "exit-0"))
        _exit(0);
    if (is(call, "slow"))
        usleep(20 * 1000);
    if (is(call, "slower"))
        usleep(900 * 1000);
}

static int bad_run(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
                   struct adapter_outputs *outputs)
{
    struct bad *bad = call->engine;
    (void)bounds;
    bad->runs++;
    long first = count && inputs[0].count && inputs[0].tensors[0].count
                     ? (long)tensor_get(&inputs[0].tensors[0], 0)
                     : 0;
    misbehave(call, first, values_size(inputs, count));
    if (is(call, "survey")) {
        const char *reached = survey();
        if (reached)
            return adapter_fail(call, ADAPTER_FAILED, "reached: %s", reached);
    }
    if (is(call, "escape")) {
        pthread_t thread;
        const char *possible = escape();
        if (!possible && pthread_create(&thread, NULL, nothing_to_do, NULL))
            possible = "no thread";
        else if (!possible)
            pthread_join(thread, NULL);
        if (possible)
            return adapter_fail(call, ADAPTER_FAILED, "possible: %s", possible);
    }
    if (is(call, "segv-colour")) {
        fputs("\033[31mred\033[0m \xC2\x9B \xE2\x80\xAE turned\n", stderr);
        raise(SIGSEGV);
    }
    if (is(call, "fail-long"))
        return adapter_fail(call, ADAPTER_FAILED, "%s%s", long_way, "the reason at the end");
    if (is(call, "needs-says") && !take_much(call))
        return adapter_fail(call, ADAPTER_FAILED, "cannot allocate a buffer");
    if (is(call, "needs") || is(call, "reserves"))
        take_much(call);
    if (is(call, "fault-run"))
        return adapter_fail(call, ADAPTER_AT_FAULT, "the adapter calls what is not there");
    if (is(call, "fail-run"))
        return adapter_fail(call, ADAPTER_FAILED, "kernel says no");
    if (is(call, "single") && count && inputs[0].tensors[0].shape.dims[0] > 1)
        return adapter_fail(call, ADAPTER_FAILED, "one sample at a time");
    if (is(call, "no-outputs"))
        return 0;
    if (is(call, "ignore-wanted") && bad->wants)
        adapter_output(outputs, "x");
    if (is(call, "sequence")) {
        adapter_output(outputs, "y")->kind = VALUE_SEQUENCE;
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct error err;
        if (value_copy(adapter_output(outputs, NULL), &inputs[i], &err))
            return adapter_fail(call, ADAPTER_FAILED, "%s", err.message);
    }
    if (is(call, "stale") && bad->cases > 1 && count && outputs->values[0].tensors[0].count)
        tensor_set(&outputs->values[0].tensors[0], 0, 77);
    size_t bytes = count ? inputs[0].tensors[0].size : 0;
    if (is(call, "shared-differ") && bytes >= WIRE_SHARED_LEAST && bytes < WIRE_CHUNK)
        tensor_set(&outputs->values[0].tensors[0], 0, 77);
    if (is(call, "behind-input") && count)
        behind(inputs[0].tensors[0].data, inputs[0].tensors[0].size);
    if (is(call, "behind-output") && count)
        behind(outputs->values[0].tensors[0].data, outputs->values[0].tensors[0].size);
    if (is(call, "unwritten") && count)
        tensor_set(&outputs->values[0].tensors[0], 0, unwritten());
    if (is(call, "differ") && count)
        tensor_set(&outputs->values[0].tensors[0], 0, bad->runs);
    return 0;
}

static int bad_gradient(struct adapter_call *call, const struct adapter_gradient *request,
                        struct adapter_outputs *outputs)
{
    (void)request, (void)outputs;
    return adapter_fail(call, is(call, "fail-gradient") ? ADAPTER_FAILED : ADAPTER_UNSUPPORTED,
                        "bad has no gradients");
}

static void bad_unload(struct adapter_call *call)
{
    if (is(call, "segv-unload"))
        crash();
}

static void bad_stop(void *engine)
{
    if (strcmp(((const struct bad *)engine)->mode, "stay") == 0)
        hang();
    free(engine);
}

int main(int argc, char **argv)
{
    struct adapter_knob knobs[] = {
        {.name = "mode", .values = "NAME", .value = "good", .help = "how to misbehave", .kind = KNOB_KERNELS},
        {0},
    };
    struct adapter adapter = {
        .name = "bad",
        .knobs = knobs,
        .start = bad_start,
        .load = bad_load,
        .run = bad_run,
        .gradient = bad_gradient,
        .unload = bad_unload,
        .stop = bad_stop,
    };
    if (dup2(STDOUT_FILENO, RAW_OUTPUT) < 0)
        return 1;
    dup2(WIRE_SHARED_FILE, RAW_SHARED); /* there may be none */
    return adapter_main(&adapter, argc, argv);
}
