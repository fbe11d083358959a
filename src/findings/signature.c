#include "findings/signature.h"

#include "base/hash.h"
#include "base/str.h"
#include "engine/label.h"
#include "findings/message_origin.h"
#include "findings/value_types.h"
#include "judge/message.h"
#include "model/index.h"
#include "ops/op.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    GROUP_ORDERED = 3, /* nodes: in a larger group the order of parallel branches is chance */
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

static void add_symptom(struct str *out, const struct verdict *verdict, const struct settlement *settlement,
                        const struct result *result)
{
    enum verdict_kind kind = final_kind(verdict, settlement);
    /* The worst element of the whole need not be the fault of who is blamed. */
    const struct verdict *last = is_settled(settlement) ? &settlement->verdict : verdict;
    if (kind == VERDICT_NAN && isnan(last->expected))
        str_add(out, "nan-lost");
    else if (kind == VERDICT_REJECTED || kind == VERDICT_FAILED)
        str_add(out, "refused");
    else if (kind == VERDICT_CRASH && result && result->signal == SIGFPE)
        str_add(out, "crash-fpe");
    else
        str_add(out, verdict_name(kind));
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

/* A refusal's message tells bugs apart better than types and modes do. */
static bool says_why(enum verdict_kind kind)
{
    return verdict_is(kind, CLASS_REFUSAL);
}

static int compare_types(const void *a, const void *b)
{
    const Onnx__NodeProto *x = *(const Onnx__NodeProto *const *)a, *y = *(const Onnx__NodeProto *const *)b;
    int order = strcmp(x->op_type, y->op_type);
    return order ? order : strcmp(x->domain, y->domain);
}

static void pick(struct culprits *culprits, const struct settlement *settlement, const struct model *model)
{
    const Onnx__GraphProto *graph = model->graph;
    *culprits = (struct culprits){0};
    if (settlement && settlement->count) {
        for (size_t i = 0; i < settlement->count; i++) {
            if (culprits->count < GROUP_LIMIT && settlement->nodes[i] < graph->n_node)
                culprits->nodes[culprits->count++] = graph->node[settlement->nodes[i]];
        }
        culprits->larger = settlement->count > GROUP_LIMIT;
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

static int note_inside(void *context, Onnx__NodeProto *node, int depth)
{
    struct inside *inside = context;
    (void)depth;
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
    if (*node->domain && strcmp(node->domain, "ai.onnx") != 0)
        str_printf(out, "%s.", node->domain);
    str_add(out, node->op_type);
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

/* Operators that copy elements: one bug of theirs shows with every type. */
static bool only_moves(const char *type)
{
    static const char *const movers[] = {
        "Compress", "Concat",    "DepthToSpace", "Expand", "Flatten",      "Gather",  "GatherElements",
        "GatherND", "Identity",  "If",           "Loop",   "Pad",          "Reshape", "ReverseSequence",
        "Scan",     "Shape",     "Size",         "Slice",  "SpaceToDepth", "Split",   "Squeeze",
        "Tile",     "Transpose", "Unsqueeze",    NULL};
    for (size_t i = 0; movers[i]; i++)
        if (strcmp(movers[i], type) == 0)
            return true;
    return false;
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

/* Casts that become one: what stands between does not matter. */
static bool only_casts(const struct culprits *culprits)
{
    for (size_t i = 0; i < culprits->count; i++)
        if (strcmp(culprits->nodes[i]->op_type, "Cast") != 0)
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

/* Of the first node that computes: the others of a group follow from it. Sizes go wrong, and memory is
 * overrun, with one type as with another. */
static void add_types(struct str *out, enum verdict_kind kind, const struct culprits *culprits,
                      const struct value_types *types)
{
    if (!culprits->count)
        return;
    size_t at = 0;
    while (at + 1 < culprits->count && only_moves(culprits->nodes[at]->op_type))
        at++;
    const Onnx__NodeProto *first = culprits->nodes[at];
    bool matter = !verdict_row(kind)->every_type;
    const char *in = class_of(types, first->input, first->n_input);
    const char *result = class_of(types, first->output, first->n_output);
    if (only_moves(first->op_type) || !matter)
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
        const struct op *op = op_find(culprits->nodes[i]->op_type);
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
        message_frames(out, result->log ? result->log : "", FRAMES);
    else if (verdict_row(kind)->evidence == EVIDENCE_MESSAGE && result->message &&
             !origin_class(out, origin_innermost(result->message, profile), profile))
        message_normalise(out, origin_innermost(result->message, profile), model, profile);
}

/* A place of the engine's own in the place of the operators: an importer's bug is one bug, whatever operator
 * wakes it. */
static void shared_place(struct str *operators, const char *normalised, const struct result *result,
                         const struct engine_profile *profile, const struct culprits *culprits,
                         const struct model *model)
{
    const char *names[GROUP_LIMIT];
    struct str place;
    str_init(&place);
    for (size_t i = 0; i < culprits->count; i++)
        names[i] = culprits->nodes[i]->op_type;
    bool found = origin_file(&place, normalised, names, culprits->count) ||
                 (result && result->message && origin_operator(&place, result->message, profile, model));
    if (found) {
        str_clear(operators);
        str_add(operators, place.data);
    }
    str_release(&place);
}

/* "wrong-resize-3fa9c2d1b0e4": the part before the hash is for people. */
static void make_name(struct signature *signature, const char *symptom, const char *operators)
{
    char text[SIGNATURE_NAME_SIZE];
    size_t used = 0;
    bool gap = false;
    const char *parts[] = {symptom, "-", operators};
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

void signature_of(struct signature *signature, const char *engine, const struct engine_profile *profile,
                  const struct verdict *verdict, const struct settlement *settlement,
                  const struct model *model, const struct result *result)
{
    static const size_t limits[SIGNATURE_PARTS] = {
        20, 60, SIGNATURE_PART_SIZE, 30, SIGNATURE_PART_SIZE, MESSAGE_LIMIT};
    struct str parts[SIGNATURE_PARTS];
    struct culprits culprits;
    struct value_types types;
    *signature = (struct signature){0};
    for (size_t i = 0; i < SIGNATURE_PARTS; i++)
        str_init(&parts[i]);
    value_types_init(&types, model);
    pick(&culprits, settlement, model);
    add_symptom(&parts[SIGNATURE_SYMPTOM], verdict, settlement, result);
    add_engine(&parts[SIGNATURE_ENGINE], engine, profile);
    add_operators(&parts[SIGNATURE_OPERATORS], &culprits);
    add_message(&parts[SIGNATURE_MESSAGE], final_kind(verdict, settlement), profile, model, result);
    if (says_why(final_kind(verdict, settlement)))
        shared_place(&parts[SIGNATURE_OPERATORS], parts[SIGNATURE_MESSAGE].data, result, profile, &culprits,
                     model);
    if (!says_why(final_kind(verdict, settlement)) || !parts[SIGNATURE_MESSAGE].length) {
        add_types(&parts[SIGNATURE_TYPES], final_kind(verdict, settlement), &culprits, &types);
        add_attributes(&parts[SIGNATURE_ATTRIBUTES], &culprits, model_opset(model));
    }
    size_t used = 0;
    for (size_t i = 0; i < SIGNATURE_PARTS; i++) {
        used += (size_t)snprintf(signature->text + used, sizeof signature->text - used, "%s%.*s",
                                 i ? "|" : "", (int)limits[i], parts[i].data);
        if (i != SIGNATURE_SYMPTOM && i != SIGNATURE_TYPES && i != SIGNATURE_ATTRIBUTES)
            signature->core = hash_combine(signature->core, hash_text(parts[i].data));
    }
    signature->hash = hash_text(signature->text);
    make_name(signature, parts[SIGNATURE_SYMPTOM].data, parts[SIGNATURE_OPERATORS].data);
    for (size_t i = 0; i < SIGNATURE_PARTS; i++)
        str_release(&parts[i]);
    value_types_release(&types);
}

size_t signature_part(const char *text, enum signature_part part, const char **start)
{
    for (int i = 0; i < (int)part; i++) {
        const char *bar = strchr(text, '|');
        text = bar ? bar + 1 : text + strlen(text);
    }
    *start = text;
    return strcspn(text, "|");
}

bool signature_equal(const struct signature *a, const struct signature *b)
{
    return a->hash == b->hash && strcmp(a->text, b->text) == 0;
}

/* A NaN may give way to a number, and the fault be the same: never the other way round. */
static bool same_symptom(const char *smaller, const char *larger)
{
    size_t n = strcspn(smaller, "|"), m = strcspn(larger, "|");
    if (n == m && strncmp(smaller, larger, n) == 0)
        return true;
    return n == 5 && strncmp(smaller, "wrong", n) == 0 && strncmp(larger, "nan", 3) == 0;
}

bool signature_alike(const struct signature *smaller, const struct signature *larger)
{
    return smaller->core == larger->core && same_symptom(smaller->text, larger->text);
}

/* What a symptom is about: numbers, their form, or how the engine ends. */
static size_t symptom_class(const char *text)
{
    static const char *const symptoms[] = {
        "wrong|", "nan", "imprecise|", "nondeterministic|", "shape|", "dtype|", "refused|", "crash", NULL};
    enum { NUMBERS = 4 };
    size_t i = 0;
    while (symptoms[i] && strncmp(text, symptoms[i], strlen(symptoms[i])) != 0)
        i++;
    return i < NUMBERS ? 0 : i;
}

bool signature_stands_for(const struct signature *smaller, const char *text)
{
    const char *operators;
    bool named = signature_part(text, SIGNATURE_OPERATORS, &operators) && isupper((unsigned char)*operators);
    return !named || symptom_class(text) == symptom_class(smaller->text);
}
