#include "locate/swap_node.h"

#include "base/memory.h"
#include "eval/gradient.h"
#include "locate/expected.h"
#include "model/edit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int swap_pile_put(struct swap_graph *graph, struct pile *pile, struct tensor *tensor)
{
    for (size_t i = 0; i < pile->count; i++)
        if (tensor_identical(&pile->tensors[i], tensor)) {
            tensor_release(tensor);
            return (int)i;
        }
    pile->tensors = memory_grow(pile->tensors, &pile->capacity, pile->count + 1, sizeof *pile->tensors);
    graph->bytes += tensor->size;
    pile->tensors[pile->count] = *tensor;
    tensor_init(tensor);
    return (int)pile->count++;
}

void swap_pile_clear(struct pile *pile)
{
    for (size_t i = 0; i < pile->count; i++)
        tensor_release(&pile->tensors[i]);
    free(pile->tensors);
    *pile = (struct pile){0};
}

const struct tensor *swap_tensor(const struct swap_graph *graph, size_t value, int number)
{
    return number == NONE ? NULL : &graph->values[value].tensors[number];
}

static int too_large(struct swap_graph *graph)
{
    if (graph->bytes <= SWAP_BYTES)
        return 0;
    return error_set(graph->test.err, ERROR_LIMIT, "the values of all bindings take more than %zu MB",
                     SWAP_BYTES >> 20);
}

/* The value as some binding knows it, or NULL. */
static const struct tensor *known_tensor(const struct swap_graph *graph, size_t value,
                                         const struct swap_state *states, size_t n_states)
{
    const struct tensor *tensor = NULL;
    for (size_t b = 0; b < n_states && !tensor; b++)
        tensor = swap_tensor(graph, value, states[b].value[value]);
    return tensor;
}

/* The values of the node that are known, to declare the types of the part's inputs and outputs. */
static struct edit_types known_types(struct node_run *run, const struct swap_state *states, size_t n_states)
{
    const struct model_index *index = &run->graph->test.index;
    const Onnx__NodeProto *node = index->model->graph->node[run->number];
    size_t uses = index->n_uses[run->number], count = 0, value;
    const char **names = arena_array(&run->arena, uses + node->n_output, sizeof *names);
    const struct tensor **tensors = arena_array(&run->arena, uses + node->n_output, sizeof(struct tensor *));
    for (size_t i = 0; i < uses + node->n_output; i++) {
        if (i < uses)
            value = index->uses[run->number][i];
        else if (!map_get(&index->names, node->output[i - uses], &value))
            continue;
        const struct tensor *tensor = known_tensor(run->graph, value, states, n_states);
        if (!tensor)
            continue;
        tensors[count] = tensor;
        names[count++] = index->values[value].name;
    }
    return (struct edit_types){.count = count, .names = names, .tensors = tensors};
}

/* Settings that have one value in all bindings become constants, which many engines require. */
static int freeze_settings(struct node_run *run, const struct swap_state *states, size_t n_states)
{
    struct swap_graph *graph = run->graph;
    const Onnx__NodeProto *node = graph->test.model->graph->node[run->number];
    for (size_t i = 0; i < node->n_input; i++) {
        size_t v;
        if (!*node->input[i] || op_reads_as_data(node, node->input[i]) ||
            !map_get(&graph->test.index.names, node->input[i], &v) ||
            graph->test.index.values[v].source == SOURCE_INITIALIZER || states[0].value[v] == NONE)
            continue;
        bool same = true;
        for (size_t b = 1; b < n_states; b++)
            same &= states[b].value[v] == states[0].value[v];
        if (same && model_freeze_input(run->part, node->input[i], swap_tensor(graph, v, states[0].value[v]),
                                       graph->test.err))
            return -1;
    }
    return 0;
}

static size_t *numbers_of(struct node_run *run, Onnx__ValueInfoProto **infos, size_t count)
{
    size_t *numbers = arena_array(&run->arena, count, sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        map_get(&run->graph->test.index.names, infos[i]->name, &numbers[i]);
    return numbers;
}

int node_run_open(struct node_run *run, struct swap_graph *graph, size_t number,
                  const struct swap_state *states, size_t n_states)
{
    *run = (struct node_run){.graph = graph, .number = number};
    arena_init(&run->arena);
    struct edit_types types = known_types(run, states, n_states);
    if (model_cut(&run->part, &graph->test.index, &number, 1, &types, graph->test.err) ||
        freeze_settings(run, states, n_states) ||
        handover_open(&run->handover, graph->test.which->pool, run->part, graph->test.err))
        return -1;
    const Onnx__GraphProto *part = run->part->graph;
    run->n_in = part->n_input;
    run->n_out = part->n_output;
    run->in = numbers_of(run, part->input, part->n_input);
    run->out = numbers_of(run, part->output, part->n_output);
    run->first = arena_array(&run->arena, 1, sizeof *run->first);
    run->first->in = arena_array(&run->arena, run->n_in, sizeof *run->first->in);
    for (size_t i = 0; i < run->n_in; i++)
        run->first->in[i] = states[0].value[run->in[i]];
    run->errand_of = arena_array(&run->arena, n_states, sizeof *run->errand_of);
    for (int e = 0; e < 2; e++)
        run->errands[e] = arena_array(&run->arena, n_states, sizeof *run->errands[e]);
    return 0;
}

void node_run_close(struct node_run *run)
{
    handover_close(&run->handover);
    model_free(run->part);
    arena_release(&run->arena);
}

static bool same_numbers(const int *a, const int *b, size_t count)
{
    return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

/* The errand of a binding: an earlier one with the same inputs, or a new one. */
static void errand_add(struct node_run *run, const struct swap_state *state, int engine, size_t binding)
{
    struct errand *list = run->errands[engine], *next = &list[run->n_errands[engine]];
    next->in = arena_array(&run->arena, run->n_in, sizeof *next->in);
    next->from = arena_array(&run->arena, run->n_out, sizeof *next->from);
    for (size_t i = 0; i < run->n_in; i++)
        next->in[i] = state->value[run->in[i]];
    for (size_t i = 0; i < run->n_out; i++)
        next->from[i] = run->backward ? state->slope[run->out[i]] : NONE;
    size_t at = 0;
    while (!same_numbers(list[at].in, next->in, run->n_in) ||
           !same_numbers(list[at].from, next->from, run->n_out))
        at++;
    if (&list[at] == next) {
        size_t results = run->backward ? run->n_wanted : run->n_out;
        next->out = arena_array(&run->arena, results, sizeof *next->out);
        run->n_errands[engine]++;
    }
    run->errand_of[binding] = at;
}

static struct value *views(struct node_run *run, const struct pile *piles, const size_t *values,
                           const int *numbers, size_t count, size_t *n)
{
    struct value *views = arena_array(&run->arena, count, sizeof *views);
    *n = 0;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != NONE)
            views[(*n)++] = value_view(run->graph->test.index.values[values[i]].name,
                                       &piles[values[i]].tensors[numbers[i]]);
    return views;
}

/* The engine's job: one set of inputs for each errand. */
static struct job request_make(struct node_run *run, int engine)
{
    struct swap_graph *graph = run->graph;
    size_t count = run->n_errands[engine];
    struct job_set *sets = arena_array(&run->arena, count, sizeof *sets);
    const char **wanted = arena_array(&run->arena, run->n_wanted, sizeof *wanted);
    for (size_t i = 0; i < run->n_wanted; i++)
        wanted[i] = graph->test.index.values[run->wanted[i]].name;
    for (size_t i = 0; i < count; i++) {
        const struct errand *errand = &run->errands[engine][i];
        sets[i].inputs = views(run, graph->values, run->in, errand->in, run->n_in, &sets[i].n_inputs);
        if (!run->backward)
            continue;
        struct job_gradient *gradient = arena_array(&run->arena, 1, sizeof *gradient);
        gradient->upstream =
            views(run, graph->slopes, run->out, errand->from, run->n_out, &gradient->n_upstream);
        gradient->wanted = wanted;
        gradient->n_wanted = run->n_wanted;
        sets[i].gradient = gradient;
    }
    struct job job = {.n_sets = count, .sets = sets};
    handover_give(&run->handover, &job);
    return job;
}

/* Takes the named results over. False when one is missing or is no tensor. */
static bool take_results(struct node_run *run, struct errand *errand, struct result *result)
{
    struct swap_graph *graph = run->graph;
    size_t count = run->backward ? run->n_wanted : run->n_out;
    const size_t *values = run->backward ? run->wanted : run->out;
    for (size_t i = 0; i < count; i++) {
        struct value *found = NULL;
        for (size_t k = 0; k < result->count; k++)
            if (result->outputs[k].name &&
                text_equal(result->outputs[k].name, graph->test.index.values[values[i]].name))
                found = &result->outputs[k];
        if (!found || found->kind != VALUE_TENSOR)
            return false;
        struct pile *pile = run->backward ? &graph->slopes[values[i]] : &graph->values[values[i]];
        errand->out[i] = swap_pile_put(graph, pile, &found->tensors[0]);
    }
    return true;
}

/*
 * Hears that the engine gave no answer to an errand. It counts against the engine only if the node has the
 * inputs of the first binding: others may be what a wrong node before it makes.
 */
static void unanswered(struct node_run *run, int engine, struct errand *errand, const struct result *result)
{
    struct swap_node *node = &run->graph->nodes[run->number];
    const struct errand *first = run->first;
    bool usual = same_numbers(errand->in, first->in, run->n_in);
    for (size_t i = 0; i < (run->backward ? run->n_wanted : run->n_out); i++)
        errand->out[i] = NONE;
    if (usual)
        node->died[engine] |= result->outcome == OUTCOME_CRASH || result->outcome == OUTCOME_HANG;
    if (node->why[engine])
        return;
    const char *said = result->outcome == OUTCOME_OK         ? "its answer lacks a value or holds no tensor"
                       : result->message && *result->message ? result->message
                                                             : outcome_name(result->outcome);
    node->why[engine] = arena_strdup(&run->graph->test.arena, said);
}

/* Runs the errands of both engines. An engine that answers none, and never has, cannot run the node. */
static int run_errands(struct node_run *run)
{
    struct swap_graph *graph = run->graph;
    int order[2] = {0, 1};
    for (int e = 0; e < 2; e++) {
        if (!run->n_errands[e])
            continue;
        struct job job = request_make(run, e);
        job.user = &order[e];
        runner_submit_to(graph->runner, &job, &graph->engines[e], 1, ASK_NEVER);
    }
    for (;;) {
        struct run *back;
        int status = runner_next(graph->runner, &back, graph->test.err);
        if (status <= 0)
            return status;
        int e = *(int *)back->job.user;
        struct swap_node *node = &graph->nodes[run->number];
        bool *proven = run->backward ? &node->proven_gradient[e] : &node->proven[e];
        for (size_t i = 0; i < run->n_errands[e]; i++) {
            struct errand *errand = &run->errands[e][i];
            struct result *result = run_result(back, i, 0);
            ++*(run->backward ? &node->gradients : &node->runs);
            if (result->outcome == OUTCOME_OK && take_results(run, errand, result))
                *proven = true;
            else
                unanswered(run, e, errand, result);
        }
        *(run->backward ? &node->lacks_gradient[e] : &node->lacks[e]) = !*proven;
        run_free(back);
    }
}

static int engine_for(const struct node_run *run, const struct swap_binding *binding)
{
    const struct swap_node *node = &run->graph->nodes[run->number];
    int engine = binding->engine[run->number];
    const bool *lacks = run->backward ? node->lacks_gradient : node->lacks;
    return lacks[engine] && !lacks[1 - engine] ? 1 - engine : engine;
}

/* Whether the engines answered the same errand differently. */
static bool answers_differ(const struct node_run *run)
{
    size_t results = run->backward ? run->n_wanted : run->n_out;
    for (size_t i = 0; i < run->n_errands[0]; i++)
        for (size_t k = 0; k < run->n_errands[1]; k++) {
            const struct errand *a = &run->errands[0][i], *b = &run->errands[1][k];
            if (same_numbers(a->in, b->in, run->n_in) && same_numbers(a->from, b->from, run->n_out) &&
                !same_numbers(a->out, b->out, results))
                return true;
        }
    return false;
}

/* Whether all inputs are there: they are not where a node before it failed on what it was given. */
static bool is_complete(const struct node_run *run, const struct swap_state *state)
{
    for (size_t i = 0; i < run->n_in; i++)
        if (state->value[run->in[i]] == NONE)
            return false;
    return true;
}

int node_run_bindings(struct node_run *run, const struct swap_binding *bindings,
                      const struct swap_state *states, size_t count)
{
    struct swap_node *node = &run->graph->nodes[run->number];
    const bool *lacks = run->backward ? node->lacks_gradient : node->lacks;
    bool before[2];
    do {
        memcpy(before, lacks, sizeof before);
        run->n_errands[0] = run->n_errands[1] = 0;
        for (size_t b = 0; b < count; b++) {
            run->errand_of[b] = SIZE_MAX;
            if (is_complete(run, &states[b]))
                errand_add(run, &states[b], engine_for(run, &bindings[b]), b);
        }
        if (run_errands(run))
            return -1;
    } while (memcmp(before, lacks, sizeof before) != 0 && !(lacks[0] && lacks[1]));
    *(run->backward ? &node->gradient_differs : &node->differs) |= answers_differ(run);
    if (!lacks[0] || !lacks[1] || run->backward || run->graph->established)
        return too_large(run->graph);
    char text[200];
    return error_set(
        run->graph->test.err, ERROR_UNSUPPORTED, "%s runs on neither engine alone: %.150s; %.150s",
        model_node_text(run->graph->test.model, run->number, text, sizeof text), node->why[0], node->why[1]);
}

const struct errand *node_run_errand(const struct node_run *run, const struct swap_binding *binding, size_t b)
{
    return run->errand_of[b] == SIZE_MAX ? NULL : &run->errands[engine_for(run, binding)][run->errand_of[b]];
}

void node_run_find_wanted(struct node_run *run)
{
    const struct model_index *index = &run->graph->test.index;
    const Onnx__NodeProto *node = run->graph->test.model->graph->node[run->number];
    run->wanted = arena_array(&run->arena, index->n_uses[run->number], sizeof *run->wanted);
    run->n_wanted = 0;
    for (size_t k = 0; k < index->n_uses[run->number]; k++) {
        size_t v = index->uses[run->number][k];
        const struct tensor *tensor = swap_tensor(run->graph, v, run->graph->states[0].value[v]);
        bool is_float =
            index->values[v].source == SOURCE_INITIALIZER || (tensor && dtype_is_float(tensor->type));
        if (run->graph->needed[v] && is_float && op_reads_as_data(node, index->values[v].name))
            run->wanted[run->n_wanted++] = v;
    }
}

/* Runs the errand of the first binding on both engines, whatever it is bound to. */
static int run_first(struct node_run *run, struct result results[2])
{
    struct swap_graph *graph = run->graph;
    int status = 0;
    run->n_errands[0] = 0;
    errand_add(run, &graph->states[0], 0, 0);
    struct job job = request_make(run, 0);
    for (int e = 0; e < 2 && status == 0; e++) {
        struct job one = job;
        one.engine = graph->engines[e];
        one.n_sets = 0;
        one.n_inputs = job.sets[0].n_inputs;
        one.inputs = job.sets[0].inputs;
        one.gradient = job.sets[0].gradient;
        status = pool_run_one(graph->test.which->pool, &one, &results[e], graph->test.err);
    }
    return status;
}

static void judge_outputs(struct node_run *run, const struct result results[2], struct verdict verdicts[2])
{
    struct expected expected;
    size_t count;
    const struct value *inputs =
        views(run, run->graph->values, run->in, run->errands[0][0].in, run->n_in, &count);
    if (expected_compute(&expected, run->part, NULL, inputs, count))
        return;
    for (int e = 0; e < 2; e++)
        if (results[e].outcome == OUTCOME_OK)
            expected_judge(&expected, run->part, &results[e], &verdicts[e]);
    expected_release(&expected);
}

static void judge_gradients(struct node_run *run, const struct result results[2], struct verdict verdicts[2])
{
    struct evaluator *evaluator;
    struct gradient *expected;
    size_t count;
    const struct errand *errand = &run->errands[0][0];
    struct gradient_request request = {.n_wanted = run->n_wanted};
    const char **wanted = arena_array(&run->arena, run->n_wanted, sizeof *wanted);
    for (size_t i = 0; i < run->n_wanted; i++)
        wanted[i] = run->graph->test.index.values[run->wanted[i]].name;
    request.wanted = wanted;
    request.inputs = views(run, run->graph->values, run->in, errand->in, run->n_in, &request.n_inputs);
    request.upstream =
        views(run, run->graph->slopes, run->out, errand->from, run->n_out, &request.n_upstream);
    if (evaluator_new(&evaluator, run->part, &(struct evaluate_options){0}, NULL))
        return;
    if (!evaluator_gradient(evaluator, &request, &expected, &count, NULL)) {
        for (int e = 0; e < 2; e++)
            if (results[e].outcome == OUTCOME_OK)
                expected_judge_gradients(expected, count, &results[e], &verdicts[e]);
        gradients_free(expected, count);
    }
    evaluator_free(evaluator);
}

int node_run_judge(struct node_run *run, struct verdict verdicts[2])
{
    struct result results[2];
    if (run->backward)
        node_run_find_wanted(run);
    if (run->backward && !run->n_wanted)
        return 0;
    result_init(&results[0]);
    result_init(&results[1]);
    int status = run_first(run, results);
    if (status == 0 && run->backward)
        judge_gradients(run, results, verdicts);
    else if (status == 0)
        judge_outputs(run, results, verdicts);
    result_release(&results[0]);
    result_release(&results[1]);
    return status;
}
