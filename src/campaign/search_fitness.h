/*
 * What the engines' answers to one sample mean for a search: how near it is to its goal.
 *
 * The measures of the paper (Guo et al., Audee, ASE 2020) are the mean distance of the logits of two engines
 * and the greatest minus the least logit of one. Ours know more: how near the two best classes are to each
 * other, measured by how far the engines are apart; and how far an answer is beyond its likely error bound.
 *
 * Logits are the elements of the first output. Where they are confidences (not negative, with the sum 1)
 * their logarithms are taken, which are the inputs of the Softmax but for a constant.
 */
#ifndef CAMPAIGN_SEARCH_FITNESS_H
#define CAMPAIGN_SEARCH_FITNESS_H

#include "trial/trial.h"

enum search_goal {
    SEARCH_INCONSISTENCY, /* two engines give different top classes */
    SEARCH_NAN,           /* an answer is NaN or infinite */
    SEARCH_BOUND,         /* an answer is outside its error bound */
};

enum search_fitness {
    SEARCH_OURS,
    SEARCH_PAPER,
    SEARCH_RANDOM, /* nothing is bred: every genome is fresh noise */
};

const char *search_goal_name(enum search_goal goal);          /* "inconsistency" ... */
const char *search_fitness_name(enum search_fitness fitness); /* "ours" ... */

/* The answers to one sample, all borrowed. */
struct search_sample {
    size_t n_engines;
    const struct result *results;
    const struct result *reference; /* NULL: not asked, or it gave no answer */
    const struct verdict *verdicts;
};

enum { SEARCH_LOGITS = 4096 }; /* more elements of an output are not looked at */

/* What was seen in them. */
struct search_seen {
    bool answered;     /* some engine did */
    bool inconsistent; /* the paper's: the top class of one engine is strictly lower on another */
    bool strange;      /* an engine's answer has a NaN or an infinity */
    bool expected;     /* and so does the reference's */
    double distance;   /* largest mean distance between two engines, or an engine and the reference */
    double spread;     /* largest difference of two logits of one engine */
    double closeness;  /* how far engines are apart, divided by the margin between the two top classes */
    double deviations; /* largest of the verdicts' */
    size_t n_logits;   /* 0: no engine gave numbers */
    double *logits;    /* the mean over the engines; heap, the caller frees it */
    size_t n_added;    /* engines that it is of */
};
void search_see(struct search_seen *seen, const struct search_sample *sample);

/* The fitness for genetic_rate; SEARCH_RANDOM is rated like SEARCH_PAPER. */
double search_rate(const struct search_seen *seen, enum search_goal goal, enum search_fitness fitness);

/* Whether the sample reaches the goal. The judge decides about bounds; the other two are the paper's. */
bool search_reaches(const struct search_seen *seen, enum search_goal goal);

#endif
