/*
 * A case in another rank: what its model computes with has one axis more, or one of length 1 fewer, and the
 * attributes and parameters of its nodes follow. What a bug in images of two dimensions looks like in those
 * of one or three, or in a batch.
 *
 * Ranks differ within a case (a bias, a mask), so an axis is found from behind, as in broadcasting: a value
 * of fewer axes than there are behind the place stays as it is. Nobody has looked whether the result is
 * valid: an operator that has no such rank makes it invalid.
 */
#ifndef CAMPAIGN_OTHER_RANK_H
#define CAMPAIGN_OTHER_RANK_H

#include "case/test_case.h"

enum rank_place {
    RANK_FRONT, /* before all axes: a batch */
    RANK_THIRD, /* the first of an image's own axes, behind samples and channels */
    RANK_BACK   /* behind all axes */
};

struct rank_change {
    const char *name; /* "front-2": an axis of length 2 in front; "back-0": the last axis is gone */
    enum rank_place place;
    int64_t length; /* of the new axis, along which elements are repeated; 0: an axis is taken out */
};

enum { RANK_CHANGES = 9 };
extern const struct rank_change rank_changes[RANK_CHANGES];

/*
 * Which inputs and initialisers change. Operators' rows tell which inputs are data; whether weights must have
 * as many axes as the data depends on the operator and its attributes, so both are to be tried.
 */
enum rank_reading {
    RANK_OF_DATA, /* data, and kernels of the rank of what they slide over, which get an axis of length 1 */
    RANK_OF_ALL,  /* whatever is no parameter, such as a list of axes */
    RANK_READINGS
};

/* Fails with ERROR_NOT_FOUND when the case has no such form. */
int case_in_other_rank(const struct test_case *given, const struct rank_change *change,
                       enum rank_reading reading, struct test_case **out, struct error *err);

#endif
