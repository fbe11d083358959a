/*
 * Another reading of what the ONNX text does not say: that a NaN among the elements of a greatest or a least
 * one (OP_NAN_UNSAID) is left out, while by the reference's it wins.
 *
 * A node that loses a NaN is wrong unless all of this holds; a doubt leaves it so:
 *
 *   its whole output is right by the other reading, on the inputs it had (node_reads_otherwise)
 *   the engine follows that reading in the operator alone, whichever operand the NaN is and whatever its sign
 *   neither the engine's plain setting nor another release at hand (pool_other_release) keeps it there
 *
 * Other nodes are judged on the values that the engine made of it, so that nothing else is right with it.
 */
#ifndef LOCATE_OTHER_READING_H
#define LOCATE_OTHER_READING_H

#include "locate/settlement.h"

/* Whether the second and the third hold for the node's operator. */
bool other_reading_is_habit(const struct settle_case *which, const struct model *model,
                            const Onnx__NodeProto *node);

#endif
