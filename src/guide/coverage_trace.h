/*
 * What coverage records of a model: its nodes, the data flows between them, and for each node a hash of its
 * shapes and parameters and the value class of each parameter.
 *
 * A data flow is an input that is neither left out nor an initialiser. So the in-degree of a node counts
 * graph inputs too, and its out-degree counts uses by other nodes (twice when one node uses a value twice),
 * not graph outputs. Bodies of If, Loop and Scan are ignored.
 */
#ifndef GUIDE_COVERAGE_TRACE_H
#define GUIDE_COVERAGE_TRACE_H

#include "model/model.h"
#include "ops/op.h"

enum { TRACE_PARAMS = 24 };

struct trace_node {
    const char *op; /* operator type */
    unsigned in, out;
    size_t n_to;
    uint32_t *to;         /* the nodes its results flow into, one entry per use */
    uint64_t vector;      /* hash of types and shapes of all inputs, attributes, small integer constants */
    const struct op *row; /* NULL: not in the operator table */
    uint8_t classes[TRACE_PARAMS]; /* of the row's parameters at this opset; see coverage_param.h */
};

/* Lives in its own arena, which trace_model clears: one trace serves many models. */
struct trace {
    struct arena arena;
    size_t n_nodes;
    struct trace_node *nodes;
};

void trace_init(struct trace *trace);
void trace_release(struct trace *trace);

/* Finds type and shape of a value by its name; false when they are not known, which becomes part of the
 * vector. */
struct trace_shapes {
    bool (*find)(const void *context, const char *name, enum dtype *type, struct shape *shape);
    const void *context;
};

/* Replaces the content of the trace by that of the model. */
void trace_model(struct trace *trace, const struct model *model, const struct trace_shapes *shapes);

#endif
