#include "search/danger_climb.h"

#include "base/memory.h"
#include "search/leap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum move_kind { MOVE_ADD, MOVE_MULTIPLY, MOVE_SET, MOVE_KINDS };

struct move {
    enum move_kind kind;
    struct gene_group group;
    double step; /* what is added, multiplied with or set */
};

/* Where a climb stands: the genome, and how far its target is. */
struct standing {
    float *genes;
    double distance, margin;
};

static struct gene_space space_of(const struct danger_climb *climb, size_t n)
{
    return (struct gene_space){climb->n_stretches, climb->stretches, n};
}

static struct move draw_move(const struct danger_climb *climb, struct rng *rng, size_t n)
{
    struct gene_space space = space_of(climb, n);
    struct move move = {.kind = (enum move_kind)rng_below(rng, MOVE_KINDS),
                        .group = gene_group_draw(&space, rng)};
    const struct gene_stretch *stretch = gene_stretch_of(&space, move.group.first);
    double sign = rng_chance(rng, 0.5) ? 1 : -1;
    switch (move.kind) {
    case MOVE_ADD:
        move.step = sign * (double)stretch->scale * pow(10, rng_uniform(rng, -3, 3));
        break;
    case MOVE_MULTIPLY:
        move.step = rng_chance(rng, 0.2) ? -1 : pow(10, rng_uniform(rng, -2, 4));
        break;
    default:
        move.step = rng_chance(rng, 0.2) ? 0 : sign * gene_size_draw(&space, &move.group, rng);
    }
    return move;
}

static void apply(const struct danger_climb *climb, const struct move *move, const float *from, float *to,
                  size_t n)
{
    memcpy(to, from, n * sizeof *to);
    const struct gene_group *group = &move->group;
    struct gene_space space = space_of(climb, n);
    for (size_t i = group->first; i < group->first + group->count; i += group->step) {
        double gene = from[i];
        gene = move->kind == MOVE_ADD        ? gene + move->step
               : move->kind == MOVE_MULTIPLY ? gene * move->step
                                             : move->step;
        to[i] = gene_limited(gene_stretch_of(&space, i), gene);
    }
}

/* The move that follows one that helped, or did not. Returns false when another one is to be drawn. The end
 * of a domain belongs to it, so a step towards it goes a little beyond. */
static bool go_on(struct move *move, enum danger_kind kind, bool helped, const struct standing *before,
                  const struct standing *after)
{
    double change = before->margin - after->margin;
    if (move->kind == MOVE_ADD && before->margin != 0 && change != 0 && isfinite(change)) {
        /* The zero of the line through both, from where the climb now stands. */
        double whole = move->step * before->margin / change * (kind == NEAR_DOMAIN ? 1.1 : 1);
        move->step = helped ? whole - move->step : whole;
        return isfinite(move->step) && move->step != 0;
    }
    if (!helped || move->kind == MOVE_SET)
        return false;
    move->step *= move->kind == MOVE_ADD ? 2 : fmin(fabs(move->step), 1e4);
    return fabs(move->step) > 0 && move->step != -1;
}

struct target {
    size_t node;
    enum danger_kind kind;
};

/* A node and kind that was not reached yet, the nearer the likelier. */
static bool draw_target(const struct danger_climb *climb, struct rng *rng, struct target *target)
{
    double total = 0;
    for (size_t node = 0; node < danger_nodes(climb->meter); node++)
        for (size_t kind = 0; kind < NEAR_KINDS; kind++) {
            double distance = danger_of_node(climb->meter, node, (enum danger_kind)kind)->distance;
            if (!(distance > 0 && distance < 1))
                continue;
            double weight = (1 - distance) * (1 - distance);
            total += weight;
            if (rng_unit(rng) * total < weight)
                *target = (struct target){node, (enum danger_kind)kind};
        }
    return total > 0;
}

static bool look(const struct danger_climb *climb, const struct target *target, struct standing *at)
{
    struct danger danger;
    if (climb->measure(climb->context, at->genes, &danger) || target->node >= danger_nodes(climb->meter))
        return false;
    const struct danger_place *place = danger_of_node(climb->meter, target->node, target->kind);
    at->distance = place->distance;
    at->margin = place->margin;
    return true;
}

static void climb_towards(const struct danger_climb *climb, const struct target *target, struct rng *rng,
                          struct standing *here, struct standing *there, size_t n)
{
    size_t measures = climb->measures ? climb->measures : DANGER_CLIMB_MEASURES;
    bool again = false;
    struct move move = {0};
    for (size_t i = 1; i < measures && here->distance > 0; i++) {
        if (!again)
            move = draw_move(climb, rng, n);
        apply(climb, &move, here->genes, there->genes, n);
        if (!look(climb, target, there)) {
            again = false;
            continue;
        }
        bool helped = there->distance < here->distance;
        again = go_on(&move, target->kind, helped, here, there);
        if (helped) {
            struct standing old = *here;
            *here = *there;
            *there = old;
        }
    }
}

void danger_climb_mutate(void *context, struct rng *rng, const float *parent, float *child, size_t n)
{
    const struct danger_climb *climb = context;
    double leaps = climb->leaps < 0 ? 0 : climb->leaps > 0 ? climb->leaps : 0.5;
    struct danger danger;
    struct target target = {0};
    memcpy(child, parent, n * sizeof *child);
    if (rng_chance(rng, leaps) || climb->measure(climb->context, child, &danger) ||
        !draw_target(climb, rng, &target)) {
        struct gene_space space = space_of(climb, n);
        gene_leap(&space, rng, child);
        return;
    }
    const struct danger_place *place = danger_of_node(climb->meter, target.node, target.kind);
    struct standing here = {memory_zeroed(n, sizeof(float)), place->distance, place->margin};
    struct standing there = {memory_zeroed(n, sizeof(float)), 1, 0};
    memcpy(here.genes, child, n * sizeof *child);
    climb_towards(climb, &target, rng, &here, &there, n);
    memcpy(child, here.genes, n * sizeof *child);
    free(here.genes);
    free(there.genes);
}
