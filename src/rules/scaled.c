/*
 * Rule 9 of EAGLE: an input multiplied by a power of two and the result divided by what becomes of it, for
 * operators of which the table says so (struct op_factors). Multiplication by a power of two rounds nothing
 * unless it leaves the range of the type. So the rule applies only where all numbers are known and their
 * products and sums stay far from its ends.
 */
#include "rules/rule.h"

#include "base/str.h"
#include "ops/op.h"

#include <math.h>
#include <string.h>

/* Operators whose row does not tell how the output as a whole depends on an input: the factor reaches only a
 * part of it, or it is not a real number any more. */
static bool is_other(const char *op_type)
{
    static const char *const names[] = {"Cast",  "CastLike",        "Dropout",
                                        "Range", "ScatterElements", "ScatterND"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_equal(names[i], op_type))
            return true;
    return false;
}

static bool is_plain(struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    bool pool = text_equal(node->op_type, "MaxPool");
    if (*node->domain || is_other(node->op_type) || node_int(node, "training_mode", 0))
        return false;
    /* A window full of padding gives the lowest number, whatever the factor. */
    if (pool &&
        (node_attribute(node, "pads") || node_attribute(node, "auto_pad") || node_int(node, "ceil_mode", 0)))
        return false;
    return !text_equal(rewrite_string(rewrite, node, "coordinate_transformation_mode", ""),
                       "tf_crop_and_resize") &&
           (rewrite_opset(rewrite) >= 11 || !text_equal(node->op_type, "Clip"));
}

/* Which inputs are multiplied by which power of the factor. */
struct scaling {
    enum dtype type;
    double powers[TENSOR_MAX_RANK]; /* of the inputs; 0: left alone */
    double result;                  /* of the output */
    bool all_outputs;
};

enum { INPUTS = TENSOR_MAX_RANK };

static bool is_typed(const struct rewrite *rewrite, const Onnx__NodeProto *node, size_t i, enum dtype type)
{
    const struct bounded *input = rewrite_input(rewrite, node, i);
    return input && input->type == type;
}

/* One input of a product; what is added to the product gets the factor of the product. */
static bool scale_product(struct rewrite *rewrite, const Onnx__NodeProto *node, const struct op_factors *rule,
                          struct scaling *scaling)
{
    bool any = rule->rule == FACTORS_PRODUCT_OF_ALL;
    /* The factors of the others do not reach all of the result. */
    bool first = text_equal(node->op_type, "PRelu") || text_equal(node->op_type, "BatchNormalization");
    size_t from[INPUTS], count = 0;
    for (size_t i = 0; i < node->n_input && i < INPUTS; i++)
        if ((any || (i < 5 && rule->powers[i] != 0)) && is_typed(rewrite, node, i, scaling->type) &&
            (i == 0 || !first))
            from[count++] = i;
    if (!count || !rewrite_one_output(node))
        return false;
    size_t chosen = from[rng_below(&rewrite->rng, count)];
    scaling->powers[chosen] = 1;
    scaling->result = any ? 1 : rule->powers[chosen];
    for (size_t i = 0; i < node->n_input && i < INPUTS; i++) {
        if (!(rule->added >> i & 1) || !rewrite_has_input(node, i))
            continue;
        if (!is_typed(rewrite, node, i,
                      scaling->type)) /* BatchNormalization may have a mean of another type */
            return false;
        scaling->powers[i] = scaling->result;
    }
    return true;
}

static bool choose(struct rewrite *rewrite, const Onnx__NodeProto *node, const struct op_factors *rule,
                   struct scaling *scaling)
{
    const struct bounded *result = rewrite_type(rewrite, node->output[0]);
    *scaling = (struct scaling){0};
    if (!result || !dtype_is_float(result->type) || node->n_input > INPUTS)
        return false;
    scaling->type = result->type;
    if (rule->rule == FACTORS_PRODUCT || rule->rule == FACTORS_PRODUCT_OF_ALL)
        return scale_product(rewrite, node, rule, scaling);
    if (rule->rule != FACTORS_SUM)
        return false;
    scaling->result = 1;
    scaling->all_outputs = true;
    for (size_t i = 0; i < node->n_input; i++)
        scaling->powers[i] = is_typed(rewrite, node, i, scaling->type) ? 1 : 0;
    return true;
}

/*
 * The largest exponent, of either sign, that an intermediate result can have: of a product of one number of
 * each input, summed up over all elements. Norms raise numbers to a power first. Infinite when the numbers
 * are not known.
 */
static double reach(const struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    double sum = 0, count = 1;
    for (size_t i = 0; i < node->n_input; i++) {
        const struct bounded *input = rewrite_input(rewrite, node, i);
        struct magnitudes found;
        if (!rewrite_has_input(node, i) || (input && !dtype_is_float(input->type)))
            continue;
        if (!input || !rewrite_magnitudes(rewrite, node->input[i], &found))
            return (double)INFINITY;
        double low = found.least > 0 ? fabs((double)log2l(found.least)) : 0;
        double high = found.largest > 0 ? fabs((double)log2l(found.largest)) : 0;
        sum += fmax(low, high);
        count = fmax(count, (double)input->count);
    }
    bool norm = strstr(node->op_type, "L2") || strstr(node->op_type, "LpPool");
    double power = norm ? fmax(2, (double)node_int(node, "p", 2)) : 2;
    return power * sum + log2(count);
}

/* Exponents up to which nothing is lost: twice the mantissa away from the smallest number. */
static double room(enum dtype type)
{
    switch (type) {
    case DTYPE_DOUBLE:
        return 800;
    case DTYPE_FLOAT:
    case DTYPE_BFLOAT16:
        return 70;
    default:
        return 0;
    }
}

static const char *multiply(struct rewrite *rewrite, const char *value, enum dtype type, double exponent)
{
    const char *factor = rewrite_scalar(rewrite, type, 0, exp2l((long double)exponent));
    return rewrite_op(rewrite, "Mul", NULL, value, factor, NULL);
}

static void scale(struct rewrite *rewrite, Onnx__NodeProto *node, const struct scaling *scaling,
                  double exponent)
{
    for (size_t i = 0; i < node->n_input; i++)
        if (scaling->powers[i] != 0)
            rewrite_set_input(
                rewrite, node, i,
                multiply(rewrite, node->input[i], scaling->type, exponent * scaling->powers[i]));
    for (size_t i = 0; i < node->n_output && (i == 0 || scaling->all_outputs); i++) {
        const struct bounded *output = *node->output[i] ? rewrite_type(rewrite, node->output[i]) : NULL;
        if (!output || output->type != scaling->type)
            continue;
        const char *name = rewrite_name(rewrite, "scaled");
        const char *factor =
            rewrite_scalar(rewrite, scaling->type, 0, exp2l((long double)(-exponent * scaling->result)));
        rewrite_op_to(rewrite, node->output[i], "Mul", name, factor, NULL);
        node->output[i] = arena_strdup(&rewrite->model->arena, name);
    }
}

static int scaled(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct op *op = op_of(node);
    struct scaling scaling;
    if (!op || !is_plain(rewrite, node) || !choose(rewrite, node, &op->factors, &scaling) ||
        (scaling.type == DTYPE_BFLOAT16 && rewrite_opset(rewrite) < 13))
        return 0;
    /* An even exponent has a root. */
    double exponent = 2 * (double)rng_range(&rewrite->rng, 1, 4);
    if (rng_chance(&rewrite->rng, 0.5))
        exponent = -exponent;
    if (!(reach(rewrite, node) + 2 * fabs(exponent) <= room(scaling.type)))
        return 0;
    scale(rewrite, node, &scaling, exponent);
    return 1;
}

const struct rule rule_scaled = {
    .name = "scaled",
    .paper = 9,
    .summary = "an input times a power of two, the result divided by what becomes of it",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .apply = scaled,
};
