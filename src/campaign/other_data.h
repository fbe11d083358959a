/*
 * A small case with other data, for experiments (campaign/experiments.h): its numbers made finite or
 * ordinary, its empty tensors filled, one word of an attribute replaced.
 *
 * The functions return a new case, which the caller frees; NULL when there is nothing to change, or when the
 * reference cannot compute the case then.
 */
#ifndef CAMPAIGN_OTHER_DATA_H
#define CAMPAIGN_OTHER_DATA_H

#include "case/test_case.h"

/* Every NaN and infinity of inputs and weights becomes 1. */
struct test_case *other_data_finite(const struct test_case *test);

/* Every element that is the lowest finite number of its type becomes 1. */
struct test_case *other_data_above_lowest(const struct test_case *test);

/* Every scalar becomes a list of one element. */
struct test_case *other_data_ranked(const struct test_case *test);

/* Every list among the inputs becomes a matrix of one row. */
struct test_case *other_data_two_dims(const struct test_case *test);

/* Every dimension of 0 becomes 2; what was empty holds ones. */
struct test_case *other_data_filled(const struct test_case *test);

/* Lists of axes, as attributes or constants, in ascending order: the operators that have them mean the same.
 */
struct test_case *other_data_axes_sorted(const struct test_case *test);

/* The operands of a single node that works on elements, written out in the shape of its result. */
struct test_case *other_data_expanded(const struct test_case *test);

/* Word number `index` of an attribute with a list of words, of a node, becomes another. */
struct test_case *other_data_word(const struct test_case *test, size_t node, const char *attribute,
                                  size_t index, const char *word);

#endif
