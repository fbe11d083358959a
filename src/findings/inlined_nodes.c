#include "findings/inlined_nodes.h"

#include "base/map.h"
#include "base/memory.h"
#include "model/function.h"

#include <stdlib.h>

static const size_t NOT_CHOSEN = SIZE_MAX;

/* Nodes are found again by the names of their outputs: inlining keeps those of the call. */
struct search {
    const Onnx__GraphProto *graph; /* of the copy */
    struct map outer;              /* values that the nodes of the model itself make */
    struct map makers;             /* value of the copy -> the node that makes it */
    size_t *calls; /* for each node of the copy: the node it was chosen for, NOT_CHOSEN: none */
};

static void search_init(struct search *search, const Onnx__GraphProto *before, const Onnx__GraphProto *after)
{
    search->graph = after;
    map_init(&search->outer);
    map_init(&search->makers);
    search->calls = memory_zeroed(after->n_node + 1, sizeof *search->calls);
    for (size_t i = 0; i < after->n_node; i++)
        search->calls[i] = NOT_CHOSEN;
    for (size_t i = 0; i < before->n_node; i++)
        for (size_t k = 0; k < before->node[i]->n_output; k++)
            map_set(&search->outer, before->node[i]->output[k], i);
    for (size_t i = 0; i < after->n_node; i++)
        for (size_t k = 0; k < after->node[i]->n_output; k++)
            map_set(&search->makers, after->node[i]->output[k], i);
}

static void search_release(struct search *search)
{
    map_release(&search->outer);
    map_release(&search->makers);
    free(search->calls);
}

/* Chooses the node that makes a value and, inside the function, those that it reads from. */
static void choose(struct search *search, const char *value, size_t call)
{
    size_t *waiting = memory_zeroed(search->graph->n_node + 1, sizeof *waiting), count = 0, number;
    if (*value && map_get(&search->makers, value, &number) && search->calls[number] == NOT_CHOSEN) {
        search->calls[number] = call;
        waiting[count++] = number;
    }
    while (count) {
        const Onnx__NodeProto *node = search->graph->node[waiting[--count]];
        for (size_t i = 0; i < node->n_input; i++) {
            size_t outer;
            if (!*node->input[i] || map_get(&search->outer, node->input[i], &outer) ||
                !map_get(&search->makers, node->input[i], &number) || search->calls[number] != NOT_CHOSEN)
                continue;
            search->calls[number] = call;
            waiting[count++] = number;
        }
    }
    free(waiting);
}

static void keep_chosen(struct inlined_nodes *inlined, const size_t *calls, size_t count)
{
    inlined->numbers = memory_zeroed(count + 1, sizeof *inlined->numbers);
    inlined->calls = memory_zeroed(count + 1, sizeof *inlined->calls);
    for (size_t i = 0; i < count; i++)
        if (calls[i] != NOT_CHOSEN) {
            inlined->numbers[inlined->count] = i;
            inlined->calls[inlined->count++] = calls[i];
        }
}

static void keep_all(struct inlined_nodes *inlined, const size_t *numbers, size_t count)
{
    inlined->numbers = memory_zeroed(count + 1, sizeof *inlined->numbers);
    inlined->calls = memory_zeroed(count + 1, sizeof *inlined->calls);
    for (size_t i = 0; i < count; i++)
        inlined->numbers[i] = inlined->calls[i] = numbers[i];
    inlined->count = count;
}

/* A copy without calls; NULL when there are none, or they cannot be inlined. */
static struct model *without_calls(const struct model *model)
{
    struct model *copy;
    if (!model->proto->n_functions || model_clone(&copy, model, NULL))
        return NULL;
    if (!model_inline_functions(copy, NULL))
        return copy;
    model_free(copy);
    return NULL;
}

void inlined_nodes_init(struct inlined_nodes *inlined, const struct model *model, const size_t *numbers,
                        size_t count, enum verdict_kind kind)
{
    const Onnx__GraphProto *graph = model->graph;
    struct search search;
    *inlined = (struct inlined_nodes){.model = model};
    inlined->own = verdict_is(kind, CLASS_DEATH) ? NULL : without_calls(model);
    if (!inlined->own) {
        keep_all(inlined, numbers, count);
        return;
    }
    inlined->model = inlined->own;
    search_init(&search, graph, inlined->own->graph);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; numbers[i] < graph->n_node && k < graph->node[numbers[i]]->n_output; k++)
            choose(&search, graph->node[numbers[i]]->output[k], numbers[i]);
    keep_chosen(inlined, search.calls, inlined->own->graph->n_node);
    search_release(&search);
}

void inlined_nodes_release(struct inlined_nodes *inlined)
{
    free(inlined->numbers);
    free(inlined->calls);
    model_free(inlined->own);
    *inlined = (struct inlined_nodes){0};
}
