/*
 * A model's graph drawn by Graphviz: each node is a box with its type, name and numbers, each input and
 * output of the graph an oval, each value an arrow. Initialisers are left out: they are many and say little.
 *
 * In the SVG the group of node 7 has the id "PREFIX7", by which a page's script finds it.
 */
#ifndef REPORT_GRAPH_DRAWING_H
#define REPORT_GRAPH_DRAWING_H

#include "base/str.h"
#include "locate/localize.h"
#include "model/index.h"

struct drawing {
    const struct model_index *index;
    const struct localization *result; /* the nodes' numbers; NULL: none are written */
    const bool *shown;                 /* for each node whether it is drawn; NULL: all are */
    const char *prefix;                /* of the ids; different for every drawing of a page */
    const char *const
        *notes; /* for each node what is written in it in place of the numbers; NULL: nothing is */
};

/* Appends "<svg ...</svg>". Of very many arrows only some are drawn, and a line below says so. Fails when
 * Graphviz cannot lay out or draw the graph within the limits of this process (base/limits.h). */
int drawing_svg(struct str *out, const struct drawing *drawing, struct error *err);

/*
 * Marks in shown[] also the nodes that are at most `radius` arrows away from those marked already, nearest
 * first, until `most` nodes are marked.
 */
void drawing_neighbours(const struct model_index *index, bool *shown, size_t radius, size_t most);

#endif
