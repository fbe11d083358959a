/*
 * Bugs of an optimiser, buried in trained models: are the fused nodes named?
 *
 *     bench_fusion KNOWN-BUGS RELEASE:BUG[,RELEASE:BUG...] SAMPLES.npy MODEL.onnx...
 *
 * The bug's graph (KNOWN-BUGS/BUG/model.onnx) is spliced into the middle of each model: its inputs are slices
 * of a value there, its output, weighted and summed up, is added to that value. So what the bug does reaches
 * the model's answer and every optimisation between its nodes can still happen. Then onnxruntime@RELEASE with
 * opt=all must be found wrong (or refusing) with nodes of the bug alone to blame, and with opt=none nobody
 * may be blamed.
 */
#include "base/memory.h"
#include "base/str.h"
#include "locate/localize.h"
#include "model/build.h"
#include "model/data.h"
#include "model/edit.h"
#include "model/onnx.h"
#include "tensor/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "bug/";

enum { MAX_SAMPLES = 10 };

struct splice {
    struct model *host, *bug;
    const char *folder; /* the bug's */
    const char *value;  /* of the host, where it goes in */
};

struct bench {
    struct registry *registry;
    struct tensor samples[MAX_SAMPLES];
    size_t n_samples;
    size_t cases, placed, quiet;
};

__attribute__((noreturn)) static void die(const char *what, const char *message)
{
    fprintf(stderr, "bench_fusion: %s: %s\n", what, message);
    exit(2);
}

static const char *named(struct model *host, const char *name)
{
    struct str text;
    str_init(&text);
    str_printf(&text, "%s%s", prefix, name);
    const char *kept = arena_strdup(&host->arena, text.data);
    str_release(&text);
    return kept;
}

static const char *constant(struct model *host, const char *name, enum dtype type, const int64_t *dims,
                            int rank, const double *values)
{
    struct tensor tensor;
    struct error err = {0};
    struct shape shape = shape_make(rank, dims);
    if (tensor_alloc(&tensor, type, &shape, 0, &err))
        die(name, err.message);
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i, values[i]);
    name = named(host, name);
    model_add_initializer(host, name, &tensor);
    tensor_release(&tensor);
    return name;
}

static const char *numbers(struct model *host, const char *name, const int64_t *values, size_t count)
{
    double *copy = memory_zeroed(count, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = (double)values[i];
    int64_t length = (int64_t)count;
    name = constant(host, name, DTYPE_INT64, &length, 1, copy);
    free(copy);
    return name;
}

/* A node of the host's around the bug; its only output has its name. */
static const char *add(struct model *host, const char *type, const char *name, size_t inputs,
                       const char *const *input)
{
    name = named(host, name);
    Onnx__NodeProto *node = model_add_node(host, type, name, inputs, input, 1, &name);
    if (strcmp(type, "ReduceSum") == 0)
        node_set_int(&host->arena, node, "keepdims", 0);
    return name;
}

static const char *cast(struct model *host, const char *name, const char *from, enum dtype type)
{
    const char *made = add(host, "Cast", name, 1, &from);
    node_set_int(&host->arena, host->graph->node[host->graph->n_node - 1], "to", (int64_t)type);
    return made;
}

static struct shape shape_of(const Onnx__ValueInfoProto *info)
{
    const Onnx__TensorShapeProto *from = info->type->tensor_type->shape;
    struct shape shape = {.rank = (int)from->n_dim};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = from->dim[i]->dim_value;
    return shape;
}

/* Integers that steer shapes keep the value the case brings, and are no constants all the same. */
static const char *keep_value(struct splice *splice, const char *from, size_t number)
{
    struct model *host = splice->host;
    struct str path;
    struct value value;
    struct error err = {0};
    str_init(&path);
    str_printf(&path, "%s/test_data_set_0/input_%zu.pb", splice->folder, number);
    value_init(&value);
    if (data_read(USERS_PATH, path.data, splice->bug->graph->input[number]->type, &value, &err))
        die(path.data, err.message);
    const double zero = 0;
    char name[40];
    snprintf(name, sizeof name, "none%zu", number);
    const char *product[] = {from, constant(host, "zero", value.tensors[0].type, NULL, 0, &zero)};
    const char *nothing = add(host, "Mul", name, 2, product);
    const char *kept = named(host, "kept");
    model_add_initializer(host, kept, &value.tensors[0]);
    const char *sum[] = {nothing, kept};
    value_release(&value);
    str_release(&path);
    return add(host, "Add", "steady", 2, sum);
}

/* Input `number` of the bug, from the first elements of the host's value. */
static const char *adapt_input(struct splice *splice, size_t number)
{
    struct model *host = splice->host;
    const Onnx__ValueInfoProto *info = splice->bug->graph->input[number];
    struct shape shape = shape_of(info);
    enum dtype type = (enum dtype)info->type->tensor_type->elem_type;
    static const int64_t all = -1;
    int64_t count = 1, start = 0;
    char name[8][40];
    for (size_t i = 0; i < 8; i++) {
        static const char *const parts[] = {"flat", "slice", "in", "cast", "all", "from", "to", "shape"};
        snprintf(name[i], sizeof name[i], "%s%zu", parts[i], number);
    }
    for (int i = 0; i < shape.rank; i++)
        count *= shape.dims[i];
    const char *flat[] = {splice->value, numbers(host, name[4], &all, 1)};
    const char *slice[] = {add(host, "Reshape", name[0], 2, flat), numbers(host, name[5], &start, 1),
                           numbers(host, name[6], &count, 1)};
    const char *form[] = {add(host, "Slice", name[1], 3, slice),
                          numbers(host, name[7], shape.dims, (size_t)shape.rank)};
    const char *made = add(host, "Reshape", name[2], 2, form);
    if (type != DTYPE_FLOAT)
        made = cast(host, name[3], made, type);
    return dtype_in(type, DTYPES_INTEGER) ? keep_value(splice, made, number) : made;
}

/* The bug's nodes and weights, all names under the prefix; `inputs` are what its inputs are called. */
static void copy_bug(struct splice *splice, const char *const *inputs)
{
    struct model *host = splice->host;
    const Onnx__GraphProto *graph = splice->bug->graph;
    for (size_t i = 0; i < graph->n_initializer; i++) {
        struct tensor tensor;
        struct error err = {0};
        if (model_weight(splice->bug, i, &tensor, &err))
            die("the bug's weights", err.message);
        model_add_initializer(host, named(host, graph->initializer[i]->name), &tensor);
        tensor_release(&tensor);
    }
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *from = graph->node[i];
        const char **in = arena_array(&host->arena, from->n_input, sizeof *in);
        const char **out = arena_array(&host->arena, from->n_output, sizeof *out);
        for (size_t k = 0; k < from->n_input; k++) {
            in[k] = *from->input[k] ? named(host, from->input[k]) : "";
            for (size_t j = 0; j < graph->n_input; j++)
                if (strcmp(graph->input[j]->name, from->input[k]) == 0)
                    in[k] = inputs[j];
        }
        for (size_t k = 0; k < from->n_output; k++)
            out[k] = *from->output[k] ? named(host, from->output[k]) : "";
        Onnx__NodeProto *made =
            model_add_node(host, from->op_type, out[0], from->n_input, in, from->n_output, out);
        made->attribute = from->attribute; /* the bug's model outlives the host */
        made->n_attribute = from->n_attribute;
    }
}

/* The bug's output, weighted (a sum alone does not see a permutation) and summed up, on top of the value. */
static const char *join_output(struct splice *splice)
{
    struct model *host = splice->host;
    const Onnx__ValueInfoProto *info = splice->bug->graph->output[0];
    struct shape shape = shape_of(info);
    static const int64_t all = -1;
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++)
        count *= shape.dims[i];
    double *weights = memory_zeroed((size_t)count, sizeof *weights);
    for (int64_t i = 0; i < count; i++)
        weights[i] = (double)((i * 7 + 3) % 11 - 5);
    const char *out = named(host, info->name);
    if (info->type->tensor_type->elem_type != DTYPE_FLOAT)
        out = cast(host, "outcast", out, DTYPE_FLOAT);
    const char *flat[] = {out, numbers(host, "outall", &all, 1)};
    const char *product[] = {add(host, "Reshape", "outflat", 2, flat),
                             constant(host, "weights", DTYPE_FLOAT, &count, 1, weights)};
    const char *weighted = add(host, "Mul", "weighted", 2, product);
    const char *sum[] = {splice->value, add(host, "ReduceSum", "sum", 1, &weighted)};
    free(weights);
    return add(host, "Add", "joined", 2, sum);
}

/* A float value half way through the model that is large enough to be sliced. */
static const char *middle_value(const struct model *host)
{
    static const char *const types[] = {"Conv", "Relu",    "BatchNormalization", "Tanh",   "Sigmoid", "LSTM",
                                        "GRU",  "MaxPool", "AveragePool",        "MatMul", "RNN",     "Clip"};
    size_t n = host->graph->n_node;
    for (size_t i = 0; i < 2 * n; i++) {
        /* Ever farther from the middle, to both sides. */
        size_t at = n / 2 + (i % 2 ? n - i / 2 - 1 : i / 2) % n;
        const Onnx__NodeProto *node = host->graph->node[at % n];
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            if (strcmp(node->op_type, types[k]) == 0)
                return *node->output[0] ? node->output[0] : node->output[1];
    }
    die("host", "no value to splice at");
}

static void splice(struct splice *splice)
{
    struct model *host = splice->host;
    const Onnx__GraphProto *bug = splice->bug->graph;
    struct error err = {0};
    splice->value = middle_value(host);
    size_t before = host->graph->n_node;
    const char **inputs = arena_array(&host->arena, bug->n_input, sizeof *inputs);
    for (size_t i = 0; i < bug->n_input; i++)
        inputs[i] = adapt_input(splice, i);
    copy_bug(splice, inputs);
    const char *joined = join_output(splice);
    for (size_t i = 0; i < before; i++) {
        Onnx__NodeProto *node = host->graph->node[i];
        for (size_t k = 0; k < node->n_input; k++)
            if (strcmp(node->input[k], splice->value) == 0)
                node->input[k] = (char *)(uintptr_t)joined;
    }
    if (model_sort_nodes(host, &err))
        die("the spliced model", err.message);
}

/* The host in the bug's operator set. */
static struct model *load_host(const char *path, int opset)
{
    struct error err = {0};
    struct model *host;
    uint8_t *data, *converted;
    size_t size, converted_size;
    if (model_load(&host, path, &err))
        die(path, err.message);
    if (model_opset(host) >= opset)
        return host;
    if (model_pack(host, &data, &size, &err) ||
        onnx_convert_opset(data, size, opset, &converted, &converted_size, &err))
        die(path, err.message);
    model_free(host);
    if (model_parse(&host, converted, converted_size, &err))
        die(path, err.message);
    free(data);
    free(converted);
    return host;
}

static bool is_bugs_own(const struct splice *splice, const Onnx__NodeProto *node)
{
    const Onnx__GraphProto *graph = splice->bug->graph;
    if (strncmp(node->name, prefix, sizeof prefix - 1) != 0)
        return false;
    for (size_t i = 0; i < graph->n_node; i++)
        if (strcmp(graph->node[i]->output[0], node->name + sizeof prefix - 1) == 0)
            return true;
    return false;
}

static int place(struct bench *bench, const struct splice *splice, size_t sample, const char *release,
                 const char *level, struct localization *found)
{
    struct error err = {0};
    const struct engine_spec *spec;
    struct str label;
    str_init(&label);
    str_printf(&label, "onnxruntime@%s:opt=%s", release, level);
    if (registry_find(bench->registry, given_typed(registry_arena(bench->registry), label.data), &spec, &err))
        die(label.data, err.message);
    struct pool *pool = pool_new(&(struct pool_options){0});
    struct value input = {.name = splice->host->graph->input[0]->name,
                          .kind = VALUE_TENSOR,
                          .count = 1,
                          .tensors = &bench->samples[sample]};
    struct test_case *test = test_case_view(splice->host, &input, 1);
    struct localize_case which = {
        .pool = pool, .engine = pool_add(pool, spec), .test = test, .method = LOCALIZE_LOCAL};
    int status = localize(found, &which, &err);
    if (status)
        printf("    %s: %s\n", label.data, err.message);
    test_case_free(test);
    pool_free(pool);
    str_release(&label);
    return status;
}

static void print_nodes(const struct splice *splice, const struct localization *found)
{
    for (size_t i = 0; i < found->n_culprits; i++)
        printf("%s%s", i ? "+" : "", splice->host->graph->node[found->culprits[i]]->op_type);
    printf("  (%zu runs)\n", found->runs);
}

static void try_case(struct bench *bench, const char *folder, const char *release, const char *path)
{
    struct error err = {0};
    struct str file;
    struct localization found;
    struct splice case_ = {.folder = folder};
    const char *slash = strrchr(path, '/'), *bug = strrchr(folder, '/');
    str_init(&file);
    str_printf(&file, "%s/model.onnx", folder);
    if (model_load(&case_.bug, file.data, &err))
        die(file.data, err.message);
    case_.host = load_host(path, model_opset(case_.bug));
    splice(&case_);
    bench->cases++;
    printf("%-34s %-14s %-8s ", bug ? bug + 1 : folder, slash ? slash + 1 : path, release);
    size_t sample = 0;
    int status = place(bench, &case_, sample, release, "all", &found);
    /* An answer that the softmax at the end has made 0 and 1 of hides what happened: another sample then. */
    while (!status && !verdict_is_finding(found.kind) && sample + 1 < bench->n_samples) {
        localization_release(&found);
        status = place(bench, &case_, ++sample, release, "all", &found);
    }
    if (!status) {
        bool own = found.n_culprits > 0 && verdict_is_finding(found.kind);
        for (size_t i = 0; i < found.n_culprits; i++)
            own = own && is_bugs_own(&case_, case_.host->graph->node[found.culprits[i]]);
        bench->placed += own;
        printf("%4zu nodes  %-9s %-4s ", found.n_nodes, verdict_name(found.kind), own ? "yes" : "NO");
        print_nodes(&case_, &found);
        if (!own)
            printf("    %s\n", found.text);
    }
    localization_release(&found);
    if (!place(bench, &case_, sample, release, "none", &found)) {
        bool quiet = !verdict_is_finding(found.kind);
        bench->quiet += quiet;
        if (!quiet)
            printf("    with opt=none: %s\n", found.text);
    }
    localization_release(&found);
    fflush(stdout);
    str_release(&file);
    model_free(case_.host);
    model_free(case_.bug);
}

static void read_sample(struct bench *bench, const char *path)
{
    struct error err = {0};
    struct tensor samples;
    if (npy_read(USERS_PATH, path, &samples, &err))
        die(path, err.message);
    struct shape shape = samples.shape;
    size_t row = samples.size / (size_t)shape.dims[0];
    size_t count = (size_t)samples.shape.dims[0];
    shape.dims[0] = 1;
    for (size_t i = 0; i < count && i < MAX_SAMPLES; i++)
        if (tensor_from_bytes(&bench->samples[bench->n_samples++], samples.type, &shape,
                              (const char *)samples.data + i * row, row, &err))
            die(path, err.message);
    tensor_release(&samples);
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    struct error err = {0};
    if (argc < 5)
        die("usage", "bench_fusion KNOWN-BUGS RELEASE:BUG,... SAMPLES.npy MODEL.onnx...");
    if (registry_open(&bench.registry, NULL, 0, &err))
        die("registry", err.message);
    read_sample(&bench, argv[3]);
    printf("%-34s %-14s %-8s %s\n", "bug", "buried in", "release", "            verdict   its own nodes");
    for (char *item = strtok(argv[2], ","); item; item = strtok(NULL, ",")) {
        char *bug = strchr(item, ':');
        if (!bug)
            die(item, "RELEASE:BUG it should be");
        *bug++ = '\0';
        struct str folder;
        str_init(&folder);
        str_printf(&folder, "%s/%s", argv[1], bug);
        for (int i = 4; i < argc; i++)
            try_case(&bench, folder.data, item, argv[i]);
        str_release(&folder);
    }
    printf("placed %zu of %zu, quiet %zu\n", bench.placed, bench.cases, bench.quiet);
    for (size_t i = 0; i < bench.n_samples; i++)
        tensor_release(&bench.samples[i]);
    registry_free(bench.registry);
    return bench.placed != bench.cases || bench.quiet != bench.cases;
}
