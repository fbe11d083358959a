/*
 * A case: a model and its inputs, and the recipe from which it can be made again. What generators make and
 * trials run.
 */
#ifndef CASE_TEST_CASE_H
#define CASE_TEST_CASE_H

#include "tensor/tensor.h"

struct testcase {
    char *recipe; /* one short line of text; heap */
    uint8_t *model;
    size_t model_size; /* serialised ModelProto; heap */
    size_t n_inputs;
    struct value *inputs; /* named like the graph's inputs */
};

void testcase_init(struct testcase *testcase);
void testcase_release(struct testcase *testcase);

#endif
