/* The state of a search (campaign/search_source.h): the models with their populations, and whose turn it is.
 * Only the source and its snapshot know it. */
#ifndef CAMPAIGN_SEARCH_STATE_H
#define CAMPAIGN_SEARCH_STATE_H

#include "campaign/fuzz.h"
#include "campaign/search_danger.h"
#include "campaign/search_secant.h"
#include "campaign/search_source.h"
#include "search/ascent.h"
#include "search/variant.h"

enum { SEARCH_SUSPECTS = 3 }; /* of a generation that are run again */

struct searched {
    struct search_source *source;
    const struct search_seed *seed;
    char name[60];
    struct variant_seed *variants; /* on the level of the network; else NULL, and there are: */
    struct genome_layout *layout;
    struct genetic *genetic;
    /* What steers the search; by the goal, one of them does. */
    struct search_danger danger;
    struct search_secant secant;
    struct ascent ascent;
    bool stacked;
    size_t failed_stacks;
    double local_best; /* of the population since its last fresh noise */
    uint64_t idle, stuck,
        due; /* generations without a better genome, ever and of this population; when its next turn is */
    struct search_figures figures;
    bool reaching;  /* the goal was reached for the first time in this generation, */
    size_t reached; /* by this genome */
};

struct search_suspect {
    size_t genome;
    double weight;
};

struct search_source {
    struct search_source_options options;
    uint64_t seed, island; /* of the whole campaign, and which of its islands this is */
    const struct panel *panel;
    const struct folder *folder;
    size_t n_models;
    struct searched *models;
    size_t turn;    /* the model whose generation is at hand */
    uint64_t clock; /* generations of all models */
    bool alone;     /* the generation is run again genome by genome, as its stack failed */
    bool stack_failed;
    bool judging; /* the range at hand is that of the suspects */
    size_t n_suspects;
    struct search_suspect suspects[SEARCH_SUSPECTS];
    size_t futile;      /* suspects in a row that were nothing new */
    unsigned snapshots; /* that were written */
};

#endif
