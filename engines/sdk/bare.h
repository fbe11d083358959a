/*
 * The engine without Assay: ENGINE --bare SAMPLES.npy INPUT BATCH MODEL... loads each model once and runs all
 * samples, BATCH at a time, in one loop, without protocol, pipe or comparison. Prints a line a model: path,
 * seconds, "ok" or why not. What benches hold Assay against.
 */
#ifndef SDK_BARE_H
#define SDK_BARE_H

#include "adapter.h"

int adapter_bare(const struct adapter *adapter, int argc, char **argv);

#endif
