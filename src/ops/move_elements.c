#include "ops/move_elements.h"

#include <string.h>

void move_run(struct bounded *out, size_t at, const struct bounded *in, size_t from, size_t count)
{
    if (!count)
        return;
    if (!in->hard && !out->hard) {
        memcpy(out->value + at, in->value + from, count * sizeof *out->value);
        return;
    }
    for (size_t i = 0; i < count; i++)
        bounded_move(out, at + i, in, from + i);
}

void move_all(struct bounded *out, const struct bounded *in)
{
    move_run(out, 0, in, 0, out->count);
}

/* Moves exact elements of one row of the last axis. */
static void move_row(struct bounded *out, size_t at, size_t count, const struct bounded *in, int64_t from,
                     int64_t step)
{
    for (size_t i = 0; i < count; i++, from += step)
        out->value[at + i] = bounded_value(in, (size_t)from);
}

void move_strided(struct bounded *out, const struct bounded *in, int64_t base, const int64_t *steps)
{
    int64_t index[TENSOR_MAX_RANK] = {0};
    int last = out->shape.rank - 1;
    size_t row = 1;
    if (last >= 0 && !in->hard && !out->hard && !out->beyond)
        row = (size_t)out->shape.dims[last--];
    for (size_t i = 0; i < out->count; i += row) {
        if (row > 1)
            move_row(out, i, row, in, base, steps[out->shape.rank - 1]);
        else
            bounded_move(out, i, in, (size_t)base);
        /* An odometer that also keeps the offset. */
        for (int axis = last; axis >= 0; axis--) {
            base += steps[axis];
            if (++index[axis] < out->shape.dims[axis])
                break;
            base -= steps[axis] * out->shape.dims[axis];
            index[axis] = 0;
        }
    }
}

int move_reshaped(struct op_call *call, const struct bounded *in, const struct shape *shape)
{
    struct bounded *out = call_output(call, 0, in->type, shape);
    if (!out)
        return -1;
    if (out->count != in->count)
        return call_invalid(call, "%zu elements cannot be reshaped to %zu", in->count, out->count);
    if (!call->shapes_only)
        move_all(out, in);
    return 0;
}

int move_axes(struct op_call *call, size_t index, int since_input, int rank, int *axes, size_t *count,
              bool *given)
{
    int64_t list[TENSOR_MAX_RANK];
    if (call->opset >= since_input) {
        *given = call_input(call, index) != NULL;
        if (*given && call_int_list(call, index, list, TENSOR_MAX_RANK, count))
            return -1;
    } else {
        const int64_t *ints = call_ints(call, "axes", count);
        *given = ints != NULL;
        if (*count > TENSOR_MAX_RANK)
            return call_invalid(call, "there are %zu axes", *count);
        if (ints)
            memcpy(list, ints, *count * sizeof *list);
    }
    unsigned seen = 0;
    for (size_t i = 0; *given && i < *count; i++) {
        if (call_axis(call, list[i], rank, &axes[i]))
            return -1;
        if (seen & 1U << axes[i])
            return call_invalid(call, "axis %d is given twice", axes[i]);
        seen |= 1U << axes[i];
    }
    return 0;
}
