/* Rule 14 of EAGLE: a value padded and cut back to its own size. */
#include "rules/rule.h"

#include "base/str.h"

enum {
    MARGIN = 3,        /* at most, on each side of an axis */
    ELEMENTS = 1 << 20 /* of the largest padded value */
};

/* Sizes in front and behind for each axis, in the order of Pad's input; at least one is not 0. Reflected
 * elements are those of the value itself without its edge. */
static bool draw_pads(struct rewrite *rewrite, const struct shape *shape, bool reflect, int64_t *pads)
{
    int64_t sum = 0, elements = 1;
    for (int i = 0; i < 2 * shape->rank; i++) {
        int64_t most = MARGIN, size = shape->dims[i % shape->rank];
        if (reflect && size - 1 < most)
            most = size - 1;
        pads[i] = most > 0 ? rng_range(&rewrite->rng, 0, most) : 0;
        sum += pads[i];
    }
    if (!sum && !reflect)
        sum = pads[shape->rank - 1] = 1;
    for (int i = 0; i < shape->rank; i++)
        if (__builtin_mul_overflow(elements, shape->dims[i] + 2 * MARGIN, &elements) || elements > ELEMENTS)
            return false;
    return sum > 0;
}

/* Pad takes the other types from opset 13 on. */
static bool can_pad(const struct rewrite *rewrite, const struct bounded *type)
{
    return type && type->shape.rank > 0 && type->count > 0 && rewrite_opset(rewrite) >= 11 &&
           dtype_in(type->type, DTYPES_NUMBER) &&
           (type->type != DTYPE_BFLOAT16 || rewrite_opset(rewrite) >= 13);
}

/* Behind a value, a Pad of any mode; the mode does not matter as nothing of it is kept. */
static const char *pad(struct rewrite *rewrite, const char *value, const struct bounded *type, int64_t *pads)
{
    static const char *const modes[] = {"constant", "edge", "reflect"};
    const char *mode = modes[rng_below(&rewrite->rng, 3)];
    Onnx__NodeProto *node;
    if (!draw_pads(rewrite, &type->shape, text_equal(mode, "reflect"), pads))
        return NULL;
    const char *amounts = rewrite_ints(rewrite, pads, 2 * (size_t)type->shape.rank);
    bool filled = text_equal(mode, "constant") && rng_chance(&rewrite->rng, 0.5);
    const char *fill = filled ? rewrite_scalar(rewrite, type->type, 0, 1) : NULL;
    const char *padded = rewrite_op(rewrite, "Pad", &node, value, amounts, fill, NULL);
    if (!text_equal(mode, "constant"))
        node_set_string(&rewrite->model->arena, node, "mode", mode);
    return padded;
}

/* The value of a site with a Pad behind it. */
struct padded {
    const struct bounded *type;
    size_t rank;
    int64_t pads[2 * TENSOR_MAX_RANK];
    const char *value; /* the padded one */
    const char *after; /* what the rest of the model reads, to be made from it */
};

/* Pads the value of a site; false when it cannot be padded. */
static bool pad_site(struct rewrite *rewrite, const struct rule_site *site, struct padded *padded)
{
    const char *before;
    *padded = (struct padded){.type = rewrite_type(rewrite, site->value->name)};
    if (!can_pad(rewrite, padded->type))
        return false;
    padded->rank = (size_t)padded->type->shape.rank;
    rewrite_intercept(rewrite, site->value, &before, &padded->after);
    padded->value = pad(rewrite, before, padded->type, padded->pads);
    return padded->value != NULL;
}

static int pad_slice(struct rewrite *rewrite, const struct rule_site *site)
{
    struct padded padded;
    int64_t ends[TENSOR_MAX_RANK];
    if (!pad_site(rewrite, site, &padded))
        return 0;
    /* Ends may be counted from behind. */
    for (size_t i = 0; i < padded.rank; i++) {
        int64_t behind = padded.pads[padded.rank + i];
        ends[i] =
            behind && rng_chance(&rewrite->rng, 0.5) ? -behind : padded.pads[i] + padded.type->shape.dims[i];
    }
    rewrite_op_to(rewrite, padded.after, "Slice", padded.value,
                  rewrite_ints(rewrite, padded.pads, padded.rank), rewrite_ints(rewrite, ends, padded.rank),
                  NULL);
    return 1;
}

const struct rule rule_pad_slice = {
    .name = "pad-slice",
    .paper = 14,
    .summary = "a value padded and sliced back",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = pad_slice,
};

static int pad_unpad(struct rewrite *rewrite, const struct rule_site *site)
{
    struct padded padded;
    if (!pad_site(rewrite, site, &padded))
        return 0;
    for (size_t i = 0; i < 2 * padded.rank; i++)
        padded.pads[i] = -padded.pads[i];
    rewrite_op_to(rewrite, padded.after, "Pad", padded.value,
                  rewrite_ints(rewrite, padded.pads, 2 * padded.rank), NULL);
    return 1;
}

const struct rule rule_pad_unpad = {
    .name = "pad-unpad",
    .paper = 14,
    .summary = "a value padded and cut back by a Pad with negative sizes",
    .scope = RULE_VALUE,
    .relation = RELATION_BOUNDS,
    .apply = pad_unpad,
};
