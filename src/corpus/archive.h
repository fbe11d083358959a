/*
 * An archive of files in memory: a tar file (ustar), as it is or compressed by Zstandard. Equal files in
 * equal order are equal bytes, whoever writes them, when and where: no times, no owners, one thread of
 * compression.
 */
#ifndef CORPUS_ARCHIVE_H
#define CORPUS_ARCHIVE_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>

struct archive {
    struct str tar;
};

void archive_init(struct archive *archive);
void archive_release(struct archive *archive);

/* Adds a file by its path in the archive, which has at most 255 letters and a "/" where tar needs one. */
int archive_add(struct archive *archive, const char *path, const void *data, size_t size, struct error *err);

/* Ends the archive: its bytes, appended to *out. `packed`: compressed, which fails with ERROR_UNSUPPORTED
 * where Assay was built without libzstd. */
int archive_finish(struct archive *archive, bool packed, struct str *out, struct error *err);

#endif
