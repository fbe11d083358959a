/*
 * The values of the model that are known at the moment: its inputs and weights, and the outputs of its nodes,
 * from the engine or from the reference. Values are identified by their numbers in the index.
 */
#ifndef LOCATE_HELD_VALUES_H
#define LOCATE_HELD_VALUES_H

#include "locate/under_test.h"
#include "model/edit.h"

struct held_values {
    struct under_test *test;
    /* Each of these arrays has one entry for each value. */
    /* A graph input, a weight, or an output of a node that is still held; NULL: not known. */
    const struct tensor **known;
    struct tensor *weights; /* initialisers and constants that were read */
    bool *viewed;           /* which of these are views into the model; the others are copies */
    struct tensor *folded;  /* values that follow from the inputs' shapes alone (Shape and what is computed
                               from it), set by memory_groups.h; data is NULL for all others */
    /* Type and shape as far as they are known before anything runs, set by memory_groups.h. */
    struct tensor *planned;
    struct tensor *forms; /* type and shape of values seen so far, without data; DTYPE_NONE for others */
    bool skip_folded; /* the engine is not asked for folded values: engines that fold them cannot show them */
    struct tensor *computed; /* values computed by the reference, where the engine gives none */
    size_t n_computed;
    bool complete; /* no further values will become known: the engine gives none */
};

void held_values_init(struct held_values *values, struct under_test *test);
void held_values_release(struct held_values *values);

/* A value by its number or name, weights included; NULL when it is not known. */
const struct tensor *held_values_get(struct held_values *values, size_t number);
const struct tensor *held_values_find(struct held_values *values, const char *name);

/* Forgets the value of a weight or constant. */
void held_values_drop(struct held_values *values, size_t number);

/* The tensor of a value that a Constant node makes, when it can be read; else NULL. */
const Onnx__TensorProto *held_values_constant(const struct held_values *values, size_t number);

/* Whether the engine is not asked for the value because it is known anyway: outputs of Constant nodes and,
 * with skip_folded, folded values. */
bool held_values_is_hidden(const struct held_values *values, size_t number);

/* Names of the outputs of all nodes, except hidden ones; the list is in the arena. */
const char **held_values_made(const struct held_values *values, size_t *count);

/* Computes the named values by the reference, rounded to their types, to be used in place of the engine's. */
int held_values_compute(struct held_values *values, const char *const *names, size_t wanted);

/* The types of all values seen, for the inputs of a model that is cut out; lists are in the given arena. */
struct edit_types held_values_types(const struct held_values *values, struct arena *arena);

#endif
