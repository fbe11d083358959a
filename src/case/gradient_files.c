#include "case/gradient_files.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "case/backend_suite.h"
#include "case/case_gradient.h"
#include "model/data.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SEED_SIZE = 64 };

static int write_values(const char *folder, const char *stem, const struct value *values, size_t count,
                        struct error *err)
{
    int status = count ? file_make_folders(folder, err) : 0;
    for (size_t k = 0; k < count && !status; k++)
        status = suite_write_value(folder, stem, k, NULL, &values[k], err);
    return status;
}

int gradient_files_write(const char *folder, const struct test_case *test, struct error *err)
{
    const struct case_gradient *gradient = test->gradient;
    struct str seed;
    if (!gradient)
        return 0;
    str_init(&seed);
    str_printf(&seed, "%" PRIu64 "\n", gradient->seed);
    char *path = file_join(folder, "gradient.txt"), *below = file_join(folder, "gradient");
    int status = file_write(path, seed.data, seed.length, err);
    if (!status)
        status = write_values(below, "weights", gradient->upstream, gradient->n_upstream, err);
    if (!status)
        status = write_values(below, "expected", test->outputs, test->n_outputs, err);
    free(path);
    free(below);
    str_release(&seed);
    return status;
}

/* All of the gradients that are asked for, or none. */
static int read_expected(const char *folder, struct test_case *test, struct error *err)
{
    const struct case_gradient *gradient = test->gradient;
    struct str path;
    int status = 0;
    values_free(test->outputs, test->n_outputs);
    test->outputs = memory_zeroed(gradient->n_wanted, sizeof *test->outputs);
    test->n_outputs = 0;
    str_init(&path);
    for (size_t k = 0; k < gradient->n_wanted && !status; k++) {
        str_clear(&path);
        str_printf(&path, "%s/gradient/expected_%zu.pb", folder, k);
        if (k == 0 && !file_exists(path.data))
            break;
        struct value *value = &test->outputs[test->n_outputs++];
        value_init(value);
        status = data_read(path.data, NULL, value, err);
        if (!status && (!value->name || !text_equal(value->name, gradient->wanted[k])))
            status =
                error_set(err, ERROR_FORMAT, "%s is not the gradient by %s", path.data, gradient->wanted[k]);
    }
    str_release(&path);
    return status;
}

int gradient_files_read(const char *folder, struct test_case *test, struct error *err)
{
    char *path = file_join(folder, "gradient.txt"), *text = NULL, *end = NULL;
    size_t size;
    int status = file_exists(path) ? file_read(path, SEED_SIZE, &text, &size, err) : 0;
    if (!status && text) {
        uint64_t seed = strtoull(text, &end, 10);
        status = end == text || *end != '\n' ? error_set(err, ERROR_FORMAT, "%s has no seed", path)
                                             : test_case_ask_gradient(test, seed, err);
        if (!status)
            status = read_expected(folder, test, err);
    }
    free(text);
    free(path);
    return status;
}
