/*
 * The models of one_node.cases with inputs and derivatives of their outputs, the same in every run: for what
 * compares an engine's answers, forward and backward, with those of somebody else.
 */
#ifndef TESTS_ONE_NODE_H
#define TESTS_ONE_NODE_H

#include "base/error.h"
#include "engine/job.h"
#include "model/model.h"
#include "tensor/tensor.h"

struct one_node {
    char name[64];
    uint8_t *bytes; /* the model */
    size_t size;
    struct model *model;
    size_t n_inputs; /* without initialisers */
    struct value *inputs;
    size_t n_upstream; /* one for each output of floating-point type */
    struct value *upstream;
};

/* Reads all cases; *list is a heap array. */
int one_nodes_read(const char *path, struct one_node **list, size_t *count, struct error *err);
void one_nodes_free(struct one_node *list, size_t count);

/* Asks for the gradients by all inputs of floating-point type. The list of them is on the heap, for the
 * caller to free. */
const char **one_node_wanted(const struct one_node *node, struct job_gradient *gradient);

/* The case for an engine; gradient: NULL when it is run forward. */
struct job one_node_job(const struct one_node *node, int engine, const struct job_gradient *gradient);

#endif
