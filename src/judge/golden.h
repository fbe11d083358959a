/*
 * Compares a result with the expected outputs that a test case brings. The comparison ends in one word, the
 * first that applies: missing (too few or too many outputs, or one of another kind), dtype, shape, nan (NaN
 * where a number is expected), wrong, pass.
 */
#ifndef JUDGE_GOLDEN_H
#define JUDGE_GOLDEN_H

#include "base/str.h"
#include "judge/metrics.h"
#include "judge/verdict.h"

enum golden { GOLDEN_PASS, GOLDEN_WRONG, GOLDEN_NAN, GOLDEN_SHAPE, GOLDEN_DTYPE, GOLDEN_MISSING };

/* What a case expects of a model's outputs. */
struct expected {
    size_t count;
    const struct value *values;
    const size_t *places;      /* which output each is; NULL: the first is output 0 and so on */
    const struct value *masks; /* one for each: false where an element is not compared (test_case.masks) */
};
static inline size_t expected_place(const struct expected *expected, size_t number)
{
    return expected->places ? expected->places[number] : number;
}

/*
 * Compares `actual` with `expected`, output by output. When `values` is false only kinds, types and
 * shapes count, as for an operator that is random. *why is cleared, then gets one line that says what
 * differs.
 */
enum golden golden_compare(const struct expected *expected, const struct value *actual, size_t n_actual,
                           bool values, const struct metrics_tolerance *tolerance, struct str *why);

/* The verdict that says the same. */
enum verdict_kind golden_verdict(enum golden golden);

#endif
