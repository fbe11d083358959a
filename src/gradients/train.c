#include "gradients/train.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/wrap.h"
#include "base/random.h"
#include "base/str.h"
#include "case/case_gradient.h"
#include "engine/handover.h"
#include "engine/runner.h"
#include "judge/judge.h"
#include "locate/settle.h"
#include "model/edit.h"
#include "model/index.h"
#include "ops/op.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adam's usual constants. */
static const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

/* What one engine has changed so far. */
struct pupil {
    struct model *model; /* a copy, with its own parameters */
    struct tensor *values;
    double **first, **second; /* Adam's moments */
};

struct work {
    const struct panel *panel;
    const struct inputs *inputs;
    const struct train_options *options;
    struct runner *runner;
    struct train *train;
    size_t count;
    const char **names; /* of the parameters */
    struct pupil *pupils;
    struct error *err;
};

static bool is_initializer(const Onnx__GraphProto *graph, const char *name, size_t *number)
{
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (text_equal(graph->initializer[i]->name, name)) {
            *number = i;
            return true;
        }
    return false;
}

static int pupil_init(struct work *work, struct pupil *pupil, const struct model *model)
{
    pupil->values = memory_zeroed(work->count, sizeof *pupil->values);
    pupil->first = memory_zeroed(work->count, sizeof *pupil->first);
    pupil->second = memory_zeroed(work->count, sizeof *pupil->second);
    if (model_clone(&pupil->model, model, work->err))
        return -1;
    for (size_t k = 0; k < work->count; k++) {
        size_t number = 0;
        is_initializer(model->graph, work->names[k], &number);
        if (model_weight(model, number, &pupil->values[k], work->err))
            return -1;
        pupil->first[k] = memory_zeroed(pupil->values[k].count, sizeof **pupil->first);
        pupil->second[k] = memory_zeroed(pupil->values[k].count, sizeof **pupil->second);
    }
    return 0;
}

static void pupil_release(struct pupil *pupil, size_t count)
{
    for (size_t k = 0; pupil->values && k < count; k++) {
        tensor_release(&pupil->values[k]);
        free(pupil->first[k]);
        free(pupil->second[k]);
    }
    free(pupil->values);
    free(pupil->first);
    free(pupil->second);
    model_free(pupil->model);
}

/* --- Loss --- */

/* The loss of the outputs, and its derivatives by them in the case's gradient. */
static double loss_of(const struct work *work, struct case_gradient *asked, const struct result *outputs)
{
    size_t total = 0;
    double loss = 0;
    for (size_t o = 0; o < asked->n_upstream; o++)
        total += asked->upstream[o].tensors[0].count;
    for (size_t o = 0; o < asked->n_upstream; o++) {
        struct tensor *up = &asked->upstream[o].tensors[0];
        const struct tensor *out = NULL;
        for (size_t i = 0; i < outputs->count; i++)
            if (text_equal(outputs->outputs[i].name, asked->upstream[o].name) &&
                outputs->outputs[i].kind == VALUE_TENSOR)
                out = &outputs->outputs[i].tensors[0];
        if (!out || out->count != up->count)
            return NAN;
        struct rng root = rng_seed(hash_combine(work->options->seed, hash_text("targets")));
        struct rng rng = rng_split(&root, hash_text(asked->upstream[o].name));
        for (size_t i = 0; i < up->count; i++) {
            double y = (double)tensor_get(out, i), off = y - rng_normal(&rng);
            if (work->options->loss) {
                loss += y;
            } else {
                loss += off * off / 2 / (double)total;
                tensor_set(up, i, off / (double)total);
            }
        }
    }
    return loss;
}

/* --- A step --- */

static void update(const struct work *work, struct pupil *pupil, size_t k, const struct tensor *gradient,
                   size_t step)
{
    const struct train_options *o = work->options;
    struct tensor *values = &pupil->values[k];
    double correct1 = 1 - pow(beta1, (double)step), correct2 = 1 - pow(beta2, (double)step);
    for (size_t i = 0; i < values->count && i < gradient->count; i++) {
        double g = (double)tensor_get(gradient, i), change = o->rate * g;
        if (o->rule == TRAIN_ADAM) {
            double *m = &pupil->first[k][i], *v = &pupil->second[k][i];
            *m = beta1 * *m + (1 - beta1) * g;
            *v = beta2 * *v + (1 - beta2) * g * g;
            change = o->rate * (*m / correct1) / (sqrt(*v / correct2) + epsilon);
        }
        tensor_set(values, i, tensor_get(values, i) - (long double)change);
    }
}

static int step_parameters(const struct work *work, struct pupil *pupil, const struct result *result,
                           size_t step)
{
    for (size_t k = 0; k < work->count; k++)
        for (size_t i = 0; i < result->count; i++)
            if (text_equal(result->outputs[i].name, work->names[k]) &&
                result->outputs[i].kind == VALUE_TENSOR) {
                update(work, pupil, k, &result->outputs[i].tensors[0], step);
                if (model_replace_initializer(pupil->model, work->names[k], &pupil->values[k], work->err))
                    return -1;
            }
    return 0;
}

static void end_course(struct train_course *course, const char *at, const struct result *result)
{
    struct str words;
    str_init(&words);
    str_printf(&words, "%s: %s", at, outcome_name(result->outcome));
    if (result->message)
        str_printf(&words, ": %s", result->message);
    result_add_last_lines(result, &words);
    text_fit(course->ended, sizeof course->ended, words.data);
    str_release(&words);
}

static void note_departure(struct train_course *course, const struct work *work, size_t engine,
                           const struct test_case *test, struct verdict *verdict, size_t step)
{
    struct settlement settlement = {0};
    struct settle_case which = {
        .pool = work->panel->pool, .engine = work->panel->engines[engine], .test = test};
    bool settled = settle_verdict(&which, verdict, &settlement);
    if (verdict_is_finding(verdict->kind)) {
        const struct model *model = test_case_model(test, NULL);
        course->departed = true;
        course->step = step;
        course->verdict = *verdict;
        snprintf(course->where, sizeof course->where, "%s",
                 settled && settlement.count ? settlement.text : verdict->text);
        if (settled && settlement.count && model) {
            const Onnx__NodeProto *node = model->graph->node[settlement.nodes[0]];
            snprintf(course->operator, sizeof course->operator, "%.50s", op_title(node));
            snprintf(course->node, sizeof course->node, "%.100s", model_node_name(node));
        }
    }
    settlement_release(&settlement);
}

/* Runs the job on an engine of the panel, or on the reference alone, and on the reference besides. */
static int run_both(struct work *work, struct job *job, size_t engine, struct run **run)
{
    bool alone = engine == work->panel->count;
    const int *number = alone ? &work->panel->reference : &work->panel->engines[engine];
    runner_submit_to(work->runner, job, number, 1, job->gradient && !alone ? ASK_ALWAYS : ASK_NEVER);
    return runner_next(work->runner, run, work->err) == 1 ? 0 : -1;
}

static int differentiate(struct work *work, size_t engine, struct test_case *test, struct job *job,
                         size_t step)
{
    struct train_course *course = &work->train->courses[engine];
    struct run *run;
    if (run_both(work, job, engine, &run))
        return -1;
    const struct result *result = run_result(run, 0, 0), *reference = run_result(run, 0, 1);
    int status = 0;
    if (result->outcome != OUTCOME_OK) {
        end_course(course, "gradient", result);
    } else {
        if (engine < work->panel->count && !course->departed) {
            struct judge_entry entry = judge_entry_of(panel_engine(work->panel, engine), result, false);
            struct judgement judgement;
            judge_case(&judgement, reference, &entry, 1);
            course->judged += judgement.by_reference && judgement.verdicts[0].judged;
            if (settle_wanted(&judgement.verdicts[0]))
                note_departure(course, work, engine, test, &judgement.verdicts[0], step);
            judgement_release(&judgement);
        }
        status = step_parameters(work, &work->pupils[engine], result, step);
    }
    run_free(run);
    return status;
}

static int run_forward(struct work *work, size_t engine, struct test_case *test, struct job *job)
{
    struct train_course *course = &work->train->courses[engine];
    struct run *run;
    const struct job_gradient *gradient = job->gradient;
    job->gradient = NULL;
    if (run_both(work, job, engine, &run))
        return -1;
    job->gradient = gradient;
    const struct result *result = run_result(run, 0, 0);
    if (result->outcome != OUTCOME_OK)
        end_course(course, "run", result);
    else
        course->losses[course->steps] = loss_of(work, test->gradient, result);
    run_free(run);
    return 0;
}

static int make_step(struct work *work, size_t engine, size_t step)
{
    struct train_course *course = &work->train->courses[engine];
    struct pupil *pupil = &work->pupils[engine];
    struct value *values = NULL;
    struct handover handover = {0};
    if (*course->ended)
        return 0;
    if (inputs_get(work->inputs, (step - 1) % work->inputs->samples, &values, work->err))
        return -1;
    struct test_case *test = test_case_view(pupil->model, values, work->inputs->count);
    int status = work->options->loss ? test_case_ask_loss(test, work->options->loss, work->err)
                                     : test_case_ask_gradient(test, work->options->seed, work->err);
    if (!status)
        status = handover_open_case(&handover, work->panel->pool, test, work->err);
    struct job job = {.n_inputs = work->inputs->count, .inputs = values};
    if (!status) {
        handover_give(&handover, &job);
        status = run_forward(work, engine, test, &job);
    }
    if (!status && !*course->ended)
        status = differentiate(work, engine, test, &job, step);
    if (!status && !*course->ended)
        course->steps++;
    handover_close(&handover);
    test_case_free(test);
    values_free(values, work->inputs->count);
    return status;
}

/* --- The whole --- */

static int find_parameters(struct work *work, const struct model *model)
{
    struct value *values = NULL;
    struct test_case *test;
    if (inputs_get(work->inputs, 0, &values, work->err))
        return -1;
    test = test_case_view(model, values, work->inputs->count);
    int status = work->options->loss ? test_case_ask_loss(test, work->options->loss, work->err)
                                     : test_case_ask_gradient(test, work->options->seed, work->err);
    const struct case_gradient *asked = test->gradient;
    for (size_t i = 0; !status && i < asked->n_wanted; i++) {
        size_t number;
        if (!is_initializer(model->graph, asked->wanted[i], &number))
            continue;
        if (!work->names)
            work->names = arena_array(&work->train->arena, asked->n_wanted, sizeof *work->names);
        work->names[work->count++] = arena_strdup(&work->train->arena, asked->wanted[i]);
    }
    if (!status && !work->count)
        status = error_set(work->err, ERROR_INVALID,
                           "the model has no initializer of floating-point type that could be trained");
    test_case_free(test);
    values_free(values, work->inputs->count);
    return status;
}

static double distance(const struct work *work, const struct pupil *a, const struct pupil *b)
{
    double most = 0, largest = 0;
    for (size_t k = 0; k < work->count; k++)
        for (size_t i = 0; i < b->values[k].count; i++) {
            double x = (double)tensor_get(&a->values[k], i), y = (double)tensor_get(&b->values[k], i);
            double off = fabs(x - y);
            most = off <= most ? most : off; /* a NaN wins */
            largest = fmax(largest, fabs(y));
        }
    return largest > 0 ? most / largest : most;
}

int train_run(struct train *train, const struct model *model, const struct inputs *inputs,
              const struct panel *panel, const struct train_options *options, struct error *err)
{
    size_t all = panel->count + 1;
    *train = (struct train){.engines = panel->count};
    arena_init(&train->arena);
    train->courses = arena_array(&train->arena, all, sizeof *train->courses);
    for (size_t e = 0; e < all; e++)
        train->courses[e].losses = arena_array(&train->arena, options->steps, sizeof(double));
    struct work work = {.panel = panel, .inputs = inputs, .options = options, .train = train, .err = err};
    int status = find_parameters(&work, model);
    train->parameters = work.count;
    work.pupils = memory_zeroed(all, sizeof *work.pupils);
    work.runner = runner_new(panel, &(struct runner_options){.ahead = 1, .in_order = true});
    for (size_t e = 0; e < all && !status; e++)
        status = pupil_init(&work, &work.pupils[e], model);
    struct progress progress = {0};
    if (options->progress)
        progress_begin(&progress, "steps", options->steps);
    struct progress *outer = pool_show(panel->pool, &progress);
    for (size_t step = 1; step <= options->steps && !status; step++) {
        for (size_t e = 0; e < all && !status; e++)
            status = make_step(&work, e, step);
        progress_step(&progress, step);
    }
    pool_show(panel->pool, outer);
    progress_end(&progress);
    for (size_t e = 0; e < panel->count && !status; e++)
        train->courses[e].distance = distance(&work, &work.pupils[e], &work.pupils[panel->count]);
    for (size_t e = 0; e < all; e++)
        pupil_release(&work.pupils[e], work.count);
    free(work.pupils);
    runner_free(work.runner);
    return status;
}

void train_release(struct train *train)
{
    if (train->courses)
        arena_release(&train->arena);
    *train = (struct train){0};
}
