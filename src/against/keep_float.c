#include "against/keep_float.h"

#include "against/mixed_model.h"
#include "against/passes.h"
#include "against/plain_products.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/str.h"
#include "engine/handover.h"
#include "engine/runner.h"
#include "ops/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEARCHED = 16,  /* samples on which every choice is evaluated */
    VERIFIED = 256, /* on which the engines run the last one */
};

/* Of the time: until the samples of the search have their answers, until layers are given up again, and until
 * no more samples are answered for the engines. */
static const double answering = 0.05, searching = 0.6, verifying = 0.8;

/* One sample and OTHER's answer to it. */
struct keep_sample {
    struct value *inputs;
    size_t n_outputs;
    struct tensor *outputs;
};

struct keep_work {
    struct kept_float *kept;
    const struct inputs *inputs;
    const struct panel *panel;
    struct model_index model, other;
    struct match match;
    struct mixed_plan plan;
    size_t n_searched, n_samples; /* the first of them are those of the search */
    struct keep_sample samples[VERIFIED];
    size_t n_order, *order; /* layers that can be kept, the costliest first */
    enum dtype *types;      /* of MODEL's values */
    bool *chosen;           /* for each layer */
    double figure, start, seconds;
};

static bool over(const struct keep_work *work, double part)
{
    return clock_seconds() - work->start > work->seconds * part;
}

/* Spread over the data, every sample once: those of the search first, then those between them. */
static size_t sample_number(size_t samples, size_t place)
{
    size_t step = samples > SEARCHED ? samples / SEARCHED : 1, round = 0, number = place;
    for (; round < step; round++) {
        size_t in_round = (samples - round + step - 1) / step;
        if (number < in_round)
            return number * step + round;
        number -= in_round;
    }
    return samples - 1;
}

/* OTHER's answers to further samples, up to so many, as long as that part of the time is not over. */
static int answer_samples(struct keep_work *work, const struct model *other, size_t most, double part,
                          struct error *err)
{
    struct pass pass;
    int status = pass_init(&pass, other, true, err);
    pass.wanted = status ? NULL : memory_zeroed(pass.index->count + 1, sizeof(bool));
    if (most > work->inputs->samples)
        most = work->inputs->samples;
    while (status == 0 && work->n_samples < most && (work->n_samples == 0 || !over(work, part))) {
        struct keep_sample *sample = &work->samples[work->n_samples];
        size_t number = sample_number(work->inputs->samples, work->n_samples);
        status = inputs_get(work->inputs, number, &sample->inputs, err);
        if (status)
            break;
        work->n_samples++;
        status =
            pass_run(&pass, sample->inputs, work->inputs->count, &sample->outputs, &sample->n_outputs, err);
    }
    pass_release(&pass);
    return status;
}

/* Adds one answer to the losses of its outputs. */
static void add_outputs(struct loss *losses, const struct keep_sample *sample, const struct tensor *outputs,
                        size_t count)
{
    for (size_t i = 0; i < sample->n_outputs && i < count; i++)
        if (outputs[i].count == sample->outputs[i].count)
            loss_add(&losses[i], &outputs[i], &sample->outputs[i], 0);
        else
            losses[i].broken++;
}

static int measure(struct keep_work *work, const struct model *model, double *loss, struct error *err)
{
    struct pass pass;
    size_t n = work->samples[0].n_outputs;
    struct loss *losses = memory_zeroed(n + 1, sizeof *losses);
    int status = pass_init(&pass, model, true, err);
    pass.wanted = status ? NULL : memory_zeroed(pass.index->count + 1, sizeof(bool));
    for (size_t i = 0; i < work->n_searched && status == 0; i++) {
        struct tensor *outputs;
        size_t count;
        status = pass_run(&pass, work->samples[i].inputs, work->inputs->count, &outputs, &count, err);
        add_outputs(losses, &work->samples[i], outputs, count);
        pass_outputs_free(outputs, count);
    }
    *loss = against_share(losses, n);
    free(losses);
    pass_release(&pass);
    work->kept->tried++;
    return status;
}

/* The model with these layers kept, and what it loses. */
static int try_choice(struct keep_work *work, struct model **model, double *loss, struct error *err)
{
    if (mixed_write(model, &work->plan, work->chosen, err))
        return -1;
    int status = measure(work, *model, loss, err);
    if (status) {
        model_free(*model);
        *model = NULL;
    }
    return status;
}

static int loss_of_choice(struct keep_work *work, double *loss, struct error *err)
{
    struct model *model;
    int status = try_choice(work, &model, loss, err);
    if (status == 0)
        model_free(model);
    return status;
}

static void choose_first(struct keep_work *work, size_t count)
{
    memset(work->chosen, 0, work->match.n_layers * sizeof *work->chosen);
    for (size_t i = 0; i < count; i++)
        work->chosen[work->order[i]] = true;
}

/* The smallest number of the costliest layers that suffices, at least `low`; n_order + 1: all do not. */
static int bisect(struct keep_work *work, size_t low, size_t *count, struct error *err)
{
    size_t high = work->n_order + 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        double loss;
        if (middle > work->n_order)
            break;
        choose_first(work, middle);
        if (loss_of_choice(work, &loss, err))
            return -1;
        if (loss <= work->figure)
            high = middle;
        else
            low = middle + 1;
    }
    *count = high;
    return 0;
}

/* Gives up each layer without which the figure is reached too, the cheapest first. */
static int give_up(struct keep_work *work, size_t count, struct error *err)
{
    for (size_t i = count; i-- > 0 && !over(work, searching);) {
        double loss;
        work->chosen[work->order[i]] = false;
        if (loss_of_choice(work, &loss, err))
            return -1;
        work->chosen[work->order[i]] = !(loss <= work->figure);
    }
    return 0;
}

static void add_result(const struct keep_work *work, struct loss *losses, size_t sample,
                       const struct result *result, size_t *answered)
{
    const struct keep_sample *at = &work->samples[sample];
    struct tensor *outputs = memory_zeroed(at->n_outputs + 1, sizeof *outputs);
    if (result->outcome == OUTCOME_OK) {
        for (size_t i = 0; i < result->count && i < at->n_outputs; i++)
            if (result->outputs[i].kind == VALUE_TENSOR)
                outputs[i] = result->outputs[i].tensors[0];
        add_outputs(losses, at, outputs, at->n_outputs);
        ++*answered;
    }
    free(outputs);
}

/* What each engine loses on a model; NAN: it did not answer all samples. */
static int run_engines(struct keep_work *work, const struct model *model, struct error *err)
{
    struct runner_options running = {.in_order = true};
    struct handover handover;
    size_t engines = work->panel->count, n = work->samples[0].n_outputs;
    struct loss *losses = memory_zeroed(engines * n + 1, sizeof *losses);
    size_t *answered = memory_zeroed(engines + 1, sizeof *answered);
    if (handover_open(&handover, work->panel->pool, model, err)) {
        free(losses);
        free(answered);
        return -1;
    }
    struct runner *runner = runner_new(work->panel, &running);
    int status = 0;
    for (size_t i = 0; i < work->n_samples && status == 0; i++) {
        struct run *run;
        struct job job = {.n_inputs = work->inputs->count, .inputs = work->samples[i].inputs};
        handover_give(&handover, &job);
        runner_submit(runner, &job, ASK_NEVER);
        status = runner_next(runner, &run, err) > 0 ? 0 : -1;
        for (size_t k = 0; k < engines && status == 0; k++)
            add_result(work, &losses[k * n], i, run_result(run, 0, k), &answered[k]);
        if (status == 0)
            run_free(run);
    }
    for (size_t k = 0; k < engines; k++)
        work->kept->engines[k] = answered[k] == work->n_samples ? against_share(&losses[k * n], n) : NAN;
    runner_free(runner);
    handover_close(&handover);
    free(answered);
    free(losses);
    return status;
}

static bool engines_met(const struct keep_work *work)
{
    bool met = true;
    for (size_t k = 0; k < work->kept->n_engines; k++)
        met &= work->kept->engines[k] <= work->figure;
    return met;
}

/* Keeps so many more layers, the costliest that are not; false: there is none. */
static bool choose_more(struct keep_work *work, size_t count)
{
    bool more = false;
    for (size_t i = 0; i < work->n_order && count; i++)
        if (!work->chosen[work->order[i]]) {
            work->chosen[work->order[i]] = more = true;
            count--;
        }
    return more;
}

/* Has the engines run the choice on all samples; where one is above the figure, more is kept, in steps that
 * double. When the time is over everything is kept that can be, rather than too little. */
static int verify(struct keep_work *work, const struct model *other, struct error *err)
{
    struct kept_float *kept = work->kept;
    if (answer_samples(work, other, VERIFIED, verifying, err))
        return -1;
    for (size_t more = 1;; more *= 2) {
        model_free(kept->model);
        if (try_choice(work, &kept->model, &kept->after, err) || run_engines(work, kept->model, err))
            return -1;
        kept->met = kept->after <= work->figure && engines_met(work);
        if (kept->met || !choose_more(work, over(work, 1) ? work->n_order : more))
            return 0;
    }
}

static int search(struct keep_work *work, const struct model *other, struct error *err)
{
    size_t count;
    double loss;
    choose_first(work, 0);
    if (loss_of_choice(work, &work->kept->before, err) || bisect(work, 0, &count, err))
        return -1;
    if (count > work->n_order) {
        choose_first(work, work->n_order);
        return loss_of_choice(work, &loss, err) ? -1 : verify(work, other, err);
    }
    choose_first(work, count);
    return give_up(work, count, err) ? -1 : verify(work, other, err);
}

/* The layers that can be kept, in the order of their cost. */
static void order_layers(struct keep_work *work, const struct against *against)
{
    work->order = memory_zeroed(against->n_layers + 1, sizeof *work->order);
    for (size_t i = 0; i < against->n_layers; i++) {
        size_t value, layer;
        if (!map_get(&work->other.names, against->layers[i].value, &value))
            continue;
        layer = work->match.reverse[value];
        if (layer != NO_VALUE && mixed_is_possible(&work->plan, layer))
            work->order[work->n_order++] = layer;
    }
    work->kept->candidates = work->n_order;
}

static void name_kept(struct keep_work *work)
{
    struct kept_float *kept = work->kept;
    kept->operators = arena_array(&kept->arena, work->n_order + 1, sizeof *kept->operators);
    kept->nodes = arena_array(&kept->arena, work->n_order + 1, sizeof *kept->nodes);
    for (size_t i = 0; i < work->n_order; i++) {
        size_t layer = work->order[i];
        if (!work->chosen[layer])
            continue;
        const Onnx__NodeProto *node = match_maker(&work->model, work->match.layers[layer].made);
        kept->operators[kept->count] = arena_strdup(&kept->arena, op_title(node));
        kept->nodes[kept->count++] = arena_strdup(&kept->arena, model_node_name(node));
    }
}

/* The types of MODEL's values, as they are on the first sample. */
static int find_types(struct keep_work *work, const struct model *model, struct error *err)
{
    struct pass pass;
    struct tensor *outputs = NULL;
    size_t count = 0;
    int status = pass_init(&pass, model, true, err);
    if (status == 0)
        status = pass_run(&pass, work->samples[0].inputs, work->inputs->count, &outputs, &count, err);
    for (size_t i = 0; i < work->model.count && status == 0; i++) {
        size_t number;
        if (map_get(&pass.index->names, work->model.values[i].name, &number) && pass.taken[number].data)
            work->types[i] = pass.taken[number].type;
    }
    pass_outputs_free(outputs, count);
    pass_release(&pass);
    return status;
}

static int open_work(struct keep_work *work, const struct against *against, const struct model *model,
                     const struct model *other, struct error *err)
{
    if (model_index_init(&work->model, model, err) || model_index_init(&work->other, other, err))
        return -1;
    match_init(&work->match, &work->model, &work->other);
    work->types = memory_zeroed(work->model.count + 1, sizeof *work->types);
    work->plan = (struct mixed_plan){&work->model, &work->other, &work->match, work->types};
    work->chosen = memory_zeroed(work->match.n_layers + 1, sizeof *work->chosen);
    order_layers(work, against);
    if (answer_samples(work, other, SEARCHED, answering, err))
        return -1;
    work->n_searched = work->n_samples;
    return find_types(work, model, err);
}

static void close_work(struct keep_work *work)
{
    for (size_t i = 0; i < work->n_samples; i++) {
        values_free(work->samples[i].inputs, work->inputs->count);
        pass_outputs_free(work->samples[i].outputs, work->samples[i].n_outputs);
    }
    free(work->order);
    free(work->chosen);
    free(work->types);
    match_release(&work->match);
    model_index_release(&work->model);
    model_index_release(&work->other);
}

int keep_float(struct kept_float *kept, const struct against *against, const struct model *model,
               const struct model *other, const struct inputs *inputs, const struct panel *panel,
               const struct keep_float_options *options, struct error *err)
{
    struct keep_work work = {
        .kept = kept,
        .inputs = inputs,
        .panel = panel,
        .figure = options->figure,
        .start = clock_seconds(),
        .seconds = options->seconds > 0 ? options->seconds : AGAINST_SECONDS,
    };
    *kept = (struct kept_float){.n_engines = panel->count};
    arena_init(&kept->arena);
    kept->engines = arena_array(&kept->arena, panel->count + 1, sizeof *kept->engines);
    struct plain_products plain;
    int status = plain_products_init(&plain, model, err);
    if (status == 0)
        status = open_work(&work, against, plain.model ? plain.model : model, other, err);
    if (status == 0)
        status = search(&work, other, err);
    kept->samples = work.n_samples;
    if (status == 0)
        name_kept(&work);
    close_work(&work);
    plain_products_release(&plain);
    return status;
}

void kept_float_release(struct kept_float *kept)
{
    model_free(kept->model);
    arena_release(&kept->arena);
    *kept = (struct kept_float){0};
}
