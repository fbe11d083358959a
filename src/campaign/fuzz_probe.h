/* What a campaign knows of its engines beforehand: what they lack, and what was found while asking. */
#ifndef CAMPAIGN_FUZZ_PROBE_H
#define CAMPAIGN_FUZZ_PROBE_H

#include "campaign/fuzz.h"

struct fuzz_probe {
    size_t n_engines;
    struct probe_support **lacks; /* one an engine */
    struct probe_support *all_lack;
    char **recipes; /* of cases on which an engine did not pass, each once */
    size_t n_recipes, recipes_capacity;
};

/*
 * Of each engine what an earlier start kept in the campaign's folder; else what `assay probe` has kept, of
 * that very name or of the same release without settings; else what a quick probe tells now. It is then kept
 * in the campaign's folder, for its cases depend on it.
 */
int fuzz_probe_load(struct fuzz_probe *probe, const struct fuzz_options *options, struct error *err);
void fuzz_probe_release(struct fuzz_probe *probe);

#endif
