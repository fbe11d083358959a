/*
 * Where a campaign's cases come from: cases of one operator and graphs of blocks, with or without guidance.
 *
 * Case number i is a function of the options, of i and, under guidance, of the coverage and the search tree
 * as they are when it is made: all of which follow from a snapshot and the cases made since, in order. So the
 * cases of a range can be made again from the snapshot it started with, and each alone from its recipe.
 */
#ifndef CAMPAIGN_FUZZ_SOURCE_H
#define CAMPAIGN_FUZZ_SOURCE_H

#include "generate/operator_case.h"
#include "guide/coverage.h"
#include "guide/mcts.h"
#include "releases/probe_file.h"

enum fuzz_strategy { FUZZ_RANDOM, FUZZ_MCTS };

struct fuzz_source_options {
    uint64_t seed;
    enum fuzz_strategy strategy;
    struct mcts_options mcts;
    size_t candidates; /* models drawn for a case, of which the one that adds most coverage is taken; 0: 1, as
                          each costs as much as running it on the reference; 16 at most */
    size_t blocks;     /* of every graph; 0: 2 to 15, and a third of the cases are single operators */
    bool redraw;       /* a graph that adds no coverage is drawn again, three times at most */
    struct generate_options generate; /* ops, opset, types ... */
    /* What engines lack: graphs avoid in turns what one of them lacks, and what all lack. */
    size_t n_engines;
    const struct probe_support *const *lacks; /* one an engine */
    const struct probe_support *all_lack;     /* NULL: nothing is known */
};

struct fuzz_source;

/* The options' lists are borrowed. Fails when the options leave nothing to draw. */
int fuzz_source_new(struct fuzz_source **source, const struct fuzz_source_options *options,
                    struct error *err);
void fuzz_source_free(struct fuzz_source *source);

/* Case `index`, the caller's to free; to be called for ascending indices. *node: for fuzz_source_reward. */
int fuzz_source_make(struct fuzz_source *source, uint64_t index, struct test_case **out, size_t *node,
                     struct error *err);

/* The case from that node of the search tree found something new. */
void fuzz_source_reward(struct fuzz_source *source, size_t node);

const struct coverage *fuzz_source_coverage(const struct fuzz_source *source);
size_t fuzz_source_tree(const struct fuzz_source *source); /* nodes; 0 without guidance */

/* Coverage and search tree. */
void fuzz_source_write(const struct fuzz_source *source, struct str *out);
int fuzz_source_read(struct fuzz_source *source, const char *text, struct error *err);

#endif
