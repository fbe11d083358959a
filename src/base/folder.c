#define _GNU_SOURCE /* for O_PATH and renameat2 */
#include "base/folder.h"

#include "base/memory.h"
#include "base/spot.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC, MOST_ATTEMPTS = 1000 };

/* A pipe does not wait for its other end, and a terminal does not become ours. */
enum { FILE_FLAGS = O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

char *folder_path(const struct folder *in, const char *name)
{
    struct str path;
    str_init(&path);
    if (in != USERS_PATH)
        str_printf(&path, "%s%s", in->path, text_ends(in->path, "/") ? "" : "/");
    str_add(&path, name);
    return path.data;
}

int folder_prefix(const struct folder *in, const char *name, struct error *err)
{
    char *path = folder_path(in, name);
    error_prefix(err, "%s", path);
    free(path);
    return -1;
}

static int keep_open(struct folder *folder, int fd, const struct folder *in, const char *name,
                     struct error *err)
{
    if (fd < 0)
        return spot_refuse(in, name, "cannot open folder", err);
    *folder = (struct folder){fd, folder_path(in, name)};
    return 0;
}

int folder_open(struct folder *folder, const struct folder *in, const char *name, struct error *err)
{
    struct spot spot;
    *folder = (struct folder){0};
    if (in == USERS_PATH)
        return keep_open(folder, open(name, FOLDER_FLAGS), in, name, err);
    int status = spot_find(&spot, in, name, false, err);
    if (!status)
        status = keep_open(folder, openat(spot.fd, spot.last, FOLDER_FLAGS | O_NOFOLLOW), in, name, err);
    spot_release(&spot);
    return status;
}

int folder_open_around(struct folder *folder, const struct folder *in, const char *name, struct error *err)
{
    struct spot spot;
    *folder = (struct folder){0};
    int status = spot_find(&spot, in, name, false, err);
    if (!status) {
        *folder = (struct folder){spot.fd, folder_path(in, name)};
        char *slash = strrchr(folder->path, '/');
        if (slash)
            slash[slash == folder->path] = '\0';
        else
            strcpy(folder->path, ".");
        spot.fd = -1;
    }
    spot_release(&spot);
    return status;
}

void folder_close(struct folder *folder)
{
    if (folder->path)
        close(folder->fd);
    free(folder->path);
    *folder = (struct folder){0};
}

/* Like mkdir -p. */
static int make_users(const char *path, struct error *err)
{
    struct stat info;
    char *copy = memory_strdup(path);
    int result = 0;
    for (char *at = copy + (*copy != '\0'); !result; at++) {
        if (*at && *at != '/')
            continue;
        char end = *at;
        *at = '\0';
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
            result = error_errno(err, "cannot make folder %s", copy);
        *at = end;
        if (!end)
            break;
    }
    free(copy);
    if (!result && (stat(path, &info) < 0 || !S_ISDIR(info.st_mode))) {
        errno = ENOTDIR;
        return error_errno(err, "cannot make folder %s", path);
    }
    return result;
}

int folder_make_all(const struct folder *in, const char *name, struct error *err)
{
    struct folder made;
    int status = folder_make(&made, in, name, err);
    folder_close(&made);
    return status;
}

int folder_make(struct folder *folder, const struct folder *in, const char *name, struct error *err)
{
    struct spot spot;
    *folder = (struct folder){0};
    if (in == USERS_PATH)
        return make_users(name, err) || folder_open(folder, in, name, err) ? -1 : 0;
    int status = spot_find(&spot, in, name, true, err);
    if (!status && mkdirat(spot.fd, spot.last, 0777) < 0 && errno != EEXIST)
        status = spot_refuse(in, name, "cannot make folder", err);
    spot_release(&spot);
    return status ? -1 : folder_open(folder, in, name, err);
}

int folder_make_fresh(struct folder *folder, const struct folder *in, const char *stem, char **name,
                      struct error *err)
{
    struct str fresh;
    struct spot spot;
    *folder = (struct folder){0};
    *name = NULL;
    str_init(&fresh);
    int status = spot_find(&spot, in, stem, false, err), made = -1;
    for (unsigned number = 0; !status && made < 0 && number < MOST_ATTEMPTS; number++) {
        str_clear(&fresh);
        str_printf(&fresh, "%s-%ld-%u", spot.last, (long)getpid(), number);
        made = mkdirat(spot.fd, fresh.data, 0777);
        if (made < 0 && errno != EEXIST)
            status = spot_refuse(in, stem, "cannot make folder", err);
    }
    if (!status && made < 0)
        status = error_set(err, ERROR_IO, "there are too many unfinished folders %s-...", stem);
    if (!status)
        status =
            keep_open(folder, openat(spot.fd, fresh.data, FOLDER_FLAGS | O_NOFOLLOW), in, fresh.data, err);
    if (!status)
        *name = str_detach(&fresh);
    str_release(&fresh);
    spot_release(&spot);
    return status;
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

char *folder_real_path(const struct folder *folder, struct error *err)
{
    char *path = realpath(folder->path, NULL);
    struct stat held, there;
    if (path && fstat(folder->fd, &held) == 0 && lstat(path, &there) == 0 && is_same(&held, &there))
        return path;
    free(path);
    error_set(err, ERROR_IO, "the folder %s was moved or replaced meanwhile", folder->path);
    return NULL;
}

bool folder_is_there(const struct folder *folder)
{
    struct stat held, there;
    return fstat(folder->fd, &held) == 0 && stat(folder->path, &there) == 0 && is_same(&held, &there);
}

bool folder_is_file(const struct folder *in, const char *name, int fd)
{
    struct stat held, there;
    struct spot spot;
    bool same = !spot_find(&spot, in, name, false, NULL) && fstat(fd, &held) == 0 &&
                fstatat(spot.fd, spot.last, &there, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&held, &there);
    spot_release(&spot);
    return same;
}

enum folder_entry folder_look(const struct folder *in, const char *name)
{
    struct spot spot;
    struct stat info;
    struct error why = {0};
    int status = spot_find(&spot, in, name, false, &why);
    int cause = status ? why.cause : 0;
    if (!status && fstatat(spot.fd, spot.last, &info, in == USERS_PATH ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
        cause = errno;
    spot_release(&spot);
    if (status || cause)
        return cause == ENOENT ? ENTRY_NONE : ENTRY_OTHER;
    return S_ISREG(info.st_mode) ? ENTRY_FILE : S_ISDIR(info.st_mode) ? ENTRY_FOLDER : ENTRY_OTHER;
}

bool folder_has(const struct folder *in, const char *name)
{
    return folder_look(in, name) != ENTRY_NONE;
}

static int compare_names(const void *left, const void *right)
{
    return text_compare(*(char *const *)left, *(char *const *)right);
}

int folder_list(const struct folder *folder, char ***names, size_t *count, struct error *err)
{
    *names = NULL;
    *count = 0;
    int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        error_errno(err, "cannot open folder %s", folder->path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    size_t capacity = 0;
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        if (text_equal(entry->d_name, ".") || text_equal(entry->d_name, ".."))
            continue;
        *names = memory_grow(*names, &capacity, *count + 1, sizeof **names);
        (*names)[(*count)++] = memory_strdup(entry->d_name);
    }
    closedir(dir);
    if (*count)
        qsort(*names, *count, sizeof **names, compare_names);
    return 0;
}

/* The descriptor, if it is of a regular file; it is closed otherwise. */
static int only_regular(int fd, const struct folder *in, const char *name, struct error *err)
{
    struct stat info;
    int status = fstat(fd, &info) < 0      ? spot_refuse(in, name, "cannot stat", err)
                 : spot_kind(info.st_mode) ? spot_refuse_kind(in, name, spot_kind(info.st_mode), err)
                                           : 0;
    if (status)
        close(fd);
    return status ? -1 : fd;
}

int folder_open_file(const struct folder *in, const char *name, struct error *err)
{
    struct spot spot;
    struct stat info;
    if (spot_find(&spot, in, name, false, err)) {
        spot_release(&spot);
        return -1;
    }
    bool users = in == USERS_PATH;
    int fd = users ? open(name, O_RDONLY | FILE_FLAGS)
                   : openat(spot.fd, spot.last, O_RDONLY | FILE_FLAGS | O_NOFOLLOW);
    if (fd >= 0)
        fd = only_regular(fd, in, name, err);
    else if (errno == ENXIO && fstatat(spot.fd, spot.last, &info, 0) == 0 && spot_kind(info.st_mode))
        spot_refuse_kind(in, name, spot_kind(info.st_mode), err);
    else
        spot_refuse(in, name, "cannot open", err);
    spot_release(&spot);
    return fd;
}

int folder_map(struct file_map *map, const struct folder *in, const char *name, struct error *err)
{
    *map = (struct file_map){0};
    int fd = folder_open_file(in, name, err);
    if (fd < 0)
        return -1;
    int status = file_map_fd(map, fd, err);
    close(fd);
    return status ? folder_prefix(in, name, err) : 0;
}

static int read_all(int fd, const char *path, size_t limit, struct str *text, struct error *err)
{
    char chunk[65536];
    ssize_t got;
    while ((got = read(fd, chunk, sizeof chunk)) > 0 || (got < 0 && errno == EINTR)) {
        if (got > 0 && (size_t)got > limit - text->length)
            return error_set(err, ERROR_LIMIT, "%s is larger than %zu bytes", path, limit);
        if (got > 0)
            str_append(text, chunk, (size_t)got);
    }
    return got < 0 ? error_errno(err, "cannot read %s", path) : 0;
}

int folder_read(const struct folder *in, const char *name, size_t limit, char **data, size_t *size,
                struct error *err)
{
    int fd = folder_open_file(in, name, err);
    if (fd < 0)
        return -1;
    struct str text;
    char *path = folder_path(in, name);
    str_init(&text);
    int status = read_all(fd, path, limit, &text, err);
    close(fd);
    free(path);
    if (!status) {
        *size = text.length;
        *data = str_detach(&text);
    }
    str_release(&text);
    return status;
}

/* What is there must be a file, which is replaced, or nothing. A new file gets the old one's permissions. */
static int check_replaced(const struct spot *spot, const struct folder *in, const char *name, mode_t *mode,
                          struct error *err)
{
    struct stat info;
    *mode = 0;
    if (fstatat(spot->fd, spot->last, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : spot_refuse(in, name, "cannot write", err);
    *mode = S_ISREG(info.st_mode) ? info.st_mode & 07777 : 0;
    if (S_ISREG(info.st_mode) || (in == USERS_PATH && S_ISLNK(info.st_mode)))
        return 0;
    errno = EISDIR;
    return S_ISDIR(info.st_mode) ? spot_refuse(in, name, "cannot write", err)
                                 : spot_refuse_kind(in, name, spot_kind(info.st_mode), err);
}

static int open_temporary(const struct spot *spot, struct str *name)
{
    int fd = -1;
    for (unsigned number = 0; fd < 0 && number < MOST_ATTEMPTS; number++) {
        str_clear(name);
        str_printf(name, "%s.tmp%ld-%u", spot->last, (long)getpid(), number);
        fd = openat(spot->fd, name->data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

static void fresh_release(struct fresh_file *file)
{
    if (file->folder >= 0)
        close(file->folder);
    free(file->last);
    free(file->temporary);
    free(file->path);
    *file = (struct fresh_file){.folder = -1};
}

/* Takes the spot over, whose file it becomes. */
static int begin_fresh(struct fresh_file *file, struct spot *spot, mode_t mode)
{
    struct str temporary;
    str_init(&temporary);
    int fd = open_temporary(spot, &temporary);
    if (fd >= 0 && mode)
        (void)!fchmod(fd, mode); /* on failure it has those of a new file */
    *file = (struct fresh_file){.stream = fd < 0 ? NULL : fdopen(fd, "wb"),
                                .folder = spot->fd,
                                .last = spot->last,
                                .temporary = str_detach(&temporary)};
    *spot = (struct spot){.fd = -1};
    if (fd >= 0 && !file->stream) {
        unlinkat(file->folder, file->temporary, 0);
        close(fd);
    }
    return file->stream ? 0 : -1;
}

int folder_create(struct fresh_file *file, const struct folder *in, const char *name, struct error *err)
{
    struct spot spot;
    mode_t mode;
    *file = (struct fresh_file){.folder = -1};
    int status = spot_find(&spot, in, name, false, err) || check_replaced(&spot, in, name, &mode, err);
    if (!status && begin_fresh(file, &spot, mode))
        status = spot_refuse(in, name, "cannot write", err);
    spot_release(&spot);
    if (status)
        fresh_release(file);
    else
        file->path = folder_path(in, name);
    return status ? -1 : 0;
}

int folder_put(struct fresh_file *file, struct error *err)
{
    bool failed = ferror(file->stream) != 0;
    failed = fclose(file->stream) != 0 || failed;
    int status = failed || renameat(file->folder, file->temporary, file->folder, file->last) < 0
                     ? error_errno(err, "cannot write %s", file->path)
                     : 0;
    if (status)
        unlinkat(file->folder, file->temporary, 0);
    fresh_release(file);
    return status;
}

void folder_drop(struct fresh_file *file)
{
    fclose(file->stream);
    unlinkat(file->folder, file->temporary, 0);
    fresh_release(file);
}

int folder_write(const struct folder *in, const char *name, const void *data, size_t size, struct error *err)
{
    struct fresh_file file;
    if (folder_create(&file, in, name, err))
        return -1;
    setvbuf(file.stream, NULL, _IONBF, 0);
    if (size)
        fwrite(data, 1, size, file.stream);
    return folder_put(&file, err);
}

/* The descriptor, if it is of a file that may be changed in place; it is closed otherwise. */
static int only_own(int fd, const struct folder *in, const char *name, struct error *err)
{
    struct stat info;
    if (only_regular(fd, in, name, err) < 0)
        return -1;
    if (in == USERS_PATH || (fstat(fd, &info) == 0 && info.st_nlink <= 1))
        return fd;
    char *path = folder_path(in, name);
    error_set(err, ERROR_IO,
              "%s has other names (hard links), and changing it would change what they name; put a copy "
              "in its place",
              path);
    free(path);
    close(fd);
    return -1;
}

int folder_open_in_place(const struct folder *in, const char *name, struct error *err)
{
    struct spot spot;
    int fd = -1, flags = O_RDWR | FILE_FLAGS | (in == USERS_PATH ? 0 : O_NOFOLLOW);
    if (!spot_find(&spot, in, name, false, err)) {
        fd = openat(spot.fd, spot.last, flags | O_CREAT | O_EXCL, 0666);
        if (fd < 0 && errno == EEXIST)
            fd = openat(spot.fd, spot.last, flags);
        if (fd < 0)
            spot_refuse(in, name, "cannot write", err);
        else
            fd = only_own(fd, in, name, err);
    }
    spot_release(&spot);
    return fd;
}

int folder_check_in_place(const struct folder *in, const char *name, struct error *err)
{
    if (!folder_has(in, name))
        return 0;
    int fd = folder_open_file(in, name, err);
    if (fd >= 0)
        fd = only_own(fd, in, name, err);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

bool folder_write_fd(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t count = write(fd, at, size);
        if (count < 0 && errno != EINTR)
            return false;
        at += count > 0 ? count : 0;
        size -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

int folder_append(const struct folder *in, const char *name, const void *data, size_t size, struct error *err)
{
    int fd = folder_open_in_place(in, name, err);
    if (fd < 0)
        return -1;
    bool good = lseek(fd, 0, SEEK_END) >= 0 && folder_write_fd(fd, data, size);
    good = close(fd) == 0 && good;
    return good ? 0 : spot_refuse(in, name, "cannot write", err);
}

/* A rename that never replaces anything. On file systems that do not support this, it is checked beforehand.
 */
static int move_new(const struct spot *from, const struct spot *to)
{
    struct stat info;
    if (renameat2(from->fd, from->last, to->fd, to->last, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return -1;
    if (fstatat(to->fd, to->last, &info, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(from->fd, from->last, to->fd, to->last);
}

static int link_new(const struct spot *from, const struct spot *to)
{
    return linkat(from->fd, from->last, to->fd, to->last, 0);
}

static int between(int (*act)(const struct spot *from, const struct spot *to), const struct folder *from,
                   const char *name, const struct folder *to, const char *new_name, struct error *err)
{
    struct spot old, new;
    int status = spot_find(&old, from, name, false, err);
    if (spot_find(&new, to, new_name, false, status ? NULL : err))
        status = -1;
    if (!status && act(&old, &new) < 0)
        status = spot_refuse(to, new_name, "cannot make", err);
    spot_release(&old);
    spot_release(&new);
    return status;
}

int folder_move(const struct folder *from, const char *name, const struct folder *to, const char *new_name,
                struct error *err)
{
    return between(move_new, from, name, to, new_name, err);
}

int folder_link(const struct folder *from, const char *name, const struct folder *to, const char *new_name,
                struct error *err)
{
    return between(link_new, from, name, to, new_name, err);
}

static int exchange(const struct spot *one, const struct spot *other)
{
    return renameat2(one->fd, one->last, other->fd, other->last, RENAME_EXCHANGE);
}

/* For file systems that cannot exchange two folders in one step: one is moved aside first. */
static int exchange_in_steps(const struct folder *in, const char *one, const char *other, struct error *err)
{
    struct folder aside;
    char *name, *inner = NULL;
    int status = folder_make_fresh(&aside, in, ".assay.old", &name, err);
    if (!status)
        inner = folder_path(&(struct folder){.path = name}, "folder");
    if (!status)
        status = folder_move(in, other, in, inner, err);
    if (!status && folder_move(in, one, in, other, err)) {
        status = -1;
        if (folder_move(in, inner, in, other, NULL))
            error_prefix(err, "what was there is now %s/%s", in->path, inner);
    } else if (!status && folder_move(in, inner, in, one, err)) {
        status = error_prefix(err, "what was there is now %s/%s", in->path, inner);
    }
    folder_close(&aside);
    if (name && !(status && folder_has(in, inner)))
        folder_remove(in, name, NULL);
    free(inner);
    free(name);
    return status;
}

int folder_exchange(const struct folder *in, const char *one, const char *other, struct error *err)
{
    struct error why = {0};
    if (between(exchange, in, one, in, other, &why) == 0)
        return 0;
    if (why.cause == EINVAL || why.cause == ENOSYS || why.cause == EOPNOTSUPP)
        return exchange_in_steps(in, one, other, err);
    if (err)
        *err = why;
    return -1;
}
