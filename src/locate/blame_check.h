/*
 * Checks whether a node that looks wrong is really to blame. Its outputs are replaced by the expected values,
 * as inputs of the model, and the engine computes the rest: when the answer is as far off as before, the node
 * is not the cause. Also checks whether the values recorded for a node are the values that the engine had.
 */
#ifndef LOCATE_BLAME_CHECK_H
#define LOCATE_BLAME_CHECK_H

#include "locate/record_values.h"

/*
 * Whether the engine gives the recorded value of output `output` of the node also when the model ends there.
 * Some engines show a value that differs from the one the next operator had (a reused buffer, another
 * layout). Such a value is then dropped from the recorded ones, since the nodes that use it cannot be judged
 * by it.
 */
bool blame_confirm(struct recording *record, size_t number, size_t output);

/*
 * Whether the answer, which is wrong or suspect, stays so when the outputs of the nodes are replaced: for one
 * node by the right values for the inputs it had, for several by the reference's own values. Also false where
 * this cannot be tested: the answer is not off as a whole, or the engine does not compute the rest.
 */
bool blame_stays_off(struct recording *record, const size_t *nodes, size_t count);

/* Whether the answer is as far off when the node is given the recorded values of its inputs as inputs of the
 * model. If it is not, the node had other inputs than those recorded. False where this cannot be tested. */
bool blame_breaks_right_inputs(struct recording *record, size_t number);

/*
 * Whether the engine is wrong on the model that ends with the node, and has all nodes that stand before it
 * still. For a fault that shows only among those, and that the rest of the model hides: a node by itself is
 * right then, and so is the answer. The bounds are those of the model up to there, so that this proves a
 * fault and never its absence. Nodes that stand behind are left out: an engine that writes one's result over
 * a value that nobody needs any more spoils what is shown, and is right.
 */
bool blame_wrong_at_end(struct recording *record, size_t number, struct verdict *verdict);

/* Lists the nodes that a wrong output is computed from, when the output is as wrong without the other nodes;
 * else all nodes. Returns how many there are. */
size_t blame_needed(struct recording *record, size_t output, size_t *nodes);

#endif
