/*
 * ONNX Runtime through its C API. The library is opened with dlopen, so that this one adapter serves every
 * release from 1.10 on: it asks a release for the newest API version that both the release and our header
 * know.
 */
#ifndef ONNXRUNTIME_ORT_H
#define ONNXRUNTIME_ORT_H

#include "adapter.h"
#include "model/model.h"

#include <onnxruntime_c_api.h>

/* One model at a time. Names belong to the library's allocator. */
struct ort_session {
    OrtSession *session;
    size_t n_outputs;
    char **outputs; /* the wanted ones, in the order wanted */
};

/* Of a model whose load asked for a trace; else all NULL. */
struct ort_trace {
    OrtSessionOptions *options; /* as those of other sessions, with a profile and a log */
    struct adapter_call *load;  /* the load under way, which the log tells passes to */
    struct model *original,
        *optimised;        /* as it was given, and what the library made of it; NULL: not known */
    struct trace *kernels; /* those of the first run; NULL: none yet */
};

/* Who computes before the CPU's own kernels; all zero: nobody. */
struct ort_provider {
    const struct provider *chosen;
    /* Options that no session has: with them a provider's device lives from start to stop, which WebGPU's
     * otherwise does not survive the first session. */
    OrtSessionOptions *kept;
#if ORT_API_VERSION >= 22
    const OrtEpDevice **devices; /* those of a plugin */
#else
    void *devices;
#endif
    size_t n_devices;
};

struct ort {
    void *library;
    const OrtApi *api;
    long minor; /* the minor version: 17 for release 1.17.3 */
    OrtEnv *env;
    OrtSessionOptions *options;
    OrtMemoryInfo *memory;   /* describes plain CPU memory, for tensors that Assay owns */
    OrtAllocator *allocator; /* the library's default one; not owned */
    /* knob binding; NULL: off. The library's functions want one, even if nothing is set in it. */
    OrtRunOptions *bound_run;
    /* knob reload; NULL: no. The options of the session that is made from the saved model. */
    OrtSessionOptions *reload_options;
    char *reload_path; /* where `options` let the optimised model be saved */
    bool reload_keep;  /* it was the user who named the file */
    struct ort_provider provider;
    struct ort_session loaded;
    struct ort_trace trace;
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

/* What the library logs: passes for a trace; the rest is not asked for, or goes to stderr. */
void ORT_API_CALL ort_log(void *context, OrtLoggingLevel severity, const char *category, const char *id,
                          const char *place, const char *message);
/* Before a model is loaded that is to be traced: makes the options of its session. */
int ort_trace_start(struct adapter_call *call);
void ort_trace_loaded(struct adapter_call *call, const struct adapter_model *model); /* after that */
void ort_trace_ran(struct adapter_call *call);                                       /* after each run */
void ort_trace_end(struct ort *ort); /* before its session is released */

/* The knob provider's default: what the engine's file says in the environment, else the CPU's kernels. */
const char *ort_provider_default(void);
/* Starts the chosen one, and lets hello offer those that this library has. */
int ort_provider_start(struct adapter_call *call);
void ort_provider_stop(struct ort *ort);
/*
 * Makes a session with these options and the provider, of a file or, where path is NULL, of bytes. Each
 * session gets the provider anew: of two sessions with the same options WebGPU's second one uses a device
 * that the first one has released.
 */
int ort_session_create(struct adapter_call *call, const OrtSessionOptions *options, const char *path,
                       const void *data, size_t size, OrtSession **session);

/* A path in the worker's scratch folder; heap. */
char *ort_scratch_file(const char *ending);

/* Prepares for knob reload. Called when all other options are set. */
int ort_reload_start(struct adapter_call *call, const char *save);
/* Replaces the session, which was made with `options`, by one of the model that it saved, made with these. */
int ort_reload(struct adapter_call *call, const OrtSessionOptions *options);

/* Runs the loaded model through an IoBinding. The outputs are those of the session, in its order; the caller
 * releases each. */
int ort_run_bound(struct adapter_call *call, const char *const *names, OrtValue *const *inputs, size_t count,
                  OrtValue **outputs);

#endif
