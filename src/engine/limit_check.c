#define _GNU_SOURCE
#include "engine/limit_check.h"

#include "base/hash.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Whether the identifier that goes on here is the name of a function, "getMemoryShapes(" or, in quotes,
 * "getMemoryShapes'": what it is called says nothing about memory. */
static bool names_function(const char *text)
{
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return *text == '(' || *text == '\'';
}

static bool speaks_of_memory(const char *text)
{
    static const char *const words[] = {"memory", "alloc"};
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        for (const char *at = strcasestr(text, words[i]); at; at = strcasestr(at + 1, words[i]))
            if (!names_function(at))
                return true;
    return false;
}

bool limit_suspected(const struct result *result)
{
    switch (result->outcome) {
    case OUTCOME_CRASH:
        return true;
    case OUTCOME_UNSUPPORTED:
    case OUTCOME_REJECTED:
    case OUTCOME_FAILED:
        return speaks_of_memory(result->message);
    default:
        return false;
    }
}

enum limit_answer limit_conclude(enum outcome first, const struct limit_look *look)
{
    bool same = look->outcome == first;
    if (look->limited)
        return same ? LIMIT_MEMORY : LIMIT_STANDS; /* else it does not always fail */
    if (look->outcome == OUTCOME_MEMORY)
        return LIMIT_MEMORY;
    return same || look->within || look->outcome == OUTCOME_UNTESTED ? LIMIT_STANDS : LIMIT_AGAIN;
}

struct task *limit_task(const struct task *task, size_t set)
{
    struct job job = task->job;
    if (job.n_sets) {
        job.n_inputs = job.sets[set].n_inputs;
        job.inputs = job.sets[set].inputs;
        job.gradient = job.sets[set].gradient;
        job.n_sets = 0;
        job.sets = NULL;
    }
    struct task *again = memory_zeroed(1, sizeof *again);
    task_init(again, &job);
    return again;
}

static void say_memory(struct result *result, size_t memory)
{
    struct str text;
    str_init(&text);
    str_printf(&text, "needs more than the %zu MB allowed (--memory): %s", memory >> 20,
               result->message ? result->message : "");
    free(result->message);
    result->message = str_detach(&text);
    result->outcome = OUTCOME_MEMORY;
}

size_t limit_blame(struct task *task, size_t set, size_t memory)
{
    bool all = task->results[set].result.stage == STAGE_LOAD;
    enum outcome outcome = task->results[set].result.outcome;
    size_t count = 0;
    for (size_t i = set; i < (all ? task->sets : set + 1); i++) {
        struct result *result = &task->results[i].result;
        if (result->outcome != outcome)
            continue;
        say_memory(result, memory);
        count++;
    }
    return count;
}

uint64_t limit_place(const struct result *result)
{
    uint64_t hash = 0;
    /* Lines as backtrace_symbols_fd writes them: "/lib/libx.so(function+0x1f) [0x7f01]". */
    for (const char *line = result->log; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *end = line + strcspn(line, "\n"),
                   *address = memmem(line, (size_t)(end - line), " [0x", 4);
        if (*line == '/' && address)
            hash = hash_combine(hash_bytes(hash, line, (size_t)(address - line)), (uint64_t)result->signal);
    }
    return hash;
}
