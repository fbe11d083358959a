/*
 * Tolerances for the values of a model, from the reference's bounds: at which no right engine can fail, on
 * given inputs, and what they see.
 *
 * The expected number is that of the data set where it has one, else the reference's, rounded to its type. A
 * right answer may be as far from it as the hard bound of the element and the distance of both. Where that
 * distance is more than the bound, no right engine gives the expected number (refuted): it was printed with a
 * few digits, or it is wrong. Bounds allow for engines that compute several nodes as one. What rounding makes
 * likely (16 standard deviations of it) is kept beside: in deep models the hard bound is that of a worst case
 * that does not happen.
 */
#ifndef TOLERANCES_TOLERANCES_H
#define TOLERANCES_TOLERANCES_H

#include "bounds/precision.h"
#include "eval/evaluate.h"
#include "judge/tolerance_fit.h"

enum tolerance_basis { BASIS_HARD, BASIS_LIKELY, BASIS_COUNT };

/* One output, or the value of a node. */
struct tolerance_row {
    const char *name;
    const char *op; /* the operator that gives it; "" where none does */
    bool output;
    enum dtype type; /* DTYPE_NONE: it is no tensor of numbers */
    size_t values, unjudged;
    size_t refuted; /* expected numbers that no right engine gives */
    size_t lost;    /* those of them that no tolerance reaches: NaN, an infinity */
    struct tolerance_fit fits[BASIS_COUNT];
};

struct tolerances {
    struct arena arena;
    const struct model *model; /* borrowed */
    enum precision precision;
    size_t count, samples;
    struct tolerance_row *rows; /* in the order in which they are computed, or that of the outputs */
    struct tolerance_row all;   /* of all outputs together; only its fits and counts are set */
};

/* nodes: also of each node's values, not of the outputs alone. Release it also after a failure. */
int tolerances_init(struct tolerances *tolerances, const struct model *model, enum precision precision,
                    bool nodes, struct error *err);
/* Adds one sample. expected: the outputs of a data set in the model's order, or none. Fails with
 * ERROR_UNSUPPORTED where the model draws random numbers. */
int tolerances_add(struct tolerances *tolerances, const struct value *inputs, size_t n_inputs,
                   const struct value *expected, size_t n_expected, struct error *err);
void tolerances_finish(struct tolerances *tolerances); /* sets `all` */
void tolerances_release(struct tolerances *tolerances);

/* What is to be written for a row: the least tolerance by hard bounds where it sees errors of that share,
 * else by what is likely, where that sees them. */
struct tolerance_choice {
    enum tolerance_basis basis;
    struct tolerance least;
    double passes; /* the largest error that may pass (tolerance_passes) */
    double most;   /* tolerance_most; negative: no tolerance tells such errors from rounding */
};
/* Whether there is a choice: numbers were judged, and where some are refuted, the tolerance that covers them
 * still sees errors of that share. */
bool tolerances_has_choice(struct tolerance_row *row, double error);
/* The same for all outputs together: there are numbers, and no output has refuted ones without a choice. */
bool tolerances_has_common_choice(struct tolerances *tolerances, double error);
struct tolerance_choice tolerances_choose(struct tolerance_row *row, double error);

#endif
