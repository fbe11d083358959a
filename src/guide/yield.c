#include "guide/yield.h"

#include "base/packed.h"
#include "ops/draw.h"

/* Fewest and most blocks of each kind; 0: a single operator. */
static const struct {
    int64_t fewest, most;
} kinds[YIELD_KINDS] = {{0, 0}, {2, 4}, {5, 15}};

/*
 * Of each factor: the work that every arm is taken to have done before, in which it had findings in these
 * proportions (NULL: one finding each), and the part of the work that is shared equally.
 */
static const struct {
    size_t arms;
    double prior_cost, equal;
    const double *prior;
} factors[YIELD_FACTORS] = {
    [YIELD_KIND] = {YIELD_KINDS, 1500, 0.15, (const double[]){1.5, 1.2, 1}},
    [YIELD_OPSET] = {YIELD_OPSETS, 1500, 0.2, NULL},
    [YIELD_TYPES] = {YIELD_TYPES_ARMS, 1000, 0.2, (const double[]){1.5, 1, 1, 1, 1, 1}},
    [YIELD_SIZES] = {SIZES_COUNT, 1500, 0.2, (const double[]){1.5, 1, 0.7, 0.7}},
    [YIELD_CONSTANTS] = {CONSTANTS_COUNT, 1500, 0.2, (const double[]){1.5, 1, 1}},
    [YIELD_FILL] = {FILL_COUNT, 1500, 0.2, NULL},
    [YIELD_OPERATOR] = {YIELD_OPERATORS, 60, 0.3, NULL},
};

/* Far above what a campaign comes to, and sums of any number of them are exact in a double. */
static const uint64_t most_counted = (uint64_t)1 << 48;

size_t yield_arms(enum yield_factor factor)
{
    return factors[factor].arms;
}

static size_t first_arm(enum yield_factor factor)
{
    size_t first = 0;
    for (int i = 0; i < (int)factor; i++)
        first += factors[i].arms;
    return first;
}

/* To load a model costs about as much as one block. */
static double case_cost(size_t blocks)
{
    return 1 + (double)(blocks ? blocks : 1);
}

/* Of a case of the arm: kinds differ in their number of blocks. */
static double mean_cost(enum yield_factor factor, size_t arm)
{
    if (factor != YIELD_KIND)
        return 1;
    return (case_cost((size_t)kinds[arm].fewest) + case_cost((size_t)kinds[arm].most)) / 2;
}

static double gain(const struct yield *yield, enum yield_factor factor, size_t arm)
{
    size_t at = first_arm(factor) + arm;
    double prior = factors[factor].prior ? factors[factor].prior[arm] : 1;
    double rate = (prior + (double)yield->found[at] / YIELD_FULL) /
                  (factors[factor].prior_cost + (double)yield->cost[at]);
    return rate * rate;
}

size_t yield_choose(const struct yield *yield, enum yield_factor factor, const bool *allowed, struct rng *rng)
{
    size_t arms = factors[factor].arms, n = 0, chosen = 0;
    double sum = 0, all = 0, weights[YIELD_OPERATORS];
    for (size_t i = 0; i < arms; i++)
        if (allowed[i]) {
            sum += gain(yield, factor, i);
            n++;
        }
    for (size_t i = 0; i < arms; i++) {
        double equal = factors[factor].equal, share = 0;
        if (allowed[i])
            share = equal / (double)n + (1 - equal) * gain(yield, factor, i) / sum;
        all += weights[i] = share / mean_cost(factor, i);
    }
    double at = rng_uniform(rng, 0, all);
    for (size_t i = 0; i < arms; i++)
        if (allowed[i]) {
            chosen = i;
            if ((at -= weights[i]) < 0)
                break;
        }
    return chosen;
}

size_t yield_blocks(size_t kind, struct rng *rng)
{
    return (size_t)rng_range(rng, kinds[kind].fewest, kinds[kind].most);
}

static void add(uint64_t *counts, const struct yield_choice *choice, uint64_t more)
{
    for (int i = 0; i < YIELD_FACTORS; i++)
        if (i == YIELD_KIND || choice->arm[YIELD_KIND] == KIND_SINGLE)
            counts[first_arm((enum yield_factor)i) + choice->arm[i]] += more;
}

void yield_add_case(struct yield *yield, const struct yield_choice *choice, size_t blocks)
{
    add(yield->cost, choice, (uint64_t)case_cost(blocks));
}

void yield_add_found(struct yield *yield, const struct yield_choice *choice)
{
    size_t row = first_arm(YIELD_OPERATOR) + choice->arm[YIELD_OPERATOR];
    bool single = choice->arm[YIELD_KIND] == KIND_SINGLE;
    add(yield->found, choice, single ? YIELD_FULL / (1 + yield->found[row] / YIELD_FULL) : YIELD_FULL);
}

/* So many cases that no engine took, and none that one took, say that there are none. */
enum { LACKING = 2 };

static size_t pair(size_t operator, enum yield_factor factor, size_t arm)
{
    return operator*(YIELD_TYPES_ARMS + YIELD_OPSETS) + (factor == YIELD_OPSET ? YIELD_TYPES_ARMS : 0) + arm;
}

void yield_add_answer(struct yield *yield, const struct yield_choice *choice, bool taken)
{
    uint64_t *counts = taken ? yield->taken : yield->lacked;
    size_t row = choice->arm[YIELD_OPERATOR];
    if (choice->arm[YIELD_KIND] != KIND_SINGLE)
        return;
    counts[pair(row, YIELD_TYPES, choice->arm[YIELD_TYPES])]++;
    counts[pair(row, YIELD_OPSET, choice->arm[YIELD_OPSET])]++;
}

bool yield_is_there(const struct yield *yield, size_t operator, enum yield_factor factor, size_t arm)
{
    size_t at = pair(operator, factor, arm);
    return yield->taken[at] || yield->lacked[at] < LACKING;
}

void yield_write(const struct yield *yield, const struct yield *before, struct str *out)
{
    for (size_t i = 0; i < YIELD_ARMS + YIELD_OPERATORS; i++) {
        packed_add(out, yield->cost[i] - before->cost[i]);
        packed_add(out, yield->found[i] - before->found[i]);
    }
    /* Pairs that were drawn, each with its distance from the one before; 0 ends them. */
    for (size_t i = 0, last = 0; i < YIELD_PAIRS; i++) {
        uint64_t lacked = yield->lacked[i] - before->lacked[i], taken = yield->taken[i] - before->taken[i];
        if (!lacked && !taken)
            continue;
        packed_add(out, i + 1 - last);
        packed_add(out, lacked);
        packed_add(out, taken);
        last = i + 1;
    }
    packed_add(out, 0);
}

static bool fold_pairs(struct yield *sum, const char **text)
{
    uint64_t distance, lacked, taken;
    for (uint64_t next = 0;; next += distance) {
        if (!packed_take(text, YIELD_PAIRS - next, &distance))
            return false;
        if (!distance)
            return true;
        size_t at = (size_t)(next + distance - 1);
        if (!packed_take(text, most_counted - sum->lacked[at], &lacked) ||
            !packed_take(text, most_counted - sum->taken[at], &taken))
            return false;
        sum->lacked[at] += lacked;
        sum->taken[at] += taken;
    }
}

int yield_fold(struct yield *yield, const char **text, struct error *err)
{
    struct yield sum = *yield;
    for (size_t i = 0; i < YIELD_ARMS + YIELD_OPERATORS; i++) {
        uint64_t cost, found;
        if (!packed_take(text, most_counted / YIELD_FULL, &cost) ||
            !packed_take(text, cost * YIELD_FULL, &found) || (sum.cost[i] += cost) > most_counted)
            return error_set(err, ERROR_FORMAT, "the yields of a range are damaged");
        sum.found[i] += found;
    }
    if (!fold_pairs(&sum, text))
        return error_set(err, ERROR_FORMAT, "the yields of a range are damaged");
    *yield = sum;
    return 0;
}
