/*
 * Value classes of an operator's parameters, for attribute-pair coverage.
 *
 * Class 0 is "left out", or not there at the node's opset. Given values of a parameter with a list of legal
 * ones have a class each, and one more for what the list does not name; a range of integers has a class for
 * each, a range of other numbers one for each half; a parameter without legal values has one class. An input
 * that acts as a parameter has two: constant and computed. A list of numbers that are all alike counts as
 * that number.
 */
#ifndef GUIDE_COVERAGE_PARAM_H
#define GUIDE_COVERAGE_PARAM_H

#include "ops/op.h"

enum param_input { PARAM_INPUT_OMITTED, PARAM_INPUT_CONSTANT, PARAM_INPUT_COMPUTED };

/* How many classes of given values there are; they are numbered 1 to this. */
unsigned param_classes(const struct op_param *param);

/* Whether the parameter can be left out, as far as its row tells. */
bool param_optional(const struct op_param *param);

/* The class of an attribute as it stands at the node. */
unsigned param_class(const struct op_param *param, const Onnx__NodeProto *node);

#endif
