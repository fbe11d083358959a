#include "conform/expected_list.h"

#include "base/file.h"
#include "base/json_read.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 4 << 20, MAX_ENTRIES = 20000, MAX_PATTERN = 300 };

/* The scanner of JSON with comments. Texts in it are read by base/json_read.h. */
struct scan {
    struct expected_failures *list;
    size_t at;
    struct error *err;
};

static int wrong(struct scan *scan, const char *what)
{
    size_t line = 1;
    for (size_t i = 0; i < scan->at && i < scan->list->size; i++)
        line += scan->list->text[i] == '\n';
    return error_set(scan->err, ERROR_FORMAT, "line %zu: %s", line, what);
}

static char peek(const struct scan *scan)
{
    return scan->at < scan->list->size ? scan->list->text[scan->at] : '\0';
}

static int skip_comment(struct scan *scan)
{
    const char *text = scan->list->text, *from = text + scan->at;
    const char *end = from[1] == '/' ? strchr(from, '\n') : strstr(from + 2, "*/");
    scan->list->comments = true;
    if (!end && from[1] == '*')
        return wrong(scan, "a comment is not closed");
    scan->at = end ? (size_t)(end - text) + (from[1] == '*' ? 2 : 0) : scan->list->size;
    return 0;
}

/* Skips white space and comments; one_line: stops before the end of the line. */
static int skip(struct scan *scan, bool one_line)
{
    for (;;) {
        char c = peek(scan);
        if (c == '/' && (scan->list->text[scan->at + 1] == '/' || scan->list->text[scan->at + 1] == '*')) {
            if (skip_comment(scan))
                return -1;
        } else if (c == ' ' || c == '\t' || (!one_line && (c == '\n' || c == '\r'))) {
            scan->at++;
        } else {
            return 0;
        }
    }
}

static int take(struct scan *scan, char c)
{
    char what[] = "' ' is missing";
    what[1] = c;
    if (peek(scan) != c)
        return wrong(scan, what);
    scan->at++;
    return skip(scan, false);
}

/* A string, which ends behind its quote. */
static int take_string(struct scan *scan, const char **text)
{
    const char *all = scan->list->text;
    size_t begin = scan->at;
    const struct json_value *value;
    if (peek(scan) != '"')
        return wrong(scan, "a text in quotes is missing");
    for (scan->at++; peek(scan) && peek(scan) != '"' && peek(scan) != '\n'; scan->at++)
        scan->at += peek(scan) == '\\' && all[scan->at + 1] != '\0';
    if (peek(scan) != '"')
        return wrong(scan, "a quote is not closed");
    scan->at++;
    if (json_read(&scan->list->arena, all + begin, scan->at - begin, &value, scan->err))
        return wrong(scan, "this is no text of JSON");
    *text = value->text;
    return 0;
}

static int add_entry(struct scan *scan, struct entry **entry)
{
    struct expected_failures *list = scan->list;
    if (list->count == MAX_ENTRIES)
        return wrong(scan, "a list of failures may have 20000 entries");
    list->entries = memory_grow(list->entries, &list->room, list->count + 1, sizeof *list->entries);
    *entry = &list->entries[list->count++];
    **entry = (struct entry){0};
    str_init(&(*entry)->names);
    return 0;
}

/* [opset, expression], of which the last text counts. */
static int take_pair(struct scan *scan, struct entry *entry)
{
    entry->lenient = true;
    if (take(scan, '['))
        return -1;
    for (bool more = true; more;) {
        if (take_string(scan, &entry->text) || skip(scan, false))
            return -1;
        more = peek(scan) == ',';
        if (more && take(scan, ','))
            return -1;
    }
    if (peek(scan) != ']')
        return wrong(scan, "']' is missing");
    scan->at++;
    return 0;
}

/* What stands behind an item in its line belongs to it, also behind the comma. */
static int take_tail(struct scan *scan, struct entry *entry, bool *more)
{
    entry->tail.begin = scan->at;
    if (skip(scan, false))
        return -1;
    *more = peek(scan) == ',';
    if (!*more) { /* the last one */
        scan->at = entry->tail.begin;
        if (skip(scan, true))
            return -1;
        entry->tail.end = scan->at;
        return 0;
    }
    entry->tail.begin = ++scan->at;
    if (skip(scan, true))
        return -1;
    entry->tail.end = scan->at;
    return 0;
}

static int take_item(struct scan *scan, struct group *group, bool *more)
{
    struct entry *entry;
    size_t lead = scan->at;
    if (skip(scan, false))
        return -1;
    if (peek(scan) == ']') { /* a comma before the end */
        scan->at = lead;
        *more = false;
        return 0;
    }
    if (add_entry(scan, &entry))
        return -1;
    group->count++;
    entry->lead = (struct span){lead, scan->at};
    entry->item.begin = scan->at;
    entry->holds = group->holds;
    if (peek(scan) == '[' ? take_pair(scan, entry) : take_string(scan, &entry->text))
        return -1;
    entry->item.end = scan->at;
    return take_tail(scan, entry, more);
}

static int take_list(struct scan *scan, struct group *group)
{
    scan->at++;
    group->inside = scan->at;
    group->first = scan->list->count;
    if (skip(scan, false))
        return -1;
    bool more = peek(scan) != ']';
    scan->at = more ? group->inside : scan->at;
    while (more)
        if (take_item(scan, group, &more))
            return -1;
    if (group->count)
        group->end = scan->at;
    if (skip(scan, false))
        return -1;
    if (!group->count)
        group->end = scan->at;
    return take(scan, ']');
}

/* What a suite says besides: a text, a number, an object, a list of anything. */
static int skip_value(struct scan *scan)
{
    const char *text;
    size_t depth = 0;
    do {
        char c = peek(scan);
        if (c == '"') {
            if (take_string(scan, &text))
                return -1;
        } else if (c) {
            depth += c == '{' || c == '[';
            depth -= (c == '}' || c == ']') && depth;
            scan->at++;
        } else {
            return wrong(scan, "the text ends too early");
        }
        if (skip(scan, false))
            return -1;
    } while (depth || (peek(scan) != ',' && peek(scan) != '}'));
    return 0;
}

static bool is_of_suites(const char *name)
{
    return text_equal(name, "expected_compile_failures") || text_equal(name, "expected_run_failures") ||
           text_starts(name, "skip_");
}

static int take_member(struct scan *scan)
{
    struct expected_failures *list = scan->list;
    const char *name;
    if (take_string(scan, &name) || skip(scan, false) || take(scan, ':'))
        return -1;
    if (is_of_suites(name))
        list->form = SUITES;
    if (peek(scan) != '[' || (list->form == SUITES && !is_of_suites(name)))
        return skip_value(scan);
    list->groups = memory_grow(list->groups, &list->groups_room, list->n_groups + 1, sizeof *list->groups);
    struct group *group = &list->groups[list->n_groups++];
    *group = (struct group){.name = name, .holds = true};
    return take_list(scan, group);
}

static int take_object(struct scan *scan)
{
    if (take(scan, '{'))
        return -1;
    for (bool more = peek(scan) != '}'; more;) {
        if (take_member(scan))
            return -1;
        more = peek(scan) == ',';
        if (more && take(scan, ','))
            return -1;
        more = more && peek(scan) != '}';
    }
    if (take(scan, '}'))
        return -1;
    return scan->at == scan->list->size ? 0 : wrong(scan, "something follows the end");
}

/* Lists of single names: the flags of a suite are lists too, and come before it is known to be one. */
static void drop_other_groups(struct expected_failures *list, const char *word)
{
    for (size_t i = 0; i < list->n_groups; i++) {
        struct group *group = &list->groups[i];
        group->holds = list->form != SUITES || is_of_suites(group->name);
        for (size_t j = 0; j < list->n_groups && list->form == FILTERS; j++) {
            size_t length = strlen(list->groups[j].name);
            if (j != i && strncmp(group->name, list->groups[j].name, length) == 0 &&
                group->name[length] == '_')
                group->holds = word && text_equal(group->name + length + 1, word);
        }
        for (size_t k = group->first; k < group->first + group->count; k++) {
            list->entries[k].holds = group->holds;
            list->entries[k].lenient |= list->form == SUITES && text_starts(group->name, "skip_");
        }
    }
}

const char *expected_last_part(const char *name)
{
    const char *slash = strrchr(name, '/'), *colons = NULL;
    for (const char *at = name; (at = strstr(at, "::"));)
        colons = at += 2;
    const char *part = slash ? slash + 1 : name;
    return colons && colons > part ? colons : part;
}

static int take_names(struct scan *scan)
{
    struct expected_failures *list = scan->list;
    while (scan->at < list->size) {
        const char *line = list->text + scan->at;
        size_t length = strcspn(line, "\n"), used = strcspn(line, "#\n");
        list->comments |= used < length;
        while (used && isspace((unsigned char)line[used - 1]))
            used--;
        size_t blank = strspn(line, " \t");
        struct entry *entry;
        if (used > blank) {
            if (add_entry(scan, &entry))
                return -1;
            entry->text = arena_printf(&list->arena, "%.*s", (int)(used - blank), line + blank);
            entry->item = (struct span){scan->at, scan->at + length + (line[length] == '\n')};
            entry->holds = true;
        }
        scan->at += length + (line[length] == '\n');
    }
    return 0;
}

/* POSIX's extended expressions are those of Python as far as lists use them; what means another thing there,
 * or makes a small text a large machine, is refused. */
static bool is_read(const char *expression)
{
    for (const char *at = expression; *at; at++) {
        if (*at == '\\' && (!at[1] || isalnum((unsigned char)at[1])))
            return false;
        if (*at == '{' || (*at == '(' && at[1] == '?'))
            return false;
        at += *at == '\\';
    }
    return strlen(expression) <= MAX_PATTERN;
}

static int compile(struct entry *entry, struct error *err)
{
    if (!is_read(entry->text))
        return error_set(err, ERROR_UNSUPPORTED,
                         "the expression '%.100s' is too long, or uses {}, (?...) or a class such as \\d, "
                         "which are not read here: write it in another way",
                         entry->text);
    if (regcomp(&entry->expression, entry->text, REG_EXTENDED | REG_NOSUB))
        return error_set(err, ERROR_FORMAT, "'%.100s' is no regular expression", entry->text);
    entry->compiled = true;
    return 0;
}

static int finish(struct expected_failures *list, const char *word, struct error *err)
{
    drop_other_groups(list, word);
    for (size_t i = 0; i < list->count; i++)
        if (list->form == FILTERS && list->entries[i].holds && compile(&list->entries[i], err))
            return -1;
    return 0;
}

int expected_failures_open(struct expected_failures **result, const char *path, const char *word,
                           struct error *err)
{
    struct expected_failures *list = memory_zeroed(1, sizeof *list);
    arena_init(&list->arena);
    *result = NULL;
    if (file_read(path, MAX_FILE, &list->text, &list->size, err)) {
        expected_failures_free(list);
        return -1;
    }
    struct scan scan = {.list = list, .err = err};
    int status = strlen(list->text) == list->size ? 0 : wrong(&scan, "it holds a NUL");
    if (status == 0)
        status = skip(&scan, false);
    list->comments = false;
    if (status == 0 && peek(&scan) == '{') {
        status = take_object(&scan);
    } else if (status == 0) {
        list->form = NAMES;
        scan.at = 0;
        status = take_names(&scan);
    }
    if (status == 0)
        status = finish(list, word, err);
    if (status) {
        error_prefix(err, "%.200s", path);
        expected_failures_free(list);
        return -1;
    }
    *result = list;
    return 0;
}

void expected_failures_free(struct expected_failures *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].compiled)
            regfree(&list->entries[i].expression);
        str_release(&list->entries[i].names);
    }
    free(list->text);
    free(list->entries);
    free(list->groups);
    free(list->added);
    arena_release(&list->arena);
    free(list);
}

static bool fits(const struct expected_failures *list, const struct entry *entry, const char *name,
                 const char *test)
{
    if (!entry->holds)
        return false;
    if (list->form == FILTERS)
        return regexec(&entry->expression, test, 0, NULL, 0) == 0;
    const char *part = expected_last_part(entry->text);
    return text_equal(part, name) || (list->form == NAMES && text_equal(part, test));
}

enum listing expected_failures_hold(struct expected_failures *list, const char *name, bool failed)
{
    struct str test;
    enum listing found = LISTED_NOT;
    name = expected_last_part(name);
    str_init(&test);
    str_printf(&test, "%s" LIST_DEVICE, name);
    for (size_t i = 0; i < list->count; i++) {
        struct entry *entry = &list->entries[i];
        if (!fits(list, entry, name, test.data))
            continue;
        if (found != LISTED_FAILS)
            found = entry->lenient ? LISTED_EITHER : LISTED_FAILS;
        entry->failed += failed;
        entry->passed += !failed;
        if (failed)
            str_append(&entry->names, name, strlen(name) + 1);
    }
    str_release(&test);
    return found;
}

void expected_failures_add(struct expected_failures *list, const char *name, const char *why, bool at_load)
{
    list->added = memory_grow(list->added, &list->added_room, list->n_added + 1, sizeof *list->added);
    list->added[list->n_added++] = (struct added){arena_strdup(&list->arena, expected_last_part(name)),
                                                  arena_strdup(&list->arena, why ? why : ""), at_load};
}

size_t expected_failures_count(const struct expected_failures *list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->entries[i].holds;
    return count;
}

size_t expected_failures_idle(const struct expected_failures *list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->entries[i].holds && list->entries[i].failed + list->entries[i].passed == 0;
    return count;
}
