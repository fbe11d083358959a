/*
 * usage: overhead_bare_onednn FOLDER, overhead_bare_xnnpack FOLDER
 * The bare loop over a library that has operators only: read the model, make and run the library's operator
 * for each node in turn, copy the result, free everything. The adapter's own table and rows are linked, so
 * that the library is asked for the very same work; this walker_main stands where the graph walker and the
 * protocol stand in the engine. Shapes cost nothing here: every value of these models has the input's.
 */
#include "overhead.h"

#include "base/memory.h"
#include "walker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 32 };

struct bare {
    const struct overhead_case *cases;
    const struct walk_library *library;
    void *engine;
    char *output;
};

static void fail(const char *what, const struct error *err)
{
    fprintf(stderr, "overhead_bare: %s: %s\n", what, err->message);
    exit(1);
}

static const struct walk_row *find_row(const struct walk_library *library, const char *name)
{
    for (const struct walk_row *row = library->rows; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    fprintf(stderr, "overhead_bare: no operator %s\n", name);
    exit(1);
}

/* Node `number` of a chain: its first input is the value before it, the second, if any, its weight. */
static void run_node(const struct bare *bare, const struct model *model, size_t number, size_t *weights,
                     struct tensor *values)
{
    const Onnx__NodeProto *node = model->graph->node[number];
    struct error err = {0};
    struct tensor weight;
    tensor_init(&weight);
    if (node->n_input > 1 && model_weight(model, (*weights)++, &weight, &err) < 0)
        fail(node->op_type, &err);
    if (tensor_alloc(&values[number + 1], DTYPE_FLOAT, &values[0].shape, 0, &err) < 0)
        fail(node->op_type, &err);
    const struct tensor *inputs[] = {&values[number], &weight};
    struct walk_call call = {.engine = bare->engine,
                             .row = find_row(bare->library, node->op_type),
                             .node = node,
                             .opset = model_opset(model),
                             .n_inputs = node->n_input,
                             .inputs = inputs,
                             .n_outputs = 1,
                             .outputs = &values[number + 1],
                             .err = &err};
    if (call.row->run(&call) < 0)
        fail(node->op_type, &err);
    tensor_release(&weight);
}

static void bare_case(void *context, size_t number)
{
    struct bare *bare = context;
    const struct overhead_case *one = &bare->cases[number];
    struct error err = {0};
    struct model *model;
    struct tensor values[MAX_NODES + 1];
    size_t weights = 0;
    if (model_parse(&model, one->model, one->size, &err) < 0)
        fail("model", &err);
    overhead_loaded();
    values[0] = one->input;
    size_t count = model->graph->n_node < MAX_NODES ? model->graph->n_node : MAX_NODES;
    for (size_t i = 0; i < count; i++)
        run_node(bare, model, i, &weights, values);
    memcpy(bare->output, values[count].data, values[count].size);
    overhead_ran();
    for (size_t i = 1; i <= count; i++)
        tensor_release(&values[i]);
    model_free(model);
}

int walker_main(const struct walk_library *library, int argc, char **argv)
{
    struct error err = {0};
    struct overhead_case *cases = NULL;
    size_t count = 0;
    if (argc != 2 || overhead_read(argv[1], &cases, &count, &err) < 0 || count == 0) {
        fprintf(stderr, "usage: overhead_bare_%s FOLDER %s\n", library->name, err.message);
        return 2;
    }
    struct adapter adapter = {.name = library->name,
                              .knobs = (struct adapter_knob *)(uintptr_t)library->knobs};
    struct adapter_call call = {.adapter = &adapter};
    struct str version;
    struct bare bare = {.library = library, .cases = cases, .output = memory_zeroed(1, 1 << 20)};
    str_init(&call.message);
    str_init(&version);
    if (library->start(&call, &bare.engine, &version) < 0) {
        fprintf(stderr, "overhead_bare_%s: %s\n", library->name, call.message.data);
        return 1;
    }
    overhead_bare(count, bare_case, &bare);
    library->stop(bare.engine);
    overhead_free(cases, count);
    str_release(&version);
    str_release(&call.message);
    free(bare.output);
    return 0;
}
