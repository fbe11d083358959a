#include "judge/golden.h"

static const char *kind_name(enum value_kind kind)
{
    return kind == VALUE_TENSOR ? "a tensor" : kind == VALUE_SEQUENCE ? "a sequence" : "nothing";
}

/* The actual elements, or where they are not compared the expected ones. NULL: there is no mask. */
static int take_compared(struct tensor *compared, const struct tensor *expected, const struct tensor *actual,
                         const struct value *mask)
{
    tensor_init(compared);
    if (!mask || mask->kind != VALUE_TENSOR || !dtype_is_real(actual->type) ||
        !shape_equal(&mask->tensors[0].shape, &actual->shape) || tensor_copy(compared, actual, NULL))
        return -1;
    for (size_t i = 0; i < compared->count; i++)
        if (tensor_get(&mask->tensors[0], i) == 0)
            tensor_set(compared, i, tensor_get(expected, i));
    return 0;
}

static enum golden compare_tensor(const struct tensor *expected, const struct tensor *actual,
                                  const struct value *mask, bool values,
                                  const struct metrics_tolerance *tolerance, struct str *why)
{
    char a[SHAPE_TEXT_SIZE], b[SHAPE_TEXT_SIZE];
    if (expected->type != actual->type) {
        str_printf(why, "is %s, expected %s", dtype_name(actual->type), dtype_name(expected->type));
        return GOLDEN_DTYPE;
    }
    if (!shape_equal(&expected->shape, &actual->shape)) {
        str_printf(why, "has shape %s, expected %s", shape_text(&actual->shape, a),
                   shape_text(&expected->shape, b));
        return GOLDEN_SHAPE;
    }
    if (!values)
        return GOLDEN_PASS;
    struct metrics_difference difference;
    struct tensor compared;
    bool masked = !take_compared(&compared, expected, actual, mask);
    metrics_compare(expected, masked ? &compared : actual, tolerance, &difference);
    tensor_release(&compared);
    if (difference.close)
        return GOLDEN_PASS;
    str_printf(why, "differs in %zu of %zu elements", difference.beyond, difference.count);
    if (expected->type == DTYPE_STRING)
        str_printf(why, ", the first is element %zu", difference.worst);
    else
        str_printf(why, ", the worst is element %zu: %.9g, expected %.9g", difference.worst,
                   difference.worst_b, difference.worst_a);
    return difference.nan_mismatch ? GOLDEN_NAN : GOLDEN_WRONG;
}

static enum golden compare_value(const struct value *expected, const struct value *actual,
                                 const struct value *mask, bool values,
                                 const struct metrics_tolerance *tolerance, struct str *why)
{
    if (expected->kind != actual->kind) {
        str_printf(why, "is %s, expected %s", kind_name(actual->kind), kind_name(expected->kind));
        return GOLDEN_MISSING;
    }
    if (expected->count != actual->count) {
        str_printf(why, "has %zu tensors, expected %zu", actual->count, expected->count);
        return GOLDEN_SHAPE;
    }
    for (size_t i = 0; i < expected->count; i++) {
        enum golden word =
            compare_tensor(&expected->tensors[i], &actual->tensors[i], mask, values, tolerance, why);
        if (word != GOLDEN_PASS)
            return word;
    }
    return GOLDEN_PASS;
}

enum golden golden_compare(const struct expected *expected, const struct value *actual, size_t n_actual,
                           bool values, const struct metrics_tolerance *tolerance, struct str *why)
{
    size_t needed = 0;
    str_clear(why);
    for (size_t i = 0; i < expected->count; i++)
        needed = expected_place(expected, i) >= needed ? expected_place(expected, i) + 1 : needed;
    if (needed > n_actual) {
        str_printf(why, "%zu outputs, expected %zu", n_actual, needed);
        return GOLDEN_MISSING;
    }
    for (size_t i = 0; i < expected->count; i++) {
        const struct value *wanted = &expected->values[i], *got = &actual[expected_place(expected, i)];
        const char *name = wanted->name ? wanted->name : got->name;
        str_clear(why);
        str_printf(why, "output %s ", name ? name : "?");
        enum golden word =
            compare_value(wanted, got, expected->masks ? &expected->masks[i] : NULL, values, tolerance, why);
        if (word != GOLDEN_PASS)
            return word;
    }
    str_clear(why);
    return GOLDEN_PASS;
}

enum verdict_kind golden_verdict(enum golden golden)
{
    static const enum verdict_kind kinds[] = {
        [GOLDEN_PASS] = VERDICT_AGREES, [GOLDEN_WRONG] = VERDICT_WRONG, [GOLDEN_NAN] = VERDICT_NAN,
        [GOLDEN_SHAPE] = VERDICT_SHAPE, [GOLDEN_DTYPE] = VERDICT_DTYPE, [GOLDEN_MISSING] = VERDICT_SHAPE,
    };
    return kinds[golden];
}
