/*
 * ONNX's checker as another release of libonnx has it than the one this system brings: a process of
 * tools/check_onnx.cc, which `tools/fetch-root SUITE libonnx` builds. It is asked thousands of times, so it
 * stays; when it dies of a model, or thinks too long, another one takes its place.
 */
#ifndef ENGINE_ONNX_CHECKER_H
#define ENGINE_ONNX_CHECKER_H

#include "base/error.h"

#include <stddef.h>
#include <sys/types.h>

struct checker {
    char *program; /* NULL: there is none */
    int to, from;
    pid_t pid;
};

/* How much is asked. */
enum checker_depth {
    CHECKER_ALONE = 0,  /* the checker alone */
    CHECKER_VALUES = 1, /* strict inference of types and shapes, too, which follows the values of shapes */
    CHECKER_FULL = 2,   /* the same without following them: what ONNX calls full_check */
};

/* The newest one in the data folder, libonnx/VERSION/check-onnx: its path on the heap, or NULL. */
char *onnx_checker_newest(void);

/* Starts `program`. Ignores SIGPIPE from then on. A checker that is all zeros is none, and may be stopped. */
int onnx_checker_start(struct checker *checker, const char *program, struct error *err);
/* Starts the newest; where there is none, or it does not start, the checker is none. */
void onnx_checker_start_newest(struct checker *checker);
void onnx_checker_stop(struct checker *checker);

/* 0 valid, -1 not (why is in err), ONNX_UNCHECKABLE (1): there is none, or it does not know the opset. When
 * it dies of the model, -1 with ERROR_IO. */
int onnx_checker_ask(struct checker *checker, const void *model, size_t size, enum checker_depth depth,
                     struct error *err);

#endif
