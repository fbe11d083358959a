/*
 * What an engine's knobs choose: kernels, the form of the graph, or the schedule. The engine declares the
 * kind of each knob (KnobInfo in engine.proto).
 *
 * Two engines of one release that select the same kernels have the same operators and types, whatever they do
 * to the graph and however they schedule it. So neither may call unsupported what the other runs. Nothing
 * follows between engines that select different kernels. A knob whose kind the engine does not declare, or
 * that is passed as an environment variable, counts as selecting kernels; those of every engine do not.
 */
#ifndef ENGINE_KNOBS_H
#define ENGINE_KNOBS_H

#include "engine/registry.h"
#include "engine/wire.h"

/* The knobs that select kernels and do not have their default values, sorted by name: "impl=ref,isa=avx2". ""
 * when there are none. */
char *knobs_kernels(struct arena *arena, const struct engine_spec *spec, const Assay__Welcome *welcome);

/* Whether the engine runs graphs as they are written: every knob that transforms the graph has its plain
 * value. */
bool knobs_are_plain(const struct engine_spec *spec, const Assay__Welcome *welcome);

/* The value of a knob that the engine declares: as given, the last one where it is given twice; else its
 * default. */
const char *knobs_value(const struct engine_spec *spec, const Assay__KnobInfo *info);

/* Whether the engine knows all knobs that the spec gives it in hello, and lists their values. Says which it
 * does not. */
int knobs_check(const struct engine_spec *spec, const Assay__Welcome *welcome, struct error *err);

/* The plain setting of the engine: the same kernels, the graph as it is written, all other knobs at their
 * defaults. Knobs and label are in the arena; everything else is shared with `spec`. */
const struct engine_spec *knobs_plain(struct arena *arena, const struct engine_spec *spec,
                                      const Assay__Welcome *welcome);

/* Whether a listed value ("NAME", "N", "PATH") is only a word for what the user writes: it is all capitals.
 */
bool knobs_stands_for_text(const char *text, size_t length);

#endif
