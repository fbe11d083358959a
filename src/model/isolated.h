/* Work that may die of what it reads, in a process of its own. */
#ifndef MODEL_ISOLATED_H
#define MODEL_ISOLATED_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Like any function here: result, bytes on the heap and why not. */
typedef int isolated_body(void *context, uint8_t **out, size_t *size, struct error *err);

/*
 * Runs it in a copy of this process and brings back what it gives. When that dies, the result is -1, and err
 * says of which signal. The caller must have one thread.
 */
int isolated_run(isolated_body *body, void *context, uint8_t **out, size_t *size, struct error *err);

#ifdef __cplusplus
}
#endif
#endif
