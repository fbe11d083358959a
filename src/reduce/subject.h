/*
 * What is being made smaller: a model and its inputs.
 *
 * A subject is copied, changed in one place and judged; most changes make it invalid, which the reference
 * tells. So a change only has to be simple: it need not know what else it breaks. What a model says of its
 * own types and shapes is written anew by subject_settle_types.
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
    struct value *inputs; /* one a graph input, in the graph's order, named */
};

/* From a case: inputs are put in the graph's order; those with a default that no value is given for stay
 * initialisers. Fails on an input that is no tensor or not given. */
int subject_from_case(struct subject *subject, const struct test_case *from, struct error *err);

/* The subject as a case, which takes it over: it is empty then. */
struct test_case *subject_to_case(struct subject *subject);
int subject_copy(struct subject *to, const struct subject *from, struct error *err);
void subject_release(struct subject *subject); /* of a zeroed one too */

size_t subject_nodes(const struct subject *subject);    /* those of bodies included */
size_t subject_elements(const struct subject *subject); /* of all leaves */

/* Leaves. The tensor read is the caller's; the one set is copied, and the input's type follows it. */
size_t subject_leaves(const struct subject *subject);
const char *subject_leaf_name(const struct subject *subject, size_t leaf);
int subject_leaf(const struct subject *subject, size_t leaf, struct tensor *tensor);
int subject_set_leaf(struct subject *subject, size_t leaf, const struct tensor *tensor);

/* One more input of the model; the tensor is copied. */
int subject_add_input(struct subject *subject, const char *name, const struct tensor *tensor);

/* Removes what no output needs: nodes, also in bodies, leaves, and what is said of values that are gone. */
void subject_prune(struct subject *subject);

/* What a model says of types and shapes: an engine's optimiser may behave by it. */
enum types {
    TYPES_OUTPUTS, /* of the outputs alone, all else follows */
    TYPES_ALL,     /* of every value */
    TYPES_RANKS,   /* outputs: element types and ranks, no sizes */
};

/* Writes it anew from what the values are: the outputs first, in their order, then (TYPES_ALL) others by
 * name. */
void subject_settle_types(struct subject *subject, const char *const *names, const struct bounded *values,
                          size_t count, enum types types);

/* The ranks that bodies declare for what they give, as far as libonnx can infer them. */
void subject_settle_bodies(struct subject *subject);

/* What there is to say against a model: a set of these. model_doubts has those of libonnx. */
enum {
    DOUBT_CHECKER = 1, /* its checker, or its strict inference of types and shapes, refuses the model */
    DOUBT_BRANCH = 2,  /* a branch that is not taken is not valid, which libonnx does not see */
    DOUBT_UNKNOWN = 4, /* no libonnx here knows its opset */
};

/* Asks the newer libonnx, where there is one, else that of this system. err: why, of DOUBT_CHECKER. */
unsigned model_doubts(struct checker *checker, const uint8_t *model, size_t size, struct error *err);

/* Whether all that the part is made of is of the whole: its opset, its nodes with their attributes and the
 * inputs they have, the types of its leaves. Only fewer, smaller, or in another place. */
bool subject_is_part(const struct subject *part, const struct subject *whole);

/* Names of all values that nodes of the top graph make, outputs of the model left out; the caller frees the
 * array. */
const char **subject_inner_names(const struct subject *subject, size_t *count);

/* The same without knowing the outputs: their element types and ranks stay as declared. */
void subject_forget_types(struct subject *subject);

/*
 * What the values of the model are: the reference's, rounded into their types, or an engine's. Names point
 * into the model.
 */
struct record {
    struct map names; /* to numbers in tensors */
    size_t count, capacity;
    struct tensor *tensors;
};
void record_init(struct record *record, const struct subject *subject); /* the leaves */
int record_reference(struct record *record, const struct subject *subject, struct error *err);
void record_add(struct record *record, const char *name, struct tensor *tensor); /* takes the tensor over */
const struct tensor *record_find(const struct record *record, const char *name); /* NULL when not known */
void record_release(struct record *record);

#endif
