/* Opening a release of TensorFlow Lite, and the knobs that choose how it computes. */
#include "library.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The registry's choice, or what this program is linked with. */
static int open_handle(struct adapter_call *call, struct library *library)
{
    const char *path = getenv("ASSAY_LIBRARY");
    bool chosen = path && path[0] != '\0';
    library->handle = dlopen(chosen ? path : NULL, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle)
        return adapter_fail(call, ADAPTER_FAILED, "%s", dlerror());
    if (!chosen && !dlsym(library->handle, "TfLiteVersion"))
        return adapter_fail(call, ADAPTER_FAILED,
                            "no TensorFlow Lite is installed: 'assay fetch tflite' brings one");
    return 0;
}

static const char *bind(struct library *library)
{
    void *symbol;
#define LITE_BIND(type, name, parameters)   \
    symbol = dlsym(library->handle, #name); \
    if (!symbol)                            \
        return #name;                       \
    memcpy(&library->name, &symbol, sizeof symbol);
#define LITE_TRY(type, name, parameters)    \
    symbol = dlsym(library->handle, #name); \
    memcpy(&library->name, &symbol, sizeof symbol);
    LITE_FUNCTIONS(LITE_BIND)
    LITE_OPTIONAL(LITE_TRY)
#undef LITE_BIND
#undef LITE_TRY
    return NULL;
}

static int read_knobs(struct adapter_call *call, struct library *library)
{
    int xnnpack = adapter_choice(call, "xnnpack"), kernels = adapter_choice(call, "kernels");
    int fixed = adapter_choice(call, "fixed");
    library->threads = adapter_number(call, "threads", 1, 256);
    if (xnnpack < 0 || kernels < 0 || fixed < 0 || library->threads < 0)
        return -1;
    library->xnnpack = xnnpack == 1;
    library->reference = kernels == 1;
    library->lite.fixed = fixed == 1;
    library->lite.save = adapter_knob(call->adapter, "save");
    if (library->xnnpack && !library->TfLiteXNNPackDelegateCreate)
        return adapter_fail(call, ADAPTER_FAILED, "xnnpack=on: this library has no XNNPACK delegate");
#ifndef HAVE_REFERENCE_KERNELS
    if (library->reference)
        return adapter_fail(
            call, ADAPTER_FAILED,
            "kernels=reference: only Debian's library, the engine tflite-debian, gives out its "
            "reference kernels");
#endif
    return 0;
}

int library_open(struct adapter_call *call, struct library *library)
{
    str_init(&library->lite.said);
    library->lite.compute = library_compute;
    if (open_handle(call, library))
        return -1;
    const char *missing = bind(library);
    if (missing)
        return adapter_fail(call, ADAPTER_FAILED, "the library has no %s: not TensorFlow Lite", missing);
    return read_knobs(call, library);
}

void library_close(struct library *library)
{
    if (library->handle)
        dlclose(library->handle);
    str_release(&library->lite.said);
}
