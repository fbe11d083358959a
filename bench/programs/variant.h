/*
 * Small edits of a generated case, for faults that need more than one operator gives: freeze (inputs become
 * initialisers), twin (the last node a second time, on the same inputs), fork (two consumers for every graph
 * output), sparse (float initialisers of rank 2 in sparse form, where they have a zero).
 */
#ifndef BENCH_VARIANT_H
#define BENCH_VARIANT_H

#include "case/test_case.h"

/* edits: comma-separated words; NULL or "": none. The recipe gets " +edits". */
int variant_apply(struct test_case *test, const char *edits, struct error *err);

#endif
