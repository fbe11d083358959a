/* JSON and JUnit of `assay compare`. */
#include "base/json.h"
#include "base/memory.h"
#include "cli/compare_recorded.h"
#include "report/junit.h"
#include "report/verdict_json.h"

#include <stdlib.h>

static const char *const truth_word[] = {
    [TRUTH_NONE] = "none",
    [TRUTH_CLASSES] = "classes",
    [TRUTH_VALUES] = "values",
    [TRUTH_FIRST_ENGINE] = "first-engine",
};
static const char *const kind_word[] = {
    [VALUE_NONE] = "none", [VALUE_TENSOR] = "tensor", [VALUE_SEQUENCE] = "sequence"};

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
    engine_verdict_json(json, "judge", &model->compare.verdicts.engine[number]);
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
        json_string(json, "stderr", engine->last_lines);
        json_end(json);
    }
    if (model->classes && answered > 0) {
        json_object(json, "accuracy");
        json_double(json, "top1", (double)engine->top1 / answered);
        json_double(json, "topk", (double)engine->topk / answered);
        json_end(json);
    }
    if (engine->expected.compared) {
        json_object(json, "expected");
        json_int(json, "compared", (int64_t)engine->expected.compared);
        json_int(json, "unmet", (int64_t)engine->expected.unmet);
        json_end(json);
    }
    json_array(json, "outputs");
    for (size_t i = 0; i < engine->n_outputs; i++)
        json_output(json, &engine->outputs[i]);
    json_end(json);
    json_int(json, "kept", (int64_t)engine->kept);
    json_int(json, "alone", (int64_t)engine->alone);
    json_string(json, "stack", engine->stack);
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
    json_object(json, "why");
    classification_json(json, &pair->why);
    json_end(json);
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

static void json_uniques(struct json *json, const struct compare *compare, const char *const *labels)
{
    struct compare_unique *uniques = memory_zeroed(compare->pairs + 1, sizeof *uniques);
    size_t count = compare_uniques(compare, uniques);
    json_int(json, "unique_inconsistencies", (int64_t)count);
    json_array(json, "unique");
    for (size_t i = 0; i < count; i++) {
        const struct compare_unique *unique = &uniques[i];
        json_object(json, NULL);
        json_string(json, "measure", unique->mad ? "mad" : "class");
        json_int(json, "pattern", unique->pattern);
        json_double(json, "largest", unique->largest);
        json_int(json, "sample", (int64_t)unique->sample);
        json_array(json, "pairs");
        for (size_t k = 0; k < compare->pairs; k++) {
            const struct compare_pair *pair = &compare->pair[k];
            if ((unique->mad ? pair->mad_pattern : pair->class_pattern) != unique->pattern)
                continue;
            json_array(json, NULL);
            json_string(json, NULL, labels[pair->a]);
            json_string(json, NULL, labels[pair->b]);
            json_end(json);
        }
        json_end(json);
        json_end(json);
    }
    json_end(json);
    free(uniques);
}

static void json_names(struct json *json, const char *member, const char *const *names, size_t count)
{
    json_array(json, member);
    for (size_t i = 0; i < count; i++)
        json_string(json, NULL, names[i]);
    json_end(json);
}

static void json_model(struct json *json, const struct compare_model *model, const char *const *labels)
{
    const struct compare *compare = &model->compare;
    struct answer_scene scene;
    compare_answer(model, labels, &scene);
    json_object(json, NULL);
    json_string(json, "model", model->path);
    answer_json(json, &scene.answer);
    answer_scene_release(&scene);
    if (model->against) {
        struct against_scene against = compare_against_scene(model, labels);
        against_json(json, &against);
    }
    json_int(json, "samples", (int64_t)compare->samples);
    json_int(json, "batch", (int64_t)compare->batch);
    json_string(json, "truth", truth_word[compare->truth]);
    compare_recorded_json(model, json);
    json_names(json, "expected", compare->expected, compare->n_expected);
    json_names(json, "not_used", compare->unused, compare->n_unused);
    json_uniques(json, compare, labels);
    int culprit = sample_verdicts_culprit(&compare->verdicts);
    json_string(json, "culprit", culprit < 0 ? NULL : labels[culprit]);
    json_int(json, "judged", (int64_t)compare->verdicts.samples);
    json_int(json, "judged_worst", (int64_t)compare->judged_worst);
    size_t left = compare->samples - compare->verdicts.samples;
    json_int(json, "only_compared", (int64_t)(compare->engines > 1 ? left : 0));
    json_int(json, "not_judged", (int64_t)(compare->engines > 1 ? 0 : left));
    json_int(json, "judged_by_reference", (int64_t)compare->verdicts.by_reference);
    json_string(json, "without_reference", compare->verdicts.reason);
    json_array(json, "engines");
    for (size_t i = 0; i < compare->engines; i++)
        json_engine(json, model, i, labels[i]);
    json_end(json);
    json_array(json, "pairs");
    for (size_t i = 0; i < compare->pairs; i++)
        json_pair(json, compare, &compare->pair[i], labels);
    json_end(json);
    json_end(json);
}

/* The answers about all models, one after the other. */
static void add_answers(struct str *text, const struct compare_model *models, size_t count,
                        const char *const *labels)
{
    for (size_t m = 0; m < count; m++) {
        struct answer_scene scene;
        compare_answer(&models[m], labels, &scene);
        str_add(text, m ? " " : "");
        answer_add(text, &scene.answer, " ");
        answer_scene_release(&scene);
    }
}

static void json_answers(struct json *json, const struct compare_model *models, size_t count,
                         const char *const *labels)
{
    struct str text;
    str_init(&text);
    add_answers(&text, models, count, labels);
    json_string(json, "answer", text.data);
    str_release(&text);
}

void compare_write_json(const struct compare_model *models, size_t count, const struct session *session,
                        const struct compare_settings *settings, const struct standing *standing,
                        struct str *out)
{
    struct json json;
    output_json(&json, out, true);
    json_answers(&json, models, count, session->labels);
    standing_json(standing, &json);
    engine_settings_json(&session->settings, &json);
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
    for (size_t m = 0; m < count; m++)
        json_model(&json, &models[m], session->labels);
    json_end(&json);
    json_end(&json);
}

/* A wrong answer is a failure; any other finding, and what was not answered or not judged, is an error. */
static enum junit_result junit_result(const struct engine_verdict *overall, const char *label,
                                      struct standing *standing)
{
    enum verdict_kind kind = overall->verdict.kind;
    if (verdict_is(kind, CLASS_WRONG_ANSWER))
        return JUNIT_FAILURE;
    engine_verdict_stands(overall, label, standing);
    return standing_status(standing) == STATUS_AGREE ? JUNIT_PASS : JUNIT_ERROR;
}

static void junit_engine(struct junit *junit, const struct compare *compare, size_t number, const char *label)
{
    const struct compare_engine *engine = &compare->engine[number];
    const struct engine_verdict *overall = &compare->verdicts.engine[number];
    struct standing standing = {0};
    struct str sentence, details;
    str_init(&sentence);
    str_init(&details);
    str_add(&details, engine->message ? engine->message : "");
    if (engine->last_lines)
        str_printf(&details, "; last on stderr: %s", engine->last_lines);
    engine_verdict_sentence(overall, &sentence);
    enum junit_result result = junit_result(overall, label, &standing);
    /* The verdict is that of the worst sample; it may be another one that was not judged. */
    if (result == JUNIT_ERROR && verdict_row(overall->verdict.kind)->heard == HEARD_JUDGED)
        str_printf(&sentence, " (%s)", standing.reason);
    junit_case(junit, &(struct junit_case){
                          .name = label,
                          .seconds = (double)(engine->load_ns + engine->run_ns) * 1e-9,
                          .result = result,
                          .type = verdict_name(overall->verdict.kind),
                          .message = sentence.data,
                          .details = details.length ? details.data : NULL,
                      });
    str_release(&sentence);
    str_release(&details);
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

/* What the data expects of all engines and is not so: labels that do not fit, samples that nobody judged. */
static void junit_expected(struct junit *junit, const struct compare *compare, const char *const *labels)
{
    struct standing standing = {0};
    compare_expected_stands(compare, labels, &standing);
    if (standing.troubles || standing.mistakes)
        junit_case(junit, &(struct junit_case){
                              .name = "expected outputs and labels",
                              .result = JUNIT_ERROR,
                              .type = "expectation",
                              .message = standing.mistakes ? standing.mistake : standing.reason,
                          });
}

/* Samples that nobody judged pass nothing. */
static void junit_unjudged(struct junit *junit, const struct compare *compare)
{
    size_t left = compare->samples - compare->verdicts.samples;
    struct str message;
    if (!left)
        return;
    str_init(&message);
    str_printf(&message, "%zu of %zu samples were %s", left, compare->samples,
               compare->engines > 1 ? "only compared between the engines" : "not judged");
    junit_case(junit, &(struct junit_case){.name = "samples that were not judged",
                                           .result = compare->chosen ? JUNIT_SKIPPED : JUNIT_ERROR,
                                           .type = "not judged",
                                           .message = message.data});
    str_release(&message);
}

void compare_write_junit(const struct compare_model *models, size_t count, const struct session *session,
                         const struct compare_settings *settings, struct str *out)
{
    const char *const *labels = session->labels;
    struct junit junit;
    junit_init(&junit);
    engine_settings_junit(&session->settings, &junit);
    for (size_t m = 0; m < count; m++) {
        const struct compare *compare = &models[m].compare;
        struct str text;
        str_init(&text);
        add_answers(&text, &models[m], 1, labels);
        junit_suite(&junit, models[m].path);
        junit_answer(&junit, text.data);
        str_release(&text);
        for (size_t i = 0; i < compare->engines; i++)
            junit_engine(&junit, compare, i, labels[i]);
        junit_expected(&junit, compare, labels);
        compare_recorded_junit(&models[m], settings, &junit);
        junit_unjudged(&junit, compare);
        for (size_t i = 0; i < compare->pairs; i++)
            junit_pair(&junit, compare, &compare->pair[i], labels);
    }
    junit_write(&junit, out);
    junit_release(&junit);
}
