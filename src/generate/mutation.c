#include "generate/mutation.h"

#include <math.h>

/* Rounds the number of edges carefully: a tenth of 20 edges is 2, not 3, though the product is inexact. */
static void add_edges(struct digraph *graph, size_t edges, double rate, struct rng rng)
{
    digraph_add_edges(graph, (size_t)ceil((double)edges * rate - 1e-9), rng);
}

static void remove_edges(struct digraph *graph, size_t edges, double rate, struct rng rng)
{
    digraph_remove_edges(graph, (size_t)floor((double)edges * rate + 1e-9), rng);
}

static void double_node(struct subgraph_changes *changes, double rate, struct rng *rng)
{
    if (rng_chance(rng, rate))
        changes->doubled = (size_t)rng_below(rng, changes->nodes);
}

static void drop_node(struct subgraph_changes *changes, double rate, struct rng *rng)
{
    if (rng_chance(rng, rate))
        changes->dropped = (size_t)rng_below(rng, changes->nodes);
}

const struct mutation mutations[] = {
    {.name = "add", .most = 10, .topology = add_edges},
    {.name = "remove", .most = 1, .topology = remove_edges},
    {.name = "double", .most = 1, .subgraph = double_node},
    {.name = "drop", .most = 1, .subgraph = drop_node},
    {.name = NULL},
};
_Static_assert(sizeof mutations / sizeof *mutations <= MUTATION_MOST + 1, "raise MUTATION_MOST");

void mutate_topology(struct digraph *graph, const double *rates, const struct rng *rng)
{
    size_t edges = digraph_edges(graph);
    for (size_t i = 0; mutations[i].name; i++)
        if (mutations[i].topology)
            mutations[i].topology(graph, edges, rates[i], rng_split(rng, i + 1));
}

struct subgraph_changes mutate_subgraph(size_t nodes, const double *rates, struct rng rng)
{
    struct subgraph_changes changes = {
        .nodes = nodes, .doubled = MUTATION_NO_NODE, .dropped = MUTATION_NO_NODE};
    for (size_t i = 0; mutations[i].name; i++)
        if (mutations[i].subgraph)
            mutations[i].subgraph(&changes, rates[i], &rng);
    return changes;
}
