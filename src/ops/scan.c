/*
 * Scan: a body that runs on slices of its last inputs, one after the other. It gets the states and a slice of
 * each scanned input, and gives the next states and a slice of each scanned output. The evaluator runs the
 * body, with bounds (call->body).
 */
#include "ops/control_sample.h"
#include "ops/op.h"

#include "base/limits.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct scan {
    const Onnx__GraphProto *body;
    size_t states, n_in, n_out;   /* scanned inputs and outputs */
    int64_t length;               /* iterations */
    int *axes;                    /* of the scanned inputs */
    const struct bounded **given; /* to the body: states and slices */
    struct bounded *values;       /* what `given` points to */
    struct bounded *results;      /* next states and slices */
};

/* Entry `index` of a list that may be left out: 0 then. */
static int read_entry(struct op_call *call, const char *name, size_t index, size_t count, int64_t *value)
{
    size_t length;
    const int64_t *list = call_ints(call, name, &length);
    if (list && length && length != count)
        return call_invalid(call, "%s has %zu entries for %zu values", name, length, count);
    *value = list && length ? list[index] : 0;
    return 0;
}

static int read_direction(struct op_call *call, const char *name, size_t index, size_t count, bool *backward)
{
    int64_t value;
    if (read_entry(call, name, index, count, &value))
        return -1;
    if (value != 0 && value != 1)
        return call_invalid(call, "%s has another entry than 0 and 1", name);
    *backward = value == 1;
    return 0;
}

/* The scanned inputs have the same length along their axes. */
static int read_inputs(struct scan *scan, struct op_call *call)
{
    scan->length = -1;
    for (size_t i = 0; i < scan->n_in; i++) {
        const struct bounded *x = call_need(call, scan->states + i);
        int64_t axis;
        if (!x || read_entry(call, "scan_input_axes", i, scan->n_in, &axis) ||
            call_axis(call, axis, x->shape.rank, &scan->axes[i]))
            return -1;
        int64_t length = x->shape.dims[scan->axes[i]];
        if (scan->length >= 0 && length != scan->length)
            return call_invalid(call, "the scanned inputs have different lengths");
        scan->length = length;
    }
    return scan->length > 0 ? 0 : call_unsupported(call, "there is nothing to scan");
}

static int scan_init(struct scan *scan, struct op_call *call)
{
    int64_t scanned = call_int(call, "num_scan_inputs", 0);
    memset(scan, 0, sizeof *scan);
    scan->body = node_graph(call->node, "body");
    if (!scan->body)
        return call_invalid(call, "body is missing");
    if (!call->body)
        return call_unsupported(call, "bodies are not supported here");
    if (scanned < 1 || (uint64_t)scanned > call->n_inputs)
        return call_invalid(call, "num_scan_inputs is not a number of its inputs");
    scan->n_in = (size_t)scanned;
    scan->states = call->n_inputs - scan->n_in;
    if (scan->body->n_input != call->n_inputs || scan->body->n_output < scan->states)
        return call_invalid(call, "the inputs or outputs of the body do not match %zu states", scan->states);
    scan->n_out = scan->body->n_output - scan->states;
    scan->axes = memory_zeroed(scan->n_in, sizeof *scan->axes);
    scan->given = memory_zeroed(call->n_inputs, sizeof(struct bounded *));
    scan->values = memory_zeroed(call->n_inputs, sizeof *scan->values);
    scan->results = memory_zeroed(scan->body->n_output, sizeof *scan->results);
    return read_inputs(scan, call);
}

static void scan_release(struct scan *scan, const struct op_call *call)
{
    for (size_t i = 0; scan->values && i < call->n_inputs; i++)
        bounded_release(&scan->values[i]);
    for (size_t i = 0; scan->results && i < scan->body->n_output; i++)
        bounded_release(&scan->results[i]);
    free(scan->axes);
    free(scan->given);
    free(scan->values);
    free(scan->results);
}

/* Slice `at` of x along an axis. */
static int take_slice(struct op_call *call, struct bounded *slice, const struct bounded *x, int axis,
                      size_t at)
{
    struct shape shape = {.rank = x->shape.rank - 1};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = x->shape.dims[i < axis ? i : i + 1];
    bounded_release(slice);
    if (bounded_alloc(slice, x->type, &shape, !x->value, call->err))
        return -1;
    size_t inner = shape_span(&x->shape, axis + 1, x->shape.rank), length = (size_t)x->shape.dims[axis];
    slice->given = x->given;
    for (size_t i = 0; slice->value && i < slice->count; i++)
        bounded_move(slice, i, x, (i / inner * length + at) * inner + i % inner);
    return 0;
}

/* Puts slice `at` of a scanned output in its place; the first one makes the output. */
static int put_slice(struct scan *scan, struct op_call *call, size_t number, size_t at)
{
    const struct bounded *slice = &scan->results[scan->states + number];
    size_t index = scan->states + number;
    int64_t wanted;
    bool backward = false;
    int axis;
    if (index >= call->n_outputs)
        return 0;
    if (slice->kind != BOUNDED_TENSOR || slice->shape.rank == TENSOR_MAX_RANK)
        return call_unsupported(call, "scan output %zu is no tensor, or of too high a rank", number);
    if (read_entry(call, "scan_output_axes", number, scan->n_out, &wanted) ||
        call_axis(call, wanted, slice->shape.rank + 1, &axis) ||
        read_direction(call, "scan_output_directions", number, scan->n_out, &backward))
        return -1;
    struct shape shape = shape_insert(&slice->shape, axis, scan->length);
    struct bounded *out = at ? &call->outputs[index] : call_output(call, index, slice->type, &shape);
    if (!out)
        return -1;
    if (out->type != slice->type || !shape_equal(&out->shape, &shape))
        return call_invalid(call, "scan output %zu changes its type or shape", number);
    size_t inner = shape_span(&shape, axis + 1, shape.rank), length = (size_t)scan->length,
           place = backward ? length - 1 - at : at;
    for (size_t i = 0; out->value && slice->value && i < slice->count; i++)
        bounded_move(out, (i / inner * length + place) * inner + i % inner, slice, i);
    return 0;
}

static int run_step(struct scan *scan, struct op_call *call, size_t at)
{
    for (size_t i = 0; i < scan->n_in; i++) {
        bool backward = false;
        if (read_direction(call, "scan_input_directions", i, scan->n_in, &backward) ||
            take_slice(call, &scan->values[scan->states + i], call_need(call, scan->states + i),
                       scan->axes[i], backward ? (size_t)scan->length - 1 - at : at))
            return -1;
    }
    for (size_t i = 0; i < call->n_inputs; i++)
        scan->given[i] = &scan->values[i];
    for (size_t i = 0; i < scan->body->n_output; i++)
        bounded_release(&scan->results[i]);
    if (limits_check(call->err) ||
        call->body(call, scan->body, call->n_inputs, scan->given, scan->body->n_output, scan->results))
        return -1;
    for (size_t i = 0; i < scan->states; i++) {
        if (scan->results[i].type != scan->values[i].type ||
            !shape_equal(&scan->results[i].shape, &scan->values[i].shape))
            return call_invalid(call, "state %zu changes its type or shape", i);
        bounded_release(&scan->values[i]);
        scan->values[i] = scan->results[i];
        bounded_init(&scan->results[i]);
    }
    for (size_t i = 0; i < scan->n_out; i++)
        if (put_slice(scan, call, i, at))
            return -1;
    return 0;
}

/* For shapes alone one step is enough: states keep theirs. */
static int eval_scan(struct op_call *call)
{
    struct scan scan;
    int result = scan_init(&scan, call);
    for (size_t i = 0; !result && i < scan.states; i++) {
        const struct bounded *initial = call_need(call, i);
        result = initial ? bounded_copy(&scan.values[i], initial, call->err) : -1;
    }
    for (int64_t at = 0; !result && at < (call->shapes_only ? 1 : scan.length); at++)
        result = run_step(&scan, call, (size_t)at);
    for (size_t i = 0; !result && i < scan.states && i < call->n_outputs; i++) {
        if (call->shapes_only) {
            result = call_output(call, i, scan.values[i].type, &scan.values[i].shape) ? 0 : -1;
        } else {
            bounded_release(&call->outputs[i]);
            call->outputs[i] = scan.values[i];
            bounded_init(&scan.values[i]);
        }
    }
    scan_release(&scan, call);
    return result;
}

static const struct op_param params[] = {
    {"num_scan_inputs", PARAM_INT, .legal = "1|2", .illegal = "0|-1|99"},
    {"scan_input_axes", PARAM_INTS, .legal = "0|1|-1", .illegal = "99|0,0,0", .initial = "0"},
    {"scan_input_directions", PARAM_INTS, .legal = "0|1", .illegal = "2|0,0,0", .initial = "0"},
    {"scan_output_axes", PARAM_INTS, .legal = "0|1|-1", .illegal = "99|0,0,0", .initial = "0"},
    {"scan_output_directions", PARAM_INTS, .legal = "0|1", .illegal = "2|0,0,0", .initial = "0"},
    {"body", PARAM_GRAPH, .legal = ""},
    {0},
};

const struct op ops_scan[] = {
    {OP("Scan", 8), .inputs = {1, OP_VARIADIC}, .outputs = {1, OP_VARIADIC}, .ranks = {1, 4},
     .types = {{9, DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE) | DTYPE_BIT(DTYPE_FLOAT16) |
                       DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64)}},
     .params = params, .eval = eval_scan, .sample = sample_scan, .data = DATA_NONE,
     .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .history = {.same_since = 9},
     .result = RESULT_OTHER, .work = WORK_BODIES, .slope = SLOPE_ALMOST_EVERYWHERE,
     .flags = OP_SCANS | OP_ON_REQUEST, .dangers = {{DANGER_NONE}}},
    {0},
};
