/* Rule 7 of EAGLE for functions of single elements: each by the formula that its documentation gives. */
#include "rules/formula.h"

#include "base/str.h"

#include <math.h>

/* x is the input in the type of the formula. A writer returns NULL where its formula would not hold. */
typedef const char *formula_writer(struct formula *f, const char *x);

static const char *attribute(struct formula *f, const char *name, float otherwise)
{
    return formula_number(f, (long double)node_float(f->node, name, otherwise));
}

/* first where x < 0, else second; NaN is not below 0. */
static const char *where_negative(struct formula *f, const char *x, const char *first, const char *second)
{
    return formula_where(f, formula_two(f, "Less", x, formula_number(f, 0)), first, second);
}

static const char *exp_minus_one(struct formula *f, const char *x)
{
    return formula_two(f, "Sub", formula_one(f, "Exp", x), formula_number(f, 1));
}

static const char *elu(struct formula *f, const char *x)
{
    const char *bent = formula_two(f, "Mul", exp_minus_one(f, x), attribute(f, "alpha", 1));
    return where_negative(f, x, bent, x);
}

static const char *celu(struct formula *f, const char *x)
{
    const char *alpha = attribute(f, "alpha", 1), *power = exp_minus_one(f, formula_two(f, "Div", x, alpha));
    if (node_float(f->node, "alpha", 1) == 0)
        return NULL;
    return where_negative(f, x, formula_two(f, "Mul", power, alpha), x);
}

static const char *selu(struct formula *f, const char *x)
{
    const char *alpha = attribute(f, "alpha", 1.67326319217681884765625f);
    const char *gamma = attribute(f, "gamma", 1.05070102214813232421875f);
    const char *both = formula_two(f, "Mul", alpha, gamma);
    const char *bent = formula_two(f, "Mul", exp_minus_one(f, x), both);
    const char *above = formula_two(f, "Greater", x, formula_number(f, 0));
    return formula_where(f, above, formula_two(f, "Mul", x, gamma), bent);
}

static const char *leaky_relu(struct formula *f, const char *x)
{
    return where_negative(f, x, formula_two(f, "Mul", x, attribute(f, "alpha", 0.01f)), x);
}

static const char *prelu(struct formula *f, const char *x)
{
    return where_negative(f, x, formula_two(f, "Mul", x, formula_input(f, 1)), x);
}

static const char *relu(struct formula *f, const char *x)
{
    const char *zero = formula_number(f, 0);
    return rng_chance(&f->rewrite->rng, 0.5) ? formula_two(f, "Max", x, zero) : where_negative(f, x, zero, x);
}

static const char *thresholded_relu(struct formula *f, const char *x)
{
    const char *above = formula_two(f, "Greater", x, attribute(f, "alpha", 1));
    return formula_where(f, above, x, formula_number(f, 0));
}

static const char *between_zero_and_one(struct formula *f, const char *x)
{
    const char *low = formula_number(f, 0), *high = formula_number(f, 1);
    f->fits &= rewrite_takes(f->rewrite, "Clip", f->type);
    return rewrite_op(f->rewrite, "Clip", NULL, x, low, high, NULL);
}

static const char *hard_sigmoid(struct formula *f, const char *x)
{
    const char *product = formula_two(f, "Mul", x, attribute(f, "alpha", 0.2f));
    return between_zero_and_one(f, formula_two(f, "Add", product, attribute(f, "beta", 0.5f)));
}

static const char *hard_swish(struct formula *f, const char *x)
{
    const char *sixth = formula_two(f, "Div", x, formula_number(f, 6));
    const char *line = formula_two(f, "Add", sixth, formula_number(f, 0.5L));
    return formula_two(f, "Mul", x, between_zero_and_one(f, line));
}

static const char *softsign(struct formula *f, const char *x)
{
    const char *size = formula_two(f, "Add", formula_one(f, "Abs", x), formula_number(f, 1));
    return formula_two(f, "Div", x, size);
}

/* max(x, 0) + log(1 + exp(-|x|)), in which nothing overflows. */
static const char *softplus(struct formula *f, const char *x)
{
    const char *depth = formula_one(f, "Neg", formula_one(f, "Abs", x));
    const char *sum = formula_two(f, "Add", formula_one(f, "Exp", depth), formula_number(f, 1));
    return formula_two(f, "Add", formula_one(f, "Relu", x), formula_one(f, "Log", sum));
}

static const char *mish(struct formula *f, const char *x)
{
    return formula_two(f, "Mul", x, formula_one(f, "Tanh", softplus(f, x)));
}

/* Where exp(-x) overflows, the quotient is 0, which is as near as a number gets. */
static const char *sigmoid(struct formula *f, const char *x)
{
    const char *power = formula_one(f, "Exp", formula_one(f, "Neg", x)), *one = formula_number(f, 1);
    return formula_two(f, "Div", one, formula_two(f, "Add", power, one));
}

static const char *tanh_by_sigmoid(struct formula *f, const char *x)
{
    const char *two = formula_number(f, 2);
    const char *curve = formula_one(f, "Sigmoid", formula_two(f, "Mul", x, two));
    return formula_two(f, "Sub", formula_two(f, "Mul", curve, two), formula_number(f, 1));
}

/* x/2 (1 + erf(x / sqrt(2))) */
static const char *gelu(struct formula *f, const char *x)
{
    const char *approximate = rewrite_string(f->rewrite, f->node, "approximate", "none");
    const char *root = formula_one(f, "Sqrt", formula_number(f, 2)), *one = formula_number(f, 1);
    if (!text_equal(approximate, "none"))
        return NULL;
    const char *curve = formula_one(f, "Erf", formula_two(f, "Div", x, root));
    const char *half = formula_two(f, "Mul", x, formula_number(f, 0.5L));
    return formula_two(f, "Mul", half, formula_two(f, "Add", curve, one));
}

/* exp(x / 2)^2 overflows and vanishes where exp(x) does. */
static const char *exp_by_square(struct formula *f, const char *x)
{
    const char *root = formula_one(f, "Exp", formula_two(f, "Mul", x, formula_number(f, 0.5L)));
    return formula_two(f, "Mul", root, root);
}

static const char *tan_by_quotient(struct formula *f, const char *x)
{
    const char *sine = formula_one(f, "Sin", x);
    return formula_two(f, "Div", sine, formula_one(f, "Cos", x));
}

static const char *reciprocal(struct formula *f, const char *x)
{
    return formula_two(f, "Div", formula_number(f, 1), x);
}

static const char *floor_by_ceil(struct formula *f, const char *x)
{
    return formula_one(f, "Neg", formula_one(f, "Ceil", formula_one(f, "Neg", x)));
}

static const char *ceil_by_floor(struct formula *f, const char *x)
{
    return formula_one(f, "Neg", formula_one(f, "Floor", formula_one(f, "Neg", x)));
}

static const char *negative(struct formula *f, const char *x)
{
    return rng_chance(&f->rewrite->rng, 0.5) ? formula_two(f, "Sub", formula_number(f, 0), x)
                                             : formula_two(f, "Mul", x, formula_number(f, -1));
}

static const char *absolute(struct formula *f, const char *x)
{
    if (!dtype_is_signed(f->type))
        return NULL;
    const char *opposite = formula_one(f, "Neg", x);
    return rng_chance(&f->rewrite->rng, 0.5) ? formula_two(f, "Max", x, opposite)
                                             : where_negative(f, x, opposite, x);
}

/* Either bound may be missing. */
static const char *clip(struct formula *f, const char *x)
{
    for (size_t i = 1; i < 3; i++) {
        const struct bounded *bound = rewrite_input(f->rewrite, f->node, i);
        if (bound && bound->shape.rank > 0)
            return NULL; /* not valid, though some engines take a list of one */
    }
    if (rewrite_has_input(f->node, 1))
        x = formula_two(f, "Max", x, formula_input(f, 1));
    return rewrite_has_input(f->node, 2) ? formula_two(f, "Min", x, formula_input(f, 2)) : x;
}

struct named_formula {
    const char *name;
    formula_writer *write;
};

static const struct named_formula activations[] = {
    {.name = "Elu", .write = elu},
    {.name = "Celu", .write = celu},
    {.name = "Selu", .write = selu},
    {.name = "LeakyRelu", .write = leaky_relu},
    {.name = "PRelu", .write = prelu},
    {.name = "Relu", .write = relu},
    {.name = "ThresholdedRelu", .write = thresholded_relu},
    {.name = "HardSigmoid", .write = hard_sigmoid},
    {.name = "HardSwish", .write = hard_swish},
    {.name = "Softsign", .write = softsign},
    {.name = "Softplus", .write = softplus},
    {.name = "Mish", .write = mish},
    {.name = "Sigmoid", .write = sigmoid},
    {.name = "Tanh", .write = tanh_by_sigmoid},
    {.name = "Gelu", .write = gelu},
    {0},
};

static const struct named_formula functions[] = {
    {.name = "Exp", .write = exp_by_square},
    {.name = "Tan", .write = tan_by_quotient},
    {.name = "Reciprocal", .write = reciprocal},
    {.name = "Floor", .write = floor_by_ceil},
    {.name = "Ceil", .write = ceil_by_floor},
    {.name = "Neg", .write = negative},
    {.name = "Abs", .write = absolute},
    {.name = "Clip", .write = clip},
    {0},
};

static int by_formula(struct rewrite *rewrite, const Onnx__NodeProto *node, const struct named_formula *table)
{
    struct formula f;
    if (!formula_begin(&f, rewrite, node, true))
        return 0;
    const char *x = formula_input(&f, 0);
    for (; table->name; table++)
        if (text_equal(table->name, node->op_type)) {
            const char *result = table->write(&f, x);
            return result ? formula_end(&f, result) : 0;
        }
    return 0;
}

static int activation(struct rewrite *rewrite, const struct rule_site *site)
{
    return by_formula(rewrite, site->node, activations);
}

const struct rule rule_activation_formula = {
    .name = "activation-formula",
    .paper = 7,
    .summary = "an activation, such as Elu, Sigmoid or HardSwish, by its formula",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Elu|Celu|Selu|LeakyRelu|PRelu|Relu|ThresholdedRelu|HardSigmoid|HardSwish|Softsign|Softplus|"
                 "Mish|Sigmoid|Tanh|Gelu",
    .apply = activation,
};

static int function(struct rewrite *rewrite, const struct rule_site *site)
{
    return by_formula(rewrite, site->node, functions);
}

const struct rule rule_elementwise_formula = {
    .name = "elementwise-formula",
    .paper = 7,
    .summary = "a function of single elements, such as Exp, Floor or Clip, by others",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Exp|Tan|Reciprocal|Floor|Ceil|Neg|Abs|Clip",
    .apply = function,
};
