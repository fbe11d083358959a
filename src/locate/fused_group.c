/*
 * Windows: parts of the model that are wrong, or refused, only as a whole.
 *
 * A small graph is searched exhaustively, the smallest windows first. In a large one the place is found by
 * bisection before windows are tried: exposing the values of the first k nodes heals a faulty fusion as soon
 * as one of its inner values is among them; the first k nodes alone are refused as soon as the part that the
 * engine cannot take is among them. A refused graph, small or not, is bisected first: a window of which a
 * part with the same end is refused is, as a rule, refused itself.
 */
#include "base/memory.h"
#include "judge/metrics.h"
#include "locate/node_sets.h"
#include "locate/work.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_WINDOW = 12,
    PAIR = 2,
    SMALL_GRAPH = 24 /* nodes, up to which every window is tried */
};

static size_t largest_window(const struct work *work)
{
    return work->which->max_window ? work->which->max_window : DEFAULT_WINDOW;
}

static size_t node_count(const struct work *work)
{
    return work->which->model->graph->n_node;
}

/* A window shows values that the whole keeps for itself: one that is missing there, or has another type, is
 * not why numbers of the whole are wrong. */
static bool is_another_fault(struct work *work, const struct verdict *verdict)
{
    struct verdict whole;
    if (verdict->kind != VERDICT_DTYPE || work->refusal)
        return false;
    work_judge_whole(work, &work->plain, &whole);
    return verdict_is(whole.kind, CLASS_SUSPECT | CLASS_NUMBERS);
}

/* What is wrong by itself makes every window wrong that it is in: that shows nothing. */
static bool has_spare(const struct work *work, const size_t *nodes, size_t size)
{
    for (size_t i = 0; i < size && work->spare.nodes; i++)
        if (work->spare.nodes[nodes[i]])
            return true;
    return false;
}

static bool window_is_bad(struct work *work, const size_t *nodes, size_t size, struct verdict *verdict)
{
    *verdict = (struct verdict){.kind = VERDICT_AGREES};
    if (has_spare(work, nodes, size))
        return false;
    size_t *all = memory_zeroed(node_count(work), sizeof *all);
    size_t count = nodes_with_constants(work, nodes, size, all);
    work_judge_window(work, all, count, false, verdict);
    free(all);
    return verdict_is_finding(verdict->kind) && !is_another_fault(work, verdict);
}

/* Drops nodes at the border, which leaves a convex window convex, as long as what is left is still bad. */
static void shrink(struct work *work, size_t *nodes, size_t *size, struct verdict *verdict)
{
    size_t *fewer = memory_zeroed(*size, sizeof *fewer);
    for (size_t i = 0; i<*size && * size> 1;) {
        struct verdict now;
        bool border = nodes_at_border(work, nodes, *size, i);
        memcpy(fewer, nodes, i * sizeof *nodes);
        memcpy(fewer + i, nodes + i + 1, (*size - i - 1) * sizeof *nodes);
        if (!border || !window_is_bad(work, fewer, *size - 1, &now)) {
            i++;
            continue;
        }
        *verdict = now;
        memcpy(nodes, fewer, --*size * sizeof *nodes);
        i = 0;
    }
    free(fewer);
}

static bool windows_everywhere(struct work *work, size_t smallest, size_t largest,
                               struct settlement *settlement)
{
    size_t n = node_count(work);
    size_t *nodes = arena_array(&work->arena, n, sizeof *nodes);
    for (size_t size = smallest; size <= n && size <= largest; size++)
        for (size_t end = 0; end < n; end++) {
            struct verdict verdict;
            if (!nodes_ending_at(work, end, size, nodes) || !window_is_bad(work, nodes, size, &verdict))
                continue;
            settlement->fused = size > 1;
            settle_blame(settlement, &verdict, nodes, size);
            return true;
        }
    return false;
}

/* The whole model's own answers with the values of the first k nodes exposed. */
static int run_exposed(struct work *work, size_t k, struct result *result)
{
    const struct settle_case *which = work->which;
    struct model *model;
    size_t count = 0;
    if (model_clone(&model, which->model, NULL))
        return -1;
    const char **names = memory_zeroed(work->index.count, sizeof *names);
    for (size_t i = 0; i < work->index.count; i++) {
        const struct index_value *value = &work->index.values[i];
        if (value->source == SOURCE_NODE && work->index.position[value->number] < k &&
            !work_is_hidden(work, i))
            names[count++] = value->name;
    }
    /* The graph's own outputs come first. */
    int status = model_expose(model, names, count, NULL);
    if (!status)
        record_types(work, model);
    if (!status)
        status = work_run(work, model, which->inputs, which->n_inputs, which->model->graph->n_output, result);
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

/* Is this answer off? Where the whole cannot be judged, one that is far from the answer with everything
 * exposed: it only guides the search, the window found is judged by its own bound. */
static bool deviates(struct work *work, const struct result *result)
{
    struct verdict verdict;
    work_judge_whole(work, result, &verdict);
    if (verdict_is(verdict.kind, CLASS_NOTHING | CLASS_UNJUDGED))
        return far_apart(result, &work->shown);
    return verdict_is(verdict.kind, CLASS_DEVIATES);
}

static bool deviates_exposed(struct work *work, size_t k)
{
    struct result result;
    result_init(&result);
    bool off = !run_exposed(work, k, &result) && deviates(work, &result);
    result_release(&result);
    return off;
}

/* The first k nodes as a model of their own: is that off, or does the engine end as it does on the whole? */
static bool deviates_first(struct work *work, size_t k)
{
    struct verdict verdict;
    work_judge_window(work, work->index.order, k, false, &verdict);
    return verdict_is(verdict.kind, CLASS_DEVIATES | CLASS_NO_ANSWER);
}

/* The k between low, where the answer is `at_low`, and high, where it is not, at which it first changes (or
 * one of those, when it changes to and fro). */
static size_t bisect(struct work *work, size_t low, size_t high, bool at_low,
                     bool (*ask)(struct work *work, size_t k))
{
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (ask(work, middle) == at_low)
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
static size_t list_candidates(const struct work *work, const bool *reached, size_t start,
                              struct candidate *candidates)
{
    size_t count = 0;
    for (size_t end = start + 1; end < node_count(work); end++) {
        if (!reached[end])
            continue;
        size_t size = nodes_between(work, reached, start, end, NULL, 0);
        if (size <= largest_window(work))
            candidates[count++] = (struct candidate){end, size};
    }
    qsort(candidates, count, sizeof *candidates, compare_candidates);
    return count;
}

/* Windows from `start` on; then, for what needs more than one way in, windows that end where those did. */
static bool find_from(struct work *work, size_t start, size_t *nodes, size_t *size, struct verdict *verdict)
{
    size_t n = node_count(work);
    bool *reached = nodes_reached(work, start);
    struct candidate *candidates = memory_zeroed(n, sizeof *candidates);
    size_t count = list_candidates(work, reached, start, candidates);
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        *size = nodes_between(work, reached, start, candidates[i].end, nodes, n);
        found = window_is_bad(work, nodes, *size, verdict);
    }
    for (size_t i = 0; i < count && !found; i++)
        for (*size = candidates[i].size + 1; *size <= largest_window(work) && !found; ++*size)
            found = nodes_ending_at(work, candidates[i].end, *size, nodes) &&
                    window_is_bad(work, nodes, *size, verdict);
    free(candidates);
    free(reached);
    return found;
}

/* What an engine makes of a value's uses, wherever these are: two Casts that make one of the Cast before. */
static bool windows_around(struct work *work, size_t first, size_t end, struct settlement *settlement)
{
    size_t n = node_count(work);
    size_t *nodes = arena_array(&work->arena, n, sizeof *nodes);
    for (size_t p = first; p < end; p++) {
        struct verdict verdict;
        size_t size = nodes_around(work, p, nodes, n);
        if (size < 2 || size > largest_window(work) || !window_is_bad(work, nodes, size, &verdict))
            continue;
        shrink(work, nodes, &size, &verdict);
        settlement->fused = size > 1;
        settle_blame(settlement, &verdict, nodes, size);
        return true;
    }
    return false;
}

static bool stretch_is_bad(struct work *work, size_t first, size_t end, struct verdict *verdict)
{
    return window_is_bad(work, work->index.order + first, end - first, verdict);
}

/*
 * What has more than one end (a value that two nodes of the group use) is no window of those above. A stretch
 * of the topological order is convex as well: the shortest beginning that is bad, without what it can do
 * without at its start, and then without what lies at its border.
 */
static bool windows_stretch(struct work *work, struct settlement *settlement)
{
    size_t n = node_count(work), first = 0, end = n, low = 0, high = n;
    struct verdict verdict, now;
    if (!stretch_is_bad(work, 0, n, &verdict))
        return false;
    while (end - low > 1) {
        size_t middle = low + (end - low) / 2;
        bool bad = stretch_is_bad(work, 0, middle, &now);
        verdict = bad ? now : verdict;
        *(bad ? &end : &low) = middle;
    }
    for (high = end; high - first > 1;) {
        size_t middle = first + (high - first) / 2;
        bool bad = stretch_is_bad(work, middle, end, &now);
        verdict = bad ? now : verdict;
        *(bad ? &first : &high) = middle;
    }
    size_t size = end - first;
    size_t *nodes = arena_array(&work->arena, n, sizeof *nodes);
    memcpy(nodes, work->index.order + first, size * sizeof *nodes);
    if (size <= SMALL_GRAPH)
        shrink(work, nodes, &size, &verdict);
    if (size == n)
        return false;
    settlement->fused = size > 1;
    settle_blame(settlement, &verdict, nodes, size);
    return true;
}

bool windows_fused(struct work *work, struct settlement *settlement)
{
    size_t n = node_count(work), size = 0;
    struct verdict verdict;
    if (n <= SMALL_GRAPH)
        return windows_everywhere(work, PAIR, PAIR, settlement) || windows_around(work, 0, n, settlement) ||
               windows_everywhere(work, PAIR + 1, largest_window(work), settlement) ||
               windows_stretch(work, settlement);
    if (run_exposed(work, n, &work->shown))
        return false;
    work->close = !far_apart(&work->plain, &work->shown);
    if (!deviates(work, &work->plain) || deviates(work, &work->shown))
        return false;
    size_t start = bisect(work, 0, n, true, deviates_exposed) - 1;
    size_t *nodes = arena_array(&work->arena, n, sizeof *nodes);
    if (windows_around(work, start, start + 1, settlement))
        return true;
    if (!find_from(work, start, nodes, &size, &verdict))
        return windows_stretch(work, settlement);
    shrink(work, nodes, &size, &verdict);
    settlement->fused = size > 1;
    settle_blame(settlement, &verdict, nodes, size);
    return true;
}

/* Marks, by position, the nodes before those marked that make what they use; false when there are none. */
static bool mark_makers(const struct work *work, const bool *marked, size_t end, bool *makers)
{
    const struct model_index *index = &work->index;
    bool any = false;
    for (size_t p = 0; p <= end; p++)
        for (size_t i = 0; marked[p] && i < index->n_uses[index->order[p]]; i++) {
            const struct index_value *value = &index->values[index->uses[index->order[p]][i]];
            if (value->source != SOURCE_NODE ||
                strcmp(work->which->model->graph->node[value->number]->op_type, "Constant") == 0)
                continue;
            makers[index->position[value->number]] = any = true;
        }
    return any;
}

/* True when it is settled: wrong as a group, or explained by another formula for it. */
static bool judge_before(struct work *work, const bool *starts, size_t end, struct verdict *verdict)
{
    size_t nodes[WORK_GROUP];
    size_t size = nodes_from(work, starts, end, nodes, WORK_GROUP);
    size_t *all = memory_zeroed(node_count(work), sizeof *all);
    struct verdict now = {.kind = VERDICT_AGREES};
    if (size > 1)
        work_judge_window(work, all, nodes_with_constants(work, nodes, size, all), true, &now);
    free(all);
    bool bad = verdict_is_finding(now.kind) && !is_another_fault(work, &now);
    if (bad) {
        memcpy(work->group, nodes, size * sizeof *nodes);
        work->n_group = size;
        work->group_of = work->index.order[end];
    }
    if (bad || verdict_is(now.kind, CLASS_DOUBT))
        *verdict = now;
    return bad || verdict_is(now.kind, CLASS_DOUBT);
}

/* From each node right before it, from all of these, from all before these. */
void windows_before(struct work *work, size_t number, struct verdict *verdict)
{
    size_t end = work->index.position[number];
    bool *starts = memory_zeroed(end + 1, sizeof *starts), *one = memory_zeroed(end + 1, sizeof *one);
    bool *before = memory_zeroed(end + 1, sizeof *before);
    one[end] = true;
    bool settled = !mark_makers(work, one, end, starts);
    one[end] = false;
    for (size_t p = 0; p < end && !settled; p++) {
        one[p] = starts[p];
        settled = starts[p] && judge_before(work, one, end, verdict);
        one[p] = false;
    }
    if (!settled)
        settled = judge_before(work, starts, end, verdict);
    if (!settled && mark_makers(work, starts, end, before))
        judge_before(work, before, end, verdict);
    free(before);
    free(one);
    free(starts);
}

/* The reference's values for all windows of any size that end at position `end`. */
static int compute_around(struct work *work, size_t end)
{
    const char **names = memory_zeroed(work->index.count, sizeof *names);
    bool *listed = memory_zeroed(work->index.count, sizeof *listed);
    bool *wanted = work_ancestors(work, end, 0);
    size_t count = 0, left = largest_window(work);
    for (size_t p = end + 1; p-- > 0 && left;) {
        if (!wanted[p])
            continue;
        left--;
        size_t number = work->index.order[p];
        for (size_t i = 0; i < work->index.n_uses[number]; i++) {
            size_t use = work->index.uses[number][i];
            if (work->index.values[use].source == SOURCE_NODE && !listed[use])
                names[count++] = work->index.values[use].name;
            listed[use] = true;
        }
    }
    int status = count ? work_compute(work, names, count) : 0;
    free(wanted);
    free(listed);
    free(names);
    return status;
}

/* In a large graph: the shortest beginning of it that shows the fault, then windows that end where it does.
 */
static int windows_ending(struct work *work, struct settlement *settlement)
{
    size_t n = node_count(work);
    work->all_held = true; /* nothing is to be had from the engine */
    work_infer(work);
    if (!deviates_first(work, n))
        return 0;
    size_t end = bisect(work, 0, n, false, deviates_first) - 1;
    if (compute_around(work, end))
        return -1;
    size_t *nodes = arena_array(&work->arena, n, sizeof *nodes);
    for (size_t size = 1; size <= largest_window(work); size++) {
        struct verdict verdict;
        if (!nodes_ending_at(work, end, size, nodes) || !window_is_bad(work, nodes, size, &verdict))
            continue;
        shrink(work, nodes, &size, &verdict);
        settlement->fused = size > 1;
        settle_blame(settlement, &verdict, nodes, size);
        return 1;
    }
    return 0;
}

/* Nodes of the largest window tried that ends at position `end`. */
static size_t largest_ending_at(const struct work *work, size_t end)
{
    bool *wanted = work_ancestors(work, end, 0);
    size_t count = 0;
    for (size_t p = 0; p <= end; p++)
        count += wanted[p];
    free(wanted);
    return count < largest_window(work) ? count : largest_window(work);
}

/*
 * A small graph that is refused: the shortest beginning of it that is refused, and the smallest window that
 * ends where it does, both by bisection. False when that leads nowhere.
 */
static bool windows_bisected(struct work *work, struct settlement *settlement)
{
    size_t n = node_count(work), low = 0;
    struct verdict verdict, now;
    if (!deviates_first(work, n))
        return false;
    size_t end = bisect(work, 0, n, false, deviates_first) - 1, high = largest_ending_at(work, end);
    size_t *nodes = arena_array(&work->arena, n, sizeof *nodes);
    if (!nodes_ending_at(work, end, high, nodes) || !window_is_bad(work, nodes, high, &verdict))
        return false;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        bool bad = nodes_ending_at(work, end, middle, nodes) && window_is_bad(work, nodes, middle, &now);
        verdict = bad ? now : verdict;
        *(bad ? &high : &low) = middle;
    }
    nodes_ending_at(work, end, high, nodes);
    settlement->fused = high > 1;
    settle_blame(settlement, &verdict, nodes, high);
    return true;
}

static bool only_constants(const struct work *work, const size_t *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(work->which->model->graph->node[nodes[i]]->op_type, "Constant") != 0)
            return false;
    return true;
}

/* Whether the window, or the largest part of it, that ends at its node `end` is refused: if not, no smaller
 * one is. */
static bool end_is_bad(struct work *work, const struct settlement *window, size_t end, size_t *nodes)
{
    struct verdict verdict;
    size_t size = window->count - 1;
    while (size && !nodes_inside(work, window, end, size, nodes))
        size--;
    return size && !only_constants(work, nodes, size) && window_is_bad(work, nodes, size, &verdict);
}

void windows_narrow(struct work *work, struct settlement *settlement)
{
    size_t *nodes = arena_array(&work->arena, settlement->count, sizeof *nodes);
    bool *ends = arena_array(&work->arena, settlement->count, sizeof *ends);
    for (size_t i = 0; i < settlement->count; i++)
        ends[i] = end_is_bad(work, settlement, settlement->nodes[i], nodes);
    for (size_t size = 1; size < settlement->count; size++)
        for (size_t i = 0; i < settlement->count; i++) {
            struct verdict verdict;
            if (!ends[i] || !nodes_inside(work, settlement, settlement->nodes[i], size, nodes) ||
                only_constants(work, nodes, size) || !window_is_bad(work, nodes, size, &verdict))
                continue;
            settlement_release(settlement);
            settle_blame(settlement, &verdict, nodes, size);
            settlement->fused = size > 1;
            return;
        }
}

int windows_unshown(struct work *work, struct settlement *settlement)
{
    if (node_count(work) > SMALL_GRAPH)
        return windows_ending(work, settlement);
    size_t count;
    const char **names = work_made(work, &count);
    if (work_compute(work, names, count))
        return -1;
    return (work->refusal && windows_bisected(work, settlement)) ||
           windows_everywhere(work, 1, largest_window(work), settlement) || windows_stretch(work, settlement);
}
