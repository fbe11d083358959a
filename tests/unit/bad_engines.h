/* The deliberately bad engines of tests/adapters, for tests of what runs engines. */
#ifndef UNIT_BAD_ENGINES_H
#define UNIT_BAD_ENGINES_H

#include "base/file.h"
#include "engine/panel.h"
#include "model/isolated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

static inline struct registry *open_registry(void)
{
    struct registry *registry;
    struct error err = {0};
    char *file = file_join(getenv("ASSAY_TEST_DATA"), "adapters/adapters.ini");
    if (registry_open(&registry, (const char *[]){file}, 1, &err))
        fail_msg("%s", err.message);
    free(file);
    return registry;
}

/* `count` elements: first, first + 1 ... (not all of a large one). */
static inline struct value make_input(size_t count, long double first)
{
    struct value value;
    struct tensor tensor;
    struct shape shape = shape_make(1, (int64_t[]){(int64_t)count});
    value_init(&value);
    value_set_name(&value, "x");
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &shape, 0, NULL), 0);
    for (size_t i = 0; i < count; i += 1 + count / 1000)
        tensor_set(&tensor, i, (long double)i + first);
    value_set_tensor(&value, &tensor);
    return value;
}

static inline struct job make_job(int engine, const struct value *input)
{
    return (struct job){.engine = engine, .model = "model", .model_size = 5, .n_inputs = 1, .inputs = input};
}

static inline void assert_answered(const struct result *result, const struct value *input)
{
    assert_string_equal(outcome_name(result->outcome), "ok");
    assert_int_equal(result->count, 1);
    assert_true(tensor_identical(&result->outputs[0].tensors[0], &input->tensors[0]));
}

/* But for the process that is kept for libonnx. */
static inline bool no_children(void)
{
    isolated_end();
    return waitpid(-1, NULL, WNOHANG) == -1;
}

#endif
