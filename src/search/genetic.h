/*
 * A population of genomes that is bred towards a high fitness (Guo et al., Audee, ASE 2020, algorithm 1).
 *
 * A genome is a flat vector of floats, all of the same length. The first population is a seed genome with
 * Cauchy noise, the first of its genomes without. After every genome was given its fitness, a round keeps the
 * best of them and replaces the others: each new genome takes its genes at random from two of the kept ones,
 * and may then be mutated by Cauchy noise or by the caller's function.
 *
 * Everything is a function of the settings, the seed and the fitness values: nothing here reads a clock.
 * Genes are always finite and inside the limits of their stretch, whatever a seed or a caller's function
 * holds. The paper does not say which sizes and rates it used; the defaults are ours.
 */
#ifndef SEARCH_GENETIC_H
#define SEARCH_GENETIC_H

#include "base/error.h"
#include "base/random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GENETIC_POPULATION = 24, GENETIC_KEPT = 6, GENETIC_MOST = 1024 };

/* The most genes that all genomes of a population may have together. */
#define GENETIC_MOST_GENES ((size_t)1 << 26)

/* Consecutive genes with the same limits, such as those of one tensor. */
struct gene_stretch {
    size_t count;
    float low, high; /* finite, low <= high */
    float scale;     /* of the Cauchy noise: the half-width of its middle half */
};

/* Makes a child of a parent, both with n genes; the child holds a copy of the parent at the call. */
typedef void gene_mutation(void *context, struct rng *rng, const float *parent, float *child, size_t n);

struct genetic_settings {
    uint64_t seed;
    size_t population; /* n; 0: GENETIC_POPULATION */
    size_t kept;       /* m, below n; 0: a quarter of n, at least 1 */
    double crossover;  /* r1: the chance of a gene to come from the first parent; 0: 0.5 */
    double mutation;   /* r2: the chance of a new genome to be mutated; 0: 0.8 */
    /*
     * A mutation changes every gene, as in the paper. Otherwise the part of the genes that it changes and the
     * scale of its noise are drawn for each mutation, over all orders of magnitude.
     */
    bool every_gene;
    gene_mutation *guided; /* NULL: noise only */
    void *context;
    double guided_share; /* of the mutations that `guided` makes; 0: 0.5 */
};

struct genetic;

/*
 * Seeds are copied and used in turn; each has as many genes as the stretches together. Fails with
 * ERROR_USAGE for settings or limits that make no sense, with ERROR_LIMIT for too many genes.
 */
int genetic_new(struct genetic **genetic, const struct genetic_settings *settings, size_t n_stretches,
                const struct gene_stretch *stretches, size_t n_seeds, const float *const *seeds,
                struct error *err);
void genetic_free(struct genetic *genetic);

size_t genetic_population(const struct genetic *genetic);
uint64_t genetic_round(const struct genetic *genetic);

const float *genetic_genome(const struct genetic *genetic, size_t number);

/* The place of a genome in memory, below the population. A genome that is kept has the same place in the next
 * round, whatever its number there, so that a caller can remember something about it. */
size_t genetic_slot(const struct genetic *genetic, size_t number);

/* The first genome that is new in this round: those before it were kept and have their fitness. */
size_t genetic_first_new(const struct genetic *genetic);

/* Gives a genome its fitness; a genome without one, or with NaN, is the worst. Infinity is the best. */
void genetic_rate(struct genetic *genetic, size_t number, double fitness);
double genetic_fitness(const struct genetic *genetic, size_t number); /* -INFINITY: none */

/* The number of the fittest genome, the first of equals. */
size_t genetic_best(const struct genetic *genetic);

/* The next round. Kept genomes come first, the fittest at number 0. */
void genetic_next(struct genetic *genetic);

/* A round of fresh noise on the seeds: nothing is kept. A random search does only this. */
void genetic_restart(struct genetic *genetic);

/*
 * The state at the start of a round, as text without the seeds and settings: what was kept, with its fitness.
 * genetic_read makes the same round of it in a population with the same settings and seeds. It checks all
 * that it reads, and fails with ERROR_FORMAT.
 */
struct str;
void genetic_write(const struct genetic *genetic, struct str *out);
int genetic_read(struct genetic *genetic, const char **text, struct error *err);

#endif
