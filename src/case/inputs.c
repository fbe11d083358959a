#include "case/inputs.h"

#include "base/memory.h"

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
        status = inputs->kind == INPUTS_RANDOM
                     ? inputs_random_tensor(slot, inputs->seed, sample, &tensor, err)
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

int inputs_check(const struct inputs *inputs, struct error *err)
{
    size_t count = inputs->kind == INPUTS_FOLDERS ? inputs->samples : 1;
    for (size_t i = 0; i < count && i < inputs->samples; i++) {
        struct value *values;
        if (inputs_get(inputs, i, &values, err))
            return -1;
        values_free(values, inputs->count);
    }
    return 0;
}

int inputs_invalid(const struct inputs *inputs, size_t sample, const char *why, struct error *err)
{
    return error_set(err, ERROR_INVALID, "sample %zu is not valid for this model: %.300s; %s", sample, why,
                     inputs->kind == INPUTS_RANDOM
                         ? "values drawn at random do not suit it: give them with --data"
                         : "correct the inputs or the model");
}
