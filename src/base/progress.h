/*
 * Progress of long work: one line on stderr, redrawn at most ten times a second, and only when stderr is a
 * terminal. progress_end clears the line, so that results follow on a clean screen.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct progress {
    const char *what;
    size_t done, total; /* total 0: unknown */
    int64_t started, drawn;
    bool visible;
};

void progress_begin(struct progress *progress, const char *what, size_t total);
void progress_step(struct progress *progress, size_t done);
void progress_end(struct progress *progress);

#ifdef __cplusplus
}
#endif
#endif
