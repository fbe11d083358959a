/*
 * A result against the answer a test case brings. One word for each way to miss it, the first that applies:
 * outputs missing or of another kind, element type, shape, NaN where a number belongs, values.
 */
#ifndef JUDGE_GOLDEN_H
#define JUDGE_GOLDEN_H

#include "base/str.h"
#include "judge/metrics.h"

enum golden { GOLDEN_PASS, GOLDEN_WRONG, GOLDEN_NAN, GOLDEN_SHAPE, GOLDEN_DTYPE, GOLDEN_MISSING };

/*
 * Holds `actual` against `expected`, output by output in order. values false: only kinds, types and shapes
 * count (the operator is random). Says in *why, one line, what is off; *why is cleared first.
 */
enum golden golden_compare(const struct value *expected, size_t n_expected, const struct value *actual,
                           size_t n_actual, bool values, const struct metrics_tolerance *tolerance,
                           struct str *why);

#endif
