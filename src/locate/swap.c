#include "locate/swap.h"

#include "base/str.h"
#include "locate/rate.h"
#include "ops/op.h"

#include <math.h>

enum { SWAP_NODES = 4096 };

/* One localisation under way. */
struct swapping {
    struct swap_graph graph;
    struct swapped *result;
    struct arena *arena;
};

static double delta_outputs(const struct swap_graph *graph, const struct swap_binding *a,
                            const struct swap_binding *b)
{
    struct rate_mean mean = {0};
    for (size_t o = 0; o < graph->test.model->graph->n_output; o++)
        if (a->outputs[o] && b->outputs[o])
            rate_add(&mean, a->outputs[o], b->outputs[o]);
        else
            mean.apart |= a->outputs[o] != b->outputs[o];
    return rate_delta(&mean);
}

static double delta_gradients(const struct swap_graph *graph, const struct swap_binding *a,
                              const struct swap_binding *b)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < graph->n_parameters; i++) {
        struct rate_mean mean = {.apart = !a->gradients[i] != !b->gradients[i]};
        if (a->gradients[i] && b->gradients[i])
            rate_add(&mean, a->gradients[i], b->gradients[i]);
        double delta = rate_delta(&mean);
        if (isnan(delta)) /* no elements */
            continue;
        sum += delta;
        count++;
    }
    return count ? sum / (double)count : NAN;
}

static void copy_engines(struct swap_binding *to, const struct swap_binding *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to->engine[i] = from->engine[i];
}

/* How many bindings fit into memory beside the first, when each has values of its own. */
static size_t chunk_size(const struct swap_graph *graph, size_t n)
{
    size_t room = graph->bytes ? SWAP_BYTES / graph->bytes : n + 1;
    return room > n + 1 ? n + 1 : room < 2 ? 2 : room;
}

/*
 * Binding number i has the last i nodes of the order on the second engine. They run in chunks; the last of a
 * chunk is the first of the next.
 */
static int swap_all(struct swapping *swapping)
{
    struct swap_graph *graph = &swapping->graph;
    const size_t *order = graph->test.index.order;
    size_t n = swapping->result->n_nodes;
    struct swap_binding first = swap_binding_make(graph);
    if (swap_graph_run(graph, &first, 1))
        return -1;
    size_t chunk = chunk_size(graph, n);
    struct swap_binding *bindings = arena_array(&graph->test.arena, chunk, sizeof *bindings);
    for (size_t i = 0; i < chunk; i++)
        bindings[i] = swap_binding_make(graph);
    size_t runs = 2 + (n + chunk - 2) / (chunk - 1); /* chunks, first and last run */
    progress_total(graph->progress, 2 * n * runs);
    for (size_t done = 0; done < n;) {
        size_t count = n - done + 1 < chunk ? n - done + 1 : chunk;
        for (size_t i = 1; i < count; i++) {
            copy_engines(&bindings[i], &bindings[i - 1], n);
            bindings[i].engine[order[n - done - i]] = 1;
        }
        if (swap_graph_run(graph, bindings, count))
            return -1;
        for (size_t i = 1; i < count; i++) {
            struct swapped_node *node = &swapping->result->nodes[order[n - done - i]];
            node->delta_c = delta_outputs(graph, &bindings[i - 1], &bindings[i]);
            node->delta_g = delta_gradients(graph, &bindings[i - 1], &bindings[i]);
        }
        done += count - 1;
        copy_engines(&bindings[0], &bindings[count - 1], n);
    }
    /* Its values are those that the nodes are judged on. */
    return n + 1 > chunk ? swap_graph_run(graph, &first, 1) : 0;
}

double swap_excess(const struct swapped *result, size_t number)
{
    const struct swapped_node *node = &result->nodes[number];
    double c = isnan(node->delta_c) ? 0 : node->delta_c / result->t_c;
    double g = isnan(node->delta_g) ? 0 : node->delta_g / result->t_g;
    return c > g ? c : g;
}

/* What became of the nodes; what was not swapped has no delta. */
static void collect(struct swapping *swapping)
{
    struct swapped *result = swapping->result;
    for (size_t i = 0; i < result->n_nodes; i++) {
        struct swapped_node *node = &result->nodes[i];
        const struct swap_node *made = &swapping->graph.nodes[i];
        node->made = *made;
        for (int e = 0; e < 2; e++)
            node->made.why[e] = made->why[e] ? arena_strdup(swapping->arena, made->why[e]) : NULL;
        bool both = !made->lacks[0] && !made->lacks[1];
        bool gradients = made->differentiated && !made->lacks_gradient[0] && !made->lacks_gradient[1];
        if (!both)
            node->delta_c = made->died[0] != made->died[1] ? INFINITY : NAN;
        if (!gradients && (!both || node->delta_g == 0))
            node->delta_g = NAN;
        result->n_swapped += both;
        result->n_gradients += gradients;
    }
    result->gradients = result->n_gradients > 0;
}

/* The worse of two verdicts on one engine: a finding, then one that says something. */
static const struct verdict *worse(const struct verdict *outputs, const struct verdict *gradients)
{
    if (verdict_is_finding(outputs->kind) || verdict_is(gradients->kind, CLASS_NOTHING))
        return outputs;
    return verdict_is_finding(gradients->kind) || verdict_is(outputs->kind, CLASS_NOTHING) ? gradients
                                                                                           : outputs;
}

/* Judges the nodes that differ, on the values of the first binding of the last run. */
static int judge(struct swapping *swapping)
{
    struct swapped *result = swapping->result;
    for (size_t i = 0; i < result->n_nodes; i++) {
        struct swapped_node *node = &result->nodes[i];
        struct verdict outputs[2] = {{0}}, gradients[2] = {{0}};
        bool died = node->made.died[0] || node->made.died[1];
        if (!node->made.differs && !node->made.gradient_differs && !died)
            continue;
        if (((node->made.differs || died) && swap_graph_judge(&swapping->graph, i, false, outputs)) ||
            (node->made.gradient_differs && swap_graph_judge(&swapping->graph, i, true, gradients)))
            return -1;
        node->judged = true;
        for (int e = 0; e < 2; e++) {
            const struct verdict *verdict = worse(&outputs[e], &gradients[e]);
            node->verdicts[e] = verdict->kind;
            node->factors[e] = verdict_is(verdict->kind, CLASS_NOTHING) ? NAN : verdict->factor;
            node->texts[e] = arena_strdup(swapping->arena, verdict->text);
        }
    }
    return 0;
}

static bool is_wrong(const struct swapped_node *node)
{
    return (node->judged &&
            (verdict_is_finding(node->verdicts[0]) || verdict_is_finding(node->verdicts[1]))) ||
           node->made.died[0] || node->made.died[1];
}

static bool is_cleared(const struct swapped_node *node)
{
    return node->judged && verdict_is(node->verdicts[0], CLASS_AGREES) &&
           verdict_is(node->verdicts[1], CLASS_AGREES);
}

/* By insertion: suspects are few. */
static void find_suspects(struct swapping *swapping)
{
    struct swapped *result = swapping->result;
    result->suspects = arena_array(swapping->arena, result->n_nodes, sizeof *result->suspects);
    for (size_t i = 0; i < result->n_nodes; i++) {
        struct swapped_node *node = &result->nodes[i];
        node->suspect = swap_excess(result, i) > 1 || is_wrong(node);
        if (!node->suspect)
            continue;
        result->n_wrong += is_wrong(node);
        result->n_cleared += !is_wrong(node) && is_cleared(node);
        size_t at = result->n_suspects++;
        for (; at > 0 && swap_excess(result, result->suspects[at - 1]) < swap_excess(result, i); at--)
            result->suspects[at] = result->suspects[at - 1];
        result->suspects[at] = i;
    }
}

/* The suspects on the first engine and everything else on the second, against all on the first. */
static int verify(struct swapping *swapping)
{
    struct swapped *result = swapping->result;
    struct swap_graph *graph = &swapping->graph;
    struct swap_binding bindings[2] = {swap_binding_make(graph), swap_binding_make(graph)};
    for (size_t i = 0; i < result->n_nodes; i++)
        bindings[1].engine[i] = !result->nodes[i].suspect;
    if (swap_graph_run(graph, bindings, 2))
        return -1;
    result->verified = true;
    result->verify_c = delta_outputs(graph, &bindings[0], &bindings[1]);
    result->verify_g = result->gradients ? delta_gradients(graph, &bindings[0], &bindings[1]) : NAN;
    result->confirmed = !(result->verify_c > result->t_c) && !(result->verify_g > result->t_g);
    return 0;
}

/* "Einsum (node attend): A and B compute it differently: ...". */
static void describe(struct swapping *swapping)
{
    struct swapped *result = swapping->result;
    struct str text;
    str_init(&text);
    if (!result->n_suspects) {
        str_printf(&text, "none of the %zu nodes that both engines run changes the outputs%s by more than %g",
                   result->n_swapped, result->gradients ? " or the gradients" : "", result->t_c);
        if (result->t_g != result->t_c && result->gradients)
            str_printf(&text, " and %g", result->t_g);
    } else {
        const struct swapped_node *node = &result->nodes[result->suspects[0]];
        const Onnx__NodeProto *proto = swapping->graph.test.model->graph->node[result->suspects[0]];
        str_printf(
            &text, "%s (node %s): %s and %s compute it differently: swapping it changes the outputs by %.3g",
            op_title(proto), model_node_name(proto), result->engines[0], result->engines[1], node->delta_c);
        if (result->gradients && !isnan(node->delta_g))
            str_printf(&text, " and the gradients by %.3g", node->delta_g);
        if (result->n_suspects > 1)
            str_printf(&text, "; the same holds for %zu more nodes", result->n_suspects - 1);
        if (result->n_cleared == result->n_suspects)
            str_add(&text,
                    "; all within the bounds of their rounding errors, which the rest of the model enlarges");
    }
    result->text = arena_strdup(swapping->arena, text.data);
    str_release(&text);
}

/* Each binding has an entry for every node, and there are as many bindings as nodes. */
static int too_many(const struct swapped *swapped, struct error *err)
{
    if (swapped->n_nodes <= SWAP_NODES)
        return 0;
    return error_set(
        err, ERROR_LIMIT,
        "the model has %zu nodes, and --method swap takes at most %d; leave it out, or cut out a part",
        swapped->n_nodes, SWAP_NODES);
}

int swap_localize(struct swapped *swapped, const struct settle_case *which, int second,
                  const struct swap_options *options, struct arena *arena, struct error *err)
{
    struct swapping swapping = {.result = swapped, .arena = arena};
    struct progress progress = {0};
    *swapped = (struct swapped){
        .t_c = options->t_c > 0 ? options->t_c : SWAP_THRESHOLD,
        .t_g = options->t_g > 0 ? options->t_g : SWAP_THRESHOLD,
        .text = "",
    };
    swapped->engines[0] = arena_strdup(arena, pool_engine(which->pool, which->engine)->label);
    swapped->engines[1] = arena_strdup(arena, pool_engine(which->pool, second)->label);
    if (swap_graph_init(&swapping.graph, which, second, err))
        return -1;
    swapped->n_nodes = swapping.graph.test.model->graph->n_node;
    swapped->n_parameters = swapping.graph.n_parameters;
    swapped->nodes = arena_array(arena, swapped->n_nodes, sizeof *swapped->nodes);
    if (options->progress)
        progress_begin(&progress, "swap", 0);
    swapping.graph.progress = &progress;
    int status = too_many(swapped, err) ? -1 : swap_all(&swapping);
    if (status == 0) {
        collect(&swapping);
        status = judge(&swapping);
    }
    if (status == 0) {
        find_suspects(&swapping);
        status = swapped->n_suspects ? verify(&swapping) : 0;
    }
    progress_end(&progress);
    if (status == 0)
        describe(&swapping);
    for (size_t i = 0; i < swapped->n_nodes; i++)
        swapped->runs += swapping.graph.nodes[i].runs + swapping.graph.nodes[i].gradients;
    swap_graph_release(&swapping.graph);
    return status;
}
