/*
 * A model against the one it was made from: quantised, in another floating-point type, optimised, simplified
 * or exported again. How much of the answer is lost, and where, in two parts:
 *
 * - what the *format* costs: the reference computes MODEL as written against OTHER as written;
 * - what an *engine* adds: its answers against MODEL as written. Whether that is more than rounding explains,
 *   and which operator is at fault, the verdicts of a comparison say (compare/compare.h).
 *
 * Values of the two models are matched (match.h). The loss of a layer by itself is what its nodes make of the
 * numbers that OTHER has in front of it, so that a damaged layer shows and not those behind it. Its
 * contribution is what the answer of OTHER loses when only this layer's numbers are those of MODEL, looked at
 * in front of a last Softmax, ArgMax or the like, which would hide it; its share is the part of the sum of
 * all contributions.
 *
 * A layer is *damaged* when it loses clearly more than its format must (levels.h), when numbers leave the
 * range of its type or lose all their bits, or when it computes something else than OTHER does: further away
 * than rounding explains, on the same numbers and weights.
 */
#ifndef AGAINST_AGAINST_H
#define AGAINST_AGAINST_H

#include "against/levels.h"
#include "against/loss.h"
#include "against/match.h"
#include "case/inputs.h"
#include "engine/panel.h"

struct against_layer {
    const char *value; /* its name in OTHER */
    const char *operator, *
        node;      /* what computes it in MODEL; an input of the graph has the operator "input" */
    size_t number; /* of that node in MODEL's graph; SIZE_MAX: none, or inside a function */
    enum matched_by by;
    struct loss total;         /* MODEL on its own numbers */
    struct loss local, passed; /* by itself: as it is computed; what its levels or casts behind that lose */
    double contribution;       /* mean square of the answer's loss, as a share of the answer's */
    size_t
        tried; /* samples on which the contribution was computed; of many layers the costly ones have more */
    double share, avoidable; /* of all contributions: this one, and what of it the format need not cost */
    double factor;           /* how many times more than its levels must it loses; 1: no more, or not known */
    size_t off;              /* elements that are further away than rounding explains */
    bool damaged;
    const char *why; /* what is wrong with it, in words; NULL: nothing is */
};

/* What an engine makes of MODEL. */
struct against_engine {
    size_t answered;
    struct loss *added; /* one for each output: its answers against MODEL as written */
    struct loss *whole; /* against OTHER */
    size_t top, hits;   /* rows whose largest element is OTHER's; is the label's */
};

struct against {
    struct arena arena;
    size_t samples, compared; /* of the data; those that were evaluated in the time */
    size_t n_layers;          /* the damaged ones first, then those with the largest contribution */
    struct against_layer *layers;
    size_t values, unmatched; /* floating-point values of OTHER; those that MODEL does not have */
    size_t n_outputs;
    const char **outputs;
    struct loss *output; /* what the format costs, one for each output */
    size_t n_engines;
    struct against_engine *engine;
    const char *hiding;      /* the last operator, where it hides losses (Softmax); NULL: none does */
    double front;            /* the loss in front of it */
    bool classes;            /* labels are known */
    size_t rows;             /* of the first output, when these are classes or confidences; else 0 */
    size_t top;              /* rows of MODEL with the same largest element as OTHER */
    size_t hits, other_hits; /* rows with that of the label */
    size_t damaged;          /* layers that are */
    const char *formats;     /* of MODEL's numbers, where they are others than OTHER's: "int8"; "": none */
    bool explained; /* there are such formats, and everything else in which MODEL differs is what they cost:
                       with OTHER's numbers it computes what OTHER does, and no number is stored worse than
                       its type must */
};

#define AGAINST_SECONDS 20.0

struct against_options {
    double seconds; /* time for the evaluations; 0: AGAINST_SECONDS. The first sample is evaluated anyway */
};

/* The panel's engines run MODEL; its reference is not asked; there may be none of them. Fails when the
 * reference cannot evaluate one of the models, or OTHER does not take the inputs of MODEL. Release it also
 * after a failure. */
int against_run(struct against *against, const struct model *model, const struct model *other,
                const struct inputs *inputs, const struct panel *panel, const struct against_options *options,
                struct error *err);
void against_release(struct against *against);

/* The loss of all outputs together: the root of the mean of the squares of their shares. */
double against_share(const struct loss *losses, size_t count);

/* Whether the format costs nothing but rounding. */
bool against_same(const struct against *against);

#endif
