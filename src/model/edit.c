#include "model/edit.h"

#include "base/str.h"
#include "model/build.h"

#include <string.h>

/* The existing output of the name, or a new one. */
static int find_output(struct model *model, const struct model_index *index, const char *name,
                       Onnx__ValueInfoProto **output, struct error *err)
{
    const struct index_value *value = model_index_find(index, name);
    if (!value)
        return error_set(err, ERROR_NOT_FOUND, "the model has no value '%.100s'", name);
    *output = NULL;
    for (size_t i = 0; value->is_output && i < model->graph->n_output; i++)
        if (text_equal(model->graph->output[i]->name, name))
            *output = model->graph->output[i];
    if (!*output)
        *output = value_info_make(&model->arena, name, model_index_type(index, value, &model->arena));
    return 0;
}

int model_expose(struct model *model, const char *const *names, size_t count, struct error *err)
{
    struct model_index index;
    struct map added;
    Onnx__GraphProto *graph = model->graph;
    if (model_index_init(&index, model, err))
        return -1;
    map_init(&added);
    int result = 0;
    size_t total = graph->n_output;
    Onnx__ValueInfoProto **outputs = arena_array(&model->arena, total + count, sizeof *outputs);
    if (total)
        memcpy(outputs, graph->output, total * sizeof *outputs);
    for (size_t i = 0; i < count; i++) {
        const struct index_value *value = model_index_find(&index, names[i]);
        if (value && (value->is_output || !map_set(&added, names[i], 0)))
            continue;
        result = find_output(model, &index, names[i], &outputs[total++], err);
        if (result)
            goto out;
    }
    model->path = NULL;
    graph->output = outputs;
    graph->n_output = total;
out:
    map_release(&added);
    model_index_release(&index);
    return result;
}

int model_set_outputs(struct model *model, const char *const *names, size_t count, struct error *err)
{
    struct model_index index;
    struct map added;
    if (model_index_init(&index, model, err))
        return -1;
    map_init(&added);
    int result = 0;
    Onnx__ValueInfoProto **outputs = arena_array(&model->arena, count, sizeof *outputs);
    for (size_t i = 0; !result && i < count; i++) {
        result = find_output(model, &index, names[i], &outputs[i], err);
        if (!result && !map_set(&added, names[i], 0))
            result = error_set(err, ERROR_USAGE, "the output '%.100s' is named twice", names[i]);
    }
    if (!result) {
        model->path = NULL;
        model->graph->output = outputs;
        model->graph->n_output = count;
    }
    map_release(&added);
    model_index_release(&index);
    return result;
}

struct redirection {
    struct arena *arena;
    const char *from, *to;
};

static void redirect_one(const struct redirection *redirection, char **name)
{
    if (text_equal(*name, redirection->from))
        *name = arena_strdup(redirection->arena, redirection->to);
}

static int redirect_node(void *context, Onnx__NodeProto *node)
{
    const struct redirection *redirection = context;
    for (size_t i = 0; i < node->n_input; i++)
        redirect_one(redirection, &node->input[i]);
    for (size_t i = 0; i < node->n_attribute; i++) {
        Onnx__GraphProto *body = node->attribute[i]->g;
        for (size_t k = 0; body && k < body->n_output; k++)
            redirect_one(redirection, &body->output[k]->name);
    }
    return 0;
}

void graph_redirect(struct arena *arena, Onnx__GraphProto *graph, const char *from, const char *to)
{
    struct redirection redirection = {arena, from, to};
    model_each_node(graph, redirect_node, &redirection);
}

int model_sort_nodes(struct model *model, struct error *err)
{
    struct model_index index;
    Onnx__GraphProto *graph = model->graph;
    if (model_index_init(&index, model, err))
        return -1;
    Onnx__NodeProto **sorted = arena_array(&model->arena, graph->n_node, sizeof *sorted);
    for (size_t i = 0; i < graph->n_node; i++)
        sorted[i] = graph->node[index.order[i]];
    memcpy(graph->node, sorted, graph->n_node * sizeof *sorted);
    model->path = NULL;
    model_index_release(&index);
    return 0;
}

/* Updates the type and shape of a value, if the model describes it, to those of the tensor. */
static void retype(struct arena *arena, Onnx__ValueInfoProto **infos, size_t count, const char *name,
                   const struct tensor *tensor)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(infos[i]->name, name))
            infos[i]->type = type_make(arena, tensor->type, &tensor->shape);
}

static void retype_all(struct model *model, const char *name, const struct tensor *tensor)
{
    Onnx__GraphProto *graph = model->graph;
    retype(&model->arena, graph->input, graph->n_input, name, tensor);
    retype(&model->arena, graph->output, graph->n_output, name, tensor);
    retype(&model->arena, graph->value_info, graph->n_value_info, name, tensor);
}

int model_replace_initializer(struct model *model, const char *name, const struct tensor *tensor,
                              struct error *err)
{
    Onnx__GraphProto *graph = model->graph;
    for (size_t i = 0; i < graph->n_initializer; i++) {
        if (!text_equal(graph->initializer[i]->name, name))
            continue;
        model->path = NULL;
        graph->initializer[i] = model_tensor_write(&model->arena, name, tensor);
        retype_all(model, name, tensor);
        return 0;
    }
    return error_set(err, ERROR_NOT_FOUND, "the model has no initialiser '%.100s'", name);
}

int model_freeze_input(struct model *model, const char *name, const struct tensor *tensor, struct error *err)
{
    Onnx__GraphProto *graph = model->graph;
    size_t at = 0;
    while (at < graph->n_input && !text_equal(graph->input[at]->name, name))
        at++;
    if (at == graph->n_input)
        return error_set(err, ERROR_NOT_FOUND, "the model has no input '%.100s'", name);
    model->path = NULL;
    if (model->proto->ir_version >= MODEL_IR_FREE_INITIALIZERS) {
        graph->n_input--;
        memmove(graph->input + at, graph->input + at + 1, (graph->n_input - at) * sizeof *graph->input);
    }
    /* An input with a default value is already an initialiser. */
    if (model_replace_initializer(model, name, tensor, NULL)) {
        model_add_initializer(model, name, tensor);
        retype_all(model, name, tensor);
    }
    return 0;
}
