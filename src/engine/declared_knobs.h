/*
 * What an engine's file declares about its knobs (docs/engines.md):
 *
 *     knob.opt = graph none|basic|extended|all
 *     knob.threads = schedule 1..256
 *     knob.cpu = kernels SSE4.2+AVX+AVX2
 *     knob.fault = kernels none|{word}
 *     knob.save = file
 *
 * The first word says what the knob chooses: kernels, graph or schedule, as in KnobInfo of engine.proto, or
 * file, which is the path of a file that the engine writes. Behind the first three stands the closed set of
 * values that a foreign label (engine/given_label.h) may give the knob: one of those with | between; any of
 * those with + between, joined by + , or ; or none of them. N..M is a range of whole numbers, and {word} a
 * name that the engine finds in a list of its own: letters, digits, _ : and -, so that it is no path.
 *
 * A knob that is not declared, and one that is a file, is the user's own.
 */
#ifndef ENGINE_DECLARED_KNOBS_H
#define ENGINE_DECLARED_KNOBS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum knob_choice { CHOOSES_KERNELS, CHOOSES_GRAPH, CHOOSES_SCHEDULE, CHOOSES_FILE };

/* A list, the last line first. Strings live in the arena. */
struct declared_knob {
    const char *name;
    enum knob_choice choice;
    const char *values; /* "" for a file */
    struct declared_knob *next;
};

/* Puts what a line declares before the list, which others may share: `text` is what stands behind the =.
 * Fails with ERROR_FORMAT. */
int declared_knobs_add(struct declared_knob **list, struct arena *arena, const char *name, const char *text,
                       struct error *err);

/* NULL when it is not declared. */
const struct declared_knob *declared_knobs_find(const struct declared_knob *list, const char *name);

/* Whether anybody may give the knob this value. */
bool declared_knobs_allow(const struct declared_knob *list, const char *name, const char *value);

/* Fails when not, with a sentence that names the engine, the knob and its source, and says what to do. */
int declared_knobs_check(const struct declared_knob *list, const char *engine, const char *name,
                         const char *value, const char *source, struct error *err);

#ifdef __cplusplus
}
#endif
#endif
