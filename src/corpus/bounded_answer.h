/*
 * The answer to a case with the hard bound of each element, for programs that know no Assay: got is right
 * where got equals the answer, or both are NaN, or |got - answer| <= bound. The answer is rounded to its
 * type, and its bound is about that rounded number. An element of which the mask is false is not judged: ONNX
 * leaves it open, reads in two ways, or its bound reaches across a jump.
 *
 * Nodes of a model may be computed as one, in any order of its factors: the bounds of a model of several
 * nodes allow for that (evaluate_options.loose).
 */
#ifndef CORPUS_BOUNDED_ANSWER_H
#define CORPUS_BOUNDED_ANSWER_H

#include "case/test_case.h"

struct bounded_output {
    struct value answer;
    struct tensor bound, mask; /* float64 and bool, of the answer's shape */
    size_t judged;
};

struct bounded_answer {
    size_t count;
    struct bounded_output *outputs;
    size_t elements, judged;
};

/*
 * Computes the answer. Fails with ERROR_UNSUPPORTED where there is none: the reference lacks an operator, an
 * output is no tensor of numbers, the model draws random numbers, or gradients are asked for; and with
 * ERROR_INVALID where the case breaks the rules of ONNX. The reference also computes the case as an engine
 * does, with every value rounded: if that were outside of the bounds, so that they were wrong, it fails with
 * ERROR_IO. The caller releases the answer, also after a failure.
 */
int bounded_answer(struct bounded_answer *answer, const struct test_case *test, struct error *err);
void bounded_answer_release(struct bounded_answer *answer);

/* Whether an element that was given passes. */
bool bounded_output_passes(const struct bounded_output *output, size_t element, long double got);

/* The number of elements of a tensor that do not pass, and the first of them; all, where type or shape
 * differ. */
size_t bounded_output_misses(const struct bounded_output *output, const struct value *got, size_t *first);

/* The least absolute tolerance that, beside `relative`, passes whatever the bounds pass. */
double bounded_answer_tolerance(const struct bounded_answer *answer, double relative);

#endif
