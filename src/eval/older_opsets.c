#include "eval/older_opsets.h"

#include <string.h>

static bool is(const struct op_call *call, const char *name)
{
    return strcmp(call->op->name, name) == 0;
}

/* Input `index` becomes this list, or stays omitted when there is none. */
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

static int put_float(struct older *older, struct op_call *call, size_t index, const char *name,
                     double otherwise)
{
    const struct bounded *data = older->inputs[0];
    struct shape scalar = {0};
    struct bounded *made = &older->made[index];
    if (!data || bounded_alloc(made, data->type, &scalar, false, call->err))
        return -1;
    made->value[0] = dtype_round(data->type, call_float(call, name, otherwise));
    older->inputs[index] = made;
    return 0;
}

static int put_list(struct older *older, struct op_call *call, size_t index, const char *name)
{
    size_t count;
    const int64_t *values = call_ints(call, name, &count);
    return put_ints(older, call, index, values, count);
}

static int adapt_clip(struct older *older, struct op_call *call)
{
    if (call_has(call, "min") && put_float(older, call, 1, "min", 0))
        return -1;
    return call_has(call, "max") ? put_float(older, call, 2, "max", 0) : 0;
}

static int adapt_pad(struct older *older, struct op_call *call)
{
    return put_list(older, call, 1, "pads") || put_float(older, call, 2, "value", 0) ? -1 : 0;
}

static int adapt_slice(struct older *older, struct op_call *call)
{
    return put_list(older, call, 1, "starts") || put_list(older, call, 2, "ends") ||
                   put_list(older, call, 3, "axes")
               ? -1
               : 0;
}

static int adapt_topk(struct older *older, struct op_call *call)
{
    int64_t k = call_int(call, "k", 0);
    return put_ints(older, call, 1, &k, 1);
}

/* Operators with attributes where there are inputs now, and the opset in which that changed. */
static const struct {
    const char *name;
    int changed;
    size_t inputs; /* of the later form that the attributes give */
    int (*adapt)(struct older *older, struct op_call *call);
} forms[] = {
    {"Clip", 11, 3, adapt_clip},
    {"Pad", 11, 3, adapt_pad},
    {"Slice", 10, 4, adapt_slice},
    {"TopK", 10, 2, adapt_topk},
};

/*
 * Operators whose meaning was another before this opset: broadcasting by an attribute (7), a type as a word
 * (Cast), a shape as an attribute (Reshape), another default (Concat), other inputs or outputs.
 */
static const struct {
    const char *name;
    int changed;
} others[] = {
    {"Add", 7},       {"And", 7},          {"BatchNormalization", 7},
    {"Cast", 6},      {"Concat", 4},       {"Div", 7},
    {"Dropout", 7},   {"Equal", 7},        {"GRU", 7},
    {"Gemm", 7},      {"GlobalLpPool", 2}, {"Greater", 7},
    {"LSTM", 7},      {"Less", 7},         {"LpPool", 2},
    {"Mul", 7},       {"Or", 7},           {"PRelu", 7},
    {"Pad", 2},       {"Pow", 7},          {"RNN", 7},
    {"Reshape", 5},   {"Resize", 11},      {"Scan", 9},
    {"Split", 2},     {"Sub", 7},          {"Tile", 6},
    {"Upsample", 11}, {"Xor", 7},
};

/* Another meaning, not only another form. */
static bool is_other(const struct op_call *call)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (call->opset < others[i].changed && is(call, others[i].name))
            return true;
    return is(call, "BatchNormalization") && call->opset < 9 && !call_int(call, "spatial", 1);
}

int older_adapt(struct older *older, struct op_call *call)
{
    memset(older, 0, sizeof *older);
    if (call->opset >= OP_OLDEST || !call->opset)
        return 0;
    if (is_other(call))
        return call_unsupported(call, "the reference does not know it as it was in opset %d", call->opset);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (call->opset >= forms[i].changed || !is(call, forms[i].name))
            continue;
        if (call->n_inputs != 1)
            return call_invalid(call, "has %zu inputs", call->n_inputs);
        older->inputs[0] = call->inputs[0];
        if (forms[i].adapt(older, call))
            return -1;
        call->inputs = older->inputs;
        call->n_inputs = forms[i].inputs;
    }
    return 0;
}

void older_release(struct older *older)
{
    for (size_t i = 0; i < OLDER_INPUTS; i++)
        bounded_release(&older->made[i]);
}
