#include "case/inputs_ranges.h"

#include "base/memory.h"
#include "base/str.h"
#include "case/inputs_sizes.h"
#include "eval/value_types.h"
#include "model/index.h"
#include "ops/op.h"

#include <math.h>
#include <stdlib.h>

/* Nodes that are looked at, for all inputs together: a model with more is no longer a network of today. */
static const double most_visits = 0x1p26;

/* What lies between the smallest and the largest number. */
struct span {
    double low, high;
};

/* One input on its way through the graph. */
struct trail {
    const struct value_types *types;
    struct map reached; /* names of values that have its elements -> their numbers in `added` */
    size_t count, capacity;
    struct span *added; /* to the elements, on the way */
    struct span allowed;
    bool counts, mask; /* it counts along an axis; it means no and yes */
};

static void reach(struct trail *trail, const char *name, struct span added)
{
    if (!*name || !map_set(&trail->reached, name, trail->count))
        return;
    trail->added = memory_grow(trail->added, &trail->capacity, trail->count + 1, sizeof *trail->added);
    trail->added[trail->count++] = added;
}

static void pass_on(struct trail *trail, const Onnx__NodeProto *node, struct span added)
{
    for (size_t i = 0; i < node->n_output; i++)
        reach(trail, node->output[i], added);
}

/* The numbers of a small constant; false when the value is none. */
static bool constant_span(const struct trail *trail, const char *name, struct span *span)
{
    const struct bounded *constant = value_types_find(trail->types, name);
    if (!constant || !constant->value || !constant->count)
        return false;
    *span = (struct span){INFINITY, -INFINITY};
    for (size_t i = 0; i < constant->count; i++) {
        span->low = fmin(span->low, (double)constant->value[i]);
        span->high = fmax(span->high, (double)constant->value[i]);
    }
    return true;
}

/* The size of the axis that an input of the node counts along. */
static double axis_size(const struct trail *trail, const Onnx__NodeProto *node, const struct op_index *index)
{
    const struct bounded *of =
        index->of < node->n_input ? value_types_find(trail->types, node->input[index->of]) : NULL;
    if (!of || of->type == DTYPE_NONE || of->shape.rank < 1)
        return 1;
    double size = INFINITY;
    for (int i = 0; i < of->shape.rank; i++)
        size = fmin(size, (double)of->shape.dims[i]);
    int64_t axis = index->axis ? node_int(node, index->axis, 0) : index->at;
    axis += axis < 0 ? of->shape.rank : 0;
    if (!index->any && axis >= 0 && axis < of->shape.rank)
        size = (double)of->shape.dims[axis];
    return size;
}

static void count_along(struct trail *trail, const Onnx__NodeProto *node, const struct op_index *index,
                        struct span added)
{
    double size = axis_size(trail, node, index), first = index->lengths ? 1 : 0;
    trail->counts = true;
    trail->allowed.low = fmax(trail->allowed.low, first - added.low);
    trail->allowed.high = fmin(trail->allowed.high, first + size - 1 - added.high);
}

/* Sums and differences with a constant, and comparisons. */
static void meet_constant(struct trail *trail, const Onnx__NodeProto *node, const struct op *op, size_t input,
                          struct span added)
{
    struct span other;
    if (node->n_input != 2 || !constant_span(trail, node->input[1 - input], &other))
        return;
    bool plain = added.low == 0 && added.high == 0, subtracts = op->flags & OP_SUBTRACTS;
    bool bit = other.low == other.high && (other.low == 0 || other.low == 1);
    if (op->dangers[0].kind == DANGER_COMPARE)
        trail->mask |= plain && bit;
    else if (subtracts && input == 1)
        trail->mask |= plain && bit && other.low == 1;
    else if (subtracts)
        pass_on(trail, node, (struct span){added.low - other.high, added.high - other.low});
    else
        pass_on(trail, node, (struct span){added.low + other.low, added.high + other.high});
}

static void use(struct trail *trail, const Onnx__NodeProto *node, size_t input, struct span added)
{
    const struct op *op = op_of(node);
    if (!op)
        return;
    if (op->index.input && op->index.input == input)
        count_along(trail, node, &op->index, added);
    else if ((op->flags & OP_CASTS) && node_int(node, "to", DTYPE_NONE) == DTYPE_BOOL)
        trail->mask |= added.low == 0 && added.high == 0;
    else if ((op->flags & OP_CASTS) || (op->work == WORK_MOVES && (input == 0 || op->data == DATA_ALL)))
        pass_on(trail, node, added);
    else if (op->range.rule == RANGE_ADD || op->dangers[0].kind == DANGER_COMPARE)
        meet_constant(trail, node, op, input, added);
}

static int visit(void *context, Onnx__NodeProto *node)
{
    struct trail *trail = context;
    for (size_t i = 0; i < node->n_input; i++) {
        size_t number;
        if (map_get(&trail->reached, node->input[i], &number))
            use(trail, node, i, trail->added[number]);
    }
    return 0;
}

/* Negative indices count from the end; they are not drawn where others will do. */
static struct inputs_range range_of(const struct trail *trail, enum dtype type)
{
    double low = fmax(trail->allowed.low, (double)dtype_lowest(type));
    double high = fmin(trail->allowed.high, fmin((double)dtype_highest(type), 0x1p53));
    if (trail->counts && low <= high)
        return (struct inputs_range){
            .low = (int64_t)(high >= 0 ? fmax(low, 0) : low), .high = (int64_t)high, .limited = true};
    if (trail->mask && !trail->counts)
        return (struct inputs_range){.high = 1, .limited = true, .truth = true};
    return (struct inputs_range){0};
}

static struct inputs_range follow(const struct inputs *inputs, const struct inputs_slot *slot,
                                  const struct value_types *types)
{
    struct trail trail = {.types = types, .allowed = {-INFINITY, INFINITY}};
    map_init(&trail.reached);
    reach(&trail, slot->name, (struct span){0, 0});
    model_each_node(inputs->model->graph, visit, &trail);
    map_release(&trail.reached);
    free(trail.added);
    return range_of(&trail, slot->dtype);
}

static void infer_types(const struct inputs *inputs, size_t row, struct value_types *types)
{
    struct tensor *tensors = memory_zeroed(inputs->count + 1, sizeof *tensors);
    struct value *values = memory_zeroed(inputs->count + 1, sizeof *values);
    for (size_t i = 0; i < inputs->count; i++) {
        const struct inputs_slot *slot = &inputs->slots[i];
        tensors[i].type = slot->dtype;
        tensors[i].shape = inputs_shape(inputs, slot, row);
        values[i] = (struct value){
            .kind = VALUE_TENSOR, .name = (char *)(uintptr_t)slot->name, .count = 1, .tensors = &tensors[i]};
    }
    value_types_init_for(types, inputs->model, values, inputs->count);
    free(values);
    free(tensors);
}

static bool is_whole(enum dtype type)
{
    return dtype_is_integer(type) && type != DTYPE_BOOL;
}

void inputs_find_ranges(struct inputs *inputs, size_t row)
{
    struct value_types types;
    size_t whole = 0;
    for (size_t i = 0; i < inputs->count; i++)
        whole += is_whole(inputs->slots[i].dtype);
    if (!whole || (double)whole * (double)inputs->model->graph->n_node > most_visits)
        return;
    infer_types(inputs, row, &types);
    for (size_t i = 0; i < inputs->count; i++)
        if (is_whole(inputs->slots[i].dtype))
            inputs->slots[i].ranges[row] = follow(inputs, &inputs->slots[i], &types);
    value_types_release(&types);
}
