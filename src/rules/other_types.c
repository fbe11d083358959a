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

static int cast_pair(struct rewrite *rewrite, const struct rule_site *site)
{
    const char *before, *after;
    const struct bounded *type = rewrite_type(rewrite, site->value->name);
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
    {.name = "Transpose", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Reshape", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Concat", .sameness = SAME_ALWAYS, .inputs = ALL, .outputs = 1},
    {.name = "Slice", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Split", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = ALL},
    {.name = "Pad", .sameness = SAME_ALWAYS, .inputs = 1 | 4, .outputs = 1},
    {.name = "Gather", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "GatherElements", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "GatherND", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Tile", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Expand", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "DepthToSpace", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "SpaceToDepth", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Squeeze", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Unsqueeze", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Flatten", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Identity", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Trilu", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Where", .sameness = SAME_ALWAYS, .inputs = 2 | 4, .outputs = 1},
    {.name = "Max", .sameness = SAME_ALWAYS, .inputs = ALL, .outputs = 1},
    {.name = "Min", .sameness = SAME_ALWAYS, .inputs = ALL, .outputs = 1},
    {.name = "ReduceMax", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "ReduceMin", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "GlobalMaxPool", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "MaxPool", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "ArgMax", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 0},
    {.name = "ArgMin", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 0},
    {.name = "TopK", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Equal", .sameness = SAME_ALWAYS, .inputs = 1 | 2, .outputs = 0},
    {.name = "Greater", .sameness = SAME_ALWAYS, .inputs = 1 | 2, .outputs = 0},
    {.name = "GreaterOrEqual", .sameness = SAME_ALWAYS, .inputs = 1 | 2, .outputs = 0},
    {.name = "Less", .sameness = SAME_ALWAYS, .inputs = 1 | 2, .outputs = 0},
    {.name = "LessOrEqual", .sameness = SAME_ALWAYS, .inputs = 1 | 2, .outputs = 0},
    {.name = "Sign", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Relu", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Clip", .sameness = SAME_ALWAYS, .inputs = 1 | 2 | 4, .outputs = 1},
    {.name = "Mod", .sameness = SAME_ALWAYS, .inputs = 1 | 2, .outputs = 1},
    {.name = "Floor", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Ceil", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Round", .sameness = SAME_ALWAYS, .inputs = 1, .outputs = 1},
    {.name = "Abs", .sameness = SAME_INSIDE, .inputs = 1, .outputs = 1},
    {.name = "Neg", .sameness = SAME_INSIDE, .inputs = 1, .outputs = 1},
    {.name = "Add", .sameness = SAME_INSIDE, .inputs = 1 | 2, .outputs = 1},
    {.name = "Sub", .sameness = SAME_INSIDE, .inputs = 1 | 2, .outputs = 1},
    {.name = "Mul", .sameness = SAME_INSIDE, .inputs = 1 | 2, .outputs = 1},
    {.name = "ReduceSum", .sameness = SAME_INSIDE, .inputs = 1, .outputs = 1},
    {.name = "CumSum", .sameness = SAME_INSIDE, .inputs = 1, .outputs = 1},
    {.name = "MatMul", .sameness = SAME_INSIDE, .inputs = 1 | 2, .outputs = 1},
    {.name = "Div", .sameness = SAME_REAL, .inputs = 1 | 2, .outputs = 1},
    {.name = "Sqrt", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "Exp", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "Log", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "Sigmoid", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "Tanh", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "Erf", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "Softplus", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "Elu", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "LeakyRelu", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "Softmax", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "LogSoftmax", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "Gemm", .sameness = SAME_REAL, .inputs = ALL, .outputs = 1},
    {.name = "Conv", .sameness = SAME_REAL, .inputs = ALL, .outputs = 1},
    {.name = "ConvTranspose", .sameness = SAME_REAL, .inputs = ALL, .outputs = 1},
    {.name = "AveragePool", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "GlobalAveragePool", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "ReduceMean", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "ReduceL2", .sameness = SAME_REAL, .inputs = 1, .outputs = 1},
    {.name = "InstanceNormalization", .sameness = SAME_REAL, .inputs = ALL, .outputs = 1},
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
    const struct op *op = op_of(node);
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

static int other_type(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct typed_op *typed = find_typed(node->op_type);
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

static int cast_through(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    const struct bounded *x = rewrite_input(rewrite, node, 0), *y = rewrite_type(rewrite, node->output[0]);
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
