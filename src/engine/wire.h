/*
 * Frames, messages and payloads of proto/engine.proto, for both ends of the pipe.
 *
 * The encoder writes into a growing buffer. The decoder is fed bytes as they arrive, in any portions, and
 * gives whole messages with their values; it trusts nothing: every length is checked against the limits
 * before memory is taken, and a protocol error is final.
 */
#ifndef ENGINE_WIRE_H
#define ENGINE_WIRE_H

#include "base/error.h"
#include "base/str.h"
#include "engine.pb-c.h"
#include "tensor/tensor.h"

enum { WIRE_PROTOCOL = 1, WIRE_CHUNK = 1 << 20 };

struct wire_limits {
    size_t message; /* largest message frame */
    size_t payload; /* sum of the payloads behind one message */
};
extern const struct wire_limits wire_default_limits; /* 16 MiB and 8 GiB */

/* The error bounds a reference engine sends with a value; empty tensors when absent. All float64. */
struct wire_bounds {
    bool present;
    struct tensor exact, rest; /* empty for integer types */
    struct tensor hard, likely;
};
void wire_bounds_release(struct wire_bounds *bounds);

/* A decoded message: exactly one of request and reply is set, by what the decoder was made for. */
struct wire_message {
    Assay__Request *request;
    Assay__Reply *reply;
    size_t count; /* values of a run request or of a values reply (a gradient's output gradients follow its
                     inputs) */
    struct value *values;
    struct wire_bounds *bounds; /* count of them; only in replies */
    uint8_t *model;             /* payload of a load request */
    size_t model_size;
};
void wire_message_release(struct wire_message *message);

/* Appends one message with its payloads. The descriptors of values inside the message are made from `values`.
 */
void wire_put_hello(struct str *out, uint64_t id, size_t knobs, const char *const *names,
                    const char *const *values);
void wire_put_load(struct str *out, uint64_t id, const void *model, size_t size, const char *path,
                   size_t outputs, const char *const *names);
void wire_put_run(struct str *out, uint64_t id, const struct value *inputs, size_t count, bool bounds);
void wire_put_unload(struct str *out, uint64_t id);
void wire_put_values(struct str *out, uint64_t id, const struct value *values, size_t count,
                     const struct wire_bounds *bounds);
void wire_put_reply(struct str *out, const Assay__Reply *reply); /* a reply without payloads */

struct wire_decoder;
struct wire_decoder *wire_decoder_new(bool replies, const struct wire_limits *limits);
void wire_decoder_free(struct wire_decoder *decoder);

/*
 * Consumes bytes; returns 1 when a message is complete (then *message is the caller's, and *used tells how
 * many bytes were taken), 0 when more are needed (all taken), -1 on a protocol error.
 */
int wire_decode(struct wire_decoder *decoder, const void *data, size_t size, size_t *used,
                struct wire_message *message, struct error *err);

#endif
