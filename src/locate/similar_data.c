#include "locate/similar_data.h"

#include "base/random.h"
#include "base/str.h"
#include "ops/op.h"

#include <math.h>

/* Whether an input of the part acts as a parameter of a node. */
static bool is_parameter(const struct model *model, const char *name)
{
    for (size_t n = 0; n < model->graph->n_node; n++) {
        const Onnx__NodeProto *node = model->graph->node[n];
        const struct op *op = *node->domain ? NULL : op_find(node->op_type);
        for (const struct op_param *p = op ? op->params : NULL; p && p->name; p++)
            if (p->kind == PARAM_INPUT && p->input < node->n_input && text_equal(node->input[p->input], name))
                return true;
    }
    return false;
}

static void shuffle(struct tensor *tensor, struct rng *rng)
{
    for (size_t i = tensor->count; i > 1; i--) {
        size_t k = (size_t)rng_below(rng, i);
        long double kept = tensor_get(tensor, i - 1);
        tensor_set(tensor, i - 1, tensor_get(tensor, k));
        tensor_set(tensor, k, kept);
    }
}

/* Numbers that are not whole get up to a half smaller, whole ones one smaller or, from 0 on down, one larger.
 */
static long double vary(long double value, enum dtype type, struct rng *rng)
{
    if (!isfinite(value) || rng_chance(rng, 0.25))
        return value;
    if (value != floorl(value))
        return value * (long double)rng_uniform(rng, 0.5, 1);
    return fabsl(value) < 0x1p24L ? value + (value > 0 ? -1 : 1) : dtype_is_float(type) ? value / 2 : value;
}

/* Each element one of those at hand, or near it. */
static void draw_again(struct tensor *tensor, const struct tensor *from, struct rng *rng)
{
    for (size_t i = 0; i < tensor->count; i++)
        tensor_set(tensor, i, vary(tensor_get(from, (size_t)rng_below(rng, from->count)), from->type, rng));
}

int similar_data(struct test_case **similar, const struct test_case *first, size_t set, struct error *err)
{
    const struct model *model = test_case_model(first, err);
    struct rng rng = rng_seed(set);
    *similar = test_case_same_model(first);
    if (!model || test_case_add_inputs(*similar, first->inputs, first->n_inputs, err))
        return -1;
    for (size_t i = 0; i < first->n_inputs; i++) {
        struct value *value = &(*similar)->inputs[i];
        if (value->kind != VALUE_TENSOR || value->tensors[0].type == DTYPE_STRING ||
            !value->tensors[0].count || is_parameter(model, value->name ? value->name : ""))
            continue;
        if (set <= SIMILAR_SHUFFLED)
            shuffle(&value->tensors[0], &rng);
        else
            draw_again(&value->tensors[0], &first->inputs[i].tensors[0], &rng);
    }
    return 0;
}
