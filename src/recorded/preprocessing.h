/*
 * Mistakes of preprocessing: ways in which the inputs of two runs of one model differ though their maker
 * thought them the same. Each turns the data at hand into what the other run may have been given.
 */
#ifndef RECORDED_PREPROCESSING_H
#define RECORDED_PREPROCESSING_H

#include "tensor/tensor.h"

/* An order of elements, and what is done to each number after that. Both 0: nothing. */
struct preprocessing {
    size_t order, scale;
};

size_t preprocessing_orders(void);
size_t preprocessing_scales(void);

/* "with its colours as BGR in place of RGB, and multiplied by 255": what the other run was given, of the
 * data. */
void preprocessing_text(const struct preprocessing *mistake, char *text, size_t size);

/* The data as the other run had it, a tensor of the same type and shape that the caller releases. False when
 * it makes no sense for such a tensor, or changes nothing. */
bool preprocessing_apply(const struct preprocessing *mistake, const struct tensor *data,
                         struct tensor *other);

#endif
