#include "model/npz.h"

#include "base/clean.h"
#include "tensor/npy.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    END_SIZE = 22, /* the record at the end of the archive, behind which a comment may follow */
    END_COMMENT = 0xffff,
    ENTRY_SIZE = 46,
    LOCAL_SIZE = 30,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1,
    MOST_NAME = 1000,
};
static const uint32_t end_mark = 0x06054b50, entry_mark = 0x02014b50, local_mark = 0x04034b50,
                      in_zip64 = 0xffffffff;

/* Deflate packs at most 1032 bytes into one. */
static const size_t most_inflated = 1032, slack = 64;

static uint32_t number(const uint8_t *at, int bytes)
{
    uint32_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static int broken(struct error *err, const char *what)
{
    return error_set(err, ERROR_FORMAT, "not a .npz file: %s", what);
}

/* The record that closes the archive; NULL when there is none. */
static const uint8_t *find_end(const struct npz *npz)
{
    if (npz->bytes < END_SIZE)
        return NULL;
    for (size_t back = END_SIZE; back <= npz->bytes && back <= END_SIZE + END_COMMENT; back++) {
        const uint8_t *at = npz->data + npz->bytes - back;
        if (number(at, 4) == end_mark && number(at + 20, 2) == back - END_SIZE)
            return at;
    }
    return NULL;
}

/* The name without ".npy", cleaned: it may be shown. */
static const char *array_name(struct npz *npz, const uint8_t *text, size_t length)
{
    struct str clean;
    char *raw = arena_alloc(&npz->arena, length + 1);
    memcpy(raw, text, length);
    raw[length] = '\0';
    str_init(&clean);
    clean_add(&clean, raw);
    if (!text_ends(clean.data, ".npy") || strlen(raw) != length) {
        str_release(&clean);
        return NULL;
    }
    char *name = arena_strdup(&npz->arena, clean.data);
    name[clean.length - strlen(".npy")] = '\0';
    str_release(&clean);
    return name;
}

static int add_entry(struct npz *npz, const uint8_t *at, const uint8_t *name, struct error *err)
{
    struct npz_array array = {
        .method = number(at + 10, 2),
        .crc = number(at + 16, 4),
        .packed = number(at + 20, 4),
        .size = number(at + 24, 4),
        .offset = number(at + 42, 4),
        .name = array_name(npz, name, number(at + 28, 2)),
    };
    if (!array.name)
        return 0;
    if (array.packed == in_zip64 || array.size == in_zip64 || array.offset == in_zip64)
        return error_set(err, ERROR_UNSUPPORTED,
                         "array %s is too large for the plain ZIP format: save it as a .npy file of its own",
                         array.name);
    if (number(at + 8, 2) & ENCRYPTED)
        return error_set(err, ERROR_UNSUPPORTED, "array %s is encrypted", array.name);
    if (array.method != STORED && array.method != DEFLATED)
        return error_set(err, ERROR_UNSUPPORTED,
                         "array %s is packed by method %u; NumPy's savez and savez_compressed are read",
                         array.name, array.method);
    if (!map_set(&npz->names, array.name, npz->count))
        return error_set(err, ERROR_FORMAT, "there are two arrays called %s", array.name);
    npz->arrays[npz->count++] = array;
    return 0;
}

static int read_directory(struct npz *npz, struct error *err)
{
    const uint8_t *end = find_end(npz);
    if (!end)
        return broken(err, "it has no directory of an archive");
    size_t entries = number(end + 10, 2), size = number(end + 12, 4), start = number(end + 16, 4);
    size_t before = (size_t)(end - npz->data);
    if (start > before || size > before - start)
        return broken(err, "its directory lies outside of the file");
    npz->arrays = arena_array(&npz->arena, entries + 1, sizeof *npz->arrays);
    const uint8_t *at = npz->data + start, *limit = at + size;
    for (size_t i = 0; i < entries; i++) {
        if (limit - at < ENTRY_SIZE || number(at, 4) != entry_mark)
            return broken(err, "its directory is cut off");
        size_t name = number(at + 28, 2), rest = number(at + 30, 2) + number(at + 32, 2);
        if ((size_t)(limit - at) < ENTRY_SIZE + name + rest || name > MOST_NAME)
            return broken(err, "a name in its directory is too long");
        if (add_entry(npz, at, at + ENTRY_SIZE, err))
            return -1;
        at += ENTRY_SIZE + name + rest;
    }
    return 0;
}

int npz_parse(struct npz *npz, const void *data, size_t size, struct error *err)
{
    *npz = (struct npz){.data = data, .bytes = size};
    arena_init(&npz->arena);
    return read_directory(npz, err);
}

int npz_open(struct npz *npz, const char *path, struct error *err)
{
    struct file_map map;
    *npz = (struct npz){0};
    arena_init(&npz->arena);
    if (file_map_open(&map, path, err))
        return -1;
    arena_release(&npz->arena);
    int status = npz_parse(npz, map.data, map.size, err);
    npz->map = map;
    return status ? error_prefix(err, "%s", path) : 0;
}

void npz_close(struct npz *npz)
{
    if (npz->map.data)
        file_map_close(&npz->map);
    map_release(&npz->names);
    arena_release(&npz->arena);
    *npz = (struct npz){0};
}

const struct npz_array *npz_find(const struct npz *npz, const char *name)
{
    size_t number;
    return map_get(&npz->names, name, &number) ? &npz->arrays[number] : NULL;
}

/* The packed bytes of an array; NULL when they lie outside of the file. */
static const uint8_t *packed_bytes(const struct npz *npz, const struct npz_array *array)
{
    if (array->offset > npz->bytes || npz->bytes - array->offset < LOCAL_SIZE)
        return NULL;
    const uint8_t *local = npz->data + array->offset;
    size_t left = npz->bytes - array->offset - LOCAL_SIZE;
    size_t head = number(local + 26, 2) + number(local + 28, 2);
    if (number(local, 4) != local_mark || head > left || array->packed > left - head)
        return NULL;
    return local + LOCAL_SIZE + head;
}

/* Inflates to exactly `size` bytes. */
static bool inflate_all(const uint8_t *from, size_t packed, uint8_t *to, size_t size)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)from,
                       .avail_in = (uInt)packed,
                       .next_out = to,
                       .avail_out = (uInt)size};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return false;
    int end = inflate(&stream, Z_FINISH);
    bool whole = end == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0;
    inflateEnd(&stream);
    return whole;
}

static int unpack(const struct npz_array *array, const uint8_t *from, uint8_t **bytes, struct error *err)
{
    bool stored = array->method == STORED;
    if (stored ? array->size != array->packed : array->size / most_inflated > array->packed + slack)
        return error_set(err, ERROR_FORMAT, "array %s: %zu packed bytes cannot hold %zu", array->name,
                         array->packed, array->size);
    if (array->size > TENSOR_DEFAULT_LIMIT || !(*bytes = malloc(array->size + 1)))
        return error_set(err, ERROR_LIMIT, "array %s of %zu bytes is too large", array->name, array->size);
    if (stored)
        memcpy(*bytes, from, array->size);
    else if (!inflate_all(from, array->packed, *bytes, array->size))
        return error_set(err, ERROR_FORMAT, "array %s cannot be inflated to the %zu bytes it should have",
                         array->name, array->size);
    if (crc32(0, *bytes, (uInt)array->size) != array->crc)
        return error_set(err, ERROR_FORMAT, "array %s is damaged: its checksum is wrong", array->name);
    return 0;
}

int npz_read(const struct npz *npz, const struct npz_array *array, struct tensor *tensor, struct error *err)
{
    uint8_t *bytes = NULL;
    tensor_init(tensor);
    const uint8_t *from = packed_bytes(npz, array);
    if (!from)
        return error_set(err, ERROR_FORMAT, "array %s lies outside of the file", array->name);
    int status = unpack(array, from, &bytes, err);
    if (status == 0 && npy_parse(bytes, array->size, tensor, err))
        status = error_prefix(err, "array %s", array->name);
    free(bytes);
    return status;
}
