#include "one_node.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/str.h"
#include "eval/evaluate.h"
#include "model/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double draw(struct rng *rng, const char *range)
{
    if (strcmp(range, "positive") == 0)
        return rng_uniform(rng, 0.3, 3);
    if (strcmp(range, "unit") == 0)
        return rng_uniform(rng, -0.9, 0.9);
    if (strcmp(range, "above") == 0)
        return rng_uniform(rng, 1.1, 3);
    return rng_normal(rng);
}

static int draw_value(struct value *value, const char *name, enum dtype type, const struct shape *shape,
                      const char *range, struct rng *rng, struct error *err)
{
    struct tensor tensor;
    value_init(value);
    if (tensor_alloc(&tensor, type, shape, 0, err) < 0)
        return -1;
    for (size_t i = 0; i < tensor.count; i++)
        tensor_set(&tensor, i,
                   type == DTYPE_BOOL ? (long double)rng_below(rng, 2) : (long double)draw(rng, range));
    value_set_name(value, name);
    value_set_tensor(value, &tensor);
    return 0;
}

static int draw_inputs(struct one_node *node, const char *range, struct rng *rng, struct error *err)
{
    const Onnx__GraphProto *graph = node->model->graph;
    node->inputs = memory_zeroed(graph->n_input + 1, sizeof *node->inputs);
    for (size_t i = 0; i < graph->n_input; i++) {
        const Onnx__TypeProto__Tensor *type = graph->input[i]->type->tensor_type;
        struct shape shape = {.rank = (int)type->shape->n_dim};
        for (int k = 0; k < shape.rank; k++)
            shape.dims[k] = type->shape->dim[k]->dim_value;
        if (draw_value(&node->inputs[node->n_inputs++], graph->input[i]->name, (enum dtype)type->elem_type,
                       &shape, range, rng, err) < 0)
            return -1;
    }
    return 0;
}

/* The reference says what the outputs are like. */
static int draw_upstream(struct one_node *node, struct rng *rng, struct error *err)
{
    const Onnx__GraphProto *graph = node->model->graph;
    struct evaluate_options options = {0};
    struct evaluator *evaluator;
    struct bounded *results = NULL;
    size_t count = 0;
    if (evaluator_new(&evaluator, node->model, &options, err) < 0)
        return -1;
    int result = evaluator_run(evaluator, node->inputs, node->n_inputs, NULL, 0, &results, &count, err);
    node->upstream = memory_zeroed(count + 1, sizeof *node->upstream);
    for (size_t i = 0; i < count; i++) {
        if (result == 0 && dtype_is_float(results[i].type))
            result = draw_value(&node->upstream[node->n_upstream++], graph->output[i]->name, results[i].type,
                                &results[i].shape, "any", rng, err);
        bounded_release(&results[i]);
    }
    free(results);
    evaluator_free(evaluator);
    return result;
}

/* Text without its first word, which is ended. */
static char *after_word(char *text)
{
    char *end = strchr(text, ' ');
    if (!end)
        return text + strlen(text);
    *end = '\0';
    return end + 1;
}

static int read_line(struct one_node *node, char *line, struct error *err)
{
    char *range = after_word(line), *graph = after_word(range), *opset = strchr(line, '@');
    struct rng rng;
    struct str text;
    str_init(&text);
    if (opset)
        *opset++ = '\0';
    snprintf(node->name, sizeof node->name, "%s", line);
    rng = rng_seed(hash_text(node->name));
    str_printf(&text, "<ir_version: 8, opset_import: [\"\" : %s]>\ng %s", opset ? opset : "17", graph);
    int result = onnx_parse_text(text.data, &node->bytes, &node->size, err);
    str_release(&text);
    if (result == 0)
        result = model_parse(&node->model, node->bytes, node->size, err);
    if (result == 0)
        result = draw_inputs(node, range, &rng, err);
    if (result == 0)
        result = draw_upstream(node, &rng, err);
    return result < 0 ? error_prefix(err, "%s", node->name) : 0;
}

int one_nodes_read(const char *path, struct one_node **list, size_t *count, struct error *err)
{
    char *data;
    size_t size, room = 0;
    *list = NULL;
    *count = 0;
    if (file_read(path, (size_t)1 << 24, &data, &size, err) < 0)
        return -1;
    int result = 0;
    for (char *line = data, *end; result == 0 && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (*line == '#' || !*line)
            continue;
        *list = memory_grow(*list, &room, *count + 1, sizeof **list);
        (*list)[*count] = (struct one_node){.n_inputs = 0};
        result = read_line(&(*list)[*count], line, err);
        ++*count;
    }
    free(data);
    return result;
}

void one_nodes_free(struct one_node *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        values_free(list[i].inputs, list[i].n_inputs);
        values_free(list[i].upstream, list[i].n_upstream);
        model_free(list[i].model);
        free(list[i].bytes);
    }
    free(list);
}

const char **one_node_wanted(const struct one_node *node, struct job_gradient *gradient)
{
    const char **wanted = memory_zeroed(node->n_inputs + 1, sizeof *wanted);
    *gradient =
        (struct job_gradient){.n_upstream = node->n_upstream, .upstream = node->upstream, .wanted = wanted};
    for (size_t i = 0; i < node->n_inputs; i++)
        if (dtype_is_float(node->inputs[i].tensors->type))
            wanted[gradient->n_wanted++] = node->inputs[i].name;
    return wanted;
}

struct job one_node_job(const struct one_node *node, int engine, const struct job_gradient *gradient)
{
    return (struct job){.engine = engine,
                        .model = node->bytes,
                        .model_size = node->size,
                        .n_inputs = node->n_inputs,
                        .inputs = node->inputs,
                        .gradient = gradient};
}
