/*
 * A test case: a model, its inputs, its expected outputs, and where it comes from. It is made once (by a
 * generator, from a folder, or by cutting another case) and then passed unchanged to trials, settling,
 * signatures, reducers and bundles.
 *
 * A case is reference-counted. Whoever keeps it beyond a call takes a share of it, and it is freed with its
 * last share. Only its maker fills it in; it does not change once it has been passed on.
 *
 * The model exists as a tree (model/model.h) and as bytes (a serialised ModelProto). A case is made with one
 * of the two; the other is made when it is first asked for, and kept. The tree of a model on disk stays
 * mapped and knows its path, so that a model of several GB is a case like any other. Only its bytes cannot be
 * had above protobuf's limit of 2 GB; engines are then given the path (engine/handover.h).
 */
#ifndef CASE_TEST_CASE_H
#define CASE_TEST_CASE_H

#include "model/model.h"

struct op;
struct case_model;    /* a model in both forms */
struct case_gradient; /* case_gradient.h */
struct test_case;

/* What must hold between the answers to two equivalent cases. */
enum relation {
    RELATION_BOUNDS = 1, /* they differ by no more than the rounding errors of both allow */
    RELATION_BITS,       /* they are the same, bit by bit: the engine is given the same work to do */
};

/* Which rows (places along the first axis) of the outputs answer the original case. */
enum rows {
    ROWS_ALL = 0,
    ROWS_FIRST,    /* the first ones: the inputs have further rows, or fewer */
    ROWS_LAST,     /* the last ones: the inputs have further rows before them */
    ROWS_REVERSED, /* all, in reverse order */
};

/*
 * What makes a case equivalent to another one: its model, its inputs or the way in which it is run were
 * changed by rules (rules/rule.h) that may not change the answer. Graph outputs of the original are found in
 * the rewritten model by their names.
 */
struct equivalence {
    struct test_case *origin; /* one share of the original case */
    char *rewriting;          /* owned; the rules and where they were applied, "auto-pad@y" */
    enum relation relation;
    enum rows rows;
    bool nothing_new; /* the model has no operator, attribute or type that the original has not, so that an
                         engine that answers the original may not refuse it */
    /* How it is run, when not like the original: */
    char *knobs;  /* owned; "opt=none,threads=4", added to the engine's label; "": none */
    bool fresh;   /* in a new process */
    int again;    /* so many times more in one session; the first answer counts */
    int others;   /* so many other, generated cases are run in the same process just before it */
    bool by_path; /* as a file, with weights in another file beside it */
    /* What is held against what: */
    bool bytes;  /* with RELATION_BITS: every byte counts, also where rounding explains the difference */
    bool memory; /* the contents of memory that nobody wrote are other ones; `knobs` has KNOB_PERTURB */
};

/* Who says that ONNX forbids a model, the most certain first. */
enum forbidden_by {
    FORBIDDEN_BY_NOBODY = 0,
    FORBIDDEN_BY_CHECKER,   /* libonnx's checker */
    FORBIDDEN_BY_INFERENCE, /* libonnx's shape inference, and the reference as well */
    FORBIDDEN_BY_REFERENCE, /* the reference alone */
};

struct test_case {
    struct case_model *model; /* see test_case_model and test_case_bytes */
    size_t n_inputs;
    struct value *inputs; /* owned, except by a view; named like the graph's inputs */
    size_t n_outputs;
    struct value *outputs; /* owned; the expected outputs, in the graph's order, or the expected gradients, in
                              that of case_gradient.wanted; may be fewer, or none */
    /* Owned; as many as outputs, or none: of each, a bool tensor of its shape that is false where an element
     * is not compared; VALUE_NONE: all are. */
    struct value *masks;
    bool random;  /* the model draws random numbers: only output types and shapes are expected */
    char *name;   /* owned; of its folder, or as given on the command line; else "" */
    char *recipe; /* owned; one line that says how to make the case again; never NULL */
    /* Generated cases only: */
    char *note;             /* owned; "illegal kernel_shape=0", or ""; never NULL */
    const struct op *first; /* the operator of the first node, or NULL when not known */
    /* Illegal variants of a model only (search/variant.h): ONNX forbids the model, so that an engine must
     * refuse it. */
    enum forbidden_by forbidden;
    char *forbidden_why;  /* owned; what they say, in one line; NULL: not forbidden */
    char *forbidden_node; /* owned; the node that breaks the rule (model_node_name); NULL: not known */
    /* Rewritten cases only: */
    struct equivalence *equivalence; /* owned; NULL: the case stands alone */
    /* Gradients are asked for, in place of outputs; NULL: outputs are. Owned. */
    struct case_gradient *gradient;
    size_t shares; /* beyond the first */
    bool is_view;  /* the inputs belong to someone else */
};

/* Make a case without inputs and with an empty recipe. It takes over the model, or the bytes (heap). */
struct test_case *test_case_new(struct model *model);
struct test_case *test_case_from_bytes(uint8_t *bytes, size_t size);

/* Makes another case without inputs that shares the model of this one. */
struct test_case *test_case_same_model(const struct test_case *test);

/*
 * Makes a case that borrows its model and its inputs, which must outlive it: one sample of many, or a case
 * that is being edited.
 */
struct test_case *test_case_view(const struct model *model, const struct value *inputs, size_t count);

/* Takes one more share of the case, and returns the case. */
struct test_case *test_case_share(struct test_case *test);
void test_case_free(struct test_case *test); /* gives up one share; accepts NULL */

/* Replaces the model by another, which the case takes over. Only for the maker of the case. */
void test_case_set_model(struct test_case *test, struct model *model);

/* Makes the case a rewritten form of `origin`, of which it takes a share, by the rules that `rewriting`
 * names. The caller fills in the rest of the result. Only for the maker of the case. */
struct equivalence *test_case_set_origin(struct test_case *test, struct test_case *origin,
                                         const char *rewriting);

/* Both copy the text. Only for the maker of the case. */
void test_case_set_name(struct test_case *test, const char *name);
void test_case_set_recipe(struct test_case *test, const char *recipe);

/* Appends copies of the values to the inputs. */
int test_case_add_inputs(struct test_case *test, const struct value *inputs, size_t count, struct error *err);

/* Returns the model, which lives as long as the case. NULL, with an error, if the bytes are no valid model.
 */
const struct model *test_case_model(const struct test_case *test, struct error *err);

/*
 * Gives the serialised model, including weights that are stored in other files. The bytes live as long as the
 * case. Fails for a model above 2 GB.
 */
int test_case_bytes(const struct test_case *test, const uint8_t **bytes, size_t *size, struct error *err);

/* Whether the model draws random numbers, so that its answers differ from run to run. */
bool test_case_draws_numbers(const struct test_case *test);

#endif
