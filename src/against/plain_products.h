/*
 * Products of levels (QLinearConv, QLinearMatMul) as ONNX defines them: DequantizeLinear of both operands,
 * the product of the numbers, and QuantizeLinear of the result. Written so, weights, levels and results can
 * be told apart and matched like those of a model that was quantised with such nodes around its products.
 */
#ifndef AGAINST_PLAIN_PRODUCTS_H
#define AGAINST_PLAIN_PRODUCTS_H

#include "model/model.h"

struct plain_products {
    struct model *model; /* NULL: the model has no such products, or none that can be written so */
    size_t *origin;      /* for each of its nodes the number of the node that it was made of */
};

/* Nodes whose scales are computed, or have blocks or rows of their own, stay as they are. Release it also
 * after a failure. */
int plain_products_init(struct plain_products *plain, const struct model *model, struct error *err);
void plain_products_release(struct plain_products *plain);

#endif
