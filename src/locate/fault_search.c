#include "locate/fault_search.h"

#include "base/memory.h"
#include "bounds/contract.h"
#include "locate/blame_check.h"
#include "locate/node_sets.h"
#include "locate/node_verdict.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Up to this many nodes, the reference computes the whole model to see whether the answer depends on a node
 * that is wrong by itself; in a larger model such a node is blamed without that. */
enum { SMALL_ENOUGH = 64 };

int fault_search_init(struct fault_search *search, const struct settle_case *which, struct error *err)
{
    *search = (struct fault_search){0};
    if (under_test_init(&search->test, which, err))
        return -1;
    whole_answer_init(&search->whole, &search->test);
    recording_init(&search->record, &search->test, &search->whole);
    group_search_init(&search->groups, &search->record);
    return 0;
}

void fault_search_release(struct fault_search *search)
{
    if (!search->record.test)
        return;
    side_by_side_release(&search->ahead.run);
    group_search_release(&search->groups);
    recording_release(&search->record);
    whole_answer_release(&search->whole);
    under_test_release(&search->test);
}

/*
 * Engines without kernels for the short float types compute neighbours in float32 and need not round between
 * them: what is recorded is then not quite what the next node had.
 */
static bool may_be_wider(const struct fault_search *search, size_t number)
{
    for (size_t i = 0; i < search->test.index.n_uses[number]; i++) {
        size_t use = search->test.index.uses[number][i];
        const struct tensor *tensor = search->record.values.known[use];
        if (tensor && search->test.index.values[use].source == SOURCE_NODE &&
            (tensor->type == DTYPE_FLOAT16 || tensor->type == DTYPE_BFLOAT16))
            return true;
    }
    return false;
}

/* Whether it is inside the bounds of a node that is computed as one with those before it: an engine may do so
 * though their values are shown (a factor before a product becomes one of the product). */
static bool may_be_fused(struct fault_search *search, size_t number)
{
    struct verdict loose;
    node_judge(&search->record, number, true, &loose);
    return !verdict_is_finding(loose.kind);
}

static bool is_behind(const struct fault_search *search, size_t number)
{
    for (size_t i = 0; i < search->test.index.n_uses[number]; i++)
        if (search->test.index.values[search->test.index.uses[number][i]].source == SOURCE_NODE)
            return true;
    return false;
}

/* What a process found out about a node. */
struct ahead {
    bool limits;
    struct verdict verdict;
};

static bool judge_ahead(void *context, size_t piece, void *result)
{
    struct fault_search *search = context;
    struct recording *record = &search->record;
    struct ahead *ahead = result;
    bool limits = record->limits;
    record->limits = false;
    node_judge(record, search->test.index.order[search->ahead.first + piece], false, &ahead->verdict);
    ahead->limits = record->limits;
    record->limits = limits;
    return true;
}

void fault_search_group(struct fault_search *search, const struct memory_group *group)
{
    enum { WORTH_BYTES = 1 << 20, CHUNK = 2 }; /* a fork takes a millisecond */
    side_by_side_release(&search->ahead.run);
    search->ahead.first = group->first;
    if (group->bytes < WORTH_BYTES)
        return;
    contract_on_one_thread(); /* no fork starts threads */
    side_by_side_run(&search->ahead.run, group->count, CHUNK, sizeof(struct ahead), judge_ahead, search);
}

static void judge_recorded_node(struct fault_search *search, size_t number, struct verdict *verdict)
{
    size_t place = search->test.index.position[number];
    const struct ahead *ahead = place >= search->ahead.first
                                    ? side_by_side_result(&search->ahead.run, place - search->ahead.first)
                                    : NULL;
    if (!ahead) {
        node_judge(&search->record, number, false, verdict);
        return;
    }
    *verdict = ahead->verdict;
    search->record.limits |= ahead->limits;
}

/* Where a node may have had other inputs than those recorded, it must be outside its bound also as a model of
 * its own. When it is not, by any of its bounds, and all values are known, the nodes before it may be
 * computed together with it. */
void fault_search_node(struct fault_search *search, size_t number, struct verdict *verdict)
{
    struct verdict alone;
    search->last.group.count = 0;
    search->last.alone = false;
    judge_recorded_node(search, number, verdict);
    search->judged += !verdict_is(verdict->kind, CLASS_NOTHING);
    search->right += verdict_is(verdict->kind, CLASS_AGREES | CLASS_SUSPECT);
    bool other =
        verdict_is_finding(verdict->kind) && (may_be_wider(search, number) || may_be_fused(search, number));
    if (!verdict_is_finding(verdict->kind) ||
        (!other && (search->record.groups > 1 || !is_behind(search, number))))
        return;
    size_t output = verdict->output;
    part_judge(&search->record, NULL, &number, 1, false, &alone);
    search->last.alone = verdict_is_finding(alone.kind);
    if (other)
        *verdict = alone;
    else if (!search->last.alone)
        fused_group_before(&search->groups, number, &search->last.group, verdict);
    verdict->output = output; /* of the node: a part has outputs of its own */
}

bool fault_search_confirm(struct fault_search *search, size_t number, size_t output)
{
    return search->last.alone || search->last.group.count || blame_confirm(&search->record, number, output);
}

/* The node as a model of its own, on the inputs it had; what was a constant stays one. */
static bool is_wrong_alone(struct fault_search *search, size_t number)
{
    struct verdict verdict;
    size_t *nodes = memory_zeroed(search->test.index.model->graph->n_node, sizeof *nodes);
    size_t count = nodes_with_constants(&search->test.index, &number, 1, nodes);
    part_judge(&search->record, NULL, nodes, count, false, &verdict);
    free(nodes);
    return verdict_is_finding(verdict.kind);
}

static void spare(struct fault_search *search, const size_t *nodes, size_t count, size_t number,
                  const struct verdict *verdict)
{
    if (!search->spare.nodes) {
        search->spare.nodes = arena_array(&search->test.arena, search->test.index.model->graph->n_node,
                                          sizeof *search->spare.nodes);
        search->groups.skipped = search->spare.nodes;
        memcpy(search->spare.first.nodes, nodes, count * sizeof *nodes);
        search->spare.first.count = count;
        search->spare.at = number;
        search->spare.verdict = *verdict;
    }
    for (size_t i = 0; i < count; i++)
        search->spare.nodes[nodes[i]] = true;
}

/* Whether the answer is as wrong when all that are wrong by themselves are replaced. */
static bool others_are_wrong(struct fault_search *search)
{
    size_t n = search->test.index.model->graph->n_node, count = 0;
    size_t *nodes = memory_zeroed(n, sizeof *nodes);
    for (size_t i = 0; i < n; i++)
        if (search->spare.nodes[i])
            nodes[count++] = i;
    bool wrong = blame_stays_off(&search->record, nodes, count);
    free(nodes);
    return wrong;
}

enum fault_search_weight fault_search_weigh(struct fault_search *search, size_t number,
                                            const struct verdict *verdict)
{
    bool behind = search->last.group.count > 0, more = search->spare.nodes != NULL;
    const size_t *nodes = behind ? search->last.group.nodes : &number;
    size_t count = behind ? search->last.group.count : 1;
    if (search->test.index.model->graph->n_node < 2)
        return WEIGHT_FULL;
    bool wrong = behind || search->last.alone || is_wrong_alone(search, number);
    if (wrong && search->test.index.model->graph->n_node > SMALL_ENOUGH)
        return WEIGHT_FULL;
    if (!wrong && !blame_breaks_right_inputs(&search->record, number))
        return WEIGHT_NONE;
    if (!blame_stays_off(&search->record, nodes, count))
        return WEIGHT_FULL;
    if (!wrong)
        return WEIGHT_NONE;
    spare(search, nodes, count, number, verdict);
    return more && !others_are_wrong(search) ? WEIGHT_TOGETHER : WEIGHT_SPARE;
}

/* The one of `nodes` at which they go wrong: its value is wrong on the inputs that were shown. */
static void blame_at(struct settlement *settlement, const struct verdict *verdict, const size_t *nodes,
                     size_t count, size_t at)
{
    settlement->fused = settlement->behind = count > 1;
    settlement->at = at;
    settlement_blame(settlement, verdict, nodes, count);
}

static void blame_node(struct fault_search *search, struct settlement *settlement,
                       const struct verdict *verdict, size_t number)
{
    if (search->last.group.count)
        blame_at(settlement, verdict, search->last.group.nodes, search->last.group.count, number);
    else
        blame_at(settlement, verdict, &number, 1, number);
}

void fault_search_blame_spare(const struct fault_search *search, struct settlement *settlement)
{
    blame_at(settlement, &search->spare.verdict, search->spare.first.nodes, search->spare.first.count,
             search->spare.at);
}

bool fault_search_blame(struct fault_search *search, struct settlement *settlement,
                        const struct verdict *verdict, size_t number, enum fault_search_weight weight)
{
    if (weight == WEIGHT_FULL)
        blame_node(search, settlement, verdict, number);
    else if (weight == WEIGHT_TOGETHER)
        fault_search_blame_spare(search, settlement);
    return weight == WEIGHT_FULL || weight == WEIGHT_TOGETHER;
}

/* A node that is not confirmed may be computed together with those behind it: then it is to blame only
 * together with them. */
bool fault_search_accuse(struct fault_search *search, struct settlement *settlement,
                         const struct verdict *verdict, size_t number)
{
    enum fault_search_weight weight = fault_search_confirm(search, number, verdict->output)
                                          ? fault_search_weigh(search, number, verdict)
                                          : WEIGHT_NONE;
    search->record.changed |= weight == WEIGHT_NONE;
    return fault_search_blame(search, settlement, verdict, number, weight);
}

void fault_search_blame_suspect(struct fault_search *search, struct settlement *settlement, size_t number)
{
    struct verdict verdict;
    part_judge(&search->record, NULL, &number, 1, false, &verdict);
    if (!verdict_is(verdict.kind, CLASS_SUSPECT))
        return;
    verdict.kind = VERDICT_IMPRECISE;
    settlement_blame(settlement, &verdict, &number, 1);
}

/* Whether the answer is right only because another formula was allowed for. */
static bool is_right_by_fusing(const struct fault_search *search)
{
    const struct test_case *whole = search->test.whole;
    return expected_by_fusing(search->test.model, &search->test.alone, whole->inputs, whole->n_inputs,
                              &search->whole.answer);
}

int fault_search_whole(struct fault_search *search, struct settlement *settlement)
{
    const struct model *model = search->test.index.model;
    struct verdict verdict;
    whole_answer_judge(&search->whole, &search->whole.answer, &verdict);
    if (verdict_is(verdict.kind, CLASS_NOTHING))
        return error_set(search->test.err, ERROR_UNSUPPORTED, "the reference cannot compute the model");
    settlement->verdict = verdict;
    settlement->kind = verdict_is(verdict.kind, CLASS_SUSPECT) ? VERDICT_IMPRECISE : verdict.kind;
    if (verdict.lowered)
        verdict_say(&settlement->verdict,
                    "within its bounds only because some operators are computed in fewer bits");
    settlement->every_node =
        (!search->record.changed || search->groups.close) && search->right >= model->graph->n_node;
    if (!verdict.lowered && !verdict_is_finding(verdict.kind) && is_right_by_fusing(search)) {
        settlement_doubt(settlement);
        snprintf(settlement->verdict.text, sizeof settlement->verdict.text,
                 "another formula for the nodes that are computed as one explains the difference");
    }
    if (!verdict_is_finding(verdict.kind))
        return 0;
    /* Each operator is within its bound on the inputs it had, and exposing the values changed nothing. So the
     * answer is right, and the bounds of the whole are wrong. */
    if (!search->record.changed && search->judged >= model->graph->n_node) {
        settlement_doubt(settlement);
        verdict_say(&settlement->verdict,
                    "every operator is right on the inputs it had, but the whole is not: %s", verdict.text);
        return 0;
    }
    size_t *nodes = arena_array(&search->test.arena, model->graph->n_node, sizeof *nodes);
    size_t count = blame_needed(&search->record, verdict.output, nodes);
    settlement->fused = count > 1;
    settlement_blame(settlement, &verdict, nodes, count);
    return 0;
}

int fault_search_hidden(struct fault_search *search, struct settlement *settlement)
{
    int found = fused_group_find_unshown(&search->groups, settlement);
    return found < 0 ? -1 : found ? 0 : fault_search_whole(search, settlement);
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether a text has the name as a word of its own. */
static bool has_name(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = length ? strstr(text, name) : NULL; at; at = strstr(at + 1, name))
        if ((at == text || !is_of_name(at[-1])) && !is_of_name(at[length]))
            return true;
    return false;
}

/* Whether the engine's message names nodes of the model, and none of those to blame. */
static bool names_others(const struct fault_search *search, const char *message,
                         const struct settlement *found)
{
    const Onnx__GraphProto *graph = search->test.index.model->graph;
    bool others = false;
    for (size_t i = 0; i < graph->n_node; i++) {
        if (!graph->node[i]->name || !has_name(message, graph->node[i]->name))
            continue;
        for (size_t k = 0; k < found->count; k++)
            if (found->nodes[k] == i)
                return false;
        others = true;
    }
    return others;
}

/* A part that is refused with another message than the whole is only a guess; the message of the whole may
 * contradict it. */
static int search_refused_otherwise(struct fault_search *search, const struct result *ended,
                                    struct settlement *settlement)
{
    struct settlement before = *settlement;
    int found = fused_group_find_unshown(&search->groups, settlement);
    if (found <= 0 || !ended->message || !names_others(search, ended->message, settlement))
        return found;
    settlement_release(settlement);
    *settlement = before;
    return 0;
}

int fault_search_refused(struct fault_search *search, const struct verdict *verdict,
                         const struct result *ended, struct settlement *settlement)
{
    /* A part may be refused for a reason of its own (a model without inputs, say): the same message first. */
    struct refused refused = {.verdict = verdict, .ended = ended, .message = MESSAGE_SAME};
    search->groups.refused = &refused;
    int found = fused_group_find_unshown(&search->groups, settlement);
    refused.message = MESSAGE_OWN;
    if (found > 0)
        fused_group_narrow(&search->groups, settlement);
    refused.message = MESSAGE_ANY;
    if (!found)
        found = search_refused_otherwise(search, ended, settlement);
    if (found > 0)
        fused_group_add_constants(&search->groups, settlement);
    search->groups.refused = NULL;
    if (!found)
        return error_set(search->test.err, ERROR_NOT_FOUND, "no part of the model is refused alone");
    return found < 0 ? -1 : 0;
}
