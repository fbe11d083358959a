/*
 * A model that an adapter reads itself, because its library reads no ONNX: parsed, indexed, and the outputs
 * that are wanted.
 */
#ifndef SDK_GRAPH_H
#define SDK_GRAPH_H

#include "adapter.h"
#include "model/index.h"

struct adapter_graph {
    struct model *model; /* NULL: none is loaded, and nothing else is valid */
    struct model_index index;
    size_t n_outputs;
    char **outputs; /* as asked at load, else the graph's, in order */
};

/* Names inputs and outputs in `loaded`. On failure nothing is loaded. */
int adapter_graph_load(struct adapter_graph *graph, const struct adapter_model *model,
                       struct adapter_loaded *loaded, struct error *err);
void adapter_graph_unload(struct adapter_graph *graph);

/* Fails with the class that the error's code means: unsupported, rejected or failed; returns -1. */
int adapter_fail_error(struct adapter_call *call, const struct error *err);

#endif
