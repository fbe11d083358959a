/*
 * The smallest engine: it gives back its inputs as outputs, by position, whatever the model says. Used in the
 * tests of the supervisor, and as the example in docs/writing-an-engine.md.
 */
#include "adapter.h"

#include <stdlib.h>
#include <string.h>

/* The wanted outputs' names, kept from load to unload. */
struct identity {
    size_t count;
    char **names;
};

static int identity_start(struct adapter_call *call, void **engine, struct str *version)
{
    (void)call;
    *engine = calloc(1, sizeof(struct identity));
    if (!*engine)
        return adapter_fail(call, ADAPTER_FAILED, "no memory");
    str_add(version, "1");
    return 0;
}

static void identity_unload(struct adapter_call *call)
{
    struct identity *identity = call->engine;
    for (size_t i = 0; i < identity->count; i++)
        free(identity->names[i]);
    free(identity->names);
    memset(identity, 0, sizeof *identity);
}

static int identity_load(struct adapter_call *call, const struct adapter_model *model,
                         struct adapter_loaded *loaded)
{
    struct identity *identity = call->engine;
    if (model->data && model->size == 0)
        return adapter_fail(call, ADAPTER_REJECTED, "an empty model");
    identity->names = calloc(model->n_outputs + 1, sizeof *identity->names);
    if (!identity->names)
        return adapter_fail(call, ADAPTER_FAILED, "no memory");
    for (size_t i = 0; i < model->n_outputs; i++) {
        identity->names[identity->count++] = strdup(model->outputs[i]);
        adapter_list_add(&loaded->outputs, model->outputs[i]);
    }
    return 0;
}

static int identity_run(struct adapter_call *call, const struct value *inputs, size_t count, bool bounds,
                        struct adapter_outputs *outputs)
{
    const struct identity *identity = call->engine;
    (void)bounds;
    if (identity->count > count)
        return adapter_fail(call, ADAPTER_REJECTED, "%zu outputs wanted from %zu inputs", identity->count,
                            count);
    for (size_t i = 0; i < count; i++) {
        struct error err;
        struct value *output = adapter_output(outputs, NULL);
        if (value_copy(output, &inputs[i], &err))
            return adapter_fail(call, ADAPTER_FAILED, "%s", err.message);
        if (i < identity->count)
            value_set_name(output, identity->names[i]);
        adapter_trace_kernel(call, "copy", NULL, output->name);
    }
    return 0;
}

static void identity_stop(void *engine)
{
    free(engine);
}

int main(int argc, char **argv)
{
    struct adapter adapter = {
        .name = "identity",
        .start = identity_start,
        .load = identity_load,
        .run = identity_run,
        .unload = identity_unload,
        .stop = identity_stop,
    };
    return adapter_main(&adapter, argc, argv);
}
