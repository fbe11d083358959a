#include "engine/declared_knobs.h"

#include "base/str.h"

#include <string.h>

enum { CHOICES = CHOOSES_FILE + 1, LONGEST_WORD = 80, LONGEST_NUMBER = 9 };

static const char *const choice_names[CHOICES] = {
    [CHOOSES_KERNELS] = "kernels",
    [CHOOSES_GRAPH] = "graph",
    [CHOOSES_SCHEDULE] = "schedule",
    [CHOOSES_FILE] = "file",
};

static const char word[] = "{word}", digits[] = "0123456789";

int declared_knobs_add(struct declared_knob **list, struct arena *arena, const char *name, const char *text,
                       struct error *err)
{
    size_t length = strcspn(text, " \t");
    int choice = 0;
    while (choice < CHOICES &&
           !(strlen(choice_names[choice]) == length && strncmp(text, choice_names[choice], length) == 0))
        choice++;
    const char *values = text + length + strspn(text + length, " \t");
    if (choice == CHOICES || !*name || (choice == CHOOSES_FILE) != !*values)
        return error_set(err, ERROR_FORMAT,
                         "knob.%.60s must be 'file', or kernels, graph or schedule and the values that there "
                         "are, such as 'graph none|all', not '%.60s'",
                         name, text);
    struct declared_knob *made = arena_alloc(arena, sizeof *made);
    *made = (struct declared_knob){.name = arena_strdup(arena, name),
                                   .choice = (enum knob_choice)choice,
                                   .values = arena_strdup(arena, values),
                                   .next = *list};
    *list = made;
    return 0;
}

const struct declared_knob *declared_knobs_find(const struct declared_knob *list, const char *name)
{
    while (list && !text_equal(list->name, name))
        list = list->next;
    return list;
}

static bool read_number(const char *text, size_t length, long *number)
{
    *number = 0;
    if (!length || length > LONGEST_NUMBER || (length > 1 && *text == '0'))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!strchr(digits, text[i]))
            return false;
        *number = *number * 10 + (text[i] - '0');
    }
    return true;
}

/* "3..64" */
static bool read_range(const char *item, size_t length, long *low, long *high)
{
    size_t first = strspn(item, digits);
    return length > first + 2 && strncmp(item + first, "..", 2) == 0 && read_number(item, first, low) &&
           read_number(item + first + 2, length - first - 2, high);
}

static bool is_word(const char *value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!value[i] ||
            !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:-", value[i]))
            return false;
    return size > 0 && size <= LONGEST_WORD;
}

static bool is_item(const char *item, size_t length, const char *value, size_t size)
{
    long low, high, number;
    if (length == strlen(word) && strncmp(item, word, length) == 0)
        return is_word(value, size);
    if (read_range(item, length, &low, &high))
        return read_number(value, size, &number) && number >= low && number <= high;
    return length == size && strncmp(item, value, size) == 0;
}

/* Whether one of the items is this value. */
static bool is_listed(const char *items, char separator, const char *value, size_t size)
{
    for (const char *at = items;;) {
        const char *end = strchr(at, separator);
        size_t length = end ? (size_t)(end - at) : strlen(at);
        if (is_item(at, length, value, size))
            return true;
        if (!end)
            return false;
        at = end + 1;
    }
}

static bool are_listed(const char *items, const char *values)
{
    for (const char *at = values; *at;) {
        size_t size = strcspn(at, "+,;");
        if (!is_listed(items, '+', at, size))
            return false;
        at += size;
        if (*at && !*++at)
            return false; /* a separator with nothing behind it */
    }
    return true;
}

static bool allows(const struct declared_knob *knob, const char *value)
{
    if (knob->choice == CHOOSES_FILE)
        return false;
    return strchr(knob->values, '+') ? are_listed(knob->values, value)
                                     : is_listed(knob->values, '|', value, strlen(value));
}

bool declared_knobs_allow(const struct declared_knob *list, const char *name, const char *value)
{
    const struct declared_knob *knob = declared_knobs_find(list, name);
    return knob && allows(knob, value);
}

int declared_knobs_check(const struct declared_knob *list, const char *engine, const char *name,
                         const char *value, const char *source, struct error *err)
{
    const struct declared_knob *knob = declared_knobs_find(list, name);
    if (!knob)
        return error_set(
            err, ERROR_UNSUPPORTED,
            "%s sets the knob %.60s of %s, and the engine's file does not say that others than you "
            "may; give the whole label yourself with -e, or declare knob.%.60s there "
            "(docs/engines.md)",
            source, name, engine, name);
    if (knob->choice == CHOOSES_FILE)
        return error_set(
            err, ERROR_UNSUPPORTED,
            "%s sets the knob %.60s of %s, which names a file to write, and only you may do that; "
            "leave the knob out, or give the whole label yourself with -e",
            source, name, engine);
    if (!allows(knob, value))
        return error_set(err, ERROR_UNSUPPORTED,
                         "%s sets the knob %.60s of %s to '%.60s', and others than you may choose among "
                         "%.200s; give the whole label yourself with -e",
                         source, name, engine, value, knob->values);
    return 0;
}
