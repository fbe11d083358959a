#include "locate/settle.h"

#include "base/memory.h"
#include "locate/localize.h"
#include "locate/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    work->judged += verdict->kind != VERDICT_UNTESTED;
    work->right += verdict->kind == VERDICT_AGREES || verdict->kind == VERDICT_SUSPECT;
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

/* The search for a node to blame. */
struct search {
    struct settlement *settlement;
    bool tried;
    bool *
        wanted; /* by position up to `end`: what the wrong output is computed from; NULL: all that there is */
    size_t end;
    bool spare; /* a node outside its bound that the wrong output does not hang on */
    struct verdict verdict;
    size_t node;
};

/* With several outputs a node may be wrong and do no harm, while another one does. */
static void search_wanted(struct search *search, struct work *work)
{
    const Onnx__GraphProto *graph = work->which->model->graph;
    struct verdict verdict;
    search->tried = true;
    if (graph->n_output < 2)
        return;
    work_judge_whole(work, &work->plain, &verdict);
    if (!verdict_is_finding(verdict.kind) || verdict.output >= graph->n_output)
        return;
    const struct index_value *value = model_index_find(&work->index, graph->output[verdict.output]->name);
    if (!value || value->source != SOURCE_NODE)
        return;
    search->end = work->index.position[value->number];
    search->wanted = work_ancestors(work, search->end, 0);
}

/* The first node of the group that is outside its hard bound, and that matters, ends the search. */
static int visit_group(void *context, struct work *work, const struct record_group *group)
{
    struct search *search = context;
    for (size_t p = group->first; p < group->first + group->count; p++) {
        size_t number = work->index.order[p];
        struct verdict verdict;
        settle_node(work, number, &verdict);
        if (!verdict_is_finding(verdict.kind))
            continue;
        if (!search->tried)
            search_wanted(search, work);
        /* Broken by what comes behind it, maybe: only together with that it is to blame. */
        if (!work_confirm(work, number, verdict.output)) {
            work->changed = true;
            continue;
        }
        if (!search->wanted || (p <= search->end && search->wanted[p])) {
            settle_blame_node(work, search->settlement, &verdict, number);
            return 1;
        }
        if (!search->spare) {
            search->spare = true;
            search->verdict = verdict;
            search->node = number;
        }
    }
    return 0;
}

int settle_whole(struct work *work, struct settlement *settlement)
{
    const struct model *model = work->which->model;
    struct verdict verdict;
    work_judge_whole(work, &work->plain, &verdict);
    if (verdict.kind == VERDICT_UNTESTED)
        return error_set(work->err, ERROR_UNSUPPORTED, "the reference cannot compute the model");
    settlement->verdict = verdict;
    settlement->kind = verdict.kind == VERDICT_SUSPECT ? VERDICT_IMPRECISE : verdict.kind;
    settlement->every_node = !work->changed && work->right >= model->graph->n_node;
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
    size_t *all = arena_array(&work->arena, model->graph->n_node, sizeof *all);
    for (size_t i = 0; i < model->graph->n_node; i++)
        all[i] = i;
    settlement->fused = model->graph->n_node > 1;
    settle_blame(settlement, &verdict, all, model->graph->n_node);
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
                 settlement->verdict.kind >= VERDICT_REJECTED ? "together" : "fused",
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
    struct search search = {.settlement = settlement};
    int status = work_run_plain(work) || record_run(work, visit_group, &search, &outcome) ? -1 : 0;
    free(search.wanted);
    if (status)
        return -1;
    if (outcome != OUTCOME_OK)
        return settle_hidden(work, settlement);
    if (settlement->count || (work->changed && windows_fused(work, settlement)))
        return 0;
    if (search.spare) {
        settle_blame(settlement, &search.verdict, &search.node, 1);
        return 0;
    }
    return settle_whole(work, settlement);
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
    *settlement = (struct settlement){.kind = VERDICT_UNTESTED};
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
