/*
 * A large model: made, and localised within limits of time and memory.
 *
 *     bench_localize_large make MODEL.onnx BLOCKS CHANNELS SIZE
 *     bench_localize_large measure ASSAY MODEL.onnx ENGINE ROUNDS
 *
 * make: inverted residual blocks of ten nodes. In the middle one stands a ConvTranspose with
 * auto_pad=SAME_UPPER, which ONNX Runtime up to 1.12.1 pads on the wrong side
 * (tests/known-bugs/convtranspose-same-upper).
 *
 * measure: in turns, the engine and the reference for one load and run of the model with all values as
 * outputs (`own`), and `assay localize` as a user runs it. Both include the start of the engines. Time is
 * the processor time of all processes: on a machine with other work the clock tells more about that. Of
 * assay's own process the largest resident memory is read from /proc while it runs.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "engine/pool.h"
#include "model/build.h"
#include "model/edit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME = 48 };

__attribute__((noreturn)) static void die(const char *what, const char *message)
{
    fprintf(stderr, "bench_localize_large: %s: %s\n", what, message);
    exit(2);
}

struct maker {
    struct model *model;
    struct rng rng;
    int64_t channels, size;
    char last[NAME]; /* the value made last */
    size_t count;    /* nodes */
};

static const char *weight(struct maker *maker, const char *name, int rank, const int64_t *dims, double scale,
                          double offset)
{
    struct tensor tensor;
    struct error err = {0};
    struct shape shape = shape_make(rank, dims);
    if (tensor_alloc(&tensor, DTYPE_FLOAT, &shape, 0, &err))
        die(name, err.message);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, offset + scale * rng_normal(&maker->rng));
    name = arena_strdup(&maker->model->arena, name);
    model_add_initializer(maker->model, name, &tensor);
    tensor_release(&tensor);
    return name;
}

/* A node on the value made last and further inputs. */
static Onnx__NodeProto *step(struct maker *maker, const char *type, size_t more, const char *const *input)
{
    const char *inputs[6] = {maker->last};
    char name[NAME];
    for (size_t i = 0; i < more; i++)
        inputs[i + 1] = input[i];
    snprintf(name, sizeof name, "%s_%zu", type, maker->count++);
    const char *out = name;
    Onnx__NodeProto *node = model_add_node(maker->model, type, name, more + 1, inputs, 1, &out);
    snprintf(maker->last, sizeof maker->last, "%s", name);
    return node;
}

static void conv(struct maker *maker, int64_t kernel, bool depthwise)
{
    char name[NAME];
    int64_t inside = depthwise ? 1 : maker->channels, pad = kernel / 2;
    snprintf(name, sizeof name, "w%zu", maker->count);
    const char *w = weight(maker, name, 4, (int64_t[]){maker->channels, inside, kernel, kernel},
                           1 / sqrt((double)(inside * kernel * kernel)), 0);
    Onnx__NodeProto *node = step(maker, "Conv", 1, &w);
    node_set_ints(&maker->model->arena, node, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
    node_set_int(&maker->model->arena, node, "group", depthwise ? maker->channels : 1);
}

static void norm(struct maker *maker, double scale)
{
    static const char *const parts[] = {"scale", "shift", "mean", "var"};
    const double offsets[] = {scale, 0, 0, 1}, spreads[] = {0, 0.1, 0.1, 0};
    const char *inputs[4];
    for (size_t i = 0; i < 4; i++) {
        char name[NAME];
        snprintf(name, sizeof name, "%s%zu", parts[i], maker->count);
        inputs[i] = weight(maker, name, 1, &maker->channels, spreads[i], offsets[i]);
    }
    step(maker, "BatchNormalization", 4, inputs);
}

/* Twice as large and back: two nodes. */
static void upsample(struct maker *maker)
{
    struct arena *arena = &maker->model->arena;
    const int64_t two[] = {2, 2};
    const char *w = weight(maker, "wt", 4, (int64_t[]){maker->channels, 1, 3, 3}, 0.5, 0);
    Onnx__NodeProto *node = step(maker, "ConvTranspose", 1, &w);
    node_set_int(arena, node, "group", maker->channels);
    node_set_string(arena, node, "auto_pad", "SAME_UPPER");
    node_set_ints(arena, node, "strides", two, 2);
    node = step(maker, "MaxPool", 0, NULL);
    node_set_ints(arena, node, "kernel_shape", two, 2);
    node_set_ints(arena, node, "strides", two, 2);
}

static void block(struct maker *maker, bool odd)
{
    char before[NAME], inner[NAME];
    const char *input = before;
    snprintf(before, sizeof before, "%s", maker->last);
    conv(maker, 1, false);
    norm(maker, 1);
    step(maker, "Relu", 0, NULL);
    conv(maker, 3, true);
    norm(maker, 1);
    if (odd) {
        upsample(maker);
    } else {
        snprintf(inner, sizeof inner, "%s", maker->last);
        const char *gate = inner;
        step(maker, "Sigmoid", 0, NULL);
        step(maker, "Mul", 1, &gate);
    }
    conv(maker, 1, false);
    norm(maker, 0.1);
    step(maker, "Add", 1, &input);
}

static int make(const char *path, long blocks, long channels, long size)
{
    struct error err = {0};
    struct maker maker = {.model = model_new(13), .rng = rng_seed(5), .channels = channels, .size = size};
    struct shape shape = shape_make(4, (int64_t[]){1, channels, size, size});
    model_add_input(maker.model, "x", DTYPE_FLOAT, &shape);
    snprintf(maker.last, sizeof maker.last, "x");
    for (long i = 0; i < blocks; i++)
        block(&maker, i == blocks / 2);
    model_add_output(maker.model, maker.last, DTYPE_FLOAT, &shape);
    int status = model_save(maker.model, USERS_PATH, path, &err);
    if (status)
        die(path, err.message);
    printf("%zu nodes, values of %zu x %ld x %ld\n", maker.count, (size_t)channels, size, size);
    model_free(maker.model);
    return 0;
}

/* The model with all values as outputs, packed, and its input. */
struct whole {
    uint8_t *data;
    size_t size, bytes; /* bytes: of all outputs together, as they came */
    struct value input;
    struct tensor tensor;
};

static void whole_load(struct whole *whole, const char *path)
{
    struct error err = {0};
    struct model *model;
    struct rng rng = rng_seed(1);
    if (model_load(&model, path, &err))
        die(path, err.message);
    const Onnx__TensorShapeProto *dims = model->graph->input[0]->type->tensor_type->shape;
    struct shape shape = {.rank = (int)dims->n_dim};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = dims->dim[i]->dim_value;
    if (tensor_alloc(&whole->tensor, DTYPE_FLOAT, &shape, 0, &err))
        die(path, err.message);
    for (size_t i = 0; i < whole->tensor.count; i++)
        tensor_set(&whole->tensor, i, rng_normal(&rng));
    value_init(&whole->input);
    value_set_name(&whole->input, model->graph->input[0]->name);
    value_set_tensor(&whole->input, &whole->tensor);
    const char **names = memory_zeroed(model->graph->n_node, sizeof *names);
    for (size_t i = 0; i < model->graph->n_node; i++)
        names[i] = model->graph->node[i]->output[0];
    if (model_expose(model, names, model->graph->n_node, &err) ||
        model_pack(model, &whole->data, &whole->size, &err))
        die(path, err.message);
    free(names);
    model_free(model);
}

static void run_whole(struct pool *pool, int engine, struct whole *whole)
{
    struct error err = {0};
    struct result result;
    struct job job = {.engine = engine,
                      .model = whole->data,
                      .model_size = whole->size,
                      .n_inputs = 1,
                      .inputs = &whole->input,
                      .deadline = 600};
    result_init(&result);
    if (pool_run_one(pool, &job, &result, &err))
        die("engine", err.message);
    if (result.outcome != OUTCOME_OK)
        die("engine", result.message ? result.message : outcome_name(result.outcome));
    whole->bytes = 0;
    for (size_t i = 0; i < result.count; i++)
        whole->bytes += result.outputs[i].tensors[0].size;
    result_release(&result);
}

/* Both engines once, each for itself, their start included. */
static int own(const char *path, const char *engine)
{
    struct registry *registry;
    struct error err = {0};
    const struct engine_spec *specs[2];
    const char *labels[] = {engine, "reference"};
    struct whole whole = {0};
    whole_load(&whole, path);
    struct pool *pool = pool_new(&(struct pool_options){0});
    if (registry_open(&registry, NULL, 0, &err))
        die("registry", err.message);
    for (int i = 0; i < 2; i++) {
        if (registry_find(registry, given_typed(registry_arena(registry), labels[i]), &specs[i], &err))
            die(labels[i], err.message);
        run_whole(pool, pool_add(pool, specs[i]), &whole);
    }
    pool_free(pool);
    registry_free(registry);
    value_release(&whole.input);
    free(whole.data);
    printf("%.0f MB of values\n", (double)whole.bytes / 1e6);
    return 0;
}

/* The largest resident memory so far, in MB; 0 when it has ended. */
static double peak_memory(pid_t pid)
{
    char path[64], line[256];
    double peak = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            peak = strtod(line + 6, NULL) / 1024;
    if (file)
        fclose(file);
    return peak;
}

/* A program and all it starts: processor time, time on the clock, its own largest memory. */
struct cost {
    double cpu, wall, peak;
};

static struct cost run_program(const char *const *argv)
{
    struct cost cost = {0};
    struct rusage usage;
    int status;
    double start = clock_seconds();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    while (wait4(pid, &status, WNOHANG, &usage) == 0) {
        cost.peak = fmax(cost.peak, peak_memory(pid));
        usleep(20000);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
        die(argv[0], "failed");
    cost.wall = clock_seconds() - start;
    cost.cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    return cost;
}

static int measure(const char *self, const char *assay, const char *path, const char *engine, int rounds)
{
    const char *const bare[] = {self, "own", path, engine, NULL};
    const char *const localize[] = {assay, "localize", path, "-e", engine, "--deadline", "600", NULL};
    struct cost all = {0}, engines = {0};
    for (int i = 0; i < rounds; i++) {
        struct cost own_cost = run_program(bare), ours = run_program(localize);
        printf(
            "processor time: engines %.2f s, localize %.2f s, ratio %.2f; on the clock %.2f s and %.2f s\n",
            own_cost.cpu, ours.cpu, ours.cpu / own_cost.cpu, own_cost.wall, ours.wall);
        engines.cpu += own_cost.cpu;
        engines.wall += own_cost.wall;
        all.cpu += ours.cpu;
        all.wall += ours.wall;
        all.peak = fmax(all.peak, ours.peak);
    }
    printf("ratio %.2f clock %.2f peak %.0f\n", all.cpu / engines.cpu, all.wall / engines.wall, all.peak);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "make") == 0)
        return make(argv[2], strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10), strtol(argv[5], NULL, 10));
    if (argc == 6 && strcmp(argv[1], "measure") == 0)
        return measure(argv[0], argv[2], argv[3], argv[4], (int)strtol(argv[5], NULL, 10));
    if (argc == 4 && strcmp(argv[1], "own") == 0)
        return own(argv[2], argv[3]);
    die("usage", "make MODEL BLOCKS CHANNELS SIZE | measure ASSAY MODEL ENGINE ROUNDS");
}
