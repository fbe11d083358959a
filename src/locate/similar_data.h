/*
 * Inputs drawn like those at hand: the same elements in other places, or other elements of the same sizes.
 * What holds on them too does not hold by accident.
 */
#ifndef LOCATE_SIMILAR_DATA_H
#define LOCATE_SIMILAR_DATA_H

#include "case/test_case.h"

enum {
    SIMILAR_SHUFFLED = 2, /* sets 1 and 2 are shuffled, later ones drawn anew */
    SIMILAR_COUNTED = 100 /* numbers that count up: a reduced case has zeros, with which little shows */
};

/* Makes a case with the same model and set number `set` of inputs. Inputs that act as parameters of a node
 * stay as they are. Where no input is data, the constants that nodes take as data are drawn; in the set that
 * counts they always are. The caller frees *similar, also after a failure. */
int similar_data(struct test_case **similar, const struct test_case *first, size_t set, struct error *err);

#endif
