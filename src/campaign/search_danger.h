/*
 * What steers a search for NaN and infinity: mutations that go where the reference sees danger
 * (search/danger_climb.h), for genomes of inputs, of weights and of both.
 *
 * A measurement evaluates the model once, which takes far longer than a run of an engine. The first
 * generations are therefore made by leaps alone, which measure nothing, and large models are measured seldom.
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
    double leaps; /* of the mutations, after the first generations */
};

/* The layout must outlive it. Where the reference does not support the model all mutations are leaps. */
void search_danger_init(struct search_danger *danger, const struct genome_layout *layout,
                        const struct model *model, enum genome_level level);

/* To be called before a generation is bred; rounds are counted from 0. */
void search_danger_begin(struct search_danger *danger, uint64_t round);
void search_danger_release(struct search_danger *danger);

#endif
