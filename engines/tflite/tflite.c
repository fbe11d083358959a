/*
 * TensorFlow Lite through its C interface, on the graph walker: each node becomes a model of its own, which
 * the adapter writes in the library's format.
 */
#include "library.h"
#include "tflite.h"

#include "base/memory.h"

#include <stdlib.h>

static int start(struct adapter_call *call, void **engine, struct str *version)
{
    struct library *library = memory_zeroed(1, sizeof *library);
    *engine = library;
    if (library_open(call, library))
        return -1;
    str_add(version, library->TfLiteVersion());
    return 0;
}

static void stop(void *engine)
{
    if (engine)
        library_close(engine);
    free(engine);
}

int main(int argc, char **argv)
{
    static const struct adapter_knob knobs[] = {
        {.name = "xnnpack",
         .values = "off|on",
         .value = "off",
         .help = "XNNPACK's delegate takes what it can"},
        {.name = "kernels",
         .values = "optimised|reference",
         .value = "optimised",
         .help = "which of the library's own kernels compute"},
        {.name = "fixed",
         .values = "off|on",
         .value = "off",
         .help = "whether QLinearConv and QLinearMatMul are computed, which the library rounds twice"},
        {.name = "threads",
         .values = "1..256",
         .value = "1",
         .help = "threads of one operator",
         .kind = KNOB_SCHEDULE},
        {.name = "save",
         .values = "PATH",
         .value = "",
         .help = "where to write the model of the last node, as TensorFlow Lite reads it",
         .kind = KNOB_SCHEDULE},
        {0},
    };
    struct walk_library library = {
        .name = "tflite",
        .rows = lite_rows,
        .knobs = knobs,
        .start = start,
        .stop = stop,
    };
    return walker_main(&library, argc, argv);
}
