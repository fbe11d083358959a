#include "base/output.h"

#include "base/file.h"
#include "base/format.h"
#include "base/memory.h"
#include "base/str.h"
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { START_SIZE = 512 };

/* The most levels of folders in a layout. */
enum { LAYOUT_DEPTH = 4 };

void output_json(struct json *json, struct str *out, bool indent)
{
    json_init(json, out, indent);
    json_object(json, NULL);
    json_string(json, "assay", ASSAY_VERSION);
    json_int(json, "format", FORMAT_REPORT);
}

bool output_is_report(const char *start, size_t size)
{
    char text[START_SIZE];
    size = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, start, size);
    text[size] = '\0';
    if (text_starts(text, "{")) {
        const char *member = text + 1 + strspn(text + 1, " \n");
        bool sarif = text_starts(member, "\"$schema\": ") && strstr(text, "\"name\": \"assay\"");
        return sarif || text_starts(member, "\"assay\": \"") || text_starts(member, "\"assay\":\"");
    }
    if (text_starts(text, "<!doctype html>"))
        return strstr(text, "<title>Assay ") != NULL;
    if (text_starts(text, "<?xml "))
        return strstr(text, "\n<testsuites name=\"assay\"") != NULL;
    return text_starts(text, OUTPUT_TEXT_MARK);
}

/* Reads the first bytes of a file; *size is 0 for an empty file, which may be overwritten. */
static int read_start(const struct folder *in, const char *name, char start[START_SIZE], size_t *size,
                      struct error *err)
{
    int fd = folder_open_file(in, name, err);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, start, START_SIZE);
    *size = got > 0 ? (size_t)got : 0;
    int status = 0;
    if (got < 0) {
        error_errno(err, "cannot be read");
        status = folder_prefix(in, name, err);
    }
    close(fd);
    return status;
}

/* The path without slashes at its end, on the heap. */
static char *without_slashes(const char *path)
{
    char *bare = memory_strdup(path);
    for (size_t length = strlen(bare); length > 1 && bare[length - 1] == '/'; length--)
        bare[length - 1] = '\0';
    return bare;
}

/* The folder that contains a path, on the heap. */
static char *parent_of(const char *path)
{
    char *bare = without_slashes(path), *slash = strrchr(bare, '/');
    if (slash)
        slash[slash == bare] = '\0';
    char *parent = slash ? without_slashes(bare) : memory_strdup(".");
    free(bare);
    return parent;
}

static int check_parent(const char *path, struct error *err)
{
    char *folder = parent_of(path);
    int status = 0;
    if (!file_is_folder(folder))
        status =
            error_set(err, ERROR_IO, "cannot write %s: there is no folder %s; make it, or name another file",
                      path, folder);
    else if (access(folder, W_OK | X_OK))
        status = error_errno(err, "cannot write %s: the folder %s is not writable", path, folder);
    free(folder);
    return status;
}

static int check_old_file(const char *path, const struct stat *info, bool force, struct error *err)
{
    char start[START_SIZE];
    size_t size;
    if (S_ISDIR(info->st_mode))
        return error_set(err, ERROR_IO, "%s is a folder; name a file", path);
    if (access(path, W_OK))
        return error_errno(err, "cannot write %s", path);
    if (force)
        return 0;
    if (read_start(USERS_PATH, path, start, &size, err))
        return error_prefix(err, "%s exists and cannot be read", path);
    if (size == 0 || output_is_report(start, size))
        return 0;
    return error_set(err, ERROR_IO,
                     "%s exists and is not a report of Assay; name another file, or use --force", path);
}

int output_file_check(const char *path, bool force, struct error *err)
{
    struct stat info;
    if (!*path)
        return error_set(err, ERROR_USAGE, "the name of the output file is empty");
    if (file_is_special(path))
        return 0;
    if (stat(path, &info) == 0)
        return check_old_file(path, &info, force, err);
    if (errno != ENOENT)
        return error_errno(err, "cannot write %s", path);
    if (lstat(path, &info) == 0)
        return error_set(err, ERROR_IO,
                         "%s is a symbolic link to a file that does not exist; name another file", path);
    if (text_ends(path, "/"))
        return error_set(err, ERROR_IO, "%s is the name of a folder; name a file", path);
    return check_parent(path, err);
}

int output_file_write(const char *path, const void *data, size_t size, bool force, struct error *err)
{
    return output_file_check(path, force, err) ? -1 : file_write(path, data, size, err);
}

int output_own_write(const struct folder *in, const char *name, const char *start, const void *data,
                     size_t size, struct error *err)
{
    char old[START_SIZE];
    size_t length = 0, wanted = strlen(start);
    if (folder_has(in, name) && read_start(in, name, old, &length, err))
        return -1;
    if (!length || (length >= wanted && memcmp(old, start, wanted) == 0))
        return folder_write(in, name, data, size, err);
    char *path = folder_path(in, name);
    error_set(err, ERROR_IO, "%s exists and was not made by Assay; move it away", path);
    free(path);
    return -1;
}

bool output_is_within(const char *path, const char *folder)
{
    char *inner = realpath(path, NULL), *outer = realpath(folder, NULL);
    size_t length = outer ? strlen(outer) : 0;
    bool within = inner && outer && strncmp(inner, outer, length) == 0 &&
                  (inner[length] == '\0' || inner[length] == '/' || text_equal(outer, "/"));
    free(inner);
    free(outer);
    return within;
}

static bool is_listed(const char *const *patterns, const char *path)
{
    for (size_t i = 0; patterns[i]; i++)
        if (fnmatch(patterns[i], path, FNM_PATHNAME) == 0)
            return true;
    return false;
}

bool output_layout_has(const struct output_layout *layout, const char *path)
{
    return is_listed(layout->files, path) || is_listed(layout->marks, path);
}

/* The first entry of a folder that is not in its layout; NULL: none. `within` is the path inside the layout,
 * "" at its top. Links never belong to a layout. */
static char *find_foreign(const struct folder *folder, const char *within, const struct output_layout *layout,
                          int depth)
{
    char **names, *foreign = NULL;
    size_t count;
    if (depth > LAYOUT_DEPTH || folder_list(folder, &names, &count, NULL))
        return memory_strdup(within);
    for (size_t i = 0; i < count && !foreign; i++) {
        struct folder below;
        char *inner = file_join(within, names[i]);
        enum folder_entry entry = folder_look(folder, names[i]);
        if (entry == ENTRY_FOLDER && is_listed(layout->folders, inner) &&
            !folder_open(&below, folder, names[i], NULL)) {
            foreign = find_foreign(&below, inner, layout, depth + 1);
            folder_close(&below);
        } else if (entry != ENTRY_FILE || !output_layout_has(layout, inner)) {
            foreign = memory_strdup(inner);
        }
        free(inner);
    }
    file_names_free(names, count);
    return foreign;
}

static bool has_mark(const struct folder *folder, const struct output_layout *layout)
{
    bool found = false;
    for (size_t i = 0; layout->marks[i] && !found; i++)
        found = folder_has(folder, layout->marks[i]);
    return found;
}

static int check_ours(const struct folder *folder, const struct output_layout *layout, struct error *err)
{
    if (!has_mark(folder, layout))
        return error_set(err, ERROR_IO, "%s is not empty and is not a %s of Assay; name a new folder",
                         folder->path, layout->what);
    char *foreign = find_foreign(folder, "", layout, 0);
    int status =
        foreign ? error_set(err, ERROR_IO,
                            "%s contains %s, which was not made by Assay; move it away or name a new folder",
                            folder->path, foreign)
                : 0;
    free(foreign);
    return status;
}

static int check_replaced(const struct folder *folder, const struct output_layout *layout, bool force,
                          struct error *err)
{
    if (check_ours(folder, layout, err))
        return -1;
    if (!force)
        return error_set(err, ERROR_IO, "%s already exists; use --force to replace it, or name a new folder",
                         folder->path);
    if (output_is_within(".", folder->path))
        return error_set(err, ERROR_IO,
                         "%s is the current folder or contains it; change to another folder first",
                         folder->path);
    return check_parent(folder->path, err);
}

/* Checks the nearest parent folder that exists. */
static int check_above(const char *path, struct error *err)
{
    char *above = parent_of(path);
    while (!file_exists(above)) {
        char *next = parent_of(above);
        free(above);
        above = next;
    }
    int status = 0;
    if (!file_is_folder(above))
        status = error_set(err, ERROR_IO, "cannot make %s: %s is not a folder", path, above);
    else if (access(above, W_OK | X_OK))
        status = error_errno(err, "cannot make %s: the folder %s is not writable", path, above);
    free(above);
    return status;
}

static int check_new(const char *path, struct error *err)
{
    struct stat info;
    char *bare = without_slashes(path);
    int status;
    if (text_ends(bare, "/.") || text_ends(bare, "/.."))
        status = error_set(err, ERROR_IO, "there is no folder %s", path);
    else if (lstat(bare, &info) == 0)
        status =
            error_set(err, ERROR_IO,
                      "%s is a symbolic link to a folder that does not exist; name another folder", bare);
    else
        status = check_above(bare, err);
    free(bare);
    return status;
}

enum found { FOUND_NOTHING, FOUND_EMPTY, FOUND_OURS };

static int look_into(const struct folder *folder, const struct output_layout *layout, bool force,
                     enum found *found, struct error *err)
{
    char **names;
    size_t count;
    if (folder_list(folder, &names, &count, err))
        return -1;
    file_names_free(names, count);
    *found = count ? FOUND_OURS : FOUND_EMPTY;
    if (count)
        return check_replaced(folder, layout, force, err);
    return access(folder->path, W_OK | X_OK) ? error_errno(err, "the folder %s is not writable", folder->path)
                                             : 0;
}

/* What is there; nothing in *folder where nothing is. The caller closes it. */
static int open_target(struct folder *folder, const struct folder *in, const char *name, struct error *err)
{
    struct stat info;
    bool users = in == USERS_PATH;
    *folder = (struct folder){0};
    if (!*name)
        return error_set(err, ERROR_USAGE, "the name of the output folder is empty");
    if (users && stat(name, &info))
        return errno == ENOENT ? check_new(name, err) : error_errno(err, "cannot make %s", name);
    if (!users && !folder_has(in, name))
        return 0;
    if (users && !S_ISDIR(info.st_mode))
        return error_set(err, ERROR_IO, "%s exists and is not a folder; name a new folder", name);
    return folder_open(folder, in, name, err);
}

static int look(const struct folder *in, const char *name, const struct output_layout *layout, bool force,
                enum found *found, struct error *err)
{
    struct folder folder;
    *found = FOUND_NOTHING;
    int status = open_target(&folder, in, name, err);
    if (!status && folder.path)
        status = look_into(&folder, layout, force, found, err);
    folder_close(&folder);
    return status;
}

int output_folder_check(const char *path, const struct output_layout *layout, bool force, struct error *err)
{
    enum found found;
    return look(USERS_PATH, path, layout, force, &found, err);
}

void output_folder_remove(const struct folder *in, const char *name, const struct output_layout *layout)
{
    enum found found;
    if (!look(in, name, layout, true, &found, NULL) && found == FOUND_OURS)
        folder_remove(in, name, NULL);
}

/* The user's target may be a link to a folder: that folder is filled or replaced, and the link stays. */
static int open_around(struct output_folder *folder, const struct folder *in, const char *name,
                       enum found found, struct error *err)
{
    if (folder->fills)
        return folder_open(&folder->around, in, name, err);
    bool users = in == USERS_PATH;
    char *place = users && found == FOUND_OURS ? realpath(name, NULL) : without_slashes(name);
    if (!place)
        return error_errno(err, "%s", name);
    char *above = users ? parent_of(place) : NULL;
    folder->name = memory_strdup(file_base(place));
    int status = users ? folder_make(&folder->around, in, above, err)
                       : folder_open_around(&folder->around, in, name, err);
    free(above);
    free(place);
    return status;
}

int output_folder_begin(struct output_folder *folder, const struct folder *in, const char *name,
                        const struct output_layout *layout, bool force, struct error *err)
{
    enum found found;
    *folder = (struct output_folder){.layout = layout, .path = folder_path(in, name)};
    if (look(in, name, layout, force, &found, err))
        return -1;
    folder->replaces = found == FOUND_OURS;
    folder->fills = found == FOUND_EMPTY;
    if (open_around(folder, in, name, found, err))
        return -1;
    struct str stem;
    str_init(&stem);
    str_printf(&stem, "%s.part", folder->fills ? ".assay" : folder->name);
    int status = folder_make_fresh(&folder->part, &folder->around, stem.data, &folder->part_name, err);
    str_release(&stem);
    return status;
}

/* Moves one entry of the temporary folder into the target, or back. */
static int move_entry(const struct output_folder *folder, const char *name, bool up, struct error *err)
{
    const struct folder *from = up ? &folder->part : &folder->around;
    return folder_move(from, name, up ? &folder->around : &folder->part, name, err);
}

/* The marks are moved last, so that a folder counts as ours only when it is complete. */
static int fill(const struct output_folder *folder, struct error *err)
{
    char **names, **moved;
    size_t count, done = 0;
    int status = 0;
    if (folder_list(&folder->part, &names, &count, err))
        return -1;
    moved = memory_zeroed(count + 1, sizeof *moved);
    for (int marks = 0; marks < 2; marks++)
        for (size_t i = 0; i < count && !status; i++) {
            if (is_listed(folder->layout->marks, names[i]) != (marks == 1))
                continue;
            status = move_entry(folder, names[i], true, err);
            moved[done++] = names[i];
        }
    for (size_t i = 0; status && i + 1 < done; i++) /* the last one stayed */
        move_entry(folder, moved[i], false, NULL);
    free(moved);
    file_names_free(names, count);
    return status;
}

/* Exchanges the two folders. Afterwards the old one is the temporary folder, and is removed with it. */
static int replace(const struct output_folder *folder, struct error *err)
{
    struct folder target;
    int status = folder_open(&target, &folder->around, folder->name, err);
    if (!status) /* the target may have changed since the first check */
        status = check_ours(&target, folder->layout, err);
    folder_close(&target);
    if (!status && folder_exchange(&folder->around, folder->part_name, folder->name, err))
        status = error_prefix(err, "cannot replace %s", folder->path);
    return status;
}

int output_folder_put(struct output_folder *folder, struct error *err)
{
    if (folder->replaces)
        return replace(folder, err);
    if (folder->fills)
        return fill(folder, err);
    return folder_move(&folder->around, folder->part_name, &folder->around, folder->name, err);
}

void output_folder_release(struct output_folder *folder)
{
    if (folder->part_name)
        folder_remove(&folder->around, folder->part_name, NULL);
    folder_close(&folder->part);
    folder_close(&folder->around);
    free(folder->part_name);
    free(folder->name);
    free(folder->path);
    *folder = (struct output_folder){0};
}
