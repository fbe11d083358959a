/*
 * Sequences and optionals. Nothing is computed: items are copied with their bounds. Cases are not drawn of
 * them, as the generator's values are tensors.
 */
#include "base/memory.h"
#include "ops/move_elements.h"
#include "ops/op.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A required sequence; NULL and ERROR_INVALID for anything else. */
static const struct bounded *need_sequence(struct op_call *call, size_t index)
{
    const struct bounded *s = call_need(call, index);
    if (s && s->kind != BOUNDED_SEQUENCE) {
        call_invalid(call, "input %zu is no sequence", index);
        return NULL;
    }
    return s;
}

/* A required tensor. */
static const struct bounded *need_tensor(struct op_call *call, size_t index)
{
    const struct bounded *x = call_need(call, index);
    if (x && x->kind != BOUNDED_TENSOR) {
        call_invalid(call, "input %zu is no tensor", index);
        return NULL;
    }
    return x;
}

/* Makes output 0 a sequence of copies; together they must not be larger than a tensor may be. */
static int put_sequence(struct op_call *call, enum dtype type, const struct bounded *const *items,
                        size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += items[i]->count;
        if (total > BOUNDED_LIMIT)
            return error_set(call->err, ERROR_LIMIT, "%s: a sequence larger than the reference supports",
                             call->op->name);
        if (items[i]->type != type || items[i]->kind != BOUNDED_TENSOR)
            return call_invalid(call, "item %zu is not of the sequence's type", i);
    }
    struct bounded *out = call_sequence(call, 0, type, count);
    for (size_t i = 0; out && i < count; i++)
        if (bounded_copy(&out->items[i], items[i], call->err))
            return -1;
    return out ? 0 : -1;
}

/* The items of a sequence as pointers, with room for one more; the caller frees the array. */
static const struct bounded **item_list(const struct bounded *s)
{
    const struct bounded **items = memory_zeroed(s->n_items + 1, sizeof(struct bounded *));
    for (size_t i = 0; i < s->n_items; i++)
        items[i] = &s->items[i];
    return items;
}

/* A position in [-count, last], counted from the end when negative. */
static int read_position(struct op_call *call, size_t input, size_t count, size_t last, size_t *position)
{
    int64_t at, length = (int64_t)count;
    if (call_int_single(call, input, &at))
        return -1;
    if (at < -length || at > (int64_t)last || (last < count && count == 0))
        return call_invalid(call, "position %" PRId64 " is outside a sequence of %zu", at, count);
    *position = (size_t)(at < 0 ? at + length : at);
    return 0;
}

/* ---- SequenceConstruct, SequenceEmpty, SequenceInsert, SequenceErase, SequenceAt, SequenceLength ---- */

static int eval_construct(struct op_call *call)
{
    for (size_t i = 0; i < call->n_inputs; i++)
        if (!need_tensor(call, i))
            return -1;
    return put_sequence(call, call->inputs[0]->type, call->inputs, call->n_inputs);
}

static int eval_empty(struct op_call *call)
{
    int64_t type = call_int(call, "dtype", DTYPE_FLOAT);
    return dtype_check(type, call->err) ? -1 : put_sequence(call, (enum dtype)type, NULL, 0);
}

static int eval_insert(struct op_call *call)
{
    const struct bounded *s = need_sequence(call, 0), *x = s ? need_tensor(call, 1) : NULL;
    size_t at = s ? s->n_items : 0;
    if (!s || !x || (call_input(call, 2) && read_position(call, 2, s->n_items, s->n_items, &at)))
        return -1;
    const struct bounded **items = item_list(s);
    memmove(items + at + 1, items + at, (s->n_items - at) * sizeof *items);
    items[at] = x;
    /* The type of an empty sequence from outside is not known. */
    int result = put_sequence(call, s->n_items ? s->type : x->type, items, s->n_items + 1);
    free(items);
    return result;
}

static int eval_erase(struct op_call *call)
{
    const struct bounded *s = need_sequence(call, 0);
    if (!s)
        return -1;
    if (s->n_items == 0)
        return call_invalid(call, "the sequence is empty");
    size_t at = s->n_items - 1;
    if (call_input(call, 1) && read_position(call, 1, s->n_items, s->n_items - 1, &at))
        return -1;
    const struct bounded **items = item_list(s);
    memmove(items + at, items + at + 1, (s->n_items - 1 - at) * sizeof *items);
    int result = put_sequence(call, s->type, items, s->n_items - 1);
    free(items);
    return result;
}

/* Makes an output a copy of any value. */
static int put_copy(struct op_call *call, size_t index, const struct bounded *value)
{
    bounded_release(&call->outputs[index]);
    return bounded_copy(&call->outputs[index], value, call->err);
}

static int eval_at(struct op_call *call)
{
    const struct bounded *s = need_sequence(call, 0);
    size_t at;
    if (!s)
        return -1;
    if (s->n_items == 0)
        return call_invalid(call, "the sequence is empty");
    return read_position(call, 1, s->n_items, s->n_items - 1, &at) || put_copy(call, 0, &s->items[at]) ? -1
                                                                                                       : 0;
}

static int eval_length(struct op_call *call)
{
    const struct bounded *s = need_sequence(call, 0);
    struct bounded *out = s ? call_output_known(call, 0, DTYPE_INT64, &(struct shape){.rank = 0}) : NULL;
    if (out)
        out->value[0] = (long double)s->n_items;
    return out ? 0 : -1;
}

/* ---- SplitToSequence ---- */

/* How an axis is cut: into pieces of `size`, the last one smaller, or into pieces as a list says. */
struct cut {
    int axis;
    int64_t size;
    const struct bounded *sizes;
    size_t count;
    bool squeezed;
};

static int cut_by_list(struct op_call *call, struct cut *c, int64_t length)
{
    long double total = 0;
    for (size_t i = 0; i < c->sizes->count; i++) {
        if (!(c->sizes->value[i] >= 0) || bounded_hard(c->sizes, i) > 0)
            return call_invalid(call, "split has the value %Lg", c->sizes->value[i]);
        total += c->sizes->value[i];
    }
    if (total != (long double)length)
        return call_invalid(call, "split adds up to %Lg of %" PRId64, total, length);
    c->count = c->sizes->count;
    return 0;
}

static int read_cut(struct op_call *call, const struct bounded *x, struct cut *c)
{
    const struct bounded *split = call_input(call, 1);
    if (call_axis(call, call_int(call, "axis", 0), x->shape.rank, &c->axis))
        return -1;
    int64_t length = x->shape.dims[c->axis];
    c->size = 1;
    c->squeezed = !split && call_int(call, "keepdims", 1) == 0;
    if (split && !dtype_is_integer(split->type))
        return call_invalid(call, "split is not of an integer type");
    if (split && !split->value)
        return call_unsupported(call, "the shape depends on data (input 1)");
    if (split && split->shape.rank == 1) {
        c->sizes = split;
        return cut_by_list(call, c, length);
    }
    if (split && call_int_single(call, 1, &c->size))
        return -1;
    if (c->size < 1)
        return call_invalid(call, "pieces of %" PRId64, c->size);
    c->count = (size_t)(length / c->size + (length % c->size > 0));
    return 0;
}

/* Piece from `begin` on, of `size`. */
static int put_piece(struct op_call *call, const struct bounded *x, const struct cut *c, int64_t begin,
                     int64_t size, struct bounded *piece)
{
    struct shape shape = x->shape;
    shape.dims[c->axis] = size;
    if (c->squeezed) {
        for (int i = c->axis; i + 1 < shape.rank; i++)
            shape.dims[i] = shape.dims[i + 1];
        shape.rank--;
    }
    if (bounded_alloc(piece, x->type, &shape, !x->value, call->err))
        return -1;
    size_t outer = shape_span(&x->shape, 0, c->axis),
           inner = shape_span(&x->shape, c->axis + 1, x->shape.rank);
    size_t run = (size_t)size * inner, row = (size_t)x->shape.dims[c->axis] * inner;
    for (size_t o = 0; x->value && o < outer; o++)
        move_run(piece, o * run, x, o * row + (size_t)begin * inner, run);
    return 0;
}

static int eval_split_to(struct op_call *call)
{
    const struct bounded *x = need_tensor(call, 0);
    struct cut c = {0};
    if (!x || read_cut(call, x, &c))
        return -1;
    struct bounded *out = call_sequence(call, 0, x->type, c.count);
    int64_t begin = 0, length = x->shape.dims[c.axis];
    for (size_t i = 0; out && i < c.count; i++) {
        int64_t left = length - begin, size = c.sizes         ? (int64_t)c.sizes->value[i]
                                              : c.size < left ? c.size
                                                              : left;
        if (put_piece(call, x, &c, begin, size, &out->items[i]))
            return -1;
        begin += size;
    }
    return out ? 0 : -1;
}

/* ---- ConcatFromSequence ---- */

/* The item with a new axis of one element. */
static int with_axis(struct op_call *call, const struct bounded *item, int axis, struct bounded *made)
{
    if (item->shape.rank == TENSOR_MAX_RANK)
        return call_unsupported(call, "a rank above %d is not supported", TENSOR_MAX_RANK);
    if (bounded_copy(made, item, call->err))
        return -1;
    for (int i = made->shape.rank; i > axis; i--)
        made->shape.dims[i] = made->shape.dims[i - 1];
    made->shape.dims[axis] = 1;
    made->shape.rank++;
    return 0;
}

/* Concat's kernel on the items. */
static int concat_items(struct op_call *call, const struct bounded *const *items, size_t count)
{
    struct op_call inner = *call;
    inner.op = op_find("Concat");
    inner.inputs = items;
    inner.n_inputs = count;
    return inner.op->eval(&inner);
}

static int eval_concat_from(struct op_call *call)
{
    const struct bounded *s = need_sequence(call, 0);
    if (!s)
        return -1;
    if (s->n_items == 0)
        return call_unsupported(call, "the concatenation of nothing");
    bool added = call_int(call, "new_axis", 0) != 0;
    const struct bounded **items = item_list(s);
    struct bounded *made = memory_zeroed(s->n_items, sizeof *made);
    int axis = 0, result = 0;
    if (added)
        result = call_axis(call, call_int(call, "axis", 0), s->items[0].shape.rank + 1, &axis);
    for (size_t i = 0; added && !result && i < s->n_items; i++) {
        if (s->items[i].shape.rank != s->items[0].shape.rank)
            result = call_invalid(call, "items have different ranks");
        else
            result = with_axis(call, &s->items[i], axis, &made[i]);
        items[i] = &made[i];
    }
    if (!result)
        result = concat_items(call, items, s->n_items);
    for (size_t i = 0; i < s->n_items; i++)
        bounded_release(&made[i]);
    free(made);
    free(items);
    return result;
}

/* ---- SequenceMap ---- */

/* Runs the body on item `at` of each sequence, and on the tensors as they are. */
static int map_item(struct op_call *call, const Onnx__GraphProto *body, size_t at, struct bounded *results)
{
    const struct bounded **inputs = memory_zeroed(call->n_inputs, sizeof(struct bounded *));
    int result = 0;
    for (size_t i = 0; !result && i < call->n_inputs; i++) {
        const struct bounded *value = call_need(call, i);
        if (!value || (value->kind == BOUNDED_SEQUENCE && at >= value->n_items))
            result = value ? call_invalid(call, "sequences of different lengths") : -1;
        else
            inputs[i] = value->kind == BOUNDED_SEQUENCE ? &value->items[at] : value;
    }
    if (!result)
        result = call->body(call, body, call->n_inputs, inputs, body->n_output, results);
    for (size_t i = 0; !result && i < body->n_output; i++)
        if (results[i].kind != BOUNDED_TENSOR)
            result = call_invalid(call, "output %zu of the body is no tensor", i);
    free(inputs);
    return result;
}

static int check_lengths(struct op_call *call, size_t length)
{
    for (size_t i = 1; i < call->n_inputs; i++)
        if (call->inputs[i] && call->inputs[i]->kind == BOUNDED_SEQUENCE &&
            call->inputs[i]->n_items != length)
            return call_invalid(call, "sequences of %zu and %zu items", length, call->inputs[i]->n_items);
    return 0;
}

static int eval_map(struct op_call *call)
{
    const struct bounded *s = need_sequence(call, 0);
    const Onnx__GraphProto *body = node_graph(call->node, "body");
    if (!s || check_lengths(call, s->n_items))
        return -1;
    if (!body || body->n_output != call->n_outputs || !call->body)
        return call_invalid(call, "the body is missing, or does not have the node's outputs");
    if (s->n_items == 0)
        return call_unsupported(call, "the types of empty sequences are not known");
    for (size_t i = 0; i < call->n_outputs; i++)
        if (!call_sequence(call, i, DTYPE_FLOAT, s->n_items))
            return -1;
    struct bounded *results = memory_zeroed(body->n_output, sizeof *results);
    int result = 0;
    for (size_t at = 0; !result && at < s->n_items; at++) {
        result = map_item(call, body, at, results);
        for (size_t i = 0; i < call->n_outputs; i++) {
            call->outputs[i].type = results[i].type != DTYPE_NONE ? results[i].type : DTYPE_FLOAT;
            call->outputs[i].items[at] = results[i];
            bounded_init(&results[i]);
        }
    }
    free(results);
    return result;
}

/* ---- Optional, OptionalHasElement, OptionalGetElement ---- */

static int eval_optional(struct op_call *call)
{
    const struct bounded *x = call_input(call, 0);
    if (x)
        return put_copy(call, 0, x);
    if (!call_has(call, "type"))
        return call_invalid(call, "has neither an input nor a type");
    bounded_absent(&call->outputs[0], DTYPE_FLOAT);
    return 0;
}

static int eval_has_element(struct op_call *call)
{
    const struct bounded *x = call_input(call, 0);
    struct bounded *out = call_output_known(call, 0, DTYPE_BOOL, &(struct shape){.rank = 0});
    if (out)
        out->value[0] = x && x->kind != BOUNDED_ABSENT;
    return out ? 0 : -1;
}

static int eval_get_element(struct op_call *call)
{
    const struct bounded *x = call_need(call, 0);
    if (x && x->kind == BOUNDED_ABSENT)
        return call_invalid(call, "the optional holds nothing");
    return x ? put_copy(call, 0, x) : -1;
}

static const struct op_param empty_params[] = {{"dtype", PARAM_INT, .initial = "1"}, {0}};
static const struct op_param split_params[] = {
    {"axis", PARAM_INT, .initial = "0"}, {"keepdims", PARAM_INT, .initial = "1"}, {0}};
static const struct op_param concat_params[] = {
    {"axis", PARAM_INT}, {"new_axis", PARAM_INT, .initial = "0"}, {0}};
static const struct op_param map_params[] = {{"body", PARAM_GRAPH, .legal = ""}, {0}};

/* Members that the rows have in common. */
#define USUAL                                                                             \
    .ranks = {0, 5}, .types = {{11, MOVE_ANY}}, .data = DATA_NONE, .range = {RANGE_MOVE}, \
    .factors = {FACTORS_NONE}, .result = RESULT_OTHER, .slope = SLOPE_EVERYWHERE, .dangers = {{DANGER_NONE}}
#define MOVES USUAL, .outputs = {1, 1}, .flags = OP_ON_REQUEST | OP_CONTAINERS, .work = WORK_MOVES

const struct op ops_sequence[] = {
    {OP("ConcatFromSequence", 11), MOVES, .inputs = {1, 1}, .params = concat_params,
     .eval = eval_concat_from},
    {OP("Optional", 15), MOVES, .inputs = {0, 1}, .eval = eval_optional},
    {OP("OptionalGetElement", 15), MOVES, .inputs = {1, 1}, .eval = eval_get_element},
    {OP("OptionalHasElement", 15), MOVES, .inputs = {0, 1}, .eval = eval_has_element},
    {OP("SequenceAt", 11), MOVES, .inputs = {2, 2}, .eval = eval_at},
    {OP("SequenceConstruct", 11), MOVES, .inputs = {1, OP_VARIADIC}, .eval = eval_construct},
    {OP("SequenceEmpty", 11), MOVES, .inputs = {0, 0}, .params = empty_params, .eval = eval_empty},
    {OP("SequenceErase", 11), MOVES, .inputs = {1, 2}, .eval = eval_erase},
    {OP("SequenceInsert", 11), MOVES, .inputs = {2, 3}, .eval = eval_insert},
    {OP("SequenceLength", 11), MOVES, .inputs = {1, 1}, .eval = eval_length},
    {OP("SequenceMap", 17), USUAL, .flags = OP_ON_REQUEST | OP_CONTAINERS, .work = WORK_BODIES,
     .inputs = {1, OP_VARIADIC}, .outputs = {1, OP_VARIADIC}, .params = map_params, .eval = eval_map},
    {OP("SplitToSequence", 11), MOVES, .inputs = {1, 2}, .params = split_params, .eval = eval_split_to},
    {0},
};
