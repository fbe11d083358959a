/*
 * Adapters: nodes that give a value another type, rank, shape or range, so that a block can use it
 * (planner.h).
 */
#include "generate/planner.h"

#include <math.h>

/* The operator, if it exists at this opset for this type, and the options and the engine have it: those that
 * the user names are meant to be all that a case has. */
static bool usable(struct planner *g, const char *name, enum dtype type)
{
    const struct op *op = op_find(name);
    const char *only = g->options->ops;
    return op && (!only || op_list_has(only, op)) &&
           dtype_in(type, options_types(g->options, op, g->m.opset)) && !planner_lacks(g, op, type);
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

bool adapt_type(struct planner *g, size_t value, enum dtype type, size_t *out)
{
    const struct maker_value *v = planner_value(g, value);
    *out = value;
    if (v->value.type == type)
        return true;
    if (type == DTYPE_STRING || !usable(g, "Cast", v->value.type))
        return false;
    struct shape shape = v->value.shape;
    double low = clamp(v->low, (double)dtype_lowest(type), (double)dtype_highest(type)),
           high = clamp(v->high, (double)dtype_lowest(type), (double)dtype_highest(type));
    Onnx__NodeProto *node = planner_node(g, "Cast", 1, &v->name, type, &shape, low, high, out);
    node_set_int(&g->m.model->arena, node, "to", type);
    return true;
}

/* The same elements in another shape; some dimensions are written as 0 and -1 where Reshape allows it. */
static bool reshape(struct planner *g, size_t value, const struct shape *shape, size_t *out)
{
    const struct maker_value *v = planner_value(g, value);
    const struct shape *from = &v->value.shape;
    *out = value;
    if (shape_equal(from, shape))
        return true;
    if (v->value.count == 0 || !usable(g, "Reshape", v->value.type))
        return false;
    int64_t dims[TENSOR_MAX_RANK];
    int open = rng_chance(&g->rng, 0.3) && shape->rank ? (int)rng_below(&g->rng, (uint64_t)shape->rank) : -1;
    for (int i = 0; i < shape->rank; i++) {
        bool copied = i < from->rank && from->dims[i] == shape->dims[i] && rng_chance(&g->rng, 0.2);
        dims[i] = i == open ? -1 : copied ? 0 : shape->dims[i];
    }
    const char *name = v->name;
    enum dtype type = v->value.type;
    double low = v->low, high = v->high;
    const char *inputs[2] = {name, planner_ints(g, dims, (size_t)shape->rank)};
    planner_node(g, "Reshape", 2, inputs, type, shape, low, high, out);
    return true;
}

static bool slice(struct planner *g, size_t value, const struct shape *to, size_t *out)
{
    struct maker_value v = *planner_value(g, value);
    int64_t starts[TENSOR_MAX_RANK], ends[TENSOR_MAX_RANK], axes[TENSOR_MAX_RANK];
    size_t count = 0;
    struct shape shape = v.value.shape;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] > to->dims[i]) {
            starts[count] = rng_range(&g->rng, 0, shape.dims[i] - to->dims[i]);
            ends[count] = starts[count] + to->dims[i];
            axes[count++] = rng_chance(&g->rng, 0.5) ? i : i - shape.rank;
            shape.dims[i] = to->dims[i];
        }
    *out = value;
    if (!count)
        return true;
    if (!usable(g, "Slice", v.value.type))
        return false;
    const char *inputs[4] = {v.name, planner_ints(g, starts, count), planner_ints(g, ends, count),
                             planner_ints(g, axes, count)};
    planner_node(g, "Slice", 4, inputs, v.value.type, &shape, v.low, v.high, out);
    return true;
}

static bool pad(struct planner *g, size_t value, const struct shape *to, size_t *out)
{
    struct maker_value v = *planner_value(g, value);
    int64_t pads[2 * TENSOR_MAX_RANK] = {0};
    struct shape shape = v.value.shape;
    *out = value;
    if (shape_equal(&shape, to))
        return true;
    if (v.value.count == 0 || !usable(g, "Pad", v.value.type))
        return false;
    for (int i = 0; i < shape.rank; i++) {
        int64_t more = to->dims[i] - shape.dims[i];
        pads[i] = rng_range(&g->rng, 0, more);
        pads[i + shape.rank] = more - pads[i];
    }
    const char *inputs[2] = {v.name, planner_ints(g, pads, 2 * (size_t)shape.rank)};
    planner_node(g, "Pad", 2, inputs, v.value.type, to, fmin(v.low, 0), fmax(v.high, 0), out);
    return true;
}

/* A shape of another rank: dimensions of 1 are added in front or behind, or the first dimensions are merged.
 */
static struct shape ranked(struct planner *g, const struct shape *from, int rank)
{
    struct shape shape = {.rank = rank};
    int more = rank - from->rank, before = more > 0 && rng_chance(&g->rng, 0.5) ? more : 0;
    for (int i = 0; i < rank; i++)
        shape.dims[i] = 1;
    for (int i = 0; i < from->rank; i++) {
        int at = more >= 0 ? i + before : i + more > 0 ? i + more : 0;
        if (at < rank)
            shape.dims[at] *= from->dims[i];
    }
    return shape;
}

bool adapt_rank(struct planner *g, size_t value, int rank, size_t *out)
{
    *out = value;
    if (planner_value(g, value)->value.shape.rank == rank)
        return true;
    if (rank == 0) {
        struct shape one = {.rank = planner_value(g, value)->value.shape.rank}, scalar = {.rank = 0};
        for (int i = 0; i < one.rank; i++)
            one.dims[i] = 1;
        return planner_value(g, value)->value.count && slice(g, value, &one, out) &&
               reshape(g, *out, &scalar, out);
    }
    struct shape shape = ranked(g, &planner_value(g, value)->value.shape, rank);
    return reshape(g, value, &shape, out);
}

static size_t elements(const struct shape *shape)
{
    return shape_span(shape, 0, shape->rank);
}

bool adapt_shape(struct planner *g, size_t value, const struct shape *shape, size_t *out)
{
    const struct bounded *b = &planner_value(g, value)->value;
    bool same_rank = b->shape.rank == shape->rank;
    *out = value;
    if (shape_equal(&b->shape, shape))
        return true;
    if (b->count == 0 || (elements(shape) == 0 && !same_rank))
        return false;
    if (b->count == elements(shape) && (!same_rank || rng_chance(&g->rng, 0.7)))
        return reshape(g, value, shape, out);
    return adapt_rank(g, value, shape->rank, out) && slice(g, *out, shape, out) && pad(g, *out, shape, out);
}

bool adapt(struct planner *g, size_t value, enum dtype type, const struct shape *shape, size_t *out)
{
    const struct op *op = op_find("Pad");
    bool first = !dtype_in(type, op ? op_types_at(op, g->m.opset) : 0);
    if (first)
        return adapt_shape(g, value, shape, out) && adapt_type(g, *out, type, out);
    return adapt_type(g, value, type, out) && adapt_shape(g, *out, shape, out);
}

static bool squash(struct planner *g, size_t value, const char *op, double low, double high, size_t *out)
{
    struct maker_value v = *planner_value(g, value);
    if (!usable(g, op, v.value.type))
        return false;
    planner_node(g, op, 1, &v.name, v.value.type, &v.value.shape, low, high, out);
    return true;
}

static bool clip(struct planner *g, size_t value, double low, double high, size_t *out)
{
    struct maker_value v = *planner_value(g, value);
    if (!usable(g, "Clip", v.value.type))
        return false;
    low = clamp(low, (double)dtype_lowest(v.value.type), (double)dtype_highest(v.value.type));
    high = clamp(high, (double)dtype_lowest(v.value.type), (double)dtype_highest(v.value.type));
    const char *inputs[3] = {v.name, planner_scalar(g, v.value.type, low),
                             planner_scalar(g, v.value.type, high)};
    planner_node(g, "Clip", 3, inputs, v.value.type, &v.value.shape, low, high, out);
    return true;
}

/* Divides the value into the range, so that differences between elements survive. */
static bool scale(struct planner *g, size_t value, double most, size_t *out)
{
    struct maker_value v = *planner_value(g, value);
    double size = fmax(fabs(v.low), fabs(v.high)), factor = ldexp(1, -ilogb(size / most) - 1);
    if (!(size < 1e30) || !usable(g, "Mul", v.value.type))
        return false;
    const char *inputs[2] = {v.name, planner_scalar(g, v.value.type, factor)};
    planner_node(g, "Mul", 2, inputs, v.value.type, &v.value.shape, v.low * factor, v.high * factor, out);
    return true;
}

bool adapt_range(struct planner *g, size_t value, double low, double high, size_t *out)
{
    const struct maker_value *v = planner_value(g, value);
    *out = value;
    if (v->low >= low && v->high <= high)
        return true;
    if (v->value.type == DTYPE_BOOL)
        return false;
    bool is_float = dtype_is_float(v->value.type), both = low <= -1 && high >= 1;
    double most = fmin(-low, high);
    switch (is_float ? rng_below(&g->rng, 6) : 5) {
    case 0:
        if (both && squash(g, value, "Tanh", -1, 1, out))
            return true;
        break;
    case 1:
        if (both && squash(g, value, "Softsign", -1, 1, out))
            return true;
        break;
    case 2:
        if (low <= 0 && high >= 1 && squash(g, value, "Sigmoid", 0, 1, out))
            return true;
        break;
    case 3:
    case 4:
        if (both && scale(g, value, most, out))
            return true;
        break;
    default:
        break;
    }
    return clip(g, value, low, high, out);
}

/* Values must have the same shape for Sum, Max and so on, and the same but for one axis for Concat. */
bool adapt_join(struct planner *g, const size_t *values, size_t count, size_t *out)
{
    static const char *const joins[] = {"Concat", "Sum", "Max", "Min", "Mean", "Add", "Mul", "Sub", "Concat"};
    const struct op *op = op_find(joins[rng_below(&g->rng, sizeof joins / sizeof *joins)]);
    struct maker_value first = *planner_value(g, values[0]);
    struct shape shape = first.value.shape;
    if (shape.rank == 0 || !dtype_in(first.value.type, op_types_at(op, g->m.opset)))
        op = op_find(shape.rank ? "Concat" : "Add");
    if (!usable(g, op->name, first.value.type))
        return false;
    const char *names[PLAN_FEEDS] = {first.name};
    size_t n = 1;
    double size = fmax(fabs(first.low), fabs(first.high));
    double most = size;
    for (size_t i = 1; i < count && n < (op->inputs.most == 2 ? 2 : 5); i++) {
        size_t fit;
        if (!adapt(g, values[i], first.value.type, &shape, &fit))
            continue;
        const struct maker_value *v = planner_value(g, fit);
        names[n++] = v->name;
        double its = fmax(fabs(v->low), fabs(v->high));
        most = op->range.rule == RANGE_MUL   ? most * its
               : op->range.rule == RANGE_ADD ? most + its
                                             : fmax(most, its);
    }
    if (n == 1)
        return false;
    bool concat = op->work == WORK_MOVES;
    int axis = concat ? (int)rng_below(&g->rng, (uint64_t)shape.rank) : 0;
    if (concat)
        shape.dims[axis] *= (int64_t)n;
    Onnx__NodeProto *node = planner_node(g, op->name, n, names, first.value.type, &shape, -most, most, out);
    if (concat)
        node_set_int(&g->m.model->arena, node, "axis", rng_chance(&g->rng, 0.5) ? axis : axis - shape.rank);
    return true;
}
