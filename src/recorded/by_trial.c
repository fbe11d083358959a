#include "recorded/by_trial.h"

#include "base/memory.h"
#include "base/random.h"
#include "judge/verdict.h"
#include "locate/rounding_tried.h"

#include <math.h>
#include <stdlib.h>

enum { TRIES = 8 };

struct trial {
    struct rounding_disturbance disturbance;
    double most;   /* beyond it the precision has no number */
    bool unusable; /* the model jumps, or the precision ends */
};

/* In the model's own types a recording must be as near as any engine: far more than 100 times what is seen is
 * no rounding. Coarser ones disturb so much that 100 times would take in anything. */
static double margin_of(enum precision precision)
{
    return precision == PRECISION_OWN ? 100 : 8;
}

static struct trial trial_in(enum precision precision, struct rng *rng)
{
    struct trial trial = {.disturbance = rounding_disturbance(), .most = INFINITY};
    if (precision == PRECISION_TF32 || precision == PRECISION_FLOAT16) /* of as many bits */
        trial.disturbance = (struct rounding_disturbance){.units = 4, .least = unit_of(DTYPE_FLOAT16)};
    if (precision == PRECISION_BFLOAT16)
        trial.disturbance = (struct rounding_disturbance){.units = 4, .least = unit_of(DTYPE_BFLOAT16)};
    if (precision == PRECISION_FLOAT16) {
        trial.disturbance.size = 0x1p-14; /* smaller numbers have fewer bits */
        trial.most = 65504;
    }
    trial.disturbance.rng = rng;
    return trial;
}

/* What it gives is one of several results, far from each other, by numbers that rounding moves. */
static bool is_jump(const struct op_call *call)
{
    bool reads = false, others = call->op->slope == SLOPE_NOWHERE;
    if (call->op->work == WORK_SHAPE)
        return false;
    for (size_t i = 0; i < call->n_inputs; i++)
        reads |= call->inputs[i] && dtype_is_float(call->inputs[i]->type);
    for (size_t i = 0; i < call->n_outputs; i++)
        others |= call->outputs[i].count && !dtype_is_float(call->outputs[i].type);
    for (size_t i = 0; i < OP_DANGERS; i++)
        others |= call->op->dangers[i].kind == DANGER_JUMP || call->op->dangers[i].kind == DANGER_STEP;
    return reads && others;
}

static int disturb(void *context, struct op_call *call)
{
    struct trial *trial = context;
    if (rounding_disturb(&trial->disturbance, call))
        return -1;
    trial->unusable |= is_jump(call);
    for (size_t k = 0; k < call->n_outputs && isfinite(trial->most); k++)
        for (size_t i = 0;
             dtype_is_float(call->outputs[k].type) && call->outputs[k].value && i < call->outputs[k].count;
             i++)
            trial->unusable |= !(fabsl(call->outputs[k].value[i]) <= trial->most);
    return 0;
}

/* A number without a bound that is not open. */
static bool is_unbounded(const struct bounded *b, size_t i)
{
    double hard = bounded_hard(b, i), likely = bounded_likely(b, i);
    return isinf(hard) && isfinite(likely) && !bound_is_some_number(hard, likely) &&
           isfinite(bounded_value(b, i));
}

static bool is_tried(const struct bounded *b)
{
    return b->kind == BOUNDED_TENSOR && dtype_is_float(b->type) && b->hard;
}

static double farthest(const struct bounded *exact, const struct bounded *moved, double before)
{
    for (size_t i = 0; i < exact->count; i++) {
        double off =
            is_unbounded(exact, i) ? (double)fabsl(bounded_value(moved, i) - bounded_value(exact, i)) : 0;
        before = off <= before ? before : isnan(off) ? INFINITY : off;
    }
    return before;
}

/* Of the numbers without a bound. */
static double largest_of(const struct bounded *b)
{
    double largest = 0;
    for (size_t i = 0; i < b->count; i++)
        if (is_unbounded(b, i))
            largest = fmax(largest, fabs((double)b->value[i]));
    return largest;
}

/* Not less than what rounding probably does: terms that cancel inside a sum are not disturbed. */
static void set_unbounded(struct bounded *b, double bound)
{
    for (size_t i = 0; i < b->count; i++) {
        double own = fmax(bound, verdict_unsuspected(bounded_likely(b, i)));
        if (is_unbounded(b, i) && isfinite(own))
            bounded_set(b, i, b->value[i], own, own);
    }
}

void by_trial_rough(struct bounded *values, size_t count, double share)
{
    for (size_t k = 0; k < count; k++)
        if (is_tried(&values[k]))
            set_unbounded(&values[k], share * largest_of(&values[k]));
}

/* One run, with every result disturbed. */
static bool try_once(const struct scene *scene, struct trial *trial, const struct value *data,
                     const char *const *names, size_t count, const struct bounded *values, double *moved)
{
    struct evaluate_options options = {.round = true, .containers = true, .hook = disturb, .context = trial};
    struct evaluator *evaluator;
    struct bounded *results = NULL;
    size_t made = 0;
    if (evaluator_new(&evaluator, scene->model, &options, NULL))
        return false;
    bool fits = !evaluator_run(evaluator, data, scene->inputs->count, names, count, &results, &made, NULL) &&
                made == count;
    for (size_t k = 0; k < made; k++) {
        if (fits && is_tried(&values[k]) && results[k].kind == BOUNDED_TENSOR) {
            fits = results[k].count == values[k].count;
            moved[k] = fits ? farthest(&values[k], &results[k], moved[k]) : moved[k];
        }
        bounded_release(&results[k]);
    }
    free(results);
    evaluator_free(evaluator);
    return fits && !trial->unusable;
}

bool by_trial_bounds(struct scene *scene, const struct value *data, enum precision precision,
                     const char *const *names, size_t count, struct bounded *values)
{
    struct rng seed = rng_seed(1);
    double *moved = memory_zeroed(count + 1, sizeof *moved);
    bool fits = precision != PRECISION_INT8;
    for (uint64_t i = 0; i < TRIES && fits; i++) {
        struct rng rng = rng_split(&seed, i);
        struct trial trial = trial_in(precision, &rng);
        fits = !scene_late(scene) && try_once(scene, &trial, data, names, count, values, moved);
    }
    struct rounding_disturbance least = trial_in(precision, NULL).disturbance;
    for (size_t k = 0; k < count && fits; k++) {
        if (!is_tried(&values[k]))
            continue;
        /* Numbers that no trial moved, as a probability of 1, are stored with rounding, too. */
        double unit = fmax(unit_of(values[k].type), least.least) * least.units;
        set_unbounded(&values[k], fmax(moved[k], unit * largest_of(&values[k])) * margin_of(precision));
    }
    free(moved);
    return fits;
}
