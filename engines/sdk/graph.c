#include "graph.h"

#include "base/memory.h"

#include <stdlib.h>

static void name_ends(struct adapter_graph *graph, const struct adapter_model *model,
                      struct adapter_loaded *loaded)
{
    const Onnx__GraphProto *proto = graph->model->graph;
    size_t count = model->n_outputs ? model->n_outputs : proto->n_output;
    graph->outputs = memory_zeroed(count + 1, sizeof *graph->outputs);
    for (; graph->n_outputs < count; graph->n_outputs++) {
        size_t i = graph->n_outputs;
        graph->outputs[i] = memory_strdup(model->n_outputs ? model->outputs[i] : proto->output[i]->name);
        adapter_list_add(&loaded->outputs, graph->outputs[i]);
    }
    for (size_t i = 0; i < proto->n_input; i++)
        adapter_list_add(&loaded->inputs, proto->input[i]->name);
}

int adapter_graph_load(struct adapter_graph *graph, const struct adapter_model *model,
                       struct adapter_loaded *loaded, struct error *err)
{
    struct model *read = NULL;
    *graph = (struct adapter_graph){0};
    if (model->data ? model_parse(&read, model->data, model->size, err) : model_load(&read, model->path, err))
        return -1;
    if (model_index_init(&graph->index, read, err)) {
        model_free(read);
        return -1;
    }
    graph->model = read;
    name_ends(graph, model, loaded);
    return 0;
}

void adapter_graph_unload(struct adapter_graph *graph)
{
    if (!graph->model)
        return;
    model_index_release(&graph->index);
    model_free(graph->model);
    for (size_t i = 0; i < graph->n_outputs; i++)
        free(graph->outputs[i]);
    free(graph->outputs);
    *graph = (struct adapter_graph){0};
}

int adapter_fail_error(struct adapter_call *call, const struct error *err)
{
    enum adapter_class class = ADAPTER_FAILED;
    if (err->code == ERROR_UNSUPPORTED || err->code == ERROR_LIMIT)
        class = ADAPTER_UNSUPPORTED;
    else if (err->code == ERROR_INVALID || err->code == ERROR_FORMAT)
        class = ADAPTER_REJECTED;
    else if (err->code == ERROR_USAGE) /* of the library, by the adapter */
        class = ADAPTER_AT_FAULT;
    return adapter_fail(call, class, "%s", err->message);
}
