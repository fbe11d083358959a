#include "recorded/scene.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/str.h"
#include "recorded/by_trial.h"

#include <math.h>
#include <stdlib.h>

/* What is farther off than that share of the largest number is not tried. */
static const double worth_a_trial = 0.01;

enum way { WAY_WHOLE, WAY_TIGHT, WAY_ALONE, WAY_QUICK };

/* A run of the reference that looks at recorded values as they come. */
struct pass {
    struct scene *scene;
    enum way way;
    bool wide;       /* bounds may be as wide as the error that they are to explain: they are of fewer bits */
    size_t compared; /* numbers of values that speak for it, with WAY_QUICK */
};

void scene_init(struct scene *scene, const struct model *model, const struct dump *recording,
                const struct inputs *inputs, const struct recorded_options *options)
{
    *scene = (struct scene){.model = model,
                            .recording = recording,
                            .inputs = inputs,
                            .options = options,
                            .precision = options->precision,
                            .samples = inputs->samples,
                            .count = recording->count,
                            .begun = clock_seconds()};
    scene->values = memory_zeroed(recording->count, sizeof *scene->values);
    map_init(&scene->numbers);
    for (size_t i = 0; i < recording->count; i++)
        if (!map_has(&scene->numbers, recording->values[i].value))
            map_set(&scene->numbers, recording->values[i].value, i);
}

static void drop_sample(struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++) {
        struct scene_value *value = &scene->values[i];
        if (value->have)
            tensor_release(&value->got);
        bounded_release(&value->whole);
        bounded_release(&value->alone);
        *value = (struct scene_value){0};
    }
    if (scene->data)
        values_free(scene->data, scene->inputs->count);
    scene->data = NULL;
    scene->by_trial = false;
}

void scene_release(struct scene *scene)
{
    drop_sample(scene);
    free(scene->values);
    map_release(&scene->numbers);
}

bool scene_late(struct scene *scene)
{
    double limit = scene->options->seconds;
    scene->hurried |= limit > 0 && clock_seconds() - scene->begun > limit;
    return scene->hurried;
}

/* What was recorded of the value, once it is known how many elements it has. */
static void fetch(struct scene *scene, size_t number, const struct bounded *value)
{
    struct scene_value *own = &scene->values[number];
    if (!own->have)
        own->have = dump_sample(&scene->recording->values[number], scene->sample, scene->samples,
                                value->count, &own->got);
}

static void look(const struct scene *scene, struct scene_value *own)
{
    double rounded = scene->options->rounded;
    if (!own->have)
        return;
    own->held = held_against(&own->whole, &own->got, NULL, rounded, false);
    if (held_agrees(&own->held) || !held_layout(&own->whole, &own->got, rounded, &own->layout))
        return;
    own->turned = true;
    own->held = held_against(&own->whole, &own->got, &own->layout, rounded, false);
}

/* What a recording in a narrower type, or with few digits, leaves open of the numbers themselves. */
static void blur(struct bounded *value, enum dtype stored, double rounded)
{
    bool narrow =
        dtype_is_float(stored) && dtype_is_float(value->type) && unit_of(stored) > unit_of(value->type);
    if (!narrow && !(rounded > 0))
        return;
    for (size_t i = 0; i < value->count; i++) {
        double lost = rounded + (narrow ? held_stored(stored, fabs((double)value->value[i])) : 0);
        if (isfinite(lost))
            bounded_set(value, i, value->value[i], lost, lost / 3);
    }
}

/* The recorded value takes the place of the computed one. */
static int replace(const struct scene *scene, const struct scene_value *own, struct bounded *value,
                   struct error *err)
{
    struct tensor tensor;
    struct bounded recorded;
    if (!own->have || own->got.count != value->count || !dtype_is_real(value->type))
        return 0;
    if (held_as(value, &own->got, own->turned ? &own->layout : NULL, &tensor, err))
        return -1;
    bounded_init(&recorded);
    int status = bounded_from_tensor(&recorded, &tensor, err);
    tensor_release(&tensor);
    if (!status) {
        blur(&recorded, own->got.type, scene->options->rounded);
        bounded_release(value);
        *value = recorded;
    }
    return status;
}

/* Stops the run at the first value that the recording does not have so. Other inputs explain no error that is
 * smaller than what their own bounds allow. */
static int compare(struct pass *pass, const struct scene_value *own, const struct bounded *value,
                   struct error *err)
{
    const struct scene *scene = pass->scene;
    struct axes axes;
    double rounded = scene->options->rounded;
    struct held held = {0};
    if (own->have)
        held = held_against(value, &own->got, own->turned ? &own->layout : NULL, rounded, true);
    if (own->have && !held_agrees(&held) && held_layout(value, &own->got, rounded, &axes))
        held = held_against(value, &own->got, &axes, rounded, true);
    if (pass->wide || (own->held.off && held.widest < own->held.farthest))
        pass->compared += held.compared;
    return held_agrees(&held) ? 0 : error_set(err, ERROR_INVALID, "not as recorded");
}

static int see_one(struct pass *pass, size_t number, const struct bounded *value, struct error *err)
{
    struct scene_value *own = &pass->scene->values[number];
    fetch(pass->scene, number, value);
    if (pass->way == WAY_QUICK)
        return compare(pass, own, value, err);
    if (pass->way == WAY_TIGHT && own->held.compared)
        return 0;
    struct bounded *kept = pass->way == WAY_ALONE ? &own->alone : &own->whole;
    bounded_release(kept);
    return bounded_copy(kept, value, err);
}

/* A value may have been recorded under several names, which stand side by side; the first takes its place. */
static int see(void *context, const char *name, struct bounded *value, struct error *err)
{
    struct pass *pass = context;
    const struct recorded_value *values = pass->scene->recording->values;
    size_t first;
    if (!map_get(&pass->scene->numbers, name, &first) || value->kind != BOUNDED_TENSOR)
        return 0;
    for (size_t i = first; i < pass->scene->count && text_equal(values[i].value, name); i++)
        if (see_one(pass, i, value, err))
            return -1;
    return pass->way == WAY_ALONE ? replace(pass->scene, &pass->scene->values[first], value, err) : 0;
}

static void values_release(struct bounded *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bounded_release(&values[i]);
    free(values);
}

static int run(struct scene *scene, enum way way, bool loose, const struct value *data,
               enum precision precision, size_t *compared, struct error *err)
{
    struct pass pass = {.scene = scene, .way = way, .wide = precision != scene->precision};
    struct evaluate_options options = {
        .loose = loose, .containers = true, .precision = precision, .given = see, .context = &pass};
    struct evaluator *evaluator;
    struct bounded *results = NULL;
    size_t count = 0;
    if (evaluator_new(&evaluator, scene->model, &options, err))
        return -1;
    int status = evaluator_run(evaluator, data, scene->inputs->count, NULL, 0, &results, &count, err);
    evaluator_free(evaluator);
    values_release(results, count);
    *compared = pass.compared;
    return status;
}

/* Bounds that allow for nodes computed as one, but where shapes depend on values. */
static int run_either(struct scene *scene, enum way way, const struct value *data, struct error *err)
{
    size_t compared;
    return run(scene, way, true, data, scene->precision, &compared, NULL)
               ? run(scene, way, false, data, scene->precision, &compared, err)
               : 0;
}

/* Recorded inputs are held against the data. */
static int look_at_inputs(struct scene *scene, struct error *err)
{
    for (size_t i = 0; i < scene->count; i++) {
        struct scene_value *own = &scene->values[i];
        if (!scene->recording->values[i].input)
            continue;
        const struct value *given =
            value_for_input(scene->data, scene->inputs->count, scene->recording->values[i].value, SIZE_MAX);
        if (!given || given->kind != VALUE_TENSOR)
            continue;
        if (bounded_from_tensor(&own->whole, &given->tensors[0], err))
            return -1;
        bounded_loosen(&own->whole);
        fetch(scene, i, &own->whole);
        look(scene, own);
    }
    return 0;
}

static void look_at_values(struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++)
        if (!scene->recording->values[i].input)
            look(scene, &scene->values[i]);
}

/* ---- by trial ---- */

/* Values that nodes give, in the order of the recording; the names are the model's. */
static size_t node_values(const struct scene *scene, const char **names, size_t *numbers)
{
    size_t count = 0;
    for (size_t i = 0; i < scene->count; i++)
        if (!scene->recording->values[i].input) {
            names[count] = scene->recording->values[i].value;
            numbers[count++] = i;
        }
    return count;
}

static bool all_agree(struct scene *scene, const struct bounded *values, const size_t *numbers, size_t count,
                      bool wide)
{
    struct pass pass = {.scene = scene, .way = WAY_QUICK, .wide = wide};
    for (size_t k = 0; k < count; k++)
        if (compare(&pass, &scene->values[numbers[k]], &values[k], NULL))
            return false;
    return pass.compared > 0;
}

/* The recorded values as the model gives them, with bounds by trial, or rough ones; NULL where there are
 * none. */
static struct bounded *values_by_trial(struct scene *scene, const struct value *data,
                                       enum precision precision, bool rough, size_t **numbers, size_t *count)
{
    const char **names = memory_zeroed(scene->count + 1, sizeof *names);
    struct bounded *values = NULL;
    *numbers = memory_zeroed(scene->count + 1, sizeof **numbers);
    *count = node_values(scene, names, *numbers);
    if (scene_values(scene, data, precision, names, *count, &values, NULL))
        *count = 0;
    else if (rough)
        by_trial_rough(values, *count, worth_a_trial);
    else if (!by_trial_bounds(scene, data, precision, names, *count, values)) {
        values_release(values, *count);
        values = NULL;
    }
    free(names);
    return values;
}

static bool agrees_within(struct scene *scene, const struct value *data, enum precision precision, bool rough)
{
    size_t *numbers, count;
    struct bounded *values = values_by_trial(scene, data, precision, rough, &numbers, &count);
    bool agrees = values && all_agree(scene, values, numbers, count, rough || precision != scene->precision);
    values_release(values, values ? count : 0);
    free(numbers);
    return agrees;
}

void scene_judge_by_trial(struct scene *scene)
{
    size_t *numbers, count;
    struct bounded *values = values_by_trial(scene, scene->data, scene->precision, false, &numbers, &count);
    for (size_t k = 0; values && k < count; k++) {
        struct scene_value *own = &scene->values[numbers[k]];
        bounded_release(&own->whole);
        own->whole = values[k];
    }
    free(values);
    free(numbers);
    if (!values)
        return;
    look_at_values(scene);
    for (size_t i = 0; i < scene->count; i++)
        scene->values[i].held_alone = scene->values[i].held;
    scene->by_trial = scene_any_judged(scene);
}

bool scene_agrees_with(struct scene *scene, const struct value *data, enum precision precision)
{
    size_t compared;
    if (scene->by_trial) /* what is computed coarsely may be far off */
        return (precision != PRECISION_OWN || agrees_within(scene, data, precision, true)) &&
               agrees_within(scene, data, precision, false);
    if (run(scene, WAY_QUICK, true, data, precision, &compared, NULL))
        return false;
    if (compared)
        return true;
    if (run(scene, WAY_QUICK, false, data, precision, &compared, NULL))
        return false;
    /* A precision in which nothing has a bound may be that of the device all the same. */
    return compared || (precision != scene->precision && agrees_within(scene, data, precision, false));
}

/* In deep models the bounds that allow for fusing may be infinite where those of each node by itself are not.
 */
static int judge_tightly(struct scene *scene, struct error *err)
{
    bool needed = false;
    size_t compared;
    for (size_t i = 0; i < scene->count; i++)
        needed |= scene->values[i].have && scene->values[i].held.open && !scene->values[i].held.compared;
    if (!needed)
        return 0;
    if (run(scene, WAY_TIGHT, false, scene->data, scene->precision, &compared, err))
        return -1;
    look_at_values(scene);
    return 0;
}

int scene_judge(struct scene *scene, size_t sample, struct error *err)
{
    drop_sample(scene);
    scene->sample = sample;
    if (inputs_get(scene->inputs, sample, &scene->data, err))
        return -1;
    if (look_at_inputs(scene, err) || run_either(scene, WAY_WHOLE, scene->data, err))
        return -1;
    look_at_values(scene);
    return judge_tightly(scene, err);
}

bool scene_any_judged(const struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++)
        if (!scene->recording->values[i].input &&
            (scene->values[i].held.compared || scene->values[i].held_alone.compared))
            return true;
    return false;
}

bool scene_agrees(const struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++)
        if (!held_agrees(&scene->values[i].held))
            return false;
    return true;
}

int scene_judge_alone(struct scene *scene, struct error *err)
{
    if (run_either(scene, WAY_ALONE, scene->data, err))
        return -1;
    for (size_t i = 0; i < scene->count; i++) {
        struct scene_value *own = &scene->values[i];
        own->held_alone = own->held;
        if (own->have && !scene->recording->values[i].input)
            own->held_alone = held_against(&own->alone, &own->got, own->turned ? &own->layout : NULL,
                                           scene->options->rounded, false);
        if (!own->held_alone.compared && own->held_alone.same_count)
            own->held_alone = own->held;
    }
    return 0;
}

int scene_values(const struct scene *scene, const struct value *data, enum precision precision,
                 const char *const *names, size_t count, struct bounded **values, struct error *err)
{
    struct evaluate_options options = {.containers = true, .precision = precision};
    struct evaluator *evaluator;
    size_t made;
    if (evaluator_new(&evaluator, scene->model, &options, err))
        return -1;
    int status = evaluator_run(evaluator, data, scene->inputs->count, names, count, values, &made, err);
    evaluator_free(evaluator);
    return status;
}
