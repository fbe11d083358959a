/* Test cases on disk: finding them, reading them, telling random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "case/backend_suite.h"
#include "corpus.h"

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
        assert_int_equal(loaded.random, expected);
        random += loaded.random;
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
        assert_true(loaded.sets == 1 && loaded.data[0].n_inputs >= 1 && loaded.data[0].n_outputs == 1);
        assert_false(model_is_external(loaded.model) || loaded.random);
        suite_unload(&loaded);
    }
    struct suite_case broken = {.name = "none", .folder = "/nowhere"};
    struct suite_loaded loaded;
    assert_int_equal(suite_load(&broken, &loaded, &err), -1);
    suite_unload(&loaded);
    suite_release(&suite);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
