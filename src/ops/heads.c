#include "ops/heads.h"

#include <inttypes.h>

size_t heads_at(const struct heads *h, int64_t batch, int64_t head, int64_t row, int64_t element)
{
    return (size_t)batch * h->batch_step + (size_t)head * h->head_step + (size_t)row * h->row_step +
           (size_t)element;
}

int heads_take(struct op_call *call, size_t input, const char *count_name, struct heads *h)
{
    const struct bounded *x = call_need(call, input);
    if (!x)
        return -1;
    const int64_t *dims = x->shape.dims;
    h->of = x;
    h->batch = x->shape.rank ? dims[0] : 0;
    if (x->shape.rank == 4) {
        int64_t said = call_int(call, count_name, 0);
        h->heads = dims[1];
        if (said && said != h->heads)
            return call_invalid(call, "%s is %" PRId64 ", but the input has %" PRId64 " heads", count_name,
                                said, h->heads);
        h->rows = dims[2];
        h->size = dims[3];
        h->row_step = (size_t)h->size;
        h->head_step = (size_t)(h->rows * h->size);
    } else if (x->shape.rank == 3) {
        h->heads = call_int(call, count_name, 0);
        if (h->heads < 1 || dims[2] % h->heads)
            return call_invalid(call, "%s %" PRId64 " does not divide %" PRId64, count_name, h->heads,
                                dims[2]);
        h->rows = dims[1];
        h->size = dims[2] / h->heads;
        h->row_step = (size_t)dims[2];
        h->head_step = (size_t)h->size;
    } else {
        return call_invalid(call, "input %zu has rank %d instead of 3 or 4", input, x->shape.rank);
    }
    h->batch_step = x->shape.rank == 4 ? shape_span(&x->shape, 1, 4) : shape_span(&x->shape, 1, 3);
    return 0;
}

int64_t heads_draw(struct draw *d, int64_t of)
{
    int64_t divisor = draw_between(d, 1, of);
    while (of % divisor)
        divisor--;
    return divisor;
}
