/*
 * What steers a search for engines that differ in the top class: the place where two classes change.
 *
 * Between two genomes with different top classes the two classes change places. A child is put where they
 * would be equal if the logits changed evenly on the way; repeated, this is the secant method. What is known
 * are the logits of the seeds and of the genomes that were kept.
 */
#ifndef CAMPAIGN_SEARCH_SECANT_H
#define CAMPAIGN_SEARCH_SECANT_H

#include "campaign/search_fitness.h"
#include "search/genetic.h"
#include "search/genome.h"

/* The logits of a genome, as far as they are known. */
struct known_logits {
    size_t count; /* at most SEARCH_LOGITS; 0: not known */
    double *values;
};

struct search_secant {
    const struct genome_layout *layout;
    const struct genetic *genetic;
    struct known_logits *of_slot; /* by the genome's slot in the population */
    struct known_logits *of_seed;
};

/* Both are borrowed. */
void search_secant_init(struct search_secant *secant, const struct genome_layout *layout,
                        const struct genetic *genetic);
void search_secant_release(struct search_secant *secant); /* also of one that was zeroed */

/* Remembers what was seen of a genome of this round; takes over its logits. */
void search_secant_learn(struct search_secant *secant, size_t genome, struct search_seen *seen);

/* A gene_mutation; the context is a struct search_secant. */
void search_secant_mutate(void *secant, struct rng *rng, const float *parent, float *child, size_t n);

/* What is known at the start of a round, as text. It is read before the population, whose new genomes are
 * made with it; reading checks the text and moves it on. */
void search_secant_write(const struct search_secant *secant, struct str *out);
bool search_secant_read(struct search_secant *secant, const char **text);

#endif
