#include "search/leap.h"

#include <math.h>

const struct gene_stretch *gene_stretch_of(const struct gene_space *space, size_t gene)
{
    size_t i = 0;
    while (i + 1 < space->n_stretches && gene >= space->stretches[i].count)
        gene -= space->stretches[i++].count;
    return &space->stretches[i];
}

float gene_limited(const struct gene_stretch *stretch, double gene)
{
    if (isnan(gene))
        gene = 0;
    return gene <= stretch->low ? stretch->low : gene >= stretch->high ? stretch->high : (float)gene;
}

struct gene_group gene_group_draw(const struct gene_space *space, struct rng *rng)
{
    size_t n = space->length;
    struct gene_group group = {0, n, 1};
    switch (rng_below(rng, 5)) {
    case 0:
        break;
    case 1: {
        size_t which = rng_below(rng, space->n_stretches);
        for (size_t i = 0; i < which; i++)
            group.first += space->stretches[i].count;
        group.count = space->stretches[which].count;
        break;
    }
    case 2:
    case 3:
        group.count = (size_t)ceil(pow((double)n, rng_unit(rng)));
        group.first = rng_below(rng, n - group.count + 1);
        group.step = rng_chance(rng, 0.5) ? 1 : 1 + rng_below(rng, 16);
        break;
    default:
        group.first = rng_below(rng, n);
        group.count = 1;
    }
    return group;
}

double gene_size_draw(const struct gene_space *space, const struct gene_group *group, struct rng *rng)
{
    const struct gene_stretch *stretch = gene_stretch_of(space, group->first);
    double most = fmax(fabs((double)stretch->low), fabs((double)stretch->high));
    double top = log10(fmax(most, 1e-5));
    switch (rng_below(rng, 3)) {
    case 0:
        return most;
    case 1:
        return pow(10, rng_uniform(rng, fmin(-6, top), top));
    default:
        return pow(10, rng_uniform(rng, 0, fmin(top, 4)));
    }
}

void gene_leap(const struct gene_space *space, struct rng *rng, float *child)
{
    struct gene_group group =
        rng_chance(rng, 0.5) ? (struct gene_group){0, space->length, 1} : gene_group_draw(space, rng);
    double size = gene_size_draw(space, &group, rng), largest = 0;
    uint64_t pattern = rng_below(rng, 7);
    for (size_t i = group.first; i < group.first + group.count; i += group.step)
        largest = fmax(largest, fabs((double)child[i]));
    for (size_t i = group.first; i < group.first + group.count; i += group.step) {
        double gene = child[i], sign = gene < 0 ? -1 : 1;
        switch (pattern) {
        case 0:
            gene = sign * size;
            break;
        case 1:
            gene = rng_chance(rng, 0.5) ? size : -size;
            break;
        case 2:
            gene = size;
            break;
        case 3:
            gene = -size;
            break;
        case 4:
            gene = size * (largest > 0 ? gene / largest : rng_uniform(rng, -1, 1));
            break;
        case 5:
            gene = 0;
            break;
        default:
            gene = size * rng_uniform(rng, -1, 1);
        }
        child[i] = gene_limited(gene_stretch_of(space, i), gene);
    }
}
