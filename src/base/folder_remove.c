/*
 * Removing a folder and everything in it (folder_remove of base/folder.h).
 */
#include "base/folder.h"

#include "base/spot.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

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

static bool remove_spot(const struct spot *spot)
{
    size_t number = 0;
    int top = open_inner(spot->fd, spot->last);
    bool gone = top >= 0 ? empty(top, top, &number) && unlinkat(spot->fd, spot->last, AT_REMOVEDIR) == 0
                         : unlinkat(spot->fd, spot->last, 0) == 0;
    int cause = errno;
    if (top >= 0)
        close(top);
    errno = cause;
    return gone || errno == ENOENT;
}

int folder_remove(const struct folder *in, const char *name, struct error *err)
{
    struct spot spot;
    struct error why = {0};
    int status = spot_find(&spot, in, name, false, &why);
    if (status && why.cause == ENOENT)
        status = 0;
    else if (status && err)
        *err = why;
    else if (!status && !remove_spot(&spot))
        status = spot_refuse(in, name, "cannot remove", err);
    spot_release(&spot);
    return status;
}
