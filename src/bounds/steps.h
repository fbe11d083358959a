/*
 * Values that were rounded to a few steps on the way: one of 255 steps of the largest element of their block,
 * as engines do that multiply in eight bits.
 */
#ifndef BOUNDS_STEPS_H
#define BOUNDS_STEPS_H

#include "bounds/bounded.h"

/*
 * Copies `from` into *out with the bounds of such a rounding. Rows of `row` elements are cut into blocks of
 * `block`; the last one of a row may be shorter. NaN, infinities and numbers near the largest one spread over
 * their block, which is undecided then.
 */
int bounded_in_steps(struct bounded *out, const struct bounded *from, size_t row, size_t block,
                     struct error *err);

/* The same of one block, the elements from `first` to before `last`, in place. */
void bounded_blur(struct bounded *b, size_t first, size_t last);

#endif
