/*
 * The other settings that an engine can be given, from the knobs that it declares: what the rule about
 * settings (rule.h, each_knob) is applied to.
 *
 * For a knob with a list of values ("none|basic|all") these are all values but the present one; for one with
 * a set ("A+B+C") each member alone; for a number ("N", "1..256") 1 and 4. Words in capitals ("PATH", "NAME")
 * stand for texts that cannot be guessed, and are left out.
 */
#ifndef RULES_KNOB_SETTINGS_H
#define RULES_KNOB_SETTINGS_H

#include "engine/knobs.h"
#include "engine/panel.h"

enum { KNOB_PAIRS = 32 };

struct knob_settings {
    /* Knobs about the graph and the schedule, which may not change what the engine can run: "opt=none" each,
     * then at most KNOB_PAIRS pairs of two knobs, "opt=none,threads=4", then members of sets, which are not
     * paired, as they are many and alike. */
    size_t count;
    const char *const *settings;
    /* Knobs that select kernels. With them an engine may refuse more, and may round otherwise by intent. */
    size_t n_kernels;
    const char *const *kernels;
};

/* All settings of the engine that differ from the one at hand in one or two knobs, in the arena. */
struct knob_settings knob_settings(struct arena *arena, const struct engine_spec *spec,
                                   const Assay__Welcome *welcome);

/*
 * The settings of all engines of a panel that have started, each once, in the arena; returns how many.
 * `kernels`: those that select kernels too; `pairs`: those of two knobs too.
 */
size_t knob_settings_of_panel(struct arena *arena, const struct panel *panel, bool kernels, bool pairs,
                              const char *const **settings);

#endif
