#include "findings/schema.h"

#include "base/str.h"

#include <ctype.h>
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

static const char *word_end(const char *text)
{
    return text + strcspn(text, " ,)");
}

static bool is_word(const char *word, const char *wanted)
{
    size_t length = strlen(wanted);
    return strncmp(word, wanted, length) == 0 && word_end(word) == word + length;
}

static void add_lower(struct str *out, const char *text, const char *end)
{
    for (; text < end; text++)
        str_append(out, &(char){(char)tolower((unsigned char)*text)}, 1);
}

/* Of "number BIGINT NOT NULL DEFAULT -1": name, type and default. Returns where the column ends. */
static const char *add_column(struct str *out, const char *column)
{
    bool described = true; /* by the word at hand */
    const char *word = column;
    for (;; word++) {
        const char *end = word_end(word);
        if (is_word(word, "NOT") || is_word(word, "PRIMARY"))
            described = false;
        else if (is_word(word, "DEFAULT"))
            described = true;
        if (described) {
            str_add(out, word == column ? "" : " ");
            add_lower(out, word, end);
        }
        word = end;
        if (*word != ' ')
            return word;
    }
}

/* `list` begins after the parenthesis that opens it. */
static void add_columns(struct str *out, const char *list)
{
    while (*list && *list != ')' && !is_word(list, "PRIMARY")) {
        str_add(out, out->length ? ", " : "");
        list = add_column(out, list);
        list += *list == ',' ? 2 : 0;
    }
}

int schema_tables(int version, int (*visit)(void *context, const char *table, const char *columns),
                  void *context)
{
    static const char make[] = "CREATE TABLE @";
    size_t count = schema_statements(version);
    int status = 0;
    for (size_t i = 0; i < count && !status; i++) {
        if (!text_starts(steps[i].statement, make) || !is_there(i, count))
            continue;
        const char *name = steps[i].statement + strlen(make), *end = word_end(name);
        struct str table, columns;
        str_init(&table);
        str_init(&columns);
        str_append(&table, name, (size_t)(end - name));
        add_columns(&columns, end + strlen(" ("));
        status = visit(context, table.data, columns.data);
        str_release(&table);
        str_release(&columns);
    }
    return status;
}
