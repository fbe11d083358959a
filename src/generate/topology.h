/*
 * Random graphs of the kinds that neural networks resemble: which block feeds which, before blocks are
 * assigned.
 *
 * Nodes are numbered in an order in which they can be computed: every edge leads from a lower number to a
 * higher one.
 */
#ifndef GENERATE_TOPOLOGY_H
#define GENERATE_TOPOLOGY_H

#include "base/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum topology {
    TOPOLOGY_LINE, /* each node feeds the next */
    TOPOLOGY_WS,   /* Watts-Strogatz: a ring of n nodes, each linked to its k nearest, each link moved to
                      another end with probability p; then directed upwards */
    TOPOLOGY_RN,   /* residual network RN(k, p, n): a line, and for every node with fewer than k neighbours
                      that many times, with probability p, an edge to a later node with fewer than k */
    TOPOLOGY_COUNT
};

const char *topology_name(enum topology topology);          /* "line", "ws", "rn" */
int topology_from_name(const char *name, enum topology *t); /* -1: no such topology */

enum { DIGRAPH_NODES = 64 };

struct digraph {
    size_t nodes;
    uint64_t to[DIGRAPH_NODES]; /* bit j of to[i]: an edge from i to j; j > i */
};

void topology_make(struct digraph *graph, enum topology topology, size_t nodes, int k, double p,
                   struct rng rng);

size_t digraph_edges(const struct digraph *graph);
bool digraph_has(const struct digraph *graph, size_t from, size_t to);

/* The nodes that feed a node: bit i for node i. */
uint64_t digraph_from(const struct digraph *graph, size_t to);

/* Mutations: add edges at random places, as far as there is room, or remove them. */
void digraph_add_edges(struct digraph *graph, size_t count, struct rng rng);
void digraph_remove_edges(struct digraph *graph, size_t count, struct rng rng);

#endif
