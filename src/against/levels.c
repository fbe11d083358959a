#include "against/levels.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* More levels than these are so fine that nobody chooses their scale by the range of the numbers. */
static const double finest = 1 << 20;

void levels_release(struct levels *levels)
{
    free(levels->groups);
    *levels = (struct levels){0};
}

/* Along which axis the scales are, as strides: elements below it. False for blocks, which are not looked at.
 */
static bool grain_of(const struct op_call *call, const struct tensor *made, size_t *inner)
{
    const struct bounded *scale = call->inputs[1];
    int64_t axis = node_int(call->node, "axis", 1);
    *inner = 1;
    if (scale->count == 1)
        return true;
    axis += axis < 0 ? made->shape.rank : 0;
    if (scale->shape.rank != 1 || axis < 0 || axis >= made->shape.rank ||
        made->shape.dims[axis] != (int64_t)scale->count)
        return false;
    for (int i = (int)axis + 1; i < made->shape.rank; i++)
        *inner *= (size_t)made->shape.dims[i];
    return true;
}

static void open_groups(struct levels *levels, const struct op_call *call)
{
    const struct bounded *scale = call->inputs[1], *zero = call->n_inputs > 2 ? call->inputs[2] : NULL;
    levels->count = scale->count;
    levels->groups = memory_zeroed(scale->count, sizeof *levels->groups);
    levels->type = call->inputs[0]->type;
    levels->symmetric = true;
    long double middle = dtype_is_signed(levels->type) ? 0 : (dtype_highest(levels->type) + 1) / 2;
    for (size_t i = 0; i < scale->count; i++) {
        struct level_group *group = &levels->groups[i];
        group->step = (double)scale->value[i];
        group->zero = zero && i < zero->count ? (double)zero->value[i] : 0;
        group->reach_low = ((double)dtype_lowest(levels->type) - group->zero) * group->step;
        group->reach = ((double)dtype_highest(levels->type) - group->zero) * group->step;
        levels->symmetric &= group->zero == (double)middle;
    }
}

static void add_number(struct level_group *group, long double base, long double made, size_t sample,
                       size_t element)
{
    long double error = made - base;
    double x = (double)base, half = group->step / 2 * (1 + 1e-6);
    group->low = group->elements ? fmin(group->low, x) : x;
    group->high = group->elements ? fmax(group->high, x) : x;
    group->elements++;
    group->error += error;
    group->error2 += error * error;
    group->base2 += base * base;
    group->product += base * made;
    if (x > group->reach + half || x < group->reach_low - half) {
        group->clipped2 += error * error;
        if (!group->clipped++) {
            group->sample = sample;
            group->element = element;
        }
    }
}

void levels_add(struct levels *levels, const struct op_call *call, const struct tensor *made,
                const struct tensor *base, size_t sample)
{
    size_t inner;
    bool whole = dtype_is_integer(call->inputs[0]->type) && call->inputs[1] && made->count == base->count;
    if (!whole || !grain_of(call, made, &inner))
        return;
    if (!levels->groups)
        open_groups(levels, call);
    for (size_t i = 0; i < made->count; i++) {
        long double x = tensor_get(base, i), y = tensor_get(made, i);
        if (isfinite(x) && isfinite(y))
            add_number(&levels->groups[i / inner % levels->count], x, y, sample, i);
    }
}

void levels_add_float(struct levels *levels, const struct tensor *made, const struct tensor *base,
                      size_t sample)
{
    if (made->count != base->count || !dtype_is_float(made->type))
        return;
    levels->type = made->type;
    for (size_t i = 0; i < made->count; i++) {
        long double x = tensor_get(base, i), y = tensor_get(made, i);
        bool beyond = isfinite(x) && fabsl(x) > dtype_highest(made->type), lost = x != 0 && y == 0;
        levels->elements++;
        if ((beyond && !levels->beyond) || (lost && !levels->lost && !levels->beyond)) {
            levels->sample = sample;
            levels->element = i;
            levels->value = (double)x;
        }
        levels->beyond += beyond;
        levels->lost += lost;
        if (beyond)
            levels->farthest = fmax(levels->farthest, (double)fabsl(x));
    }
}

/* The step with which the levels would cover the numbers, and 0. */
static double good_step(const struct levels *levels, const struct level_group *group)
{
    double low = fmin(group->low, 0), high = fmax(group->high, 0);
    double most = (double)dtype_highest(levels->type), least = (double)dtype_lowest(levels->type);
    if (most - least > finest)
        return group->step;
    if (levels->symmetric)
        return fmax(-low, high) / (dtype_is_signed(levels->type) ? most : (most - least) / 2);
    return (high - low) / (most - least);
}

/* The mean square error that the levels must cost. Not less than numbers of float32 can tell. */
static double must_cost(const struct levels *levels, const struct level_group *group)
{
    double step = good_step(levels, group), most = fmax(fabs(group->low), fabs(group->high));
    return step * step / 12 + most * most * 1e-14;
}

double levels_factor(const struct levels *levels, size_t *group, double *worst)
{
    long double all = 0, must = 0;
    double largest = 0;
    for (size_t i = 0; i < levels->count; i++) {
        const struct level_group *at = &levels->groups[i];
        double cost = must_cost(levels, at), mse = (double)at->error2 / fmax(1, (double)at->elements);
        double factor = mse > cost ? mse / cost : 1;
        all += at->error2;
        must += (long double)cost * (long double)at->elements;
        if (factor > largest) {
            largest = factor;
            if (group)
                *group = i;
        }
    }
    if (worst)
        *worst = largest;
    return all > must ? (double)(all / must) : 1;
}

static void float_words(struct str *out, const struct levels *levels, const char *what)
{
    const char *type = dtype_name(levels->type);
    if (levels->beyond)
        str_printf(out,
                   "%s leaves the range of %s: %zu of %zu values, up to %.6g where it ends at %.6g, first in "
                   "sample %zu",
                   what, type, levels->beyond, levels->elements, levels->farthest,
                   (double)dtype_highest(levels->type), levels->sample);
    else
        str_printf(out, "%s loses all bits in %s: %zu of %zu values become 0, the first %.3g in sample %zu",
                   what, type, levels->lost, levels->elements, levels->value, levels->sample);
}

/* What of the error is a constant, a factor, or beyond the ends of the range. */
static void group_words(struct str *out, const struct levels *levels, const struct level_group *group)
{
    double n = (double)group->elements, mean = (double)group->error / n;
    double step = good_step(levels, group), slope = (double)(group->product / group->base2);
    bool shifted = mean * mean * n > (double)group->error2 / 2 && group->step > 0;
    if (group->clipped2 > group->error2 / 2)
        str_printf(out,
                   "clipped: %.2g %% of its values are beyond the range of %.4g to %.4g, they reach from "
                   "%.4g to %.4g",
                   100 * (double)group->clipped / n, group->reach_low, group->reach, group->low, group->high);
    else if (shifted)
        str_printf(out, "shifted by %.3g: its zero point is %.3g levels off", mean, fabs(mean / group->step));
    else if (fabs(slope - 1) > 0.05)
        str_printf(out, "scaled by %.3g: its scale does not fit its levels", slope);
    else if (group->step > 1.5 * step && step > 0)
        str_printf(out, "too coarse: its scale is %.3g times what its values need", group->step / step);
    else
        str_add(out, "made of other values");
}

void levels_words(struct str *out, const struct levels *levels, const char *what)
{
    size_t at = 0;
    if (!levels->groups) {
        float_words(out, levels, what);
        return;
    }
    levels_factor(levels, &at, NULL);
    if (levels->count > 1)
        str_printf(out, "channel %zu of ", at);
    str_printf(out, "%s is ", what);
    group_words(out, levels, &levels->groups[at]);
}
