#include "recorded/recorded.h"

#include "base/memory.h"
#include "base/str.h"
#include "recorded/by_trial.h"
#include "recorded/preprocessing.h"
#include "recorded/scene.h"

#include <math.h>
#include <stdlib.h>

enum {
    MOST_SAMPLES = 16, /* that are looked at for a difference */
    MOST_ORDERED = 64, /* that are looked through for another order */
    MOST_NODES = 4,    /* that are named */
    MOST_OTHERS = 100000,
};

const char *recorded_word(enum recorded_kind kind)
{
    static const char *const words[] = {
        [RECORDED_UNJUDGED] = "unjudged", [RECORDED_AGREES] = "agrees",   [RECORDED_SHAPE] = "shape",
        [RECORDED_INPUTS] = "inputs",     [RECORDED_ORDER] = "order",     [RECORDED_LAYOUT] = "layout",
        [RECORDED_OTHER] = "other value", [RECORDED_BITS] = "fewer bits", [RECORDED_ADDS_UP] = "adds up",
        [RECORDED_PARTS] = "parts",
    };
    return words[kind];
}

static void say(struct recorded *recorded, enum recorded_kind kind, size_t first, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void say(struct recorded *recorded, enum recorded_kind kind, size_t first, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    recorded->kind = kind;
    recorded->first = first;
    recorded->text = arena_vprintf(&recorded->arena, format, args);
    va_end(args);
}

/* The first value that is not as the model gives it, from the inputs on; the number of values: there is none.
 */
static size_t first_off(const struct scene *scene)
{
    size_t i = 0;
    while (i < scene->count && held_agrees(&scene->values[i].held))
        i++;
    return i;
}

/* --- other inputs --- */

/* The inputs of the sample with one changed; false when the change does not fit it. */
static bool change_input(const struct scene *scene, size_t input, const struct preprocessing *mistake,
                         struct value **changed)
{
    struct tensor other;
    size_t count = scene->inputs->count;
    if (scene->data[input].kind != VALUE_TENSOR ||
        !preprocessing_apply(mistake, &scene->data[input].tensors[0], &other))
        return false;
    *changed = memory_zeroed(count, sizeof **changed);
    for (size_t i = 0; i < count; i++)
        if (i != input)
            value_copy(&(*changed)[i], &scene->data[i], NULL);
    value_set_name(&(*changed)[input], scene->data[input].name);
    value_set_tensor(&(*changed)[input], &other);
    return true;
}

static bool explains(struct scene *scene, size_t input, const struct preprocessing *mistake)
{
    struct value *changed;
    if (!change_input(scene, input, mistake, &changed))
        return false;
    bool agrees = scene_agrees_with(scene, changed, scene->precision);
    values_free(changed, scene->inputs->count);
    return agrees;
}

/* Single mistakes first, then an order and a scale together. */
static bool find_mistake(struct scene *scene, size_t *input, struct preprocessing *mistake)
{
    for (int both = 0; both < 2; both++)
        for (size_t order = 0; order < preprocessing_orders(); order++)
            for (size_t scale = 0; scale < preprocessing_scales(); scale++) {
                *mistake = (struct preprocessing){order, scale};
                if ((order && scale) != both)
                    continue;
                for (*input = 0; *input < scene->inputs->count; ++*input) {
                    if (scene_late(scene))
                        return false;
                    if (explains(scene, *input, mistake))
                        return true;
                }
            }
    return false;
}

static bool other_inputs(struct recorded *recorded, struct scene *scene)
{
    struct preprocessing mistake;
    size_t input;
    char text[200];
    if (!find_mistake(scene, &input, &mistake))
        return false;
    preprocessing_text(&mistake, text, sizeof text);
    say(recorded, RECORDED_INPUTS, first_off(scene),
        "the recording was made from other inputs: it is what the model gives for %s of the data %s",
        scene->inputs->slots[input].name, text);
    return true;
}

/* Recorded inputs need no run: they are held against the data. */
static bool differing_input(struct recorded *recorded, struct scene *scene)
{
    size_t first = first_off(scene);
    char text[200];
    if (first == scene->count || !scene->recording->values[first].input || !scene->values[first].have)
        return false;
    const struct value *given =
        value_for_input(scene->data, scene->inputs->count, scene->recording->values[first].value, SIZE_MAX);
    for (int both = 0; both < 2; both++)
        for (size_t order = 0; order < preprocessing_orders(); order++)
            for (size_t scale = 0; scale < preprocessing_scales(); scale++) {
                struct preprocessing mistake = {order, scale};
                struct tensor other;
                struct bounded bounded;
                if ((order && scale) != both || !preprocessing_apply(&mistake, &given->tensors[0], &other))
                    continue;
                bounded_init(&bounded);
                struct held held = {0};
                if (!bounded_from_tensor(&bounded, &other, NULL))
                    held = held_against(
                        &bounded, &scene->values[first].got, NULL,
                        scene->options->rounded + 1e-5 * fabs((double)bounded.value[0]) + 1e-6, true);
                bounded_release(&bounded);
                tensor_release(&other);
                if (!held_agrees(&held))
                    continue;
                preprocessing_text(&mistake, text, sizeof text);
                say(recorded, RECORDED_INPUTS, first,
                    "the recording was made from other inputs: its %s is that of the data %s",
                    scene->recording->values[first].name, text);
                return true;
            }
    say(recorded, RECORDED_INPUTS, first,
        "the recording was made from other inputs: its %s is off by up to %.2g of the data's largest number",
        scene->recording->values[first].name, scene->values[first].held.error);
    return true;
}

/* --- another order of the samples --- */

/* Whether what was recorded of sample `i` is what the model gives for sample `j`. */
static bool is_of_sample(struct scene *scene, size_t j)
{
    struct value *data;
    if (inputs_get(scene->inputs, j, &data, NULL))
        return false;
    bool agrees = scene_agrees_with(scene, data, scene->precision);
    values_free(data, scene->inputs->count);
    return agrees;
}

static bool other_order(struct recorded *recorded, struct scene *scene)
{
    if (scene->samples < 2 || scene->samples > MOST_ORDERED)
        return false;
    for (size_t j = 0; j < scene->samples && !scene_late(scene); j++) {
        if (j == scene->sample || !is_of_sample(scene, j))
            continue;
        say(recorded, RECORDED_ORDER, first_off(scene),
            "the recording has the samples in another order: its sample %zu is what the model gives for "
            "sample "
            "%zu of the data",
            scene->sample, j);
        return true;
    }
    return false;
}

/* --- another value of the model --- */

static bool other_value(struct recorded *recorded, struct scene *scene)
{
    size_t first = first_off(scene), count = 0, found = SIZE_MAX;
    const Onnx__GraphProto *graph = scene->model->graph;
    const struct scene_value *own = &scene->values[first];
    struct bounded *values = NULL;
    if (!own->have || graph->n_node > MOST_OTHERS || scene_late(scene))
        return false;
    const char **names = memory_zeroed(graph->n_node + 1, sizeof *names);
    for (size_t i = 0; i < graph->n_node; i++)
        if (graph->node[i]->n_output && *graph->node[i]->output[0])
            names[count++] = graph->node[i]->output[0];
    bool known = !scene_values(scene, scene->data, scene->precision, names, count, &values, NULL);
    if (known && scene->by_trial)
        by_trial_bounds(scene, scene->data, scene->precision, names, count, values);
    if (known)
        for (size_t i = 0; i < count; i++) {
            struct held held = {0};
            if (found == SIZE_MAX && values[i].kind == BOUNDED_TENSOR && dtype_is_real(values[i].type) &&
                !text_equal(names[i], scene->recording->values[first].value))
                held = held_against(&values[i], &own->got, NULL, scene->options->rounded, true);
            if (held_agrees(&held) && held.compared)
                found = i;
            bounded_release(&values[i]);
        }
    free(values);
    if (found != SIZE_MAX)
        say(recorded, RECORDED_OTHER, first,
            "the recording's %s is not %s of the model, but its %s: another layer is meant, or the model "
            "ends "
            "with a layer more or less",
            scene->recording->values[first].name, scene->recording->values[first].value, names[found]);
    free(names);
    return found != SIZE_MAX;
}

/* --- fewer bits --- */

/* Whether rounding is everywhere: most of the values that were recorded are off, and most of their numbers. A
 * mistake in one layer leaves the layers alone right. */
static bool is_spread(const struct scene *scene)
{
    size_t off = 0, values = 0;
    for (size_t i = 0; i < scene->count; i++) {
        const struct held *held = &scene->values[i].held_alone;
        if (scene->recording->values[i].input || !held->compared ||
            !dtype_is_float(scene->values[i].whole.type))
            continue;
        values++;
        off += held->off > 0;
    }
    return off > 0 && 2 * off >= values;
}

static bool fewer_bits(struct recorded *recorded, struct scene *scene)
{
    if (scene->precision != PRECISION_OWN || !is_spread(scene))
        return false;
    for (enum precision precision = PRECISION_TF32; precision <= PRECISION_BFLOAT16; precision++) {
        if (scene_late(scene) || !scene_agrees_with(scene, scene->data, precision))
            continue;
        recorded->seen = precision;
        say(recorded, RECORDED_BITS, first_off(scene),
            "the recording is off by more than rounding in the model's own types, and within rounding of %s: "
            "if "
            "the device computes so, --precision %s says that it is right",
            precision_name(precision), precision_name(precision));
        return true;
    }
    return false;
}

/* --- a layer --- */

/* Nodes that compute on weights alone, which no recording has a value before. */
static bool *fixed_nodes(const struct model_index *index, size_t count)
{
    bool *fixed = memory_zeroed(count + 1, sizeof *fixed);
    for (size_t i = 0; i < count; i++) {
        size_t node = index->order[i];
        fixed[node] = true;
        for (size_t k = 0; k < index->n_uses[node]; k++) {
            const struct index_value *value = &index->values[index->uses[node][k]];
            fixed[node] &=
                value->source == SOURCE_INITIALIZER || (value->source == SOURCE_NODE && fixed[value->number]);
        }
    }
    return fixed;
}

/* The nodes between a value and the recorded values before it, the last first. */
static size_t nodes_before(const struct scene *scene, const struct model_index *index, const bool *fixed,
                           size_t first, size_t *nodes, size_t room)
{
    size_t count = 0, next = 0;
    nodes[count++] = scene->recording->values[first].node;
    for (; next < count; next++)
        for (size_t i = 0; i < index->n_uses[nodes[next]]; i++) {
            const struct index_value *value = &index->values[index->uses[nodes[next]][i]];
            bool known =
                map_has(&scene->numbers, value->name) || value->source != SOURCE_NODE || fixed[value->number];
            for (size_t k = 0; k < count && !known; k++)
                known = nodes[k] == value->number;
            if (!known && count < room)
                nodes[count++] = value->number;
        }
    return count;
}

static const char *name_nodes(struct recorded *recorded, const struct scene *scene, size_t first)
{
    struct model_index index;
    struct str text;
    const Onnx__GraphProto *graph = scene->model->graph;
    if (model_index_init(&index, scene->model, NULL))
        return "";
    size_t *nodes = memory_zeroed(graph->n_node, sizeof *nodes);
    bool *fixed = fixed_nodes(&index, graph->n_node);
    size_t count = nodes_before(scene, &index, fixed, first, nodes, graph->n_node);
    str_init(&text);
    for (size_t i = 0; i < count && i < MOST_NODES; i++)
        str_printf(&text, "%s%s %s",
                   !i               ? ""
                   : i + 1 == count ? " or "
                                    : ", ",
                   graph->node[nodes[i]]->op_type, model_node_name(graph->node[nodes[i]]));
    if (count > MOST_NODES)
        str_printf(&text, " or one of %zu nodes before", count - MOST_NODES);
    const char *kept = arena_strdup(&recorded->arena, text.data);
    str_release(&text);
    free(fixed);
    free(nodes);
    model_index_release(&index);
    return kept;
}

static void blame_layer(struct recorded *recorded, struct scene *scene)
{
    size_t first = 0;
    while (first < scene->count &&
           (scene->recording->values[first].input || held_agrees(&scene->values[first].held_alone)))
        first++;
    if (first == scene->count) {
        say(recorded, RECORDED_ADDS_UP, first_off(scene),
            "every recorded value is right on the recorded values before it, but what their errors add up to "
            "is "
            "more than rounding probably does: the recording was computed in fewer bits, or one layer "
            "between "
            "them is slightly off");
        return;
    }
    const struct scene_value *own = &scene->values[first];
    const struct recorded_value *value = &scene->recording->values[first];
    recorded->nodes = name_nodes(recorded, scene, first);
    if (!own->have || !own->held_alone.same_count) {
        char a[SHAPE_TEXT_SIZE], b[SHAPE_TEXT_SIZE];
        say(recorded, RECORDED_SHAPE, first,
            "the recording has %s as %s, but %s of the model is %s of one sample (%s)", value->name,
            shape_text(&value->array.shape, a), value->value, shape_text(&own->whole.shape, b),
            recorded->nodes);
        return;
    }
    struct str beyond;
    str_init(&beyond);
    if (isfinite(own->held_alone.beyond))
        str_printf(&beyond, "%.3g times what %s", own->held_alone.beyond,
                   scene->by_trial ? "trials leave to rounding" : "rounding explains");
    else
        str_add(&beyond, "and no rounding explains it");
    say(recorded, RECORDED_PARTS, first,
        "the recording parts from the model at %s: %s is off by up to %.2g of its largest number (%zu of %zu "
        "numbers), %s",
        recorded->nodes, value->name, own->held_alone.error, own->held_alone.off, own->held_alone.compared,
        beyond.data);
    str_release(&beyond);
}

/* --- together --- */

static void explain(struct recorded *recorded, struct scene *scene)
{
    if (differing_input(recorded, scene) || other_order(recorded, scene) || other_inputs(recorded, scene) ||
        other_value(recorded, scene) || fewer_bits(recorded, scene))
        return;
    blame_layer(recorded, scene);
}

static bool say_layout(struct recorded *recorded, const struct scene *scene)
{
    char text[64];
    size_t i = 0;
    while (i < scene->count && !scene->values[i].turned)
        i++;
    if (i == scene->count)
        return false;
    axes_text(&scene->values[i].layout, text, sizeof text);
    say(recorded, RECORDED_LAYOUT, i,
        "the recording is what the model gives, but %s is in another layout: %s",
        scene->recording->values[i].name, text);
    return true;
}

static bool any_compared(const struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++)
        if (!scene->recording->values[i].input && scene->values[i].held.compared)
            return true;
    return false;
}

/* Where no number has a bound: that a value stands in another layout, and nothing in favour of others. */
static void say_near(struct recorded *recorded, const struct scene *scene)
{
    if (!say_layout(recorded, scene))
        say(recorded, RECORDED_UNJUDGED, 0,
            "no number of the recording has a bound on this data; all are as near to the model's as rounding "
            "brings them, to judge by trials, which prove nothing");
}

static void keep_looks(struct recorded *recorded, const struct scene *scene)
{
    const Onnx__GraphProto *graph = scene->model->graph;
    recorded->count = scene->count;
    recorded->sample = scene->sample;
    recorded->looks = arena_array(&recorded->arena, scene->count, sizeof *recorded->looks);
    for (size_t i = 0; i < scene->count; i++) {
        const struct recorded_value *value = &scene->recording->values[i];
        const struct scene_value *own = &scene->values[i];
        struct recorded_look *look = &recorded->looks[i];
        *look = (struct recorded_look){
            .name = arena_strdup(&recorded->arena, value->name),
            .value = arena_strdup(&recorded->arena, value->value),
            .op = arena_strdup(&recorded->arena, value->input ? "" : graph->node[value->node]->op_type),
            .elements = own->whole.count,
            .open = scene->by_trial ? own->whole.count : own->held.open,
            .off = own->held.off,
            .off_alone = own->held_alone.off,
            .error = own->held.error,
            .error_alone = own->held_alone.error,
            .beyond = own->held_alone.beyond,
            .worst = own->held_alone.worst,
            .judged = own->held.compared > 0 && !scene->by_trial};
        if (own->turned)
            axes_text(&own->layout, look->layout, sizeof look->layout);
    }
}

/* Whether what the inputs' bounds do not tell of is right on the recorded values before it. */
static bool rest_agrees(const struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++)
        if (!scene->values[i].held.compared && !held_agrees(&scene->values[i].held_alone))
            return false;
    return true;
}

/* A value of which nothing could be judged either way; the number of values: there is none. */
static size_t first_unjudged(const struct scene *scene)
{
    size_t i = 0;
    while (i < scene->count && (scene->values[i].held.compared || scene->values[i].held_alone.compared ||
                                !scene->values[i].whole.count))
        i++;
    return i;
}

static void say_agrees(struct recorded *recorded, const struct scene *scene)
{
    size_t unjudged = first_unjudged(scene);
    if (!any_compared(scene))
        say(recorded, RECORDED_UNJUDGED, 0,
            "no number of the recording could be judged: none has a bound on this data");
    else if (unjudged < scene->count)
        say(recorded, RECORDED_UNJUDGED, unjudged,
            "nothing speaks against the recording, but no number of its %s could be judged",
            scene->recording->values[unjudged].name);
    else if (!say_layout(recorded, scene))
        say(recorded, RECORDED_AGREES, 0, "the recording is what the model gives, within rounding%s%s",
            scene->precision ? " of " : "", scene->precision ? precision_name(scene->precision) : "");
}

static int judge_sample(struct recorded *recorded, struct scene *scene, size_t sample, struct error *err)
{
    if (scene_judge(scene, sample, err) || scene_judge_alone(scene, err))
        return -1;
    if (scene_agrees(scene) && !scene_any_judged(scene))
        scene_judge_by_trial(scene);
    recorded->by_trial = scene->by_trial;
    if (!scene_agrees(scene))
        explain(recorded, scene);
    else if (scene->by_trial)
        say_near(recorded, scene);
    else if (rest_agrees(scene))
        say_agrees(recorded, scene);
    else
        blame_layer(recorded, scene);
    return 0;
}

int recorded_judge(struct recorded *recorded, const struct model *model, const struct dump *recording,
                   const struct inputs *inputs, const struct recorded_options *options, struct error *err)
{
    struct scene scene;
    int status = 0;
    *recorded = (struct recorded){.precision = options->precision, .nodes = "", .text = ""};
    arena_init(&recorded->arena);
    scene_init(&scene, model, recording, inputs, options);
    for (size_t i = 0; i < inputs->samples && i < MOST_SAMPLES && !status; i++) {
        if (i && (recorded->kind != RECORDED_AGREES || scene_late(&scene)))
            break;
        status = judge_sample(recorded, &scene, i, err);
        recorded->samples = i + 1;
    }
    recorded->hurried = scene.hurried;
    if (!status)
        keep_looks(recorded, &scene);
    scene_release(&scene);
    return status;
}

void recorded_release(struct recorded *recorded)
{
    arena_release(&recorded->arena);
}
