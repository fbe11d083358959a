/*
 * What coverage records of a model: its nodes, the data flows between them, and for each node a hash of its
 * shapes and parameters and the value class of each parameter.
 *
 * A data flow is an input that is neither left out nor an initialiser. So the in-degree of a node counts
 * graph inputs too, and its out-degree counts uses by other nodes (twice when one node uses a value twice),
 * not graph outputs. Bodies of If, Loop and Scan are ignored.
 */
#ifndef GUIDE_COVERAGE_RECORD_H
#define GUIDE_COVERAGE_RECORD_H

#include "model/model.h"
#include "ops/op.h"

enum { COVERAGE_PARAMS = 24 };

struct coverage_node {
    const char *op; /* operator type */
    unsigned in, out;
    size_t n_to;
    uint32_t *to;         /* the nodes its results flow into, one entry per use */
    uint64_t vector;      /* hash of types and shapes of all inputs, attributes, small integer constants */
    const struct op *row; /* NULL: not in the operator table */
    uint8_t classes[COVERAGE_PARAMS]; /* of the row's parameters at this opset; see coverage_param.h */
};

/* Lives in its own arena, which coverage_record_model clears: one record serves many models. */
struct coverage_record {
    struct arena arena;
    size_t n_nodes;
    struct coverage_node *nodes;
};

void coverage_record_init(struct coverage_record *record);
void coverage_record_release(struct coverage_record *record);

/* Finds type and shape of a value by its name; false when they are not known, which becomes part of the
 * vector. */
struct coverage_shapes {
    bool (*find)(const void *context, const char *name, enum dtype *type, struct shape *shape);
    const void *context;
};

/* Replaces the content of the record by that of the model. */
void coverage_record_model(struct coverage_record *record, const struct model *model,
                           const struct coverage_shapes *shapes);

#endif
