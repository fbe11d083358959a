#include "case/test_case.h"

#include <stdlib.h>

void testcase_init(struct testcase *testcase)
{
    *testcase = (struct testcase){.recipe = NULL};
}

void testcase_release(struct testcase *testcase)
{
    free(testcase->recipe);
    free(testcase->model);
    values_free(testcase->inputs, testcase->n_inputs);
    testcase_init(testcase);
}
