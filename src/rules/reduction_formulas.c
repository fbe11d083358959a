/* Rule 7 of EAGLE for reductions: each by a plain sum and functions of single elements. */
#include "rules/formula.h"

#include "base/str.h"

struct reduced {
    struct formula f;
    const char *x;
    int64_t axes[TENSOR_MAX_RANK];
    size_t count;
    bool keepdims;
    long double elements; /* of each sum */
};

static bool begin(struct reduced *r, struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    if (!formula_begin(&r->f, rewrite, node, true) || r->f.x->count == 0 ||
        !rewrite_reduced_axes(rewrite, node, r->f.x->shape.rank, r->axes, &r->count) || r->count == 0)
        return false;
    r->x = formula_input(&r->f, 0);
    r->keepdims = node_int(node, "keepdims", 1) != 0;
    r->elements = 1;
    for (size_t i = 0; i < r->count; i++)
        r->elements *= (long double)r->f.x->shape.dims[r->axes[i]];
    return true;
}

static const char *sum_of(struct reduced *r, const char *terms)
{
    return formula_reduce(&r->f, "ReduceSum", terms, r->axes, r->count, r->keepdims);
}

/* The mean of integers is rounded in a way that ONNX does not define. */
static const char *mean(struct reduced *r)
{
    if (!dtype_is_float(r->f.type))
        return NULL;
    const char *count = formula_number(&r->f, r->elements);
    return formula_two(&r->f, "Div", sum_of(r, r->x), count);
}

static const char *sum_square(struct reduced *r)
{
    return sum_of(r, formula_two(&r->f, "Mul", r->x, r->x));
}

static const char *l1(struct reduced *r)
{
    return sum_of(r, formula_one(&r->f, "Abs", r->x));
}

static const char *l2(struct reduced *r)
{
    return formula_one(&r->f, "Sqrt", sum_square(r));
}

static const char *log_sum(struct reduced *r)
{
    return formula_one(&r->f, "Log", sum_of(r, r->x));
}

/* The maximum m is subtracted, so that nothing overflows, unless it is infinite: log(sum exp(x - m)) + m. */
static const char *log_sum_exp(struct reduced *r)
{
    struct formula *f = &r->f;
    if (!dtype_is_float(f->type))
        return NULL;
    const char *most = formula_reduce(f, "ReduceMax", r->x, r->axes, r->count, true);
    const char *infinite = formula_one(f, "IsInf", most);
    const char *shift = formula_where(f, infinite, formula_number(f, 0), most);
    const char *powers = formula_one(f, "Exp", formula_two(f, "Sub", r->x, shift));
    const char *sum = formula_reduce(f, "ReduceSum", powers, r->axes, r->count, true);
    const char *result = formula_two(f, "Add", formula_one(f, "Log", sum), shift);
    for (size_t i = r->count; !r->keepdims && i-- > 0;)
        result = rewrite_squeeze(f->rewrite, result, r->axes[i]);
    return result;
}

static const struct {
    const char *name;
    const char *(*write)(struct reduced *reduced);
} formulas[] = {
    {"ReduceMean", mean}, {"ReduceSumSquare", sum_square}, {"ReduceL1", l1},
    {"ReduceL2", l2},     {"ReduceLogSum", log_sum},       {"ReduceLogSumExp", log_sum_exp},
};

static int reduction(struct rewrite *rewrite, const struct rule_site *site)
{
    struct reduced r;
    if (!begin(&r, rewrite, site->node))
        return 0;
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        if (text_equal(formulas[i].name, site->node->op_type)) {
            const char *result = formulas[i].write(&r);
            return result ? formula_end(&r.f, result) : 0;
        }
    return 0;
}

const struct rule rule_reduction_formula = {
    .name = "reduction-formula",
    .paper = 7,
    .summary = "a mean, norm or logarithm of a sum by ReduceSum and functions of elements",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "ReduceMean|ReduceSumSquare|ReduceL1|ReduceL2|ReduceLogSum|ReduceLogSumExp",
    .apply = reduction,
};

/* --- The other end --- */

static const char *opposite_of(const char *op_type)
{
    static const char *const pairs[][2] = {{"ReduceMax", "ReduceMin"}, {"ArgMax", "ArgMin"}, {"Max", "Min"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int k = 0; k < 2; k++)
            if (text_equal(op_type, pairs[i][k]))
                return pairs[i][1 - k];
    return NULL;
}

/* Only for real numbers: the lowest integer has no negative. */
static int by_negation(struct rewrite *rewrite, const struct rule_site *site)
{
    struct formula f;
    const char *opposite = opposite_of(site->node->op_type);
    bool several = !text_starts(site->node->op_type, "Reduce") && !text_starts(site->node->op_type, "Arg");
    if (!opposite || !formula_begin(&f, rewrite, site->node, false) || !dtype_is_float(f.type))
        return 0;
    Onnx__NodeProto *copy = rewrite_copy_node(rewrite, site->node);
    const char *result = rewrite_name(rewrite, opposite);
    copy->op_type = arena_strdup(&rewrite->model->arena, opposite);
    copy->output[0] = arena_strdup(&rewrite->model->arena, result);
    f.fits &= rewrite_takes(rewrite, opposite, f.type);
    for (size_t i = 0; i < (several ? copy->n_input : 1); i++)
        rewrite_set_input(rewrite, copy, i, formula_one(&f, "Neg", formula_input(&f, i)));
    if (text_starts(site->node->op_type, "Arg"))
        rewrite_result(rewrite, result, site->node->output[0]);
    else
        formula_output(&f, 0, formula_one(&f, "Neg", result), f.x->type);
    return formula_end_outputs(&f);
}

const struct rule rule_extreme_by_negation = {
    .name = "extreme-by-negation",
    .paper = 7,
    .summary = "the largest element by the smallest of the negatives, and the other way round",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "ReduceMax|ReduceMin|ArgMax|ArgMin|Max|Min",
    .apply = by_negation,
};
