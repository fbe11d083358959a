#include "compare/fold.h"

#include "base/memory.h"
#include "base/str.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

void fold_init(struct fold *fold, struct compare *compare, const struct inputs *inputs,
               const struct compare_options *options)
{
    *fold = (struct fold){.compare = compare, .inputs = inputs, .options = options};
    fold->first = memory_zeroed(compare->engines + 1, sizeof *fold->first);
    fold->counts = memory_zeroed(compare->engines + 1, sizeof *fold->counts);
    fold->capacities = memory_zeroed(compare->engines + 1, sizeof *fold->capacities);
}

void fold_release(struct fold *fold)
{
    for (size_t i = 0; fold->first && i < fold->compare->engines; i++)
        free(fold->first[i]);
    free(fold->first);
    free(fold->counts);
    free(fold->capacities);
    free(fold->truth);
    *fold = (struct fold){0};
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

/* True when it is the engine's first failure. */
static bool fold_engine(struct fold *fold, size_t sample, const struct result *result, size_t number)
{
    struct compare_engine *engine = &fold->compare->engine[number];
    engine->outcomes[result->outcome]++;
    engine->load_ns += result->load_ns;
    engine->run_ns += result->run_ns;
    if (result->outcome != OUTCOME_OK) {
        if (engine->worst != OUTCOME_UNTESTED)
            return false;
        engine->worst = result->outcome;
        engine->worst_sample = sample;
        engine->stage = result->stage;
        engine->signal = result->signal;
        engine->message = result->message ? arena_strdup(&fold->compare->arena, result->message) : NULL;
        struct str last;
        str_init(&last);
        result_last_lines(result->log, &last);
        engine->last_lines = last.length ? arena_strdup(&fold->compare->arena, last.data) : NULL;
        str_release(&last);
        return true;
    }
    if (!engine->outputs)
        describe_outputs(&fold->compare->arena, engine, result);
    for (size_t i = 0; i < result->count && i < engine->n_outputs; i++)
        fold_output(&engine->outputs[i], &result->outputs[i]);
    return false;
}

/* Says in *why what keeps two outputs from being compared; false when nothing does. */
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

/* Elements outside the tolerance are worse than all others; among equals, the larger error is. */
static bool farther(const struct compare_pair *pair, const struct metrics_difference *difference,
                    bool known_close)
{
    double known = fabs(pair->worst_a - pair->worst_b);
    if (difference->close != known_close)
        return known_close;
    return fabs(difference->worst_a - difference->worst_b) > known ||
           (difference->nan_mismatch + difference->inf_mismatch > 0 && isfinite(pair->worst_a) &&
            isfinite(pair->worst_b));
}

/* Equal bytes are equal values, whatever they mean: most samples of two releases end here. */
static bool identical(const struct result *a, const struct result *b)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < a->outputs[i].count; k++)
            if (!tensor_identical(&a->outputs[i].tensors[k], &b->outputs[i].tensors[k]))
                return false;
    return true;
}

/* True when the sample is the pair's new worst. */
static bool fold_values(struct fold *fold, struct compare_pair *pair, size_t sample, const struct result *a,
                        const struct result *b)
{
    bool beyond = false, worse = false;
    for (size_t i = 0; i < a->count; i++) {
        for (size_t k = 0; k < a->outputs[i].count; k++) {
            struct metrics_difference d;
            metrics_compare(&a->outputs[i].tensors[k], &b->outputs[i].tensors[k], &fold->options->tolerance,
                            &d);
            if (d.count == 0)
                continue;
            bool first = pair->compared == 0 && !worse;
            if (first || farther(pair, &d, pair->beyond == 0 && !beyond)) {
                pair->worst_sample = sample;
                pair->worst_output = i;
                pair->worst_element = d.worst;
                pair->worst_a = d.worst_a;
                pair->worst_b = d.worst_b;
                worse = true;
            }
            beyond |= !d.close;
            pair->max_abs = d.max_abs > pair->max_abs ? d.max_abs : pair->max_abs;
            pair->max_rel = d.max_rel > pair->max_rel ? d.max_rel : pair->max_rel;
            pair->ratio = d.ratio < pair->ratio ? d.ratio : pair->ratio;
        }
    }
    pair->beyond += beyond;
    return worse;
}

/* The first output of each engine as doubles, once for all pairs. */
static void load_first(struct fold *fold, const struct result *results)
{
    for (size_t i = 0; i < fold->compare->engines; i++) {
        const struct result *result = &results[i];
        fold->counts[i] = 0;
        if (result->outcome != OUTCOME_OK || result->count == 0 || result->outputs[0].kind != VALUE_TENSOR)
            continue;
        const struct tensor *tensor = &result->outputs[0].tensors[0];
        if (!dtype_is_real(tensor->type))
            continue;
        fold->first[i] =
            memory_grow(fold->first[i], &fold->capacities[i], tensor->count + 1, sizeof **fold->first);
        for (size_t k = 0; k < tensor->count; k++)
            fold->first[i][k] = (double)tensor_get(tensor, k);
        fold->counts[i] = tensor->count;
    }
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
static bool true_class(const struct fold *fold, size_t sample, const struct result *results, size_t *class)
{
    if (fold->inputs->classes) {
        *class = fold->inputs->classes[sample];
        return true;
    }
    if (fold->inputs->truth || !looks_like_classes(&results[0]))
        return false;
    *class = metrics_top(fold->first[0], fold->counts[0]);
    return *class < fold->counts[0];
}

static void fold_accuracy(struct fold *fold, size_t sample, size_t number)
{
    size_t count = fold->counts[number];
    if (!fold->inputs->classes || count == 0)
        return;
    struct compare_engine *engine = &fold->compare->engine[number];
    size_t label = fold->inputs->classes[sample], rank = metrics_rank(fold->first[number], count, label);
    label_fit_add(&engine->labels, &fold->compare->arena, count, metrics_top(fold->first[number], count),
                  label);
    engine->top1 += rank == 1;
    engine->topk += rank <= (size_t)fold->options->thresholds.k && rank <= count;
}

/* The sample's true output vector: as given, or one-hot; NULL when it has none of this length. */
static const double *true_vector(struct fold *fold, size_t sample, size_t count)
{
    const struct inputs *inputs = fold->inputs;
    if (inputs->truth && inputs->truth_size == count)
        return inputs->truth + sample * count;
    if (!inputs->classes)
        return NULL;
    fold->truth = memory_grow(fold->truth, &fold->truth_capacity, count + 1, sizeof *fold->truth);
    for (size_t i = 0; i < count; i++)
        fold->truth[i] = i == inputs->classes[sample];
    return fold->truth;
}

/* True when the sample is the pair's new most inconsistent one. */
static bool fold_cradle(struct fold *fold, struct compare_pair *pair, size_t sample, const size_t *class)
{
    const struct metrics_thresholds *thresholds = &fold->options->thresholds;
    const double *a = fold->first[pair->a], *b = fold->first[pair->b];
    size_t count = fold->counts[pair->a];
    double class_before = pair->class.largest, mad_before = pair->mad.largest;
    if (count == 0 || count != fold->counts[pair->b])
        return false;
    const double *truth = true_vector(fold, sample, count);
    if (class)
        metrics_pattern_class(&pair->class, sample,
                              metrics_class_distance(a, b, count, *class, thresholds->k), thresholds);
    if (truth)
        metrics_pattern_mad(&pair->mad, sample, metrics_mad_distance(a, b, truth, count), thresholds);
    return pair->class.largest > class_before || pair->mad.largest > mad_before;
}

/* An engine that did not start, or lacks an operator, is no evidence against another. */
static bool is_absent(enum outcome outcome)
{
    return outcome == OUTCOME_NO_ENGINE || outcome == OUTCOME_UNSUPPORTED;
}

static bool fold_pair(struct fold *fold, struct compare_pair *pair, size_t sample,
                      const struct result *results, const size_t *class)
{
    const struct result *a = &results[pair->a], *b = &results[pair->b];
    if (a->outcome != OUTCOME_OK || b->outcome != OUTCOME_OK) {
        bool either = a->outcome == OUTCOME_OK || b->outcome == OUTCOME_OK;
        pair->one_sided += either && !is_absent(a->outcome) && !is_absent(b->outcome);
        return false;
    }
    struct str why;
    str_init(&why);
    bool worse = false, mismatch = results_mismatch(a, b, &why);
    if (mismatch) {
        worse = pair->mismatched++ == 0;
        if (worse) {
            pair->mismatch = arena_strdup(&fold->compare->arena, why.data);
            pair->mismatch_sample = sample;
        }
    } else {
        if (pair->compared == 0 || !identical(a, b))
            worse = fold_values(fold, pair, sample, a, b);
        pair->compared++;
        worse |= fold_cradle(fold, pair, sample, class);
    }
    str_release(&why);
    return worse;
}

/* How far the first output is from the true one, where that has as many numbers. */
static void fold_truth(struct fold *fold, size_t sample, size_t number)
{
    const struct inputs *inputs = fold->inputs;
    if (!inputs->truth || inputs->truth_size != fold->counts[number])
        return;
    for (size_t i = 0; i < inputs->truth_size; i++) {
        double off = fabs(fold->first[number][i] - inputs->truth[sample * inputs->truth_size + i]);
        fold->compare->truth_off = off > fold->compare->truth_off ? off : fold->compare->truth_off;
    }
}

/* True when the answer is not as expected, and is to be judged. */
static bool fold_expected(struct fold *fold, size_t sample, const struct result *result, size_t number,
                          const struct expected *expected)
{
    struct compare_expected *kept = &fold->compare->engine[number].expected;
    struct str why;
    if (!expected->count || result->outcome != OUTCOME_OK)
        return false;
    str_init(&why);
    bool unmet = golden_compare(expected, result->outputs, result->count, true, &fold->options->tolerance,
                                &why) != GOLDEN_PASS;
    str_release(&why);
    kept->compared++;
    if (unmet && kept->unmet < COMPARE_UNMET)
        kept->samples[kept->unmet] = sample;
    kept->unmet += unmet;
    return unmet && kept->unmet <= COMPARE_UNMET;
}

bool fold_sample(struct fold *fold, size_t sample, const struct result *results,
                 const struct expected *expected)
{
    struct compare *compare = fold->compare;
    load_first(fold, results);
    size_t class = 0;
    bool has_class = true_class(fold, sample, results, &class), worse = false;
    if (has_class && compare->truth == TRUTH_NONE)
        compare->truth = TRUTH_FIRST_ENGINE;
    for (size_t i = 0; i < compare->engines; i++) {
        worse |= fold_engine(fold, sample, &results[i], i);
        fold_accuracy(fold, sample, i);
        fold_truth(fold, sample, i);
        worse |= fold_expected(fold, sample, &results[i], i, expected);
    }
    for (size_t i = 0; i < compare->pairs; i++)
        worse |= fold_pair(fold, &compare->pair[i], sample, results, has_class ? &class : NULL);
    return worse;
}

static bool is_unmet(const struct compare *compare, size_t sample)
{
    for (size_t i = 0; i < compare->engines; i++)
        for (size_t k = 0; k < compare->engine[i].expected.unmet && k < COMPARE_UNMET; k++)
            if (compare->engine[i].expected.samples[k] == sample)
                return true;
    return false;
}

bool fold_is_failure(const struct compare *compare, size_t sample)
{
    if (is_unmet(compare, sample))
        return true;
    for (size_t i = 0; i < compare->engines; i++)
        if (compare->engine[i].worst != OUTCOME_UNTESTED && compare->engine[i].worst_sample == sample)
            return true;
    return false;
}

bool fold_wanted(const struct compare *compare, size_t sample)
{
    if (fold_is_failure(compare, sample))
        return true;
    for (size_t i = 0; i < compare->pairs; i++) {
        const struct compare_pair *pair = &compare->pair[i];
        if ((pair->compared && pair->worst_sample == sample) ||
            (pair->mismatched && pair->mismatch_sample == sample) ||
            (pair->class.largest > 0 && pair->class.worst == sample) ||
            (pair->mad.largest > 0 && pair->mad.worst == sample))
            return true;
    }
    return false;
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

static bool differs(const struct compare *compare, const struct compare_pair *pair)
{
    bool by_class = pair->class_inconsistent && compare->truth == TRUTH_CLASSES;
    /* On classifiers CRADLE decides by class distance; the MAD distance is only shown. */
    bool by_mad = pair->mad_inconsistent && compare->truth == TRUTH_VALUES;
    return pair->one_sided || pair->mismatched || pair->beyond || by_class || by_mad;
}

void fold_excuse_lacks(struct compare *compare)
{
    for (size_t i = 0; i < compare->pairs; i++) {
        struct compare_pair *pair = &compare->pair[i];
        if (!verdict_is(compare->verdicts.engine[pair->a].verdict.kind, CLASS_LACK) &&
            !verdict_is(compare->verdicts.engine[pair->b].verdict.kind, CLASS_LACK))
            continue;
        pair->one_sided = 0;
        pair->differs = differs(compare, pair);
    }
}

void fold_conclude(struct fold *fold)
{
    struct compare *compare = fold->compare;
    const struct metrics_thresholds *thresholds = &fold->options->thresholds;
    for (size_t i = 0; i < compare->pairs; i++) {
        struct compare_pair *pair = &compare->pair[i];
        pair->class_inconsistent = metrics_inconsistent(&pair->class, thresholds);
        pair->mad_inconsistent = metrics_inconsistent(&pair->mad, thresholds);
        if (pair->class_inconsistent)
            pair->class_pattern = number_pattern(compare, i, false);
        if (pair->mad_inconsistent)
            pair->mad_pattern = number_pattern(compare, i, true);
        pair->differs = differs(compare, pair);
    }
    for (size_t i = 0; i < compare->engines; i++) {
        size_t total = 0;
        for (int outcome = 0; outcome < OUTCOME_COUNT; outcome++)
            total += compare->engine[i].outcomes[outcome];
        assert(total == compare->samples && compare->engine[i].outcomes[OUTCOME_UNTESTED] == 0);
    }
}

static void add_unique(struct compare_unique *uniques, size_t *count, const struct compare_pair *pair,
                       size_t number, bool mad)
{
    int pattern = mad ? pair->mad_pattern : pair->class_pattern;
    const struct metrics_pattern *distances = mad ? &pair->mad : &pair->class;
    if (!pattern)
        return;
    for (size_t i = 0; i < *count; i++) {
        struct compare_unique *known = &uniques[i];
        if (known->mad != mad || known->pattern != pattern)
            continue;
        known->pairs++;
        if (distances->largest > known->largest) {
            known->largest = distances->largest;
            known->sample = distances->worst;
        }
        return;
    }
    uniques[(*count)++] =
        (struct compare_unique){mad, pattern, 1, number, distances->worst, distances->largest};
}

size_t compare_uniques(const struct compare *compare, struct compare_unique *uniques)
{
    size_t count = 0;
    for (size_t i = 0; i < compare->pairs; i++) {
        if (compare->truth == TRUTH_CLASSES)
            add_unique(uniques, &count, &compare->pair[i], i, false);
        else if (compare->truth == TRUTH_VALUES)
            add_unique(uniques, &count, &compare->pair[i], i, true);
    }
    return count;
}
