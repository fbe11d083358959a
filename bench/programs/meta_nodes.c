/*
 * The nodes of networks, each as a model of its own with the inputs that it has in the network, for the cost
 * of the way through Assay (bench/meta).
 *
 *     bench_meta_nodes write FOLDER BATCH MODEL...
 *     bench_meta_nodes run ROUNDS NODES
 *
 * write makes FOLDER/nodes.bin; libtorch computes the values between the nodes. run measures one run of each
 * node on libtorch: through a worker of Assay, which keeps the node loaded, from inputs to outputs in memory,
 * and bare in this process (meta_nodes_bare.h). All are measured in turns, in each of
 * ROUNDS rounds through all nodes, and the lower quartile of the rounds counts, since other work on the
 * machine only adds.
 */
#include "meta_nodes_bare.h"

#include "base/clock.h"
#include "base/heap.h"
#include "base/memory.h"
#include "case/inputs.h"
#include "case/inputs_random.h"
#include "engine/pool.h"
#include "model/edit.h"
#include "model/index.h"
#include "model/model.h"

enum {
    LEAST_RUNS = 6, /* in a round, and no more for large nodes: a job keeps its results until its last, and
                       a caller of Assay does not hold dozens of megabytes, which make every copy slow */
    MOST_RUNS = 500,
    WARM = 3, /* runs before those that count */
    MAX_NODES = 1000,
    LARGE = 100, /* us: nodes below this are small */
    MAX_ROUNDS = 100,
};

static void die(const struct error *err)
{
    meta_die(err->message);
}

struct engine {
    struct registry *registry;
    struct pool *pool;
    int number;
};

static void engine_open(struct engine *engine, const char *label)
{
    const struct engine_spec *spec;
    struct error err = {0};
    if (registry_open(&engine->registry, NULL, 0, &err) < 0 ||
        registry_find(engine->registry, given_typed(registry_arena(engine->registry), label), &spec, &err) <
            0)
        die(&err);
    engine->pool = pool_new(&(struct pool_options){.deadline = 120});
    engine->number = pool_add(engine->pool, spec);
}

static void engine_close(struct engine *engine)
{
    pool_free(engine->pool);
    registry_free(engine->registry);
}

/* All values that nodes make, as libtorch computes them. */
static struct result record(struct engine *engine, const struct model_index *index, const uint8_t *bytes,
                            size_t size, const struct value *inputs, size_t n_inputs)
{
    const char **names = memory_zeroed(index->count + 1, sizeof *names);
    struct job job = {.engine = engine->number,
                      .model = bytes,
                      .model_size = size,
                      .outputs = names,
                      .n_inputs = n_inputs,
                      .inputs = inputs};
    struct result result;
    struct error err = {0};
    for (size_t i = 0; i < index->count; i++)
        if (index->values[i].source == SOURCE_NODE)
            names[job.n_outputs++] = index->values[i].name;
    if (pool_run_one(engine->pool, &job, &result, &err) < 0)
        die(&err);
    if (result.outcome != OUTCOME_OK)
        meta_die(result.message ? result.message : "the network does not run");
    free(names);
    return result;
}

static const struct tensor *find(const struct value *values, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (values[i].kind == VALUE_TENSOR && strcmp(values[i].name, name) == 0)
            return values[i].tensors;
    return NULL;
}

static void write_node(FILE *file, const char *network, const struct model_index *index, size_t number,
                       const struct edit_types *types, const struct value *inputs, size_t n_inputs,
                       const struct result *result)
{
    struct model *part;
    struct error err = {0};
    struct meta_case one = {0};
    uint8_t *bytes;
    size_t size;
    if (model_cut(&part, index, &number, 1, types, &err) < 0 || model_to_bytes(part, &bytes, &size, &err) < 0)
        die(&err);
    snprintf(one.name, sizeof one.name, "%.30s/%zu-%.24s", network, number,
             index->model->graph->node[number]->op_type);
    one.model = bytes;
    one.model_size = size;
    bool fits = part->graph->n_input > 0 && part->graph->n_input <= META_TENSORS;
    for (size_t i = 0; fits && i < part->graph->n_input; i++) {
        const char *name = part->graph->input[i]->name;
        const struct tensor *tensor = find(inputs, n_inputs, name);
        tensor = tensor ? tensor : find(result->outputs, result->count, name);
        if (!tensor)
            meta_die("a value that nothing makes");
        struct meta_tensor *to = &one.inputs[one.n_inputs++];
        *to = (struct meta_tensor){.type = tensor->type,
                                   .rank = (uint32_t)tensor->shape.rank,
                                   .size = tensor->size,
                                   .data = tensor->data};
        for (int k = 0; k < tensor->shape.rank && k < META_RANK; k++)
            to->dims[k] = tensor->shape.dims[k];
    }
    if (fits)
        meta_put_case(file, &one);
    free(bytes);
    model_free(part);
}

static void write_network(FILE *file, struct engine *engine, const char *path, const char *batch)
{
    struct model *model;
    struct model_index index;
    struct inputs drawn;
    struct error err = {0};
    struct value *inputs;
    size_t n_inputs, size;
    uint8_t *bytes;
    const char *slash = strrchr(path, '/'), *dims[] = {batch};
    char network[32];
    snprintf(network, sizeof network, "%.*s", (int)strcspn(slash ? slash + 1 : path, "."),
             slash ? slash + 1 : path);
    if (model_load(&model, path, &err) < 0 || model_index_init(&index, model, &err) < 0 ||
        model_to_bytes(model, &bytes, &size, &err) < 0 ||
        inputs_random(&drawn, model, 1, 17, dims, 1, &err) < 0 || inputs_get(&drawn, 0, &inputs, &err) < 0)
        die(&err);
    n_inputs = drawn.count;
    struct result result = record(engine, &index, bytes, size, inputs, n_inputs);
    size_t count = result.count + n_inputs;
    const char **names = memory_zeroed(count, sizeof *names);
    const struct tensor **tensors = memory_zeroed(count, sizeof *tensors);
    struct edit_types types = {count, names, tensors};
    for (size_t i = 0; i < count; i++) {
        const struct value *value = i < n_inputs ? &inputs[i] : &result.outputs[i - n_inputs];
        names[i] = value->name;
        tensors[i] = value->tensors;
    }
    for (size_t i = 0; i < model->graph->n_node; i++)
        write_node(file, network, &index, i, &types, inputs, n_inputs, &result);
    free(names);
    free(tensors);
    result_release(&result);
    values_free(inputs, n_inputs);
    inputs_release(&drawn);
    free(bytes);
    model_index_release(&index);
    model_free(model);
}

static int write_nodes(int argc, char **argv)
{
    struct engine engine;
    char path[4096];
    snprintf(path, sizeof path, "%s/nodes.bin", argv[2]);
    FILE *file = fopen(path, "wb");
    if (!file)
        meta_die("cannot write the nodes");
    engine_open(&engine, "torch");
    for (int i = 4; i < argc; i++)
        write_network(file, &engine, argv[i], argv[3]);
    engine_close(&engine);
    return fclose(file) ? 2 : 0;
}

struct node {
    struct meta_case one;
    struct bare_node *bare;
    int runs;  /* in a round */
    bool same; /* bits come through Assay and bare */
    /* us: of each round, and of them all */
    double residents[MAX_ROUNDS], copies[MAX_ROUNDS], assays[MAX_ROUNDS];
    double resident, copied, assay;
};

/* Loads the node and runs it so often, and adds up the seconds between the answers to the runs behind the
 * first ones. Notes when the outputs are not those of the bare node. Returns the seconds for all. */
static double run_job(struct engine *engine, struct node *node, int runs, double *between)
{
    static struct job_set sets[WARM + MOST_RUNS];
    struct error err = {0};
    double start = clock_seconds();
    for (int i = 0; i < runs; i++)
        sets[i] = (struct job_set){.n_inputs = node->one.n_inputs, .inputs = bare_inputs(node->bare)};
    pool_submit(engine->pool, &(struct job){.engine = engine->number,
                                            .model = node->one.model,
                                            .model_size = node->one.model_size,
                                            .n_sets = (size_t)runs,
                                            .sets = sets});
    double took = 0;
    *between = 0;
    for (int i = 0; i < runs; i++) {
        struct job job;
        struct result result;
        bool differ;
        if (pool_next(engine->pool, 120, &job, &result, &differ, &err) != 1 || result.outcome != OUTCOME_OK)
            meta_die(node->one.name);
        took = i ? took : clock_seconds() - start; /* all have arrived with the first */
        *between += i < WARM ? 0 : (double)result.run_ns / 1e9;
        node->same = node->same && (i || bare_gives(node->bare, result.outputs, result.count));
        result_release(&result);
    }
    return took;
}

/* Seconds for one run of a loaded node. Answers to small nodes are read many at a time, so that the time
 * between them says little: theirs is what many runs take longer than few. */
static double through_assay(struct engine *engine, struct node *node, bool small)
{
    double between, few = small ? run_job(engine, node, WARM, &between) : 0;
    double all = run_job(engine, node, WARM + node->runs, &between);
    return (small ? all - few : between) / node->runs;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which this part of them lies. */
static double quantile(double *values, size_t count, double part)
{
    qsort(values, count, sizeof *values, by_value);
    return count ? values[(size_t)((double)(count - 1) * part + 0.5)] : 0;
}

static int choose_runs(struct bare_node *node)
{
    double runs = 0.001 / bare_resident(node, WARM, LEAST_RUNS);
    return runs < LEAST_RUNS ? LEAST_RUNS : runs > MOST_RUNS ? MOST_RUNS : (int)runs;
}

static size_t read_nodes(struct node *nodes, const char *path, struct bare *bare)
{
    size_t count = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        meta_die("no nodes");
    for (; count < MAX_NODES && meta_get_case(file, &nodes[count].one); count++) {
        nodes[count].bare = bare_node_new(bare, &nodes[count].one);
        nodes[count].runs = choose_runs(nodes[count].bare);
        nodes[count].same = true;
    }
    fclose(file);
    return count;
}

static void measure(struct node *nodes, size_t count, int rounds, struct engine *engine)
{
    for (int i = 0; i < rounds; i++)
        for (struct node *node = nodes; node < nodes + count; node++) {
            node->residents[i] = 1e6 * bare_resident(node->bare, WARM, node->runs);
            node->assays[i] = 1e6 * through_assay(engine, node, node->residents[i] < LARGE);
            node->copies[i] = 1e6 * bare_copied(node->bare, WARM, node->runs);
        }
    for (struct node *node = nodes; node < nodes + count; node++) {
        node->resident = quantile(node->residents, (size_t)rounds, 0.25);
        node->copied = quantile(node->copies, (size_t)rounds, 0.25);
        node->assay = quantile(node->assays, (size_t)rounds, 0.25);
    }
}

/* The median ratio of the large nodes whose names begin so. */
static void print_median(const struct node *nodes, size_t count, const char *network)
{
    double resident[MAX_NODES], copied[MAX_NODES];
    size_t large = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(nodes[i].one.name, network, strlen(network)) != 0)
            continue;
        all++;
        if (nodes[i].resident < LARGE)
            continue;
        resident[large] = nodes[i].assay / nodes[i].resident;
        copied[large++] = nodes[i].assay / nodes[i].copied;
    }
    printf(
        "%s%s%zu nodes, %zu of at least %d us: median ratio %.2f to tensors that stay in the library, %.2f "
        "to tensors that are copied in and out\n",
        network, *network ? " " : "", all, large, LARGE, quantile(resident, large, 0.5),
        quantile(copied, large, 0.5));
}

static void print_medians(const struct node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char network[sizeof nodes->one.name];
        snprintf(network, sizeof network, "%.*s", (int)strcspn(nodes[i].one.name, "/") + 1,
                 nodes[i].one.name);
        if (i == 0 || strncmp(nodes[i - 1].one.name, network, strlen(network)) != 0)
            print_median(nodes, count, network);
    }
    print_median(nodes, count, "");
}

static void print_table(const struct node *nodes, size_t count)
{
    size_t differ = 0;
    printf("%-36s %10s %10s %10s %7s %7s\n", "node, us", "resident", "copied", "Assay", "ratio", "copied");
    for (const struct node *node = nodes; node < nodes + count; node++) {
        printf("%-36s %10.1f %10.1f %10.1f %7.2f %7.2f%s%s\n", node->one.name, node->resident, node->copied,
               node->assay, node->assay / node->resident, node->assay / node->copied,
               node->resident < LARGE ? "  small" : "", node->same ? "" : "  differs");
        differ += !node->same;
    }
    print_medians(nodes, count);
    printf("outputs of the %zu nodes through Assay and bare, %zu differ\n", count, differ);
}

static int run_nodes(int rounds, const char *path)
{
    struct engine engine;
    if (rounds < 1 || rounds > MAX_ROUNDS)
        meta_die("no number of rounds");
    struct node *nodes = memory_zeroed(MAX_NODES, sizeof *nodes);
    struct bare *bare = bare_open();
    size_t count = read_nodes(nodes, path, bare);
    engine_open(&engine, "torch");
    measure(nodes, count, rounds, &engine);
    print_table(nodes, count);
    engine_close(&engine);
    for (size_t i = 0; i < count; i++) {
        bare_node_free(nodes[i].bare);
        meta_free_case(&nodes[i].one);
    }
    bare_close(bare);
    free(nodes);
    return 0;
}

int main(int argc, char **argv)
{
    heap_keep_freed(); /* as Assay and the adapter of libtorch do */
    if (argc > 4 && strcmp(argv[1], "write") == 0)
        return write_nodes(argc, argv);
    if (argc == 4 && strcmp(argv[1], "run") == 0)
        return run_nodes(atoi(argv[2]), argv[3]);
    meta_die("usage: bench_meta_nodes write FOLDER BATCH MODEL... | run ROUNDS NODES");
    return 2;
}
