/*
 * The fewest nodes of a model in fewer bits that must be kept in float32 to bring its loss under a figure,
 * and the model with these nodes.
 *
 * A node is kept by putting the node of OTHER in its place: with OTHER's own weights, on float32 inputs, and
 * without the levels behind it. Casts are written where its neighbours have another type. Products of levels
 * are candidates as plain_products.h writes them, and stay written so where they are not kept. The nodes that
 * cost most (against.h) come first; the smallest number of them that suffices is found by bisection, and then
 * each that turns out not to be needed is given up again. Every step writes the model and evaluates it by the
 * reference, on some samples spread over the data. In the end each engine runs it on all of them; where one
 * is above the figure, more nodes are kept until it is not, or there are no more.
 */
#ifndef AGAINST_KEEP_FLOAT_H
#define AGAINST_KEEP_FLOAT_H

#include "against/against.h"

struct keep_float_options {
    double figure;  /* the most that the answer may lose, a share (against_share) */
    double seconds; /* time for the search; when it is over, what was reached is taken. 0: AGAINST_SECONDS */
};

struct kept_float {
    struct arena arena;
    struct model *model; /* with these nodes; NULL where the figure is not reached */
    bool met;            /* by the reference and all engines */
    size_t candidates;   /* nodes that can be kept: those that OTHER has as well */
    size_t count;
    const char **operators, **nodes; /* kept, the costliest first */
    size_t samples;                  /* on which the engines' losses were measured */
    double before, after;            /* the loss, by the reference */
    size_t n_engines;
    double
        *engines; /* the loss of each engine that answers on the model with these nodes; NAN: it does not */
    size_t tried; /* models that were evaluated */
};

/* `against` is the result of against_run on the same models. Release *kept also after a failure. */
int keep_float(struct kept_float *kept, const struct against *against, const struct model *model,
               const struct model *other, const struct inputs *inputs, const struct panel *panel,
               const struct keep_float_options *options, struct error *err);
void kept_float_release(struct kept_float *kept);

#endif
