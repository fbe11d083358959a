/*
 * How a model is handed to engines: the one place that decides.
 *
 * Up to HANDOVER_BYTES, weights in other files included, it goes out as bytes that hold all of it, so that
 * engines that cannot read external data have it too. A larger one goes out by path, and the engines read its
 * weights themselves: its own file, or, when it was edited or cut, one written to a folder of the pool, where
 * files of external data get a second name (a hard link) or, on another file system than TMPDIR, are copied.
 * Assay itself then never holds the weights. An engine that is not on this machine's file system (a launcher:
 * ssh, docker) gets bytes always, up to protobuf's 2 GB.
 *
 * Workers see the whole file system, under bubblewrap read-only but for their own scratch folder; the folders
 * of handovers are not among those.
 */
#ifndef ENGINE_HANDOVER_H
#define ENGINE_HANDOVER_H

#include "engine/pool.h"
#include "case/test_case.h"

enum { HANDOVER_BYTES = 64 << 20 };

struct handover {
    const void *bytes; /* serialised, or */
    size_t size;
    const char *path; /* a file, absolute */
    /* Owners of the above. */
    uint8_t *packed;
    char *file, *folder;
};

/* Refuses with ERROR_LIMIT a model that is larger than what an engine may take: it could not even map it, and
 * would be blamed for that. Add the engines to the pool first. The model must outlive the handover, and that
 * all jobs made of it. */
int handover_open(struct handover *handover, struct pool *pool, const struct model *model, struct error *err);

/* The same for the model of a case, whose bytes are made once for all handovers. */
int handover_open_case(struct handover *handover, struct pool *pool, const struct test_case *test,
                       struct error *err);
void handover_close(struct handover *handover); /* of a zeroed one too, and after a failure */

/* Makes the model that of a job. */
void handover_give(const struct handover *handover, struct job *job);

#endif
