/*
 * Whether an engine reads a constant of integers wrong (campaign/experiments.h). An input in its place tells
 * that, but some operators of some engines take constants alone there.
 */
#ifndef CAMPAIGN_INTEGER_CONSTANTS_H
#define CAMPAIGN_INTEGER_CONSTANTS_H

#include "campaign/experiments.h"

/*
 * "constant-by-cast" when the case is right with the constant cast from one of float32: the engine has it
 * wrong whatever takes it. "constant-as-bits" when the engine, of a constant with the bits that float32 has
 * for these numbers, makes what is right for the numbers: an operator takes the bits of integers for those of
 * floats. *type: the element type of the constant, "uint8". NULL when no constant of the case is read wrong,
 * or the finding is not about numbers. Constants of 64 bits are left out: they are shapes, axes and indices
 * mostly, which engines want as they are.
 */
const char *integer_constants_misread(const struct experiments *how, const struct trial_done *done,
                                      const char **type);

#endif
