#include "meta_nodes_bare.h"

#include "base/clock.h"
#include "base/memory.h"
#include "program.h"

struct bare {
    struct cache *cache;
};

struct bare_node {
    struct model *model;
    struct model_index index;
    struct program *program;
    struct face_module *module;
    size_t n_inputs, n_outputs;
    struct value *inputs;
    struct face_tensor *resident[META_TENSORS];
};

struct bare *bare_open(void)
{
    struct bare *bare = memory_zeroed(1, sizeof *bare);
    face_start(FACE_EAGER, 1);
    bare->cache = cache_new();
    return bare;
}

void bare_close(struct bare *bare)
{
    cache_free(bare->cache);
    free(bare);
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

struct bare_node *bare_node_new(struct bare *bare, const struct meta_case *one)
{
    struct bare_node *node = memory_zeroed(1, sizeof *node);
    const char *names[META_TENSORS];
    char message[FACE_MESSAGE_SIZE];
    struct error err = {0};
    if (model_parse(&node->model, one->model, one->model_size, &err) < 0 ||
        model_index_init(&node->index, node->model, &err) < 0)
        meta_die(err.message);
    node->inputs = values_of(one, node->model);
    node->n_inputs = one->n_inputs;
    for (; node->n_outputs < node->model->graph->n_output && node->n_outputs < META_TENSORS;
         node->n_outputs++)
        names[node->n_outputs] = node->model->graph->output[node->n_outputs]->name;
    if (program_new(&node->program, &node->index, FACE_EAGER, false, bare->cache, node->inputs,
                    node->n_inputs, node->n_outputs, names, "", NULL, &err) < 0)
        meta_die(err.message);
    node->module = module_of(node->program);
    for (size_t i = 0; i < node->n_inputs; i++)
        if (face_tensor_new(&node->resident[i], node->inputs[i].tensors, message) < 0)
            meta_die(message);
    return node;
}

void bare_node_free(struct bare_node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++)
        face_tensor_free(node->resident[i]);
    face_module_free(node->module);
    program_free(node->program);
    values_free(node->inputs, node->n_inputs);
    model_index_release(&node->index);
    model_free(node->model);
    free(node);
}

const struct value *bare_inputs(const struct bare_node *node)
{
    return node->inputs;
}

bool bare_gives(struct bare_node *node, const struct value *outputs, size_t count)
{
    struct tensor own[META_TENSORS];
    struct error err = {0};
    if (program_run(node->program, node->inputs, node->n_inputs, own, &err) < 0)
        meta_die(err.message);
    bool same = count == node->n_outputs;
    for (size_t i = 0; same && i < count; i++)
        same = outputs[i].kind == VALUE_TENSOR && tensor_identical(&own[i], outputs[i].tensors);
    return same;
}

static void run_resident(struct bare_node *node)
{
    char message[FACE_MESSAGE_SIZE];
    struct face_tensor *outputs[META_TENSORS];
    if (face_module_run(node->module, node->n_inputs, (const struct face_tensor *const *)node->resident,
                        node->n_outputs, outputs, message) < 0)
        meta_die(message);
    for (size_t i = 0; i < node->n_outputs; i++)
        face_tensor_free(outputs[i]);
}

/* Inputs are copied, too, unless they happen to lie as the library's own memory does. */
static void run_copied(struct bare_node *node)
{
    struct tensor outputs[META_TENSORS];
    struct error err = {0};
    if (program_run(node->program, node->inputs, node->n_inputs, outputs, &err) < 0)
        meta_die(err.message);
    for (size_t i = 0; i < node->n_outputs; i++) {
        struct tensor copy;
        if (tensor_copy(&copy, &outputs[i], &err) < 0)
            meta_die(err.message);
        tensor_release(&copy);
    }
}

static double seconds(struct bare_node *node, int warm, int runs, void (*run)(struct bare_node *node))
{
    double start = 0;
    for (int i = 0; i < warm + runs; i++) {
        start = i <= warm ? clock_seconds() : start;
        run(node);
    }
    return (clock_seconds() - start) / runs;
}

double bare_resident(struct bare_node *node, int warm, int runs)
{
    return seconds(node, warm, runs, run_resident);
}

double bare_copied(struct bare_node *node, int warm, int runs)
{
    return seconds(node, warm, runs, run_copied);
}
