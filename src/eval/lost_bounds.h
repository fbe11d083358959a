/*
 * Bounds that have grown so far beyond the values of a deep model that they tell nothing of its answer.
 *
 * They never become narrow again, and to carry them through the rest of a large model costs more than all
 * else. So such a value loses its bounds: the nodes that read it compute values alone, their results have no
 * bounds either, and what reaches an output is undecided there. Where nobody looks at the numbers of such
 * elements (evaluate_options.only_judged), they are 0 instead, and most nodes need not be computed. What does
 * not depend on the elements (Shape) stays exact.
 */
#ifndef EVAL_LOST_BOUNDS_H
#define EVAL_LOST_BOUNDS_H

#include "bounds/bounded.h"

/* Whether the bounds of nearly all elements are far larger than any element. Looks at some elements. */
bool bounds_are_lost(const struct bounded *b);

/* Drops the bounds. What is no number becomes 0, as it is not known to be none. */
void bounds_lose(struct bounded *b);

/* The same value without its elements, for kernels that are asked only for shapes. It borrows; nothing is to
 * be released. */
struct bounded bounds_form(const struct bounded *b);

/* Makes every element undecided. */
void bounds_undecide(struct bounded *b);

#endif
