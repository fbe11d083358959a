/* The checker of another libonnx, a process: bench/check_onnx.cc. */
#ifndef BENCH_CHECKER_H
#define BENCH_CHECKER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct checker {
    FILE *to, *from;
    pid_t pid;
};

int checker_start(struct checker *checker, const char *program, struct error *err);
void checker_stop(struct checker *checker);

/* 0 valid, -1 not (why is in err), 1: of a newer opset than it knows. */
int checker_ask(struct checker *checker, const void *model, size_t size, bool infer, struct error *err);

#endif
