/*
 * The decoder of the engine protocol, both directions: the first byte says which, the second how the rest is
 * cut into portions. What is accepted must be encoded and decoded again to the same values. Payloads may lie
 * in shared memory; a reply's only in its second half.
 */
#include "base/clean.h"
#include "base/hash.h"
#include "engine/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct wire_limits limits = {.message = 1 << 16, .payload = 1 << 20};

enum { MEMORY = 1 << 17, HALF = MEMORY / 2 };
static _Alignas(64) uint8_t memory[MEMORY];

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void require_same(const struct wire_message *a, const struct wire_message *b)
{
    require(a->count == b->count && (a->bounds != NULL) == (b->bounds != NULL));
    for (size_t i = 0; i < a->count; i++) {
        require(a->values[i].kind == b->values[i].kind && a->values[i].count == b->values[i].count);
        for (size_t j = 0; j < a->values[i].count; j++)
            require(tensor_identical(&a->values[i].tensors[j], &b->values[i].tensors[j]));
        if (!a->bounds)
            continue;
        require(a->bounds[i].present == b->bounds[i].present);
        require(tensor_identical(&a->bounds[i].hard, &b->bounds[i].hard));
        require(tensor_identical(&a->bounds[i].likely, &b->bounds[i].likely));
    }
}

static void put_gradient(struct wire_out *out, const struct wire_message *message)
{
    const Assay__Gradient *from = message->request->gradient;
    struct wire_gradient gradient = {
        .inputs = message->values,
        .n_inputs = from->n_inputs,
        .upstream = message->values ? message->values + from->n_inputs : NULL,
        .n_upstream = from->n_output_gradients,
        .wanted = (const char *const *)from->wanted,
        .n_wanted = from->n_wanted,
        .bounds = from->bounds,
    };
    wire_put_gradient(out, 1, &gradient);
}

static void require_same_gradient(const Assay__Gradient *a, const Assay__Gradient *b)
{
    require(a->n_inputs == b->n_inputs && a->n_output_gradients == b->n_output_gradients);
    require(a->n_wanted == b->n_wanted && a->bounds == b->bounds);
    for (size_t i = 0; i < a->n_wanted; i++)
        require(text_equal(a->wanted[i], b->wanted[i]));
}

/* What is kept of a trace is short and clean, and the same after one more way. */
static struct trace *keep_trace(const struct wire_message *message)
{
    struct trace *trace = trace_new();
    struct arena arena;
    size_t count;
    arena_init(&arena);
    if (message->reply)
        wire_read_trace(message->reply, trace);
    require(trace->count <= TRACE_STEPS && trace->n_outputs <= TRACE_OUTPUTS);
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_step *step = &trace->steps[i];
        require(*step->name && strlen(step->name) < TRACE_NAME && !clean_find_hidden(step->name));
        require(strlen(step->device) < TRACE_NAME && strlen(step->pass) < TRACE_NAME);
    }
    const char *const *names = trace_names(trace, &arena, &count);
    require(count <= 2 * trace->count);
    for (size_t i = 1; i < count; i++)
        require(strcmp(names[i - 1], names[i]) < 0);
    arena_release(&arena);
    return trace;
}

static void require_same_trace(const struct trace *a, const struct wire_message *message)
{
    struct trace *b = keep_trace(message);
    require(a->count == b->count && a->n_outputs == b->n_outputs && b->left_out == 0);
    for (size_t i = 0; i < a->count; i++)
        require(a->steps[i].kind == b->steps[i].kind && text_equal(a->steps[i].name, b->steps[i].name) &&
                text_equal(a->steps[i].pass, b->steps[i].pass) &&
                a->steps[i].n_outputs == b->steps[i].n_outputs);
    trace_free(b);
}

/* A message's values and trace, out and in again. */
static void round_trip(const struct wire_message *message)
{
    struct wire_out out;
    struct str bytes;
    struct wire_message again;
    struct error err;
    size_t used;
    wire_out_init(&out);
    str_init(&bytes);
    uint8_t *shared = aligned_alloc(64, MEMORY);
    require(shared != NULL);
    wire_out_place(&out, shared, (struct wire_place){0, MEMORY});
    struct trace *trace = keep_trace(message);
    wire_out_trace(&out, message->reply ? trace : NULL);
    if (message->reply)
        wire_put_values(&out, 1, message->values, message->count, message->bounds);
    else if (message->request->verb_case == ASSAY__REQUEST__VERB_GRADIENT)
        put_gradient(&out, message);
    else
        wire_put_run(&out, 1, message->values, message->count, WIRE_NO_BOUNDS);
    wire_out_copy(&out, &bytes);
    struct wire_decoder *decoder = wire_decoder_new(message->reply != NULL, NULL);
    wire_decoder_share(decoder, shared, (struct wire_place){0, MEMORY});
    require(wire_decode(decoder, bytes.data, bytes.length, &used, &again, &err) == 1);
    require(used == bytes.length && wire_decoder_idle(decoder));
    require_same(message, &again);
    require_same_trace(trace, &again);
    trace_free(trace);
    if (message->request && message->request->verb_case == ASSAY__REQUEST__VERB_GRADIENT)
        require_same_gradient(message->request->gradient, again.request->gradient);
    wire_message_release(&again);
    wire_decoder_free(decoder);
    str_release(&bytes);
    wire_out_release(&out);
    free(shared);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    bool replies = data[0] & 1;
    uint64_t cuts = data[1];
    struct wire_decoder *decoder = wire_decoder_new(replies, &limits);
    int result = 0;
    memset(memory, data[1], MEMORY);
    wire_decoder_share(decoder, memory,
                       replies ? (struct wire_place){HALF, HALF} : (struct wire_place){0, MEMORY});
    data += 2;
    size -= 2;
    while (size && result >= 0) {
        struct wire_message message;
        struct error err = {0};
        size_t used, portion = size;
        if (cuts) { /* 0: all at once */
            cuts = hash_mix(cuts + 1) | 1;
            portion = 1 + cuts % (cuts & 2 ? 8 : 300);
            portion = portion < size ? portion : size;
        }
        result = wire_decode(decoder, data, portion, &used, &message, &err);
        require(used <= portion && (result != 0 || used == portion) && (result >= 0 || err.message[0]));
        if (result > 0)
            round_trip(&message);
        wire_message_release(&message);
        data += used;
        size -= used;
    }
    wire_decoder_free(decoder);
    return 0;
}
