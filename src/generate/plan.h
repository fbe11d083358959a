/*
 * Cases over a plan: blocks on a random topology, mutated, shapes and parameters solved forwards.
 *
 * A plan says which blocks, on which graph, with which mutations. Everything else follows from
 * (plan, seed, index), so that the recipe, one line of text, makes the case again byte for byte:
 *
 *     plan seed=1 index=7 topology=rn k=4 p=0.9 add=0.1 reshape fill=exact opset=17
 * blocks=Conv,Relu,attention
 *
 * How a plan becomes a model. The topology is drawn and its edges mutated. On a line the blocks stand in the
 * plan's order; elsewhere those that take several inputs go where several edges meet. Then block by block,
 * in order: what the edges bring is made fit (Cast to another type; Reshape, Slice and Pad to another shape;
 * a squashing operator where numbers would grow out of hand), the block is drawn upon it, and its shapes
 * follow. Nothing is computed but shapes; the size of numbers is followed by intervals. A block that cannot
 * be placed (an opset that lacks it) is left out and its edges with it.
 */
#ifndef GENERATE_PLAN_H
#define GENERATE_PLAN_H

#include "base/str.h"
#include "generate/block.h"
#include "generate/mutation.h"
#include "generate/operator_case.h"
#include "generate/topology.h"

enum { PLAN_BLOCKS = 32 };

struct plan {
    const struct block *blocks[PLAN_BLOCKS];
    size_t n_blocks;
    enum topology topology;
    int k;                       /* neighbours; the paper's 2, 4 or 6 */
    double p;                    /* of a rewired (ws) or added (rn) edge; the paper's 0.5 and 0.9 */
    double rates[MUTATION_MOST]; /* of each row of the table of mutations (mutation.h), often 0 */
    /* Input shapes, and parameters, are drawn anew for every index; without them they are functions of the
     * plan. */
    bool reshape, reparam;
    int fill;  /* FILL_... + 1; 0: drawn */
    int opset; /* 0: drawn, such that the blocks exist */
};

/*
 * Of the options, opset and fill hold where the plan leaves them open; max_opset, types, lacks and skip as
 * for generate_graph, ops and the number of nodes do not apply.
 */
int generate_plan(uint64_t seed, uint64_t index, const struct plan *plan,
                  const struct generate_options *options, struct test_case **out, struct error *err);

/* A plan of n blocks without guidance: blocks that the options allow, any topology and mutations. */
int plan_random(struct plan *plan, const struct blocks *blocks, struct rng *rng, size_t n_blocks,
                const struct generate_options *options, struct error *err);

/* A recipe's words that are a plan's own, " topology=ws ... blocks=..."; and back, word by word. */
void plan_print(const struct plan *plan, struct str *text);
int plan_parse_word(struct plan *plan, const char *word, const char *value, const struct blocks *blocks,
                    struct error *err);

#endif
