/*
 * Judges one node on the inputs that the engine gave it: the reference computes the node on the recorded
 * inputs, and the recorded outputs are compared with the result.
 */
#ifndef LOCATE_NODE_VERDICT_H
#define LOCATE_NODE_VERDICT_H

#include "locate/record_values.h"

/* Computes the node's expected outputs from its recorded inputs, one for each output; release them also after
 * a failure. loose: the bounds allow for the node being computed as one with the nodes before it. */
int node_expect(struct recording *record, size_t number, bool loose, struct bounded *expected,
                struct error *err);

/* Whether the engine was asked for none of the node's outputs, as it replaces them by constants. */
bool node_is_folded(const struct recording *record, size_t number);

/* Whether the recorded outputs are right by the other reading of what ONNX does not say (OP_NAN_UNSAID), by
 * which as many elements can be judged as by the usual one, the verdict of which is given. */
bool node_reads_otherwise(struct recording *record, size_t number, const struct verdict *usual);

/* Compares the expected outputs with the recorded ones. When the node cannot be judged the verdict is
 * VERDICT_UNTESTED and its text says why. */
void node_judge(struct recording *record, size_t number, bool loose, struct verdict *verdict);

#endif
