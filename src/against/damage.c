/* Which layers are damaged, and what is wrong with them (against.h). */
#include "against/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A layer whose error is that many times what its levels must cost is damaged, if that matters. */
static const double damaged_factor = 16;

/* A damage matters from this share of all contributions on, and this loss of the answer. */
static const double damage_share = 0.02, damage_loss = 1e-4;

/* Levels that do not fit by such a factor are a damage whatever it costs on these samples. */
static const double surely_damaged = 1000;

enum { TOP_NAMES = 8 }; /* formats that are named */

/* The names of the types that MODEL's numbers have and OTHER's do not. */
static const char *formats_of(const struct work *work)
{
    struct str names;
    str_init(&names);
    dtype_set types = (work->model_types & ~work->other_types) |
                      (work->level_types & ~work->other_level_types & ~(dtype_set)DTYPE_BIT(DTYPE_INT32));
    for (int type = 1, count = 0; type < DTYPE_COUNT && count < TOP_NAMES; type++)
        if (dtype_in((enum dtype)type, types))
            str_printf(&names, "%s%s", count++ ? " and " : "", dtype_name((enum dtype)type));
    const char *copy = arena_strdup(&work->against->arena, names.data ? names.data : "");
    str_release(&names);
    return copy;
}

/* The levels of a layer that fit their numbers least: of its weights, or of its end. */
static const struct levels *worst_levels(const struct work *work, size_t number, bool *end, size_t *weight,
                                         double *worst)
{
    const struct levels *found = NULL;
    *worst = 0;
    *end = false;
    for (size_t i = 0; i < work->match.n_weights; i++) {
        double factor;
        if (work->match.weights[i].layer != number || !work->weights[i].groups)
            continue;
        levels_factor(&work->weights[i], NULL, &factor);
        if (factor > *worst) {
            *worst = factor;
            *weight = i;
            found = &work->weights[i];
        }
    }
    if (work->ends[number].groups) {
        double factor;
        levels_factor(&work->ends[number], NULL, &factor);
        if (factor > *worst) {
            *worst = factor;
            *end = true;
            found = &work->ends[number];
        }
    }
    return found;
}

/* The part of a layer's own loss that well-chosen levels would not have. */
static double avoidable_part(const struct work *work, size_t number)
{
    const struct against_layer *layer = &work->layers[number];
    double weights = 1, made = (double)layer->local.error2, end = (double)layer->passed.error2;
    for (size_t i = 0; i < work->match.n_weights; i++)
        if (work->match.weights[i].layer == number)
            weights = fmax(weights, levels_factor(&work->weights[i], NULL, NULL));
    double must = made / weights + end / levels_factor(&work->ends[number], NULL, NULL);
    return made + end > 0 ? 1 - must / (made + end) : 0;
}

static void describe_damage(struct work *work, size_t number, bool misfit, const struct levels *levels,
                            bool end, size_t weight)
{
    struct against_layer *layer = &work->layers[number];
    struct str text, what;
    str_init(&text);
    str_init(&what);
    if (misfit) {
        if (end)
            str_add(&what, "its output");
        else
            str_printf(&what, "its weights %.80s",
                       work->match.other->values[work->match.weights[weight].other].name);
        levels_words(&text, levels, what.data);
    } else if (work->types[number].beyond || work->types[number].lost) {
        levels_words(&text, &work->types[number], "it");
    } else {
        str_printf(&text,
                   "it computes something else: %zu values are further from the other model's than "
                   "rounding explains, on the same inputs and weights",
                   layer->off);
    }
    layer->why = arena_strdup(&work->against->arena, text.data);
    str_release(&text);
    str_release(&what);
}

/* Whether a contribution is large enough to speak of damage. */
static bool matters(double share, double loss)
{
    return !(share < damage_share) && !(sqrt(loss) < damage_loss);
}

static void judge_layer(struct work *work, size_t number, double sum)
{
    struct against_layer *layer = &work->layers[number];
    const struct levels *types = &work->types[number];
    size_t weight = 0;
    bool end;
    double worst, part = avoidable_part(work, number);
    const struct levels *levels = worst_levels(work, number, &end, &weight, &worst);
    layer->share = isinf(layer->contribution) ? 1 : sum > 0 ? layer->contribution / sum : 0;
    layer->factor = fmax(1, worst);
    bool misfit = levels && worst >= damaged_factor;
    bool limits = types->beyond || (types->lost && layer->local.broken);
    bool other = layer->off > 0;
    layer->avoidable = layer->share * (limits || other ? 1 : part);
    layer->damaged =
        (misfit && (worst >= surely_damaged || matters(layer->avoidable, layer->contribution * part))) ||
        ((limits || other) && matters(layer->share, layer->contribution));
    if (misfit || limits || other || types->lost)
        describe_damage(work, number, misfit, levels, end, weight);
}

static void name_layer(const struct work *work, size_t number)
{
    struct against_layer *layer = &work->layers[number];
    const struct match_layer *at = &work->match.layers[number];
    struct arena *arena = &work->against->arena;
    const struct model_index *index = work->match.model;
    size_t made = at->made != NO_VALUE ? at->made : work->match.root[at->passed];
    const Onnx__NodeProto *node = match_maker(index, made);
    layer->value = arena_strdup(arena, work->match.other->values[at->other].name);
    layer->operator= node ? arena_strdup(arena, op_title(node)) : "input";
    layer->node = arena_strdup(arena, node ? model_node_name(node) : layer->value);
    layer->number = node ? index->values[made].number : SIZE_MAX;
    if (node && work->products.model)
        layer->number = work->products.origin[layer->number];
    layer->by = at->by;
}

static int by_rank(const void *a, const void *b)
{
    const struct against_layer *x = a, *y = b;
    if (x->damaged != y->damaged)
        return x->damaged ? -1 : 1;
    double p = x->damaged ? x->avoidable : x->share, q = x->damaged ? y->avoidable : y->share;
    if (p != q)
        return p > q ? -1 : 1;
    double s = loss_mse(&x->local) + loss_mse(&x->passed), t = loss_mse(&y->local) + loss_mse(&y->passed);
    return s > t ? -1 : s < t;
}

static void count_values(struct work *work)
{
    const struct match *match = &work->match;
    for (size_t i = 0; i < match->other->count; i++) {
        bool counts = match_maker(match->other, i) && !match_is_constant(match->other, i);
        work->against->values += counts;
        work->against->unmatched += counts && match->reverse[i] == NO_VALUE;
    }
}

/* The loss in front of the operator that makes the first output, where that one hides it. */
static void look_in_front(struct work *work)
{
    const struct model_index *other = work->match.other;
    const Onnx__GraphProto *graph = other->model->graph;
    size_t value;
    if (!work->n_fronts || !graph->n_output || !map_get(&other->names, graph->output[0]->name, &value) ||
        value == work->fronts[0] || work->match.reverse[work->fronts[0]] == NO_VALUE)
        return;
    const struct against_layer *layer = &work->layers[work->match.reverse[work->fronts[0]]];
    const Onnx__NodeProto *node = match_maker(other, value);
    work->against->hiding = arena_strdup(&work->against->arena, node ? op_title(node) : "");
    work->against->front = loss_share(&layer->total);
}

/* Whether nothing is left that the types of MODEL do not explain. Every output of OTHER has to be a layer, as
 * nothing else is held against its numbers. */
static bool formats_explain(const struct work *work)
{
    const struct match *match = &work->match;
    const Onnx__GraphProto *graph = match->other->model->graph;
    bool good = !work->unknown && !work->astray;
    for (size_t i = 0; i < graph->n_output && good; i++) {
        size_t value;
        good = map_get(&match->other->names, graph->output[i]->name, &value) &&
               match->reverse[value] != NO_VALUE;
    }
    for (size_t i = 0; i < match->n_layers && good; i++)
        good = !work->layers[i].off;
    for (size_t i = 0; i < match->n_weights && good; i++) {
        double worst = 1;
        if (work->weights[i].groups)
            levels_factor(&work->weights[i], NULL, &worst);
        good = worst < damaged_factor;
    }
    return good;
}

void against_judge(struct work *work)
{
    struct against *against = work->against;
    double sum = 0;
    for (size_t i = 0; i < work->match.n_layers; i++) {
        work->layers[i].contribution = work->contributions[i] / fmax(1, (double)work->layers[i].tried);
        sum += work->layers[i].contribution;
    }
    against->layers = arena_array(&against->arena, work->match.n_layers + 1, sizeof *against->layers);
    for (size_t i = 0; i < work->match.n_layers; i++) {
        const struct match_layer *at = &work->match.layers[i];
        if (at->made == NO_VALUE && at->passed == NO_VALUE)
            continue;
        name_layer(work, i);
        judge_layer(work, i, sum);
        against->damaged += work->layers[i].damaged;
        against->layers[against->n_layers++] = work->layers[i];
    }
    qsort(against->layers, against->n_layers, sizeof *against->layers, by_rank);
    against->formats = formats_of(work);
    against->explained = *against->formats && !against->damaged && formats_explain(work);
    count_values(work);
    look_in_front(work);
}
