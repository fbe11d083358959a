#include "cli/cli.h"

#include <errno.h>

/* By the system's word for it. */
static const char *by_cause(int cause)
{
    switch (cause) {
    case ENOENT:
        return "Check the path: nothing is there.";
    case ENOTDIR:
        return "Check the path: a file is where a folder is needed.";
    case EISDIR:
        return "Check the path: it is a folder, name a file.";
    case EACCES:
    case EPERM:
    case EROFS:
        return "Check the permissions, or choose another place.";
    case ENOSPC:
    case EDQUOT:
        return "Free some space, or choose another place.";
    case EMFILE:
    case ENFILE:
        return "Raise the limit of open files ('ulimit -n 4096'), or name fewer engines.";
    case ENOMEM:
        return "Free some memory, or choose smaller data.";
    }
    return NULL;
}

const char *cli_advice(const struct error *err)
{
    const char *advice = by_cause(err->cause);
    if (advice)
        return advice;
    switch (err->code) {
    case ERROR_FORMAT:
        return "Repair the file, get it anew, or name another one.";
    case ERROR_INVALID:
        return "Correct it and try again; onnx.checker in Python tells more about a model.";
    case ERROR_MEMORY:
        return by_cause(ENOMEM);
    case ERROR_LIMIT:
        return "Choose something smaller.";
    case ERROR_NONE:
    case ERROR_IO:
    case ERROR_UNSUPPORTED:
    case ERROR_NOT_FOUND:
    case ERROR_USAGE:
        break;
    }
    return NULL;
}
