/*
 * The block corpus: what a generator can place. A block is an operator of the table, or a subgraph read from
 * a text file (docs/blocks.md) such as share/blocks/attention.onnxtxt.
 */
#ifndef GENERATE_BLOCK_H
#define GENERATE_BLOCK_H

#include "ops/op.h"

struct subgraph; /* subgraph.h */

struct block {
    const char *name;            /* the operator's, or the file's without its suffix */
    const struct op *op;         /* one operator; NULL: a subgraph */
    const struct op *const *ops; /* the operators inside, each once */
    size_t n_ops;                /* at least 1 */
    int since, until;            /* opsets at which it can be placed, both included */
    size_t inputs;               /* the most inputs that other blocks can feed */
    uint64_t hash; /* of a subgraph's text; it is part of recipes, so that the same block is used again */
    const struct subgraph *graph; /* NULL: one operator */
    const char *text;             /* of a subgraph's file */
};

struct blocks;

/* A corpus of all operators of which cases can be drawn. */
struct blocks *blocks_new(void);
void blocks_free(struct blocks *blocks);

/* Adds the subgraphs that come with the program. */
int blocks_add_builtin(struct blocks *blocks, struct error *err);

/* Adds a file, or all *.onnxtxt files of a folder; a block of the same name is replaced. */
int blocks_add_file(struct blocks *blocks, const char *path, struct error *err);
int blocks_add_dir(struct blocks *blocks, const char *path, struct error *err);

/* Adds the blocks of all folders in a list "A:B". */
int blocks_add_path(struct blocks *blocks, const char *folders, struct error *err);

/* Adds the blocks that recipes can name: those of the program and those in the folders of ASSAY_BLOCKS. */
int blocks_add_usual(struct blocks *blocks, struct error *err);

/* Adds a block from its text; the name is copied. */
int blocks_add_text(struct blocks *blocks, const char *name, const char *text, struct error *err);

/* Keeps only the blocks whose names match one of the shell patterns "A,B*". Fails with ERROR_USAGE when a
 * pattern matches none. */
int blocks_keep(struct blocks *blocks, const char *patterns, struct error *err);

size_t blocks_count(const struct blocks *blocks);
const struct block *blocks_at(const struct blocks *blocks, size_t index);
const struct block *blocks_find(const struct blocks *blocks, const char *name); /* NULL: none */

#endif
