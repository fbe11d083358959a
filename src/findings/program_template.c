#include "findings/program_template.h"

#include "base/file.h"
#include "base/markup.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 1 << 20, MAX_DEPTH = 16, MAX_NAME = 60 };

static struct template_variable *find(const struct program_template *template, const char *name)
{
    struct template_variable *variable = template->variables;
    while (variable && !text_equal(variable->name, name))
        variable = variable->next;
    return variable;
}

void template_set(struct program_template *template, const char *name, const char *format, ...)
{
    struct template_variable *variable = find(template, name);
    if (!variable) {
        variable = arena_alloc(template->arena, sizeof *variable);
        *variable = (struct template_variable){.name = arena_strdup(template->arena, name),
                                               .next = template->variables};
        template->variables = variable;
    }
    va_list args;
    va_start(args, format);
    variable->value = arena_vprintf(template->arena, format, args);
    va_end(args);
}

const char *template_get(const struct program_template *template, const char *name)
{
    const struct template_variable *variable = find(template, name);
    if (variable)
        return variable->value;
    return text_starts(name, "knob.") || text_starts(name, "type.") || text_starts(name, "source.") ? ""
                                                                                                    : NULL;
}

/* A template being run. */
struct run {
    struct program_template *template;
    char **lines;
    size_t count, at; /* at: the line that comes next */
    size_t depth;
    struct str *out;
    bool code; /* the lines are code */
    bool none; /* @none was met */
    struct error *err;
};

static int value_of(const struct run *run, const char *start, size_t length, const char **value)
{
    char name[MAX_NAME + 1];
    *value = NULL;
    if (length <= MAX_NAME) {
        memcpy(name, start, length);
        name[length] = '\0';
        *value = template_get(run->template, name);
    }
    return *value ? 0 : error_set(run->err, ERROR_FORMAT, "no variable '%.*s'", (int)length, start);
}

/* The length of the name in @NAME@; 0 when there is none here. */
static size_t name_at(const char *at)
{
    size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789.-");
    return length && at[1 + length] == '@' ? length : 0;
}

/* A value in prose is escaped; in code and in other values it stays as it is. */
static int add_text(const struct run *run, struct str *out, const char *text, bool prose)
{
    while (*text) {
        size_t length = *text == '@' ? name_at(text) : 0;
        const char *value;
        if (!length) {
            str_append(out, text++, 1);
            continue;
        }
        if (value_of(run, text + 1, length, &value))
            return -1;
        if (prose)
            markdown_text(out, value);
        else
            str_add(out, value);
        text += length + 2;
    }
    return 0;
}

/* Whether the line is this directive; *rest is what follows it. */
static bool directive(const char *line, const char *word, const char **rest)
{
    size_t length = strlen(word);
    if (*line != '@' || strncmp(line + 1, word, length) != 0)
        return false;
    *rest = line + 1 + length;
    if (**rest != '\0' && **rest != ' ')
        return false;
    *rest += strspn(*rest, " ");
    return true;
}

static bool is_one_of(const char *value, const char *list)
{
    for (;; list++) {
        size_t length = strcspn(list, "|");
        if (strlen(value) == length && strncmp(value, list, length) == 0)
            return true;
        list += length;
        if (!*list)
            return false;
    }
}

static int holds(const struct run *run, const char *condition, bool *result)
{
    bool negated = text_starts(condition, "not ");
    condition += negated ? strlen("not ") : 0;
    size_t name = strcspn(condition, "=<");
    const char *value;
    if (value_of(run, condition, name, &value))
        return -1;
    switch (condition[name]) {
    case '=':
        *result = is_one_of(value, condition + name + 1);
        break;
    case '<':
        *result = strtod(value, NULL) < strtod(condition + name + 1, NULL);
        break;
    default:
        *result = *value && !text_equal(value, "0");
    }
    *result = *result != negated;
    return 0;
}

static int run_block(struct run *run, bool active, bool *met_else);

static int run_if(struct run *run, const char *condition, bool active)
{
    bool taken = false, met_else = false;
    if (active && holds(run, condition, &taken))
        return -1;
    if (run_block(run, active && taken, &met_else))
        return -1;
    return met_else ? run_block(run, active && !taken, NULL) : 0;
}

static int run_each(struct run *run, const char *what, bool active)
{
    bool input = text_equal(what, "input");
    if (!input && !text_equal(what, "output"))
        return error_set(run->err, ERROR_FORMAT, "@each input or @each output, not '%s'", what);
    size_t count = !active ? 0 : input ? run->template->n_inputs : run->template->n_outputs;
    size_t start = run->at;
    for (size_t i = 0; i < count && !run->none; i++) {
        run->template->enter(run->template, input, i);
        run->at = start;
        if (run_block(run, true, NULL))
            return -1;
    }
    run->at = start;
    return run_block(run, false, NULL);
}

/* Collects the lines, so that the block ends where they do, whatever they hold. */
static int run_code(struct run *run, const char *language, bool active)
{
    struct str lines, *out = run->out;
    if (run->code || language[strspn(language, "abcdefghijklmnopqrstuvwxyz")])
        return error_set(run->err, ERROR_FORMAT, "@code must read @code LANGUAGE, outside of other code");
    str_init(&lines);
    run->out = &lines;
    run->code = true;
    int status = run_block(run, active, NULL);
    run->out = out;
    run->code = false;
    if (!status && active && !run->none) {
        markdown_block(out, language, lines.data);
        out->data[--out->length] =
            '\0'; /* without the empty line behind it: the template has one where it wants one */
    }
    str_release(&lines);
    return status;
}

static int run_set(struct run *run, const char *rest)
{
    char name[MAX_NAME + 1];
    size_t length = strcspn(rest, " ");
    if (!length || length > MAX_NAME)
        return error_set(run->err, ERROR_FORMAT, "@set must read @set NAME TEXT");
    memcpy(name, rest, length);
    name[length] = '\0';
    rest += length;
    rest += strspn(rest, " ");
    struct str value;
    str_init(&value);
    int status = add_text(run, &value, rest, false);
    if (status == 0)
        template_set(run->template, name, "%s", value.data);
    str_release(&value);
    return status;
}

static int run_text(struct run *run, const char *line)
{
    static const char fence[] = {'`', '`', '`', '\0'};
    size_t length = strlen(line);
    bool joined = length && line[length - 1] == '\\';
    if (!run->code && text_starts(line, fence))
        return error_set(run->err, ERROR_FORMAT, "code stands between @code LANGUAGE and @end");
    if (add_text(run, run->out, line, !run->code))
        return -1;
    if (joined)
        run->out->data[--run->out->length] = '\0';
    else
        str_add(run->out, "\n");
    return 0;
}

/* One line and, where it begins a block, all of that. */
static int run_line(struct run *run, const char *line, bool active)
{
    const char *rest;
    if (directive(line, "if", &rest))
        return run_if(run, rest, active);
    if (directive(line, "each", &rest))
        return run_each(run, rest, active);
    if (directive(line, "code", &rest))
        return run_code(run, rest, active);
    if (!active)
        return 0;
    if (directive(line, "set", &rest))
        return run_set(run, rest);
    if (directive(line, "none", &rest)) {
        run->none = true;
        return 0;
    }
    return run_text(run, line);
}

/* The lines up to the one that ends the block: @end, or the @else of an @if (met_else is then set). Outside
 * of all blocks that is the end of the file. */
static int run_block(struct run *run, bool active, bool *met_else)
{
    const char *rest;
    if (++run->depth > MAX_DEPTH)
        return error_set(run->err, ERROR_LIMIT, "more than %d blocks inside each other", MAX_DEPTH);
    while (run->at < run->count) {
        const char *line = run->lines[run->at++];
        bool ends = directive(line, "end", &rest), turns = directive(line, "else", &rest);
        if ((ends && run->depth == 1) || (turns && !met_else))
            return error_set(run->err, ERROR_FORMAT, "%s without its @if, @each or @code", line);
        if (turns)
            *met_else = true;
        if (ends || turns) {
            run->depth--;
            return 0;
        }
        if (run_line(run, line, active && !run->none))
            return -1;
    }
    return run->depth == 1 ? 0 : error_set(run->err, ERROR_FORMAT, "a block is not ended");
}

/* Cuts the text into lines, in place. */
static char **split(struct arena *arena, char *text, size_t *count)
{
    size_t lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    char **list = arena_array(arena, lines + 1, sizeof *list);
    *count = 0;
    while (*text) {
        list[(*count)++] = text;
        text += strcspn(text, "\n");
        if (*text)
            *text++ = '\0';
    }
    return list;
}

int template_run(struct program_template *template, const char *path, struct str *out, struct error *err)
{
    char *text;
    size_t size, before = out->length;
    if (file_read(path, MAX_FILE, &text, &size, err))
        return -1;
    struct run run = {.template = template, .out = out, .err = err};
    run.lines = split(template->arena, text, &run.count);
    int status = run_block(&run, true, NULL);
    if (status)
        error_prefix(err, "%s:%zu", path, run.at);
    free(text);
    if (status || run.none) {
        out->length = before;
        out->data[before] = '\0';
    }
    return status ? -1 : !run.none;
}
