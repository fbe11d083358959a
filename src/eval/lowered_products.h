/*
 * Bounds for engines that compute several nodes as one (evaluate_options.loose) and round on the way to fewer
 * bits than the type has: the product of a value and weights that another node makes from codes of a few bits
 * (DequantizeLinear). The codes are multiplied as they are, and the other operand is rounded to eight bits in
 * blocks before. ONNX does not say so, but the engine's own documents do, of one of its settings.
 */
#ifndef EVAL_LOWERED_PRODUCTS_H
#define EVAL_LOWERED_PRODUCTS_H

#include "ops/op.h"

/* Which nodes: names of operators with '|' between them. The product has the weights as its second input. */
struct lowered_products {
    const char *makers, *products;
};

/* How an engine computes, as far as its bounds depend on that. Zero: each node by itself, by any algorithm.
 */
struct arithmetic {
    bool fuses;         /* several nodes as one, by another formula (evaluate_options.loose) */
    bool direct;        /* convolutions never by Winograd's algorithm (evaluate_options.direct) */
    bool nans_left_out; /* the other reading of what ONNX does not say (evaluate_options.nans_left_out) */
    const struct lowered_products *lowered; /* products in fewer bits than their type has; NULL: none */
};

/* Whether a list with '|' between its words has the word. */
bool lowered_lists(const char *list, const char *word);

/* What is to be known of weights. */
struct codes {
    long double most; /* the largest code and zero point together, times the largest scale; 0: not such */
    int64_t block;    /* elements with a scale of their own; 0: not known */
};

/* Of the first output of a node that was just computed. */
struct codes codes_of(const struct lowered_products *lowered, const struct op_call *call);

/* Both operands of a product with such weights, as such an engine has them. `loosened` has room for two,
 * which the caller releases; inputs[0] and inputs[1] then point there. Other nodes are left alone. */
int lower_operands(const struct lowered_products *lowered, const Onnx__NodeProto *node,
                   const struct codes *weights, const struct bounded **inputs, struct bounded *loosened,
                   struct error *err);

#endif
