#include "report/graph_drawing.h"

#include "base/clean.h"
#include "base/memory.h"
#include "model/build.h"
#include "model/isolated.h"
#include "ops/op.h"

#include <graphviz/gvc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A graph with more arrows than DENSE for each node is a black surface, and Graphviz takes minutes for some
 * hundred of them: then each box has FEW arrows that come in. */
enum { NAME_LENGTH = 26, DENSE = 4, FEW = 2 };

/*
 * The two plugins a drawing needs, linked: widths of text are then Graphviz's own estimate, the same on every
 * machine, and no font library is loaded.
 */
extern gvplugin_library_t gvplugin_core_LTX_library, gvplugin_dot_layout_LTX_library;

struct pen {
    Agraph_t *graph;
    const struct drawing *drawing;
    Agnode_t **nodes; /* one a node of the model; NULL where it is not shown */
    bool dense;
    size_t arrows, left_out;
};

/* Graphviz takes backslashes for escapes, and only UTF-8 for text. */
static void add_plain(struct str *out, const char *text, size_t most)
{
    size_t used = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c; used++) {
        if (used == most) {
            str_add(out, "…");
            return;
        }
        if (*c == '\\')
            str_add(out, "\\");
        c += *c < ' ' ? 1 : clean_add_character(out, (const char *)c, "?");
    }
}

static void set(void *object, const char *name, const char *value)
{
    char *text = memory_strdup(value), *key = memory_strdup(name), *nothing = memory_strdup("");
    agsafeset(object, key, text, nothing);
    free(text);
    free(key);
    free(nothing);
}

static void set_defaults(Agraph_t *graph)
{
    static const struct {
        int kind;
        const char *name, *value;
    } all[] = {
        {AGRAPH, "bgcolor", "transparent"}, {AGRAPH, "nodesep", "0.25"},
        {AGRAPH, "ranksep", "0.35"},        {AGRAPH, "pad", "0.15"},
        {AGNODE, "shape", "box"},           {AGNODE, "style", "filled,rounded"},
        {AGNODE, "fontname", "Helvetica"},  {AGNODE, "fontsize", "11"},
        {AGNODE, "margin", "0.2,0.06"},     {AGNODE, "height", "0.3"},
        {AGEDGE, "color", "#8a8a94"},       {AGEDGE, "arrowsize", "0.6"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *name = memory_strdup(all[i].name), *value = memory_strdup(all[i].value);
        agattr(graph, all[i].kind, name, value);
        free(name);
        free(value);
    }
}

static Agnode_t *new_node(struct pen *pen, const char *kind, size_t number, const char *label)
{
    char name[64], id[96];
    snprintf(name, sizeof name, "%s%zu", kind, number);
    snprintf(id, sizeof id, "%s%s", pen->drawing->prefix, name);
    Agnode_t *node = agnode(pen->graph, name, 1);
    set(node, "id", id);
    set(node, "label", label);
    set(node, "tooltip", " ");
    return node;
}

/*
 * From white (an error far inside the hard bound) over yellow (at it) to red (a thousand times outside). Not
 * judged is grey.
 */
static void factor_colour(double factor, char colour[8])
{
    static const double stops[][4] = {
        {-3, 240, 248, 241}, {0, 255, 240, 170}, {0.3, 250, 170, 100}, {3, 222, 60, 52}};
    double at = isinf(factor) ? 3 : factor > 0 ? log10(factor) : -3;
    size_t i = 1;
    if (isnan(factor)) {
        snprintf(colour, 8, "#ececef");
        return;
    }
    at = fmin(fmax(at, -3), 3);
    while (i < 3 && at > stops[i][0])
        i++;
    double part = (at - stops[i - 1][0]) / (stops[i][0] - stops[i - 1][0]);
    unsigned rgb[3];
    for (int c = 0; c < 3; c++)
        rgb[c] = (unsigned)lround(stops[i - 1][c + 1] + part * (stops[i][c + 1] - stops[i - 1][c + 1]));
    snprintf(colour, 8, "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
}

static void add_numbers(struct str *label, const struct localized_node *node)
{
    if (!isnan(node->factor))
        str_printf(label, "\\nfactor %.3g", node->factor);
    if (!isnan(node->delta))
        str_printf(label, "\\nΔ %.2g", node->delta);
    if (!isnan(node->rate))
        str_printf(label, "%sR %.3g", isnan(node->delta) ? "\\n" : "   ", node->rate);
}

/* "auto_pad=SAME_UPPER", at the node whose parameter is the cause. */
static void add_cause(struct str *label, const struct localization *result, size_t number)
{
    for (size_t i = 0; i < result->cause.n_parameters; i++) {
        const struct cause_value *value = &result->cause.parameters[i];
        if (value->node != number)
            continue;
        str_add(label, "\\n");
        add_plain(label, value->parameter, NAME_LENGTH);
        str_add(label, "=");
        add_plain(label, value->value, NAME_LENGTH);
    }
}

static void colour_node(Agnode_t *node, const struct localized_node *numbers)
{
    char colour[8];
    factor_colour(numbers->factor, colour);
    set(node, "fillcolor", colour);
    set(node, "color", numbers->highlighted ? "#6a3fb5" : "#9a9aa4");
    set(node, "penwidth", numbers->highlighted ? "3" : "1");
    if (!numbers->culprit)
        return;
    set(node, "color", "#b00020");
    set(node, "penwidth", "4");
    set(node, "peripheries", "2");
    set(node, "fontsize", "14");
}

static void draw_node_box(struct pen *pen, size_t number)
{
    const struct drawing *d = pen->drawing;
    const Onnx__NodeProto *proto = d->index->model->graph->node[number];
    const struct localized_node *numbers = d->result ? &d->result->nodes[number] : NULL;
    struct str label;
    str_init(&label);
    if (numbers && numbers->culprit)
        str_add(&label, "▶ ");
    add_plain(&label, op_title(proto), NAME_LENGTH);
    const char *name = *proto->name ? proto->name : proto->n_output ? proto->output[0] : "";
    if (*name && !node_is_constant(proto)) {
        str_add(&label, "\\n");
        add_plain(&label, name, NAME_LENGTH);
    }
    if (d->result)
        add_cause(&label, d->result, number);
    if (d->notes && d->notes[number])
        str_printf(&label, "\\n%s", d->notes[number]);
    else if (numbers && !d->notes)
        add_numbers(&label, numbers);
    Agnode_t *node = new_node(pen, "n", number, label.data);
    set(node, "fillcolor", "#f4f4f6");
    if (numbers)
        colour_node(node, numbers);
    set(node, "class", numbers && numbers->culprit ? "op culprit" : "op");
    pen->nodes[number] = node;
    str_release(&label);
}

static Agnode_t *draw_end(struct pen *pen, const char *kind, size_t number, const char *name)
{
    struct str label;
    str_init(&label);
    add_plain(&label, name, NAME_LENGTH);
    Agnode_t *node = new_node(pen, kind, number, label.data);
    set(node, "shape", "ellipse");
    set(node, "fillcolor", "#e3ecfb");
    set(node, "color", "#7d96c4");
    str_release(&label);
    return node;
}

static void draw_edge(struct pen *pen, Agnode_t *from, Agnode_t *to, const char *name)
{
    pen->arrows++;
    if (pen->dense && agdegree(pen->graph, to, true, false) >= FEW) {
        pen->left_out++;
        return;
    }
    struct str text;
    str_init(&text);
    add_plain(&text, name, 80);
    set(agedge(pen->graph, from, to, NULL, 1), "edgetooltip", text.data);
    str_release(&text);
}

/* One value: where it comes from, and an arrow to each user that is shown. */
static void draw_value(struct pen *pen, size_t number)
{
    const struct index_value *value = &pen->drawing->index->values[number];
    Agnode_t *from = value->source == SOURCE_NODE ? pen->nodes[value->number] : NULL;
    bool used = false;
    for (size_t i = 0; i < value->consumers; i++)
        used |= pen->nodes[value->consumer[i]] != NULL;
    if (value->source == SOURCE_INITIALIZER || (value->source == SOURCE_NODE && !from))
        return;
    if (value->source == SOURCE_INPUT && used)
        from = draw_end(pen, "i", number, value->name);
    for (size_t i = 0; from && i < value->consumers; i++)
        if (pen->nodes[value->consumer[i]])
            draw_edge(pen, from, pen->nodes[value->consumer[i]], value->name);
    if (from && value->is_output)
        draw_edge(pen, from, draw_end(pen, "o", number, value->name), value->name);
}

/*
 * Draws into a stream, because the length that gvRenderData gives is an unsigned or a size_t, depending on
 * Graphviz's version.
 */
static int render_to(char **data, GVC_t *context, Agraph_t *graph, struct error *err)
{
    size_t length = 0;
    FILE *stream = open_memstream(data, &length);
    if (!stream)
        return error_set(err, ERROR_IO, "no memory for a drawing");
    int status = gvRender(context, graph, "svg", stream);
    if (fclose(stream) != 0 || status != 0 || !strstr(*data, "<svg"))
        return error_set(err, ERROR_IO, "Graphviz cannot write SVG");
    return 0;
}

static bool is_dense(const struct drawing *drawing)
{
    size_t nodes = 0, arrows = 0;
    for (size_t i = 0; i < drawing->index->model->graph->n_node; i++)
        nodes += !drawing->shown || drawing->shown[i];
    for (size_t i = 0; i < drawing->index->count; i++) {
        const struct index_value *value = &drawing->index->values[i];
        bool made = value->source == SOURCE_NODE && (!drawing->shown || drawing->shown[value->number]);
        for (size_t j = 0; made && j < value->consumers; j++)
            arrows += !drawing->shown || drawing->shown[value->consumer[j]];
    }
    return arrows > DENSE * (nodes + 1);
}

/* A label below the drawing. */
static void say_left_out(struct pen *pen)
{
    char label[100], name[] = "label";
    if (!pen->left_out)
        return;
    snprintf(label, sizeof label, "%zu of %zu arrows are drawn; the others are left out",
             pen->arrows - pen->left_out, pen->arrows);
    agattr(pen->graph, AGRAPH, name, label);
}

static int render(void *graph, uint8_t **out, size_t *size, struct error *err)
{
    static const lt_symlist_t plugins[] = {
        {"gvplugin_dot_layout_LTX_library", &gvplugin_dot_layout_LTX_library},
        {"gvplugin_core_LTX_library", &gvplugin_core_LTX_library},
        {NULL, NULL}};
    /* Graphviz's warnings, such as those of newer releases about the width of a letter, are not shown. */
    agseterr(AGMAX);
    GVC_t *context = gvContextPlugins(plugins, 0);
    char *data = NULL;
    int result = -1;
    if (gvLayout(context, graph, "dot") != 0)
        error_set(err, ERROR_IO, "Graphviz cannot lay the graph out");
    else
        result = render_to(&data, context, graph, err);
    if (!result) { /* without the XML head: it goes into a page */
        *out = (uint8_t *)memory_strdup(strstr(data, "<svg"));
        *size = strlen((const char *)*out);
    }
    free(data);
    gvFreeLayout(context, graph);
    gvFreeContext(context);
    return result;
}

int drawing_svg(struct str *out, const struct drawing *drawing, struct error *err)
{
    const struct model_index *index = drawing->index;
    size_t count = index->model->graph->n_node;
    char *title = memory_strdup("model");
    struct pen pen = {agopen(title, Agdirected, NULL),
                      drawing,
                      memory_zeroed(count + 1, sizeof(Agnode_t *)),
                      is_dense(drawing),
                      0,
                      0};
    free(title);
    set_defaults(pen.graph);
    for (size_t i = 0; i < count; i++)
        if (!drawing->shown || drawing->shown[index->order[i]])
            draw_node_box(&pen, index->order[i]);
    for (size_t i = 0; i < index->count; i++)
        draw_value(&pen, i);
    say_left_out(&pen);
    uint8_t *svg;
    size_t size;
    /* Layout takes long on graphs with many arrows, and its time has no bound. */
    int result = isolated_run("Graphviz", render, pen.graph, &svg, &size, err);
    if (!result)
        str_append(out, (const char *)svg, size);
    free(svg);
    agclose(pen.graph);
    free(pen.nodes);
    return result;
}

/* Marks in `next` the nodes that are one arrow away from those that `shown` marks. */
static size_t widen(const struct model_index *index, const bool *shown, bool *next, size_t marked,
                    size_t most)
{
    for (size_t i = 0; i < index->count; i++) {
        const struct index_value *value = &index->values[i];
        bool near = value->source == SOURCE_NODE && shown[value->number];
        if (value->source != SOURCE_NODE)
            continue;
        for (size_t j = 0; j < value->consumers; j++)
            near |= shown[value->consumer[j]];
        if (!near)
            continue;
        for (size_t j = 0; j <= value->consumers && marked < most; j++) {
            size_t node = j < value->consumers ? value->consumer[j] : value->number;
            bool reached = shown[node] || next[node];
            /* A value's other users are two arrows away from a user. */
            if (!reached && (shown[value->number] || node == value->number)) {
                next[node] = true;
                marked++;
            }
        }
    }
    return marked;
}

void drawing_neighbours(const struct model_index *index, bool *shown, size_t radius, size_t most)
{
    size_t count = index->model->graph->n_node, marked = 0;
    bool *next = memory_zeroed(count + 1, sizeof *next);
    for (size_t i = 0; i < count; i++)
        marked += shown[i];
    for (size_t step = 0; step < radius && marked < most; step++) {
        marked = widen(index, shown, next, marked, most);
        for (size_t i = 0; i < count; i++)
            shown[i] |= next[i];
    }
    free(next);
}
