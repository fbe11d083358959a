/*
 * What the library did with a model: the layers of its own drawing of the network, in the language of
 * Graphviz. A box is a layer, "NAME\nTYPE\n...", or several that run as one, "{...| ...}"; the last line
 * names backend and target.
 */
#include "opencv.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 8 };

/* A box of the drawing, taken apart. */
struct box {
    struct str types;  /* "Convolution+ReLU" */
    struct str device; /* "OCV/CPU" */
    size_t layers;
    size_t n_values;
    const char *values[MOST_VALUES];
};

static void add_value(struct box *box, const char *name)
{
    if (*name && box->n_values < MOST_VALUES)
        box->values[box->n_values++] = name;
}

static bool is(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/*
 * The values that a layer computes, by its name: "onnx_node!NAME" is the node of that name,
 * "onnx_node_output_0!VALUE" and VALUE alone the one with that output. Layers that the library adds for its
 * own ends have other names.
 */
static void find_values(struct box *box, const Onnx__GraphProto *graph, const char *layer, size_t length)
{
    const char *mark = memchr(layer, '!', length);
    const char *name = mark && strncmp(layer, "onnx_node", strlen("onnx_node")) == 0 ? mark + 1 : layer;
    length -= (size_t)(name - layer);
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        bool all = is(node->name, name, length);
        for (size_t j = 0; j < node->n_output; j++)
            if (all || is(node->output[j], name, length))
                add_value(box, node->output[j]);
    }
}

/* A line ends with one of Graphviz's escapes, \n or \l, or with the label. */
static size_t line_length(const char *at, const char *end)
{
    const char *stop = at;
    while (stop < end && !(stop[0] == '\\' && stop + 1 < end && (stop[1] == 'n' || stop[1] == 'l')))
        stop++;
    return (size_t)(stop - at);
}

/* NAME\nTYPE\nPARAMETER\l...BACKEND/TARGET\n */
static void read_layer(struct box *box, const Onnx__GraphProto *graph, const char *at, const char *end)
{
    for (int number = 0; at < end; number++) {
        size_t length = line_length(at, end);
        if (number == 0) {
            find_values(box, graph, at, length);
        } else if (number == 1) {
            str_add(&box->types, box->types.length ? "+" : "");
            str_append(&box->types, at, length);
            box->layers++;
        } else if (length && memchr(at, '/', length) && !memchr(at, ':', length) &&
                   !memchr(at, ' ', length)) {
            str_clear(&box->device);
            str_append(&box->device, at, length);
        }
        at += length + 2;
    }
}

static void read_box(struct box *box, const Onnx__GraphProto *graph, const char *at, const char *end)
{
    static const char between[] = " | ";
    bool several = at < end && *at == '{' && end[-1] == '}';
    at += several;
    end -= several ? 2 : 0; /* " }" */
    while (at < end) {
        const char *next = several ? strstr(at, between) : NULL;
        const char *stop = next && next < end ? next : end;
        read_layer(box, graph, at, stop);
        at = stop == end ? end : stop + strlen(between);
    }
}

static void tell_box(struct adapter_call *call, const char *label, const char *end)
{
    struct opencv *opencv = call->engine;
    struct box box = {.layers = 0};
    str_init(&box.types);
    str_init(&box.device);
    read_box(&box, opencv->model->graph, label, end);
    adapter_trace(call, &(struct trace_step){.kind = TRACE_KERNEL,
                                             .name = box.types.data,
                                             .device = box.device.data,
                                             .pass = box.layers > 1 ? "fusion" : "",
                                             .n_outputs = box.n_values,
                                             .outputs = box.values});
    str_release(&box.types);
    str_release(&box.device);
}

void opencv_trace(struct adapter_call *call)
{
    static const char start[] = " [label=\"";
    const struct opencv *opencv = call->engine;
    char *drawing = face_draw(opencv->net);
    for (const char *at = drawing; at && (at = strstr(at, start));) {
        const char *label = at + strlen(start), *end = strchr(label, '"');
        if (!end)
            break;
        tell_box(call, label, end);
        at = end;
    }
    free(drawing);
}
