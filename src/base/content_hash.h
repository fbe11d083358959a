/*
 * Hashes of what files hold, to tell whether anything has changed since they were last looked at. Names count
 * too, but neither times nor the path: a copy somewhere else has the same hash.
 */
#ifndef BASE_CONTENT_HASH_H
#define BASE_CONTENT_HASH_H

#include "base/folder.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the content of a file. One that cannot be read is told from an empty one, and is no failure. */
uint64_t content_hash_file(uint64_t hash, const struct folder *in, const char *name);

/* Adds the names and contents of all files in a folder and in those in it. Links are not followed. Of more
 * than `most` files only the first are read, in the order of their names. */
uint64_t content_hash_folder(uint64_t hash, const struct folder *folder, size_t most);

#ifdef __cplusplus
}
#endif
#endif
