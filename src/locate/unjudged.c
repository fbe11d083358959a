#include "locate/unjudged.h"

#include "eval/evaluate.h"
#include "locate/uncertainty.h"

#include <math.h>
#include <stdlib.h>

/* The first node of the top graph that makes values which cannot be judged out of values which can. */
struct origin {
    int depth;
    const Onnx__NodeProto *node; /* NULL: none yet */
    size_t others;               /* nodes after it that do so as well */
    bool from_nonfinite;         /* its inputs hold NaN or infinity */
};

static bool has_values(const struct bounded *b)
{
    return b && b->type != DTYPE_NONE && b->value;
}

static size_t count_unjudged(const struct bounded *b)
{
    size_t count = 0;
    for (size_t i = 0; has_values(b) && i < b->count; i++)
        count += isinf(bounded_hard(b, i)) != 0;
    return count;
}

static bool is_nonfinite(const struct bounded *b)
{
    for (size_t i = 0; has_values(b) && i < b->count; i++)
        if (!isfinite(b->value[i]))
            return true;
    return false;
}

static int watch(void *context, struct op_call *call)
{
    struct origin *origin = context;
    origin->depth++;
    int result = call->op->eval(call);
    origin->depth--;
    if (origin->depth || result || call->shapes_only)
        return result;
    bool before = false, after = false, nonfinite = false;
    for (size_t i = 0; i < call->n_inputs; i++) {
        before |= count_unjudged(call->inputs[i]) > 0;
        nonfinite |= is_nonfinite(call->inputs[i]);
    }
    for (size_t i = 0; i < call->n_outputs; i++)
        after |= count_unjudged(&call->outputs[i]) > 0;
    if (after && !before && origin->node)
        origin->others++;
    else if (after && !before) {
        origin->node = call->node;
        origin->from_nonfinite = nonfinite;
    }
    return 0;
}

/* The number of the first element that is no finite number; the count when all are. */
static size_t find_nonfinite(const struct value *value)
{
    const struct tensor *tensor = value->kind == VALUE_TENSOR ? &value->tensors[0] : NULL;
    if (!tensor || !dtype_is_float(tensor->type))
        return SIZE_MAX;
    size_t k = 0;
    while (k < tensor->count && isfinite(tensor_get(tensor, k)))
        k++;
    return k < tensor->count ? k : SIZE_MAX;
}

/* "NaN at sample 3 of data.npz, x[3,17]": the first such element of an input. False when there is none. */
static bool name_nonfinite(struct str *out, const struct unjudged_sample *which)
{
    const struct test_case *test = which->test;
    for (size_t i = 0; i < test->n_inputs; i++) {
        const struct value *value = &test->inputs[i];
        size_t element = find_nonfinite(value);
        if (element == SIZE_MAX)
            continue;
        str_printf(out, "%s ", isnan(tensor_get(&value->tensors[0], element)) ? "NaN" : "infinity");
        if (which->inputs && i < which->inputs->count) {
            str_add(out, "at ");
            inputs_place(which->inputs, which->sample, i, element, out);
            str_add(out, ",");
        } else {
            str_printf(out, "in element %zu of input %s", element, value->name ? value->name : "?");
        }
        return true;
    }
    return false;
}

/* What is unjudged of the outputs; output: the first that has such elements. */
struct extent {
    size_t unjudged, total, output, element;
};

static void measure(struct extent *extent, const struct bounded *results, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        size_t here = count_unjudged(&results[i]);
        extent->unjudged += here;
        extent->total += results[i].count;
        for (size_t k = results[i].count; here && k-- > 0;)
            if (isinf(bounded_hard(&results[i], k))) {
                extent->output = i;
                extent->element = k;
            }
    }
}

static int evaluate(const struct test_case *test, struct origin *origin, struct extent *extent,
                    struct error *err)
{
    struct evaluate_options options = {.hook = watch, .context = origin};
    struct evaluator *evaluator;
    struct bounded *results = NULL;
    size_t count = 0;
    const struct model *model = test_case_model(test, err);
    if (!model || evaluator_new(&evaluator, model, &options, err))
        return -1;
    int status = evaluator_run(evaluator, test->inputs, test->n_inputs, NULL, 0, &results, &count, err);
    if (status == 0)
        measure(extent, results, count);
    for (size_t i = 0; i < count; i++)
        bounded_release(&results[i]);
    free(results);
    evaluator_free(evaluator);
    return status;
}

static void add_extent(struct str *out, const struct extent *extent)
{
    str_printf(out, "%zu of %zu output value%s", extent->unjudged, extent->total,
               extent->total == 1 ? "" : "s");
}

int unjudged_explain(struct str *out, const struct unjudged_sample *which, struct error *err)
{
    const struct test_case *test = which->test;
    struct origin origin = {0};
    struct extent extent = {0};
    struct uncertainty uncertainty;
    if (evaluate(test, &origin, &extent, err))
        return -1;
    if (!extent.unjudged)
        return 0;
    if (origin.node && origin.from_nonfinite && name_nonfinite(out, which)) {
        str_add(out, " reaches ");
        add_extent(out, &extent);
        str_printf(out, " through %s %s", op_title(origin.node), model_node_name(origin.node));
        if (origin.others)
            str_printf(out, " and %zu other node%s", origin.others, origin.others == 1 ? "" : "s");
        return 0;
    }
    add_extent(out, &extent);
    if (uncertainty_find(&uncertainty, test, extent.output, extent.element, NULL) == 0 &&
        uncertainty.kind != UNCERTAIN_NOWHERE)
        str_printf(out, ": %s", uncertainty.text);
    else if (origin.node)
        str_printf(out, " become uncertain at %s %s; why is not known", op_title(origin.node),
                   model_node_name(origin.node));
    else
        str_add(out, ", and why is not known");
    return 0;
}
