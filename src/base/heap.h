/* How malloc treats the memory of large tensors that are made and freed all the time. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Keeps freed memory for the next tensor. A new process gives it back to the kernel at each free and gets it
 * back page by page, which can take longer than the operator in between, until malloc has learnt from larger
 * blocks not to; this sets at once what it would arrive at. For main, before anything large is allocated.
 *
 * Not for every engine: a library that reads beyond its tensors meets its own freed memory then, where it
 * would die of an unmapped page, and what was a crash becomes numbers.
 */
void heap_keep_freed(void);

/* How many bytes are allocated now. */
size_t heap_used(void);

#ifdef __cplusplus
}
#endif
#endif
