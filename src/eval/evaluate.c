#include "eval/evaluate.h"

#include "base/file_map.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/str.h"
#include "eval/lost_bounds.h"
#include "eval/older_opsets.h"
#include "eval/scope.h"
#include "model/function.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

struct evaluator {
    const struct model *model;
    struct model *inlined; /* a copy without calls of the model's own functions; NULL: it has none */
    struct evaluate_options options;
    struct model_index index;
    int opset;
    bool has_bodies;
};

static const struct evaluate_options no_options;

/* Elements that were read and made before bounds are dropped: small models keep theirs. */
enum { LOSE_LEAST = 1 << 22 };

/* Bytes of a weight from which on the pages of its file are given back once it is read. */
enum { FORGET_LEAST = 1 << 20 };

void evaluate_pass_on(struct bounded *result)
{
    bounded_settle(result, NULL);
    if (result->type == DTYPE_FLOAT16)
        bounded_widen(result);
}

/* A value as the next node may read it (evaluate_pass_on). */
static const struct bounded *as_input(struct slot *slot, const struct evaluate_options *options,
                                      struct error *err)
{
    const struct bounded *b = slot->view;
    if (options->round || !slot->from_node || (b->type != DTYPE_FLOAT16 && !options->loose) ||
        !bounded_has_infinity(b))
        return b;
    if (slot->wide.type == DTYPE_NONE) {
        if (bounded_copy(&slot->wide, b, err))
            return NULL;
        bounded_widen(&slot->wide);
    }
    return &slot->wide;
}

static int run_body(struct op_call *call, const Onnx__GraphProto *graph, size_t n_inputs,
                    const struct bounded *const *inputs, size_t n_outputs, struct bounded *outputs);

static const struct op *find_op(const Onnx__NodeProto *node, int opset, struct error *err)
{
    const char *domain = node->domain ? node->domain : "";
    const struct op *op = op_of(node);
    if (!op)
        error_set(err, ERROR_UNSUPPORTED, "operator %s%s%s is not supported", domain, *domain ? "::" : "",
                  node->op_type);
    else if (!*op->owner && opset < op->since)
        error_set(err, ERROR_INVALID, "operator %s does not exist in opset %d", node->op_type, opset);
    else
        return op;
    return NULL;
}

static int run_kernel(struct op_call *call, const struct evaluate_options *options)
{
    if (call->n_inputs < (size_t)call->op->inputs.least || call->n_inputs > (size_t)call->op->inputs.most)
        return call_invalid(call, "has %zu inputs", call->n_inputs);
    int result = options->hook ? options->hook(options->context, call) : call->op->eval(call);
    if (limits_check(call->err)) /* then what the kernel left is no result */
        result = error_prefix(call->err, "%s", call->op->name);
    return result;
}

/* The most inputs that the operator has at an opset: those that act as parameters are the last ones, and some
 * came later. */
static size_t most_inputs(const struct op *op, int opset)
{
    size_t most = (size_t)op->inputs.most;
    for (const struct op_param *param = op->params; param && param->name; param++)
        most -= param->kind == PARAM_INPUT && opset < param->since;
    return most;
}

/* Kernels get tensors alone unless their rows say otherwise. */
static int refuse_containers(struct op_call *call)
{
    for (size_t i = 0; i < call->n_inputs && !(call->op->flags & OP_CONTAINERS); i++)
        if (call->inputs[i] && call->inputs[i]->kind != BOUNDED_TENSOR)
            return call_unsupported(call, "input %zu is a sequence or an absent optional", i);
    return 0;
}

/* Kernels that compute never meet narrow types. */
static int check_narrow(struct op_call *call)
{
    dtype_set narrow = op_narrow_at(call->op, call->opset);
    for (size_t i = 0; i < call->n_inputs; i++)
        if (call->inputs[i] && dtype_is_narrow(call->inputs[i]->type) &&
            !dtype_in(call->inputs[i]->type, narrow))
            return call_invalid(call, "input %zu is %s, which it does not take in opset %d", i,
                                dtype_name(call->inputs[i]->type), call->opset);
    return 0;
}

/* Runs the kernel of one node into call->outputs. */
static int run_call(struct op_call *call, const struct evaluate_options *options)
{
    struct older older;
    call->unbounded = options->round;
    call->direct = options->direct;
    call->nans_left_out = options->nans_left_out;
    if (call->opset && call->n_inputs > most_inputs(call->op, call->opset))
        return call_invalid(call, "has %zu inputs in opset %d", call->n_inputs, call->opset);
    if (refuse_containers(call) || check_narrow(call))
        return -1;
    int result = older_adapt(&older, call);
    if (!result)
        result = call_check_attributes(call);
    if (!result)
        result = run_kernel(call, options);
    older_release(&older);
    return result;
}

static size_t output_room(const struct op *op, const Onnx__NodeProto *node)
{
    size_t least = op->outputs.least > 1 ? (size_t)op->outputs.least : 1;
    return node->n_output > least ? node->n_output : least;
}

static bool op_reads_floats(const struct op *op, size_t input)
{
    return op && input < CHAR_BIT * sizeof op->reads_floats && op->reads_floats >> input & 1;
}

/* A weight as it is stored becomes one that the kernel reads. */
static int read_stored(struct slot *slot, const struct op *op, size_t input, struct error *err)
{
    const float *stored = slot->own.floats;
    if (!stored || op_reads_floats(op, input))
        return 0;
    int result = bounded_read_floats(&slot->own, err);
    if (slot->stored)
        file_map_forget(stored, slot->stored);
    return result;
}

static int gather_inputs(struct scope *scope, const Onnx__NodeProto *node, const struct bounded **inputs,
                         struct error *err)
{
    const struct op *op = op_of(node);
    for (size_t i = 0; i < node->n_input; i++) {
        if (!*node->input[i])
            continue;
        struct slot *slot = scope_find(scope, node->input[i]);
        if (!slot || !slot->view)
            return error_set(err, ERROR_INVALID, "%s uses %s, which no node before it produces",
                             op_title(node), node->input[i]);
        if (read_stored(slot, op, i, err) || !(inputs[i] = as_input(slot, scope->options, err)))
            return -1;
    }
    return 0;
}

/* Values that the caller reads keep their bounds, unless they are computed from some that do not. */
static void lose_bounds(struct scope *scope, struct slot *slot)
{
    scope->elements += slot->own.count;
    slot->lost =
        scope->may_lose && slot->uses_left && scope->elements >= LOSE_LEAST && bounds_are_lost(&slot->own);
    if (slot->lost)
        bounds_lose(&slot->own);
}

/* Rounds a value as the device keeps it. What only moves elements rounds none of them again. */
static void keep_precisely(const struct scope *scope, const Onnx__NodeProto *node, struct bounded *value)
{
    enum precision precision = scope->options->precision;
    if (scope->shapes_only || precision == PRECISION_OWN || precision_of_operands(precision))
        return;
    const struct op *op = op_of(node);
    if (!op || op->work != WORK_MOVES)
        bounded_in_precision(value, precision);
}

static int keep_outputs(struct scope *scope, const Onnx__NodeProto *node, struct bounded *outputs,
                        struct error *err)
{
    for (size_t i = 0; i < node->n_output; i++) {
        if (!*node->output[i])
            continue;
        if (outputs[i].type == DTYPE_NONE)
            return error_set(err, ERROR_UNSUPPORTED, "%s: the reference does not support output %zu",
                             op_title(node), i);
        struct slot *slot = NULL;
        size_t number;
        if (map_get(&scope->names, node->output[i], &number))
            slot = scope->slots[number];
        else
            slot = scope_add(scope, node->output[i]);
        slot_drop(slot);
        slot->own = outputs[i];
        bounded_init(&outputs[i]);
        if (scope->options->round)
            bounded_round(&slot->own);
        else
            bounded_settle(&slot->own, scope->options->open);
        if (scope->options->loose && node->n_input)
            bounded_loosen(&slot->own);
        keep_precisely(scope, node, &slot->own);
        if (scope->options->given && scope->depth == 0 &&
            scope->options->given(scope->options->context, node->output[i], &slot->own, err))
            return -1;
        lose_bounds(scope, slot);
        slot->view = &slot->own;
        slot->from_node = node->n_input > 0; /* the value of a Constant is given, not computed */
    }
    return 0;
}

/* The largest constant that is computed when only shapes are wanted: shape arithmetic is small, weights are
 * not. */
enum { KNOWN_LIMIT = 1024 };

static bool is_known(const struct bounded *input)
{
    return !input || (input->value && input->count <= KNOWN_LIMIT);
}

/* Whether all inputs of a node are known when only shapes are wanted, so that it can be computed. Bodies may
 * capture unknown values. */
static bool all_known(const struct op *op, const struct bounded *const *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_known(inputs[i]))
            return false;
    return op->work != WORK_BODIES;
}

/* Finds the factors of the first output of a node and loosens its bounds for them (factor_order.h). */
static struct factors loosen_product(struct scope *scope, const struct op_call *call)
{
    const Onnx__NodeProto *node = call->node;
    struct factors *inputs = memory_zeroed(node->n_input, sizeof *inputs);
    for (size_t i = 0; i < node->n_input; i++) {
        const struct slot *slot = call->inputs[i] ? scope_find(scope, node->input[i]) : NULL;
        inputs[i] = slot && slot->factors.count ? slot->factors
                    : slot                      ? factors_of(call->inputs[i])
                                                : inputs[i];
    }
    struct factors made = factors_through(call, inputs);
    free(inputs);
    factors_loosen(&call->outputs[0], &made);
    return made;
}

/* keep_outputs with the looser bounds of nodes that are computed as one: for differences, their squares and
 * products. */
static int keep_loose(struct scope *scope, const struct op_call *call)
{
    const Onnx__NodeProto *node = call->node;
    const struct slot *from = node->n_input ? scope_find(scope, node->input[0]) : NULL;
    struct parts parts;
    if (from && is_square(call))
        loosen_square(&call->outputs[0], &from->parts);
    int result = parts_of(&parts, call);
    struct factors factors = loosen_product(scope, call);
    if (!result)
        result = keep_outputs(scope, node, call->outputs, call->err);
    struct slot *slot = result || node->n_output == 0 ? NULL : scope_find(scope, node->output[0]);
    if (slot) {
        slot->parts = parts;
        slot->factors = factors;
        if (scope->options->lowered)
            slot->codes = codes_of(scope->options->lowered, call);
    } else {
        parts_release(&parts);
    }
    return result;
}

static bool reads_lost(const struct scope *scope, const Onnx__NodeProto *node)
{
    for (size_t i = 0; scope->may_lose && i < node->n_input; i++) {
        const struct slot *slot = *node->input[i] ? scope_find(scope, node->input[i]) : NULL;
        if (slot && slot->lost)
            return true;
    }
    return false;
}

/* What is known of the outputs of a node without the elements of inputs that have lost their bounds. Fails
 * where the shapes depend on these. */
static int run_forms(const struct scope *scope, const struct op_call *call, struct bounded *known)
{
    struct error err = {0};
    struct bounded *forms = memory_zeroed(call->n_inputs, sizeof *forms);
    const struct bounded **inputs = memory_zeroed(call->n_inputs, sizeof(struct bounded *));
    struct op_call shapes = *call;
    shapes.shapes_only = true;
    shapes.inputs = inputs;
    shapes.outputs = known;
    shapes.err = &err;
    for (size_t i = 0; i < call->n_inputs; i++) {
        const struct slot *slot = call->inputs[i] ? scope_find(scope, call->node->input[i]) : NULL;
        inputs[i] = call->inputs[i];
        if (!slot || !slot->lost)
            continue;
        forms[i] = bounds_form(call->inputs[i]);
        inputs[i] = &forms[i];
    }
    int result = call->op->flags & OP_DATA_SHAPE ? -1 : run_call(&shapes, scope->options);
    free(inputs);
    free(forms);
    return result;
}

/* Outputs that are known without the elements are exact; all others have lost their bounds, too. */
static int keep_lost(struct scope *scope, const struct op_call *call, bool left_out, struct bounded *known)
{
    const Onnx__NodeProto *node = call->node;
    bool *exact = memory_zeroed(call->n_outputs, sizeof *exact);
    for (size_t i = 0; i < call->n_outputs; i++) {
        exact[i] = known[i].value != NULL;
        if (exact[i]) {
            bounded_release(&call->outputs[i]);
            call->outputs[i] = known[i];
            bounded_init(&known[i]);
        } else if (!left_out) {
            bounds_lose(&call->outputs[i]);
        }
    }
    int result = keep_outputs(scope, node, call->outputs, call->err);
    for (size_t i = 0; !result && i < node->n_output; i++) {
        struct slot *slot = !exact[i] && *node->output[i] ? scope_find(scope, node->output[i]) : NULL;
        if (!slot)
            continue;
        slot->lost = true;
        if (!left_out || slot->own.hard)
            bounds_lose(&slot->own);
    }
    free(exact);
    return result;
}

/* Where shapes depend on values that have lost their bounds, these are undecided. */
static int undecide_lost(struct scope *scope, const Onnx__NodeProto *node, const struct bounded **inputs,
                         struct error *err)
{
    for (size_t i = 0; i < node->n_input; i++) {
        struct slot *slot = inputs[i] ? scope_find(scope, node->input[i]) : NULL;
        if (!slot || !slot->lost)
            continue;
        if (slot->wide.type == DTYPE_NONE && bounded_copy(&slot->wide, &slot->own, err))
            return -1;
        bounds_undecide(&slot->wide);
        inputs[i] = &slot->wide;
    }
    return 0;
}

/* Runs the branch of an If that is not taken, to see whether it is valid. */
static void run_idle(struct op_call *call, bool *idle)
{
    const struct bounded *condition = call->n_inputs ? call->inputs[0] : NULL;
    if (!(call->op->flags & OP_BRANCHES) || !condition || !condition->value || condition->count != 1)
        return;
    const Onnx__GraphProto *graph =
        node_graph(call->node, condition->value[0] != 0 ? "else_branch" : "then_branch");
    struct error *outer = call->err, err = {0};
    struct bounded *results = memory_zeroed(call->n_outputs, sizeof *results);
    call->err = &err;
    if (graph && run_body(call, graph, 0, NULL, call->n_outputs, results) && err.code == ERROR_INVALID)
        *idle = true;
    call->err = outer;
    for (size_t i = 0; i < call->n_outputs; i++)
        bounded_release(&results[i]);
    free(results);
}

static bool any_is_open(const struct op_call *call)
{
    for (size_t i = 0; i < call->n_inputs; i++)
        if (call->inputs[i] && bounded_is_open(call->inputs[i]))
            return true;
    return false;
}

/* Bounds that became infinite by arithmetic alone, as those of deep models do, are not what ONNX leaves open.
 * Bodies have closed their own results. */
static void close_grown(const struct op_call *call)
{
    for (size_t i = 0; i < call->n_outputs && call->op->work != WORK_BODIES; i++) {
        struct bounded *out = &call->outputs[i];
        if (!out->opened && bounded_is_open(out) && !any_is_open(call))
            bounded_close(out);
    }
}

/* The operands of a product as a device reads them that rounds these alone. */
static int round_operands(const struct op_call *call, enum precision precision, const struct bounded **inputs,
                          struct bounded *rounded, struct error *err)
{
    if (call->op->work != WORK_PRODUCTS)
        return 0;
    for (size_t i = 0; i < 2 && i < call->n_inputs; i++) {
        if (!inputs[i] || inputs[i]->kind != BOUNDED_TENSOR)
            continue;
        if (bounded_copy(&rounded[i], inputs[i], err))
            return -1;
        bounded_in_precision(&rounded[i], precision);
        inputs[i] = &rounded[i];
    }
    return 0;
}

/* The operands of a product that the engine computes in fewer bits. */
static int lower_inputs(const struct scope *scope, const struct op_call *call, const struct bounded **inputs,
                        struct bounded *loosened, struct error *err)
{
    const struct evaluate_options *options = scope->options;
    const Onnx__NodeProto *node = call->node;
    if (precision_of_operands(options->precision) && !scope->shapes_only && !options->round)
        return round_operands(call, options->precision, inputs, loosened, err);
    if (!options->loose || !options->lowered || scope->shapes_only || node->n_input < 2 || !inputs[1])
        return 0;
    const struct slot *weights = scope_find(scope, node->input[1]);
    return weights ? lower_operands(options->lowered, node, &weights->codes, inputs, loosened, err) : 0;
}

/* Runs the kernel and keeps what it gives. */
static int run_bounded(struct scope *scope, struct op_call *call)
{
    const struct evaluate_options *options = scope->options;
    int result = run_call(call, options);
    if (!result)
        close_grown(call);
    /* An engine's own operators have no versions: its releases have other forms of the same one. */
    if ((call->open || *call->op->owner) && options->open)
        *options->open = true;
    if (options->narrow && options->direct && call->op->flags & OP_CONVOLVES)
        *options->narrow = true;
    if (!result && options->idle)
        run_idle(call, options->idle);
    if (!result)
        result = options->loose ? keep_loose(scope, call)
                                : keep_outputs(scope, call->node, call->outputs, call->err);
    return result;
}

/*
 * Whether what a node makes of values that have lost their bounds need not be computed: nobody looks at these
 * numbers, and none of them can make the case invalid, as an index or a shape can. What only moves elements
 * is left to its kernel, which is cheap.
 */
static bool is_left_out(const struct scope *scope, const struct op_call *call)
{
    enum op_work work = call->op->work;
    bool floats = scope->options->only_judged &&
                  (work == WORK_PRODUCTS || work == WORK_ELEMENTS || work == WORK_REDUCES);
    for (size_t i = 0; i < call->n_inputs && floats; i++)
        floats = !call->inputs[i] ||
                 (call->inputs[i]->kind == BOUNDED_TENSOR && dtype_is_float(call->inputs[i]->type));
    return floats;
}

/* Outputs of the forms that are known, in which all elements are 0: memory that is not touched costs nothing.
 */
static int leave_out(struct op_call *call, const struct bounded *known)
{
    for (size_t i = 0; i < call->n_outputs; i++)
        if (known[i].type != DTYPE_NONE && !known[i].value &&
            bounded_alloc(&call->outputs[i], known[i].type, &known[i].shape, false, call->err))
            return -1;
    return 0;
}

/* The same on inputs some of which have lost their bounds. */
static int run_lost(struct scope *scope, struct op_call *call, const struct bounded **inputs)
{
    struct bounded *known = memory_zeroed(call->n_outputs, sizeof *known);
    int result;
    if (run_forms(scope, call, known)) {
        result = undecide_lost(scope, call->node, inputs, call->err);
        if (!result)
            result = run_bounded(scope, call);
    } else {
        bool left_out = is_left_out(scope, call);
        result =
            left_out ? leave_out(call, known) : run_call(call, &(struct evaluate_options){.round = true});
        if (!result)
            result = keep_lost(scope, call, left_out, known);
    }
    for (size_t i = 0; i < call->n_outputs; i++)
        bounded_release(&known[i]);
    free(known);
    return result;
}

static int run_node(struct scope *scope, const Onnx__NodeProto *node, struct error *err)
{
    const struct op *op = find_op(node, scope->opset, err);
    if (!op)
        return -1;
    size_t room = output_room(op, node);
    const struct bounded **inputs = memory_zeroed(node->n_input, sizeof(struct bounded *));
    struct bounded *outputs = memory_zeroed(room, sizeof *outputs), loosened[2];
    bounded_init(&loosened[0]);
    bounded_init(&loosened[1]);
    struct op_call call = {
        .op = op,
        .node = node,
        .opset = scope->opset,
        .shapes_only = scope->shapes_only,
        .n_inputs = node->n_input,
        .inputs = inputs,
        .n_outputs = room,
        .outputs = outputs,
        .body = run_body,
        .scope = scope,
        .err = err,
    };
    int result = gather_inputs(scope, node, inputs, err);
    if (!result)
        result = lower_inputs(scope, &call, inputs, loosened, err);
    if (!result && call.shapes_only && all_known(op, inputs, node->n_input))
        call.shapes_only = false;
    if (!result)
        result = reads_lost(scope, node) ? run_lost(scope, &call, inputs) : run_bounded(scope, &call);
    for (size_t i = 0; i < room; i++)
        bounded_release(&outputs[i]);
    bounded_release(&loosened[0]);
    bounded_release(&loosened[1]);
    free(outputs);
    free(inputs);
    return result;
}

static int add_initializers(struct scope *scope, const Onnx__GraphProto *graph, struct error *err)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        struct tensor tensor;
        if (model_tensor_read(graph->initializer[i], &tensor, err))
            return -1;
        struct slot *slot = scope_add(scope, graph->initializer[i]->name);
        int result = bounded_from_tensor(&slot->own, &tensor, err);
        tensor_release(&tensor);
        if (result)
            return -1;
        slot->view = &slot->own;
    }
    return 0;
}

static int run_body(struct op_call *call, const Onnx__GraphProto *graph, size_t n_inputs,
                    const struct bounded *const *inputs, size_t n_outputs, struct bounded *outputs)
{
    struct scope *parent = call->scope;
    if (parent->depth >= MODEL_MAX_DEPTH)
        return call_invalid(call, "bodies are nested too deeply");
    if (graph->n_input != n_inputs || graph->n_output != n_outputs)
        return call_invalid(call, "a body has %zu inputs and %zu outputs instead of %zu and %zu",
                            graph->n_input, graph->n_output, n_inputs, n_outputs);
    struct scope scope;
    scope_init(&scope, parent);
    scope.shapes_only = call->shapes_only;
    for (size_t i = 0; i < n_inputs; i++) {
        struct slot *slot = scope_add(&scope, graph->input[i]->name);
        slot->view = inputs[i];
        slot->from_node = true; /* a carried value was computed by the iteration before */
    }
    int result = add_initializers(&scope, graph, call->err);
    for (size_t i = 0; !result && i < graph->n_node; i++)
        result = run_node(&scope, graph->node[i], call->err);
    for (size_t i = 0; !result && i < n_outputs; i++) {
        const struct slot *slot = scope_find(&scope, graph->output[i]->name);
        if (!slot || !slot->view)
            result = call_invalid(call, "no node produces the output %s of the body", graph->output[i]->name);
        else
            result = bounded_copy(&outputs[i], slot->view, call->err);
    }
    scope_release(&scope);
    return result;
}

struct check_context {
    int opset;
    const struct model *model;
    struct error *err;
    bool has_bodies;
};

/* Checks that a Constant has exactly one value. Its kernel checks that too, but does not run in a branch that
 * is not taken. */
static int check_node(void *context, Onnx__NodeProto *node)
{
    struct check_context *check = context;
    const struct op *op = find_op(node, check->opset, check->err);
    check->has_bodies |= op && op->work == WORK_BODIES;
    if (op && *op->domain && !model_opset_of(check->model, op->domain))
        return error_set(check->err, ERROR_INVALID,
                         "operator %s is of a domain that the model does not import", op->name);
    if (op && node_is_constant(node) && node->n_attribute != 1)
        return error_set(check->err, ERROR_INVALID, "Constant: has %zu attributes instead of one",
                         node->n_attribute);
    return op ? 0 : -1;
}

/* A copy of a model that has functions, with their calls inlined; *copy stays NULL for other models. */
static int inline_functions(struct model **copy, const struct model *model, struct error *err)
{
    if (model->proto->n_functions == 0)
        return 0;
    if (model_clone(copy, model, err))
        return -1;
    if (model_inline_functions(*copy, err) == 0)
        return 0;
    model_free(*copy);
    *copy = NULL;
    return -1;
}

int evaluator_new(struct evaluator **evaluator, const struct model *model,
                  const struct evaluate_options *options, struct error *err)
{
    *evaluator = NULL;
    struct check_context check = {.opset = model_opset(model), .model = model, .err = err};
    struct model *copy = NULL;
    if (inline_functions(&copy, model, err))
        return -1;
    model = copy ? copy : model;
    struct evaluator *made = memory_zeroed(1, sizeof *made);
    if (model_each_node(model->graph, check_node, &check) || model_index_init(&made->index, model, err)) {
        model_free(copy);
        free(made);
        return -1;
    }
    made->inlined = copy;
    made->model = model;
    made->options = options ? *options : no_options;
    made->opset = check.opset;
    made->has_bodies = check.has_bodies;
    *evaluator = made;
    return 0;
}

void evaluator_free(struct evaluator *evaluator)
{
    if (!evaluator)
        return;
    model_index_release(&evaluator->index);
    model_free(evaluator->inlined);
    free(evaluator);
}

const struct model_index *evaluator_index(const struct evaluator *evaluator)
{
    return &evaluator->index;
}

void evaluator_set_direct(struct evaluator *evaluator, bool direct)
{
    evaluator->options.direct = direct;
}

void evaluator_set_only_judged(struct evaluator *evaluator, bool only_judged)
{
    evaluator->options.only_judged = only_judged;
}

const struct evaluate_options *evaluator_options(const struct evaluator *evaluator)
{
    return &evaluator->options;
}

/* Rounds what the device is given. */
static void read_precisely(const struct scope *scope, struct bounded *value)
{
    enum precision precision = scope->options->precision;
    if (precision != PRECISION_OWN && !precision_of_operands(precision))
        bounded_in_precision(value, precision);
}

/* Binds the inputs; an input that is not given falls back to the initialiser of its name
 * (ensure_initializers). */
static int bind_inputs(struct scope *scope, const struct evaluator *evaluator, const struct value *inputs,
                       size_t count, struct error *err)
{
    const Onnx__GraphProto *graph = evaluator->model->graph;
    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = graph->input[i]->name;
        const struct value *given = value_for_input(inputs, count, name, i);
        struct slot *slot = scope_find(scope, name);
        const struct index_value *known = model_index_find(&evaluator->index, name);
        if (!given) {
            if (known && known->source == SOURCE_INITIALIZER)
                continue;
            return error_set(err, ERROR_INVALID, "no value for input %s", name);
        }
        if (bounded_from_value(&slot->own, given, err))
            return error_prefix(err, "input %s", name);
        if (scope->options->loose)
            bounded_loosen(&slot->own);
        read_precisely(scope, &slot->own);
        slot->view = &slot->own;
    }
    return 0;
}

/* Whether a weight may stay as it is stored: whoever looks on may look at any element. */
static bool stays_stored(const struct evaluator *evaluator, const struct tensor *tensor,
                         const struct index_value *value)
{
    const struct evaluate_options *options = &evaluator->options;
    return tensor->type == DTYPE_FLOAT && !value->is_output && !options->lowered &&
           (!options->hook || options->results_only);
}

static int read_weight(struct bounded *own, struct tensor *tensor, bool view, struct error *err)
{
    int result = bounded_from_tensor(own, tensor, err);
    if (!view)
        tensor_release(tensor);
    else if (tensor->size >= FORGET_LEAST)
        file_map_forget(tensor->data, tensor->size);
    return result;
}

/* Loads weights when they are first used; they are dropped after their last use, so that they are never all
 * in memory. */
static int ensure_initializers(struct scope *scope, const struct evaluator *evaluator, size_t node,
                               struct error *err)
{
    const struct model_index *index = &evaluator->index;
    for (size_t i = 0; i < index->n_uses[node]; i++) {
        const struct index_value *value = &index->values[index->uses[node][i]];
        struct slot *slot = scope->slots[index->uses[node][i]];
        if (value->source != SOURCE_INITIALIZER || slot->view)
            continue;
        struct tensor tensor;
        bool view = model_weight_view(evaluator->model, value->number, &tensor);
        if (!view && model_weight(evaluator->model, value->number, &tensor, err))
            return -1;
        int result = 0;
        if (view && stays_stored(evaluator, &tensor, value) && bounded_view_floats(&slot->own, &tensor))
            slot->stored = tensor.size >= FORGET_LEAST ? tensor.size : 0;
        else
            result = read_weight(&slot->own, &tensor, view, err);
        if (result)
            return error_prefix(err, "initializer %s", value->name);
        read_precisely(scope, &slot->own);
        slot->view = &slot->own;
        scope->elements += slot->own.count;
    }
    return 0;
}

static void drop_used(struct scope *scope, const struct model_index *index, size_t node)
{
    for (size_t i = 0; i < index->n_uses[node]; i++) {
        struct slot *slot = scope->slots[index->uses[node][i]];
        if (slot->uses_left && --slot->uses_left == 0)
            slot_drop(slot);
    }
}

/* Only tensors can be judged: a result of another kind is refused unless the options allow it. */
static int refuse_result(struct bounded *result, const char *name, const struct evaluate_options *options,
                         struct error *err)
{
    if (result->kind == BOUNDED_TENSOR || options->containers)
        return 0;
    bounded_release(result);
    return error_set(err, ERROR_UNSUPPORTED, "%s is a sequence or an optional, which is not judged", name);
}

/* Whether the value is among the later results, too; also where there are too many to look. */
static bool is_asked_again(const char *const *names, size_t i, size_t count)
{
    enum { FEW = 256 };
    bool again = count > FEW;
    for (size_t k = i + 1; k < count && !again; k++)
        again = text_equal(names[k], names[i]);
    return again;
}

/* The scope's own value itself, or a copy. */
static int give_result(struct slot *slot, bool keep, struct bounded *result, struct error *err)
{
    if (keep || slot->view != &slot->own || slot->own.floats || slot->own.kind != BOUNDED_TENSOR)
        return bounded_copy(result, slot->view, err);
    free(slot->own.beyond); /* a copy has none, and was not given */
    *result = slot->own;
    result->beyond = NULL;
    result->given = false;
    bounded_init(&slot->own);
    slot->view = NULL;
    return 0;
}

static int collect(struct scope *scope, const struct evaluator *evaluator, const char *const *names,
                   size_t count, struct bounded **results, struct error *err)
{
    *results = memory_zeroed(count, sizeof **results);
    for (size_t i = 0; i < count; i++) {
        struct slot *slot = scope_find(scope, names[i]);
        const struct index_value *value = model_index_find(&evaluator->index, names[i]);
        int result;
        if (slot && slot->view) {
            result = give_result(slot, is_asked_again(names, i, count), &(*results)[i], err);
            if (!result && slot->lost)
                bounds_undecide(&(*results)[i]);
        } else if (value && value->source == SOURCE_INITIALIZER) {
            struct tensor tensor;
            result = model_weight(evaluator->model, value->number, &tensor, err);
            if (!result) {
                result = bounded_from_tensor(&(*results)[i], &tensor, err);
                tensor_release(&tensor);
            }
        } else {
            result = error_set(err, ERROR_NOT_FOUND, "the model has no value %s", names[i]);
        }
        if (!result)
            result = refuse_result(&(*results)[i], names[i], &evaluator->options, err);
        if (!result)
            continue;
        while (i--)
            bounded_release(&(*results)[i]);
        free(*results);
        *results = NULL;
        return -1;
    }
    return 0;
}

/* Makes a slot for each value of the index, in its order; values that the caller reads are never dropped. */
static void make_slots(struct scope *scope, const struct model_index *index, const char *const *names,
                       size_t count)
{
    for (size_t i = 0; i < index->count; i++) {
        struct slot *slot = scope_add(scope, index->values[i].name);
        slot->uses_left = index->values[i].is_output ? 0 : index->values[i].consumers;
    }
    for (size_t i = 0; i < count; i++) {
        struct slot *slot = scope_find(scope, names[i]);
        if (slot)
            slot->uses_left = 0;
    }
}

int evaluator_run(struct evaluator *evaluator, const struct value *inputs, size_t n_inputs,
                  const char *const *outputs, size_t n_outputs, struct bounded **results, size_t *count,
                  struct error *err)
{
    const Onnx__GraphProto *graph = evaluator->model->graph;
    struct scope scope;
    scope_init(&scope, NULL);
    scope.opset = evaluator->opset;
    scope.options = &evaluator->options;
    /* Whoever looks on sees the bounds, and bodies read values that no input names. */
    scope.may_lose =
        !scope.options->round && !scope.options->hook && !scope.options->given && !evaluator->has_bodies;
    const char **names = (const char **)(uintptr_t)outputs;
    if (!n_outputs) {
        n_outputs = graph->n_output;
        names = arena_array(&scope.arena, n_outputs, sizeof *names);
        for (size_t i = 0; i < n_outputs; i++)
            names[i] = graph->output[i]->name;
    }
    limits_begin();
    make_slots(&scope, &evaluator->index, names, n_outputs);
    int result = bind_inputs(&scope, evaluator, inputs, n_inputs, err);
    for (size_t i = 0; !result && i < graph->n_node; i++) {
        size_t number = evaluator->index.order[i];
        result = ensure_initializers(&scope, evaluator, number, err);
        if (!result)
            result = run_node(&scope, graph->node[number], err);
        drop_used(&scope, &evaluator->index, number);
    }
    if (!result)
        result = collect(&scope, evaluator, names, n_outputs, results, err);
    *count = result ? 0 : n_outputs;
    scope_release(&scope);
    limits_end();
    return result;
}

/* Runs a node outside any graph: its scope holds only values that a body may capture. */
static int run_alone(struct scope *scope, const Onnx__NodeProto *node, size_t n_inputs,
                     const struct bounded *const *inputs, const struct tensor *shown, struct bounded *outputs,
                     size_t n_outputs, struct error *err)
{
    const struct op *op = find_op(node, scope->opset, err);
    if (!op)
        return -1;
    size_t room = output_room(op, node);
    struct bounded *made = memory_zeroed(room, sizeof *made);
    struct op_call call = {
        .op = op,
        .node = node,
        .opset = scope->opset,
        .shapes_only = scope->shapes_only,
        .n_inputs = n_inputs,
        .inputs = inputs,
        .n_outputs = room,
        .outputs = made,
        .body = run_body,
        .scope = scope,
        .shown = shown,
        .err = err,
    };
    int result = run_call(&call, scope->options);
    for (size_t i = 0; !result && i < room; i++)
        if (made[i].kind != BOUNDED_TENSOR)
            result =
                call_unsupported(&call, "output %zu is a sequence or an optional, which is not judged", i);
    for (size_t i = 0; i < room; i++) {
        if (!result && i < n_outputs)
            outputs[i] = made[i];
        else
            bounded_release(&made[i]);
    }
    free(made);
    return result;
}

int evaluate_node(const struct model *model, const Onnx__NodeProto *node, const struct tensor *const *inputs,
                  const struct value *captured, size_t n_captured, const struct tensor *shown,
                  const struct evaluate_options *how, struct bounded *outputs, size_t n_outputs,
                  struct error *err)
{
    struct scope scope;
    struct evaluate_options options = {.direct = how && how->direct,
                                       .nans_left_out = how && how->nans_left_out};
    bool loose = how && how->loose;
    scope_init(&scope, NULL);
    scope.opset = model_opset(model);
    scope.options = &options;
    struct bounded *exact = memory_zeroed(node->n_input, sizeof *exact);
    const struct bounded **views = memory_zeroed(node->n_input, sizeof(struct bounded *));
    int result = 0;
    limits_begin();
    for (size_t i = 0; !result && i < node->n_input; i++) {
        if (!inputs[i])
            continue;
        if (!loose && op_reads_floats(op_of(node), i) && bounded_view_floats(&exact[i], inputs[i])) {
            views[i] = &exact[i];
            continue;
        }
        result = bounded_from_tensor(&exact[i], inputs[i], err);
        if (!result && loose) {
            bounded_loosen(&exact[i]);
            bounded_widen(&exact[i]);
        }
        views[i] = &exact[i];
    }
    for (size_t i = 0; !result && i < n_captured; i++) {
        if (captured[i].kind != VALUE_TENSOR)
            continue;
        struct slot *slot = scope_add(&scope, captured[i].name);
        result = bounded_from_tensor(&slot->own, &captured[i].tensors[0], err);
        slot->view = &slot->own;
    }
    for (size_t i = 0; i < n_outputs; i++)
        bounded_init(&outputs[i]);
    if (!result)
        result = run_alone(&scope, node, node->n_input, views, shown, outputs, n_outputs, err);
    for (size_t i = 0; i < node->n_input; i++)
        bounded_release(&exact[i]);
    free(exact);
    free(views);
    scope_release(&scope);
    limits_end();
    return result;
}

int infer_node_capturing(int opset, const Onnx__NodeProto *node, const struct bounded *const *inputs,
                         size_t n_inputs, const struct captured *captured, size_t n_captured,
                         struct bounded *outputs, size_t n_outputs, struct error *err)
{
    struct scope scope;
    scope_init(&scope, NULL);
    scope.opset = opset;
    scope.options = &no_options;
    for (size_t i = 0; i < n_inputs; i++)
        scope.shapes_only |= !is_known(inputs[i]);
    for (size_t i = 0; i < n_captured; i++) {
        scope_add(&scope, captured[i].name)->view = captured[i].value;
        scope.shapes_only |= !is_known(captured[i].value);
    }
    for (size_t i = 0; i < n_outputs; i++)
        bounded_init(&outputs[i]);
    int result = run_alone(&scope, node, n_inputs, inputs, NULL, outputs, n_outputs, err);
    scope_release(&scope);
    return result;
}

int infer_node(int opset, const Onnx__NodeProto *node, const struct bounded *const *inputs, size_t n_inputs,
               struct bounded *outputs, size_t n_outputs, struct error *err)
{
    return infer_node_capturing(opset, node, inputs, n_inputs, NULL, 0, outputs, n_outputs, err);
}
