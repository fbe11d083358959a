/*
 * The map of a localisation: the model's graph with every node's numbers, as one HTML page that loads no
 * other file. A node's colour shows its local factor (its error divided by its hard bound, on the inputs that
 * the engine itself gave it), a heavy border shows a rate above the third quartile, and the culprit is
 * marked. Both functions append to *out and fail when Graphviz cannot draw the graph.
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
    const char *class; /* of the finding, in words (locate/classify.h); NULL or "": none */
    const char
        *answer; /* what stands at the top, a sentence a line (report/answer.h); NULL: the result's text */
    const char *const *notes; /* of a map of losses (against_map.h): for each node what is written in it;
                                 NULL: it is one of faults */
};

/*
 * The graph alone as an SVG drawing with `count` of its nodes marked, for a bundle's map.svg. Of a large
 * model only the surroundings of the marked nodes are drawn.
 */
int fault_map_svg(struct str *out, const struct model *model, const size_t *nodes, size_t count,
                  struct error *err);

/* The page. */
int fault_map_html(struct str *out, const struct map_source *source, struct error *err);

#endif
