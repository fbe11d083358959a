/*
 * Seeded, splittable random numbers: the only source of randomness in the program.
 *
 * A stream is a plain value: a copy of it yields the same numbers. rng_split derives an independent stream
 * from a stream and a key without advancing the parent, so that (seed, case, tensor, index) gives the same
 * number on every machine, whatever else was drawn before.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rng {
    uint64_t state;
};

struct rng rng_seed(uint64_t seed);
struct rng rng_split(const struct rng *parent, uint64_t key);

uint64_t rng_u64(struct rng *rng);

/* Uniform in [0, n); n must not be 0. */
uint64_t rng_below(struct rng *rng, uint64_t n);

/* Uniform in [low, high], both included. */
int64_t rng_range(struct rng *rng, int64_t low, int64_t high);
/* Fills `order` with 0 ... count - 1 in a random order. */
void rng_order(struct rng *rng, int64_t *order, size_t count);
bool rng_chance(struct rng *rng, double probability);
double rng_unit(struct rng *rng); /* uniform in [0, 1) */
double rng_uniform(struct rng *rng, double low, double high);
double rng_normal(struct rng *rng);
double rng_cauchy(struct rng *rng);

#ifdef __cplusplus
}
#endif
#endif
