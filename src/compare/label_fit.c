#include "compare/label_fit.h"

#include <math.h>

static const double level = 0.001;    /* of significance: labels are met more often than by chance */
static const double certainty = 1e-4; /* that less than half of all such labels are met */

void label_fit_add(struct label_fit *fit, struct arena *arena, size_t classes, size_t named, size_t label)
{
    if (!fit->classes && classes) {
        fit->classes = classes;
        fit->named = arena_array(arena, classes, sizeof *fit->named);
        fit->labels = arena_array(arena, classes, sizeof *fit->labels);
    }
    if (classes != fit->classes || named >= classes)
        return;
    fit->samples++;
    fit->met += named == label;
    fit->named[named]++;
    if (label < classes)
        fit->labels[label]++;
}

double label_fit_chance(const struct label_fit *fit)
{
    double sum = 0, samples = (double)fit->samples;
    for (size_t i = 0; i < fit->classes; i++)
        sum += (double)fit->named[i] / samples * ((double)fit->labels[i] / samples);
    return fit->samples ? sum : 0;
}

/* The probability of `least` to `most` successes in n trials of probability p. */
static double probability(size_t least, size_t most, size_t n, double p)
{
    double sum = least == 0 && p <= 0 ? 1 : 0;
    for (size_t k = least; k <= most && p > 0; k++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) +
                   (double)k * log(p) + (double)(n - k) * log1p(-p));
    return sum;
}

bool label_fit_fails(const struct label_fit *fit)
{
    size_t met = fit->met, samples = fit->samples;
    return met * 2 < samples && probability(0, met, samples, 0.5) < certainty &&
           probability(met, samples, samples, label_fit_chance(fit)) > level;
}
