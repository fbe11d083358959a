#include "locate/traced_case.h"

#include "base/memory.h"
#include "base/str.h"
#include "engine/handover.h"
#include "model/index.h"

#include <stdlib.h>

struct trace *traced_case(struct pool *pool, int engine, const struct test_case *test)
{
    struct result result;
    struct trace *trace = NULL;
    struct job job = {.engine = engine, .trace = true};
    result_init(&result);
    if (handover_run_case(pool, test, true, &job, &result, NULL) == 0) {
        trace = result.trace;
        result.trace = NULL;
    }
    result_release(&result);
    return trace;
}

/* Nodes to look at, each once, in the order in which they were found. */
struct queue {
    size_t count, next;
    size_t *nodes;
    bool *found;
};

static void add_node(struct queue *queue, size_t node)
{
    if (queue->found[node])
        return;
    queue->found[node] = true;
    queue->nodes[queue->count++] = node;
}

/* The output of this node that the trace knows; NULL: none, and the nodes behind it are looked at next. */
static const char *look_at(const struct trace *trace, const struct model_index *index, size_t node,
                           struct queue *queue)
{
    const Onnx__NodeProto *proto = index->model->graph->node[node];
    for (size_t i = 0; i < proto->n_output; i++)
        if (*proto->output[i] && trace_find(trace, proto->output[i]))
            return proto->output[i];
    for (size_t i = 0; i < proto->n_output; i++) {
        const struct index_value *value = model_index_find(index, proto->output[i]);
        for (size_t k = 0; value && k < value->consumers; k++)
            add_node(queue, value->consumer[k]);
    }
    return NULL;
}

static const char *known_value(const struct trace *trace, const struct model_index *index,
                               const size_t *nodes, size_t count)
{
    size_t n_nodes = index->model->graph->n_node;
    struct queue queue = {.nodes = memory_zeroed(n_nodes + 1, sizeof *queue.nodes),
                          .found = memory_zeroed(n_nodes + 1, sizeof *queue.found)};
    const char *value = NULL;
    for (size_t i = count; i-- > 0;)
        if (nodes[i] < n_nodes)
            add_node(&queue, nodes[i]); /* of several that are computed at once the last one first */
    while (!value && queue.next < queue.count)
        value = look_at(trace, index, queue.nodes[queue.next++], &queue);
    free(queue.nodes);
    free(queue.found);
    return value;
}

void traced_words(const struct trace *trace, const struct model *model, const size_t *nodes, size_t count,
                  struct str *out)
{
    struct model_index index;
    struct error err;
    bool indexed = trace && count && model_index_init(&index, model, &err) == 0;
    trace_words(trace, indexed ? known_value(trace, &index, nodes, count) : NULL, out);
    if (indexed)
        model_index_release(&index);
}

static bool computes(const struct trace_step *step, const char *value)
{
    bool computed = false;
    for (size_t i = 0; step->kind == TRACE_KERNEL && i < step->n_outputs; i++)
        computed |= text_equal(step->outputs[i], value);
    return computed;
}

const char *traced_kernels(const struct trace *trace, const struct model *model, const size_t *nodes,
                           size_t count, struct str *out)
{
    static const size_t only = 0;
    struct model_index index;
    bool one = model->graph->n_node == 1;
    const char *pass = "", *last = "";
    if (!trace || (!count && !one) || model_index_init(&index, model, NULL))
        return pass;
    const char *value = known_value(trace, &index, one ? &only : nodes, one ? 1 : count);
    model_index_release(&index);
    for (size_t i = 0; value && i < trace->count; i++) {
        const struct trace_step *step = &trace->steps[i];
        if (!computes(step, value) || text_equal(step->name, last))
            continue;
        str_printf(out, "%s%s", *last ? ", " : "", step->name);
        last = step->name;
        pass = *pass ? pass : step->pass;
    }
    return pass;
}
