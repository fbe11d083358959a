/*
 * Makes the cases of a campaign: single operators and graphs of blocks, at random or guided by coverage.
 *
 * Case number i depends on the options, on i and, with guidance, on the coverage and the search tree at that
 * moment. These in turn follow from a snapshot and the cases made after it, in order. So the cases of a range
 * can be made again from the snapshot it started with, and each single case from its recipe.
 */
#ifndef CAMPAIGN_FUZZ_SOURCE_H
#define CAMPAIGN_FUZZ_SOURCE_H

#include "campaign/case_source.h"
#include "generate/operator_case.h"
#include "guide/coverage.h"
#include "guide/mcts.h"
#include "guide/yield.h"
#include "probe/probe_file.h"
#include "rules/rewriting.h"

enum fuzz_strategy {
    FUZZ_RANDOM, /* a third of the cases are single operators, and graphs have 2 to 15 blocks, drawn at random
                  */
    FUZZ_MCTS,   /* the same, with blocks by tree search */
    /* How many blocks, or a single operator, and which, by what that found (guide/yield.h). Single operators
     * are also newer ones, those of other domains and those of narrow types, unless the options say which. */
    FUZZ_YIELD,
    FUZZ_LISTED, /* nothing is drawn: the cases are a list (campaign/listed_source.h) */
};
const char *fuzz_strategy_name(enum fuzz_strategy strategy);

struct fuzz_source_options {
    uint64_t seed;
    enum fuzz_strategy strategy;
    struct mcts_options mcts;
    struct coverage_options coverage; /* what the tree and candidates strive for */
    size_t blind;       /* 1: FUZZ_YIELD learns nothing from findings, and draws as it does at the start */
    const char *method; /* words that hold for every graph (campaign/method_options.h); NULL: none */
    size_t candidates;  /* models drawn for a case, of which the one that adds most coverage is taken; at most
                           16; 0: 1, as each costs as much as running it on the reference */
    size_t blocks;      /* of every graph; 0: as the strategy says, and some cases are single operators */
    const char *only_blocks;          /* shell patterns "A,B*" for the names of blocks to use; NULL: all */
    bool redraw;                      /* a graph that adds no coverage is drawn again, three times at most */
    struct generate_options generate; /* ops, opset, types ... */
    /* This part of the cases, from 0 to 1, is rewritten by at most `rules_depth` of the chosen rules; where
     * none applies, the case stays as it is. */
    double rules_share;
    size_t rules_depth;
    struct rule_choice rules;
    /*
     * What engines lack. One graph avoids what the first engine lacks, the next what the second lacks, and so
     * on; then one avoids only what all lack.
     */
    size_t n_engines;
    const struct probe_support *const *lacks; /* one for each engine */
    const struct probe_support *all_lack;     /* NULL: nothing is known */
};

struct fuzz_source;

/* Of options with only_blocks: the operators inside these blocks, "A,B", in the arena. Fails with ERROR_USAGE
 * when a pattern matches no block. */
int fuzz_source_operators(const struct fuzz_source_options *options, struct arena *arena, const char **ops,
                          struct error *err);

/* The lists in the options are borrowed. Fails when the options leave no operator to draw. */
int fuzz_source_new(struct fuzz_source **source, const struct fuzz_source_options *options,
                    struct error *err);
void fuzz_source_free(struct fuzz_source *source);

/*
 * Makes case `index`, which the caller frees. To be called with ascending indices. *origin: where it comes
 * from, for fuzz_source_reward.
 */
struct fuzz_origin {
    size_t node;                /* of the search tree; SIZE_MAX: none */
    struct yield_choice choice; /* with FUZZ_YIELD */
    bool chosen;                /* by yield */
};
int fuzz_source_make(struct fuzz_source *source, uint64_t index, struct test_case **out,
                     struct fuzz_origin *origin, struct error *err);

/* Tells the source that the case from there found something new. */
void fuzz_source_reward(struct fuzz_source *source, const struct fuzz_origin *origin);

const struct coverage *fuzz_source_coverage(const struct fuzz_source *source);
size_t fuzz_source_tree(const struct fuzz_source *source); /* nodes; 0 without guidance */

/* The snapshot: coverage and search tree as text. fuzz_source_read checks it and fails when it is damaged. */
void fuzz_source_write(const struct fuzz_source *source, struct str *out);
int fuzz_source_read(struct fuzz_source *source, const char *text, struct error *err);

/*
 * For campaigns of many workers. From a mark on, what the cases add is kept apart: the difference, as short
 * text. fuzz_source_fold adds one to a source that has at least what the marked one had; as differences are
 * added in order of their ranges, the sum does not depend on who ran what. fuzz_source_whole is all there is
 * as a difference from an empty source.
 */
void fuzz_source_mark(struct fuzz_source *source);
void fuzz_source_difference(const struct fuzz_source *source, struct str *out);
void fuzz_source_whole(const struct fuzz_source *source, struct str *out);
int fuzz_source_fold(struct fuzz_source *source, const char *text, struct error *err);
void fuzz_source_clear(struct fuzz_source *source);

/* The source as a campaign uses it; it owns *source. */
struct case_source fuzz_source_cases(struct fuzz_source *source);

#endif
