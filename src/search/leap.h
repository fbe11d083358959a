/*
 * Groups of genes, and leaps: some or all genes are set to numbers of one size, up to the largest that they
 * may have.
 */
#ifndef SEARCH_LEAP_H
#define SEARCH_LEAP_H

#include "search/genetic.h"

/* The genes of a population: its stretches, borrowed, and how many genes they have together. */
struct gene_space {
    size_t n_stretches;
    const struct gene_stretch *stretches;
    size_t length;
};

/* Every step-th gene of a run of genes. */
struct gene_group {
    size_t first, count, step;
};

const struct gene_stretch *gene_stretch_of(const struct gene_space *space, size_t gene);

/* The nearest that the gene may be; NaN counts as 0. */
float gene_limited(const struct gene_stretch *stretch, double gene);

/* All genes, those of one stretch, a run of them, every few of a run, or one. */
struct gene_group gene_group_draw(const struct gene_space *space, struct rng *rng);

/* A size for a group: the largest that its genes may have, one between 1e-6 and that, or a moderate one, with
 * which an engine may break where the reference does not. */
double gene_size_draw(const struct gene_space *space, const struct gene_group *group, struct rng *rng);

/* Changes the genes of a child. */
void gene_leap(const struct gene_space *space, struct rng *rng, float *child);

#endif
