/*
 * What the programs of bench/overhead share: a folder of small models, each with one float input "x", and a
 * list of them. overhead_models writes it, overhead_bare and overhead_pool read it.
 */
#ifndef BENCH_OVERHEAD_H
#define BENCH_OVERHEAD_H

#include "base/error.h"
#include "tensor/tensor.h"

#include <stddef.h>
#include <stdint.h>

struct overhead_case {
    char *model; /* serialised */
    size_t size;
    struct tensor input;
};

/* The folder's list: one line a model, "FILE D0 D1 D2 D3". Inputs are filled from the case's number. */
int overhead_read(const char *folder, struct overhead_case **cases, size_t *count, struct error *err);
void overhead_free(struct overhead_case *cases, size_t count);

/*
 * The loop of a bare program over cases [0, count): all of them, and what it took. With OVERHEAD_TURNS in the
 * environment it runs what its input asks for, "FROM COUNT" a line, and answers each line by an empty one.
 * With OVERHEAD_TIMES it prints "load L run R unload U": seconds of processor time, as far as each case says
 * by overhead_loaded and overhead_ran when it is at which; what follows the run is unloading.
 */
void overhead_bare(size_t count, void (*run)(void *context, size_t number), void *context);
void overhead_loaded(void);
void overhead_ran(void);

/* Seconds of CPU of this process and of its children that were waited for. */
double overhead_cpu(void);

/* "wall W cpu C cases N": what the script reads. */
void overhead_print(double wall, double cpu, size_t count);

#endif
