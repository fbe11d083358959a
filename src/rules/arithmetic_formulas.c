/* Rule 7 of EAGLE for arithmetic: operators of numbers by simpler ones. */
#include "rules/formula.h"

#include "base/str.h"

#include <math.h>

/* The value of a constant, or of an input as the case gives it; the caller releases it. */
static bool known_tensor(const struct rewrite *rewrite, const char *name, struct tensor *tensor)
{
    if (rewrite_constant(rewrite, name, tensor, NULL) == 1)
        return true;
    for (size_t i = 0; i < rewrite->n_inputs; i++) {
        const struct value *input = &rewrite->inputs[i];
        if (input->name && text_equal(input->name, name) && input->kind == VALUE_TENSOR)
            return tensor_copy(tensor, &input->tensors[0], NULL) == 0;
    }
    return false;
}

/* --- Div --- */

/* Whether a tensor has none of the numbers next to which x / y is a matter of hardware: -0, and subnormals,
 * which may be read as 0. */
static bool is_plain_divisor(const struct tensor *y)
{
    long double tiny = dtype_precision(y->type).tiny;
    for (size_t i = 0; i < y->count; i++) {
        long double value = tensor_get(y, i);
        if (value == 0 ? signbit(value) : fabsl(value) < tiny)
            return false;
    }
    return dtype_is_float(y->type);
}

static int zero_apart(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    struct tensor divisor;
    if (!formula_begin(&f, rewrite, site->node, false) || !rewrite_has_input(site->node, 1) ||
        !known_tensor(rewrite, site->node->input[1], &divisor))
        return 0;
    bool plain = is_plain_divisor(&divisor);
    tensor_release(&divisor);
    if (!plain)
        return 0;
    const char *x = formula_input(&f, 0), *y = formula_input(&f, 1);
    const char *none = formula_two(&f, "Equal", y, formula_number(&f, 0));
    const char *endless = formula_two(&f, "Mul", x, formula_number(&f, INFINITY));
    return formula_end(&f, formula_where(&f, none, endless, formula_two(&f, "Div", x, y)));
}

const struct rule rule_div_zero_apart = {
    .name = "div-zero-apart",
    .paper = 7,
    .summary = "a Div by known numbers, where these are 0 by a product with infinity",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Div",
    .apply = zero_apart,
};

/* --- Mod --- */

/* The divisor without those by which integers must not be divided: 0, for which ONNX defines nothing, and -1,
 * by which the lowest number cannot be divided. The remainder by -1 and by 1 is 0. */
static const char *safe_divisor(struct formula *f, const char *y)
{
    const char *one = formula_number(f, 1);
    const char *bad = formula_two(f, "Equal", y, formula_number(f, 0));
    if (dtype_is_signed(f->type)) {
        const char *minus = formula_two(f, "Equal", y, formula_number(f, -1));
        bad = rewrite_op(f->rewrite, "Or", NULL, bad, minus, NULL);
    }
    return formula_where(f, bad, one, y);
}

/* With fmod = 0 the remainder has the sign of the divisor. */
static const char *with_sign_of(struct formula *f, const char *remainder, const char *y)
{
    const char *zero = formula_number(f, 0);
    const char *negative = formula_two(f, "Less", remainder, zero);
    const char *opposite =
        rewrite_op(f->rewrite, "Xor", NULL, negative, formula_two(f, "Less", y, zero), NULL);
    const char *none = formula_two(f, "Equal", remainder, zero);
    const char *some = rewrite_op(f->rewrite, "Not", NULL, none, NULL);
    const char *moves = rewrite_op(f->rewrite, "And", NULL, opposite, some, NULL);
    return formula_where(f, moves, formula_two(f, "Add", remainder, y), remainder);
}

static int mod(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    if (!formula_begin(&f, rewrite, site->node, false) || !dtype_is_integer(f.type))
        return 0;
    if (!rewrite_takes(rewrite, "Div", f.type))
        f.type = DTYPE_INT32; /* of 8 or 16 bits, before opset 14 */
    const char *x = formula_input(&f, 0), *y = safe_divisor(&f, formula_input(&f, 1));
    const char *whole = formula_two(&f, "Mul", formula_two(&f, "Div", x, y), y);
    const char *remainder = formula_two(&f, "Sub", x, whole);
    if (!node_int(site->node, "fmod", 0) && dtype_is_signed(f.type))
        remainder = with_sign_of(&f, remainder, y);
    return formula_end(&f, remainder);
}

const struct rule rule_mod_formula = {
    .name = "mod-formula",
    .paper = 7,
    .summary = "Mod of integers by Div, Mul and Sub",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Mod",
    .apply = mod,
};

/* --- Any number of operands --- */

enum { PAIRWISE_OPERANDS = 64 };

static int pairwise(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *op_type = site->node->op_type;
    bool mean = text_equal(op_type, "Mean"), sum = mean || text_equal(op_type, "Sum");
    size_t count = site->node->n_input;
    struct formula f;
    if (!formula_begin(&f, rewrite, site->node, sum) || count > PAIRWISE_OPERANDS || (count < 3 && !sum))
        return 0;
    const char *result = formula_input(&f, 0);
    for (size_t i = 1; i < count; i++)
        result = formula_two(&f, sum ? "Add" : op_type, result, formula_input(&f, i));
    if (mean)
        result = formula_two(&f, "Div", result, formula_number(&f, (long double)count));
    return formula_end(&f, result);
}

const struct rule rule_pairwise = {
    .name = "pairwise",
    .paper = 7,
    .summary = "Sum, Mean, Max and Min of many values by one operator after the other on two",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Sum|Mean|Max|Min",
    .apply = pairwise,
};

/* --- CumSum --- */

enum { CUMSUM_STEPS = 16 };

static const char *zeros_like(struct formula *f, const struct shape *shape)
{
    const char *sizes = rewrite_ints(f->rewrite, shape->dims, (size_t)shape->rank);
    return formula_two(f, "Expand", formula_number(f, 0), sizes);
}

static int cumulative(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *sums[CUMSUM_STEPS], *running = NULL;
    struct formula f;
    int64_t given;
    size_t count;
    if (!formula_begin(&f, rewrite, site->node, true) || f.x->count == 0 ||
        !rewrite_has_input(site->node, 1) ||
        !rewrite_constant_ints(rewrite, site->node->input[1], &given, 1, &count) || count != 1)
        return 0;
    int axis = formula_axis(&f, given);
    if (axis < 0 || f.x->shape.dims[axis] > CUMSUM_STEPS)
        return 0;
    bool exclusive = node_int(site->node, "exclusive", 0), reverse = node_int(site->node, "reverse", 0);
    int64_t steps = f.x->shape.dims[axis];
    struct shape part = f.x->shape;
    const char *x = formula_input(&f, 0);
    part.dims[axis] = 1;
    for (int64_t i = 0; i < steps; i++) {
        int64_t at = reverse ? steps - 1 - i : i;
        const char *term = rewrite_slice(rewrite, x, axis, at, at + 1);
        if (exclusive)
            sums[at] = running ? running : zeros_like(&f, &part);
        running = running ? formula_two(&f, "Add", running, term) : term;
        if (!exclusive)
            sums[at] = running;
    }
    return formula_end(&f, rewrite_concat(rewrite, axis, sums, (size_t)steps));
}

const struct rule rule_cumsum_formula = {
    .name = "cumsum-formula",
    .paper = 7,
    .summary = "CumSum by Slice, one Add after the other, and Concat",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "CumSum",
    .apply = cumulative,
};

/* --- Pow --- */

enum { POW_MOST = 4 };

/* Which of the exponents 1 to POW_MOST occur; false when others do. */
static bool small_exponents(const struct formula *f, bool occurs[POW_MOST + 1])
{
    struct tensor tensor;
    if (!rewrite_has_input(f->node, 1) || !known_tensor(f->rewrite, f->node->input[1], &tensor))
        return false;
    bool small = tensor.count > 0 && tensor.type != DTYPE_STRING;
    for (size_t i = 0; small && i < tensor.count; i++) {
        long double exponent = tensor_get(&tensor, i);
        small = exponent >= 1 && exponent <= POW_MOST && exponent == floorl(exponent);
        if (small)
            occurs[(size_t)exponent] = true;
    }
    tensor_release(&tensor);
    return small;
}

static const char *choose_power(struct formula *f, int exponent, const char *powers, const char *others)
{
    const char *exponents = rewrite_cast(f->rewrite, f->node->input[1], DTYPE_INT64);
    const char *number = rewrite_scalar(f->rewrite, DTYPE_INT64, 0, exponent);
    const char *here = rewrite_op(f->rewrite, "Equal", NULL, exponents, number, NULL);
    return formula_where(f, here, powers, others ? others : powers);
}

/* Each element takes the power that its exponent asks for. */
static int power(struct rewrite *rewrite, const struct rule_site *site)
{
    bool occurs[POW_MOST + 1] = {false};
    struct formula f;
    if (!formula_begin(&f, rewrite, site->node, true) || !small_exponents(&f, occurs))
        return 0;
    const struct bounded *exponents = rewrite_input(rewrite, site->node, 1);
    bool single = exponents && exponents->count == 1 && exponents->shape.rank <= f.x->shape.rank;
    const char *x = formula_input(&f, 0), *powers = x, *result = NULL;
    int most = POW_MOST;
    while (!occurs[most])
        most--;
    for (int i = 1; i <= most; i++) {
        powers = i > 1 ? formula_two(&f, "Mul", powers, x) : x;
        if (occurs[i] && !single)
            result = choose_power(&f, i, powers, result);
    }
    if (single)
        result = powers;
    return formula_end(&f, result);
}

const struct rule rule_pow_formula = {
    .name = "pow-formula",
    .paper = 7,
    .summary = "Pow with exponents from 1 to 4 by Mul, and Where if they differ",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Pow",
    .apply = power,
};

/* --- Conditions --- */

/* Not for real numbers: 0 times an infinity is no 0. */
static int where(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    const struct bounded *values = rewrite_input(rewrite, site->node, 1);
    if (!formula_begin(&f, rewrite, site->node, false) || !values || !dtype_is_integer(values->type))
        return 0;
    f.type = values->type;
    const char *yes = formula_input(&f, 0), *no = formula_two(&f, "Sub", formula_number(&f, 1), yes);
    const char *first = formula_two(&f, "Mul", yes, formula_input(&f, 1));
    const char *second = formula_two(&f, "Mul", no, formula_input(&f, 2));
    formula_output(&f, 0, formula_two(&f, "Add", first, second), f.type);
    return formula_end_outputs(&f);
}

const struct rule rule_where_formula = {
    .name = "where-formula",
    .paper = 7,
    .summary = "Where of integers by products with the condition and its opposite",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Where",
    .apply = where,
};

static const char *not_of(struct formula *f, const char *x)
{
    return rewrite_op(f->rewrite, "Not", NULL, x, NULL);
}

/* a and b = not (not a or not b), and the like. */
static const char *logic_of(struct formula *f)
{
    const char *op_type = f->node->op_type, *a = formula_input(f, 0);
    if (text_equal(op_type, "Not"))
        return formula_two(f, "Xor", a, formula_number(f, 1));
    const char *b = formula_input(f, 1);
    if (text_equal(op_type, "Xor"))
        return not_of(f, formula_two(f, "Equal", a, b));
    const char *not_a = not_of(f, a), *not_b = not_of(f, b);
    return not_of(f, formula_two(f, text_equal(op_type, "And") ? "Or" : "And", not_a, not_b));
}

static const char *is_infinite(struct formula *f, const char *x)
{
    bool positive = node_int(f->node, "detect_positive", 1),
         negative = node_int(f->node, "detect_negative", 1);
    const char *above = formula_two(f, "Equal", x, formula_number(f, INFINITY));
    const char *below = formula_two(f, "Equal", x, formula_number(f, -INFINITY));
    if (positive && negative)
        return rewrite_op(f->rewrite, "Or", NULL, above, below, NULL);
    return positive ? above : negative ? below : NULL;
}

static int logic(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    const char *result;
    if (!formula_begin(&f, rewrite, site->node, true))
        return 0;
    if (text_equal(site->node->op_type, "IsInf")) {
        result = is_infinite(&f, formula_input(&f, 0));
    } else if (text_equal(site->node->op_type, "IsNaN")) {
        const char *x = formula_input(&f, 0); /* NaN alone is not equal to itself */
        result = not_of(&f, formula_two(&f, "Equal", x, x));
    } else {
        result = logic_of(&f);
    }
    if (!result)
        return 0;
    rewrite_result(rewrite, result, site->node->output[0]);
    return formula_end_outputs(&f);
}

const struct rule rule_logic_formula = {
    .name = "logic-formula",
    .paper = 7,
    .summary = "And, Or, Xor and Not by one another; IsNaN and IsInf by Equal",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "And|Or|Xor|Not|IsNaN|IsInf",
    .apply = logic,
};

/* The comparisons of unsigned numbers have only one that can be true. */
static int sign(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    if (!formula_begin(&f, rewrite, site->node, true))
        return 0;
    const char *x = formula_input(&f, 0), *zero = formula_number(&f, 0);
    const char *result = rewrite_cast(rewrite, formula_two(&f, "Greater", x, zero), f.type);
    if (dtype_is_signed(f.type)) {
        const char *below = rewrite_cast(rewrite, formula_two(&f, "Less", x, zero), f.type);
        result = formula_two(&f, "Sub", result, below);
    }
    return formula_end(&f, result);
}

const struct rule rule_sign_formula = {
    .name = "sign-formula",
    .paper = 7,
    .summary = "Sign by Greater and Less",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Sign",
    .apply = sign,
};
