/*
 * Encodes and decodes the frames, messages and payloads of proto/engine.proto, for both ends of the pipe.
 *
 * The encoder copies messages and small payloads into one buffer. It does not copy large payloads, which must
 * stay valid and in place until they are written (or cleared). The decoder takes bytes as they arrive, in
 * portions of any size, and gives whole messages with their values. It trusts nothing: every length is
 * checked against the limits before memory is allocated, and after a protocol error the decoder takes nothing
 * more.
 */
#ifndef ENGINE_WIRE_H
#define ENGINE_WIRE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "engine.pb-c.h"
#include "engine/trace.h"
#include "tensor/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WIRE_PROTOCOL = 1,
    WIRE_CHUNK = 1 << 20,
    WIRE_SHARED_FILE = 3,         /* descriptor of the shared memory in an engine's process */
    WIRE_SHARED_LEAST = 32 * 1024 /* bytes of payload from which on the shared memory is used */
};

/* How the message begins with which an engine in the setting memcheck=on says what memcheck saw. */
#define WIRE_MEMCHECK "memcheck: "

/* A part of the memory that both sides map; size 0: none. */
struct wire_place {
    size_t offset, size;
};
/* The bytes that a payload takes there: a multiple of 64. */
static inline size_t wire_place_size(size_t payload)
{
    return (payload + 63) & ~(size_t)63;
}

struct wire_limits {
    size_t message; /* largest message frame */
    size_t payload; /* sum of the payloads that follow one message */
};
extern const struct wire_limits wire_default_limits; /* 16 MiB and 8 GiB */

/* The error bounds that a reference engine sends with a value, in float64; tensors that are absent are empty.
 */
struct wire_bounds {
    bool present;
    bool open;                 /* ONNX leaves some value of the model unspecified, be it an output or not */
    bool narrow;               /* narrow bounds were asked for, and others would be wider */
    struct tensor exact, rest; /* the exact value as a sum of two doubles; empty for integer types */
    struct tensor hard, likely;
};
void wire_bounds_init(struct wire_bounds *bounds);
void wire_bounds_release(struct wire_bounds *bounds);
void wire_bounds_free(struct wire_bounds *bounds, size_t count); /* releases each, then frees the array */

/* Frames waiting to be written. */
struct wire_piece {
    const uint8_t *data; /* NULL: the piece lies in `bytes`, at `offset` */
    size_t offset, size;
};
struct wire_out {
    uint8_t *bytes;
    size_t length, capacity;
    struct wire_piece *pieces;
    size_t count, room; /* number of pieces, and room for them */
    size_t next, done;  /* pieces written, and bytes written of the next one */
    struct arena arena; /* descriptors of the message being packed */
    uint8_t *shared;    /* the shared memory, when the next message may use it */
    struct wire_place place;
    uint8_t *into;                /* where its next payload goes; NULL: behind the message */
    const struct trace *trace;    /* of the next reply; NULL: none */
    uint64_t call_ns, process_ns; /* the same */
};
void wire_out_init(struct wire_out *out);
void wire_out_release(struct wire_out *out);
void wire_out_clear(struct wire_out *out); /* drops what is not yet written; keeps the memory */
bool wire_out_empty(const struct wire_out *out);

/* Writes as much as possible. Returns 1 when everything is written, 0 when the descriptor would block, -1 on
 * failure. */
int wire_out_write(struct wire_out *out, int fd, struct error *err);

/* Appends everything that is not yet written to *to. */
void wire_out_copy(const struct wire_out *out, struct str *to);

/*
 * For the next message only: its payloads, when there are WIRE_SHARED_LEAST bytes of them and they fit, are
 * copied to that place of the shared memory and do not follow the message. A request offers what is left of
 * the place for the payloads of its reply. Afterwards `place` in *out is what was offered.
 */
void wire_out_place(struct wire_out *out, void *shared, struct wire_place place);

/* The next reply, and only that one, carries this trace. */
void wire_out_trace(struct wire_out *out, const struct trace *trace);

/* The next reply, and only that one, says what processor time it took: of the library, and of the process
 * so far. */
void wire_out_times(struct wire_out *out, uint64_t call_ns, uint64_t process_ns);

/* These append one message with its payloads. */
void wire_put_hello(struct wire_out *out, uint64_t id, size_t knobs, const char *const *names,
                    const char *const *values, size_t shared_size, bool times);
struct wire_load {
    const void *model; /* the serialised model, or NULL when `path` is set */
    size_t size;
    const char *path;
    const char *const *outputs; /* wanted ones; none: all */
    size_t n_outputs;
    bool trace; /* ask for traces */
};
void wire_put_load(struct wire_out *out, uint64_t id, const struct wire_load *load);
/* What is asked of the bounds; flags. */
enum { WIRE_NO_BOUNDS = 0, WIRE_BOUNDS = 1, WIRE_NARROW_BOUNDS = 3, WIRE_ONLY_JUDGED = 4 };
void wire_put_run(struct wire_out *out, uint64_t id, const struct value *inputs, size_t count,
                  unsigned bounds);
struct wire_gradient {
    const struct value *inputs;
    size_t n_inputs;
    const struct value *upstream; /* derivatives by outputs, named as these are */
    size_t n_upstream;
    const char *const *wanted; /* inputs and initialisers; none: all */
    size_t n_wanted;
    bool bounds;
};
void wire_put_gradient(struct wire_out *out, uint64_t id, const struct wire_gradient *request);
void wire_put_unload(struct wire_out *out, uint64_t id);
void wire_put_values(struct wire_out *out, uint64_t id, const struct value *values, size_t count,
                     const struct wire_bounds *bounds);
void wire_put_reply(struct wire_out *out, const Assay__Reply *reply); /* a reply without payloads */
/* The answer to a load, with the model that a tool has written. */
void wire_put_loaded(struct wire_out *out, const Assay__Reply *reply, const void *written, size_t size);

/*
 * A decoded message. Exactly one of request and reply is set, depending on what the decoder was made for; it
 * lives in the decoder until the decoder's next use. The caller owns values, bounds and model, and frees them
 * with wire_message_release.
 */
struct wire_message {
    const Assay__Request *request;
    const Assay__Reply *reply;
    size_t count; /* values of a run request or of a values reply (a gradient's output gradients follow its
                     inputs) */
    struct value *values;
    struct wire_bounds *bounds; /* one for each value, or NULL; only in replies */
    uint8_t *model;             /* payload of a load request, or of its answer: what a tool has written */
    size_t model_size;
    bool borrowed; /* the payloads lie in the shared memory, until the reply is sent */
};
void wire_message_release(struct wire_message *message);

/* Adds the trace of a reply to *trace. */
void wire_read_trace(const Assay__Reply *reply, struct trace *trace);

struct wire_decoder;
struct wire_decoder *wire_decoder_new(bool replies, const struct wire_limits *limits);
void wire_decoder_free(struct wire_decoder *decoder);

/*
 * The shared memory, and the place in it where payloads of the next message may lie. Payloads of a request
 * are left there; those of a reply are copied before anything looks at them, because an engine may write
 * there at any time.
 */
void wire_decoder_share(struct wire_decoder *decoder, uint8_t *shared, struct wire_place place);

/*
 * Takes bytes. Returns 1 when a message is complete (*message is filled in, and *used is the number of bytes
 * taken), 0 when more bytes are needed (all were taken), -1 on a protocol error.
 */
int wire_decode(struct wire_decoder *decoder, const void *data, size_t size, size_t *used,
                struct wire_message *message, struct error *err);

/* Whether the decoder is between two messages, so that no message is cut off when the bytes end here. */
bool wire_decoder_idle(const struct wire_decoder *decoder);

/* Appends what is wrong with a message that is cut off here ("began a message of 19 bytes and wrote 4 of
 * them"); nothing between two messages. */
void wire_decoder_rest(const struct wire_decoder *decoder, struct str *out);

#ifdef __cplusplus
}
#endif
#endif
