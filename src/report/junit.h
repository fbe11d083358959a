/*
 * JUnit XML, as CI servers read it: <testsuites> of <testsuite> of <testcase>. Cases are collected first,
 * because the opening tags hold the totals. What XML 1.0 cannot represent (control characters, broken UTF-8)
 * becomes U+FFFD.
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
    size_t current;       /* the suite that cases are added to */
    const char *settings; /* see junit_settings; NULL: none */
};

void junit_init(struct junit *junit);
void junit_release(struct junit *junit);

/* Begins a suite (of an engine, or a pair of engines), to which the cases added after it belong. */
void junit_suite(struct junit *junit, const char *name);
/* The same, but goes on with the suite of that name where there is one. */
void junit_suite_of(struct junit *junit, const char *name);
/* What the suite says as a whole, in words: its property "answer". The text is copied. */
void junit_answer(struct junit *junit, const char *text);
/* The settings of the engines, in words: the property "settings" of all suites. The text is copied. */
void junit_settings(struct junit *junit, const char *text);
void junit_case(struct junit *junit, const struct junit_case *entry); /* strings are copied */

/* Adds a suite of one case that is an error: why not everything was judged. */
void junit_trouble(struct junit *junit, const char *name, const char *message);
/* How many of the cases are errors. */
size_t junit_errors(const struct junit *junit);

/* Appends the whole document. */
void junit_write(const struct junit *junit, struct str *out);

#endif
