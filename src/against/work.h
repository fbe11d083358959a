/* What the parts of against.c share: weigh.c has the contributions of layers, damage.c what is wrong with
 * them. Only these files use it. */
#ifndef AGAINST_WORK_H
#define AGAINST_WORK_H

#include "against/against.h"
#include "against/passes.h"
#include "against/plain_products.h"
#include "engine/handover.h"
#include "engine/runner.h"

struct work {
    struct against *against;
    const struct inputs *inputs;
    struct plain_products products; /* MODEL's, where it has such: the passes are about that model then */
    struct pass other, plain, local, exact; /* OTHER; MODEL on its own numbers; on those of OTHER, twice */
    struct match match;
    struct against_layer *layers; /* as in match.layers */
    struct levels *weights;       /* as in match.weights */
    struct levels *ends, *types;  /* of the layers' ends, and their floating-point types */
    struct tensor *constants;     /* OTHER's weights, as in match.weights */
    size_t sample;
    double start, seconds;
    dtype_set other_types, model_types, level_types, other_level_types;
    size_t unknown; /* layers that read stored levels of which OTHER has no counterpart, so that it is not
                       known what they should be */
    size_t
        astray; /* constants that are further from OTHER's than the types explain in which they are stored */
    double *contributions;    /* sums over samples */
    double *weighed;          /* the layers' own errors when they were last weighed */
    size_t n_fronts, *fronts; /* values of OTHER on which contributions are measured */
    struct runner *runner;
    struct handover handover;
};

/* Whether this part of the time, or more than that, is over. */
bool against_spent(const struct work *work, double part);

/* OTHER's numbers for a layer on the present sample; NULL: it has none. */
const struct tensor *against_base(const struct work *work, size_t layer);

/* Finds the values on which contributions are measured, on the first sample. */
void against_find_fronts(struct work *work);

/* Adds the contributions of all layers on this sample, while there is time. */
int against_weigh(struct work *work, const struct value *inputs, struct error *err);

/* Judges and ranks the layers, after the last sample. */
void against_judge(struct work *work);

#endif
