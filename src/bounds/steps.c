#include "bounds/steps.h"

#include "bounds/number.h"

#include <float.h>
#include <math.h>

/* What rounding to one of 255 steps of the largest element of a block loses. Where the step is no normal
 * number its inverse may be infinite: the block may vanish, or become the largest on either side. */
static long double lost_in_steps(long double most)
{
    long double step = most / 127;
    return step < FLT_MIN ? 3 * most : step;
}

void bounded_blur(struct bounded *out, size_t first, size_t last)
{
    long double most = 0;
    for (size_t i = first; i < last; i++)
        most = fmaxl(most, fabsl(out->value[i]) + bounded_hard(out, i));
    long double lost = lost_in_steps(most);
    bool strays = !isfinite(lost) || !(most < dtype_highest(DTYPE_FLOAT) / 0x1p40L);
    for (size_t i = first; i < last; i++)
        if (strays || !isfinite(out->value[i]))
            bounded_put_undecided(out, i, 0);
        else
            bounded_set(out, i, out->value[i], (double)(bounded_hard(out, i) + lost * 1.001L),
                        (double)likely_add(bounded_likely(out, i), lost / 3));
}

int bounded_in_steps(struct bounded *out, const struct bounded *from, size_t row, size_t block,
                     struct error *err)
{
    if (bounded_copy(out, from, err))
        return -1;
    for (size_t start = 0; out->value && row && start < out->count; start += row)
        for (size_t first = start; first < start + row; first += block)
            bounded_blur(out, first, first + block < start + row ? first + block : start + row);
    return 0;
}
