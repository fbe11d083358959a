/*
 * JUnit XML, as CI servers read it: <testsuites> of <testsuite> of <testcase>. Cases are collected first,
 * because the totals stand in the opening tags. Bytes XML 1.0 cannot carry (control characters, broken UTF-8)
 * become U+FFFD.
 */
#ifndef REPORT_JUNIT_H
#define REPORT_JUNIT_H

#include "base/arena.h"
#include "base/str.h"

enum junit_result { JUNIT_PASS, JUNIT_FAILURE, JUNIT_ERROR, JUNIT_SKIPPED };

struct junit_case {
    const char *name;
    double seconds;
    enum junit_result result;
    const char *type;    /* the verdict: "wrong", "crash"; NULL for a pass */
    const char *message; /* one line; may be NULL */
    const char *details; /* the text inside the element; may be NULL */
};

struct junit_suite;

struct junit {
    struct arena arena;
    size_t count, capacity;
    struct junit_suite *suites;
};

void junit_init(struct junit *junit);
void junit_release(struct junit *junit);

/* Begins a suite (an engine, a pair of engines); the cases that follow belong to it. */
void junit_suite(struct junit *junit, const char *name);
void junit_case(struct junit *junit, const struct junit_case *entry); /* strings are copied */

/* A suite of one case that is an error: what the whole run lacks. */
void junit_trouble(struct junit *junit, const char *name, const char *message);
size_t junit_errors(const struct junit *junit);
void junit_write(const struct junit *junit, struct str *out);

/* Appends text escaped for XML content and attributes alike. */
void xml_escape(struct str *out, const char *text);

#endif
