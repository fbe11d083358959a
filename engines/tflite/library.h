/*
 * A release of TensorFlow Lite, opened at run time: the functions of its C interface that the adapter calls.
 * They are declared here, because every release has them with these parameters, and no header is needed to
 * build. Their structs stay the library's.
 */
#ifndef TFLITE_LIBRARY_H
#define TFLITE_LIBRARY_H

#include "net.h"

#include <stdarg.h>

typedef void lite_reporter(void *user, const char *format, va_list args);
typedef const void *lite_find_builtin(void *user, int32_t code, int32_t version);
typedef const void *lite_find_custom(void *user, const char *name, int32_t version);

/* Each is named as in the library. */
#define LITE_FUNCTIONS(F)                                                                                 \
    F(const char *, TfLiteVersion, (void))                                                                \
    F(void *, TfLiteModelCreate, (const void *data, size_t size))                                         \
    F(void, TfLiteModelDelete, (void *model))                                                             \
    F(void *, TfLiteInterpreterOptionsCreate, (void))                                                     \
    F(void, TfLiteInterpreterOptionsDelete, (void *options))                                              \
    F(void, TfLiteInterpreterOptionsSetNumThreads, (void *options, int32_t threads))                      \
    F(void, TfLiteInterpreterOptionsAddDelegate, (void *options, void *delegate))                         \
    F(void, TfLiteInterpreterOptionsSetErrorReporter, (void *options, lite_reporter *report, void *user)) \
    F(void *, TfLiteInterpreterCreate, (const void *model, const void *options))                          \
    F(void, TfLiteInterpreterDelete, (void *interpreter))                                                 \
    F(int, TfLiteInterpreterAllocateTensors, (void *interpreter))                                         \
    F(int, TfLiteInterpreterInvoke, (void *interpreter))                                                  \
    F(void *, TfLiteInterpreterGetInputTensor, (const void *interpreter, int32_t index))                  \
    F(const void *, TfLiteInterpreterGetOutputTensor, (const void *interpreter, int32_t index))           \
    F(size_t, TfLiteTensorByteSize, (const void *tensor))                                                 \
    F(void *, TfLiteTensorData, (const void *tensor))                                                     \
    F(int32_t, TfLiteTensorNumDims, (const void *tensor))                                                 \
    F(int32_t, TfLiteTensorDim, (const void *tensor, int32_t dim))

/* These are missing in some releases. */
#define LITE_OPTIONAL(F)                                          \
    F(void *, TfLiteXNNPackDelegateCreate, (const void *options)) \
    F(void, TfLiteXNNPackDelegateDelete, (void *delegate))        \
    F(void, TfLiteInterpreterOptionsSetOpResolver,                \
      (void *options, lite_find_builtin *builtin, lite_find_custom *custom, void *user))

struct library {
    struct lite lite;
    void *handle;
#define LITE_MEMBER(type, name, parameters) type(*name) parameters;
    LITE_FUNCTIONS(LITE_MEMBER)
    LITE_OPTIONAL(LITE_MEMBER)
#undef LITE_MEMBER
    int threads;
    bool xnnpack, reference;
};

/* Opens the release that the registry chose and reads the knobs. Fails through adapter_fail. */
int library_open(struct adapter_call *call, struct library *library);
void library_close(struct library *library);

/* struct lite's `compute`: library_run.c. */
int library_compute(const struct net *net, const struct flat *file);

/* The reference kernels (reference.cc): in a program built with the library's C++ headers. Releases that have
 * only the C interface do not give them out. */
const void *reference_find_builtin(void *user, int32_t code, int32_t version);
const void *reference_find_custom(void *user, const char *name, int32_t version);

#endif
