/* The one sentence on top of a report: which operator, under which condition, does what instead of what. */
#include "findings/bundle.h"
#include "findings/model_text.h"
#include "eval/value_types.h"
#include "judge/verdict.h"
#include "model/build.h"
#include "model/describe.h"
#include "ops/param_value.h"
#include "rules/rewriting.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_OPERATORS = 4,
    BODY_OPERATORS = 3,
    REASON_LENGTH = 90,
};

/* The nodes that are to blame; without a settlement all of them. */
struct blamed {
    const struct bundle_case *which;
    const struct model *model;
    size_t count;
};

static const Onnx__NodeProto *blamed_node(const struct blamed *b, size_t i)
{
    const struct settlement *settlement = b->which->settlement;
    size_t number = settlement && settlement->count ? settlement->nodes[i] : i;
    return number < b->model->graph->n_node ? b->model->graph->node[number] : NULL;
}

static const char *blamed_type(const struct blamed *b, size_t i)
{
    const Onnx__NodeProto *node = blamed_node(b, i);
    return node ? op_title(node) : "?";
}

/* "AveragePool", "Mul + MatMul", "Pow + Mul + ... + Cast (9 operators)". */
static void add_operators(struct str *out, const struct blamed *b)
{
    bool all = b->count <= SHOWN_OPERATORS;
    for (size_t i = 0; i < b->count && (all || i + 2 < SHOWN_OPERATORS); i++)
        str_printf(out, "%s%s", i ? " + " : "", blamed_type(b, i));
    if (!all)
        str_printf(out, " + ... + %s (%zu operators)", blamed_type(b, b->count - 1), b->count);
}

void bundle_operators(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct settlement *settlement = which->settlement;
    struct blamed b = {which, model,
                       settlement && settlement->count ? settlement->count : model->graph->n_node};
    add_operators(out, &b);
}

static bool is_word(const ProtobufCBinaryData *bytes)
{
    for (size_t i = 0; i < bytes->len; i++)
        if (!isalnum(bytes->data[i]) && bytes->data[i] != '_')
            return false;
    return bytes->len > 0;
}

static void add_attribute(struct str *out, const Onnx__AttributeProto *a)
{
    str_printf(out, "%s=", a->name);
    if (strcmp(a->name, "to") == 0 || strcmp(a->name, "dtype") == 0)
        str_add(out, model_text_type((int)a->i));
    else if (is_word(&a->s))
        str_append(out, a->s.data, a->s.len);
    else
        describe_attribute(out, a);
}

/* What comes after "with": more than one, divided by commas. */
static void next_item(struct str *items)
{
    str_add(items, items->length ? ", " : "");
}

/* Types that the operator is asked for stand for the types of its operands. */
static bool is_type(const Onnx__AttributeProto *a)
{
    return strcmp(a->name, "to") == 0 || strcmp(a->name, "dtype") == 0;
}

static void add_elements(struct str *out, const struct tensor *tensor)
{
    str_add(out, tensor->shape.rank ? "[" : "");
    for (size_t i = 0; i < tensor->count; i++)
        str_printf(out, "%s%Lg", i ? ", " : "", tensor_get(tensor, i));
    str_add(out, tensor->shape.rank ? "]" : "");
}

/* "axes=[0, 1]", of few numbers; of others, and of what nodes make, nothing. */
static void add_input(struct str *items, const struct blamed *b, const char *name, const char *value)
{
    enum { FEW = 6 };
    const struct test_case *test = b->which->test;
    struct tensor constant = {0};
    const struct tensor *tensor = NULL;
    for (size_t i = 0; i < b->model->graph->n_initializer && !tensor; i++)
        if (text_equal(b->model->graph->initializer[i]->name, value) &&
            !model_tensor_read(b->model->graph->initializer[i], &constant, NULL))
            tensor = &constant;
    for (size_t i = 0; i < test->n_inputs && !tensor; i++)
        if (test->inputs[i].kind == VALUE_TENSOR && text_equal(test->inputs[i].name, value))
            tensor = &test->inputs[i].tensors[0];
    if (tensor && tensor->type != DTYPE_STRING && tensor->count <= FEW) {
        next_item(items);
        str_printf(items, "%s=", name);
        add_elements(items, tensor);
    }
    tensor_release(&constant);
}

/* "axis=-1", "axes=[0, 1]", "strides left out": the parameter to blame. */
static void add_attributes(struct str *items, const struct blamed *b, const struct bundle_shown *shown)
{
    const Onnx__NodeProto *node = blamed_node(b, 0);
    bool found = !*shown->parameter;
    for (size_t i = 0; node && i < node->n_attribute; i++) {
        const Onnx__AttributeProto *a = node->attribute[i];
        bool blamed = text_equal(a->name, shown->parameter);
        found |= blamed;
        if ((!blamed && !is_type(a)) || a->g || a->t)
            continue;
        next_item(items);
        add_attribute(items, a);
    }
    const char *given = !found && node ? param_input(node, shown->parameter) : NULL;
    if (given) {
        add_input(items, b, shown->parameter, given);
    } else if (!found && node && param_named(op_find(op_title(node)), shown->parameter)) {
        next_item(items);
        str_printf(items, "%s left out", shown->parameter);
    }
}

static bool is_listed(const Onnx__NodeProto *const *nodes, size_t count, const char *type)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(nodes[i]->op_type, type) == 0)
            return true;
    return false;
}

/* "Mul in a branch": what stands in the bodies of If, Loop and Scan. False when there are none. */
static bool add_bodies(struct str *items, const Onnx__NodeProto *node)
{
    const Onnx__NodeProto *found[BODY_OPERATORS] = {NULL};
    size_t count = 0, bodies = 0;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__GraphProto *body = node->attribute[i]->g;
        bodies += body != NULL;
        for (size_t k = 0; body && k < body->n_node && count < BODY_OPERATORS; k++)
            if (!node_is_constant(body->node[k]) && !is_listed(found, count, body->node[k]->op_type))
                found[count++] = body->node[k];
    }
    if (!bodies)
        return false;
    bool branch = op_has(node, OP_BRANCHES);
    next_item(items);
    for (size_t i = 0; i < count; i++)
        str_printf(items, "%s%s", i ? " + " : "", op_title(found[i]));
    if (count)
        str_add(items, branch ? " in a branch" : " in its body");
    else
        str_add(items, branch ? "constant branches" : "a constant body");
    return true;
}

static bool is_constant(const struct model *model, const char *name)
{
    for (size_t i = 0; i < model->graph->n_initializer; i++)
        if (strcmp(model->graph->initializer[i]->name, name) == 0)
            return true;
    for (size_t i = 0; i < model->graph->n_node; i++)
        for (size_t k = 0; k < model->graph->node[i]->n_output; k++)
            if (strcmp(model->graph->node[i]->output[k], name) == 0)
                return node_is_constant(model->graph->node[i]);
    return false;
}

/* What the operands of the first node to blame are like. */
struct operands {
    enum dtype type; /* of the first */
    bool constant;   /* all of them are */
    bool empty;      /* one has no elements */
    bool scalar;     /* the first has rank 0 */
};

static struct operands look_at(const struct model *model, const Onnx__NodeProto *node)
{
    struct operands operands = {.constant = node->n_input > 0};
    struct value_types types;
    value_types_init(&types, model);
    for (size_t i = 0; i < node->n_input; i++) {
        const struct bounded *value = value_types_find(&types, node->input[i]);
        bool shaped = value && value->type != DTYPE_NONE && value->shape.rank >= 0;
        operands.constant &= !*node->input[i] || is_constant(model, node->input[i]);
        operands.empty |= shaped && value->count == 0;
        if (i == 0 && value)
            operands.type = value->type;
        if (i == 0)
            operands.scalar = shaped && value->shape.rank == 0;
    }
    value_types_release(&types);
    return operands;
}

/* The data of a graph input or initialiser, which is the caller's when `own` says so. */
static const struct tensor *find_data(const struct blamed *b, const char *name, struct tensor *own)
{
    const struct test_case *test = b->which->test;
    tensor_init(own);
    for (size_t i = 0; i < test->n_inputs; i++)
        if (test->inputs[i].kind == VALUE_TENSOR && test->inputs[i].name &&
            strcmp(test->inputs[i].name, name) == 0)
            return &test->inputs[i].tensors[0];
    for (size_t i = 0; i < b->model->graph->n_initializer; i++)
        if (strcmp(b->model->graph->initializer[i]->name, name) == 0 &&
            model_weight(b->model, i, own, NULL) == 0)
            return own;
    return NULL;
}

enum special { SPECIAL_NONE, SPECIAL_INFINITY, SPECIAL_NAN };

static enum special special_in(const struct tensor *tensor)
{
    enum special found = SPECIAL_NONE;
    for (size_t i = 0; i < tensor->count && dtype_is_float(tensor->type); i++) {
        if (isnan(tensor_get(tensor, i)))
            return SPECIAL_NAN;
        found = isinf(tensor_get(tensor, i)) ? SPECIAL_INFINITY : found;
    }
    return found;
}

/* " of inf" where one number goes in; else "NaN among its inputs" to the items. True when it said of what. */
static bool add_values(struct str *out, struct str *items, const struct blamed *b,
                       const Onnx__NodeProto *node, const struct bundle_shown *shown)
{
    enum special special = SPECIAL_NONE;
    bool said = false;
    for (size_t i = 0; i < node->n_input; i++) {
        struct tensor own;
        const struct tensor *data = find_data(b, node->input[i], &own);
        if (!data || data->type == DTYPE_STRING) {
            tensor_release(&own);
            continue;
        }
        enum special here = special_in(data);
        special = here == SPECIAL_NAN || !special ? here : special;
        said = node->n_input == 1 && data->count == 1;
        if (said) {
            bool plain = data->type == DTYPE_FLOAT;
            str_printf(out, " of %s%s", plain ? "" : model_text_type((int)data->type), plain ? "" : " ");
            model_text_elements(out, data, NULL, 1);
        }
        tensor_release(&own);
    }
    if (!said && special && shown->not_finite) {
        next_item(items);
        str_printf(items, "%s among its inputs", special == SPECIAL_NAN ? "NaN" : "an infinity");
    }
    return said;
}

/* " of an empty int32 tensor", " of float64", " of constants", " of a float16 scalar". */
static void add_operands(struct str *out, const struct operands *o, bool ranks_matter)
{
    const char *type = o->type == DTYPE_FLOAT || o->type == DTYPE_NONE ? "" : model_text_type((int)o->type);
    bool scalar = o->scalar && ranks_matter;
    struct str words;
    str_init(&words);
    if (o->constant)
        str_add(&words, "constant ");
    if (o->empty)
        str_add(&words, "empty ");
    if (*type)
        str_printf(&words, "%s ", type);
    if (o->constant || o->empty || scalar)
        str_printf(out, " of a%s %s%s", words.length && strchr("aeio", words.data[0]) ? "n" : "", words.data,
                   scalar ? "scalar" : "tensor");
    else if (*type)
        str_printf(out, " of %s", type);
    str_release(&words);
}

/* What was shown of the case beside its operators, and the types and the number that it has. */
static void add_condition(struct str *out, const struct blamed *b, const struct verdict *verdict)
{
    static const struct bundle_shown nothing = {.parameter = ""};
    const struct bundle_shown *shown = b->which->shown ? b->which->shown : &nothing;
    const Onnx__NodeProto *node = blamed_node(b, 0);
    bool values = verdict_is(verdict->kind, CLASS_OTHER_VALUES);
    if (!node)
        return;
    struct operands operands = look_at(b->model, node);
    operands.constant &= shown->constant && b->count == 1;
    operands.empty &= shown->empty;
    operands.scalar &= shown->scalar;
    if (b->count > 1) {
        add_operands(out, &operands, false);
        return;
    }
    struct str items;
    str_init(&items);
    add_attributes(&items, b, shown);
    bool said = add_bodies(&items, node) || (values && add_values(out, &items, b, node, shown));
    if (!said)
        add_operands(out, &operands, !values);
    str_printf(out, "%s%s", items.length ? " with " : "", items.data);
    str_release(&items);
}

static const char *signal_name(int number)
{
    switch (number) {
    case SIGSEGV:
        return "segmentation fault";
    case SIGFPE:
        return "integer division trap (SIGFPE)";
    case SIGABRT:
        return "abort";
    case SIGBUS:
        return "bus error";
    case SIGILL:
        return "illegal instruction";
    default:
        return "the process ends";
    }
}

/* The sign of a NaN or of a zero means nothing here, and would be printed. */
static void number_text(char text[40], long double value, int digits)
{
    snprintf(text, 40, "%.*Lg", digits, isnan(value) || value == 0 ? fabsl(value) : value);
}

/* With as many digits as tell the two apart. */
static void add_numbers(struct str *out, long double got, long double expected)
{
    static const int digits[] = {6, 9, 17, 20};
    char ours[40] = "", due[40] = "";
    for (size_t i = 0; i < sizeof digits / sizeof *digits && strcmp(ours, due) == 0; i++) {
        number_text(ours, got, digits[i]);
        number_text(due, expected, digits[i]);
    }
    str_printf(out, " gives %s instead of %s", ours, due);
}

static const struct tensor *output_of(const struct result *result, size_t k)
{
    return result && k < result->count && result->outputs[k].kind == VALUE_TENSOR
               ? &result->outputs[k].tensors[0]
               : NULL;
}

/* " gives shape [3] instead of [1,3]", or the same of types. */
static void add_kinds(struct str *out, const struct bundle_case *which, const struct verdict *verdict)
{
    char ours[SHAPE_TEXT_SIZE], due[SHAPE_TEXT_SIZE];
    bool shape = verdict_row(verdict->kind)->kin == KIN_SHAPE;
    const struct tensor *got = output_of(which->engines[0].result, verdict->output),
                        *expected = output_of(which->reference, verdict->output);
    if (!got || !expected)
        str_printf(out, " gives a wrong %s", shape ? "shape" : "element type");
    else if (shape)
        str_printf(out, " gives shape %s instead of %s", shape_text(&got->shape, ours),
                   shape_text(&expected->shape, due));
    else
        str_printf(out, " gives %s instead of %s", model_text_type((int)got->type),
                   model_text_type((int)expected->type));
}

/* ": Missing Input: v2"; nothing where the message is none. */
static void add_reason(struct str *out, const struct bundle_engine *engine)
{
    const char *reason = engine->result && engine->result->message ? engine->result->message : "";
    reason = engine->profile ? patterns_cut(engine->profile->reason, reason) : reason;
    size_t length = strcspn(reason, "\n"), word = length;
    if (length > REASON_LENGTH)
        for (word = REASON_LENGTH; word > REASON_LENGTH / 2 && reason[word] != ' '; word--)
            ;
    str_add(out, length ? ": " : "");
    for (size_t i = 0; i < word; i++) {
        unsigned char c = (unsigned char)reason[i];
        str_append(out, c < 0x20 || c == '`' ? "'" : &reason[i], 1);
    }
    while (word == length && out->length && strchr(". >", out->data[out->length - 1]))
        out->data[--out->length] = '\0';
    str_add(out, word < length ? " ..." : "");
}

/* " gives another result in an equivalent model (auto-pad)". */
static void add_other_form(struct str *out, const struct bundle_case *which)
{
    str_printf(out, " %s", verdict_row(VERDICT_INCONSISTENT)->deed);
    if (!which->rewriting)
        return;
    str_add(out, " (");
    rewriting_rules(out, which->rewriting);
    str_add(out, ")");
}

/* What it does, after its name. */
static void add_deed(struct str *out, const struct bundle_case *which, const struct verdict *verdict)
{
    const struct result *result = which->engines[0].result;
    const char *stage = result && result->stage ? stage_name(result->stage) : "run";
    const struct verdict_row *row = verdict_row(verdict->kind);
    if (verdict_is(verdict->kind, CLASS_OTHER_VALUES))
        add_numbers(out, verdict->got, verdict->expected);
    else if (verdict_is(verdict->kind, CLASS_FORM))
        add_kinds(out, which, verdict);
    else if (verdict->of_pair)
        add_other_form(out, which);
    else if (!row->deed)
        str_printf(out, ": %s", row->word);
    else
        str_printf(out, " %s", row->deed);
    if (row->deed && verdict_is(verdict->kind, CLASS_NO_ANSWER))
        str_printf(out, " %s", stage);
    if (verdict_is(verdict->kind, CLASS_REFUSAL | CLASS_LIMITED))
        add_reason(out, &which->engines[0]);
    if (row->by_signal)
        str_printf(out, ": %s", signal_name(result ? result->signal : 0));
}

/*
 * When one operator inside a larger graph is to blame, the title has the numbers of that operator, on the
 * inputs that it had. The numbers of the whole graph are those of the operator at its end.
 */
static const struct verdict *title_verdict(const struct blamed *b)
{
    const struct settlement *settlement = b->which->settlement;
    const struct verdict *verdict = b->which->engines[0].verdict;
    bool own = settlement && settlement->count && settlement->count < b->model->graph->n_node &&
               verdict_is(verdict->kind, CLASS_OTHER_VALUES) &&
               verdict_is(settlement->verdict.kind, CLASS_OTHER_VALUES);
    return own ? &settlement->verdict : verdict;
}

/* "output 1 of ": one that is not the first, where the answer is about the graph's outputs. */
static void add_place(struct str *out, const struct blamed *b, const struct verdict *verdict)
{
    const Onnx__GraphProto *graph = b->model->graph;
    const Onnx__NodeProto *node = blamed_node(b, 0);
    if (!node || b->count != 1 || !verdict_is(verdict->kind, CLASS_WRONG_ANSWER) ||
        verdict != b->which->engines[0].verdict || verdict->output >= graph->n_output)
        return;
    for (size_t k = 1; k < node->n_output; k++)
        if (strcmp(node->output[k], graph->output[verdict->output]->name) == 0)
            str_printf(out, "output %zu of ", k);
}

/* What stands before the operators: "Fused ", "A valid model of ", "The gradient of a model of ". */
static void add_subject(struct str *out, const struct blamed *b, const struct verdict *verdict)
{
    const struct settlement *settlement = b->which->settlement;
    const char *what = "";
    if (b->count > 1 && verdict_is(verdict->kind, CLASS_WRONG_ANSWER))
        what = settlement && settlement->fused && b->which->plain == PLAIN_RIGHT ? "fused " : "";
    else if (verdict_row(verdict->kind)->calls_invalid)
        what = b->count > 1 ? "a valid model of " : "a valid ";
    else if (b->count > 1)
        what = "a model of ";
    size_t start = out->length;
    str_printf(out, "%s%s", b->which->test->gradient ? "the gradient of " : "", what);
    if (!*what && !b->which->test->gradient)
        add_place(out, b, verdict);
    if (out->length > start)
        out->data[start] = (char)toupper((unsigned char)out->data[start]);
}

void bundle_title(struct str *out, const struct bundle_case *which, const struct model *model)
{
    const struct settlement *settlement = which->settlement;
    struct blamed b = {which, model,
                       settlement && settlement->count ? settlement->count : model->graph->n_node};
    const struct verdict *verdict = title_verdict(&b);
    add_subject(out, &b, verdict);
    add_operators(out, &b);
    add_condition(out, &b, verdict);
    add_deed(out, which, verdict);
    if (which->pass && *which->pass && !strchr(which->pass, ','))
        str_printf(out, " (pass %s)", which->pass);
}
