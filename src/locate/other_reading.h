/*
 * Whether an answer is right by another reading of what the ONNX text does not say: that a NaN among the
 * elements of a greatest or a least one (OP_NAN_UNSAID) is left out, while by the reference's it wins.
 *
 * A deviation is a bug unless all of this holds; a doubt leaves it a bug:
 *
 *   the engine gave a number where the reference has NaN, and the model has such an operator
 *   of each such operator by itself it leaves NaN out, whichever operand it is and whatever its sign
 *   its whole answer is right by the other reading, by which as many elements can be judged as by the usual
 *   one: an engine that keeps one NaN and leaves out another is right by neither
 *   neither its plain setting nor another release at hand (pool_other_release) keeps the NaN
 */
#ifndef LOCATE_OTHER_READING_H
#define LOCATE_OTHER_READING_H

#include "locate/settlement.h"

bool other_reading_explains(const struct settle_case *which);

#endif
