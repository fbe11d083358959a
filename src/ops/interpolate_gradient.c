#include "ops/interpolate_gradient.h"

#include <math.h>

static void give(const struct interpolated *to, size_t at, struct number part)
{
    if (to->undecided || !isfinite(part.v) || !isfinite(part.h))
        gradient_sums_undecided(to->sums, at);
    else
        gradient_sums_add(to->sums, at, part);
}

/* Weights and products are rounded once for each axis. */
static void give_weighted(void *context, size_t at, long double weight, long double reach)
{
    const struct interpolated *to = context;
    long double slack = reach - fabsl(weight), most = number_most(to->up), u = unit_of(to->sums->slope->type);
    struct number part = {weight * to->up.v, slack * fabsl(to->up.v) + reach * to->up.h,
                          likely_add(slack * to->up.v / 3, weight * to->up.l)};
    long double own = (long double)(2 * to->rank + 1) * u * reach * most;
    give(to, at, number_loosen(part, own, own / 3));
}

void interpolated_give(const struct interpolated *to, const struct tap_list *lists)
{
    struct interpolated one = *to;
    size_t at = to->base;
    if (taps_are_copy(to->rank, lists, &at))
        give(to, at, to->up);
    else
        taps_visit(to->base, to->rank, lists, give_weighted, &one);
}

struct candidates {
    const struct interpolated *to;
    size_t first, found;
    bool inside, same;
};

static void compare_candidate(void *context, size_t at, bool inside, bool chosen)
{
    struct candidates *c = context;
    (void)chosen;
    c->same &= c->found == 0 || (inside == c->inside && (!inside || at == c->first));
    c->first = at;
    c->inside = inside;
    c->found++;
}

static void give_candidate(void *context, size_t at, bool inside, bool chosen)
{
    const struct interpolated *to = ((const struct candidates *)context)->to;
    long double all = fabsl(to->up.v);
    if (inside)
        give(to, at, (struct number){chosen ? to->up.v : 0, all + to->up.h, all + to->up.l});
}

void nearest_give(const struct interpolated *to, const struct nearest *axes, nearest_map *map,
                  const void *mapping)
{
    struct candidates c = {.to = to, .same = true};
    nearest_each(to->base, to->rank, axes, map, mapping, compare_candidate, &c);
    if (!c.same)
        nearest_each(to->base, to->rank, axes, map, mapping, give_candidate, &c);
    else if (c.inside)
        give(to, c.first, to->up);
}
