/* A list of expected failures (expected_failures.h) as it was read: its entries, and where they stand in the
 * text. */
#ifndef CONFORM_EXPECTED_LIST_H
#define CONFORM_EXPECTED_LIST_H

#include "base/arena.h"
#include "conform/expected_failures.h"

#include <regex.h>

#define LIST_DEVICE "_cpu" /* behind the names of ONNX's tests */

enum form { FILTERS, SUITES, NAMES };

/* A piece of the file's text. */
struct span {
    size_t begin, end;
};

struct entry {
    const char *text; /* the expression or the name */
    regex_t expression;
    bool compiled, holds, lenient;
    struct span lead, item, tail; /* in a list of JSON: white space and comments before it; itself; what
                                     follows it in its line but the comma. Of names: item is the whole line */
    size_t failed, passed;
    struct str names; /* of the cases that failed, each with a NUL behind it */
};

/* A list of JSON: its entries, and where it ends. */
struct group {
    const char *name;
    size_t first, count, inside, end; /* of entries; the text behind [ and before ] */
    bool holds;
};

struct added {
    const char *name, *why;
    bool at_load;
};

struct expected_failures {
    struct arena arena;
    char *text;
    size_t size;
    enum form form;
    struct entry *entries;
    size_t count, room;
    struct group *groups;
    size_t n_groups, groups_room;
    struct added *added;
    size_t n_added, added_room;
    bool comments; /* there is one: others may be added */
};

/* Of a path, or of an id with :: in it. */
const char *expected_last_part(const char *name);

#endif
