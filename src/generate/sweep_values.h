/* The values of sweeps (generate/sweep.h): bit patterns of element types, by their numbers. */
#ifndef GENERATE_SWEEP_VALUES_H
#define GENERATE_SWEEP_VALUES_H

#include "tensor/tensor.h"

/* Values in a run, and numbers of which pairs are made. */
enum { SWEEP_VALUES = 1 << 16, SWEEP_SAMPLES = 1 << 8 };

/* How many values a run of the type has: all patterns of a type of up to 16 bits, 64 at least. */
size_t sweep_count(enum dtype type);

/* The number of different patterns of a type of up to 16 bits; 0 for wider ones. */
size_t sweep_patterns(enum dtype type);

/* Sets an element to a value of the run, or to one of the samples, which are all patterns of a type of up to
 * 8 bits. Where values are chosen among more, `salt` chooses others. */
void sweep_set_value(struct tensor *tensor, size_t index, uint64_t value, uint64_t salt);
void sweep_set_sample(struct tensor *tensor, size_t index, uint64_t sample, uint64_t salt);

#endif
