#include "findings/schema.h"

#include "base/str.h"

#include <string.h>

static const struct step {
    int version;
    const char *statement;
} steps[] = {
#include "findings/schema.inc"
};
enum { STEPS = sizeof steps / sizeof *steps };

int schema_version(void)
{
    return steps[STEPS - 1].version;
}

size_t schema_statements(int version)
{
    size_t count = 0;
    while (count < STEPS && steps[count].version <= version)
        count++;
    return count;
}

const char *schema_statement(size_t number)
{
    return steps[number].statement;
}

/* Whether a later statement drops what this one makes. */
static bool is_dropped(size_t number, size_t count)
{
    static const char make[] = "CREATE TABLE ", drop[] = "DROP TABLE ";
    const char *made = steps[number].statement;
    if (!text_starts(made, make))
        return false;
    made += strlen(make);
    for (size_t i = number + 1; i < count; i++) {
        const char *gone = steps[i].statement;
        if (text_starts(gone, drop) && text_starts(made, gone + strlen(drop)) &&
            made[strlen(gone + strlen(drop))] == ' ')
            return true;
    }
    return false;
}

/* Whether a database of so many statements has what this one makes. */
static bool is_there(size_t number, size_t count)
{
    return text_starts(steps[number].statement, "CREATE ") && !is_dropped(number, count);
}

static bool is_same(const char *statement, const char *text)
{
    for (; *statement; statement++)
        if (*statement != '@' && *statement != *text++)
            return false;
    return !*text;
}

bool schema_has(int version, const char *text)
{
    size_t count = schema_statements(version);
    for (size_t i = 0; i < count; i++)
        if (is_there(i, count) && is_same(steps[i].statement, text))
            return true;
    return false;
}

size_t schema_objects(int version)
{
    size_t count = schema_statements(version), objects = 0;
    for (size_t i = 0; i < count; i++)
        objects += is_there(i, count);
    return objects;
}
