/*
 * The networks of bench/nan: bench_nan WHERE JUDGED COUNT FOLDER MODEL.onnx...
 *
 * Each model with one random sample, and then COUNT networks of the graph generator that are finite on their
 * own inputs, become cases in FOLDER/NAME, in ONNX's backend-test layout. Where WHERE is "values", every
 * value inside the model is made an output of it.
 *
 * One line a network, separated by tabs: name, nodes, "softmax" if it has one, else "-", and whether it stays
 * finite whatever its input: "proved" (search/stays_finite.h), "judged" or "-". Judged are those of the file
 * JUDGED, whose lines are name, tab, "outputs" or "values", tab, reason.
 */
#include "base/file.h"
#include "base/memory.h"
#include "case/backend_suite.h"
#include "case/inputs.h"
#include "generate/operator_case.h"
#include "model/edit.h"
#include "model/onnx.h"
#include "search/danger.h"
#include "search/stays_finite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 16, NODES = 12 };

struct bench {
    const char *folder, *judged; /* the text of the file */
    bool values;
};

struct network {
    char name[64];
    struct test_case *test;
};

__attribute__((noreturn)) static void die(const char *what, const struct error *err)
{
    fprintf(stderr, "bench_nan: %s: %s\n", what, err->message);
    exit(2);
}

/* The model with the types of its values. */
static struct model *with_types(const struct network *network)
{
    struct error err = {0};
    const uint8_t *bytes;
    uint8_t *typed;
    size_t size, typed_size;
    struct model *model;
    if (test_case_bytes(network->test, &bytes, &size, &err) ||
        onnx_infer_shapes(bytes, size, 0, &typed, &typed_size, &err) ||
        model_parse(&model, typed, typed_size, &err))
        die(network->name, &err);
    free(typed);
    return model;
}

/* Makes an output of every value that a node makes. */
static void show_values(struct network *network)
{
    struct error err = {0};
    struct model_index index;
    struct model *shown = with_types(network);
    size_t count = 0;
    if (model_index_init(&index, shown, &err))
        die(network->name, &err);
    char **names = memory_zeroed(index.count, sizeof *names);
    for (size_t i = 0; i < index.count; i++)
        if (index.values[i].source == SOURCE_NODE)
            names[count++] = memory_strdup(index.values[i].name);
    model_index_release(&index);
    if (model_expose(shown, (const char *const *)names, count, &err))
        die(network->name, &err);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    test_case_set_model(network->test, shown);
}

static bool has_operator(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->graph->n_node; i++)
        if (strcmp(model->graph->node[i]->op_type, name) == 0)
            return true;
    return false;
}

/* Whether the list says that the outputs, or all values, of a network stay finite. */
static bool is_judged(const struct bench *bench, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = bench->judged; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, length) == 0 && line[length] == '\t')
            return !bench->values || strncmp(line + length + 1, "values\t", 7) == 0;
    return false;
}

static void give(const struct bench *bench, struct network *network)
{
    struct error err = {0};
    bool stays = false;
    if (bench->values)
        show_values(network);
    const struct test_case *test = network->test;
    const struct model *model = test_case_model(test, &err);
    char *path = file_join(bench->folder, network->name);
    if (!model || suite_write_path(path, test, &err))
        die(network->name, &err);
    if (stays_finite(model, test->inputs, test->n_inputs, &stays, NULL))
        stays = false;
    printf("%s\t%zu\t%s\t%s\n", network->name, model->graph->n_node,
           has_operator(model, "Softmax") ? "softmax" : "-",
           stays                             ? "proved"
           : is_judged(bench, network->name) ? "judged"
                                             : "-");
    free(path);
}

/* A model from a file with one random sample. */
static void open_file(struct network *network, const char *path)
{
    struct error err = {0};
    struct model *model;
    struct inputs inputs;
    struct value *values;
    const char *name = file_base(path);
    snprintf(network->name, sizeof network->name, "%.*s", (int)strcspn(name, "."), name);
    if (model_load(&model, path, &err))
        die(path, &err);
    network->test = test_case_new(model);
    if (inputs_random(&inputs, model, 1, SEED, NULL, 0, &err) || inputs_get(&inputs, 0, &values, &err) ||
        test_case_add_inputs(network->test, values, inputs.count, &err))
        die(path, &err);
    values_free(values, inputs.count);
    inputs_release(&inputs);
}

static bool has_float(size_t count, Onnx__ValueInfoProto *const *infos)
{
    for (size_t i = 0; i < count; i++) {
        const Onnx__TypeProto *type = infos[i]->type;
        if (type && type->tensor_type && type->tensor_type->elem_type == DTYPE_FLOAT)
            return true;
    }
    return false;
}

/* Whether it has floats in its inputs and outputs and is finite on its own inputs. */
static bool is_for_this(const struct test_case *test)
{
    struct error err = {0};
    struct danger danger;
    struct danger_meter *meter;
    const struct model *model = test_case_model(test, &err);
    if (!model || !has_float(model->graph->n_output, model->graph->output) ||
        !has_float(model->graph->n_input, model->graph->input) || danger_meter_new(&meter, model, &err))
        return false;
    bool finite = danger_measure(meter, test->inputs, test->n_inputs, &danger, &err) == 0 &&
                  danger.nans + danger.infinities == 0;
    danger_meter_free(meter);
    return finite;
}

static void draw_networks(const struct bench *bench, size_t wanted)
{
    struct generate_options options = {
        .types = DTYPE_BIT(DTYPE_FLOAT), .opset = 17, .min_nodes = NODES, .max_nodes = 2 * NODES};
    for (uint64_t index = 0; wanted > 0; index++) {
        struct error err = {0};
        struct network network = {0};
        snprintf(network.name, sizeof network.name, "graph-%llu", (unsigned long long)index);
        if (generate_graph(SEED, index, &options, &network.test, &err))
            continue;
        if (is_for_this(network.test)) {
            give(bench, &network);
            wanted--;
        }
        test_case_free(network.test);
    }
}

int main(int argc, char **argv)
{
    struct error err = {0};
    char *judged;
    size_t size;
    if (argc < 5) {
        fprintf(stderr, "usage: bench_nan WHERE JUDGED COUNT FOLDER MODEL.onnx...\n");
        return 2;
    }
    if (file_read(argv[2], 1 << 20, &judged, &size, &err))
        die(argv[2], &err);
    struct bench bench = {argv[4], judged, strcmp(argv[1], "values") == 0};
    for (int i = 5; i < argc; i++) {
        struct network network = {0};
        open_file(&network, argv[i]);
        give(&bench, &network);
        test_case_free(network.test);
    }
    draw_networks(&bench, strtoull(argv[3], NULL, 10));
    free(judged);
    return 0;
}
