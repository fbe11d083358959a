/*
 * What steers a search for NaN and infinity: mutations that go where the reference sees danger
 * (search/danger_climb.h), for genomes of inputs, of weights and of both.
 *
 * A measurement evaluates the model once, which takes far longer than a run of an engine. Most mutations are
 * therefore leaps, which measure nothing, and all of those of large models.
 */
#ifndef CAMPAIGN_SEARCH_DANGER_H
#define CAMPAIGN_SEARCH_DANGER_H

#include "search/danger_climb.h"
#include "search/genome.h"

struct search_danger {
    struct danger_climb climb; /* the context of danger_climb_mutate */
    const struct genome_layout *layout;
    struct test_case *test; /* the genome that was measured last, where weights are genes */
    struct danger_meter *meter;
    bool weights;
};

/* The layout must outlive it. Where the reference does not support the model all mutations are leaps. */
void search_danger_init(struct search_danger *danger, const struct genome_layout *layout,
                        const struct model *model, enum genome_level level);
void search_danger_release(struct search_danger *danger);

#endif
