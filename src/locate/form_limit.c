#include "locate/form_limit.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/str.h"
#include "generate/operator_case.h"
#include "judge/message.h"
#include "judge/verdict.h"
#include "locate/record_values.h"
#include "model/build.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    DRAWS = 300,  /* nodes that are drawn of an operator and type */
    OWN_TYPE = 3, /* witnesses that are needed: nodes of the same type that are refused in the same words */
    ENOUGH = 6,   /* drawn nodes with a feature that are asked for, and as many without it */
    LACKS =
        12, /* drawn nodes that the engine lacks, as a rule for their type, until no others are asked for */
    VALUES = 4, /* inputs, and outputs, that are looked at */
    FEATURES = 2 * VALUES,
    WHOLE = FEATURES,        /* all features together */
    COUNTS = WHOLE + 1,      /* and how many elements an input or output has */
    ALL = COUNTS + FEATURES, /* features of every kind */
    IS_CONSTANT = 1,         /* bits of a feature, less 1; above them is the rank */
    IS_EMPTY = 2,
};

/* Of each input and output: its rank, whether it is empty, and of inputs whether it is constant; 0: there is
 * none. And how many elements it has. */
struct node_form {
    unsigned features[FEATURES];
    enum { COUNT_NONE, COUNT_EMPTY, COUNT_ONE, COUNT_SEVERAL } counts[FEATURES];
};

enum ending { ENDED_NOT_ASKED, ENDED_RUN, ENDED_REFUSED, ENDED_LACKING, ENDED_OTHERWISE };

/* A drawn node. */
struct witness {
    struct test_case *test;
    struct node_form form;
    bool own_type; /* it was drawn with the type of the node in question */
    enum ending ending;
    char *message; /* of a refusal, without what changes from case to case */
};

/* The drawn nodes of one operator, type and rank of the first input on one engine, of the opset of the first
 * case that asked. */
struct witnesses {
    size_t count;
    struct witness *items;
};

struct form_limits {
    struct map drawn;    /* to numbers of witnesses, by engine, operator, type and rank */
    struct map releases; /* whether another release runs it, by the same, feature and message */
    size_t count, capacity;
    struct witnesses *witnesses;
};

/* One refusal under question. */
struct asking {
    const struct settle_case *which;
    const struct op *op;
    enum dtype type; /* of the primary input */
    int opset, rank;
    struct node_form form;
    char *message;
};

struct form_limits *form_limits_new(void)
{
    struct form_limits *limits = memory_zeroed(1, sizeof *limits);
    map_init(&limits->drawn);
    map_init(&limits->releases);
    return limits;
}

void form_limits_free(struct form_limits *limits)
{
    if (!limits)
        return;
    for (size_t i = 0; i < limits->count; i++) {
        for (size_t k = 0; k < limits->witnesses[i].count; k++) {
            test_case_free(limits->witnesses[i].items[k].test);
            free(limits->witnesses[i].items[k].message);
        }
        free(limits->witnesses[i].items);
    }
    free(limits->witnesses);
    map_release(&limits->drawn);
    map_release(&limits->releases);
    free(limits);
}

/* Whether some input or output has no elements. */
static bool has_empty(const struct node_form *form)
{
    for (size_t i = 0; i < FEATURES; i++)
        if (form->counts[i] == COUNT_EMPTY)
            return true;
    return false;
}

/* Whether a word of the message, letter case aside, is one of the list. Names of the engine's own functions
 * and variables, getMemoryShapes say, are words of their own, and a call, inputs.size() say, is none. */
static bool has_word(const char *message, const char *const *words, size_t count)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    for (const char *at = message + strcspn(message, letters); *at; at += strcspn(at, letters)) {
        size_t length = strspn(at, letters);
        for (size_t i = 0; i < count; i++)
            if (strlen(words[i]) == length && strncasecmp(words[i], at, length) == 0 && at[length] != '(')
                return true;
        at += length;
    }
    return false;
}

/* Whether the engine's words are about how many elements a tensor has. */
static bool speaks_of_count(const char *message)
{
    static const char *const words[] = {"size", "sizes", "element", "elements", "scalar", "scalars", "empty"};
    return message && has_word(message, words, sizeof words / sizeof *words);
}

/* Whether the engine's words are about the form of tensors. That something of its own is empty, in an
 * assertion of OpenCV on a constant, say, is no word about tensors that are not. */
static bool speaks_of_form(const char *message, bool empty)
{
    static const char *const words[] = {
        "rank", "ranks", "dim", "dims", "dimension", "dimensions", "dimensional", "shape", "shapes",
        "1d",   "2d",    "3d",  "4d",   "5d",        "scalar",     "scalars",     "empty"};
    return message && has_word(message, words, sizeof words / sizeof *words - (empty ? 0 : 1));
}

static const Onnx__NodeProto *only_node(const struct model *model)
{
    const Onnx__NodeProto *only = NULL;
    for (size_t i = 0; i < model->graph->n_node; i++) {
        if (node_is_constant(model->graph->node[i]))
            continue;
        if (only)
            return NULL;
        only = model->graph->node[i];
    }
    return only;
}

static bool is_given(const struct test_case *test, const char *name)
{
    for (size_t i = 0; i < test->n_inputs; i++)
        if (text_equal(test->inputs[i].name, name))
            return true;
    return false;
}

/* from: the feature of the first of these values. */
static bool add_features(struct held_values *values, char *const *names, size_t count,
                         const struct test_case *test, struct node_form *form, size_t from)
{
    for (size_t i = 0; i < count && i < VALUES; i++) {
        const struct tensor *tensor = *names[i] ? held_values_find(values, names[i]) : NULL;
        if (*names[i] && !tensor)
            return false;
        if (!tensor)
            continue;
        form->features[from + i] = 1 + 4 * (unsigned)tensor->shape.rank + (tensor->count ? 0 : IS_EMPTY) +
                                   (is_given(test, names[i]) ? 0 : IS_CONSTANT);
        form->counts[from + i] = tensor->count == 0   ? COUNT_EMPTY
                                 : tensor->count == 1 ? COUNT_ONE
                                                      : COUNT_SEVERAL;
    }
    return true;
}

/* The form of the only node of a case. `asking` gets its operator, type and opset unless it has one. */
static bool find_form(struct asking *asking, const struct test_case *test, struct node_form *form)
{
    struct settle_case which = {.pool = asking->which->pool, .engine = asking->which->engine, .test = test};
    struct under_test under;
    struct recording record;
    struct error err = {0};
    size_t count;
    if (under_test_init(&under, &which, &err))
        return false;
    recording_init(&record, &under, NULL);
    const Onnx__NodeProto *node = only_node(under.model);
    const char **names = held_values_made(&record.values, &count);
    *form = (struct node_form){0};
    bool known = node && node->n_input && *node->input[0] &&
                 !held_values_compute(&record.values, names, count) &&
                 add_features(&record.values, node->input, node->n_input, test, form, 0) &&
                 add_features(&record.values, node->output, node->n_output, test, form, VALUES);
    if (known && !asking->op) {
        asking->op = node->domain && *node->domain ? NULL : op_find(node->op_type);
        asking->type = held_values_find(&record.values, node->input[0])->type;
        asking->rank = held_values_find(&record.values, node->input[0])->shape.rank;
        asking->opset = model_opset(under.model);
    }
    recording_release(&record);
    under_test_release(&under);
    return known && asking->op;
}

/* The message without what changes from case to case. */
static char *normal_message(const struct asking *asking, const struct result *result,
                            const struct test_case *test)
{
    struct str normal;
    const struct engine_profile *profile = pool_engine(asking->which->pool, asking->which->engine)->profile;
    const char *message = result->message ? result->message : "";
    str_init(&normal);
    message_normalise(&normal, profile ? patterns_cut(profile->around, message) : message,
                      test_case_model(test, NULL), profile);
    return str_detach(&normal);
}

/* Runs a case. `message`, which may be NULL, gets that of a refusal. */
static enum ending ask(const struct asking *asking, int engine, const struct test_case *test, char **message)
{
    struct result result;
    struct job job = {.engine = engine};
    enum ending ending = ENDED_OTHERWISE;
    result_init(&result);
    int status = handover_run_case(asking->which->pool, test, false, &job, &result, NULL);
    enum verdict_kind kind = verdict_of_outcome(result.outcome);
    if (!status)
        ending = result.outcome == OUTCOME_OK      ? ENDED_RUN
                 : verdict_is(kind, CLASS_LACK)    ? ENDED_LACKING
                 : verdict_is(kind, CLASS_REFUSAL) ? ENDED_REFUSED
                                                   : ENDED_OTHERWISE;
    if (message && ending == ENDED_REFUSED)
        *message = normal_message(asking, &result, test);
    result_release(&result);
    return ending;
}

/* Nodes of the operator: by turns of the type in question and of any, and of the rank in question and of any.
 */
static void draw_witnesses(struct asking *asking, struct witnesses *drawn)
{
    uint64_t seed = hash_text(asking->op->name);
    struct generate_options options = {
        .ops = asking->op->name, .opset = asking->opset, .fill = FILL_EXACT + 1};
    drawn->items = memory_zeroed(DRAWS, sizeof *drawn->items);
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct witness *one = &drawn->items[drawn->count];
        struct error err = {0};
        one->own_type = i % 2 == 0;
        options.types = one->own_type ? (dtype_set)1 << asking->type : 0;
        options.rank = i % 4 < 2 ? asking->rank + 1 : 0;
        if (generate_one(seed, i, &options, &one->test, &err))
            continue;
        if (find_form(asking, one->test, &one->form))
            drawn->count++;
        else
            test_case_free(one->test);
    }
}

static struct witnesses *witnesses_of(struct form_limits *limits, struct asking *asking, const char *key)
{
    size_t at;
    if (map_get(&limits->drawn, key, &at))
        return &limits->witnesses[at];
    limits->witnesses =
        memory_grow(limits->witnesses, &limits->capacity, limits->count + 1, sizeof *limits->witnesses);
    struct witnesses *drawn = &limits->witnesses[limits->count];
    *drawn = (struct witnesses){0};
    map_set(&limits->drawn, key, limits->count++);
    draw_witnesses(asking, drawn);
    return drawn;
}

/* 0 for the whole form, which no number stands for. */
static unsigned value_of_feature(const struct node_form *form, int feature)
{
    return feature < WHOLE ? form->features[feature] : feature == WHOLE ? 0 : form->counts[feature - COUNTS];
}

static bool has_feature(const struct node_form *form, const struct node_form *of, int feature)
{
    return feature == WHOLE ? memcmp(form->features, of->features, sizeof form->features) == 0
                            : value_of_feature(form, feature) == value_of_feature(of, feature);
}

/* Whether a drawn node is refused in the words in question. A value of the case may be called `a`, which is a
 * word of the message too and was taken out of that alone. */
static bool says_the_same(const struct asking *asking, const struct witness *one)
{
    struct str message;
    if (!one->message)
        return false;
    str_init(&message);
    message_normalise(&message, one->message, test_case_model(asking->which->test, NULL),
                      pool_engine(asking->which->pool, asking->which->engine)->profile);
    bool same = text_equal(message.data, asking->message);
    str_release(&message);
    return same;
}

/* Whether the engine takes no node with this feature of the form in question, and takes some without it. If
 * it is a number of elements, none without it is refused in the same words: small tensors of all kinds have
 * one element, which tells less than a rank does. */
static bool is_never_taken(const struct asking *asking, struct witnesses *drawn, int feature)
{
    size_t asked[2] = {0}, lacking = 0, alike = 0, taken = 0;
    for (size_t i = 0; i < drawn->count; i++) {
        struct witness *one = &drawn->items[i];
        bool has = has_feature(&one->form, &asking->form, feature);
        if (one->ending == ENDED_NOT_ASKED && asked[has] < ENOUGH && (lacking < LACKS || one->own_type))
            one->ending = ask(asking, asking->which->engine, one->test, &one->message);
        lacking += one->ending == ENDED_LACKING;
        asked[has] += one->ending != ENDED_NOT_ASKED && one->ending != ENDED_LACKING;
        if (has && (one->ending == ENDED_RUN || one->ending == ENDED_OTHERWISE))
            return false;
        bool same = says_the_same(asking, one);
        if (same && !has && feature >= COUNTS)
            return false;
        alike += has && one->own_type && same;
        taken += !has && one->ending == ENDED_RUN;
    }
    return alike >= OWN_TYPE && taken > 0;
}

static bool is_run_by_another_release(struct form_limits *limits, const struct asking *asking,
                                      const char *key)
{
    size_t known;
    int other;
    bool runs = false;
    if (map_get(&limits->releases, key, &known))
        return known;
    for (size_t i = 0;
         !runs && (other = pool_other_release(asking->which->pool, asking->which->engine, i)) >= 0; i++)
        runs = ask(asking, other, asking->which->test, NULL) == ENDED_RUN;
    map_set(&limits->releases, key, runs);
    return runs;
}

bool form_is_spoken_of(const char *message)
{
    return speaks_of_form(message, true) || speaks_of_count(message);
}

/* Whether the case in question has this feature, and the engine's words are about what it is. */
static bool is_in_question(const struct asking *asking, int feature, bool of_form, bool of_count)
{
    return feature >= COUNTS  ? of_count && asking->form.counts[feature - COUNTS] != COUNT_NONE
           : feature == WHOLE ? of_form
                              : of_form && asking->form.features[feature];
}

bool form_is_refused(struct form_limits *limits, const struct settle_case *which, const struct result *ended)
{
    struct asking asking = {.which = which};
    struct str key;
    bool refused = false;
    if (!form_is_spoken_of(ended->message) || !find_form(&asking, which->test, &asking.form) ||
        !asking.op->sample)
        return false;
    bool of_form = speaks_of_form(ended->message, has_empty(&asking.form));
    bool of_count = speaks_of_count(ended->message);
    if (!of_form && !of_count)
        return false;
    str_init(&key);
    asking.message = normal_message(&asking, ended, which->test);
    str_printf(&key, "%s %s %d %d", pool_engine(which->pool, which->engine)->label, asking.op->name,
               asking.type, asking.rank);
    struct witnesses *drawn = witnesses_of(limits, &asking, key.data);
    for (int feature = 0; feature < ALL && !refused; feature++) {
        if (!is_in_question(&asking, feature, of_form, of_count) || !is_never_taken(&asking, drawn, feature))
            continue;
        str_printf(&key, " %d=%u %s", feature, value_of_feature(&asking.form, feature), asking.message);
        refused = !is_run_by_another_release(limits, &asking, key.data);
        break;
    }
    str_release(&key);
    free(asking.message);
    return refused;
}
