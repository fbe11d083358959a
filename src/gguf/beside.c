#include "gguf/beside.h"

#include "base/memory.h"
#include "decode/decode.h"
#include "engine/handover.h"
#include "engine/settings.h"
#include "engine/views.h"
#include "model/build.h"
#include "model/edit.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

enum { ONNX, GGUF, SIDES, NO_LAYER = -2 };

/* The two under way. */
struct work {
    struct beside *beside;
    const struct panel *panel;
    const struct beside_options *options;
    struct model *exposed, *kept; /* with all points as outputs; with the file's weights */
    struct handover handover;     /* of the exposed model */
    char *path;                   /* of the file */
    struct view *view;
    const char **values, **names; /* of all points */
    struct tensor *got[SIDES];    /* at all points, at this step */
    struct error *err;
};

const char *beside_word(enum beside_kind kind)
{
    static const char *const words[] = {
        [BESIDE_ROUNDING] = "rounding", [BESIDE_FORMAT] = "format", [BESIDE_LOWERED] = "fewer bits",
        [BESIDE_FILE] = "file",         [BESIDE_FAULT] = "fault",   [BESIDE_UNKNOWN] = "unknown"};
    return words[kind];
}

static struct beside_layer *layer_of(struct beside *beside, int layer)
{
    return &beside->layers[layer + 1];
}

/* --- The file --- */

static int compare_weights(struct beside *beside, const struct model *model, struct error *err)
{
    beside->weight = beside->n_weights;
    for (size_t i = 0; i < beside->n_weights; i++) {
        const struct llama_weight *weight = &beside->weights[i];
        struct llama_difference *difference = &beside->differences[i];
        struct beside_layer *layer = layer_of(beside, weight->layer);
        if (llama_file_compare(model, &beside->form, weight, beside->tensors[i], difference, err))
            return -1;
        layer->share = fmax(layer->share, (double)difference->share);
        layer->differ += difference->differ;
        layer->beyond += difference->beyond;
        layer->n_weights++;
        if (difference->beyond && beside->weight == beside->n_weights)
            beside->weight = i;
    }
    return 0;
}

static int open_file(struct beside *beside, const struct model *model, const char *path, struct error *err)
{
    if (gguf_file_open(&beside->file, path, err))
        return -1;
    beside->weights = llama_weights(&beside->form, &beside->arena, &beside->n_weights);
    beside->tensors = arena_array(&beside->arena, beside->n_weights, sizeof *beside->tensors);
    beside->differences = arena_array(&beside->arena, beside->n_weights, sizeof *beside->differences);
    if (llama_file_tensors(&beside->file, &beside->form, beside->weights, beside->n_weights, beside->tensors,
                           err))
        return error_prefix(err, "%s", path);
    beside->n_settings = llama_file_settings(&beside->file, &beside->form, beside->settings);
    return compare_weights(beside, model, err);
}

/* --- Preparing --- */

static int make_kept(struct work *work, const struct model *model)
{
    const struct beside *beside = work->beside;
    if (model_clone(&work->kept, model, work->err))
        return -1;
    for (size_t i = 0; i < beside->n_weights; i++)
        if (llama_file_put(work->kept, &beside->form, &beside->weights[i], beside->tensors[i], work->err))
            return -1;
    return 0;
}

/* Some engines load no model whose outputs have no type. */
static int make_exposed(struct work *work, const struct model *model)
{
    const struct points *points = &work->beside->points;
    const struct shape open = {3, {-1, -1, -1}};
    if (model_clone(&work->exposed, model, work->err))
        return -1;
    for (size_t i = 0; i < points->count; i++) {
        work->values[i] = points->items[i].value;
        work->names[i] = points->items[i].name;
    }
    if (model_expose(work->exposed, work->values, points->count, work->err))
        return -1;
    for (size_t i = 0; i < work->exposed->graph->n_output; i++) {
        Onnx__ValueInfoProto *info = work->exposed->graph->output[i];
        if (!info->type)
            info->type = type_make(&work->exposed->arena, work->beside->form.type, &open);
    }
    work->exposed->path = NULL;
    return handover_open(&work->handover, work->panel->pool, work->exposed, work->err);
}

static int show_file(struct work *work)
{
    work->path = realpath(work->options->file, NULL);
    if (!work->path)
        return error_errno(work->err, "%s", work->options->file);
    const char *const paths[] = {work->path, NULL};
    work->view = pool_view_open(work->panel->pool, paths);
    return 0;
}

/* An engine that computes products with dequantised weights in fewer bits, and says so, is held to that. */
static int open_courses(struct work *work, const struct model *model)
{
    struct beside *beside = work->beside;
    const struct lowering *lowering = settings_lowering(panel_engine(work->panel, ONNX));
    if (lowering && beside->form.levels)
        beside->lowering = arena_strdup(&beside->arena, lowering->words);
    for (size_t side = 0; side < SIDES; side++)
        beside->courses[side] =
            (struct course){.form = &beside->form, .points = &beside->points, .rounds = side == GGUF};
    beside->courses[ONNX].lowers = beside->lowering != NULL;
    return course_init(&beside->courses[ONNX], model, &beside->arena, work->err) ||
                   course_init(&beside->courses[GGUF], work->kept, &beside->arena, work->err)
               ? -1
               : 0;
}

static int prepare(struct work *work, const struct model *model)
{
    struct beside *beside = work->beside;
    const struct beside_options *options = work->options;
    if (model_index_init(&beside->index, model, work->err) ||
        llama_form_find(&beside->form, &beside->index, work->err))
        return -1;
    beside->n_layers = beside->form.n_layers + 2;
    beside->layers = arena_array(&beside->arena, beside->n_layers, sizeof *beside->layers);
    if (options->n_prompt + options->steps > (size_t)beside->form.context)
        return error_set(work->err, ERROR_USAGE, "the model has %lld positions: give fewer --steps",
                         (long long)beside->form.context);
    if (open_file(beside, model, options->file, work->err))
        return -1;
    points_init(&beside->points, &beside->form, beside->weights, beside->tensors, beside->n_weights,
                &beside->arena);
    work->values = arena_array(&beside->arena, beside->points.count, sizeof *work->values);
    work->names = arena_array(&beside->arena, beside->points.count, sizeof *work->names);
    for (size_t side = 0; side < SIDES; side++) {
        beside->tokens[side] = arena_array(&beside->arena, options->steps + 1, sizeof **beside->tokens);
        work->got[side] = arena_array(&beside->arena, beside->points.count, sizeof **work->got);
        beside->ended[side] = OUTCOME_OK;
    }
    if (make_kept(work, model) || make_exposed(work, model) || show_file(work))
        return -1;
    return open_courses(work, model);
}

/* --- A step --- */

/* The model's inputs for the prompt and what this side chose so far. */
static int inputs_of(const struct work *work, size_t side, size_t step, struct value **inputs)
{
    const struct beside *beside = work->beside;
    size_t prompt = work->options->n_prompt;
    int64_t *all = memory_zeroed(prompt + step, sizeof *all);
    for (size_t i = 0; i < prompt + step; i++)
        all[i] = i < prompt ? work->options->prompt[i] : beside->tokens[side][i - prompt];
    int status = decoder_prompt(&beside->form.decoder, all, prompt + step, inputs, work->err);
    free(all);
    return status;
}

static void forget(struct work *work, size_t side)
{
    for (size_t i = 0; i < work->beside->points.count; i++) {
        tensor_release(&work->got[side][i]);
        tensor_init(&work->got[side][i]);
    }
}

static int take_onnx(struct work *work, const struct result *result, size_t rows, size_t i)
{
    const struct point *point = &work->beside->points.items[i];
    const struct tensor *tensor = decoder_output(result, point->value);
    if (!tensor || !dtype_is_float(tensor->type) || tensor->count != rows * (size_t)point->width)
        return error_set(work->err, ERROR_UNSUPPORTED, "it does not show %s", point->value);
    return tensor_copy(&work->got[ONNX][i], tensor, work->err);
}

static void end(struct work *work, size_t side, enum outcome outcome, const char *why)
{
    work->beside->ended[side] = outcome;
    work->beside->why[side] = arena_strdup(&work->beside->arena, why);
}

static int ask(struct work *work, size_t side, struct value *inputs, struct result *result)
{
    size_t count = work->beside->form.decoder.count;
    struct job job = {.engine = work->panel->engines[side], .n_inputs = count, .inputs = inputs, .stay = 1};
    if (side == ONNX) {
        handover_give(&work->handover, &job);
    } else {
        job.path = work->path;
        job.n_outputs = work->beside->points.count;
        job.outputs = work->names;
    }
    return pool_run_one(work->panel->pool, &job, result, work->err);
}

/* Runs one side and keeps its values. An engine that does not answer ends its course. */
static int run_side(struct work *work, size_t side, size_t step, struct value *inputs)
{
    struct beside *beside = work->beside;
    size_t rows = work->options->n_prompt + step;
    struct result result;
    result_init(&result);
    forget(work, side);
    int status = ask(work, side, inputs, &result);
    if (!status && result.outcome != OUTCOME_OK) {
        struct str words;
        str_init(&words);
        result_words(&result, &words);
        end(work, side, result.outcome, words.data);
        str_release(&words);
    }
    for (size_t i = 0; i < beside->points.count && !status && beside->ended[side] == OUTCOME_OK; i++)
        if (side == ONNX ? take_onnx(work, &result, rows, i)
                         : point_take(&beside->points.items[i], &beside->form, &result, rows,
                                      &work->got[side][i], work->err))
            end(work, side, OUTCOME_FAILED, work->err->message);
    result_release(&result);
    return status;
}

/* The first largest of the last position's logits; NaN ends the course. */
static void choose(struct work *work, size_t side)
{
    struct beside *beside = work->beside;
    const struct tensor *logits = &work->got[side][beside->points.logits];
    size_t width = (size_t)beside->form.vocabulary, begin = logits->count - width, best = 0;
    for (size_t i = 0; i < width; i++) {
        if (isnan(tensor_get(logits, begin + i))) {
            end(work, side, OUTCOME_FAILED, "its logits have NaN among them");
            return;
        }
        if (tensor_get(logits, begin + i) > tensor_get(logits, begin + best))
            best = i;
    }
    beside->tokens[side][beside->count[side]++] = (int64_t)best;
}

/* --- Comparing --- */

static double apart_of(const struct tensor *a, const struct tensor *b)
{
    long double largest = 0, most = 0;
    for (size_t i = 0; i < a->count; i++) {
        long double gap = fabsl(tensor_get(a, i) - tensor_get(b, i));
        largest = fmaxl(largest, fabsl(tensor_get(a, i)));
        most = gap <= most ? most : gap;
    }
    return largest > 0 ? (double)(most / largest) : (double)most;
}

/* What each layer gives last is its last point. Only where both had the same tokens. */
static void compare(struct work *work)
{
    struct beside *beside = work->beside;
    for (size_t i = 0; i < beside->points.count; i++) {
        bool last =
            i == beside->points.logits || beside->points.items[i + 1].layer != beside->points.items[i].layer;
        struct beside_layer *layer = layer_of(beside, beside->points.items[i].layer);
        double apart = last ? apart_of(&work->got[ONNX][i], &work->got[GGUF][i]) : 0;
        if (!(apart <= layer->apart))
            layer->apart = apart;
    }
}

static bool is_judged_step(const struct work *work, size_t step, bool parts)
{
    size_t steps = work->options->steps, judge = work->options->judge;
    if (step == 0 || step == steps || !judge || judge >= steps || parts)
        return true;
    return step * judge / steps != (step - 1) * judge / steps;
}

static int judge(struct work *work, size_t side, size_t step, const struct value *inputs)
{
    work->beside->judged[side]++;
    return course_judge(&work->beside->courses[side], step, work->options->n_prompt + step, inputs,
                        work->got[side], work->err);
}

static int run_step(void *context, size_t step)
{
    struct work *work = context;
    struct beside *beside = work->beside;
    struct value *inputs[SIDES] = {NULL};
    int status = 0;
    bool same = !beside->parted;
    for (size_t side = 0; side < SIDES && !status; side++) {
        if (beside->ended[side] != OUTCOME_OK)
            continue;
        status = inputs_of(work, side, step, &inputs[side]) || run_side(work, side, step, inputs[side]);
        if (!status && beside->ended[side] == OUTCOME_OK)
            choose(work, side);
    }
    bool both = beside->ended[ONNX] == OUTCOME_OK && beside->ended[GGUF] == OUTCOME_OK;
    bool parts = !status && both && same && beside->tokens[ONNX][step] != beside->tokens[GGUF][step];
    if (parts) {
        beside->parted = true;
        beside->step = step;
    }
    if (!status && both && same)
        compare(work);
    bool judged = is_judged_step(work, step, parts);
    for (size_t side = 0; side < SIDES && judged && !status; side++)
        if (beside->ended[side] == OUTCOME_OK)
            status = judge(work, side, step, inputs[side]);
    for (size_t side = 0; side < SIDES; side++)
        if (inputs[side])
            values_free(inputs[side], beside->form.decoder.count);
    return status ? -1 : 0;
}

/* --- What it comes to --- */

static int fault_layer(const struct beside *beside, size_t side)
{
    const struct course_fault *fault = &beside->courses[side].fault;
    return fault->found ? beside->points.items[fault->point].layer : INT_MAX;
}

static void conclude(struct beside *beside)
{
    int wrong = fault_layer(beside, ONNX) < fault_layer(beside, GGUF) ? fault_layer(beside, ONNX)
                                                                      : fault_layer(beside, GGUF);
    int weights = beside->weight < beside->n_weights ? beside->weights[beside->weight].layer : INT_MAX;
    int first = wrong < weights ? wrong : weights;
    size_t differ = 0;
    for (size_t side = 0; side < SIDES; side++)
        for (size_t i = 0; i < beside->points.count; i++) {
            double factor = beside->courses[side].factors[i];
            struct beside_layer *layer = layer_of(beside, beside->points.items[i].layer);
            layer->factor[side] = factor > layer->factor[side] ? factor : layer->factor[side];
        }
    for (size_t i = 0; i < beside->n_layers; i++)
        differ += beside->layers[i].differ;
    for (size_t i = 0; i < beside->points.count; i++)
        differ += beside->points.items[i].read != PRECISION_OWN; /* what weights multiply is rounded */
    beside->layer = first == INT_MAX ? NO_LAYER : first;
    if (beside->n_settings || weights != INT_MAX)
        beside->kind = BESIDE_FILE;
    else if (wrong != INT_MAX)
        beside->kind = BESIDE_FAULT;
    else if (!beside->judged[ONNX] || !beside->judged[GGUF])
        beside->kind = BESIDE_UNKNOWN;
    else if (beside->lowering)
        beside->kind = BESIDE_LOWERED;
    else
        beside->kind = differ ? BESIDE_FORMAT : BESIDE_ROUNDING;
}

static void close_work(struct work *work)
{
    for (size_t side = 0; side < SIDES; side++)
        if (work->got[side])
            forget(work, side);
    handover_close(&work->handover);
    view_close(work->view);
    free(work->path);
    model_free(work->exposed);
}

int beside_run(struct beside *beside, const struct model *model, const struct panel *panel,
               const struct beside_options *options, struct error *err)
{
    struct work work = {.beside = beside, .panel = panel, .options = options, .err = err};
    *beside = (struct beside){0};
    arena_init(&beside->arena);
    int status = prepare(&work, model);
    if (!status)
        status = decode_steps(panel->pool, options->steps, options->progress, run_step, &work);
    if (!status)
        conclude(beside);
    course_release(&beside->courses[GGUF]); /* it borrows the next */
    model_free(work.kept);
    close_work(&work);
    return status;
}

void beside_release(struct beside *beside)
{
    course_release(&beside->courses[ONNX]);
    points_release(&beside->points);
    gguf_file_close(&beside->file);
    llama_form_release(&beside->form);
    model_index_release(&beside->index);
    arena_release(&beside->arena);
    *beside = (struct beside){0};
}
