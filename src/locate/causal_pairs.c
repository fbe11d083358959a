#include "locate/causal_pairs.h"

#include "base/memory.h"
#include "engine/handover.h"
#include "locate/expected.h"
#include "locate/param_change.h"
#include "locate/rate.h"
#include "search/genetic.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 4, POPULATION = 12, GENES = 1 << 18 };

/* One changed node on two engines. */
struct duel {
    struct under_test *test;
    int engines[2];
    struct test_case *changed;
    struct error *err;
    double t2;
    const char *instead; /* how an engine failed, or "nan" */
    bool broken;
};

static bool has_nan(const struct result *result)
{
    for (size_t i = 0; i < result->count; i++)
        for (size_t k = 0; result->outputs[i].kind == VALUE_TENSOR && k < result->outputs[i].tensors[0].count;
             k++)
            if (isnan(tensor_get(&result->outputs[i].tensors[0], k)))
                return true;
    return false;
}

/* R of the node on these inputs: nothing comes before it. INFINITY when an engine fails or makes a NaN. */
static double duel_rate(struct duel *duel, const struct value *inputs)
{
    const struct model *model = test_case_model(duel->changed, NULL);
    struct result results[2];
    struct rate_mean mean = {0};
    struct handover handover;
    double rate = INFINITY;
    for (int i = 0; i < 2; i++)
        result_init(&results[i]);
    int status = handover_open(&handover, duel->test->which->pool, model, duel->err);
    for (int i = 0; i < 2 && !status; i++) {
        struct job job = {.engine = duel->engines[i], .n_inputs = duel->changed->n_inputs, .inputs = inputs};
        handover_give(&handover, &job);
        status = pool_run_one(duel->test->which->pool, &job, &results[i], duel->err);
    }
    duel->broken = status != 0;
    for (int i = 0; i < 2 && !status && !duel->instead; i++)
        duel->instead = results[i].outcome == OUTCOME_UNSUPPORTED ? NULL
                        : results[i].outcome != OUTCOME_OK        ? outcome_name(results[i].outcome)
                        : has_nan(&results[i])                    ? "nan"
                                                                  : NULL;
    bool answered = !status && results[0].outcome == OUTCOME_OK && results[1].outcome == OUTCOME_OK &&
                    results[0].count == results[1].count && !duel->instead;
    for (size_t i = 0; answered && i < results[0].count; i++)
        if (results[0].outputs[i].kind == VALUE_TENSOR && results[1].outputs[i].kind == VALUE_TENSOR)
            rate_add(&mean, &results[0].outputs[i].tensors[0], &results[1].outputs[i].tensors[0]);
    if (answered)
        rate = rate_change(rate_delta(&mean), 0);
    for (int i = 0; i < 2; i++)
        result_release(&results[i]);
    handover_close(&handover);
    return rate;
}

/* The first input, if it can be bred. */
static struct tensor *bred_input(const struct test_case *test)
{
    struct tensor *x =
        test->n_inputs && test->inputs[0].kind == VALUE_TENSOR ? &test->inputs[0].tensors[0] : NULL;
    return x && dtype_is_float(x->type) && x->count && x->count <= GENES ? x : NULL;
}

static struct genetic *start_search(const struct tensor *x)
{
    float *seed = memory_zeroed(x->count, sizeof *seed), largest = 1;
    for (size_t i = 0; i < x->count; i++) {
        seed[i] = (float)tensor_get(x, i);
        if (!isfinite(seed[i]))
            seed[i] = 0;
        largest = fmaxf(largest, fabsf(seed[i]));
    }
    struct gene_stretch stretch = {
        .count = x->count, .low = -2 * largest, .high = 2 * largest, .scale = largest / 16};
    struct genetic_settings settings = {.seed = 1, .population = POPULATION};
    struct genetic *genetic = NULL;
    const float *seeds[] = {seed};
    if (largest > FLT_MAX / 4 || genetic_new(&genetic, &settings, 1, &stretch, 1, seeds, NULL))
        genetic = NULL;
    free(seed);
    return genetic;
}

/* The largest R that the search finds; ends as soon as it is beyond t2, or an engine gives no number. */
static double amplify(struct duel *duel)
{
    struct tensor *x = bred_input(duel->changed);
    double largest = duel_rate(duel, duel->changed->inputs);
    struct genetic *genetic = x && largest < duel->t2 ? start_search(x) : NULL;
    for (int round = 0; genetic && round < ROUNDS && largest < duel->t2; round++) {
        for (size_t i = genetic_first_new(genetic); i < genetic_population(genetic) && !duel->broken; i++) {
            const float *genome = genetic_genome(genetic, i);
            for (size_t k = 0; k < x->count; k++)
                tensor_set(x, k, (long double)genome[k]);
            double rate = duel_rate(duel, duel->changed->inputs);
            genetic_rate(genetic, i, rate);
            largest = rate > largest ? rate : largest;
        }
        genetic_next(genetic);
    }
    genetic_free(genetic);
    return largest;
}

static void add_pair(struct causal_pairs *pairs, const struct causal_pair *pair, struct arena *arena)
{
    struct causal_pair *items = arena_array(arena, pairs->count + 1, sizeof *items);
    for (size_t i = 0; i < pairs->count; i++)
        items[i] = pairs->items[i];
    items[pairs->count++] = *pair;
    pairs->items = items;
}

/* Makes the changed case valid and complete; false when it cannot be. */
static bool prepare(struct duel *duel, struct test_case *part, const struct param_change *change)
{
    struct expected expected;
    if (param_change_apply(&duel->changed, part, &change, 1, NULL))
        return false;
    const struct model *model = test_case_model(duel->changed, NULL);
    bool valid =
        model && !expected_compute(&expected, model, NULL, duel->changed->inputs, duel->changed->n_inputs);
    if (valid) {
        param_change_declare(duel->changed, expected.values, expected.count);
        expected_release(&expected);
    } else {
        test_case_free(duel->changed);
    }
    return valid;
}

int causal_pairs_add(struct causal_pairs *pairs, struct under_test *test, int second, size_t node,
                     struct test_case *part, struct arena *arena, struct error *err)
{
    struct param_changes changes;
    struct duel duel = {.test = test, .engines = {test->which->engine, second}, .err = err, .t2 = pairs->t2};
    const struct op_param *done = NULL;
    param_changes_init(&changes, part);
    for (size_t i = 0; i < changes.count && !duel.broken; i++) {
        const struct param_change *change = &changes.items[i];
        bool plain;
        if (change->way == WAY_RESPELLED || change->param == done || !prepare(&duel, part, change))
            continue;
        duel.instead = NULL;
        double rate = amplify(&duel);
        done = change->param; /* one other value each */
        test_case_free(duel.changed);
        if (!(rate < pairs->t2) && !duel.instead)
            continue;
        struct causal_pair pair = {.node = node, .parameter = change->param->name, .rate = rate};
        pair.instead = duel.instead;
        pair.value = param_present(part, change->node, change->param, arena, &plain);
        pair.tried = arena_strdup(arena, change->value);
        add_pair(pairs, &pair, arena);
    }
    param_changes_release(&changes);
    return duel.broken ? -1 : 0;
}
