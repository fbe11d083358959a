/*
 * Where a name inside a folder leads (base/folder.h): the folder that its last part lies in, open, and that
 * part. Calls of the system on these two cannot leave the folder. Only base/folder.c and its like use this.
 */
#ifndef BASE_SPOT_H
#define BASE_SPOT_H

#include "base/folder.h"

#include <sys/stat.h>

struct spot {
    int fd;
    char *last; /* "." for the user's paths / and . */
};

/* Opens the folders on the way, one at a time and no link among them, or tells which part is in the way.
 * With `make`, makes those that are not there. Call spot_release afterwards, also after a failure. */
int spot_find(struct spot *spot, const struct folder *in, const char *name, bool make, struct error *err);
void spot_release(struct spot *spot);

/* Tells why the name could not be opened, made or written (`doing`): where a link is in the way, that, else
 * what errno says. Returns -1. */
int spot_refuse(const struct folder *in, const char *name, const char *doing, struct error *err);

/* What is no regular file, in words; NULL for one. */
const char *spot_kind(mode_t mode);

/* Tells that a file is expected, and this is of another kind. Returns -1. */
int spot_refuse_kind(const struct folder *in, const char *name, const char *kind, struct error *err);

#endif
