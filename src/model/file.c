#include "model/file.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct shared_bytes {
    size_t users;
    struct file_map map;
    bool heap;    /* allocated rather than mapped */
    dev_t device; /* of external data: which file was mapped */
    ino_t inode;  /* on it */
};

struct model_file {
    struct model_file *next;
    const char *location; /* of external data, below the model's folder; NULL for the model's own bytes */
    struct shared_bytes *bytes;
};

/* Appends the file, so that a model and its copies number their files alike. */
static struct model_file *append_file(struct model *model, const char *location, struct shared_bytes *bytes)
{
    struct model_file *file = arena_alloc(&model->arena, sizeof *file);
    *file = (struct model_file){.location = location ? arena_strdup(&model->arena, location) : NULL,
                                .bytes = bytes};
    struct model_file **end = &model->files;
    while (*end)
        end = &(*end)->next;
    *end = file;
    return file;
}

static struct model_file *add_file(struct model *model, const char *location, struct shared_bytes bytes)
{
    struct shared_bytes *shared = memory_zeroed(1, sizeof *shared);
    *shared = bytes;
    shared->users = 1;
    return append_file(model, location, shared);
}

struct model_file *model_file_map(struct model *model, const struct folder *in, const char *name,
                                  struct error *err)
{
    struct file_map map;
    if (folder_map(&map, in, name, err))
        return NULL;
    return add_file(model, NULL, (struct shared_bytes){.map = map});
}

struct model_file *model_file_copy(struct model *model, const void *data, size_t size, struct error *err)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) {
        error_set(err, ERROR_MEMORY, "no memory for a model of %zu bytes", size);
        return NULL;
    }
    memcpy(copy, data, size);
    return add_file(model, NULL, (struct shared_bytes){.map = {copy, size}, .heap = true});
}

const uint8_t *model_file_data(const struct model_file *file, size_t *size)
{
    *size = file->bytes->map.size;
    return file->bytes->map.data;
}

void model_file_share(struct model *to, const struct model *from)
{
    for (const struct model_file *file = from->files; file; file = file->next) {
        append_file(to, file->location, file->bytes);
        file->bytes->users++;
    }
}

void model_files_release(struct model *model)
{
    for (struct model_file *file = model->files; file; file = file->next) {
        struct shared_bytes *bytes = file->bytes;
        if (--bytes->users)
            continue;
        if (bytes->heap)
            free((void *)(uintptr_t)bytes->map.data);
        else
            file_map_close(&bytes->map);
        free(bytes);
    }
    model->files = NULL;
}

static bool holds(const struct model_file *file, const ProtobufCBinaryData *bytes)
{
    uintptr_t start = (uintptr_t)file->bytes->map.data, at = (uintptr_t)bytes->data;
    return start && at >= start && at - start < file->bytes->map.size;
}

bool model_file_holds(const void *model, const ProtobufCBinaryData *bytes)
{
    for (const struct model_file *file = ((const struct model *)model)->files; file; file = file->next)
        if (holds(file, bytes))
            return true;
    return false;
}

bool model_file_place(const struct model *model, const ProtobufCBinaryData *bytes, size_t *number,
                      size_t *offset)
{
    *number = 0;
    for (const struct model_file *file = model->files; file; file = file->next, ++*number)
        if (file->location && holds(file, bytes)) {
            *offset = (size_t)(bytes->data - file->bytes->map.data);
            return true;
        }
    return false;
}

/* Whether this is the file that was mapped. */
static bool is_mapped_file(const struct shared_bytes *bytes, const struct folder *in, const char *name)
{
    struct stat info;
    int fd = folder_open_file(in, name, NULL);
    bool same =
        fd >= 0 && fstat(fd, &info) == 0 && info.st_dev == bytes->device && info.st_ino == bytes->inode;
    if (fd >= 0)
        close(fd);
    return same;
}

int model_file_link(const struct model *model, size_t number, const struct folder *in, const char *name)
{
    const struct model_file *file = model->files;
    while (number--)
        file = file->next;
    char *source = file_join(model->folder, file->location);
    int result = folder_link(USERS_PATH, source, in, name, NULL);
    if (!result && !is_mapped_file(file->bytes, in, name)) {
        folder_remove(in, name, NULL);
        result = -1;
    }
    free(source);
    return result;
}

bool model_is_external(const struct model *model)
{
    for (const struct model_file *file = model->files; file; file = file->next)
        if (file->location)
            return true;
    return false;
}

const char *model_external_file(const struct model *model, size_t number)
{
    for (const struct model_file *file = model->files; file; file = file->next)
        if (file->location && number-- == 0)
            return file->location;
    return NULL;
}

const uint8_t *model_own_bytes(const struct model *model, size_t *size)
{
    if (!model->path || model_is_external(model))
        return NULL;
    return model_file_data(model->files, size);
}

uint64_t model_hash(const struct model *model)
{
    uint64_t hash = 0;
    for (const struct model_file *file = model->files; file; file = file->next) {
        if (file->location)
            hash = hash_combine(hash, hash_text(file->location));
        hash = hash_bytes(hash, file->bytes->map.data, file->bytes->map.size);
    }
    return hash;
}

static int refuse_external(const struct folder *beside, const char *location, struct error *why,
                           struct error *err)
{
    if (why->code == ERROR_INVALID)
        return error_set(err, ERROR_INVALID,
                         "external data must not be at '%s', which may be outside the model's folder",
                         location);
    if (why->code == ERROR_NOT_FOUND)
        return error_set(err, ERROR_NOT_FOUND,
                         "%s%s%s, which holds its values, does not exist; put it there, beside the model",
                         beside->path, text_ends(beside->path, "/") ? "" : "/", location);
    return error_set(err, why->code, "external data '%s': %s", location, why->message);
}

static int map_below(struct shared_bytes *bytes, const struct folder *beside, const char *location,
                     struct error *err)
{
    struct error why = {0};
    struct stat info;
    *bytes = (struct shared_bytes){0};
    int fd = folder_open_file(beside, location, &why);
    if (fd < 0)
        return refuse_external(beside, location, &why, err);
    int result =
        fstat(fd, &info) < 0 ? error_errno(err, "cannot stat a file") : file_map_fd(&bytes->map, fd, err);
    if (result) {
        error_prefix(err, "external data '%s'", location);
    } else {
        bytes->device = info.st_dev;
        bytes->inode = info.st_ino;
    }
    close(fd);
    return result;
}

static struct model_file *external_file(struct model *model, const char *location, struct error *err)
{
    for (struct model_file *file = model->files; file; file = file->next)
        if (file->location && text_equal(file->location, location))
            return file;
    struct shared_bytes bytes;
    if (map_below(&bytes, model->beside, location, err))
        return NULL;
    return add_file(model, location, bytes);
}

struct place {
    const char *location;
    long long offset, length; /* length -1: to the end of the file */
};

static int read_place(const Onnx__TensorProto *tensor, struct place *place, struct error *err)
{
    *place = (struct place){.length = -1};
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const Onnx__StringStringEntryProto *entry = tensor->external_data[i];
        bool good = true;
        if (text_equal(entry->key, "location"))
            place->location = entry->value;
        else if (text_equal(entry->key, "offset"))
            good = text_int64(entry->value, &place->offset) && place->offset >= 0;
        else if (text_equal(entry->key, "length"))
            good = text_int64(entry->value, &place->length) && place->length >= 0;
        if (!good)
            return error_set(err, ERROR_INVALID, "external data has an invalid %s '%.40s'", entry->key,
                             entry->value);
    }
    if (!place->location)
        return error_set(err, ERROR_INVALID, "external data has no location");
    return 0;
}

int model_file_resolve(struct model *model, Onnx__TensorProto *tensor, struct error *err)
{
    struct place place;
    if (read_place(tensor, &place, err))
        return -1;
    if (!model->beside)
        return error_set(err, ERROR_UNSUPPORTED, "a model from memory cannot have external data ('%s')",
                         place.location);
    struct model_file *file = external_file(model, place.location, err);
    if (!file)
        return -1;
    size_t size = file->bytes->map.size, offset = (size_t)place.offset;
    size_t length = place.length >= 0 ? (size_t)place.length : size - (offset < size ? offset : size);
    if (offset > size || length > size - offset)
        return error_set(err, ERROR_INVALID,
                         "external data needs %zu bytes from offset %zu of '%s', which has %zu", length,
                         offset, place.location, size);
    tensor->has_raw_data = true;
    tensor->raw_data.data = length ? (uint8_t *)(uintptr_t)file->bytes->map.data + offset : NULL;
    tensor->raw_data.len = length;
    tensor->has_data_location = false;
    tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT;
    tensor->n_external_data = 0;
    tensor->external_data = NULL;
    return 0;
}
