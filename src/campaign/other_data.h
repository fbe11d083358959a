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

/* How the cases are made: a case of its own with the same inputs, whose model may be edited until it is
 * finished; inputs declared as they are now; and the outputs declared. The last frees the case and gives NULL
 * when nothing was changed, or the reference cannot compute it. */
struct test_case *other_data_begin(const struct test_case *test, struct model **model);
void other_data_declare_inputs(struct model *model, const struct test_case *other);
struct test_case *other_data_finish(struct test_case *other, const struct model *model, bool changed);

/* Whether both cases must give the same; or the same elements, in whatever shapes. */
bool other_data_same_results(const struct test_case *a, const struct test_case *b);
bool other_data_same_elements(const struct test_case *a, const struct test_case *b);

/* The latter with numbers that tell in all inputs and constants: reduced cases hold zeros. */
bool other_data_mean_the_same(const struct test_case *a, const struct test_case *b);

/* Whether a node takes the value as a parameter, such as axes, and not as data. */
bool other_data_is_parameter(const struct model *model, const char *name);

/* Makes a matrix of one row, or column, of every list among inputs and constants that is no parameter; false
 * when there is none. */
bool other_data_make_matrices(struct test_case *other, struct model *model, bool columns);

/* Every NaN and infinity of inputs and weights becomes 1. */
struct test_case *other_data_finite(const struct test_case *test);

/* Every element that is the lowest finite number of its type, or lower, becomes 1. */
struct test_case *other_data_above_lowest(const struct test_case *test);

/* Every such element becomes the largest of its type, and -infinity infinity. */
struct test_case *other_data_largest(const struct test_case *test);

/* Every finite number so large that its square is infinite becomes 2.7 or -2.7. */
struct test_case *other_data_moderate(const struct test_case *test);

/* Every scalar becomes a list of one element. */
struct test_case *other_data_ranked(const struct test_case *test);

/* Every list among the inputs that is no parameter, such as axes, becomes a matrix of one row; and with them
 * the constants, where all are lists. */
struct test_case *other_data_two_dims(const struct test_case *test);
struct test_case *other_data_all_two_dims(const struct test_case *test);

/* Every list among the inputs and constants that is no parameter becomes a matrix of one row. */
struct test_case *other_data_rows(const struct test_case *test);

/* Which lists are changed: those among inputs, constants with them, and indices with both, which are a
 * parameter. */
enum list_choice { LISTS_INPUTS, LISTS_CONSTANTS, LISTS_INDICES };

/* The same with one column. *computed: the reference can compute the case; else it is made all the same, and
 * its outputs stay declared as they were. */
struct test_case *other_data_columns(const struct test_case *test, enum list_choice which, bool *computed);

/* Every tensor that is no scalar and no parameter gets a dimension of 1 more, the first or the last, so that
 * lists are none any more and all else is brought together as before; indices: these, too. It gives the same
 * elements; NULL when it does not, or there is no list. */
struct test_case *other_data_deeper(const struct test_case *test, bool first, bool indices);

/* Small numbers that differ from their neighbours in the place of all inputs of floating point. */
struct test_case *other_data_counted(const struct test_case *test);

/* Every dimension of 0 becomes 2; what was empty holds ones. */
struct test_case *other_data_filled(const struct test_case *test);

/* An Einsum that gives the letters, too, which it sums within one operand; no other node, and no scalar. */
struct test_case *other_data_letters_kept(const struct test_case *test);

/* Lists of axes, as attributes or constants, in ascending order: the operators that have them mean the same.
 */
struct test_case *other_data_axes_sorted(const struct test_case *test);

/* Axes that are counted from the back, counted from the front. */
struct test_case *other_data_axes_forward(const struct test_case *test);

/* Slices that go backwards go forward, over all of their axes. */
struct test_case *other_data_steps_forward(const struct test_case *test);

/* The operands of a single node that works on elements, or what a Gemm adds, written out in the shape of the
 * result. */
struct test_case *other_data_expanded(const struct test_case *test);

/* A single node without the outputs that it can do without. */
struct test_case *other_data_fewer_outputs(const struct test_case *test);

/* Word number `index` of an attribute with a list of words, of a node, becomes another, wherever it stands.
 */
struct test_case *other_data_word(const struct test_case *test, size_t node, const char *attribute,
                                  size_t index, const char *word);

#endif
