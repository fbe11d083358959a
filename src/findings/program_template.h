/*
 * Templates of the programs in reports: text with variables, one file an engine (`program` in its registry
 * section). docs/writing-an-engine.md explains the language to those who write one.
 *
 *     @NAME@            the variable's value; unknown names are an error
 *     @set NAME TEXT    sets a variable, whose value may hold others
 *     @if COND          up to @else or @end, where COND holds: NAME, not empty and not 0; NAME=A|B, one of
 * these; NAME<N, as numbers; any of them behind "not"
 *     @each input       up to @end, for every input (or output), whose variables are set anew
 *     @none             there is no such program: the engine's API cannot show this case
 *
 * Such lines are no output. A '\' at the end of a line joins it with the next.
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

/* What a template speaks of. enter sets the variables of element `number` of a list before each turn. */
struct program_template {
    struct arena *arena;
    struct template_variable *variables;
    size_t n_inputs, n_outputs;
    void (*enter)(struct program_template *template, bool input, size_t number);
    const void *context; /* enter's own */
};

void template_set(struct program_template *template, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The value, "" for a variable that starts with "knob." or "type." and is not set, else NULL. */
const char *template_get(const struct program_template *template, const char *name);

/* Appends what the file makes of the variables: 1. 0, and nothing appended, where it says @none. */
int template_run(struct program_template *template, const char *path, struct str *out, struct error *err);

#endif
