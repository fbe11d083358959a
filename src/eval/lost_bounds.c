#include "eval/lost_bounds.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum {
    LOOKED_AT = 4096, /* elements of one value */
    FAR = 256,        /* times the largest element */
    FEW = 64,         /* one element in as many may have a bound that is narrower */
};

bool bounds_are_lost(const struct bounded *b)
{
    size_t step = b->count / LOOKED_AT + 1, looked = 0, narrow = 0;
    long double largest = 0;
    if (!b->hard || !b->value || !dtype_is_float(b->type))
        return false;
    for (size_t i = 0; i < b->count; i += step)
        if (isfinite(b->value[i]))
            largest = fmaxl(largest, fabsl(b->value[i]));
    for (size_t i = 0; i < b->count && narrow <= LOOKED_AT / FEW; i += step, looked++)
        narrow += !(b->hard[i] >= FAR * largest && b->hard[i] > 0);
    return narrow <= looked / FEW && looked > 0;
}

void bounds_lose(struct bounded *b)
{
    for (size_t i = 0; b->value && i < b->count; i++)
        if (!isfinite(b->value[i]))
            b->value[i] = 0;
    free(b->hard);
    b->hard = b->likely = NULL;
}

struct bounded bounds_form(const struct bounded *b)
{
    struct bounded form = *b;
    form.value = NULL;
    form.hard = form.likely = NULL;
    form.beyond = NULL;
    return form;
}

void bounds_undecide(struct bounded *b)
{
    for (size_t i = 0; b->value && i < b->count; i++)
        bounded_set(b, i, b->value[i], INFINITY, DBL_MAX);
}
