#include "campaign/compare.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/str.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { BATCHES = 2, BATCH_SAMPLES = 16, BATCH_BYTES = 16 << 20 };

/* A sample under way; folded in order, so that the result does not depend on who answers first. */
struct flight {
    size_t sample;
    struct value *inputs;
    struct result *results; /* one an engine, and the reference's */
};

/* Samples that each engine runs on a model loaded once. */
struct batch {
    size_t count, pending; /* samples; results not answered */
    struct flight flights[BATCH_SAMPLES];
    struct job_set sets[BATCH_SAMPLES];
};

struct run {
    struct compare *compare;
    const struct model *model;
    const struct inputs *inputs;
    const struct compare_options *options;
    struct pool *pool;
    const char *path; /* NULL: bytes */
    struct file_map bytes;
    struct batch batches[BATCHES];
    size_t launched, folded;      /* batches */
    size_t next_sample, finished; /* samples */
};

static void free_flight(struct flight *flight, const struct run *run)
{
    for (size_t i = 0; flight->results && i <= run->compare->engines; i++)
        result_release(&flight->results[i]);
    free(flight->results);
    if (flight->inputs)
        values_free(flight->inputs, run->inputs->count);
    *flight = (struct flight){0};
}

static void fold_output(struct compare_output *output, const struct value *value)
{
    for (size_t i = 0; i < value->count; i++) {
        struct metrics_summary summary;
        metrics_summarize(&value->tensors[i], &summary);
        output->elements += summary.count;
        output->nan += summary.nan;
        output->inf += summary.inf;
        if (!(output->min <= summary.min) && !isnan(summary.min))
            output->min = summary.min;
        if (!(output->max >= summary.max) && !isnan(summary.max))
            output->max = summary.max;
    }
}

static void describe_outputs(struct arena *arena, struct compare_engine *engine, const struct result *result)
{
    engine->n_outputs = result->count;
    engine->outputs = arena_array(arena, result->count, sizeof *engine->outputs);
    for (size_t i = 0; i < result->count; i++) {
        const struct value *value = &result->outputs[i];
        struct compare_output *output = &engine->outputs[i];
        output->name = arena_strdup(arena, value->name ? value->name : "?");
        output->kind = value->kind;
        output->min = output->max = NAN;
        if (value->count > 0) {
            output->dtype = value->tensors[0].type;
            output->shape = value->tensors[0].shape;
        }
    }
}

static void fold_engine(struct run *run, const struct flight *flight, size_t number)
{
    struct compare_engine *engine = &run->compare->engine[number];
    const struct result *result = &flight->results[number];
    engine->outcomes[result->outcome]++;
    engine->load_ns += result->load_ns;
    engine->run_ns += result->run_ns;
    if (result->outcome != OUTCOME_OK) {
        if (engine->worst == OUTCOME_UNTESTED) {
            engine->worst = result->outcome;
            engine->worst_sample = flight->sample;
            engine->stage = result->stage;
            engine->signal = result->signal;
            engine->message = result->message ? arena_strdup(&run->compare->arena, result->message) : NULL;
        }
        return;
    }
    if (!engine->outputs)
        describe_outputs(&run->compare->arena, engine, result);
    for (size_t i = 0; i < result->count && i < engine->n_outputs; i++)
        fold_output(&engine->outputs[i], &result->outputs[i]);
}

/* What keeps two outputs from being compared at all; false when nothing does. */
static bool outputs_mismatch(const struct value *a, const struct value *b, struct str *why)
{
    char x[SHAPE_TEXT_SIZE], y[SHAPE_TEXT_SIZE];
    if (a->kind != b->kind || a->count != b->count) {
        str_printf(why, "output %s is not the same kind of value", a->name ? a->name : "?");
        return true;
    }
    for (size_t i = 0; i < a->count; i++) {
        const struct tensor *s = &a->tensors[i], *t = &b->tensors[i];
        if (s->type != t->type)
            str_printf(why, "output %s is %s against %s", a->name ? a->name : "?", dtype_name(s->type),
                       dtype_name(t->type));
        else if (!shape_equal(&s->shape, &t->shape))
            str_printf(why, "output %s has shape %s against %s", a->name ? a->name : "?",
                       shape_text(&s->shape, x), shape_text(&t->shape, y));
        else
            continue;
        return true;
    }
    return false;
}

static bool results_mismatch(const struct result *a, const struct result *b, struct str *why)
{
    if (a->count != b->count) {
        str_printf(why, "%zu outputs against %zu", a->count, b->count);
        return true;
    }
    for (size_t i = 0; i < a->count; i++)
        if (outputs_mismatch(&a->outputs[i], &b->outputs[i], why))
            return true;
    return false;
}

/* The samples whose elements lie outside come first; among those, and among the others, the larger error. */
static bool farther(const struct compare_pair *pair, const struct metrics_difference *difference,
                    double known, bool known_close)
{
    if (pair->compared == 0)
        return true;
    if (difference->close != known_close)
        return known_close;
    return fabs(difference->worst_a - difference->worst_b) > known ||
           (difference->nan_mismatch + difference->inf_mismatch > 0 && isfinite(pair->worst_a) &&
            isfinite(pair->worst_b));
}

static void fold_values(struct run *run, struct compare_pair *pair, const struct flight *flight)
{
    const struct result *a = &flight->results[pair->a], *b = &flight->results[pair->b];
    bool beyond = false;
    for (size_t i = 0; i < a->count; i++) {
        for (size_t k = 0; k < a->outputs[i].count; k++) {
            struct metrics_difference d;
            metrics_compare(&a->outputs[i].tensors[k], &b->outputs[i].tensors[k], &run->options->tolerance,
                            &d);
            if (d.count == 0)
                continue;
            if (farther(pair, &d, fabs(pair->worst_a - pair->worst_b), pair->beyond == 0 && !beyond)) {
                pair->worst_sample = flight->sample;
                pair->worst_output = i;
                pair->worst_element = d.worst;
                pair->worst_a = d.worst_a;
                pair->worst_b = d.worst_b;
            }
            beyond |= !d.close;
            pair->max_abs = d.max_abs > pair->max_abs ? d.max_abs : pair->max_abs;
            pair->max_rel = d.max_rel > pair->max_rel ? d.max_rel : pair->max_rel;
            pair->ratio = d.ratio < pair->ratio ? d.ratio : pair->ratio;
        }
    }
    pair->beyond += beyond;
    pair->compared++;
}

static bool first_output(const struct result *result, double **values, size_t *count)
{
    *values = NULL;
    return result->outcome == OUTCOME_OK && result->count > 0 && result->outputs[0].kind == VALUE_TENSOR &&
           metrics_load(&result->outputs[0].tensors[0], values, count);
}

/* A vector of confidences: floats, [N] or [1,N], N at least 2. */
static bool looks_like_classes(const struct result *result)
{
    if (result->outcome != OUTCOME_OK || result->count == 0 || result->outputs[0].kind != VALUE_TENSOR)
        return false;
    const struct tensor *tensor = &result->outputs[0].tensors[0];
    int rank = tensor->shape.rank;
    return dtype_is_float(tensor->type) && tensor->count >= 2 && (rank == 1 || rank == 2) &&
           (size_t)tensor->shape.dims[rank - 1] == tensor->count;
}

/* The class a sample should have: its label, or what the first engine says. False when there is none. */
static bool true_class(const struct run *run, const struct flight *flight, size_t *class)
{
    if (run->inputs->classes) {
        *class = run->inputs->classes[flight->sample];
        return true;
    }
    double *values;
    size_t count;
    bool known = false;
    if (!run->inputs->truth && looks_like_classes(&flight->results[0]) &&
        first_output(&flight->results[0], &values, &count)) {
        *class = metrics_top(values, count);
        known = *class < count;
        free(values);
    }
    return known;
}

static void fold_accuracy(struct run *run, const struct flight *flight, size_t number)
{
    double *values;
    size_t count;
    if (!run->inputs->classes || !first_output(&flight->results[number], &values, &count))
        return;
    size_t rank = metrics_rank(values, count, run->inputs->classes[flight->sample]);
    run->compare->engine[number].top1 += rank == 1;
    run->compare->engine[number].topk += rank <= (size_t)run->options->thresholds.k && rank <= count;
    free(values);
}

/* The sample's true output vector on the heap: as given, or one-hot; NULL when it has none of this length. */
static double *true_vector(const struct run *run, size_t sample, size_t count)
{
    const struct inputs *inputs = run->inputs;
    if (!(inputs->truth && inputs->truth_size == count) && !inputs->classes)
        return NULL;
    double *truth = memory_zeroed(count + 1, sizeof *truth);
    if (inputs->classes && inputs->classes[sample] < count)
        truth[inputs->classes[sample]] = 1;
    for (size_t i = 0; inputs->truth && i < count; i++)
        truth[i] = inputs->truth[sample * count + i];
    return truth;
}

static void fold_cradle(struct run *run, struct compare_pair *pair, const struct flight *flight,
                        bool has_class, size_t class)
{
    const struct metrics_thresholds *thresholds = &run->options->thresholds;
    double *a, *b = NULL, *truth = NULL;
    size_t n, m = 0;
    bool both = first_output(&flight->results[pair->a], &a, &n);
    both = first_output(&flight->results[pair->b], &b, &m) && both;
    if (both && n == m && n > 0) {
        truth = true_vector(run, flight->sample, n);
        if (has_class)
            metrics_pattern_class(&pair->class, flight->sample,
                                  metrics_class_distance(a, b, n, class, thresholds->k), thresholds);
        if (truth)
            metrics_pattern_mad(&pair->mad, flight->sample, metrics_mad_distance(a, b, truth, n), thresholds);
    }
    free(a);
    free(b);
    free(truth);
}

/* An engine that is not there, or lacks an operator, is no evidence against anybody. */
static bool is_absent(enum outcome outcome)
{
    return outcome == OUTCOME_NO_ENGINE || outcome == OUTCOME_UNSUPPORTED;
}

static void fold_pair(struct run *run, struct compare_pair *pair, const struct flight *flight, bool has_class,
                      size_t class)
{
    const struct result *a = &flight->results[pair->a], *b = &flight->results[pair->b];
    if (a->outcome != OUTCOME_OK || b->outcome != OUTCOME_OK) {
        bool either = a->outcome == OUTCOME_OK || b->outcome == OUTCOME_OK;
        pair->one_sided += either && !is_absent(a->outcome) && !is_absent(b->outcome);
        return;
    }
    struct str why;
    str_init(&why);
    if (results_mismatch(a, b, &why)) {
        pair->mismatched++;
        if (!pair->mismatch)
            pair->mismatch = arena_strdup(&run->compare->arena, why.data);
    } else {
        fold_values(run, pair, flight);
        fold_cradle(run, pair, flight, has_class, class);
    }
    str_release(&why);
}

static void fold_word(struct run *run, const struct flight *flight)
{
    struct words_sample sample = {
        .number = flight->sample,
        .model = run->model,
        .inputs = flight->inputs,
        .n_inputs = run->inputs->count,
        .results = flight->results,
        .reference = run->options->reference < 0 ? NULL : &flight->results[run->compare->engines],
    };
    words_add(&run->compare->words, &sample);
}

static void fold(struct run *run, const struct flight *flight)
{
    fold_word(run, flight);
    size_t class = 0;
    bool has_class = true_class(run, flight, &class);
    if (has_class && run->compare->truth == TRUTH_NONE)
        run->compare->truth = TRUTH_FIRST_ENGINE;
    for (size_t i = 0; i < run->compare->engines; i++) {
        fold_engine(run, flight, i);
        fold_accuracy(run, flight, i);
    }
    for (size_t i = 0; i < run->compare->pairs; i++)
        fold_pair(run, &run->compare->pair[i], flight, has_class, class);
}

static size_t size_of(const struct value *values, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < values[i].count; k++)
            size += values[i].tensors[k].size;
    return size;
}

/* Makes the inputs of as many samples as go into one batch. */
static int fill(struct run *run, struct batch *batch, struct error *err)
{
    size_t most = run->options->together ? run->options->together : BATCH_SAMPLES, bytes = 0;
    while (batch->count < most && batch->count < BATCH_SAMPLES && bytes < BATCH_BYTES &&
           run->next_sample < run->inputs->samples) {
        struct flight *flight = &batch->flights[batch->count];
        *flight = (struct flight){.sample = run->next_sample++};
        if (inputs_get(run->inputs, flight->sample, &flight->inputs, err))
            return -1;
        bytes += size_of(flight->inputs, run->inputs->count);
        flight->results = memory_zeroed(run->compare->engines + 1, sizeof *flight->results);
        for (size_t i = 0; i <= run->compare->engines; i++)
            result_init(&flight->results[i]);
        batch->sets[batch->count++] = (struct job_set){run->inputs->count, flight->inputs};
    }
    return 0;
}

static int launch(struct run *run, struct error *err)
{
    struct batch *batch = &run->batches[run->launched % BATCHES];
    if (fill(run, batch, err))
        return -1;
    for (size_t i = 0; i <= run->compare->engines; i++) {
        bool arbiter = i == run->compare->engines;
        if (arbiter && run->options->reference < 0)
            continue;
        struct job job = {.engine = arbiter ? run->options->reference : (int)i,
                          .bounds = arbiter,
                          .path = run->path,
                          .model = run->path ? NULL : run->bytes.data,
                          .model_size = run->path ? 0 : run->bytes.size,
                          .n_sets = batch->count,
                          .sets = batch->sets,
                          .user = batch};
        batch->pending += batch->count;
        pool_submit(run->pool, &job);
    }
    run->launched++;
    return 0;
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
    struct batch *batch = job.user;
    batch->flights[job.set].results[job.bounds ? run->compare->engines : (size_t)job.engine] = result;
    batch->pending--;
    return 0;
}

static void free_batch(struct run *run, struct batch *batch)
{
    for (size_t i = 0; i < BATCH_SAMPLES; i++)
        free_flight(&batch->flights[i], run);
    batch->count = 0;
}

static void land(struct run *run, struct batch *batch, struct progress *progress)
{
    for (size_t i = 0; i < batch->count; i++) {
        fold(run, &batch->flights[i]);
        progress_step(progress, ++run->finished);
    }
    free_batch(run, batch);
    run->folded++;
}

static int run_samples(struct run *run, struct error *err)
{
    struct progress progress;
    progress_begin(&progress, "compare", run->inputs->samples);
    progress.visible = progress.visible && run->options->progress;
    int status = 0;
    while (status == 0 && run->finished < run->inputs->samples) {
        struct batch *oldest = &run->batches[run->folded % BATCHES];
        if (run->folded < run->launched && oldest->pending == 0)
            land(run, oldest, &progress);
        else if (run->next_sample < run->inputs->samples && run->launched - run->folded < BATCHES)
            status = launch(run, err);
        else
            status = receive(run, err);
    }
    progress_end(&progress);
    for (size_t i = 0; i < BATCHES; i++)
        free_batch(run, &run->batches[i]);
    return status;
}

static bool same_bins(const size_t *a, const size_t *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* Equal patterns are one unique inconsistency. */
static int number_pattern(struct compare *compare, size_t pair, bool mad)
{
    const struct compare_pair *mine = &compare->pair[pair];
    for (size_t i = 0; i < pair; i++) {
        const struct compare_pair *other = &compare->pair[i];
        if (mad && other->mad_pattern && same_bins(mine->mad.mad_bins, other->mad.mad_bins, METRICS_MAD_BINS))
            return other->mad_pattern;
        if (!mad && other->class_pattern &&
            same_bins(mine->class.class_bins, other->class.class_bins, METRICS_CLASS_BINS))
            return other->class_pattern;
    }
    return (int)++compare->unique;
}

static void conclude(struct run *run)
{
    struct compare *compare = run->compare;
    const struct metrics_thresholds *thresholds = &run->options->thresholds;
    for (size_t i = 0; i < compare->pairs; i++) {
        struct compare_pair *pair = &compare->pair[i];
        pair->class_inconsistent = metrics_inconsistent(&pair->class, thresholds);
        pair->mad_inconsistent = metrics_inconsistent(&pair->mad, thresholds);
        if (pair->class_inconsistent)
            pair->class_pattern = number_pattern(compare, i, false);
        if (pair->mad_inconsistent)
            pair->mad_pattern = number_pattern(compare, i, true);
        bool by_class = pair->class_inconsistent && compare->truth == TRUTH_CLASSES;
        /* On classifiers the paper decides by class; MAD is shown beside. */
        bool by_mad = pair->mad_inconsistent && compare->truth == TRUTH_VALUES;
        pair->differs = pair->one_sided || pair->mismatched || pair->beyond || by_class || by_mad;
    }
    for (size_t i = 0; i < compare->engines; i++) {
        size_t total = 0;
        for (int outcome = 0; outcome < OUTCOME_COUNT; outcome++)
            total += compare->engine[i].outcomes[outcome];
        assert(total == compare->samples && compare->engine[i].outcomes[OUTCOME_UNTESTED] == 0);
    }
}

static void prepare(struct compare *compare, const struct inputs *inputs, size_t engines)
{
    *compare = (struct compare){.samples = inputs->samples, .engines = engines};
    arena_init(&compare->arena);
    compare->truth = inputs->classes ? TRUTH_CLASSES : inputs->truth ? TRUTH_VALUES : TRUTH_NONE;
    compare->engine = arena_array(&compare->arena, engines, sizeof *compare->engine);
    compare->pair = arena_array(&compare->arena, engines * engines, sizeof *compare->pair);
    for (size_t a = 0; a < engines; a++)
        for (size_t b = a + 1; b < engines; b++)
            compare->pair[compare->pairs++] = (struct compare_pair){.a = a, .b = b, .ratio = 1};
}

int compare_run(struct compare *compare, const char *path, const struct model *model,
                const struct inputs *inputs, struct pool *pool, size_t engines,
                const struct compare_options *options, struct error *err)
{
    prepare(compare, inputs, engines);
    words_init(&compare->words, &compare->arena, pool, engines);
    struct run run = {.compare = compare, .model = model, .inputs = inputs, .options = options, .pool = pool};
    bool external = false;
    for (size_t i = 0; i < model->graph->n_initializer; i++)
        external |= model->graph->initializer[i]->n_external_data > 0;
    char *absolute = realpath(path, NULL);
    int status = absolute ? 0 : error_errno(err, "%s", path);
    if (external)
        run.path = absolute;
    else if (status == 0)
        status = file_map_open(&run.bytes, absolute, err);
    if (status == 0)
        status = run_samples(&run, err);
    if (status == 0)
        conclude(&run);
    file_map_close(&run.bytes);
    free(absolute);
    return status;
}

void compare_release(struct compare *compare)
{
    arena_release(&compare->arena);
}
