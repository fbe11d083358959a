#include "against/work.h"

#include "base/clock.h"
#include "base/memory.h"
#include "judge/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rounding in float32 costs an answer no more, unless a model enlarges it. */
static const double rounding_share = 1e-3;

/* Rounding explains so many times a node's hard bound: the constants of both models were rounded as well. */
static const double rounding = 4;

enum {
    CLASSES_LEAST = 10, /* an output of as many elements in a row is taken for confidences */
};

double against_share(const struct loss *losses, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += loss_share(&losses[i]) * loss_share(&losses[i]);
    return count ? sqrt(sum / (double)count) : 0;
}

bool against_same(const struct against *against)
{
    double share = against_share(against->output, against->n_outputs);
    return !*against->formats && !against->damaged && share <= rounding_share;
}

/* The inputs of the graph are taken as well: they may be quantised themselves. */
static int take_inputs(struct pass *pass, const struct value *inputs, size_t count, struct error *err)
{
    const Onnx__GraphProto *graph = pass->index->model->graph;
    for (size_t i = 0; i < graph->n_input; i++) {
        size_t number;
        const struct value *given = value_for_input(inputs, count, graph->input[i]->name, i);
        if (!given || given->kind != VALUE_TENSOR || !dtype_is_real(given->tensors[0].type) ||
            !pass_value(pass, graph->input[i]->name, &number))
            continue;
        tensor_release(&pass->taken[number]);
        if (tensor_copy(&pass->taken[number], &given->tensors[0], err))
            return -1;
    }
    return 0;
}

/* Constants that a node makes of others are taken where they are computed, the others are read. */
static int take_constant(const struct pass *pass, size_t value, struct tensor *constant, struct error *err)
{
    const struct index_value *at = &pass->index->values[value];
    if (at->source == SOURCE_INITIALIZER)
        return model_weight(pass->index->model, at->number, constant, err);
    if (pass->taken[value].data)
        return tensor_copy(constant, &pass->taken[value], err);
    return 0;
}

static const struct levels *levels_of(const struct work *work, size_t value, struct levels **levels,
                                      const struct tensor **base)
{
    size_t layer = work->match.layer[value], weight = work->match.weight[value];
    *levels = NULL;
    if (weight != NO_VALUE && work->sample == 0) {
        *levels = &work->weights[weight];
        *base = &work->constants[weight];
    } else if (layer != NO_VALUE && work->match.layers[layer].passed == value) {
        *levels = &work->ends[layer];
        *base = against_base(work, layer);
    }
    return *levels;
}

/* Looks at what a DequantizeLinear makes of numbers that are known. */
static void see_levels(void *context, const struct op_call *call)
{
    struct work *work = context;
    struct levels *levels;
    const struct tensor *base = NULL;
    struct tensor made;
    size_t value;
    if (!(call->op->flags & OP_DEQUANTIZES) || !pass_value(&work->local, call->node->output[0], &value))
        return;
    work->level_types |= DTYPE_BIT(call->inputs[0]->type);
    if (!levels_of(work, value, &levels, &base) || !base || !base->data)
        return;
    if (bounded_to_tensor(&call->outputs[0], &made, NULL) == 0) {
        levels_add(levels, call, &made, base, work->sample);
        tensor_release(&made);
    }
}

/* The types in which OTHER stores levels itself. */
static void see_other(void *context, const struct op_call *call)
{
    struct work *work = context;
    if (call->op->flags & OP_DEQUANTIZES)
        work->other_level_types |= DTYPE_BIT(call->inputs[0]->type);
}

/* Whether a node reads a constant that is stored as levels and has no counterpart: then nothing is known of
 * what its result should be. */
static bool reads_unknown(const struct work *work, const struct op_call *call)
{
    const struct match *match = &work->match;
    for (size_t i = 0; i < call->node->n_input; i++) {
        size_t value;
        if (pass_value(&work->exact, call->node->input[i], &value) && match->weight[value] == NO_VALUE &&
            match_is_constant(match->model, value) && match->root[value] != value)
            return true;
    }
    return false;
}

/* Counts results of a node on OTHER's numbers and weights that are further from OTHER's than rounding
 * explains. */
static void see_bounds(void *context, const struct op_call *call)
{
    struct work *work = context;
    for (size_t o = 0; o < call->node->n_output && o < call->n_outputs; o++) {
        const struct bounded *out = &call->outputs[o];
        size_t value, layer = NO_VALUE;
        if (pass_value(&work->exact, call->node->output[o], &value))
            layer = work->match.layer[value];
        const struct tensor *base = layer != NO_VALUE ? against_base(work, layer) : NULL;
        if (!base || work->match.layers[layer].made != value || base->count != out->count || !out->value)
            continue;
        if (reads_unknown(work, call)) {
            work->unknown++;
            continue;
        }
        double largest = 0;
        for (size_t i = 0; i < out->count; i++)
            largest = fmax(largest, isfinite(out->value[i]) ? (double)fabsl(out->value[i]) : 0);
        for (size_t i = 0; i < out->count; i++) {
            long double x = tensor_get(base, i), error = fabsl(out->value[i] - x);
            double slack = rounding * (bounded_hard(out, i) + dtype_precision(base->type).unit * largest);
            bool ok = error <= slack || !isfinite(x) || out->value[i] == x || !isfinite(out->value[i]);
            work->layers[layer].off += !ok;
        }
    }
}

/* The type of a value in the chain of a constant of MODEL. */
static enum dtype stage_type(const struct work *work, size_t value)
{
    const struct model_index *index = work->plain.index;
    const struct index_value *at = &index->values[value];
    if (at->source == SOURCE_INITIALIZER && at->number < index->model->graph->n_initializer)
        return (enum dtype)index->model->graph->initializer[at->number]->data_type;
    return work->plain.taken[value].data ? work->plain.taken[value].type : DTYPE_NONE;
}

/* The coarsest floating-point type through which a constant goes from where it is stored to the node that
 * reads it; none where it has levels. */
static enum dtype coarsest_type(const struct work *work, size_t value)
{
    enum dtype coarsest = stage_type(work, value);
    while (dtype_is_float(coarsest) && value != work->match.root[value]) {
        const Onnx__NodeProto *node = match_maker(work->plain.index, value);
        if (!node || !pass_value(&work->plain, node->input[0], &value))
            return DTYPE_NONE;
        enum dtype type = stage_type(work, value);
        if (!dtype_is_float(type) || dtype_precision(type).unit > dtype_precision(coarsest).unit)
            coarsest = type;
    }
    return dtype_is_float(coarsest) ? coarsest : DTYPE_NONE;
}

/* Whether a constant of MODEL is OTHER's, but for what its type costs, which is then one of MODEL's. Levels
 * are looked at by levels.h. */
static bool is_kept(struct work *work, size_t weight, const struct tensor *made)
{
    bool same = true;
    const struct tensor *base = &work->constants[weight];
    enum dtype type = coarsest_type(work, work->match.weights[weight].model);
    struct dtype_precision has = dtype_precision(type), had = dtype_precision(base->type);
    bool coarser = type != DTYPE_NONE && (has.unit > had.unit || has.smallest > had.smallest);
    bool good = made->count == base->count && (dtype_is_integer(base->type) || type != DTYPE_NONE);
    for (size_t i = 0; i < base->count && good; i++) {
        long double x = tensor_get(base, i), y = tensor_get(made, i);
        same = same && x == y;
        good = x == y || (coarser && fabsl(x - y) <= fabsl(x) * has.unit + has.smallest);
    }
    if (good && !same)
        work->model_types |= DTYPE_BIT(type);
    return good;
}

/* Counts the constants that are not, on the first sample. */
static int see_constants(struct work *work, struct error *err)
{
    for (size_t i = 0; i < work->match.n_weights; i++) {
        struct tensor made = {0};
        if (work->weights[i].groups || !work->constants[i].data)
            continue;
        if (take_constant(&work->plain, work->match.weights[i].model, &made, err))
            return -1;
        work->astray += !made.data || !is_kept(work, i, &made);
        tensor_release(&made);
    }
    return 0;
}

static int open_passes(struct work *work, const struct model *model, const struct model *other,
                       struct error *err)
{
    if (plain_products_init(&work->products, model, err))
        return -1;
    if (work->products.model)
        model = work->products.model;
    if (pass_init(&work->other, other, true, err) || pass_init(&work->plain, model, true, err) ||
        pass_init(&work->local, model, true, err) || pass_init(&work->exact, model, false, err))
        return -1;
    work->local.seen = see_levels;
    work->exact.seen = see_bounds;
    work->other.seen = see_other;
    work->local.context = work->exact.context = work->other.context = work;
    work->exact.exact = true;
    work->exact.wanted = memory_zeroed(work->exact.index->count + 1, sizeof(bool));
    match_init(&work->match, work->plain.index, work->other.index);
    return 0;
}

static dtype_set float_types(const struct pass *pass)
{
    dtype_set types = 0;
    for (size_t i = 0; i < pass->index->count; i++)
        if (pass->taken[i].data && dtype_is_float(pass->taken[i].type))
            types |= DTYPE_BIT(pass->taken[i].type);
    return types;
}

/* Everything that depends on the values of a first sample. */
static int open_layers(struct work *work, struct error *err)
{
    struct match *match = &work->match;
    match_by_values(match, work->plain.taken, work->other.taken);
    match_weights(match);
    work->layers = memory_zeroed(match->n_layers + 1, sizeof *work->layers);
    work->ends = memory_zeroed(match->n_layers + 1, sizeof *work->ends);
    work->types = memory_zeroed(match->n_layers + 1, sizeof *work->types);
    work->contributions = memory_zeroed(match->n_layers + 1, sizeof *work->contributions);
    work->weighed = memory_zeroed(match->n_layers + 1, sizeof *work->weighed);
    work->weights = memory_zeroed(match->n_weights + 1, sizeof *work->weights);
    work->constants = memory_zeroed(match->n_weights + 1, sizeof *work->constants);
    for (size_t i = 0; i < match->n_weights; i++)
        if (take_constant(&work->other, match->weights[i].other, &work->constants[i], err))
            return -1;
    against_find_fronts(work);
    work->other_types = float_types(&work->other);
    work->model_types = float_types(&work->plain);
    return 0;
}

/* Nodes read OTHER's numbers in place of MODEL's own. */
static void force_layers(struct work *work, struct pass *pass)
{
    for (size_t i = 0; i < pass->index->count; i++) {
        size_t layer = work->match.layer[i];
        pass->forced[i] = layer != NO_VALUE ? against_base(work, layer) : NULL;
    }
}

static void force_weights(struct work *work, struct pass *pass)
{
    for (size_t i = 0; i < work->match.n_weights; i++) {
        const struct match_weight *weight = &work->match.weights[i];
        const struct tensor *constant = &work->constants[i];
        if (constant->data && dtype_is_float(constant->type))
            pass->forced[weight->model] = constant;
    }
}

static int run_quietly(struct pass *pass, const struct value *inputs, size_t count, struct error *err)
{
    struct tensor *outputs;
    size_t n;
    int status = pass_run(pass, inputs, count, &outputs, &n, err);
    pass_outputs_free(outputs, n);
    return status;
}

/* The losses of all layers on this sample: on MODEL's own numbers and on those of OTHER. */
static void add_layers(struct work *work)
{
    for (size_t i = 0; i < work->match.n_layers; i++) {
        const struct match_layer *at = &work->match.layers[i];
        const struct tensor *base = against_base(work, i);
        struct against_layer *layer = &work->layers[i];
        size_t end = at->passed != NO_VALUE ? at->passed : at->made;
        if (!base)
            continue;
        if (work->plain.taken[end].data)
            loss_add(&layer->total, &work->plain.taken[end], base, work->sample);
        if (at->made != NO_VALUE && work->local.taken[at->made].data) {
            loss_add(&layer->local, &work->local.taken[at->made], base, work->sample);
            levels_add_float(&work->types[i], &work->local.taken[at->made], base, work->sample);
        }
        if (at->passed != NO_VALUE && work->local.taken[at->passed].data) {
            loss_add(&layer->passed, &work->local.taken[at->passed], base, work->sample);
            if (!work->ends[i].groups)
                levels_add_float(&work->types[i], &work->local.taken[at->passed], base, work->sample);
        }
    }
}

/* The reference's answers to a sample. */
struct answers {
    size_t n_other, n_model;
    struct tensor *other, *model;
};

static void answers_release(struct answers *answers)
{
    pass_outputs_free(answers->other, answers->n_other);
    pass_outputs_free(answers->model, answers->n_model);
    *answers = (struct answers){0};
}

static bool adds_up_to_one(const struct tensor *row, size_t first, size_t length)
{
    long double sum = 0;
    bool positive = true;
    for (size_t i = 0; i < length; i++) {
        positive &= tensor_get(row, first + i) >= 0;
        sum += tensor_get(row, first + i);
    }
    return positive && fabsl(sum - 1) < 1e-3L;
}

static size_t top_of(const struct tensor *tensor, size_t first, size_t length)
{
    size_t top = length;
    long double most = 0;
    for (size_t i = 0; i < length; i++) {
        long double x = tensor_get(tensor, first + i);
        if (!isnan(x) && (top == length || x > most)) {
            most = x;
            top = i;
        }
    }
    return top;
}

/* Counts the rows of the first output in which the largest element is the same; *rows: all, where the output
 * is one of classes or confidences. */
static size_t count_tops(const struct tensor *base, const struct tensor *made, bool classes, size_t *rows)
{
    size_t length = base->shape.rank ? (size_t)base->shape.dims[base->shape.rank - 1] : 0, same = 0;
    *rows = 0;
    if (length < 2 || base->count == 0 || !dtype_is_float(base->type) || made->count != base->count)
        return 0;
    if (!classes && length < CLASSES_LEAST && !adds_up_to_one(base, 0, length))
        return 0;
    *rows = base->count / length;
    for (size_t i = 0; i < *rows; i++)
        same += top_of(base, i * length, length) == top_of(made, i * length, length);
    return same;
}

static bool hits(const struct work *work, const struct tensor *output)
{
    return work->inputs->classes && top_of(output, 0, output->count) == work->inputs->classes[work->sample];
}

static void add_answers(struct work *work, const struct answers *answers)
{
    struct against *against = work->against;
    size_t rows;
    for (size_t i = 0; i < against->n_outputs; i++)
        loss_add(&against->output[i], &answers->model[i], &answers->other[i], work->sample);
    if (!against->n_outputs)
        return;
    against->top += count_tops(&answers->other[0], &answers->model[0], against->classes, &rows);
    against->rows += rows;
    against->hits += hits(work, &answers->model[0]);
    against->other_hits += hits(work, &answers->other[0]);
}

static void add_engine(struct work *work, size_t number, const struct result *result,
                       const struct answers *answers)
{
    struct against_engine *engine = &work->against->engine[number];
    size_t rows;
    if (result->outcome != OUTCOME_OK || result->count < work->against->n_outputs)
        return;
    engine->answered++;
    for (size_t i = 0; i < work->against->n_outputs; i++) {
        const struct value *value = &result->outputs[i];
        if (value->kind != VALUE_TENSOR)
            continue;
        loss_add(&engine->added[i], &value->tensors[0], &answers->model[i], work->sample);
        loss_add(&engine->whole[i], &value->tensors[0], &answers->other[i], work->sample);
        if (i == 0) {
            engine->top += count_tops(&answers->other[0], &value->tensors[0], work->against->classes, &rows);
            engine->hits += hits(work, &value->tensors[0]);
        }
    }
}

static int add_engines(struct work *work, const struct answers *answers, struct error *err)
{
    struct run *run;
    if (!work->against->n_engines)
        return 0;
    int next = runner_next(work->runner, &run, err);
    if (next <= 0)
        return next;
    for (size_t i = 0; i < run->n_engines; i++)
        add_engine(work, i, run_result(run, 0, i), answers);
    run_free(run);
    return 0;
}

static void start_engines(struct work *work, const struct value *inputs)
{
    struct job job = {.n_inputs = work->inputs->count, .inputs = inputs};
    handover_give(&work->handover, &job);
    runner_submit(work->runner, &job, ASK_NEVER);
}

static int open_outputs(struct work *work, const struct answers *answers, struct error *err)
{
    struct against *against = work->against;
    const Onnx__GraphProto *graph = work->plain.index->model->graph;
    if (answers->n_model != answers->n_other)
        return error_set(err, ERROR_USAGE, "the two models have %zu and %zu outputs", answers->n_model,
                         answers->n_other);
    against->n_outputs = answers->n_model;
    against->outputs = arena_array(&against->arena, against->n_outputs + 1, sizeof *against->outputs);
    against->output = arena_array(&against->arena, against->n_outputs + 1, sizeof *against->output);
    memset(against->output, 0, (against->n_outputs + 1) * sizeof *against->output);
    for (size_t i = 0; i < against->n_outputs; i++) {
        against->outputs[i] = arena_strdup(&against->arena, graph->output[i]->name);
        if (answers->model[i].count != answers->other[i].count)
            return error_set(err, ERROR_USAGE, "output %s has %zu elements, and %zu in the other model",
                             against->outputs[i], answers->model[i].count, answers->other[i].count);
    }
    for (size_t i = 0; i < against->n_engines; i++) {
        struct against_engine *engine = &against->engine[i];
        engine->added = arena_array(&against->arena, against->n_outputs + 1, sizeof *engine->added);
        engine->whole = arena_array(&against->arena, against->n_outputs + 1, sizeof *engine->whole);
        memset(engine->added, 0, (against->n_outputs + 1) * sizeof *engine->added);
        memset(engine->whole, 0, (against->n_outputs + 1) * sizeof *engine->whole);
    }
    return 0;
}

/* All evaluations of one sample. */
static int evaluate_sample(struct work *work, const struct value *inputs, const struct value *others,
                           struct answers *answers, struct error *err)
{
    size_t count = work->inputs->count;
    if (take_inputs(&work->other, others, count, err) ||
        pass_run(&work->other, others, count, &answers->other, &answers->n_other, err))
        return error_prefix(err, "the other model");
    if (take_inputs(&work->plain, inputs, count, err) ||
        pass_run(&work->plain, inputs, count, &answers->model, &answers->n_model, err))
        return -1;
    if (work->sample == 0 && (open_outputs(work, answers, err) || open_layers(work, err)))
        return -1;
    force_layers(work, &work->local);
    if (run_quietly(&work->local, inputs, count, err))
        return -1;
    add_layers(work);
    if (work->sample == 0 && see_constants(work, err))
        return -1;
    if (work->sample == 0 || !against_spent(work, 0.5)) {
        force_layers(work, &work->exact);
        force_weights(work, &work->exact);
        if (run_quietly(&work->exact, inputs, count, err))
            return -1;
    }
    return against_spent(work, 0.5) && work->sample ? 0 : against_weigh(work, others, err);
}

/* The inputs as OTHER calls them, which has other names where it was exported again: the names of the same
 * places. The numbers are borrowed, and only the array is to be freed. */
static struct value *renamed(const struct work *work, const struct value *inputs)
{
    const Onnx__GraphProto *graph = work->other.index->model->graph;
    size_t count = work->inputs->count, place = 0;
    struct value *names = memory_zeroed(count + 1, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = inputs[i];
    for (size_t i = 0; i < graph->n_input && place < count; i++) {
        char *name = graph->input[i]->name;
        const struct index_value *value = model_index_find(work->other.index, name);
        if (!value || value->source != SOURCE_INPUT)
            continue;
        if (!value_for_input(inputs, count, name, count))
            names[place].name = name;
        place++;
    }
    return names;
}

static int run_sample(struct work *work, struct error *err)
{
    struct value *inputs;
    struct answers answers = {0};
    if (inputs_get(work->inputs, work->sample, &inputs, err))
        return -1;
    if (work->against->n_engines)
        start_engines(work, inputs);
    struct value *others = renamed(work, inputs);
    int status = evaluate_sample(work, inputs, others, &answers, err);
    if (status == 0) {
        add_answers(work, &answers);
        work->against->compared++;
        status = add_engines(work, &answers, err);
    } else {
        struct run *run;
        if (work->against->n_engines && runner_next(work->runner, &run, NULL) > 0)
            run_free(run);
    }
    pass_forget(&work->other);
    pass_forget(&work->plain);
    pass_forget(&work->local);
    answers_release(&answers);
    free(others);
    values_free(inputs, work->inputs->count);
    return status;
}

static void close_work(struct work *work)
{
    for (size_t i = 0; i < work->match.n_layers && work->ends; i++) {
        levels_release(&work->ends[i]);
        levels_release(&work->types[i]);
    }
    for (size_t i = 0; i < work->match.n_weights && work->weights; i++) {
        levels_release(&work->weights[i]);
        tensor_release(&work->constants[i]);
    }
    free(work->layers);
    free(work->ends);
    free(work->types);
    free(work->weights);
    free(work->constants);
    free(work->contributions);
    free(work->weighed);
    free(work->fronts);
    match_release(&work->match);
    pass_release(&work->other);
    pass_release(&work->plain);
    pass_release(&work->local);
    pass_release(&work->exact);
    plain_products_release(&work->products);
    runner_free(work->runner);
    handover_close(&work->handover);
}

int against_run(struct against *against, const struct model *model, const struct model *other,
                const struct inputs *inputs, const struct panel *panel, const struct against_options *options,
                struct error *err)
{
    struct runner_options running = {.in_order = true};
    struct work work = {
        .against = against,
        .inputs = inputs,
        .start = clock_seconds(),
        .seconds = options->seconds > 0 ? options->seconds : AGAINST_SECONDS,
    };
    *against = (struct against){
        .samples = inputs->samples, .n_engines = panel->count, .classes = inputs->classes != NULL};
    arena_init(&against->arena);
    against->engine = arena_array(&against->arena, panel->count + 1, sizeof *against->engine);
    memset(against->engine, 0, (panel->count + 1) * sizeof *against->engine);
    against->formats = "";
    int status = open_passes(&work, model, other, err);
    if (status == 0 && panel->count)
        status = handover_open(&work.handover, panel->pool, model, err);
    if (status == 0)
        work.runner = runner_new(panel, &running);
    for (size_t i = 0; i < inputs->samples && status == 0 && (i == 0 || !against_spent(&work, 1)); i++) {
        work.sample = i;
        status = run_sample(&work, err);
    }
    if (status == 0)
        against_judge(&work);
    close_work(&work);
    return status;
}

void against_release(struct against *against)
{
    arena_release(&against->arena);
    *against = (struct against){0};
}
