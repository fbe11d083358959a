#include "compare/compare.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/progress.h"
#include "engine/answer_cache.h"
#include "compare/batch.h"
#include "compare/compare_cause.h"
#include "compare/explain.h"
#include "compare/fold.h"
#include "compare/schedule.h"
#include "engine/handover.h"
#include "engine/runner.h"
#include "trial/trial.h"

#include <stdlib.h>

enum {
    PARCELS = 2,         /* under way, so that no engine waits while one is folded */
    PARCEL_BATCHES = 16, /* runs on one load of the model */
    PARCEL_BYTES = 16 << 20,
    BATCH = 100,
    JUDGE_WORST = 40,
};

/* A sample to be judged, with the reference's answer. */
struct hearing {
    struct batch *batch;
    size_t offset; /* of the sample in the batch */
    struct result reference;
};

/* Where the results of a job's sets go. */
struct target {
    struct batch *batch;
    size_t offset; /* the sample, when it is run alone */
    struct hearing *hearing;
};
struct errand {
    struct parcel *parcel;
    size_t engine; /* place in the panel; of the reference's errand: count */
    bool alone;
    struct target *targets;
};

/* Groups that each engine runs on a model loaded once; folded in order, so that the result does not depend on
 * who answers first. */
struct parcel {
    struct arena arena; /* errands and their sets */
    size_t count;
    size_t pending; /* errands */
    struct batch batches[PARCEL_BATCHES];
    size_t n_hearings, hearings_capacity;
    struct hearing *hearings;
};

/* A sample that was the worst of a pair or an engine when it was folded, and may be judged later. */
struct memory {
    size_t sample;
    struct result *results; /* deep copies, one an engine */
};

struct work {
    struct compare *compare;
    const struct model *model;
    const struct inputs *inputs;
    const struct compare_options *options;
    const struct panel *panel;
    struct runner *runner;
    struct handover handover;
    struct job job; /* with the model, for all jobs */
    struct fold fold;
    struct explain explain;
    struct batch_row row;
    struct answer_cache **answers; /* one an engine, when answers are kept */
    struct parcel parcels[PARCELS];
    size_t launched, folded;      /* parcels */
    size_t next_sample, finished; /* samples */
    struct schedule schedule;
    struct result first; /* the reference's answer to the first sample, when it was measured; else untested */
    struct memory *memories;
    size_t n_memories, memories_capacity;
    struct inputs_expected expected; /* of the sample under way */
    struct progress progress;
};

static void submit(struct work *work, struct parcel *parcel, size_t engine, struct errand *errand,
                   struct job_set *sets, size_t count)
{
    const struct panel *panel = work->panel;
    bool arbiter = engine == panel->count;
    if (count == 0)
        return;
    struct job job = work->job;
    errand->parcel = parcel;
    errand->engine = engine;
    job.n_sets = count;
    job.sets = sets;
    job.user = errand;
    parcel->pending++;
    if (arbiter)
        runner_submit_to(work->runner, &job, NULL, 0, ASK_ALWAYS);
    else
        runner_submit_to(work->runner, &job, &panel->engines[engine], 1, ASK_NEVER);
}

static bool recall(struct work *work, size_t engine, uint64_t hash, struct result *result)
{
    return work->answers && answer_cache_get(work->answers[engine], hash, result);
}

static int keep(struct work *work, size_t engine, uint64_t hash, const struct result *result,
                struct error *err)
{
    return work->answers ? answer_cache_put(work->answers[engine], hash, result, err) : 0;
}

/* Runs each sample of a batch alone, for an engine that failed on the batch. */
static void run_alone(struct work *work, struct parcel *parcel, struct batch *batch, size_t engine)
{
    struct errand *errand = arena_array(&parcel->arena, 1, sizeof *errand);
    struct job_set *sets = arena_array(&parcel->arena, batch->count, sizeof *sets);
    errand->targets = arena_array(&parcel->arena, batch->count, sizeof *errand->targets);
    errand->alone = true;
    batch_answer_reset(batch, engine, true);
    work->compare->engine[engine].alone += batch->count;
    size_t count = 0;
    for (size_t k = 0; k < batch->count; k++) {
        const struct value *inputs = batch_views(batch, k);
        if (recall(work, engine, work->answers ? answer_cache_hash(inputs, batch->n_inputs) : 0,
                   &batch->answers[engine].results[k])) {
            work->compare->engine[engine].kept++;
            continue;
        }
        errand->targets[count] = (struct target){.batch = batch, .offset = k};
        sets[count++] = (struct job_set){.n_inputs = batch->n_inputs, .inputs = inputs};
    }
    submit(work, parcel, engine, errand, sets, count);
}

/* Records the first batch that the engine failed on; no other is tried on it. */
static void give_up_stack(struct work *work, const struct batch *batch, size_t engine,
                          const struct result *result)
{
    struct compare_engine *known = &work->compare->engine[engine];
    if (known->stack)
        return;
    known->stack = arena_printf(&work->compare->arena, "%zu samples: %s%s%s", batch->count,
                                result->outcome == OUTCOME_OK
                                    ? "the first dimension of the answer is not the number of samples"
                                    : outcome_name(result->outcome),
                                result->message ? ": " : "", result->message ? result->message : "");
}

static void launch_engine(struct work *work, struct parcel *parcel, size_t engine)
{
    struct errand *errand = arena_array(&parcel->arena, 1, sizeof *errand);
    struct job_set *sets = arena_array(&parcel->arena, parcel->count, sizeof *sets);
    errand->targets = arena_array(&parcel->arena, parcel->count, sizeof *errand->targets);
    size_t count = 0;
    for (size_t i = 0; i < parcel->count; i++) {
        struct batch *batch = &parcel->batches[i];
        if (batch->count > 1 && work->compare->engine[engine].stack) {
            run_alone(work, parcel, batch, engine);
            continue;
        }
        batch_answer_reset(batch, engine, false);
        struct result *result = &batch->answers[engine].results[0];
        if (!recall(work, engine, batch->hash, result)) {
            errand->targets[count] = (struct target){.batch = batch};
            sets[count++] = (struct job_set){.n_inputs = batch->n_inputs, .inputs = batch->inputs};
        } else if (batch_answer_usable(batch, result)) {
            work->compare->engine[engine].kept += batch->count;
        } else {
            give_up_stack(work, batch, engine, result);
            run_alone(work, parcel, batch, engine);
        }
    }
    submit(work, parcel, engine, errand, sets, count);
}

static void list_hearings(struct work *work, struct parcel *parcel)
{
    for (size_t i = 0; i < parcel->count; i++)
        for (size_t k = 0; k < parcel->batches[i].count; k++)
            if (schedule_judges(&work->schedule, parcel->batches[i].first + k)) {
                parcel->hearings = memory_grow(parcel->hearings, &parcel->hearings_capacity,
                                               parcel->n_hearings + 1, sizeof *parcel->hearings);
                struct hearing *hearing = &parcel->hearings[parcel->n_hearings++];
                *hearing = (struct hearing){.batch = &parcel->batches[i], .offset = k};
                result_init(&hearing->reference);
            }
}

/* Runs the samples that will be judged on the reference, each alone. */
static void launch_reference(struct work *work, struct parcel *parcel)
{
    list_hearings(work, parcel);
    if (work->panel->reference < 0)
        return;
    struct errand *errand = arena_array(&parcel->arena, 1, sizeof *errand);
    struct job_set *sets = arena_array(&parcel->arena, parcel->n_hearings, sizeof *sets);
    errand->targets = arena_array(&parcel->arena, parcel->n_hearings, sizeof *errand->targets);
    size_t count = 0;
    for (size_t i = 0; i < parcel->n_hearings; i++) {
        struct hearing *hearing = &parcel->hearings[i];
        if (work->first.outcome != OUTCOME_UNTESTED && hearing->batch->first + hearing->offset == 0) {
            hearing->reference = work->first;
            result_init(&work->first);
            continue;
        }
        errand->targets[count] = (struct target){.hearing = hearing};
        sets[count++] = (struct job_set){.n_inputs = work->inputs->count,
                                         .inputs = batch_views(hearing->batch, hearing->offset)};
    }
    submit(work, parcel, work->panel->count, errand, sets, count);
}

/* Makes the inputs of as many batches as go into one parcel. */
static int fill(struct work *work, struct parcel *parcel, struct error *err)
{
    size_t most = work->options->together ? work->options->together : PARCEL_BATCHES, bytes = 0;
    while (parcel->count < most && parcel->count < PARCEL_BATCHES && bytes < PARCEL_BYTES &&
           work->next_sample < work->inputs->samples) {
        size_t left = work->inputs->samples - work->next_sample;
        size_t count = left < work->compare->batch ? left : work->compare->batch;
        struct batch *batch = &parcel->batches[parcel->count++];
        if (batch_init(batch, work->inputs, work->next_sample, count, work->compare->engines, err))
            return -1;
        batch->hash = work->answers ? answer_cache_hash(batch->inputs, batch->n_inputs) : 0;
        bytes += batch_size(batch);
        work->next_sample += count;
    }
    return 0;
}

static int launch(struct work *work, struct error *err)
{
    struct parcel *parcel = &work->parcels[work->launched++ % PARCELS];
    arena_init(&parcel->arena);
    if (fill(work, parcel, err))
        return -1;
    launch_reference(work, parcel);
    for (size_t i = 0; i < work->compare->engines; i++)
        launch_engine(work, parcel, i);
    return 0;
}

static int receive_answer(struct work *work, const struct errand *errand, const struct target *target,
                          struct result *result, struct error *err)
{
    struct batch *batch = target->batch;
    size_t engine = errand->engine;
    bool alone = errand->alone;
    struct batch_answer *answer = &batch->answers[engine];
    const struct value *inputs = alone ? batch_views(batch, target->offset) : batch->inputs;
    uint64_t hash = alone && work->answers ? answer_cache_hash(inputs, batch->n_inputs) : batch->hash;
    int status = keep(work, engine, hash, result, err);
    if (alone || batch_answer_usable(batch, result)) {
        answer->results[alone ? target->offset : 0] = *result;
        return status;
    }
    give_up_stack(work, batch, engine, result);
    result_release(result);
    run_alone(work, errand->parcel, batch, engine);
    return status;
}

/* No engine can be judged by a case that is not valid, nor blamed for what it does with it. */
static int check_valid(const struct work *work, size_t sample, const struct result *reference,
                       struct error *err)
{
    if (reference->outcome != OUTCOME_REJECTED)
        return 0;
    return inputs_invalid(work->inputs, sample, reference->message ? reference->message : "", err);
}

static int receive(struct work *work, struct error *err)
{
    struct run *run;
    if (runner_next(work->runner, &run, err) != 1)
        return -1;
    const struct errand *errand = run->job.user;
    int status = 0;
    errand->parcel->pending--;
    for (size_t set = 0; set < run->job.n_sets && status == 0; set++) {
        const struct target *target = &errand->targets[set];
        struct hearing *hearing = target->hearing;
        struct result result = run_take(run, set, 0);
        if (!hearing) {
            status = receive_answer(work, errand, target, &result, err);
            continue;
        }
        hearing->reference = result;
        status = check_valid(work, hearing->batch->first + hearing->offset, &result, err);
    }
    run_free(run);
    return status;
}

static void free_parcel(struct parcel *parcel)
{
    for (size_t i = 0; i < parcel->count; i++)
        batch_release(&parcel->batches[i]);
    for (size_t i = 0; i < parcel->n_hearings; i++)
        result_release(&parcel->hearings[i].reference);
    free(parcel->hearings);
    arena_release(&parcel->arena);
    *parcel = (struct parcel){0};
}

static void copy_result(struct result *to, const struct result *from)
{
    struct error err = {0};
    result_init(to);
    to->outcome = from->outcome;
    to->stage = from->stage;
    to->signal = from->signal;
    to->exit_status = from->exit_status;
    to->message = from->message ? memory_strdup(from->message) : NULL;
    to->outputs = memory_zeroed(from->count + 1, sizeof *to->outputs);
    for (size_t i = 0; i < from->count; i++, to->count++)
        if (value_copy(&to->outputs[i], &from->outputs[i], &err))
            memory_exhausted(0);
}

static void forget(struct work *work, size_t number)
{
    struct memory *memory = &work->memories[number];
    for (size_t i = 0; i < work->compare->engines; i++)
        result_release(&memory->results[i]);
    free(memory->results);
    *memory = work->memories[--work->n_memories];
}

/*
 * Keeps the answers to a sample that is now the worst of some pair; releases those of samples that no longer
 * are.
 */
static void remember(struct work *work, size_t sample)
{
    work->memories =
        memory_grow(work->memories, &work->memories_capacity, work->n_memories + 1, sizeof *work->memories);
    struct memory *memory = &work->memories[work->n_memories++];
    memory->sample = sample;
    memory->results = memory_zeroed(work->compare->engines + 1, sizeof *memory->results);
    for (size_t i = 0; i < work->compare->engines; i++)
        copy_result(&memory->results[i], &work->row.results[i]);
    for (size_t i = work->n_memories; i-- > 0;)
        if (!fold_wanted(work->compare, work->memories[i].sample))
            forget(work, i);
}

static int read_expected(struct work *work, size_t sample, struct error *err)
{
    struct compare *compare = work->compare;
    inputs_expected_release(&work->expected);
    if (inputs_expected(work->inputs, sample, &work->expected, err))
        return -1;
    if (compare->expected || !work->expected.count)
        return 0;
    compare->expected = arena_array(&compare->arena, work->expected.count, sizeof *compare->expected);
    for (size_t i = 0; i < work->expected.count; i++)
        compare->expected[compare->n_expected++] =
            arena_strdup(&compare->arena, work->expected.values[i].name);
    return 0;
}

static struct expected expected_now(const struct work *work)
{
    return (struct expected){
        .count = work->expected.count, .values = work->expected.values, .places = work->expected.places};
}

/*
 * Where no engine computes convolutions but as sums of products, the reference is asked for the bounds of
 * these alone, and for those of all algorithms where some answer is not inside. Nothing else may be: the
 * bounds also tell which error would have been seen.
 */
static bool all_convolve_directly(const struct panel *panel)
{
    for (size_t i = 0; i < panel->count; i++) {
        const struct engine_info *engine = panel_engine(panel, i);
        if (!engine->profile || !engine->profile->convolves_directly)
            return false;
    }
    return true;
}

/* The answer of the reference with wider bounds, into *wide, where they are needed; the one given otherwise.
 */
static const struct result *widened(const struct work *work, const struct test_case *test,
                                    const struct result *results, const struct result *reference,
                                    struct result *wide)
{
    struct judgement judgement;
    if (!work->job.narrow || !reference)
        return reference;
    struct judge_entry *entries = memory_zeroed(work->compare->engines, sizeof *entries);
    for (size_t i = 0; i < work->compare->engines; i++)
        entries[i] = judge_entry_of(panel_engine(work->panel, i), &results[i], false);
    trial_judge(&judgement, test, reference, entries, work->compare->engines);
    /* What the user expects may come from any algorithm. */
    bool needed = work->expected.count > 0 || judge_needs_wider(&judgement, reference);
    judgement_release(&judgement);
    free(entries);
    struct job job = work->job;
    job.narrow = false;
    job.bounds = true;
    job.engine = work->panel->reference;
    job.n_inputs = test->n_inputs;
    job.inputs = test->inputs;
    if (!needed)
        return reference;
    return pool_run_one(work->panel->pool, &job, wide, NULL) ? NULL : wide;
}

static void hear(struct work *work, size_t sample, const struct value *inputs, const struct value *stack,
                 const struct result *results, const struct result *reference)
{
    struct test_case *test = test_case_view(work->model, inputs, work->inputs->count);
    struct test_case *stacked = stack ? test_case_view(work->model, stack, work->inputs->count) : NULL;
    struct result wide;
    result_init(&wide);
    int64_t begun = clock_ns();
    reference = widened(work, test, results, reference, &wide);
    enum sample_check check = schedule_check(&work->schedule);
    struct verdict *each = memory_zeroed(work->compare->engines, sizeof *each);
    progress_doing(&work->progress, "judging and settling");
    sample_verdicts_add(&work->compare->verdicts,
                        &(struct sample_results){.number = sample,
                                                 .test = test,
                                                 .inputs = work->inputs,
                                                 .stack = stacked,
                                                 .results = results,
                                                 .reference = reference,
                                                 .expected = expected_now(work),
                                                 .check = check},
                        each);
    schedule_heard(&work->schedule, check, (double)(clock_ns() - begun) * 1e-9);
    explain_hear(&work->explain, work->compare, sample, each);
    progress_doing(&work->progress, NULL);
    free(each);
    result_release(&wide);
    test_case_free(test);
    test_case_free(stacked);
}

static int land_batch(struct work *work, struct parcel *parcel, struct batch *batch, size_t *hearing,
                      struct error *err)
{
    for (size_t k = 0; k < batch->count; k++) {
        size_t sample = batch->first + k;
        batch_row_fill(&work->row, batch, k);
        if (read_expected(work, sample, err))
            return -1;
        struct expected expected = expected_now(work);
        bool worse = fold_sample(&work->fold, sample, work->row.results, &expected);
        const struct hearing *next = &parcel->hearings[*hearing];
        if (*hearing < parcel->n_hearings && next->batch == batch && next->offset == k) {
            hear(work, sample, batch_views(batch, k), batch->count > 1 ? batch->inputs : NULL,
                 work->row.results, work->panel->reference < 0 ? NULL : &next->reference);
            ++*hearing;
            work->compare->judged_spread++;
        } else if (worse) {
            remember(work, sample);
        }
    }
    return 0;
}

static int land(struct work *work, struct parcel *parcel, struct error *err)
{
    size_t hearing = 0;
    int status = 0;
    for (size_t i = 0; i < parcel->count && status == 0; i++) {
        status = land_batch(work, parcel, &parcel->batches[i], &hearing, err);
        work->finished += parcel->batches[i].count;
        progress_step(&work->progress, work->finished);
    }
    free_parcel(parcel);
    work->folded++;
    return status;
}

static int run_samples(struct work *work, struct error *err)
{
    int status = 0;
    while (status == 0 && work->finished < work->inputs->samples) {
        struct parcel *oldest = &work->parcels[work->folded % PARCELS];
        if (work->folded < work->launched && oldest->pending == 0)
            status = land(work, oldest, err);
        else if (work->next_sample < work->inputs->samples && work->launched - work->folded < PARCELS)
            status = launch(work, err);
        else
            status = receive(work, err);
    }
    return status;
}

static int by_sample(const void *a, const void *b)
{
    const struct memory *x = a, *y = b;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

/* Whether the sample could change a verdict: it is a failure, not as expected, or the worst of a pair that
 * differs. */
static bool decisive(const struct compare *compare, size_t sample)
{
    if (fold_is_failure(compare, sample))
        return true;
    for (size_t i = 0; i < compare->pairs; i++) {
        const struct compare_pair *pair = &compare->pair[i];
        if (pair->differs && (pair->worst_sample == sample || pair->mismatch_sample == sample ||
                              pair->class.worst == sample || pair->mad.worst == sample))
            return true;
    }
    return false;
}

/* Judges a worst sample. Its batch is made again, so that it can be settled as it was answered. */
static int hear_worst(struct work *work, const struct memory *memory, struct error *err)
{
    size_t size = work->compare->batch, first = memory->sample / size * size;
    size_t left = work->inputs->samples - first;
    struct batch batch;
    struct result reference;
    struct job job = work->job;
    result_init(&reference);
    int status = batch_init(&batch, work->inputs, first, left < size ? left : size, 0, err);
    if (status == 0)
        status = read_expected(work, memory->sample, err);
    const struct value *inputs = status == 0 ? batch_views(&batch, memory->sample - first) : NULL;
    job.engine = work->panel->reference;
    job.bounds = true;
    job.n_inputs = work->inputs->count;
    job.inputs = inputs;
    if (status == 0 && work->panel->reference >= 0)
        status = pool_run_one(work->panel->pool, &job, &reference, err) ||
                 check_valid(work, memory->sample, &reference, err);
    if (status == 0) {
        hear(work, memory->sample, inputs, batch.count > 1 ? batch.inputs : NULL, memory->results,
             work->panel->reference < 0 ? NULL : &reference);
        work->compare->judged_worst++;
    }
    result_release(&reference);
    batch_release(&batch);
    return status;
}

/*
 * Judges the samples on which engines failed or differ most, starting with those that could change a verdict.
 */
static int judge_worst(struct work *work, struct error *err)
{
    int status = 0;
    if (work->n_memories)
        qsort(work->memories, work->n_memories, sizeof *work->memories, by_sample);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < work->n_memories && status == 0; i++)
            if (decisive(work->compare, work->memories[i].sample) == (round == 0) &&
                work->compare->judged_worst < JUDGE_WORST)
                status = hear_worst(work, &work->memories[i], err);
    return status;
}

static void prepare(struct compare *compare, const struct inputs *inputs, size_t engines)
{
    *compare = (struct compare){.samples = inputs->samples, .engines = engines, .batch = 1};
    arena_init(&compare->arena);
    compare->truth = inputs->classes ? TRUTH_CLASSES : inputs->truth ? TRUTH_VALUES : TRUTH_NONE;
    compare->unused = arena_array(&compare->arena, inputs->n_unused + 1, sizeof *compare->unused);
    for (size_t i = 0; i < inputs->n_unused; i++)
        compare->unused[compare->n_unused++] = arena_strdup(&compare->arena, inputs->unused[i]);
    compare->engine = arena_array(&compare->arena, engines, sizeof *compare->engine);
    compare->pair = arena_array(&compare->arena, engines * engines, sizeof *compare->pair);
    for (size_t a = 0; a < engines; a++)
        for (size_t b = a + 1; b < engines; b++)
            compare->pair[compare->pairs++] = (struct compare_pair){.a = a, .b = b, .ratio = 1};
}

/*
 * How many samples go into one batch. The reference tells whether samples influence each other; without it,
 * the first engine.
 */
static void choose_batch(struct work *work)
{
    size_t most = work->options->batch ? work->options->batch : BATCH;
    if (most < 2 || !batch_possible(work->inputs))
        return;
    const struct panel *panel = work->panel;
    int arbiter = panel->reference < 0 ? panel->engines[0] : panel->reference;
    if (batch_separable(panel->pool, arbiter, &work->job, work->inputs, &work->options->tolerance))
        work->compare->batch = most;
    else
        work->compare->batch_why = "two samples in one batch do not give the same as each alone";
}

/* How long the reference takes for the first sample tells how many there is time for. Its answer is kept. */
static int measure_first(struct work *work, double *seconds, struct error *err)
{
    struct batch batch;
    struct job job = work->job;
    int64_t begun = clock_ns();
    int status = batch_init(&batch, work->inputs, 0, 1, 0, err);
    job.engine = work->panel->reference;
    job.bounds = true;
    job.n_inputs = batch.n_inputs;
    job.inputs = batch.inputs;
    if (status == 0)
        status = pool_run_one(work->panel->pool, &job, &work->first, err);
    if (status == 0)
        status = check_valid(work, 0, &work->first, err);
    *seconds = (double)(clock_ns() - begun) * 1e-9;
    batch_release(&batch);
    return status;
}

static int choose_judged(struct work *work, struct error *err)
{
    struct schedule_options options = {.samples = work->inputs->samples,
                                       .judge = work->options->judge,
                                       .operators = work->options->operators,
                                       .seconds = work->options->seconds};
    int status = 0;
    result_init(&work->first);
    if (work->panel->reference >= 0 && options.samples > 1 && !options.judge)
        status = measure_first(work, &options.measured, err);
    schedule_init(&work->schedule, &options);
    return status;
}

static int open_answers(struct work *work, const char *path, struct error *err)
{
    if (!work->options->keep)
        return 0;
    struct answer_cache_key key = {.model = path, .model_hash = model_hash(work->model)};
    work->answers = memory_zeroed(work->compare->engines + 1, sizeof *work->answers);
    for (size_t i = 0; i < work->compare->engines; i++) {
        const struct engine_info *info = panel_engine(work->panel, i);
        key.engine = info->label;
        key.version = info->version;
        if (answer_cache_open(&work->answers[i], work->options->keep, &key, err))
            return -1;
    }
    return 0;
}

static void work_release(struct work *work)
{
    for (size_t i = 0; i < PARCELS; i++)
        if (work->parcels[i].count)
            free_parcel(&work->parcels[i]);
    while (work->n_memories)
        forget(work, work->n_memories - 1);
    free(work->memories);
    inputs_expected_release(&work->expected);
    explain_release(&work->explain);
    result_release(&work->first);
    for (size_t i = 0; work->answers && i < work->compare->engines; i++)
        answer_cache_close(work->answers[i]);
    free(work->answers);
    fold_release(&work->fold);
    batch_row_release(&work->row);
    handover_close(&work->handover);
    runner_free(work->runner);
}

int compare_run(struct compare *compare, const char *path, const struct model *model,
                const struct inputs *inputs, const struct panel *panel, const struct compare_options *options,
                struct error *err)
{
    prepare(compare, inputs, panel->count);
    sample_verdicts_init(&compare->verdicts, &compare->arena, panel);
    compare->verdicts.look_up = options->known ? known_look_up : NULL;
    compare->verdicts.known = options->known;
    compare->verdicts.tolerance = &options->tolerance;
    compare->chosen = options->judge > 0;
    struct work work = {
        .compare = compare,
        .model = model,
        .inputs = inputs,
        .options = options,
        .panel = panel,
        .runner = runner_new(panel, &(struct runner_options){0}),
    };
    fold_init(&work.fold, compare, inputs, options);
    batch_row_init(&work.row, panel->count);
    if (options->progress)
        progress_begin(&work.progress, "compare", inputs->samples);
    struct progress *outer = pool_show(panel->pool, &work.progress);
    int status = handover_open(&work.handover, panel->pool, model, err);
    handover_give(&work.handover, &work.job);
    work.job.narrow = all_convolve_directly(panel);
    work.job.only_judged = true;
    if (status == 0)
        status = open_answers(&work, path, err);
    if (status == 0)
        status = choose_judged(&work, err);
    if (status == 0) {
        choose_batch(&work);
        status = run_samples(&work, err);
    }
    if (status == 0) {
        fold_conclude(&work.fold);
        status = judge_worst(&work, err);
        fold_excuse_lacks(compare);
    }
    progress_doing(&work.progress, "looking for the cause of differences");
    if (status == 0)
        status = explain_pairs(&work.explain, compare, model, inputs, panel, err);
    if (status == 0 && !options->no_causes)
        compare_causes(compare, model, inputs, panel);
    pool_show(panel->pool, outer);
    progress_end(&work.progress);
    work_release(&work);
    return status;
}

void compare_release(struct compare *compare)
{
    sample_verdicts_release(&compare->verdicts);
    arena_release(&compare->arena);
}

/* Of the samples that are not as expected, those that the judge heard of. */
static size_t heard_unmet(const struct engine_verdict *overall)
{
    size_t heard = 0;
    for (int i = 0; i < EXPECTATION_COUNT; i++)
        heard += i == EXPECTATION_NONE || i == EXPECTATION_MET ? 0 : overall->expectations[i];
    return heard;
}

void compare_expected_stands(const struct compare *compare, const char *const *labels,
                             struct standing *standing)
{
    for (size_t i = 0; i < compare->engines; i++) {
        const struct compare_engine *engine = &compare->engine[i];
        size_t unmet = engine->expected.unmet, heard = heard_unmet(&compare->verdicts.engine[i]);
        if (unmet > heard)
            standing_trouble(standing,
                             "%s is not as expected on %zu of %zu samples, and %zu of these were not judged",
                             labels[i], unmet, engine->expected.compared, unmet - heard);
        if (label_fit_fails(&engine->labels) && !verdict_is_finding(compare->verdicts.engine[i].verdict.kind))
            standing_mistake(
                standing,
                "the labels fit no better than chance: top-1 is %.1f %% of %zu samples, and labels that "
                "do not belong to them would give %.1f %%: check labels and preprocessing",
                100.0 * (double)engine->labels.met / (double)engine->labels.samples, engine->labels.samples,
                100 * label_fit_chance(&engine->labels));
    }
}

void compare_stands(const struct compare *compare, const char *const *labels, struct standing *standing)
{
    size_t left = compare->samples - compare->verdicts.samples;
    for (size_t i = 0; i < compare->engines; i++)
        engine_verdict_stands(&compare->verdicts.engine[i], labels[i], standing);
    compare_expected_stands(compare, labels, standing);
    if (left && !compare->chosen)
        standing_trouble(standing,
                         "%zu of %zu samples were %s: give more time (--time), or say how many are enough "
                         "(--judge)",
                         left, compare->samples,
                         compare->engines > 1 ? "only compared between the engines" : "not judged");
}
