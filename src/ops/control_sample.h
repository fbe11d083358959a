/* Samplers of If and Loop: they draw small bodies that compute on captured values, constants and carried
 * values. */
#ifndef OPS_CONTROL_SAMPLE_H
#define OPS_CONTROL_SAMPLE_H

#include "ops/draw.h"

int sample_if(struct draw *d);
int sample_loop(struct draw *d);

#endif
