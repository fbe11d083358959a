/*
 * A subgraph block: ONNX text with variable sizes, read once and placed many times. docs/blocks.md is its
 * manual.
 *
 * `$NAME` and `$(EXPRESSION)` stand for integers in the text. Before libonnx reads the text they are replaced
 * by large numbers, SUBGRAPH_MARK + i for expression i, which are resolved when the block is placed.
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

/* A variable size: one of low, low + step ... high. */
struct subgraph_symbol {
    const char *name;
    int64_t low, high, step;
};

/* A dimension: a number, a symbol or an expression. */
enum subgraph_dim_kind { DIM_NUMBER, DIM_SYMBOL, DIM_EXPRESSION };
struct subgraph_dim {
    enum subgraph_dim_kind kind;
    int64_t number; /* the size, or the index of the symbol or expression */
};

struct subgraph_input {
    const char *name;
    enum dtype type;
    bool data;     /* fed by other blocks; else a weight, drawn for every case */
    bool any_rank; /* of any shape; all such inputs have the same */
    int rank;
    struct subgraph_dim dims[TENSOR_MAX_RANK];
    bool filled;                       /* with numbers within [low, high] */
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
    struct model *model; /* the text as a model, with the marks in it */
    struct arena arena;
    int since, until;
    dtype_set types; /* the types that "float" may stand for */
    size_t n_symbols, n_expressions, n_inputs, n_nodes, n_outputs, n_values;
    struct subgraph_symbol symbols[SUBGRAPH_SYMBOLS];
    const char *expressions[SUBGRAPH_EXPRESSIONS];
    struct subgraph_input inputs[SUBGRAPH_INPUTS]; /* values 0 to n_inputs - 1; initialisers among them */
    struct subgraph_node *nodes;
    size_t *outputs; /* value numbers of the outputs of the block */
};

/* Reads and checks the text of a block; the error says what is wrong with it. */
int subgraph_read(struct subgraph **graph, const char *text, struct error *err);
void subgraph_free(struct subgraph *graph);

/* The index of the expression that a number marks; false for any other number. */
bool subgraph_mark(const struct subgraph *graph, int64_t number, size_t *expression);

#endif
