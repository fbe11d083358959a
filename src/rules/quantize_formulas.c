/* Rule 7 of EAGLE for quantisation: rounding, shifting and saturating written as nodes. */
#include "rules/formula.h"

/* Scale or zero point in a shape that broadcasts to x; NULL when it has blocks or cannot be placed. */
static const char *placed(struct formula *f, const char *value, const struct bounded *type)
{
    int64_t block = node_int(f->node, "block_size", 0);
    if (!type || block != 0 || type->shape.rank > 1)
        return NULL;
    if (type->shape.rank == 0)
        return value;
    int axis = formula_axis(f, node_int(f->node, "axis", 1));
    if (f->x->shape.rank > 0 && type->count == 1)
        return value;
    return axis >= 0 && type->shape.dims[0] == f->x->shape.dims[axis] ? formula_along(f, value, axis) : NULL;
}

static const char *placed_input(struct formula *f, size_t number)
{
    const struct bounded *type = rewrite_input(f->rewrite, f->node, number);
    return type ? placed(f, formula_input(f, number), type) : NULL;
}

static enum dtype quantized_type(const struct formula *f)
{
    const struct bounded *zero = rewrite_input(f->rewrite, f->node, 2);
    if (rewrite_has_input(f->node, 2))
        return zero ? zero->type : DTYPE_NONE;
    int64_t wanted = node_int(f->node, "output_dtype", 0);
    return wanted == 0 ? DTYPE_UINT8 : dtype_check(wanted, NULL) ? DTYPE_NONE : (enum dtype)wanted;
}

/* Sums beyond 2^24 are rounded in float32, but far outside of what 16 bits hold. */
static int quantize(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    if (!formula_begin(&f, rewrite, site->node, true))
        return 0;
    const struct bounded *scale_type = rewrite_input(rewrite, site->node, 1);
    enum dtype to = quantized_type(&f);
    if (!scale_type || !dtype_is_integer(to) || dtype_size(to) > 2)
        return 0;
    f.type = scale_type->type == DTYPE_DOUBLE ? DTYPE_DOUBLE : DTYPE_FLOAT;
    const char *x = formula_input(&f, 0), *scale = placed_input(&f, 1);
    if (!scale)
        return 0;
    const char *steps = formula_one(&f, "Round", formula_two(&f, "Div", x, scale));
    if (rewrite_has_input(site->node, 2)) {
        const char *zero = placed_input(&f, 2);
        if (!zero)
            return 0;
        steps = formula_two(&f, "Add", steps, zero);
    }
    const char *low = formula_number(&f, dtype_lowest(to)), *high = formula_number(&f, dtype_highest(to));
    const char *clipped = rewrite_op(rewrite, "Clip", NULL, steps, low, high, NULL);
    formula_output(&f, 0, clipped, to);
    return formula_end_outputs(&f);
}

const struct rule rule_quantize_formula = {
    .name = "quantize-formula",
    .paper = 7,
    .summary = "QuantizeLinear by Div, Round, Add, Clip and Cast",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "QuantizeLinear",
    .apply = quantize,
};

/* x minus the zero point is computed in 32-bit integers, which hold it; for int32 ONNX knows no zero point.
 */
static const char *distance(struct formula *f, bool *fits)
{
    const struct bounded *zero = rewrite_input(f->rewrite, f->node, 2);
    *fits = dtype_is_integer(f->x->type) && dtype_size(f->x->type) <= 4 && f->x->type != DTYPE_UINT32;
    f->type = DTYPE_INT32;
    const char *x = formula_input(f, 0);
    if (!rewrite_has_input(f->node, 2))
        return x;
    const char *shift = zero ? placed_input(f, 2) : NULL;
    *fits &= shift && zero->type == f->x->type && f->x->type != DTYPE_INT32;
    return *fits ? formula_two(f, "Sub", x, shift) : x;
}

static int dequantize(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    bool fits;
    const struct bounded *scale_type = rewrite_input(rewrite, site->node, 1);
    if (!formula_begin(&f, rewrite, site->node, false) || !scale_type || !dtype_is_float(scale_type->type))
        return 0;
    const char *steps = distance(&f, &fits);
    if (!fits)
        return 0;
    steps = rewrite_cast(rewrite, steps, DTYPE_FLOAT);
    f.type = DTYPE_FLOAT;
    const char *scale = scale_type->type == DTYPE_DOUBLE ? NULL : placed_input(&f, 1);
    if (!scale)
        return 0;
    formula_output(&f, 0, formula_two(&f, "Mul", steps, scale), scale_type->type);
    return formula_end_outputs(&f);
}

const struct rule rule_dequantize_formula = {
    .name = "dequantize-formula",
    .paper = 7,
    .summary = "DequantizeLinear by Sub of integers, Cast and Mul",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "DequantizeLinear",
    .apply = dequantize,
};
