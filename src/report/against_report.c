#include "report/against_report.h"

#include "report/text_table.h"

#include <math.h>

enum { DAMAGED_TOLD = 3, ROWS_SHOWN = 12, KEPT_NAMED = 8 };

/* A layer with a smaller share is left out of the table. */
static const double hardly = 0.001;

void against_percent(struct str *out, double share)
{
    double percent = 100 * share;
    if (isinf(percent))
        str_add(out, "all");
    else if (percent >= 10)
        str_printf(out, "%.0f %%", percent);
    else
        str_printf(out, percent >= 0.01 || percent == 0 ? "%.2g %%" : "%.1e %%", percent);
}

static void add_decibels(struct str *out, double share)
{
    if (share > 0 && isfinite(share))
        str_printf(out, "SNR %.1f dB", -20 * log10(share));
    else
        str_add(out, share > 0 ? "numbers are lost" : "the same bits");
}

/* Values that should be numbers. */
static void add_broken(struct str *out, const struct against_scene *scene)
{
    const struct against *against = scene->against;
    size_t broken = 0, elements = 0;
    for (size_t i = 0; i < against->n_outputs; i++) {
        broken += against->output[i].broken;
        elements += against->output[i].elements;
    }
    str_printf(out, "%s%s%s%s gives NaN or infinity for %zu of %zu values that are numbers in %s",
               scene->model, *against->formats ? " (" : "", against->formats, *against->formats ? ")" : "",
               broken, elements, scene->other);
}

static void add_loss(struct str *out, const struct against_scene *scene)
{
    const struct against *against = scene->against;
    double share = against_share(against->output, against->n_outputs);
    if (isinf(share)) {
        add_broken(out, scene);
        return;
    }
    if (against_same(against)) {
        str_printf(out, "%s computes what %s does, up to rounding (", scene->model, scene->other);
    } else {
        str_printf(out, "%s%s%s%s loses ", scene->model, *against->formats ? " (" : "", against->formats,
                   *against->formats ? ")" : "");
        against_percent(out, share);
        str_printf(out, " of what %s computes (", scene->other);
    }
    add_decibels(out, share);
    if (against->hiding && !against_same(against)) {
        str_add(out, "; ");
        against_percent(out, against->front);
        str_printf(out, " in front of its last %s", against->hiding);
    }
    str_add(out, ")");
    if (against->rows)
        str_printf(out, ", and the largest output is the same in %zu of %zu row%s", against->top,
                   against->rows, against->rows == 1 ? "" : "s");
}

/* Of a single engine that answered all that was evaluated: whose the lost accuracy is. */
static void add_points(struct str *out, const struct against_scene *scene)
{
    const struct against *against = scene->against;
    double n = (double)against->compared;
    if (!against->classes || !against->rows || against->n_engines != 1 ||
        against->engine[0].answered != against->compared)
        return;
    double model = 100 * ((double)against->other_hits - (double)against->hits) / n;
    double engine = 100 * ((double)against->hits - (double)against->engine[0].hits) / n;
    if (model == 0 && engine == 0)
        str_printf(out, "; no accuracy is lost (%.4g %% of %zu samples)", 100 * (double)against->hits / n,
                   against->compared);
    else
        str_printf(out, "; of %.3g points of accuracy %.3g are the model's, %.3g the engine's",
                   model + engine, model, engine);
}

static void add_damaged(struct str *out, const struct against_layer *layer)
{
    text_print(out, layer->operator, 60);
    str_add(out, " ");
    text_print(out, layer->node, 120);
    str_printf(out, " is damaged: ");
    text_print(out, layer->why, 0);
    str_add(out, "; ");
    against_percent(out, layer->share);
    str_add(out, " of the loss");
}

static void add_layers(struct str *out, const struct against_scene *scene, const char *between)
{
    const struct against *against = scene->against;
    for (size_t i = 0; i < against->damaged && i < DAMAGED_TOLD; i++) {
        add_damaged(out, &against->layers[i]);
        str_printf(out, ".%s", between);
    }
    if (against->damaged > DAMAGED_TOLD)
        str_printf(out, "%zu more layers are damaged.%s", against->damaged - DAMAGED_TOLD, between);
    if (!against->damaged && *against->formats)
        str_printf(out, "No layer loses more than %s must.%s", against->formats, between);
}

static void add_engine(struct str *out, const struct against_scene *scene, size_t number)
{
    const struct against_engine *engine = &scene->against->engine[number];
    enum verdict_kind kind = scene->verdicts->engine[number].verdict.kind;
    const char *label = scene->labels[number];
    if (!engine->answered) {
        str_printf(out, "%s does not run it.", label);
        return;
    }
    str_add(out, label);
    if (verdict_is(kind, CLASS_AGREES))
        str_printf(out, " computes %s as it is written, and adds ", scene->model);
    else if (verdict_is(kind, CLASS_DEVIATES | CLASS_IMPRECISE | CLASS_UNSTABLE))
        str_printf(out, " does not compute %s as it is written, which adds ", scene->model);
    else
        str_printf(out, " adds, as far as it can be judged, ");
    against_percent(out, against_share(engine->added, scene->against->n_outputs));
    str_add(out, ".");
}

static void name_kept(struct str *out, const struct kept_float *kept)
{
    for (size_t i = 0; i < kept->count && i < KEPT_NAMED; i++) {
        str_add(out, !i ? " (" : ", ");
        text_print(out, kept->operators[i], 60);
        str_add(out, " ");
        text_print(out, kept->nodes[i], 120);
    }
    if (kept->count > KEPT_NAMED)
        str_printf(out, " and %zu more", kept->count - KEPT_NAMED);
    str_add(out, kept->count ? ")" : "");
}

/* What --keep-float found. */
static void add_kept(struct str *out, const struct against_scene *scene)
{
    const struct kept_float *kept = scene->kept;
    str_printf(out, "%s %zu of %zu nodes in float32", kept->met ? "With" : "Even with", kept->count,
               kept->candidates);
    name_kept(out, kept);
    str_add(out, " it loses ");
    against_percent(out, kept->after);
    str_add(out, " instead of ");
    against_percent(out, kept->before);
    for (size_t i = 0; i < kept->n_engines; i++) {
        str_printf(out, ", on %s ", scene->labels[i]);
        if (isnan(kept->engines[i]))
            str_add(out, "it does not run");
        else
            against_percent(out, kept->engines[i]);
    }
    str_add(out, kept->met ? ": at most " : ": more than ");
    against_percent(out, scene->figure);
    if (scene->written)
        str_printf(out, ", written to %s", scene->written);
    str_add(out, ".");
}

void against_answer(struct str *out, const struct against_scene *scene, const char *between)
{
    add_loss(out, scene);
    add_points(out, scene);
    str_printf(out, ".%s", between);
    add_layers(out, scene, between);
    for (size_t i = 0; i < scene->against->n_engines; i++) {
        str_add(out, i ? " " : "");
        add_engine(out, scene, i);
    }
    if (scene->kept) {
        str_add(out, between);
        add_kept(out, scene);
    }
}

static void add_number(struct table *table, enum style style, const char *format, double number)
{
    if (isnan(number))
        table_add(table, STYLE_DIM, "-");
    else
        table_add(table, style, format, number);
}

static void add_row(struct table *table, const struct against_layer *layer)
{
    struct loss both = layer->local;
    both.error2 += layer->passed.error2;
    both.base2 = layer->local.elements ? layer->local.base2 : layer->passed.base2;
    both.broken += layer->passed.broken;
    both.largest = fmax(layer->local.largest, layer->passed.largest);
    enum style style = layer->damaged ? STYLE_BAD : STYLE_PLAIN;
    table_add(table, style, "%.60s %.80s", layer->operator, layer->node);
    add_number(table, style, "%.2f %%", layer->tried ? 100 * layer->share : NAN);
    add_number(table, style, "%.1f", loss_snr(&both));
    add_number(table, STYLE_PLAIN, "%.1f", loss_snr(&layer->total));
    add_number(table, STYLE_PLAIN, "%.2g", loss_mse(&layer->total));
    add_number(table, STYLE_PLAIN, "%.6f", loss_cosine(&layer->total));
    add_number(table, STYLE_PLAIN, "%.3g", layer->total.largest);
    add_number(table, layer->factor >= 2 ? style : STYLE_DIM, "%.3g", layer->factor);
}

void against_table(struct str *out, const struct against_scene *scene, bool all, bool colour)
{
    const struct against *against = scene->against;
    struct table table;
    size_t shown = 0;
    table_init(&table, "lrrrrrrr");
    table_head(&table, "layer|share of loss|SNR alone|SNR|MSE|cosine|largest|times");
    for (size_t i = 0; i < against->n_layers; i++) {
        const struct against_layer *layer = &against->layers[i];
        if (!all && (shown == ROWS_SHOWN || (!layer->damaged && !(layer->share >= hardly))))
            continue;
        add_row(&table, layer);
        shown++;
    }
    str_printf(out, "  %zu of %zu samples evaluated, %zu of %zu values of %s found in %s\n",
               against->compared, against->samples, against->values - against->unmatched, against->values,
               scene->other, scene->model);
    if (shown)
        table_print(&table, out, colour, 2);
    if (shown < against->n_layers)
        str_printf(out, "  %zu more layers, of which each has less of the loss; --metrics shows them\n",
                   against->n_layers - shown);
    if (shown)
        str_add(out,
                "  share of loss: what the answer loses by this layer alone, of the sum over all layers\n"
                "  SNR alone: of its values, on the inputs that the other model has there; SNR, MSE, cosine "
                "and largest error: as it is in the model\n"
                "  times: how many times as much it loses as its type must\n");
    table_release(&table);
}

static void loss_json(struct json *json, const char *name, const struct loss *loss)
{
    json_object(json, name);
    json_int(json, "elements", (int64_t)loss->elements);
    json_int(json, "broken", (int64_t)loss->broken);
    json_double(json, "mse", loss_mse(loss));
    json_double(json, "share", loss_share(loss));
    json_double(json, "snr", loss_snr(loss));
    json_double(json, "cosine", loss_cosine(loss));
    json_double(json, "largest", loss->largest);
    json_int(json, "sample", (int64_t)loss->sample);
    json_int(json, "element", (int64_t)loss->element);
    json_end(json);
}

static void layer_json(struct json *json, const struct against_layer *layer)
{
    static const char *const by[] = {
        [MATCHED_BY_NAME] = "name", [MATCHED_BY_STRUCTURE] = "structure", [MATCHED_BY_VALUES] = "values"};
    json_object(json, NULL);
    json_string(json, "operator", layer->operator);
    json_string(json, "node", layer->node);
    json_string(json, "value", layer->value);
    json_string(json, "matched_by", by[layer->by]);
    json_bool(json, "damaged", layer->damaged);
    json_string(json, "why", layer->why);
    json_double(json, "share", layer->tried ? layer->share : NAN);
    json_double(json, "avoidable", layer->tried ? layer->avoidable : NAN);
    json_double(json, "contribution", layer->tried ? sqrt(layer->contribution) : NAN);
    json_double(json, "times", layer->factor);
    json_int(json, "beyond_rounding", (int64_t)layer->off);
    loss_json(json, "total", &layer->total);
    loss_json(json, "computed", &layer->local);
    loss_json(json, "stored", &layer->passed);
    json_end(json);
}

static void engine_json(struct json *json, const struct against_scene *scene, size_t number)
{
    const struct against_engine *engine = &scene->against->engine[number];
    size_t n = scene->against->n_outputs;
    json_object(json, NULL);
    json_string(json, "engine", scene->labels[number]);
    json_int(json, "answered", (int64_t)engine->answered);
    json_double(json, "adds", engine->answered ? against_share(engine->added, n) : NAN);
    json_double(json, "loses", engine->answered ? against_share(engine->whole, n) : NAN);
    json_int(json, "same_largest", (int64_t)engine->top);
    if (scene->against->classes)
        json_int(json, "hits", (int64_t)engine->hits);
    json_end(json);
}

static void kept_json(struct json *json, const struct against_scene *scene)
{
    const struct kept_float *kept = scene->kept;
    json_object(json, "keep_float");
    json_double(json, "figure", scene->figure);
    json_bool(json, "met", kept->met);
    json_int(json, "candidates", (int64_t)kept->candidates);
    json_int(json, "samples", (int64_t)kept->samples);
    json_double(json, "before", kept->before);
    json_double(json, "after", kept->after);
    json_array(json, "nodes");
    for (size_t i = 0; i < kept->count; i++)
        json_string(json, NULL, kept->nodes[i]);
    json_end(json);
    json_array(json, "engines");
    for (size_t i = 0; i < kept->n_engines; i++)
        json_double(json, NULL, kept->engines[i]);
    json_end(json);
    json_string(json, "written", scene->written);
    json_end(json);
}

static void outputs_json(struct json *json, const struct against *against)
{
    json_array(json, "outputs");
    for (size_t i = 0; i < against->n_outputs; i++) {
        json_object(json, NULL);
        json_string(json, "name", against->outputs[i]);
        loss_json(json, "loss", &against->output[i]);
        json_end(json);
    }
    json_end(json);
}

void against_json(struct json *json, const struct against_scene *scene)
{
    const struct against *against = scene->against;
    struct str answer;
    str_init(&answer);
    against_answer(&answer, scene, " ");
    json_object(json, "against");
    json_string(json, "other", scene->other);
    json_string(json, "answer", answer.data);
    json_string(json, "formats", against->formats);
    json_bool(json, "same", against_same(against));
    json_int(json, "samples", (int64_t)against->compared);
    json_double(json, "loses", against_share(against->output, against->n_outputs));
    json_string(json, "hidden_by", against->hiding);
    json_double(json, "loses_in_front", against->hiding ? against->front : NAN);
    json_int(json, "rows", (int64_t)against->rows);
    json_int(json, "same_largest", (int64_t)against->top);
    if (against->classes) {
        json_int(json, "hits", (int64_t)against->hits);
        json_int(json, "other_hits", (int64_t)against->other_hits);
    }
    json_int(json, "values", (int64_t)against->values);
    json_int(json, "unmatched", (int64_t)against->unmatched);
    json_int(json, "damaged", (int64_t)against->damaged);
    outputs_json(json, against);
    if (scene->kept)
        kept_json(json, scene);
    json_array(json, "engines");
    for (size_t i = 0; i < against->n_engines; i++)
        engine_json(json, scene, i);
    json_end(json);
    json_array(json, "layers");
    for (size_t i = 0; i < against->n_layers; i++)
        layer_json(json, &against->layers[i]);
    json_end(json);
    json_end(json);
    str_release(&answer);
}
