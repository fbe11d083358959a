/*
 * The producer and the users of each value of a model's top graph, and an order in which its nodes can be
 * computed.
 *
 * Nodes are numbered as in graph->node. A node with subgraphs (If, Loop, Scan) counts as a user of every
 * outer value that its bodies use, at any depth. Building the index fails when a value has two producers or
 * none, and when the graph has a cycle.
 */
#ifndef MODEL_INDEX_H
#define MODEL_INDEX_H

#include "base/map.h"
#include "model/model.h"

enum value_source { SOURCE_INPUT, SOURCE_INITIALIZER, SOURCE_NODE };

struct index_value {
    const char *name;
    enum value_source source; /* an input with an initialiser of the same name is SOURCE_INITIALIZER */
    size_t number; /* of the input, initialiser (sparse ones are numbered after the others) or node */
    const Onnx__ValueInfoProto
        *info; /* from the inputs, outputs or value_info; NULL when none describes it */
    size_t consumers;
    size_t *consumer; /* node numbers, ascending, each once */
    bool is_output;
};

struct model_index {
    struct arena arena;
    const struct model *model;
    struct map names; /* value name -> number in values */
    size_t count;
    struct index_value *values;
    size_t *order;    /* graph->n_node node numbers, producers first; as in the file where that is possible */
    size_t *position; /* where in `order` each node stands */
    /* For each node: the numbers of the values it uses, each once. Outer values that its bodies use are
     * included, omitted inputs are not. */
    size_t *n_uses;
    size_t **uses;
};

int model_index_init(struct model_index *index, const struct model *model, struct error *err);
void model_index_release(struct model_index *index);
const struct index_value *model_index_find(const struct model_index *index, const char *name);

/* A value's type and shape as the model states them, copied into the arena; NULL when it states none. */
Onnx__TypeProto *model_index_type(const struct model_index *index, const struct index_value *value,
                                  struct arena *arena);

/* "node 3 (Conv 'c1')", for messages. */
const char *model_node_text(const struct model *model, size_t number, char *buffer, size_t size);

/* Calls visit for every node of the graph and, depth first, of all subgraphs; stops at the first non-zero
 * result. */
int model_each_node(Onnx__GraphProto *graph, int (*visit)(void *context, Onnx__NodeProto *node),
                    void *context);

/* The name of the node or, when it has none, that of its first named output. */
const char *model_node_name(const Onnx__NodeProto *node);

/* The number of the first node that has this name (model_node_name); n_node when none has. */
size_t graph_find_node(const Onnx__GraphProto *graph, const char *name);

#endif
