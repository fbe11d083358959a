/*
 * Element types of GGUF files: floats, and blocks of integers that share a scale.
 *
 * Rows of a tensor are cut into blocks; a row is a whole number of them. A type promises how near to a number
 * it keeps it: what is within `block_type_step` of it may be what a converter made of it, by any rounding.
 */
#ifndef GGUF_BLOCK_TYPE_H
#define GGUF_BLOCK_TYPE_H

#include "bounds/precision.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_type {
    const char *name; /* "q8_0" */
    uint32_t number;  /* in files */
    size_t elements;  /* of a block */
    size_t bytes;     /* of a block */
    /* How llama.cpp's kernels for processors round what is multiplied by weights of this type: to this
     * precision, or, where it is PRECISION_INT8, to one of 255 steps of each block. */
    enum precision beside;
};

/* The words of an option, in the order of block_type_at. */
#define BLOCK_TYPE_WORDS "f32|f16|bf16|q8_0"
const struct block_type *block_type_at(size_t place);
const struct block_type *block_type_of(uint32_t number); /* NULL: one that is not read here */

/* What the number of a type is called, for messages about those that are not read here; NULL: not known. */
const char *block_type_name(uint32_t number);

/* `count` numbers, a whole number of blocks, to blocks and back. */
void block_type_write(const struct block_type *type, const float *from, size_t count, uint8_t *to);
void block_type_read(const struct block_type *type, const uint8_t *from, size_t count, float *to);

/* How far a number that the block `from` keeps as `kept` may have been from it. */
float block_type_step(const struct block_type *type, const uint8_t *from, float kept);

#endif
