/* Text and JSON of `assay decode --gguf`. */
#include "base/json.h"
#include "cli/decode.h"
#include "report/answer.h"
#include "report/standing.h"
#include "report/text_table.h"

#include <inttypes.h>
#include <math.h>

enum { SIDES = 2 };

void beside_stand(const struct beside *beside, const char *const *labels, struct standing *standing)
{
    if (beside->kind == BESIDE_FILE || beside->kind == BESIDE_FAULT)
        standing_finding(standing);
    for (size_t side = 0; side < SIDES; side++)
        if (beside->ended[side] != OUTCOME_OK)
            standing_heard(standing, labels[side],
                           verdict_row(verdict_of_outcome(beside->ended[side]))->heard, 1, 1,
                           beside->why[side]);
    for (size_t side = 0; side < SIDES; side++)
        if (beside->courses[side].open && !beside->courses[side].fault.found)
            standing_trouble(standing, "%zu numbers of %s have no bound", beside->courses[side].open,
                             labels[side]);
}

/* --- In words --- */

static void add_layer(const struct beside *beside, int layer, struct str *out)
{
    if (layer < 0)
        str_add(out, "before all layers");
    else if (layer == (int)beside->form.n_layers)
        str_add(out, "behind all layers");
    else
        str_printf(out, "in layer %d", layer);
}

static void add_setting(const struct beside *beside, struct str *out)
{
    const struct llama_setting *setting = &beside->settings[0];
    if (isnan(setting->file))
        str_printf(out, "the file has no %s, which is %g in the model", setting->key, setting->model);
    else
        str_printf(out, "the file says %s %g, and the model computes by %g", setting->key, setting->file,
                   setting->model);
    if (beside->n_settings > 1)
        str_printf(out, " (and %zu more)", beside->n_settings - 1);
}

static void add_weight(const struct beside *beside, struct str *out)
{
    const struct llama_weight *weight = &beside->weights[beside->weight];
    const struct llama_difference *difference = &beside->differences[beside->weight];
    add_layer(beside, weight->layer, out);
    str_printf(out,
               ", as %s of the file is not the model's: %zu of %" PRId64 " numbers differ by more than %s "
               "explains, the first in row %" PRId64,
               weight->name, difference->beyond, weight->rows * weight->width,
               beside->tensors[beside->weight]->type->name, difference->row);
    if (difference->whose >= 0)
        str_printf(out, ", which is the model's row %" PRId64, difference->whose);
    if (weight->heads)
        str_printf(out, ", head %" PRId64 " of %" PRId64, difference->row / beside->form.size, weight->heads);
}

/* "llama is wrong in layer 1 at kqv_out-1 (/model/layers.1/...)" */
static void add_fault(const struct beside_report *report, size_t side, struct str *out)
{
    const struct beside *beside = report->beside;
    const struct course_fault *fault = &beside->courses[side].fault;
    const struct point *point = &beside->points.items[fault->point];
    str_printf(out, "%s ", report->labels[side]);
    add_layer(beside, point->layer, out);
    str_printf(out, " at %s", point->name);
}

static size_t first_wrong(const struct beside *beside)
{
    const struct course_fault *a = &beside->courses[0].fault, *b = &beside->courses[1].fault;
    return b->found && (!a->found || b->point < a->point);
}

static void add_file_fault(const struct beside_report *report, struct str *out)
{
    const struct beside *beside = report->beside;
    if (beside->weight < beside->n_weights) {
        str_add(out, "they part ");
        add_weight(beside, out);
        str_add(out, beside->n_settings ? "; " : "");
    } else if (beside->courses[1].fault.found) {
        str_add(out, "they part ");
        add_layer(beside, beside->points.items[beside->courses[1].fault.point].layer, out);
        str_add(out, ", as ");
    } else {
        str_add(out, "the file is not the model's: ");
    }
    if (beside->n_settings)
        add_setting(beside, out);
}

static void add_said(const struct beside_report *report, struct str *out)
{
    const struct beside *beside = report->beside;
    bool ended = false;
    for (size_t side = 0; side < SIDES; side++) {
        if (beside->ended[side] != OUTCOME_OK)
            str_printf(out, "%s%s ends at step %zu", ended ? "; " : "", report->labels[side],
                       beside->count[side]);
        ended |= beside->ended[side] != OUTCOME_OK;
    }
    str_add(out, ended ? "; " : "");
    switch (beside->kind) {
    case BESIDE_FILE:
        add_file_fault(report, out);
        break;
    case BESIDE_FAULT:
        str_add(out, "they part by a fault, as the file is the model's: ");
        add_fault(report, first_wrong(beside), out);
        break;
    case BESIDE_FORMAT:
        str_add(out, "they part by the format of the file alone");
        break;
    case BESIDE_LOWERED:
        str_printf(out, "they part by fewer bits, in which %s may compute", report->labels[0]);
        break;
    case BESIDE_UNKNOWN:
        str_add(out, "whether they part is not known");
        break;
    case BESIDE_ROUNDING:
        str_add(out, "nothing but rounding is between them");
    }
}

static void add_tokens(const struct beside *beside, struct str *out)
{
    if (beside->parted)
        str_printf(out, "Their tokens part at step %zu: %" PRId64 " and %" PRId64 ".", beside->step,
                   beside->tokens[0][beside->step], beside->tokens[1][beside->step]);
    else if (beside->count[0] && beside->count[1])
        str_printf(out, "They choose the same %zu tokens.",
                   beside->count[0] < beside->count[1] ? beside->count[0] : beside->count[1]);
    else
        str_add(out, "No tokens of both are known.");
}

static void add_answer(const struct beside_report *report, const char *between, struct str *out)
{
    const struct beside *beside = report->beside;
    str_printf(out, "%s and ", report->path);
    text_print(out, report->file, 0);
    str_add(out, ": ");
    add_said(report, out);
    str_printf(out, ".%s", between);
    add_tokens(beside, out);
    str_printf(
        out,
        "%sEvidence: %zu steps of %s and %zu of %s, each judged at %zu values; %zu weights held against "
        "the model's.",
        between, beside->judged[0], report->labels[0], beside->judged[1], report->labels[1],
        beside->points.count, beside->n_weights);
    if (beside->lowering)
        str_printf(out, "%sComputed in fewer bits than its type has by %s: %s.", between, report->labels[0],
                   beside->lowering);
    if (report->standing->troubles) {
        str_printf(out, "%sNot everything was judged: ", between);
        text_print(out, report->standing->reason, 0);
        str_add(out, ".");
    }
}

static void add_layer_name(const struct beside *beside, size_t i, struct table *table)
{
    if (i == 0)
        table_add(table, STYLE_PLAIN, "embedding");
    else if (i + 1 == beside->n_layers)
        table_add(table, STYLE_PLAIN, "logits");
    else
        table_add(table, STYLE_PLAIN, "%zu", i - 1);
}

static void add_weights(const struct beside_layer *layer, struct table *table)
{
    if (!layer->differ)
        table_add(table, STYLE_PLAIN, "the same");
    else if (layer->beyond)
        table_add(table, STYLE_BAD, "%zu others", layer->beyond);
    else
        table_add(table, STYLE_PLAIN, "%.2f of their steps", layer->share);
}

static void text_layers(const struct beside_report *report, bool colour, struct str *out)
{
    const struct beside *beside = report->beside;
    struct table table;
    table_init(&table, "lrrrr");
    struct str head;
    str_init(&head);
    str_printf(&head, "layer|weights|values apart|%s|%s", report->labels[0], report->labels[1]);
    table_head(&table, head.data);
    for (size_t i = 0; i < beside->n_layers; i++) {
        const struct beside_layer *layer = &beside->layers[i];
        add_layer_name(beside, i, &table);
        add_weights(layer, &table);
        table_add(&table, STYLE_PLAIN, "%.2g", layer->apart);
        for (size_t side = 0; side < SIDES; side++)
            table_add(&table, layer->factor[side] <= 1 ? STYLE_PLAIN : STYLE_BAD, "%.3g",
                      layer->factor[side]);
    }
    table_print(&table, out, colour, 2);
    table_release(&table);
    str_release(&head);
}

static void text_fault(const struct beside_report *report, size_t side, struct str *out)
{
    const struct beside *beside = report->beside;
    const struct course_fault *fault = &beside->courses[side].fault;
    if (!fault->found)
        return;
    str_add(out, "  ");
    add_fault(report, side, out);
    str_add(out, " (");
    text_print(out, beside->points.items[fault->point].value, 0);
    str_printf(
        out,
        "), step %zu: number %zu of position %zu is %.9g, and %.9g by what it had before, give or take "
        "%.2g (%zu of %zu numbers)\n",
        fault->step, fault->place, fault->position, fault->got, fault->expected, fault->bound, fault->wrong,
        fault->total);
}

void beside_write_text(const struct beside_report *report, bool colour, struct str *out)
{
    const struct beside *beside = report->beside;
    add_answer(report, "\n", out);
    str_add(out, "\n\n");
    text_layers(report, colour, out);
    str_add(out, "\n  values apart: the largest difference of what a layer gives, in shares of its largest "
                 "number; behind it, for each engine the largest error of a value in shares of its bound\n");
    for (size_t side = 0; side < SIDES; side++) {
        text_fault(report, side, out);
        if (beside->ended[side] == OUTCOME_OK)
            continue;
        str_printf(out, "  %s ended at step %zu: ", report->labels[side], beside->count[side]);
        text_print(out, beside->why[side], 0);
        str_add(out, "\n");
    }
}

/* --- JSON --- */

static void json_layers(struct json *json, const struct beside *beside)
{
    json_array(json, "layers");
    for (size_t i = 0; i < beside->n_layers; i++) {
        const struct beside_layer *layer = &beside->layers[i];
        json_object(json, NULL);
        json_int(json, "layer", (int64_t)i - 1);
        json_int(json, "weights_that_differ", (int64_t)layer->differ);
        json_int(json, "weights_that_differ_by_more_than_their_type", (int64_t)layer->beyond);
        json_double(json, "weights_apart", layer->share);
        json_double(json, "values_apart", layer->apart);
        json_array(json, "errors");
        for (size_t side = 0; side < SIDES; side++)
            json_double(json, NULL, layer->factor[side]);
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

static void json_side(struct json *json, const struct beside_report *report, size_t side)
{
    const struct beside *beside = report->beside;
    const struct course_fault *fault = &beside->courses[side].fault;
    json_object(json, NULL);
    json_string(json, "engine", report->labels[side]);
    json_array(json, "tokens");
    for (size_t i = 0; i < beside->count[side]; i++)
        json_int(json, NULL, beside->tokens[side][i]);
    json_end(json);
    json_string(json, "ended", beside->ended[side] == OUTCOME_OK ? NULL : beside->why[side]);
    if (fault->found) {
        const struct point *point = &beside->points.items[fault->point];
        json_object(json, "fault");
        json_int(json, "layer", point->layer);
        json_string(json, "value", point->value);
        json_string(json, "name", point->name);
        json_int(json, "step", (int64_t)fault->step);
        json_int(json, "position", (int64_t)fault->position);
        json_int(json, "number", (int64_t)fault->place);
        json_double(json, "got", fault->got);
        json_double(json, "expected", fault->expected);
        json_double(json, "bound", fault->bound);
        json_end(json);
    }
    json_end(json);
}

static void json_file(struct json *json, const struct beside *beside)
{
    json_array(json, "settings");
    for (size_t i = 0; i < beside->n_settings; i++) {
        json_object(json, NULL);
        json_string(json, "key", beside->settings[i].key);
        json_double(json, "file", beside->settings[i].file);
        json_double(json, "model", beside->settings[i].model);
        json_end(json);
    }
    json_end(json);
    json_array(json, "weights");
    for (size_t i = 0; i < beside->n_weights; i++) {
        if (!beside->differences[i].beyond)
            continue;
        json_object(json, NULL);
        json_string(json, "name", beside->weights[i].name);
        json_int(json, "layer", beside->weights[i].layer);
        json_int(json, "others", (int64_t)beside->differences[i].beyond);
        json_end(json);
    }
    json_end(json);
}

static void begin_json(struct json *json, const struct beside_report *report, struct str *out)
{
    struct str said;
    str_init(&said);
    add_answer(report, " ", &said);
    output_answer(json, said.data, report->standing, report->settings, report->path, out);
    str_release(&said);
}

void beside_write_json(const struct beside_report *report, struct str *out)
{
    const struct beside *beside = report->beside;
    struct json json;
    begin_json(&json, report, out);
    json_string(&json, "gguf", report->file);
    json_string(&json, "part_by", beside_word(beside->kind));
    if (beside->layer >= -1)
        json_int(&json, "layer", beside->layer);
    if (beside->parted)
        json_int(&json, "step", (int64_t)beside->step);
    json_file(&json, beside);
    json_layers(&json, beside);
    json_array(&json, "engines");
    for (size_t side = 0; side < SIDES; side++)
        json_side(&json, report, side);
    json_end(&json);
    json_end(&json);
}
