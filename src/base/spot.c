#define _GNU_SOURCE /* for O_PATH */
#include "base/spot.h"

#include "base/memory.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEP_FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

static bool is_dots(const char *part, size_t length)
{
    return (length == 1 || length == 2) && part[0] == '.' && part[length - 1] == '.';
}

/* Whether a name stays inside its folder and names something in it. "./" is harmless, and models have it. */
static bool is_inside(const char *name)
{
    for (const char *part = name;;) {
        size_t length = strcspn(part, "/");
        bool last = part[length] == '\0';
        if (length == 0 || length > NAME_MAX || (is_dots(part, length) && (last || length == 2)))
            return false;
        if (last)
            return true;
        part += length + 1;
    }
}

static void close_quietly(int fd)
{
    int cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
}

static int step(int at, const char *part, size_t length, bool make)
{
    char name[NAME_MAX + 1];
    memcpy(name, part, length);
    name[length] = '\0';
    if (make && mkdirat(at, name, 0777) < 0 && errno != EEXIST)
        return -1;
    return openat(at, name, STEP_FLAGS);
}

/* The path that the user gave: whatever it leads through is his own. */
static int find_of_user(struct spot *spot, const char *path, struct error *err)
{
    char *above = memory_strdup(path);
    size_t length = strlen(above);
    while (length > 1 && above[length - 1] == '/')
        above[--length] = '\0';
    char *slash = strrchr(above, '/');
    spot->last = memory_strdup(slash ? slash + 1 : above);
    if (slash)
        slash[slash == above] = '\0';
    spot->fd = open(slash ? above : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!*spot->last) { /* the root folder */
        free(spot->last);
        spot->last = memory_strdup(".");
    }
    free(above);
    return spot->fd < 0 ? error_errno(err, "cannot open %s", path) : 0;
}

int spot_find(struct spot *spot, const struct folder *in, const char *name, bool make, struct error *err)
{
    *spot = (struct spot){.fd = -1};
    if (in == USERS_PATH)
        return find_of_user(spot, name, err);
    if (!is_inside(name))
        return error_set(err, ERROR_INVALID, "'%.200s' does not name anything inside %s", name, in->path);
    const char *part = name;
    spot->fd = fcntl(in->fd, F_DUPFD_CLOEXEC, 0);
    for (size_t length; spot->fd >= 0 && part[length = strcspn(part, "/")]; part += length + 1) {
        if (is_dots(part, length))
            continue;
        int inner = step(spot->fd, part, length, make);
        close_quietly(spot->fd);
        spot->fd = inner;
    }
    spot->last = memory_strdup(part);
    return spot->fd < 0 ? spot_refuse(in, name, "cannot open", err) : 0;
}

void spot_release(struct spot *spot)
{
    close_quietly(spot->fd);
    free(spot->last);
    *spot = (struct spot){.fd = -1};
}

/* The length of the part of the name, with all before it, that is a link; 0: there is none. */
static size_t find_link(const struct folder *in, const char *name)
{
    struct stat info;
    size_t found = 0, end = 0;
    char *path = memory_strdup(name);
    while (!found && name[end]) {
        end += strcspn(name + end, "/");
        path[end] = '\0';
        if (fstatat(in->fd, path, &info, AT_SYMLINK_NOFOLLOW) < 0)
            break;
        found = S_ISLNK(info.st_mode) ? end : 0;
        path[end] = name[end];
        end += name[end] != '\0';
    }
    free(path);
    return found;
}

int spot_refuse(const struct folder *in, const char *name, const char *doing, struct error *err)
{
    int cause = errno;
    size_t link = in == USERS_PATH ? 0 : find_link(in, name);
    if (link)
        return error_set(err, ERROR_IO,
                         "%s/%.*s is a symbolic link, which is not followed here: it could lead out of the "
                         "folder; put there what it leads to, or remove it",
                         in->path, (int)link, name);
    char *path = folder_path(in, name);
    errno = cause;
    int status = error_errno(err, "%s %s", doing, path);
    free(path);
    return status;
}

const char *spot_kind(mode_t mode)
{
    return S_ISREG(mode)    ? NULL
           : S_ISDIR(mode)  ? "a folder"
           : S_ISLNK(mode)  ? "a symbolic link"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

int spot_refuse_kind(const struct folder *in, const char *name, const char *kind, struct error *err)
{
    if (text_equal(kind, "a folder") || text_equal(kind, "a symbolic link")) {
        errno = EISDIR;
        return spot_refuse(in, name, "cannot read", err);
    }
    char *path = folder_path(in, name);
    int status =
        in == USERS_PATH
            ? error_set(err, ERROR_IO, "%s is %s; give a regular file", path, kind)
            : error_set(err, ERROR_IO, "%s is %s, where a regular file is expected; remove it", path, kind);
    free(path);
    return status;
}
