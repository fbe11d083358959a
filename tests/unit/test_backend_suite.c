/* Test cases on disk: finding them, reading them, telling random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "same_bytes.h"

#include "case/backend_suite.h"
#include "case/case_answers.h"
#include "case/case_gradient.h"
#include "corpus.h"

#include <math.h>
#include <string.h>

static const char official[] = "/usr/include/onnx/backend/test/data";

static void test_find(void **state)
{
    (void)state;
    struct suite suite;
    struct error err;
    const char *folders[] = {official};
    assert_int_equal(suite_open(&suite, folders, 1, NULL, &err), 0);
    struct corpus corpus;
    corpus_open(&corpus);
    assert_true(corpus.count >= 1072); /* as many as ONNX 1.12 has; later ones have more */
    assert_int_equal(suite.count, corpus.count);
    corpus_close(&corpus);
    for (size_t i = 1; i < suite.count; i++)
        assert_string_not_equal(suite.cases[i - 1].name, suite.cases[i].name);
    suite_release(&suite);
    assert_int_equal(suite_open(&suite, folders, 1, "node/test_abs", &err), 0);
    assert_int_equal(suite.count, 1);
    assert_string_equal(suite.cases[0].name, "node/test_abs");
    assert_int_equal(suite.cases[0].sets, 1);
    suite_release(&suite);
    assert_int_equal(suite_open(&suite, folders, 1, "nothing", &err), -1);
    suite_release(&suite);
    const char *missing[] = {"/nowhere"};
    assert_int_equal(suite_open(&suite, missing, 1, NULL, &err), -1);
    suite_release(&suite);
}

/* The ten cases whose outputs are random, and their neighbours that are not. */
static void test_random(void **state)
{
    (void)state;
    struct suite suite;
    struct error err;
    const char *folders[] = {official};
    size_t random = 0;
    assert_int_equal(suite_open(&suite, folders, 1, "node/*", &err), 0);
    for (size_t i = 0; i < suite.count; i++) {
        const char *name = suite.cases[i].name;
        if (!strstr(name, "dropout") && !strstr(name, "bernoulli") && !strstr(name, "random"))
            continue;
        struct suite_loaded loaded;
        assert_int_equal(suite_load(&suite.cases[i], &loaded, &err), 0);
        bool expected =
            strstr(name, "bernoulli") || (strstr(name, "training_dropout") && !strstr(name, "zero_ratio"));
        assert_int_equal(loaded.tests[0]->random, expected);
        random += loaded.tests[0]->random;
        suite_unload(&loaded);
    }
    assert_int_equal(random, 10);
    suite_release(&suite);
}

static void test_load(void **state)
{
    (void)state;
    struct suite suite;
    struct error err;
    const char *folders[] = {official};
    assert_int_equal(suite_open(&suite, folders, 1, "node/test_conv*", &err), 0);
    assert_true(suite.count > 10);
    for (size_t i = 0; i < suite.count; i++) {
        struct suite_loaded loaded;
        assert_int_equal(suite_load(&suite.cases[i], &loaded, &err), 0);
        assert_true(loaded.sets == 1 && loaded.tests[0]->n_inputs >= 1 && loaded.tests[0]->n_outputs == 1);
        assert_false(model_is_external(test_case_model(loaded.tests[0], &err)) || loaded.tests[0]->random);
        suite_unload(&loaded);
    }
    struct suite_case broken = {.name = "none", .root = "/nowhere", .within = ""};
    struct suite_loaded loaded;
    assert_int_equal(suite_load(&broken, &loaded, &err), -1);
    suite_unload(&loaded);
    suite_release(&suite);
}

/* What is written is read again, as bytes and values; several cases and inputs that do not fit are refused.
 */
static void test_write(void **state)
{
    (void)state;
    char folder[] = "/tmp/test-suite-XXXXXX";
    struct suite suite;
    struct suite_loaded loaded;
    struct test_case *again;
    struct error err = {0};
    const char *folders[] = {official};
    assert_non_null(mkdtemp(folder));
    assert_int_equal(suite_open(&suite, folders, 1, "node/test_abs", &err), 0);
    assert_int_equal(suite_load(&suite.cases[0], &loaded, &err), 0);
    assert_int_equal(suite_write_path(folder, loaded.tests[0], &err), 0);
    assert_int_equal(suite_load_one(folder, &again, &err), 0);
    assert_true(same_bytes(loaded.tests[0], again));
    assert_string_equal(again->name, strrchr(folder, '/') + 1);
    assert_int_equal(again->n_inputs, 1);
    assert_int_equal(again->n_outputs, 1);
    assert_true(tensor_identical(&again->inputs[0].tensors[0], &loaded.tests[0]->inputs[0].tensors[0]));
    assert_true(tensor_identical(&again->outputs[0].tensors[0], &loaded.tests[0]->outputs[0].tensors[0]));
    test_case_free(again);
    assert_int_equal(suite_load_one(official, &again, &err), -1);
    assert_null(again);
    assert_int_equal(err.code, ERROR_USAGE);
    struct shape one = {1, {1}};
    char *set = file_join(folder, "test_data_set_0");
    struct test_case *odd = test_case_same_model(loaded.tests[0]);
    assert_int_equal(test_case_add_inputs(odd, loaded.tests[0]->inputs, 1, &err), 0);
    tensor_release(&odd->inputs[0].tensors[0]);
    assert_int_equal(tensor_alloc(&odd->inputs[0].tensors[0], DTYPE_FLOAT, &one, 0, &err), 0);
    assert_int_equal(suite_write_value(USERS_PATH, set, "input", 0, NULL, &odd->inputs[0], &err), 0);
    assert_int_equal(suite_load_one(folder, &again, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    free(set);
    test_case_free(odd);
    suite_unload(&loaded);
    suite_release(&suite);
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

static int write_text(const char *folder, const char *name, const char *text)
{
    char *path = file_join(folder, name);
    int status = file_write(path, text, strlen(text), NULL);
    free(path);
    return status;
}

/* A case about gradients comes back with its question and with the gradients that are expected. */
static void test_gradients(void **state)
{
    (void)state;
    char folder[] = "/tmp/test-suite-XXXXXX";
    struct suite suite;
    struct suite_loaded loaded;
    struct test_case *again;
    struct error err = {0};
    bool open = true;
    const char *folders[] = {official};
    assert_non_null(mkdtemp(folder));
    assert_int_equal(suite_open(&suite, folders, 1, "node/test_mul", &err), 0);
    assert_int_equal(suite_load(&suite.cases[0], &loaded, &err), 0);
    struct test_case *test = loaded.tests[0];
    assert_int_equal(test_case_ask_gradient(test, 9, &err), 0);
    assert_int_equal(test_case_add_answers(test, &open, &err), 0);
    assert_false(open);
    assert_int_equal(suite_write_path(folder, test, &err), 0);
    assert_int_equal(suite_load_one(folder, &again, &err), 0);
    assert_int_equal(again->gradient->seed, 9);
    assert_int_equal(again->n_outputs, 2);
    /* Of a product the derivative by one factor is the weight times the other. */
    long double due =
        tensor_get(&again->gradient->upstream[0].tensors[0], 5) * tensor_get(&again->inputs[1].tensors[0], 5);
    assert_true(fabsl(tensor_get(&again->outputs[0].tensors[0], 5) - due) <= 1e-6L * fabsl(due));
    test_case_free(again);
    /* One that is the gradient by something else is refused, and so is a seed that is none. */
    char *set = file_join(folder, "gradient");
    value_set_name(&test->outputs[1], "other");
    assert_int_equal(suite_write_value(USERS_PATH, set, "expected", 1, NULL, &test->outputs[1], &err), 0);
    assert_int_equal(suite_load_one(folder, &again, &err), -1);
    assert_non_null(strstr(err.message, "is not the gradient by y"));
    assert_int_equal(write_text(folder, "gradient.txt", "soon\n"), 0);
    assert_int_equal(suite_load_one(folder, &again, &err), -1);
    assert_non_null(strstr(err.message, "has no seed"));
    free(set);
    suite_unload(&loaded);
    suite_release(&suite);
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),  cmocka_unit_test(test_random),    cmocka_unit_test(test_load),
        cmocka_unit_test(test_write), cmocka_unit_test(test_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
