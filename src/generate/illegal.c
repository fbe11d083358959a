#include "generate/illegal.h"

#include "ops/param_value.h"

#include <string.h>

static bool can_set(const struct op_param *p)
{
    return p->illegal && (p->kind <= PARAM_FLOATS || p->kind == PARAM_INPUT);
}

bool illegal_exists(const struct op *op)
{
    for (const struct op_param *p = op->params; p && p->name; p++)
        if (can_set(p))
            return true;
    return false;
}

/* Makes the input a list of these integers; a scalar, or an input of more dimensions, keeps its shape. */
static int set_input(struct draw *d, size_t index, const int64_t *values, size_t count)
{
    if (index >= d->n_inputs || d->inputs[index].source != DRAWN_NEW)
        return -1;
    struct drawn *input = &d->inputs[index];
    struct shape list = {.rank = 1, .dims = {(int64_t)count}};
    if (input->shape.rank == 1) {
        struct tensor tensor;
        if (tensor_alloc(&tensor, input->type, &list, 0, NULL))
            return -1;
        tensor_release(&input->data);
        input->data = tensor;
        input->shape = list;
    }
    if (!input->data.count)
        return -1;
    for (size_t i = 0; i < input->data.count; i++)
        tensor_set(&input->data, i, (long double)values[i % count]);
    return 0;
}

static int set_param(struct draw *d, struct rng *rng, const struct op_param *p, const char *text)
{
    int rank = d->n_inputs ? d->inputs[0].shape.rank : 0;
    int64_t ints[PARAM_LIST];
    size_t count = param_ints(text, ints);
    if (p->kind == PARAM_INPUT)
        return count ? set_input(d, p->input, ints, count) : -1;
    return param_set(d->arena, d->node, p, rank, true, rng, text);
}

int illegal_apply(struct draw *d, struct rng rng, struct str *note, struct error *err)
{
    const struct op_param *chosen = NULL;
    uint64_t seen = 0;
    for (const struct op_param *p = d->op->params; p && p->name; p++) {
        if (param_exists(p, d->opset) && can_set(p) && rng_below(&rng, ++seen) == 0)
            chosen = p;
    }
    if (!chosen)
        return error_set(err, ERROR_NOT_FOUND, "%s has no illegal values at opset %d", d->op->name, d->opset);
    struct rng kept = d->rng;
    d->rng = rng;
    const char *text = draw_word(d, chosen->illegal);
    rng = d->rng;
    d->rng = kept;
    if (set_param(d, &rng, chosen, text))
        return error_set(err, ERROR_NOT_FOUND, "%s: %s cannot be set to %s on this node", d->op->name,
                         chosen->name, text);
    str_printf(note, "illegal %s=%s", chosen->name, text);
    return 0;
}
