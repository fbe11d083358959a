/*
 * ONNX Runtime through its C API. The library is opened with dlopen, so that this one adapter serves every
 * release from 1.10 on: it asks a release for the newest API version that both the release and our header
 * know.
 */
#ifndef ONNXRUNTIME_ORT_H
#define ONNXRUNTIME_ORT_H

#include "adapter.h"

#include <onnxruntime_c_api.h>

/* One model at a time. Names belong to the library's allocator. */
struct ort_session {
    OrtSession *session;
    size_t n_outputs;
    char **outputs; /* the wanted ones, in the order wanted */
};

struct ort {
    void *library;
    const OrtApi *api;
    long minor; /* the minor version: 17 for release 1.17.3 */
    OrtEnv *env;
    OrtSessionOptions *options;
    OrtMemoryInfo *memory;   /* describes plain CPU memory, for tensors that Assay owns */
    OrtAllocator *allocator; /* the library's default one; not owned */
    struct ort_session loaded;
};

enum ort_stage { ORT_STAGE_START, ORT_STAGE_LOAD, ORT_STAGE_RUN };

/* 0 when status is NULL; else records its class and text in the call, releases it and returns -1. */
int ort_check(struct adapter_call *call, enum ort_stage stage, OrtStatus *status);

/*
 * Converts values. The OrtValue that ort_value_in makes borrows the tensor's memory (strings are copied) and
 * must be released before the value. ort_value_out fills in an initialised value with a copy.
 */
int ort_value_in(struct adapter_call *call, const struct value *value, OrtValue **out);
int ort_value_out(struct adapter_call *call, const OrtValue *from, struct value *value);

#endif
