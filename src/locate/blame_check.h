/*
 * Is it that node? What it makes is replaced by what is expected, as an input of the model, and the engine
 * computes the rest: an answer that is as far off as before is not off because of the node. And is what is
 * recorded of it what the engine had?
 */
#ifndef LOCATE_BLAME_CHECK_H
#define LOCATE_BLAME_CHECK_H

#include "locate/record_values.h"

/*
 * Whether the engine also gives output `output` of the node as it was recorded when the model ends there.
 * Some engines show a value that is not what the next operator had: a buffer used again, another layout. Then
 * it is no longer at hand: who used it cannot be judged by it.
 */
bool blame_confirm(struct recording *record, size_t number, size_t output);

/*
 * Whether the answer, which is wrong or suspect, stays so when what the nodes make is replaced: by what one
 * node makes of the inputs that it had, or by the reference's own values of several. False, too, where that
 * cannot be seen: the answer is not off as a whole, or the engine does not compute the rest.
 */
bool blame_stays_off(struct recording *record, const size_t *nodes, size_t count);

/* Whether the answer is as far off when the node is given, as inputs of the model, the values that are
 * recorded of its inputs: if not, it had others. False where that cannot be seen. */
bool blame_breaks_right_inputs(struct recording *record, size_t number);

/* The nodes that a wrong output is computed from, when it is as wrong without the others; else all nodes. */
size_t blame_needed(struct recording *record, size_t output, size_t *nodes);

#endif
