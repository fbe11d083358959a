/*
 * Whether an engine refuses a node for its form: the rank of an input or output, or how many elements it has.
 *
 * A refusal is a bug unless all of this holds; a doubt leaves it a bug:
 *
 *   the engine gives its reason in words, and they speak of a form (a rank, a shape, a size, something empty)
 *   it refuses the node alone, in its plain setting, with the same message
 *   there is a feature of the node's form (input 0 has rank 1 and varies; output 0 has rank 2 and is empty)
 *   or else its whole form, with which no drawn node of the operator runs, whatever the element type, the
 *   parameters and the data, and three of the node's own type at least are refused with that message
 *   or a number of elements (input 2 has one, or several), which is all that: no drawn node with another
 *   number is refused with that message either
 *   it runs some drawn node of the operator without that feature
 *   the other releases at hand (pool_other_release) do not run the node either
 *
 * Nodes are drawn by the operator's sampler (ops/draw.h) from a seed of their own, so that the answer does
 * not depend on the case that asked. What an engine made of them is remembered.
 */
#ifndef LOCATE_FORM_LIMIT_H
#define LOCATE_FORM_LIMIT_H

#include "locate/settlement.h"

/* What the engines of one pool made of drawn nodes so far. */
struct form_limits;
struct form_limits *form_limits_new(void);
void form_limits_free(struct form_limits *limits); /* accepts NULL */

/* Whether the engine refuses the one node of this case (Constants aside) for its form. ended: how the case
 * ended on which->engine, in its plain setting. */
bool form_is_refused(struct form_limits *limits, const struct settle_case *which, const struct result *ended);

/* Whether the words of a refusal, which may be NULL, are about the form of tensors at all; false:
 * form_is_refused is false as well. */
bool form_is_spoken_of(const char *message);

#endif
