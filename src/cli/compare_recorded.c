#include "cli/compare_recorded.h"

#include "base/file.h"
#include "report/junit.h"
#include "report/text_table.h"

#include <math.h>
#include <stdlib.h>

int compare_recorded_run(struct compare_model *model, const struct compare_settings *settings,
                         struct error *err)
{
    struct dump recording;
    struct recorded_options options = {.precision = (enum precision)settings->precision,
                                       .rounded = settings->rounded,
                                       .seconds = settings->seconds > 0 ? settings->seconds : 20};
    if (!settings->expected)
        return 0;
    int status = dump_open(&recording, model->model, settings->expected, settings->map, err);
    if (!status) {
        model->has_recorded = true;
        status = recorded_judge(&model->recorded, model->model, &recording, &model->inputs, &options, err);
    }
    struct str unused;
    str_init(&unused);
    for (size_t i = 0; i < recording.n_unused && !status; i++)
        str_printf(&unused, "%s%s", i ? ", " : "", recording.unused[i]);
    model->unused = str_detach(&unused);
    dump_close(&recording);
    return status;
}

static bool is_layer(enum recorded_kind kind)
{
    return kind == RECORDED_PARTS || kind == RECORDED_SHAPE;
}

/* What follows from the verdict, for whoever made the recording. */
static const char *advice(const struct recorded *recorded, int party)
{
    if (is_layer(recorded->kind) && recorded->by_trial)
        return "no bound proves it: record inner values to see which layer it is";
    if (is_layer(recorded->kind))
        return party == PARTY_DEVICE ? "the device computes that layer wrongly"
               : party == PARTY_FRAMEWORK
                   ? "the export is wrong there: the model is not what the framework computed"
                   : "if it is of the framework before the export, the export is wrong there; if it is of a "
                     "device that ran this very model, the device is (--recorded-by tells which)";
    if (recorded->kind == RECORDED_INPUTS)
        return "preprocessing differs, not the model";
    if (recorded->kind == RECORDED_ADDS_UP)
        return "record more inner values, or give --precision";
    if (recorded->kind == RECORDED_UNJUDGED)
        return "record inner values, or give other data";
    return NULL;
}

static void add_sentence(const struct compare_model *model, int party, struct str *out)
{
    const struct recorded *recorded = &model->recorded;
    const char *more = advice(recorded, party);
    text_print(out, recorded->text, 0);
    if (more)
        str_printf(out, "; %s", more);
    if (recorded->hurried)
        str_add(out, "; there was no time to try every explanation (--time)");
}

void compare_recorded_stands(const struct compare_model *model, const struct compare_settings *settings,
                             struct standing *standing)
{
    const struct recorded *recorded = &model->recorded;
    struct str text;
    if (!model->has_recorded || recorded->kind == RECORDED_AGREES)
        return;
    str_init(&text);
    add_sentence(model, settings->party, &text);
    if (is_layer(recorded->kind) && !recorded->by_trial && settings->party == PARTY_DEVICE)
        standing_finding(standing);
    else if (recorded->kind == RECORDED_UNJUDGED || recorded->kind == RECORDED_BITS ||
             recorded->kind == RECORDED_ADDS_UP)
        standing_trouble(standing, "%s", text.data);
    else
        standing_mistake(standing, "%s", text.data);
    str_release(&text);
}

static void add_share(struct table *table, size_t off, double error)
{
    enum style style = off ? STYLE_BAD : STYLE_GOOD;
    table_add(table, style, "%zu", off);
    table_add(table, STYLE_PLAIN, "%.2g", error);
}

static void write_values(const struct recorded *recorded, bool colour, struct str *out)
{
    struct table table;
    table_init(&table, "lllrrrrrrl");
    table_head(&table, "recorded|value|operator|numbers|open|off|error|off alone|error alone|layout");
    for (size_t i = 0; i < recorded->count; i++) {
        const struct recorded_look *look = &recorded->looks[i];
        table_add(&table, STYLE_PLAIN, "%s", look->name);
        table_add(&table, STYLE_PLAIN, "%s", look->value);
        table_add(&table, STYLE_DIM, "%s", look->op);
        table_add(&table, STYLE_PLAIN, "%zu", look->elements);
        table_add(&table, STYLE_PLAIN, "%zu", look->open);
        add_share(&table, look->off, look->error);
        add_share(&table, look->off_alone, look->error_alone);
        table_add(&table, STYLE_WARN, "%s", look->layout);
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
}

void compare_recorded_answer(const struct compare_model *model, const struct compare_settings *settings,
                             struct str *out)
{
    if (!model->has_recorded)
        return;
    text_print(out, file_base(settings->expected), 0);
    str_add(out, ": ");
    add_sentence(model, settings->party, out);
    if (*model->unused) {
        str_add(out, " (not used: ");
        text_print(out, model->unused, 0);
        str_add(out, ")");
    }
    str_add(out, "\n\n");
}

void compare_recorded_text(const struct compare_model *model, const struct compare_settings *settings,
                           bool colour, struct str *out)
{
    const struct recorded *recorded = &model->recorded;
    if (!model->has_recorded)
        return;
    str_add(out, "\n");
    style_print(out, colour, STYLE_HEAD, "%s", file_base(settings->expected));
    str_printf(out,
               ": sample %zu (%zu looked at). Off: numbers farther from the model than rounding %sexplains; "
               "alone: computed from the recorded values before it. Errors are shares of the value's largest "
               "number.\n\n",
               recorded->sample, recorded->samples, recorded->precision ? "to this precision " : "");
    write_values(recorded, colour, out);
}

static void json_look(const struct recorded_look *look, struct json *json)
{
    json_object(json, NULL);
    json_string(json, "name", look->name);
    json_string(json, "value", look->value);
    json_string(json, "operator", look->op);
    json_int(json, "elements", (int64_t)look->elements);
    json_int(json, "open", (int64_t)look->open);
    json_int(json, "off", (int64_t)look->off);
    json_double(json, "error", look->error);
    json_int(json, "off_alone", (int64_t)look->off_alone);
    json_double(json, "error_alone", look->error_alone);
    json_double(json, "beyond", look->beyond);
    json_string(json, "layout", *look->layout ? look->layout : NULL);
    json_end(json);
}

void compare_recorded_json(const struct compare_model *model, struct json *json)
{
    const struct recorded *recorded = &model->recorded;
    if (!model->has_recorded)
        return;
    json_object(json, "recorded");
    json_string(json, "verdict", recorded_word(recorded->kind));
    json_string(json, "text", recorded->text);
    json_string(
        json, "at",
        recorded->kind == RECORDED_AGREES || !recorded->count ? NULL : recorded->looks[recorded->first].name);
    json_string(json, "nodes", *recorded->nodes ? recorded->nodes : NULL);
    json_string(json, "precision", precision_name(recorded->precision));
    json_string(json, "seen_precision",
                recorded->kind == RECORDED_BITS ? precision_name(recorded->seen) : NULL);
    json_int(json, "sample", (int64_t)recorded->sample);
    json_int(json, "samples", (int64_t)recorded->samples);
    json_bool(json, "by_trial", recorded->by_trial);
    json_bool(json, "all_tried", !recorded->hurried);
    json_string(json, "not_used", *model->unused ? model->unused : NULL);
    json_array(json, "values");
    for (size_t i = 0; i < recorded->count; i++)
        json_look(&recorded->looks[i], json);
    json_end(json);
    json_end(json);
}

void compare_recorded_junit(const struct compare_model *model, const struct compare_settings *settings,
                            struct junit *junit)
{
    struct str text;
    if (!model->has_recorded)
        return;
    bool right = model->recorded.kind == RECORDED_AGREES;
    str_init(&text);
    add_sentence(model, settings->party, &text);
    junit_case(junit, &(struct junit_case){.name = settings->expected,
                                           .result = right ? JUNIT_PASS : JUNIT_FAILURE,
                                           .type = right ? NULL : recorded_word(model->recorded.kind),
                                           .message = right ? NULL : text.data});
    str_release(&text);
}

void compare_recorded_alone(const struct compare_model *model, const struct compare_settings *settings,
                            const struct standing *standing, struct str *out)
{
    if (settings->common.format == FORMAT_JSON) {
        struct json json;
        output_json(&json, out, true);
        standing_json(standing, &json);
        json_array(&json, "models");
        json_object(&json, NULL);
        json_string(&json, "model", model->path);
        compare_recorded_json(model, &json);
        json_end(&json);
        json_end(&json);
        json_end(&json);
    } else if (settings->common.format == FORMAT_JUNIT) {
        struct junit junit;
        junit_init(&junit);
        junit_suite(&junit, model->path);
        compare_recorded_junit(model, settings, &junit);
        junit_write(&junit, out);
        junit_release(&junit);
    } else {
        compare_recorded_answer(model, settings, out);
        style_print(out, output_colour(&settings->common), STYLE_HEAD, "%s", model->path);
        str_add(out, ": no engine was run, only the recording is judged\n");
        compare_recorded_text(model, settings, output_colour(&settings->common), out);
    }
}
