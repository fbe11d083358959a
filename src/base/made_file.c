#include "base/made_file.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int made_file_make(struct made_file *file, const char *path, struct error *err)
{
    struct stat info;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST)
        return error_set(err, ERROR_IO, "%s is there already; move it away, or name another file", path);
    if (fd < 0)
        return error_errno(err, "cannot make %s", path);
    int status = fstat(fd, &info) ? error_errno(err, "cannot make %s", path) : 0;
    close(fd);
    if (!status)
        *file = (struct made_file){memory_strdup(path), info.st_dev, info.st_ino};
    return status;
}

static bool look(const struct made_file *file, struct stat *info)
{
    return lstat(file->path, info) == 0 && S_ISREG(info->st_mode) && info->st_dev == file->device &&
           info->st_ino == file->number;
}

bool made_file_is_there(const struct made_file *file)
{
    struct stat info;
    return look(file, &info);
}

void made_file_release(struct made_file *file)
{
    struct stat info;
    if (look(file, &info) && info.st_size == 0)
        unlink(file->path);
    free(file->path);
    *file = (struct made_file){0};
}
