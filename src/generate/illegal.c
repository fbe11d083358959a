#include "generate/illegal.h"

#include "base/memory.h"

#include <stdlib.h>
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

enum { MAX_LIST = 64 };

static size_t parse_ints(const char *text, int64_t *values)
{
    size_t count = 0;
    while (*text && count < MAX_LIST) {
        char *end;
        values[count++] = strtoll(text, &end, 10);
        if (end == text)
            return 0;
        text = *end == ',' ? end + 1 : end;
    }
    return count;
}

/*
 * A single number is used for every element of a list of the right length: that of the attribute or, when it
 * was left out, one for each spatial axis (two for pads).
 */
static size_t spread(struct draw *d, struct rng *rng, const char *name, int64_t *values)
{
    const Onnx__AttributeProto *old = node_attribute(d->node, name);
    int64_t bad = values[0];
    size_t spatial = d->n_inputs && d->inputs[0].shape.rank > 2 ? (size_t)d->inputs[0].shape.rank - 2 : 1;
    size_t count = old ? old->n_ints : strcmp(name, "pads") == 0 ? 2 * spatial : spatial;
    if (count == 0 || count > MAX_LIST)
        return 1;
    bool all = rng_chance(rng, 0.3);
    size_t one = (size_t)rng_below(rng, count);
    for (size_t i = 0; i < count; i++)
        values[i] = all || i == one ? bad : old ? old->ints[i] : strcmp(name, "pads") == 0 ? 0 : 1;
    return count;
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
    int64_t ints[MAX_LIST] = {0};
    size_t count = parse_ints(text, ints);
    switch (p->kind) {
    case PARAM_STRING:
        draw_string(d, p->name, text);
        return 0;
    case PARAM_FLOAT:
        draw_float(d, p->name, strtof(text, NULL));
        return *text ? 0 : -1;
    case PARAM_INT:
        draw_int(d, p->name, ints[0]);
        return count ? 0 : -1;
    case PARAM_INTS:
        if (count == 1)
            count = spread(d, rng, p->name, ints);
        draw_ints(d, p->name, ints, count);
        return count ? 0 : -1;
    case PARAM_INPUT:
        return count ? set_input(d, p->input, ints, count) : -1;
    default:
        return -1;
    }
}

int illegal_apply(struct draw *d, struct rng rng, struct str *note, struct error *err)
{
    const struct op_param *chosen = NULL;
    uint64_t seen = 0;
    for (const struct op_param *p = d->op->params; p && p->name; p++) {
        bool there = (!p->since || d->opset >= p->since) && (!p->until || d->opset <= p->until);
        if (there && can_set(p) && rng_below(&rng, ++seen) == 0)
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
