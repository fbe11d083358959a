/*
 * If and Loop. The evaluator runs their bodies, with bounds (call->body), and looks up the values that they
 * capture.
 */
#include "ops/control_sample.h"
#include "ops/op.h"

#include "base/limits.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Checks that a condition is a bool of one element. NULL is allowed where the condition may be left out. */
static int check_condition(struct op_call *call, const struct bounded *cond)
{
    if (cond && (cond->type != DTYPE_BOOL || cond->count != 1))
        return call_invalid(call, "the condition is not a bool of one element");
    return 0;
}

static int need_body(struct op_call *call, const char *name, const Onnx__GraphProto **graph)
{
    *graph = node_graph(call->node, name);
    if (!*graph)
        return call_invalid(call, "%s is missing", name);
    return call->body ? 0 : call_unsupported(call, "bodies are not supported here");
}

static void release_all(struct bounded *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bounded_release(&values[i]);
}

static void give_output(struct op_call *call, size_t index, struct bounded *value)
{
    if (index >= call->n_outputs)
        return;
    bounded_release(&call->outputs[index]);
    call->outputs[index] = *value;
    bounded_init(value);
}

/* ---- If ---- */

/* Reduces `chosen` to what is certain whichever branch runs. */
static int merge_branches(struct op_call *call, struct bounded *chosen, const struct bounded *other)
{
    if (chosen->type != other->type || !shape_equal(&chosen->shape, &other->shape) ||
        chosen->kind != BOUNDED_TENSOR || other->kind != BOUNDED_TENSOR)
        return call_unsupported(call, "the branches have different shapes, and the condition is not known");
    if (!chosen->value || !other->value) {
        struct shape shape = chosen->shape;
        enum dtype type = chosen->type;
        bounded_release(chosen);
        return bounded_alloc(chosen, type, &shape, true, call->err);
    }
    for (size_t i = 0; i < chosen->count; i++)
        if (chosen->value[i] != other->value[i] || bounded_hard(chosen, i) > 0 || bounded_hard(other, i) > 0)
            bounded_put_undecided(chosen, i, chosen->value[i]);
    return 0;
}

static int run_branch(struct op_call *call, const Onnx__GraphProto *graph, struct bounded *outputs)
{
    if (graph->n_output != call->n_outputs)
        return call_invalid(call, "a branch has %zu outputs, but the node has %zu", graph->n_output,
                            call->n_outputs);
    return call->body(call, graph, 0, NULL, call->n_outputs, outputs);
}

static int eval_if(struct op_call *call)
{
    const struct bounded *cond = call_need(call, 0);
    const Onnx__GraphProto *branches[2];
    if (!cond || check_condition(call, cond) || need_body(call, "else_branch", &branches[0]) ||
        need_body(call, "then_branch", &branches[1]))
        return -1;
    int taken = cond->value ? cond->value[0] != 0 : 1;
    bool both = !cond->value || bounded_hard(cond, 0) > 0;
    struct bounded *results = memory_zeroed(2 * call->n_outputs, sizeof *results);
    struct bounded *others = results + call->n_outputs;
    int result = run_branch(call, branches[taken], results);
    if (!result && both)
        result = run_branch(call, branches[!taken], others);
    for (size_t i = 0; !result && i < call->n_outputs; i++) {
        if (both)
            result = merge_branches(call, &results[i], &others[i]);
        if (!result)
            give_output(call, i, &results[i]);
    }
    release_all(results, 2 * call->n_outputs);
    free(results);
    return result;
}

/* ---- Loop ---- */

/* A while-loop that never ends must not hang the reference. */
enum { MAX_TRIPS = 100000 };

struct loop {
    const Onnx__GraphProto *body;
    size_t carried, scans;
    int64_t trips;           /* at most; -1: not limited */
    bool trips_known;        /* false: only shapes are asked for, and M is not known */
    struct bounded *state;   /* what the body gets: iteration, condition, carried values */
    struct bounded *results; /* what it gives: condition, carried values, scan outputs */
    struct bounded **stacks; /* for each scan output its slices */
    size_t n_slices, capacity;
};

static int loop_init(struct loop *loop, struct op_call *call)
{
    const struct bounded *trips = call_input(call, 0), *cond = call_input(call, 1);
    memset(loop, 0, sizeof *loop);
    if (need_body(call, "body", &loop->body) || check_condition(call, cond))
        return -1;
    if (trips && (trips->type != DTYPE_INT64 || trips->count != 1))
        return call_invalid(call, "the trip count is not an int64 of one element");
    loop->carried = call->n_inputs > 2 ? call->n_inputs - 2 : 0;
    if (loop->body->n_input != loop->carried + 2 || loop->body->n_output < loop->carried + 1)
        return call_invalid(call, "the inputs or outputs of the body do not match %zu carried values",
                            loop->carried);
    loop->scans = loop->body->n_output - loop->carried - 1;
    loop->trips = -1;
    loop->trips_known = !trips || trips->value;
    if (trips && trips->value) {
        if (bounded_hard(trips, 0) > 0)
            return call_unsupported(call, "the trip count is undecided");
        loop->trips = trips->value[0] > 0 ? (int64_t)trips->value[0] : 0;
    }
    loop->state = memory_zeroed(loop->carried + 2, sizeof *loop->state);
    loop->results = memory_zeroed(loop->body->n_output, sizeof *loop->results);
    loop->stacks = memory_zeroed(loop->scans + 1, sizeof *loop->stacks);
    return 0;
}

static void loop_release(struct loop *loop)
{
    if (!loop->state)
        return;
    release_all(loop->state, loop->carried + 2);
    release_all(loop->results, loop->body->n_output);
    for (size_t s = 0; s < loop->scans; s++) {
        release_all(loop->stacks[s], loop->n_slices);
        free(loop->stacks[s]);
    }
    free(loop->state);
    free(loop->results);
    free(loop->stacks);
}

static int loop_start(struct loop *loop, struct op_call *call)
{
    const struct bounded *cond = call_input(call, 1);
    struct shape scalar = {.rank = 0};
    if (bounded_alloc(&loop->state[0], DTYPE_INT64, &scalar, false, call->err))
        return -1;
    int result = cond ? bounded_copy(&loop->state[1], cond, call->err)
                      : bounded_alloc(&loop->state[1], DTYPE_BOOL, &scalar, false, call->err);
    if (result)
        return -1;
    if (!cond)
        loop->state[1].value[0] = 1;
    for (size_t i = 0; i < loop->carried; i++) {
        const struct bounded *initial = call_need(call, i + 2);
        if (!initial || bounded_copy(&loop->state[i + 2], initial, call->err))
            return -1;
    }
    return 0;
}

static int run_iteration(struct loop *loop, struct op_call *call)
{
    size_t n_inputs = loop->carried + 2;
    const struct bounded **inputs = memory_zeroed(n_inputs, sizeof(struct bounded *));
    for (size_t i = 0; i < n_inputs; i++)
        inputs[i] = &loop->state[i];
    release_all(loop->results, loop->body->n_output);
    int result = call->body(call, loop->body, n_inputs, inputs, loop->body->n_output, loop->results);
    free(inputs);
    return result ? -1 : check_condition(call, &loop->results[0]);
}

static int keep_slices(struct loop *loop, struct op_call *call)
{
    size_t capacity = loop->capacity;
    for (size_t s = 0; s < loop->scans; s++) {
        struct bounded *slice = &loop->results[loop->carried + 1 + s];
        capacity = loop->capacity;
        loop->stacks[s] = memory_grow(loop->stacks[s], &capacity, loop->n_slices + 1, sizeof *slice);
        loop->stacks[s][loop->n_slices] = *slice;
        bounded_init(slice);
    }
    loop->capacity = capacity;
    loop->n_slices++;
    for (size_t s = 0; s < loop->scans; s++)
        if (!shape_equal(&loop->stacks[s][0].shape, &loop->stacks[s][loop->n_slices - 1].shape) ||
            loop->stacks[s][0].type != loop->stacks[s][loop->n_slices - 1].type ||
            loop->stacks[s][loop->n_slices - 1].kind != BOUNDED_TENSOR)
            return call_invalid(call, "scan output %zu changes its type or shape", s);
    return 0;
}

/* The condition and the carried values become the next iteration's. */
static void carry_over(struct loop *loop)
{
    for (size_t i = 0; i < loop->carried + 1; i++) {
        bounded_release(&loop->state[i + 1]);
        loop->state[i + 1] = loop->results[i];
        bounded_init(&loop->results[i]);
    }
    loop->state[0].value[0] += 1;
}

/* 1: another iteration, 0: the end, -1: not known or too many. */
static int loop_goes_on(const struct loop *loop, struct op_call *call, int64_t done)
{
    const struct bounded *cond = &loop->state[1];
    if (loop->trips >= 0 && done >= loop->trips)
        return 0;
    if (!loop->trips_known || !cond->value || bounded_hard(cond, 0) > 0)
        return call_unsupported(call, "the number of iterations is not known");
    if (cond->value[0] == 0)
        return 0;
    if (limits_check(call->err))
        return -1;
    if (done >= MAX_TRIPS)
        return error_set(call->err, ERROR_LIMIT, "Loop: runs more than %d iterations", MAX_TRIPS);
    return 1;
}

static int stack_slices(struct op_call *call, struct bounded *out, const struct bounded *slices, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        if (!slices[n].value) {
            struct shape shape = out->shape;
            enum dtype type = out->type;
            bounded_release(out);
            return bounded_alloc(out, type, &shape, true, call->err);
        }
        for (size_t i = 0; i < slices[n].count; i++)
            bounded_move(out, n * slices[n].count + i, &slices[n], i);
    }
    return 0;
}

/* Without an iteration, only the declaration in the body says how large the slices of a scan output would be.
 */
static int check_declared(const struct loop *loop, struct op_call *call, size_t s)
{
    const struct shape *shape = &loop->results[loop->carried + 1 + s].shape;
    const Onnx__TypeProto *type = loop->body->output[loop->carried + 1 + s]->type;
    const Onnx__TensorShapeProto *said = type && type->tensor_type ? type->tensor_type->shape : NULL;
    bool known = said != NULL;
    for (size_t k = 0; known && k < said->n_dim; k++)
        known = said->dim[k]->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    if (!known)
        return call_unsupported(
            call, "the loop runs no iteration, and the body does not declare the shape of scan output %zu",
            s);
    bool same = said->n_dim == (size_t)shape->rank;
    for (size_t k = 0; same && k < said->n_dim; k++)
        same = said->dim[k]->dim_value == shape->dims[k];
    return same ? 0 : call_invalid(call, "scan output %zu does not have the shape that the body declares", s);
}

static int give_scan(struct loop *loop, struct op_call *call, size_t s)
{
    /* Without an iteration, `results` holds what shape inference found (loop_run). */
    const struct bounded *like = loop->n_slices ? &loop->stacks[s][0] : &loop->results[loop->carried + 1 + s];
    size_t index = loop->carried + s;
    if (index >= call->n_outputs)
        return 0;
    if (!loop->n_slices && !call->shapes_only && check_declared(loop, call, s))
        return -1;
    if (like->shape.rank == TENSOR_MAX_RANK)
        return call_unsupported(call, "a rank above %d is not supported", TENSOR_MAX_RANK);
    struct shape shape = shape_insert(&like->shape, 0, (int64_t)loop->n_slices);
    struct bounded *out = call_output_known(call, index, like->type, &shape);
    return out ? stack_slices(call, out, loop->stacks[s], loop->n_slices) : -1;
}

/* One iteration for its shapes alone. */
static int infer_iteration(struct loop *loop, struct op_call *call)
{
    bool before = call->shapes_only;
    call->shapes_only = true;
    int result = run_iteration(loop, call);
    call->shapes_only = before;
    return result;
}

/*
 * Shapes when the number of iterations is not known: carried values are known if an iteration does not change
 * their type and shape. The first dimension of scan outputs is unknown.
 */
static int loop_shapes(struct loop *loop, struct op_call *call)
{
    if (loop->scans)
        return call_unsupported(call, "the shape depends on data (the number of iterations)");
    if (infer_iteration(loop, call))
        return -1;
    for (size_t i = 0; i < loop->carried; i++) {
        const struct bounded *before = &loop->state[i + 2], *after = &loop->results[i + 1];
        if (before->type != after->type || !shape_equal(&before->shape, &after->shape) ||
            before->kind != BOUNDED_TENSOR || after->kind != BOUNDED_TENSOR)
            return call_unsupported(call, "the shape of carried value %zu depends on data", i);
        if (i < call->n_outputs && !call_output(call, i, before->type, &before->shape))
            return -1;
    }
    return 0;
}

static int loop_run(struct loop *loop, struct op_call *call)
{
    int goes_on;
    int64_t done = 0;
    if (call->shapes_only && (!loop->trips_known || (call_input(call, 1) && !call_input(call, 1)->value)))
        return loop_shapes(loop, call);
    while ((goes_on = loop_goes_on(loop, call, done)) > 0) {
        if (run_iteration(loop, call) || keep_slices(loop, call))
            return -1;
        carry_over(loop);
        done++;
    }
    if (goes_on < 0 || (done == 0 && loop->scans && infer_iteration(loop, call)))
        return -1;
    for (size_t i = 0; i < loop->carried; i++)
        give_output(call, i, &loop->state[i + 2]);
    for (size_t s = 0; s < loop->scans; s++)
        if (give_scan(loop, call, s))
            return -1;
    return 0;
}

static int eval_loop(struct op_call *call)
{
    struct loop loop;
    int result = loop_init(&loop, call);
    if (!result)
        result = loop_start(&loop, call);
    if (!result)
        result = loop_run(&loop, call);
    loop_release(&loop);
    return result;
}

static const struct op_param if_params[] = {
    {"then_branch", PARAM_GRAPH, .legal = ""}, {"else_branch", PARAM_GRAPH, .legal = ""}, {0}};
static const struct op_param loop_params[] = {
    {"M", PARAM_INPUT, .input = 0, .legal = "0|1|2|3", .illegal = "-1", .initial = ""},
    {"body", PARAM_GRAPH, .legal = ""},
    {0}};

const struct op ops_control[] = {
    {OP("If", 1), .inputs = {1, 1}, .outputs = {1, OP_VARIADIC}, .ranks = {0, 1},
     .types = {{1, DTYPE_BIT(DTYPE_BOOL)}}, .params = if_params, .eval = eval_if, .sample = sample_if,
     .data = DATA_NONE, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .history = {.same_since = 1},
     .result = RESULT_OTHER, .work = WORK_BODIES, .slope = SLOPE_ALMOST_EVERYWHERE,
     .flags = OP_BRANCHES | OP_CONTAINERS | OP_FIRST_NOT_NARROW, .narrow = {19, DTYPES_NARROW},
     .dangers = {{DANGER_NONE}}},
    {OP("Loop", 1), .inputs = {2, OP_VARIADIC}, .outputs = {1, OP_VARIADIC}, .ranks = {0, 4},
     .types = {{1, DTYPE_BIT(DTYPE_INT64)}}, .params = loop_params, .eval = eval_loop, .sample = sample_loop,
     .data = DATA_NONE, .range = {RANGE_LIKE_INPUTS}, .factors = {FACTORS_NONE}, .history = {.same_since = 1},
     .result = RESULT_OTHER, .work = WORK_BODIES, .slope = SLOPE_ALMOST_EVERYWHERE,
     .flags = OP_LOOPS | OP_CONTAINERS | OP_FIRST_NOT_NARROW, .narrow = {19, DTYPES_NARROW},
     .dangers = {{DANGER_NONE}}},
    {0},
};
