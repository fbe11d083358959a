#include "bounds/strides.h"

struct strides strides_dense(const struct shape *shape)
{
    struct strides strides = {{0}};
    size_t step = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        strides.of[i] = step;
        step *= (size_t)shape->dims[i];
    }
    return strides;
}

struct strides strides_broadcast(const struct shape *from, const struct shape *to)
{
    struct strides strides = {{0}};
    size_t step = 1;
    for (int i = from->rank - 1; i >= 0; i--) {
        strides.of[i + to->rank - from->rank] = from->dims[i] == 1 ? 0 : step;
        step *= (size_t)from->dims[i];
    }
    return strides;
}

size_t strides_at(const struct strides *strides, int rank, const int64_t *index)
{
    size_t at = 0;
    for (int i = 0; i < rank; i++)
        at += strides->of[i] * (size_t)index[i];
    return at;
}

bool odometer_next(int64_t *index, const struct shape *shape)
{
    for (int i = shape->rank - 1; i >= 0; i--) {
        if (++index[i] < shape->dims[i])
            return true;
        index[i] = 0;
    }
    return false;
}

size_t shape_span(const struct shape *shape, int from, int to)
{
    size_t span = 1;
    for (int i = from; i < to; i++)
        span *= (size_t)shape->dims[i];
    return span;
}
