#include "base/file.h"

#include "base/memory.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int file_map_open(struct file_map *map, const char *path, struct error *err)
{
    map->data = NULL;
    map->size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not wait for a writer if it is a pipe */
    if (fd < 0)
        return error_errno(err, "cannot open %s", path);
    int result = 0;
    struct stat info;
    if (fstat(fd, &info) < 0) {
        result = error_errno(err, "cannot stat %s", path);
    } else if (!S_ISREG(info.st_mode)) {
        errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
        result = S_ISDIR(info.st_mode)
                     ? error_errno(err, "cannot read %s", path)
                     : error_set(err, ERROR_IO, "%s is a pipe or a device; give a regular file", path);
    } else if (info.st_size > 0) {
        void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            result = error_errno(err, "cannot map %s", path);
        } else {
            map->data = data;
            map->size = (size_t)info.st_size;
        }
    }
    close(fd);
    return result;
}

void file_map_close(struct file_map *map)
{
    if (map->data)
        munmap((void *)(uintptr_t)map->data, map->size);
    map->data = NULL;
    map->size = 0;
}

int file_read(const char *path, size_t limit, char **data, size_t *size, struct error *err)
{
    FILE *in = fopen(path, "rbe");
    if (!in)
        return error_errno(err, "cannot open %s", path);
    struct str text;
    str_init(&text);
    char chunk[65536];
    size_t got;
    int result = 0;
    while ((got = fread(chunk, 1, sizeof chunk, in)) > 0) {
        if (got > limit - text.length) {
            result = error_set(err, ERROR_LIMIT, "%s is larger than %zu bytes", path, limit);
            break;
        }
        str_append(&text, chunk, got);
    }
    if (!result && ferror(in))
        result = error_errno(err, "cannot read %s", path);
    fclose(in);
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

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

int file_remove_tree(const char *path, struct error *err)
{
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT)
        return error_errno(err, "cannot remove %s", path);
    return 0;
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
