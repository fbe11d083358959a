/*
 * A mutation that goes on where the fitness rose: from a kept genome to a fitter one, and beyond.
 *
 * It needs nothing but the fitness of what was kept, so it serves goals whose value only a run of the engines
 * tells, such as how far an answer is beyond its bound. Of two kept genomes the difference is taken, and a
 * part of it or a multiple is added to the fitter one. Some mutations are leaps (leap.h), which bring in what
 * no kept genome has.
 */
#ifndef SEARCH_ASCENT_H
#define SEARCH_ASCENT_H

#include "search/leap.h"

struct ascent {
    struct gene_space space;
    const struct genetic *genetic; /* set by the caller once there is a population */
};

/* A gene_mutation; the context is a struct ascent. */
void ascent_mutate(void *ascent, struct rng *rng, const float *parent, float *child, size_t n);

#endif
