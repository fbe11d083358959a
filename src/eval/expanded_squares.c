#include "eval/expanded_squares.h"

#include "base/str.h"
#include "bounds/sum.h"

#include <math.h>

/* The largest magnitude of each element of `from`, times `sign`. */
static int absolute(struct bounded *to, const struct bounded *from, int sign, struct error *err)
{
    if (bounded_alloc(to, from->type, &from->shape, false, err))
        return -1;
    for (size_t i = 0; i < from->count; i++)
        bounded_set(to, i, sign * (fabsl(from->value[i]) + bounded_hard(from, i)), 0, 0);
    return 0;
}

static size_t terms_of(size_t a, size_t b)
{
    size_t more = a > b ? a : b, fewer = a > b ? b : a;
    return fewer ? more / fewer : 1;
}

int parts_of(struct parts *parts, const struct op_call *call)
{
    *parts = (struct parts){.terms = 1};
    bounded_init(&parts->sizes);
    if (!(call->op->flags & OP_SUBTRACTS) || !dtype_is_float(call->outputs[0].type) || call->shapes_only)
        return 0;
    struct bounded sizes[2];
    bounded_init(&sizes[0]);
    bounded_init(&sizes[1]);
    int status = absolute(&sizes[0], call->inputs[0], 1, call->err);
    if (!status)
        status = absolute(&sizes[1], call->inputs[1], -1, call->err);
    struct op_call sum = *call;
    sum.inputs = (const struct bounded *const[]){&sizes[0], &sizes[1]};
    sum.n_outputs = 1;
    sum.outputs = &parts->sizes;
    if (!status)
        status = sum.op->eval(&sum);
    parts->terms = terms_of(sizes[0].count, sizes[1].count);
    bounded_release(&sizes[0]);
    bounded_release(&sizes[1]);
    return status;
}

void parts_release(struct parts *parts)
{
    bounded_release(&parts->sizes);
}

bool is_square(const struct op_call *call)
{
    if (call->op->flags & OP_MULTIPLIES)
        return text_equal(call->node->input[0], call->node->input[1]);
    const struct bounded *exponent = call->op->flags & OP_RAISES ? call->inputs[1] : NULL;
    return exponent && exponent->value && exponent->count == 1 && exponent->value[0] == 2;
}

/* The bound of each element is that of a variance computed in one pass (normalize.c). */
void loosen_square(struct bounded *square, const struct parts *parts)
{
    const struct bounded *sizes = &parts->sizes;
    double unit = bounded_unit(square);
    long double growth = 4 * rounding_growth(unit, parts->terms + 3);
    long double likely = unit * (1 + sqrtl((long double)parts->terms) / 2);
    if (sizes->type != square->type || !square->value || !shape_equal(&sizes->shape, &square->shape))
        return;
    for (size_t i = 0; i < square->count; i++) {
        long double apart = sizes->value[i] * sizes->value[i];
        if (!(apart * (long double)parts->terms < dtype_highest(square->type)))
            bounded_put_undecided(square, i, square->value[i]);
        else
            bounded_set(square, i, square->value[i], (double)(bounded_hard(square, i) + growth * apart),
                        (double)likely_add(bounded_likely(square, i), likely * apart));
    }
}
