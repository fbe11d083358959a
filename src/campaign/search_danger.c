#include "campaign/search_danger.h"

#include "base/hash.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/*
 * ROUNDS of leaps come first: where a leap suffices, as in most networks, it comes among them. A measurement
 * of a model with LARGE weights takes about 0.1 s, and the more the larger the model is: the part of the
 * mutations that climbs falls as its time grows.
 */
enum { ROUNDS = 6, LARGE = 20000 };
static const double most_climbs = 0.1;

/* A model with other weights needs a meter of its own. */
static int measure_case(struct search_danger *danger, const float *genes, struct danger *measured)
{
    struct error err = {0};
    struct test_case *test;
    struct danger_meter *meter;
    if (genome_case(danger->layout, genes, &test, &err))
        return -1;
    const struct model *model = test_case_model(test, &err);
    if (!model || danger_meter_new(&meter, model, &err)) {
        test_case_free(test);
        return -1;
    }
    danger_meter_free(danger->meter);
    test_case_free(danger->test);
    danger->test = test;
    danger->climb.meter = danger->meter = meter;
    return danger_measure(meter, test->inputs, test->n_inputs, measured, &err);
}

static int measure(void *context, const float *genes, struct danger *measured)
{
    struct search_danger *danger = context;
    struct error err = {0};
    struct value *inputs;
    if (danger->weights)
        return measure_case(danger, genes, measured);
    if (!danger->meter || genome_inputs(danger->layout, genes, &inputs, &err))
        return -1;
    size_t count = genome_inputs_count(danger->layout);
    int status = danger_measure(danger->meter, inputs, count, measured, &err);
    values_free(inputs, count);
    return status;
}

static size_t weights_of(const struct model *model)
{
    size_t sum = 0;
    for (size_t i = 0; i < model->graph->n_initializer; i++) {
        size_t count = 1;
        for (size_t k = 0; k < model->graph->initializer[i]->n_dims; k++)
            count *= (size_t)model->graph->initializer[i]->dims[k];
        sum += count;
    }
    return sum;
}

void search_danger_init(struct search_danger *danger, const struct genome_layout *layout,
                        const struct model *model, enum genome_level level)
{
    struct error err = {0};
    size_t n_parts;
    genome_parts(layout, &n_parts);
    *danger = (struct search_danger){
        .climb = {.measure = measure,
                  .context = danger,
                  .n_stretches = n_parts,
                  .stretches = genome_stretches(layout)},
        .layout = layout,
        .climbs = most_climbs * fmin(1, LARGE / fmax((double)weights_of(model), 1)),
        .weights = level != GENOME_INPUTS,
    };
    if (danger->weights || danger_meter_new(&danger->meter, model, &err))
        danger->meter = NULL;
    danger->climb.meter = danger->meter;
}

void search_danger_sow(struct search_danger *danger, uint64_t seed, size_t population)
{
    size_t length = genome_length(danger->layout), given = genome_seeds(danger->layout);
    size_t first = given < population / 2 ? given : population / 2, n_leaps = population - population / 2;
    struct rng rng = rng_seed(hash_combine(seed, hash_text("leaps")));
    if (!first)
        return;
    danger->n_seeds = first + n_leaps;
    danger->seeds = memory_zeroed(danger->n_seeds, sizeof *danger->seeds);
    danger->leaps = memory_zeroed(n_leaps * length, sizeof *danger->leaps);
    danger->climb.leaps = 1;
    for (size_t i = 0; i < first; i++)
        danger->seeds[i] = genome_seed(danger->layout)[i];
    for (size_t i = 0; i < n_leaps; i++) {
        float *leap = danger->leaps + i * length;
        danger_climb_mutate(&danger->climb, &rng, danger->seeds[i % first], leap, length);
        danger->seeds[first + i] = leap;
    }
}

void search_danger_mutate(void *context, struct rng *rng, const float *parent, float *child, size_t n)
{
    struct search_danger *danger = context;
    danger->climb.leaps = genetic_round(danger->genetic) <= ROUNDS ? 1 : 1 - danger->climbs;
    danger_climb_mutate(&danger->climb, rng, parent, child, n);
}

void search_danger_release(struct search_danger *danger)
{
    danger_meter_free(danger->meter);
    test_case_free(danger->test);
    free(danger->seeds);
    free(danger->leaps);
}
