/*
 * Whether an engine reads a constant of integers wrong (campaign/experiments.h). An input in its place tells
 * that, but some operators of some engines take constants alone there.
 */
#ifndef CAMPAIGN_INTEGER_CONSTANTS_H
#define CAMPAIGN_INTEGER_CONSTANTS_H

#include "campaign/experiments.h"

/*
 * The element type, "uint8", of a constant that the engine reads wrong whatever takes it: the case is right
 * with the constant cast from one of float32. NULL when there is none, or the finding is not about numbers.
 * Constants of 64 bits are left out: they are shapes, axes and indices mostly, which engines want as they
 * are.
 */
const char *integer_constants_misread(const struct experiments *how, const struct trial_done *done);

#endif
