/*
 * Stand-ins: values that take the place of a confidential tensor's. Type and shape stay, and the values are
 * drawn anew, by a seed, as near to the original ones as a closeness says.
 */
#ifndef SCRAMBLE_STAND_IN_H
#define SCRAMBLE_STAND_IN_H

#include "base/random.h"
#include "tensor/tensor.h"

/* How much of the values stays, the least first. A value that is a special one is itself at all but the
 * first. */
enum closeness {
    CLOSE_LIKE,  /* of the whole tensor: about how large the values are, whether they are whole, and their
                    signs */
    CLOSE_CLASS, /* of each value: its sign, whether it is zero, infinite or NaN, and the last binary digit of
                    coarse ones, so that halves stay halves; of the tensor: the range */
    CLOSE_ORDER, /* the same, and which of the values are equal, and which is greater */
    CLOSE_NEAR,  /* of each value: its sign, its power of two, how near it is to the next one, and its last
                    digit */
    CLOSE_ORIGINAL,
};

/* What the closeness keeps, in words: "sign and class of each value". */
const char *closeness_text(enum closeness closeness);

/* Replaces the values. Equal texts get equal texts wherever the seed is the same. */
int stand_in(struct tensor *tensor, enum closeness closeness, uint64_t seed, struct error *err);

/*
 * A text in place of a text, of as many bytes as `length` says: letters at random, and from CLOSE_CLASS on
 * digits for digits, capitals for capitals, and other bytes as they are. The same for the same text and seed.
 */
void stand_in_text(char *text, size_t length, const char *original, size_t original_length,
                   enum closeness closeness, uint64_t seed);

#endif
