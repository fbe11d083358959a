#include "eval/older_opsets.h"

#include <string.h>

/* Makes this list input `index`; an empty list leaves it omitted. */
static int put_ints(struct older *older, struct op_call *call, size_t index, const int64_t *values,
                    size_t count)
{
    if (!values || !count)
        return 0;
    struct shape shape = shape_make(1, (int64_t[]){(int64_t)count});
    struct bounded *made = &older->made[index];
    if (bounded_alloc(made, DTYPE_INT64, &shape, false, call->err))
        return -1;
    for (size_t i = 0; i < count; i++)
        made->value[i] = values[i];
    older->inputs[index] = made;
    return 0;
}

static int put_float(struct older *older, struct op_call *call, size_t index, const char *name)
{
    const struct bounded *data = older->inputs[0];
    struct shape scalar = {0};
    struct bounded *made = &older->made[index];
    if (!data)
        return call_invalid(call, "has no first input");
    if (bounded_alloc(made, data->type, &scalar, false, call->err))
        return -1;
    made->value[0] = dtype_round(data->type, call_float(call, name, 0));
    older->inputs[index] = made;
    return 0;
}

/* Makes the attribute, when the node has it, input `index`. */
static int put_attribute(struct older *older, struct op_call *call, size_t index)
{
    const char *name = call->op->history.attributes[index - 1].name;
    if (!call_has(call, name))
        return 0;
    if (call->op->history.attributes[index - 1].kind == PARAM_FLOAT)
        return put_float(older, call, index, name);
    int64_t one = call_int(call, name, 0);
    size_t count = 1;
    bool list = call->op->history.attributes[index - 1].kind == PARAM_INTS;
    const int64_t *values = list ? call_ints(call, name, &count) : &one;
    return put_ints(older, call, index, values, count);
}

int older_adapt(struct older *older, struct op_call *call)
{
    const struct op_history *history = &call->op->history;
    memset(older, 0, sizeof *older);
    if (call->opset >= OP_OLDEST || !call->opset)
        return 0;
    if (call->opset < history->same_since)
        return call_unsupported(call, "the reference does not support its form of opset %d", call->opset);
    if (call->opset >= history->reformed || !history->attributes[0].name)
        return 0;
    if (call->n_inputs != 1)
        return call_invalid(call, "has %zu inputs", call->n_inputs);
    older->inputs[0] = call->inputs[0];
    size_t count = 1;
    for (; count <= OP_FORMER && history->attributes[count - 1].name; count++)
        if (put_attribute(older, call, count))
            return -1;
    call->inputs = older->inputs;
    call->n_inputs = count;
    return 0;
}

void older_release(struct older *older)
{
    for (size_t i = 0; i < OLDER_INPUTS; i++)
        bounded_release(&older->made[i]);
}
