/*
 * A subject is what is being reduced: a model and its inputs.
 *
 * A subject is copied, changed in one place and judged. Most changes make it invalid, which the reference
 * detects, so a change can be simple and need not care what else it breaks. The types and shapes that the
 * model declares are rewritten by subject_settle_types.
 *
 * Inputs and initialisers together are its leaves: inputs first, then dense initialisers, as the graph has
 * them.
 */
#ifndef REDUCE_SUBJECT_H
#define REDUCE_SUBJECT_H

#include "base/map.h"
#include "bounds/bounded.h"
#include "case/test_case.h"
#include "engine/onnx_checker.h"
#include "model/index.h"

struct subject {
    struct model *model;
    size_t n_inputs;
    struct value *inputs; /* one for each graph input, in the graph's order, with its name */
};

/* Makes a subject from a case. Inputs are put in the graph's order; those with a default and no given value
 * stay initialisers. Fails when an input is not given. */
int subject_from_case(struct subject *subject, const struct test_case *from, struct error *err);

/* Makes a case from the subject, which is empty afterwards. */
struct test_case *subject_to_case(struct subject *subject);
int subject_copy(struct subject *to, const struct subject *from, struct error *err);
void subject_release(struct subject *subject); /* accepts a zeroed one */

size_t subject_nodes(const struct subject *subject);    /* including those in bodies */
size_t subject_elements(const struct subject *subject); /* elements of all leaves together */

/* Leaves. subject_leaf gives a tensor that the caller owns, and fails for an input that is a sequence or
 * absent, which no edit changes; subject_set_leaf copies the tensor and changes the declared type of an input
 * accordingly. */
size_t subject_leaves(const struct subject *subject);
const char *subject_leaf_name(const struct subject *subject, size_t leaf);
int subject_leaf(const struct subject *subject, size_t leaf, struct tensor *tensor);
int subject_set_leaf(struct subject *subject, size_t leaf, const struct tensor *tensor);

/* Adds an input to the model; the tensor is copied. */
int subject_add_input(struct subject *subject, const char *name, const struct tensor *tensor);

/* Removes everything that no output depends on: nodes, also in bodies, leaves, and declarations of values
 * that no longer exist. */
void subject_prune(struct subject *subject);

/* Which types and shapes a model declares. An engine's optimiser may depend on it. */
enum types {
    TYPES_OUTPUTS, /* of the outputs only */
    TYPES_ALL,     /* of every value */
    TYPES_RANKS,   /* outputs: element types and ranks, no sizes */
};

/* Rewrites the declarations from the values: `names` and `values` are the outputs first, in their order, then
 * (TYPES_ALL) other values. */
void subject_settle_types(struct subject *subject, const char *const *names, const struct bounded *values,
                          size_t count, enum types types);

/* Rewrites the ranks that bodies declare for their outputs, as far as libonnx can infer them. */
void subject_settle_bodies(struct subject *subject);

/* Doubts about a model, as a set of these. model_doubts gives those of libonnx. */
enum {
    DOUBT_CHECKER = 1, /* libonnx's checker, or its strict inference of types and shapes, refuses the model */
    DOUBT_BRANCH = 2,  /* a branch that is not taken is invalid, which libonnx does not detect */
    DOUBT_UNKNOWN = 4, /* no libonnx on this machine knows its opset */
};

/* Asks the newer libonnx, where there is one, else the system's. *err says why for DOUBT_CHECKER. */
unsigned model_doubts(struct checker *checker, const uint8_t *model, size_t size, struct error *err);

/* Whether everything in `part` is also in `whole`: its opset, its nodes with their attributes and which
 * inputs they have, the types of its leaves. There may be fewer of them, smaller ones, or in another order.
 */
bool subject_is_part(const struct subject *part, const struct subject *whole);

/* Names of all values that nodes of the top graph make; inner: outputs of the model left out. The caller
 * frees the array. */
const char **subject_made_names(const struct subject *subject, size_t *count);
const char **subject_inner_names(const struct subject *subject, size_t *count);

/* Like subject_settle_types, for outputs whose values are not known: the declared element types and ranks
 * stay. */
void subject_forget_types(struct subject *subject);

/* The same, and outputs of unknown type get that of the first input of the node that makes them: where a node
 * breaks a rule nobody can infer it, and a model must declare it. */
void subject_guess_types(struct subject *subject);

/*
 * The values of a model, by name: the reference's, rounded to their types, or an engine's. Names point into
 * the model.
 */
struct record {
    struct map names; /* from names to indices in `tensors` */
    size_t count, capacity;
    struct tensor *tensors;
};
void record_init(struct record *record, const struct subject *subject); /* with the leaves only */
int record_reference(struct record *record, const struct subject *subject, struct error *err);
/* The reference's values of all nodes that it can evaluate one by one, for models that break a rule. */
void record_possible(struct record *record, const struct subject *subject);
void record_add(struct record *record, const char *name, struct tensor *tensor); /* takes the tensor over */
const struct tensor *record_find(const struct record *record, const char *name); /* NULL when not known */
void record_release(struct record *record);

#endif
