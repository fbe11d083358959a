#include "locate/refusal.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/str.h"
#include "judge/message.h"
#include "locate/form_limit.h"
#include "locate/node_sets.h"
#include "locate/part.h"
#include "model/build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of all values between the nodes of a model. If they are more, its nodes are not asked for one by
 * one. */
static const size_t most_bytes = (size_t)1 << 30;

enum answer {
    ANSWER_HAS,     /* it runs it, or ends in a way that says nothing about kernels */
    ANSWER_LACKS,   /* it says that it lacks it */
    ANSWER_REFUSES, /* it refuses it for another reason */
    ANSWER_UNKNOWN, /* it could not be asked */
};

/* What becomes of a refusal, by what the engine answered when it was asked again. When its message itself
 * speaks of a lack, the verdict is unsupported in any case. */
static const struct {
    bool changes; /* it does not stand */
    enum verdict_kind verdict;
} decisions[] = {
    [ANSWER_HAS] = {.changes = false},
    [ANSWER_REFUSES] = {.changes = false},
    [ANSWER_LACKS] = {.changes = true, .verdict = VERDICT_UNSUPPORTED},
    [ANSWER_UNKNOWN] = {.changes = true, .verdict = VERDICT_UNDECIDED},
};

/* What an engine answered. text: where it lacks the node, its message; where it refuses it, the message
 * without what changes from case to case. */
struct known_answer {
    enum answer answer;
    const char *text;
};

struct refusals {
    struct arena arena; /* keys and texts */
    struct map keys;    /* to numbers of answers */
    struct known_answer *answers;
    size_t count, capacity;
    size_t asked;
    struct form_limits *forms; /* NULL: nobody asks whether a form is refused wherever it stands */
};

struct refusals *refusals_new(bool forms)
{
    struct refusals *refusals = memory_zeroed(1, sizeof *refusals);
    refusals->forms = forms ? form_limits_new() : NULL;
    arena_init(&refusals->arena);
    map_init(&refusals->keys);
    return refusals;
}

void refusals_free(struct refusals *refusals)
{
    if (!refusals)
        return;
    map_release(&refusals->keys);
    free(refusals->answers);
    form_limits_free(refusals->forms);
    arena_release(&refusals->arena);
    free(refusals);
}

size_t refusals_asked(const struct refusals *refusals)
{
    return refusals->asked;
}

/* One refusal under question. */
struct question {
    struct refusals *known;
    struct settle_case plain; /* the case on the engine that leaves graphs alone */
    const struct model *model;
    struct under_test test;
    struct recording record;
    bool *fed;          /* by value: computed from the data of the model's inputs */
    const char *normal; /* the message of the refusal, without what changes from case to case */
    bool says_lack; /* the whole, in this setting or the plain one, ended saying that something is lacking */
    size_t node;    /* the one that is lacking */
    const char *message; /* and what the engine says of it */
    bool limited;        /* a node is refused alone, with the message of the whole, for its form */
};

/* What node `number` uses, and with which values where these are constants. */
static uint64_t hash_uses(const struct question *question, size_t number, uint64_t hash)
{
    const struct model_index *index = &question->test.index;
    for (size_t i = 0; i < index->n_uses[number]; i++) {
        size_t use = index->uses[number][i];
        const struct tensor *tensor = question->record.values.known[use];
        hash = hash_combine(hash, tensor ? (uint64_t)tensor->type : 0);
        hash = hash_combine(hash, tensor ? (uint64_t)tensor->shape.rank : 0);
        for (int k = 0; tensor && k < tensor->shape.rank; k++)
            hash = hash_combine(hash, (uint64_t)tensor->shape.dims[k]);
        hash = hash_combine(hash, question->fed[use]);
        if (tensor && !question->fed[use])
            hash = hash_bytes(hash, tensor->data, tensor->size);
    }
    return hash;
}

/* The question without the names in it: engine, operator, opset, which inputs there are, attributes, types.
 */
static char *key_of(const struct question *question, size_t number)
{
    const struct settle_case *plain = &question->plain;
    const Onnx__NodeProto *node = question->model->graph->node[number];
    uint64_t hash = hash_text(node->domain ? node->domain : "");
    for (size_t i = 0; i < node->n_input; i++)
        hash = hash_combine(hash, *node->input[i] != '\0');
    hash = hash_combine(hash, node->n_output);
    for (size_t i = 0; i < node->n_attribute; i++) {
        size_t size = onnx__attribute_proto__get_packed_size(node->attribute[i]);
        uint8_t *packed = memory_zeroed(size, 1);
        onnx__attribute_proto__pack(node->attribute[i], packed);
        hash = hash_bytes(hash, packed, size);
        free(packed);
    }
    hash = hash_uses(question, number, hash);
    return arena_printf(&question->known->arena, "%s %s-%d %016" PRIx64,
                        pool_engine(plain->pool, plain->engine)->label, node->op_type,
                        model_opset(question->model), hash);
}

/* Inputs that no input of the whole model feeds become constants. */
static int freeze_constants(const struct question *question, struct part *part, bool *frozen)
{
    *frozen = false;
    for (size_t i = 0, number; i < part->n_inputs;) {
        if (!map_get(&question->test.index.names, part->inputs[i].name, &number) || question->fed[number])
            i++;
        else if (part_freeze(part, i))
            return -1;
        else
            *frozen = true;
    }
    return 0;
}

static char *normal_message(const struct question *question, const char *message, const struct model *model)
{
    struct str normal;
    str_init(&normal);
    message_normalise(&normal, message ? message : "", model,
                      pool_engine(question->plain.pool, question->plain.engine)->profile);
    char *text = arena_strdup(&question->known->arena, normal.data);
    str_release(&normal);
    return text;
}

static struct known_answer read_answer(const struct question *question, const struct result *result,
                                       const struct model *part)
{
    enum verdict_kind kind = verdict_of_outcome(result->outcome);
    if (verdict_is(kind, CLASS_LACK))
        return (struct known_answer){
            ANSWER_LACKS, arena_strdup(&question->known->arena, result->message ? result->message : "")};
    if (verdict_is(kind, CLASS_REFUSAL))
        return (struct known_answer){ANSWER_REFUSES, normal_message(question, result->message, part)};
    return (struct known_answer){verdict_is(kind, CLASS_TROUBLE) ? ANSWER_UNKNOWN : ANSWER_HAS, NULL};
}

/* One node as a model of its own on the plain engine; constants: see refusal.h. */
static struct known_answer ask_once(struct question *question, size_t number, bool constants, bool *frozen)
{
    struct part part;
    struct result result;
    struct known_answer answer = {.answer = ANSWER_UNKNOWN};
    size_t *nodes = memory_zeroed(question->model->graph->n_node, sizeof *nodes);
    size_t size = nodes_with_constants(&question->test.index, &number, 1, nodes);
    result_init(&result);
    if (part_cut(&part, &question->record, nodes, size) &&
        !(constants && freeze_constants(question, &part, frozen)) &&
        !under_test_run(&question->test, part.model, part.inputs, part.n_inputs, 0, &result))
        answer = read_answer(question, &result, part.model);
    question->known->asked++;
    free(nodes);
    result_release(&result);
    part_release(&part);
    return answer;
}

static struct known_answer ask_node(struct question *question, size_t number)
{
    bool frozen = false;
    struct known_answer answer = ask_once(question, number, true, &frozen);
    return answer.answer == ANSWER_LACKS && frozen ? ask_once(question, number, false, &frozen) : answer;
}

/* An engine keeps what a Constant holds, and computes nothing. */
static bool needs_kernel(const Onnx__NodeProto *node)
{
    return !node_is_constant(node);
}

/* Whether the answer may be another one the next time: there was none, or a mishap happened. */
static struct known_answer ask_remembering(struct question *question, size_t number)
{
    struct refusals *known = question->known;
    size_t at;
    char *key = key_of(question, number);
    if (map_get(&known->keys, key, &at))
        return known->answers[at];
    size_t before = pool_mishaps(question->plain.pool);
    struct known_answer answer = ask_node(question, number);
    if (answer.answer == ANSWER_UNKNOWN || pool_mishaps(question->plain.pool) != before)
        return answer;
    known->answers = memory_grow(known->answers, &known->capacity, known->count + 1, sizeof *known->answers);
    map_set(&known->keys, key, known->count);
    known->answers[known->count++] = answer;
    return answer;
}

/* Whether a node of the case that is refused alone is so for its form. */
static bool is_limited(struct question *question, size_t number)
{
    struct part part;
    struct result result;
    bool frozen, limited = false;
    if (!question->known->forms)
        return false;
    size_t *nodes = memory_zeroed(question->model->graph->n_node, sizeof *nodes);
    size_t size = nodes_with_constants(&question->test.index, &number, 1, nodes);
    result_init(&result);
    if (part_cut(&part, &question->record, nodes, size) && !freeze_constants(question, &part, &frozen) &&
        !under_test_run(&question->test, part.model, part.inputs, part.n_inputs, 0, &result)) {
        struct settle_case alone = question->plain;
        struct test_case *test = test_case_view(part.model, part.inputs, part.n_inputs);
        alone.test = test;
        limited = form_is_refused(question->known->forms, &alone, &result);
        test_case_free(test);
    }
    free(nodes);
    result_release(&result);
    part_release(&part);
    return limited;
}

/* All nodes are asked for, because one that is refused alone with the message of the whole outweighs those
 * that are lacking. */
static enum answer ask_nodes(struct question *question)
{
    const Onnx__GraphProto *graph = question->model->graph;
    enum answer all = ANSWER_HAS;
    for (size_t i = 0; i < graph->n_node; i++) {
        if (!needs_kernel(graph->node[i]))
            continue;
        struct known_answer one = ask_remembering(question, i);
        if (one.answer == ANSWER_REFUSES && text_equal(one.text, question->normal)) {
            question->limited = is_limited(question, i);
            return ANSWER_HAS;
        }
        if (one.answer == ANSWER_LACKS && all != ANSWER_LACKS) {
            all = ANSWER_LACKS;
            question->node = i;
            question->message = one.text;
        }
        if (one.answer == ANSWER_UNKNOWN && all != ANSWER_LACKS)
            all = ANSWER_UNKNOWN;
    }
    return all;
}

/* The reference's values for all nodes; then each is asked for. */
static enum answer ask_alone(struct question *question)
{
    struct under_test *test = &question->test;
    struct held_values *values = &question->record.values;
    enum answer answer = ANSWER_UNKNOWN;
    struct error err = {0};
    size_t count;
    if (under_test_init(test, &question->plain, &err))
        return answer;
    recording_init(&question->record, test, NULL);
    question->fed = memory_groups_fed(&test->index);
    under_test_infer(test);
    const char **names = held_values_made(values, &count);
    if (memory_groups_bytes(values) <= most_bytes && !held_values_compute(values, names, count)) {
        for (size_t i = 0; i < test->index.count; i++)
            held_values_get(values, i);
        answer = ask_nodes(question);
    }
    free(question->fed);
    recording_release(&question->record);
    under_test_release(test);
    return answer;
}

/* How the plain engine ends on the whole. */
static int run_whole(const struct settle_case *which, int engine, struct result *result)
{
    return handover_run_case(which->pool, which->test, false, &(struct job){.engine = engine}, result, NULL);
}

/* The number of the plain engine, -1 when there is none. */
static int find_plain(const struct settle_case *which)
{
    int plain = pool_plain(which->pool, which->engine);
    if (plain >= 0)
        return plain;
    struct result result; /* it is not up in this pool: once it is, it says what its knobs are */
    result_init(&result);
    run_whole(which, which->engine, &result);
    result_release(&result);
    return pool_plain(which->pool, which->engine);
}

/* Decides by how the plain engine ends on the whole model. A model of one node is that node alone. */
static enum answer ask_by_whole(struct question *question, const struct result *whole)
{
    struct known_answer answer = read_answer(question, whole, question->model);
    question->says_lack = question->says_lack || answer.answer == ANSWER_LACKS;
    question->message = answer.text;
    if (answer.answer == ANSWER_UNKNOWN || whole->outcome == OUTCOME_OK)
        return answer.answer;
    bool alone = question->model->graph->n_node == 1;
    if (alone && answer.answer == ANSWER_LACKS)
        return ANSWER_LACKS;
    if (alone && !(question->known->forms && form_is_spoken_of(whole->message)))
        return ANSWER_HAS;
    enum answer nodes = ask_alone(question);
    return alone ? ANSWER_HAS : nodes;
}

static enum answer ask(struct question *question, const struct settle_case *which, const struct result *ended)
{
    struct result whole;
    int plain = find_plain(which);
    if (plain < 0)
        return ANSWER_UNKNOWN;
    question->plain = *which;
    question->plain.engine = plain;
    question->says_lack = ended->outcome == OUTCOME_UNSUPPORTED;
    question->normal = normal_message(question, ended->message, question->model);
    if (plain == which->engine)
        return ask_by_whole(question, ended);
    result_init(&whole);
    question->known->asked++;
    enum answer answer = run_whole(which, plain, &whole) ? ANSWER_UNKNOWN : ask_by_whole(question, &whole);
    result_release(&whole);
    return answer;
}

static void tell(const struct question *question, enum answer answer, struct verdict *verdict)
{
    if (answer == ANSWER_LACKS) {
        const Onnx__NodeProto *node = question->model->graph->node[question->node];
        verdict_say(verdict, "%s (node %s) is not supported alone: %s", op_title(node), model_node_name(node),
                    question->message);
    } else {
        verdict_say(verdict, "whether the engine lacks an operator could not be asked; %s", verdict->text);
    }
    verdict->at_stage = false;
}

/*
 * Nothing obliges an engine to differentiate, and what it does not compute it need not differentiate. One
 * that computes the outputs and then fails half-way back, without a word of something that it lacks, is
 * wrong.
 */
static bool lacks_gradient(const struct settle_case *which, const struct result *ended)
{
    struct result result;
    struct job job = {.engine = which->engine};
    if (ended->outcome == OUTCOME_UNSUPPORTED)
        return true;
    result_init(&result);
    bool lacks = handover_run_case(which->pool, which->test, true, &job, &result, NULL) ||
                 result.outcome != OUTCOME_OK;
    result_release(&result);
    return lacks;
}

bool refusal_decide(struct refusals *known, const struct settle_case *which, const struct result *ended,
                    struct verdict *verdict)
{
    if (which->test->gradient && verdict_is(verdict->kind, CLASS_REFUSAL)) {
        bool lacks = lacks_gradient(which, ended);
        verdict->kind = lacks ? VERDICT_UNSUPPORTED : verdict->kind;
        return lacks;
    }
    const struct model *model =
        verdict_is(verdict->kind, CLASS_REFUSAL) ? test_case_model(which->test, NULL) : NULL;
    if (!model || !model->graph->n_node)
        return false;
    struct question question = {.known = known ? known : refusals_new(true), .model = model};
    enum answer answer = ask(&question, which, ended);
    /* What it answers in an equivalent model it has to take here. */
    bool limited = question.limited && !which->test->equivalence;
    if (decisions[answer].changes) {
        verdict->kind = question.says_lack ? VERDICT_UNSUPPORTED : decisions[answer].verdict;
        tell(&question, answer, verdict);
    } else if (limited) {
        verdict->kind = VERDICT_LIMITATION;
    }
    if (!known)
        refusals_free(question.known);
    return decisions[answer].changes || limited;
}
