/*
 * A small case that was changed for an experiment (diagnose/table.h): its numbers made finite or ordinary,
 * its empty tensors filled, its axes written in another way.
 *
 * The functions return a new case, which the caller frees; NULL when there is nothing to change, or when the
 * reference cannot compute the case then.
 */
#ifndef DIAGNOSE_CHANGED_CASE_H
#define DIAGNOSE_CHANGED_CASE_H

#include "case/test_case.h"

/* How the cases are made: changed_begin copies the case, and its model may be edited; changed_declare_inputs
 * declares the inputs as they are now; changed_finish declares the outputs. It frees the case and returns
 * NULL when nothing was changed, or when the reference cannot compute it. */
struct test_case *changed_begin(const struct test_case *test, struct model **model);
void changed_declare_inputs(struct model *model, const struct test_case *changed);
struct test_case *changed_finish(struct test_case *changed, bool was_changed);

/* Gives an input of the case its value; the second adds such an input to the model as well. */
int changed_feed(struct test_case *changed, const char *name, const struct tensor *tensor);
int changed_add_input(struct test_case *changed, struct model *model, const char *name,
                      const struct tensor *tensor);

/* Changes tensors in place: all inputs and constants, those of bodies included. `change` tells whether there
 * was anything to change. */
typedef bool change_tensor(struct tensor *tensor);
struct test_case *changed_tensors(const struct test_case *test, change_tensor *change);

/* Changes only inputs, or constants, of the graph itself, and of them those that `chosen` accepts; NULL:
 * all. */
typedef bool choose_value(const struct model *model, const char *name);
bool changed_inputs(struct test_case *changed, struct model *model, choose_value *chosen,
                    change_tensor *change);
bool changed_constants(struct model *model, choose_value *chosen, change_tensor *change);

/* The rank of an input or constant of the case; -1 of what a node makes. */
int changed_rank_of(const struct test_case *test, const char *name);

/* Returns the changed case when by the reference it gives the same results as the first, or, for the second
 * function, the same elements in whatever shapes. Otherwise frees it and returns NULL. It may be NULL. */
struct test_case *changed_if_same(const struct test_case *test, struct test_case *changed);
struct test_case *changed_if_same_elements(const struct test_case *test, struct test_case *changed);

/* Whether both give the same elements when all inputs and constants hold numbers that differ. Reduced cases
 * hold zeros, with which much gives the same. */
bool changed_mean_the_same(const struct test_case *a, const struct test_case *b);

/* Every NaN and infinity of inputs and weights becomes 1. */
struct test_case *changed_finite(const struct test_case *test);

/* Every element that is the lowest finite number of its type, or lower, becomes 1. */
struct test_case *changed_above_lowest(const struct test_case *test);

/* Every such element becomes the largest of its type, and -infinity infinity. */
struct test_case *changed_largest(const struct test_case *test);

/* Every finite number so large that its square is infinite becomes 2.7 or -2.7. */
struct test_case *changed_moderate(const struct test_case *test);

/* Every scalar becomes a list of one element. */
struct test_case *changed_ranked(const struct test_case *test);

/* All inputs of floating point get small numbers that differ from their neighbours. */
struct test_case *changed_counted(const struct test_case *test);

/* Every dimension of 0 becomes 2; what was empty holds ones. */
struct test_case *changed_filled(const struct test_case *test);

/* Operands of a single node are written out in the shape of the result: all of a node that works on elements,
 * otherwise optional ones, such as what Gemm adds. */
struct test_case *changed_expanded(const struct test_case *test);

/* A single node without its optional outputs. */
struct test_case *changed_fewer_outputs(const struct test_case *test);

/* In a node's attribute that is a list of words, word number `index` becomes another wherever it stands. */
struct test_case *changed_word(const struct test_case *test, size_t node, const char *attribute, size_t index,
                               const char *word);

/* Axes, given as attributes, constants or inputs, are put in ascending order, or are counted from the front
 * where they were counted from the back. NULL as well where the node would mean something else. */
struct test_case *changed_axes_sorted(const struct test_case *test);
struct test_case *changed_axes_forward(const struct test_case *test);

/* Slices that go backwards go forward, over all of their axes. */
struct test_case *changed_steps_forward(const struct test_case *test);

/* The equation of a single Einsum keeps in its result the letters that it summed within one operand. NULL as
 * well where the result is a scalar. */
struct test_case *changed_letters_kept(const struct test_case *test);

/* Equations name the dimensions of their operands. Those of operands that became matrices of one row in the
 * changed case get one more letter, and so does the result. */
void changed_name_rows(const struct test_case *test, const struct test_case *changed, struct model *model);

#endif
