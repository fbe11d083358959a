/* Samplers of If, Loop and Scan: they draw small bodies that compute on captured values, constants, carried
 * values and slices. */
#ifndef OPS_CONTROL_SAMPLE_H
#define OPS_CONTROL_SAMPLE_H

#include "ops/draw.h"

int sample_if(struct draw *d);
int sample_loop(struct draw *d);
int sample_scan(struct draw *d);

#endif
