/* Tables and JUnit, hostile text included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/junit.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_junit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
