/*
 * The nodes of networks, each as a model of its own with the inputs that it has in the network, for the cost
 * of the way through Assay (bench/meta).
 *
 *     bench_meta_nodes write FOLDER BATCH MODEL...
 *     bench_meta_nodes run ENGINE NODES
 *
 * write makes FOLDER/nodes.bin; libtorch computes the values between the nodes. run sends each node to a
 * worker of the engine, which keeps it loaded while it is run several times, and prints its name and the
 * microseconds of one run: inputs through the pipe, the node, outputs back. meta_nodes_bare_torch reads the
 * same file.
 */
#include "meta_file.h"

#include "base/clock.h"
#include "base/memory.h"
#include "case/inputs.h"
#include "case/inputs_random.h"
#include "engine/pool.h"
#include "model/edit.h"
#include "model/index.h"
#include "model/model.h"

enum { RUNS = 20 };

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
        registry_find(engine->registry, label, &spec, &err) < 0)
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

static struct value *values_of(const struct meta_case *one, const struct model *model)
{
    struct value *values = memory_zeroed(one->n_inputs + 1, sizeof *values);
    for (uint32_t i = 0; i < one->n_inputs; i++) {
        const struct meta_tensor *from = &one->inputs[i];
        struct shape shape = {.rank = (int)from->rank};
        struct tensor tensor;
        struct error err = {0};
        memcpy(shape.dims, from->dims, from->rank * sizeof *from->dims);
        if (tensor_from_bytes(&tensor, (enum dtype)from->type, &shape, from->data, from->size, &err) < 0)
            die(&err);
        value_init(&values[i]);
        value_set_name(&values[i], model->graph->input[i]->name);
        value_set_tensor(&values[i], &tensor);
    }
    return values;
}

/* Seconds until the node is loaded and has been run so many times. */
static double seconds(struct engine *engine, const struct meta_case *one, const struct value *inputs,
                      int runs)
{
    struct job_set sets[RUNS + 1];
    struct error err = {0};
    double start = clock_seconds();
    for (int i = 0; i < runs; i++)
        sets[i] = (struct job_set){.n_inputs = one->n_inputs, .inputs = inputs};
    pool_submit(engine->pool, &(struct job){.engine = engine->number,
                                            .model = one->model,
                                            .model_size = one->model_size,
                                            .n_sets = (size_t)runs,
                                            .sets = sets});
    for (int i = 0; i < runs; i++) {
        struct job job;
        struct result result;
        bool differ;
        if (pool_next(engine->pool, 120, &job, &result, &differ, &err) != 1 || result.outcome != OUTCOME_OK)
            meta_die(one->name);
        result_release(&result);
    }
    return clock_seconds() - start;
}

/* Seconds for one further run of a loaded node. */
static double each_run(struct engine *engine, const struct meta_case *one)
{
    struct model *model;
    struct error err = {0};
    if (model_parse(&model, one->model, one->model_size, &err) < 0)
        die(&err);
    struct value *inputs = values_of(one, model);
    double once = seconds(engine, one, inputs, 1), again = seconds(engine, one, inputs, 1);
    double took = seconds(engine, one, inputs, RUNS + 1) - (again < once ? again : once);
    values_free(inputs, one->n_inputs);
    model_free(model);
    return took / RUNS;
}

static int run_nodes(const char *label, const char *path)
{
    struct engine engine;
    struct meta_case one;
    FILE *file = fopen(path, "rb");
    if (!file)
        meta_die("no nodes");
    engine_open(&engine, label);
    while (meta_get_case(file, &one)) {
        printf("%s %.1f\n", one.name, each_run(&engine, &one) * 1e6);
        meta_free_case(&one);
    }
    engine_close(&engine);
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 4 && strcmp(argv[1], "write") == 0)
        return write_nodes(argc, argv);
    if (argc == 4 && strcmp(argv[1], "run") == 0)
        return run_nodes(argv[2], argv[3]);
    meta_die("usage: bench_meta_nodes write FOLDER BATCH MODEL... | run ENGINE NODES");
    return 2;
}
