#include "conform/expected_failures.h"
#include "own_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define OTHER_LIST                           \
    "    \"current_failing_tests_x86\": [\n" \
    "        \"^test_vgg19\",\n"             \
    "        \"^test_zfnet512\"\n"           \
    "    ],\n"
#define SUITE_HEAD                                                           \
    "{\n"                                                                    \
    "  \"config_name\": \"cpu_llvm_sync\",\n"                                \
    "  \"iree_compile_flags\": [\"--iree-hal-target-backends=llvm-cpu\"],\n" \
    "  \"limits\": {\"seconds\": [1, 2, {\"a\": null}]},\n"                  \
    "  \"skip_compile_tests\": [\n"                                          \
    "    \"onnx/node/generated/test_dequantizelinear\"\n"                    \
    "  ],\n"

/* In the form of ONNX Runtime's filters. */
static const char filters[] = "{\n"
                              "    // Tests that are failing temporarily and should be fixed\n"
                              "    \"current_failing_tests\": [\n"
                              "        \"^test_adagrad\",\n"
                              "        \"^test_batchnorm_epsilon_old\",\n"
                              "        // two of one kind\n"
                              "        \"^test_max_int16\",\n"
                              "        \"^test_pow_types_float32_uint32\", // result mismatch\n"
                              "        [\"^opset(7|8)\", \"^test_clip\"],\n"
                              "        \"^test_training_dropout.*\" // NOT_IMPLEMENTED : Dropout(12)\n"
                              "    ],\n" OTHER_LIST "    \"unsupported_usages\": [\n"
                              "        \"^test_convtranspose_1d\" // ConvTransponse supports 4-D only\n"
                              "    ],\n"
                              "    /* none yet */\n"
                              "    \"failing_permanently\": []\n"
                              "}\n";

/* In the form of IREE's suites. */
static const char suite[] = SUITE_HEAD "  \"expected_compile_failures\": [\n"
                                       "    \"onnx/node/generated/test_acos\",\n"
                                       "    \"onnx/node/generated/test_acos_example\"\n"
                                       "  ],\n"
                                       "  \"expected_run_failures\": []\n"
                                       "}\n";

static const char names[] = "# what mine does not do\n"
                            "tests/test_onnx.py::OnnxBackendNodeModelTest::test_acos_cpu\n"
                            "\n"
                            "test_acosh  # too slow\n"
                            "# the end";

static struct expected_failures *opened(const char *folder, const char *text, const char *word)
{
    struct expected_failures *list;
    struct error err = {0};
    char *path = file_join(folder, "list");
    if (file_write(path, text, strlen(text), &err) || expected_failures_open(&list, path, word, &err))
        fail_msg("%s", err.message);
    free(path);
    return list;
}

/* Frees the list. */
static void becomes(struct expected_failures *list, const char *expected)
{
    struct str text;
    struct error err = {0};
    str_init(&text);
    if (expected_failures_text(list, &text, &err))
        fail_msg("%s", err.message);
    assert_string_equal(text.data, expected);
    str_release(&text);
    expected_failures_free(list);
}

static void what_holds_stays_byte_for_byte(void **state)
{
    static const char *const texts[] = {
        filters, suite, names, "", "{}", "{ \"a\" : [ ] }", "{\"a\": [\"^b\",\r\n\t\"^c\",],}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct expected_failures *list = opened(*state, texts[i], NULL);
        expected_failures_hold(list, "node/test_adagrad_multiple", true);
        expected_failures_hold(list, "test_acos", true);
        expected_failures_hold(list, "test_relu", false);
        becomes(list, texts[i]);
    }
}

static void filters_are_expressions(void **state)
{
    struct expected_failures *list = opened(*state, filters, NULL);
    assert_int_equal(expected_failures_count(list), 7);
    assert_int_equal(expected_failures_hold(list, "node/test_adagrad", true), LISTED_FAILS);
    assert_int_equal(expected_failures_hold(list, "node/test_adagrad_multiple", true), LISTED_FAILS);
    assert_int_equal(expected_failures_hold(list, "my_test_adagrad", true), LISTED_NOT);
    assert_int_equal(expected_failures_hold(list, "test_clip_inbounds", true), LISTED_EITHER);
    assert_int_equal(expected_failures_hold(list, "test_vgg19", true), LISTED_NOT);
    assert_int_equal(expected_failures_idle(list), 5);
    expected_failures_free(list);
    list = opened(*state, filters, "x86");
    assert_int_equal(expected_failures_count(list), 9);
    assert_int_equal(expected_failures_hold(list, "test_vgg19", true), LISTED_FAILS);
    expected_failures_free(list);
}

static void an_update_keeps_comments(void **state)
{
    struct expected_failures *list = opened(*state, filters, NULL);
    expected_failures_hold(list, "test_adagrad", false);
    expected_failures_hold(list, "test_max_int16", false);
    expected_failures_hold(list, "test_pow_types_float32_uint32", true);
    expected_failures_hold(list, "test_clip", false);
    expected_failures_hold(list, "test_training_dropout_default", false);
    expected_failures_hold(list, "test_training_dropout_mask", true);
    expected_failures_hold(list, "test_convtranspose_1d", false);
    expected_failures_add(list, "node/test_relu", "wrong\x1b in 2", false);
    becomes(list, "{\n"
                  "    // Tests that are failing temporarily and should be fixed\n"
                  "    \"current_failing_tests\": [\n"
                  "        \"^test_batchnorm_epsilon_old\",\n"
                  "        // two of one kind\n"
                  "        \"^test_pow_types_float32_uint32\", // result mismatch\n"
                  "        [\"^opset(7|8)\", \"^test_clip\"],\n"
                  "        \"^test_training_dropout_mask_cpu\", // NOT_IMPLEMENTED : Dropout(12)\n"
                  "        \"^test_relu_cpu\" // wrong? in 2\n"
                  "    ],\n" OTHER_LIST "    \"unsupported_usages\": [\n"
                  "    ],\n"
                  "    /* none yet */\n"
                  "    \"failing_permanently\": []\n"
                  "}\n");
}

static void suites_have_names_by_stage(void **state)
{
    struct expected_failures *list = opened(*state, suite, NULL);
    assert_int_equal(expected_failures_count(list), 3);
    assert_int_equal(expected_failures_hold(list, "test_acos", false), LISTED_FAILS);
    assert_int_equal(expected_failures_hold(list, "test_acos_example", true), LISTED_FAILS);
    assert_int_equal(expected_failures_hold(list, "test_acos_example_too", false), LISTED_NOT);
    assert_int_equal(expected_failures_hold(list, "test_dequantizelinear", false), LISTED_EITHER);
    expected_failures_add(list, "test_det_2d", "no Det", true);
    expected_failures_add(list, "test_exp", "wrong", false);
    becomes(list, SUITE_HEAD "  \"expected_compile_failures\": [\n"
                             "    \"onnx/node/generated/test_acos_example\",\n"
                             "    \"onnx/node/generated/test_det_2d\"\n"
                             "  ],\n"
                             "  \"expected_run_failures\": [\n"
                             "        \"test_exp\"\n"
                             "    ]\n"
                             "}\n");
}

static void names_stand_in_lines(void **state)
{
    struct expected_failures *list = opened(*state, names, NULL);
    assert_int_equal(expected_failures_hold(list, "node/test_acos", true), LISTED_FAILS);
    assert_int_equal(expected_failures_hold(list, "node/test_acosh", false), LISTED_FAILS);
    assert_int_equal(expected_failures_hold(list, "node/test_acosh_example", false), LISTED_NOT);
    expected_failures_add(list, "node/test_det_2d", "no Det", true);
    becomes(list, "# what mine does not do\n"
                  "tests/test_onnx.py::OnnxBackendNodeModelTest::test_acos_cpu\n"
                  "\n"
                  "# the end\n"
                  "test_det_2d\n");
}

static void what_is_no_list_is_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"{\"a\": [\"^b\"\n", "line 2: ']' is missing"},
        {"{\"a\": [\"^b]\n}", "line 1: a quote is not closed"},
        {"{\"a\": [1]}", "line 1: a text in quotes is missing"},
        {"{\"a\": /* [", "line 1: a comment is not closed"},
        {"{\"a\": [\"^b\"]} {", "line 1: something follows the end"},
        {"{\"a\": {\"b\": ", "line 1: the text ends too early"},
        {"{\"a\": [\"(b\"]}", "'(b' is no regular expression"},
        {"{\"a\": [\"(b{9}){9}\"]}", "uses {}"},
        {"{\"a\": [\"(?:b)\"]}", "uses {}"},
        {"{\"a\": [\"test_\\\\d\"]}", "uses {}"},
        {"{\"a\": [\"\\u0000\"]}", "line 1: this is no text of JSON"},
    };
    char *path = file_join(*state, "list");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct expected_failures *list;
        struct error err = {0};
        assert_int_equal(file_write(path, rows[i].text, strlen(rows[i].text), &err), 0);
        assert_int_equal(expected_failures_open(&list, path, NULL, &err), -1);
        if (!strstr(err.message, rows[i].message))
            fail_msg("%s: %s", rows[i].text, err.message);
        assert_null(list);
    }
    free(path);
}

static void a_case_needs_a_list_to_stand_in(void **state)
{
    struct expected_failures *list = opened(*state, "{}", NULL);
    struct str text;
    struct error err = {0};
    expected_failures_add(list, "test_exp", "wrong", false);
    str_init(&text);
    assert_int_equal(expected_failures_text(list, &text, &err), -1);
    assert_non_null(strstr(err.message, "test_exp"));
    str_release(&text);
    expected_failures_free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_holds_stays_byte_for_byte, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(filters_are_expressions, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(an_update_keeps_comments, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(suites_have_names_by_stage, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(names_stand_in_lines, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_no_list_is_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_case_needs_a_list_to_stand_in, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
