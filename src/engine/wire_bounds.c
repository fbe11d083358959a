#include "engine/wire_bounds.h"

#include <math.h>

static int put_row(struct tensor *tensor, const struct bounded *b,
                   double (*get)(const struct bounded *, size_t), struct error *err)
{
    if (tensor_alloc(tensor, DTYPE_DOUBLE, &b->shape, 0, err))
        return -1;
    double *row = tensor->data;
    for (size_t i = 0; i < b->count; i++)
        row[i] = get(b, i);
    return 0;
}

static double exact_part(const struct bounded *b, size_t i)
{
    return (double)dtype_round(DTYPE_DOUBLE, b->value[i]);
}

static double rest_part(const struct bounded *b, size_t i)
{
    double exact = exact_part(b, i);
    return isfinite(exact) ? (double)(b->value[i] - exact) : 0;
}

int bounds_to_wire(const struct bounded *b, struct tensor *tensor, struct wire_bounds *bounds,
                   struct error *err)
{
    *bounds = (struct wire_bounds){.present = true};
    tensor_init(&bounds->exact);
    tensor_init(&bounds->rest);
    tensor_init(&bounds->hard);
    tensor_init(&bounds->likely);
    if (bounded_to_tensor(b, tensor, err))
        return -1;
    int result = 0;
    if (dtype_is_float(b->type))
        result = put_row(&bounds->exact, b, exact_part, err) || put_row(&bounds->rest, b, rest_part, err);
    result = result || put_row(&bounds->hard, b, bounded_hard, err) ||
             put_row(&bounds->likely, b, bounded_likely, err);
    if (!result)
        return 0;
    tensor_release(tensor);
    wire_bounds_release(bounds);
    return -1;
}

static bool fits(const struct tensor *row, const struct tensor *tensor)
{
    return row->type == DTYPE_DOUBLE && shape_equal(&row->shape, &tensor->shape);
}

int bounds_from_wire(struct bounded *b, const struct tensor *tensor, const struct wire_bounds *bounds,
                     struct error *err)
{
    /* Bounds of tensors without elements are not sent. */
    bool exact = dtype_is_float(tensor->type) && tensor->count > 0;
    if (!bounds->present || !fits(&bounds->hard, tensor) || !fits(&bounds->likely, tensor) ||
        (exact && (!fits(&bounds->exact, tensor) || !fits(&bounds->rest, tensor))))
        return error_set(err, ERROR_FORMAT, "the reference's bounds do not fit its value");
    if (bounded_from_tensor(b, tensor, err))
        return -1;
    const double *value = bounds->exact.data, *rest = bounds->rest.data;
    const double *hard = bounds->hard.data, *likely = bounds->likely.data;
    for (size_t i = 0; i < b->count; i++) {
        long double v = exact ? (long double)value[i] + rest[i] : b->value[i];
        bounded_set(b, i, v, hard[i], likely[i]);
    }
    return 0;
}
