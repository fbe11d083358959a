/* Runs work that its input may crash (libonnx or Graphviz on a strange model) in a process of its own, with
 * the limits that this process has for itself (base/limits.h). */
#ifndef MODEL_ISOLATED_H
#define MODEL_ISOLATED_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The work: returns 0 and bytes on the heap, or -1 and an error. */
typedef int isolated_body(void *context, uint8_t **out, size_t *size, struct error *err);

/*
 * `who`: the name of what works, for messages. Runs the body in a fork of this process and returns its
 * result, bytes and error. When the fork crashes, the result is -1 with ERROR_IO, and err names the signal;
 * when it exceeds its time or memory, -1 with ERROR_LIMIT. The caller must have only one thread.
 */
int isolated_run(const char *who, isolated_body *body, void *context, uint8_t **out, size_t *size,
                 struct error *err);

#ifdef __cplusplus
}
#endif
#endif
