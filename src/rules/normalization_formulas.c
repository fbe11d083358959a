/* Rule 7 of EAGLE for normalisations and softmax: each by the formula that its documentation gives. */
#include "rules/formula.h"

#include "base/str.h"

static enum dtype wider(enum dtype a, enum dtype b)
{
    if (a == b)
        return a;
    return a == DTYPE_DOUBLE || b == DTYPE_DOUBLE ? DTYPE_DOUBLE : DTYPE_FLOAT;
}

/* 1 / sqrt(variance + epsilon) without the reciprocal. */
static const char *deviation(struct formula *f, const char *variance)
{
    float epsilon = node_float(f->node, "epsilon", 1e-5f);
    const char *sum = formula_two(f, "Add", variance, formula_number(f, (long double)epsilon));
    return formula_one(f, "Sqrt", sum);
}

static const char *scale_and_shift(struct formula *f, const char *x, const char *scale, const char *bias)
{
    const char *scaled = formula_two(f, "Mul", x, scale);
    return bias ? formula_two(f, "Add", scaled, bias) : scaled;
}

/* Statistics, scale and bias may be of other types than x since opset 14 and 15. */
static int batch(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    const char *vectors[5];
    if (!formula_begin(&f, rewrite, site->node, true) || f.x->shape.rank < 1 || f.x->count == 0 ||
        node_int(site->node, "training_mode", 0))
        return 0;
    for (size_t i = 1; i < 5; i++) {
        const struct bounded *vector = rewrite_input(rewrite, site->node, i);
        if (!vector || vector->shape.rank != 1)
            return 0;
        f.type = wider(f.type, vector->type);
    }
    for (size_t i = 1; i < 5; i++)
        vectors[i] = formula_along(&f, formula_input(&f, i), f.x->shape.rank > 1 ? 1 : 0);
    const char *distance = formula_two(&f, "Sub", formula_input(&f, 0), vectors[3]);
    const char *normal = formula_two(&f, "Div", distance, deviation(&f, vectors[4]));
    return formula_end(&f, scale_and_shift(&f, normal, vectors[1], vectors[2]));
}

const struct rule rule_batch_normalization_formula = {
    .name = "batch-normalization-formula",
    .paper = 7,
    .summary = "BatchNormalization by Sub, Sqrt, Div, Mul and Add",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "BatchNormalization",
    .apply = batch,
};

/* Mean and deviation of x over axes, in two passes. */
struct statistics {
    const char *mean, *distance, *deviation;
};

static struct statistics statistics_of(struct formula *f, const char *x, const int64_t *axes, size_t count)
{
    struct statistics made;
    made.mean = formula_reduce(f, "ReduceMean", x, axes, count, true);
    made.distance = formula_two(f, "Sub", x, made.mean);
    const char *square = formula_two(f, "Mul", made.distance, made.distance);
    made.deviation = deviation(f, formula_reduce(f, "ReduceMean", square, axes, count, true));
    return made;
}

static size_t axes_from(int first, int rank, int64_t axes[TENSOR_MAX_RANK])
{
    size_t count = 0;
    for (int i = first; i < rank; i++)
        axes[count++] = i;
    return count;
}

static int instance(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    int64_t axes[TENSOR_MAX_RANK];
    if (!formula_begin(&f, rewrite, site->node, true) || f.x->shape.rank < 3 || f.x->count == 0)
        return 0;
    size_t count = axes_from(2, f.x->shape.rank, axes);
    struct statistics s = statistics_of(&f, formula_input(&f, 0), axes, count);
    const char *scale = formula_along(&f, formula_input(&f, 1), 1);
    const char *bias = formula_along(&f, formula_input(&f, 2), 1);
    const char *normal = formula_two(&f, "Div", s.distance, s.deviation);
    return formula_end(&f, scale_and_shift(&f, normal, scale, bias));
}

const struct rule rule_instance_normalization_formula = {
    .name = "instance-normalization-formula",
    .paper = 7,
    .summary = "InstanceNormalization by ReduceMean, Sub, Mul, Sqrt, Div and Add",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "InstanceNormalization",
    .apply = instance,
};

/* The statistics are results too, in the type that stash_type names. */
static int layer(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    int64_t axes[TENSOR_MAX_RANK];
    if (!formula_begin_any(&f, rewrite, site->node, true) || rewrite_opset(rewrite) < 17 || f.x->count == 0 ||
        node_int(site->node, "stash_type", DTYPE_FLOAT) != DTYPE_FLOAT)
        return 0;
    int axis = formula_axis(&f, node_int(site->node, "axis", -1));
    if (axis < 0)
        return 0;
    struct statistics s =
        statistics_of(&f, formula_input(&f, 0), axes, axes_from(axis, f.x->shape.rank, axes));
    const char *normal = formula_two(&f, "Div", s.distance, s.deviation);
    const char *scale = formula_input(&f, 1);
    const char *bias = rewrite_has_input(site->node, 2) ? formula_input(&f, 2) : NULL;
    formula_output(&f, 0, scale_and_shift(&f, normal, scale, bias), f.x->type);
    formula_output(&f, 1, s.mean, DTYPE_FLOAT);
    formula_output(&f, 2, formula_one(&f, "Reciprocal", s.deviation), DTYPE_FLOAT);
    return formula_end_outputs(&f);
}

const struct rule rule_layer_normalization_formula = {
    .name = "layer-normalization-formula",
    .paper = 7,
    .summary = "LayerNormalization by ReduceMean, Sub, Mul, Sqrt, Div and Add",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "LayerNormalization",
    .apply = layer,
};

/* Up to opset 20 scale and bias have one element a group, from 21 on one a channel. */
static int group(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    int64_t groups = node_int(site->node, "num_groups", 0);
    if (!formula_begin(&f, rewrite, site->node, true) || f.x->shape.rank < 3 || f.x->count == 0 ||
        groups < 1 || f.x->shape.dims[1] % groups ||
        node_int(site->node, "stash_type", DTYPE_FLOAT) != DTYPE_FLOAT)
        return 0;
    bool by_channel = rewrite_opset(rewrite) >= 21;
    struct shape rows = {3, {f.x->shape.dims[0], groups, -1}}, column = {2, {groups, 1}};
    const char *x = rewrite_reshape(rewrite, formula_input(&f, 0), &rows);
    struct statistics s = statistics_of(&f, x, (const int64_t[]){2}, 1);
    const char *result = formula_two(&f, "Div", s.distance, s.deviation);
    const char *scale = formula_input(&f, 1), *bias = formula_input(&f, 2);
    if (by_channel) {
        scale = formula_along(&f, scale, 1);
        bias = formula_along(&f, bias, 1);
        result = rewrite_reshape(rewrite, result, &f.x->shape);
        return formula_end(&f, scale_and_shift(&f, result, scale, bias));
    }
    scale = rewrite_reshape(rewrite, scale, &column);
    bias = rewrite_reshape(rewrite, bias, &column);
    result = scale_and_shift(&f, result, scale, bias);
    return formula_end(&f, rewrite_reshape(rewrite, result, &f.x->shape));
}

const struct rule rule_group_normalization_formula = {
    .name = "group-normalization-formula",
    .paper = 7,
    .summary = "GroupNormalization by Reshape, ReduceMean, Sub, Mul, Sqrt, Div and Add",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "GroupNormalization",
    .apply = group,
};

static int lp(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    if (!formula_begin(&f, rewrite, site->node, true) || f.x->count == 0)
        return 0;
    int64_t axis = formula_axis(&f, node_int(site->node, "axis", -1)), p = node_int(site->node, "p", 2);
    if (axis < 0 || p < 1 || p > 2)
        return 0;
    const char *x = formula_input(&f, 0);
    const char *powers = p == 1 ? formula_one(&f, "Abs", x) : formula_two(&f, "Mul", x, x);
    const char *norm = formula_reduce(&f, "ReduceSum", powers, &axis, 1, true);
    if (p == 2)
        norm = formula_one(&f, "Sqrt", norm);
    return formula_end(&f, formula_two(&f, "Div", x, norm));
}

const struct rule rule_lp_normalization_formula = {
    .name = "lp-normalization-formula",
    .paper = 7,
    .summary = "LpNormalization by Abs or Mul, ReduceSum, Sqrt and Div",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "LpNormalization",
    .apply = lp,
};

enum { LRN_WINDOW = 15 };

/* The sum over near channels: slices of the padded squares added up. */
static const char *near_squares(struct formula *f, const char *x, int64_t size)
{
    int64_t pads[2 * TENSOR_MAX_RANK] = {0}, channels = f->x->shape.dims[1];
    size_t rank = (size_t)f->x->shape.rank;
    pads[1] = (size - 1) / 2;
    pads[rank + 1] = size - 1 - pads[1];
    const char *squares = formula_two(f, "Mul", x, x);
    const char *amounts = rewrite_ints(f->rewrite, pads, 2 * rank);
    const char *padded = formula_two(f, "Pad", squares, amounts), *sum = NULL;
    for (int64_t k = 0; k < size; k++) {
        const char *part = rewrite_slice(f->rewrite, padded, 1, k, k + channels);
        sum = sum ? formula_two(f, "Add", sum, part) : part;
    }
    return sum;
}

/* x / (bias + alpha / size * sum)^beta; the quotient is computed by a node because it is rounded. */
static int lrn(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    int64_t size = node_int(site->node, "size", 0);
    if (!formula_begin(&f, rewrite, site->node, true) || f.x->shape.rank < 3 || f.x->count == 0 || size < 1 ||
        size > LRN_WINDOW)
        return 0;
    const char *x = formula_input(&f, 0), *sum = near_squares(&f, x, size);
    const char *alpha = formula_number(&f, (long double)node_float(site->node, "alpha", 1e-4f));
    const char *beta = formula_number(&f, (long double)node_float(site->node, "beta", 0.75f));
    const char *bias = formula_number(&f, (long double)node_float(site->node, "bias", 1));
    const char *factor = formula_two(&f, "Div", alpha, formula_number(&f, (long double)size));
    const char *base = formula_two(&f, "Add", formula_two(&f, "Mul", sum, factor), bias);
    return formula_end(&f, formula_two(&f, "Div", x, formula_two(&f, "Pow", base, beta)));
}

const struct rule rule_lrn_formula = {
    .name = "lrn-formula",
    .paper = 7,
    .summary = "LRN by Mul, Pad, Slice, Add, Pow and Div",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "LRN",
    .apply = lrn,
};

/* Up to opset 12 the lanes are the rows of a matrix: everything from `axis` on. */
static int softmax(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    bool flat = rewrite_opset(rewrite) < 13;
    if (!formula_begin(&f, rewrite, site->node, true) || f.x->count == 0)
        return 0;
    int64_t axis = formula_axis(&f, node_int(site->node, "axis", flat ? 1 : -1));
    if (axis < 0)
        return 0;
    const char *x = formula_input(&f, 0);
    if (flat) {
        Onnx__NodeProto *flatten;
        x = rewrite_op(rewrite, "Flatten", &flatten, x, NULL);
        node_set_int(&rewrite->model->arena, flatten, "axis", axis);
        axis = 1;
    }
    const char *most = formula_reduce(&f, "ReduceMax", x, &axis, 1, true);
    const char *below = formula_two(&f, "Sub", x, most), *power = formula_one(&f, "Exp", below);
    const char *sum = formula_reduce(&f, "ReduceSum", power, &axis, 1, true);
    const char *result = text_equal(site->node->op_type, "Softmax")
                             ? formula_two(&f, "Div", power, sum)
                             : formula_two(&f, "Sub", below, formula_one(&f, "Log", sum));
    return formula_end(&f, flat ? rewrite_reshape(rewrite, result, &f.x->shape) : result);
}

const struct rule rule_softmax_formula = {
    .name = "softmax-formula",
    .paper = 7,
    .summary = "Softmax and LogSoftmax by ReduceMax, Sub, Exp, ReduceSum and Div or Log",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Softmax|LogSoftmax",
    .apply = softmax,
};
