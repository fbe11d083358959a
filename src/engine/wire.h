/*
 * Frames, messages and payloads of proto/engine.proto, for both ends of the pipe.
 *
 * The encoder gathers: what it encodes itself and small payloads lie in one buffer, large payloads are only
 * referred to and must stay where they are until written (or cleared). The decoder is fed bytes as they
 * arrive, in any portions, and gives whole messages with their values; it trusts nothing: every length is
 * checked against the limits before memory is taken, and a protocol error is final.
 */
#ifndef ENGINE_WIRE_H
#define ENGINE_WIRE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "engine.pb-c.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WIRE_PROTOCOL = 1, WIRE_CHUNK = 1 << 20 };

struct wire_limits {
    size_t message; /* largest message frame */
    size_t payload; /* sum of the payloads behind one message */
};
extern const struct wire_limits wire_default_limits; /* 16 MiB and 8 GiB */

/* The error bounds a reference engine sends with a value; empty tensors when absent. All float64. */
struct wire_bounds {
    bool present;
    bool open;                 /* something in the model is, shown or not */
    struct tensor exact, rest; /* empty for integer types */
    struct tensor hard, likely;
};
void wire_bounds_init(struct wire_bounds *bounds);
void wire_bounds_release(struct wire_bounds *bounds);
void wire_bounds_free(struct wire_bounds *bounds, size_t count); /* releases each, then frees the array */

/* Frames waiting to be written. */
struct wire_piece {
    const uint8_t *data; /* NULL: in bytes, at offset */
    size_t offset, size;
};
struct wire_out {
    uint8_t *bytes;
    size_t length, capacity;
    struct wire_piece *pieces;
    size_t count, room; /* pieces */
    size_t next, done;  /* pieces written, and bytes of the next one */
    struct arena arena; /* descriptors of the message being packed */
};
void wire_out_init(struct wire_out *out);
void wire_out_release(struct wire_out *out);
void wire_out_clear(struct wire_out *out); /* forgets what is not yet written; keeps the memory */
bool wire_out_empty(const struct wire_out *out);

/* Writes as much as goes: 1 when all is written, 0 when the descriptor would block, -1 on failure. */
int wire_out_write(struct wire_out *out, int fd, struct error *err);

/* Appends what is not yet written to *to, as one string of bytes. */
void wire_out_copy(const struct wire_out *out, struct str *to);

/* Appends one message with its payloads. The descriptors of values inside the message are made from `values`.
 */
void wire_put_hello(struct wire_out *out, uint64_t id, size_t knobs, const char *const *names,
                    const char *const *values);
void wire_put_load(struct wire_out *out, uint64_t id, const void *model, size_t size, const char *path,
                   size_t outputs, const char *const *names);
void wire_put_run(struct wire_out *out, uint64_t id, const struct value *inputs, size_t count, bool bounds);
void wire_put_gradient(struct wire_out *out, uint64_t id, const struct value *inputs, size_t n_inputs,
                       const struct value *output_gradients, size_t n_gradients);
void wire_put_unload(struct wire_out *out, uint64_t id);
void wire_put_values(struct wire_out *out, uint64_t id, const struct value *values, size_t count,
                     const struct wire_bounds *bounds);
void wire_put_reply(struct wire_out *out, const Assay__Reply *reply); /* a reply without payloads */

/*
 * A decoded message: exactly one of request and reply is set, by what the decoder was made for. They live in
 * the decoder until its next use; values, bounds and model are the caller's, by wire_message_release.
 */
struct wire_message {
    const Assay__Request *request;
    const Assay__Reply *reply;
    size_t count; /* values of a run request or of a values reply (a gradient's output gradients follow its
                     inputs) */
    struct value *values;
    struct wire_bounds *bounds; /* count of them, or NULL; only in replies */
    uint8_t *model;             /* payload of a load request */
    size_t model_size;
};
void wire_message_release(struct wire_message *message);

struct wire_decoder;
struct wire_decoder *wire_decoder_new(bool replies, const struct wire_limits *limits);
void wire_decoder_free(struct wire_decoder *decoder);

/*
 * Consumes bytes; returns 1 when a message is complete (then *message is filled in, and *used tells how many
 * bytes were taken), 0 when more are needed (all taken), -1 on a protocol error.
 */
int wire_decode(struct wire_decoder *decoder, const void *data, size_t size, size_t *used,
                struct wire_message *message, struct error *err);

/* True between messages: bytes that ended here would not be cut off. */
bool wire_decoder_idle(const struct wire_decoder *decoder);

#ifdef __cplusplus
}
#endif
#endif
