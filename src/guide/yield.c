#include "guide/yield.h"

#include "base/packed.h"

/* Fewest and most blocks of each kind; 0: a single operator. */
static const struct {
    int64_t fewest, most;
} kinds[YIELD_KINDS] = {{0, 0}, {2, 4}, {5, 15}};

/* Work that every kind is taken to have done before, with one finding: some thousand cases. */
static const double prior_cost = 3000;

/* Of the work, for each kind. */
static const double least_share = 0.05;

/* Far above what a campaign comes to, and sums of any number of them are exact in a double. */
static const uint64_t most_counted = (uint64_t)1 << 48;

/* To load a model costs about as much as one block. */
static double case_cost(size_t blocks)
{
    return 1 + (double)(blocks ? blocks : 1);
}

static double mean_cost(size_t kind)
{
    return (case_cost((size_t)kinds[kind].fewest) + case_cost((size_t)kinds[kind].most)) / 2;
}

static double gain(const struct yield *yield, size_t kind)
{
    double rate = (1 + (double)yield->found[kind]) / (prior_cost + (double)yield->cost[kind]);
    return rate * rate;
}

size_t yield_choose(const struct yield *yield, bool single, struct rng *rng)
{
    size_t first = single ? 0 : 1, kind = first;
    double sum = 0, weights[YIELD_KINDS], all = 0;
    for (size_t i = first; i < YIELD_KINDS; i++)
        sum += gain(yield, i);
    for (size_t i = first; i < YIELD_KINDS; i++) {
        double share = least_share + (1 - least_share * (double)(YIELD_KINDS - first)) * gain(yield, i) / sum;
        all += weights[i] = share / mean_cost(i);
    }
    for (double at = rng_uniform(rng, 0, all) - weights[kind]; at >= 0 && kind + 1 < YIELD_KINDS;
         at -= weights[kind])
        kind++;
    return kind;
}

size_t yield_blocks(size_t kind, struct rng *rng)
{
    return (size_t)rng_range(rng, kinds[kind].fewest, kinds[kind].most);
}

void yield_add_case(struct yield *yield, size_t kind, size_t blocks)
{
    yield->cost[kind] += (uint64_t)case_cost(blocks);
}

void yield_add_found(struct yield *yield, size_t kind)
{
    yield->found[kind]++;
}

void yield_write(const struct yield *yield, const struct yield *before, struct str *out)
{
    for (size_t i = 0; i < YIELD_KINDS; i++) {
        packed_add(out, yield->cost[i] - before->cost[i]);
        packed_add(out, yield->found[i] - before->found[i]);
    }
}

int yield_fold(struct yield *yield, const char **text, struct error *err)
{
    struct yield sum = *yield;
    for (size_t i = 0; i < YIELD_KINDS; i++) {
        uint64_t cost, found;
        if (!packed_take(text, most_counted, &cost) || !packed_take(text, cost, &found) ||
            (sum.cost[i] += cost) > most_counted)
            return error_set(err, ERROR_FORMAT, "the yields of a range are damaged");
        sum.found[i] += found;
    }
    *yield = sum;
    return 0;
}
