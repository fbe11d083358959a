/* Error classes from the library's text: its codes say -2 or -215 for everything. */
#include "opencv.h"

#include <string.h>

/*
 * What a release says of operators and forms that it lacks. Its importer speaks through assertions: those
 * that want an operand among the constants, or a tensor where there is a sequence, name a missing form too.
 */
static const char *const lacking[] = {
    "Can't create layer",
    "Can't parse",
    "nsupported",
    "not supported",
    "not implemented",
    "not found in const blobs",
    "constBlobs.find(",
    "constBlobs.count(",
    "layer_id.find(node_proto.input(i)) == layer_id.end()",
    "typeProto.has_tensor_type()",
};

static bool says_lacking(const char *message)
{
    for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; i++)
        if (strstr(message, lacking[i]))
            return true;
    return false;
}

int opencv_fail(struct adapter_call *call, enum opencv_stage stage, const char *message)
{
    enum adapter_class class = says_lacking(message)        ? ADAPTER_UNSUPPORTED
                               : stage == OPENCV_STAGE_LOAD ? ADAPTER_REJECTED
                                                            : ADAPTER_FAILED;
    return adapter_fail(call, class, "%s", message);
}
