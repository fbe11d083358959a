/*
 * Whether class labels belong to the samples and the model: whether the model names them more often than it
 * would name labels that have nothing to do with its inputs. Labels of another file, in another order or
 * counted from 1 do not; neither do samples whose preprocessing is not that of the training.
 *
 * By chance the model is right with a probability that follows from how often it names each class and how
 * often each class is a label. Labels that are met significantly more often than that (at a level of 0.1 %)
 * fit. Those of which half might be met do as well, so that nothing is said of fewer than 14 samples.
 */
#ifndef COMPARE_LABEL_FIT_H
#define COMPARE_LABEL_FIT_H

#include "base/arena.h"

#include <stdbool.h>

struct label_fit {
    size_t classes;         /* values of the output; 0: no sample yet */
    size_t samples, met;    /* all, and those whose label is the first class */
    size_t *named, *labels; /* for each class: how often the engine names it, how often it is the label */
};

/* Adds a sample, with the class that the engine names. Samples with another number of classes do not count.
 */
void label_fit_add(struct label_fit *fit, struct arena *arena, size_t classes, size_t named, size_t label);

/* The share of labels that would be met by chance. */
double label_fit_chance(const struct label_fit *fit);

/* Whether the labels do not fit. */
bool label_fit_fails(const struct label_fit *fit);

#endif
