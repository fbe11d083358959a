#include "gradients/gradients.h"

#include "base/memory.h"
#include "base/progress.h"
#include "base/str.h"
#include "case/case_gradient.h"
#include "engine/handover.h"
#include "engine/runner.h"
#include "engine/wire_bounds.h"

#include <math.h>
#include <stdlib.h>

enum { AHEAD = 8 };

struct work {
    struct gradients *gradients;
    const struct model *model;
    const struct inputs *inputs;
    const struct panel *panel;
    const struct gradients_options *options;
    struct runner *runner;
    struct error *err;
};

/* A sample under way: what its job borrows. */
struct sample {
    size_t number;
    struct value *values;
    struct test_case *test;
    struct handover handover;
};

static void sample_free(struct sample *sample, size_t n_values)
{
    handover_close(&sample->handover);
    test_case_free(sample->test);
    values_free(sample->values, n_values);
    free(sample);
}

static int ask(const struct work *work, struct test_case *test, struct error *err)
{
    return work->options->loss ? test_case_ask_loss(test, work->options->loss, err)
                               : test_case_ask_gradient(test, work->options->seed, err);
}

static void keep_names(struct work *work, const struct test_case *test)
{
    const struct case_gradient *asked = test->gradient;
    struct gradients *g = work->gradients;
    if (g->names)
        return;
    g->count = asked->n_wanted;
    g->names = arena_array(&g->arena, g->count, sizeof *g->names);
    g->types = arena_array(&g->arena, g->count, sizeof *g->types);
    g->shapes = arena_array(&g->arena, g->count, sizeof *g->shapes);
    g->figures = arena_array(&g->arena, g->count * g->engines, sizeof *g->figures);
    for (size_t k = 0; k < g->count; k++) {
        g->names[k] = arena_strdup(&g->arena, asked->wanted[k]);
        for (size_t i = 0; i < test->n_inputs; i++)
            g->n_inputs += text_equal(test->inputs[i].name, g->names[k]);
    }
}

static int submit(struct work *work, size_t number)
{
    struct sample *sample = memory_zeroed(1, sizeof *sample);
    sample->number = number;
    int status = inputs_get(work->inputs, number, &sample->values, work->err);
    if (!status) {
        sample->test = test_case_view(work->model, sample->values, work->inputs->count);
        status = ask(work, sample->test, work->err);
    }
    if (!status)
        status = handover_open_case(&sample->handover, work->panel->pool, sample->test, work->err);
    if (status) {
        sample_free(sample, work->inputs->count);
        return -1;
    }
    keep_names(work, sample->test);
    struct job job = {.n_inputs = work->inputs->count, .inputs = sample->values, .user = sample};
    handover_give(&sample->handover, &job);
    runner_submit(work->runner, &job, ASK_ALWAYS);
    return 0;
}

/* Each gradient by itself, for the table. */
static void count_elements(struct gradients *g, size_t engine, const struct result *reference,
                           const struct result *result)
{
    for (size_t k = 0; k < g->count && k < reference->count && k < result->count; k++) {
        struct bounded expected = {0};
        struct gradient_figures *figures = &g->figures[engine * g->count + k];
        if (reference->outputs[k].kind != VALUE_TENSOR || !reference->bounds ||
            bounds_from_wire(&expected, &reference->outputs[k].tensors[0], &reference->bounds[k], NULL))
            continue;
        g->types[k] = expected.type;
        g->shapes[k] = expected.shape;
        struct verdict verdict = verdict_begin(true);
        verdict_output(&verdict, 0, &expected, &result->outputs[k]);
        figures->total += verdict.total;
        figures->judged += verdict.judged;
        figures->wrong += verdict_is(verdict.kind, CLASS_FORM) ? verdict.total : verdict.wrong;
        figures->undecided += verdict.undecided;
        figures->open += verdict.open;
        figures->factor = fmax(figures->factor, verdict.factor);
        for (size_t i = 0; i < expected.count && !figures->varies; i++)
            figures->varies = expected.value[i] != 0;
        bounded_release(&expected);
    }
}

static void take(struct work *work, struct run *run)
{
    struct gradients *g = work->gradients;
    struct sample *sample = run->job.user;
    const struct result *reference = run_result(run, 0, run->n_engines);
    struct sample_results results = {
        .number = sample->number,
        .test = sample->test,
        .results = run->results,
        .reference = reference,
    };
    for (size_t i = 0; i < g->engines; i++) {
        const struct result *result = run_result(run, 0, i);
        g->run_ns[i] += result->load_ns + result->run_ns;
        if (result->outcome == OUTCOME_OK && reference->outcome == OUTCOME_OK)
            count_elements(g, i, reference, result);
    }
    sample_verdicts_add(&g->verdicts, &results, NULL);
    g->samples++;
    sample_free(sample, work->inputs->count);
}

static void drain(struct work *work)
{
    struct run *run;
    while (runner_next(work->runner, &run, NULL) == 1) {
        sample_free(run->job.user, work->inputs->count);
        run_free(run);
    }
}

int gradients_run(struct gradients *gradients, const struct model *model, const struct inputs *inputs,
                  const struct panel *panel, const struct gradients_options *options, struct error *err)
{
    *gradients = (struct gradients){.engines = panel->count};
    arena_init(&gradients->arena);
    sample_verdicts_init(&gradients->verdicts, &gradients->arena, panel);
    gradients->run_ns = arena_array(&gradients->arena, panel->count, sizeof *gradients->run_ns);
    struct work work = {gradients, model, inputs, panel, options, .err = err};
    struct progress progress = {0};
    /* While a sample is settled the engines must be free, so all that is under way is taken first. */
    work.runner = runner_new(panel, &(struct runner_options){.ahead = AHEAD, .in_order = true});
    if (options->progress)
        progress_begin(&progress, "samples", inputs->samples);
    struct progress *outer = pool_show(panel->pool, &progress);
    int status = 0;
    for (size_t next = 0; next < inputs->samples && !status;) {
        struct run *runs[AHEAD];
        size_t count = 0;
        while (next < inputs->samples && runner_room(work.runner) && !status)
            status = submit(&work, next++);
        while (!status && runner_pending(work.runner) && count < AHEAD)
            status = runner_next(work.runner, &runs[count], err) == 1 ? (count++, 0) : -1;
        for (size_t i = 0; i < count; i++) {
            take(&work, runs[i]);
            run_free(runs[i]);
        }
        progress_step(&progress, next);
    }
    pool_show(panel->pool, outer);
    progress_end(&progress);
    drain(&work);
    runner_free(work.runner);
    return status;
}

void gradients_release(struct gradients *gradients)
{
    if (!gradients->engines)
        return;
    sample_verdicts_release(&gradients->verdicts);
    arena_release(&gradients->arena);
}
