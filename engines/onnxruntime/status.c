/* Error classes from status codes and, where one code stands for several things, from the text. */
#include "ort.h"

#include <string.h>

#define LACKING(text) text,
#define LACKING_FORM(text)
static const char *const lacking[] = {
#include "lacking.inc"
    NULL};
#undef LACKING
#undef LACKING_FORM

#define LACKING(text)
#define LACKING_FORM(text) text,
static const char *const lacking_form[] = {
#include "lacking.inc"
    NULL};

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
