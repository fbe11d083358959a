#include "guide/mcts.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_DEPTH = 10, DEFAULT_CHILDREN = 3, NONE = -1 };

struct block_ops {
    size_t n_ops;
    size_t *ops;
};

struct mcts_node {
    size_t parent, block, depth;
    int64_t first_child, sibling; /* NONE at the end */
    size_t n_children;
    size_t visits;
    double success;
};

struct mcts {
    struct mcts_options options;
    const struct coverage *coverage;
    struct block_ops *blocks;
    size_t n_blocks, blocks_capacity;
    struct mcts_node *nodes; /* the root first; parents before children */
    size_t count, capacity;
};

static size_t add_node(struct mcts *mcts, size_t parent, size_t block)
{
    mcts->nodes = memory_grow(mcts->nodes, &mcts->capacity, mcts->count + 1, sizeof *mcts->nodes);
    struct mcts_node *node = &mcts->nodes[mcts->count];
    *node = (struct mcts_node){.parent = parent, .block = block, .first_child = NONE, .sibling = NONE};
    if (mcts->count) {
        struct mcts_node *above = &mcts->nodes[parent];
        node->depth = above->depth + 1;
        node->sibling = above->first_child;
        above->first_child = (int64_t)mcts->count;
        above->n_children++;
    }
    return mcts->count++;
}

struct mcts *mcts_new(const struct mcts_options *options, const struct coverage *coverage)
{
    struct mcts *mcts = memory_zeroed(1, sizeof *mcts);
    struct mcts_options *o = &mcts->options;
    if (options)
        *o = *options;
    o->exploration = o->exploration > 0 ? o->exploration : sqrt(0.5);
    o->depth = o->depth && o->depth < MCTS_MAX_DEPTH ? o->depth : DEFAULT_DEPTH;
    o->explore = o->explore ? o->explore : 1;
    o->children = o->children ? o->children : DEFAULT_CHILDREN;
    mcts->coverage = coverage;
    add_node(mcts, 0, 0);
    return mcts;
}

void mcts_free(struct mcts *mcts)
{
    if (!mcts)
        return;
    for (size_t i = 0; i < mcts->n_blocks; i++)
        free(mcts->blocks[i].ops);
    free(mcts->blocks);
    free(mcts->nodes);
    free(mcts);
}

size_t mcts_add_block(struct mcts *mcts, size_t n_ops, const size_t *ops)
{
    mcts->blocks =
        memory_grow(mcts->blocks, &mcts->blocks_capacity, mcts->n_blocks + 1, sizeof *mcts->blocks);
    struct block_ops *block = &mcts->blocks[mcts->n_blocks];
    block->n_ops = n_ops;
    block->ops = memory_zeroed(n_ops + 1, sizeof *ops);
    if (n_ops)
        memcpy(block->ops, ops, n_ops * sizeof *ops);
    return mcts->n_blocks++;
}

size_t mcts_size(const struct mcts *mcts)
{
    return mcts->count;
}

static double potential(const struct mcts *mcts, const struct mcts_node *node)
{
    double n = (double)node->visits, above = (double)mcts->nodes[node->parent].visits;
    if (!node->visits)
        return INFINITY;
    return node->success / n + mcts->options.exploration * sqrt(log(above > 1 ? above : 1) / n);
}

static size_t best_child(const struct mcts *mcts, size_t node)
{
    size_t best = node;
    double most = -INFINITY;
    for (int64_t at = mcts->nodes[node].first_child; at != NONE; at = mcts->nodes[at].sibling) {
        double value = potential(mcts, &mcts->nodes[at]);
        if (value > most) {
            most = value;
            best = (size_t)at;
        }
    }
    return best;
}

/* Marks the operators on the path to a node and those of its children: a second child of the same operator
 * would be the same choice again. */
static void mark_used(const struct mcts *mcts, size_t node, bool *used)
{
    for (int64_t at = mcts->nodes[node].first_child; at != NONE; at = mcts->nodes[at].sibling)
        for (size_t i = 0; i < mcts->blocks[mcts->nodes[at].block].n_ops; i++)
            used[mcts->blocks[mcts->nodes[at].block].ops[i]] = true;
    for (; node; node = mcts->nodes[node].parent)
        for (size_t i = 0; i < mcts->blocks[mcts->nodes[node].block].n_ops; i++)
            used[mcts->blocks[mcts->nodes[node].block].ops[i]] = true;
}

static bool contains(const struct block_ops *block, size_t op)
{
    for (size_t i = 0; i < block->n_ops; i++)
        if (block->ops[i] == op)
            return true;
    return false;
}

/* Chooses the block of the operator itself or, equally often, one of the subgraphs that contain it. False
 * when there is none. */
static bool block_with(const struct mcts *mcts, size_t op, struct rng *rng, size_t *chosen)
{
    uint64_t singles = 0, subgraphs = 0;
    size_t single = 0, subgraph = 0;
    for (size_t i = 0; i < mcts->n_blocks; i++) {
        if (!contains(&mcts->blocks[i], op))
            continue;
        if (mcts->blocks[i].n_ops == 1 && rng_below(rng, ++singles) == 0)
            single = i;
        else if (mcts->blocks[i].n_ops > 1 && rng_below(rng, ++subgraphs) == 0)
            subgraph = i;
    }
    bool whole = subgraphs && (!singles || rng_chance(rng, 0.5));
    *chosen = whole ? subgraph : single;
    return singles || subgraphs;
}

/* Chooses the block of a new child: the least covered operator that is allowed there, at random among equals.
 */
static bool next_block(const struct mcts *mcts, size_t node, struct rng *rng, size_t *block)
{
    size_t ops = coverage_ops(mcts->coverage);
    bool *used = memory_zeroed(ops + 1, sizeof *used), found = false;
    mark_used(mcts, node, used);
    for (size_t tries = 0; tries < ops && !found; tries++) {
        double least = INFINITY;
        size_t op = ops;
        uint64_t ties = 0;
        for (size_t i = 0; i < ops; i++) {
            double olc = used[i] ? INFINITY : coverage_olc(mcts->coverage, i);
            ties = olc < least ? 0 : ties;
            if (!used[i] && olc <= least && rng_below(rng, ++ties) == 0)
                op = i;
            least = fmin(least, olc);
        }
        if (op == ops)
            break;
        used[op] = true;
        found = block_with(mcts, op, rng, block);
    }
    free(used);
    return found;
}

static bool may_grow(const struct mcts *mcts, size_t node)
{
    const struct mcts_node *n = &mcts->nodes[node];
    size_t most = node                          ? mcts->options.children
                  : mcts->options.root_children ? mcts->options.root_children
                                                : coverage_ops(mcts->coverage);
    if (mcts->count >= MCTS_MAX_NODES || n->depth >= mcts->options.depth || n->n_children >= most)
        return false;
    return true;
}

void mcts_choose(struct mcts *mcts, struct rng *rng, struct mcts_path *path)
{
    size_t node = 0, block;
    for (;;) {
        /* A new node is chosen `explore` times before it gets children. */
        if (node && mcts->nodes[node].visits < mcts->options.explore)
            break;
        if (may_grow(mcts, node) && next_block(mcts, node, rng, &block)) {
            node = add_node(mcts, node, block);
            break;
        }
        size_t next = best_child(mcts, node);
        if (next == node)
            break;
        node = next;
    }
    path->node = node;
    path->count = mcts->nodes[node].depth;
    for (size_t at = node, i = path->count; i-- > 0; at = mcts->nodes[at].parent)
        path->blocks[i] = mcts->nodes[at].block;
}

void mcts_reward(struct mcts *mcts, size_t node, size_t visits, double success)
{
    for (;; node = mcts->nodes[node].parent) {
        mcts->nodes[node].visits += visits;
        mcts->nodes[node].success += success;
        if (!node)
            return;
    }
}

/* One line per node: parent, block, visits, successes. */
void mcts_write(const struct mcts *mcts, struct str *out)
{
    for (size_t i = 0; i < mcts->count; i++) {
        const struct mcts_node *n = &mcts->nodes[i];
        str_printf(out, "%zu %zu %zu %a\n", n->parent, n->block, n->visits, n->success);
    }
}

static bool read_node(const char **text, size_t *parent, size_t *block, size_t *visits, double *success)
{
    char *end;
    *parent = strtoull(*text, &end, 10);
    *block = strtoull(end, &end, 10);
    *visits = strtoull(end, &end, 10);
    *success = strtod(end, &end);
    bool good = end != *text && *end == '\n' && isfinite(*success);
    *text = end + (*end != '\0');
    return good;
}

int mcts_read(struct mcts *mcts, const char *text, struct error *err)
{
    bool good = *text != '\0';
    mcts->count = 0;
    while (*text && good) {
        size_t parent = 0, block = 0, visits = 0;
        double success = 0;
        good = mcts->count < MCTS_MAX_NODES && read_node(&text, &parent, &block, &visits, &success);
        bool fits = mcts->count ? parent < mcts->count && block < mcts->n_blocks &&
                                      mcts->nodes[parent].depth < mcts->options.depth
                                : !parent;
        good = good && fits;
        if (!good)
            break;
        size_t node = add_node(mcts, parent, block);
        mcts->nodes[node].visits = visits;
        mcts->nodes[node].success = success;
    }
    if (good)
        return 0;
    mcts->count = 0;
    add_node(mcts, 0, 0);
    return error_set(err, ERROR_FORMAT, "the stored search tree is of another set of blocks");
}
