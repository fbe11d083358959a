/*
 * The gradients of one model on several engines: each sample is differentiated by all of them and judged by
 * the reference's bounds, in one run. What `assay grad` shows.
 */
#ifndef GRADIENTS_GRADIENTS_H
#define GRADIENTS_GRADIENTS_H

#include "case/inputs.h"
#include "trial/sample_verdicts.h"

struct gradients_options {
    uint64_t seed;    /* of the weights of the outputs */
    const char *loss; /* the sum of this output is differentiated instead; NULL: all outputs with weights */
    bool progress;
};

/* One gradient of one engine, over all samples. */
struct gradient_figures {
    size_t total, judged, wrong, undecided, open; /* elements */
    double factor;                                /* largest error divided by its hard bound */
    bool varies; /* some element was expected to be other than zero, on some sample */
};

struct gradients {
    struct arena arena;
    size_t samples, engines;
    size_t count; /* gradients: inputs and initialisers by which the model is differentiated */
    const char **names;
    enum dtype *types; /* types and shapes of the first sample's, where the reference gave them */
    struct shape *shapes;
    size_t n_inputs; /* so many of them are inputs, the first ones */
    struct sample_verdicts verdicts;
    struct gradient_figures *figures; /* of engine e and gradient k: figures[e * count + k] */
    int64_t *run_ns;                  /* for each engine */
};

/* The panel has a reference, and must outlive *gradients. Release it also after a failure. */
int gradients_run(struct gradients *gradients, const struct model *model, const struct inputs *inputs,
                  const struct panel *panel, const struct gradients_options *options, struct error *err);
void gradients_release(struct gradients *gradients);

#endif
