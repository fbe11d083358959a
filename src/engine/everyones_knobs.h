/*
 * Knobs of every engine, which leave its kernels as they are and go into its environment.
 *
 *     perturb=N      memory is filled with a pattern when it is allocated (the complement of N, 1 to 255) and
 *                    freed (N), small pieces too
 *     freed=kept     the C library keeps what is freed, so that large pieces are used again as well
 *     guard=on       inputs and what the engine allocates lie at the end of memory, and what was freed is
 *                    out of reach (engines/sdk/guarded_memory.c)
 *     guard=before   the same at the beginning of memory
 *     memcheck=on    the adapter, which must be in C or C++, runs in valgrind, and outputs made of memory
 *                    that nobody wrote are a failure whose message begins with WIRE_MEMCHECK
 */
#ifndef ENGINE_EVERYONES_KNOBS_H
#define ENGINE_EVERYONES_KNOBS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

#define KNOB_PERTURB "perturb"
#define KNOB_MEMCHECK "memcheck"

/* How a line begins that an engine between guards leaves on its stderr: how it reached beside its memory. */
#define GUARD_SAYS "guard: "

struct engine_spec;

/* One knob with one value, or with any number, which is the text itself then. */
struct everyones_knob {
    const char *name, *value; /* value: NULL: a number from 1 to 255 */
    const char *variable;     /* of the environment; NULL: none */
    const char *text;         /* what the variable is set to; NULL: the value */
};

bool knob_is_everyones(const char *name, size_t length);

/* What the knob means with this value; NULL when it has no such value. */
const struct everyones_knob *everyones_knob(const char *name, const char *value);

/* The values of a knob, in words: "on or off". */
const char *everyones_values(const char *name);

/* How many times as long an engine with these knobs may take ("NAME=value", NULL-terminated; NULL: none). */
double everyones_patience(const char *const *knobs);

/* Adds the variables ("NAME=value", each behind a 0 byte) that the knobs ask for beyond their own. The knobs
 * are "NAME=value", NULL-terminated. */
void everyones_environment(const char *const *knobs, const char *libexec, struct str *environment);

/* Puts the program before the engine's command that its knobs ask for. */
int everyones_command(struct engine_spec *spec, struct arena *arena, struct error *err);

#endif
