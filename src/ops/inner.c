#include "ops/inner.h"

enum { NEWEST_FORMS = 25 };

void inner_begin(struct inner *step, struct op_call *call, const char *name)
{
    step->call = call;
    step->op = op_find(name);
    arena_init(&step->arena);
    step->node = arena_alloc(&step->arena, sizeof *step->node);
    onnx__node_proto__init(step->node);
    step->node->op_type = arena_strdup(&step->arena, name);
    step->node->domain = arena_strdup(&step->arena, "");
    step->node->name = call->node->name;
}

static int run(struct inner *step, const struct bounded *const *inputs, size_t count, struct bounded *outputs,
               size_t n_outputs)
{
    struct op_call inner = *step->call;
    inner.op = step->op;
    inner.node = step->node;
    inner.opset = NEWEST_FORMS;
    inner.inputs = inputs;
    inner.n_inputs = count;
    inner.outputs = outputs;
    inner.n_outputs = n_outputs;
    int result =
        inner.op ? inner.op->eval(&inner) : call_unsupported(step->call, "a part of it is not supported");
    step->call->open |= inner.open;
    arena_release(&step->arena);
    return result;
}

int inner_step(struct inner *step, const struct bounded *const *inputs, size_t count, struct bounded *out)
{
    bounded_init(out);
    if (run(step, inputs, count, out, 1))
        return -1;
    if (out->value) {
        bounded_settle(out, NULL);
        bounded_widen(out);
    }
    return 0;
}

int inner_last(struct inner *step, const struct bounded *const *inputs, size_t count)
{
    return run(step, inputs, count, step->call->outputs, step->call->n_outputs);
}

int inner_simple(struct op_call *call, const char *name, const struct bounded *a, const struct bounded *b,
                 struct bounded *out)
{
    const struct bounded *inputs[2] = {a, b};
    struct inner step;
    inner_begin(&step, call, name);
    return inner_step(&step, inputs, b ? 2 : 1, out);
}

int inner_transpose(struct op_call *call, const struct bounded *x, const int64_t *order, struct bounded *out)
{
    struct inner step;
    inner_begin(&step, call, "Transpose");
    node_set_ints(&step.arena, step.node, "perm", order, (size_t)x->shape.rank);
    bounded_init(out);
    return run(&step, &x, 1, out, 1);
}

void inner_reshape(struct bounded *x, const struct shape *shape)
{
    x->shape = *shape;
}
