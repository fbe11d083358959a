/*
 * ONNX's checker from another release of libonnx than this system has. It runs as a process of its own, the
 * program tools/check_onnx.cc, which `tools/fetch-root SUITE libonnx` builds. Since it is asked thousands of
 * times, the process is kept; when it crashes on a model or takes too long, a new one is started.
 */
#ifndef ENGINE_ONNX_CHECKER_H
#define ENGINE_ONNX_CHECKER_H

#include "base/error.h"

#include <stddef.h>
#include <sys/types.h>

struct checker {
    char *program; /* NULL: there is no checker */
    int to, from;
    pid_t pid;
};

/* How thoroughly a model is checked. */
enum checker_depth {
    CHECKER_ALONE = 0,  /* ONNX's checker, without inference */
    CHECKER_VALUES = 1, /* also strict inference of types and shapes, with propagation of shape values */
    CHECKER_FULL = 2,   /* also strict inference, without that propagation: what ONNX calls full_check */
};

/* The path of the newest checker in the data folder (libonnx/VERSION/check-onnx), on the heap; NULL when
 * there is none. */
char *onnx_checker_newest(void);

/* Starts `program`. From then on the process ignores SIGPIPE. A zeroed checker stands for none; it may be
 * asked and stopped. */
int onnx_checker_start(struct checker *checker, const char *program, struct error *err);
/* Starts the newest checker. When there is none, or it does not start, *checker is zeroed. */
void onnx_checker_start_newest(struct checker *checker);
void onnx_checker_stop(struct checker *checker);

/* Returns 0 when the model is valid, -1 when it is not (err says why), ONNX_UNCHECKABLE (1) when there is no
 * checker or it does not know the opset. When the checker crashes on the model, -1 with ERROR_IO. */
int onnx_checker_ask(struct checker *checker, const void *model, size_t size, enum checker_depth depth,
                     struct error *err);

#endif
