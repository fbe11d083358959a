/*
 * Files that another program writes at a path that the user named. Assay makes them first, anew: a name that
 * is there already, be it a file, a pipe or a link, is refused, so nothing is overwritten and nothing blocks.
 */
#ifndef BASE_MADE_FILE_H
#define BASE_MADE_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct made_file {
    char *path;
    dev_t device;
    ino_t number;
};

/* Makes an empty regular file. The caller releases it, except after a failure. */
int made_file_make(struct made_file *file, const char *path, struct error *err);

/* Whether the path still leads to that very file, and not by a link. */
bool made_file_is_there(const struct made_file *file);

/* Removes the file when it stayed empty, so that the next try may make it. */
void made_file_release(struct made_file *file);

#ifdef __cplusplus
}
#endif
#endif
