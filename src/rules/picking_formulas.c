/* Rule 7 of EAGLE for operators that pick elements by place or mask: each by others that do. */
#include "rules/formula.h"

#include "base/memory.h"

/* --- Split, Slice, Gather --- */

enum { SPLIT_PARTS = 64 };

static int split_by_slices(struct rewrite *rewrite, const struct rule_site *site)
{
    const Onnx__NodeProto *node = site->node;
    struct formula f;
    int64_t at = 0;
    if (!formula_begin_any(&f, rewrite, node, false) || node->n_output > SPLIT_PARTS)
        return 0;
    int axis = formula_axis(&f, node_int(node, "axis", 0));
    for (size_t i = 0; axis >= 0 && i < node->n_output; i++) {
        const struct bounded *part = rewrite_type(rewrite, node->output[i]);
        if (!part || part->shape.rank != f.x->shape.rank)
            return 0;
        int64_t size = part->shape.dims[axis];
        rewrite_result(rewrite, rewrite_slice(rewrite, node->input[0], axis, at, at + size), node->output[i]);
        at += size;
    }
    return axis >= 0 && at == f.x->shape.dims[axis] ? formula_end_outputs(&f) : 0;
}

const struct rule rule_split_by_slices = {
    .name = "split-by-slices",
    .paper = 7,
    .summary = "a Split by one Slice for each part",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Split",
    .apply = split_by_slices,
};

enum { SLICE_LENGTH = 4096, SLICE_STEP = 1 << 20 };

/* Constant lists of a Slice by axis: first element and step. */
struct cut {
    bool cuts[TENSOR_MAX_RANK];
    int64_t start[TENSOR_MAX_RANK], step[TENSOR_MAX_RANK];
};

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static bool read_cut(const struct formula *f, struct cut *cut)
{
    int64_t lists[5][TENSOR_MAX_RANK];
    size_t counts[5] = {0}, count;
    for (size_t i = 1; i < 5; i++)
        if (rewrite_has_input(f->node, i) &&
            !rewrite_constant_ints(f->rewrite, f->node->input[i], lists[i], TENSOR_MAX_RANK, &counts[i]))
            return false;
    count = counts[1];
    if ((counts[3] && counts[3] != count) || (counts[4] && counts[4] != count) ||
        count > (size_t)f->x->shape.rank)
        return false;
    for (size_t i = 0; i < count; i++) {
        int axis = counts[3] ? formula_axis(f, lists[3][i]) : (int)i;
        int64_t step = counts[4] ? lists[4][i] : 1, start = lists[1][i];
        if (axis < 0 || cut->cuts[axis] || step == 0 || step < -SLICE_STEP || step > SLICE_STEP)
            return false;
        int64_t dim = f->x->shape.dims[axis];
        start = clamp(start, -dim, dim);
        start = clamp(start < 0 ? start + dim : start, 0, step > 0 ? dim : dim - 1);
        cut->cuts[axis] = true;
        cut->start[axis] = start;
        cut->step[axis] = step;
    }
    return count > 0;
}

static int slice_by_gather(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    struct cut cut = {0};
    int64_t indices[SLICE_LENGTH];
    if (!formula_begin(&f, rewrite, site->node, false) || !read_cut(&f, &cut))
        return 0;
    const struct bounded *out = rewrite_type(rewrite, site->node->output[0]);
    const char *value = site->node->input[0];
    if (!out || out->count == 0 || out->shape.rank != f.x->shape.rank)
        return 0;
    for (int axis = 0; axis < out->shape.rank; axis++) {
        int64_t length = out->shape.dims[axis];
        Onnx__NodeProto *gather;
        if (!cut.cuts[axis])
            continue;
        if (length > SLICE_LENGTH)
            return 0;
        for (int64_t i = 0; i < length; i++) {
            indices[i] = cut.start[axis] + i * cut.step[axis];
            if (indices[i] < 0 || indices[i] >= f.x->shape.dims[axis])
                return 0;
        }
        const char *list = rewrite_ints(rewrite, indices, (size_t)length);
        value = rewrite_op(rewrite, "Gather", &gather, value, list, NULL);
        node_set_int(&rewrite->model->arena, gather, "axis", axis);
    }
    return formula_end(&f, value);
}

const struct rule rule_slice_by_gather = {
    .name = "slice-by-gather",
    .paper = 7,
    .summary = "a Slice by Gather of the same places",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Slice",
    .apply = slice_by_gather,
};

/* GatherND picks from the first axis: the one to pick from goes there, and what is picked goes back. */
static int gather_by_gathernd(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    int64_t there[TENSOR_MAX_RANK], back[TENSOR_MAX_RANK];
    const struct bounded *places = rewrite_input(rewrite, site->node, 1);
    if (!formula_begin(&f, rewrite, site->node, false) || !places)
        return 0;
    int axis = formula_axis(&f, node_int(site->node, "axis", 0)), rank = f.x->shape.rank;
    int picked = places->shape.rank, all = rank - 1 + picked;
    if (axis < 0 || all > TENSOR_MAX_RANK || picked >= TENSOR_MAX_RANK)
        return 0;
    there[0] = axis;
    for (int i = 1; i < rank; i++)
        there[i] = i <= axis ? i - 1 : i;
    for (int i = 0; i < all; i++) /* dimensions before the axis, of the indices, and behind it */
        back[i] = i < axis ? picked + i : i < axis + picked ? i - axis : i;
    const char *value = site->node->input[0], *indices = site->node->input[1];
    if (axis > 0)
        value = rewrite_transpose(rewrite, value, there, (size_t)rank);
    if (places->type != DTYPE_INT64)
        indices = rewrite_cast(rewrite, indices, DTYPE_INT64);
    value = formula_two(&f, "GatherND", value, rewrite_unsqueeze(rewrite, indices, picked));
    return formula_end(&f, axis > 0 ? rewrite_transpose(rewrite, value, back, (size_t)all) : value);
}

const struct rule rule_gather_by_gathernd = {
    .name = "gather-by-gathernd",
    .paper = 7,
    .summary = "a Gather by GatherND, between Transposes when it is not along the first axis",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Gather",
    .apply = gather_by_gathernd,
};

enum { GATHERED_PLACES = 16 };

static int gather_by_slices(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    int64_t places[GATHERED_PLACES];
    const char *parts[GATHERED_PLACES];
    size_t count;
    if (!formula_begin(&f, rewrite, site->node, false) || !rewrite_has_input(site->node, 1) ||
        !rewrite_constant_ints(rewrite, site->node->input[1], places, GATHERED_PLACES, &count) || count == 0)
        return 0;
    int axis = formula_axis(&f, node_int(site->node, "axis", 0));
    const struct bounded *out = rewrite_type(rewrite, site->node->output[0]);
    if (axis < 0 || !out || out->count == 0)
        return 0;
    int64_t dim = f.x->shape.dims[axis];
    for (size_t i = 0; i < count; i++) {
        if (places[i] < -dim || places[i] >= dim)
            return 0;
        int64_t at = places[i] < 0 ? places[i] + dim : places[i];
        parts[i] = rewrite_slice(rewrite, site->node->input[0], axis, at, at + 1);
    }
    const char *all = count > 1 ? rewrite_concat(rewrite, axis, parts, count) : parts[0];
    return formula_end(&f, rewrite_reshape(rewrite, all, &out->shape));
}

const struct rule rule_gather_by_slices = {
    .name = "gather-by-slices",
    .paper = 7,
    .summary = "a Gather of constant places by Slice, Concat and Reshape",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Gather",
    .apply = gather_by_slices,
};

/* --- Masks --- */

enum { MASK_ELEMENTS = 1 << 20 };

/* True where Trilu keeps an element of an n by m matrix. */
static const char *triangle(struct rewrite *rewrite, int64_t n, int64_t m, bool upper, int64_t k)
{
    struct tensor mask;
    struct shape shape = {2, {n, m}};
    if (tensor_alloc(&mask, DTYPE_BOOL, &shape, 0, NULL))
        memory_exhausted((size_t)(n * m));
    for (int64_t i = 0; i < n * m; i++) {
        int64_t beside = i % m - i / m;
        tensor_set(&mask, (size_t)i, upper ? beside >= k : beside <= k);
    }
    const char *name = rewrite_tensor(rewrite, &mask);
    tensor_release(&mask);
    return name;
}

static int trilu(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    int64_t k = 0;
    size_t count;
    if (!formula_begin(&f, rewrite, site->node, false) || f.x->shape.rank < 2 || f.x->type == DTYPE_STRING ||
        f.x->count == 0 || f.x->count > MASK_ELEMENTS)
        return 0;
    if (rewrite_has_input(site->node, 1) &&
        (!rewrite_constant_ints(rewrite, site->node->input[1], &k, 1, &count) || count != 1))
        return 0;
    int64_t n = f.x->shape.dims[f.x->shape.rank - 2], m = f.x->shape.dims[f.x->shape.rank - 1];
    const char *mask = triangle(rewrite, n, m, node_int(site->node, "upper", 1), k);
    const char *zero = formula_number(&f, 0);
    return formula_end(&f, formula_where(&f, mask, site->node->input[0], zero));
}

const struct rule rule_trilu_formula = {
    .name = "trilu-formula",
    .paper = 7,
    .summary = "Trilu by Where with a constant triangle",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Trilu",
    .apply = trilu,
};

/* The numbers from 0 on, along one axis of a value of the given rank. */
static const char *numbers_along(struct rewrite *rewrite, int64_t count, int axis, int rank)
{
    int64_t numbers[SLICE_LENGTH];
    struct shape shape = {.rank = rank};
    for (int64_t i = 0; i < count; i++)
        numbers[i] = i;
    for (int i = 0; i < rank; i++)
        shape.dims[i] = i == axis ? count : 1;
    return rewrite_reshape(rewrite, rewrite_ints(rewrite, numbers, (size_t)count), &shape);
}

/* A negative index counts from the end; one that is out of range sets nothing. */
static int one_hot(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    const struct bounded *values = rewrite_input(rewrite, site->node, 2),
                         *out = rewrite_type(rewrite, site->node->output[0]);
    if (!formula_begin(&f, rewrite, site->node, false) || !dtype_is_integer(f.x->type) || !values ||
        values->shape.rank != 1 || !out || out->count == 0 || f.x->type == DTYPE_UINT64)
        return 0;
    int rank = out->shape.rank;
    int64_t axis = node_int(site->node, "axis", -1);
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || out->shape.dims[axis] > SLICE_LENGTH)
        return 0;
    f.type = DTYPE_INT64;
    int64_t depth = out->shape.dims[axis];
    const char *index = formula_input(&f, 0), *zero = formula_number(&f, 0);
    const char *wrapped = formula_two(&f, "Add", index, formula_number(&f, (long double)depth));
    index = formula_where(&f, formula_two(&f, "Less", index, zero), wrapped, index);
    index = rewrite_unsqueeze(rewrite, index, axis);
    const char *hit = formula_two(&f, "Equal", index, numbers_along(rewrite, depth, (int)axis, rank));
    const char *off = rewrite_slice(rewrite, site->node->input[2], 0, 0, 1);
    const char *on = rewrite_slice(rewrite, site->node->input[2], 0, 1, 2);
    rewrite_result(rewrite, formula_where(&f, hit, on, off), site->node->output[0]);
    return formula_end_outputs(&f);
}

const struct rule rule_onehot_formula = {
    .name = "onehot-formula",
    .paper = 7,
    .summary = "OneHot by Equal with the numbers along its axis, and Where",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "OneHot",
    .apply = one_hot,
};

static const char *zero_and_one(struct formula *f)
{
    struct tensor values;
    struct shape shape = {1, {2}};
    if (tensor_alloc(&values, f->type, &shape, 0, NULL))
        memory_exhausted(2 * dtype_size(f->type));
    tensor_set(&values, 1, 1);
    const char *name = rewrite_tensor(f->rewrite, &values);
    tensor_release(&values);
    return name;
}

/* Up to opset 12 the lanes are the rows of a matrix: everything from `axis` on. */
static int hardmax(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    Onnx__NodeProto *node;
    struct arena *arena = &rewrite->model->arena;
    bool flat = rewrite_opset(rewrite) < 13;
    if (!formula_begin(&f, rewrite, site->node, true) || f.x->count == 0)
        return 0;
    int64_t axis = formula_axis(&f, node_int(site->node, "axis", flat ? 1 : -1)), depth = 1;
    /* OneHot does not take a single index. */
    if (axis < 0 || (!flat && f.x->shape.rank < 2))
        return 0;
    for (int i = (int)axis; i < (flat ? f.x->shape.rank : (int)axis + 1); i++)
        depth *= f.x->shape.dims[i];
    const char *x = formula_input(&f, 0);
    if (flat) {
        x = rewrite_op(rewrite, "Flatten", &node, x, NULL);
        node_set_int(arena, node, "axis", axis);
        axis = 1;
    }
    f.fits &= rewrite_takes(rewrite, "ArgMax", f.type);
    const char *first = rewrite_op(rewrite, "ArgMax", &node, x, NULL);
    node_set_int(arena, node, "axis", axis);
    node_set_int(arena, node, "keepdims", 0);
    const char *size = rewrite_scalar(rewrite, DTYPE_INT64, 0, (long double)depth);
    const char *result = rewrite_op(rewrite, "OneHot", &node, first, size, zero_and_one(&f), NULL);
    node_set_int(arena, node, "axis", axis);
    return formula_end(&f, flat ? rewrite_reshape(rewrite, result, &f.x->shape) : result);
}

const struct rule rule_hardmax_formula = {
    .name = "hardmax-formula",
    .paper = 7,
    .summary = "Hardmax by ArgMax and OneHot",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Hardmax",
    .apply = hardmax,
};
