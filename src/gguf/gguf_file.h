/*
 * GGUF files, llama.cpp's format of models: a header, keys with values, and tensors in aligned data. Versions
 * 2 and 3, little-endian.
 *
 * A file that is read is hostile: every count, length and offset is checked against what the file holds
 * before it is used. Texts and data point into the mapped file. Values that are arrays are passed over.
 */
#ifndef GGUF_GGUF_FILE_H
#define GGUF_GGUF_FILE_H

#include "base/arena.h"
#include "base/file_map.h"
#include "base/map.h"
#include "base/str.h"
#include "gguf/block_type.h"

#include <stdio.h>

enum { GGUF_RANK = 4 };

struct gguf_tensor {
    const char *name;
    int rank;
    uint64_t dims[GGUF_RANK];      /* the fastest first; 1 beyond the rank */
    uint32_t number;               /* of its type */
    const struct block_type *type; /* NULL: not one that is read here, and `data` is not checked then */
    const uint8_t *data;
    size_t count; /* of elements */
};

struct gguf_value {
    enum { GGUF_NUMBER, GGUF_TEXT, GGUF_OTHER } kind;
    double number;
    const char *text; /* in the arena */
};

struct gguf_file {
    struct arena arena;
    struct file_map map;
    uint32_t version;
    struct map keys; /* to their numbers in `values` */
    struct gguf_value *values;
    size_t n_tensors;
    struct gguf_tensor *tensors;
    struct map names; /* of tensors, to their numbers */
};

/* By a path of the user's. Release it also after a failure. */
int gguf_file_open(struct gguf_file *file, const char *path, struct error *err);
void gguf_file_close(struct gguf_file *file);

const struct gguf_tensor *gguf_find(const struct gguf_file *file, const char *name); /* or NULL */

/* False where there is no such key, or its value is of another kind. */
bool gguf_number(const struct gguf_file *file, const char *key, double *number);
bool gguf_text(const struct gguf_file *file, const char *key, const char **text);

/*
 * Writing: first the keys, then each tensor is announced in its turn, then the header is written, and then
 * the data of the tensors in the same turn.
 */
struct gguf_draft {
    struct str keys, tensors;
    uint64_t n_keys, n_tensors, offset;
};
void gguf_draft_init(struct gguf_draft *draft);
void gguf_draft_release(struct gguf_draft *draft);
void gguf_add_text(struct gguf_draft *draft, const char *key, const char *text);
void gguf_add_whole(struct gguf_draft *draft, const char *key, uint32_t number);
void gguf_add_real(struct gguf_draft *draft, const char *key, float number);
void gguf_announce(struct gguf_draft *draft, const char *name, int rank, const uint64_t *dims,
                   const struct block_type *type);
void gguf_write_header(const struct gguf_draft *draft, FILE *stream);
void gguf_write_data(const void *data, size_t size, FILE *stream); /* of a whole tensor, with its padding */

#endif
