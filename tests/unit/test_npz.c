/* NumPy's .npz files: what savez and savez_compressed write, and archives that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "model/npz.h"
#include "model/npz_write.h"
#include "tensor/npy.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void put(struct str *out, size_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        str_append(out, &(char){(char)(i < 8 ? number >> 8 * i : 0)}, 1);
}

/* One file of an archive; what is not set is as it should be. */
struct member {
    const char *name;
    const char *data;
    size_t size;
    bool deflated;
    long claimed, crc, offset, flags, method; /* set: written instead of the truth */
};

static void deflate_all(struct str *out, const char *data, size_t size)
{
    z_stream stream = {0};
    size_t room = compressBound((uLong)size) + 64;
    Bytef *packed = malloc(room);
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)data;
    stream.avail_in = (uInt)size;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    str_append(out, (char *)packed, stream.total_out);
    deflateEnd(&stream);
    free(packed);
}

static void archive(struct str *out, const struct member *members, size_t count)
{
    struct str directory;
    str_init(&directory);
    for (size_t i = 0; i < count; i++) {
        const struct member *m = &members[i];
        struct str packed;
        size_t start = out->length, name = strlen(m->name);
        str_init(&packed);
        if (m->deflated)
            deflate_all(&packed, m->data, m->size);
        else
            str_append(&packed, m->data, m->size);
        size_t method = m->method ? (size_t)m->method : m->deflated ? 8 : 0;
        size_t crc = m->crc ? (size_t)m->crc : crc32(0, (const Bytef *)m->data, (uInt)m->size);
        size_t size = m->claimed ? (size_t)m->claimed : m->size;
        put(out, 0x04034b50, 4), put(out, 0, 22), put(out, name, 2), put(out, 0, 2);
        str_append(out, m->name, name);
        str_append(out, packed.data, packed.length);
        put(&directory, 0x02014b50, 4), put(&directory, 0, 4), put(&directory, (size_t)m->flags, 2);
        put(&directory, method, 2), put(&directory, 0, 4), put(&directory, crc, 4);
        put(&directory, packed.length, 4), put(&directory, size, 4), put(&directory, name, 2);
        put(&directory, 0, 12), put(&directory, m->offset ? (size_t)m->offset : start, 4);
        str_append(&directory, m->name, name);
        str_release(&packed);
    }
    size_t start = out->length;
    str_append(out, directory.data, directory.length);
    put(out, 0x06054b50, 4), put(out, 0, 4), put(out, count, 2), put(out, count, 2);
    put(out, directory.length, 4), put(out, start, 4), put(out, 0, 2);
    str_release(&directory);
}

/* A .npy file of `count` zeros of float32. */
static void zeros(struct str *out, size_t count)
{
    struct tensor tensor;
    struct shape shape = shape_make(1, (int64_t[]){(int64_t)count});
    assert_int_equal(tensor_alloc(&tensor, DTYPE_FLOAT, &shape, 0, NULL), 0);
    assert_int_equal(npy_header(&tensor, out, NULL), 0);
    str_append(out, tensor.data, tensor.size);
    tensor_release(&tensor);
}

static void stored_and_deflated(void **state)
{
    (void)state;
    struct str npy, file;
    struct npz npz;
    struct tensor tensor;
    str_init(&npy);
    str_init(&file);
    zeros(&npy, 1000);
    const struct member members[] = {
        {.name = "x.npy", .data = npy.data, .size = npy.length},
        {.name = "readme.txt", .data = "no array", .size = 8},
        {.name = "../y.npy", .data = npy.data, .size = npy.length, .deflated = true}};
    archive(&file, members, 3);
    assert_int_equal(npz_parse(&npz, file.data, file.length, NULL), 0);
    assert_int_equal(npz.count, 2);
    assert_null(npz_find(&npz, "y"));
    for (size_t i = 0; i < 2; i++) {
        const struct npz_array *array = npz_find(&npz, i ? "../y" : "x");
        assert_non_null(array);
        assert_int_equal(npz_read(&npz, array, &tensor, NULL), 0);
        assert_int_equal(tensor.count, 1000);
        tensor_release(&tensor);
    }
    npz_close(&npz);
    str_release(&npy);
    str_release(&file);
}

/* The archive is refused as a whole, or the array is, with these words. */
static void refused(const struct member *member, size_t count, const char *words)
{
    struct member members[2] = {*member, *member};
    struct str file;
    struct npz npz;
    struct tensor tensor;
    struct error err = {0};
    str_init(&file);
    archive(&file, members, count);
    int status = npz_parse(&npz, file.data, file.length, &err);
    if (!status) {
        assert_int_equal(npz.count, 1);
        status = npz_read(&npz, &npz.arrays[0], &tensor, &err);
        tensor_release(&tensor);
    }
    assert_int_equal(status, -1);
    assert_non_null(strstr(err.message, words));
    npz_close(&npz);
    str_release(&file);
}

static void lies(void **state)
{
    (void)state;
    struct str npy;
    str_init(&npy);
    zeros(&npy, 100000);
    struct member good = {.name = "x.npy", .data = npy.data, .size = npy.length, .deflated = true}, bad;
#define REFUSED(words, ...)                                                                     \
    (bad = (struct member){.name = "x.npy", .data = npy.data, .size = npy.length, __VA_ARGS__}, \
     refused(&bad, 1, words))
    REFUSED("cannot hold", .deflated = true, .claimed = 0x7fffffff); /* more than deflate can make of it */
    REFUSED("cannot be inflated", .deflated = true, .claimed = 400);
    REFUSED("cannot be inflated", .deflated = true, .claimed = (long)npy.length + 1);
    REFUSED("cannot hold", .claimed = 400);
    REFUSED("checksum", .deflated = true, .crc = 1);
    REFUSED("outside of the file", .offset = 0x7ffffff0);
    REFUSED("outside of the file", .offset = 7);
    REFUSED("encrypted", .flags = 1);
    REFUSED("method 99", .method = 99);
    REFUSED("plain ZIP", .claimed = 0xffffffff);
    REFUSED("cannot be inflated", .method = 8);
    refused(&good, 2, "two arrays called x");
    bad = (struct member){.name = "x.npy", .data = "no array", .size = 8};
    refused(&bad, 1, "array x: not a .npy file");
    str_release(&npy);
}

/* Cut anywhere, or with any byte changed, it is refused or read, and nothing else. */
static void damaged(void **state)
{
    (void)state;
    struct str npy, file;
    str_init(&npy);
    str_init(&file);
    zeros(&npy, 4);
    struct member member = {.name = "x.npy", .data = npy.data, .size = npy.length, .deflated = true};
    archive(&file, &member, 1);
    for (size_t i = 0; i < 2 * file.length; i++) {
        struct npz npz;
        struct tensor tensor;
        bool cut = i >= file.length;
        char *copy = malloc(file.length);
        memcpy(copy, file.data, file.length);
        copy[i % file.length] = (char)(copy[i % file.length] ^ (cut ? 0 : 0x81));
        if (npz_parse(&npz, copy, cut ? i - file.length : file.length, NULL) == 0)
            for (size_t k = 0; k < npz.count; k++) {
                npz_read(&npz, &npz.arrays[k], &tensor, NULL);
                tensor_release(&tensor);
            }
        npz_close(&npz);
        free(copy);
    }
    str_release(&npy);
    str_release(&file);
}

/* What is written is read again, and is the same bytes each time. */
static void written_and_read(void **state)
{
    (void)state;
    struct str file, again;
    struct npz npz;
    struct tensor tensors[3], back;
    struct value values[] = {
        {.name = (char[]){"/conv/Conv_output_0"}, .kind = VALUE_TENSOR, .count = 1, .tensors = &tensors[0]},
        {.name = (char[]){"s"}, .kind = VALUE_SEQUENCE, .count = 2, .tensors = &tensors[1]},
        {.name = (char[]){"absent"}, .kind = VALUE_NONE}};
    static const enum dtype types[] = {DTYPE_FLOAT, DTYPE_INT64, DTYPE_BOOL};
    for (size_t i = 0; i < 3; i++) {
        struct shape shape = shape_make(2, (int64_t[]){2, (int64_t)i});
        assert_int_equal(tensor_alloc(&tensors[i], types[i], &shape, 0, NULL), 0);
        for (size_t k = 0; k < tensors[i].count; k++)
            tensor_set(&tensors[i], k, 1);
    }
    str_init(&file);
    str_init(&again);
    assert_int_equal(npz_pack(values, 3, &file, NULL), 0);
    assert_int_equal(npz_pack(values, 3, &again, NULL), 0);
    assert_int_equal(file.length, again.length);
    assert_memory_equal(file.data, again.data, file.length);
    assert_int_equal(npz_parse(&npz, file.data, file.length, NULL), 0);
    assert_int_equal(npz.count, 3);
    static const char *const names[] = {"/conv/Conv_output_0", "s[0]", "s[1]"};
    for (size_t i = 0; i < 3; i++) {
        const struct npz_array *array = npz_find(&npz, names[i]);
        assert_non_null(array);
        assert_int_equal(npz_read(&npz, array, &back, NULL), 0);
        assert_true(tensor_identical(&back, &tensors[i]));
        tensor_release(&back);
        tensor_release(&tensors[i]);
    }
    npz_close(&npz);
    str_release(&file);
    str_release(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stored_and_deflated), cmocka_unit_test(lies),
                                       cmocka_unit_test(damaged), cmocka_unit_test(written_and_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
