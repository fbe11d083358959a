/* for renameat2 */
#define _GNU_SOURCE
#include "base/output.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
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
static int read_start(const char *path, char start[START_SIZE], size_t *size, struct error *err)
{
    int fd = file_open_regular(path, err);
    if (fd < 0)
        return error_prefix(err, "%s exists and cannot be read", path);
    ssize_t got = read(fd, start, START_SIZE);
    *size = got > 0 ? (size_t)got : 0;
    int status = got < 0 ? error_errno(err, "%s exists and cannot be read", path) : 0;
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
    if (read_start(path, start, &size, err))
        return -1;
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

int output_own_write(const char *path, const char *start, const void *data, size_t size, struct error *err)
{
    char old[START_SIZE];
    size_t length = 0, wanted = strlen(start);
    if (file_exists(path) && read_start(path, old, &length, err))
        return -1;
    if (length && (length < wanted || memcmp(old, start, wanted) != 0))
        return error_set(err, ERROR_IO, "%s exists and was not made by Assay; move it away", path);
    return file_write(path, data, size, err);
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
 * "" at its top. Symbolic links are not followed and never belong to a layout. */
static char *find_foreign(const char *folder, const char *within, const struct output_layout *layout,
                          int depth)
{
    char **names, *foreign = NULL;
    size_t count;
    if (depth > LAYOUT_DEPTH || file_list(folder, &names, &count, NULL))
        return memory_strdup(within);
    for (size_t i = 0; i < count && !foreign; i++) {
        struct stat info;
        char *path = file_join(folder, names[i]), *inner = file_join(within, names[i]);
        bool there = lstat(path, &info) == 0;
        if (there && S_ISDIR(info.st_mode) && is_listed(layout->folders, inner))
            foreign = find_foreign(path, inner, layout, depth + 1);
        else if (!there || !S_ISREG(info.st_mode) ||
                 (!is_listed(layout->files, inner) && !is_listed(layout->marks, inner)))
            foreign = memory_strdup(inner);
        free(path);
        free(inner);
    }
    file_names_free(names, count);
    return foreign;
}

static bool has_mark(const char *folder, const struct output_layout *layout)
{
    bool found = false;
    for (size_t i = 0; layout->marks[i] && !found; i++) {
        char *path = file_join(folder, layout->marks[i]);
        found = file_exists(path);
        free(path);
    }
    return found;
}

static int check_ours(const char *path, const struct output_layout *layout, struct error *err)
{
    if (!has_mark(path, layout))
        return error_set(err, ERROR_IO, "%s is not empty and is not a %s of Assay; name a new folder", path,
                         layout->what);
    char *foreign = find_foreign(path, "", layout, 0);
    int status =
        foreign ? error_set(err, ERROR_IO,
                            "%s contains %s, which was not made by Assay; move it away or name a new folder",
                            path, foreign)
                : 0;
    free(foreign);
    return status;
}

static int check_replaced(const char *path, const struct output_layout *layout, bool force, struct error *err)
{
    if (check_ours(path, layout, err))
        return -1;
    if (!force)
        return error_set(err, ERROR_IO, "%s already exists; use --force to replace it, or name a new folder",
                         path);
    if (output_is_within(".", path))
        return error_set(err, ERROR_IO,
                         "%s is the current folder or contains it; change to another folder first", path);
    return check_parent(path, err);
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

static int look(const char *path, const struct output_layout *layout, bool force, enum found *found,
                struct error *err)
{
    struct stat info;
    char **names;
    size_t count;
    *found = FOUND_NOTHING;
    if (!*path)
        return error_set(err, ERROR_USAGE, "the name of the output folder is empty");
    if (stat(path, &info))
        return errno == ENOENT ? check_new(path, err) : error_errno(err, "cannot make %s", path);
    if (!S_ISDIR(info.st_mode))
        return error_set(err, ERROR_IO, "%s exists and is not a folder; name a new folder", path);
    if (file_list(path, &names, &count, err))
        return -1;
    file_names_free(names, count);
    *found = count ? FOUND_OURS : FOUND_EMPTY;
    if (count)
        return check_replaced(path, layout, force, err);
    return access(path, W_OK | X_OK) ? error_errno(err, "the folder %s is not writable", path) : 0;
}

int output_folder_check(const char *path, const struct output_layout *layout, bool force, struct error *err)
{
    enum found found;
    return look(path, layout, force, &found, err);
}

/* Makes a folder with an unused name; returns the name on the heap. */
static char *make_beside(const char *place, const char *word, struct error *err)
{
    for (unsigned number = 0; number < 1000; number++) {
        struct str name;
        str_init(&name);
        str_printf(&name, "%s.%s-%ld-%u", place, word, (long)getpid(), number);
        if (mkdir(name.data, 0777) == 0)
            return name.data;
        bool taken = errno == EEXIST;
        if (!taken)
            error_errno(err, "cannot make folder %s", name.data);
        str_release(&name);
        if (!taken)
            return NULL;
    }
    error_set(err, ERROR_IO, "%s: too many unfinished folders beside it", place);
    return NULL;
}

/* The path of the target without slashes at its end: with them, the temporary folder would be inside it
 * instead of beside it. */
static char *place_of(const char *path, enum found found)
{
    return found == FOUND_NOTHING ? without_slashes(path) : realpath(path, NULL);
}

int output_folder_begin(struct output_folder *folder, const char *path, const struct output_layout *layout,
                        bool force, struct error *err)
{
    enum found found;
    *folder = (struct output_folder){.layout = layout};
    if (look(path, layout, force, &found, err))
        return -1;
    folder->replaces = found == FOUND_OURS;
    folder->fills = found == FOUND_EMPTY;
    folder->place = place_of(path, found);
    if (!folder->place)
        return error_errno(err, "%s", path);
    char *above = parent_of(folder->place), *inside = file_join(folder->place, ".assay");
    int status = found == FOUND_NOTHING ? file_make_folders(above, err) : 0;
    if (!status)
        folder->part = make_beside(folder->fills ? inside : folder->place, "part", err);
    free(above);
    free(inside);
    return folder->part ? 0 : -1;
}

/* A rename that never replaces anything. On file systems that do not support this, it is checked beforehand.
 */
static int move_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return -1;
    struct stat info;
    if (lstat(to, &info) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

/* Moves one entry of the temporary folder into the target, or back. */
static int move_entry(const struct output_folder *folder, const char *name, bool up, struct error *err)
{
    char *low = file_join(folder->part, name), *high = file_join(folder->place, name);
    int status = move_new(up ? low : high, up ? high : low);
    if (status)
        error_errno(err, "cannot write %s", high);
    free(low);
    free(high);
    return status;
}

/* The marks are moved last, so that a folder counts as ours only when it is complete. */
static int fill(const struct output_folder *folder, struct error *err)
{
    char **names, **moved;
    size_t count, done = 0;
    int status = 0;
    if (file_list(folder->part, &names, &count, err))
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

/* For file systems that cannot exchange two folders in one step: the old one is renamed first. */
static int exchange_in_steps(const struct output_folder *folder, struct error *err)
{
    char *aside = make_beside(folder->place, "old", err);
    int status = aside ? 0 : -1;
    if (!status && rename(folder->place, aside))
        status = error_errno(err, "cannot replace %s", folder->place);
    if (!status && rename(folder->part, folder->place)) {
        status = error_errno(err, "cannot replace %s", folder->place);
        if (rename(aside, folder->place))
            error_prefix(err, "the old folder is now %s", aside);
    } else if (!status && rename(aside, folder->part)) {
        status = error_errno(err, "cannot remove the old %s, which is now %s", folder->place, aside);
    }
    if (aside)
        rmdir(aside); /* fails, as it should, when something is in it */
    free(aside);
    return status;
}

/* Exchanges the two folders. Afterwards the old one is the temporary folder, and is removed with it. */
static int replace(const struct output_folder *folder, struct error *err)
{
    if (check_ours(folder->place, folder->layout,
                   err)) /* the target may have changed since the first check */
        return -1;
    if (renameat2(AT_FDCWD, folder->part, AT_FDCWD, folder->place, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
        return exchange_in_steps(folder, err);
    return error_errno(err, "cannot replace %s", folder->place);
}

int output_folder_put(struct output_folder *folder, struct error *err)
{
    if (folder->replaces)
        return replace(folder, err);
    if (folder->fills)
        return fill(folder, err);
    if (move_new(folder->part, folder->place))
        return error_errno(err, "cannot make %s", folder->place);
    return 0;
}

void output_folder_release(struct output_folder *folder)
{
    if (folder->part)
        file_remove_tree(folder->part, NULL);
    free(folder->part);
    free(folder->place);
    *folder = (struct output_folder){0};
}
