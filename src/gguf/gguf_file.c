#include "gguf/gguf_file.h"

#include "base/file.h"

#include <inttypes.h>
#include <string.h>

/* LEAST_ITEM: the bytes of the shortest key with its value. */
enum { MOST_ITEMS = 1 << 20, LEAST_ITEM = 13, ALIGNMENT = 32, MOST_TEXT = 1 << 16 };

/* Numbers of the kinds of values. */
enum kind {
    KIND_UINT8,
    KIND_INT8,
    KIND_UINT16,
    KIND_INT16,
    KIND_UINT32,
    KIND_INT32,
    KIND_FLOAT32,
    KIND_BOOL,
    KIND_TEXT,
    KIND_ARRAY,
    KIND_UINT64,
    KIND_INT64,
    KIND_FLOAT64,
    KINDS
};
static const enum dtype dtypes[KINDS] = {
    [KIND_UINT8] = DTYPE_UINT8,   [KIND_INT8] = DTYPE_INT8,      [KIND_UINT16] = DTYPE_UINT16,
    [KIND_INT16] = DTYPE_INT16,   [KIND_UINT32] = DTYPE_UINT32,  [KIND_INT32] = DTYPE_INT32,
    [KIND_FLOAT32] = DTYPE_FLOAT, [KIND_BOOL] = DTYPE_BOOL,      [KIND_UINT64] = DTYPE_UINT64,
    [KIND_INT64] = DTYPE_INT64,   [KIND_FLOAT64] = DTYPE_DOUBLE,
};

/* --- Reading --- */

/* What is left to read. */
struct cursor {
    const uint8_t *at;
    size_t left;
    struct error *err;
};

/* The next bytes; NULL, with the error set, when there are not that many. */
static const uint8_t *take(struct cursor *cursor, uint64_t size)
{
    if (size > cursor->left) {
        error_set(cursor->err, ERROR_FORMAT, "the file ends within its header");
        return NULL;
    }
    const uint8_t *taken = cursor->at;
    cursor->at += size;
    cursor->left -= (size_t)size;
    return taken;
}

static int take_uint32(struct cursor *cursor, uint32_t *number)
{
    const uint8_t *bytes = take(cursor, sizeof *number);
    if (bytes)
        memcpy(number, bytes, sizeof *number);
    return bytes ? 0 : -1;
}

static int take_uint64(struct cursor *cursor, uint64_t *number)
{
    const uint8_t *bytes = take(cursor, sizeof *number);
    if (bytes)
        memcpy(number, bytes, sizeof *number);
    return bytes ? 0 : -1;
}

/* A copy of the next text; NUL bytes end it. */
static const char *take_text(struct cursor *cursor, struct arena *arena)
{
    uint64_t length;
    const uint8_t *bytes = take_uint64(cursor, &length) ? NULL : take(cursor, length);
    if (!bytes)
        return NULL;
    if (length > MOST_TEXT)
        length = MOST_TEXT; /* a template of chats, which nobody asks for */
    return arena_printf(arena, "%.*s", (int)length, (const char *)bytes);
}

static int skip_array(struct cursor *cursor)
{
    uint32_t kind;
    uint64_t count, length;
    if (take_uint32(cursor, &kind) || take_uint64(cursor, &count))
        return -1;
    if (kind >= KINDS || kind == KIND_ARRAY)
        return error_set(cursor->err, ERROR_FORMAT, "the file has an array of kind %u", kind);
    if (kind != KIND_TEXT)
        return count > cursor->left || !take(cursor, count * dtype_size(dtypes[kind]))
                   ? error_set(cursor->err, ERROR_FORMAT, "the file ends within an array")
                   : 0;
    for (uint64_t i = 0; i < count; i++)
        if (take_uint64(cursor, &length) || !take(cursor, length))
            return -1;
    return 0;
}

static int take_value(struct cursor *cursor, struct arena *arena, struct gguf_value *value)
{
    uint32_t kind;
    *value = (struct gguf_value){.kind = GGUF_OTHER};
    if (take_uint32(cursor, &kind))
        return -1;
    if (kind == KIND_ARRAY)
        return skip_array(cursor);
    if (kind >= KINDS)
        return error_set(cursor->err, ERROR_FORMAT, "the file has a value of kind %u", kind);
    if (kind == KIND_TEXT) {
        value->kind = GGUF_TEXT;
        value->text = take_text(cursor, arena);
        return value->text ? 0 : -1;
    }
    size_t size = dtype_size(dtypes[kind]);
    const uint8_t *bytes = take(cursor, size);
    if (!bytes)
        return -1;
    struct tensor view = {.type = dtypes[kind], .count = 1, .size = size, .data = (void *)bytes};
    value->kind = GGUF_NUMBER;
    value->number = (double)tensor_get(&view, 0);
    return 0;
}

static int take_keys(struct gguf_file *file, struct cursor *cursor, uint64_t count)
{
    file->values = arena_array(&file->arena, (size_t)count, sizeof *file->values);
    for (uint64_t i = 0; i < count; i++) {
        const char *key = take_text(cursor, &file->arena);
        if (!key || take_value(cursor, &file->arena, &file->values[i]))
            return -1;
        map_set(&file->keys, key, (size_t)i);
    }
    return 0;
}

static int take_tensor(struct gguf_file *file, struct cursor *cursor, struct gguf_tensor *tensor,
                       uint64_t *offset)
{
    uint32_t rank;
    uint64_t count = 1;
    tensor->name = take_text(cursor, &file->arena);
    if (!tensor->name || take_uint32(cursor, &rank))
        return -1;
    if (rank < 1 || rank > GGUF_RANK)
        return error_set(cursor->err, ERROR_FORMAT, "tensor %s has %u dimensions", tensor->name, rank);
    tensor->rank = (int)rank;
    for (uint32_t i = 0; i < GGUF_RANK; i++) {
        tensor->dims[i] = 1;
        if (i < rank && take_uint64(cursor, &tensor->dims[i]))
            return -1;
        if (__builtin_mul_overflow(count, tensor->dims[i], &count) || count > SIZE_MAX / 8)
            return error_set(cursor->err, ERROR_FORMAT, "tensor %s is too large", tensor->name);
    }
    tensor->count = (size_t)count;
    if (take_uint32(cursor, &tensor->number) || take_uint64(cursor, offset))
        return -1;
    tensor->type = block_type_of(tensor->number);
    return 0;
}

/* Where the tensor's data lies, which must be inside the file. */
static int place(struct gguf_tensor *tensor, const struct cursor *data, uint64_t offset)
{
    if (!tensor->type)
        return 0;
    size_t blocks = tensor->count / tensor->type->elements, size;
    bool whole = tensor->dims[0] % tensor->type->elements == 0;
    if (!whole || __builtin_mul_overflow(blocks, tensor->type->bytes, &size) || offset > data->left ||
        size > data->left - offset)
        return error_set(data->err, ERROR_FORMAT,
                         "tensor %s reaches beyond the end of the file, or into a "
                         "part of a block",
                         tensor->name);
    tensor->data = data->at + offset;
    return 0;
}

static int align(const struct gguf_file *file, struct cursor *cursor)
{
    double alignment = ALIGNMENT;
    gguf_number(file, "general.alignment", &alignment);
    if (!(alignment >= 1 && alignment <= MOST_TEXT))
        return error_set(cursor->err, ERROR_FORMAT, "its alignment is %g", alignment);
    size_t step = (size_t)alignment, past = (size_t)(cursor->at - file->map.data) % step;
    size_t gap = past ? step - past : 0;
    return gap <= cursor->left && !take(cursor, gap) ? -1 : 0; /* without tensors nothing need follow */
}

static int take_tensors(struct gguf_file *file, struct cursor *cursor)
{
    uint64_t *offsets = arena_array(&file->arena, file->n_tensors, sizeof *offsets);
    file->tensors = arena_array(&file->arena, file->n_tensors, sizeof *file->tensors);
    for (size_t i = 0; i < file->n_tensors; i++) {
        if (take_tensor(file, cursor, &file->tensors[i], &offsets[i]))
            return -1;
        map_set(&file->names, file->tensors[i].name, i);
    }
    if (align(file, cursor))
        return -1;
    for (size_t i = 0; i < file->n_tensors; i++)
        if (place(&file->tensors[i], cursor, offsets[i]))
            return -1;
    return 0;
}

static int take_file(struct gguf_file *file, struct cursor *cursor)
{
    uint64_t tensors, keys;
    const uint8_t *magic = cursor->left < 4 ? NULL : take(cursor, 4);
    if (!magic || memcmp(magic, "GGUF", 4) != 0)
        return error_set(cursor->err, ERROR_FORMAT, "it is no GGUF file");
    if (take_uint32(cursor, &file->version))
        return -1;
    if (file->version != 2 && file->version != 3)
        return error_set(cursor->err, ERROR_UNSUPPORTED,
                         "it is a GGUF file of version %u; those of version 2 and 3, little-endian, are read",
                         file->version);
    if (take_uint64(cursor, &tensors) || take_uint64(cursor, &keys))
        return -1;
    if (tensors > MOST_ITEMS || keys > MOST_ITEMS || tensors + keys > cursor->left / LEAST_ITEM)
        return error_set(cursor->err, ERROR_LIMIT,
                         "it tells of %" PRIu64 " tensors and %" PRIu64
                         " keys, more than it can hold or than are "
                         "read",
                         tensors, keys);
    file->n_tensors = (size_t)tensors;
    return take_keys(file, cursor, keys) || take_tensors(file, cursor) ? -1 : 0;
}

int gguf_file_open(struct gguf_file *file, const char *path, struct error *err)
{
    *file = (struct gguf_file){0};
    arena_init(&file->arena);
    map_init(&file->keys);
    map_init(&file->names);
    if (file_map_open(&file->map, path, err))
        return -1;
    struct cursor cursor = {file->map.data, file->map.size, err};
    return take_file(file, &cursor) ? error_prefix(err, "%s", path) : 0;
}

void gguf_file_close(struct gguf_file *file)
{
    map_release(&file->keys);
    map_release(&file->names);
    arena_release(&file->arena);
    file_map_close(&file->map);
    *file = (struct gguf_file){0};
}

const struct gguf_tensor *gguf_find(const struct gguf_file *file, const char *name)
{
    size_t number;
    return map_get(&file->names, name, &number) ? &file->tensors[number] : NULL;
}

static const struct gguf_value *value_of(const struct gguf_file *file, const char *key)
{
    size_t number;
    return map_get(&file->keys, key, &number) ? &file->values[number] : NULL;
}

bool gguf_number(const struct gguf_file *file, const char *key, double *number)
{
    const struct gguf_value *value = value_of(file, key);
    if (!value || value->kind != GGUF_NUMBER)
        return false;
    *number = value->number;
    return true;
}

bool gguf_text(const struct gguf_file *file, const char *key, const char **text)
{
    const struct gguf_value *value = value_of(file, key);
    if (!value || value->kind != GGUF_TEXT)
        return false;
    *text = value->text;
    return true;
}

/* --- Writing --- */

void gguf_draft_init(struct gguf_draft *draft)
{
    *draft = (struct gguf_draft){0};
    str_init(&draft->keys);
    str_init(&draft->tensors);
}

void gguf_draft_release(struct gguf_draft *draft)
{
    str_release(&draft->keys);
    str_release(&draft->tensors);
}

static void put_uint32(struct str *out, uint32_t number)
{
    str_append(out, &number, sizeof number);
}

static void put_uint64(struct str *out, uint64_t number)
{
    str_append(out, &number, sizeof number);
}

static void put_text(struct str *out, const char *text)
{
    put_uint64(out, strlen(text));
    str_add(out, text);
}

static void put_key(struct gguf_draft *draft, const char *key, enum kind kind)
{
    put_text(&draft->keys, key);
    put_uint32(&draft->keys, kind);
    draft->n_keys++;
}

void gguf_add_text(struct gguf_draft *draft, const char *key, const char *text)
{
    put_key(draft, key, KIND_TEXT);
    put_text(&draft->keys, text);
}

void gguf_add_whole(struct gguf_draft *draft, const char *key, uint32_t number)
{
    put_key(draft, key, KIND_UINT32);
    put_uint32(&draft->keys, number);
}

void gguf_add_real(struct gguf_draft *draft, const char *key, float number)
{
    put_key(draft, key, KIND_FLOAT32);
    str_append(&draft->keys, &number, sizeof number);
}

static uint64_t padding(uint64_t size)
{
    return (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT;
}

void gguf_announce(struct gguf_draft *draft, const char *name, int rank, const uint64_t *dims,
                   const struct block_type *type)
{
    uint64_t count = 1;
    put_text(&draft->tensors, name);
    put_uint32(&draft->tensors, (uint32_t)rank);
    for (int i = 0; i < rank; i++) {
        put_uint64(&draft->tensors, dims[i]);
        count *= dims[i];
    }
    put_uint32(&draft->tensors, type->number);
    put_uint64(&draft->tensors, draft->offset);
    uint64_t size = count / type->elements * type->bytes;
    draft->offset += size + padding(size);
    draft->n_tensors++;
}

static void write_padding(uint64_t size, FILE *stream)
{
    static const char zeros[ALIGNMENT] = {0};
    fwrite(zeros, 1, (size_t)padding(size), stream);
}

void gguf_write_header(const struct gguf_draft *draft, FILE *stream)
{
    struct str head;
    str_init(&head);
    str_add(&head, "GGUF");
    put_uint32(&head, 3);
    put_uint64(&head, draft->n_tensors);
    put_uint64(&head, draft->n_keys);
    str_append(&head, draft->keys.data, draft->keys.length);
    str_append(&head, draft->tensors.data, draft->tensors.length);
    fwrite(head.data, 1, head.length, stream);
    write_padding(head.length, stream);
    str_release(&head);
}

void gguf_write_data(const void *data, size_t size, FILE *stream)
{
    fwrite(data, 1, size, stream);
    write_padding(size, stream);
}
