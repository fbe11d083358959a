/* It gives back its inputs as outputs, by position, whatever the model says. */
#include "adapter.h"

#include <stdlib.h>
#include <string.h>

/* The wanted outputs' names, kept from load to unload. */
struct mirror {
    size_t count;
    char **names;
};

static int mirror_start(struct adapter_call *call, void **engine, struct str *version)
{
    (void)call;
    *engine = calloc(1, sizeof(struct mirror));
    if (!*engine)
        return adapter_fail(call, ADAPTER_FAILED, "no memory");
    str_add(version, "1");
    return 0;
}

static void mirror_unload(struct adapter_call *call)
{
    struct mirror *mirror = call->engine;
    for (size_t i = 0; i < mirror->count; i++)
        free(mirror->names[i]);
    free(mirror->names);
    memset(mirror, 0, sizeof *mirror);
}

static int mirror_load(struct adapter_call *call, const struct adapter_model *model,
                       struct adapter_loaded *loaded)
{
    struct mirror *mirror = call->engine;
    if (model->data && model->size == 0)
        return adapter_fail(call, ADAPTER_REJECTED, "an empty model");
    mirror->names = calloc(model->n_outputs + 1, sizeof *mirror->names);
    if (!mirror->names)
        return adapter_fail(call, ADAPTER_FAILED, "no memory");
    for (size_t i = 0; i < model->n_outputs; i++) {
        mirror->names[mirror->count++] = strdup(model->outputs[i]);
        adapter_list_add(&loaded->outputs, model->outputs[i]);
    }
    return 0;
}

static int mirror_run(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
                      struct adapter_outputs *outputs)
{
    const struct mirror *mirror = call->engine;
    (void)bounds;
    if (mirror->count > count)
        return adapter_fail(call, ADAPTER_REJECTED, "%zu outputs wanted from %zu inputs", mirror->count,
                            count);
    for (size_t i = 0; i < count; i++) {
        struct error err;
        struct value *output = adapter_output(outputs, NULL);
        if (value_copy(output, &inputs[i], &err))
            return adapter_fail(call, ADAPTER_FAILED, "%s", err.message);
        if (i < mirror->count)
            value_set_name(output, mirror->names[i]);
    }
    return 0;
}

static void mirror_stop(void *engine)
{
    free(engine);
}

int main(int argc, char **argv)
{
    struct adapter adapter = {
        .name = "mirror",
        .start = mirror_start,
        .load = mirror_load,
        .run = mirror_run,
        .unload = mirror_unload,
        .stop = mirror_stop,
    };
    return adapter_main(&adapter, argc, argv);
}
