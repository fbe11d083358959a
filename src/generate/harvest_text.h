/* Writes a set of nodes of a model as the text of a block (docs/blocks.md). */
#ifndef GENERATE_HARVEST_TEXT_H
#define GENERATE_HARVEST_TEXT_H

#include "base/str.h"
#include "model/index.h"
#include "ops/op.h"

/* How the sizes of dimensions are written. */
enum opening {
    OPEN_ALL,      /* every size gets a name */
    OPEN_MULTIPLE, /* a small multiple of another size is written as such: "4*A" */
    OPEN_NONE      /* as numbers */
};

struct cutting {
    const struct model_index *index;
    const struct bounded *values; /* type and shape of each of the index's values; type none: not known */
    const size_t *nodes;          /* numbers in graph->node, in an order in which they can be computed */
    size_t count;
    int since, until;
    enum opening opening;
    int low, high; /* range of the named sizes */
};

/* Fails with ERROR_UNSUPPORTED when the text form cannot express the nodes. */
int harvest_text(struct str *out, const struct cutting *cut, struct error *err);

#endif
