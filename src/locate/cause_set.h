/*
 * Parameters that only cure together: the smallest set of changes after which the part no longer fails, by
 * delta debugging.
 */
#ifndef LOCATE_CAUSE_SET_H
#define LOCATE_CAUSE_SET_H

#include "locate/param_evidence.h"

struct cause_set {
    size_t count;                        /* 0: none was found */
    const struct param_change **changes; /* heap, one a parameter */
};

/* Looks for a set, when no parameter cures alone. A set that gives the answer another shape is not believed
 * where the size matters. */
void cause_set_find(struct cause_set *set, struct examination *look, const struct params_evidence *evidence);
void cause_set_release(struct cause_set *set);

#endif
