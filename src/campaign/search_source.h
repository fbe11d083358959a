/*
 * Cases that a search breeds: inputs, weights or both are changed until engines part or an answer breaks
 * (Guo et al., Audee, ASE 2020).
 *
 * A range of the campaign is one generation of one model. Where only inputs are changed, the model's first
 * dimension is open and samples do not influence each other, a generation is one stack, which each engine
 * runs once; else each genome is a case. A generation is only looked at. What looks like a finding in it is
 * run again in the range behind it, each genome alone, as an ordinary case that is judged, settled and
 * recorded. So a finding never depends on what else was in a stack.
 *
 * The reference takes most of the time. Where the goal can be seen without it, it is asked only about genomes
 * on which engines differ by more than ONNX's own tests allow or give NaN, and about the fittest of one
 * generation in eight.
 *
 * On the level of the network nothing is bred: a range is so many variants of a model (search/variant.h),
 * every other one illegal, and each is an ordinary case.
 *
 * Models take turns. One whose best fitness has not risen for some generations gets its turn less often; one
 * whose population is stuck begins again with fresh noise.
 */
#ifndef CAMPAIGN_SEARCH_SOURCE_H
#define CAMPAIGN_SEARCH_SOURCE_H

#include "campaign/case_source.h"
#include "campaign/search_fitness.h"
#include "search/genome.h"

/* One model to search from. */
struct search_seed {
    const char *path; /* as the user named it */
    const struct model *model;
    const struct inputs *inputs;
};

/* Which variants of a network: legal and illegal ones in turns, or those of one kind. */
enum search_variants { SEARCH_VARIANTS_BOTH = 0, SEARCH_VARIANTS_LEGAL, SEARCH_VARIANTS_ILLEGAL };

enum search_limits { SEARCH_LIMITS_DATA, SEARCH_LIMITS_TYPE };

struct search_source_options {
    uint64_t seed;
    enum search_goal goal;
    enum search_fitness fitness;
    bool network; /* change the parameters of nodes (search/variant.h) instead of the numbers of `level` */
    enum search_variants variants; /* of the network */
    enum genome_level level;
    enum search_limits limits;
    size_t population; /* 2 to FUZZ_RANGE; 0: GENETIC_POPULATION */
    struct search_breeding {
        size_t kept;      /* m of the paper: those that live on; 0: a quarter of the population */
        double crossover; /* r1; 0: 0.5 */
        double mutation;  /* r2; 0: 0.8 */
    } breeding;
    size_t n_models;
    const struct search_seed *models; /* borrowed; n_models of them */
    bool until_reached;               /* a model on which the goal is reached is not searched any more */
};

/* The options in one line, by which a campaign recognises itself. */
void search_source_describe(const struct search_source_options *options, struct str *out);

/*
 * Cases on the engines of the panel, whose reference is asked whether samples may be stacked. The case in
 * which a model first reaches the goal is kept in `folder`.
 */
int search_source_new(struct case_source *source, const struct search_source_options *options,
                      const struct panel *panel, const struct folder *folder, struct error *err);

#endif
