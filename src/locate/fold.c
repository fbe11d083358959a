#include "locate/fold.h"

#include "base/str.h"

#include <math.h>

enum {
    ROUNDINGS = 2
}; /* of each part: the product's, and that of a constant made ready before (1 / w, b * w) */

static bool is_scaled(const Onnx__GraphProto *graph, const char *sum)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        if (!text_equal(node->op_type, "Mul") && !text_equal(node->op_type, "Div"))
            continue;
        for (size_t k = 0; k < node->n_input; k++)
            if (text_equal(node->input[k], sum))
                return true;
    }
    return false;
}

static int absolute(struct bounded *to, const struct bounded *from, struct error *err)
{
    bounded_init(to);
    if (bounded_alloc(to, from->type, &from->shape, false, err))
        return -1;
    for (size_t i = 0; i < from->count; i++)
        bounded_set(to, i, fabsl(from->value[i]), 0, 0);
    return 0;
}

/* |a| + |b| of every element, broadcast as the sum is. */
static int sum_sizes(const struct op_call *call, struct bounded *sizes)
{
    struct bounded parts[2];
    int status = absolute(&parts[0], call->inputs[0], call->err);
    bounded_init(&parts[1]);
    bounded_init(sizes);
    if (!status)
        status = absolute(&parts[1], call->inputs[1], call->err);
    struct op_call sum = *call;
    sum.op = op_find("Add");
    sum.inputs = (const struct bounded *const[]){&parts[0], &parts[1]};
    sum.n_outputs = 1;
    sum.outputs = sizes;
    if (!status)
        status = sum.op->eval(&sum);
    bounded_release(&parts[0]);
    bounded_release(&parts[1]);
    return status;
}

int fold_hook(void *context, struct op_call *call)
{
    const struct model *model = context;
    const char *name = call->op->name;
    int status = call->op->eval(call);
    if (status || call->shapes_only || (!text_equal(name, "Add") && !text_equal(name, "Sub")) ||
        !dtype_is_float(call->outputs[0].type) || !is_scaled(model->graph, call->node->output[0]))
        return status;
    struct bounded sizes, *sum = &call->outputs[0];
    status = sum_sizes(call, &sizes);
    for (size_t i = 0; i < sum->count && !status; i++) {
        long double size = sizes.value[i];
        double more = isfinite(size) ? (double)(ROUNDINGS * bounded_unit(sum) * size) : 0;
        bounded_set(sum, i, sum->value[i], bounded_hard(sum, i) + more,
                    (double)likely_add(bounded_likely(sum, i), more));
    }
    bounded_release(&sizes);
    return status;
}
