/* Error classes from status codes and, where one code stands for several things, from the text. */
#include "ort.h"

#include <string.h>

/*
 * What a release says of operators, types and opsets newer than itself, and kernels of forms that they leave
 * out; stable since 1.10. Kernels say it when they are made or when they run, often through an assertion.
 */
static const char *const lacking[] = {
    "Could not find an implementation",
    "is not a registered function/op",
    "No Op registered for",
    "support for models stamped with official released",
    "Unsupported model IR version",
    "Unknown model file format version",
    "NOT_IMPLEMENTED",
    "not implemented",
    "only implemented",
    "upported", /* "unsupported", "only 4-D tensor is supported", "not currently registered or supported" */
    "upports",  /* "only supports ..." */
    "does not support",
    "only support",                                    /* "mode only support 2-D inputs" */
    "fallback to CPU EP has been explicitly disabled", /* the knob fallback=off */
    "Provider type for", /* "... X node with name '' is not set": neither a device nor the CPU has it */
    "layout_ == 0 was false",
    "is expected to have four dimensions corresponding to", /* MeanVarianceNormalization of other ranks */
    NULL,
};

/* Its own operators have one version for ever: a release that lacks an input or an attribute of the newest
 * form calls the model invalid. */
static const char *const lacking_form[] = {"not in range [min=", "Unrecognized attribute", NULL};

static bool lacks(const char *message)
{
    return adapter_says(message, lacking) ||
           (strstr(message, "\"com.microsoft\"") && adapter_says(message, lacking_form));
}

static enum adapter_class class_of(enum ort_stage stage, OrtErrorCode code, const char *message)
{
    if (stage == ORT_STAGE_START)
        return ADAPTER_FAILED;
    if (code == ORT_NOT_IMPLEMENTED || lacks(message))
        return ADAPTER_UNSUPPORTED;
    bool refuses = code == ORT_INVALID_GRAPH || code == ORT_INVALID_ARGUMENT || code == ORT_FAIL ||
                   code == ORT_INVALID_PROTOBUF || code == ORT_RUNTIME_EXCEPTION;
    return stage == ORT_STAGE_LOAD && refuses ? ADAPTER_REJECTED : ADAPTER_FAILED;
}

int ort_check(struct adapter_call *call, enum ort_stage stage, OrtStatus *status)
{
    const struct ort *ort = call->engine;
    if (!status)
        return 0;
    const char *message = ort->api->GetErrorMessage(status);
    enum adapter_class class = class_of(stage, ort->api->GetErrorCode(status), message);
    int result = adapter_fail(call, class, "%s", message);
    ort->api->ReleaseStatus(status);
    return result;
}
