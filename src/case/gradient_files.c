#include "case/gradient_files.h"

#include "base/memory.h"
#include "base/str.h"
#include "case/backend_suite.h"
#include "case/case_gradient.h"
#include "model/data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEED_SIZE = 64 };
static const char seed_file[] = "gradient.txt";

static int write_values(const struct folder *in, const char *stem, const struct value *values, size_t count,
                        struct error *err)
{
    int status = count ? folder_make_all(in, "gradient", err) : 0;
    for (size_t k = 0; k < count && !status; k++)
        status = suite_write_value(in, "gradient", stem, k, NULL, &values[k], err);
    return status;
}

int gradient_files_write(const struct folder *folder, const struct test_case *test, struct error *err)
{
    const struct case_gradient *gradient = test->gradient;
    struct str seed;
    if (!gradient)
        return 0;
    str_init(&seed);
    str_printf(&seed, "%" PRIu64 "\n", gradient->seed);
    int status = folder_write(folder, seed_file, seed.data, seed.length, err);
    if (!status)
        status = write_values(folder, "weights", gradient->upstream, gradient->n_upstream, err);
    if (!status)
        status = write_values(folder, "expected", test->outputs, test->n_outputs, err);
    str_release(&seed);
    return status;
}

static int read_gradient(const struct folder *folder, size_t number, const char *wanted, struct value *value,
                         struct error *err)
{
    char name[60];
    snprintf(name, sizeof name, "gradient/expected_%zu.pb", number);
    if (data_read(folder, name, NULL, value, err))
        return -1;
    if (value->name && text_equal(value->name, wanted))
        return 0;
    error_set(err, ERROR_FORMAT, "it is not the gradient by %s", wanted);
    return folder_prefix(folder, name, err);
}

/* All of the gradients that are asked for, or none. */
static int read_expected(const struct folder *folder, struct test_case *test, struct error *err)
{
    const struct case_gradient *gradient = test->gradient;
    int status = 0;
    values_free(test->outputs, test->n_outputs);
    test->outputs = memory_zeroed(gradient->n_wanted, sizeof *test->outputs);
    test->n_outputs = 0;
    if (!folder_has(folder, "gradient/expected_0.pb"))
        return 0;
    for (size_t k = 0; k < gradient->n_wanted && !status; k++) {
        struct value *value = &test->outputs[test->n_outputs++];
        value_init(value);
        status = read_gradient(folder, k, gradient->wanted[k], value, err);
    }
    return status;
}

int gradient_files_read(const struct folder *folder, struct test_case *test, struct error *err)
{
    char *text = NULL, *end = NULL;
    size_t size;
    if (!folder_has(folder, seed_file))
        return 0;
    if (folder_read(folder, seed_file, SEED_SIZE, &text, &size, err))
        return -1;
    uint64_t seed = strtoull(text, &end, 10);
    int status = 0;
    if (end == text || *end != '\n') {
        error_set(err, ERROR_FORMAT, "it has no seed");
        status = folder_prefix(folder, seed_file, err);
    } else {
        status = test_case_ask_gradient(test, seed, err) || read_expected(folder, test, err) ? -1 : 0;
    }
    free(text);
    return status;
}
