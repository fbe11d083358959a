/* Nodes that bench_meta_nodes wrote, called bare in this process by the adapter's own TorchScript. */
#ifndef BENCH_META_NODES_BARE_H
#define BENCH_META_NODES_BARE_H

#include "meta_file.h"

#include "tensor/tensor.h"

struct bare; /* the library */
struct bare *bare_open(void);
void bare_close(struct bare *bare);

struct bare_node; /* a node, loaded */
struct bare_node *bare_node_new(struct bare *bare, const struct meta_case *one);
void bare_node_free(struct bare_node *node);
const struct value *bare_inputs(const struct bare_node *node);

/* Whether these are the node's outputs, bit by bit. */
bool bare_gives(struct bare_node *node, const struct value *outputs, size_t count);

/* Seconds for one of `runs` runs, after `warm` others: on tensors that lie in the library and stay there, or
 * from plain memory to plain memory, as values must be that other libraries take, too. */
double bare_resident(struct bare_node *node, int warm, int runs);
double bare_copied(struct bare_node *node, int warm, int runs);

#endif
