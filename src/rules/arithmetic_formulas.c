/* Rule 7 of EAGLE for arithmetic: operators of numbers by simpler ones. */
#include "rules/formula.h"

#include "base/str.h"

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

static int mod(struct rewrite *rewrite, const struct rule_site *site, struct error *err)
{
    struct formula f;
    (void)err;
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
