/* Computes the numbers of single values of a plan's graph, for shapes that depend on them (planner_know). */
#include "generate/planner.h"

#include "base/memory.h"
#include "eval/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is known of each value of the planner; NULL where it was not asked for. */
struct knowledge {
    struct planner *g;
    struct bounded **of;
    bool *needed;
};

static size_t number_of(const struct planner *g, const char *name)
{
    const struct maker_value *value = maker_find(&g->m, name);
    return value ? (size_t)(value - g->m.values) : SIZE_MAX;
}

static const Onnx__TensorProto *initializer(const struct planner *g, const char *name)
{
    const Onnx__GraphProto *graph = g->m.model->graph;
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (strcmp(graph->initializer[i]->name, name) == 0)
            return graph->initializer[i];
    return NULL;
}

static int know_given(struct knowledge *k, size_t number)
{
    const struct maker *m = &k->g->m;
    const char *name = m->values[number].name;
    struct bounded *b = k->of[number] = memory_zeroed(1, sizeof *b);
    for (size_t i = 0; i < m->n_inputs; i++)
        if (strcmp(m->inputs[i].name, name) == 0)
            return bounded_from_tensor(b, &m->inputs[i].tensors[0], NULL);
    const Onnx__TensorProto *proto = initializer(k->g, name);
    struct tensor tensor;
    if (!proto || model_tensor_read(proto, &tensor, NULL))
        return -1;
    int result = bounded_from_tensor(b, &tensor, NULL);
    tensor_release(&tensor);
    return result;
}

/* Computes a node. Nodes with bodies are not computed, because bodies use more than the inputs of the node.
 */
static int know_node(struct knowledge *k, const Onnx__NodeProto *node)
{
    const struct bounded *inputs[PLAN_FEEDS];
    struct bounded outputs[PLAN_OUTPUTS];
    const struct op *op = op_of(node);
    if (!op || op->work == WORK_BODIES || node->n_input > PLAN_FEEDS || node->n_output > PLAN_OUTPUTS)
        return -1;
    for (size_t i = 0; i < node->n_input; i++)
        inputs[i] = *node->input[i] ? k->of[number_of(k->g, node->input[i])] : NULL;
    int result = infer_node(k->g->m.opset, node, inputs, node->n_input, outputs, node->n_output, NULL);
    for (size_t i = 0; i < node->n_output; i++) {
        size_t number = *node->output[i] ? number_of(k->g, node->output[i]) : SIZE_MAX;
        if (result || number == SIZE_MAX || !outputs[i].value) {
            bounded_release(&outputs[i]);
            continue;
        }
        k->of[number] = memory_zeroed(1, sizeof outputs[i]);
        *k->of[number] = outputs[i];
        evaluate_pass_on(k->of[number]);
    }
    return result;
}

/* Marks the needed nodes, from the last to the first. */
static void mark_needed(struct knowledge *k)
{
    const Onnx__GraphProto *graph = k->g->m.model->graph;
    for (size_t i = graph->n_node; i-- > 0;) {
        bool needed = false;
        for (size_t o = 0; o < graph->node[i]->n_output; o++)
            needed |= *graph->node[i]->output[o] && k->needed[number_of(k->g, graph->node[i]->output[o])];
        for (size_t n = 0; needed && n < graph->node[i]->n_input; n++)
            if (*graph->node[i]->input[n])
                k->needed[number_of(k->g, graph->node[i]->input[n])] = true;
    }
}

static int compute(struct knowledge *k, size_t wanted)
{
    const Onnx__GraphProto *graph = k->g->m.model->graph;
    k->needed[wanted] = true;
    mark_needed(k);
    for (size_t i = 0; i < k->g->m.n_values; i++)
        if (k->needed[i] && !k->g->m.values[i].made && know_given(k, i))
            return -1;
    for (size_t i = 0; i < graph->n_node; i++) {
        bool needed = false;
        for (size_t o = 0; o < graph->node[i]->n_output; o++)
            needed |= *graph->node[i]->output[o] && k->needed[number_of(k->g, graph->node[i]->output[o])];
        if (needed && know_node(k, graph->node[i]))
            return -1;
    }
    return k->of[wanted] ? 0 : -1;
}

/* Whether each element is certainly 0, or certainly not, for every engine. */
static bool zeros_are_sure(const struct bounded *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (!(b->value[i] == 0 ? bounded_hard(b, i) == 0 : fabsl(b->value[i]) > bounded_hard(b, i)))
            return false;
    return b->value != NULL;
}

bool planner_know(struct planner *g, size_t value)
{
    size_t count = g->m.n_values;
    struct knowledge k = {.g = g,
                          .of = memory_zeroed(count, sizeof(struct bounded *)),
                          .needed = memory_zeroed(count, sizeof(bool))};
    bool known = !compute(&k, value) && zeros_are_sure(k.of[value]);
    if (known) {
        struct bounded *own = &planner_value(g, value)->value;
        bounded_release(own);
        *own = *k.of[value];
        bounded_init(k.of[value]);
    }
    for (size_t i = 0; i < count; i++)
        if (k.of[i]) {
            bounded_release(k.of[i]);
            free(k.of[i]);
        }
    free(k.of);
    free(k.needed);
    return known;
}
