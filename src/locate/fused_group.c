#include "locate/fused_group.h"

#include "base/memory.h"
#include "judge/metrics.h"
#include "locate/node_sets.h"
#include "model/build.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_GROUP = 12,
    PAIR = 2,
    SMALL_GRAPH = 24 /* nodes, up to which every part is tried */
};

void group_search_init(struct group_search *search, struct recording *record)
{
    *search = (struct group_search){.test = record->test, .record = record};
    result_init(&search->shown);
}

void group_search_release(struct group_search *search)
{
    result_release(&search->shown);
}

static size_t largest_group(const struct group_search *search)
{
    return search->test->which->max_group ? search->test->which->max_group : DEFAULT_GROUP;
}

static size_t node_count(const struct group_search *search)
{
    return search->test->index.model->graph->n_node;
}

/* A part shows values that the whole keeps for itself: one that is missing there, or has another type, is
 * not why numbers of the whole are wrong. */
static bool is_another_fault(struct group_search *search, const struct verdict *verdict)
{
    struct verdict whole;
    if (verdict_row(verdict->kind)->kin != KIN_TYPE || search->refused)
        return false;
    whole_answer_judge(search->record->whole, &search->record->whole->answer, &whole);
    return verdict_is(whole.kind, CLASS_SUSPECT | CLASS_NUMBERS);
}

/* A node that is wrong by itself makes every part with it wrong, so such a part is no evidence of a fusion.
 */
static bool has_skipped(const struct group_search *search, const size_t *nodes, size_t size)
{
    for (size_t i = 0; i < size && search->skipped; i++)
        if (search->skipped[nodes[i]])
            return true;
    return false;
}

static bool part_is_bad(struct group_search *search, const size_t *nodes, size_t size,
                        struct verdict *verdict)
{
    *verdict = verdict_begin(false);
    if (has_skipped(search, nodes, size))
        return false;
    size_t *all = memory_zeroed(node_count(search), sizeof *all);
    size_t count = nodes_with_constants(&search->test->index, nodes, size, all);
    part_judge(search->record, search->refused, all, count, false, verdict);
    free(all);
    return verdict_is_finding(verdict->kind) && !is_another_fault(search, verdict);
}

/* Nodes at the border: what is left of a convex part stays convex. */
void fused_group_shrink(struct group_search *search, size_t *nodes, size_t *size, struct verdict *verdict)
{
    size_t *fewer = memory_zeroed(*size, sizeof *fewer);
    for (size_t i = 0; i<*size && * size> 1;) {
        struct verdict now;
        bool border = nodes_at_border(&search->test->index, nodes, *size, i);
        memcpy(fewer, nodes, i * sizeof *nodes);
        memcpy(fewer + i, nodes + i + 1, (*size - i - 1) * sizeof *nodes);
        if (!border || !part_is_bad(search, fewer, *size - 1, &now)) {
            i++;
            continue;
        }
        *verdict = now;
        memcpy(nodes, fewer, --*size * sizeof *nodes);
        i = 0;
    }
    free(fewer);
}

static bool find_everywhere(struct group_search *search, size_t smallest, size_t largest,
                            struct settlement *settlement)
{
    size_t n = node_count(search);
    size_t *nodes = arena_array(&search->test->arena, n, sizeof *nodes);
    for (size_t size = smallest; size <= n && size <= largest; size++)
        for (size_t end = 0; end < n; end++) {
            struct verdict verdict;
            if (!nodes_ending_at(&search->test->index, end, size, nodes) ||
                !part_is_bad(search, nodes, size, &verdict))
                continue;
            settlement->fused = size > 1;
            settlement_blame(settlement, &verdict, nodes, size);
            return true;
        }
    return false;
}

/* The whole model's own answers with the values of the nodes from `first` to before `end` exposed. */
static int run_exposed(struct group_search *search, size_t first, size_t end, struct result *result)
{
    const struct test_case *whole = search->test->whole;
    struct model *model;
    size_t count = 0;
    if (model_clone(&model, search->test->model, NULL))
        return -1;
    const char **names = memory_zeroed(search->test->index.count, sizeof *names);
    for (size_t i = 0; i < search->test->index.count; i++) {
        const struct index_value *value = &search->test->index.values[i];
        size_t position = value->source == SOURCE_NODE ? search->test->index.position[value->number] : 0;
        if (value->source == SOURCE_NODE && position >= first && position < end &&
            !held_values_is_hidden(&search->record->values, i))
            names[count++] = value->name;
    }
    /* The graph's own outputs come first. */
    int status = model_expose(model, names, count, NULL);
    if (!status)
        recording_types(&search->record->values, model);
    if (!status)
        status = under_test_run(search->test, model, whole->inputs, whole->n_inputs,
                                search->test->model->graph->n_output, result);
    free(names);
    model_free(model);
    return status || result->outcome != OUTCOME_OK ? -1 : 0;
}

static bool far_apart(const struct result *a, const struct result *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        struct metrics_difference difference;
        if (a->outputs[i].kind != VALUE_TENSOR || b->outputs[i].kind != VALUE_TENSOR)
            continue;
        const struct tensor *x = &a->outputs[i].tensors[0], *y = &b->outputs[i].tensors[0];
        if (x->type != y->type || !shape_equal(&x->shape, &y->shape))
            return true;
        metrics_compare(x, y, &metrics_conformance, &difference);
        if (!difference.close)
            return true;
    }
    return false;
}

/* Whether this answer is off. Where the whole cannot be judged, an answer counts as off when it is far from
 * the answer with all values exposed. This only guides the search; the part that is found is judged by its
 * own bound. */
static bool deviates(struct group_search *search, const struct result *result)
{
    struct verdict verdict;
    whole_answer_judge(search->record->whole, result, &verdict);
    if (verdict_is(verdict.kind, CLASS_NOTHING | CLASS_UNJUDGED))
        return far_apart(result, &search->shown);
    return verdict_is(verdict.kind, CLASS_DEVIATES);
}

static bool deviates_between(struct group_search *search, size_t first, size_t end)
{
    struct result result;
    result_init(&result);
    bool off = !run_exposed(search, first, end, &result) && deviates(search, &result);
    result_release(&result);
    return off;
}

/* With the values of the first k nodes exposed: what is off behind them stays. */
static bool deviates_behind(struct group_search *search, size_t k)
{
    return deviates_between(search, 0, k);
}

/* With the values of all nodes but the first k exposed: what is off among these stays. */
static bool deviates_before(struct group_search *search, size_t k)
{
    return deviates_between(search, k, node_count(search));
}

/* The first k nodes as a model of their own: is that off, or does the engine end as it does on the whole? */
static bool deviates_first(struct group_search *search, size_t k)
{
    struct verdict verdict;
    part_judge(search->record, search->refused, search->test->index.order, k, false, &verdict);
    return verdict_is(verdict.kind, CLASS_DEVIATES | CLASS_NO_ANSWER);
}

/* The k between low, where the answer is `at_low`, and high, where it is not, at which it first changes (or
 * one such k, when it changes several times). */
static size_t bisect(struct group_search *search, size_t low, size_t high, bool at_low,
                     bool (*ask)(struct group_search *search, size_t k))
{
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (ask(search, middle) == at_low)
            low = middle;
        else
            high = middle;
    }
    return high;
}

struct candidate {
    size_t end, size;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* What lies between `start` and each of its descendants, the smallest first. */
static size_t list_candidates(const struct group_search *search, const bool *reached, size_t start,
                              struct candidate *candidates)
{
    size_t count = 0;
    for (size_t end = start + 1; end < node_count(search); end++) {
        if (!reached[end])
            continue;
        size_t size = nodes_between(&search->test->index, reached, start, end, NULL, 0);
        if (size <= largest_group(search))
            candidates[count++] = (struct candidate){end, size};
    }
    qsort(candidates, count, sizeof *candidates, compare_candidates);
    return count;
}

/* Parts from `start` on; then, for what needs more than one way in, parts that end where those did. */
static bool find_from(struct group_search *search, size_t start, size_t *nodes, size_t *size,
                      struct verdict *verdict)
{
    size_t n = node_count(search);
    bool *reached = nodes_reached(&search->test->index, start);
    struct candidate *candidates = memory_zeroed(n, sizeof *candidates);
    size_t count = list_candidates(search, reached, start, candidates);
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        *size = nodes_between(&search->test->index, reached, start, candidates[i].end, nodes, n);
        found = part_is_bad(search, nodes, *size, verdict);
    }
    for (size_t i = 0; i < count && !found; i++)
        for (*size = candidates[i].size + 1; *size <= largest_group(search) && !found; ++*size)
            found = nodes_ending_at(&search->test->index, candidates[i].end, *size, nodes) &&
                    part_is_bad(search, nodes, *size, verdict);
    free(candidates);
    free(reached);
    return found;
}

/* Blames what is left of a bad part when all nodes that are not needed are gone. */
static void blame_shrunk(struct group_search *search, size_t *nodes, size_t size, struct verdict *verdict,
                         struct settlement *settlement)
{
    fused_group_shrink(search, nodes, &size, verdict);
    settlement->fused = size > 1;
    settlement_blame(settlement, verdict, nodes, size);
}

/* Tries a node with all users of its value, wherever they are: an engine may join two Casts with the Cast
 * before them. */
static bool find_around(struct group_search *search, size_t first, size_t end, struct settlement *settlement)
{
    size_t n = node_count(search);
    size_t *nodes = arena_array(&search->test->arena, n, sizeof *nodes);
    for (size_t p = first; p < end; p++) {
        struct verdict verdict;
        size_t size = nodes_around(&search->test->index, p, nodes, n);
        if (size < 2 || size > largest_group(search) || !part_is_bad(search, nodes, size, &verdict))
            continue;
        blame_shrunk(search, nodes, size, &verdict, settlement);
        return true;
    }
    return false;
}

static bool section_is_bad(struct group_search *search, size_t first, size_t end, struct verdict *verdict)
{
    return part_is_bad(search, search->test->index.order + first, end - first, verdict);
}

/*
 * The parts tried so far end at one node, so they miss groups with several ends (two nodes of the group use
 * one value). A section of the topological order is convex as well: takes the shortest beginning of the order
 * that is bad, removes nodes from its start as long as it stays bad, and then nodes at its border.
 */
static bool find_section(struct group_search *search, struct settlement *settlement)
{
    size_t n = node_count(search), first = 0, end = n, low = 0, high = n;
    struct verdict verdict, now;
    if (!section_is_bad(search, 0, n, &verdict))
        return false;
    while (end - low > 1) {
        size_t middle = low + (end - low) / 2;
        bool bad = section_is_bad(search, 0, middle, &now);
        verdict = bad ? now : verdict;
        *(bad ? &end : &low) = middle;
    }
    for (high = end; high - first > 1;) {
        size_t middle = first + (high - first) / 2;
        bool bad = section_is_bad(search, middle, end, &now);
        verdict = bad ? now : verdict;
        *(bad ? &first : &high) = middle;
    }
    size_t size = end - first;
    size_t *nodes = arena_array(&search->test->arena, n, sizeof *nodes);
    memcpy(nodes, search->test->index.order + first, size * sizeof *nodes);
    if (size <= SMALL_GRAPH)
        fused_group_shrink(search, nodes, &size, &verdict);
    if (size == n)
        return false;
    settlement->fused = size > 1;
    settlement_blame(settlement, &verdict, nodes, size);
    return true;
}

/* The smallest bad part that ends at a position, of at least so many nodes. */
static bool find_ending_at(struct group_search *search, size_t end, size_t smallest,
                           struct settlement *settlement)
{
    size_t *nodes = arena_array(&search->test->arena, node_count(search), sizeof *nodes);
    for (size_t size = smallest; size <= largest_group(search); size++) {
        struct verdict verdict;
        if (!nodes_ending_at(&search->test->index, end, size, nodes) ||
            !part_is_bad(search, nodes, size, &verdict))
            continue;
        blame_shrunk(search, nodes, size, &verdict, settlement);
        return true;
    }
    return false;
}

/* Whether the node at position `user` takes what the one at `maker` makes. */
static bool takes_from(const struct model_index *index, size_t user, size_t maker)
{
    size_t number = index->order[user];
    for (size_t i = 0; i < index->n_uses[number]; i++) {
        const struct index_value *value = &index->values[index->uses[number][i]];
        if (value->source == SOURCE_NODE && value->number == index->order[maker])
            return true;
    }
    return false;
}

/*
 * Of several groups that are wrong the first is to blame. With all values but those of a beginning of the
 * model exposed, the fault shows as soon as all inner values of the first group are in that beginning: the
 * last of them goes into the end of the group.
 */
static bool find_first(struct group_search *search, struct settlement *settlement)
{
    size_t inner = bisect(search, 0, node_count(search), false, deviates_before) - 1;
    for (size_t end = inner + 1; end < node_count(search); end++)
        if (takes_from(&search->test->index, end, inner) && find_ending_at(search, end, PAIR, settlement))
            return true;
    return false;
}

bool fused_group_find(struct group_search *search, struct settlement *settlement)
{
    size_t n = node_count(search), size = 0;
    struct verdict verdict;
    if (n <= SMALL_GRAPH)
        return find_everywhere(search, PAIR, PAIR, settlement) || find_around(search, 0, n, settlement) ||
               find_everywhere(search, PAIR + 1, largest_group(search), settlement) ||
               find_section(search, settlement);
    if (run_exposed(search, 0, n, &search->shown))
        return false;
    search->close = !far_apart(&search->record->whole->answer, &search->shown);
    if (!deviates(search, &search->record->whole->answer) || deviates(search, &search->shown))
        return false;
    if (find_first(search, settlement))
        return true;
    size_t start = bisect(search, 0, n, true, deviates_behind) - 1;
    size_t *nodes = arena_array(&search->test->arena, n, sizeof *nodes);
    if (find_around(search, start, start + 1, settlement))
        return true;
    if (!find_from(search, start, nodes, &size, &verdict))
        return find_section(search, settlement);
    fused_group_shrink(search, nodes, &size, &verdict);
    settlement->fused = size > 1;
    settlement_blame(settlement, &verdict, nodes, size);
    return true;
}

/* Marks, by position, the nodes before those marked that make what they use; false when there are none. */
static bool mark_makers(const struct group_search *search, const bool *marked, size_t end, bool *makers)
{
    const struct model_index *index = &search->test->index;
    bool any = false;
    for (size_t p = 0; p <= end; p++)
        for (size_t i = 0; marked[p] && i < index->n_uses[index->order[p]]; i++) {
            const struct index_value *value = &index->values[index->uses[index->order[p]][i]];
            if (value->source != SOURCE_NODE ||
                node_is_constant(search->test->index.model->graph->node[value->number]))
                continue;
            makers[index->position[value->number]] = any = true;
        }
    return any;
}

/* True when it is settled: wrong as a group, or explained by another formula for it. */
static bool judge_before(struct group_search *search, const bool *starts, size_t end,
                         struct node_group *group, struct verdict *verdict)
{
    size_t nodes[GROUP_BEFORE];
    size_t size = nodes_from(&search->test->index, starts, end, nodes, GROUP_BEFORE);
    size_t *all = memory_zeroed(node_count(search), sizeof *all);
    struct verdict now = verdict_begin(false);
    if (size > 1)
        part_judge(search->record, search->refused, all,
                   nodes_with_constants(&search->test->index, nodes, size, all), true, &now);
    free(all);
    bool bad = verdict_is_finding(now.kind) && !is_another_fault(search, &now);
    if (bad) {
        memcpy(group->nodes, nodes, size * sizeof *nodes);
        group->count = size;
    }
    if (bad || verdict_is(now.kind, CLASS_DOUBT))
        *verdict = now;
    return bad || verdict_is(now.kind, CLASS_DOUBT);
}

/* Tries groups that begin at each direct predecessor, at all of them, and at all of their predecessors. */
void fused_group_before(struct group_search *search, size_t number, struct node_group *group,
                        struct verdict *verdict)
{
    size_t end = search->test->index.position[number];
    bool *starts = memory_zeroed(end + 1, sizeof *starts), *one = memory_zeroed(end + 1, sizeof *one);
    bool *before = memory_zeroed(end + 1, sizeof *before);
    one[end] = true;
    bool settled = !mark_makers(search, one, end, starts);
    one[end] = false;
    for (size_t p = 0; p < end && !settled; p++) {
        one[p] = starts[p];
        settled = starts[p] && judge_before(search, one, end, group, verdict);
        one[p] = false;
    }
    if (!settled)
        settled = judge_before(search, starts, end, group, verdict);
    if (!settled && mark_makers(search, starts, end, before))
        judge_before(search, before, end, group, verdict);
    free(before);
    free(one);
    free(starts);
}

/* The reference's values for all parts of any size that end at position `end`. */
static int compute_around(struct group_search *search, size_t end)
{
    const char **names = memory_zeroed(search->test->index.count, sizeof *names);
    bool *listed = memory_zeroed(search->test->index.count, sizeof *listed);
    bool *wanted = nodes_ancestors(&search->test->index, end, 0);
    size_t count = 0, left = largest_group(search);
    for (size_t p = end + 1; p-- > 0 && left;) {
        if (!wanted[p])
            continue;
        left--;
        size_t number = search->test->index.order[p];
        for (size_t i = 0; i < search->test->index.n_uses[number]; i++) {
            size_t use = search->test->index.uses[number][i];
            if (search->test->index.values[use].source == SOURCE_NODE && !listed[use])
                names[count++] = search->test->index.values[use].name;
            listed[use] = true;
        }
    }
    int status = count ? held_values_compute(&search->record->values, names, count) : 0;
    free(wanted);
    free(listed);
    free(names);
    return status;
}

/* In a large graph: the shortest beginning of it that shows the fault, then parts that end where it does.
 */
static int find_ending(struct group_search *search, struct settlement *settlement)
{
    size_t n = node_count(search);
    search->record->values.complete = true; /* nothing is to be had from the engine */
    under_test_infer(search->test);
    if (!deviates_first(search, n))
        return 0;
    size_t end = bisect(search, 0, n, false, deviates_first) - 1;
    if (compute_around(search, end))
        return -1;
    return find_ending_at(search, end, 1, settlement);
}

/* Nodes of the largest part tried that ends at position `end`. */
static size_t largest_ending_at(const struct group_search *search, size_t end)
{
    bool *wanted = nodes_ancestors(&search->test->index, end, 0);
    size_t count = 0;
    for (size_t p = 0; p <= end; p++)
        count += wanted[p];
    free(wanted);
    return count < largest_group(search) ? count : largest_group(search);
}

/*
 * A small graph that is refused: the shortest beginning of it that is refused, and the smallest part that
 * ends where it does, both by bisection. False when that leads nowhere.
 */
static bool find_bisected(struct group_search *search, struct settlement *settlement)
{
    size_t n = node_count(search), low = 0;
    struct verdict verdict, now;
    if (!deviates_first(search, n))
        return false;
    size_t end = bisect(search, 0, n, false, deviates_first) - 1, high = largest_ending_at(search, end);
    size_t *nodes = arena_array(&search->test->arena, n, sizeof *nodes);
    if (!nodes_ending_at(&search->test->index, end, high, nodes) ||
        !part_is_bad(search, nodes, high, &verdict))
        return false;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        bool bad = nodes_ending_at(&search->test->index, end, middle, nodes) &&
                   part_is_bad(search, nodes, middle, &now);
        verdict = bad ? now : verdict;
        *(bad ? &high : &low) = middle;
    }
    nodes_ending_at(&search->test->index, end, high, nodes);
    settlement->fused = high > 1;
    settlement_blame(settlement, &verdict, nodes, high);
    return true;
}

static bool only_constants(const struct group_search *search, const size_t *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!node_is_constant(search->test->index.model->graph->node[nodes[i]]))
            return false;
    return true;
}

/* Whether the largest part of the group that ends at its node `end` is refused: if not, no smaller
 * one is. */
static bool end_is_bad(struct group_search *search, const struct settlement *group, size_t end, size_t *nodes)
{
    struct verdict verdict;
    size_t size = group->count - 1;
    while (size && !nodes_inside(&search->test->index, group->nodes, group->count, end, size, nodes))
        size--;
    return size && !only_constants(search, nodes, size) && part_is_bad(search, nodes, size, &verdict);
}

void fused_group_narrow(struct group_search *search, struct settlement *settlement)
{
    size_t *nodes = arena_array(&search->test->arena, settlement->count, sizeof *nodes);
    bool *ends = arena_array(&search->test->arena, settlement->count, sizeof *ends);
    for (size_t i = 0; i < settlement->count; i++)
        ends[i] = end_is_bad(search, settlement, settlement->nodes[i], nodes);
    for (size_t size = 1; size < settlement->count; size++)
        for (size_t i = 0; i < settlement->count; i++) {
            struct verdict verdict;
            if (!ends[i] ||
                !nodes_inside(&search->test->index, settlement->nodes, settlement->count,
                              settlement->nodes[i], size, nodes) ||
                only_constants(search, nodes, size) || !part_is_bad(search, nodes, size, &verdict))
                continue;
            settlement_release(settlement);
            settlement_blame(settlement, &verdict, nodes, size);
            settlement->fused = size > 1;
            return;
        }
}

/* Whether the engine runs these nodes with the value of a Constant that is not among them as a weight. */
static bool runs_with_weight(struct group_search *search, const size_t *nodes, size_t size,
                             const Onnx__NodeProto *constant)
{
    struct part part = {0};
    struct result result;
    size_t at = 0;
    result_init(&result);
    bool cut = constant->n_output && part_cut(&part, search->record, nodes, size);
    while (cut && at < part.n_inputs && !text_equal(part.inputs[at].name, constant->output[0]))
        at++;
    bool runs = cut && at < part.n_inputs && !part_freeze(&part, at) &&
                !under_test_run(search->test, part.model, part.inputs, part.n_inputs, 0, &result) &&
                result.outcome == OUTCOME_OK;
    result_release(&result);
    part_release(&part);
    return runs;
}

void fused_group_add_constants(struct group_search *search, struct settlement *settlement)
{
    const Onnx__GraphProto *graph = search->test->index.model->graph;
    size_t *all = arena_array(&search->test->arena, node_count(search), sizeof *all);
    size_t *others = arena_array(&search->test->arena, node_count(search), sizeof *others);
    size_t count = nodes_with_constants(&search->test->index, settlement->nodes, settlement->count, all);
    size_t blamed = settlement->count;
    struct verdict verdict = settlement->verdict;
    for (size_t i = blamed; i < count; i++) {
        size_t constant = all[i];
        memcpy(others, all, i * sizeof *others);
        memcpy(others + i, all + i + 1, (count - i - 1) * sizeof *others);
        if (runs_with_weight(search, others, count - 1, graph->node[constant])) {
            all[i] = all[blamed];
            all[blamed++] = constant;
        }
    }
    if (blamed == settlement->count)
        return;
    settlement_release(settlement);
    settlement_blame(settlement, &verdict, all, blamed);
    settlement->fused = true;
}

int fused_group_find_unshown(struct group_search *search, struct settlement *settlement)
{
    if (node_count(search) > SMALL_GRAPH)
        return find_ending(search, settlement);
    size_t count;
    const char **names = held_values_made(&search->record->values, &count);
    if (held_values_compute(&search->record->values, names, count))
        return -1;
    return (search->refused && find_bisected(search, settlement)) ||
           find_everywhere(search, 1, largest_group(search), settlement) || find_section(search, settlement);
}
