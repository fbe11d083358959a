#include "findings/stored_files.h"

#include "base/base64.h"
#include "base/file.h"
#include "base/memory.h"
#include "findings/database.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PATH = 200, MOST_DEPTH = 8 };

bool stored_path_is_plain(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+,=@";
    size_t length = strlen(path);
    if (!length || length > MOST_PATH)
        return false;
    for (const char *at = path;;) {
        size_t part = strspn(at, plain);
        if (!part || *at == '.' || (at[part] && at[part] != '/'))
            return false;
        if (!at[part])
            return true;
        at += part + 1;
    }
}

struct putting {
    struct store *store;
    const char *key;
    const struct folder *folder;
};

static int put_file(const struct putting *putting, const char *path, struct error *err)
{
    char *data;
    size_t size;
    if (!stored_path_is_plain(path))
        return error_set(err, ERROR_FORMAT, "%s/%s has a name that is not kept in a database",
                         putting->folder->path, path);
    if (folder_read(putting->folder, path, STORED_FILE_LIMIT, &data, &size, err))
        return -1;
    struct str text;
    str_init(&text);
    base64_write(&text, data, size);
    free(data);
    int status =
        store_run(putting->store,
                  "INSERT INTO @files (signature, path, content) VALUES ($1, $2, $3) "
                  "ON CONFLICT (signature, path) DO UPDATE SET content = excluded.content",
                  CELLS(cell_text(putting->key), cell_text(path), cell_text(text.data)), NULL, NULL, err);
    str_release(&text);
    return status;
}

/* `path` is the path of the folder within the one that is put, "" for that itself. */
static int put_folder(const struct putting *putting, const struct folder *folder, const char *path, int depth,
                      struct error *err)
{
    char **names;
    size_t count;
    int status = 0;
    if (depth > MOST_DEPTH)
        return error_set(err, ERROR_LIMIT, "%s has folders within folders without end",
                         putting->folder->path);
    if (folder_list(folder, &names, &count, err))
        return -1;
    for (size_t i = 0; i < count && !status; i++) {
        char *within = file_join(path, names[i]);
        if (folder_look(folder, names[i]) == ENTRY_FOLDER) {
            struct folder inner;
            status = folder_open(&inner, folder, names[i], err);
            if (!status)
                status = put_folder(putting, &inner, within, depth + 1, err);
            folder_close(&inner);
        } else {
            status = put_file(putting, within, err);
        }
        free(within);
    }
    file_names_free(names, count);
    return status;
}

int stored_files_put_inside(struct store *store, const char *key, const struct folder *folder,
                            struct error *err)
{
    struct putting putting = {store, key, folder};
    if (store_run(store, "DELETE FROM @files WHERE signature = $1", CELLS(cell_text(key)), NULL, NULL, err))
        return -1;
    return put_folder(&putting, folder, "", 1, err);
}

static int put_inside(void *context, struct error *err)
{
    const struct putting *putting = context;
    return stored_files_put_inside(putting->store, putting->key, putting->folder, err);
}

int stored_files_put(struct store *store, const char *key, const struct folder *folder, struct error *err)
{
    struct putting putting = {store, key, folder};
    return database_transact(store_database(store), put_inside, &putting, err);
}

struct visiting {
    int (*visit)(void *context, const char *path, const void *data, size_t size, struct error *err);
    void *context;
};

static int file_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    const struct visiting *visiting = context;
    size_t size = 0;
    const char *path = count == 2 ? cell_as_text(&cells[0]) : "";
    uint8_t *data = count == 2 ? base64_read(cell_as_text(&cells[1]), &size) : NULL;
    int status = !stored_path_is_plain(path)
                     ? error_set(err, ERROR_FORMAT, "a file of the campaign has no plain name: '%.80s'", path)
                 : !data || size > STORED_FILE_LIMIT
                     ? error_set(err, ERROR_FORMAT, "the campaign's file %s is damaged", path)
                     : visiting->visit(visiting->context, path, data, size, err);
    free(data);
    return status;
}

int stored_files_visit(struct store *store, const char *key,
                       int (*visit)(void *context, const char *path, const void *data, size_t size,
                                    struct error *err),
                       void *context, struct error *err)
{
    struct visiting visiting = {visit, context};
    return store_run(store, "SELECT path, content FROM @files WHERE signature = $1 ORDER BY path",
                     CELLS(cell_text(key)), file_row, &visiting, err);
}

int stored_file_write(const struct folder *folder, const char *path, const void *data, size_t size,
                      struct error *err)
{
    char *above = memory_strdup(path), *slash = strrchr(above, '/');
    if (slash)
        *slash = '\0';
    int status = slash ? folder_make_all(folder, above, err) : 0;
    free(above);
    return status ? -1 : folder_write(folder, path, data, size, err);
}

struct writing {
    struct folder folder;
    const struct folder *in;
    const char *name;
    size_t count;
};

static int write_file(void *context, const char *path, const void *data, size_t size, struct error *err)
{
    struct writing *writing = context;
    if (!writing->count++ && folder_make(&writing->folder, writing->in, writing->name, err))
        return -1;
    return stored_file_write(&writing->folder, path, data, size, err);
}

int stored_files_write(struct store *store, const char *key, const struct folder *in, const char *name,
                       size_t *count, struct error *err)
{
    struct writing writing = {.in = in, .name = name};
    int status = stored_files_visit(store, key, write_file, &writing, err);
    folder_close(&writing.folder);
    *count = writing.count;
    return status;
}

struct key_listing {
    int (*visit)(void *context, const char *key, struct error *err);
    void *context;
};

static int key_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    const struct key_listing *listing = context;
    return count ? listing->visit(listing->context, cell_as_text(&cells[0]), err) : 0;
}

int stored_files_keys(struct store *store, int (*visit)(void *context, const char *key, struct error *err),
                      void *context, struct error *err)
{
    struct key_listing listing = {visit, context};
    return store_run(store, "SELECT DISTINCT signature FROM @files ORDER BY signature", NULL, 0, key_row,
                     &listing, err);
}
