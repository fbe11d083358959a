#include "locate/swap_graph.h"

#include "eval/gradient.h"
#include "locate/swap_node.h"

static void forget(struct swap_graph *graph)
{
    for (size_t i = 0; i < graph->test.index.count; i++) {
        swap_pile_clear(&graph->values[i]);
        swap_pile_clear(&graph->slopes[i]);
    }
    graph->bytes = 0;
    arena_release(&graph->arena);
    arena_init(&graph->arena);
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
        const struct op *op = op_of(node);
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
    int status = node_run_open(&run, graph, number, states, count);
    if (status == 0 && run.n_out)
        status = node_run_bindings(&run, bindings, states, count);
    for (size_t b = 0; b < count && status == 0 && run.n_out; b++) {
        const struct errand *errand = node_run_errand(&run, &bindings[b], b);
        for (size_t i = 0; i < run.n_out && errand; i++)
            states[b].value[run.out[i]] = errand->out[i];
    }
    node_run_close(&run);
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
    state->slope[value] = swap_pile_put(graph, pile, &sum);
    return 0;
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
    int status = node_run_open(&run, graph, number, states, count);
    run.backward = true;
    if (status == 0)
        node_run_find_wanted(&run);
    if (status == 0 && run.n_wanted && anything_arrives(&run, states, count)) {
        node->differentiated = true;
        status = node_run_bindings(&run, bindings, states, count);
        for (size_t b = 0; b < count && !status && !(node->lacks_gradient[0] && node->lacks_gradient[1]);
             b++) {
            const struct errand *errand = node_run_errand(&run, &bindings[b], b);
            for (size_t i = 0; i < run.n_wanted && !status && errand; i++)
                if (errand->out[i] != NONE)
                    status = arrive(graph, &states[b], run.wanted[i], errand->out[i]);
        }
    }
    node_run_close(&run);
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
        const struct tensor *like = swap_tensor(graph, v, states[0].value[v]);
        if (!dtype_is_float(like->type))
            continue;
        if (tensor_copy(&seed, like, graph->test.err))
            return -1;
        for (size_t i = 0; i < seed.count; i++)
            tensor_set(&seed, i, (i % 2 ? -1.0L : 1.0L) / (long double)seed.count);
        int number = swap_pile_put(graph, &graph->slopes[v], &seed);
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
        int number = swap_pile_put(graph, &graph->values[v], &copy);
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
                                  ? swap_tensor(graph, v, state->value[v])
                                  : NULL;
    }
    for (size_t i = 0; i < graph->n_parameters; i++) {
        size_t v = graph->parameters[i];
        binding->gradients[i] = state->slope[v] == NONE ? NULL : &graph->slopes[v].tensors[state->slope[v]];
    }
}

static void step(struct swap_graph *graph)
{
    progress_add(graph->progress);
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

int swap_graph_judge(struct swap_graph *graph, size_t number, bool gradients, struct verdict verdicts[2])
{
    struct node_run run;
    int status = node_run_open(&run, graph, number, graph->states, 1);
    run.backward = gradients;
    verdicts[0] = verdicts[1] = (struct verdict){0};
    if (status == 0)
        status = node_run_judge(&run, verdicts);
    node_run_close(&run);
    return status;
}
