/*
 * usage: meta_nodes_bare_torch NODES
 * The nodes that bench_meta_nodes wrote, called bare, again and again in this process, by the adapter's own
 * TorchScript. Prints the name and the microseconds of one run: from plain memory to plain memory, and on
 * tensors that lie in the library and stay there.
 */
#include "meta_file.h"

#include "base/clock.h"
#include "base/memory.h"
#include "program.h"

enum { RUNS = 20 };

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
            meta_die(err.message);
        value_init(&values[i]);
        value_set_name(&values[i], model->graph->input[i]->name);
        value_set_tensor(&values[i], &tensor);
    }
    return values;
}

static struct face_module *module_of(const struct program *program)
{
    char message[FACE_MESSAGE_SIZE];
    struct face_module *module;
    struct str text;
    str_init(&text);
    struct face_buffer *buffers = memory_zeroed(program_values(program) + 1, sizeof *buffers);
    size_t count = program_write(program, &text, buffers);
    if (face_module_new(&module, text.data, count, buffers, FACE_EAGER, false, message) < 0)
        meta_die(message);
    free(buffers);
    str_release(&text);
    return module;
}

/* Seconds for one run on tensors that lie in the library and stay there, after a first one. */
static double resident(struct face_module *module, const struct value *inputs, size_t n, size_t n_outputs)
{
    char message[FACE_MESSAGE_SIZE];
    struct face_tensor *tensors[META_TENSORS], *outputs[META_TENSORS];
    double start = 0;
    for (size_t i = 0; i < n; i++)
        if (face_tensor_new(&tensors[i], inputs[i].tensors, message) < 0)
            meta_die(message);
    for (int i = 0; i <= RUNS; i++) {
        if (face_module_run(module, n, (const struct face_tensor *const *)tensors, n_outputs, outputs,
                            message) < 0)
            meta_die(message);
        for (size_t k = 0; k < n_outputs; k++)
            face_tensor_free(outputs[k]);
        start = i ? start : clock_seconds();
    }
    double took = clock_seconds() - start;
    for (size_t i = 0; i < n; i++)
        face_tensor_free(tensors[i]);
    return took / RUNS;
}

/* The same from plain memory to plain memory, as values must be that other libraries take, too. */
static double copied(struct program *program, const struct value *inputs, size_t n, size_t n_outputs)
{
    struct tensor outputs[META_TENSORS];
    struct error err = {0};
    double start = 0;
    for (int i = 0; i <= RUNS + 1; i++) { /* the first answers what it was made with, the second warms up */
        if (program_run(program, inputs, n, outputs, &err) < 0)
            meta_die(err.message);
        for (size_t k = 0; k < n_outputs; k++)
            tensor_release(&outputs[k]);
        start = i > 1 ? start : clock_seconds();
    }
    return (clock_seconds() - start) / RUNS;
}

static void run_node(const struct meta_case *one, struct cache *cache)
{
    struct model *model;
    struct model_index index;
    struct program *program;
    struct error err = {0};
    if (model_parse(&model, one->model, one->model_size, &err) < 0 ||
        model_index_init(&index, model, &err) < 0)
        meta_die(err.message);
    const char *names[META_TENSORS];
    size_t n_outputs = model->graph->n_output < META_TENSORS ? model->graph->n_output : META_TENSORS;
    struct value *inputs = values_of(one, model);
    for (size_t i = 0; i < n_outputs; i++)
        names[i] = model->graph->output[i]->name;
    if (program_new(&program, &index, FACE_EAGER, false, cache, inputs, one->n_inputs, n_outputs, names, "",
                    &err) < 0)
        meta_die(err.message);
    struct face_module *module = module_of(program);
    printf("%s %.1f %.1f\n", one->name, copied(program, inputs, one->n_inputs, n_outputs) * 1e6,
           resident(module, inputs, one->n_inputs, n_outputs) * 1e6);
    face_module_free(module);
    program_free(program);
    values_free(inputs, one->n_inputs);
    model_index_release(&index);
    model_free(model);
}

int main(int argc, char **argv)
{
    struct meta_case one;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file)
        meta_die("usage: meta_nodes_bare_torch NODES");
    face_start(FACE_EAGER, 1);
    struct cache *cache = cache_new();
    while (meta_get_case(file, &one)) {
        run_node(&one, cache);
        meta_free_case(&one);
    }
    cache_free(cache);
    fclose(file);
    return 0;
}
