#include "engine/label.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void check_part(struct label_part part, const char *text)
{
    if (!text)
        assert_null(part.text);
    assert_true(label_part_is(part, text));
}

static void test_parse(void **state)
{
    static const struct {
        const char *text, *name, *version, *knobs;
    } rows[] = {
        {"x", "x", NULL, NULL},
        {"x@1.2", "x", "1.2", NULL},
        {"x:a=b", "x", NULL, "a=b"},
        {"x@1.2:a=b,c=d", "x", "1.2", "a=b,c=d"},
        {"x:from=a@b", "x", NULL, "from=a@b"}, /* an '@' behind the colon is a knob's */
        {"x@1@2", "x", "1@2", NULL},
        {"x:a=1:2", "x", NULL, "a=1:2"},
        {"", "", NULL, NULL},
        {"@", "", "", NULL},
        {"x@:", "x", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct label label = label_parse(rows[i].text);
        struct str out;
        check_part(label.name, rows[i].name);
        check_part(label.version, rows[i].version);
        check_part(label.knobs, rows[i].knobs);
        str_init(&out);
        label_print(&out, &label);
        assert_string_equal(out.data, rows[i].text); /* printing gives back what was parsed */
        str_release(&out);
    }
}

static void test_knobs(void **state)
{
    struct label label = label_parse("x:a=1,b=2,3,c=,a=4,");
    struct label_part rest = label.knobs;
    struct label_knob knob;
    (void)state;
    static const char *const expected[][2] = {{"a", "1"}, {"b", "2,3"}, {"c", ""}, {"a", "4,"}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(label_next_knob(&rest, &knob), 1);
        check_part(knob.name, expected[i][0]);
        check_part(knob.value, expected[i][1]);
    }
    assert_int_equal(label_next_knob(&rest, &knob), 0);
    check_part(label_knob(&label, "a"), "4,"); /* the last one counts */
    check_part(label_knob(&label, "b"), "2,3");
    check_part(label_knob(&label, "c"), "");
    check_part(label_knob(&label, "d"), NULL);
}

static void test_malformed(void **state)
{
    static const char *const texts[] = {"a", "=1", "a,b=1", ",a=1"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct label_part rest = label_part(texts[i]);
        struct label_knob knob;
        assert_int_equal(label_next_knob(&rest, &knob), -1);
        assert_ptr_equal(rest.text, texts[i]); /* what could not be read is left for the message */
    }
}

static void test_compare(void **state)
{
    (void)state;
    assert_true(label_names("onnxruntime@1.17.0:opt=none", "onnxruntime"));
    assert_false(label_names("onnxruntime@1.17.0", "onnx"));
    assert_false(label_names("onnx", "onnxruntime"));
    assert_true(label_sets("x:opt=none", "opt", "none"));
    assert_false(label_sets("x:opt=none,opt=all", "opt", "none"));
    assert_false(label_sets("x:noopt=none", "opt", "none"));
    assert_false(label_sets("x:opt=nonesuch", "opt", "none"));
    assert_false(label_sets("x", "opt", "none"));
    assert_true(label_same_release("x@1:a=b", "x@1"));
    assert_true(label_same_release("x:a=b", "x:c=d"));
    assert_false(label_same_release("x@1", "x"));
    assert_false(label_same_release("x@1", "x@12"));
    assert_false(label_same_release("x@1", "xy@1"));
}

static void check_text(char *text, const char *expected)
{
    assert_string_equal(text, expected);
    free(text);
}

static void test_change(void **state)
{
    (void)state;
    check_text(label_at("x:a=b", "1.2"), "x@1.2:a=b");
    check_text(label_at("x@3:a=b", "1.2"), "x@1.2:a=b");
    check_text(label_at("x@3:a=b", NULL), "x:a=b");
    check_text(label_at("x", NULL), "x");
    check_text(label_with("x", "a", "b"), "x:a=b");
    check_text(label_with("x@1:c=d,e", "a", "b"), "x@1:c=d,e,a=b");
    check_text(label_with("x:a=1,2,c=d,a=3", "a", "b"), "x:c=d,a=b");
    check_text(label_with("x:", "a", ""), "x:a=");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),   cmocka_unit_test(test_knobs),  cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_compare), cmocka_unit_test(test_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
