/* The checker of another libonnx, a process: bench/check_onnx.cc. */
#ifndef BENCH_CHECKER_H
#define BENCH_CHECKER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct checker {
    const char *program;
    FILE *to, *from;
    pid_t pid;
};

int checker_start(struct checker *checker, const char *program, struct error *err);
void checker_stop(struct checker *checker);

/* infer: 0 check alone, 1 infer shapes too, 2 without following the values of shapes. 0 valid, -1 not (why is
 * in err), 1: of a newer opset than it knows. When the checker dies of the model, -1 with ERROR_IO, and
 * another one is started for the next. */
int checker_ask(struct checker *checker, const void *model, size_t size, int infer, struct error *err);

#endif
