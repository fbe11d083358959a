/*
 * usage: loop_bare LIBRARY none|all FILE
 * The cases that bench_loop wrote down, each loaded, run once and freed with ONNX Runtime's C API and nothing
 * else, on one thread; outputs are copied out. What the library refuses it refuses; where it dies on a case
 * the next ones run in a new process. Prints "wall W cpu C cases N answered A load L run R unload U": the
 * last three are seconds of CPU, as `cpu` is.
 */
#include "bare_onnxruntime.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_INPUTS = 256, MOST_OUTPUTS = 256, WARM = 4 /* as in loop.c */ };

struct input {
    char *name;
    uint64_t type, rank, size;
    const int64_t *dims;
    void *data;
};

struct recorded {
    const void *model;
    uint64_t size, n_inputs;
    struct input *inputs;
};

/* Shared with the process that runs the cases. */
struct progress {
    size_t next, answered;
    double seconds, load, run, unload;
};

static uint64_t take(const char **at)
{
    uint64_t number;
    memcpy(&number, *at, sizeof number);
    *at += sizeof number;
    return number;
}

/* The dims may lie unaligned in the file. */
static int64_t *take_dims(const char **at, uint64_t rank)
{
    int64_t *dims = memory_zeroed(rank + 1, sizeof *dims);
    memcpy(dims, *at, rank * sizeof *dims);
    *at += rank * sizeof *dims;
    return dims;
}

static size_t read_cases(const char *data, size_t size, struct recorded **cases)
{
    size_t count = 0, capacity = 0;
    for (const char *at = data; at < data + size; count++) {
        *cases = memory_grow(*cases, &capacity, count + 1, sizeof **cases);
        struct recorded *one = &(*cases)[count];
        one->size = take(&at);
        one->model = at;
        at += one->size;
        one->n_inputs = take(&at);
        one->inputs = memory_zeroed(one->n_inputs + 1, sizeof *one->inputs);
        for (uint64_t i = 0; i < one->n_inputs; i++) {
            struct input *input = &one->inputs[i];
            uint64_t length = take(&at);
            input->name = memory_zeroed(length + 1, 1);
            memcpy(input->name, at, length);
            at += length;
            input->type = take(&at);
            input->rank = take(&at);
            input->dims = take_dims(&at, input->rank);
            input->size = take(&at);
            input->data = memory_zeroed(input->size + 16, 1);
            memcpy(input->data, at, input->size);
            at += input->size;
        }
    }
    return count;
}

/* True when there was no error; frees the status. */
static bool fine(const struct bare *bare, OrtStatus *status)
{
    if (status)
        bare->api->ReleaseStatus(status);
    return !status;
}

static void copy_out(const struct bare *bare, OrtValue *value)
{
    OrtTensorTypeAndShapeInfo *info = NULL;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    size_t count = 0;
    void *data = NULL;
    if (!fine(bare, bare->api->GetTensorTypeAndShape(value, &info)))
        return;
    if (fine(bare, bare->api->GetTensorElementType(info, &type)) &&
        fine(bare, bare->api->GetTensorShapeElementCount(info, &count)) &&
        type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING &&
        fine(bare, bare->api->GetTensorMutableData(value, &data)) && count) {
        volatile char sink;
        char *copy = malloc(count);
        memcpy(copy, data, count);
        sink = copy[0];
        (void)sink;
        free(copy);
    }
    bare->api->ReleaseTensorTypeAndShapeInfo(info);
}

static bool run(const struct bare *bare, OrtSession *session, const struct recorded *one)
{
    const OrtApi *api = bare->api;
    const char *names[MOST_INPUTS];
    char *outputs[MOST_OUTPUTS];
    OrtValue *values[MOST_INPUTS] = {0}, *results[MOST_OUTPUTS] = {0};
    size_t n_outputs = 0;
    bool good = one->n_inputs <= MOST_INPUTS && fine(bare, api->SessionGetOutputCount(session, &n_outputs)) &&
                n_outputs <= MOST_OUTPUTS;
    for (size_t i = 0; i < one->n_inputs && good; i++) {
        const struct input *input = &one->inputs[i];
        names[i] = input->name;
        good = input->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING &&
               fine(bare, api->CreateTensorWithDataAsOrtValue(
                              bare->memory, input->data, input->size, input->dims, input->rank,
                              (ONNXTensorElementDataType)input->type, &values[i]));
    }
    size_t named = 0;
    for (; named < n_outputs && good; named++)
        good = fine(bare, api->SessionGetOutputName(session, named, bare->allocator, &outputs[named]));
    good = good && fine(bare, api->Run(session, NULL, names, (const OrtValue *const *)values, one->n_inputs,
                                       (const char *const *)outputs, n_outputs, results));
    for (size_t i = 0; i < n_outputs; i++)
        if (results[i]) {
            copy_out(bare, results[i]);
            api->ReleaseValue(results[i]);
        }
    for (size_t i = 0; i < named; i++)
        bare->allocator->Free(bare->allocator, outputs[i]);
    for (size_t i = 0; i < one->n_inputs && i < MOST_INPUTS; i++)
        if (values[i])
            api->ReleaseValue(values[i]);
    return good;
}

/* Adds the CPU time since *since, which becomes now. */
static void add_since(double *since, double *to)
{
    double now = 1e-9 * (double)clock_process_ns();
    *to += now - *since;
    *since = now;
}

/* The first session meets the library's pages and tables for the first time, as at its start. */
static void warm(const struct bare *bare, const struct recorded *one)
{
    OrtSession *session = NULL;
    if (!fine(bare,
              bare->api->CreateSessionFromArray(bare->env, one->model, one->size, bare->options, &session)))
        return;
    run(bare, session, one);
    bare->api->ReleaseSession(session);
}

static void run_cases(const struct bare *bare, const struct recorded *cases, size_t count,
                      struct progress *progress)
{
    for (size_t i = 0; i < WARM && i < count; i++)
        warm(bare, &cases[i]);
    while (progress->next < count) {
        const struct recorded *one = &cases[progress->next++];
        OrtSession *session = NULL;
        double start = clock_seconds(), cpu = 1e-9 * (double)clock_process_ns();
        bool loaded = fine(bare, bare->api->CreateSessionFromArray(bare->env, one->model, one->size,
                                                                   bare->options, &session));
        add_since(&cpu, &progress->load);
        if (loaded) {
            progress->answered += run(bare, session, one);
            add_since(&cpu, &progress->run);
            bare->api->ReleaseSession(session);
            add_since(&cpu, &progress->unload);
        }
        progress->seconds += clock_seconds() - start;
    }
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct recorded *cases = NULL;
    char *data;
    size_t size, starts = 0;
    if (argc != 4 || file_read(argv[3], (size_t)1 << 30, &data, &size, &err)) {
        fprintf(stderr, "usage: loop_bare LIBRARY none|all FILE %s\n", err.message);
        return 2;
    }
    size_t count = read_cases(data, size, &cases);
    struct progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        return 2;
    for (; progress->next < count && starts <= count; starts++) {
        pid_t child = fork();
        if (child == 0) {
            struct bare bare = {0};
            bare_open(&bare, argv[1], strcmp(argv[2], "none") == 0 ? ORT_DISABLE_ALL : ORT_ENABLE_ALL);
            run_cases(&bare, cases, count, progress);
            _exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return 2;
    }
    printf("wall %.3f cpu %.4f cases %zu answered %zu starts %zu load %.4f run %.4f unload %.4f\n",
           progress->seconds, progress->load + progress->run + progress->unload, count, progress->answered,
           starts, progress->load, progress->run, progress->unload);
    return 0;
}
