/*
 * What the settings of an engine choose, by the kinds that it declares (KnobInfo in engine.proto).
 *
 * Two engines of one release that select the same kernels have the same operators and types, whatever they do
 * to the graph and however they schedule it. So what one of them runs the other may not lack; between engines
 * that select other kernels nothing follows. A knob of which the engine says nothing, and one that goes into
 * the environment, counts as selecting kernels.
 */
#ifndef ENGINE_KNOBS_H
#define ENGINE_KNOBS_H

#include "engine/registry.h"
#include "engine/wire.h"

/* The settings that select kernels and are not the defaults, as "impl=ref,isa=avx2", by name; "" for none. */
char *knobs_kernels(struct arena *arena, const struct engine_spec *spec, const Assay__Welcome *welcome);

/* Whether the engine runs graphs as they are: every knob that transforms them has its plain value. */
bool knobs_are_plain(const struct engine_spec *spec, const Assay__Welcome *welcome);

/* The same kernels with the graph as it is, the rest at its defaults. All but the knobs and the label is the
 * spec's own. */
const struct engine_spec *knobs_plain(struct arena *arena, const struct engine_spec *spec,
                                      const Assay__Welcome *welcome);

#endif
