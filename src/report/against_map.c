#include "report/against_map.h"

#include "base/memory.h"
#include "report/fault_map.h"

#include <math.h>
#include <stdlib.h>

/* What stands in a node: its part of the loss, and how far off it is by itself. */
static const char *note_of(struct arena *arena, const struct against_layer *layer)
{
    double alone = loss_share(layer->local.error2 > layer->passed.error2 ? &layer->local : &layer->passed);
    if (!layer->tried)
        return "no loss";
    struct str text;
    str_init(&text);
    against_percent(&text, layer->share);
    str_add(&text, " of the loss\\nSNR alone ");
    if (alone > 0 && isfinite(alone))
        str_printf(&text, "%.1f dB", -20 * log10(alone));
    else
        str_add(&text, alone > 0 ? "none" : "infinite");
    const char *note = arena_strdup(arena, text.data);
    str_release(&text);
    return note;
}

/* Colours are those of a localisation: 1 is what a layer has on average. */
static void mark_layer(struct localization *result, const char **notes, const struct against *against,
                       const struct against_layer *layer)
{
    struct localized_node *node = &result->nodes[layer->number];
    node->factor = layer->tried ? layer->share * (double)against->n_layers : 0;
    node->culprit = layer->damaged;
    node->text = layer->why ? layer->why : "";
    notes[layer->number] = note_of(&result->arena, layer);
    if (layer->damaged)
        result->culprits[result->n_culprits++] = layer->number;
}

int against_map_html(struct str *out, const struct against_scene *scene, const struct model_index *index,
                     struct error *err)
{
    const struct against *against = scene->against;
    size_t count = index->model->graph->n_node;
    struct localization result = {.n_nodes = count, .text = ""};
    struct str answer;
    arena_init(&result.arena);
    str_init(&answer);
    const char **notes = memory_zeroed(count + 1, sizeof *notes);
    result.engine = against->n_engines ? scene->labels[0] : "";
    result.nodes = memory_zeroed(count + 1, sizeof *result.nodes);
    result.culprits = memory_zeroed(against->n_layers + 1, sizeof *result.culprits);
    for (size_t i = 0; i < count; i++)
        result.nodes[i] =
            (struct localized_node){.factor = NAN, .delta = NAN, .rate = NAN, .deviations = NAN, .text = ""};
    for (size_t i = against->n_layers; i-- > 0;)
        if (against->layers[i].number < count)
            mark_layer(&result, notes, against, &against->layers[i]);
    against_answer(&answer, scene, "\n");
    struct map_source source = {scene->model, index, &result, NULL, answer.data, notes};
    int status = fault_map_html(out, &source, err);
    free(notes);
    free(result.nodes);
    free(result.culprits);
    str_release(&answer);
    arena_release(&result.arena);
    return status;
}
