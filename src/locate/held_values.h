/*
 * The values of the model that are at hand: its inputs and weights, and what its nodes made, on the engine or
 * by the reference. Values go by their numbers in the index.
 */
#ifndef LOCATE_HELD_VALUES_H
#define LOCATE_HELD_VALUES_H

#include "locate/under_test.h"
#include "model/edit.h"

struct held_values {
    struct under_test *test;
    /* All of these have one entry a value. */
    const struct tensor **known; /* graph input, weight, or what a node made and is still held; may be NULL */
    struct tensor *weights;      /* initialisers and constants looked at: */
    bool *viewed;                /* as views into the model, or as copies */
    struct tensor *folded; /* what follows from the inputs' shapes alone (Shape and what is computed from it),
                              set by memory_groups.h; data NULL elsewhere */
    struct tensor *planned;  /* type and shape as far as it shows before anything runs, likewise */
    struct tensor *forms;    /* type and shape of what was seen so far, without data; DTYPE_NONE else */
    bool skip_folded;        /* folded values are not asked for: engines that fold them cannot show them */
    struct tensor *computed; /* by the reference, where the engine gives nothing */
    size_t n_computed;
    bool complete; /* all that will ever be known is: nothing is to be had from the engine */
};

void held_values_init(struct held_values *values, struct under_test *test);
void held_values_release(struct held_values *values);

/* A value by its number or name, weights included; NULL when it is not at hand. */
const struct tensor *held_values_get(struct held_values *values, size_t number);
const struct tensor *held_values_find(struct held_values *values, const char *name);

/* A weight or constant is no longer at hand. */
void held_values_drop(struct held_values *values, size_t number);

/* The tensor of a value that a Constant makes, when it can be read; else NULL. */
const Onnx__TensorProto *held_values_constant(const struct held_values *values, size_t number);

/* Not asked for, because it is known without: what a Constant makes, and with skip_folded what is folded. */
bool held_values_is_hidden(const struct held_values *values, size_t number);

/* Names of the values that nodes make and that are not hidden, in the arena. */
const char **held_values_made(const struct held_values *values, size_t *count);

/* The reference's values, rounded into their types, stand for what the engine would have had. */
int held_values_compute(struct held_values *values, const char *const *names, size_t wanted);

/* Types of all values seen, for the inputs of a cut; lists are in the given arena. */
struct edit_types held_values_types(const struct held_values *values, struct arena *arena);

#endif
