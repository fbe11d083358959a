/* Passes over nodes and outputs. */
#include "base/memory.h"
#include "base/str.h"
#include "model/build.h"
#include "model/edit.h"
#include "reduce/pass.h"

#include <stdlib.h>
#include <string.h>

void edits_add(struct edits *edits, struct edit edit)
{
    edits->items = memory_grow(edits->items, &edits->capacity, edits->count + 1, sizeof *edits->items);
    edits->items[edits->count++] = edit;
}

Onnx__GraphProto **pass_graphs(const struct model *model, size_t *count)
{
    size_t capacity = 0;
    Onnx__GraphProto **graphs = memory_grow(NULL, &capacity, 1, sizeof(Onnx__GraphProto *));
    graphs[0] = model->graph;
    *count = 1;
    for (size_t i = 0; i < *count; i++)
        for (size_t n = 0; n < graphs[i]->n_node; n++)
            for (size_t k = 0; k < graphs[i]->node[n]->n_attribute; k++) {
                Onnx__GraphProto *body = graphs[i]->node[n]->attribute[k]->g;
                if (!body)
                    continue;
                graphs = memory_grow(graphs, &capacity, *count + 1, sizeof(Onnx__GraphProto *));
                graphs[(*count)++] = body;
            }
    return graphs;
}

int pass_cut(struct subject *part, const struct subject *whole, const struct record *record,
             const size_t *nodes, size_t count)
{
    struct model_index index;
    struct edit_types types = {0};
    *part = (struct subject){0};
    if (model_index_init(&index, whole->model, NULL))
        return -1;
    const char **names = memory_zeroed(index.count, sizeof *names);
    const struct tensor **tensors = memory_zeroed(index.count, sizeof(struct tensor *));
    for (size_t i = 0; i < index.count; i++) {
        const struct tensor *tensor = record_find(record, index.values[i].name);
        if (tensor && index.values[i].source == SOURCE_NODE) {
            names[types.count] = index.values[i].name;
            tensors[types.count++] = tensor;
        }
    }
    types.names = names;
    types.tensors = tensors;
    int status = model_cut(&part->model, &index, nodes, count, &types, NULL);
    if (!status) {
        const Onnx__GraphProto *graph = part->model->graph;
        part->inputs = memory_zeroed(graph->n_input, sizeof *part->inputs);
        for (; part->n_inputs < graph->n_input && !status; part->n_inputs++) {
            struct value *input = &part->inputs[part->n_inputs];
            const struct tensor *known = record_find(record, graph->input[part->n_inputs]->name);
            struct tensor copy;
            status = known ? tensor_copy(&copy, known, NULL) : -1;
            if (!status)
                value_set_tensor(input, &copy);
            value_set_name(input, graph->input[part->n_inputs]->name);
        }
    }
    free(names);
    free(tensors);
    model_index_release(&index);
    if (status)
        subject_release(part);
    return status;
}

/* Outputs: all but one, or one alone. */
enum { OUTPUT_ALONE, OUTPUT_WITHOUT };

static void list_outputs(const struct subject *subject, const struct record *record, struct edits *edits)
{
    size_t count = subject->model->graph->n_output;
    (void)record;
    for (int kind = OUTPUT_ALONE; kind <= OUTPUT_WITHOUT && count > 1; kind++)
        for (size_t i = 0; i < count; i++)
            edits_add(edits, (struct edit){.kind = kind, .a = i});
}

static int apply_outputs(struct subject *copy, const struct record *record, const struct edit *edit)
{
    Onnx__GraphProto *graph = copy->model->graph;
    size_t kept = 0;
    (void)record;
    for (size_t i = 0; i < graph->n_output; i++)
        if ((edit->kind == OUTPUT_ALONE) == (i == edit->a))
            graph->output[kept++] = graph->output[i];
    graph->n_output = kept;
    return 0;
}

const struct pass pass_outputs = {"outputs", list_outputs, apply_outputs};

static bool is_output(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_output; i++)
        if (text_equal(graph->output[i]->name, name))
            return true;
    return false;
}

static bool is_made(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            if (text_equal(graph->node[i]->output[k], name))
                return true;
    return false;
}

/* An output goes, or becomes the value that stands for it; only what a node makes is an output, of a model or
 * a body: that a body may hand on what it was given is not said for values from outside, and engines stumble
 * over its inputs (found/onnxruntime/loop-turn-as-output), which would be another fault than the one
 * to be shown. */
static bool replace_output(struct model *model, Onnx__GraphProto *graph, const char *from, const char *to)
{
    bool stands = is_made(graph, to) && (!is_output(graph, to) || graph != model->graph);
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_output; i++) {
        bool own = text_equal(graph->output[i]->name, from);
        if (own && !stands)
            continue;
        if (own)
            graph->output[i]->name = arena_strdup(&model->arena, to);
        graph->output[kept++] = graph->output[i];
    }
    /* A body gives as many outputs as its node has. */
    bool good = kept > 0 && (graph == model->graph || kept == graph->n_output);
    graph->n_output = kept;
    return good;
}

static void remove_node(Onnx__GraphProto *graph, size_t number)
{
    graph->n_node--;
    memmove(graph->node + number, graph->node + number + 1, (graph->n_node - number) * sizeof *graph->node);
}

static void list_bypass(const struct subject *subject, const struct record *record, struct edits *edits)
{
    size_t count;
    Onnx__GraphProto **graphs = pass_graphs(subject->model, &count);
    for (size_t g = 0; g < count; g++)
        for (size_t n = graphs[g]->n_node; n-- > 0;) {
            const Onnx__NodeProto *node = graphs[g]->node[n];
            for (size_t i = 0; i < node->n_input && node->n_output; i++) {
                const struct tensor *in = record_find(record, node->input[i]);
                const struct tensor *out = record_find(record, node->output[0]);
                /* Values inside bodies are not recorded: any input may do. */
                bool fits = g ? *node->input[i] != '\0'
                              : in && out && in->type == out->type && shape_equal(&in->shape, &out->shape);
                if (fits)
                    edits_add(edits, (struct edit){.a = g, .b = n, .c = i});
            }
        }
    free(graphs);
}

static int apply_bypass(struct subject *copy, const struct record *record, const struct edit *edit)
{
    struct model *model = copy->model;
    size_t count;
    (void)record;
    Onnx__GraphProto **graphs = pass_graphs(model, &count), *graph = graphs[edit->a];
    free(graphs);
    const Onnx__NodeProto *node = graph->node[edit->b];
    const char *from = node->output[0], *to = node->input[edit->c];
    remove_node(graph, edit->b);
    graph_redirect(&model->arena, graph, from, to);
    return !is_output(graph, from) || replace_output(model, graph, from, to) ? 0 : 1;
}

const struct pass pass_bypass = {"bypass", list_bypass, apply_bypass};

/* A node's recorded result as an initialiser. */
static bool is_constant_leaf(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (text_equal(graph->initializer[i]->name, name))
            return true;
    return !*name;
}

static void list_fold(const struct subject *subject, const struct record *record, struct edits *edits)
{
    const Onnx__GraphProto *graph = subject->model->graph;
    for (size_t n = graph->n_node; n-- > 0;) {
        const Onnx__NodeProto *node = graph->node[n];
        bool constant = graph->n_node > 1;
        for (size_t i = 0; i < node->n_input; i++)
            constant = constant && is_constant_leaf(graph, node->input[i]);
        for (size_t i = 0; i < node->n_output; i++)
            constant = constant && record_find(record, node->output[i]) && !is_output(graph, node->output[i]);
        if (constant)
            edits_add(edits, (struct edit){.a = n});
    }
}

static int apply_fold(struct subject *copy, const struct record *record, const struct edit *edit)
{
    Onnx__GraphProto *graph = copy->model->graph;
    const Onnx__NodeProto *node = graph->node[edit->a];
    for (size_t i = 0; i < node->n_output; i++)
        model_add_initializer(copy->model, node->output[i], record_find(record, node->output[i]));
    remove_node(graph, edit->a);
    return 0;
}

const struct pass pass_fold = {"fold", list_fold, apply_fold};

static void list_omit(const struct subject *subject, const struct record *record, struct edits *edits)
{
    size_t count;
    Onnx__GraphProto **graphs = pass_graphs(subject->model, &count);
    (void)record;
    for (size_t g = 0; g < count; g++)
        for (size_t n = 0; n < graphs[g]->n_node; n++) {
            const Onnx__NodeProto *node = graphs[g]->node[n];
            for (size_t i = node->n_input; i-- > 0;)
                if (*node->input[i] || i + 1 == node->n_input)
                    edits_add(edits, (struct edit){.a = g, .b = n, .c = i});
        }
    free(graphs);
}

/* The last input goes, another is left empty. */
static int apply_omit(struct subject *copy, const struct record *record, const struct edit *edit)
{
    size_t count;
    (void)record;
    Onnx__GraphProto **graphs = pass_graphs(copy->model, &count);
    Onnx__NodeProto *node = graphs[edit->a]->node[edit->b];
    free(graphs);
    if (edit->c + 1 == node->n_input)
        node->n_input--;
    else
        node->input[edit->c] = arena_strdup(&copy->model->arena, "");
    return 0;
}

const struct pass pass_omit = {"omit", list_omit, apply_omit};
