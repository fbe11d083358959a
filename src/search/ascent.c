#include "search/ascent.h"

#include <math.h>

void ascent_mutate(void *context, struct rng *rng, const float *parent, float *child, size_t n)
{
    const struct ascent *ascent = context;
    size_t kept = genetic_first_new(ascent->genetic);
    size_t one = kept ? (size_t)rng_below(rng, kept) : 0, two = kept ? (size_t)rng_below(rng, kept) : 0;
    (void)parent;
    if (one == two) {
        gene_leap(&ascent->space, rng, child);
        return;
    }
    /* Kept genomes stand in the order of their fitness, the best first. */
    const float *better = genetic_genome(ascent->genetic, one < two ? one : two);
    const float *worse = genetic_genome(ascent->genetic, one < two ? two : one);
    double step = pow(10, rng_uniform(rng, -1, 1));
    for (size_t i = 0; i < n; i++) {
        double gene = (double)better[i] + step * ((double)better[i] - (double)worse[i]);
        child[i] = gene_limited(gene_stretch_of(&ascent->space, i), gene);
    }
}
