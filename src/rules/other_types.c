/*
 * Rule 12 of EAGLE: values and operators through another element type that holds every number of their own.
 *
 * What an operator computes in the wider type and Cast brings back is the same number where the operator only
 * moves or orders elements. Whole numbers may be added and multiplied as long as no result leaves their own
 * type, for what Cast makes of it then is not specified. Real numbers are rounded less often on the way.
 */
#include "rules/rule.h"

#include "base/str.h"
#include "ops/op.h"

#include <string.h>

/* Whether every number of one type is one of the other. */
static bool holds(enum dtype wide, enum dtype type)
{
    dtype_set numbers = DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL);
    if (wide == type || wide == DTYPE_BOOL || !dtype_in(wide, numbers) || !dtype_in(type, numbers))
        return false;
    if (dtype_lowest(wide) > dtype_lowest(type) || dtype_highest(wide) < dtype_highest(type))
        return false;
    if (!dtype_is_float(wide))
        return !dtype_is_float(type);
    struct dtype_precision to = dtype_precision(wide), from = dtype_precision(type);
    if (dtype_is_float(type))
        return to.unit <= from.unit && to.smallest <= from.smallest;
    return dtype_highest(type) * (long double)to.unit <= 1 && -dtype_lowest(type) * (long double)to.unit <= 1;
}

/* One of the allowed types that hold all numbers of `type`; DTYPE_NONE when there is none. */
static enum dtype draw_wider(struct rewrite *rewrite, enum dtype type, dtype_set allowed)
{
    enum dtype found[DTYPE_COUNT];
    size_t count = 0;
    for (int wide = DTYPE_FLOAT; wide < DTYPE_COUNT; wide++) {
        /* Cast takes it from here on. */
        bool cast = (wide != DTYPE_BFLOAT16 && type != DTYPE_BFLOAT16) || rewrite_opset(rewrite) >= 13;
        if (cast && dtype_in((enum dtype)wide, allowed) && holds((enum dtype)wide, type))
            found[count++] = (enum dtype)wide;
    }
    return count ? found[rng_below(&rewrite->rng, count)] : DTYPE_NONE;
}

static int cast_pair(struct rewrite *rewrite, const struct rule_site *site, struct error *err)
{
    const char *before, *after;
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
    (void)err;
    enum dtype wide = type ? draw_wider(rewrite, type->type, DTYPES_NUMBER) : DTYPE_NONE;
    if (wide == DTYPE_NONE)
        return 0;
    rewrite_intercept(rewrite, site->value, &before, &after);
    Onnx__NodeProto *back = rewrite_op_to(rewrite, after, "Cast", rewrite_cast(rewrite, before, wide), NULL);
    node_set_int(&rewrite->model->arena, back, "to", type->type);
    return 1;
}

const struct rule rule_cast_pair = {
    .name = "cast-pair",
    .paper = 12,
    .summary = "a value cast to a wider type and back",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = cast_pair,
};

/* --- Operators --- */

/* What the results of an operator in the wider type have to do with those in its own. */
enum sameness {
    SAME_ALWAYS = 1, /* it moves or orders elements */
    SAME_REAL,       /* it computes, with real numbers only: the same up to rounding */
    SAME_INSIDE      /* it computes: whole numbers are the same as long as they stay inside their type */
};

enum { ALL = ~0 };

struct typed_op {
    const char *name;
    enum sameness sameness;
    int inputs;  /* bit i: input i has the type; ALL: every one */
    int outputs; /* likewise */
};

static const struct typed_op typed_ops[] = {
    {"Transpose", SAME_ALWAYS, 1, 1},
    {"Reshape", SAME_ALWAYS, 1, 1},
    {"Concat", SAME_ALWAYS, ALL, 1},
    {"Slice", SAME_ALWAYS, 1, 1},
    {"Split", SAME_ALWAYS, 1, ALL},
    {"Pad", SAME_ALWAYS, 1 | 4, 1},
    {"Gather", SAME_ALWAYS, 1, 1},
    {"GatherElements", SAME_ALWAYS, 1, 1},
    {"GatherND", SAME_ALWAYS, 1, 1},
    {"Tile", SAME_ALWAYS, 1, 1},
    {"Expand", SAME_ALWAYS, 1, 1},
    {"DepthToSpace", SAME_ALWAYS, 1, 1},
    {"SpaceToDepth", SAME_ALWAYS, 1, 1},
    {"Squeeze", SAME_ALWAYS, 1, 1},
    {"Unsqueeze", SAME_ALWAYS, 1, 1},
    {"Flatten", SAME_ALWAYS, 1, 1},
    {"Identity", SAME_ALWAYS, 1, 1},
    {"Trilu", SAME_ALWAYS, 1, 1},
    {"Where", SAME_ALWAYS, 2 | 4, 1},
    {"Max", SAME_ALWAYS, ALL, 1},
    {"Min", SAME_ALWAYS, ALL, 1},
    {"ReduceMax", SAME_ALWAYS, 1, 1},
    {"ReduceMin", SAME_ALWAYS, 1, 1},
    {"GlobalMaxPool", SAME_ALWAYS, 1, 1},
    {"MaxPool", SAME_ALWAYS, 1, 1},
    {"ArgMax", SAME_ALWAYS, 1, 0},
    {"ArgMin", SAME_ALWAYS, 1, 0},
    {"TopK", SAME_ALWAYS, 1, 1},
    {"Equal", SAME_ALWAYS, 1 | 2, 0},
    {"Greater", SAME_ALWAYS, 1 | 2, 0},
    {"GreaterOrEqual", SAME_ALWAYS, 1 | 2, 0},
    {"Less", SAME_ALWAYS, 1 | 2, 0},
    {"LessOrEqual", SAME_ALWAYS, 1 | 2, 0},
    {"Sign", SAME_ALWAYS, 1, 1},
    {"Relu", SAME_ALWAYS, 1, 1},
    {"Clip", SAME_ALWAYS, 1 | 2 | 4, 1},
    {"Mod", SAME_ALWAYS, 1 | 2, 1},
    {"Floor", SAME_ALWAYS, 1, 1},
    {"Ceil", SAME_ALWAYS, 1, 1},
    {"Round", SAME_ALWAYS, 1, 1},
    {"Abs", SAME_INSIDE, 1, 1},
    {"Neg", SAME_INSIDE, 1, 1},
    {"Add", SAME_INSIDE, 1 | 2, 1},
    {"Sub", SAME_INSIDE, 1 | 2, 1},
    {"Mul", SAME_INSIDE, 1 | 2, 1},
    {"ReduceSum", SAME_INSIDE, 1, 1},
    {"CumSum", SAME_INSIDE, 1, 1},
    {"MatMul", SAME_INSIDE, 1 | 2, 1},
    {"Div", SAME_REAL, 1 | 2, 1},
    {"Sqrt", SAME_REAL, 1, 1},
    {"Exp", SAME_REAL, 1, 1},
    {"Log", SAME_REAL, 1, 1},
    {"Sigmoid", SAME_REAL, 1, 1},
    {"Tanh", SAME_REAL, 1, 1},
    {"Erf", SAME_REAL, 1, 1},
    {"Softplus", SAME_REAL, 1, 1},
    {"Elu", SAME_REAL, 1, 1},
    {"LeakyRelu", SAME_REAL, 1, 1},
    {"Softmax", SAME_REAL, 1, 1},
    {"LogSoftmax", SAME_REAL, 1, 1},
    {"Gemm", SAME_REAL, ALL, 1},
    {"Conv", SAME_REAL, ALL, 1},
    {"ConvTranspose", SAME_REAL, ALL, 1},
    {"AveragePool", SAME_REAL, 1, 1},
    {"GlobalAveragePool", SAME_REAL, 1, 1},
    {"ReduceMean", SAME_REAL, 1, 1},
    {"ReduceL2", SAME_REAL, 1, 1},
    {"InstanceNormalization", SAME_REAL, ALL, 1},
};

static const struct typed_op *find_typed(const char *op_type)
{
    for (size_t i = 0; i < sizeof typed_ops / sizeof *typed_ops; i++)
        if (text_equal(typed_ops[i].name, op_type))
            return &typed_ops[i];
    return NULL;
}

static bool in_list(int list, size_t number)
{
    return list == ALL || (number < 31 && list >> number & 1);
}

/* How many elements of its first input are summed up in one of the results. */
static long double summands(const struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    bool matrices = text_equal(node->op_type, "MatMul") && x->shape.rank > 0;
    if (text_equal(node->op_type, "ReduceSum") || text_equal(node->op_type, "CumSum"))
        return (long double)x->count;
    return matrices ? (long double)x->shape.dims[x->shape.rank - 1] : 1;
}

/* The largest number that inputs or results of an operator on whole numbers can have; -1 when its inputs are
 * not known. */
static long double largest(const struct rewrite *rewrite, const Onnx__NodeProto *node,
                           const struct typed_op *typed)
{
    bool product = text_equal(node->op_type, "Mul") || text_equal(node->op_type, "MatMul");
    long double most = 0, sum = 0, all = 1;
    for (size_t i = 0; i < node->n_input; i++) {
        struct magnitudes found;
        if (!rewrite_has_input(node, i) || !in_list(typed->inputs, i))
            continue;
        if (!rewrite_magnitudes(rewrite, node->input[i], &found))
            return -1;
        most = found.largest > most ? found.largest : most;
        sum += found.largest;
        all *= found.largest;
    }
    if (typed->sameness == SAME_INSIDE) {
        long double result = (product ? all : sum) * summands(rewrite, node);
        most = result > most ? result : most;
    }
    return most;
}

/* Forms of an operator for which the table does not speak: what a window full of padding or an empty
 * reduction gives depends on the type. */
static bool is_plain(struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    bool pool = text_equal(node->op_type, "MaxPool");
    bool gathers = pool || strncmp(node->op_type, "Reduce", 6) == 0 || strncmp(node->op_type, "Arg", 3) == 0;
    if (*node->domain || (gathers && (!x || !x->count)))
        return false;
    if (pool && (!rewrite_one_output(node) || node_attribute(node, "pads") ||
                 node_attribute(node, "auto_pad") || node_int(node, "ceil_mode", 0)))
        return false;
    return text_equal(rewrite_string(rewrite, node, "reduction", "none"), "none");
}

/* The type of the typed inputs, if all have the same. */
static enum dtype type_of(const struct rewrite *rewrite, const Onnx__NodeProto *node,
                          const struct typed_op *typed)
{
    enum dtype type = DTYPE_NONE;
    for (size_t i = 0; i < node->n_input; i++) {
        if (!rewrite_has_input(node, i) || !in_list(typed->inputs, i))
            continue;
        const struct bounded *input = rewrite_input(rewrite, node, i);
        if (!input || (type != DTYPE_NONE && input->type != type))
            return DTYPE_NONE;
        type = input->type;
    }
    return type;
}

static dtype_set allowed_types(const struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    const struct op *op = op_find(node->op_type);
    if (text_equal(node->op_type, "Where")) /* its first input is the condition */
        return DTYPES_NUMBER & ~DTYPE_BIT(DTYPE_BFLOAT16);
    return op ? op_types_at(op, rewrite_opset(rewrite)) : 0;
}

/* Another type in which the operator gives the same; DTYPE_NONE when there is none. */
static enum dtype draw_type(struct rewrite *rewrite, const Onnx__NodeProto *node,
                            const struct typed_op *typed, enum dtype type)
{
    dtype_set allowed = allowed_types(rewrite, node);
    if (dtype_is_float(type))
        return draw_wider(rewrite, type, allowed & DTYPES_FLOAT);
    if (typed->sameness == SAME_REAL)
        return DTYPE_NONE;
    long double most = largest(rewrite, node, typed);
    bool inside = most >= 0 && most <= dtype_highest(type) &&
                  (dtype_is_signed(type) || !text_equal(node->op_type, "Sub"));
    /* Numbers that are known to be small fit into a narrower type. */
    if (type == DTYPE_INT64 && inside && most <= INT32_MAX && dtype_in(DTYPE_INT32, allowed))
        return DTYPE_INT32;
    /* On whole numbers Mod is another function than on real ones. */
    if (typed->sameness == SAME_INSIDE || text_equal(node->op_type, "Mod"))
        allowed &= DTYPES_INTEGER;
    return inside || typed->sameness == SAME_ALWAYS ? draw_wider(rewrite, type, allowed) : DTYPE_NONE;
}

static void cast_around(struct rewrite *rewrite, Onnx__NodeProto *node, const struct typed_op *typed,
                        enum dtype type, enum dtype wide)
{
    struct arena *arena = &rewrite->model->arena;
    for (size_t i = 0; i < node->n_input; i++)
        if (rewrite_has_input(node, i) && in_list(typed->inputs, i))
            rewrite_set_input(rewrite, node, i, rewrite_cast(rewrite, node->input[i], wide));
    for (size_t i = 0; i < node->n_output; i++) {
        if (!*node->output[i] || !in_list(typed->outputs, i))
            continue;
        const char *name = rewrite_name(rewrite, "wide");
        node_set_int(arena, rewrite_op_to(rewrite, node->output[i], "Cast", name, NULL), "to", type);
        node->output[i] = arena_strdup(arena, name);
    }
}

static int other_type(struct rewrite *rewrite, const struct rule_site *site, struct error *err)
{
    Onnx__NodeProto *node = site->node;
    const struct typed_op *typed = find_typed(node->op_type);
    (void)err;
    if (!typed || !is_plain(rewrite, node))
        return 0;
    enum dtype type = type_of(rewrite, node, typed);
    enum dtype other = type != DTYPE_NONE ? draw_type(rewrite, node, typed, type) : DTYPE_NONE;
    if (other == DTYPE_NONE)
        return 0;
    cast_around(rewrite, node, typed, type, other);
    return 1;
}

const struct rule rule_other_type = {
    .name = "other-type",
    .paper = 12,
    .summary = "an operator computed in another element type, in which it gives the same",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .apply = other_type,
};

/* --- Cast --- */

/* What becomes of a number outside the type that it is cast to is not specified. */
static bool cast_stays_inside(const struct rewrite *rewrite, const char *name, enum dtype from, enum dtype to)
{
    struct magnitudes found;
    if (dtype_is_float(to) || to == DTYPE_BOOL || holds(to, from))
        return true;
    return rewrite_magnitudes(rewrite, name, &found) && found.largest <= dtype_highest(to) &&
           (dtype_is_signed(to) || !dtype_is_signed(from));
}

static int cast_through(struct rewrite *rewrite, const struct rule_site *site, struct error *err)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *x = rewrite_input(rewrite, node, 0), *y = rewrite_type(rewrite, node->output[0]);
    (void)err;
    if (!x || !y || !dtype_in(y->type, DTYPES_NUMBER | DTYPE_BIT(DTYPE_BOOL)) ||
        !cast_stays_inside(rewrite, node->input[0], x->type, y->type))
        return 0;
    enum dtype wide = draw_wider(rewrite, x->type, DTYPES_NUMBER);
    if (wide == DTYPE_NONE)
        return 0;
    rewrite_set_input(rewrite, node, 0, rewrite_cast(rewrite, node->input[0], wide));
    return 1;
}

const struct rule rule_cast_through = {
    .name = "cast-through",
    .paper = 12,
    .summary = "a Cast by way of a wider type",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "Cast",
    .apply = cast_through,
};
