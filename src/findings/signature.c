#include "findings/signature.h"

#include "base/hash.h"
#include "base/str.h"
#include "engine/label.h"
#include "eval/value_types.h"
#include "findings/inlined_nodes.h"
#include "findings/message_origin.h"
#include "judge/message.h"
#include "model/index.h"
#include "ops/op.h"
#include "rules/rewriting.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    GROUP_ORDERED = 3, /* nodes: in a larger group the order of parallel branches is arbitrary */
    GROUP_LIMIT = 12,
    SMALL_GRAPH = 4,
    FRAMES = 3,
};

/* The nodes a signature speaks of. */
struct culprits {
    size_t count;
    const Onnx__NodeProto *nodes[GROUP_LIMIT];
    bool larger; /* there are more than fit */
};

static bool is_settled(const struct settlement *settlement)
{
    return settlement && settlement->count && verdict_is_finding(settlement->kind);
}

static enum verdict_kind final_kind(const struct verdict *verdict, const struct settlement *settlement)
{
    return is_settled(settlement) ? settlement->kind : verdict->kind;
}

/* Without the release, and without the knobs with which the same bugs show. */
static void add_engine(struct str *out, const char *text, const struct engine_profile *profile)
{
    struct label label = label_parse(text), kept = {.name = label.name};
    struct label_knob knob;
    struct str engine;
    str_init(&engine);
    label_print(&engine, &kept);
    while (label_next_knob(&label.knobs, &knob) > 0)
        if (!profile || !profile_lists(profile->signature_without, knob.name.text, knob.name.length))
            label_add_knob(&engine, knob.name, knob.value);
    str_add(out, engine.data);
    str_release(&engine);
}

static int compare_types(const void *a, const void *b)
{
    const Onnx__NodeProto *x = *(const Onnx__NodeProto *const *)a, *y = *(const Onnx__NodeProto *const *)b;
    int order = strcmp(x->op_type, y->op_type);
    return order ? order : strcmp(x->domain, y->domain);
}

static void pick(struct culprits *culprits, const struct inlined_nodes *blamed)
{
    const Onnx__GraphProto *graph = blamed->model->graph;
    *culprits = (struct culprits){0};
    if (blamed->count) {
        for (size_t i = 0; i < blamed->count; i++) {
            if (culprits->count < GROUP_LIMIT && blamed->numbers[i] < graph->n_node)
                culprits->nodes[culprits->count++] = graph->node[blamed->numbers[i]];
        }
        culprits->larger = blamed->count > GROUP_LIMIT;
    } else if (graph->n_node <= SMALL_GRAPH) {
        for (size_t i = 0; i < graph->n_node; i++)
            culprits->nodes[culprits->count++] = graph->node[i];
    }
    if (culprits->count > GROUP_ORDERED)
        qsort(culprits->nodes, culprits->count, sizeof *culprits->nodes, compare_types);
}

/* Operators inside a node's bodies, each once, in the order of the alphabet. */
struct inside {
    size_t count;
    const char *types[GROUP_LIMIT];
};

static int note_inside(void *context, Onnx__NodeProto *node)
{
    struct inside *inside = context;
    size_t at = 0;
    while (at < inside->count && strcmp(inside->types[at], node->op_type) < 0)
        at++;
    if ((at < inside->count && strcmp(inside->types[at], node->op_type) == 0) || inside->count == GROUP_LIMIT)
        return 0;
    memmove(&inside->types[at + 1], &inside->types[at], (inside->count - at) * sizeof *inside->types);
    inside->types[at] = node->op_type;
    inside->count++;
    return 0;
}

static void add_operator(struct str *out, const Onnx__NodeProto *node)
{
    struct inside inside = {0};
    if (!op_of(node) && *node->domain && strcmp(node->domain, "ai.onnx") != 0)
        str_printf(out, "%s::", node->domain);
    str_add(out, op_title(node));
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->g)
            model_each_node(node->attribute[i]->g, note_inside, &inside);
    for (size_t i = 0; i < inside.count; i++)
        str_printf(out, "%s%s", i ? "," : "(", inside.types[i]);
    str_add(out, inside.count ? ")" : "");
}

static void add_operators(struct str *out, const struct culprits *culprits)
{
    for (size_t i = 0; i < culprits->count; i++) {
        str_add(out, i ? "+" : "");
        add_operator(out, culprits->nodes[i]);
    }
    if (!culprits->count)
        str_add(out, "graph");
    str_add(out, culprits->larger ? "+..." : "");
}

/* Whether the operator computes nothing from elements, so that a bug of it shows with every type. */
static bool only_moves(const Onnx__NodeProto *node)
{
    const struct op *op = op_of(node);
    return op && (op->work == WORK_MOVES || op->work == WORK_SHAPE || op->work == WORK_BODIES);
}

static const char *type_class(enum dtype type)
{
    switch (type) {
    case DTYPE_FLOAT16:
    case DTYPE_BFLOAT16:
        return "f16";
    case DTYPE_FLOAT:
        return "f32";
    case DTYPE_DOUBLE:
        return "f64";
    case DTYPE_FLOAT8E4M3FN:
    case DTYPE_FLOAT8E4M3FNUZ:
    case DTYPE_FLOAT8E5M2:
    case DTYPE_FLOAT8E5M2FNUZ:
    case DTYPE_FLOAT8E8M0:
        return "f8";
    case DTYPE_FLOAT4E2M1:
        return "f4";
    case DTYPE_UINT4:
    case DTYPE_INT4:
    case DTYPE_UINT2:
    case DTYPE_INT2:
        return "int4";
    case DTYPE_INT8:
    case DTYPE_UINT8:
        return "int8";
    case DTYPE_BOOL:
        return "bool";
    case DTYPE_STRING:
        return "string";
    case DTYPE_NONE:
        return "?";
    default:
        return dtype_is_integer(type) ? "int" : "complex";
    }
}

/* Whether there are only casts, which an engine may join to one: the types between them do not matter. */
static bool only_casts(const struct culprits *culprits)
{
    for (size_t i = 0; i < culprits->count; i++)
        if (!op_has(culprits->nodes[i], OP_CASTS))
            return false;
    return culprits->count > 1;
}

static const char *class_of(const struct value_types *types, char *const *names, size_t count)
{
    const struct bounded *value = count ? value_types_find(types, names[0]) : NULL;
    return value ? type_class(value->type) : "?";
}

static bool has_empty_input(const struct value_types *types, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_input; i++) {
        const struct bounded *value = value_types_find(types, node->input[i]);
        if (value && value->type != DTYPE_NONE && value->shape.rank >= 0 && value->count == 0)
            return true;
    }
    return false;
}

/* Adds the types of the first node that computes: those of the rest of a group follow from them. No types are
 * added where every type shows the bug, as with wrong shapes and most crashes. */
static void add_types(struct str *out, enum verdict_kind kind, const struct culprits *culprits,
                      const struct value_types *types)
{
    if (!culprits->count)
        return;
    size_t at = 0;
    while (at + 1 < culprits->count && only_moves(culprits->nodes[at]))
        at++;
    const Onnx__NodeProto *first = culprits->nodes[at];
    bool matter = !verdict_row(kind)->every_type;
    const char *in = class_of(types, first->input, first->n_input);
    const char *result = class_of(types, first->output, first->n_output);
    if (only_moves(first) || !matter)
        str_add(out, "any");
    else if (only_casts(culprits))
        str_add(out, in);
    else if (!first->n_input || strcmp(in, result) == 0)
        str_add(out, result);
    else
        str_printf(out, "%s>%s", in, result);
    for (size_t i = 0; i < culprits->count; i++)
        if (has_empty_input(types, culprits->nodes[i])) {
            str_add(out, " empty");
            return;
        }
}

static bool is_flag(const struct op_param *param)
{
    return param->kind == PARAM_INT && param->legal && strcmp(param->legal, "0|1") == 0;
}

/* "mode=cubic", "ceil_mode=1"; nothing for what has its default or is no mode. */
static void add_attribute(struct str *out, const struct op_param *param, const Onnx__NodeProto *node)
{
    char text[40] = "";
    const char *word;
    size_t size;
    if (param->kind == PARAM_STRING && param->legal && node_string(node, param->name, &word, &size))
        snprintf(text, sizeof text, "%.*s", (int)(size < sizeof text ? size : sizeof text - 1), word);
    else if (is_flag(param) && node_attribute(node, param->name))
        snprintf(text, sizeof text, "%lld", (long long)node_int(node, param->name, 0));
    if (*text && !(param->initial && strcmp(text, param->initial) == 0))
        str_printf(out, "%s%s=%s", out->length ? "," : "", param->name, text);
}

static void add_attributes(struct str *out, const struct culprits *culprits, int opset)
{
    struct str part;
    str_init(&part);
    for (size_t i = 0; i < culprits->count && culprits->count <= GROUP_ORDERED; i++) {
        const struct op *op = op_of(culprits->nodes[i]);
        for (const struct op_param *param = op ? op->params : NULL; param && param->name; param++)
            if (opset >= param->since && (!param->until || opset <= param->until))
                add_attribute(&part, param, culprits->nodes[i]);
    }
    str_append(out, part.data, part.length < SIGNATURE_PART_SIZE ? part.length : SIGNATURE_PART_SIZE);
    str_release(&part);
}

static void add_message(struct str *out, enum verdict_kind kind, const struct engine_profile *profile,
                        const struct model *model, const struct result *result)
{
    if (!result)
        return;
    if (verdict_row(kind)->evidence == EVIDENCE_STACK)
        message_frames(out, result->log ? result->log : "", FRAMES, false);
    else if (verdict_row(kind)->evidence == EVIDENCE_MESSAGE && result->message &&
             !origin_class(out, origin_innermost(result->message, profile), profile))
        message_normalise(out, origin_innermost(result->message, profile), model, profile);
}

/* The place in the engine's own code that is named instead of operators: a bug of an importer is one bug,
 * whatever operator triggers it. False when the message names none. */
static bool find_place(struct str *place, const char *normalised, const struct result *result,
                       const struct engine_profile *profile, const struct culprits *culprits,
                       const struct model *model)
{
    const char *names[GROUP_LIMIT];
    for (size_t i = 0; i < culprits->count; i++)
        names[i] = culprits->nodes[i]->op_type;
    return origin_file(place, normalised, names, culprits->count) ||
           (result && result->message && origin_operator(place, result->message, profile, model));
}

/* "wrong-resize-3fa9c2d1b0e4": the part before the hash is for people. */
static void make_name(struct signature *signature)
{
    char text[SIGNATURE_NAME_SIZE];
    size_t used = 0;
    bool gap = false;
    const char *parts[] = {symptom_word(signature->symptom), "-", signature->operators};
    for (size_t p = 0; p < 3; p++)
        for (const char *c = parts[p]; *c && used < sizeof text - 20; c++) {
            if (isalnum((unsigned char)*c)) {
                if (gap && used)
                    text[used++] = '-';
                text[used++] = (char)tolower((unsigned char)*c);
            }
            gap = !isalnum((unsigned char)*c);
        }
    text[used] = '\0';
    snprintf(signature->name, sizeof signature->name, "%s-%012llx", text,
             (unsigned long long)(signature->hash & 0xffffffffffffULL));
}

static void name_operator(struct signature *signature, size_t start, size_t end, long outer)
{
    size_t length = end - start;
    if (length == 3 && strncmp(signature->operators + start, "...", 3) == 0)
        signature->larger = true;
    else if (length && signature->n_named < SIGNATURE_OPERATORS)
        signature->named[signature->n_named++] =
            (struct signature_operator){(unsigned char)start, (unsigned char)length, (short)outer};
}

/* "Add+If(Abs,Neg)": Add, If, and inside it Abs and Neg. */
static void name_operators(struct signature *signature)
{
    const char *text = signature->operators;
    size_t start = 0;
    long outer = -1;
    signature->larger = strlen(text) >= SIGNATURE_PART_SIZE;
    for (size_t at = 0; signature->blame == BLAME_OPERATORS; at++) {
        if (text[at] && !strchr("+(,)", text[at]))
            continue;
        name_operator(signature, start, at, outer);
        if (text[at] == '(')
            outer = (long)signature->n_named - 1;
        else if (text[at] == ')')
            outer = -1;
        start = at + 1;
        if (!text[at])
            return;
    }
}

/* What follows from the parts: the text, its hash and the name. */
static void write_down(struct signature *signature)
{
    name_operators(signature);
    snprintf(signature->text, sizeof signature->text, "%s|%s|%s|%s|%s|%s", symptom_word(signature->symptom),
             signature->engine, signature->operators, signature->types, signature->attributes,
             signature->message);
    signature->hash = hash_text(signature->text);
    make_name(signature);
}

bool signature_parse(struct signature *signature, const char *text)
{
    *signature = (struct signature){0};
    if (!symptom_parse(text, strcspn(text, "|"), &signature->symptom))
        return false;
    const struct {
        char *part;
        size_t size;
    } parts[] = {
        {signature->engine, sizeof signature->engine},
        {signature->operators, sizeof signature->operators},
        {signature->types, sizeof signature->types},
        {signature->attributes, sizeof signature->attributes},
        {signature->message, sizeof signature->message},
    };
    enum { PARTS = sizeof parts / sizeof *parts };
    for (size_t i = 0; i < PARTS; i++) {
        text = strchr(text, '|');
        if (!text++)
            return false;
        size_t length = i + 1 < PARTS ? strcspn(text, "|") : strlen(text);
        if (length >= parts[i].size)
            return false;
        memcpy(parts[i].part, text, length);
    }
    signature->blame = strcmp(signature->operators, "graph") == 0        ? BLAME_GRAPH
                       : isupper((unsigned char)signature->operators[0]) ? BLAME_OPERATORS
                                                                         : BLAME_PLACE;
    write_down(signature);
    return true;
}

/* As much of it as fits. */
static void put(char *part, size_t size, struct str *text)
{
    size_t length = text->length < size ? text->length : size - 1;
    memcpy(part, text->data, length);
    part[length] = '\0';
    str_clear(text);
}

void signature_of(struct signature *signature, const char *engine, const struct engine_profile *profile,
                  const struct verdict *verdict, const struct settlement *settlement,
                  const struct model *model, const struct result *result)
{
    struct inlined_nodes blamed;
    struct culprits culprits;
    struct value_types types;
    struct str part;
    enum verdict_kind kind = final_kind(verdict, settlement);
    str_init(&part);
    inlined_nodes_init(&blamed, model, settlement ? settlement->nodes : NULL,
                       settlement ? settlement->count : 0, kind);
    value_types_init(&types, blamed.model);
    pick(&culprits, &blamed);
    *signature = (struct signature){.symptom = symptom_of(verdict, settlement, result),
                                    .blame = culprits.count ? BLAME_OPERATORS : BLAME_GRAPH};
    add_engine(&part, engine, profile);
    put(signature->engine, sizeof signature->engine, &part);
    if (verdict->gradient && !verdict_is(kind, CLASS_NO_ANSWER))
        str_add(&part, "gradient");
    else
        add_message(&part, kind, profile, model, result);
    put(signature->message, sizeof signature->message, &part);
    bool refused = verdict_is(kind, CLASS_REFUSAL | CLASS_LIMITED);
    if (refused && find_place(&part, signature->message, result, profile, &culprits, model))
        signature->blame = BLAME_PLACE;
    else
        add_operators(&part, &culprits);
    put(signature->operators, sizeof signature->operators, &part);
    /* A refusal's message tells bugs apart better than types and modes do. */
    if (!refused || !*signature->message) {
        add_types(&part, kind, &culprits, &types);
        put(signature->types, sizeof signature->types, &part);
        add_attributes(&part, &culprits, model_opset(model));
        put(signature->attributes, sizeof signature->attributes, &part);
    }
    write_down(signature);
    str_release(&part);
    value_types_release(&types);
    inlined_nodes_release(&blamed);
}

void signature_of_pair(struct signature *signature, const char *engine, const struct engine_profile *profile,
                       const struct verdict *verdict, const struct settlement *settlement,
                       const struct model *original, const char *rules)
{
    signature_of(signature, engine, profile, verdict, settlement, original, NULL);
    snprintf(signature->message, sizeof signature->message, "%s", rules);
    signature->n_named = 0;
    write_down(signature);
}

bool signature_of_trial(struct signature *signature, const char *label, const struct engine_profile *profile,
                        const struct trial_done *done, size_t engine)
{
    const struct verdict *verdict = &done->judgement.verdicts[engine];
    const struct settlement *settlement = &done->settlements[engine];
    const struct model *model = verdict_is_finding(verdict->kind) || verdict->of_pair
                                    ? test_case_model(trial_done_subject(done, engine), NULL)
                                    : NULL;
    if (!model)
        return false;
    if (!verdict->of_pair) {
        signature_of(signature, label, profile, verdict, settlement, model, &done->results[engine]);
        return true;
    }
    struct str rules;
    str_init(&rules);
    rewriting_rules(&rules, done->test->equivalence->rewriting);
    signature_of_pair(signature, label, profile, verdict, settlement, model, rules.data);
    str_release(&rules);
    return true;
}

bool signature_equal(const struct signature *a, const struct signature *b)
{
    return a->hash == b->hash && strcmp(a->text, b->text) == 0;
}

/* A reduced case may show a wrong number where the larger one showed NaN, and be of the same fault; never the
 * reverse. */
static bool same_symptom(enum symptom smaller, enum symptom larger)
{
    return smaller == larger ||
           (symptom_verdict(smaller) == VERDICT_WRONG && symptom_verdict(larger) == VERDICT_NAN);
}

bool signature_alike(const struct signature *smaller, const struct signature *larger)
{
    return same_symptom(smaller->symptom, larger->symptom) && strcmp(smaller->engine, larger->engine) == 0 &&
           strcmp(smaller->operators, larger->operators) == 0 &&
           strcmp(smaller->message, larger->message) == 0;
}

static enum kin kin_of(const struct signature *signature)
{
    return verdict_row(symptom_verdict(signature->symptom))->kin;
}

bool signature_stands_for(const struct signature *smaller, const struct signature *larger)
{
    bool apart = verdict_is(symptom_verdict(smaller->symptom), CLASS_APART);
    if (apart && !verdict_is(symptom_verdict(larger->symptom), CLASS_APART))
        return false;
    return larger->blame != BLAME_OPERATORS || kin_of(smaller) == kin_of(larger);
}
