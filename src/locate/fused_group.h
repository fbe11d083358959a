/*
 * Parts of the model that are wrong, or refused, only as a whole.
 *
 * A small graph is searched exhaustively, the smallest parts first. In a large one the place is found by
 * bisection before parts are tried: exposing the values of the first k nodes removes a faulty fusion as soon
 * as one of its inner values is among them; the first k nodes alone are refused as soon as the part that the
 * engine cannot take is among them. A refused graph, small or not, is bisected first: a part that contains a
 * refused one with the same end is, as a rule, refused itself.
 */
#ifndef LOCATE_FUSED_GROUP_H
#define LOCATE_FUSED_GROUP_H

#include "locate/part.h"

struct group_search {
    struct under_test *test;
    struct recording *record;
    const struct refused *refused; /* when the whole is, else NULL */
    const bool *skipped; /* by node: wrong by themselves, so no part is looked at that has them; or NULL */
    struct result shown; /* the whole's answers with everything exposed, in a large graph */
    bool close; /* these are within the published tolerance of the plain ones, as far as was looked */
};
void group_search_init(struct group_search *search, struct recording *record);
void group_search_release(struct group_search *search);

/* By the recorded inputs, when exposing values makes the fault vanish; true when found. */
bool fused_group_find(struct group_search *search, struct settlement *settlement);

/* The engine shows no values (or no answer at all), so those of the reference serve as inputs; 1 when found,
 * 0 when not, -1 when the reference cannot. */
int fused_group_find_unshown(struct group_search *search, struct settlement *settlement);

/* Less of a refused group that is refused too: what is wrong may be noticed behind where it is made. */
void fused_group_narrow(struct group_search *search, struct settlement *settlement);

enum { GROUP_BEFORE = 8 }; /* nodes: larger groups before a node are not tried */
struct node_group {
    size_t nodes[GROUP_BEFORE], count;
};

/*
 * A node that is outside its bound where values are shown, and not alone: the engine computes it together
 * with those before it though they are shown. *group becomes the group that is wrong as a whole. The verdict
 * becomes mistrusted when another formula for the group explains it, and stays when neither is so.
 */
void fused_group_before(struct group_search *search, size_t number, struct node_group *group,
                        struct verdict *verdict);

#endif
