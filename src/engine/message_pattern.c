#include "engine/message_pattern.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

enum { NAME_LIMIT = 60 };

static const char rest[] = "{rest}", place[] = "{place}", operator_word[] = "{operator}",
                  name_word[] = "{name}", first_fit[] = "{}", last_fit[] = "{*}";

/* The length of the text up to the next word in braces. */
static size_t literal(const char *pattern)
{
    return strcspn(pattern, "{");
}

/* The word in braces at the start of `at`; NULL when there is none of that name. */
static const char *word_at(const char *at)
{
    static const char *const words[] = {rest, place, operator_word, name_word, first_fit, last_fit};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_starts(at, words[i]))
            return words[i];
    return NULL;
}

/* Whether text follows every {} and {*}; otherwise there would be no place for it to end. */
static bool wildcard_ends(const char *pattern)
{
    for (const char *at = pattern; (at = strchr(at, '{')) != NULL; at++) {
        const char *word = word_at(at);
        if ((word == first_fit || word == last_fit) && literal(at + strlen(word)) == 0)
            return false;
    }
    return true;
}

static bool ends_cut(const char *pattern)
{
    const char *end = strstr(pattern, rest) ? strstr(pattern, rest) : strstr(pattern, place);
    return end && end[strlen(word_at(end))] == '\0' && !strstr(pattern, operator_word) &&
           !strstr(pattern, name_word);
}

/* Text before the word, and none but that word. */
static bool holds_only(const char *pattern, const char *word)
{
    size_t before = literal(pattern);
    return *pattern != '^' && before > 0 && text_starts(pattern + before, word) &&
           !strchr(pattern + before + 1, '{');
}

static const char *fault_of(enum pattern_use use, const char *pattern)
{
    for (const char *at = pattern; (at = strchr(at, '{')) != NULL; at++)
        if (!word_at(at))
            return "there are {}, {*}, {rest}, {place}, {operator} and {name}";
    switch (use) {
    case PATTERN_CUT:
        if (!ends_cut(pattern))
            return "it must end in {rest} or {place}";
        return !wildcard_ends(pattern)                                   ? "text must follow a {} or {*}"
               : literal(pattern + (*pattern == '^')) || *pattern == '^' ? NULL
                                                                         : "it must begin with text";
    case PATTERN_OPERATOR:
        return holds_only(pattern, operator_word) ? NULL : "it must be text with one {operator} in it";
    case PATTERN_NAME:
        return holds_only(pattern, name_word) && !text_ends(pattern, name_word)
                   ? NULL
                   : "it must be text, {name} and what closes the name";
    case PATTERN_TEXT:
        return *pattern && !strchr(pattern, '{') ? NULL : "it must be text";
    }
    return NULL;
}

int pattern_add(struct message_pattern **list, struct arena *arena, enum pattern_use use, const char *text,
                const char *meaning, struct error *err)
{
    if (text_starts(text, first_fit))
        text += strlen(first_fit);
    const char *fault = fault_of(use, text);
    if (fault)
        return error_set(err, ERROR_FORMAT, "the pattern '%s': %s", text, fault);
    while (*list)
        list = &(*list)->next;
    *list = arena_alloc(arena, sizeof **list);
    **list = (struct message_pattern){.text = arena_strdup(arena, text),
                                      .meaning = meaning ? arena_strdup(arena, meaning) : NULL};
    return 0;
}

/* Where the `length` first bytes of `what` occur: the first such place, or the last. */
static const char *find(const char *text, const char *what, size_t length, bool last)
{
    const char *found = NULL;
    for (const char *at = text; (at = strchr(at, *what)) != NULL; at++)
        if (strncmp(at, what, length) == 0) {
            found = at;
            if (!last)
                break;
        }
    return found;
}

static bool is_place(const char *text)
{
    static const char *const ends[] = {".cc:", ".h:", ".cpp:", ".hpp:", ".cxx:"};
    size_t word = strcspn(text, " \n");
    for (size_t i = 0; i < word; i++)
        for (size_t k = 0; text[i] == '.' && k < sizeof ends / sizeof *ends; k++)
            if (text_starts(text + i, ends[k]))
                return i + strlen(ends[k]) < word;
    return false;
}

/* What {rest} or {place} stands for; NULL when the pattern does not fit. */
static const char *cut_once(const char *pattern, const char *message)
{
    bool tied = *pattern == '^', last = false;
    pattern += tied;
    for (;;) {
        size_t length = literal(pattern);
        const char *at = tied     ? (strncmp(message, pattern, length) == 0 ? message : NULL)
                         : length ? find(message, pattern, length, last)
                                  : message;
        if (!at)
            return NULL;
        message = at + length;
        pattern += length;
        const char *word = word_at(pattern);
        if (word == rest || word == place)
            return *message && (word == rest || is_place(message)) ? message : NULL;
        last = word == last_fit;
        tied = false;
        pattern += strlen(word);
    }
}

const char *patterns_cut(const struct message_pattern *list, const char *message)
{
    for (; list; list = list->next)
        for (const char *inner; (inner = cut_once(list->text, message)) != NULL && inner > message;)
            message = inner;
    return message;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Behind the last '.' that something follows. */
static size_t without_domain(const char **name, size_t length)
{
    const char *start = *name;
    for (size_t i = 0; i + 1 < length; i++)
        if (start[i] == '.')
            *name = start + i + 1;
    return length - (size_t)(*name - start);
}

static size_t last_operator(const char *pattern, const char *message, const char **name)
{
    size_t before = literal(pattern), found = 0;
    const char *after = pattern + before + strlen(operator_word);
    for (const char *at = message; (at = find(at, pattern, before, false)) != NULL;) {
        const char *start = at += before;
        size_t length = 0;
        while (in_name(start[length]))
            length++;
        if (length == 0 || length > NAME_LIMIT || !text_starts(start + length, after))
            continue;
        *name = start;
        found = without_domain(name, length);
    }
    return found;
}

size_t patterns_operator(const struct message_pattern *list, const char *message, const char **name)
{
    size_t length = 0;
    for (; list && !length; list = list->next)
        length = last_operator(list->text, message, name);
    return length;
}

char patterns_open(const struct message_pattern *list, const char *line)
{
    size_t length = strlen(line);
    for (; list; list = list->next) {
        size_t before = literal(list->text);
        if (length >= before && memcmp(line + length - before, list->text, before) == 0)
            return list->text[before + strlen(name_word)];
    }
    return '\0';
}

const char *patterns_meaning(const struct message_pattern *list, const char *message)
{
    for (; list; list = list->next)
        if (strstr(message, list->text))
            return list->meaning;
    return NULL;
}
