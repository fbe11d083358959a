#include "locate/localize.h"

#include "base/memory.h"
#include "base/progress.h"
#include "judge/standing.h"
#include "locate/node_verdict.h"
#include "locate/operator_check.h"
#include "locate/rate.h"
#include "locate/refusal.h"
#include "locate/second_engine.h"
#include "locate/fault_search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One localisation under way. */
struct localizing {
    const struct localize_case *which;
    const struct model *model;
    struct localization *result;
    struct fault_search search;
    struct second_engine second;
    struct settlement settlement;
    struct progress progress;
};

static void prepare(struct localizing *localizing)
{
    struct localization *result = localizing->result;
    const struct localize_case *which = localizing->which;
    const Onnx__GraphProto *graph = localizing->model->graph;
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
    if (which->method & (LOCALIZE_RATE | LOCALIZE_SWAP))
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

/* Checks a node once more before it is blamed: see fault_search_confirm and fault_search_weigh. */
static enum fault_search_weight weigh(struct localizing *localizing, size_t number, struct verdict *verdict)
{
    if (!verdict_is_finding(verdict->kind) || localizing->settlement.count)
        return WEIGHT_SPARE; /* nobody is blamed by it */
    bool shown = fault_search_confirm(&localizing->search, number, verdict->output);
    enum fault_search_weight weight =
        shown ? fault_search_weigh(&localizing->search, number, verdict) : WEIGHT_NONE;
    if (weight != WEIGHT_NONE)
        return weight;
    localizing->search.record.changed = true;
    *verdict = (struct verdict){0};
    snprintf(verdict->text, sizeof verdict->text, "%s",
             shown ? "not judged: alone it is right on the inputs shown, and the answer does not depend on it"
                   : "not judged: the engine shows another value here than when the model ends at this node");
    return weight;
}

static void keep_verdict(struct localizing *localizing, size_t number, const struct verdict *verdict,
                         enum fault_search_weight weight)
{
    struct localized_node *node = &localizing->result->nodes[number];
    node->verdict = verdict->kind;
    node->wrong = verdict->wrong;
    node->total = verdict->total;
    enum heard heard = verdict_row(verdict->kind)->heard;
    /* A value that the engine replaces by a constant is judged by the nodes that use it. */
    localizing->result->n_judged +=
        heard == HEARD_JUDGED || heard == HEARD_FINDING || node_is_folded(&localizing->search.record, number);
    if (!verdict_is(verdict->kind, CLASS_NOTHING)) {
        node->factor = verdict->factor;
        node->deviations = verdict->deviations;
    }
    if (*verdict->text)
        node->text = arena_strdup(&localizing->result->arena, verdict->text);
    if (!verdict_is_finding(verdict->kind))
        return;
    localizing->result->n_wrong++;
    fault_search_blame(&localizing->search, &localizing->settlement, verdict, number, weight);
}

static void keep_forms(struct localizing *localizing, size_t number)
{
    struct localized_node *node = &localizing->result->nodes[number];
    for (size_t i = 0; i < node->n_outputs; i++) {
        const struct tensor *tensor =
            *node->outputs[i].name
                ? held_values_find(&localizing->search.record.values, node->outputs[i].name)
                : NULL;
        if (!tensor)
            continue;
        node->outputs[i].type = tensor->type;
        node->outputs[i].shape = tensor->shape;
    }
}

static void measure(struct localizing *localizing, size_t number)
{
    const Onnx__NodeProto *node = localizing->model->graph->node[number];
    struct rate_mean mean = {0};
    for (size_t i = 0; i < node->n_output; i++) {
        size_t value;
        if (!*node->output[i] || !map_get(&localizing->search.test.index.names, node->output[i], &value))
            continue;
        if (localizing->search.record.values.known[value] && localizing->second.known[value])
            rate_add(&mean, localizing->search.record.values.known[value], localizing->second.known[value]);
    }
    localizing->result->nodes[number].delta = rate_delta(&mean);
}

static int visit(void *context, struct recording *record, const struct memory_group *group)
{
    struct localizing *localizing = context;
    size_t end = group->first + group->count;
    if (localizing->result->rate && second_engine_start(&localizing->second, group))
        return -1;
    if (localizing->result->local)
        fault_search_group(&localizing->search, group);
    for (size_t p = group->first; p < end; p++) {
        size_t number = record->test->index.order[p];
        struct verdict verdict;
        keep_forms(localizing, number);
        if (localizing->result->local) {
            fault_search_node(&localizing->search, number, &verdict);
            enum fault_search_weight weight = weigh(localizing, number, &verdict);
            keep_verdict(localizing, number, &verdict, weight);
        }
        progress_step(&localizing->progress, p);
    }
    if (!localizing->result->rate)
        return 0;
    if (second_engine_finish(&localizing->second, group))
        return -1;
    for (size_t p = group->first; p < end; p++)
        measure(localizing, record->test->index.order[p]);
    second_engine_next(&localizing->second, group);
    return 0;
}

static void conclude_rate(struct localizing *localizing)
{
    struct localization *result = localizing->result;
    size_t n = result->n_nodes;
    double *delta = memory_zeroed(n, sizeof *delta), *rate = memory_zeroed(n, sizeof *rate);
    for (size_t i = 0; i < n; i++)
        delta[i] = result->nodes[i].delta;
    rate_all(&localizing->search.test.index, delta, rate);
    result->quartile = rate_quartile(rate, n);
    for (size_t p = 0; p < n; p++) {
        size_t number = localizing->search.test.index.order[p];
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

static void take_culprits(struct localization *result, const struct settlement *settlement)
{
    result->culprits = arena_array(&result->arena, settlement->count, sizeof *result->culprits);
    result->behind = arena_array(&result->arena, settlement->count, sizeof *result->behind);
    for (size_t i = 0; i < settlement->count; i++) {
        size_t number = settlement->nodes[i];
        if (settlement->behind && number != settlement->at) {
            result->behind[result->n_behind++] = number;
            continue;
        }
        result->culprits[result->n_culprits++] = number;
        result->nodes[number].culprit = true;
    }
}

static void conclude(struct localizing *localizing)
{
    struct localization *result = localizing->result;
    struct settlement *settlement = &localizing->settlement;
    settlement_describe(settlement, localizing->model);
    result->kind = settlement->kind;
    result->verdict = settlement->verdict;
    result->fused = settlement->fused && !settlement->behind;
    result->text = arena_strdup(&result->arena, settlement->text);
    take_culprits(result, settlement);
    size_t first = 0;
    for (size_t i = 0; i < result->n_culprits; i++)
        if (localizing->search.test.index.position[result->culprits[i]] <
            localizing->search.test.index.position[result->culprits[first]])
            first = i;
    if (result->n_culprits)
        find_path(result, &localizing->search.test.index, result->culprits[first]);
    result->groups = localizing->search.record.groups;
    result->largest = localizing->search.record.largest;
    result->runs = localizing->search.test.runs;
    result->wanted = localizing->search.record.wanted;
}

/* Nodes on the inputs they had, as a case of their own; NULL when they cannot be cut out. */
static struct test_case *cut_nodes(struct localizing *localizing, const size_t *nodes, size_t count,
                                   struct error *err)
{
    struct part part;
    struct test_case *test = NULL;
    if (part_cut(&part, &localizing->search.record, nodes, count)) {
        test = test_case_new(part.model);
        if (test_case_add_inputs(test, part.inputs, part.n_inputs, err)) {
            test_case_free(test);
            test = NULL;
        }
        part.model = NULL;
    }
    part_release(&part);
    return test;
}

/* The largest fused group that is looked for unless more is asked for. Each node more is that many more
 * parameters to try one by one. */
enum { CAUSE_NODES = 12 };

/* Bytes of all values of a network that is run again with the cure. */
enum { RERUN_BYTES = 64 << 20 };

static bool makes(const Onnx__NodeProto *a, const Onnx__NodeProto *b)
{
    return a->n_output && b->n_output && text_equal(a->output[0], b->output[0]);
}

/* Nodes of the fixed network are found again by what they make: a cure may have put others beside them. */
static bool is_blamed(const struct localizing *localizing, const Onnx__NodeProto *node)
{
    const struct settlement *settlement = &localizing->settlement;
    for (size_t i = 0; i < settlement->count; i++)
        if (makes(localizing->model->graph->node[settlement->nodes[i]], node))
            return true;
    return false;
}

static void judge_rerun(struct localizing *localizing, const struct localization *again,
                        const struct model *model)
{
    struct localization *result = localizing->result;
    struct cause *cause = &result->cause;
    const Onnx__NodeProto *other = NULL;
    bool same = false;
    for (size_t i = 0; i < again->n_culprits; i++) {
        const Onnx__NodeProto *node = model->graph->node[again->culprits[i]];
        same |= is_blamed(localizing, node);
        other = other ? other : node;
    }
    if (same) {
        cause->rerun = RERUN_SAME;
        cause->certain = false;
        cause->text =
            arena_printf(&result->arena, "%s; but the network still fails there with it", cause->text);
    } else if (other) {
        cause->rerun = RERUN_ELSEWHERE;
        cause->next = arena_printf(&result->arena, "%s `%.80s`", op_title(other), model_node_name(other));
        cause->text = arena_printf(&result->arena, "%s; with it the network goes wrong at %s next",
                                   cause->text, cause->next);
    } else if (verdict_is(again->kind, CLASS_AGREES)) {
        cause->rerun = RERUN_RIGHT;
        cause->text = arena_printf(&result->arena, "%s; with it the network is right", cause->text);
    }
}

/* The whole network with the cure. A failure of the engine then is no failure of this. */
static void rerun_fixed(struct localizing *localizing)
{
    const struct localize_case *which = localizing->which;
    struct test_case *fixed = localizing->result->cause.fixed;
    struct localize_case case_of_it = {.pool = which->pool,
                                       .engine = which->engine,
                                       .test = fixed,
                                       .method = LOCALIZE_LOCAL,
                                       .group_bytes = which->group_bytes,
                                       .max_group = which->max_group};
    struct localization again;
    if (!fixed)
        return;
    if (!localize(&again, &case_of_it, NULL))
        judge_rerun(localizing, &again, test_case_model(fixed, NULL));
    localization_release(&again);
    test_case_free(fixed);
    localizing->result->cause.fixed = NULL;
}

/* The nodes of the settlement in the order that a part cut out of the model has them in. */
static const size_t *nodes_of_part(struct localizing *localizing)
{
    const struct settlement *settlement = &localizing->settlement;
    const size_t *position = localizing->search.test.index.position;
    size_t *nodes = arena_array(&localizing->result->arena, settlement->count, sizeof *nodes);
    for (size_t i = 0; i < settlement->count; i++) {
        size_t at = i;
        for (; at > 0 && position[nodes[at - 1]] > position[settlement->nodes[i]]; at--)
            nodes[at] = nodes[at - 1];
        nodes[at] = settlement->nodes[i];
    }
    return nodes;
}

static int conclude_cause(struct localizing *localizing, struct error *err)
{
    struct cause *cause = &localizing->result->cause;
    const struct settlement *settlement = &localizing->settlement;
    cause->text = "";
    if (!(localizing->which->method & LOCALIZE_CAUSE) || !settlement->count)
        return 0;
    if (settlement->count > CAUSE_NODES || !verdict_is_finding(settlement->kind)) {
        cause->text = "the cause is looked for in groups of up to twelve nodes";
        return 0;
    }
    struct test_case *culprit = cut_nodes(localizing, settlement->nodes, settlement->count, err);
    if (!culprit) {
        cause->text = "the node's inputs are not known";
        return 0;
    }
    struct cause_options options = {.seconds = localizing->which->cause_seconds,
                                    .nodes = nodes_of_part(localizing)};
    bool rerun = localizing->which->method & LOCALIZE_RERUN &&
                 localizing->result->n_nodes > settlement->count &&
                 localizing->search.record.wanted <= RERUN_BYTES;
    if (rerun)
        options.whole = test_case_view(localizing->model, localizing->which->test->inputs,
                                       localizing->which->test->n_inputs);
    int status =
        cause_find(cause, &localizing->search.test, culprit, &options, &localizing->result->arena, err);
    test_case_free(culprit);
    rerun_fixed(localizing);
    test_case_free(options.whole);
    return status;
}

/* Nodes whose R is above t1, in the order of computation. */
static int conclude_pairs(struct localizing *localizing, struct error *err)
{
    struct localization *result = localizing->result;
    const struct localize_case *which = localizing->which;
    double t1 = which->t1 > 0 ? which->t1 : PAIRS_T1;
    int status = 0;
    result->pairs.t2 = which->t2 > 0 ? which->t2 : PAIRS_T2;
    for (size_t p = 0; p < result->n_nodes && !status; p++) {
        size_t number = localizing->search.test.index.order[p];
        if (!(which->method & LOCALIZE_PAIRS) || !(result->nodes[number].rate > t1))
            continue;
        struct test_case *part = cut_nodes(localizing, &number, 1, err);
        if (part)
            status = causal_pairs_add(&result->pairs, &localizing->search.test, which->second, number, part,
                                      &result->arena, err);
        test_case_free(part);
    }
    return status;
}

/* No answer: the part on which the engine ends in the same way. No rate without hidden states. */
static int localize_refusal(struct localizing *localizing)
{
    struct fault_search *search = &localizing->search;
    const struct result *ended = &search->whole.answer;
    struct verdict verdict = {.kind = verdict_of_outcome(ended->outcome)};
    struct str words;
    str_init(&words);
    result_words(ended, &words);
    verdict_say(&verdict, "%s at %s: %s", verdict_name(verdict.kind), stage_name(ended->stage), words.data);
    str_release(&words);
    refusal_decide(NULL, search->test.which, ended, &verdict);
    if (!verdict_is_finding(verdict.kind))
        return error_set(search->test.err, ERROR_UNSUPPORTED, "%s: %s", localizing->result->engine,
                         verdict.text);
    localizing->settlement.kind = verdict.kind;
    localizing->settlement.verdict = verdict;
    localizing->result->rate = false;
    struct error *told = search->test.err, err = {0};
    search->test.err = &err;
    if (localizing->result->local && fault_search_refused(search, &verdict, ended, &localizing->settlement) &&
        err.code != ERROR_NOT_FOUND)
        verdict_say(&localizing->settlement.verdict, "%s; not narrowed down: %s", verdict.text, err.message);
    search->test.err = told;
    return 0;
}

/* Judges the nodes as the engine fuses them, where it may do otherwise when its values are exposed. True when
 * all are right; a group that is wrong is in the settlement. */
static bool fused_nodes_are_right(struct localizing *localizing)
{
    const struct fault_search *search = &localizing->search;
    struct operator_check check;
    bool done =
        operator_check(&check, search->test.which, &search->whole.answer, FUSIONS_OF_TWO_PRODUCTS, NULL) == 0;
    bool right = done && !check.found.count && check.n_checked == check.n_nodes;
    if (right && check.n_lowered)
        localizing->result->lowering = arena_strdup(&localizing->result->arena, check.lowering);
    if (done && check.found.count) {
        settlement_release(&localizing->settlement);
        localizing->settlement = check.found;
        check.found = (struct settlement){0};
    }
    operator_check_release(&check);
    return right;
}

/*
 * No node is to blame. When all nodes are right, and exposing the values does not change the answer
 * noticeably or they are right as the engine fuses them, too, the whole is right, even where it is too deep
 * to be judged or has an operator that the reference lacks.
 */
static int conclude_quiet(struct localizing *localizing)
{
    struct settlement *settlement = &localizing->settlement;
    struct error *err = localizing->search.test.err, ignored = {0};
    localizing->search.test.err = &ignored;
    int status = fault_search_whole(&localizing->search, settlement);
    localizing->search.test.err = err;
    size_t judged = localizing->result->n_judged, all = localizing->result->n_nodes;
    bool unknown = status || verdict_is(settlement->kind, CLASS_UNJUDGED);
    if (!unknown && settlement->verdict.lowered)
        localizing->result->lowering =
            arena_strdup(&localizing->result->arena, localizing->search.test.lowering);
    if (!unknown)
        return 0;
    settlement->count = 0;
    bool right = judged == all && (!localizing->search.record.changed || localizing->search.groups.close ||
                                   fused_nodes_are_right(localizing));
    if (settlement->count)
        return 0;
    localizing->result->unbounded = right;
    settlement->kind = settlement->verdict.kind = right ? VERDICT_AGREES : VERDICT_UNDECIDED;
    snprintf(
        settlement->verdict.text, sizeof settlement->verdict.text,
        judged == all
            ? "all %zu nodes are within their bounds on the inputs they had; the answer as a whole has no "
              "finite bound"
            : "%zu of %zu nodes are within their bounds on the inputs they had; the others and the whole "
              "cannot be judged",
        judged, all);
    return 0;
}

static int localize_answer(struct localizing *localizing, struct error *err)
{
    struct fault_search *search = &localizing->search;
    enum outcome outcome;
    if (localizing->result->rate)
        second_engine_init(&localizing->second, &search->record, localizing->which->second,
                           localizing->which->second_is_reference);
    int status = recording_run(&search->record, visit, localizing, &outcome);
    progress_step(&localizing->progress, localizing->result->n_nodes);
    progress_doing(&localizing->progress, "looking for the nodes to blame");
    second_engine_release(&localizing->second);
    if (status)
        return -1;
    if (outcome != OUTCOME_OK)
        localizing->result->unshown =
            arena_strdup(&localizing->result->arena,
                         search->record.held.message ? search->record.held.message : outcome_name(outcome));
    if (outcome != OUTCOME_OK && !localizing->result->local)
        return error_set(err, ERROR_UNSUPPORTED, "%s does not show its values", localizing->result->engine);
    if (localizing->result->rate && outcome == OUTCOME_OK)
        conclude_rate(localizing);
    if (!localizing->result->local)
        return 0;
    /* Values that the engine showed before it gave up still count. */
    if (!localizing->settlement.count && !search->spare.nodes && outcome != OUTCOME_OK)
        return fault_search_hidden(search, &localizing->settlement);
    if (localizing->settlement.count || (search->record.changed && outcome == OUTCOME_OK &&
                                         fused_group_find(&search->groups, &localizing->settlement)))
        return 0;
    if (search->spare.nodes)
        fault_search_blame_spare(search, &localizing->settlement);
    return search->spare.nodes ? 0 : conclude_quiet(localizing);
}

static int localize_swap(struct localizing *localizing, const struct settle_case *settle_case,
                         struct error *err)
{
    struct localization *result = localizing->result;
    const struct localize_case *which = localizing->which;
    struct swap_options options = {.t_c = which->t_c, .t_g = which->t_g, .progress = which->progress};
    result->swap = true;
    if (swap_localize(&result->swapped, settle_case, which->second, &options, &result->arena, err))
        return -1;
    struct swapped *swapped = &result->swapped;
    result->runs = swapped->runs;
    result->text = swapped->text;
    result->culprits = arena_array(&result->arena, swapped->n_suspects, sizeof *result->culprits);
    for (size_t i = 0; i < swapped->n_nodes; i++) {
        const struct swapped_node *swap = &swapped->nodes[i];
        struct localized_node *node = &result->nodes[i];
        node->culprit = swap->suspect;
        if (swap->suspect)
            result->culprits[result->n_culprits++] = i;
        if (!swap->judged)
            continue;
        int worse = verdict_is_finding(swap->verdicts[1]) || !verdict_is_finding(swap->verdicts[0]);
        node->verdict = swap->verdicts[worse];
        node->factor = swap->factors[worse];
        node->text = swap->texts[worse];
        if (swap->suspect && (verdict_is_finding(node->verdict) || !verdict_is_finding(result->kind)))
            result->kind = node->verdict;
    }
    return 0;
}

int localize(struct localization *localization, const struct localize_case *which, struct error *err)
{
    struct localizing localizing = {
        .which = which, .model = test_case_model(which->test, err), .result = localization};
    struct settle_case settle_case = {
        .pool = which->pool,
        .engine = which->engine,
        .test = which->test,
        .max_group = which->max_group,
    };
    *localization = (struct localization){0};
    if (!localizing.model)
        return -1;
    prepare(&localizing);
    if (which->method & LOCALIZE_SWAP)
        return localize_swap(&localizing, &settle_case, err);
    if (which->progress)
        progress_begin(&localizing.progress, "localize", localization->n_nodes);
    struct progress *outer = pool_show(which->pool, &localizing.progress);
    int status = fault_search_init(&localizing.search, &settle_case, err);
    if (!status && which->group_bytes)
        localizing.search.record.group_bytes = which->group_bytes;
    if (!status)
        status = whole_answer_run(&localizing.search.whole);
    if (!status)
        status = localizing.search.whole.answer.outcome == OUTCOME_OK ? localize_answer(&localizing, err)
                                                                      : localize_refusal(&localizing);
    if (!status) {
        conclude(&localizing);
        progress_doing(&localizing.progress, which->method & LOCALIZE_CAUSE ? "looking for the cause" : NULL);
        status = conclude_cause(&localizing, err);
    }
    if (!status)
        status = conclude_pairs(&localizing, err);
    pool_show(which->pool, outer);
    progress_end(&localizing.progress);
    settlement_release(&localizing.settlement);
    fault_search_release(&localizing.search);
    return status;
}

void localization_release(struct localization *localization)
{
    arena_release(&localization->arena);
}
