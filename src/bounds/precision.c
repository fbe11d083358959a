#include "bounds/precision.h"

#include "bounds/number.h"
#include "bounds/steps.h"

#include <math.h>

/* How a precision rounds: `unit` is the distance of two neighbours of 1, `least` that of those of 0. */
struct grid {
    const char *name;
    long double unit, least, most;
};

static const struct grid grids[] = {
    [PRECISION_OWN] = {.name = "own"},
    [PRECISION_TF32] = {"tf32", 0x1p-10L, 0, INFINITY},
    /* Subnormals of both may be read as 0. */
    [PRECISION_FLOAT16] = {"float16", 0x1p-10L, 0x1p-14L, 65504},
    [PRECISION_BFLOAT16] = {"bfloat16", 0x1p-7L, 0, INFINITY},
    [PRECISION_INT8] = {.name = "int8"},
};

const char *precision_name(enum precision precision)
{
    return grids[precision].name;
}

bool precision_of_operands(enum precision precision)
{
    return precision == PRECISION_TF32;
}

/* Whether the number is one of the precision, so that reading it changes nothing. */
static bool is_held(const struct grid *grid, long double value)
{
    int exponent;
    long double mantissa = 2 * frexpl(value, &exponent) / grid->unit;
    return value == 0 || (fabsl(value) >= grid->least && mantissa == truncl(mantissa));
}

static void round_to(struct bounded *b, const struct grid *grid)
{
    for (size_t i = 0; i < b->count; i++) {
        long double value = b->value[i], hard = bounded_hard(b, i), likely = bounded_likely(b, i);
        if (!isfinite(value) || !isfinite(hard) || (!(hard > 0) && is_held(grid, value)))
            continue;
        long double size = fabsl(value) + hard, lost = grid->unit * size;
        if (size < 2 * grid->least && lost < grid->least)
            lost = grid->least;
        if (size + lost > grid->most)
            bounded_doubt(b, i);
        else
            bounded_set(b, i, value, (double)((hard + lost) * 1.000001L),
                        (double)likely_add(likely, lost / 3));
    }
}

void bounded_in_precision(struct bounded *b, enum precision precision)
{
    const struct grid *grid = &grids[precision];
    if (precision == PRECISION_OWN || b->kind != BOUNDED_TENSOR || !b->value || !dtype_is_float(b->type))
        return;
    if (precision == PRECISION_INT8)
        bounded_blur(b, 0, b->count);
    else if (2 * unit_of(b->type) < (double)grid->unit)
        round_to(b, grid);
}
