/* Tables, JUnit and SARIF, hostile text included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json_read.h"
#include "base/output.h"
#include "report/junit.h"
#include "report/sarif.h"
#include "report/text_table.h"

#include <string.h>

static void test_table(void **state)
{
    (void)state;
    struct table table;
    struct str out;
    str_init(&out);
    table_init(&table, "lrl");
    table_head(&table, "name|n|note");
    table_add(&table, STYLE_PLAIN, "é\033[31m");
    table_add(&table, STYLE_BAD, "%d", 100);
    table_add(&table, STYLE_PLAIN, "a\nb");
    table_add(&table, STYLE_PLAIN, "x");
    table_print(&table, &out, false, 2);
    assert_string_equal(out.data, "  name      n  note\n"
                                  "  é?[31m  100  a / b\n"
                                  "  x\n");
    str_clear(&out);
    table_print(&table, &out, true, 0);
    assert_non_null(strstr(out.data, "\033[31m100\033[0m"));
    table_release(&table);
    str_release(&out);
}

static void test_junit(void **state)
{
    (void)state;
    struct junit junit;
    struct str out;
    str_init(&out);
    junit_init(&junit);
    junit_suite(&junit, "a&b");
    junit_case(&junit, &(struct junit_case){.name = "one", .seconds = 0.5});
    junit_case(&junit, &(struct junit_case){.name = "two",
                                            .result = JUNIT_FAILURE,
                                            .type = "wrong",
                                            .message = "<\"1\">",
                                            .details = "x\x01\xff\xc3\xa9"});
    junit_write(&junit, &out);
    assert_string_equal(
        out.data,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"assay\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"0.500\">\n"
        "  <testsuite name=\"a&amp;b\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" "
        "time=\"0.500\">\n"
        "    <testcase classname=\"a&amp;b\" name=\"one\" time=\"0.500000\"/>\n"
        "    <testcase classname=\"a&amp;b\" name=\"two\" time=\"0.000000\">\n"
        "      <failure type=\"wrong\" "
        "message=\"&lt;&quot;1&quot;&gt;\">x\xEF\xBF\xBD\xEF\xBF\xBD\xc3\xa9</failure>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n");
    junit_release(&junit);
    str_release(&out);
}

/* Cases go to the suite of a name, wherever it stands. */
static void test_junit_suites(void **state)
{
    (void)state;
    struct junit junit;
    struct str out;
    str_init(&out);
    junit_init(&junit);
    for (int i = 0; i < 4; i++) {
        junit_suite_of(&junit, i % 2 ? "b" : "a");
        junit_case(&junit, &(struct junit_case){.name = "one"});
    }
    junit_write(&junit, &out);
    assert_int_equal(junit.count, 2);
    assert_non_null(strstr(out.data, "<testsuite name=\"a\" tests=\"2\""));
    junit_release(&junit);
    str_release(&out);
}

/* What the schema of SARIF 2.1.0 requires, and calls an object of this kind. */
struct required {
    const char *kind;
    const char *members[4];
};
static const struct required required[] = {
    {"sarifLog", {"version", "runs"}},
    {"run", {"tool"}},
    {"tool", {"driver"}},
    {"toolComponent", {"name"}},
    {"reportingDescriptor", {"id"}},
    {"result", {"message"}},
    {"message", {"text"}},
    {"invocation", {"executionSuccessful"}},
    {"suppression", {"kind"}},
    {"artifactLocation", {"uri"}},
    {"notification", {"message"}},
};

static const struct json_value *check(const struct json_value *object, const char *kind)
{
    assert_non_null(object);
    assert_int_equal(object->kind, JSON_OBJECT);
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        for (int k = 0; strcmp(required[i].kind, kind) == 0 && k < 4 && required[i].members[k]; k++)
            assert_non_null(json_member(object, required[i].members[k]));
    return object;
}

static const struct json_value *items(const struct json_value *object, const char *name, size_t count)
{
    const struct json_value *array = json_member(object, name);
    assert_non_null(array);
    assert_int_equal(array->kind, JSON_ARRAY);
    assert_int_equal(array->count, count);
    return array->first;
}

static const char *text(const struct json_value *object, const char *name)
{
    const char *found = json_text_of(object, name);
    assert_non_null(found);
    return found;
}

static void check_result(const struct json_value *result, size_t rules)
{
    check(result, "result");
    check(json_member(result, "message"), "message");
    const char *level = text(result, "level");
    assert_true(text_equal(level, "error") || text_equal(level, "warning") || text_equal(level, "note"));
    double rule = json_number_of(result, "ruleIndex", -1);
    assert_true(rule >= 0 && rule < (double)rules);
    const struct json_value *place = items(result, "locations", 1);
    check(json_member(json_member(place, "physicalLocation"), "artifactLocation"), "artifactLocation");
    items(place, "logicalLocations", 1);
    const struct json_value *prints = json_member(result, "partialFingerprints");
    assert_non_null(prints);
    for (const struct json_value *print = prints->first; print; print = print->next)
        assert_int_equal(print->kind, JSON_STRING);
}

static void test_sarif(void **state)
{
    (void)state;
    struct sarif sarif;
    struct arena arena;
    struct str out;
    struct error err = {0};
    const struct json_value *log;
    str_init(&out);
    arena_init(&arena);
    sarif_init(&sarif);
    sarif_rule(&sarif, "wrong", "The engine is wrong.");
    sarif_rule(&sarif, "crash", "The engine crashes.");
    sarif_rule(&sarif, "wrong", "Said before.");
    struct sarif_result one = {.rule = "crash",
                               .level = SARIF_ERROR,
                               .message = "\"a\"\\ \033[31m\xff \xE2\x80\xAE</script>",
                               .path = "a folder/\xC3\xA9?#%.md",
                               .engine = "onnxruntime@1.30.0",
                               .operators = "",
                               .fingerprint = "x"};
    sarif_add(&sarif, &one);
    one.rule = "wrong";
    one.level = SARIF_NOTE;
    one.accepted = "known: found/x";
    sarif_add(&sarif, &one);
    sarif_write(&sarif, "torch does not start", &out);
    assert_true(output_is_report(out.data, out.length));
    assert_int_equal(json_read(&arena, out.data, out.length, &log, &err), 0);
    check(log, "sarifLog");
    assert_string_equal(text(log, "version"), "2.1.0");
    const struct json_value *run = check(items(log, "runs", 1), "run");
    const struct json_value *driver = json_member(check(json_member(run, "tool"), "tool"), "driver");
    check(driver, "toolComponent");
    for (const struct json_value *rule = items(driver, "rules", 2); rule; rule = rule->next) {
        check(rule, "reportingDescriptor");
        check(json_member(rule, "shortDescription"), "message");
    }
    const struct json_value *invocation = check(items(run, "invocations", 1), "invocation");
    assert_false(json_member(invocation, "executionSuccessful")->truth);
    const struct json_value *notice = items(invocation, "toolExecutionNotifications", 1);
    check(json_member(check(notice, "notification"), "message"), "message");
    const struct json_value *result = items(run, "results", 2);
    check_result(result, 2);
    assert_string_equal(text(json_member(result, "message"), "text"), "\"a\"\\ ?[31m? ?</script>");
    const struct json_value *file =
        json_member(json_member(items(result, "locations", 1), "physicalLocation"), "artifactLocation");
    assert_string_equal(text(file, "uri"), "a%20folder/%C3%A9%3F%23%25.md");
    assert_null(json_member(result, "suppressions"));
    check_result(result->next, 2);
    const struct json_value *suppression = check(items(result->next, "suppressions", 1), "suppression");
    assert_string_equal(text(suppression, "kind"), "external");
    assert_string_equal(text(suppression, "justification"), "known: found/x");
    sarif_release(&sarif);
    arena_release(&arena);
    str_release(&out);
}

/* A run without results is a whole document, too: results is an empty list, which means that all is well. */
static void test_sarif_empty(void **state)
{
    (void)state;
    struct sarif sarif;
    struct arena arena;
    struct str out;
    const struct json_value *log;
    str_init(&out);
    arena_init(&arena);
    sarif_init(&sarif);
    sarif_write(&sarif, "", &out);
    assert_int_equal(json_read(&arena, out.data, out.length, &log, NULL), 0);
    const struct json_value *run = check(items(check(log, "sarifLog"), "runs", 1), "run");
    assert_null(items(run, "results", 0));
    assert_true(json_member(items(run, "invocations", 1), "executionSuccessful")->truth);
    sarif_release(&sarif);
    arena_release(&arena);
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_junit),
                                       cmocka_unit_test(test_junit_suites), cmocka_unit_test(test_sarif),
                                       cmocka_unit_test(test_sarif_empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
