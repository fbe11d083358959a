#include "rules/formula.h"

#include "base/str.h"

bool formula_begin_any(struct formula *formula, struct rewrite *rewrite, const Onnx__NodeProto *node,
                       bool wide)
{
    bool own = node->domain && *node->domain && !text_equal(node->domain, "ai.onnx");
    *formula = (struct formula){rewrite, node, rewrite_input(rewrite, node, 0), DTYPE_NONE, true};
    if (own || !formula->x || rewrite_opset(rewrite) < 11 || node->n_output == 0)
        return false;
    bool half = formula->x->type == DTYPE_FLOAT16 || formula->x->type == DTYPE_BFLOAT16;
    formula->type = half && wide ? DTYPE_FLOAT : formula->x->type;
    return true;
}

bool formula_begin(struct formula *formula, struct rewrite *rewrite, const Onnx__NodeProto *node, bool wide)
{
    return formula_begin_any(formula, rewrite, node, wide) && rewrite_one_output(node);
}

const char *formula_cast(struct formula *formula, const char *value, enum dtype type)
{
    formula->fits &= rewrite_takes(formula->rewrite, "Cast", type);
    return type == formula->type ? value : rewrite_cast(formula->rewrite, value, type);
}

const char *formula_input(struct formula *formula, size_t number)
{
    const struct bounded *type = rewrite_input(formula->rewrite, formula->node, number);
    if (!type) {
        formula->fits = false;
        return "";
    }
    const char *name = formula->node->input[number];
    formula->fits &= type->type == formula->type || rewrite_takes(formula->rewrite, "Cast", type->type);
    return type->type == formula->type ? name : rewrite_cast(formula->rewrite, name, formula->type);
}

const char *formula_one(struct formula *formula, const char *op_type, const char *a)
{
    formula->fits &= rewrite_takes(formula->rewrite, op_type, formula->type);
    return rewrite_op(formula->rewrite, op_type, NULL, a, NULL);
}

const char *formula_two(struct formula *formula, const char *op_type, const char *a, const char *b)
{
    formula->fits &= rewrite_takes(formula->rewrite, op_type, formula->type);
    return rewrite_op(formula->rewrite, op_type, NULL, a, b, NULL);
}

const char *formula_reduce(struct formula *formula, const char *op_type, const char *a, const int64_t *axes,
                           size_t n_axes, bool keepdims)
{
    formula->fits &= rewrite_takes(formula->rewrite, op_type, formula->type);
    return rewrite_reduce(formula->rewrite, op_type, a, axes, n_axes, keepdims);
}

/* The type that Where has in the table is that of its condition; its values may have any. */
const char *formula_where(struct formula *formula, const char *condition, const char *a, const char *b)
{
    formula->fits &= formula->type != DTYPE_BFLOAT16 || rewrite_opset(formula->rewrite) >= 16;
    return rewrite_op(formula->rewrite, "Where", NULL, condition, a, b, NULL);
}

const char *formula_number(struct formula *formula, long double value)
{
    formula->fits &= dtype_round(formula->type, value) == value || value != value;
    return rewrite_scalar(formula->rewrite, formula->type, 0, value);
}

void formula_output(struct formula *formula, size_t number, const char *result, enum dtype type)
{
    const Onnx__NodeProto *node = formula->node;
    if (number < node->n_output && *node->output[number])
        rewrite_result(formula->rewrite, formula_cast(formula, result, type), node->output[number]);
}

int formula_end_outputs(struct formula *formula)
{
    rewrite_remove(formula->rewrite, formula->node);
    return formula->fits;
}

int formula_end(struct formula *formula, const char *result)
{
    formula_output(formula, 0, result, formula->x->type);
    return formula_end_outputs(formula);
}

int formula_axis(const struct formula *formula, int64_t axis)
{
    int rank = formula->x->shape.rank;
    return axis < -rank || axis >= rank ? -1 : (int)(axis < 0 ? axis + rank : axis);
}

const char *formula_along(struct formula *formula, const char *vector, int axis)
{
    struct shape shape = {.rank = formula->x->shape.rank - axis};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = i == 0 ? -1 : 1;
    return rewrite_reshape(formula->rewrite, vector, &shape);
}
