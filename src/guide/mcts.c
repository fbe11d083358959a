#include "guide/mcts.h"

#include "base/memory.h"
#include "base/packed.h"

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
    size_t own_visits; /* those that the node itself was given since the mark */
    double own_success;
};

struct mcts {
    struct mcts_options options;
    const struct coverage *coverage;
    struct block_ops *blocks;
    size_t n_blocks, blocks_capacity;
    struct mcts_node *nodes; /* the root first; parents before children */
    size_t count, capacity;
    size_t marked; /* nodes there were at the mark */
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
    mcts_mark(mcts);
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
    mcts->nodes[node].own_visits += visits;
    mcts->nodes[node].own_success += success;
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
    mcts_mark(mcts);
    if (good)
        return 0;
    mcts_clear(mcts);
    return error_set(err, ERROR_FORMAT, "the stored search tree is of another set of blocks");
}

void mcts_clear(struct mcts *mcts)
{
    mcts->count = 0;
    add_node(mcts, 0, 0);
    mcts_mark(mcts);
}

void mcts_mark(struct mcts *mcts)
{
    mcts->marked = mcts->count;
    for (size_t i = 0; i < mcts->count; i++) {
        mcts->nodes[i].own_visits = 0;
        mcts->nodes[i].own_success = 0;
    }
}

/* What the nodes themselves were given: visits, and successes as whole numbers. */
struct given {
    uint64_t visits, success;
};

static struct given *own_rewards(const struct mcts *mcts)
{
    struct given *given = memory_zeroed(mcts->count, sizeof *given);
    for (size_t i = 0; i < mcts->count; i++)
        given[i] = (struct given){mcts->nodes[i].own_visits,
                                  (uint64_t)llround(fmax(0, mcts->nodes[i].own_success) * MCTS_SUCCESS)};
    return given;
}

/* Of the whole tree: what a node has more than its children. */
static struct given *all_rewards(const struct mcts *mcts)
{
    struct given *given = memory_zeroed(mcts->count, sizeof *given);
    for (size_t i = mcts->count; i-- > 0;) {
        const struct mcts_node *node = &mcts->nodes[i];
        uint64_t success = (uint64_t)llround(fmax(0, node->success) * MCTS_SUCCESS);
        given[i].visits += node->visits;
        given[i].success = success > given[i].success ? success - given[i].success : 0;
        if (i) {
            given[node->parent].visits -= node->visits;
            given[node->parent].success += success;
        }
    }
    return given;
}

static void write_given(struct str *out, const struct given *given)
{
    packed_add(out, given->visits);
    packed_add(out, given->success);
}

/*
 * How many nodes were there at the mark. Those of them that were given something: the distance from the one
 * before, from 1, visits, success; a 0. Then new ones: their number, and for each its parent, counted back,
 * its block, visits, success.
 */
static void write_difference(const struct mcts *mcts, size_t marked, struct given *given, struct str *out)
{
    size_t last = 0, end = mcts->count;
    if (marked >= MCTS_FOLD_NODES) /* they could not be added, so their rewards are told to those above */
        for (; end > marked; end--) {
            struct given *above = &given[mcts->nodes[end - 1].parent];
            above->visits += given[end - 1].visits;
            above->success += given[end - 1].success;
        }
    packed_add(out, marked);
    for (size_t i = 0; i < marked; i++) {
        if (!given[i].visits && !given[i].success)
            continue;
        packed_add(out, i + 1 - last);
        last = i + 1;
        write_given(out, &given[i]);
    }
    packed_add(out, 0);
    packed_add(out, end - marked);
    for (size_t i = marked; i < end; i++) {
        packed_add(out, i - mcts->nodes[i].parent);
        packed_add(out, mcts->nodes[i].block);
        write_given(out, &given[i]);
    }
}

void mcts_difference(const struct mcts *mcts, struct str *out)
{
    struct given *given = own_rewards(mcts);
    write_difference(mcts, mcts->marked, given, out);
    free(given);
}

void mcts_whole(const struct mcts *mcts, struct str *out)
{
    struct given *given = all_rewards(mcts);
    write_difference(mcts, 1, given, out);
    free(given);
}

static size_t child_with(const struct mcts *mcts, size_t node, size_t block)
{
    for (int64_t at = mcts->nodes[node].first_child; at != NONE; at = mcts->nodes[at].sibling)
        if (mcts->nodes[at].block == block)
            return (size_t)at;
    return node;
}

/* The child with this block, made where there is room; else the node itself. */
static size_t reach(struct mcts *mcts, size_t node, size_t block)
{
    size_t child = child_with(mcts, node, block);
    bool room = mcts->count < MCTS_FOLD_NODES && mcts->nodes[node].depth < mcts->options.depth;
    return child == node && room ? add_node(mcts, node, block) : child;
}

static bool fold_rewards(struct mcts *mcts, size_t node, const char **text)
{
    static const uint64_t most = UINT64_C(1) << 40;
    uint64_t visits, success;
    if (!packed_take(text, most, &visits) || !packed_take(text, most, &success))
        return false;
    mcts_reward(mcts, node, visits, (double)success / MCTS_SUCCESS);
    return true;
}

static bool fold_known(struct mcts *mcts, size_t marked, const char **text)
{
    uint64_t step, at = 0;
    while (packed_take(text, marked - at, &step)) {
        if (!step)
            return true;
        at += step;
        if (!fold_rewards(mcts, at - 1, text))
            return false;
    }
    return false;
}

/* The new nodes of a tree that had `marked`; where[i] is the place of new node i here. */
static bool fold_new(struct mcts *mcts, size_t marked, const char **text)
{
    uint64_t count, back, block;
    if (!packed_take(text, MCTS_MAX_NODES, &count) || count > strlen(*text))
        return false;
    size_t *where = memory_zeroed(count + 1, sizeof *where);
    bool good = true;
    for (uint64_t i = 0; i < count && good; i++) {
        good =
            packed_take(text, marked + i, &back) && back > 0 && packed_take(text, mcts->n_blocks - 1, &block);
        if (!good)
            break;
        size_t parent = marked + i - back;
        where[i] = reach(mcts, parent < marked ? parent : where[parent - marked], block);
        good = fold_rewards(mcts, where[i], text);
    }
    free(where);
    return good;
}

int mcts_fold(struct mcts *mcts, const char **text, struct error *err)
{
    uint64_t marked;
    bool good = mcts->n_blocks && packed_take(text, mcts->count, &marked) && marked > 0 &&
                fold_known(mcts, marked, text) && fold_new(mcts, marked, text);
    mcts_mark(mcts);
    return good ? 0
                : error_set(err, ERROR_FORMAT,
                            "the search tree of a range is damaged, or of another set of blocks");
}
