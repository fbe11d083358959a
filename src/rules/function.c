/* Rule 7 of EAGLE for operators whose schema has a function body, and functions of the model itself: calls
 * replaced by nodes, nodes by calls. */
#include "rules/rule.h"

#include "base/memory.h"
#include "base/str.h"
#include "model/function.h"
#include "model/onnx.h"
#include "model/tree.h"
#include "ops/op.h"

#include <stdlib.h>

static const char *make_name(void *context, const char *stem)
{
    return rewrite_name(context, stem);
}

static bool in_default_domain(const Onnx__NodeProto *node)
{
    return !node->domain || !*node->domain || text_equal(node->domain, "ai.onnx");
}

/* --- Whether nodes written for one opset mean the same at another --- */

/* Whether the operator's form has not changed between two opsets, the first the lower one. */
static bool same_form(const char *op_type, int64_t from, int64_t to)
{
    struct onnx_schema before, after;
    const struct op *op = op_find(op_type);
    if (from == to)
        return true;
    if (from < 1 || from > to || to > 1000)
        return false;
    if (to <= onnx_max_opset() && onnx_schema("", op_type, (int)from, &before, NULL) == 0 &&
        onnx_schema("", op_type, (int)to, &after, NULL) == 0 && before.since == after.since)
        return true;
    return op && op->history.same_since <= from && op->since <= from &&
           (op->history.reformed <= from || op->history.reformed > to);
}

struct opsets {
    const struct model *model;
    const Onnx__FunctionProto *function;
};

/* Stops at a node of the body that would mean something else, or nothing, in the model. */
static int is_foreign(void *context, ProtobufCMessage *message)
{
    const struct opsets *opsets = context;
    if (message->descriptor != &onnx__node_proto__descriptor)
        return 0;
    const Onnx__NodeProto *node = (const Onnx__NodeProto *)message;
    const char *domain = node->domain ? node->domain : "";
    int64_t from = function_opset(opsets->function, domain), to = model_opset_of(opsets->model, domain);
    return in_default_domain(node) ? !same_form(node->op_type, from, to) : !to || from != to;
}

static bool fits(const struct rewrite *rewrite, Onnx__FunctionProto *function)
{
    struct opsets opsets = {rewrite->model, function};
    return !tree_each(&function->base, is_foreign, &opsets);
}

/* --- The body from the schema --- */

enum { BODY_INPUTS = 16 };

/* The highest opset known to libonnx at which the operator is what it is in the model; 0: there is none. */
static int schema_opset(const struct rewrite *rewrite, const char *op_type)
{
    int opset = rewrite_opset(rewrite), known = onnx_max_opset();
    const struct op *op = op_find(op_type);
    if (opset <= known)
        return opset;
    if (!op || op->history.reformed > known)
        return 0;
    for (size_t i = 0; i < sizeof op->types / sizeof *op->types && op->types[i].set; i++)
        if (op->types[i].since > known)
            return 0;
    return known;
}

static Onnx__FunctionProto *body_of(struct rewrite *rewrite, const Onnx__NodeProto *node, int opset)
{
    int types[BODY_INPUTS] = {0};
    Onnx__FunctionProto *function = NULL;
    uint8_t *bytes = memory_zeroed(onnx__node_proto__get_packed_size(node) + 1, 1), *packed = NULL;
    size_t size = onnx__node_proto__pack(node, bytes), length;
    for (size_t i = 0; i < node->n_input && i < BODY_INPUTS; i++) {
        const struct bounded *type = rewrite_input(rewrite, node, i);
        types[i] = type ? (int)type->type : 0;
    }
    if (onnx_function_body_for(bytes, size, opset, types, BODY_INPUTS, &packed, &length, NULL) == 0)
        function = (Onnx__FunctionProto *)tree_unpack(&onnx__function_proto__descriptor, packed, length,
                                                      &rewrite->model->arena, NULL);
    free(packed);
    free(bytes);
    return function;
}

static const Onnx__NodeProto *defaults_of(struct rewrite *rewrite, const char *op_type, int opset)
{
    const Onnx__NodeProto *defaults = NULL;
    uint8_t *bytes;
    size_t size;
    if (onnx_attribute_defaults("", op_type, opset, &bytes, &size, NULL) == 0)
        defaults = (const Onnx__NodeProto *)tree_unpack(&onnx__node_proto__descriptor, bytes, size,
                                                        &rewrite->model->arena, NULL);
    free(bytes);
    return defaults;
}

static bool all_inputs_known(const struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_input; i++)
        if (rewrite_has_input(node, i) && !rewrite_input(rewrite, node, i))
            return false;
    return true;
}

/* The body of Range counts its steps in float32, which is right only for small numbers, and subtracts, which
 * came later for some types; that of Celu has a constant of shape [1], which makes a scalar a list. */
static bool body_is_right(const struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    const struct bounded *x = rewrite_input(rewrite, node, 0);
    if (text_equal(node->op_type, "Range"))
        return x && (x->type == DTYPE_FLOAT || x->type == DTYPE_INT16) &&
               rewrite_takes(rewrite, "Sub", x->type);
    return !text_equal(node->op_type, "Celu") || (x && x->shape.rank > 0);
}

/*
 * Left out are bodies that define less than the operator: MeanVarianceNormalization by E[x^2] - E[x]^2, which
 * may be negative, DynamicQuantizeLinear, which divides by 0 for a tensor of zeros, Bernoulli, which is
 * random, and SequenceMap.
 */
static int by_body(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    if (!in_default_domain(node) || node->n_input > BODY_INPUTS || !all_inputs_known(rewrite, node) ||
        !body_is_right(rewrite, node))
        return 0;
    int opset = schema_opset(rewrite, node->op_type);
    Onnx__FunctionProto *function = opset ? body_of(rewrite, node, opset) : NULL;
    if (!function || !fits(rewrite, function) || node->n_output > function->n_output)
        return 0;
    function_inline(rewrite->model, node, function, defaults_of(rewrite, node->op_type, opset), make_name,
                    rewrite);
    return 1;
}

const struct rule rule_function_body = {
    .name = "function-body",
    .paper = 7,
    .summary = "an operator by the function body that ONNX gives in its schema",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .operators = "LayerNormalization|Softmax|LogSoftmax|Celu|HardSwish|GreaterOrEqual|LessOrEqual|CastLike|"
                 "Range|SoftmaxCrossEntropyLoss|NegativeLogLikelihoodLoss|HannWindow|HammingWindow|"
                 "BlackmanWindow",
    .apply = by_body,
};

/* --- Functions of the model --- */

static int inlined(struct rewrite *rewrite, const struct rule_site *site)
{
    Onnx__NodeProto *node = site->node;
    Onnx__FunctionProto *function = (Onnx__FunctionProto *)model_function(rewrite->model, node);
    if (!function || node->n_input > function->n_input || node->n_output > function->n_output ||
        !fits(rewrite, function))
        return 0;
    function_inline(rewrite->model, node, function, NULL, make_name, rewrite);
    return 1;
}

const struct rule rule_function_inlined = {
    .name = "function-inlined",
    .summary = "a call of a function of the model by the nodes of the function",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .apply = inlined,
};

enum { CALLED_NODES = 3, CALLED_INPUTS = 16, CALLED_IR_VERSION = 8 };

static const char called_domain[] = "local.functions";

/* A node and, going backwards, some of the nodes that work for it alone. */
struct called {
    size_t count;
    const Onnx__NodeProto *nodes[CALLED_NODES]; /* the last one first */
    size_t n_inputs;
    char *inputs[CALLED_INPUTS];
};

/* Functions cannot see the values around their calls, so nodes with bodies stay outside. */
static bool can_be_called(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g || node->attribute[i]->n_graphs)
            return false;
    return node->n_input > 0 && !node_is_constant(node);
}

static bool makes(const struct called *called, const char *name)
{
    for (size_t i = 0; i < called->count; i++)
        for (size_t k = 0; k < called->nodes[i]->n_output; k++)
            if (text_equal(called->nodes[i]->output[k], name))
                return true;
    return false;
}

/* The node that makes a value for the given one alone; NULL: there is none. */
static const Onnx__NodeProto *helper_of(struct rewrite *rewrite, const Onnx__NodeProto *node)
{
    const char *input = node->input[rng_below(&rewrite->rng, node->n_input)];
    const struct index_value *value = *input ? model_index_find(&rewrite->index, input) : NULL;
    if (!value || value->source != SOURCE_NODE || value->consumers != 1 || value->is_output)
        return NULL;
    const Onnx__NodeProto *helper = rewrite->model->graph->node[value->number];
    return rewrite_one_output(helper) && can_be_called(helper) ? helper : NULL;
}

static bool collect_inputs(struct called *called)
{
    for (size_t i = called->count; i-- > 0;)
        for (size_t k = 0; k < called->nodes[i]->n_input; k++) {
            char *name = called->nodes[i]->input[k];
            size_t at = 0;
            while (at < called->n_inputs && !text_equal(called->inputs[at], name))
                at++;
            if (!*name || at < called->n_inputs || makes(called, name))
                continue;
            if (called->n_inputs == CALLED_INPUTS)
                return false;
            called->inputs[called->n_inputs++] = name;
        }
    return called->n_inputs > 0;
}

static char **copy_names(struct arena *arena, char *const *names, size_t count)
{
    char **copy = arena_array(arena, count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(arena, names[i]);
    return copy;
}

static Onnx__OperatorSetIdProto *import(struct arena *arena, const char *domain, int64_t version)
{
    Onnx__OperatorSetIdProto *made = arena_array(arena, 1, sizeof *made);
    onnx__operator_set_id_proto__init(made);
    made->domain = arena_strdup(arena, domain);
    made->has_version = true;
    made->version = version;
    return made;
}

/* Appends to one of the model's lists, which are as long as they need to be. */
static void *append(struct arena *arena, void *list, size_t *count, void *item)
{
    void **longer = arena_array(arena, *count + 1, sizeof *longer);
    for (size_t i = 0; i < *count; i++)
        longer[i] = ((void **)list)[i];
    longer[(*count)++] = item;
    return longer;
}

/* Named after its operators, so that reports of the same fault look the same. */
static const char *function_name(struct rewrite *rewrite, const struct called *called)
{
    struct arena *arena = &rewrite->model->arena;
    const Onnx__ModelProto *proto = rewrite->model->proto;
    const char *name = called->nodes[called->count - 1]->op_type;
    for (size_t i = called->count - 1; i-- > 0;)
        name = arena_printf(arena, "%s_%s", name, called->nodes[i]->op_type);
    for (size_t i = 0; i < proto->n_functions; i++)
        if (proto->functions[i]->name && text_equal(proto->functions[i]->name, name))
            return rewrite_name(rewrite, name);
    return name;
}

/* Values keep their names inside the function: its names and those of the graph are two worlds. */
static Onnx__FunctionProto *make_function(struct rewrite *rewrite, const struct called *called)
{
    struct arena *arena = &rewrite->model->arena;
    Onnx__ModelProto *proto = rewrite->model->proto;
    Onnx__FunctionProto *function = arena_array(arena, 1, sizeof *function);
    onnx__function_proto__init(function);
    function->name = arena_strdup(arena, function_name(rewrite, called));
    function->domain = arena_strdup(arena, called_domain);
    function->n_input = called->n_inputs;
    function->input = copy_names(arena, called->inputs, called->n_inputs);
    for (size_t i = 0; i < called->nodes[0]->n_output; i++)
        if (*called->nodes[0]->output[i])
            function->output = append(arena, function->output, &function->n_output,
                                      arena_strdup(arena, called->nodes[0]->output[i]));
    for (size_t i = called->count; i-- > 0;)
        function->node = append(arena, function->node, &function->n_node,
                                tree_copy(&called->nodes[i]->base, arena, NULL, NULL));
    for (size_t i = 0; i < proto->n_opset_import; i++)
        function->opset_import =
            append(arena, function->opset_import, &function->n_opset_import,
                   import(arena, proto->opset_import[i]->domain, proto->opset_import[i]->version));
    return function;
}

static int call_function(struct rewrite *rewrite, const struct rule_site *site)
{
    struct arena *arena = &rewrite->model->arena;
    Onnx__ModelProto *proto = rewrite->model->proto;
    struct called called = {.count = 1, .nodes = {site->node}};
    int64_t version = model_opset_of(rewrite->model, called_domain);
    if (proto->ir_version < CALLED_IR_VERSION || !can_be_called(site->node) || version > 1)
        return 0;
    const Onnx__NodeProto *helper;
    while (called.count < CALLED_NODES && (helper = helper_of(rewrite, called.nodes[called.count - 1])))
        called.nodes[called.count++] = helper;
    if (!collect_inputs(&called))
        return 0;
    Onnx__FunctionProto *function = make_function(rewrite, &called);
    proto->functions = append(arena, proto->functions, &proto->n_functions, function);
    if (!version)
        proto->opset_import =
            append(arena, proto->opset_import, &proto->n_opset_import, import(arena, called_domain, 1));
    for (size_t i = 0; i < called.count; i++)
        rewrite_remove(rewrite, called.nodes[i]);
    Onnx__NodeProto *call = model_add_node(rewrite->model, function->name, rewrite_name(rewrite, "call"),
                                           function->n_input, (const char *const *)function->input,
                                           function->n_output, (const char *const *)function->output);
    call->domain = function->domain;
    return 1;
}

const struct rule rule_function_called = {
    .name = "function-called",
    .summary = "a node, or a few in a row, as a function of the model that is called",
    .scope = RULE_NODE,
    .relation = RELATION_BOUNDS,
    .apply = call_function,
};
