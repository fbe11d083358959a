#include "locate/settle.h"

#include "base/memory.h"
#include "locate/localize.h"
#include "locate/node_sets.h"
#include "locate/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nodes of a model for which the reference computes all of it to see whether the answer hangs on one of them:
 * a node that is wrong by itself is enough in a larger one. */
enum { SMALL_ENOUGH = 64 };

void settlement_release(struct settlement *settlement)
{
    free(settlement->nodes);
    settlement->nodes = NULL;
    settlement->count = 0;
}

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

void settle_blame(struct settlement *settlement, const struct verdict *verdict, const size_t *nodes,
                  size_t count)
{
    settlement->kind = verdict->kind;
    settlement->verdict = *verdict;
    settlement->nodes = memory_zeroed(count, sizeof *nodes);
    memcpy(settlement->nodes, nodes, count * sizeof *nodes);
    qsort(settlement->nodes, count, sizeof *nodes, compare_sizes);
    settlement->count = count;
}

/*
 * Engines without kernels for the short float types compute neighbours in float32 and need not round between
 * them: what is recorded is then not quite what the next node had.
 */
static bool may_be_wider(const struct work *work, size_t number)
{
    for (size_t i = 0; i < work->index.n_uses[number]; i++) {
        size_t use = work->index.uses[number][i];
        const struct tensor *tensor = work->known[use];
        if (tensor && work->index.values[use].source == SOURCE_NODE &&
            (tensor->type == DTYPE_FLOAT16 || tensor->type == DTYPE_BFLOAT16))
            return true;
    }
    return false;
}

/* Whether it is inside the bounds of a node that is computed as one with those before it: an engine may do so
 * though their values are shown (a factor before a product becomes one of the product). */
static bool may_be_fused(struct work *work, size_t number)
{
    struct verdict loose;
    work_judge_node(work, number, true, &loose);
    return !verdict_is_finding(loose.kind);
}

static bool is_behind(const struct work *work, size_t number)
{
    for (size_t i = 0; i < work->index.n_uses[number]; i++)
        if (work->index.values[work->index.uses[number][i]].source == SOURCE_NODE)
            return true;
    return false;
}

/* Where its inputs may have been others than were recorded, a node must be outside its bound alone too; where
 * that is not so by any of its bounds, and all values are at hand, it may be those before it. */
void settle_node(struct work *work, size_t number, struct verdict *verdict)
{
    struct verdict alone;
    work->n_group = 0;
    work->alone = false;
    work_judge_node(work, number, false, verdict);
    work->judged += !verdict_is(verdict->kind, CLASS_NOTHING);
    work->right += verdict_is(verdict->kind, CLASS_AGREES | CLASS_SUSPECT);
    bool other =
        verdict_is_finding(verdict->kind) && (may_be_wider(work, number) || may_be_fused(work, number));
    if (!verdict_is_finding(verdict->kind) || (!other && (work->groups > 1 || !is_behind(work, number))))
        return;
    size_t output = verdict->output;
    work_judge_window(work, &number, 1, false, &alone);
    work->alone = verdict_is_finding(alone.kind);
    if (other)
        *verdict = alone;
    else if (!work->alone)
        windows_before(work, number, verdict);
    verdict->output = output; /* of the node: a window has outputs of its own */
}

void settle_blame_node(struct work *work, struct settlement *settlement, const struct verdict *verdict,
                       size_t number)
{
    settlement->fused = work->n_group && work->group_of == number;
    if (settlement->fused)
        settle_blame(settlement, verdict, work->group, work->n_group);
    else
        settle_blame(settlement, verdict, &number, 1);
}

/* The node as a model of its own, on the inputs it had; what was a constant stays one. */
static bool is_wrong_alone(struct work *work, size_t number)
{
    struct verdict verdict;
    size_t *nodes = memory_zeroed(work->which->model->graph->n_node, sizeof *nodes);
    size_t count = nodes_with_constants(work, &number, 1, nodes);
    work_judge_window(work, nodes, count, false, &verdict);
    free(nodes);
    return verdict_is_finding(verdict.kind);
}

static void spare(struct work *work, const size_t *nodes, size_t count, bool fused,
                  const struct verdict *verdict)
{
    if (!work->spare.nodes) {
        work->spare.nodes =
            arena_array(&work->arena, work->which->model->graph->n_node, sizeof *work->spare.nodes);
        memcpy(work->spare.first, nodes, count * sizeof *nodes);
        work->spare.n_first = count;
        work->spare.fused = fused;
        work->spare.verdict = *verdict;
    }
    for (size_t i = 0; i < count; i++)
        work->spare.nodes[nodes[i]] = true;
}

/* Whether the answer is as wrong when all that are wrong by themselves are replaced. */
static bool others_are_wrong(struct work *work)
{
    size_t n = work->which->model->graph->n_node, count = 0;
    size_t *nodes = memory_zeroed(n, sizeof *nodes);
    for (size_t i = 0; i < n; i++)
        if (work->spare.nodes[i])
            nodes[count++] = i;
    bool wrong = work_stays_off(work, nodes, count);
    free(nodes);
    return wrong;
}

enum settle_weight settle_weigh(struct work *work, size_t number, const struct verdict *verdict)
{
    bool fused = work->n_group && work->group_of == number, more = work->spare.nodes != NULL;
    const size_t *nodes = fused ? work->group : &number;
    size_t count = fused ? work->n_group : 1;
    if (work->which->model->graph->n_node < 2)
        return WEIGHT_FULL;
    bool wrong = fused || work->alone || is_wrong_alone(work, number);
    if (wrong && work->which->model->graph->n_node > SMALL_ENOUGH)
        return WEIGHT_FULL;
    if (!wrong && !work_breaks_right_inputs(work, number))
        return WEIGHT_NONE;
    if (!work_stays_off(work, nodes, count))
        return WEIGHT_FULL;
    if (!wrong)
        return WEIGHT_NONE;
    spare(work, nodes, count, fused, verdict);
    return more && !others_are_wrong(work) ? WEIGHT_TOGETHER : WEIGHT_SPARE;
}

void settle_blame_spare(const struct work *work, struct settlement *settlement)
{
    settlement->fused = work->spare.fused;
    settle_blame(settlement, &work->spare.verdict, work->spare.first, work->spare.n_first);
}

bool settle_blame_weighed(struct work *work, struct settlement *settlement, const struct verdict *verdict,
                          size_t number, enum settle_weight weight)
{
    if (weight == WEIGHT_FULL)
        settle_blame_node(work, settlement, verdict, number);
    else if (weight == WEIGHT_TOGETHER)
        settle_blame_spare(work, settlement);
    return weight == WEIGHT_FULL || weight == WEIGHT_TOGETHER;
}

/* The first node of the group that is outside its hard bound, and that matters, ends the search. */
static int visit_group(void *context, struct work *work, const struct record_group *group)
{
    struct settlement *settlement = context;
    for (size_t p = group->first; p < group->first + group->count; p++) {
        size_t number = work->index.order[p];
        struct verdict verdict;
        settle_node(work, number, &verdict);
        if (!verdict_is_finding(verdict.kind))
            continue;
        /* Broken by what comes behind it, maybe: only together with that it is to blame. */
        enum settle_weight weight =
            work_confirm(work, number, verdict.output) ? settle_weigh(work, number, &verdict) : WEIGHT_NONE;
        work->changed |= weight == WEIGHT_NONE;
        if (settle_blame_weighed(work, settlement, &verdict, number, weight))
            return 1;
    }
    return 0;
}

int settle_whole(struct work *work, struct settlement *settlement)
{
    const struct model *model = work->which->model;
    struct verdict verdict;
    work_judge_whole(work, &work->plain, &verdict);
    if (verdict_is(verdict.kind, CLASS_NOTHING))
        return error_set(work->err, ERROR_UNSUPPORTED, "the reference cannot compute the model");
    settlement->verdict = verdict;
    settlement->kind = verdict_is(verdict.kind, CLASS_SUSPECT) ? VERDICT_IMPRECISE : verdict.kind;
    settlement->every_node = (!work->changed || work->close) && work->right >= model->graph->n_node;
    if (!verdict_is_finding(verdict.kind) && work_is_fused(work, &work->plain)) {
        settlement->kind = settlement->verdict.kind = VERDICT_MISTRUSTED;
        snprintf(settlement->verdict.text, sizeof settlement->verdict.text,
                 "another formula for nodes computed as one explains it");
    }
    if (!verdict_is_finding(verdict.kind))
        return 0;
    /* Each operator gave what it may on what it had, and showing the values changed nothing: so the whole is
     * right, and the bounds of the whole are not. */
    if (!work->changed && work->judged >= model->graph->n_node) {
        settlement->kind = settlement->verdict.kind = VERDICT_MISTRUSTED;
        snprintf(settlement->verdict.text, sizeof settlement->verdict.text,
                 "every operator is right on the inputs it had, the whole is not: %.140s", verdict.text);
        return 0;
    }
    size_t *nodes = arena_array(&work->arena, model->graph->n_node, sizeof *nodes);
    size_t count = work_needed(work, verdict.output, nodes);
    settlement->fused = count > 1;
    settle_blame(settlement, &verdict, nodes, count);
    return 0;
}

void settle_describe(struct settlement *settlement, const struct model *model)
{
    char who[120] = "";
    size_t used = 0;
    for (size_t i = 0; i < settlement->count && used < sizeof who; i++) {
        const Onnx__NodeProto *node = model->graph->node[settlement->nodes[i]];
        used += (size_t)snprintf(who + used, sizeof who - used, "%s%s", i ? "+" : "", node->op_type);
    }
    if (settlement->count == 1) {
        const Onnx__NodeProto *node = model->graph->node[settlement->nodes[0]];
        snprintf(settlement->text, sizeof settlement->text, "%s (node %s): %s", who, localize_node_name(node),
                 settlement->verdict.text);
    } else if (settlement->count) {
        snprintf(settlement->text, sizeof settlement->text, "%s %s: %s", who,
                 verdict_is(settlement->verdict.kind, CLASS_NO_ANSWER) ? "together" : "fused",
                 settlement->verdict.text);
    } else {
        snprintf(settlement->text, sizeof settlement->text, "%s", settlement->verdict.text);
    }
}

int settle_hidden(struct work *work, struct settlement *settlement)
{
    int found = windows_unshown(work, settlement);
    return found < 0 ? -1 : found ? 0 : settle_whole(work, settlement);
}

static int settle_work(struct work *work, struct settlement *settlement)
{
    enum outcome outcome;
    if (work_run_plain(work) || record_run(work, visit_group, settlement, &outcome))
        return -1;
    if (outcome != OUTCOME_OK)
        return settle_hidden(work, settlement);
    if (settlement->count || (work->changed && windows_fused(work, settlement)))
        return 0;
    if (work->spare.nodes)
        settle_blame_spare(work, settlement);
    return work->spare.nodes ? 0 : settle_whole(work, settlement);
}

int settle_refused(struct work *work, struct settlement *settlement)
{
    /* A part may be refused for a reason of its own (a model without inputs, say): the same words first. */
    work->words = WORDS_SAME;
    int found = windows_unshown(work, settlement);
    work->words = WORDS_OWN;
    if (found > 0)
        windows_narrow(work, settlement);
    work->words = WORDS_ANY;
    if (!found)
        found = windows_unshown(work, settlement);
    if (!found)
        return error_set(work->err, ERROR_NOT_FOUND, "no part of the model is refused alone");
    return found < 0 ? -1 : 0;
}

static int with_work(const struct settle_case *which, const struct verdict *refusal,
                     const struct result *ended, struct settlement *settlement, struct error *err)
{
    struct work work;
    *settlement = (struct settlement){0};
    int status = work_init(&work, which, err);
    work.refusal = refusal;
    work.ended = ended;
    if (!status)
        status = refusal ? settle_refused(&work, settlement) : settle_work(&work, settlement);
    if (!status)
        settle_describe(settlement, which->model);
    work_release(&work);
    return status;
}

int settle(struct settlement *settlement, const struct settle_case *which, struct error *err)
{
    return with_work(which, NULL, NULL, settlement, err);
}

int settle_refusal(struct settlement *settlement, const struct settle_case *which,
                   const struct verdict *verdict, const struct result *ended, struct error *err)
{
    return with_work(which, verdict, ended, settlement, err);
}

bool settle_wanted(const struct verdict *verdict)
{
    return verdict_is(verdict->kind, CLASS_DEVIATES) && !verdict->by_vote;
}

bool settle_verdict(const struct settle_case *which, struct verdict *verdict, struct settlement *settlement)
{
    struct error err = {0};
    struct settlement found;
    if (!settle_wanted(verdict))
        return false;
    if (settle(&found, which, &err)) {
        settlement_release(&found);
        return false;
    }
    if (verdict_is(verdict->kind, CLASS_SUSPECT) || verdict_is(found.kind, CLASS_DOUBT))
        verdict->kind = found.kind;
    if (verdict_is(found.kind, CLASS_DOUBT))
        memcpy(verdict->text, found.verdict.text, sizeof verdict->text);
    *settlement = found;
    return true;
}
