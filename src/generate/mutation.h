/*
 * Mutations of a plan: random changes to the graph of blocks, each at a rate that is part of the recipe.
 *
 * A row of the table is one mutation. It changes the topology before blocks are placed on it, or a subgraph
 * while it is placed: exactly one of the two functions is set. Each row has random numbers of its own, in the
 * order of the table. Append new rows at the end, so that older recipes still make the same cases.
 */
#ifndef GENERATE_MUTATION_H
#define GENERATE_MUTATION_H

#include "generate/topology.h"

enum { MUTATION_MOST = 16 }; /* rows that a plan has room for */

/* What mutations do to one subgraph: the numbers of the affected nodes, or MUTATION_NO_NODE. */
struct subgraph_changes {
    size_t nodes;            /* how many the subgraph has */
    size_t doubled, dropped; /* placed twice; left out */
};
#define MUTATION_NO_NODE ((size_t)-1)

struct mutation {
    const char *name; /* the word in the recipe: "add=0.1" */
    double most;      /* the largest rate that a recipe may have */
    /* `edges` is how many the topology had before any mutation. */
    void (*topology)(struct digraph *graph, size_t edges, double rate, struct rng rng);
    /* Draws from rng once to decide by the rate, and again only if the mutation applies. */
    void (*subgraph)(struct subgraph_changes *changes, double rate, struct rng *rng);
};

extern const struct mutation mutations[]; /* ended by a NULL name */

/* Apply every row of their kind; `rates` has one entry for each row of the table. */
void mutate_topology(struct digraph *graph, const double *rates, const struct rng *rng);
struct subgraph_changes mutate_subgraph(size_t nodes, const double *rates, struct rng rng);

#endif
