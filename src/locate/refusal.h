/*
 * Decides whether an engine that refuses a case could be expected to run it.
 *
 * Its message about the whole model is no evidence: an optimiser may fail because the release has no kernel
 * for some operator, or it may remove such an operator before a kernel is needed. So the engine is asked:
 * first to run the whole model in its plain setting, with the same kernels and the graph as it is written
 * (pool_plain), and when it refuses that as well, to run each node alone, on the reference's values, with the
 * types and attributes that it has in the case.
 *
 *   it runs the whole then                      it has all that is needed: the refusal stands
 *   it refuses a node alone in the same way     the refusal stands, whatever is lacking besides
 *   it says of a node alone that it lacks it    unsupported, whatever another setting made of the case
 *   it lacks no node alone                      the refusal stands
 *   it takes the form of a node nowhere         a limitation (form_limit.h)
 *   a node could not be asked for               unsupported or undecided: nobody is blamed on a guess
 *
 * Values that do not depend on the model's inputs are constants in these questions, because some engines
 * require that. A node counts as unsupported only when it is so with these values as inputs too.
 *
 * Every refusal passes through here before it is reported. Answers are remembered under everything that the
 * question contains except the data, so that a campaign asks each question once; the verdicts do not depend
 * on what is remembered.
 */
#ifndef LOCATE_REFUSAL_H
#define LOCATE_REFUSAL_H

#include "locate/settle.h"

/* The answers of the engines of one pool so far. */
struct refusals;
struct refusals *refusals_new(bool forms); /* forms: limitations are told from bugs */
void refusals_free(struct refusals *refusals);
size_t refusals_asked(const struct refusals *refusals); /* questions put to engines so far */

/*
 * Decides about a verdict of rejected or failed on a case that ended as `ended`: the verdict stays, or
 * becomes a limitation, unsupported or undecided, the last two with a text that says why. Other verdicts
 * stay. True when the verdict changed. `known` may be NULL.
 */
bool refusal_decide(struct refusals *known, const struct settle_case *which, const struct result *ended,
                    struct verdict *verdict);

#endif
