/*
 * One node on the inputs that the engine gave it: what the reference makes of them, and whether what is
 * recorded of the node is that.
 */
#ifndef LOCATE_NODE_VERDICT_H
#define LOCATE_NODE_VERDICT_H

#include "locate/record_values.h"

/* What a node makes of its recorded inputs, one for each of its outputs, to be released in any case; loose:
 * as if it had been computed as one with those that made them. */
int node_expect(struct recording *record, size_t number, bool loose, struct bounded *expected,
                struct error *err);

/* That against what is recorded of it. VERDICT_UNTESTED, and the text says why, when the reference cannot. */
void node_judge(struct recording *record, size_t number, bool loose, struct verdict *verdict);

#endif
