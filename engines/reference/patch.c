#include "patch.h"

#include <string.h>

bool patch_init(struct patch *patch, struct op_call *call)
{
    if (call->n_inputs > PATCH_INPUTS)
        return false;
    memset(patch, 0, sizeof *patch);
    arena_init(&patch->arena);
    bounded_init(&patch->own);
    patch->node = *call->node;
    patch->node.attribute = arena_copy(&patch->arena, call->node->attribute,
                                       call->node->n_attribute * sizeof *call->node->attribute);
    for (size_t i = 0; i < call->n_inputs; i++)
        patch->inputs[i] = call->inputs[i];
    patch->call = *call;
    patch->call.node = &patch->node;
    patch->call.inputs = patch->inputs;
    return true;
}

void patch_drop(struct patch *patch, const char *name)
{
    node_remove_attribute(&patch->node, name);
}

/* Setting an attribute would change the original's message in place, so it is taken off the copied list
 * first. */
void patch_int(struct patch *patch, const char *name, int64_t value)
{
    patch_drop(patch, name);
    node_set_int(&patch->arena, &patch->node, name, value);
}

void patch_float(struct patch *patch, const char *name, float value)
{
    patch_drop(patch, name);
    node_set_float(&patch->arena, &patch->node, name, value);
}

void patch_string(struct patch *patch, const char *name, const char *value)
{
    patch_drop(patch, name);
    node_set_string(&patch->arena, &patch->node, name, value);
}

void patch_ints(struct patch *patch, const char *name, const int64_t *values, size_t count)
{
    patch_drop(patch, name);
    node_set_ints(&patch->arena, &patch->node, name, values, count);
}

struct bounded *patch_input(struct patch *patch, size_t index)
{
    const struct bounded *input = index < patch->call.n_inputs ? patch->inputs[index] : NULL;
    if (!input || !input->value || bounded_copy(&patch->own, input, NULL))
        return NULL;
    patch->inputs[index] = &patch->own;
    return &patch->own;
}

void patch_release(struct patch *patch)
{
    bounded_release(&patch->own);
    arena_release(&patch->arena);
}

int patch_eval(struct patch *patch)
{
    int result = patch->call.op->eval(&patch->call);
    patch_release(patch);
    return result;
}

int eval_with_int(struct op_call *call, const char *name, int64_t value)
{
    struct patch patch;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    patch_int(&patch, name, value);
    return patch_eval(&patch);
}

int eval_with_float(struct op_call *call, const char *name, float value)
{
    struct patch patch;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    patch_float(&patch, name, value);
    return patch_eval(&patch);
}

int eval_with_string(struct op_call *call, const char *name, const char *value)
{
    struct patch patch;
    if (!patch_init(&patch, call))
        return call->op->eval(call);
    patch_string(&patch, name, value);
    return patch_eval(&patch);
}

int eval_with_input(struct op_call *call, size_t index,
                    void (*change)(const struct op_call *call, struct bounded *input))
{
    struct patch patch;
    if (!call_input(call, index) || !patch_init(&patch, call))
        return call->op->eval(call);
    struct bounded *input = patch_input(&patch, index);
    if (input)
        change(call, input);
    return patch_eval(&patch);
}

struct bounded *eval_computed(struct op_call *call, int *result)
{
    *result = call->op->eval(call);
    struct bounded *out = &call->outputs[0];
    return *result || call->shapes_only || !out->value ? NULL : out;
}

void zero_input(const struct op_call *call, struct bounded *input)
{
    (void)call;
    for (size_t i = 0; i < input->count; i++)
        input->value[i] = 0;
}

int eval_without_input(struct op_call *call, size_t index)
{
    struct patch patch;
    if (!call_input(call, index) || !patch_init(&patch, call))
        return call->op->eval(call);
    patch.inputs[index] = NULL;
    return patch_eval(&patch);
}
