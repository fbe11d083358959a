/* Rule 7 of EAGLE for operators that move elements: each by others that do. */
#include "rules/formula.h"

#include "base/str.h"

#include <string.h>

enum { MOVING_PARTS = 64, MOVING_ELEMENTS = 1 << 20 };

/* --- Concat --- */

/* Which two neighbours are joined next is drawn, so that all trees occur. */
static int concat_pairwise(struct rewrite *rewrite, const struct rule_site *site)
{
    const Onnx__NodeProto *node = site->node;
    const char *parts[MOVING_PARTS];
    struct formula f;
    size_t count = node->n_input;
    if (!formula_begin(&f, rewrite, node, false) || count < 3 || count > MOVING_PARTS)
        return 0;
    int axis = formula_axis(&f, node_int(node, "axis", 0));
    for (size_t i = 0; i < count; i++)
        parts[i] = node->input[i];
    for (; axis >= 0 && count > 1; count--) {
        size_t at = (size_t)rng_below(&rewrite->rng, count - 1);
        parts[at] = rewrite_concat(rewrite, axis, parts + at, 2);
        memmove(parts + at + 1, parts + at + 2, (count - at - 2) * sizeof *parts);
    }
    return axis >= 0 ? formula_end(&f, parts[0]) : 0;
}

const struct rule rule_concat_pairwise = {
    .name = "concat-pairwise",
    .paper = 7,
    .summary = "a Concat of many values by nested ones of two",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Concat",
    .nothing_new = true,
    .apply = concat_pairwise,
};

/* One of the values, with zeros where the others are. */
static const char *padded_part(struct formula *f, const char *part, int axis, int64_t before, int64_t after)
{
    int64_t pads[2 * TENSOR_MAX_RANK] = {0};
    size_t rank = (size_t)f->x->shape.rank;
    pads[axis] = before;
    pads[rank + (size_t)axis] = after;
    return formula_two(f, "Pad", part, rewrite_ints(f->rewrite, pads, 2 * rank));
}

static int concat_by_pad(struct rewrite *rewrite, const struct rule_site *site)
{
    const Onnx__NodeProto *node = site->node;
    int64_t sizes[MOVING_PARTS], total = 0, before = 0;
    const char *sum = NULL;
    struct formula f;
    if (!formula_begin(&f, rewrite, node, false) || node->n_input < 2 || node->n_input > 8)
        return 0;
    int axis = formula_axis(&f, node_int(node, "axis", 0));
    for (size_t i = 0; i < node->n_input; i++) {
        const struct bounded *part = rewrite_input(rewrite, node, i);
        if (axis < 0 || !part || part->count == 0 || part->shape.rank != f.x->shape.rank)
            return 0;
        sizes[i] = part->shape.dims[axis];
        total += sizes[i];
    }
    for (size_t i = 0; i < node->n_input; before += sizes[i++]) {
        const char *part = padded_part(&f, node->input[i], axis, before, total - before - sizes[i]);
        sum = sum ? formula_two(&f, "Add", sum, part) : part;
    }
    return formula_end(&f, sum);
}

const struct rule rule_concat_by_pad = {
    .name = "concat-by-pad",
    .paper = 7,
    .summary = "a Concat by a sum of its values, each padded with zeros",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Concat",
    .apply = concat_by_pad,
};

/* --- Pad --- */

struct padding {
    enum { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT } mode;
    int64_t before[TENSOR_MAX_RANK], after[TENSOR_MAX_RANK];
};

static bool read_mode(struct rewrite *rewrite, const Onnx__NodeProto *node, struct padding *padding)
{
    const char *mode = rewrite_string(rewrite, node, "mode", "constant");
    padding->mode = text_equal(mode, "edge")      ? PAD_EDGE
                    : text_equal(mode, "reflect") ? PAD_REFLECT
                                                  : PAD_CONSTANT;
    return padding->mode != PAD_CONSTANT || text_equal(mode, "constant");
}

/* Amounts by axis, from lists that must be constant. */
static bool read_amounts(const struct formula *f, struct padding *padding)
{
    int64_t pads[2 * TENSOR_MAX_RANK], axes[TENSOR_MAX_RANK];
    size_t count, n_axes = (size_t)f->x->shape.rank;
    bool given = rewrite_has_input(f->node, 3);
    if (!rewrite_has_input(f->node, 1) ||
        !rewrite_constant_ints(f->rewrite, f->node->input[1], pads, 2 * TENSOR_MAX_RANK, &count) ||
        (given && !rewrite_constant_ints(f->rewrite, f->node->input[3], axes, TENSOR_MAX_RANK, &n_axes)) ||
        count != 2 * n_axes)
        return false;
    for (size_t i = 0; i < n_axes; i++) {
        int axis = given ? formula_axis(f, axes[i]) : (int)i;
        if (axis < 0)
            return false;
        padding->before[axis] = pads[i];
        padding->after[axis] = pads[i + n_axes];
    }
    return true;
}

static bool is_small(int64_t amount)
{
    return amount > -MOVING_ELEMENTS && amount < MOVING_ELEMENTS;
}

/* Whether every element that the cuts leave exists, and every border is as wide as its mode allows. Cuts
 * together with borders of other modes can be read in two ways. */
static bool is_clear(const struct formula *f, const struct padding *padding)
{
    size_t count = 1;
    bool changes = false;
    for (int i = 0; i < f->x->shape.rank; i++) {
        int64_t before = padding->before[i], after = padding->after[i], dim = f->x->shape.dims[i];
        if (!is_small(before) || !is_small(after) || dim > MOVING_ELEMENTS)
            return false;
        int64_t cut = (before < 0 ? -before : 0) + (after < 0 ? -after : 0),
                wide = before > after ? before : after;
        if (cut >= dim || (cut > 0 && padding->mode != PAD_CONSTANT) ||
            (padding->mode == PAD_REFLECT && wide >= dim))
            return false;
        count *= (size_t)(dim + before + after);
        if (count > MOVING_ELEMENTS)
            return false;
        changes |= before || after;
    }
    return changes && f->x->count > 0;
}

static const char *slice_by(struct rewrite *rewrite, const char *value, int64_t axis, int64_t start,
                            int64_t end, int64_t step)
{
    const char *from = rewrite_ints(rewrite, &start, 1), *to = rewrite_ints(rewrite, &end, 1);
    const char *along = rewrite_ints(rewrite, &axis, 1);
    return rewrite_op(rewrite, "Slice", NULL, value, from, to, along, rewrite_ints(rewrite, &step, 1), NULL);
}

/* What stands on one side of a value: `shape` is the value's. */
static const char *border(struct formula *f, const struct padding *padding, const char *value,
                          const struct shape *shape, int axis, bool behind)
{
    struct shape wanted = *shape;
    int64_t dim = shape->dims[axis], width = behind ? padding->after[axis] : padding->before[axis];
    const char *from;
    wanted.dims[axis] = width;
    if (padding->mode == PAD_REFLECT)
        return behind ? slice_by(f->rewrite, value, axis, -2, -2 - width, -1)
                      : slice_by(f->rewrite, value, axis, width, 0, -1);
    if (padding->mode == PAD_EDGE)
        from = behind ? rewrite_slice(f->rewrite, value, axis, dim - 1, dim)
                      : rewrite_slice(f->rewrite, value, axis, 0, 1);
    else
        from =
            rewrite_has_input(f->node, 2) ? f->node->input[2] : rewrite_scalar(f->rewrite, f->x->type, 0, 0);
    return formula_two(f, "Expand", from, rewrite_ints(f->rewrite, wanted.dims, (size_t)wanted.rank));
}

static const char *pad_axis(struct formula *f, const struct padding *padding, const char *value,
                            struct shape *shape, int axis)
{
    int64_t before = padding->before[axis], after = padding->after[axis], dim = shape->dims[axis];
    const char *parts[3];
    size_t count = 0;
    if (before < 0 || after < 0) {
        int64_t start = before < 0 ? -before : 0, end = after < 0 ? dim + after : dim;
        value = rewrite_slice(f->rewrite, value, axis, start, end);
        shape->dims[axis] = end - start;
    }
    if (before > 0)
        parts[count++] = border(f, padding, value, shape, axis, false);
    parts[count++] = value;
    if (after > 0)
        parts[count++] = border(f, padding, value, shape, axis, true);
    shape->dims[axis] = dim + before + after;
    return count > 1 ? rewrite_concat(f->rewrite, axis, parts, count) : value;
}

static int pad(struct rewrite *rewrite, const struct rule_site *site)
{
    struct padding padding = {0};
    struct formula f;
    if (!formula_begin(&f, rewrite, site->node, false) || f.x->type == DTYPE_STRING ||
        !read_mode(rewrite, site->node, &padding) || !read_amounts(&f, &padding) || !is_clear(&f, &padding))
        return 0;
    struct shape shape = f.x->shape;
    const char *value = site->node->input[0];
    for (int i = 0; i < f.x->shape.rank; i++)
        value = pad_axis(&f, &padding, value, &shape, i);
    return formula_end(&f, value);
}

const struct rule rule_pad_formula = {
    .name = "pad-formula",
    .paper = 7,
    .summary = "a Pad by Slice for what it cuts off, and Expand and Concat for what it adds",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Pad",
    .apply = pad,
};

/* --- Shapes and repetition --- */

static int by_reshape(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    const struct bounded *out = rewrite_type(rewrite, site->node->output[0]);
    if (!formula_begin(&f, rewrite, site->node, false) || !out || out->count == 0)
        return 0;
    return formula_end(&f, rewrite_reshape(rewrite, site->node->input[0], &out->shape));
}

const struct rule rule_shape_by_reshape = {
    .name = "shape-by-reshape",
    .paper = 7,
    .summary = "Flatten, Squeeze and Unsqueeze by Reshape",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Flatten|Squeeze|Unsqueeze",
    .apply = by_reshape,
};

static int expand_by_tile(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    int64_t repeats[TENSOR_MAX_RANK];
    struct shape shape;
    const struct bounded *out = rewrite_type(rewrite, site->node->output[0]);
    if (!formula_begin(&f, rewrite, site->node, false) || !out || out->count == 0 || out->shape.rank == 0 ||
        out->shape.rank < f.x->shape.rank)
        return 0;
    int added = out->shape.rank - f.x->shape.rank;
    shape = out->shape;
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = i < added ? 1 : f.x->shape.dims[i - added];
        repeats[i] = shape.dims[i] == out->shape.dims[i] ? 1 : out->shape.dims[i];
    }
    const char *value = site->node->input[0];
    if (added > 0)
        value = rewrite_reshape(rewrite, value, &shape);
    return formula_end(&f,
                       formula_two(&f, "Tile", value, rewrite_ints(rewrite, repeats, (size_t)shape.rank)));
}

const struct rule rule_expand_by_tile = {
    .name = "expand-by-tile",
    .paper = 7,
    .summary = "an Expand by Reshape and Tile",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Expand",
    .apply = expand_by_tile,
};

static int tile_by_concat(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    const char *copies[MOVING_PARTS];
    const struct bounded *out = rewrite_type(rewrite, site->node->output[0]);
    if (!formula_begin(&f, rewrite, site->node, false) || !out || out->count == 0 ||
        out->count == f.x->count || out->shape.rank != f.x->shape.rank)
        return 0;
    const char *value = site->node->input[0];
    for (int axis = 0; axis < out->shape.rank; axis++) {
        int64_t count = out->shape.dims[axis] / f.x->shape.dims[axis];
        if (count > MOVING_PARTS)
            return 0;
        for (int64_t i = 0; i < count; i++)
            copies[i] = value;
        value = count > 1 ? rewrite_concat(rewrite, axis, copies, (size_t)count) : value;
    }
    return formula_end(&f, value);
}

const struct rule rule_tile_by_concat = {
    .name = "tile-by-concat",
    .paper = 7,
    .summary = "a Tile by Concat of the same value again and again",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Tile",
    .apply = tile_by_concat,
};
