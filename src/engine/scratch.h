/*
 * Scratch folders: one for this process below TMPDIR/assay-UID, and in it one for each worker. The process's
 * own is locked as long as it lives; what a dead process left behind is no longer locked, and is removed by
 * the next one.
 */
#ifndef ENGINE_SCRATCH_H
#define ENGINE_SCRATCH_H

#include "base/error.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct scratch {
    char *folder;
    int lock;
    size_t made;
};

int scratch_open(struct scratch *scratch, struct error *err);

/* A fresh folder for a worker, as a heap path. */
int scratch_add(struct scratch *scratch, char **folder, struct error *err);

/* Removes everything. Accepts a scratch that was never opened (zeroed). */
void scratch_close(struct scratch *scratch);

#ifdef __cplusplus
}
#endif
#endif
