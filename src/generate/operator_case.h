/*
 * Generated cases of one operator, or of a small graph.
 *
 * A case is a pure function of its recipe, one line of text with kind, seed, index and options. The same
 * recipe gives the same bytes on any machine.
 */
#ifndef GENERATE_OPERATOR_CASE_H
#define GENERATE_OPERATOR_CASE_H

#include "base/str.h"
#include "case/test_case.h"
#include "ops/draw.h"

struct coverage_record;

/*
 * Cases are drawn of the first to the last opset and, where a newer one or a newer operator is asked for, to
 * the newest. So a recipe that names neither gives the same case as before these opsets were known.
 */
enum { OPSET_FIRST = 11, OPSET_LAST = 21, OPSET_NEWEST = 25 };

/* What to draw from; all zero: everything. */
struct generate_options {
    const char *ops; /* comma-separated operator names; NULL: all of the table, see OP_ON_REQUEST */
    int opset;       /* 0: any of OPSET_FIRST to OPSET_LAST */
    int max_opset;   /* 0: OPSET_LAST; the newest one that engines and checkers know */
    dtype_set types; /* of primary inputs; 0: all */
    int fill;        /* FILL_... + 1; 0: any */
    bool illegal;    /* one operator only: one parameter gets an illegal value from the operator's table */
    /* The case asks for gradients (case/case_gradient.h): only operators that the reference differentiates or
     * whose derivative is 0, and single operators of floating-point type. */
    bool gradients;
    /* What an operator that hides errors (op_hides) is given, and nothing but that operator shows in the
     * outputs, is an output too. */
    bool show;
    int min_nodes, max_nodes; /* graphs; 0: 2 and 20 */
    int rank;                 /* one operator only: of the primary input, plus 1; 0: any */
    enum draw_sizes sizes;    /* one operator only, as is the next */
    enum draw_constants constants;
    uint32_t given; /* one operator only: which inputs the node has, bit i for input i; 0: any */
    /*
     * Tells what the engine under test lacks (an operator with this type of primary input at this opset);
     * NULL: nothing. A one-operator case is then refused with ERROR_UNSUPPORTED, so that every case that is
     * made is the same as without this option; try the next index. A graph leaves the node out.
     */
    bool (*lacks)(const void *context, const struct op *op, enum dtype type, int opset);
    const void *lacks_context;
    struct coverage_record *record; /* filled with what coverage records of the model; NULL: not wanted */
    const char *skip; /* graphs: "3,17", the draws to leave out: what `lacks` told when the recipe was made */
};

/*
 * A case of one operator, and one of a graph; *out is NULL after a failure. Both fail with ERROR_NOT_FOUND
 * when the options leave nothing to draw. Numbers in graphs stay finite and of moderate size, as far as the
 * reference can tell. The outputs of a graph are all values that no node uses.
 */
int generate_one(uint64_t seed, uint64_t index, const struct generate_options *options,
                 struct test_case **out, struct error *err);
int generate_graph(uint64_t seed, uint64_t index, const struct generate_options *options,
                   struct test_case **out, struct error *err);

/*
 * The combinations of present inputs that the sampler of the operator draws at an opset, ascending, in the
 * form of `given`; at most `max`. For an operator with any number of inputs it is one, 0 (any).
 */
size_t generate_forms(const struct op *op, int opset, uint32_t *forms, size_t max);

/* Makes a case from its recipe (test_case.recipe). */
int generate_recipe(const char *recipe, struct test_case **out, struct error *err);

/* Appends what a recipe says of the options, " ops=Conv illegal"; nothing where they are the usual ones. */
void recipe_options(struct str *out, const struct generate_options *options);

/* The recipe as a heap string, such as "one seed=1 index=2 ops=Conv illegal". */
char *recipe_text(const char *kind, uint64_t seed, uint64_t index, const struct generate_options *options);

#endif
