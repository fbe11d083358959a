#include "campaign/search_fitness.h"

#include "base/memory.h"
#include "judge/metrics.h"

#include <math.h>
#include <stdlib.h>

/* Smaller confidences count as this: below it engines may give 0, and the logarithm would tell them apart by
 * what means nothing. */
#define LEAST_CONFIDENCE 1e-30

const char *search_goal_name(enum search_goal goal)
{
    static const char *const names[] = {
        [SEARCH_INCONSISTENCY] = "inconsistency", [SEARCH_NAN] = "nan", [SEARCH_BOUND] = "bound"};
    return names[goal];
}

const char *search_fitness_name(enum search_fitness fitness)
{
    static const char *const names[] = {
        [SEARCH_OURS] = "ours", [SEARCH_PAPER] = "paper", [SEARCH_RANDOM] = "random"};
    return names[fitness];
}

/* One engine's first output. */
struct logits {
    size_t count;
    double *values; /* heap; NULL: no answer, or none of numbers */
    bool finite;
};

static bool are_confidences(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(values[i] >= 0))
            return false;
        sum += values[i];
    }
    return count > 1 && fabs(sum - 1) < 1e-3;
}

static void load(struct logits *logits, const struct result *result)
{
    *logits = (struct logits){0};
    if (!result || result->outcome != OUTCOME_OK || !result->count ||
        result->outputs[0].kind != VALUE_TENSOR ||
        !metrics_load(&result->outputs[0].tensors[0], &logits->values, &logits->count))
        return;
    if (logits->count > SEARCH_LOGITS)
        logits->count = SEARCH_LOGITS;
    logits->finite = logits->count > 0;
    for (size_t i = 0; i < logits->count; i++)
        logits->finite = logits->finite && isfinite(logits->values[i]);
    if (!are_confidences(logits->values, logits->count))
        return;
    for (size_t i = 0; i < logits->count; i++)
        logits->values[i] = log(fmax(logits->values[i], LEAST_CONFIDENCE));
}

/* Whether any element of any output is NaN or infinite. */
static bool is_strange(const struct result *result)
{
    for (size_t i = 0; result && result->outcome == OUTCOME_OK && i < result->count; i++)
        for (size_t k = 0; k < result->outputs[i].count; k++) {
            struct metrics_summary summary;
            metrics_summarize(&result->outputs[i].tensors[k], &summary);
            if (summary.nan || summary.inf)
                return true;
        }
    return false;
}

/* The greatest of the others; `top` itself when there are none. */
static size_t second_of(const struct logits *logits, size_t top)
{
    size_t second = top;
    for (size_t i = 0; i < logits->count; i++)
        if (i != top && (second == top || logits->values[i] > logits->values[second]))
            second = i;
    return second;
}

/*
 * How far the engines are apart about the two best classes, divided by how far these are from each other.
 * Beyond some ratio either class may win; from there on, engines that are farther apart are better.
 */
static double closeness_of(const struct logits *a, const struct logits *b, size_t top)
{
    static const double enough = 4;
    size_t other = second_of(a, top);
    double one = a->values[top] - a->values[other], two = b->values[top] - b->values[other],
           rounding = fmax(fmax(fabs(a->values[top]), fabs(b->values[top])), 1e-30) * 0x1p-24;
    /* Engines that agree to the last bit are taken to be one rounding apart. */
    double apart = fmax(fabs(one - two), rounding), margin = fmin(fabs(one), fabs(two));
    if (margin * enough > apart)
        return apart / margin;
    return enough + log2(apart / rounding);
}

static void see_pair(struct search_seen *seen, const struct logits *a, const struct logits *b, bool engines)
{
    double sum = 0;
    if (!a->finite || !b->finite || a->count != b->count)
        return;
    for (size_t i = 0; i < a->count; i++)
        sum += fabs(a->values[i] - b->values[i]) / (double)a->count;
    seen->distance = fmax(seen->distance, sum);
    size_t x = metrics_top(a->values, a->count), y = metrics_top(b->values, b->count);
    if (a->count < 2 || x >= a->count || y >= b->count)
        return;
    if (engines && a->values[x] > a->values[y] && b->values[y] > b->values[x])
        seen->inconsistent = true;
    seen->closeness = fmax(seen->closeness, closeness_of(a, b, x));
}

static void see_engine(struct search_seen *seen, const struct logits *logits)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; logits->finite && i < logits->count; i++) {
        low = fmin(low, logits->values[i]);
        high = fmax(high, logits->values[i]);
    }
    if (logits->finite)
        seen->spread = fmax(seen->spread, high - low);
}

/* The mean over the engines: where it has two equal classes, the engines are likely to part. */
static void add_logits(struct search_seen *seen, const struct logits *logits)
{
    if (!logits->finite || (seen->logits && seen->n_logits != logits->count))
        return;
    if (!seen->logits)
        seen->logits = memory_zeroed(logits->count, sizeof *seen->logits);
    seen->n_logits = logits->count;
    seen->n_added++;
    for (size_t i = 0; i < logits->count; i++)
        seen->logits[i] += (logits->values[i] - seen->logits[i]) / (double)seen->n_added;
}

void search_see(struct search_seen *seen, const struct search_sample *sample)
{
    size_t n = sample->n_engines;
    struct logits *all = memory_zeroed(n + 1, sizeof *all);
    *seen = (struct search_seen){0};
    for (size_t i = 0; i <= n; i++) {
        const struct result *result = i < n ? &sample->results[i] : sample->reference;
        load(&all[i], result);
        if (i == n)
            break;
        seen->answered |= result->outcome == OUTCOME_OK;
        seen->strange |= is_strange(result);
        seen->deviations = fmax(seen->deviations, sample->verdicts[i].deviations);
        see_engine(seen, &all[i]);
        add_logits(seen, &all[i]);
    }
    seen->expected = is_strange(sample->reference);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k <= n; k++)
            if (k < n || n == 1)
                see_pair(seen, &all[i], &all[k], k < n);
    for (size_t i = 0; i <= n; i++)
        free(all[i].values);
    free(all);
}

bool search_reaches(const struct search_seen *seen, enum search_goal goal)
{
    return (goal == SEARCH_INCONSISTENCY && seen->inconsistent) || (goal == SEARCH_NAN && seen->strange);
}

double search_rate(const struct search_seen *seen, enum search_goal goal, enum search_fitness fitness)
{
    if (!seen->answered)
        return -INFINITY;
    if (goal == SEARCH_NAN)
        return seen->strange ? INFINITY : seen->spread;
    if (fitness != SEARCH_OURS)
        return seen->distance;
    return goal == SEARCH_BOUND ? seen->deviations : seen->closeness;
}
