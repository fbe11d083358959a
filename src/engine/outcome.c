#include "engine/outcome.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *outcome_name(enum outcome outcome)
{
    static const char *const names[OUTCOME_COUNT] = {
        [OUTCOME_UNTESTED] = "untested",
        [OUTCOME_OK] = "ok",
        [OUTCOME_UNSUPPORTED] = "unsupported",
        [OUTCOME_REJECTED] = "rejected",
        [OUTCOME_FAILED] = "failed",
        [OUTCOME_CRASH] = "crash",
        [OUTCOME_HANG] = "hang",
        [OUTCOME_MEMORY] = "memory",
        [OUTCOME_GARBAGE] = "garbage",
        [OUTCOME_NO_ENGINE] = "no engine",
        [OUTCOME_ADAPTER] = "adapter",
    };
    return outcome < OUTCOME_COUNT ? names[outcome] : "unknown";
}

const char *stage_name(enum stage stage)
{
    static const char *const names[] = {
        [STAGE_NONE] = "none", [STAGE_START] = "start",   [STAGE_LOAD] = "load",
        [STAGE_RUN] = "run",   [STAGE_UNLOAD] = "unload",
    };
    return stage <= STAGE_UNLOAD ? names[stage] : "unknown";
}

void result_init(struct result *result)
{
    *result = (struct result){.outcome = OUTCOME_UNTESTED, .exit_status = -1};
}

/* The end of what stands before the stack that the SDK prints when it crashes or is stopped: frames say
 * little to a person, and what was written before them says why. */
static const char *before_stack(const char *log)
{
    const char *end = log + strlen(log);
    for (const char *at = log; (at = strstr(at, ": stack of the engine\n")); at++)
        for (end = at; end > log && end[-1] != '\n';)
            end--;
    return end;
}

/* The line in which a sanitizer sums its report up; what follows it are maps of memory. NULL: there is none.
 */
static const char *summary(const char *log)
{
    static const char words[] = "SUMMARY: ";
    const char *at = strstr(log, words);
    return at && (at == log || at[-1] == '\n') ? at : NULL;
}

/* Lines joined by " / ", without indentation and empty ones. */
static void add_lines(struct str *out, const char *at, const char *end)
{
    bool first = true;
    while (at < end) {
        size_t length = strcspn(at, "\n");
        const char *stop = at + length < end ? at + length : end, *line = at;
        while (line < stop && isspace((unsigned char)*line))
            line++;
        if (line < stop && !first)
            str_add(out, " / ");
        str_append(out, line, (size_t)(stop - line));
        first = first && line == stop;
        at = stop + 1;
    }
}

void result_last_lines(const char *log, struct str *out)
{
    enum { LINES = 3, MOST = 300 };
    if (!log)
        return;
    const char *end = before_stack(log), *start = summary(log);
    if (start) {
        add_lines(out, start, start + strcspn(start, "\n"));
        return;
    }
    while (end > log && isspace((unsigned char)end[-1]))
        end--;
    int lines = 1;
    for (start = end; start > log && end - start < MOST; start--)
        if (start[-1] == '\n' && lines++ == LINES)
            break;
    while (start < end && ((unsigned char)*start & 0xC0) == 0x80)
        start++; /* cut inside of a character */
    add_lines(out, start, end);
}

void result_add_last_lines(const struct result *result, struct str *out)
{
    struct str lines;
    str_init(&lines);
    result_last_lines(result->log, &lines);
    if (lines.length)
        str_printf(out, "; last on stderr: %s", lines.data);
    str_release(&lines);
}

void result_words(const struct result *result, struct str *out)
{
    str_add(out, result->message && *result->message ? result->message : outcome_name(result->outcome));
    result_add_last_lines(result, out);
}

void result_release(struct result *result)
{
    free(result->message);
    free(result->log);
    for (size_t i = 0; result->borrowed && result->borrowed[i]; i++)
        free(result->borrowed[i]);
    free(result->borrowed);
    trace_free(result->trace);
    wire_bounds_free(result->bounds, result->count);
    if (result->outputs)
        values_free(result->outputs, result->count);
    result_init(result);
}
