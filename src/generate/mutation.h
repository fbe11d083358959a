/*
 * Mutations of a plan: changes that a random graph of blocks gets, each at a rate that stands in the recipe.
 *
 * A row of the table is one mutation. It changes the topology before blocks are placed on it, or a subgraph
 * while it is placed; of the two functions exactly one is set. Rows draw from random numbers of their own in
 * the order of the table, so a new row goes to the end: then the recipes made before still make their cases.
 */
#ifndef GENERATE_MUTATION_H
#define GENERATE_MUTATION_H

#include "generate/topology.h"

enum { MUTATION_MOST = 16 }; /* rows that a plan has room for */

/* What mutations do to one subgraph: numbers of its nodes, or MUTATION_NO_NODE. */
struct subgraph_changes {
    size_t nodes;            /* of the subgraph */
    size_t doubled, dropped; /* placed twice; left out */
};
#define MUTATION_NO_NODE ((size_t)-1)

struct mutation {
    const char *name; /* the word in the recipe: "add=0.1" */
    double most;      /* the largest rate that a recipe may have */
    /* `edges` is how many the topology had before any mutation. */
    void (*topology)(struct digraph *graph, size_t edges, double rate, struct rng rng);
    /* Draws from rng once to decide by the rate, and again only when it applies. */
    void (*subgraph)(struct subgraph_changes *changes, double rate, struct rng *rng);
};

extern const struct mutation mutations[]; /* ended by a NULL name */

/* Applies every row of its kind; `rates` has one for each row of the table. */
void mutate_topology(struct digraph *graph, const double *rates, const struct rng *rng);
struct subgraph_changes mutate_subgraph(size_t nodes, const double *rates, struct rng rng);

#endif
