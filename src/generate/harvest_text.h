/* A set of nodes as the text of a block. */
#ifndef GENERATE_HARVEST_TEXT_H
#define GENERATE_HARVEST_TEXT_H

#include "base/str.h"
#include "model/index.h"
#include "ops/op.h"

/* How sizes are written. */
enum opening {
    OPEN_ALL,      /* every size a name of its own */
    OPEN_MULTIPLE, /* a size that is a small multiple of another is written so */
    OPEN_NONE      /* as it is */
};

struct cutting {
    const struct model_index *index;
    const struct bounded *values; /* type and shape of each of the index's values; type none: not known */
    const size_t *nodes;          /* numbers in graph->node, in an order in which they can be computed */
    size_t count;
    int since, until;
    enum opening opening;
    int low, high; /* range of open sizes */
};

/* Fails with ERROR_UNSUPPORTED where the text form cannot say it. */
int harvest_text(struct str *out, const struct cutting *cut, struct error *err);

#endif
