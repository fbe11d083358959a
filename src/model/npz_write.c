#include "model/npz_write.h"

#include "tensor/npy.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

/* Fields of ZIP's records, little-endian. 1980-01-01 is the earliest date there. */
enum { VERSION = 20, NO_TIME = 0, FIRST_DAY = 0x21, STORED = 0 };
static const size_t most_bytes = 0xffffffff;
enum { MOST_FILES = 0xffff, MOST_NAME = 1000 };

static void put(struct str *out, uint64_t value, int bytes)
{
    for (; bytes > 0; bytes--, value >>= 8) {
        char byte = (char)(value & 0xff);
        str_append(out, &byte, 1);
    }
}

/* What a file's own header and its entry in the directory have in common. */
static void put_facts(struct str *out, uint32_t crc, size_t size, size_t name)
{
    put(out, VERSION, 2);
    put(out, 0, 2);
    put(out, STORED, 2);
    put(out, NO_TIME, 2);
    put(out, FIRST_DAY, 2);
    put(out, crc, 4);
    put(out, size, 4);
    put(out, size, 4);
    put(out, name, 2);
    put(out, 0, 2);
}

static void put_entry(struct str *directory, const char *name, uint32_t crc, size_t size, size_t offset)
{
    put(directory, 0x02014b50, 4);
    put(directory, VERSION, 2);
    put_facts(directory, crc, size, strlen(name));
    put(directory, 0, 2 + 2 + 2 + 4);
    put(directory, offset, 4);
    str_add(directory, name);
}

static int put_array(struct str *out, struct str *directory, const char *name, const struct tensor *tensor,
                     struct error *err)
{
    struct str header, file;
    str_init(&header);
    str_init(&file);
    int status = npy_header(tensor, &header, err);
    str_printf(&file, "%s.npy", name);
    size_t size = header.length + tensor->size;
    if (!status && size > most_bytes - out->length - directory->length - 2 * file.length - 200)
        status = error_set(err, ERROR_LIMIT, "%.60s does not fit into a .npz file of 4 GB", name);
    if (!status) {
        uLong crc = crc32(0, (const Bytef *)header.data, (uInt)header.length);
        if (tensor->size)
            crc = crc32(crc, tensor->data, (uInt)tensor->size);
        put_entry(directory, file.data, (uint32_t)crc, size, out->length);
        put(out, 0x04034b50, 4);
        put_facts(out, (uint32_t)crc, size, file.length);
        str_append(out, file.data, file.length);
        str_append(out, header.data, header.length);
        str_append(out, tensor->data, tensor->size);
    }
    str_release(&header);
    str_release(&file);
    return status;
}

static int put_value(struct str *out, struct str *directory, const struct value *value, size_t *count,
                     struct error *err)
{
    int status = 0;
    for (size_t k = 0; k < value->count && !status; k++) {
        struct str name;
        str_init(&name);
        str_add(&name, value->name ? value->name : "");
        if (value->kind == VALUE_SEQUENCE)
            str_printf(&name, "[%zu]", k);
        /* NumPy's format holds no texts of any length, and readers take no longer names. */
        if (value->tensors[k].type != DTYPE_STRING && name.length <= MOST_NAME) {
            status = put_array(out, directory, name.data, &value->tensors[k], err);
            ++*count;
        }
        str_release(&name);
    }
    return status;
}

int npz_pack(const struct value *values, size_t n_values, struct str *out, struct error *err)
{
    struct str directory;
    size_t count = 0;
    int status = 0;
    str_init(&directory);
    for (size_t i = 0; i < n_values && !status; i++)
        status = put_value(out, &directory, &values[i], &count, err);
    if (!status && count > MOST_FILES)
        status =
            error_set(err, ERROR_LIMIT, "a .npz file holds %d arrays at most, not %zu", MOST_FILES, count);
    size_t start = out->length;
    str_append(out, directory.data, directory.length);
    put(out, 0x06054b50, 4);
    put(out, 0, 2 + 2);
    put(out, count, 2);
    put(out, count, 2);
    put(out, directory.length, 4);
    put(out, start, 4);
    put(out, 0, 2);
    str_release(&directory);
    return status;
}

int npz_write(const struct folder *in, const char *name, const struct value *values, size_t count,
              struct error *err)
{
    struct str bytes;
    str_init(&bytes);
    int status = npz_pack(values, count, &bytes, err);
    if (!status)
        status = folder_write(in, name, bytes.data, bytes.length, err);
    str_release(&bytes);
    return status;
}
