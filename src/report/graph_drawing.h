/*
 * A model's graph drawn by Graphviz: one box a node with its type, name and numbers, the inputs and outputs
 * of the graph as ovals, one arrow a value. Initialisers are left out: they are many and say little.
 *
 * In the SVG the group of node 7 has the id "PREFIX7", so that a page can find it.
 */
#ifndef REPORT_GRAPH_DRAWING_H
#define REPORT_GRAPH_DRAWING_H

#include "base/str.h"
#include "locate/localize.h"
#include "model/index.h"

struct drawing {
    const struct model_index *index;
    const struct localization *result; /* may be NULL: the graph alone */
    const bool *shown;                 /* one a node; NULL: all */
    const char *prefix;                /* of ids: unique in a page */
};

/* Adds "<svg ...</svg>" to out. */
int drawing_svg(struct str *out, const struct drawing *drawing, struct error *err);

/* Marks the nodes within `radius` arrows of those marked already, nearest first, until `most` are marked. */
void drawing_neighbours(const struct model_index *index, bool *shown, size_t radius, size_t most);

#endif
