/*
 * Runs work that its input may crash (libonnx or Graphviz on a strange model) in a process of its own, with
 * the limits that this process has for itself (base/limits.h). The caller must have only one thread.
 *
 * When the process crashes, the result is -1 with ERROR_IO, and err names the signal; when it exceeds its
 * time or memory, -1 with ERROR_LIMIT.
 */
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

/* Runs the body in a fork of this process and returns its result, bytes and error. `who`: the name of what
 * works, for messages. */
int isolated_run(const char *who, isolated_body *body, void *context, uint8_t **out, size_t *size,
                 struct error *err);

/* Work that needs nothing but bytes and a number, and leaves nothing behind. */
typedef int isolated_task(const uint8_t *data, size_t size, int number, uint8_t **out, size_t *out_size,
                          struct error *err);

/*
 * The same for what is asked thousands of times: a fork costs as much as this process is large, so one is
 * kept for the next tasks, unless it is large. It ends with this process, and when a task crashed it or took
 * too long; after some hundred tasks a new one takes its place.
 */
int isolated_ask(const char *who, isolated_task *task, const uint8_t *data, size_t size, int number,
                 uint8_t **out, size_t *out_size, struct error *err);

/* Ends the process that is kept, if there is one. */
void isolated_end(void);

#ifdef __cplusplus
}
#endif
#endif
