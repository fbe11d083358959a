/*
 * Errors travel as the last parameter, never through a global.
 *
 * A function that can fail returns int, 0 for success and -1 for failure, and describes the failure in *err.
 * err may be NULL where the caller does not care why. The message is one line without a trailing newline,
 * says what was wrong and, where it can, what to do about it.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

enum error_code {
    ERROR_NONE = 0,
    ERROR_MEMORY,      /* an allocation failed */
    ERROR_IO,          /* the system refused: file, pipe, process */
    ERROR_FORMAT,      /* data that breaks its own format */
    ERROR_LIMIT,       /* well-formed but larger than Assay accepts */
    ERROR_UNSUPPORTED, /* valid, but Assay cannot do it */
    ERROR_INVALID,     /* a model or node that breaks ONNX's rules */
    ERROR_NOT_FOUND,   /* no such file, engine, value */
    ERROR_USAGE,       /* wrong use: a bad option or argument */
};

struct error {
    enum error_code code;
    int cause; /* the errno that caused it, or 0 */
    char message[1000];
};

/* Fills *err (when not NULL) and returns -1, so that `return error_set(...)` reads well. */
int error_set(struct error *err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " before the message that is already in *err; returns -1. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Like error_set, followed by ": " and strerror(errno). */
int error_errno(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

void error_clear(struct error *err);

/* What the user can do about the error, as a sentence; NULL when there is no general advice for its code. */
const char *error_advice(const struct error *err);

#ifdef __cplusplus
}
#endif
#endif
