#include "base/random.h"

#include "base/hash.h"

#include <math.h>

static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);

struct rng rng_seed(uint64_t seed)
{
    return (struct rng){hash_combine(golden, seed)};
}

struct rng rng_split(const struct rng *parent, uint64_t key)
{
    return (struct rng){hash_combine(parent->state ^ UINT64_C(0xd1b54a32d192ed03), key)};
}

uint64_t rng_u64(struct rng *rng)
{
    rng->state += golden;
    return hash_mix(rng->state);
}

uint64_t rng_below(struct rng *rng, uint64_t n)
{
    /* Rejects the short last interval, so that every value is equally likely. */
    uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t x;
    do
        x = rng_u64(rng);
    while (x >= limit);
    return x % n;
}

int64_t rng_range(struct rng *rng, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)high - (uint64_t)low;
    if (span == UINT64_MAX)
        return (int64_t)rng_u64(rng);
    return (int64_t)((uint64_t)low + rng_below(rng, span + 1));
}

void rng_order(struct rng *rng, int64_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        order[i] = (int64_t)i;
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)rng_below(rng, i);
        int64_t swapped = order[i - 1];
        order[i - 1] = order[k];
        order[k] = swapped;
    }
}

bool rng_chance(struct rng *rng, double probability)
{
    return rng_unit(rng) < probability;
}

double rng_unit(struct rng *rng)
{
    return (double)(rng_u64(rng) >> 11) * 0x1p-53;
}

double rng_uniform(struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_unit(rng);
}

double rng_normal(struct rng *rng)
{
    double u = 1.0 - rng_unit(rng), v = rng_unit(rng);
    return sqrt(-2.0 * log(u)) * cos(2.0 * 3.14159265358979323846 * v);
}

double rng_cauchy(struct rng *rng)
{
    return tan(3.14159265358979323846 * (rng_unit(rng) - 0.5));
}
