#include "generate/topology.h"

#include <string.h>

static const char *const names[TOPOLOGY_COUNT] = {"line", "ws", "rn"};

const char *topology_name(enum topology topology)
{
    return (unsigned)topology < TOPOLOGY_COUNT ? names[topology] : "unknown";
}

int topology_from_name(const char *name, enum topology *t)
{
    for (int i = 0; i < TOPOLOGY_COUNT; i++)
        if (strcmp(name, names[i]) == 0) {
            *t = (enum topology)i;
            return 0;
        }
    return -1;
}

static uint64_t bit(size_t node)
{
    return (uint64_t)1 << node;
}

bool digraph_has(const struct digraph *graph, size_t from, size_t to)
{
    return graph->to[from] & bit(to);
}

uint64_t digraph_from(const struct digraph *graph, size_t to)
{
    uint64_t from = 0;
    for (size_t i = 0; i < to; i++)
        if (digraph_has(graph, i, to))
            from |= bit(i);
    return from;
}

size_t digraph_edges(const struct digraph *graph)
{
    size_t edges = 0;
    for (size_t i = 0; i < graph->nodes; i++)
        edges += (size_t)__builtin_popcountll(graph->to[i]);
    return edges;
}

/* Whether two nodes are linked; every edge leads upwards. */
static bool linked(const struct digraph *graph, size_t a, size_t b)
{
    return a < b ? digraph_has(graph, a, b) : digraph_has(graph, b, a);
}

static void join(struct digraph *graph, size_t a, size_t b)
{
    if (a < b)
        graph->to[a] |= bit(b);
    else
        graph->to[b] |= bit(a);
}

static void unlink_nodes(struct digraph *graph, size_t a, size_t b)
{
    if (a < b)
        graph->to[a] &= ~bit(b);
    else
        graph->to[b] &= ~bit(a);
}

static void make_line(struct digraph *graph)
{
    for (size_t i = 0; i + 1 < graph->nodes; i++)
        join(graph, i, i + 1);
}

/* Moves the far end of the link a-b to a node that is not linked to a yet, if there is one. */
static void rewire(struct digraph *graph, size_t a, size_t b, struct rng *rng)
{
    size_t free_ends = 0, chosen = b;
    for (size_t c = 0; c < graph->nodes; c++)
        if (c != a && !linked(graph, a, c) && rng_below(rng, ++free_ends) == 0)
            chosen = c;
    if (chosen != b) {
        unlink_nodes(graph, a, b);
        join(graph, a, chosen);
    }
}

static void make_ws(struct digraph *graph, int k, double p, struct rng *rng)
{
    size_t n = graph->nodes, reach = k < 2 ? 1 : (size_t)k / 2;
    if (2 * reach >= n)
        reach = n > 2 ? (n - 1) / 2 : n - 1;
    for (size_t d = 1; d <= reach; d++)
        for (size_t i = 0; i < n; i++)
            join(graph, i, (i + d) % n);
    /* Each link of the ring is moved with probability p. */
    for (size_t d = 1; n > 2 && d <= reach; d++)
        for (size_t i = 0; i < n; i++)
            if (linked(graph, i, (i + d) % n) && rng_chance(rng, p))
                rewire(graph, i, (i + d) % n, rng);
}

static size_t neighbours(const struct digraph *graph, size_t node)
{
    return (size_t)__builtin_popcountll(graph->to[node] | digraph_from(graph, node));
}

static void make_rn(struct digraph *graph, size_t k, double p, struct rng *rng)
{
    make_line(graph);
    for (size_t i = 0; i < graph->nodes; i++) {
        size_t has = neighbours(graph, i);
        for (size_t turn = has; turn < k; turn++) {
            size_t seen = 0, chosen = i;
            for (size_t j = i + 1; j < graph->nodes; j++)
                if (!digraph_has(graph, i, j) && neighbours(graph, j) < k && rng_below(rng, ++seen) == 0)
                    chosen = j;
            if (chosen != i && rng_chance(rng, p))
                join(graph, i, chosen);
        }
    }
}

void topology_make(struct digraph *graph, enum topology topology, size_t nodes, int k, double p,
                   struct rng rng)
{
    *graph = (struct digraph){.nodes = nodes < DIGRAPH_NODES ? nodes : DIGRAPH_NODES};
    if (graph->nodes < 2)
        return;
    if (topology == TOPOLOGY_WS)
        make_ws(graph, k, p, &rng);
    else if (topology == TOPOLOGY_RN)
        make_rn(graph, k < 2 ? 2 : (size_t)k, p, &rng);
    else
        make_line(graph);
}

/* Chooses one of the pairs i < j that are linked, or of those that are not. */
static bool choose_pair(const struct digraph *graph, bool is_linked, struct rng *rng, size_t *from,
                        size_t *to)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < graph->nodes; i++)
        for (size_t j = i + 1; j < graph->nodes; j++)
            if (digraph_has(graph, i, j) == is_linked && rng_below(rng, ++seen) == 0) {
                *from = i;
                *to = j;
            }
    return seen > 0;
}

void digraph_add_edges(struct digraph *graph, size_t count, struct rng rng)
{
    size_t from, to;
    while (count-- && choose_pair(graph, false, &rng, &from, &to))
        join(graph, from, to);
}

void digraph_remove_edges(struct digraph *graph, size_t count, struct rng rng)
{
    size_t from, to;
    while (count-- && choose_pair(graph, true, &rng, &from, &to))
        unlink_nodes(graph, from, to);
}
