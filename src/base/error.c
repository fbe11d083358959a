#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, enum error_code code, const char *format, ...)
{
    if (!err)
        return -1;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    err->code = code;
    err->cause = 0;
    return -1;
}

int error_prefix(struct error *err, const char *format, ...)
{
    if (!err)
        return -1;
    char text[sizeof err->message];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof text)
        snprintf(text + used, sizeof text - used, ": %s", err->message);
    memcpy(err->message, text, sizeof text);
    return -1;
}

int error_errno(struct error *err, const char *format, ...)
{
    int saved = errno;
    if (!err)
        return -1;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof err->message)
        snprintf(err->message + used, sizeof err->message - used, ": %s", strerror(saved));
    err->cause = saved;
    err->code = saved == ENOENT ? ERROR_NOT_FOUND : saved == ENOMEM ? ERROR_MEMORY : ERROR_IO;
    return -1;
}

void error_clear(struct error *err)
{
    if (!err)
        return;
    err->code = ERROR_NONE;
    err->cause = 0;
    err->message[0] = '\0';
}

/* Advice for an errno of the system. */
static const char *by_cause(int cause)
{
    switch (cause) {
    case ENOENT:
        return "Check the path: it does not exist.";
    case ENOTDIR:
        return "Check the path: a file is where a folder is needed.";
    case EISDIR:
        return "Check the path: it is a folder where a file is needed.";
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

/* A limit that the user can raise is named in the message with its option. */
static const char *by_option(const char *message)
{
    if (strstr(message, "(--memory)"))
        return "Choose something smaller, or allow more with --memory.";
    if (strstr(message, "(--deadline)"))
        return "Choose something smaller, or allow more time with --deadline.";
    return "Choose something smaller.";
}

const char *error_advice(const struct error *err)
{
    const char *advice = by_cause(err->cause);
    if (advice)
        return advice;
    switch (err->code) {
    case ERROR_FORMAT:
        return "Repair the file, get it again, or name another one.";
    case ERROR_INVALID:
        return "Correct the model or its inputs and try again.";
    case ERROR_MEMORY:
        return by_cause(ENOMEM);
    case ERROR_LIMIT:
        return by_option(err->message);
    case ERROR_NONE:
    case ERROR_IO:
    case ERROR_UNSUPPORTED:
    case ERROR_NOT_FOUND:
    case ERROR_USAGE:
        break;
    }
    return NULL;
}
