#include "locate/swap_graph.h"

#include "base/memory.h"
#include "engine/handover.h"
#include "eval/gradient.h"
#include "locate/expected.h"
#include "model/edit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The different tensors of one value, in all bindings. */
struct pile {
    size_t count, capacity;
    struct tensor *tensors;
};

/* The number of a tensor in its pile. */
enum { NONE = -1 };

/* Which tensor each value of the index has in one binding; NONE: it has none. */
struct swap_state {
    int *value, *slope;
};

/* One run of a node on one engine, for all bindings that give it the same inputs. */
struct errand {
    int *in;   /* for each part input: number in its pile */
    int *from; /* backward: for each part output, number in the pile of slopes; NONE: nothing arrives */
    int *out;  /* for each part output or, backward, each wanted name: the result's number */
};

/* One node while all bindings run it. */
struct node_run {
    struct swap_graph *graph;
    size_t number;
    struct model *part;
    struct handover handover;
    size_t n_in, n_out, n_wanted;
    size_t *in, *out, *wanted; /* numbers of values: part inputs, part outputs, gradients asked for */
    bool backward;
    size_t n_errands[2];
    struct errand *errands[2]; /* for each engine; room for one a binding */
    size_t *errand_of;         /* for each binding; SIZE_MAX: none */
    struct errand *first;      /* the inputs that the node has in the first binding */
    struct arena arena;
};

static int pile_put(struct swap_graph *graph, struct pile *pile, struct tensor *tensor)
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

static void pile_clear(struct pile *pile)
{
    for (size_t i = 0; i < pile->count; i++)
        tensor_release(&pile->tensors[i]);
    free(pile->tensors);
    *pile = (struct pile){0};
}

static void forget(struct swap_graph *graph)
{
    for (size_t i = 0; i < graph->test.index.count; i++) {
        pile_clear(&graph->values[i]);
        pile_clear(&graph->slopes[i]);
    }
    graph->bytes = 0;
    arena_release(&graph->arena);
    arena_init(&graph->arena);
}

static int too_large(struct swap_graph *graph)
{
    if (graph->bytes <= SWAP_BYTES)
        return 0;
    return error_set(graph->test.err, ERROR_LIMIT, "the values of all bindings take more than %zu MB",
                     SWAP_BYTES >> 20);
}

/* The parameters, and all values that are computed from them by something that has a derivative. */
static void find_parameters(struct swap_graph *graph)
{
    const struct model_index *index = &graph->test.index;
    const Onnx__GraphProto *model = graph->test.model->graph;
    size_t count, v;
    const char **names = gradient_wanted(graph->test.model, &graph->test.arena, &count);
    graph->needed = arena_array(&graph->test.arena, index->count, sizeof *graph->needed);
    graph->parameters = arena_array(&graph->test.arena, count, sizeof *graph->parameters);
    for (size_t i = 0; i < count; i++) {
        if (!map_get(&index->names, names[i], &v))
            continue;
        graph->needed[v] = true;
        graph->parameters[graph->n_parameters++] = v;
    }
    for (size_t p = 0; p < model->n_node; p++) {
        const Onnx__NodeProto *node = model->node[index->order[p]];
        const struct op *op = op_known(node->op_type);
        bool depends = false;
        for (size_t k = 0; k < index->n_uses[index->order[p]]; k++)
            depends |= graph->needed[index->uses[index->order[p]][k]];
        if (!depends || (op && op->slope == SLOPE_NOWHERE))
            continue;
        for (size_t o = 0; o < node->n_output; o++)
            if (*node->output[o] && map_get(&index->names, node->output[o], &v))
                graph->needed[v] = true;
    }
}

int swap_graph_init(struct swap_graph *graph, const struct settle_case *which, int second, struct error *err)
{
    *graph = (struct swap_graph){.engines = {which->engine, second}};
    if (pool_starts(which->pool, which->engine, err) || pool_starts(which->pool, second, err) ||
        under_test_init(&graph->test, which, err))
        return -1;
    under_test_infer(&graph->test);
    arena_init(&graph->arena);
    struct arena *arena = &graph->test.arena;
    graph->nodes = arena_array(arena, graph->test.model->graph->n_node, sizeof *graph->nodes);
    graph->values = arena_array(arena, graph->test.index.count, sizeof *graph->values);
    graph->slopes = arena_array(arena, graph->test.index.count, sizeof *graph->slopes);
    find_parameters(graph);
    graph->panel =
        (struct panel){.pool = which->pool, .count = 2, .engines = graph->engines, .reference = -1};
    graph->runner = runner_new(&graph->panel, &(struct runner_options){0});
    return 0;
}

void swap_graph_release(struct swap_graph *graph)
{
    runner_free(graph->runner);
    forget(graph);
    arena_release(&graph->arena);
    under_test_release(&graph->test);
}

struct swap_binding swap_binding_make(struct swap_graph *graph)
{
    const Onnx__GraphProto *model = graph->test.model->graph;
    struct arena *arena = &graph->test.arena;
    return (struct swap_binding){
        .engine = arena_array(arena, model->n_node, 1),
        .outputs = arena_array(arena, model->n_output, sizeof(struct tensor *)),
        .gradients = arena_array(arena, graph->n_parameters, sizeof(struct tensor *)),
    };
}

static const struct tensor *tensor_of(const struct swap_graph *graph, size_t value, int number)
{
    return number == NONE ? NULL : &graph->values[value].tensors[number];
}

/* The values that some binding knows, to declare the types of the part's inputs and outputs. */
static struct edit_types known_types(struct node_run *run, const struct swap_state *states, size_t n_states)
{
    const struct model_index *index = &run->graph->test.index;
    const char **names = arena_array(&run->arena, index->count, sizeof *names);
    const struct tensor **tensors = arena_array(&run->arena, index->count, sizeof(struct tensor *));
    struct edit_types types = {.names = names, .tensors = tensors};
    for (size_t v = 0; v < index->count; v++) {
        const struct tensor *tensor = NULL;
        for (size_t b = 0; b < n_states && !tensor; b++)
            tensor = tensor_of(run->graph, v, states[b].value[v]);
        if (!tensor)
            continue;
        tensors[types.count] = tensor;
        names[types.count++] = index->values[v].name;
    }
    return types;
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
        if (same && model_freeze_input(run->part, node->input[i], tensor_of(graph, v, states[0].value[v]),
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

/* Cuts the node out as a model of its own. */
static int node_open(struct node_run *run, struct swap_graph *graph, size_t number,
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

static void node_close(struct node_run *run)
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
        errand->out[i] = pile_put(graph, pile, &found->tensors[0]);
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

/*
 * Runs the node in all bindings: each on its engine or, where that cannot run it, on the other one. Fails
 * when neither can, unless the graph has run before: then only what other bindings give the node is to blame.
 * Afterwards errand_for says which errand each binding has.
 */
static int run_node(struct node_run *run, const struct swap_binding *bindings,
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

/* NULL: the binding has none, because an input is missing. */
static const struct errand *errand_for(const struct node_run *run, const struct swap_binding *binding,
                                       size_t b)
{
    return run->errand_of[b] == SIZE_MAX ? NULL : &run->errands[engine_for(run, binding)][run->errand_of[b]];
}

/* Whether the node has all its inputs in some binding. */
static bool has_inputs(const struct swap_graph *graph, size_t number, const struct swap_state *states,
                       size_t count)
{
    const struct model_index *index = &graph->test.index;
    for (size_t b = 0; b < count; b++) {
        bool complete = true;
        for (size_t k = 0; k < index->n_uses[number]; k++) {
            size_t v = index->uses[number][k];
            complete &= index->values[v].source == SOURCE_INITIALIZER || states[b].value[v] != NONE;
        }
        if (complete)
            return true;
    }
    return false;
}

static int forward_node(struct swap_graph *graph, size_t number, const struct swap_binding *bindings,
                        struct swap_state *states, size_t count)
{
    struct node_run run;
    int status = node_open(&run, graph, number, states, count);
    if (status == 0 && run.n_out)
        status = run_node(&run, bindings, states, count);
    for (size_t b = 0; b < count && status == 0 && run.n_out; b++) {
        const struct errand *errand = errand_for(&run, &bindings[b], b);
        for (size_t i = 0; i < run.n_out && errand; i++)
            states[b].value[run.out[i]] = errand->out[i];
    }
    node_close(&run);
    return status;
}

/* a + b in their own type, as every engine adds. */
static int add_tensors(struct tensor *sum, const struct tensor *a, const struct tensor *b, struct error *err)
{
    if (a->type != b->type || !shape_equal(&a->shape, &b->shape))
        return error_set(err, ERROR_FORMAT, "two gradients of one value have different shapes");
    if (tensor_copy(sum, a, err))
        return -1;
    for (size_t i = 0; i < sum->count; i++)
        tensor_set(sum, i, tensor_get(a, i) + tensor_get(b, i));
    return 0;
}

/* Adds a gradient to what has arrived at a value in one binding. */
static int arrive(struct swap_graph *graph, struct swap_state *state, size_t value, int number)
{
    struct tensor sum;
    struct pile *pile = &graph->slopes[value];
    if (state->slope[value] == NONE) {
        state->slope[value] = number;
        return 0;
    }
    if (add_tensors(&sum, &pile->tensors[state->slope[value]], &pile->tensors[number], graph->test.err))
        return -1;
    state->slope[value] = pile_put(graph, pile, &sum);
    return 0;
}

/* The values whose gradients the node must give. */
static void find_wanted(struct node_run *run)
{
    const struct model_index *index = &run->graph->test.index;
    const Onnx__NodeProto *node = run->graph->test.model->graph->node[run->number];
    run->wanted = arena_array(&run->arena, index->n_uses[run->number], sizeof *run->wanted);
    run->n_wanted = 0;
    for (size_t k = 0; k < index->n_uses[run->number]; k++) {
        size_t v = index->uses[run->number][k];
        const struct tensor *tensor = tensor_of(run->graph, v, run->graph->states[0].value[v]);
        bool is_float =
            index->values[v].source == SOURCE_INITIALIZER || (tensor && dtype_is_float(tensor->type));
        if (run->graph->needed[v] && is_float && op_reads_as_data(node, index->values[v].name))
            run->wanted[run->n_wanted++] = v;
    }
}

static bool anything_arrives(const struct node_run *run, const struct swap_state *states, size_t count)
{
    for (size_t b = 0; b < count; b++)
        for (size_t i = 0; i < run->n_out; i++)
            if (states[b].slope[run->out[i]] != NONE)
                return true;
    return false;
}

/* A node whose gradient no engine has ends the way back through it. */
static int backward_node(struct swap_graph *graph, size_t number, const struct swap_binding *bindings,
                         struct swap_state *states, size_t count)
{
    struct node_run run;
    struct swap_node *node = &graph->nodes[number];
    int status = node_open(&run, graph, number, states, count);
    run.backward = true;
    if (status == 0)
        find_wanted(&run);
    if (status == 0 && run.n_wanted && anything_arrives(&run, states, count)) {
        node->differentiated = true;
        status = run_node(&run, bindings, states, count);
        for (size_t b = 0; b < count && !status && !(node->lacks_gradient[0] && node->lacks_gradient[1]);
             b++) {
            const struct errand *errand = errand_for(&run, &bindings[b], b);
            for (size_t i = 0; i < run.n_wanted && !status && errand; i++)
                if (errand->out[i] != NONE)
                    status = arrive(graph, &states[b], run.wanted[i], errand->out[i]);
        }
    }
    node_close(&run);
    return status;
}

/* The gradients by the outputs themselves, the same in all bindings. */
static int start_backward(struct swap_graph *graph, struct swap_state *states, size_t count)
{
    const Onnx__GraphProto *model = graph->test.model->graph;
    for (size_t o = 0; o < model->n_output; o++) {
        size_t v;
        if (!map_get(&graph->test.index.names, model->output[o]->name, &v) || !graph->needed[v] ||
            states[0].value[v] == NONE)
            continue;
        struct tensor seed;
        const struct tensor *like = tensor_of(graph, v, states[0].value[v]);
        if (!dtype_is_float(like->type))
            continue;
        if (tensor_copy(&seed, like, graph->test.err))
            return -1;
        for (size_t i = 0; i < seed.count; i++)
            tensor_set(&seed, i, (i % 2 ? -1.0L : 1.0L) / (long double)seed.count);
        int number = pile_put(graph, &graph->slopes[v], &seed);
        for (size_t b = 0; b < count; b++)
            states[b].slope[v] = number;
    }
    return 0;
}

/* Gives every binding the inputs of the case. Initialisers stay in the parts. */
static int start_forward(struct swap_graph *graph, struct swap_state *states, size_t count)
{
    const struct model_index *index = &graph->test.index;
    const struct test_case *whole = graph->test.whole;
    for (size_t v = 0; v < index->count; v++) {
        if (index->values[v].source != SOURCE_INPUT)
            continue;
        const struct value *given =
            value_for_input(whole->inputs, whole->n_inputs, index->values[v].name, index->values[v].number);
        struct tensor copy;
        if (!given || given->kind != VALUE_TENSOR)
            return error_set(graph->test.err, ERROR_UNSUPPORTED, "input '%s' is no tensor",
                             index->values[v].name);
        if (tensor_copy(&copy, &given->tensors[0], graph->test.err))
            return -1;
        int number = pile_put(graph, &graph->values[v], &copy);
        for (size_t b = 0; b < count; b++)
            states[b].value[v] = number;
    }
    return 0;
}

static void give_results(const struct swap_graph *graph, struct swap_binding *binding,
                         const struct swap_state *state)
{
    const Onnx__GraphProto *model = graph->test.model->graph;
    for (size_t o = 0; o < model->n_output; o++) {
        size_t v;
        binding->outputs[o] = map_get(&graph->test.index.names, model->output[o]->name, &v)
                                  ? tensor_of(graph, v, state->value[v])
                                  : NULL;
    }
    for (size_t i = 0; i < graph->n_parameters; i++) {
        size_t v = graph->parameters[i];
        binding->gradients[i] = state->slope[v] == NONE ? NULL : &graph->slopes[v].tensors[state->slope[v]];
    }
}

static void step(struct swap_graph *graph)
{
    if (graph->progress)
        progress_step(graph->progress, graph->progress->done + 1);
}

int swap_graph_run(struct swap_graph *graph, struct swap_binding *bindings, size_t count)
{
    const struct model_index *index = &graph->test.index;
    size_t n = graph->test.model->graph->n_node;
    forget(graph);
    struct swap_state *states = arena_array(&graph->arena, count, sizeof *states);
    graph->states = states;
    for (size_t b = 0; b < count; b++) {
        states[b].value = arena_array(&graph->arena, index->count, sizeof *states[b].value);
        states[b].slope = arena_array(&graph->arena, index->count, sizeof *states[b].slope);
        for (size_t v = 0; v < index->count; v++)
            states[b].value[v] = states[b].slope[v] = NONE;
    }
    int status = start_forward(graph, states, count);
    for (size_t p = 0; p < n && status == 0; p++) {
        if (has_inputs(graph, index->order[p], states, count))
            status = forward_node(graph, index->order[p], bindings, states, count);
        step(graph);
    }
    if (status == 0)
        status = start_backward(graph, states, count);
    for (size_t p = n; p-- > 0 && status == 0;) {
        if (has_inputs(graph, index->order[p], states, count))
            status = backward_node(graph, index->order[p], bindings, states, count);
        step(graph);
    }
    for (size_t b = 0; b < count && status == 0; b++)
        give_results(graph, &bindings[b], &states[b]);
    graph->established |= status == 0;
    return status;
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
    if (expected_compute(&expected, run->part, false, inputs, count))
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

int swap_graph_judge(struct swap_graph *graph, size_t number, bool gradients, struct verdict verdicts[2])
{
    struct node_run run;
    struct result results[2];
    verdicts[0] = verdicts[1] = (struct verdict){0};
    result_init(&results[0]);
    result_init(&results[1]);
    int status = node_open(&run, graph, number, graph->states, 1);
    run.backward = gradients;
    if (status == 0 && gradients)
        find_wanted(&run);
    if (status == 0 && (!gradients || run.n_wanted)) {
        status = run_first(&run, results);
        if (status == 0 && gradients)
            judge_gradients(&run, results, verdicts);
        else if (status == 0)
            judge_outputs(&run, results, verdicts);
    }
    result_release(&results[0]);
    result_release(&results[1]);
    node_close(&run);
    return status;
}
