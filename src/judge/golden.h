/*
 * Compares a result with the expected outputs that a test case brings. The comparison ends in one word, the
 * first that applies: missing (too few or too many outputs, or one of another kind), dtype, shape, nan (NaN
 * where a number is expected), wrong, pass.
 */
#ifndef JUDGE_GOLDEN_H
#define JUDGE_GOLDEN_H

#include "base/str.h"
#include "judge/metrics.h"

enum golden { GOLDEN_PASS, GOLDEN_WRONG, GOLDEN_NAN, GOLDEN_SHAPE, GOLDEN_DTYPE, GOLDEN_MISSING };

/*
 * Compares `actual` with `expected`, output by output in order. When `values` is false only kinds, types and
 * shapes count, as for an operator that is random. *why is cleared, then gets one line that says what
 * differs.
 */
enum golden golden_compare(const struct value *expected, size_t n_expected, const struct value *actual,
                           size_t n_actual, bool values, const struct metrics_tolerance *tolerance,
                           struct str *why);

#endif
