/*
 * Cases from nothing: one operator, or a small graph.
 *
 * A case is a pure function of its recipe: kind, seed, index and options, one line of text. The same recipe
 * gives the same bytes on any machine.
 */
#ifndef GENERATE_OPERATOR_CASE_H
#define GENERATE_OPERATOR_CASE_H

#include "case/test_case.h"
#include "ops/draw.h"

struct trace;

enum { OPSET_FIRST = 11, OPSET_LAST = 21 };

/* What to draw from; all zero: everything. */
struct generate_options {
    const char *ops; /* comma-separated operator names; NULL: all of the table */
    int opset;       /* 0: any of OPSET_FIRST to OPSET_LAST */
    int max_opset;   /* 0: OPSET_LAST; for engines and checkers that know no newer one */
    dtype_set types; /* of primary inputs; 0: all */
    int fill;        /* FILL_... + 1; 0: any */
    bool illegal;    /* one operator only: one parameter gets an illegal value from the operator's table */
    int min_nodes, max_nodes; /* graphs; 0: 2 and 20 */
    int rank;                 /* one operator only: of the primary input, plus 1; 0: any */
    uint32_t given;           /* one operator only: which inputs the node has, bit i for input i; 0: any */
    /*
     * Says what not to ask for (an operator that the engine under test lacks for this type of primary input
     * and opset); NULL: nothing. A one-operator case is then refused with ERROR_UNSUPPORTED, so that what is
     * not refused is the same case as without; the next index may do. A graph leaves the node out.
     */
    bool (*lacks)(const void *context, const struct op *op, enum dtype type, int opset);
    const void *lacks_context;
    struct trace *trace; /* filled with what coverage wants to know of the model; NULL: not wanted */
    const char *skip; /* graphs: "3,17", the draws that were left out; how a recipe says what `lacks` said */
};

/*
 * A case of one operator, and one of a graph; NULL after a failure. Both fail with ERROR_NOT_FOUND when the
 * options leave nothing to draw. Numbers in graphs stay of moderate size and finite, as far as the reference
 * sees; a graph's outputs are all values that nobody uses.
 */
int generate_one(uint64_t seed, uint64_t index, const struct generate_options *options,
                 struct test_case **out, struct error *err);
int generate_graph(uint64_t seed, uint64_t index, const struct generate_options *options,
                   struct test_case **out, struct error *err);

/*
 * The forms of optional inputs that the operator's sampler draws at an opset, ascending, as for `given`; at
 * most `max`. One form, 0 (any), for operators with any number of inputs.
 */
size_t generate_forms(const struct op *op, int opset, uint32_t *forms, size_t max);

/* A case from the line of text that test_case.recipe holds. */
int generate_recipe(const char *recipe, struct test_case **out, struct error *err);

/* "one seed=1 index=2 ops=Conv illegal" and the like, as a heap string. */
char *recipe_text(const char *kind, uint64_t seed, uint64_t index, const struct generate_options *options);

#endif
