#include "base/file.h"

#include "base/folder.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int file_map_open(struct file_map *map, const char *path, struct error *err)
{
    return folder_map(map, USERS_PATH, path, err);
}

int file_read(const char *path, size_t limit, char **data, size_t *size, struct error *err)
{
    return folder_read(USERS_PATH, path, limit, data, size, err);
}

bool file_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode) &&
           (!S_ISREG(info.st_mode) || text_starts(path, "/dev/") || text_starts(path, "/proc/"));
}

static int write_straight(const char *path, int how, const void *data, size_t size, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | how);
    if (fd < 0)
        return error_errno(err, "cannot write %s", path);
    bool failed = !folder_write_fd(fd, data, size);
    failed = close(fd) < 0 || failed;
    return failed ? error_errno(err, "cannot write %s", path) : 0;
}

int file_write(const char *path, const void *data, size_t size, struct error *err)
{
    if (file_is_special(path))
        return write_straight(path, O_APPEND, data, size, err);
    /* A symbolic link is kept, and the file that it points to is written. */
    char *real = realpath(path, NULL);
    int result = folder_write(USERS_PATH, real ? real : path, data, size, err);
    free(real);
    return result;
}

int file_fill(const char *path, const void *data, size_t size, struct error *err)
{
    return write_straight(path, O_TRUNC | O_NOFOLLOW, data, size, err);
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
    return folder_make_all(USERS_PATH, path, err);
}

int file_remove_tree(const char *path, struct error *err)
{
    return folder_remove(USERS_PATH, path, err);
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

int file_list(const char *path, char ***names, size_t *count, struct error *err)
{
    struct folder folder;
    *names = NULL;
    *count = 0;
    int status = folder_open(&folder, USERS_PATH, path, err);
    if (!status)
        status = folder_list(&folder, names, count, err);
    folder_close(&folder);
    return status;
}

void file_names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}
