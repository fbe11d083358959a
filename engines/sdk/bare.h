/*
 * The engine without Assay: ENGINE --bare MODEL SAMPLES.npy INPUT BATCH loads the model once and runs all
 * samples, BATCH at a time, in one loop, without protocol, pipe or comparison. Prints "bare SECONDS". What
 * benches hold Assay against.
 */
#ifndef SDK_BARE_H
#define SDK_BARE_H

#include "adapter.h"

int adapter_bare(const struct adapter *adapter, int argc, char **argv);

#endif
