/*
 * Runs the engine without Assay, as a baseline for the benches: ENGINE --bare SAMPLES.npy INPUT BATCH
 * MODEL... loads each model once and runs all samples, BATCH at a time, in one loop, without protocol, pipe
 * or comparison. Prints one line for each model: path, seconds, and "ok" or the error.
 */
#ifndef SDK_BARE_H
#define SDK_BARE_H

#include "adapter.h"

int adapter_bare(const struct adapter *adapter, int argc, char **argv);

#endif
