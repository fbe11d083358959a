/*
 * A subgraph block: ONNX text with sizes left open, read once and placed many times. docs/blocks.md is its
 * manual.
 *
 * `$NAME` and `$(EXPRESSION)` stand where the text wants an integer. Before libonnx reads the text they are
 * replaced by large numbers, MARK + i for expression i, which are looked up again when the block is placed.
 */
#ifndef GENERATE_SUBGRAPH_H
#define GENERATE_SUBGRAPH_H

#include "model/build.h"
#include "ops/op.h"

#define SUBGRAPH_MARK INT64_C(7000000000000000)

enum {
    SUBGRAPH_TEXT = 1 << 20, /* bytes of a file */
    SUBGRAPH_NODES = 200,
    SUBGRAPH_INPUTS = 64,
    SUBGRAPH_SYMBOLS = 32,
    SUBGRAPH_EXPRESSIONS = 256,
    SUBGRAPH_CONSTANT = 4096 /* elements of an initialiser */
};

/* A size that the text leaves open: one of low, low + step ... high. */
struct subgraph_symbol {
    const char *name;
    int64_t low, high, step;
};

/* A dimension: a number, a symbol or an expression. */
enum subgraph_dim_kind { DIM_NUMBER, DIM_SYMBOL, DIM_EXPRESSION };
struct subgraph_dim {
    enum subgraph_dim_kind kind;
    int64_t number; /* or that of the symbol or expression */
};

struct subgraph_input {
    const char *name;
    enum dtype type;
    bool data;     /* fed by other blocks; else a weight, drawn anew */
    bool any_rank; /* of any shape; a second such input is of the first one's */
    int rank;
    struct subgraph_dim dims[TENSOR_MAX_RANK];
    bool filled;                       /* within [low, high] */
    const char *low, *high;            /* numbers or expressions */
    const Onnx__TensorProto *constant; /* an initialiser: its value; NULL otherwise */
};

struct subgraph_node {
    const Onnx__NodeProto *proto;
    const struct op *op;
    size_t *inputs;  /* value numbers, proto->n_input of them; SUBGRAPH_NONE: omitted */
    size_t *outputs; /* the same, proto->n_output */
    bool patched;    /* has attributes that depend on sizes or on the element type */
};
#define SUBGRAPH_NONE ((size_t)-1)

struct subgraph {
    struct model *model; /* what the text says, marks included */
    struct arena arena;
    int since, until;
    dtype_set types; /* that "float" may stand for */
    size_t n_symbols, n_expressions, n_inputs, n_nodes, n_outputs, n_values;
    struct subgraph_symbol symbols[SUBGRAPH_SYMBOLS];
    const char *expressions[SUBGRAPH_EXPRESSIONS];
    struct subgraph_input inputs[SUBGRAPH_INPUTS]; /* values 0 to n_inputs - 1; initialisers among them */
    struct subgraph_node *nodes;
    size_t *outputs; /* value numbers: what the block hands on */
};

int subgraph_read(struct subgraph **graph, const char *text, struct error *err);
void subgraph_free(struct subgraph *graph);

/* The number of an expression that a mark stands for; false for any other number. */
bool subgraph_mark(const struct subgraph *graph, int64_t number, size_t *expression);

#endif
