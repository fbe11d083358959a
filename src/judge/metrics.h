/*
 * Published measures of the distance between two engines' answers. They are reported beside the verdicts.
 *
 * Class and MAD distance, their thresholds and the inconsistency pattern follow CRADLE (Pham, Lutellier, Qi,
 * Tan: ICSE 2019): how far the answers of two engines to one model are from the ground truth.
 *
 * NaN and infinity are handled before any sum, because one of them would hide everything else. When both
 * sides have the same infinity, or both have NaN, they agree and are left out; any other non-finite value
 * counts as the largest distance that the measure has. Acceptance is written positively (`error <=
 * tolerance`), so that a NaN anywhere fails it.
 */
#ifndef JUDGE_METRICS_H
#define JUDGE_METRICS_H

#include "tensor/tensor.h"

/* What is in a tensor. min, max and mean are over the finite elements, NaN when there are none. */
struct metrics_summary {
    size_t count, nan, inf;
    double min, max, mean;
};
void metrics_summarize(const struct tensor *tensor, struct metrics_summary *summary);

/* The tensor's elements as doubles on the heap; false for strings and complex numbers, which have none. */
bool metrics_load(const struct tensor *tensor, double **values, size_t *count);

/*
 * The position (from 1) of class `truth` when the confidences are sorted from the greatest down; equal ones
 * keep their order, NaN comes last. count + 1 when the class does not exist or its confidence is NaN.
 */
size_t metrics_rank(const double *confidence, size_t count, size_t truth);

/* 2^(k - rank), or 0 beyond the first k. */
double metrics_class_score(const double *confidence, size_t count, size_t truth, int k);
double metrics_class_distance(const double *a, const double *b, size_t count, size_t truth, int k);

/* |d(Y,O) - d(Y',O)| / (d(Y,O) + d(Y',O)), 0 when both are zero; d is the mean of |Y - O|. */
double metrics_mad_distance(const double *a, const double *b, const double *truth, size_t count);

/* The class with the greatest confidence; count when there is no number. */
size_t metrics_top(const double *confidence, size_t count);

/* CRADLE's settings; the paper's own are the defaults. */
struct metrics_thresholds {
    int k;          /* 5 */
    double class;   /* T_C, 8 */
    double mad;     /* T_M, 0.2 */
    double percent; /* p, 0 */
};
extern const struct metrics_thresholds metrics_cradle;

/* The pattern: how often each range of distances was seen. Greatest distance first. */
enum { METRICS_CLASS_BINS = 6, METRICS_MAD_BINS = 5 };
extern const char *const metrics_class_bin_name[METRICS_CLASS_BINS]; /* "16", "15-8" ... "0" */
extern const char *const metrics_mad_bin_name[METRICS_MAD_BINS];     /* "0.8-1.0" ... "0.0-0.2" */

/*
 * One pair of engines over a data set. With k other than 5 the greatest score is 2^(k-1); the pattern keeps
 * the paper's bins, and everything from 16 on falls into the first.
 */
struct metrics_pattern {
    size_t samples;
    size_t triggering; /* distance >= threshold */
    double largest;
    size_t worst; /* the sample with the largest distance, the first of equal ones */
    size_t class_bins[METRICS_CLASS_BINS], mad_bins[METRICS_MAD_BINS];
};
void metrics_pattern_class(struct metrics_pattern *pattern, size_t sample, double distance,
                           const struct metrics_thresholds *thresholds);
void metrics_pattern_mad(struct metrics_pattern *pattern, size_t sample, double distance,
                         const struct metrics_thresholds *thresholds);

/* At least p percent of the samples, and at least one, trigger. */
bool metrics_inconsistent(const struct metrics_pattern *pattern, const struct metrics_thresholds *thresholds);

/*
 * Element by element, b against a. Both must have the same type and shape. A relative error is
 * |a - b| / |a|; where a is 0 it is 0 or infinite.
 */
struct metrics_tolerance {
    double rtol, atol;
    double scale; /* also allow this part of the largest finite magnitude in a; 0: do not */
};
extern const struct metrics_tolerance
    metrics_conformance; /* 1e-3, 1e-5, 1e-5: the tolerance for ONNX's own test cases */
extern const struct metrics_tolerance
    metrics_eagle; /* 1e-5, 1e-2: for equivalent models (EAGLE, ICSE 2022) */

struct metrics_difference {
    size_t count;
    size_t beyond;           /* elements outside the tolerance; a lone NaN or infinity is always outside */
    size_t nan_mismatch;     /* NaN on one side only */
    size_t inf_mismatch;     /* an infinity against something else */
    double max_abs, max_rel; /* over pairs of finite numbers */
    double ratio;            /* part of the elements with a relative error of at most 0.1 % */
    size_t worst; /* the element farthest beyond its tolerance, or with the largest error when all are within
                     it */
    double worst_a, worst_b;
    bool close; /* beyond == 0 */
};

/*
 * The data comparison of graph-based fuzzing (Luo et al., ICSE 2021): passes when at least 99.9 % of the
 * elements are within 0.1 % relative error. An empty tensor passes.
 */
#define METRICS_RATIO_ERROR 1e-3
#define METRICS_RATIO_PASS 0.999

/*
 * Integers, bools and strings must be equal whatever the tolerance. Strings count as one element each.
 */
void metrics_compare(const struct tensor *a, const struct tensor *b,
                     const struct metrics_tolerance *tolerance, struct metrics_difference *difference);

/* For each element of two tensors of real numbers, whether it is outside the tolerance; on the heap. */
bool *metrics_outside(const struct tensor *a, const struct tensor *b,
                      const struct metrics_tolerance *tolerance);

#endif
