/*
 * What the targets share: bytes as a text, and as a file for what reads files, which has a path and lies in
 * memory.
 */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool condition)
{
    if (!condition)
        abort();
}

/* A heap text, which ends at the first zero byte. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    require(text);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

struct fuzz_file {
    int descriptor;
    char path[40];
};

static inline struct fuzz_file fuzz_file(const uint8_t *data, size_t size)
{
    struct fuzz_file file = {.descriptor = memfd_create("fuzz", 0)};
    require(file.descriptor >= 0 && write(file.descriptor, data, size) == (ssize_t)size);
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.descriptor);
    return file;
}

#endif
