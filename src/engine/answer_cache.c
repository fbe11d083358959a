#include "engine/answer_cache.h"

#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numbers are written as they lie in memory: the file is a cache for this machine only. */
struct record {
    uint64_t magic, inputs, size, hash; /* of the payload behind it */
};

static const uint64_t magic = UINT64_C(0x31307261737361a1);

enum { MAX_OUTPUTS = 1 << 16, MAX_TEXT = 1 << 20 };

struct entry {
    uint64_t inputs;
    size_t at, size; /* of the payload */
};

struct answer_cache {
    char *path;
    FILE *file;
    struct file_map map; /* what was there at the beginning */
    struct entry *entries;
    size_t count, capacity;
};

uint64_t answer_cache_hash(const struct value *inputs, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < inputs[i].count; k++) {
            const struct tensor *tensor = &inputs[i].tensors[k];
            hash = hash_combine(hash, (uint64_t)tensor->type);
            for (int d = 0; d < tensor->shape.rank; d++)
                hash = hash_combine(hash, (uint64_t)tensor->shape.dims[d]);
            hash = hash_bytes(hash, tensor->data, tensor->size);
        }
    return hash;
}

/* Writing: numbers, texts with their length, tensors. */

static void put(struct str *out, uint64_t number)
{
    str_append(out, &number, sizeof number);
}

/* UINT64_MAX stands for NULL. */
static void put_text(struct str *out, const char *text)
{
    put(out, text ? strlen(text) : UINT64_MAX);
    if (text)
        str_append(out, text, strlen(text));
}

static void put_tensor(struct str *out, const struct tensor *tensor)
{
    put(out, (uint64_t)tensor->type);
    put(out, (uint64_t)tensor->shape.rank);
    for (int i = 0; i < tensor->shape.rank; i++)
        put(out, (uint64_t)tensor->shape.dims[i]);
    put(out, tensor->size);
    if (tensor->size)
        str_append(out, tensor->data, tensor->size);
}

static void put_result(struct str *out, const struct result *result)
{
    put(out, (uint64_t)result->outcome);
    put(out, (uint64_t)result->stage);
    put(out, (uint64_t)result->signal);
    put(out, (uint64_t)(int64_t)result->exit_status);
    put(out, (uint64_t)result->load_ns);
    put(out, (uint64_t)result->run_ns);
    put_text(out, result->message);
    size_t borrowed = 0;
    while (result->borrowed && result->borrowed[borrowed])
        borrowed++;
    put(out, borrowed);
    for (size_t i = 0; i < borrowed; i++)
        put_text(out, result->borrowed[i]);
    put(out, result->count);
    for (size_t i = 0; i < result->count; i++) {
        const struct value *value = &result->outputs[i];
        put_text(out, value->name);
        put(out, (uint64_t)value->kind);
        put(out, value->count);
        for (size_t k = 0; k < value->count; k++)
            put_tensor(out, &value->tensors[k]);
    }
}

static int add_record(struct answer_cache *cache, uint64_t inputs, const struct str *payload,
                      struct error *err)
{
    struct record record = {magic, inputs, payload->length,
                            hash_bytes(inputs, payload->data, payload->length)};
    bool written = fwrite(&record, sizeof record, 1, cache->file) == 1 &&
                   fwrite(payload->data, 1, payload->length, cache->file) == payload->length &&
                   fflush(cache->file) == 0;
    return written ? 0 : error_errno(err, "cannot keep an answer in %s", cache->path);
}

int answer_cache_put(struct answer_cache *cache, uint64_t inputs, const struct result *result,
                     struct error *err)
{
    if (result->outcome == OUTCOME_NO_ENGINE || result->outcome == OUTCOME_UNTESTED)
        return 0;
    struct str payload;
    str_init(&payload);
    put_result(&payload, result);
    int status = add_record(cache, inputs, &payload, err);
    str_release(&payload);
    return status;
}

int answer_cache_put_text(struct answer_cache *cache, uint64_t inputs, const char *text, struct error *err)
{
    struct str payload;
    str_init(&payload);
    put_text(&payload, text);
    int status = add_record(cache, inputs, &payload, err);
    str_release(&payload);
    return status;
}

/* Reading: every step is checked, and says whether it went well. */

struct cursor {
    const uint8_t *at;
    size_t left;
};

static bool get(struct cursor *from, uint64_t most, uint64_t *number)
{
    if (from->left < sizeof *number)
        return false;
    memcpy(number, from->at, sizeof *number);
    from->at += sizeof *number;
    from->left -= sizeof *number;
    return *number <= most;
}

static bool get_text(struct cursor *from, char **text)
{
    uint64_t length;
    *text = NULL;
    if (!get(from, UINT64_MAX, &length))
        return false;
    if (length == UINT64_MAX)
        return true;
    if (length > from->left || length > MAX_TEXT)
        return false;
    *text = memory_zeroed(length + 1, 1);
    memcpy(*text, from->at, length);
    from->at += length;
    from->left -= length;
    return true;
}

static bool get_tensor(struct cursor *from, struct tensor *tensor)
{
    uint64_t type, rank, dim, size;
    struct shape shape = {0};
    if (!get(from, DTYPE_COUNT - 1, &type) || !get(from, TENSOR_MAX_RANK, &rank))
        return false;
    shape.rank = (int)rank;
    for (int i = 0; i < shape.rank; i++) {
        if (!get(from, INT64_MAX, &dim))
            return false;
        shape.dims[i] = (int64_t)dim;
    }
    struct error err = {0};
    if (!get(from, from->left, &size) || size > from->left ||
        tensor_from_bytes(tensor, (enum dtype)type, &shape, from->at, size, &err))
        return false;
    from->at += size;
    from->left -= size;
    return true;
}

static bool get_value(struct cursor *from, struct value *value)
{
    uint64_t kind, count;
    char *name;
    if (!get_text(from, &name))
        return false;
    value->name = name;
    if (!get(from, VALUE_SEQUENCE, &kind) || !get(from, MAX_OUTPUTS, &count))
        return false;
    if (kind != VALUE_SEQUENCE && count != (kind == VALUE_TENSOR))
        return false;
    value->kind = (enum value_kind)kind;
    value->tensors = memory_zeroed(count + 1, sizeof *value->tensors);
    for (size_t i = 0; i < count; i++, value->count++) {
        tensor_init(&value->tensors[i]);
        if (!get_tensor(from, &value->tensors[i]))
            return false;
    }
    return true;
}

static bool get_borrowed(struct cursor *from, struct result *result)
{
    uint64_t count;
    if (!get(from, MAX_OUTPUTS, &count))
        return false;
    if (count == 0)
        return true;
    result->borrowed = memory_zeroed(count + 1, sizeof *result->borrowed);
    for (size_t i = 0; i < count; i++)
        if (!get_text(from, &result->borrowed[i]) || !result->borrowed[i])
            return false;
    return true;
}

static bool get_result(struct cursor *from, struct result *result)
{
    uint64_t outcome, stage, signal, status, load, run, count;
    if (!get(from, OUTCOME_COUNT - 1, &outcome) || !get(from, STAGE_UNLOAD, &stage) ||
        !get(from, 128, &signal) || !get(from, UINT64_MAX, &status) || !get(from, INT64_MAX, &load) ||
        !get(from, INT64_MAX, &run) || !get_text(from, &result->message) || !get_borrowed(from, result) ||
        !get(from, MAX_OUTPUTS, &count))
        return false;
    result->outcome = (enum outcome)outcome;
    result->stage = (enum stage)stage;
    result->signal = (int)signal;
    result->exit_status = (int)(int64_t)status;
    result->load_ns = (int64_t)load;
    result->run_ns = (int64_t)run;
    result->outputs = memory_zeroed(count + 1, sizeof *result->outputs);
    for (size_t i = 0; i < count; i++) {
        value_init(&result->outputs[i]);
        result->count++;
        if (!get_value(from, &result->outputs[i]))
            return false;
    }
    return from->left == 0;
}

/* The last one with this hash; NULL: there is none. */
static const struct entry *find(const struct answer_cache *cache, uint64_t inputs)
{
    for (size_t i = cache->count; i-- > 0;)
        if (cache->entries[i].inputs == inputs)
            return &cache->entries[i];
    return NULL;
}

bool answer_cache_get(const struct answer_cache *cache, uint64_t inputs, struct result *result)
{
    const struct entry *entry = find(cache, inputs);
    if (!entry)
        return false;
    struct cursor from = {cache->map.data + entry->at, entry->size};
    result_init(result);
    if (get_result(&from, result))
        return true;
    result_release(result);
    return false;
}

bool answer_cache_get_text(const struct answer_cache *cache, uint64_t inputs, char **text)
{
    const struct entry *entry = find(cache, inputs);
    if (!entry)
        return false;
    struct cursor from = {cache->map.data + entry->at, entry->size};
    if (get_text(&from, text) && *text && from.left == 0)
        return true;
    free(*text);
    return false;
}

/* Lists the records; returns the length of the file up to the first bad one. */
static size_t scan(struct answer_cache *cache)
{
    const struct file_map *map = &cache->map;
    size_t at = 0;
    struct record record;
    while (map->size - at >= sizeof record) {
        memcpy(&record, map->data + at, sizeof record);
        size_t payload = at + sizeof record;
        if (record.magic != magic || record.size > map->size - payload ||
            hash_bytes(record.inputs, map->data + payload, record.size) != record.hash)
            break;
        cache->entries =
            memory_grow(cache->entries, &cache->capacity, cache->count + 1, sizeof *cache->entries);
        cache->entries[cache->count++] = (struct entry){record.inputs, payload, record.size};
        at = payload + record.size;
    }
    return at;
}

/* An interrupted write leaves the beginning of a record; any other content is not ours. */
static bool is_ours(const struct file_map *map)
{
    size_t known = map->size < sizeof magic ? map->size : sizeof magic;
    return known == 0 || memcmp(map->data, &magic, known) == 0;
}

/* A name as part of a path: letters, digits and a few signs stay. */
static void add_plain(struct str *path, const char *name)
{
    for (; *name; name++)
        str_printf(path, "%c", isalnum((unsigned char)*name) || strchr("._-=,", *name) ? *name : '_');
}

/* "MODEL-HASH/ENGINE-VERSION.answers", of which the first part is made. */
static int make_place(const struct folder *folder, const struct answer_cache_key *key, struct str *name,
                      struct error *err)
{
    add_plain(name, file_base(key->model));
    str_printf(name, "-%016llx", (unsigned long long)key->model_hash);
    int status = folder_make_all(folder, name->data, err);
    str_add(name, "/");
    add_plain(name, key->engine);
    str_add(name, "-");
    add_plain(name, key->version ? key->version : "unknown");
    str_add(name, ".answers");
    return status;
}

static int open_file(struct answer_cache *cache, const struct folder *folder, const char *name,
                     struct error *err)
{
    int fd = folder_open_in_place(folder, name, err);
    if (fd < 0)
        return -1;
    cache->path = folder_path(folder, name);
    int status = file_map_fd(&cache->map, fd, err);
    size_t sound = status ? 0 : scan(cache);
    if (!status && !is_ours(&cache->map))
        status = error_set(
            err, ERROR_FORMAT,
            "%s exists and is not a file of kept answers; move it away, or name another folder with --keep",
            cache->path);
    if (!status &&
        ((sound < cache->map.size && ftruncate(fd, (off_t)sound) < 0) || !(cache->file = fdopen(fd, "ab"))))
        status = error_errno(err, "%s", cache->path);
    if (!cache->file)
        close(fd);
    return status;
}

int answer_cache_open(struct answer_cache **cache, const char *path, const struct answer_cache_key *key,
                      struct error *err)
{
    struct answer_cache *opened = memory_zeroed(1, sizeof *opened);
    struct folder folder;
    struct str name;
    str_init(&name);
    int status = folder_make(&folder, USERS_PATH, path, err) || make_place(&folder, key, &name, err) ||
                         open_file(opened, &folder, name.data, err)
                     ? -1
                     : 0;
    folder_close(&folder);
    str_release(&name);
    if (status) {
        answer_cache_close(opened);
        opened = NULL;
    }
    *cache = opened;
    return status;
}

void answer_cache_close(struct answer_cache *cache)
{
    if (!cache)
        return;
    if (cache->file)
        fclose(cache->file);
    file_map_close(&cache->map);
    free(cache->path);
    free(cache->entries);
    free(cache);
}
