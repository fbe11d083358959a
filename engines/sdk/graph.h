/*
 * A model that an adapter reads itself because its library does not read ONNX: the parsed model, its index
 * and the wanted outputs.
 */
#ifndef SDK_GRAPH_H
#define SDK_GRAPH_H

#include "adapter.h"
#include "model/index.h"

struct adapter_graph {
    struct model *model; /* NULL: no model is loaded, and the other members are not valid */
    struct model_index index;
    size_t n_outputs;
    char **outputs; /* those that load asks for, else the graph's outputs in order */
};

/* Loads the model and lists its inputs and outputs in `loaded`. After a failure no model is loaded. */
int adapter_graph_load(struct adapter_graph *graph, const struct adapter_model *model,
                       struct adapter_loaded *loaded, struct error *err);
void adapter_graph_unload(struct adapter_graph *graph);

/* Fails with the class that the error's code stands for (unsupported, rejected or failed). Returns -1. */
int adapter_fail_error(struct adapter_call *call, const struct error *err);

#endif
