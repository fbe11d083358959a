#include "model/file.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct shared_bytes {
    size_t users;
    struct file_map map;
    bool heap; /* allocated rather than mapped */
};

struct model_file {
    struct model_file *next;
    const char *location; /* of external data; NULL for the model's own bytes */
    struct shared_bytes *bytes;
};

static struct model_file *add_file(struct model *model, const char *location, struct file_map map, bool heap)
{
    struct model_file *file = arena_alloc(&model->arena, sizeof *file);
    file->location = location ? arena_strdup(&model->arena, location) : NULL;
    file->bytes = memory_zeroed(1, sizeof *file->bytes);
    *file->bytes = (struct shared_bytes){.users = 1, .map = map, .heap = heap};
    file->next = model->files;
    model->files = file;
    return file;
}

struct model_file *model_file_map(struct model *model, const char *path, struct error *err)
{
    struct file_map map;
    if (file_map_open(&map, path, err))
        return NULL;
    return add_file(model, NULL, map, false);
}

struct model_file *model_file_copy(struct model *model, const void *data, size_t size, struct error *err)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) {
        error_set(err, ERROR_MEMORY, "no memory for a model of %zu bytes", size);
        return NULL;
    }
    memcpy(copy, data, size);
    return add_file(model, NULL, (struct file_map){copy, size}, true);
}

const uint8_t *model_file_data(const struct model_file *file, size_t *size)
{
    *size = file->bytes->map.size;
    return file->bytes->map.data;
}

void model_file_share(struct model *to, const struct model *from)
{
    for (const struct model_file *file = from->files; file; file = file->next) {
        struct model_file *same = arena_alloc(&to->arena, sizeof *same);
        same->bytes = file->bytes;
        same->bytes->users++;
        same->next = to->files;
        to->files = same;
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

bool model_file_holds(const void *model, const ProtobufCBinaryData *bytes)
{
    for (const struct model_file *file = ((const struct model *)model)->files; file; file = file->next) {
        uintptr_t start = (uintptr_t)file->bytes->map.data, at = (uintptr_t)bytes->data;
        if (start && at >= start && at - start < file->bytes->map.size)
            return true;
    }
    return false;
}

/* Opens folder/location one part at a time, so that no part can be a link, not even one made meanwhile. */
static int open_below(const char *folder, const char *location, struct error *err)
{
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return error_errno(err, "cannot open folder %s", folder);
    for (const char *part = location; at >= 0;) {
        size_t length = strcspn(part, "/");
        char name[NAME_MAX + 1];
        if (length == 0 || length > NAME_MAX || (length == 2 && memcmp(part, "..", 2) == 0)) {
            close(at);
            return error_set(err, ERROR_INVALID, "external data may not lie at '%s'", location);
        }
        memcpy(name, part, length);
        name[length] = '\0';
        bool last = part[length] == '\0';
        int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
        int inner = openat(at, name, flags);
        int cause = errno;
        close(at);
        at = inner;
        errno = cause;
        if (last || at < 0)
            break;
        part += length + 1;
    }
    if (at < 0 && (errno == ELOOP || errno == ENOTDIR))
        return error_set(err, ERROR_INVALID, "external data at '%s' is behind a symbolic link", location);
    if (at < 0)
        return error_errno(err, "cannot open external data '%s'", location);
    return at;
}

static int map_below(struct file_map *map, const char *folder, const char *location, struct error *err)
{
    int fd = open_below(folder, location, err);
    if (fd < 0)
        return -1;
    int result = 0;
    struct stat info;
    *map = (struct file_map){NULL, 0};
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
        result = error_set(err, ERROR_INVALID, "external data '%s' is not a regular file", location);
    } else if (info.st_size > 0) {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            result = error_errno(err, "cannot map external data '%s'", location);
        else
            *map = (struct file_map){data, (size_t)info.st_size};
    }
    close(fd);
    return result;
}

static struct model_file *external_file(struct model *model, const char *location, struct error *err)
{
    for (struct model_file *file = model->files; file; file = file->next)
        if (file->location && text_equal(file->location, location))
            return file;
    struct file_map map;
    if (map_below(&map, model->folder, location, err))
        return NULL;
    return add_file(model, location, map, false);
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
            return error_set(err, ERROR_INVALID, "external data with %s '%.40s'", entry->key, entry->value);
    }
    if (!place->location)
        return error_set(err, ERROR_INVALID, "external data without a location");
    return 0;
}

int model_file_resolve(struct model *model, Onnx__TensorProto *tensor, struct error *err)
{
    struct place place;
    if (read_place(tensor, &place, err))
        return -1;
    if (!model->folder)
        return error_set(err, ERROR_UNSUPPORTED, "a model from memory cannot have external data ('%s')",
                         place.location);
    struct model_file *file = external_file(model, place.location, err);
    if (!file)
        return -1;
    size_t size = file->bytes->map.size, offset = (size_t)place.offset;
    size_t length = place.length >= 0 ? (size_t)place.length : size - (offset < size ? offset : size);
    if (offset > size || length > size - offset)
        return error_set(err, ERROR_INVALID,
                         "external data claims %zu bytes from %zu on of '%s', which has %zu", length, offset,
                         place.location, size);
    tensor->has_raw_data = true;
    tensor->raw_data.data = length ? (uint8_t *)(uintptr_t)file->bytes->map.data + offset : NULL;
    tensor->raw_data.len = length;
    tensor->has_data_location = false;
    tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT;
    tensor->n_external_data = 0;
    tensor->external_data = NULL;
    return 0;
}
