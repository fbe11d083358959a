#include "report/support_table.h"

#include "base/map.h"
#include "base/memory.h"
#include "engine/label.h"

#include <stdlib.h>
#include <string.h>

static const char begin_mark[] = "<!-- assay probe ", end_mark[] = "<!-- end of assay probe -->";

/* The engine without its version, with which the table does not change. */
static void add_engine(const struct probe_result *result, struct str *out)
{
    struct label label = label_parse(result->engine);
    label.version = (struct label_part){0};
    label_print(out, &label);
}

/* How an operator's cases of one type end, in a word; NULL: there is no such type. */
static const char *support_word(const struct probe_op *op, enum dtype type)
{
    struct probe_counts counts = probe_count(op, type);
    enum probe_answer answer = probe_sum_up(&counts);
    if (answer == PROBE_NONE)
        return NULL;
    return answer == PROBE_OK && counts.of[PROBE_OK] < counts.total ? "in part" : probe_answer_name(answer);
}

static void add_types(const struct probe_op *op, const char *word, struct str *out)
{
    bool any = false;
    for (int type = 1; type < DTYPE_COUNT; type++) {
        const char *is = support_word(op, (enum dtype)type);
        if (!is || !text_equal(is, word))
            continue;
        str_printf(out, "%s%s", any ? ", " : "", dtype_name((enum dtype)type));
        any = true;
    }
}

/* The words that say that something is wrong. */
static void add_findings(const struct probe_op *op, struct str *out)
{
    for (int type = 1; type < DTYPE_COUNT; type++) {
        struct probe_counts counts = probe_count(op, (enum dtype)type);
        enum probe_answer answer = probe_sum_up(&counts);
        if (probe_is_finding(answer))
            str_printf(out, "%s%s: %s", out->length ? ", " : "", dtype_name((enum dtype)type),
                       probe_answer_name(answer));
    }
}

void support_markdown(const struct probe_result *results, size_t count, struct str *out)
{
    for (size_t i = 0; i < count; i++) {
        str_add(out, begin_mark);
        add_engine(&results[i], out);
        str_add(out, " -->\n\n| operator | supported | in part | not supported | faulty |\n"
                     "|---|---|---|---|---|\n");
        for (size_t k = 0; k < results[i].n_ops; k++) {
            const struct probe_op *op = &results[i].ops[k];
            struct str findings;
            str_init(&findings);
            add_findings(op, &findings);
            str_printf(out, "| %s | ", op->name);
            add_types(op, probe_answer_name(PROBE_OK), out);
            str_add(out, " | ");
            add_types(op, "in part", out);
            str_add(out, " | ");
            add_types(op, probe_answer_name(PROBE_UNSUPPORTED), out);
            str_printf(out, " | %s |\n", findings.data);
            str_release(&findings);
        }
        str_printf(out, "\n%s\n", end_mark);
    }
}

void support_csv(const struct probe_result *results, size_t count, struct str *out)
{
    str_add(out, "engine,operator,type,support\n");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < results[i].n_ops; k++)
            for (int type = 1; type < DTYPE_COUNT; type++) {
                const struct probe_op *op = &results[i].ops[k];
                const char *word = support_word(op, (enum dtype)type);
                if (!word)
                    continue;
                str_add(out, "\"");
                add_engine(&results[i], out);
                str_printf(out, "\",%s,%s,%s\n", op->name, dtype_name((enum dtype)type), word);
            }
}

/* The lines of a text that count, each with the engine whose table it stands in before it. */
struct lines {
    struct arena arena;
    struct map set;
    const char **items;
    size_t count, room;
};

static void add_line(struct lines *lines, const char *engine, const char *text)
{
    const char *line = arena_printf(&lines->arena, "%s%s", engine, text);
    if (!*text || map_has(&lines->set, line))
        return;
    map_set(&lines->set, line, 0);
    lines->items = memory_grow(lines->items, &lines->room, lines->count + 1, sizeof *lines->items);
    lines->items[lines->count++] = line;
}

/* The line at *text, which is moved behind it. */
static const char *take_line(struct lines *lines, const char **text)
{
    size_t length = strcspn(*text, "\r\n");
    char *line = arena_copy(&lines->arena, *text, length + 1);
    line[length] = '\0';
    *text += length + strspn(*text + length, "\r\n");
    return line;
}

static void read_lines(struct lines *lines, const char *text, bool markdown)
{
    const char *engine = markdown ? NULL : "";
    *lines = (struct lines){0};
    arena_init(&lines->arena);
    map_init(&lines->set);
    while (*text) {
        const char *line = take_line(lines, &text);
        if (markdown && text_starts(line, begin_mark)) {
            char *name = arena_strdup(&lines->arena, line + strlen(begin_mark));
            char *end = strstr(name, " -->");
            if (end)
                *end = '\0';
            engine = arena_printf(&lines->arena, "%s: ", name);
        } else if (markdown && text_starts(line, end_mark)) {
            engine = NULL;
        } else if (engine) {
            add_line(lines, engine, line);
        }
    }
}

static void lines_release(struct lines *lines)
{
    free(lines->items);
    map_release(&lines->set);
    arena_release(&lines->arena);
}

static size_t lacking(const struct lines *of, const struct lines *in, const char *what, struct str *out)
{
    size_t count = 0;
    for (size_t i = 0; i < of->count; i++)
        if (!map_has(&in->set, of->items[i])) {
            str_printf(out, "%s: %s\n", what, of->items[i]);
            count++;
        }
    return count;
}

size_t support_differences(const char *table, const char *page, bool markdown, struct str *out)
{
    struct lines is, stands;
    read_lines(&is, table, markdown);
    read_lines(&stands, page, markdown);
    size_t count =
        lacking(&stands, &is, "only in the file", out) + lacking(&is, &stands, "only found now", out);
    lines_release(&is);
    lines_release(&stands);
    return count;
}
