/*
 * Cases made from a plan: blocks on a random topology, mutated, with shapes and parameters chosen from the
 * inputs towards the outputs.
 *
 * A plan says which blocks, on which graph, with which mutations. Everything else follows from (plan, seed,
 * index), so that the recipe, one line of text, makes the case again byte for byte:
 *
 *     plan seed=1 index=7 topology=rn k=4 p=0.9 add=0.1 reshape fill=exact opset=17
 *     blocks=Conv,Relu,attention
 *
 * How a plan becomes a model. The topology is drawn and its edges are mutated. On a line the blocks keep the
 * order of the plan; otherwise those with several inputs go where several edges end. Then, block by block in
 * order, the values that the edges bring are adapted (by Cast to another type; by Reshape, Slice and Pad to
 * another shape; by a squashing operator where numbers would become too large), the block is drawn on them,
 * and its shapes are inferred. Only shapes are computed; the size of numbers is estimated by intervals. A
 * block that cannot be placed (the opset lacks it) is left out together with its edges.
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
    int k;    /* neighbours; 2, 4 or 6 in the paper */
    double p; /* probability of a rewired (ws) or added (rn) edge; 0.5 and 0.9 in the paper */
    double rates[MUTATION_MOST]; /* of each row of the table of mutations (mutation.h), often 0 */
    /* Whether input shapes, and parameters, are drawn for every index; otherwise they depend on the plan
     * alone. */
    bool reshape, reparam;
    int fill;  /* FILL_... + 1; 0: drawn */
    int opset; /* 0: drawn, such that the blocks exist at it */
};

/*
 * Of the options, opset and fill apply where the plan has none; max_opset, types, lacks and skip as for
 * generate_graph; ops and the number of nodes do not apply.
 */
int generate_plan(uint64_t seed, uint64_t index, const struct plan *plan,
                  const struct generate_options *options, struct test_case **out, struct error *err);

/* A random plan of n blocks that the options allow, with any topology and mutations. */
int plan_random(struct plan *plan, const struct blocks *blocks, struct rng *rng, size_t n_blocks,
                const struct generate_options *options, struct error *err);

/* Write the words of a recipe that belong to the plan, " topology=ws ... blocks=...", and parse one of them.
 */
void plan_print(const struct plan *plan, struct str *text);
int plan_parse_word(struct plan *plan, const char *word, const char *value, const struct blocks *blocks,
                    struct error *err);

#endif
