#include "base/json.h"
#include "cli/compare.h"
#include "report/junit.h"
#include "report/table.h"
#include "report/word.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAR_WIDTH = 40 };

static const char *const truth_text[] = {
    [TRUTH_NONE] = "no labels: no class or MAD distance",
    [TRUTH_CLASSES] = "labels are classes",
    [TRUTH_VALUES] = "labels are the true outputs",
    [TRUTH_FIRST_ENGINE] = "no labels: the first engine's top class stands in, and decides nothing",
};
static const char *const truth_word[] = {
    [TRUTH_NONE] = "none",
    [TRUTH_CLASSES] = "classes",
    [TRUTH_VALUES] = "values",
    [TRUTH_FIRST_ENGINE] = "first-engine",
};
static const char *const kind_word[] = {
    [VALUE_NONE] = "none", [VALUE_TENSOR] = "tensor", [VALUE_SEQUENCE] = "sequence"};

void compare_reason(const struct compare *compare, const struct compare_pair *pair, struct str *out)
{
    const char *between = "";
    if (pair->one_sided) {
        str_printf(out, "only one answered %zu of %zu samples", pair->one_sided, compare->samples);
        between = "; ";
    }
    if (pair->mismatched) {
        str_printf(out, "%s%s", between, pair->mismatch);
        between = "; ";
    }
    if (pair->beyond) {
        const struct compare_engine *engine = &compare->engine[pair->a];
        str_printf(
            out,
            "%svalues beyond tolerance on %zu of %zu samples, worst in sample %zu, output %s, element %zu: "
            "%.9g against %.9g",
            between, pair->beyond, pair->compared, pair->worst_sample,
            pair->worst_output < engine->n_outputs ? engine->outputs[pair->worst_output].name : "?",
            pair->worst_element, pair->worst_a, pair->worst_b);
        between = "; ";
    }
    if (pair->class_inconsistent && compare->truth == TRUTH_CLASSES) {
        str_printf(out, "%sclass distance up to %g on %zu of %zu samples", between, pair->class.largest,
                   pair->class.triggering, pair->class.samples);
        between = "; ";
    }
    if (pair->mad_inconsistent && compare->truth == TRUTH_VALUES)
        str_printf(out, "%sMAD distance up to %.3g on %zu of %zu samples", between, pair->mad.largest,
                   pair->mad.triggering, pair->mad.samples);
}

static void text_outputs(const struct compare_model *model, const char *const *labels, long long top,
                         bool colour, struct str *out)
{
    const struct compare *compare = &model->compare;
    struct table table;
    char head[120], shape[SHAPE_TEXT_SIZE];
    table_init(&table, model->classes ? "llllrrrrrr" : "llllrrrr");
    snprintf(head, sizeof head, "engine|output|type|shape|min|max|nan|inf%s",
             model->classes ? "|top-1|top-" : "");
    if (model->classes)
        snprintf(head + strlen(head), sizeof head - strlen(head), "%lld", top);
    table_head(&table, head);
    for (size_t i = 0; i < compare->engines; i++) {
        const struct compare_engine *engine = &compare->engine[i];
        size_t answered = engine->outcomes[OUTCOME_OK];
        for (size_t k = 0; k < engine->n_outputs; k++) {
            const struct compare_output *output = &engine->outputs[k];
            table_add(&table, STYLE_PLAIN, "%s", k ? "" : labels[i]);
            table_add(&table, STYLE_PLAIN, "%s", output->name);
            table_add(&table, STYLE_PLAIN, "%s",
                      output->dtype ? dtype_name(output->dtype) : kind_word[output->kind]);
            table_add(&table, STYLE_PLAIN, "%s", output->dtype ? shape_text(&output->shape, shape) : "-");
            table_add(&table, STYLE_PLAIN, isnan(output->min) ? "-" : "%.6g", output->min);
            table_add(&table, STYLE_PLAIN, isnan(output->max) ? "-" : "%.6g", output->max);
            table_add(&table, output->nan ? STYLE_WARN : STYLE_PLAIN, "%zu", output->nan);
            table_add(&table, output->inf ? STYLE_WARN : STYLE_PLAIN, "%zu", output->inf);
            if (model->classes && k == 0) {
                table_add(&table, STYLE_PLAIN, "%.1f %%", 100.0 * (double)engine->top1 / (double)answered);
                table_add(&table, STYLE_PLAIN, "%.1f %%", 100.0 * (double)engine->topk / (double)answered);
            } else if (model->classes) {
                table_add(&table, STYLE_PLAIN, "%s", "");
                table_add(&table, STYLE_PLAIN, "%s", "");
            }
        }
    }
    if (table.count > table.columns) {
        str_add(out, "\n");
        table_print(&table, out, colour, 2);
    }
    table_release(&table);
}

static enum style word_style(enum verdict_kind kind)
{
    if (verdict_is_finding(kind) || kind == VERDICT_NO_ENGINE)
        return STYLE_BAD;
    return kind == VERDICT_AGREES ? STYLE_GOOD : STYLE_WARN;
}

/* One line an engine: the judge's word. */
static void text_words(const struct compare *compare, const char *const *labels, bool colour, struct str *out)
{
    struct str sentence;
    str_init(&sentence);
    for (size_t i = 0; i < compare->engines; i++) {
        const struct word *word = &compare->words.word[i];
        str_clear(&sentence);
        word_sentence(word, &sentence);
        str_add(out, "  ");
        style_print(out, colour, word_style(word->verdict.kind), "%s", labels[i]);
        str_add(out, " ");
        text_print(out, sentence.data, 0);
        str_add(out, "\n");
    }
    if (compare->words.reason) {
        size_t without = compare->words.samples - compare->words.by_reference;
        str_printf(out, "  judged without the reference on %zu of %zu samples: ", without,
                   compare->words.samples);
        text_print(out, compare->words.reason, 300);
        str_add(out, "\n");
    }
    str_release(&sentence);
}

static void distance_cells(struct table *table, const struct metrics_pattern *pattern, bool inconsistent)
{
    if (pattern->samples)
        table_add(table, inconsistent ? STYLE_BAD : STYLE_PLAIN, "%.3g", pattern->largest);
    else
        table_add(table, STYLE_DIM, "-");
    if (pattern->samples)
        table_add(table, STYLE_PLAIN, "%zu", pattern->triggering);
    else
        table_add(table, STYLE_DIM, "-");
}

static void text_pairs(const struct compare *compare, const char *const *labels, bool colour, struct str *out)
{
    struct table table;
    table_init(&table, "llrrrrrrrrrl");
    table_head(&table,
               "engine|against|samples|beyond|max abs|max rel|within 0.1 %|class|count|MAD|count|verdict");
    for (size_t i = 0; i < compare->pairs; i++) {
        const struct compare_pair *pair = &compare->pair[i];
        table_add(&table, STYLE_PLAIN, "%s", labels[pair->a]);
        table_add(&table, STYLE_PLAIN, "%s", labels[pair->b]);
        table_add(&table, STYLE_PLAIN, "%zu", pair->compared);
        table_add(&table, pair->beyond ? STYLE_BAD : STYLE_PLAIN, "%zu", pair->beyond);
        if (pair->compared) {
            table_add(&table, STYLE_PLAIN, "%.3g", pair->max_abs);
            table_add(&table, STYLE_PLAIN, "%.3g", pair->max_rel);
            table_add(&table, STYLE_PLAIN, "%.2f %%", 100 * pair->ratio);
        } else {
            for (int k = 0; k < 3; k++)
                table_add(&table, STYLE_DIM, "-");
        }
        distance_cells(&table, &pair->class, pair->class_inconsistent);
        distance_cells(&table, &pair->mad, pair->mad_inconsistent);
        table_add(&table,
                  pair->differs    ? STYLE_BAD
                  : pair->compared ? STYLE_GOOD
                                   : STYLE_WARN,
                  "%s",
                  pair->differs    ? "differ"
                  : pair->compared ? "agree"
                                   : "not compared");
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
}

static void bars(const char *const *names, const size_t *bins, size_t count, struct str *out)
{
    size_t largest = 1;
    for (size_t i = 0; i < count; i++)
        largest = bins[i] > largest ? bins[i] : largest;
    struct table table;
    table_init(&table, "rrl");
    for (size_t i = 0; i < count; i++) {
        /* A bin that is not empty shows at least one mark. */
        size_t length = (bins[i] * BAR_WIDTH + largest - 1) / largest;
        table_add(&table, STYLE_PLAIN, "%s", names[i]);
        table_add(&table, STYLE_PLAIN, "%zu", bins[i]);
        table_add(&table, STYLE_PLAIN, "%.*s", (int)length, "########################################");
    }
    table_print(&table, out, false, 4);
    table_release(&table);
}

static void pattern_text(int pattern, struct str *out)
{
    if (pattern)
        str_printf(out, " (pattern %d)", pattern);
    str_add(out, "\n");
}

static void text_patterns(const struct compare *compare, const char *const *labels, struct str *out)
{
    for (size_t i = 0; i < compare->pairs; i++) {
        const struct compare_pair *pair = &compare->pair[i];
        if (pair->class.samples) {
            str_printf(out, "\n  class distance, %s against %s", labels[pair->a], labels[pair->b]);
            pattern_text(pair->class_pattern, out);
            bars(metrics_class_bin_name, pair->class.class_bins, METRICS_CLASS_BINS, out);
        }
        if (pair->mad.samples) {
            str_printf(out, "\n  MAD distance, %s against %s", labels[pair->a], labels[pair->b]);
            pattern_text(pair->mad_pattern, out);
            bars(metrics_mad_bin_name, pair->mad.mad_bins, METRICS_MAD_BINS, out);
        }
    }
}

static void text_reasons(const struct compare *compare, const char *const *labels, bool colour,
                         struct str *out)
{
    for (size_t i = 0; i < compare->pairs; i++) {
        const struct compare_pair *pair = &compare->pair[i];
        struct str reason;
        str_init(&reason);
        compare_reason(compare, pair, &reason);
        if (pair->differs) {
            str_add(out, "\n  ");
            style_print(out, colour, STYLE_BAD, "%s and %s differ", labels[pair->a], labels[pair->b]);
            str_add(out, ": ");
            text_print(out, reason.data, 0);
            str_add(out, "\n");
        }
        str_release(&reason);
    }
}

void compare_write_text(const struct compare_model *models, size_t count, const char *const *labels,
                        const struct compare_settings *settings, bool colour, struct str *out)
{
    size_t unique = 0;
    for (size_t i = 0; i < count; i++) {
        const struct compare *compare = &models[i].compare;
        str_add(out, i ? "\n" : "");
        style_print(out, colour, STYLE_HEAD, "%s", models[i].path);
        str_printf(out, ": %zu sample%s, %s\n\n", compare->samples, compare->samples == 1 ? "" : "s",
                   truth_text[compare->truth]);
        text_words(compare, labels, colour, out);
        text_outputs(&models[i], labels, settings->top, colour, out);
        if (compare->pairs) {
            str_add(out, "\n");
            text_pairs(compare, labels, colour, out);
        }
        text_patterns(compare, labels, out);
        text_reasons(compare, labels, colour, out);
        unique += compare->unique;
    }
    if (unique)
        str_printf(out, "\n%zu unique inconsistenc%s\n", unique, unique == 1 ? "y" : "ies");
}

static void json_output(struct json *json, const struct compare_output *output)
{
    json_object(json, NULL);
    json_string(json, "name", output->name);
    json_string(json, "kind", kind_word[output->kind]);
    json_string(json, "dtype", output->dtype ? dtype_name(output->dtype) : NULL);
    json_array(json, "shape");
    for (int i = 0; i < output->shape.rank; i++)
        json_int(json, NULL, output->shape.dims[i]);
    json_end(json);
    json_int(json, "elements", (int64_t)output->elements);
    json_double(json, "min", output->min);
    json_double(json, "max", output->max);
    json_int(json, "nan", (int64_t)output->nan);
    json_int(json, "inf", (int64_t)output->inf);
    json_end(json);
}

static void json_engine(struct json *json, const struct compare_model *model, size_t number,
                        const char *label)
{
    const struct compare_engine *engine = &model->compare.engine[number];
    double answered = (double)engine->outcomes[OUTCOME_OK];
    json_object(json, NULL);
    json_string(json, "engine", label);
    word_json(json, "judge", &model->compare.words.word[number]);
    json_object(json, "outcomes");
    for (int i = 1; i < OUTCOME_COUNT; i++)
        json_int(json, outcome_name((enum outcome)i), (int64_t)engine->outcomes[i]);
    json_end(json);
    if (engine->worst != OUTCOME_UNTESTED) {
        json_object(json, "failure");
        json_string(json, "outcome", outcome_name(engine->worst));
        json_string(json, "stage", stage_name(engine->stage));
        json_int(json, "sample", (int64_t)engine->worst_sample);
        json_int(json, "signal", engine->signal);
        json_string(json, "message", engine->message);
        json_end(json);
    }
    if (model->classes && answered > 0) {
        json_object(json, "accuracy");
        json_double(json, "top1", (double)engine->top1 / answered);
        json_double(json, "topk", (double)engine->topk / answered);
        json_end(json);
    }
    json_array(json, "outputs");
    for (size_t i = 0; i < engine->n_outputs; i++)
        json_output(json, &engine->outputs[i]);
    json_end(json);
    json_int(json, "load_ns", engine->load_ns);
    json_int(json, "run_ns", engine->run_ns);
    json_end(json);
}

static void json_pattern(struct json *json, const char *name, const struct metrics_pattern *pattern,
                         const char *const *names, const size_t *bins, size_t count, bool inconsistent,
                         int number)
{
    if (!pattern->samples)
        return;
    json_object(json, name);
    json_int(json, "samples", (int64_t)pattern->samples);
    json_int(json, "triggering", (int64_t)pattern->triggering);
    json_double(json, "largest", pattern->largest);
    json_int(json, "worst_sample", (int64_t)pattern->worst);
    json_bool(json, "inconsistent", inconsistent);
    json_int(json, "pattern", number);
    json_object(json, "histogram");
    for (size_t i = 0; i < count; i++)
        json_int(json, names[i], (int64_t)bins[i]);
    json_end(json);
    json_end(json);
}

static void json_worst(struct json *json, const struct compare_pair *pair)
{
    json_object(json, "worst");
    json_int(json, "sample", (int64_t)pair->worst_sample);
    json_int(json, "output", (int64_t)pair->worst_output);
    json_int(json, "element", (int64_t)pair->worst_element);
    json_double(json, "a", pair->worst_a);
    json_double(json, "b", pair->worst_b);
    json_end(json);
}

static void json_pair(struct json *json, const struct compare *compare, const struct compare_pair *pair,
                      const char *const *labels)
{
    struct str reason;
    str_init(&reason);
    compare_reason(compare, pair, &reason);
    json_object(json, NULL);
    json_string(json, "a", labels[pair->a]);
    json_string(json, "b", labels[pair->b]);
    json_bool(json, "differ", pair->differs);
    json_string(json, "reason", pair->differs ? reason.data : NULL);
    json_int(json, "compared", (int64_t)pair->compared);
    json_int(json, "one_sided", (int64_t)pair->one_sided);
    json_int(json, "mismatched", (int64_t)pair->mismatched);
    json_int(json, "beyond_tolerance", (int64_t)pair->beyond);
    json_double(json, "max_abs", pair->max_abs);
    json_double(json, "max_rel", pair->max_rel);
    json_double(json, "ratio", pair->ratio);
    if (pair->compared)
        json_worst(json, pair);
    json_pattern(json, "class", &pair->class, metrics_class_bin_name, pair->class.class_bins,
                 METRICS_CLASS_BINS, pair->class_inconsistent, pair->class_pattern);
    json_pattern(json, "mad", &pair->mad, metrics_mad_bin_name, pair->mad.mad_bins, METRICS_MAD_BINS,
                 pair->mad_inconsistent, pair->mad_pattern);
    json_end(json);
    str_release(&reason);
}

void compare_write_json(const struct compare_model *models, size_t count, const char *const *labels,
                        const struct compare_settings *settings, struct str *out)
{
    struct json json;
    json_init(&json, out, true);
    json_object(&json, NULL);
    json_object(&json, "settings");
    json_double(&json, "rtol", settings->rtol);
    json_double(&json, "atol", settings->atol);
    json_double(&json, "scale", settings->scale);
    json_int(&json, "top", settings->top);
    json_double(&json, "class_threshold", settings->class);
    json_double(&json, "mad_threshold", settings->mad);
    json_double(&json, "percent", settings->percent);
    json_end(&json);
    json_array(&json, "models");
    for (size_t m = 0; m < count; m++) {
        const struct compare *compare = &models[m].compare;
        json_object(&json, NULL);
        json_string(&json, "model", models[m].path);
        json_int(&json, "samples", (int64_t)compare->samples);
        json_string(&json, "truth", truth_word[compare->truth]);
        json_int(&json, "unique_inconsistencies", (int64_t)compare->unique);
        int culprit = words_culprit(&compare->words);
        json_string(&json, "culprit", culprit < 0 ? NULL : labels[culprit]);
        json_int(&json, "judged_by_reference", (int64_t)compare->words.by_reference);
        json_string(&json, "without_reference", compare->words.reason);
        json_array(&json, "engines");
        for (size_t i = 0; i < compare->engines; i++)
            json_engine(&json, &models[m], i, labels[i]);
        json_end(&json);
        json_array(&json, "pairs");
        for (size_t i = 0; i < compare->pairs; i++)
            json_pair(&json, compare, &compare->pair[i], labels);
        json_end(&json);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
}

static enum junit_result junit_result(enum verdict_kind kind)
{
    if (kind >= VERDICT_WRONG && kind <= VERDICT_DTYPE)
        return JUNIT_FAILURE;
    if (verdict_is_finding(kind) || kind == VERDICT_NO_ENGINE || kind == VERDICT_UNTESTED)
        return JUNIT_ERROR;
    return kind == VERDICT_AGREES || kind == VERDICT_IMPRECISE ? JUNIT_PASS : JUNIT_SKIPPED;
}

static void junit_engine(struct junit *junit, const struct compare *compare, size_t number, const char *label)
{
    const struct compare_engine *engine = &compare->engine[number];
    const struct word *word = &compare->words.word[number];
    struct str sentence;
    str_init(&sentence);
    word_sentence(word, &sentence);
    junit_case(junit, &(struct junit_case){
                          .name = label,
                          .seconds = (double)(engine->load_ns + engine->run_ns) * 1e-9,
                          .result = junit_result(word->verdict.kind),
                          .type = verdict_name(word->verdict.kind),
                          .message = sentence.data,
                          .details = engine->message,
                      });
    str_release(&sentence);
}

static void junit_pair(struct junit *junit, const struct compare *compare, const struct compare_pair *pair,
                       const char *const *labels)
{
    struct str name, reason;
    str_init(&name);
    str_init(&reason);
    str_printf(&name, "%s against %s", labels[pair->a], labels[pair->b]);
    compare_reason(compare, pair, &reason);
    double seconds = (double)(compare->engine[pair->b].load_ns + compare->engine[pair->b].run_ns) * 1e-9;
    enum junit_result result = pair->differs ? JUNIT_FAILURE : pair->compared ? JUNIT_PASS : JUNIT_SKIPPED;
    junit_case(junit, &(struct junit_case){.name = name.data,
                                           .seconds = seconds,
                                           .result = result,
                                           .type = pair->differs ? "differ" : "not compared",
                                           .message = reason.data});
    str_release(&name);
    str_release(&reason);
}

void compare_write_junit(const struct compare_model *models, size_t count, const char *const *labels,
                         struct str *out)
{
    struct junit junit;
    junit_init(&junit);
    for (size_t m = 0; m < count; m++) {
        const struct compare *compare = &models[m].compare;
        junit_suite(&junit, models[m].path);
        for (size_t i = 0; i < compare->engines; i++)
            junit_engine(&junit, compare, i, labels[i]);
        for (size_t i = 0; i < compare->pairs; i++)
            junit_pair(&junit, compare, &compare->pair[i], labels);
    }
    junit_write(&junit, out);
    junit_release(&junit);
}
