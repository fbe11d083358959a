/* A model against the one it was made from, on its graph: a page like that of a localisation (fault_map.h),
 * with each layer's part of the loss as its colour, and the damaged layers marked. */
#ifndef REPORT_AGAINST_MAP_H
#define REPORT_AGAINST_MAP_H

#include "model/index.h"
#include "report/against_report.h"

/* Appends the page. The index is that of the model. Fails when Graphviz cannot draw the graph. */
int against_map_html(struct str *out, const struct against_scene *scene, const struct model_index *index,
                     struct error *err);

#endif
