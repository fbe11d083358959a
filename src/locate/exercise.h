/*
 * What a sample exercised of a node, and what it did not: a branch that was not taken, a result that is
 * everywhere the same, a Sigmoid of which nothing but 0 and 1 is left, a mask that chooses one side only. A
 * fault there would not have shown on that sample.
 */
#ifndef LOCATE_EXERCISE_H
#define LOCATE_EXERCISE_H

#include <stddef.h>

struct recording;

enum exercise_aspect {
    EXERCISE_THEN = 1, /* the branches of an If */
    EXERCISE_ELSE = 2,
    EXERCISE_TRUE = 4, /* the sides of a Where */
    EXERCISE_FALSE = 8,
    EXERCISE_BETWEEN = 16, /* a result between the ends of its range, where the operator levels off */
    EXERCISE_VARIES = 32,  /* a result with different elements, from inputs with different elements */
    EXERCISE_ASPECTS = 6
};

/* Sets of aspects: those that the node has, and those that were exercised. */
struct exercise {
    unsigned has, done;
};

/* Adds what the recorded values of the node tell. */
void exercise_note(struct exercise *exercise, struct recording *record, size_t number);

/* The first aspect that was not exercised, in words without the node ("the else branch was not taken"); NULL:
 * all was. */
const char *exercise_missing(const struct exercise *exercise);

#endif
