/*
 * What steers a search for NaN and infinity: mutations that go where the reference sees danger
 * (search/danger_climb.h), for genomes of inputs, of weights and of both.
 *
 * A measurement evaluates the model once, which takes far longer than a run of an engine. The mutations of
 * the first rounds are therefore leaps, which measure nothing. Later some of them climb, the fewer the larger
 * the model is.
 */
#ifndef CAMPAIGN_SEARCH_DANGER_H
#define CAMPAIGN_SEARCH_DANGER_H

#include "search/danger_climb.h"
#include "search/genome.h"

struct search_danger {
    struct danger_climb climb;
    const struct genome_layout *layout;
    const struct genetic *genetic; /* the population */
    double climbs;                 /* the part of later mutations that climbs */
    struct test_case *test;        /* the genome that was measured last, where weights are genes */
    struct danger_meter *meter;
    bool weights;
    size_t n_seeds; /* those of the layout, and leaps from them */
    const float **seeds;
    float *leaps;
};

/* The layout must outlive it; `genetic` is set by the caller once there is a population. Where the reference
 * does not support the model all mutations are leaps. */
void search_danger_init(struct search_danger *danger, const struct genome_layout *layout,
                        const struct model *model, enum genome_level level);

/* Makes the seeds of a population of this size: those of the layout as they are in its first half, and leaps
 * from them in the other. */
void search_danger_sow(struct search_danger *danger, uint64_t seed, size_t population);

/* A gene_mutation; the context is a struct search_danger. */
void search_danger_mutate(void *danger, struct rng *rng, const float *parent, float *child, size_t n);

void search_danger_release(struct search_danger *danger);

#endif
