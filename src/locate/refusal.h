/*
 * Whether an engine that refuses a case could be expected to run it.
 *
 * What it says of the whole is no evidence: an optimiser throws because of an operator for which there is no
 * kernel in the release, or removes such an operator before it needs one. So the engine is asked: first for
 * the whole with the same kernels and the graph as it is (pool_plain), and where it refuses that as well, for
 * each node alone, on the reference's values, with the types and attributes it has in the case.
 *
 *   it runs the whole then                      it has all that is needed: the refusal stands
 *   it refuses a node alone in the same way     the refusal stands, whatever is lacking besides
 *   it says of a node alone that it lacks it    unsupported, whatever another setting made of the case
 *   it lacks no node alone                      the refusal stands
 *   a node could not be asked for               unsupported or undecided: nobody is blamed on a guess
 *
 * Engines take values that do not depend on the model's inputs for constants, and some want them to be, so in
 * the question they are. A node is lacking only when it is with them as inputs, too.
 *
 * Every refusal goes through here before it is told. Answers are remembered, by all that the question says
 * but the data, so that a campaign asks once; what is remembered never changes a word.
 */
#ifndef LOCATE_REFUSAL_H
#define LOCATE_REFUSAL_H

#include "locate/settle.h"

/* Answers so far, of one pool. */
struct refusals;
struct refusals *refusals_new(void);
void refusals_free(struct refusals *refusals);
size_t refusals_asked(const struct refusals *refusals); /* questions put to engines so far */

/*
 * A verdict of rejected or failed, on a case that ended as `ended`, is left alone, or becomes unsupported or
 * undecided, with a text that says why; other verdicts are left alone. True when it changed. `known` may be
 * NULL.
 */
bool refusal_decide(struct refusals *known, const struct settle_case *which, const struct result *ended,
                    struct verdict *verdict);

#endif
