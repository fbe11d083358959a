#include "locate/stretches.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/side_by_side.h"
#include "bounds/contract.h"
#include "ops/op.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum round { EVERY_PRODUCT, EVEN_PRODUCTS, ODD_PRODUCTS, ROUNDS = STRETCHES_ALL };

enum {
    STRETCHES_TOGETHER = 16, /* at most, that are computed together */
    STRETCHES_BEHIND = 64,   /* that are looked at for that: others are far away */
    MANY_PRODUCTS = 1 << 16,
};

/* The values that are exposed, and how deep in products each value is. */
struct plan {
    const struct model_index *index;
    const struct held_values *values;
    size_t *depths; /* by value: products on the longest way to it */
    bool *exposed;  /* by value */
    size_t count;
    /* By node and by value: the number of the stretch that was last seen to have it. */
    size_t *node_of, *value_of;
};

/* One end of a stretch, and what is known of it. */
struct stretch {
    size_t end;             /* a value */
    size_t *nodes, n_nodes; /* numbers, producers first */
    size_t *from, n_from;   /* values at which it begins */
    bool told;              /* was_judged was asked */
    bool right;             /* and said so */
    struct bounded
        shared; /* what is expected at its end, computed with others; type DTYPE_NONE: it was not */
};

/* What a run told: the hash of each value, 0 where it was not shown; and of each node, whether it was judged
 * to be right, alone or in a stretch. */
struct told {
    const uint64_t *shown;
    const bool *right;
};

/* All runs so far: the one with all values exposed, and the rounds. */
struct telling {
    struct told told[ROUNDS + 1];
    size_t count;
    uint64_t *shown; /* of the round that is running */
    bool *right;
};

uint64_t stretches_hash(const struct tensor *tensor)
{
    /* Four hashes side by side: whole models are hashed, and each step waits for the one before it. */
    enum { LANES = 4, WORD = sizeof(uint64_t) };
    uint64_t lanes[LANES] = {1, 2, 3, 4}, word;
    const char *at = tensor->data;
    size_t left = tensor->size;
    for (; left >= LANES * WORD; left -= LANES * WORD, at += LANES * WORD)
        for (size_t i = 0; i < LANES; i++) {
            memcpy(&word, at + i * WORD, WORD);
            word = (lanes[i] ^ word) * UINT64_C(0x9e3779b97f4a7c15);
            lanes[i] = word ^ word >> 32;
        }
    uint64_t hash = hash_bytes((uint64_t)tensor->type + 1, at, left);
    hash = hash_combine(hash_bytes(hash, lanes, sizeof lanes), tensor->size);
    return hash ? hash : 1;
}

static const struct op *maker_of(const struct model_index *index, size_t value, const Onnx__NodeProto **node)
{
    if (index->values[value].source != SOURCE_NODE)
        return NULL;
    *node = index->model->graph->node[index->values[value].number];
    return op_of(*node);
}

static bool is_product(const struct op *op)
{
    return op && op->work == WORK_PRODUCTS;
}

static void measure_depths(struct plan *plan)
{
    const struct model_index *index = plan->index;
    for (size_t p = 0; p < index->model->graph->n_node; p++) {
        size_t number = index->order[p], depth = 0, made;
        const Onnx__NodeProto *node = index->model->graph->node[number];
        for (size_t i = 0; i < index->n_uses[number]; i++)
            depth =
                plan->depths[index->uses[number][i]] > depth ? plan->depths[index->uses[number][i]] : depth;
        depth += is_product(op_of(node));
        for (size_t i = 0; i < node->n_output; i++)
            if (*node->output[i] && map_get(&index->names, node->output[i], &made))
                plan->depths[made] = depth;
    }
}

static enum dtype type_of(const struct held_values *values, size_t value)
{
    enum dtype seen = values->forms[value].type;
    return seen != DTYPE_NONE ? seen : values->planned[value].type;
}

/* The value from which this one is only moved or widened. */
static size_t before_moves(const struct plan *plan, size_t value)
{
    const Onnx__NodeProto *node;
    const struct op *op;
    size_t before;
    while ((op = maker_of(plan->index, value, &node)) && op->data == DATA_FIRST && node->n_input &&
           map_get(&plan->index->names, node->input[0], &before)) {
        enum dtype from = type_of(plan->values, before), to = type_of(plan->values, value);
        bool widens = from != DTYPE_NONE && to != DTYPE_NONE && dtype_size(from) < dtype_size(to);
        if (op->work != WORK_MOVES && !(widens && op->work == WORK_ELEMENTS))
            break;
        value = before;
    }
    return value;
}

static void expose(struct plan *plan, size_t value)
{
    const struct index_value *known = &plan->index->values[value];
    if (known->source != SOURCE_NODE || plan->exposed[value] || known->is_output ||
        type_of(plan->values, value) == DTYPE_NONE || held_values_is_hidden(plan->values, value))
        return;
    plan->exposed[value] = true;
    plan->count++;
}

static bool is_of_round(enum round round, size_t depth)
{
    return round == EVERY_PRODUCT || (depth % 2 == 0) == (round == EVEN_PRODUCTS);
}

/* Whether stretches begin at the value. */
static bool begins_at(const struct plan *plan, size_t value)
{
    return plan->exposed[value] || plan->index->values[value].is_output ||
           plan->index->values[value].source != SOURCE_NODE;
}

/*
 * A sum that several nodes use is carried on from layer to layer (a residual connection). Nothing that feeds
 * a product lies on that way, and each stretch would go back to the first layer. So such a value is exposed,
 * too, where more products lie behind it than stretches of this round are to have; an engine has to make it
 * anyway.
 */
static void expose_carried(struct plan *plan, enum round round)
{
    const struct model_index *index = plan->index;
    const size_t most = round == EVERY_PRODUCT ? 1 : 2;
    size_t *products = memory_zeroed(index->count, sizeof *products), made;
    for (size_t p = 0; p < index->model->graph->n_node; p++) {
        size_t number = index->order[p];
        const Onnx__NodeProto *node = index->model->graph->node[number];
        size_t behind = is_product(op_of(node));
        for (size_t i = 0; i < index->n_uses[number]; i++)
            if (!begins_at(plan, index->uses[number][i]))
                behind += products[index->uses[number][i]];
        for (size_t i = 0; i < node->n_output; i++) {
            if (!*node->output[i] || !map_get(&index->names, node->output[i], &made))
                continue;
            /* Where ways part and meet again, products count once for each way: never too few. */
            products[made] = behind < MANY_PRODUCTS ? behind : MANY_PRODUCTS;
            if (behind > most && index->values[made].consumers > 1)
                expose(plan, made);
        }
    }
    free(products);
}

static void choose(struct plan *plan, enum round round)
{
    const struct model_index *index = plan->index;
    memset(plan->exposed, 0, index->count * sizeof *plan->exposed);
    plan->count = 0;
    for (size_t number = 0; number < index->model->graph->n_node; number++) {
        const struct op *op = op_of(index->model->graph->node[number]);
        for (size_t i = 0; op && i < index->n_uses[number]; i++) {
            size_t use = index->uses[number][i], value = before_moves(plan, use);
            if (is_product(op) && is_of_round(round, plan->depths[value]))
                expose(plan, value);
            if (round == EVERY_PRODUCT && op_hides(op))
                expose(plan, use);
        }
    }
    expose_carried(plan, round);
}

static int by_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

static size_t *with_number(size_t *numbers, size_t *count, size_t *capacity, size_t number)
{
    numbers = memory_grow(numbers, capacity, *count + 1, sizeof *numbers);
    numbers[(*count)++] = number;
    return numbers;
}

/* Walks from the end to where the stretch begins. `mark`: its number, from 1 on. */
static void find_stretch(const struct plan *plan, size_t end, size_t mark, struct stretch *stretch)
{
    const struct model_index *index = plan->index;
    size_t looked = 0, nodes_room = 0, from_room = 0, last = index->values[end].number;
    *stretch = (struct stretch){.end = end};
    stretch->nodes = with_number(NULL, &stretch->n_nodes, &nodes_room, index->position[last]);
    plan->node_of[last] = mark;
    while (looked < stretch->n_nodes) {
        size_t number = index->order[stretch->nodes[looked++]];
        for (size_t i = 0; i < index->n_uses[number]; i++) {
            size_t use = index->uses[number][i];
            const struct index_value *value = &index->values[use];
            if (begins_at(plan, use)) {
                if (value->source != SOURCE_INITIALIZER && plan->value_of[use] != mark)
                    stretch->from = with_number(stretch->from, &stretch->n_from, &from_room, use);
                plan->value_of[use] = mark;
            } else if (plan->node_of[value->number] != mark) {
                plan->node_of[value->number] = mark;
                stretch->nodes = with_number(stretch->nodes, &stretch->n_nodes, &nodes_room,
                                             index->position[value->number]);
            }
        }
    }
    qsort(stretch->nodes, stretch->n_nodes, sizeof *stretch->nodes, by_size);
    for (size_t i = 0; i < stretch->n_nodes; i++)
        stretch->nodes[i] = index->order[stretch->nodes[i]];
}

static void stretch_release(struct stretch *stretch)
{
    free(stretch->nodes);
    free(stretch->from);
    bounded_release(&stretch->shared);
}

/* Notes what the running round shows of a value that a node makes. */
static void note_shown(struct stretches *stretches, size_t value)
{
    if (stretches->search->test.index.values[value].source != SOURCE_NODE || stretches->telling->shown[value])
        return;
    const struct tensor *tensor = held_values_get(&stretches->search->record.values, value);
    stretches->telling->shown[value] = tensor ? stretches_hash(tensor) : 0;
}

static bool is_same(const struct stretches *stretches, const struct told *told, size_t value)
{
    uint64_t now = stretches->telling->shown[value];
    return stretches->search->test.index.values[value].source != SOURCE_NODE ||
           (now && now == told->shown[value]);
}

static bool told_before(const struct stretches *stretches, const struct told *told,
                        const struct stretch *stretch)
{
    bool same = is_same(stretches, told, stretch->end);
    for (size_t i = 0; i < stretch->n_from && same; i++)
        same = is_same(stretches, told, stretch->from[i]);
    for (size_t i = 0; i < stretch->n_nodes && same; i++)
        same = told->right[stretch->nodes[i]];
    return same;
}

/* Whether an earlier run told the same, bit for bit, and was judged. */
static bool was_judged(struct stretches *stretches, struct stretch *stretch)
{
    if (stretch->told)
        return stretch->right;
    stretch->told = true;
    note_shown(stretches, stretch->end);
    for (size_t i = 0; i < stretch->n_from; i++)
        note_shown(stretches, stretch->from[i]);
    for (size_t i = 0; i < stretches->telling->count; i++)
        stretch->right = stretch->right || told_before(stretches, &stretches->telling->told[i], stretch);
    return stretch->right;
}

static bool lists(const size_t *numbers, size_t count, size_t number)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

/* Cuts stretches out as one model, with the values they were given; false when one is not known. */
static bool cut(struct stretches *stretches, struct stretch *const *some, size_t count, struct part *part)
{
    struct recording *record = &stretches->search->record;
    const struct model_index *index = &record->test->index;
    struct arena arena;
    arena_init(&arena);
    size_t *begins = arena_array(&arena, index->count, sizeof *begins), n_from = 0;
    const char **from = arena_array(&arena, index->count, sizeof *from);
    const char **to = arena_array(&arena, count, sizeof *to);
    for (size_t s = 0; s < count; s++) {
        to[s] = index->values[some[s]->end].name;
        for (size_t i = 0; i < some[s]->n_from; i++)
            if (!lists(begins, n_from, some[s]->from[i])) {
                from[n_from] = index->values[some[s]->from[i]].name;
                begins[n_from++] = some[s]->from[i];
            }
    }
    struct edit_types types = held_values_types(&record->values, &arena);
    *part = (struct part){0};
    bool known = !model_cut_between(&part->model, index, from, n_from, to, count, &types, NULL);
    arena_release(&arena);
    if (!known)
        return false;
    const Onnx__GraphProto *graph = part->model->graph;
    part->n_inputs = graph->n_input;
    part->inputs = memory_zeroed(graph->n_input, sizeof *part->inputs);
    for (size_t i = 0; i < graph->n_input && known; i++) {
        const struct tensor *tensor = held_values_find(&record->values, graph->input[i]->name);
        known = tensor != NULL;
        part->inputs[i] = value_view(graph->input[i]->name, tensor);
    }
    return known;
}

/* Whether two stretches have nodes in common, and neither begins where the other ends. */
static bool go_together(const struct stretch *a, const struct stretch *b)
{
    bool common = false;
    for (size_t i = 0; i < a->n_nodes && !common; i++)
        common = lists(b->nodes, b->n_nodes, a->nodes[i]);
    return common && a->n_nodes > 1 && b->n_nodes > 1 && !lists(a->from, a->n_from, b->end) &&
           !lists(b->from, b->n_from, a->end);
}

/* Whether a stretch goes together with one of some that are chosen, and apart from none of them. */
static bool joins(struct stretches *stretches, struct stretch *const *chosen, size_t count,
                  struct stretch *stretch)
{
    if (stretch->shared.type != DTYPE_NONE || was_judged(stretches, stretch))
        return false;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (lists(chosen[i]->from, chosen[i]->n_from, stretch->end) ||
            lists(stretch->from, stretch->n_from, chosen[i]->end))
            return false;
        any = any || go_together(chosen[i], stretch);
    }
    return any;
}

/*
 * Computes what is expected at the end of a stretch together with those behind it that have nodes in common,
 * as several values of one product are: else each would compute that product, and read its weights, anew.
 */
static void share(struct stretches *stretches, struct stretch *found, size_t count)
{
    struct stretch *chosen[STRETCHES_TOGETHER] = {found};
    struct recording *record = &stretches->search->record;
    struct arithmetic how = record->test->fusing;
    struct expected expected = {0};
    struct part part = {0};
    size_t n = 1;
    how.lowered = NULL; /* where that matters, each is computed by itself */
    for (size_t i = 1; i < count && i < STRETCHES_BEHIND && n < STRETCHES_TOGETHER; i++)
        if (joins(stretches, chosen, n, &found[i]))
            chosen[n++] = &found[i];
    if (n > 1 && cut(stretches, chosen, n, &part) &&
        !expected_compute(&expected, part.model, &how, part.inputs, part.n_inputs) && expected.count == n)
        for (size_t i = 0; i < n; i++) {
            assert(text_equal(part.model->graph->output[i]->name,
                              record->test->index.values[chosen[i]->end].name));
            chosen[i]->shared = expected.values[i];
            bounded_init(&expected.values[i]);
        }
    expected_release(&expected);
    part_release(&part);
}

/* Judges what the engine showed by what was computed together with other stretches; false where there is no
 * such, or it is not enough. */
static bool judge_shared(struct stretches *stretches, struct stretch *stretch, const struct tensor *tensor,
                         struct verdict *verdict)
{
    struct value view = value_view(NULL, tensor);
    if (!tensor || stretch->shared.type == DTYPE_NONE)
        return false;
    *verdict = verdict_begin(false);
    verdict_output(verdict, 0, &stretch->shared, &view);
    verdict_finish(verdict, stretches->search->test.index.values[stretch->end].name);
    bounded_release(&stretch->shared);
    return !verdict_is_finding(verdict->kind) && !verdict_is(verdict->kind, CLASS_DEVIATES);
}

/* Judges what the engine showed at the end and, where that is wrong and the engine may be asked, what it
 * makes of the stretch alone. */
static void judge(struct stretches *stretches, struct stretch *stretch, bool ask, struct verdict *verdict)
{
    struct recording *record = &stretches->search->record;
    const struct tensor *tensor = held_values_get(&record->values, stretch->end);
    struct expected expected = {0};
    struct part part = {0};
    if (judge_shared(stretches, stretch, tensor, verdict))
        return;
    *verdict = (struct verdict){0};
    if (tensor && cut(stretches, &stretch, 1, &part)) {
        struct value view = value_view(NULL, tensor);
        struct result shown = {.outcome = OUTCOME_OK, .count = 1, .outputs = &view}, alone;
        expected_judge_fused(&expected, part.model,
                             stretch->n_nodes > 1 ? &record->test->fusing : &record->test->alone, part.inputs,
                             part.n_inputs, &shown, verdict);
        result_init(&alone);
        if (verdict_is_finding(verdict->kind) && ask) {
            *verdict = (struct verdict){0};
            if (!under_test_run(record->test, part.model, part.inputs, part.n_inputs, 0, &alone) &&
                alone.outcome == OUTCOME_OK)
                expected_judge(&expected, part.model, &alone, verdict);
            if (!verdict_is_finding(verdict->kind)) /* neither to blame nor cleared */
                *verdict = (struct verdict){0};
        }
        result_release(&alone);
    }
    expected_release(&expected);
    part_release(&part);
}

/* From here on the engine is asked for all values again. */
static void blame(struct stretches *stretches, const struct stretch *stretch, const struct verdict *verdict,
                  struct settlement *settlement)
{
    struct recording *record = &stretches->search->record;
    struct verdict now = *verdict;
    size_t count = stretch->n_nodes;
    recording_close(record);
    fused_group_shrink(&stretches->search->groups, stretch->nodes, &count, &now);
    settlement->fused = count > 1;
    settlement_blame(settlement, &now, stretch->nodes, count);
}

/* Whether node `number` is a product that the engine computes in fewer bits. */
static bool is_lowered(const struct under_test *test, size_t number)
{
    const struct lowered_products *lowered = test->fusing.lowered;
    const Onnx__GraphProto *graph = test->model->graph;
    const Onnx__NodeProto *node = graph->node[number];
    const struct index_value *weights =
        node->n_input > 1 ? model_index_find(&test->index, node->input[1]) : NULL;
    return lowered_lists(lowered->products, node->op_type) && weights && weights->source == SOURCE_NODE &&
           lowered_lists(lowered->makers, graph->node[weights->number]->op_type);
}

/* A stretch that is right by the bounds of fewer bits. */
static void note_lowered(struct stretches *stretches, const struct stretch *stretch, double visible)
{
    for (size_t i = 0; i < stretch->n_nodes; i++)
        if (is_lowered(&stretches->search->test, stretch->nodes[i]))
            stretches->lowered[stretch->nodes[i]] = visible;
}

/* Stretches of one run that several processes judge at the same time. */
struct some {
    struct stretches *stretches;
    struct stretch *first;
    size_t count, chunk;
};

static bool judge_ahead(void *context, size_t piece, void *result)
{
    const struct some *some = context;
    struct stretch *stretch = &some->first[piece];
    size_t end = (piece / some->chunk + 1) * some->chunk;
    if (was_judged(some->stretches, stretch))
        return false;
    if (stretch->shared.type == DTYPE_NONE) /* with those that the same process judges */
        share(some->stretches, stretch, (end < some->count ? end : some->count) - piece);
    struct verdict verdict;
    judge(some->stretches, stretch, false, &verdict);
    memcpy(result, &verdict, sizeof verdict);
    return !verdict_is_finding(verdict.kind);
}

static void judge_side_by_side(struct some *some, size_t bytes, struct side_by_side *run)
{
    enum { WORTH_BYTES = 1 << 20, CHUNKS = 4 };
    some->chunk = some->count / (CHUNKS * side_by_side_processes()) + 1;
    *run = (struct side_by_side){0};
    if (bytes < WORTH_BYTES)
        return;
    contract_on_one_thread(); /* no fork starts threads */
    side_by_side_run(run, some->count, some->chunk, sizeof(struct verdict), judge_ahead, some);
}

/* `behind`: how many follow it that may be judged from the same run. `ready`: the verdict, or NULL. */
static bool judge_stretch(struct stretches *stretches, struct stretch *stretch, size_t behind,
                          const struct verdict *ready, struct settlement *settlement)
{
    struct verdict verdict = {0};
    stretches->count++;
    bool right = was_judged(stretches, stretch);
    if (!right && ready) {
        verdict = *ready;
        right = verdict_is_earned(&verdict);
    } else if (!right) {
        if (stretch->shared.type == DTYPE_NONE)
            share(stretches, stretch, behind + 1);
        judge(stretches, stretch, true, &verdict);
        right = verdict_is_earned(&verdict);
    }
    stretches->right += right;
    for (size_t i = 0; i < stretch->n_nodes && right; i++)
        stretches->covered[stretch->nodes[i]] = stretches->telling->right[stretch->nodes[i]] = true;
    if (verdict.lowered)
        note_lowered(stretches, stretch, verdict.visible);
    if (!verdict_is_finding(verdict.kind))
        return false;
    blame(stretches, stretch, &verdict, settlement);
    return true;
}

static size_t bytes_of(const struct held_values *values, size_t value)
{
    const struct tensor *form =
        values->forms[value].type != DTYPE_NONE ? &values->forms[value] : &values->planned[value];
    size_t bytes = form->type == DTYPE_NONE ? 0 : dtype_size(form->type);
    for (int i = 0; i < form->shape.rank; i++)
        bytes *= form->shape.dims[i] > 0 ? (size_t)form->shape.dims[i] : 1;
    return bytes;
}

/* Names what the stretch needs and is not listed yet; returns the bytes of that. */
static size_t list_needed(const struct stretches *stretches, const struct stretch *stretch, bool *listed,
                          const char **names, size_t *count)
{
    const struct held_values *values = &stretches->search->record.values;
    const struct model_index *index = &stretches->search->test.index;
    size_t bytes = 0;
    for (size_t i = 0; i <= stretch->n_from; i++) {
        size_t value = i < stretch->n_from ? stretch->from[i] : stretch->end;
        if (listed[value] || index->values[value].source != SOURCE_NODE ||
            held_values_is_hidden(values, value))
            continue;
        listed[value] = true;
        names[(*count)++] = index->values[value].name;
        bytes += bytes_of(values, value);
    }
    return bytes;
}

/* As many stretches as fit into memory, from one run. Returns 1 when one is blamed or the engine does not
 * show the values. */
static int judge_some(struct stretches *stretches, struct stretch *found, size_t count, size_t *done,
                      struct settlement *settlement)
{
    struct recording *record = &stretches->search->record;
    const struct model_index *index = &record->test->index;
    bool *listed = memory_zeroed(index->count, sizeof *listed);
    const char **names = memory_zeroed(index->count, sizeof *names);
    size_t n_names = 0, bytes = 0, end = *done, first = *done;
    while (end < count && (end == first || bytes < record->group_bytes))
        bytes += list_needed(stretches, &found[end++], listed, names, &n_names);
    enum outcome outcome = OUTCOME_OK;
    int status = n_names ? recording_hold(record, names, n_names, &outcome) : 0;
    struct some some = {.stretches = stretches, .first = found + first, .count = end - first};
    struct side_by_side ahead = {0};
    if (!status && outcome == OUTCOME_OK)
        judge_side_by_side(&some, bytes, &ahead);
    for (size_t i = first; i < end && !status && outcome == OUTCOME_OK; i++)
        status = judge_stretch(stretches, &found[i], end - i - 1, side_by_side_result(&ahead, i - first),
                               settlement);
    side_by_side_release(&ahead);
    *done = end;
    free(names);
    free(listed);
    return status ? status : outcome != OUTCOME_OK;
}

static size_t list_stretches(const struct plan *plan, struct stretch *found)
{
    const struct model_index *index = plan->index;
    size_t count = 0;
    memset(plan->node_of, 0, index->model->graph->n_node * sizeof *plan->node_of);
    memset(plan->value_of, 0, index->count * sizeof *plan->value_of);
    for (size_t p = 0; p < index->model->graph->n_node; p++) {
        const Onnx__NodeProto *node = index->model->graph->node[index->order[p]];
        for (size_t i = 0; i < node->n_output; i++) {
            size_t made;
            if (*node->output[i] && map_get(&index->names, node->output[i], &made) &&
                (plan->exposed[made] || index->values[made].is_output) &&
                !held_values_is_hidden(plan->values, made)) {
                find_stretch(plan, made, count + 1, &found[count]);
                count++;
            }
        }
    }
    return count;
}

static int judge_round(struct stretches *stretches, const struct plan *plan, struct settlement *settlement)
{
    struct recording *record = &stretches->search->record;
    struct telling *telling = stretches->telling;
    telling->shown = arena_array(&record->test->arena, plan->index->count, sizeof *telling->shown);
    telling->right = arena_array(&record->test->arena, record->test->model->graph->n_node, sizeof(bool));
    struct stretch *found = memory_zeroed(plan->index->count, sizeof *found);
    size_t count = list_stretches(plan, found), done = 0;
    int status = recording_expose_some(record, plan->exposed);
    while (!status && done < count)
        status = judge_some(stretches, found, count, &done, settlement);
    for (size_t i = 0; i < count; i++)
        stretch_release(&found[i]);
    free(found);
    telling->told[telling->count++] = (struct told){telling->shown, telling->right};
    return status < 0 ? -1 : 0;
}

/* A round that exposes nothing, everything, or what an earlier one did, tells nothing new. */
static bool is_new(const struct plan *plan, bool *const *before, size_t n_before)
{
    size_t all = 0;
    for (size_t i = 0; i < plan->index->count; i++)
        all += plan->index->values[i].source == SOURCE_NODE && !plan->index->values[i].is_output &&
               !held_values_is_hidden(plan->values, i);
    bool same = plan->count == 0 || plan->count >= all;
    for (size_t i = 0; i < n_before && !same; i++)
        same = memcmp(before[i], plan->exposed, plan->index->count * sizeof *plan->exposed) == 0;
    return !same;
}

int stretches_judge(struct stretches *stretches, struct settlement *settlement)
{
    struct recording *record = &stretches->search->record;
    const struct model_index *index = &record->test->index;
    struct plan plan = {.index = index, .values = &record->values};
    struct telling telling = {.told = {{stretches->shown, stretches->judged}}, .count = 1};
    stretches->telling = &telling;
    bool *tried[ROUNDS];
    size_t n_tried = 0;
    int status = 0;
    plan.depths = memory_zeroed(index->count, sizeof *plan.depths);
    plan.node_of = memory_zeroed(record->test->model->graph->n_node, sizeof *plan.node_of);
    plan.value_of = memory_zeroed(index->count, sizeof *plan.value_of);
    measure_depths(&plan);
    for (enum round round = 0; round < stretches->rounds && !status && !settlement->count; round++) {
        plan.exposed = memory_zeroed(index->count, sizeof *plan.exposed);
        choose(&plan, round);
        bool wanted = is_new(&plan, tried, n_tried);
        tried[n_tried++] = plan.exposed;
        if (wanted)
            status = judge_round(stretches, &plan, settlement);
    }
    for (size_t i = 0; i < n_tried; i++)
        free(tried[i]);
    free(plan.node_of);
    free(plan.value_of);
    free(plan.depths);
    recording_close(record);
    return status;
}
