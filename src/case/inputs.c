#include "case/inputs.h"

#include "base/memory.h"
#include "base/str.h"

#include <inttypes.h>

enum { DESCRIBED = 4 }; /* inputs */

int inputs_get(const struct inputs *inputs, size_t sample, struct value **values, struct error *err)
{
    struct value *made = memory_zeroed(inputs->count + 1, sizeof *made);
    for (size_t i = 0; i < inputs->count; i++)
        value_init(&made[i]);
    int status = 0;
    if (inputs->kind == INPUTS_FOLDERS)
        status = inputs_folder(inputs, inputs->folders[sample], made, err);
    for (size_t i = 0; i < inputs->count && inputs->kind != INPUTS_FOLDERS && status == 0; i++) {
        const struct inputs_slot *slot = &inputs->slots[i];
        struct tensor tensor;
        tensor_init(&tensor);
        status = inputs->kind == INPUTS_RANDOM ? inputs_random_tensor(inputs, slot, sample, &tensor, err)
                                               : inputs_slice(slot, inputs->samples, sample, &tensor, err);
        if (status == 0)
            value_set_tensor(&made[i], &tensor);
        tensor_release(&tensor);
    }
    for (size_t i = 0; i < inputs->count && status == 0; i++)
        value_set_name(&made[i], inputs->slots[i].name);
    if (status == 0 && inputs_fit(inputs->model, made, inputs->count, err))
        status = inputs->kind == INPUTS_FOLDERS ? error_prefix(err, "%s", inputs->folders[sample]) : -1;
    if (status) {
        values_free(made, inputs->count);
        made = NULL;
    }
    *values = made;
    return status;
}

/* "[3,17]"; of a scalar nothing. */
static void add_index(struct str *out, const struct shape *shape, size_t element)
{
    size_t left = 1;
    for (int i = 0; i < shape->rank; i++)
        left *= (size_t)shape->dims[i];
    for (int i = 0; i < shape->rank; i++) {
        left /= (size_t)shape->dims[i];
        str_printf(out, "%s%zu", i ? "," : "[", element / left);
        element %= left;
    }
    str_add(out, shape->rank ? "]" : "");
}

void inputs_place(const struct inputs *inputs, size_t sample, size_t input, size_t element, struct str *out)
{
    const struct inputs_slot *slot = &inputs->slots[input];
    struct value *values;
    str_printf(out, "sample %zu%s%s, ", sample,
               inputs->kind == INPUTS_FOLDERS && inputs->samples > 1 ? ", " : " of ",
               inputs->kind == INPUTS_FOLDERS ? inputs->folders[sample]
               : inputs->from                 ? inputs->from
                                              : "random");
    str_add(out, slot->name);
    if (inputs->kind == INPUTS_ARRAYS) {
        add_index(out, &slot->array.shape, sample * (slot->array.count / inputs->samples) + element);
    } else if (inputs_get(inputs, sample, &values, NULL) == 0) {
        add_index(out, &values[input].tensors[0].shape, element);
        values_free(values, inputs->count);
    }
}

/* "1 x 3 x 32 x 32", with the symbols of open dimensions in place of sizes that vary. */
static void add_shape(struct str *out, const struct inputs *inputs, const struct inputs_slot *slot,
                      const struct shape *shape, bool symbols)
{
    if (shape->rank == 0)
        str_add(out, "a scalar");
    for (int i = 0; i < shape->rank; i++) {
        str_add(out, i ? " x " : "");
        if (symbols && slot->open[i])
            str_add(out, inputs->sizes[slot->open[i] - 1].name);
        else
            str_printf(out, "%" PRId64, shape->dims[i]);
    }
}

static void add_shapes(struct str *out, const struct inputs *inputs)
{
    struct value *values = NULL;
    if (inputs->count && inputs_get(inputs, 0, &values, NULL))
        return;
    str_add(out, inputs->count ? " of " : " without inputs");
    for (size_t i = 0; i < inputs->count && i < DESCRIBED; i++) {
        str_add(out, i ? ", " : "");
        if (inputs->count > 1)
            str_printf(out, "%s ", inputs->slots[i].name);
        if (values[i].kind == VALUE_TENSOR)
            add_shape(out, inputs, &inputs->slots[i], &values[i].tensors[0].shape,
                      inputs->kind == INPUTS_RANDOM);
        else
            str_add(out, values[i].kind == VALUE_SEQUENCE ? "a sequence" : "an empty optional");
    }
    if (inputs->count > DESCRIBED)
        str_printf(out, " and %zu more input%s", inputs->count - DESCRIBED,
                   inputs->count == DESCRIBED + 1 ? "" : "s");
    if (values)
        values_free(values, inputs->count);
}

/* "(a, b and 3 more are not used)" */
static void add_unused(struct str *out, const struct inputs *inputs)
{
    size_t count = inputs->n_unused, shown = count > DESCRIBED ? DESCRIBED : count;
    if (!count)
        return;
    for (size_t i = 0; i < shown; i++)
        str_printf(out, "%s%s", !i ? " (" : i + 1 < count ? ", " : " and ", inputs->unused[i]);
    if (count > shown)
        str_printf(out, " and %zu more", count - shown);
    str_add(out, count == 1 ? " is not used)" : " are not used)");
}

void inputs_describe(const struct inputs *inputs, struct str *out)
{
    bool random = inputs->kind == INPUTS_RANDOM;
    str_printf(out, "%zu %ssample%s", inputs->samples, random && inputs->count ? "random " : "",
               inputs->samples == 1 ? "" : "s");
    if (inputs->from)
        str_printf(out, " from %s", inputs->from);
    add_shapes(out, inputs);
    if (inputs->n_sizes) {
        str_add(out, " with ");
        inputs_sizes_text(inputs, out);
    }
    add_unused(out, inputs);
}

int inputs_check(const struct inputs *inputs, struct error *err)
{
    size_t count = inputs->kind == INPUTS_FOLDERS ? inputs->samples : 1;
    for (size_t i = 0; i < count && i < inputs->samples; i++) {
        struct value *values;
        struct inputs_expected expected;
        if (inputs_get(inputs, i, &values, err))
            return -1;
        values_free(values, inputs->count);
        int status = inputs_expected(inputs, i, &expected, err);
        inputs_expected_release(&expected);
        if (status)
            return -1;
    }
    return 0;
}

int inputs_invalid(const struct inputs *inputs, size_t sample, const char *why, struct error *err)
{
    return error_set(
        err, ERROR_INVALID, "sample %zu is not valid for this model: %.300s; %s", sample, why,
        inputs->kind == INPUTS_RANDOM
            ? "values drawn at random do not suit it: give them with --data, or other sizes with --dim"
            : "correct the inputs or the model");
}
