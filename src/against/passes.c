#include "against/passes.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static int watch(void *context, struct op_call *call);

int pass_init(struct pass *pass, const struct model *model, bool round, struct error *err)
{
    struct evaluate_options options = {.round = round, .hook = watch, .context = pass, .containers = true};
    *pass = (struct pass){0};
    if (evaluator_new(&pass->evaluator, model, &options, err))
        return -1;
    pass->index = evaluator_index(pass->evaluator);
    size_t count = pass->index->count + 1;
    pass->forced = memory_zeroed(count, sizeof *pass->forced);
    pass->given = memory_zeroed(count, sizeof *pass->given);
    pass->taken = memory_zeroed(count, sizeof *pass->taken);
    return 0;
}

void pass_forget(struct pass *pass)
{
    for (size_t i = 0; pass->taken && i < pass->index->count; i++) {
        tensor_release(&pass->taken[i]);
        pass->taken[i] = (struct tensor){0};
    }
}

void pass_release(struct pass *pass)
{
    pass_forget(pass);
    evaluator_free(pass->evaluator);
    free(pass->forced);
    free(pass->given);
    free(pass->taken);
    free(pass->wanted);
    *pass = (struct pass){0};
}

bool pass_value(const struct pass *pass, const char *name, size_t *number)
{
    return *name && map_get(&pass->index->names, name, number);
}

/* Numbers for a value of another type and shape: an overflow stays finite, as the value that is stood for is.
 */
static int fit(struct bounded *b, const struct tensor *numbers, const struct bounded *like, bool exact,
               struct error *err)
{
    if (bounded_alloc(b, like->type, &like->shape, false, err))
        return -1;
    for (size_t i = 0; i < b->count; i++) {
        long double x = tensor_get(numbers, i);
        if (!exact && isfinite(x))
            x = dtype_round(b->type, fmaxl(fminl(x, dtype_highest(b->type)), dtype_lowest(b->type)));
        b->value[i] = x;
    }
    return 0;
}

/* Sets the inputs of the call that are forced; `made` has room for each input. */
static int force(struct pass *pass, struct op_call *call, const struct bounded **inputs, struct bounded *made)
{
    for (size_t i = 0; i < call->n_inputs; i++) {
        size_t number;
        const struct bounded *was = inputs[i];
        bool known = was && was->kind == BOUNDED_TENSOR && was->value && i < call->node->n_input &&
                     pass_value(pass, call->node->input[i], &number);
        const struct tensor *numbers = known ? pass->forced[number] : NULL;
        if (!numbers || numbers->count != was->count)
            continue;
        if (fit(&made[i], numbers, was, pass->exact, call->err))
            return -1;
        inputs[i] = &made[i];
    }
    return 0;
}

static int evaluate(struct pass *pass, struct op_call *call)
{
    const struct bounded *const *before = call->inputs;
    const struct bounded **inputs = memory_zeroed(call->n_inputs + 1, sizeof *inputs);
    struct bounded *made = memory_zeroed(call->n_inputs + 1, sizeof *made);
    for (size_t i = 0; i < call->n_inputs; i++)
        inputs[i] = before[i];
    int result = force(pass, call, inputs, made);
    call->inputs = inputs;
    pass->depth++;
    if (!result)
        result = call->op->eval(call);
    pass->depth--;
    if (!result && pass->seen)
        pass->seen(pass->context, call);
    call->inputs = before;
    for (size_t i = 0; i < call->n_inputs; i++)
        bounded_release(&made[i]);
    free(made);
    free(inputs);
    return result;
}

/* Whether the node's outputs are given; then they are set. */
static int give(struct pass *pass, struct op_call *call, bool *given)
{
    *given = call->node->n_output > 0;
    for (size_t i = 0; i < call->node->n_output && *given; i++) {
        size_t number;
        bool named = pass_value(pass, call->node->output[i], &number);
        *given = i < call->n_outputs && (!*call->node->output[i] || (named && pass->given[number]));
    }
    for (size_t i = 0; i < call->node->n_output && *given; i++) {
        size_t number;
        if (pass_value(pass, call->node->output[i], &number) &&
            bounded_from_tensor(&call->outputs[i], pass->given[number], call->err))
            return -1;
    }
    return 0;
}

static int take(struct pass *pass, const struct op_call *call)
{
    for (size_t i = 0; i < call->node->n_output && i < call->n_outputs; i++) {
        size_t number;
        const struct bounded *out = &call->outputs[i];
        bool known = pass_value(pass, call->node->output[i], &number) && out->kind == BOUNDED_TENSOR &&
                     out->type != DTYPE_NONE && out->value && dtype_is_real(out->type);
        if (!known || (pass->wanted && !pass->wanted[number]))
            continue;
        tensor_release(&pass->taken[number]);
        if (bounded_to_tensor(out, &pass->taken[number], call->err)) {
            pass->taken[number] = (struct tensor){0};
            return -1;
        }
    }
    return 0;
}

/* In place of a node's kernel. Bodies are computed as they are. */
static int watch(void *context, struct op_call *call)
{
    struct pass *pass = context;
    bool given = false;
    if (pass->depth || call->shapes_only)
        return call->op->eval(call);
    if (give(pass, call, &given) || (!given && evaluate(pass, call)))
        return -1;
    return take(pass, call);
}

void pass_outputs_free(struct tensor *outputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tensor_release(&outputs[i]);
    free(outputs);
}

int pass_run(struct pass *pass, const struct value *inputs, size_t n_inputs, struct tensor **outputs,
             size_t *count, struct error *err)
{
    struct bounded *results = NULL;
    *outputs = NULL;
    *count = 0;
    pass->depth = 0;
    if (evaluator_run(pass->evaluator, inputs, n_inputs, NULL, 0, &results, count, err))
        return -1;
    int status = 0;
    *outputs = memory_zeroed(*count + 1, sizeof **outputs);
    for (size_t i = 0; i < *count; i++) {
        if (status == 0 && results[i].kind == BOUNDED_TENSOR)
            status = bounded_to_tensor(&results[i], &(*outputs)[i], err);
        bounded_release(&results[i]);
    }
    free(results);
    if (status) {
        pass_outputs_free(*outputs, *count);
        *outputs = NULL;
        *count = 0;
    }
    return status;
}
