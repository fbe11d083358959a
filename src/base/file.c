#include "base/file.h"

#include "base/file_format.h"
#include "base/memory.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is no regular file, in words; NULL for one. */
static const char *kind_of(mode_t mode)
{
    return S_ISREG(mode)    ? NULL
           : S_ISDIR(mode)  ? "a folder"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

static int refuse_kind(const char *path, const char *kind, struct error *err)
{
    errno = EISDIR;
    return text_equal(kind, "a folder")
               ? error_errno(err, "cannot read %s", path)
               : error_set(err, ERROR_IO, "%s is %s; give a regular file", path, kind);
}

int file_open_regular(const char *path, struct error *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe does not wait for a writer */
    if (fd < 0 && errno == ENXIO && stat(path, &info) == 0 && kind_of(info.st_mode))
        return refuse_kind(path, kind_of(info.st_mode), err);
    if (fd < 0)
        return error_errno(err, "cannot open %s", path);
    int result = fstat(fd, &info) < 0    ? error_errno(err, "cannot stat %s", path)
                 : kind_of(info.st_mode) ? refuse_kind(path, kind_of(info.st_mode), err)
                                         : 0;
    if (result)
        close(fd);
    return result ? -1 : fd;
}

/* Mapped files, for the guard. */
static struct file_map *maps;
static size_t n_maps, map_room;
static volatile sig_atomic_t maps_cut;
static struct sigaction before_guard;

static bool is_mapped(const uint8_t *at)
{
    for (size_t i = 0; i < n_maps; i++)
        if (at >= maps[i].data && (size_t)(at - maps[i].data) < maps[i].size)
            return true;
    return false;
}

/* Only system calls, so that it may interrupt anything. */
static void put_zeros(int number, siginfo_t *info, void *context)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uint8_t *at = info->si_addr;
    void *start = (void *)((uintptr_t)at / page * page);
    if (is_mapped(at) &&
        mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
        maps_cut = 1;
        return;
    }
    if (before_guard.sa_flags & SA_SIGINFO) {
        before_guard.sa_sigaction(number, info, context);
        return;
    }
    sigaction(number, &before_guard, NULL); /* the access is made again, and does what it did before */
}

void file_guard_maps(void)
{
    struct sigaction guard = {.sa_sigaction = put_zeros, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &guard, &before_guard);
}

bool file_maps_were_cut(void)
{
    return maps_cut;
}

int file_map_fd(struct file_map *map, int fd, struct error *err)
{
    struct stat info;
    *map = (struct file_map){0};
    if (fstat(fd, &info) < 0)
        return error_errno(err, "cannot stat a file");
    if (info.st_size == 0)
        return 0;
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return error_errno(err, "cannot map a file");
    *map = (struct file_map){data, (size_t)info.st_size};
    maps = memory_grow(maps, &map_room, n_maps + 1, sizeof *maps);
    maps[n_maps++] = *map;
    if (!file_is_lfs_pointer(map->data, map->size))
        return 0;
    file_map_close(map);
    return error_set(err, ERROR_UNSUPPORTED,
                     "this is a Git LFS pointer, which stands for the file; 'git lfs pull' brings the file");
}

int file_map_open(struct file_map *map, const char *path, struct error *err)
{
    *map = (struct file_map){0};
    int fd = file_open_regular(path, err);
    if (fd < 0)
        return -1;
    int result = file_map_fd(map, fd, err);
    close(fd);
    return result ? error_prefix(err, "%s", path) : 0;
}

void file_map_close(struct file_map *map)
{
    for (size_t i = 0; map->data && i < n_maps; i++)
        if (maps[i].data == map->data) {
            maps[i] = maps[--n_maps];
            break;
        }
    if (n_maps == 0) {
        free(maps);
        maps = NULL;
        map_room = 0;
    }
    if (map->data)
        munmap((void *)(uintptr_t)map->data, map->size);
    *map = (struct file_map){0};
}

void file_map_forget(const void *data, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)data, to = from + size;
    from = (from + page - 1) / page * page;
    to = to / page * page;
    if (from < to && is_mapped((const uint8_t *)data) && is_mapped((const uint8_t *)data + size - 1))
        madvise((void *)from, to - from, MADV_DONTNEED);
}

int file_read(const char *path, size_t limit, char **data, size_t *size, struct error *err)
{
    int fd = file_open_regular(path, err);
    if (fd < 0)
        return -1;
    struct str text;
    str_init(&text);
    char chunk[65536];
    ssize_t got;
    int result = 0;
    while (!result && ((got = read(fd, chunk, sizeof chunk)) > 0 || (got < 0 && errno == EINTR))) {
        if (got > 0 && (size_t)got > limit - text.length)
            result = error_set(err, ERROR_LIMIT, "%s is larger than %zu bytes", path, limit);
        else if (got > 0)
            str_append(&text, chunk, (size_t)got);
    }
    if (!result && got < 0)
        result = error_errno(err, "cannot read %s", path);
    close(fd);
    if (!result) {
        *size = text.length;
        *data = text.data;
    } else {
        str_release(&text);
    }
    return result;
}

static int write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

bool file_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode) &&
           (!S_ISREG(info.st_mode) || text_starts(path, "/dev/") || text_starts(path, "/proc/"));
}

static int write_straight(const char *path, const void *data, size_t size, struct error *err)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "cannot write %s", path);
    bool failed = write_all(fd, data, size) < 0;
    failed = close(fd) < 0 || failed;
    return failed ? error_errno(err, "cannot write %s", path) : 0;
}

int file_open_temporary(const char *path, char **name, struct error *err)
{
    struct str temporary;
    str_init(&temporary);
    int fd = -1;
    for (unsigned number = 0; fd < 0 && number < 1000; number++) {
        str_clear(&temporary);
        str_printf(&temporary, "%s.tmp%ld-%u", path, (long)getpid(), number);
        fd = open(temporary.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    *name = fd < 0 ? NULL : str_detach(&temporary);
    str_release(&temporary);
    if (fd < 0)
        error_errno(err, "cannot write %s", path);
    return fd;
}

/* An existing file keeps its permissions. */
static void copy_mode(const char *path, int fd)
{
    struct stat info;
    if (stat(path, &info) == 0 && fchmod(fd, info.st_mode & 07777) < 0)
        return; /* on failure it has those of a new file */
}

static int write_whole(const char *path, const void *data, size_t size, struct error *err)
{
    char *temporary;
    int fd = file_open_temporary(path, &temporary, err), result = 0;
    if (fd < 0)
        return -1;
    copy_mode(path, fd);
    bool failed = write_all(fd, data, size) < 0;
    failed = close(fd) < 0 || failed;
    if (failed || rename(temporary, path) < 0) {
        result = error_errno(err, "cannot write %s", path);
        unlink(temporary);
    }
    free(temporary);
    return result;
}

int file_write(const char *path, const void *data, size_t size, struct error *err)
{
    if (file_is_special(path))
        return write_straight(path, data, size, err);
    /* A symbolic link is kept, and the file that it points to is written. */
    char *real = realpath(path, NULL);
    int result = write_whole(real ? real : path, data, size, err);
    free(real);
    return result;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

int file_make_folders(const char *path, struct error *err)
{
    char *copy = memory_strdup(path);
    int result = 0;
    for (char *at = copy + 1; !result; at++) {
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
    if (!result && !file_is_folder(path)) {
        errno = ENOTDIR;
        return error_errno(err, "cannot make folder %s", path);
    }
    return result;
}

/* Opens a folder of a folder, also one that its maker has closed to himself; -1: it is none. */
static int open_inner(int folder, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, fd = openat(folder, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(folder, name, 0700, 0) == 0)
        fd = openat(folder, name, flags);
    if (fd >= 0)
        (void)!fchmod(fd, 0700); /* fails on somebody else's; what cannot be removed then is told */
    return fd;
}

/* Moves a folder, which is in `from`, to the top of the tree, under a name that nothing there has. */
static bool move_up(int from, const char *name, int top, size_t *number)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        char fresh[40];
        snprintf(fresh, sizeof fresh, "moved-%zu", (*number)++);
        if (renameat(from, name, top, fresh) == 0)
            return true;
        if (errno == EACCES && fchmodat(from, name, 0700, 0) < 0)
            return false;
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR && errno != EACCES)
            return false;
    }
    return false;
}

/* One entry of a folder that is directly below the top, or of the top itself. */
static bool remove_entry(int folder, const char *name, int top, size_t *number)
{
    return unlinkat(folder, name, 0) == 0 || errno == ENOENT ||
           ((errno == EISDIR || errno == EPERM) &&
            (unlinkat(folder, name, AT_REMOVEDIR) == 0 || move_up(folder, name, top, number)));
}

/*
 * Empties a folder. Folders in it are emptied, and folders in those are moved to the top, so that no depth
 * needs a path, a recursion or many descriptors.
 */
static bool empty(int folder, int top, size_t *number)
{
    int own = dup(folder);
    DIR *dir = own < 0 ? NULL : fdopendir(own);
    bool good = dir != NULL, found = true;
    if (!dir && own >= 0)
        close(own);
    while (good && found) {
        struct dirent *entry;
        found = false;
        rewinddir(dir);
        while (good && (entry = readdir(dir))) {
            if (text_equal(entry->d_name, ".") || text_equal(entry->d_name, ".."))
                continue;
            found = true;
            int inner = folder == top ? open_inner(folder, entry->d_name) : -1;
            if (inner >= 0) {
                good = empty(inner, top, number) && unlinkat(folder, entry->d_name, AT_REMOVEDIR) == 0;
                close(inner);
            } else {
                good = remove_entry(folder, entry->d_name, top, number);
            }
        }
    }
    int cause = errno;
    if (dir)
        closedir(dir);
    errno = cause;
    return good;
}

int file_remove_tree(const char *path, struct error *err)
{
    size_t number = 0;
    int top = open_inner(AT_FDCWD, path);
    bool gone = top >= 0 ? empty(top, top, &number) && rmdir(path) == 0 : unlink(path) == 0;
    int cause = errno;
    if (top >= 0)
        close(top);
    errno = cause;
    return gone || errno == ENOENT ? 0 : error_errno(err, "cannot remove %s", path);
}

const char *file_base(const char *path)
{
    const char *base = path;
    for (const char *at = path; *at; at++)
        if (*at == '/' && at[1] && at[1] != '/')
            base = at + 1;
    return base;
}

char *file_join(const char *folder, const char *name)
{
    struct str path;
    str_init(&path);
    str_add(&path, folder);
    if (path.length && path.data[path.length - 1] != '/')
        str_add(&path, "/");
    str_add(&path, name);
    return path.data;
}

static int compare_names(const void *left, const void *right)
{
    const char *a = *(char *const *)left, *b = *(char *const *)right;
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char *end_a, *end_b;
            unsigned long long x = strtoull(a, &end_a, 10), y = strtoull(b, &end_b, 10);
            if (x != y)
                return x < y ? -1 : 1;
            a = end_a;
            b = end_b;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *a ? 1 : *b ? -1 : 0;
}

int file_list(const char *folder, char ***names, size_t *count, struct error *err)
{
    *names = NULL;
    *count = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return error_errno(err, "cannot open folder %s", folder);
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

void file_names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}
