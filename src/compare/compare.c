#include "compare/compare.h"

#include "base/memory.h"
#include "base/progress.h"
#include "compare/answer_cache.h"
#include "compare/batch.h"
#include "compare/fold.h"
#include "engine/handover.h"

#include <stdlib.h>

enum {
    PARCELS = 2,         /* under way, so that no engine waits while one is folded */
    PARCEL_BATCHES = 16, /* runs on one load of the model */
    PARCEL_BYTES = 16 << 20,
    BATCH = 100,
    JUDGE_ALL = 200, /* samples up to which the judge hears them all, */
    JUDGE_SOME = 20, /* and how many it hears of more */
    JUDGE_WORST = 40,
};

/* A sample for the judge, with the reference's answer. */
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
    bool alone;
    struct target *targets;
};

/* Groups that each engine runs on a model loaded once; folded in order, so that the result does not depend on
 * who answers first. */
struct parcel {
    struct arena arena; /* errands and their sets */
    size_t count, pending;
    struct batch batches[PARCEL_BATCHES];
    size_t n_hearings, hearings_capacity;
    struct hearing *hearings;
};

/* A sample that was the worst of a pair or an engine when it was folded: the judge may want it later. */
struct memory {
    size_t sample;
    struct result *results; /* deep copies, one an engine */
};

struct run {
    struct compare *compare;
    const struct model *model;
    const struct inputs *inputs;
    const struct compare_options *options;
    struct pool *pool;
    struct handover handover;
    struct job job; /* with the model, for all jobs */
    struct fold fold;
    struct batch_row row;
    struct answer_cache **answers; /* one an engine, when answers are kept */
    struct parcel parcels[PARCELS];
    size_t launched, folded;      /* parcels */
    size_t next_sample, finished; /* samples */
    size_t judge_every;
    struct memory *memories;
    size_t n_memories, memories_capacity;
};

static bool for_the_judge(const struct run *run, size_t sample)
{
    return sample % run->judge_every == 0;
}

static void submit(struct run *run, struct parcel *parcel, int engine, struct errand *errand,
                   struct job_set *sets, size_t count, bool bounds)
{
    if (count == 0)
        return;
    struct job job = run->job;
    errand->parcel = parcel;
    job.engine = engine;
    job.bounds = bounds;
    job.n_sets = count;
    job.sets = sets;
    job.user = errand;
    parcel->pending += count;
    pool_submit(run->pool, &job);
}

static bool recall(struct run *run, size_t engine, uint64_t hash, struct result *result)
{
    return run->answers && answer_cache_get(run->answers[engine], hash, result);
}

static int keep(struct run *run, size_t engine, uint64_t hash, const struct result *result, struct error *err)
{
    return run->answers ? answer_cache_put(run->answers[engine], hash, result, err) : 0;
}

/* Each sample of a batch for itself, for an engine that cannot do with the stack. */
static void run_alone(struct run *run, struct parcel *parcel, struct batch *batch, size_t engine)
{
    struct errand *errand = arena_array(&parcel->arena, 1, sizeof *errand);
    struct job_set *sets = arena_array(&parcel->arena, batch->count, sizeof *sets);
    errand->targets = arena_array(&parcel->arena, batch->count, sizeof *errand->targets);
    errand->alone = true;
    batch_answer_reset(batch, engine, true);
    run->compare->engine[engine].alone += batch->count;
    size_t count = 0;
    for (size_t k = 0; k < batch->count; k++) {
        const struct value *inputs = batch_views(batch, k);
        if (recall(run, engine, run->answers ? answer_cache_hash(inputs, batch->n_inputs) : 0,
                   &batch->answers[engine].results[k])) {
            run->compare->engine[engine].kept++;
            continue;
        }
        errand->targets[count] = (struct target){.batch = batch, .offset = k};
        sets[count++] = (struct job_set){batch->n_inputs, inputs};
    }
    submit(run, parcel, (int)engine, errand, sets, count, false);
}

/* A stack the engine failed on: said once, and not tried again. */
static void give_up_stack(struct run *run, const struct batch *batch, size_t engine,
                          const struct result *result)
{
    struct compare_engine *known = &run->compare->engine[engine];
    if (known->stack)
        return;
    known->stack = arena_printf(&run->compare->arena, "%zu samples: %s%s%s", batch->count,
                                result->outcome == OUTCOME_OK ? "the answer has another first dimension"
                                                              : outcome_name(result->outcome),
                                result->message ? ": " : "", result->message ? result->message : "");
}

static void launch_engine(struct run *run, struct parcel *parcel, size_t engine)
{
    struct errand *errand = arena_array(&parcel->arena, 1, sizeof *errand);
    struct job_set *sets = arena_array(&parcel->arena, parcel->count, sizeof *sets);
    errand->targets = arena_array(&parcel->arena, parcel->count, sizeof *errand->targets);
    size_t count = 0;
    for (size_t i = 0; i < parcel->count; i++) {
        struct batch *batch = &parcel->batches[i];
        if (batch->count > 1 && run->compare->engine[engine].stack) {
            run_alone(run, parcel, batch, engine);
            continue;
        }
        batch_answer_reset(batch, engine, false);
        struct result *result = &batch->answers[engine].results[0];
        if (!recall(run, engine, batch->hash, result)) {
            errand->targets[count] = (struct target){.batch = batch};
            sets[count++] = (struct job_set){batch->n_inputs, batch->inputs};
        } else if (batch_answer_usable(batch, result)) {
            run->compare->engine[engine].kept += batch->count;
        } else {
            give_up_stack(run, batch, engine, result);
            run_alone(run, parcel, batch, engine);
        }
    }
    submit(run, parcel, (int)engine, errand, sets, count, false);
}

/* The reference hears the samples of the judge, each alone. */
static void launch_reference(struct run *run, struct parcel *parcel)
{
    for (size_t i = 0; i < parcel->count; i++)
        for (size_t k = 0; k < parcel->batches[i].count; k++)
            if (for_the_judge(run, parcel->batches[i].first + k)) {
                parcel->hearings = memory_grow(parcel->hearings, &parcel->hearings_capacity,
                                               parcel->n_hearings + 1, sizeof *parcel->hearings);
                struct hearing *hearing = &parcel->hearings[parcel->n_hearings++];
                *hearing = (struct hearing){.batch = &parcel->batches[i], .offset = k};
                result_init(&hearing->reference);
            }
    if (run->options->reference < 0)
        return;
    struct errand *errand = arena_array(&parcel->arena, 1, sizeof *errand);
    struct job_set *sets = arena_array(&parcel->arena, parcel->n_hearings, sizeof *sets);
    errand->targets = arena_array(&parcel->arena, parcel->n_hearings, sizeof *errand->targets);
    for (size_t i = 0; i < parcel->n_hearings; i++) {
        struct hearing *hearing = &parcel->hearings[i];
        errand->targets[i] = (struct target){.hearing = hearing};
        sets[i] = (struct job_set){run->inputs->count, batch_views(hearing->batch, hearing->offset)};
    }
    submit(run, parcel, run->options->reference, errand, sets, parcel->n_hearings, true);
}

/* Makes the inputs of as many batches as go into one parcel. */
static int fill(struct run *run, struct parcel *parcel, struct error *err)
{
    size_t most = run->options->together ? run->options->together : PARCEL_BATCHES, bytes = 0;
    while (parcel->count < most && parcel->count < PARCEL_BATCHES && bytes < PARCEL_BYTES &&
           run->next_sample < run->inputs->samples) {
        size_t left = run->inputs->samples - run->next_sample;
        size_t count = left < run->compare->batch ? left : run->compare->batch;
        struct batch *batch = &parcel->batches[parcel->count++];
        if (batch_init(batch, run->inputs, run->next_sample, count, run->compare->engines, err))
            return -1;
        batch->hash = run->answers ? answer_cache_hash(batch->inputs, batch->n_inputs) : 0;
        bytes += batch_size(batch);
        run->next_sample += count;
    }
    return 0;
}

static int launch(struct run *run, struct error *err)
{
    struct parcel *parcel = &run->parcels[run->launched++ % PARCELS];
    arena_init(&parcel->arena);
    if (fill(run, parcel, err))
        return -1;
    launch_reference(run, parcel);
    for (size_t i = 0; i < run->compare->engines; i++)
        launch_engine(run, parcel, i);
    return 0;
}

static int receive_answer(struct run *run, const struct job *job, const struct target *target, bool alone,
                          struct result *result, struct error *err)
{
    struct batch *batch = target->batch;
    size_t engine = (size_t)job->engine;
    struct batch_answer *answer = &batch->answers[engine];
    const struct value *inputs = alone ? batch_views(batch, target->offset) : batch->inputs;
    uint64_t hash = alone && run->answers ? answer_cache_hash(inputs, batch->n_inputs) : batch->hash;
    int status = keep(run, engine, hash, result, err);
    if (alone || batch_answer_usable(batch, result)) {
        answer->results[alone ? target->offset : 0] = *result;
        return status;
    }
    give_up_stack(run, batch, engine, result);
    result_release(result);
    run_alone(run, ((struct errand *)job->user)->parcel, batch, engine);
    return status;
}

/* No engine can be judged by a case that is not valid, nor blamed for what it does with it. */
static int check_valid(const struct run *run, size_t sample, const struct result *reference,
                       struct error *err)
{
    if (reference->outcome != OUTCOME_REJECTED)
        return 0;
    return inputs_invalid(run->inputs, sample, reference->message ? reference->message : "", err);
}

static int receive(struct run *run, struct error *err)
{
    struct job job;
    struct result result;
    bool differ;
    int status = pool_next(run->pool, -1, &job, &result, &differ, err);
    if (status < 0)
        return -1;
    if (status == 0)
        return error_set(err, ERROR_IO, "the engines lost an answer");
    struct errand *errand = job.user;
    struct target *target = &errand->targets[job.set];
    errand->parcel->pending--;
    if (!target->hearing)
        return receive_answer(run, &job, target, errand->alone, &result, err);
    struct hearing *hearing = target->hearing;
    hearing->reference = result;
    return check_valid(run, hearing->batch->first + hearing->offset, &hearing->reference, err);
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

static void forget(struct run *run, size_t number)
{
    struct memory *memory = &run->memories[number];
    for (size_t i = 0; i < run->compare->engines; i++)
        result_release(&memory->results[i]);
    free(memory->results);
    *memory = run->memories[--run->n_memories];
}

/* Keeps the answers to a sample that is now some pair's worst, and lets go those that no longer are. */
static void remember(struct run *run, size_t sample)
{
    run->memories =
        memory_grow(run->memories, &run->memories_capacity, run->n_memories + 1, sizeof *run->memories);
    struct memory *memory = &run->memories[run->n_memories++];
    memory->sample = sample;
    memory->results = memory_zeroed(run->compare->engines + 1, sizeof *memory->results);
    for (size_t i = 0; i < run->compare->engines; i++)
        copy_result(&memory->results[i], &run->row.results[i]);
    for (size_t i = run->n_memories; i-- > 0;)
        if (!fold_wanted(run->compare, run->memories[i].sample))
            forget(run, i);
}

static void hear(struct run *run, size_t sample, const struct value *inputs, const struct value *stack,
                 const struct result *results, const struct result *reference)
{
    sample_verdicts_add(&run->compare->verdicts, &(struct sample_results){.number = sample,
                                                                          .model = run->model,
                                                                          .inputs = inputs,
                                                                          .n_inputs = run->inputs->count,
                                                                          .stack = stack,
                                                                          .results = results,
                                                                          .reference = reference});
}

static void land_batch(struct run *run, struct parcel *parcel, struct batch *batch, size_t *hearing)
{
    for (size_t k = 0; k < batch->count; k++) {
        size_t sample = batch->first + k;
        batch_row_fill(&run->row, batch, k);
        bool worse = fold_sample(&run->fold, sample, run->row.results);
        if (for_the_judge(run, sample)) {
            hear(run, sample, batch_views(batch, k), batch->count > 1 ? batch->inputs : NULL,
                 run->row.results,
                 run->options->reference < 0 ? NULL : &parcel->hearings[*hearing].reference);
            ++*hearing;
            run->compare->judged_spread++;
        } else if (worse) {
            remember(run, sample);
        }
    }
}

static void land(struct run *run, struct parcel *parcel, struct progress *progress)
{
    size_t hearing = 0;
    for (size_t i = 0; i < parcel->count; i++) {
        land_batch(run, parcel, &parcel->batches[i], &hearing);
        run->finished += parcel->batches[i].count;
        progress_step(progress, run->finished);
    }
    free_parcel(parcel);
    run->folded++;
}

static int run_samples(struct run *run, struct error *err)
{
    struct progress progress;
    progress_begin(&progress, "compare", run->inputs->samples);
    progress.visible = progress.visible && run->options->progress;
    int status = 0;
    while (status == 0 && run->finished < run->inputs->samples) {
        struct parcel *oldest = &run->parcels[run->folded % PARCELS];
        if (run->folded < run->launched && oldest->pending == 0)
            land(run, oldest, &progress);
        else if (run->next_sample < run->inputs->samples && run->launched - run->folded < PARCELS)
            status = launch(run, err);
        else
            status = receive(run, err);
    }
    progress_end(&progress);
    return status;
}

static int by_sample(const void *a, const void *b)
{
    const struct memory *x = a, *y = b;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

/* Whether a decision hangs on the sample: a failure, or the worst of a pair that differs. */
static bool decisive(const struct compare *compare, size_t sample)
{
    for (size_t i = 0; i < compare->engines; i++)
        if (compare->engine[i].worst != OUTCOME_UNTESTED && compare->engine[i].worst_sample == sample)
            return true;
    for (size_t i = 0; i < compare->pairs; i++) {
        const struct compare_pair *pair = &compare->pair[i];
        if (pair->differs && (pair->worst_sample == sample || pair->mismatch_sample == sample ||
                              pair->class.worst == sample || pair->mad.worst == sample))
            return true;
    }
    return false;
}

/* With the stack it was answered in, made anew. */
static int hear_worst(struct run *run, const struct memory *memory, struct error *err)
{
    size_t size = run->compare->batch, first = memory->sample / size * size;
    size_t left = run->inputs->samples - first;
    struct batch batch;
    struct result reference;
    struct job job = run->job;
    result_init(&reference);
    int status = batch_init(&batch, run->inputs, first, left < size ? left : size, 0, err);
    const struct value *inputs = status == 0 ? batch_views(&batch, memory->sample - first) : NULL;
    job.engine = run->options->reference;
    job.bounds = true;
    job.n_inputs = run->inputs->count;
    job.inputs = inputs;
    if (status == 0 && run->options->reference >= 0)
        status = pool_run_one(run->pool, &job, &reference, err) ||
                 check_valid(run, memory->sample, &reference, err);
    if (status == 0) {
        hear(run, memory->sample, inputs, batch.count > 1 ? batch.inputs : NULL, memory->results,
             run->options->reference < 0 ? NULL : &reference);
        run->compare->judged_worst++;
    }
    result_release(&reference);
    batch_release(&batch);
    return status;
}

/* The samples on which engines failed or were farthest apart; those first on which a decision hangs. */
static int judge_worst(struct run *run, struct error *err)
{
    int status = 0;
    if (run->n_memories)
        qsort(run->memories, run->n_memories, sizeof *run->memories, by_sample);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < run->n_memories && status == 0; i++)
            if (decisive(run->compare, run->memories[i].sample) == (round == 0) &&
                run->compare->judged_worst < JUDGE_WORST)
                status = hear_worst(run, &run->memories[i], err);
    return status;
}

static void prepare(struct compare *compare, const struct inputs *inputs, size_t engines)
{
    *compare = (struct compare){.samples = inputs->samples, .engines = engines, .batch = 1};
    arena_init(&compare->arena);
    compare->truth = inputs->classes ? TRUTH_CLASSES : inputs->truth ? TRUTH_VALUES : TRUTH_NONE;
    compare->engine = arena_array(&compare->arena, engines, sizeof *compare->engine);
    compare->pair = arena_array(&compare->arena, engines * engines, sizeof *compare->pair);
    for (size_t a = 0; a < engines; a++)
        for (size_t b = a + 1; b < engines; b++)
            compare->pair[compare->pairs++] = (struct compare_pair){.a = a, .b = b, .ratio = 1};
}

/* How many samples go into one run. Without the reference the first engine is asked whether samples mix. */
static void choose_batch(struct run *run)
{
    size_t most = run->options->batch ? run->options->batch : BATCH;
    if (most < 2 || !batch_possible(run->inputs))
        return;
    int arbiter = run->options->reference < 0 ? 0 : run->options->reference;
    if (batch_separable(run->pool, arbiter, &run->job, run->inputs, &run->options->tolerance))
        run->compare->batch = most;
    else
        run->compare->batch_why = "two samples at once do not give what each gives alone";
}

static void choose_judged(struct run *run)
{
    size_t samples = run->inputs->samples, wanted = run->options->judge;
    if (wanted == 0)
        wanted = samples <= JUDGE_ALL ? samples : JUDGE_SOME;
    run->judge_every = wanted < samples ? (samples + wanted - 1) / wanted : 1;
}

static int open_answers(struct run *run, const char *path, struct error *err)
{
    if (!run->options->keep)
        return 0;
    struct answer_cache_key key = {.model = path, .model_hash = model_hash(run->model)};
    run->answers = memory_zeroed(run->compare->engines + 1, sizeof *run->answers);
    for (size_t i = 0; i < run->compare->engines; i++) {
        const struct engine_info *info = pool_engine(run->pool, (int)i);
        key.engine = info->label;
        key.version = info->version;
        if (answer_cache_open(&run->answers[i], run->options->keep, &key, err))
            return -1;
    }
    return 0;
}

static void run_release(struct run *run)
{
    for (size_t i = 0; i < PARCELS; i++)
        if (run->parcels[i].count)
            free_parcel(&run->parcels[i]);
    while (run->n_memories)
        forget(run, run->n_memories - 1);
    free(run->memories);
    for (size_t i = 0; run->answers && i < run->compare->engines; i++)
        answer_cache_close(run->answers[i]);
    free(run->answers);
    fold_release(&run->fold);
    batch_row_release(&run->row);
    handover_close(&run->handover);
}

int compare_run(struct compare *compare, const char *path, const struct model *model,
                const struct inputs *inputs, struct pool *pool, size_t engines,
                const struct compare_options *options, struct error *err)
{
    prepare(compare, inputs, engines);
    sample_verdicts_init(&compare->verdicts, &compare->arena, pool, engines);
    struct run run = {.compare = compare, .model = model, .inputs = inputs, .options = options, .pool = pool};
    fold_init(&run.fold, compare, inputs, options);
    batch_row_init(&run.row, engines);
    choose_judged(&run);
    int status = handover_open(&run.handover, pool, model, err);
    handover_give(&run.handover, &run.job);
    if (status == 0)
        status = open_answers(&run, path, err);
    if (status == 0) {
        choose_batch(&run);
        status = run_samples(&run, err);
    }
    if (status == 0) {
        fold_conclude(&run.fold);
        status = judge_worst(&run, err);
    }
    run_release(&run);
    return status;
}

void compare_release(struct compare *compare)
{
    sample_verdicts_release(&compare->verdicts);
    arena_release(&compare->arena);
}
