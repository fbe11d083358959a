/*
 * Templates of the programs in reports: text with variables, one file for each engine (`program` in its
 * registry section). docs/writing-an-engine.md explains the language to those who write one.
 *
 *     @NAME@            the variable's value; unknown names are an error
 *     @set NAME TEXT    sets a variable; TEXT may contain other variables
 *     @if COND          keeps the lines up to @else or @end if COND holds, else those after @else
 *     @each input       repeats the lines up to @end for every input (or output), with its variables set
 *     @code LANGUAGE    the lines up to @end are a block of code, whatever the values in it
 *     @none             there is no program: the engine's API cannot show this case
 *
 * COND is NAME (its value is neither empty nor 0), NAME=A|B (its value is one of these) or NAME<N (compared
 * as numbers); "not" before it negates it. Lines with a directive are not output. A '\' at the end of a line
 * joins it with the next.
 */
#ifndef FINDINGS_PROGRAM_TEMPLATE_H
#define FINDINGS_PROGRAM_TEMPLATE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

struct template_variable {
    const char *name, *value;
    struct template_variable *next;
};

/* What a template is filled in with. @each calls `enter` to set the variables of input or output `number`. */
struct program_template {
    struct arena *arena;
    struct template_variable *variables;
    size_t n_inputs, n_outputs;
    void (*enter)(struct program_template *template, bool input, size_t number);
    const void *context; /* for enter */
};

/* Sets a variable to formatted text, which is copied into the arena. */
void template_set(struct program_template *template, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns a variable's value. One that is not set is "" if it starts with "knob.", "type." or "source.",
 * else NULL. */
const char *template_get(const struct program_template *template, const char *name);

/*
 * Fills in the template in the file `path`. Returns 1 and appends the program, returns 0 and appends nothing
 * if the template says @none, or returns -1 with an error if it cannot be read or is wrong.
 */
int template_run(struct program_template *template, const char *path, struct str *out, struct error *err);

#endif
