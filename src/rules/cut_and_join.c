/* Rules that take a value apart behind its producer, or turn it round, and put it together again. */
#include "rules/rule.h"

enum { MAX_PARTS = 5, MAX_INDICES = 1 << 16 };

/* An axis of at least `least` places, drawn among those that have so many; -1 when there is none. */
static int draw_axis(struct rng *rng, const struct shape *shape, int64_t least)
{
    int axes[TENSOR_MAX_RANK], count = 0;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] >= least)
            axes[count++] = i;
    return count ? axes[rng_below(rng, (uint64_t)count)] : -1;
}

/* The type of a value with elements that all these operators take; NULL when there is none such. */
static const struct bounded *type_for(const struct rewrite *rewrite, const struct rule_site *site,
                                      const char *op, const char *other)
{
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
    return type && type->count > 0 && rewrite_takes(rewrite, op, type->type) &&
                   rewrite_takes(rewrite, other, type->type)
               ? type
               : NULL;
}

static void join_parts(struct rewrite *rewrite, int64_t axis, const char *const *parts, size_t count,
                       const char *result)
{
    rewrite_result(rewrite, rewrite_concat(rewrite, axis, parts, count), result);
}

/* Draws the sizes of two or more parts that make up `size`, none of them empty. */
static size_t draw_sizes(struct rng *rng, int64_t size, int64_t most, int64_t *sizes)
{
    size_t count = (size_t)rng_range(rng, 2, size < most ? size : most);
    for (size_t i = 0; i + 1 < count; i++) {
        sizes[i] = rng_range(rng, 1, size - (int64_t)(count - 1 - i));
        size -= sizes[i];
    }
    sizes[count - 1] = size;
    return count;
}

static int split_concat(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after, *parts[MAX_PARTS];
    int64_t sizes[MAX_PARTS];
    const struct bounded *type = type_for(rewrite, site, "Split", "Concat");
    int axis = type ? draw_axis(&rewrite->rng, &type->shape, 2) : -1;
    if (axis < 0)
        return 0;
    size_t count = draw_sizes(&rewrite->rng, type->shape.dims[axis], 3, sizes);
    rewrite_intercept(rewrite, site->value, &before, &after);
    rewrite_split(rewrite, before, axis, sizes, count, parts);
    join_parts(rewrite, axis, parts, count, after);
    return 1;
}

const struct rule rule_split_concat = {
    .name = "split-concat",
    .paper = 13,
    .summary = "a Split and its Concat inserted behind a value",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = split_concat,
};

static int concat_of_slices(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after, *parts[MAX_PARTS];
    int64_t sizes[MAX_PARTS], start = 0;
    const struct bounded *type = type_for(rewrite, site, "Slice", "Concat");
    int axis = type ? draw_axis(&rewrite->rng, &type->shape, 2) : -1;
    if (axis < 0)
        return 0;
    int64_t size = type->shape.dims[axis];
    size_t count = draw_sizes(&rewrite->rng, size, MAX_PARTS, sizes);
    rewrite_intercept(rewrite, site->value, &before, &after);
    for (size_t i = 0; i < count; i++) {
        int64_t end = start + sizes[i];
        /* The last one may say "to the end", and any may count from behind. */
        bool open_end = end == size && rng_chance(&rewrite->rng, 0.5);
        bool from_behind = rng_chance(&rewrite->rng, 0.3);
        parts[i] = rewrite_slice(rewrite, before, from_behind ? axis - type->shape.rank : axis,
                                 from_behind ? start - size : start, open_end ? INT64_MAX : end);
        start = end;
    }
    join_parts(rewrite, axis, parts, count, after);
    return 1;
}

const struct rule rule_concat_of_slices = {
    .name = "concat-of-slices",
    .summary = "a value by the Concat of its slices",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = concat_of_slices,
};

static const char *flip(struct rewrite *rewrite, const char *value, int64_t axis)
{
    const char *start = rewrite_ints(rewrite, (const int64_t[]){-1}, 1);
    const char *end = rewrite_ints(rewrite, (const int64_t[]){INT64_MIN}, 1);
    const char *axes = rewrite_ints(rewrite, &axis, 1);
    const char *steps = rewrite_ints(rewrite, (const int64_t[]){-1}, 1);
    return rewrite_op(rewrite, "Slice", NULL, value, start, end, axes, steps, NULL);
}

static int flip_pair(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after;
    const struct bounded *type = type_for(rewrite, site, "Slice", "Slice");
    int axis = type ? draw_axis(&rewrite->rng, &type->shape, 1) : -1;
    if (axis < 0)
        return 0;
    rewrite_intercept(rewrite, site->value, &before, &after);
    const char *flipped = flip(rewrite, before, axis);
    rewrite_result(rewrite, flip(rewrite, flipped, axis), after);
    return 1;
}

const struct rule rule_flip_pair = {
    .name = "flip-pair",
    .summary = "a value turned round along an axis by two Slices with a step of -1",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = flip_pair,
};

/* Draws an order of `size` places and its inverse; the caller frees neither: both are in the arena. */
static void draw_permutation(struct rewrite *rewrite, size_t size, int64_t **order, int64_t **back)
{
    *order = arena_array(&rewrite->model->arena, size, sizeof **order);
    *back = arena_array(&rewrite->model->arena, size, sizeof **back);
    rng_order(&rewrite->rng, *order, size);
    for (size_t i = 0; i < size; i++)
        (*back)[(*order)[i]] = (int64_t)i;
}

static const char *gather(struct rewrite *rewrite, const char *value, int64_t axis, const int64_t *order,
                          size_t size)
{
    Onnx__NodeProto *node;
    const char *indices = rewrite_ints(rewrite, order, size);
    const char *result = rewrite_op(rewrite, "Gather", &node, value, indices, NULL);
    node_set_int(&rewrite->model->arena, node, "axis", axis);
    return result;
}

static int gather_permuted(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after;
    int64_t *order, *back;
    const struct bounded *type = type_for(rewrite, site, "Gather", "Gather");
    int axis = type ? draw_axis(&rewrite->rng, &type->shape, 1) : -1;
    if (axis < 0 || type->shape.dims[axis] > MAX_INDICES)
        return 0;
    size_t size = (size_t)type->shape.dims[axis];
    draw_permutation(rewrite, size, &order, &back);
    rewrite_intercept(rewrite, site->value, &before, &after);
    const char *mixed = gather(rewrite, before, axis, order, size);
    rewrite_result(rewrite, gather(rewrite, mixed, axis, back, size), after);
    return 1;
}

const struct rule rule_gather_permuted = {
    .name = "gather-permuted",
    .summary = "a value gathered in another order and gathered back",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = gather_permuted,
};
