/*
 * Files of a campaign that live in its database, as a worker's disk may vanish: bundles of findings, by the
 * finding's signature, and cases that cannot be made again, by other keys.
 *
 * Nothing that is read is trusted: paths are relative and plain, and no file is larger than
 * STORED_FILE_LIMIT.
 */
#ifndef FINDINGS_STORED_FILES_H
#define FINDINGS_STORED_FILES_H

#include "base/folder.h"
#include "findings/store.h"

enum { STORED_FILE_LIMIT = 11 << 20 }; /* in base64 it fits into a text of the database */

/* Whether a path may be made below a folder: plain names, none of which begins with a dot. */
bool stored_path_is_plain(const char *path);

/* Stores all files of a folder and of those in it, in place of what the key had, in one transaction. */
int stored_files_put(struct store *store, const char *key, const struct folder *folder, struct error *err);

/* The same within a transaction of the caller's. */
int stored_files_put_inside(struct store *store, const char *key, const struct folder *folder,
                            struct error *err);

/* Visits the files of a key, by path. What has no plain path or is damaged fails with ERROR_FORMAT. */
int stored_files_visit(struct store *store, const char *key,
                       int (*visit)(void *context, const char *path, const void *data, size_t size,
                                    struct error *err),
                       void *context, struct error *err);

/* Writes them to a folder inside another, which is made. *count: how many. */
int stored_files_write(struct store *store, const char *key, const struct folder *in, const char *name,
                       size_t *count, struct error *err);

/* Writes one file and makes the folders that its path names. */
int stored_file_write(const struct folder *folder, const char *path, const void *data, size_t size,
                      struct error *err);

/* Visits the keys that have files. */
int stored_files_keys(struct store *store, int (*visit)(void *context, const char *key, struct error *err),
                      void *context, struct error *err);

#endif
