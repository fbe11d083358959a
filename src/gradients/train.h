/*
 * Trains a model on several engines, each by itself, and tells where they part.
 *
 * A step runs the model on one sample, computes the loss, has the loss differentiated by the engine and
 * changes the initialisers of floating-point type. Loss and update are computed here, with the same
 * arithmetic for all, so that whatever differs comes from the engine's outputs and gradients. The loss is
 * half the mean square distance of all outputs from targets that a seed gives or, with `loss`, the sum of
 * that output. At every step the reference judges the gradient, at the values that the engine's own
 * parameters have by then: the first step with a gradient outside its bounds is where the engine departs, and
 * the node is found as for any gradient (locate/gradient_node.h). The reference is trained beside the
 * engines.
 */
#ifndef GRADIENTS_TRAIN_H
#define GRADIENTS_TRAIN_H

#include "case/inputs.h"
#include "engine/panel.h"
#include "judge/verdict.h"

enum train_rule { TRAIN_SGD, TRAIN_ADAM };

struct train_options {
    size_t steps;
    enum train_rule rule;
    double rate;
    uint64_t seed;
    const char *loss; /* NULL: distance from targets */
    bool progress;
};

/* The course of one engine. */
struct train_course {
    double *losses;               /* one for each step that was made */
    size_t steps;                 /* made */
    size_t judged;                /* steps whose gradient the reference could judge */
    char ended[VERDICT_LINE];     /* why it ended before the last step; "" when it did not */
    bool departed;                /* a gradient was outside its bounds, first at this step: */
    size_t step;                  /* from 1 on */
    struct verdict verdict;       /* on that gradient */
    char where[VERDICT_LINE];     /* "Conv (node c1): the gradient by W[3] is ..." */
    char operator[60], node[120]; /* "" when no node alone is to blame */
    /* Largest difference of a parameter from the reference's, divided by the largest parameter, at the end.
     */
    double distance;
};

struct train {
    struct arena arena;
    size_t engines;               /* the reference's course is the one behind the last engine's */
    struct train_course *courses; /* engines + 1 */
    size_t parameters;            /* initialisers that are trained */
};

/* The panel has a reference. Release *train also after a failure. */
int train_run(struct train *train, const struct model *model, const struct inputs *inputs,
              const struct panel *panel, const struct train_options *options, struct error *err);
void train_release(struct train *train);

#endif
