#include "report/junit.h"

#include "base/markup.h"
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

struct junit_suite {
    const char *name, *answer;
    size_t count, capacity;
    struct junit_case *cases;
    size_t totals[JUNIT_SKIPPED + 1];
    double seconds;
};

static const char *const element[] = {NULL, "failure", "error", "skipped"};

void junit_init(struct junit *junit)
{
    *junit = (struct junit){0};
    arena_init(&junit->arena);
}

void junit_release(struct junit *junit)
{
    for (size_t i = 0; i < junit->count; i++)
        free(junit->suites[i].cases);
    free(junit->suites);
    arena_release(&junit->arena);
}

void junit_suite(struct junit *junit, const char *name)
{
    junit->suites = memory_grow(junit->suites, &junit->capacity, junit->count + 1, sizeof *junit->suites);
    junit->current = junit->count;
    junit->suites[junit->count++] = (struct junit_suite){.name = arena_strdup(&junit->arena, name)};
}

void junit_suite_of(struct junit *junit, const char *name)
{
    for (junit->current = 0; junit->current < junit->count; junit->current++)
        if (text_equal(junit->suites[junit->current].name, name))
            return;
    junit_suite(junit, name);
}

void junit_answer(struct junit *junit, const char *text)
{
    assert(junit->count > 0);
    junit->suites[junit->current].answer = arena_strdup(&junit->arena, text);
}

void junit_settings(struct junit *junit, const char *text)
{
    junit->settings = arena_strdup(&junit->arena, text);
}

static const char *copy(struct junit *junit, const char *text)
{
    return text ? arena_strdup(&junit->arena, text) : NULL;
}

void junit_case(struct junit *junit, const struct junit_case *entry)
{
    assert(junit->count > 0);
    struct junit_suite *suite = &junit->suites[junit->current];
    suite->cases = memory_grow(suite->cases, &suite->capacity, suite->count + 1, sizeof *suite->cases);
    struct junit_case *kept = &suite->cases[suite->count++];
    *kept = *entry;
    kept->name = copy(junit, entry->name);
    kept->type = copy(junit, entry->type);
    kept->message = copy(junit, entry->message);
    kept->details = copy(junit, entry->details);
    suite->totals[entry->result]++;
    suite->seconds += entry->seconds;
}

void junit_trouble(struct junit *junit, const char *name, const char *message)
{
    junit_suite(junit, "assay");
    junit_case(junit, &(struct junit_case){
                          .name = name, .result = JUNIT_ERROR, .type = "trouble", .message = message});
}

size_t junit_errors(const struct junit *junit)
{
    size_t count = 0;
    for (size_t i = 0; i < junit->count; i++)
        count += junit->suites[i].totals[JUNIT_ERROR];
    return count;
}

static void attribute(struct str *out, const char *name, const char *value)
{
    str_printf(out, " %s=\"", name);
    markup_escape(out, value);
    str_add(out, "\"");
}

static void totals(struct str *out, size_t tests, const size_t *counts, double seconds)
{
    str_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\"", tests,
               counts[JUNIT_FAILURE], counts[JUNIT_ERROR], counts[JUNIT_SKIPPED], seconds);
}

static void write_case(struct str *out, const struct junit_suite *suite, const struct junit_case *entry)
{
    str_add(out, "    <testcase");
    attribute(out, "classname", suite->name);
    attribute(out, "name", entry->name);
    str_printf(out, " time=\"%.6f\"", entry->seconds);
    if (entry->result == JUNIT_PASS) {
        str_add(out, "/>\n");
        return;
    }
    str_printf(out, ">\n      <%s", element[entry->result]);
    if (entry->type)
        attribute(out, "type", entry->type);
    if (entry->message)
        attribute(out, "message", entry->message);
    str_add(out, ">");
    if (entry->details)
        markup_escape(out, entry->details);
    str_printf(out, "</%s>\n    </testcase>\n", element[entry->result]);
}

static void write_property(struct str *out, const char *name, const char *value)
{
    if (!value)
        return;
    str_add(out, "      <property");
    attribute(out, "name", name);
    attribute(out, "value", value);
    str_add(out, "/>\n");
}

static void write_properties(struct str *out, const struct junit *junit, const struct junit_suite *suite)
{
    if (!suite->answer && !junit->settings)
        return;
    str_add(out, "    <properties>\n");
    write_property(out, "answer", suite->answer);
    write_property(out, "settings", junit->settings);
    str_add(out, "    </properties>\n");
}

void junit_write(const struct junit *junit, struct str *out)
{
    size_t tests = 0, counts[JUNIT_SKIPPED + 1] = {0};
    double seconds = 0;
    for (size_t i = 0; i < junit->count; i++) {
        tests += junit->suites[i].count;
        seconds += junit->suites[i].seconds;
        for (int kind = 0; kind <= JUNIT_SKIPPED; kind++)
            counts[kind] += junit->suites[i].totals[kind];
    }
    str_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\"");
    totals(out, tests, counts, seconds);
    str_add(out, ">\n");
    for (size_t i = 0; i < junit->count; i++) {
        const struct junit_suite *suite = &junit->suites[i];
        str_add(out, "  <testsuite");
        attribute(out, "name", suite->name);
        totals(out, suite->count, suite->totals, suite->seconds);
        str_add(out, ">\n");
        write_properties(out, junit, suite);
        for (size_t k = 0; k < suite->count; k++)
            write_case(out, suite, &suite->cases[k]);
        str_add(out, "  </testsuite>\n");
    }
    str_add(out, "</testsuites>\n");
}
