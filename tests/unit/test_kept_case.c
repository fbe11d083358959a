#include "one_folder.h"
#include "base/file.h"
#include "base/str.h"
#include "campaign/kept_case.h"
#include "generate/operator_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char recipe[] = "one seed=1 index=12";

static void test_names(void **state)
{
    char name[KEPT_NAME_SIZE];
    (void)state;
    kept_case_name("models/lenet 5.onnx", 7, name);
    assert_string_equal(name, "models_lenet_5.onnx-7");
    kept_case_name("../x", 1, name);
    assert_true(kept_case_name_valid(name));
    static const char *const bad[] = {"", ".", "..", "../x", "a/b", "a b", "/etc", "-x", "a\nb"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(kept_case_name_valid(bad[i]));
    char lengthy[2 * KEPT_NAME_SIZE];
    memset(lengthy, 'a', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    assert_false(kept_case_name_valid(lengthy));
    kept_case_name(lengthy, UINT64_MAX, name);
    assert_true(kept_case_name_valid(name));
}

static void test_kept_and_made_again(void **state)
{
    struct error err = {0};
    struct test_case *test, *again;
    struct folder campaign;
    (void)state;
    assert_int_equal(folder_open(&campaign, USERS_PATH, folder, &err), 0);
    if (campaign_case(NULL, recipe, &test, &err) || kept_case_write(&campaign, "some-1", test, &err) ||
        kept_case_write(&campaign, "some-1", test, &err) ||
        campaign_case(&campaign, "case cases/some-1", &again, &err))
        fail_msg("%s", err.message);
    const uint8_t *a, *b;
    size_t size, other;
    assert_int_equal(test_case_bytes(test, &a, &size, &err), 0);
    assert_int_equal(test_case_bytes(again, &b, &other, &err), 0);
    assert_int_equal(size, other);
    assert_memory_equal(a, b, size);
    assert_int_equal(test->n_inputs, again->n_inputs);
    for (size_t i = 0; i < test->n_inputs; i++)
        assert_true(tensor_identical(&test->inputs[i].tensors[0], &again->inputs[i].tensors[0]));
    assert_string_equal(again->recipe, "case cases/some-1");
    test_case_free(test);
    test_case_free(again);
    folder_close(&campaign);
}

/* Names from a database may say anything: nothing beside the campaign's cases is read. */
static void test_stays_in_the_folder(void **state)
{
    struct error err = {0};
    struct test_case *test, *made;
    struct folder campaign;
    char outside[200], inside[200];
    (void)state;
    assert_int_equal(folder_open(&campaign, USERS_PATH, folder, &err), 0);
    if (campaign_case(NULL, recipe, &test, &err) || kept_case_write(&campaign, "some-1", test, &err))
        fail_msg("%s", err.message);
    snprintf(outside, sizeof outside, "%s/cases/some-1", folder);
    snprintf(inside, sizeof inside, "%s/cases/linked-1", folder);
    assert_int_equal(symlink(outside, inside), 0);
    assert_int_equal(kept_case_write(&campaign, "linked-1", test, &err), -1);
    assert_non_null(strstr(err.message, "cases/linked-1 is a symbolic link"));
    test_case_free(test);
    static const char *const bad[] = {"case cases/../cases/some-1", "case cases/linked-1", "case cases/",
                                      "case cases/none-1",          "case /tmp",           "unkept some-1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(campaign_case(&campaign, bad[i], &made, &err), -1);
        assert_null(made);
    }
    assert_int_equal(campaign_case(NULL, "case cases/some-1", &made, &err), -1);
    assert_int_equal(err.code, ERROR_USAGE);
    folder_close(&campaign);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_kept_and_made_again),
        cmocka_unit_test(test_stays_in_the_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
