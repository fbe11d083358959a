/*
 * Files that are mapped into memory, read-only.
 *
 * Whoever cuts a file off that is mapped here would end the process (SIGBUS). From file_guard_maps on, what
 * is missing reads as zeros, and file_maps_were_cut tells, so that no result is taken from them.
 */
#ifndef BASE_FILE_MAP_H
#define BASE_FILE_MAP_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An empty file has data NULL and size 0. A Git LFS pointer is refused. */
struct file_map {
    const uint8_t *data;
    size_t size;
};

int file_map_fd(struct file_map *map, int fd, struct error *err); /* of an open file */
void file_map_close(struct file_map *map);

/* Gives back the memory of these bytes of a mapped file, which are read from it again when they are needed.
 * Nothing happens to bytes that lie in no mapped file. */
void file_map_forget(const void *data, size_t size);

void file_guard_maps(void);
bool file_maps_were_cut(void);

#ifdef __cplusplus
}
#endif
#endif
