#include "locate/localize.h"

#include "base/memory.h"
#include "base/progress.h"
#include "judge/standing.h"
#include "locate/rate.h"
#include "locate/refusal.h"
#include "locate/second_engine.h"
#include "locate/work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One localisation under way. */
struct search {
    const struct localize_case *which;
    struct localization *result;
    struct work work;
    struct twin twin;
    struct settlement settlement;
    struct progress progress;
};

const char *localize_node_name(const Onnx__NodeProto *node)
{
    if (node->name && *node->name)
        return node->name;
    for (size_t i = 0; i < node->n_output; i++)
        if (*node->output[i])
            return node->output[i];
    return "?";
}

static void prepare(struct search *search)
{
    struct localization *result = search->result;
    const struct localize_case *which = search->which;
    const Onnx__GraphProto *graph = which->model->graph;
    *result = (struct localization){
        .local = which->method & LOCALIZE_LOCAL,
        .rate = which->method & LOCALIZE_RATE,
        .quartile = NAN,
        .n_nodes = graph->n_node,
        .first_highlighted = graph->n_node,
        .text = "",
    };
    arena_init(&result->arena);
    result->engine = arena_strdup(&result->arena, pool_engine(which->pool, which->engine)->label);
    if (result->rate)
        result->second = arena_strdup(&result->arena, pool_engine(which->pool, which->second)->label);
    result->nodes = arena_array(&result->arena, graph->n_node, sizeof *result->nodes);
    for (size_t i = 0; i < graph->n_node; i++) {
        struct localized_node *node = &result->nodes[i];
        *node =
            (struct localized_node){.delta = NAN, .rate = NAN, .factor = NAN, .deviations = NAN, .text = ""};
        node->n_outputs = graph->node[i]->n_output;
        node->outputs = arena_array(&result->arena, node->n_outputs, sizeof *node->outputs);
        for (size_t k = 0; k < node->n_outputs; k++)
            node->outputs[k].name = graph->node[i]->output[k];
    }
}

/* Who is blamed is heard once more: see work_confirm and settle_weigh. */
static enum settle_weight weigh(struct search *search, size_t number, struct verdict *verdict)
{
    if (!verdict_is_finding(verdict->kind) || search->settlement.count)
        return WEIGHT_SPARE; /* nobody is blamed by it */
    bool shown = work_confirm(&search->work, number, verdict->output);
    enum settle_weight weight = shown ? settle_weigh(&search->work, number, verdict) : WEIGHT_NONE;
    if (weight != WEIGHT_NONE)
        return weight;
    search->work.changed = true;
    *verdict = (struct verdict){0};
    snprintf(verdict->text, sizeof verdict->text, "%s",
             shown ? "not judged: alone it is right on the inputs shown, and the answer does not hang on it"
                   : "not judged: the engine shows another value than it gives when the model ends here");
    return weight;
}

static void keep_verdict(struct search *search, size_t number, const struct verdict *verdict,
                         enum settle_weight weight)
{
    struct localized_node *node = &search->result->nodes[number];
    node->verdict = verdict->kind;
    node->wrong = verdict->wrong;
    node->total = verdict->total;
    enum heard heard = verdict_row(verdict->kind)->heard;
    search->result->n_judged += heard == HEARD_JUDGED || heard == HEARD_FINDING;
    if (!verdict_is(verdict->kind, CLASS_NOTHING)) {
        node->factor = verdict->factor;
        node->deviations = verdict->deviations;
    }
    if (*verdict->text)
        node->text = arena_strdup(&search->result->arena, verdict->text);
    if (!verdict_is_finding(verdict->kind))
        return;
    search->result->n_wrong++;
    settle_blame_weighed(&search->work, &search->settlement, verdict, number, weight);
}

static void keep_forms(struct search *search, size_t number)
{
    struct localized_node *node = &search->result->nodes[number];
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct tensor *tensor =
            *node->outputs[i].name ? work_named(&search->work, node->outputs[i].name) : NULL;
        if (!tensor)
            continue;
        node->outputs[i].type = tensor->type;
        node->outputs[i].shape = tensor->shape;
    }
}

static void measure(struct search *search, size_t number)
{
    const Onnx__NodeProto *node = search->which->model->graph->node[number];
    struct rate_mean mean = {0};
    for (size_t i = 0; i < node->n_output; i++) {
        size_t value;
        if (!*node->output[i] || !map_get(&search->work.index.names, node->output[i], &value))
            continue;
        if (search->work.known[value] && search->twin.known[value])
            rate_add(&mean, search->work.known[value], search->twin.known[value]);
    }
    search->result->nodes[number].delta = rate_delta(&mean);
}

static int visit(void *context, struct work *work, const struct record_group *group)
{
    struct search *search = context;
    size_t end = group->first + group->count;
    if (search->result->rate && twin_start(&search->twin, group))
        return -1;
    for (size_t p = group->first; p < end; p++) {
        size_t number = work->index.order[p];
        struct verdict verdict;
        keep_forms(search, number);
        if (search->result->local) {
            settle_node(work, number, &verdict);
            enum settle_weight weight = weigh(search, number, &verdict);
            keep_verdict(search, number, &verdict, weight);
        }
        progress_step(&search->progress, p);
    }
    if (!search->result->rate)
        return 0;
    if (twin_finish(&search->twin, group))
        return -1;
    for (size_t p = group->first; p < end; p++)
        measure(search, work->index.order[p]);
    twin_next(&search->twin, group);
    return 0;
}

static void conclude_rate(struct search *search)
{
    struct localization *result = search->result;
    size_t n = result->n_nodes;
    double *delta = memory_zeroed(n, sizeof *delta), *rate = memory_zeroed(n, sizeof *rate);
    for (size_t i = 0; i < n; i++)
        delta[i] = result->nodes[i].delta;
    rate_all(&search->work.index, delta, rate);
    result->quartile = rate_quartile(rate, n);
    for (size_t p = 0; p < n; p++) {
        size_t number = search->work.index.order[p];
        struct localized_node *node = &result->nodes[number];
        node->rate = rate[number];
        node->highlighted = node->rate > result->quartile;
        result->n_highlighted += node->highlighted;
        if (node->highlighted && result->first_highlighted == n)
            result->first_highlighted = number;
    }
    free(rate);
    free(delta);
}

/* A node that is fed by an input of the model, or by nothing at all. */
static bool is_entry(const struct model_index *index, size_t number)
{
    bool made = false;
    for (size_t i = 0; i < index->n_uses[number]; i++) {
        const struct index_value *value = &index->values[index->uses[number][i]];
        if (value->source == SOURCE_INPUT)
            return true;
        made |= value->source == SOURCE_NODE;
    }
    return !made;
}

/* Breadth first, backwards from the culprit; `after` leads back to it. Entries that only hold constants are
 * taken when there is no other. */
static void find_path(struct localization *result, const struct model_index *index, size_t culprit)
{
    size_t n = result->n_nodes, head = 0, tail = 0, entry = n, length = 0;
    size_t *queue = memory_zeroed(n, sizeof *queue), *after = memory_zeroed(n, sizeof *after);
    bool *seen = memory_zeroed(n, sizeof *seen);
    queue[tail++] = culprit;
    seen[culprit] = true;
    after[culprit] = n;
    while (head < tail && entry == n) {
        size_t number = queue[head++];
        if (is_entry(index, number) && index->n_uses[number])
            entry = number;
        for (size_t i = 0; i < index->n_uses[number]; i++) {
            const struct index_value *value = &index->values[index->uses[number][i]];
            if (value->source != SOURCE_NODE || seen[value->number])
                continue;
            seen[value->number] = true;
            after[value->number] = number;
            queue[tail++] = value->number;
        }
    }
    for (size_t at = entry < n ? entry : culprit; at < n; at = after[at])
        length++;
    result->path = arena_array(&result->arena, length, sizeof *result->path);
    for (size_t at = entry < n ? entry : culprit; at < n; at = after[at])
        result->path[result->n_path++] = at;
    free(seen);
    free(after);
    free(queue);
}

static void conclude(struct search *search)
{
    struct localization *result = search->result;
    struct settlement *settlement = &search->settlement;
    settle_describe(settlement, search->which->model);
    result->kind = settlement->kind;
    result->verdict = settlement->verdict;
    result->fused = settlement->fused;
    result->text = arena_strdup(&result->arena, settlement->text);
    result->n_culprits = settlement->count;
    result->culprits = arena_array(&result->arena, settlement->count, sizeof *result->culprits);
    size_t first = 0;
    for (size_t i = 0; i < settlement->count; i++) {
        result->culprits[i] = settlement->nodes[i];
        result->nodes[settlement->nodes[i]].culprit = true;
        if (search->work.index.position[settlement->nodes[i]] <
            search->work.index.position[settlement->nodes[first]])
            first = i;
    }
    if (settlement->count)
        find_path(result, &search->work.index, settlement->nodes[first]);
    result->groups = search->work.groups;
    result->largest = search->work.largest;
    result->runs = search->work.runs;
    result->wanted = search->work.wanted;
}

/* No answer: the part on which the engine ends in the same way. No rate without hidden states. */
static int search_refusal(struct search *search)
{
    struct work *work = &search->work;
    struct verdict verdict = {.kind = verdict_of_outcome(work->plain.outcome)};
    snprintf(verdict.text, sizeof verdict.text, "%s at %s: %.180s", verdict_name(verdict.kind),
             stage_name(work->plain.stage), work->plain.message ? work->plain.message : "");
    refusal_decide(NULL, work->which, &work->plain, &verdict);
    if (!verdict_is_finding(verdict.kind))
        return error_set(work->err, ERROR_UNSUPPORTED, "%s: %s", search->result->engine, verdict.text);
    search->settlement.kind = verdict.kind;
    search->settlement.verdict = verdict;
    search->result->rate = false;
    work->refusal = &verdict;
    work->ended = &work->plain;
    struct error err = {0};
    work->err = &err;
    if (search->result->local && settle_refused(work, &search->settlement) && err.code != ERROR_NOT_FOUND)
        snprintf(search->settlement.verdict.text, sizeof search->settlement.verdict.text,
                 "%.100s; not narrowed down: %.100s", verdict.text, err.message);
    work->refusal = NULL;
    return 0;
}

/*
 * Nobody is to blame. When showing the values changes nothing that counts, right nodes make a right whole,
 * even where the whole is too deep to be judged or has an operator that the reference lacks.
 */
static int conclude_quiet(struct search *search)
{
    struct settlement *settlement = &search->settlement;
    struct error *err = search->work.err, ignored = {0};
    search->work.err = &ignored;
    int status = settle_whole(&search->work, settlement);
    search->work.err = err;
    size_t judged = search->result->n_judged, all = search->result->n_nodes;
    bool unknown = status || verdict_is(settlement->kind, CLASS_UNJUDGED);
    if (!unknown)
        return 0;
    bool right = judged == all && (!search->work.changed || search->work.close);
    settlement->kind = settlement->verdict.kind = right ? VERDICT_AGREES : VERDICT_UNDECIDED;
    settlement->count = 0;
    snprintf(
        settlement->verdict.text, sizeof settlement->verdict.text,
        judged == all
            ? "all %zu nodes are within their bounds on the inputs they had; the whole has no bound"
            : "%zu of %zu nodes are within their bounds on the inputs they had; the others and the whole "
              "cannot be judged",
        judged, all);
    return 0;
}

static int search_answer(struct search *search, struct error *err)
{
    struct work *work = &search->work;
    enum outcome outcome;
    if (search->result->rate)
        twin_init(&search->twin, work, search->which->second, search->which->second_is_reference);
    progress_begin(&search->progress, "localize", search->result->n_nodes);
    search->progress.visible = search->progress.visible && search->which->progress;
    int status = record_run(work, visit, search, &outcome);
    progress_end(&search->progress);
    twin_release(&search->twin);
    if (status)
        return -1;
    if (outcome != OUTCOME_OK)
        search->result->unshown = arena_strdup(
            &search->result->arena, work->held.message ? work->held.message : outcome_name(outcome));
    if (outcome != OUTCOME_OK && !search->result->local)
        return error_set(err, ERROR_UNSUPPORTED, "%s does not show its values", search->result->engine);
    if (search->result->rate && outcome == OUTCOME_OK)
        conclude_rate(search);
    if (!search->result->local)
        return 0;
    /* What was shown before the engine gave up stands. */
    if (!search->settlement.count && !work->spare.nodes && outcome != OUTCOME_OK)
        return settle_hidden(work, &search->settlement);
    if (search->settlement.count ||
        (work->changed && outcome == OUTCOME_OK && windows_fused(work, &search->settlement)))
        return 0;
    if (work->spare.nodes)
        settle_blame_spare(work, &search->settlement);
    return work->spare.nodes ? 0 : conclude_quiet(search);
}

int localize(struct localization *localization, const struct localize_case *which, struct error *err)
{
    struct search search = {.which = which, .result = localization};
    struct settle_case settle_case = {
        .pool = which->pool,
        .engine = which->engine,
        .model = which->model,
        .inputs = which->inputs,
        .n_inputs = which->n_inputs,
        .max_window = which->max_window,
    };
    prepare(&search);
    int status = work_init(&search.work, &settle_case, err);
    if (!status && which->group_bytes)
        search.work.group_bytes = which->group_bytes;
    if (!status)
        status = work_run(&search.work, which->model, which->inputs, which->n_inputs, 0, &search.work.plain);
    if (!status)
        status =
            search.work.plain.outcome == OUTCOME_OK ? search_answer(&search, err) : search_refusal(&search);
    if (!status)
        conclude(&search);
    settlement_release(&search.settlement);
    work_release(&search.work);
    return status;
}

void localization_release(struct localization *localization)
{
    arena_release(&localization->arena);
}
