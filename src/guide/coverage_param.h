/*
 * Classes of parameter values, for coverage of pairs of attribute values.
 *
 * Class 0 means "left out", or that the parameter does not exist at the opset of the node. A parameter with a
 * list of legal values has a class for each, and one more for all other values; a range of integers has a
 * class for each integer, a range of other numbers one for each half; a parameter without legal values has
 * one class. An input that acts as a parameter has two: constant and computed. A list of equal numbers counts
 * as that number.
 */
#ifndef GUIDE_COVERAGE_PARAM_H
#define GUIDE_COVERAGE_PARAM_H

#include "ops/op.h"

enum param_input { PARAM_INPUT_OMITTED, PARAM_INPUT_CONSTANT, PARAM_INPUT_COMPUTED };

/* The number of classes of given values; they are numbered from 1. */
unsigned param_classes(const struct op_param *param);

/* Whether the parameter can be left out, according to its row. */
bool param_optional(const struct op_param *param);

/* The class of the value that an attribute has at the node. */
unsigned param_class(const struct op_param *param, const Onnx__NodeProto *node);

#endif
