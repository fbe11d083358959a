#include "eval/gradient.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/str.h"
#include "eval/older_opsets.h"
#include "ops/gradient.h"

#include <math.h>
#include <stdlib.h>

/* One contribution to the derivatives by a value. */
struct term {
    struct term *next;
    struct bounded slope;
};

struct reverse {
    const struct evaluate_options *options;
    const struct model_index *index;
    struct bounded *values; /* one for each value of the index */
    struct term **terms;    /* for each value, what its readers gave so far */
    bool *depends;          /* for each value: it depends on a wanted one */
    struct error *err;
};

static const Onnx__NodeProto *node_at(const struct reverse *r, size_t number)
{
    return r->index->model->graph->node[number];
}

static long find_value(const struct reverse *r, const char *name)
{
    size_t number;
    return *name && map_get(&r->index->names, name, &number) ? (long)number : -1;
}

/* Takes the slope over. */
static void add_term(struct reverse *r, size_t value, struct bounded *slope)
{
    struct term *term = memory_zeroed(1, sizeof *term);
    term->slope = *slope;
    bounded_init(slope);
    term->next = r->terms[value];
    r->terms[value] = term;
}

static void free_terms(struct term *term)
{
    while (term) {
        struct term *next = term->next;
        bounded_release(&term->slope);
        free(term);
        term = next;
    }
}

static int sum_bounded(struct bounded *total, const struct term *terms, struct error *err)
{
    struct gradient_sums sums;
    if (gradient_sums_init(&sums, total, err))
        return -1;
    for (const struct term *term = terms; term; term = term->next)
        for (size_t i = 0; i < total->count; i++)
            gradient_sums_add(&sums, i, number_of(&term->slope, i));
    gradient_sums_store(&sums);
    return 0;
}

static void sum_rounded(struct bounded *total, const struct term *terms)
{
    for (const struct term *term = terms; term; term = term->next)
        for (size_t i = 0; i < total->count; i++)
            total->value[i] = dtype_round(total->type, total->value[i] + term->slope.value[i]);
}

/* The sum of what the readers of a value gave; zeros when there is nothing. The terms are freed. */
static int take_total(struct reverse *r, size_t value, struct bounded *total)
{
    const struct bounded *of = &r->values[value];
    struct term *terms = r->terms[value];
    int result = 0;
    r->terms[value] = NULL;
    if (terms && !terms->next) {
        *total = terms->slope;
        bounded_init(&terms->slope);
    } else {
        result = bounded_alloc(total, of->type, &of->shape, false, r->err);
        if (!result && terms && r->options->round)
            sum_rounded(total, terms);
        else if (!result && terms)
            result = sum_bounded(total, terms, r->err);
    }
    free_terms(terms);
    return result;
}

/* What a node needs for its gradient. */
struct visit {
    const Onnx__NodeProto *node;
    struct op_call call;
    struct older older;
    const struct bounded **inputs;
    struct bounded *wide;    /* inputs as the node may have read them, where that differs */
    struct bounded *outputs; /* views of the values, and what the node does not name */
    bool *owned;             /* for each output: it is not a view */
    struct bounded *upstream;
    const struct bounded **arriving; /* views of upstream */
    struct bounded *slopes;
    bool *wanted;
    size_t n_slopes;
};

static void visit_release(struct visit *v)
{
    for (size_t i = 0; i < v->node->n_input; i++)
        bounded_release(&v->wide[i]);
    for (size_t o = 0; o < v->call.n_outputs; o++) {
        if (v->owned[o])
            bounded_release(&v->outputs[o]);
        bounded_release(&v->upstream[o]);
    }
    for (size_t i = 0; i < v->n_slopes; i++)
        bounded_release(&v->slopes[i]);
    older_release(&v->older);
    free(v->inputs);
    free(v->wide);
    free(v->outputs);
    free(v->owned);
    free(v->upstream);
    free(v->arriving);
    free(v->slopes);
    free(v->wanted);
}

/* The inputs, as the evaluator gave them to the kernel. */
static int gather_inputs(struct reverse *r, struct visit *v)
{
    for (size_t i = 0; i < v->node->n_input; i++) {
        long value = find_value(r, v->node->input[i]);
        if (value < 0)
            continue;
        v->inputs[i] = &r->values[value];
        bool wider = v->inputs[i]->type == DTYPE_FLOAT16 || r->options->loose;
        if (r->options->round || r->index->values[value].source != SOURCE_NODE || !wider ||
            !bounded_has_infinity(v->inputs[i]))
            continue;
        if (bounded_copy(&v->wide[i], v->inputs[i], r->err))
            return -1;
        bounded_widen(&v->wide[i]);
        v->inputs[i] = &v->wide[i];
    }
    return 0;
}

/* The outputs that the node names; when it leaves one out, it is evaluated again for it. */
static int gather_outputs(struct reverse *r, struct visit *v)
{
    size_t named = 0;
    for (size_t o = 0; o < v->node->n_output; o++) {
        long value = find_value(r, v->node->output[o]);
        named += value >= 0;
        if (value >= 0)
            v->outputs[o] = r->values[value];
    }
    if (named == v->call.n_outputs)
        return 0;
    struct op_call again = v->call;
    again.outputs = memory_zeroed(v->call.n_outputs, sizeof *again.outputs);
    int result = again.op->eval(&again);
    for (size_t o = 0; o < v->call.n_outputs; o++) {
        v->owned[o] = v->outputs[o].type == DTYPE_NONE;
        if (!v->owned[o]) {
            bounded_release(&again.outputs[o]);
            continue;
        }
        v->outputs[o] = again.outputs[o];
        if (v->outputs[o].type != DTYPE_NONE && r->options->round)
            bounded_round(&v->outputs[o]);
        else if (v->outputs[o].type != DTYPE_NONE)
            bounded_settle(&v->outputs[o], NULL);
    }
    free(again.outputs);
    return result;
}

static int gather_upstream(struct reverse *r, struct visit *v)
{
    for (size_t o = 0; o < v->node->n_output; o++) {
        long value = find_value(r, v->node->output[o]);
        if (value < 0 || !r->terms[value])
            continue;
        if (take_total(r, (size_t)value, &v->upstream[o]))
            return -1;
        if (!r->options->round)
            evaluate_pass_on(&v->upstream[o]);
        v->arriving[o] = &v->upstream[o];
    }
    return 0;
}

static int run_gradient(struct reverse *r, struct visit *v)
{
    struct op_gradient g = {
        .call = &v->call, .upstream = v->arriving, .wanted = v->wanted, .slopes = v->slopes};
    int result = r->options->gradient_hook ? r->options->gradient_hook(r->options->context, &g)
                                           : v->call.op->gradient(&g);
    if (limits_check(r->err)) /* then what the kernel left is no result */
        result = error_prefix(r->err, "%s", v->call.op->name);
    return result;
}

/* Whether all derivatives that arrive at the node are numbers, and none is NaN or infinite. */
static bool arrives_in_numbers(const struct visit *v)
{
    for (size_t o = 0; o < v->call.n_outputs; o++) {
        const struct bounded *up = v->arriving[o];
        for (size_t i = 0; up && i < up->count; i++)
            if (!isfinite(up->value[i]) || isinf(bounded_hard(up, i)))
                return false;
    }
    return true;
}

/* A zero may be 0 times something that arrived: NaN, unless that is a number. Engines also select by masks.
 * What may be 0 is 0 in some engine. */
static void doubt_zeros(struct bounded *slope)
{
    for (size_t i = 0; i < slope->count; i++)
        if (fabsl(slope->value[i]) <= bounded_hard(slope, i))
            bounded_put_undecided(slope, i, slope->value[i]);
}

/* What the node gives to the values that it reads. */
static void give_slopes(struct reverse *r, struct visit *v)
{
    bool doubtful = !r->options->round && !arrives_in_numbers(v);
    for (size_t i = 0; i < v->node->n_input; i++) {
        if (v->slopes[i].type == DTYPE_NONE)
            continue;
        if (doubtful)
            doubt_zeros(&v->slopes[i]);
        if (r->options->round)
            bounded_round(&v->slopes[i]);
        else if (r->options->loose)
            bounded_loosen(&v->slopes[i]);
        add_term(r, (size_t)find_value(r, v->node->input[i]), &v->slopes[i]);
    }
}

static size_t output_room(const struct op *op, const Onnx__NodeProto *node)
{
    size_t least = op->outputs.least > 1 ? (size_t)op->outputs.least : 1;
    return node->n_output > least ? node->n_output : least;
}

static int differentiate(struct reverse *r, const Onnx__NodeProto *node, const struct op *op)
{
    size_t room = output_room(op, node);
    struct visit v = {.node = node, .n_slopes = node->n_input + OLDER_INPUTS};
    v.inputs = memory_zeroed(node->n_input, sizeof(struct bounded *));
    v.wide = memory_zeroed(node->n_input, sizeof *v.wide);
    v.outputs = memory_zeroed(room, sizeof *v.outputs);
    v.owned = memory_zeroed(room, sizeof *v.owned);
    v.upstream = memory_zeroed(room, sizeof *v.upstream);
    v.arriving = memory_zeroed(room, sizeof(struct bounded *));
    v.slopes = memory_zeroed(v.n_slopes, sizeof *v.slopes);
    v.wanted = memory_zeroed(v.n_slopes, sizeof *v.wanted);
    v.call = (struct op_call){
        .op = op,
        .node = node,
        .opset = model_opset(r->index->model),
        .n_inputs = node->n_input,
        .inputs = v.inputs,
        .n_outputs = room,
        .outputs = v.outputs,
        .err = r->err,
    };
    int result = gather_inputs(r, &v);
    for (size_t i = 0; i < node->n_input; i++) {
        long value = find_value(r, node->input[i]);
        v.wanted[i] = value >= 0 && r->depends[value];
    }
    if (!result)
        result = older_adapt(&v.older, &v.call);
    if (!result)
        result = gather_outputs(r, &v);
    if (!result)
        result = gather_upstream(r, &v);
    if (!result)
        result = run_gradient(r, &v);
    if (!result)
        give_slopes(r, &v);
    visit_release(&v);
    return result;
}

static bool reads_wanted(const struct reverse *r, size_t node)
{
    for (size_t i = 0; i < r->index->n_uses[node]; i++)
        if (r->depends[r->index->uses[node][i]])
            return true;
    return false;
}

static bool has_upstream(const struct reverse *r, const Onnx__NodeProto *node)
{
    for (size_t o = 0; o < node->n_output; o++) {
        long value = find_value(r, node->output[o]);
        if (value >= 0 && r->terms[value])
            return true;
    }
    return false;
}

/*
 * What an operator whose derivative is 0 almost everywhere passes on to its inputs. These zeros are kept, as
 * they make a difference further back: an engine that multiplies them by an infinite derivative gets NaN.
 */
static int give_zeros(struct reverse *r, size_t number)
{
    for (size_t i = 0; i < r->index->n_uses[number]; i++) {
        size_t value = r->index->uses[number][i];
        const struct bounded *of = &r->values[value];
        struct bounded zeros;
        bounded_init(&zeros);
        if (!r->depends[value])
            continue;
        if (bounded_alloc(&zeros, of->type, &of->shape, false, r->err))
            return -1;
        add_term(r, value, &zeros);
    }
    return 0;
}

static int visit_node(struct reverse *r, size_t number)
{
    const Onnx__NodeProto *node = node_at(r, number);
    const struct op *op = op_of(node);
    if (!op || !has_upstream(r, node) || !reads_wanted(r, number))
        return 0;
    if (!op->gradient && op->slope == SLOPE_NOWHERE)
        return give_zeros(r, number);
    if (!op->gradient)
        return error_set(r->err, ERROR_UNSUPPORTED, "the gradient of %s is not supported", op_title(node));
    return differentiate(r, node, op);
}

/* Which values depend on a wanted one, through values of floating-point type. */
static void follow_wanted(struct reverse *r)
{
    size_t n_node = r->index->model->graph->n_node;
    for (size_t i = 0; i < n_node; i++) {
        const Onnx__NodeProto *node = node_at(r, r->index->order[i]);
        bool reads = reads_wanted(r, r->index->order[i]);
        for (size_t o = 0; reads && o < node->n_output; o++) {
            long value = find_value(r, node->output[o]);
            if (value >= 0)
                r->depends[value] = dtype_is_float(r->values[value].type);
        }
    }
}

static int add_upstream(struct reverse *r, const struct gradient_request *request)
{
    for (size_t i = 0; i < request->n_upstream; i++) {
        const struct value *up = &request->upstream[i];
        long value = up->name ? find_value(r, up->name) : -1;
        const struct bounded *of = value < 0 ? NULL : &r->values[value];
        if (!of || up->kind != VALUE_TENSOR)
            return error_set(r->err, ERROR_NOT_FOUND, "the model has no output %s to differentiate",
                             up->name ? up->name : "without a name");
        if (up->tensors[0].type != of->type || !shape_equal(&up->tensors[0].shape, &of->shape))
            return error_set(r->err, ERROR_INVALID,
                             "the gradient of output %s has not the output's type and shape", up->name);
        struct bounded slope;
        bounded_init(&slope);
        if (!dtype_is_float(of->type))
            continue;
        if (bounded_from_tensor(&slope, &up->tensors[0], r->err))
            return error_prefix(r->err, "gradient of output %s", up->name);
        add_term(r, (size_t)value, &slope);
    }
    return 0;
}

/* The numbers of the wanted values in *numbers, in order. */
static int find_wanted(struct reverse *r, const struct gradient_request *request, size_t **numbers,
                       size_t *count)
{
    *numbers = memory_zeroed(request->n_wanted + r->index->count, sizeof **numbers);
    for (size_t i = 0; i < request->n_wanted; i++) {
        long value = find_value(r, request->wanted[i]);
        if (value < 0 || r->index->values[value].source == SOURCE_NODE ||
            !dtype_is_float(r->values[value].type))
            return error_set(r->err, ERROR_NOT_FOUND,
                             "the model has no input or initializer %s of floating-point type",
                             request->wanted[i]);
        (*numbers)[(*count)++] = (size_t)value;
    }
    const enum value_source sources[] = {SOURCE_INPUT, SOURCE_INITIALIZER};
    for (size_t s = 0; s < 2 && !request->n_wanted; s++)
        for (size_t i = 0; i < r->index->count; i++)
            if (r->index->values[i].source == sources[s] && dtype_is_float(r->values[i].type))
                (*numbers)[(*count)++] = i;
    for (size_t i = 0; i < *count; i++)
        r->depends[(*numbers)[i]] = true;
    return 0;
}

static int collect(struct reverse *r, const size_t *numbers, size_t count, struct gradient *gradients)
{
    for (size_t i = 0; i < count; i++) {
        size_t again = 0;
        while (numbers[again] != numbers[i])
            again++;
        gradients[i].name = r->index->values[numbers[i]].name;
        int result = again < i ? bounded_copy(&gradients[i].slope, &gradients[again].slope, r->err)
                               : take_total(r, numbers[i], &gradients[i].slope);
        if (result)
            return -1;
    }
    return 0;
}

static int run_reverse(struct reverse *r, const struct gradient_request *request, struct gradient **gradients,
                       size_t *count)
{
    size_t *numbers = NULL, n_node = r->index->model->graph->n_node;
    *count = 0;
    int result = find_wanted(r, request, &numbers, count);
    if (!result)
        result = add_upstream(r, request);
    if (!result)
        follow_wanted(r);
    for (size_t i = n_node; i > 0 && !result; i--)
        result = visit_node(r, r->index->order[i - 1]);
    if (!result) {
        *gradients = memory_zeroed(*count, sizeof **gradients);
        result = collect(r, numbers, *count, *gradients);
    }
    if (result) {
        gradients_free(*gradients, *count);
        *gradients = NULL;
        *count = 0;
    }
    free(numbers);
    return result;
}

int evaluator_gradient(struct evaluator *evaluator, const struct gradient_request *request,
                       struct gradient **gradients, size_t *count, struct error *err)
{
    struct reverse r = {
        .options = evaluator_options(evaluator), .index = evaluator_index(evaluator), .err = err};
    const char **names = memory_zeroed(r.index->count, sizeof *names);
    size_t n_values = 0;
    bool by_engine = r.options->gradient_hook != NULL; /* whose time is limited by its pool */
    if (!by_engine)
        limits_begin();
    *gradients = NULL;
    *count = 0;
    for (size_t i = 0; i < r.index->count; i++)
        names[i] = r.index->values[i].name;
    int result = evaluator_run(evaluator, request->inputs, request->n_inputs, names, r.index->count,
                               &r.values, &n_values, err);
    if (!result) {
        r.terms = memory_zeroed(n_values, sizeof(struct term *));
        r.depends = memory_zeroed(n_values, sizeof *r.depends);
        result = run_reverse(&r, request, gradients, count);
        for (size_t i = 0; i < n_values; i++) {
            bounded_release(&r.values[i]);
            free_terms(r.terms[i]);
        }
    }
    free(r.values);
    free(r.terms);
    free(r.depends);
    free(names);
    if (!by_engine)
        limits_end();
    return result;
}

void gradients_free(struct gradient *gradients, size_t count)
{
    for (size_t i = 0; gradients && i < count; i++)
        bounded_release(&gradients[i].slope);
    free(gradients);
}

/* Whether some node of the graph reads the value as data. */
static bool is_data(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t n = 0; n < graph->n_node; n++)
        if (op_reads_as_data(graph->node[n], name))
            return true;
    return false;
}

static bool is_float_input(const Onnx__ValueInfoProto *info)
{
    const Onnx__TypeProto *type = info->type;
    return type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && type->tensor_type &&
           dtype_is_float((enum dtype)type->tensor_type->elem_type);
}

static void add_name(const char **names, size_t *count, const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < *count; i++)
        if (text_equal(names[i], name))
            return;
    if (is_data(graph, name))
        names[(*count)++] = name;
}

const char **gradient_wanted(const struct model *model, struct arena *arena, size_t *count)
{
    const Onnx__GraphProto *graph = model->graph;
    const char **names = arena_array(arena, graph->n_input + graph->n_initializer, sizeof *names);
    *count = 0;
    for (size_t i = 0; i < graph->n_input; i++)
        if (is_float_input(graph->input[i]))
            add_name(names, count, graph, graph->input[i]->name);
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (dtype_is_float((enum dtype)graph->initializer[i]->data_type))
            add_name(names, count, graph, graph->initializer[i]->name);
    for (size_t i = 0; i < *count; i++)
        names[i] = arena_strdup(arena, names[i]);
    return names;
}
