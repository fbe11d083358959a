#include "report/fault_map.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/wrap.h"
#include "model/describe.h"
#include "ops/op.h"
#include "report/graph_drawing.h"
#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/*
 * The layout of more than WHOLE_NODES nodes takes minutes and is too large to look at: then only the
 * surroundings of the marked nodes are drawn.
 */
enum { WHOLE_NODES = 1500, NEAR_RADIUS = 3, NEAR_NODES = 30, WIDE_NODES = 300, FILE_NODES = 60 };

/* The page, with marks where the parts go: map_page.html. */
static const char page[] =
#include "report/map_page.inc"
    ;

/* The type and shape of a value: as recorded from the engine, else as the model declares them. */
static void add_type(struct str *text, const struct map_source *source, const struct index_value *value,
                     struct arena *arena)
{
    const struct localized_node *maker =
        value && value->source == SOURCE_NODE ? &source->result->nodes[value->number] : NULL;
    char shape[SHAPE_TEXT_SIZE];
    for (size_t i = 0; maker && i < maker->n_outputs; i++)
        if (maker->outputs[i].type != DTYPE_NONE && strcmp(maker->outputs[i].name, value->name) == 0) {
            str_printf(text, "%s %s", dtype_name(maker->outputs[i].type),
                       shape_text(&maker->outputs[i].shape, shape));
            return;
        }
    describe_type(text, value ? model_index_type(source->index, value, arena) : NULL);
}

static void write_values(struct json *json, const char *key, const struct map_source *source, char **names,
                         size_t count)
{
    struct arena arena;
    struct str text;
    arena_init(&arena);
    str_init(&text);
    json_array(json, key);
    for (size_t i = 0; i < count; i++) {
        const struct index_value *value = *names[i] ? model_index_find(source->index, names[i]) : NULL;
        str_clear(&text);
        add_type(&text, source, value, &arena);
        json_object(json, NULL);
        json_string(json, "name", names[i]);
        json_string(json, "type", text.data);
        json_bool(json, "constant", value && value->source == SOURCE_INITIALIZER);
        json_end(json);
    }
    json_end(json);
    str_release(&text);
    arena_release(&arena);
}

static void write_attributes(struct json *json, const Onnx__NodeProto *node)
{
    struct str text;
    str_init(&text);
    json_array(json, "attributes");
    for (size_t i = 0; i < node->n_attribute; i++) {
        str_clear(&text);
        describe_attribute(&text, node->attribute[i]);
        json_array(json, NULL);
        json_string(json, NULL, node->attribute[i]->name);
        json_string(json, NULL, text.data);
        json_end(json);
    }
    json_end(json);
    str_release(&text);
}

/* The cause, at the node that it is about; NULL at all others. */
static const char *cause_at(const struct localization *result, size_t number)
{
    const struct cause *cause = &result->cause;
    size_t at = cause->n_parameters  ? cause->parameters[0].node
                : result->n_culprits ? result->culprits[0]
                                     : result->n_nodes;
    return cause->kind != CAUSE_UNKNOWN && number == at ? cause->text : NULL;
}

static void write_node(struct json *json, const struct map_source *source, size_t number)
{
    const Onnx__NodeProto *node = source->index->model->graph->node[number];
    const struct localized_node *numbers = &source->result->nodes[number];
    json_object(json, NULL);
    json_string(json, "op", op_title(node));
    json_string(json, "name", node->name);
    json_double(json, "factor", numbers->factor);
    json_double(json, "deviations", numbers->deviations);
    json_double(json, "rate", numbers->rate);
    json_double(json, "delta", numbers->delta);
    json_bool(json, "highlighted", numbers->highlighted);
    json_bool(json, "culprit", numbers->culprit);
    json_string(json, "verdict", verdict_name(numbers->verdict));
    json_string(json, "text", numbers->text ? numbers->text : "");
    json_string(json, "cause", cause_at(source->result, number));
    json_string(json, "note", source->notes ? source->notes[number] : NULL);
    if (source->result->swap) {
        json_double(json, "delta_C", source->result->swapped.nodes[number].delta_c);
        json_double(json, "delta_G", source->result->swapped.nodes[number].delta_g);
    }
    write_attributes(json, node);
    write_values(json, "inputs", source, node->input, node->n_input);
    write_values(json, "outputs", source, node->output, node->n_output);
    json_end(json);
}

static void write_data(struct str *out, const struct map_source *source)
{
    struct json json;
    json_init(&json, out, false);
    json_object(&json, NULL);
    json_string(&json, "title", source->title);
    json_string(&json, "engine", source->result->engine);
    json_string(&json, "second", source->result->rate ? source->result->second : NULL);
    json_string(&json, "other", source->result->swap ? source->result->second : NULL);
    json_string(&json, "text", source->result->text);
    json_string(&json, "class", source->class ? source->class : "");
    json_string(&json, "answer", source->answer ? source->answer : source->result->text);
    json_bool(&json, "loss", source->notes != NULL);
    json_bool(&json, "good",
              source->notes ? !source->result->n_culprits
                            : verdict_row(source->result->kind)->tone == TONE_GOOD);
    json_array(&json, "path");
    for (size_t i = 0; i < source->result->n_path; i++)
        json_int(&json, NULL, (int64_t)source->result->path[i]);
    json_end(&json);
    json_array(&json, "behind");
    for (size_t i = 0; i < source->result->n_behind; i++)
        json_int(&json, NULL, (int64_t)source->result->behind[i]);
    json_end(&json);
    json_array(&json, "nodes");
    for (size_t i = 0; i < source->result->n_nodes; i++)
        write_node(&json, source, i);
    json_end(&json);
    json_end(&json);
}

/* The culprit or, without one, the first node that rate highlights; else the first node. */
static void mark_centre(const struct localization *result, bool *shown)
{
    size_t marked = 0;
    for (size_t i = 0; i < result->n_nodes; i++)
        marked += shown[i] = result->nodes[i].culprit;
    for (size_t i = 0; i < result->n_nodes && !marked; i++)
        marked += shown[i] = result->nodes[i].highlighted;
    if (!marked && result->n_nodes)
        shown[0] = true;
}

static int draw_part(struct str *out, const struct map_source *source, const char *prefix, size_t radius,
                     size_t most, struct error *err)
{
    bool *shown = memory_zeroed(source->result->n_nodes + 1, sizeof *shown);
    mark_centre(source->result, shown);
    drawing_neighbours(source->index, shown, radius, most);
    bool all = radius >= source->result->n_nodes && most >= source->result->n_nodes;
    struct drawing drawing = {source->index, source->result, all ? NULL : shown, prefix, source->notes};
    int result = drawing_svg(out, &drawing, err);
    free(shown);
    return result;
}

/* A graph that takes Graphviz too long is shown around the culprit alone. */
static int draw_whole(struct str *out, const struct map_source *source, struct error *err)
{
    size_t count = source->result->n_nodes;
    struct error why = {0};
    if (draw_part(out, source, "whole_", count, count > WHOLE_NODES ? WIDE_NODES : count, &why) == 0)
        return 0;
    wrap_printf(stderr, "assay: the map shows the nodes around the culprit alone: %s\n", why.message);
    return draw_part(out, source, "whole_", NEAR_RADIUS, NEAR_NODES, err);
}

static int add_part(struct str *out, const struct map_source *source, const char *mark, struct error *err)
{
    if (strcmp(mark, "@NEAR@") == 0)
        return draw_part(out, source, "near_", NEAR_RADIUS, NEAR_NODES, err);
    if (strcmp(mark, "@WHOLE@") == 0)
        return draw_whole(out, source, err);
    struct str data;
    str_init(&data);
    write_data(&data, source);
    page_add_data(out, data.data);
    str_release(&data);
    return 0;
}

int fault_map_html(struct str *out, const struct map_source *source, struct error *err)
{
    static const char *const marks[] = {"@WHOLE@", "@NEAR@", "@DATA@"}; /* in the page's order */
    const char *from = page;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *at = strstr(from, marks[i]);
        str_append(out, from, (size_t)(at - from));
        if (add_part(out, source, marks[i], err) != 0)
            return -1;
        from = at + strlen(marks[i]);
    }
    str_add(out, from);
    return 0;
}

int fault_map_svg(struct str *out, const struct model *model, const size_t *nodes, size_t count,
                  struct error *err)
{
    struct model_index index;
    struct localization result = {.n_nodes = model->graph->n_node};
    if (model_index_init(&index, model, err) != 0)
        return -1;
    result.nodes = memory_zeroed(result.n_nodes + 1, sizeof *result.nodes);
    for (size_t i = 0; i < result.n_nodes; i++)
        result.nodes[i] = (struct localized_node){.delta = NAN, .rate = NAN, .factor = NAN};
    for (size_t i = 0; i < count; i++)
        if (nodes[i] < result.n_nodes)
            result.nodes[nodes[i]].culprit = true;
    struct map_source source = {.index = &index, .result = &result};
    bool all = result.n_nodes <= FILE_NODES;
    int status = draw_part(out, &source, "", all ? result.n_nodes : NEAR_RADIUS,
                           all ? result.n_nodes : NEAR_NODES, err);
    free(result.nodes);
    model_index_release(&index);
    return status;
}
