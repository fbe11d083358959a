/*
 * Monte Carlo tree search over blocks (Luo et al.): it chooses the blocks of the next model.
 *
 * A node of the tree is a block; the blocks on the path from the root are those of a model. A choice descends
 * from the root to the child with the highest potential v/n + e * sqrt(ln N / n), where n is the visits of
 * the child, N those of its parent and v its successes, until a node can have one more child. That child is
 * the least covered operator that is not on the path, or a subgraph that contains it. At the depth limit the
 * path itself is chosen again.
 *
 * Nothing here reads a clock or an engine: choices depend only on the options, the random stream, the
 * coverage and the rewards, in their order. The tree can be written as text and read back.
 */
#ifndef GUIDE_MCTS_H
#define GUIDE_MCTS_H

#include "base/random.h"
#include "guide/coverage.h"

/* FOLD_NODES: a tree to which others are added (mcts_fold) grows to so many. */
enum { MCTS_MAX_DEPTH = 32, MCTS_MAX_NODES = 1 << 20, MCTS_FOLD_NODES = 1 << 11 };

struct mcts_options {
    double exploration;   /* e; 0: 1/sqrt(2) */
    size_t depth;         /* tc1, the longest path; 0: 10 */
    size_t explore;       /* tc2, models made from a node before it gets children; 0: 1 */
    size_t children;      /* of a node; 0: 3 */
    size_t root_children; /* of the root; 0: one for each operator of the corpus */
};

struct mcts;

/* The coverage is borrowed, and read whenever a node is added. */
struct mcts *mcts_new(const struct mcts_options *options, const struct coverage *coverage);
void mcts_free(struct mcts *mcts);

/*
 * Adds a block and the operators in it, as numbers of the corpus of the coverage; all blocks are added before
 * the first choice. Returns its number. Operators of the corpus that are in no block are never chosen.
 */
size_t mcts_add_block(struct mcts *mcts, size_t n_ops, const size_t *ops);

/* A choice: blocks from the root's child to the node that was reached or made. */
struct mcts_path {
    size_t node; /* for mcts_reward */
    size_t count;
    size_t blocks[MCTS_MAX_DEPTH];
};
void mcts_choose(struct mcts *mcts, struct rng *rng, struct mcts_path *path);

/* Adds visits and successes to a node and its ancestors. */
void mcts_reward(struct mcts *mcts, size_t node, size_t visits, double success);

size_t mcts_size(const struct mcts *mcts); /* nodes, the root included */

void mcts_write(const struct mcts *mcts, struct str *out);

/* Fails with ERROR_FORMAT unless mcts_write wrote the text for the same blocks. */
int mcts_read(struct mcts *mcts, const char *text, struct error *err);

/*
 * From a mark on, the tree keeps apart what is new: nodes, and rewards by the node that was given them. The
 * difference is that as short text (base/packed.h). mcts_fold adds it to a tree that begins with the nodes of
 * the marked one: nodes by their path, visits and successes as sums. Successes are rounded to 1/MCTS_SUCCESS,
 * so that sums are exact. What is new below a tree of MCTS_FOLD_NODES nodes counts for the lowest node that
 * is there. mcts_fold goes past the text, trusts nothing, and leaves a tree that is marked.
 */
enum { MCTS_SUCCESS = 4096 };
void mcts_mark(struct mcts *mcts);
void mcts_difference(const struct mcts *mcts, struct str *out);
int mcts_fold(struct mcts *mcts, const char **text, struct error *err);

/* The whole tree as a difference from an empty one. */
void mcts_whole(const struct mcts *mcts, struct str *out);

void mcts_clear(struct mcts *mcts);

#endif
