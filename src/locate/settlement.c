#include "locate/settlement.h"

#include "base/memory.h"
#include "model/index.h"
#include "ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void settlement_release(struct settlement *settlement)
{
    free(settlement->nodes);
    settlement->nodes = NULL;
    settlement->count = 0;
}

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

void settlement_blame(struct settlement *settlement, const struct verdict *verdict, const size_t *nodes,
                      size_t count)
{
    settlement->kind = verdict->kind;
    settlement->verdict = *verdict;
    settlement->nodes = memory_zeroed(count, sizeof *nodes);
    memcpy(settlement->nodes, nodes, count * sizeof *nodes);
    qsort(settlement->nodes, count, sizeof *nodes, compare_sizes);
    settlement->count = count;
}

void settlement_doubt(struct settlement *settlement)
{
    verdict_doubt(&settlement->verdict);
    settlement->kind = settlement->verdict.kind;
}

/* "Conv+Relu", without the node that goes wrong behind the others. */
static void list_operators(const struct settlement *settlement, const struct model *model, char *out,
                           size_t size)
{
    size_t used = 0, listed = 0;
    *out = '\0';
    for (size_t i = 0; i < settlement->count && used < size; i++) {
        if (settlement->behind && settlement->nodes[i] == settlement->at)
            continue;
        const Onnx__NodeProto *node = model->graph->node[settlement->nodes[i]];
        used += (size_t)snprintf(out + used, size - used, "%s%s", listed++ ? "+" : "", op_title(node));
    }
}

void settlement_describe(struct settlement *settlement, const struct model *model)
{
    char who[120];
    list_operators(settlement, model, who, sizeof who);
    if (settlement->behind) {
        const Onnx__NodeProto *node = model->graph->node[settlement->at];
        snprintf(settlement->text, sizeof settlement->text, "%.60s (node %.60s) behind %s: %s",
                 op_title(node), model_node_name(node), who, settlement->verdict.text);
    } else if (settlement->count == 1) {
        const Onnx__NodeProto *node = model->graph->node[settlement->nodes[0]];
        snprintf(settlement->text, sizeof settlement->text, "%s (node %.60s): %s", who, model_node_name(node),
                 settlement->verdict.text);
    } else if (settlement->count) {
        snprintf(settlement->text, sizeof settlement->text, "%s %s: %s", who,
                 verdict_is(settlement->verdict.kind, CLASS_NO_ANSWER) ? "together" : "fused",
                 settlement->verdict.text);
    } else {
        snprintf(settlement->text, sizeof settlement->text, "%s", settlement->verdict.text);
    }
}
