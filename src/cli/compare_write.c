/* Text of `assay compare`. */
#include "base/file.h"
#include "base/memory.h"
#include "cli/compare_recorded.h"
#include "report/text_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BAR_WIDTH = 40,
    MANY_PAIRS = 21, /* from here on only pairs that differ are listed */
    REASONS = 20,
};

static const char *const truth_text[] = {
    [TRUTH_NONE] = "no labels: no class or MAD distance",
    [TRUTH_CLASSES] = "labels are classes",
    [TRUTH_VALUES] = "labels are the true outputs",
    [TRUTH_FIRST_ENGINE] = "no labels: the first engine's top class takes their place, and decides nothing",
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

void compare_answer(const struct compare_model *model, const char *const *labels, struct answer_scene *scene)
{
    answer_scene_init(scene, &model->compare.verdicts, labels, model->path, model->described,
                      model->compare.samples);
    scene->standing = (struct standing){.strict = model->strict};
    compare_stands(&model->compare, labels, &scene->standing);
}

struct against_scene compare_against_scene(const struct compare_model *model, const char *const *labels)
{
    return (struct against_scene){
        .against = model->against,
        .model = file_base(model->path),
        .other = file_base(model->other),
        .labels = labels,
        .verdicts = &model->compare.verdicts,
        .kept = model->kept,
        .figure = model->figure,
        .written = model->written,
    };
}

/* What stands before all else with --against. */
static void text_against(const struct compare_model *model, const char *const *labels, struct str *out)
{
    struct against_scene scene = compare_against_scene(model, labels);
    against_answer(out, &scene, "\n");
    str_add(out, "\n\n");
}

static void text_answer(const struct compare_model *model, const char *const *labels, struct str *out)
{
    struct answer_scene scene;
    compare_answer(model, labels, &scene);
    answer_print(out, &scene.answer);
    answer_scene_release(&scene);
}

/* Of each engine: one may answer with as many as it likes. */
enum { OUTPUTS_SHOWN = 100 };

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
        for (size_t k = 0; k < engine->n_outputs && k < OUTPUTS_SHOWN; k++) {
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
    for (size_t i = 0; i < compare->engines; i++)
        if (compare->engine[i].n_outputs > OUTPUTS_SHOWN)
            str_printf(out, "  %zu more outputs of %s are not shown here: --format json has them all\n",
                       compare->engine[i].n_outputs - OUTPUTS_SHOWN, labels[i]);
    table_release(&table);
}

/* On which samples the expected outputs are met. */
static void text_expected(const struct compare *compare, const char *const *labels, struct str *out)
{
    for (size_t i = 0; i < compare->engines; i++) {
        const struct compare_expected *expected = &compare->engine[i].expected;
        if (expected->compared)
            str_printf(out, "  expected outputs: %s meets them on %zu of %zu sample%s\n", labels[i],
                       expected->compared - expected->unmet, expected->compared,
                       expected->compared == 1 ? "" : "s");
    }
}

/* One line for each engine: the verdict. */
static void text_verdicts(const struct compare *compare, const char *const *labels, bool colour,
                          struct str *out)
{
    struct str sentence;
    str_init(&sentence);
    for (size_t i = 0; i < compare->engines; i++) {
        const struct engine_verdict *overall = &compare->verdicts.engine[i];
        str_clear(&sentence);
        engine_verdict_sentence(overall, &sentence);
        str_add(out, "  ");
        style_print(out, colour, verdict_style(overall->verdict.kind), "%s", labels[i]);
        str_add(out, " ");
        text_print(out, sentence.data, 0);
        str_add(out, "\n");
        if (overall->cause) {
            str_add(out, "    cause: ");
            text_print(out, overall->cause, 0);
            str_add(out, "\n");
        }
    }
    for (size_t i = 0; i < compare->engines; i++)
        if (compare->engine[i].stack) {
            str_printf(out, "  %s ran %zu samples one by one: it failed on a batch of ", labels[i],
                       compare->engine[i].alone);
            text_print(out, compare->engine[i].stack, 300);
            str_add(out, "\n");
        }
    text_expected(compare, labels, out);
    size_t left = compare->samples - compare->verdicts.samples;
    if (left)
        str_printf(out,
                   "  judged: %zu sample%s spread evenly, and %zu on which engines failed "
                   "or differ most; %s: %zu\n",
                   compare->judged_spread, compare->judged_spread == 1 ? "" : "s", compare->judged_worst,
                   compare->engines > 1 ? "only compared between the engines" : "not judged", left);
    if (compare->verdicts.reason) {
        size_t without = compare->verdicts.samples - compare->verdicts.by_reference;
        str_printf(out, "  judged without the reference on %zu of %zu samples: ", without,
                   compare->verdicts.samples);
        text_print(out, compare->verdicts.reason, 0);
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
    size_t agree = 0, apart = 0;
    for (size_t i = 0; i < compare->pairs; i++) {
        const struct compare_pair *pair = &compare->pair[i];
        if (compare->pairs > MANY_PAIRS && !pair->differs) {
            agree += pair->compared > 0;
            apart += pair->compared == 0;
            continue;
        }
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
    if (table.count > table.columns)
        table_print(&table, out, colour, 2);
    if (agree || apart)
        str_printf(out, "  %zu %spairs agree, %zu cannot be compared\n", agree,
                   table.count > table.columns ? "other " : "", apart);
    table_release(&table);
}

/* What the columns of text_pairs mean. */
static void text_legend(const struct compare_settings *settings, struct str *out)
{
    str_add(out, "\n  samples       samples that both engines answered\n");
    str_printf(
        out,
        "  beyond        samples with a value outside the tolerance (%g absolute, %g relative, or %g of "
        "the largest magnitude)\n",
        settings->atol, settings->rtol, settings->scale);
    str_add(out, "  max abs, rel  the largest absolute and relative difference of two values\n"
                 "  within 0.1 %  the smallest share of an output's values that differ by less\n");
    str_printf(
        out,
        "  class         CRADLE's class distance: how far the true class moves among the top %lld; count: "
        "samples from %g on\n",
        settings->top, settings->class);
    str_printf(
        out,
        "  MAD           CRADLE's distance of the mean absolute deviations from the truth, 0 to 1; count: "
        "samples from %g on\n",
        settings->mad);
}

/* In place of the table: how many pairs agree. Those that differ are told below. */
static void text_agreement(const struct compare *compare, struct str *out)
{
    size_t agree = 0, differ = 0;
    for (size_t i = 0; i < compare->pairs; i++) {
        differ += compare->pair[i].differs;
        agree += !compare->pair[i].differs && compare->pair[i].compared;
    }
    size_t apart = compare->pairs - agree - differ;
    str_printf(out, "\n  pairs of engines: %zu agree%s within the tolerance", agree, agree == 1 ? "s" : "");
    if (differ)
        str_printf(out, ", %zu differ%s", differ, differ == 1 ? "s" : "");
    if (apart)
        str_printf(out, ", %zu cannot be compared", apart);
    str_add(out, "; --metrics shows the numbers\n");
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

/* Each unique inconsistency once, whichever pairs show it. */
static void text_patterns(const struct compare *compare, const char *const *labels, struct str *out)
{
    struct compare_unique *uniques = memory_zeroed(compare->pairs + 1, sizeof *uniques);
    size_t count = compare_uniques(compare, uniques);
    for (size_t i = 0; i < count; i++) {
        const struct compare_pair *pair = &compare->pair[uniques[i].first];
        str_printf(out, "\n  %s distance, pattern %d: %s against %s", uniques[i].mad ? "MAD" : "class",
                   uniques[i].pattern, labels[pair->a], labels[pair->b]);
        if (uniques[i].pairs > 1)
            str_printf(out, " and %zu more pair%s", uniques[i].pairs - 1, uniques[i].pairs == 2 ? "" : "s");
        str_printf(out, "; the most inconsistent sample is %zu, at %.3g\n", uniques[i].sample,
                   uniques[i].largest);
        if (uniques[i].mad)
            bars(metrics_mad_bin_name, pair->mad.mad_bins, METRICS_MAD_BINS, out);
        else
            bars(metrics_class_bin_name, pair->class.class_bins, METRICS_CLASS_BINS, out);
    }
    free(uniques);
}

/* Whose matter a difference is. */
static void text_why(const struct classification *why, struct str *out)
{
    struct str text;
    str_init(&text);
    classification_text(&text, why);
    if (text.length) {
        str_add(out, "    ");
        text_print(out, text.data, 0);
        str_add(out, "\n");
    }
    str_release(&text);
}

static void text_reasons(const struct compare *compare, const char *const *labels, bool colour,
                         struct str *out)
{
    size_t written = 0, left = 0;
    for (size_t i = 0; i < compare->pairs; i++) {
        const struct compare_pair *pair = &compare->pair[i];
        if (pair->differs && written == REASONS) {
            left++;
            continue;
        }
        struct str reason;
        str_init(&reason);
        compare_reason(compare, pair, &reason);
        if (pair->differs) {
            written++;
            str_add(out, "\n  ");
            style_print(out, colour, STYLE_BAD, "%s and %s differ", labels[pair->a], labels[pair->b]);
            str_add(out, ": ");
            text_print(out, reason.data, 0);
            str_add(out, "\n");
            text_why(&pair->why, out);
        }
        str_release(&reason);
    }
    if (left)
        str_printf(out, "\n  %zu more pairs differ; --format json has them all\n", left);
}

/* A model's name without folder and ending, or all of its path where another has the same name. */
static const char *short_name(const struct compare_model *models, size_t count, size_t which, char *buffer,
                              size_t size)
{
    const char *base = file_base(models[which].path), *dot = strrchr(base, '.');
    for (size_t i = 0; i < count; i++)
        if (i != which && text_equal(file_base(models[i].path), base))
            return models[which].path;
    snprintf(buffer, size, "%.*s", dot ? (int)(dot - base) : (int)strlen(base), base);
    return buffer;
}

/* The verdict on each engine and model: one line for each engine. */
static void summary_verdicts(const struct compare_model *models, size_t count, const char *const *labels,
                             bool colour, struct str *out)
{
    struct table table;
    struct str align, head;
    char name[100];
    str_init(&align);
    str_init(&head);
    str_add(&align, "l");
    for (size_t m = 0; m < count; m++) {
        str_add(&align, "l");
        str_printf(&head, "|%s", short_name(models, count, m, name, sizeof name));
    }
    table_init(&table, align.data);
    table_head(&table, head.data);
    for (size_t i = 0; i < models[0].compare.engines; i++) {
        table_add(&table, STYLE_PLAIN, "%s", labels[i]);
        for (size_t m = 0; m < count; m++) {
            enum verdict_kind kind = models[m].compare.verdicts.engine[i].verdict.kind;
            table_add(&table, verdict_style(kind), "%s", verdict_name(kind));
        }
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
    str_release(&align);
    str_release(&head);
}

/* Pairs that differ, over all models. */
static void summary_pairs(const struct compare_model *models, size_t count, const char *const *labels,
                          bool colour, struct str *out)
{
    struct table table;
    char name[100];
    size_t agree = 0, apart = 0;
    table_init(&table, "lllrrrrrr");
    table_head(&table, "model|engine|against|samples|one-sided|beyond|class|MAD|worst sample");
    for (size_t m = 0; m < count; m++)
        for (size_t i = 0; i < models[m].compare.pairs; i++) {
            const struct compare_pair *pair = &models[m].compare.pair[i];
            agree += !pair->differs && pair->compared;
            apart += !pair->differs && !pair->compared;
            if (!pair->differs)
                continue;
            table_add(&table, STYLE_PLAIN, "%s", short_name(models, count, m, name, sizeof name));
            table_add(&table, STYLE_PLAIN, "%s", labels[pair->a]);
            table_add(&table, STYLE_PLAIN, "%s", labels[pair->b]);
            table_add(&table, STYLE_PLAIN, "%zu", pair->compared);
            table_add(&table, STYLE_PLAIN, "%zu", pair->one_sided);
            table_add(&table, STYLE_PLAIN, "%zu", pair->beyond);
            table_add(&table, STYLE_PLAIN, "%zu", pair->class.triggering);
            table_add(&table, STYLE_PLAIN, "%zu", pair->mad.triggering);
            table_add(&table, STYLE_PLAIN, pair->compared ? "%zu" : "-", pair->worst_sample);
        }
    if (table.count > table.columns)
        table_print(&table, out, colour, 2);
    str_printf(out, "  %zu pairs differ, %zu agree, %zu cannot be compared\n",
               (table.count - table.columns) / table.columns, agree, apart);
    table_release(&table);
}

static void text_summary(const struct compare_model *models, size_t count, const char *const *labels,
                         bool metrics, bool colour, struct str *out)
{
    size_t unique = 0, all = 0;
    for (size_t m = 0; m < count; m++) {
        struct compare_unique *uniques = memory_zeroed(models[m].compare.pairs + 1, sizeof *uniques);
        size_t here = compare_uniques(&models[m].compare, uniques);
        for (size_t i = 0; i < here; i++)
            all += uniques[i].pairs;
        unique += here;
        free(uniques);
    }
    if (count > 1) {
        str_add(out, "\n");
        style_print(out, colour, STYLE_HEAD, "summary of %zu models", count);
        str_add(out, "\n\n");
        summary_verdicts(models, count, labels, colour, out);
        if (metrics) {
            str_add(out, "\n");
            summary_pairs(models, count, labels, colour, out);
        }
    }
    if (unique)
        str_printf(out, "\n%zu unique inconsistenc%s of %zu\n", unique, unique == 1 ? "y" : "ies", all);
}

void compare_write_text(const struct compare_model *models, size_t count, const char *const *labels,
                        const struct compare_settings *settings, bool colour, struct str *out)
{
    for (size_t i = 0; i < count; i++) {
        if (models[i].against)
            text_against(&models[i], labels, out);
        text_answer(&models[i], labels, out);
    }
    for (size_t i = 0; i < count; i++)
        compare_recorded_answer(&models[i], settings, out);
    for (size_t i = 0; i < count; i++) {
        const struct compare *compare = &models[i].compare;
        str_add(out, i ? "\n" : "");
        style_print(out, colour, STYLE_HEAD, "%s", models[i].path);
        str_printf(out, ": %zu sample%s", compare->samples, compare->samples == 1 ? "" : "s");
        if (settings->metrics || compare->truth == TRUTH_CLASSES || compare->truth == TRUTH_VALUES)
            str_printf(out, ", %s", truth_text[compare->truth]);
        if (compare->truth == TRUTH_VALUES)
            str_printf(out, ", from which the first output is at most %.3g away", compare->truth_off);
        if (compare->batch > 1)
            str_printf(out, "; up to %zu in one batch", compare->batch);
        str_printf(out, compare->batch_why ? "; run one by one: %s\n\n" : "\n\n", compare->batch_why);
        text_verdicts(compare, labels, colour, out);
        text_outputs(&models[i], labels, settings->top, colour, out);
        if (compare->pairs && settings->metrics) {
            str_add(out, "\n");
            text_pairs(compare, labels, colour, out);
            text_legend(settings, out);
        } else if (compare->pairs) {
            text_agreement(compare, out);
        }
        if (settings->metrics)
            text_patterns(compare, labels, out);
        text_reasons(compare, labels, colour, out);
        if (models[i].against) {
            struct against_scene scene = compare_against_scene(&models[i], labels);
            str_add(out, "\n");
            against_table(out, &scene, settings->metrics, colour);
        }
        compare_recorded_text(&models[i], settings, colour, out);
    }
    if (count)
        text_summary(models, count, labels, settings->metrics, colour, out);
}
