#include "search/danger_distance.h"

#include <math.h>

/* A number of [0, 1]; NaN counts as reached. */
static double limited(long double distance)
{
    return distance >= 1 ? 1 : distance > 0 ? (double)distance : 0;
}

/* Types without a largest number to overflow count as float32. */
static enum dtype float_type(enum dtype type)
{
    return dtype_is_float(type) ? type : DTYPE_FLOAT;
}

double distance_to_overflow(enum dtype type, long double value, double power)
{
    long double size = fabsl(value);
    if (!isfinite(value))
        return 0;
    return limited(1 - power * log2l(1 + size) / log2l(1 + dtype_highest(float_type(type))));
}

double distance_to_exp_overflow(enum dtype type, long double value)
{
    return limited(1 - value / logl(dtype_highest(float_type(type))));
}

/* How far a margin is above `unit`, against the largest number. */
static double above(enum dtype type, long double margin, long double unit)
{
    return limited(log2l(1 + margin / unit) / log2l(1 + dtype_highest(type) / unit));
}

double distance_to_pole(enum dtype type, long double margin)
{
    type = float_type(type);
    return above(type, fabsl(margin), dtype_precision(type).smallest);
}

double distance_to_edge(enum dtype type, long double margin)
{
    type = float_type(type);
    struct dtype_precision precision = dtype_precision(type);
    return margin >= 0 ? above(type, margin + precision.unit / 2, precision.unit) : 0;
}
