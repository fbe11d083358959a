/* Tensors that hold the vectors of several heads, for Attention and RotaryEmbedding. */
#ifndef OPS_HEADS_H
#define OPS_HEADS_H

#include "ops/draw.h"

/* A tensor as [batch][head][row][element], whether it has 3 or 4 dimensions. */
struct heads {
    const struct bounded *of;
    int64_t batch, heads, rows, size;
    size_t batch_step, head_step, row_step;
};

/* The index of an element. */
size_t heads_at(const struct heads *h, int64_t batch, int64_t head, int64_t row, int64_t element);

/* Reads the sizes of an input; those of rank 3 have as many heads as the attribute count_name says. */
int heads_take(struct op_call *call, size_t input, const char *count_name, struct heads *h);

/* A number of heads that divides `of`. */
int64_t heads_draw(struct draw *d, int64_t of);

#endif
