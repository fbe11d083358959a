/*
 * A mutation that goes where it is dangerous: towards NaN, infinity or a jump inside the model, as the
 * reference sees them (danger.h).
 *
 * It either leaps or climbs. A leap sets some or all genes to numbers of one size, up to the largest that
 * they may have. A climb chooses one kind of danger at one node, the nearer the likelier, and changes genes
 * by groups: by adding, multiplying, turning signs. What brings the value nearer is kept and repeated with
 * twice the step; what does not is undone. Where the value is a known distance away from a pole or from the
 * end of a domain, the step that should lead there is taken from the last two measurements.
 *
 * The child is a function of the parent and the random numbers alone.
 */
#ifndef SEARCH_DANGER_CLIMB_H
#define SEARCH_DANGER_CLIMB_H

#include "search/danger.h"
#include "search/genetic.h"

enum { DANGER_CLIMB_MEASURES = 12 };

struct danger_climb {
    /* Measures the genome with the meter. Fails when the reference cannot evaluate it. */
    int (*measure)(void *context, const float *genes, struct danger *danger);
    void *context;
    const struct danger_meter *meter;
    size_t n_stretches; /* those of the population */
    const struct gene_stretch *stretches;
    size_t measures; /* most measurements of one climb; 0: DANGER_CLIMB_MEASURES */
    double leaps;    /* how many mutations are leaps, 0 to 1; exactly 0: half of them, below: none */
};

/* A gene_mutation; the context is a struct danger_climb. */
void danger_climb_mutate(void *climb, struct rng *rng, const float *parent, float *child, size_t n);

#endif
