/*
 * Folders that somebody else may have filled: campaigns, bundles, cases, folders for output. Every file that
 * Assay opens, makes, renames or removes is reached by a function of this header; those of base/file.h, for
 * paths that the user names, are made of them (tools/check-files finds code that goes another way).
 *
 * The user's own path to such a folder may be a link or contain some. What lies inside it is reached from the
 * open folder, one part of the name at a time, and no link is followed on the way: a link is refused by name,
 * and so is a pipe, a socket or a device where a file is expected. New files are made under a fresh name and
 * renamed, so that a name which is there already never leads anywhere.
 *
 * A name is a path inside the folder, such as "findings/README.md". It has no empty part and no "..".
 * USERS_PATH in place of a folder says that the name is a path that the user gave: links are followed.
 */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include "base/error.h"
#include "base/file_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct folder {
    int fd;
    char *path; /* for messages; NULL: not open */
};

#define USERS_PATH ((const struct folder *)NULL)

/* folder_make also makes the folder and those above it, where they are not there yet. The caller closes
 * *folder, also after a failure. Closing one that is not open (zeros) does nothing. */
int folder_open(struct folder *folder, const struct folder *in, const char *name, struct error *err);
int folder_make(struct folder *folder, const struct folder *in, const char *name, struct error *err);
void folder_close(struct folder *folder);

/* Opens the folder that something of this name lies in. */
int folder_open_around(struct folder *folder, const struct folder *in, const char *name, struct error *err);

/* Makes and opens a folder of an unused name, which begins with `stem`. *name is on the heap. */
int folder_make_fresh(struct folder *folder, const struct folder *in, const char *stem, char **name,
                      struct error *err);

/* Makes the folder and those above it, where they are not there yet. */
int folder_make_all(const struct folder *in, const char *name, struct error *err);

/* "folder/name" on the heap, for messages; the same before the message that is in *err, which returns -1. */
char *folder_path(const struct folder *in, const char *name);
int folder_prefix(const struct folder *in, const char *name, struct error *err);

/* The path of an open folder without any link, on the heap: for libraries that open files by path. */
char *folder_real_path(const struct folder *folder, struct error *err);

/* Whether the path that the folder was opened by still leads to it. */
bool folder_is_there(const struct folder *folder);

/* What has this name. ENTRY_OTHER is a link, a pipe, a socket or a device, or something behind one: whoever
 * opens it is told what is wrong. */
enum folder_entry { ENTRY_NONE, ENTRY_FILE, ENTRY_FOLDER, ENTRY_OTHER };
enum folder_entry folder_look(const struct folder *in, const char *name);
bool folder_has(const struct folder *in, const char *name);

/* Whether the file of this name is the one that is open there. */
bool folder_is_file(const struct folder *in, const char *name, int fd);

/* Sorted names in a folder, as file_list gives them. */
int folder_list(const struct folder *folder, char ***names, size_t *count, struct error *err);

/* A regular file, opened for reading: its descriptor, or -1. */
int folder_open_file(const struct folder *in, const char *name, struct error *err);
int folder_map(struct file_map *map, const struct folder *in, const char *name, struct error *err);

/* The whole file, NUL-terminated, on the heap; refused with ERROR_LIMIT when larger than limit. */
int folder_read(const struct folder *in, const char *name, size_t limit, char **data, size_t *size,
                struct error *err);

/* Writes a whole file, or leaves what was there. An existing file keeps its permissions. */
int folder_write(const struct folder *in, const char *name, const void *data, size_t size, struct error *err);

/* The same piece by piece: a file under another name until it is put in place. After folder_create the caller
 * puts or drops it. folder_put fails where something could not be written, and then drops it. */
struct fresh_file {
    FILE *stream;
    int folder;
    char *last, *temporary, *path; /* the name it gets, its name until then, for messages */
};
int folder_create(struct fresh_file *file, const struct folder *in, const char *name, struct error *err);
int folder_put(struct fresh_file *file, struct error *err);
void folder_drop(struct fresh_file *file);

/* A regular file that is changed in place, opened for reading and writing; an empty one is made where there
 * is none. Returns its descriptor, or -1. A file that has other names besides is refused: they may be
 * somebody else's. folder_append writes to its end. */
int folder_open_in_place(const struct folder *in, const char *name, struct error *err);
int folder_append(const struct folder *in, const char *name, const void *data, size_t size,
                  struct error *err);

/* Writes all bytes to an open file or pipe; false with errno set where that fails. */
bool folder_write_fd(int fd, const void *data, size_t size);

/* Checks that a library may change this file in place: it is such a file, or is not there. */
int folder_check_in_place(const struct folder *in, const char *name, struct error *err);

/* Moves a file or folder; what has the new name already is never replaced. */
int folder_move(const struct folder *from, const char *name, const struct folder *to, const char *new_name,
                struct error *err);

/* Exchanges two folders of a folder, in one step where the file system can. */
int folder_exchange(const struct folder *in, const char *one, const char *other, struct error *err);

/* Makes a second name for a file (a hard link). */
int folder_link(const struct folder *from, const char *name, const struct folder *to, const char *new_name,
                struct error *err);

/* Removes a file, or a folder and everything in it, however deep. Links are removed, not followed. Succeeds
 * where there is nothing. */
int folder_remove(const struct folder *in, const char *name, struct error *err);

#ifdef __cplusplus
}
#endif
#endif
