/*
 * Files by paths that the user names; what lies inside folders that others may have filled is reached by
 * base/folder.h. Reading has a limit. file_write writes to a temporary name and renames it, so that a reader
 * never sees half a file; only devices and pipes (/dev/null, /dev/stdout) are written to directly.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/error.h"
#include "base/file_map.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fails at once for anything but a file (a folder, a pipe, a socket, a device), and names it. */
int file_map_open(struct file_map *map, const char *path, struct error *err);

/* The whole file, NUL-terminated, on the heap; refused with ERROR_LIMIT when larger than limit. */
int file_read(const char *path, size_t limit, char **data, size_t *size, struct error *err);
int file_write(const char *path, const void *data, size_t size, struct error *err);

/* Writes to a file that is there, in place of what it holds: an engine may write the file that it is given,
 * and no other beside it. */
int file_fill(const char *path, const void *data, size_t size, struct error *err);

bool file_exists(const char *path);
bool file_is_folder(const char *path);

/* Whether the path is a device, a pipe or a name for an open file (/dev/null, /dev/stdout, whatever it stands
 * for). Such a path is written to directly: a rename would replace it by a regular file. */
bool file_is_special(const char *path);

/* Creates the folder and its parents, like mkdir -p. */
int file_make_folders(const char *path, struct error *err);

/* Removes a folder and everything in it, however deep. Symbolic links are removed, not followed. */
int file_remove_tree(const char *path, struct error *err);

/* The last part of a path, without slashes at its end; points into path. */
const char *file_base(const char *path);

/* "folder/name" on the heap. */
char *file_join(const char *folder, const char *name);

/*
 * Sorted names in a folder, without . and ..; numbers inside names count as numbers (input_2 before
 * input_10). Free with file_names_free.
 */
int file_list(const char *folder, char ***names, size_t *count, struct error *err);
void file_names_free(char **names, size_t count);

#ifdef __cplusplus
}
#endif
#endif
