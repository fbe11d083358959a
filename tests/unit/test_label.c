#include "engine/declared_knobs.h"
#include "engine/given_label.h"
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

/* What was typed stays so, and whatever is added to it is foreign. */
static void test_given(void **state)
{
    struct arena arena;
    struct error err = {0};
    (void)state;
    arena_init(&arena);
    const struct given_label *typed = given_typed(&arena, "x@1:save=/a,save=/b,opt=none");
    assert_null(given_source(typed, "save", "/a"));
    assert_null(given_source(typed, "save", "/b"));
    assert_non_null(given_source(typed, "save", "/c"));
    const struct given_label *added = given_with(&arena, typed, "opt=all,save=/c,a=1,2", "a bundle", &err);
    assert_string_equal(given_text(added), "x@1:opt=all,save=/c,a=1,2");
    assert_string_equal(given_source(added, "save", "/c"), "a bundle");
    assert_string_equal(given_source(added, "a", "1,2"), "a bundle");
    assert_null(given_source(given_at(&arena, added, "2"), "save", "/b"));
    assert_string_equal(given_text(given_at(&arena, added, NULL)), "x:opt=all,save=/c,a=1,2");
    const struct given_label *foreign = given_foreign(&arena, "x:save=/a", "a campaign");
    assert_string_equal(given_source(foreign, "save", "/a"), "a campaign");
    assert_string_equal(given_source(given_at(&arena, foreign, "3"), "save", "/a"), "a campaign");
    const struct given_label *written = given_writing(&arena, foreign, "source", "/scratch/lines");
    assert_string_equal(given_text(written), "x:save=/a,source=/scratch/lines");
    assert_null(given_source(written, "source", "/scratch/lines"));
    assert_string_equal(given_source(written, "save", "/a"), "a campaign");
    assert_null(given_with(&arena, typed, "opt", "a bundle", &err));
    char *endless = arena_array(&arena, 10001, 1);
    memset(endless, 'a', 10000);
    endless[1] = '=';
    assert_null(given_with(&arena, typed, endless, "a bundle", &err));
    struct given_labels read = {0};
    given_add(&arena, &read, foreign);
    given_add(&arena, &read, given_foreign(&arena, "y", "a campaign"));
    given_vouched(&read, given_all_typed(&arena, (const char *const[]){"x:save=/a", "z"}, 2));
    assert_null(given_source(read.items[0], "save", "/a"));
    assert_string_equal(given_source(read.items[1], "a", "b"), "a campaign");
    arena_release(&arena);
}

static void test_declared(void **state)
{
    static const struct {
        const char *values, *value;
        bool allowed;
    } rows[] = {
        {"graph none|all", "all", true},
        {"graph none|all", "al", false},
        {"graph none|all", "none|all", false},
        {"graph none|all", "", false},
        {"graph none|all", "/all", false},
        {"schedule 1..256", "1", true},
        {"schedule 1..256", "256", true},
        {"schedule 1..256", "0", false},
        {"schedule 1..256", "257", false},
        {"schedule 1..256", "1..256", false},
        {"schedule 1..256", "+4", false},
        {"schedule 1..256", "04", false},
        {"schedule 1..256", "4294967297", false},
        {"kernels A+B-1+C", "A", true},
        {"kernels A+B-1+C", "C,A;B-1", true},
        {"kernels A+B-1+C", "", true},
        {"kernels A+B-1+C", "A+", false},
        {"kernels A+B-1+C", "A+/x", false},
        {"kernels 0..9|{word}", "jit:avx2", true},
        {"kernels 0..9|{word}", "12", true},
        {"kernels 0..9|{word}", "../x", false},
        {"kernels 0..9|{word}", "a/b", false},
        {"kernels 0..9|{word}", "a b", false},
        {"kernels 0..9|{word}", "", false},
        {"file", "/x", false},
        {"file", "", false},
    };
    static const char *const malformed[] = {"", "graph", "paint a|b", "file a", "graphs a"};
    struct error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct declared_knob *list = NULL;
        struct arena arena;
        arena_init(&arena);
        assert_int_equal(declared_knobs_add(&list, &arena, "k", rows[i].values, &err), 0);
        if (declared_knobs_allow(list, "k", rows[i].value) != rows[i].allowed)
            fail_msg("'%s' and '%s'", rows[i].values, rows[i].value);
        assert_int_equal(declared_knobs_check(list, "x", "k", rows[i].value, "a bundle", &err),
                         rows[i].allowed ? 0 : -1);
        assert_false(declared_knobs_allow(list, "other", rows[i].value));
        arena_release(&arena);
    }
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        struct declared_knob *list = NULL;
        assert_int_equal(declared_knobs_add(&list, NULL, "k", malformed[i], &err), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),    cmocka_unit_test(test_knobs),  cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_compare),  cmocka_unit_test(test_change), cmocka_unit_test(test_given),
        cmocka_unit_test(test_declared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
