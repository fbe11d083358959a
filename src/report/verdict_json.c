#include "report/verdict_json.h"

static void strings(struct json *json, const char *name, const char *const *items, size_t count)
{
    json_array(json, name);
    for (size_t i = 0; i < count; i++)
        json_string(json, NULL, items[i]);
    json_end(json);
}

void classification_json(struct json *json, const struct classification *classification)
{
    bool given = classification->class != FINDING_UNCLASSIFIED;
    json_string(json, "class", given ? finding_class_row(classification->class)->word : NULL);
    json_string(json, "because", given ? classification->because : NULL);
}

static void element(struct json *json, const struct verdict *verdict)
{
    json_object(json, "worst");
    json_int(json, "output", (int64_t)verdict->output);
    json_int(json, "element", (int64_t)verdict->element);
    json_double(json, "got", (double)verdict->got);
    json_double(json, "expected", (double)verdict->expected);
    json_double(json, "hard_bound", verdict->hard);
    json_end(json);
    json_double(json, "factor", verdict->factor);
    json_double(json, "deviations", verdict->deviations);
}

static void expectations(struct json *json, const struct engine_verdict *overall)
{
    size_t held = 0;
    for (int i = EXPECTATION_NONE + 1; i < EXPECTATION_COUNT; i++)
        held += overall->expectations[i];
    if (!held)
        return;
    json_object(json, "expected");
    for (int i = EXPECTATION_NONE + 1; i < EXPECTATION_COUNT; i++)
        if (overall->expectations[i])
            json_int(json, expectation_name((enum expectation)i), (int64_t)overall->expectations[i]);
    json_end(json);
}

static void node_json(struct json *json, const struct node_evidence *node)
{
    json_object(json, NULL);
    json_string(json, "operator", node->operator);
    json_string(json, "node", node->name);
}

/* Operators that were not judged on some sample, and those of which elements have no useful bound. */
static void unjudged_json(struct json *json, const struct operator_evidence *evidence)
{
    json_array(json, "unjudged");
    for (size_t i = 0; i < evidence->n_nodes; i++) {
        const struct node_evidence *node = &evidence->nodes[i];
        if (node->judged == evidence->samples)
            continue;
        node_json(json, node);
        json_int(json, "samples", (int64_t)(evidence->samples - node->judged));
        json_string(json, "why", node->why);
        json_end(json);
    }
    json_end(json);
    json_array(json, "vague");
    for (size_t i = 0; i < evidence->n_nodes; i++) {
        const struct node_evidence *node = &evidence->nodes[i];
        if (!node->vague)
            continue;
        node_json(json, node);
        json_int(json, "elements", (int64_t)node->elements);
        json_int(json, "vague", (int64_t)node->vague);
        json_end(json);
    }
    json_end(json);
}

static void unexercised_json(struct json *json, const struct operator_evidence *evidence)
{
    json_array(json, "borrowed");
    for (size_t i = 0; i < evidence->n_nodes; i++)
        if (evidence->nodes[i].borrowed)
            json_string(json, NULL, evidence->nodes[i].name);
    json_end(json);
    json_array(json, "lowered");
    for (size_t i = 0; i < evidence->n_nodes; i++)
        if (evidence->nodes[i].lowered)
            json_string(json, NULL, evidence->nodes[i].name);
    json_end(json);
    json_array(json, "not_exercised");
    for (size_t i = 0; i < evidence->n_nodes; i++) {
        const char *missing = operator_evidence_missing(evidence, i);
        if (!missing)
            continue;
        node_json(json, &evidence->nodes[i]);
        json_string(json, "what", missing);
        json_end(json);
    }
    json_end(json);
}

static void evidence_json(struct json *json, const struct operator_evidence *evidence)
{
    const struct node_evidence *weakest = operator_evidence_weakest(evidence);
    json_object(json, "evidence");
    json_int(json, "checked_samples", (int64_t)evidence->samples);
    json_int(json, "complete_samples", (int64_t)evidence->complete);
    json_int(json, "operators", (int64_t)evidence->n_nodes);
    json_int(json, "judged", (int64_t)evidence->most);
    json_string(json, "failure", evidence->failure);
    if (weakest) {
        json_double(json, "largest_error", operator_evidence_error(evidence));
        json_object(json, "weakest");
        json_string(json, "operator", weakest->operator);
        json_string(json, "node", weakest->name);
        json_double(json, "visible", weakest->visible);
        json_end(json);
    }
    unjudged_json(json, evidence);
    unexercised_json(json, evidence);
    json_end(json);
}

void verdict_counts_json(struct json *json, const char *name, const uint64_t counts[VERDICT_COUNT])
{
    json_object(json, name);
    for (enum verdict_kind kind = 0; verdict_exists(kind); kind++)
        if (counts[kind])
            json_int(json, verdict_name(kind), (int64_t)counts[kind]);
    json_end(json);
}

void engine_verdict_json(struct json *json, const char *name, const struct engine_verdict *overall)
{
    const struct verdict *verdict = &overall->verdict;
    struct str sentence;
    str_init(&sentence);
    engine_verdict_sentence(overall, &sentence);
    json_object(json, name);
    json_string(json, "verdict", verdict_name(verdict->kind));
    json_bool(json, "finding", verdict_is_bug(verdict->kind));
    json_string(json, "known", overall->known);
    json_string(json, "by", verdict->by_vote ? "vote" : "reference");
    json_string(json, "text", sentence.data);
    classification_json(json, &overall->class);
    strings(json, "operators", overall->operators, overall->n_nodes);
    strings(json, "nodes", overall->nodes, overall->n_nodes);
    json_bool(json, "fused", overall->fused);
    json_string(json, "cause", overall->cause);
    json_int(json, "sample", (int64_t)overall->sample);
    bool deviates = verdict->wrong + verdict->suspect + verdict->strange > 0;
    if (verdict_is(verdict->kind, CLASS_OTHER_VALUES | CLASS_SUSPECT | CLASS_IMPRECISE | CLASS_LOSSY) &&
        deviates)
        element(json, verdict);
    expectations(json, overall);
    json_object(json, "elements");
    json_int(json, "total", (int64_t)verdict->total);
    json_int(json, "judged", (int64_t)verdict->judged);
    json_int(json, "wrong", (int64_t)verdict->wrong);
    json_int(json, "suspect", (int64_t)verdict->suspect);
    json_end(json);
    verdict_counts_json(json, "samples", overall->counts);
    if (overall->evidence.samples || overall->evidence.failed)
        evidence_json(json, &overall->evidence);
    json_end(json);
    str_release(&sentence);
}
