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
