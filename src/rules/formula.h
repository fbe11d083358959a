/*
 * Formulas: an operator written with other operators, all in one element type.
 *
 * A formula notes whether every operator it uses takes the type at the model's opset; formula_end refuses it
 * otherwise, so that a rule may write the formula down without asking. Numbers must be exact in the type: a
 * rounded constant would be another function. A number that is not, such as the root of 2, is computed by
 * nodes, whose rounding the bounds then know.
 */
#ifndef RULES_FORMULA_H
#define RULES_FORMULA_H

#include "rules/rule.h"

struct formula {
    struct rewrite *rewrite;
    const Onnx__NodeProto *node; /* which the formula replaces */
    const struct bounded *x;     /* its first input */
    enum dtype type;             /* in which the formula computes */
    bool fits;                   /* the type, so far */
};

/*
 * Begins a formula for a node with a single output. False when it is not an operator of ONNX itself, when its
 * opset is older than 11, or when type and shape of its first input are not known. With `wide`, halves are
 * computed in float32: formula_input casts to it and formula_end back, which adds no rounding that the
 * operator in one piece has not.
 */
bool formula_begin(struct formula *formula, struct rewrite *rewrite, const Onnx__NodeProto *node, bool wide);

/* formula_begin for a node that may have more outputs. */
bool formula_begin_any(struct formula *formula, struct rewrite *rewrite, const Onnx__NodeProto *node,
                       bool wide);

/* An input in the type of the formula. */
const char *formula_input(struct formula *formula, size_t number);

/* The result of an operator that takes the formula's type. */
const char *formula_one(struct formula *formula, const char *op_type, const char *a);
const char *formula_two(struct formula *formula, const char *op_type, const char *a, const char *b);
const char *formula_reduce(struct formula *formula, const char *op_type, const char *a, const int64_t *axes,
                           size_t n_axes, bool keepdims);

/* condition ? a : b, element by element */
const char *formula_where(struct formula *formula, const char *condition, const char *a, const char *b);

/* A scalar. */
const char *formula_number(struct formula *formula, long double value);

/* A value in the formula's type, cast to another. */
const char *formula_cast(struct formula *formula, const char *value, enum dtype type);

/* Puts the result in the place of the node's output, cast to the type of the first input, and removes the
 * node. Returns what a rule returns: 1, or 0 when some operator did not take the type. */
int formula_end(struct formula *formula, const char *result);

/* For nodes with more outputs: gives one of them a value, of the type `type`; a result nobody wants is left
 * out. */
void formula_output(struct formula *formula, size_t number, const char *result, enum dtype type);
int formula_end_outputs(struct formula *formula);

/* The axis of an attribute, counted from the front; -1 when it is out of range. */
int formula_axis(const struct formula *formula, int64_t axis);

/* A vector along one axis of x, in a shape that broadcasts to it. */
const char *formula_along(struct formula *formula, const char *vector, int axis);

#endif
