/*
 * Scratch folders: one for this process in TMPDIR, private and of a drawn name
 * (assay-scratch-UID-XXXXXX), and in it one for each worker. The process's folder is locked as long as the
 * process lives. A folder that is not locked was left behind by a process that died, and the next process
 * removes it.
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

/* Makes a new folder for a worker; *folder is a heap path. */
int scratch_add(struct scratch *scratch, char **folder, struct error *err);

/* The same for files that all workers are to read, in the folder SCRATCH_HANDED of this process's. */
#define SCRATCH_HANDED "handed"
int scratch_add_handed(struct scratch *scratch, char **folder, struct error *err);

/* Removes everything. Accepts a scratch that was never opened (zeroed). */
void scratch_close(struct scratch *scratch);

#ifdef __cplusplus
}
#endif
#endif
