/*
 * The map of a localisation: the model's graph with every node's numbers, as one HTML page that needs nothing
 * else. Colour is the local factor (error over the hard bound, on the inputs the engine itself had), a heavy
 * border is a rate above the third quartile, and the culprit is marked.
 */
#ifndef REPORT_FAULT_MAP_H
#define REPORT_FAULT_MAP_H

#include "base/str.h"
#include "locate/localize.h"
#include "model/index.h"

struct map_source {
    const char *title; /* the model's name */
    const struct model_index *index;
    const struct localization *result;
};

/* The model alone as an SVG file, some of its nodes marked; of a large one their surroundings. */
int fault_map_svg(struct str *out, const struct model *model, const size_t *nodes, size_t count,
                  struct error *err);

int fault_map_html(struct str *out, const struct map_source *source, struct error *err);

#endif
