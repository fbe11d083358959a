/* What a campaign learns about its engines before it starts: what they lack, and what a probe found. */
#ifndef CAMPAIGN_FUZZ_PROBE_H
#define CAMPAIGN_FUZZ_PROBE_H

#include "campaign/fuzz.h"

struct fuzz_probe {
    size_t n_engines;
    struct probe_support **lacks; /* one for each engine */
    struct probe_support *all_lack;
    char **recipes; /* of what the probe did not see answered, each once: the campaign runs them first */
    size_t n_recipes, recipes_capacity;
    size_t failures; /* those of them that are no lacks */
};

/*
 * For each engine takes the results that an earlier start saved in the campaign's folder; else those that
 * `assay probe` kept for this label, or for the same release without knobs; else those of a quick probe now.
 * They are then saved in the campaign's folder, because its cases depend on them. Without options->probe only
 * what the engines declare is taken, and saved.
 */
int fuzz_probe_load(struct fuzz_probe *probe, const struct fuzz_options *options, const struct folder *folder,
                    struct error *err);

/*
 * The same for a campaign of many workers: the results that the first worker had are kept in the store, and
 * all others take them from there, as the cases must not depend on who makes them.
 */
int fuzz_probe_share(struct fuzz_probe *probe, const struct fuzz_options *options,
                     const struct folder *folder, struct store *store, struct error *err);
void fuzz_probe_release(struct fuzz_probe *probe);

#endif
