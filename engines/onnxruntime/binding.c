/* Runs through an IoBinding: inputs and outputs are bound one by one, and the library allocates the outputs.
 */
#include "ort.h"

static int bind(struct adapter_call *call, OrtIoBinding *binding, const char *const *names,
                OrtValue *const *inputs, size_t count)
{
    const struct ort *ort = call->engine;
    const struct ort_session *session = &ort->loaded;
    for (size_t i = 0; i < count; i++)
        if (ort_check(call, ORT_STAGE_RUN, ort->api->BindInput(binding, names[i], inputs[i])) < 0)
            return -1;
    for (size_t i = 0; i < session->n_outputs; i++)
        if (ort_check(call, ORT_STAGE_RUN,
                      ort->api->BindOutputToDevice(binding, session->outputs[i], ort->memory)) < 0)
            return -1;
    return 0;
}

/* The library allocates the list, and each of its values is ours to release. */
static int take_outputs(struct adapter_call *call, OrtIoBinding *binding, OrtValue **outputs)
{
    const struct ort *ort = call->engine;
    OrtValue **bound = NULL;
    size_t count = 0;
    if (ort_check(call, ORT_STAGE_RUN,
                  ort->api->GetBoundOutputValues(binding, ort->allocator, &bound, &count)) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (i < ort->loaded.n_outputs)
            outputs[i] = bound[i];
        else
            ort->api->ReleaseValue(bound[i]);
    }
    if (bound)
        ort->allocator->Free(ort->allocator, bound);
    return count == ort->loaded.n_outputs
               ? 0
               : adapter_fail(call, ADAPTER_FAILED, "%zu bound outputs, but %zu were bound", count,
                              ort->loaded.n_outputs);
}

int ort_run_bound(struct adapter_call *call, const char *const *names, OrtValue *const *inputs, size_t count,
                  OrtValue **outputs)
{
    const struct ort *ort = call->engine;
    OrtIoBinding *binding = NULL;
    if (ort_check(call, ORT_STAGE_RUN, ort->api->CreateIoBinding(ort->loaded.session, &binding)) < 0)
        return -1;
    int result = bind(call, binding, names, inputs, count);
    if (result == 0)
        result = ort_check(call, ORT_STAGE_RUN,
                           ort->api->RunWithBinding(ort->loaded.session, ort->bound_run, binding));
    if (result == 0)
        result = take_outputs(call, binding, outputs);
    ort->api->ReleaseIoBinding(binding);
    return result;
}
