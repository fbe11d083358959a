#include "engine/wire.h"

#include "base/memory.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct value make_value(const char *name, enum dtype type, int64_t count)
{
    struct value value;
    struct tensor tensor;
    struct shape shape = shape_make(1, &count);
    value_init(&value);
    value_set_name(&value, name);
    assert_int_equal(tensor_alloc(&tensor, type, &shape, 0, NULL), 0);
    for (size_t i = 0; i < tensor.size; i++)
        ((uint8_t *)tensor.data)[i] = (uint8_t)(i * 7 + i / 251);
    value_set_tensor(&value, &tensor);
    return value;
}

static struct value make_strings(const char *name)
{
    static const uint8_t bytes[] = {3, 0, 0, 0, 'a', 'b', 'c', 0, 0, 0, 0};
    struct value value;
    struct tensor tensor;
    struct shape shape = shape_make(2, (int64_t[]){2, 1});
    value_init(&value);
    value_set_name(&value, name);
    assert_int_equal(tensor_from_bytes(&tensor, DTYPE_STRING, &shape, bytes, sizeof bytes, NULL), 0);
    value_set_tensor(&value, &tensor);
    return value;
}

static void assert_values_equal(const struct value *a, const struct value *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(a[i].name ? a[i].name : "", b[i].name ? b[i].name : "");
        assert_int_equal(a[i].kind, b[i].kind);
        assert_int_equal(a[i].count, b[i].count);
        for (size_t j = 0; j < a[i].count; j++)
            assert_true(tensor_identical(&a[i].tensors[j], &b[i].tensors[j]));
    }
}

static struct str flatten(struct wire_out *out)
{
    struct str bytes;
    str_init(&bytes);
    wire_out_copy(out, &bytes);
    wire_out_release(out);
    return bytes;
}

/* Feeds portions of `portion` bytes until a message is whole; gives the decoder's last word. */
static int decode(struct wire_decoder *decoder, const struct str *bytes, size_t *at, size_t portion,
                  struct wire_message *message, struct error *err)
{
    while (*at < bytes->length) {
        size_t size = bytes->length - *at < portion ? bytes->length - *at : portion, used;
        int result = wire_decode(decoder, bytes->data + *at, size, &used, message, err);
        assert_true(used <= size);
        *at += used;
        if (result)
            return result;
        assert_int_equal(used, size);
    }
    return 0;
}

static void requests_survive_any_portions(void **state)
{
    (void)state;
    struct value inputs[4];
    inputs[0] = make_value("x", DTYPE_FLOAT, 1000);
    inputs[1] = make_value("big", DTYPE_UINT8, (3 << 20) + 17);
    inputs[2] = make_strings("words");
    value_init(&inputs[3]);
    size_t portions[] = {1, 7, 4096, SIZE_MAX};
    for (size_t p = 0; p < 4; p++) {
        struct wire_out out;
        wire_out_init(&out);
        wire_put_hello(&out, 1, 1, (const char *[]){"opt"}, (const char *[]){"none"}, 0, false);
        wire_put_load(&out, 2,
                      &(struct wire_load){.model = "model",
                                          .size = 5,
                                          .n_outputs = 1,
                                          .outputs = (const char *[]){"y"},
                                          .trace = true});
        wire_put_load(&out, 3, &(struct wire_load){.path = "/a/file"});
        wire_put_run(&out, 4, inputs, 4, WIRE_NARROW_BOUNDS);
        wire_put_gradient(&out, 5,
                          &(struct wire_gradient){.inputs = inputs,
                                                  .n_inputs = 1,
                                                  .upstream = inputs + 2,
                                                  .n_upstream = 1,
                                                  .wanted = (const char *[]){"w", "x"},
                                                  .n_wanted = 2,
                                                  .bounds = true});
        wire_put_unload(&out, 6);
        struct str bytes = flatten(&out);
        struct wire_decoder *decoder = wire_decoder_new(false, NULL);
        struct wire_message message;
        size_t at = 0;
        assert_int_equal(decode(decoder, &bytes, &at, portions[p], &message, NULL), 1);
        assert_string_equal(message.request->hello->knobs[0]->value, "none");
        assert_int_equal(decode(decoder, &bytes, &at, portions[p], &message, NULL), 1);
        assert_int_equal(message.model_size, 5);
        assert_memory_equal(message.model, "model", 5);
        assert_string_equal(message.request->load->outputs[0], "y");
        wire_message_release(&message);
        assert_int_equal(decode(decoder, &bytes, &at, portions[p], &message, NULL), 1);
        assert_string_equal(message.request->load->path, "/a/file");
        assert_int_equal(decode(decoder, &bytes, &at, portions[p], &message, NULL), 1);
        assert_int_equal(message.request->id, 4);
        assert_true(message.request->run->bounds && message.request->run->narrow);
        assert_int_equal(message.count, 4);
        assert_values_equal(message.values, inputs, 4);
        wire_message_release(&message);
        assert_int_equal(decode(decoder, &bytes, &at, portions[p], &message, NULL), 1);
        assert_int_equal(message.count, 2);
        assert_int_equal(message.request->gradient->n_inputs, 1);
        assert_values_equal(&message.values[0], &inputs[0], 1);
        assert_values_equal(&message.values[1], &inputs[2], 1);
        assert_int_equal(message.request->gradient->n_wanted, 2);
        assert_string_equal(message.request->gradient->wanted[1], "x");
        assert_true(message.request->gradient->bounds);
        wire_message_release(&message);
        assert_false(wire_decoder_idle(decoder) && at == bytes.length);
        assert_int_equal(decode(decoder, &bytes, &at, portions[p], &message, NULL), 1);
        assert_int_equal(message.request->verb_case, ASSAY__REQUEST__VERB_UNLOAD);
        assert_int_equal(at, bytes.length);
        assert_true(wire_decoder_idle(decoder));
        wire_decoder_free(decoder);
        str_release(&bytes);
    }
    for (size_t i = 0; i < 4; i++)
        value_release(&inputs[i]);
}

static struct wire_bounds make_bounds(const struct tensor *of)
{
    struct wire_bounds bounds;
    wire_bounds_init(&bounds);
    bounds.present = true;
    struct tensor *all[] = {&bounds.exact, &bounds.rest, &bounds.hard, &bounds.likely};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tensor_alloc(all[i], DTYPE_DOUBLE, &of->shape, 0, NULL), 0);
        for (size_t j = 0; j < of->count; j++)
            tensor_set(all[i], j, (long double)(i * 1000 + j));
    }
    return bounds;
}

static void replies_carry_bounds(void **state)
{
    (void)state;
    struct value values[2] = {make_value("y", DTYPE_FLOAT, 600), make_strings("z")};
    struct wire_bounds bounds[2];
    bounds[0] = make_bounds(&values[0].tensors[0]);
    bounds[0].open = true;
    wire_bounds_init(&bounds[1]);
    struct wire_out out;
    wire_out_init(&out);
    wire_put_values(&out, 9, values, 2, bounds);
    struct str bytes = flatten(&out);
    struct wire_decoder *decoder = wire_decoder_new(true, NULL);
    struct wire_message message;
    size_t at = 0;
    assert_int_equal(decode(decoder, &bytes, &at, 100, &message, NULL), 1);
    assert_values_equal(message.values, values, 2);
    assert_true(message.bounds[0].present && message.bounds[0].open);
    assert_true(tensor_identical(&message.bounds[0].rest, &bounds[0].rest));
    assert_true(tensor_identical(&message.bounds[0].likely, &bounds[0].likely));
    assert_false(message.bounds[1].present);
    wire_message_release(&message);
    wire_decoder_free(decoder);
    str_release(&bytes);
    wire_bounds_release(&bounds[0]);
    value_release(&values[0]);
    value_release(&values[1]);
}

enum { MEMORY = 1 << 18, HALF = MEMORY / 2 };

static uint8_t *shared_memory(void)
{
    uint8_t *memory = aligned_alloc(64, MEMORY);
    assert_non_null(memory);
    memset(memory, 0xEE, MEMORY);
    return memory;
}

static int decode_one(struct wire_out *out, struct wire_decoder *decoder, size_t portion,
                      struct wire_message *message)
{
    struct error err = {0};
    size_t at = 0;
    struct str bytes = flatten(out);
    int result = decode(decoder, &bytes, &at, portion, message, &err);
    if (result > 0)
        assert_true(at == bytes.length && wire_decoder_idle(decoder));
    str_release(&bytes);
    return result;
}

/* A request's payloads are read where they lie, a reply's are copied. */
static void payloads_may_lie_in_shared_memory(void **state)
{
    (void)state;
    uint8_t *memory = shared_memory();
    struct value inputs[3] = {make_value("x", DTYPE_FLOAT, 9001), make_value("none", DTYPE_FLOAT, 0),
                              make_strings("words")};
    for (size_t portion = 1; portion; portion = portion == 1 ? SIZE_MAX : 0) {
        struct wire_out out;
        struct wire_message message;
        struct wire_decoder *requests = wire_decoder_new(false, NULL);
        struct wire_decoder *replies = wire_decoder_new(true, NULL);
        wire_decoder_share(requests, memory, (struct wire_place){0, MEMORY});
        wire_out_init(&out);
        wire_out_place(&out, memory, (struct wire_place){HALF, HALF});
        wire_put_run(&out, 7, inputs, 3, WIRE_NO_BOUNDS);
        struct wire_place room = out.place;
        assert_int_equal(decode_one(&out, requests, portion, &message), 1);
        assert_values_equal(message.values, inputs, 3);
        assert_true(message.borrowed && message.values[0].tensors[0].data == memory + HALF);
        assert_int_equal(message.request->payloads->size, 36032 + 64); /* to the next multiples of 64 */
        assert_int_equal(message.request->room->offset, room.offset);
        assert_int_equal(message.request->room->size, HALF - 36032 - 64);

        wire_out_place(&out, memory, room);
        wire_put_values(&out, 7, message.values, 3, NULL);
        wire_message_release(&message);
        wire_decoder_share(replies, memory, room);
        assert_int_equal(decode_one(&out, replies, portion, &message), 1);
        assert_int_equal(message.reply->payloads->offset, room.offset);
        memset(memory, 0xEE, MEMORY); /* too late to change anything */
        assert_values_equal(message.values, inputs, 3);
        wire_message_release(&message);
        wire_decoder_free(requests);
        wire_decoder_free(replies);
    }
    for (size_t i = 0; i < 3; i++)
        value_release(&inputs[i]);
    free(memory);
}

static void what_does_not_fit_or_is_small_follows(void **state)
{
    (void)state;
    uint8_t *memory = shared_memory();
    const int64_t sizes[] = {MEMORY, WIRE_SHARED_LEAST - 64};
    for (size_t i = 0; i < 2; i++) {
        struct value input = make_value("x", DTYPE_UINT8, sizes[i]);
        struct wire_out out;
        struct wire_message message;
        struct wire_decoder *decoder = wire_decoder_new(false, NULL);
        wire_decoder_share(decoder, memory, (struct wire_place){0, MEMORY});
        wire_out_init(&out);
        wire_out_place(&out, memory, (struct wire_place){0, HALF});
        wire_put_run(&out, 1, &input, 1, WIRE_NO_BOUNDS);
        assert_int_equal(out.place.size, HALF); /* all of it is offered for the reply */
        assert_int_equal(decode_one(&out, decoder, SIZE_MAX, &message), 1);
        assert_true(!message.borrowed && !message.request->payloads && message.request->room);
        assert_values_equal(message.values, &input, 1);
        wire_message_release(&message);
        wire_decoder_free(decoder);
        value_release(&input);
    }
    free(memory);
}

static void put_frame(struct str *bytes, const void *data, size_t size)
{
    uint8_t length[4];
    for (int i = 0; i < 4; i++)
        length[i] = (uint8_t)(size >> (8 * i));
    str_append(bytes, length, 4);
    str_append(bytes, data, size);
}

/* A reply with one tensor that claims what it likes, at a place or with the payload to follow. */
static void put_claim_at(struct str *bytes, uint32_t type, int64_t dim, uint64_t size, Assay__Place *place)
{
    Assay__Reply reply = ASSAY__REPLY__INIT;
    Assay__Values list = ASSAY__VALUES__INIT;
    Assay__Value value = ASSAY__VALUE__INIT, *values[] = {&value};
    Assay__Tensor tensor = ASSAY__TENSOR__INIT, *tensors[] = {&tensor};
    reply.result_case = ASSAY__REPLY__RESULT_VALUES;
    reply.values = &list;
    list.n_values = 1;
    list.values = values;
    value.n_tensors = 1;
    value.tensors = tensors;
    tensor.type = type;
    tensor.n_dims = 1;
    tensor.dims = &dim;
    tensor.size = size;
    reply.payloads = place;
    uint8_t packed[200];
    put_frame(bytes, packed, assay__reply__pack(&reply, packed));
}

static void put_claim(struct str *bytes, uint32_t type, int64_t dim, uint64_t size)
{
    put_claim_at(bytes, type, dim, size, NULL);
}

static void assert_refused(const struct str *bytes, enum error_code code)
{
    struct wire_decoder *decoder = wire_decoder_new(true, NULL);
    struct wire_message message;
    struct error err;
    size_t at = 0, used;
    assert_int_equal(decode(decoder, bytes, &at, SIZE_MAX, &message, &err), -1);
    assert_int_equal(err.code, code);
    assert_int_equal(wire_decode(decoder, "", 0, &used, &message, &err), -1); /* and that is final */
    wire_decoder_free(decoder);
}

static void lies_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        int64_t dim;
        uint64_t size;
        enum error_code code;
    } claims[] = {
        {DTYPE_UINT8, (int64_t)1 << 60, (uint64_t)1 << 60, ERROR_LIMIT},
        {DTYPE_FLOAT, 10, 41, ERROR_FORMAT},
        {DTYPE_FLOAT, 10, 36, ERROR_FORMAT},
        {DTYPE_FLOAT, -1, 0, ERROR_FORMAT},
        {DTYPE_FLOAT, INT64_MAX, 4, ERROR_LIMIT},
        {DTYPE_STRING, (int64_t)1 << 59, 8, ERROR_FORMAT},
        {DTYPE_STRING, 1, (uint64_t)1 << 62, ERROR_LIMIT},
        {0, 1, 4, ERROR_FORMAT},
        {27, 1, 4, ERROR_FORMAT},
        {DTYPE_INT4, 3, 2, ERROR_FORMAT}, /* not packed */
        {99, 1, 4, ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        struct str bytes;
        str_init(&bytes);
        put_claim(&bytes, claims[i].type, claims[i].dim, claims[i].size);
        assert_refused(&bytes, claims[i].code);
        str_release(&bytes);
    }
}

static void lies_about_places_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset, size;
        const char *says;
        bool no_room;
    } lies[] = {
        {MEMORY, 1024, "may not be", false},                     /* beyond the end */
        {UINT64_MAX - 63, 1024, "may not be", false},            /* round the corner */
        {HALF, UINT64_MAX - 1023, "may not be", false},          /* the same by size */
        {HALF + 8, 1024, "may not be", false},                   /* not at a multiple of 64 */
        {0, 1024, "may not be", false},                          /* outside of the room */
        {HALF - 64, 1024, "may not be", false},                  /* overlaps what lies before the room */
        {MEMORY - 512, 1024, "may not be", false},               /* overlaps the end */
        {HALF, 960, "1000 bytes where 960 are left", false},     /* too small */
        {HALF, 0, "1000 bytes where 0 are left", false},         /* nothing */
        {HALF, 2048, "1024 bytes of shared memory that", false}, /* too large */
        {0, 1024, "may not be", true},                           /* no room was offered */
    };
    uint8_t *memory = shared_memory();
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        Assay__Place place = ASSAY__PLACE__INIT;
        struct wire_decoder *decoder = wire_decoder_new(true, NULL);
        struct wire_message message;
        struct error err = {0};
        struct str bytes;
        size_t at = 0;
        place.offset = lies[i].offset;
        place.size = lies[i].size;
        str_init(&bytes);
        put_claim_at(&bytes, DTYPE_UINT8, 1000, 1000, &place);
        if (!lies[i].no_room)
            wire_decoder_share(decoder, memory, (struct wire_place){HALF, HALF});
        assert_int_equal(decode(decoder, &bytes, &at, SIZE_MAX, &message, &err), -1);
        assert_int_equal(err.code, ERROR_FORMAT);
        if (!strstr(err.message, lies[i].says))
            fail_msg("lie %zu: %s", i, err.message);
        wire_decoder_free(decoder);
        str_release(&bytes);
    }
    free(memory);
}

static void bad_frames_are_refused(void **state)
{
    (void)state;
    struct str bytes;
    str_init(&bytes);
    str_append(&bytes, "\xff\xff\xff\x7f", 4); /* a message of 2 GiB */
    assert_refused(&bytes, ERROR_LIMIT);
    str_clear(&bytes);
    put_frame(&bytes, "", 0); /* a reply without a result */
    assert_refused(&bytes, ERROR_FORMAT);
    str_clear(&bytes);
    put_frame(&bytes, "Hello, world\n", 13);
    assert_refused(&bytes, ERROR_FORMAT);
    str_clear(&bytes);
    put_claim(&bytes, DTYPE_UINT8, 4, 4);
    put_frame(&bytes, "12345", 5); /* a chunk longer than what is left */
    assert_refused(&bytes, ERROR_FORMAT);
    str_clear(&bytes);
    put_claim(&bytes, DTYPE_UINT8, 4, 4);
    put_frame(&bytes, "", 0);
    assert_refused(&bytes, ERROR_FORMAT);
    str_clear(&bytes);
    put_claim(&bytes, DTYPE_STRING, 1, 5);
    put_frame(&bytes, "\x09\0\0\0a", 5); /* the string is cut off */
    assert_refused(&bytes, ERROR_FORMAT);
    str_release(&bytes);
}

/* A frame of empty submessages would unpack into sixty times its size. */
static void unpacking_is_bounded(void **state)
{
    (void)state;
    enum { VALUES = 1 << 20 };
    Assay__Reply reply = ASSAY__REPLY__INIT;
    Assay__Values list = ASSAY__VALUES__INIT;
    Assay__Value empty = ASSAY__VALUE__INIT;
    reply.result_case = ASSAY__REPLY__RESULT_VALUES;
    reply.values = &list;
    list.n_values = VALUES;
    list.values = memory_zeroed(VALUES, sizeof *list.values);
    for (size_t i = 0; i < VALUES; i++)
        list.values[i] = &empty;
    size_t size = assay__reply__get_packed_size(&reply);
    uint8_t *packed = memory_zeroed(1, size);
    assay__reply__pack(&reply, packed);
    struct str bytes;
    str_init(&bytes);
    put_frame(&bytes, packed, size);
    assert_refused(&bytes, ERROR_FORMAT);
    str_release(&bytes);
    free(packed);
    free(list.values);
}

static void every_cut_and_flip_is_survived(void **state)
{
    (void)state;
    struct value values[2] = {make_value("y", DTYPE_FLOAT, 3), make_strings("z")};
    struct wire_bounds bounds[2];
    bounds[0] = make_bounds(&values[0].tensors[0]);
    wire_bounds_init(&bounds[1]);
    struct wire_out out;
    wire_out_init(&out);
    wire_put_values(&out, 9, values, 2, bounds);
    uint8_t *memory = shared_memory();
    struct value large = make_value("large", DTYPE_FLOAT, 9001);
    wire_out_place(&out, memory, (struct wire_place){HALF, HALF});
    wire_put_values(&out, 10, &large, 1, NULL);
    struct str bytes = flatten(&out);
    struct rng rng = rng_seed(1);
    for (int i = 0; i < 20000; i++) {
        struct str copy;
        str_init(&copy);
        str_append(&copy, bytes.data, bytes.length);
        for (uint64_t flips = 1 + rng_below(&rng, 3); flips; flips--)
            copy.data[rng_below(&rng, copy.length)] ^= (char)(1 << rng_below(&rng, 8));
        copy.length -= rng_below(&rng, 2) ? rng_below(&rng, copy.length) : 0;
        struct wire_limits limits = {.message = 1 << 16, .payload = 1 << 20};
        struct wire_decoder *decoder = wire_decoder_new(true, &limits);
        struct wire_message message;
        size_t at = 0;
        wire_decoder_share(decoder, memory, (struct wire_place){HALF, HALF});
        while (decode(decoder, &copy, &at, 1 + rng_below(&rng, 40), &message, NULL) == 1)
            wire_message_release(&message);
        wire_decoder_free(decoder);
        str_release(&copy);
    }
    free(memory);
    value_release(&large);
    str_release(&bytes);
    wire_bounds_release(&bounds[0]);
    value_release(&values[0]);
    value_release(&values[1]);
}

static void writing_goes_on_where_it_blocked(void **state)
{
    (void)state;
    struct value value = make_value("x", DTYPE_UINT8, 5 << 20);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    struct wire_out out;
    struct wire_decoder *decoder = wire_decoder_new(false, NULL);
    struct wire_message message;
    wire_out_init(&out);
    wire_put_run(&out, 1, &value, 1, WIRE_NO_BOUNDS);
    int written = 0, decoded = 0;
    char *buffer = memory_zeroed(1, 1 << 16);
    while (!decoded) {
        if (!written)
            written = wire_out_write(&out, ends[1], NULL);
        assert_true(written >= 0);
        ssize_t got = read(ends[0], buffer, 1 << 16);
        assert_true(got > 0);
        size_t used;
        decoded = wire_decode(decoder, buffer, (size_t)got, &used, &message, NULL);
        assert_true(decoded >= 0);
    }
    assert_true(wire_out_empty(&out));
    assert_values_equal(message.values, &value, 1);
    wire_message_release(&message);
    wire_decoder_free(decoder);
    wire_out_release(&out);
    value_release(&value);
    free(buffer);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_survive_any_portions),
        cmocka_unit_test(replies_carry_bounds),
        cmocka_unit_test(payloads_may_lie_in_shared_memory),
        cmocka_unit_test(what_does_not_fit_or_is_small_follows),
        cmocka_unit_test(lies_are_refused),
        cmocka_unit_test(lies_about_places_are_refused),
        cmocka_unit_test(bad_frames_are_refused),
        cmocka_unit_test(unpacking_is_bounded),
        cmocka_unit_test(every_cut_and_flip_is_survived),
        cmocka_unit_test(writing_goes_on_where_it_blocked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
