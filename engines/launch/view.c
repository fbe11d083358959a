#define _GNU_SOURCE
#include "view.h"

#include "paths.h"
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { SYSTEM, DEVICE, SHOWN, SHOWN_DEVICE, WRITTEN, SCRATCH };

/* One mount of the new file system. */
struct piece {
    const char *path;
    int tree; /* a copy of the mount, attached nowhere */
};

struct view {
    struct piece *pieces;
    size_t count;
    bool nobody;         /* it is for nobody */
    int mapped;          /* see view_build */
    const char *refused; /* what nobody cannot read */
    int given;           /* the scratch folder, when it has to be given to nobody; or -1 */
};

/* Whether nobody can read, or write, a mount whose files are root's. */
static bool is_open_to_all(int tree, enum kind kind)
{
    struct stat status;
    if (fstatat(tree, "", &status, AT_EMPTY_PATH) < 0)
        return false;
    bool folder = S_ISDIR(status.st_mode), write = kind == WRITTEN || kind == SHOWN_DEVICE;
    mode_t wanted = S_IROTH | (write ? S_IWOTH : 0) | (folder ? S_IXOTH : 0);
    return (status.st_mode & wanted) == wanted;
}

/* Mounts what is root's as nobody's, where the file system can do that. */
static bool give_to_nobody(struct view *view, const struct piece *piece, enum kind kind)
{
    struct mount_attr mapped = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (__u64)view->mapped};
    if (!view->nobody || kind == SYSTEM || kind == DEVICE)
        return true;
    if (view->mapped >= 0 &&
        mount_setattr(piece->tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &mapped, sizeof mapped) == 0)
        return true;
    if (kind == SCRATCH)
        view->given = piece->tree;
    return kind == SCRATCH || is_open_to_all(piece->tree, kind);
}

static int set_attributes(struct view *view, const struct piece *piece, enum kind kind)
{
    bool device = kind == DEVICE || kind == SHOWN_DEVICE;
    struct mount_attr plain = {.attr_set = MOUNT_ATTR_NOSUID | (device ? 0 : MOUNT_ATTR_NODEV) |
                                           (kind == WRITTEN || kind == SCRATCH ? 0 : MOUNT_ATTR_RDONLY)};
    if (!give_to_nobody(view, piece, kind))
        view->refused = piece->path;
    return mount_setattr(piece->tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &plain, sizeof plain);
}

static int take(struct view *view, const char *path, enum kind kind)
{
    struct piece *piece = &view->pieces[view->count];
    piece->path = path;
    piece->tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (piece->tree < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1; /* not there: not seen */
    if (set_attributes(view, piece, kind) < 0) {
        close(piece->tree);
        return -1;
    }
    view->count++;
    return 0;
}

/* Whether it is seen already as a part of the system. */
static bool is_system(const char *path)
{
    for (size_t i = 0; i < COUNT(system_folders); i++) {
        size_t length = strlen(system_folders[i]);
        if (strncmp(path, system_folders[i], length) == 0 && (path[length] == '/' || !path[length]))
            return true;
    }
    return false;
}

static bool is_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct piece *)a)->path, ((const struct piece *)b)->path);
}

/* Copies all mounts, parents before what lies in them. */
static int take_all(struct view *view, const struct sandbox *sandbox)
{
    for (size_t i = 0; i < COUNT(system_folders); i++)
        if (!is_link(system_folders[i]) && take(view, system_folders[i], SYSTEM))
            return -1;
    for (size_t i = 0; i < COUNT(system_settings); i++)
        if (take(view, system_settings[i], SYSTEM))
            return -1;
    for (size_t i = 0; i < COUNT(system_devices); i++)
        if (take(view, system_devices[i], DEVICE))
            return -1;
    for (size_t i = 0; i < sandbox->n_seen; i++)
        if (!is_system(sandbox->seen[i]) &&
            take(view, sandbox->seen[i], is_device(sandbox->seen[i]) ? SHOWN_DEVICE : SHOWN))
            return -1;
    for (size_t i = 0; i < sandbox->n_written; i++)
        if (take(view, sandbox->written[i], WRITTEN))
            return -1;
    if (take(view, sandbox->scratch, SCRATCH))
        return -1;
    qsort(view->pieces, view->count, sizeof *view->pieces, by_path);
    return 0;
}

/* The same, as nobody's, or as they are when nobody could not read all of them. */
static int take_for_nobody(struct view *view, const struct sandbox *sandbox)
{
    if (take_all(view, sandbox))
        return -1;
    if (view->refused) {
        while (view->count)
            close(view->pieces[--view->count].tree);
        view->nobody = false;
        view->given = -1;
        return take_all(view, sandbox);
    }
    return view->given < 0 ? 0 : fchownat(view->given, "", NOBODY, NOBODY, AT_EMPTY_PATH);
}

/* Makes the folders on the way to `path` in the present folder, and the place itself. What exists stays: it
 * may lie in a tree that was attached before and that is read-only. */
static int make_place(const char *path, bool folder)
{
    char at[PATH_MAX];
    snprintf(at, sizeof at, "%s", path + 1);
    for (char *slash = strchr(at, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(at, 0755) < 0 && errno != EEXIST && access(at, F_OK) < 0)
            return -1;
        *slash = '/';
    }
    if (access(at, F_OK) == 0)
        return 0;
    if (folder)
        return mkdir(at, 0755);
    int fd = open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 ? -1 : close(fd);
}

static int attach(const struct piece *piece)
{
    struct stat status;
    if (fstatat(piece->tree, "", &status, AT_EMPTY_PATH) < 0 ||
        make_place(piece->path, S_ISDIR(status.st_mode)) < 0)
        return -1;
    return move_mount(piece->tree, "", AT_FDCWD, piece->path + 1, MOVE_MOUNT_F_EMPTY_PATH);
}

static int add_memory(const char *folder, const char *mode, size_t size)
{
    char options[64];
    snprintf(options, sizeof options, "mode=%s,size=%zu", mode, size);
    if (make_place(folder, true))
        return -1;
    return mount("tmpfs", folder + 1, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

static int add_links(void)
{
    char target[PATH_MAX];
    for (size_t i = 0; i < COUNT(system_folders); i++) {
        ssize_t length = readlink(system_folders[i], target, sizeof target - 1);
        if (length < 0)
            continue;
        target[length] = '\0';
        if (symlink(target, system_folders[i] + 1) < 0)
            return -1;
    }
    return symlink("/proc/self/fd", "dev/fd");
}

static int assemble(struct view *view, const struct sandbox *sandbox)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || take_for_nobody(view, sandbox) ||
        mount("tmpfs", sandbox->scratch, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m") < 0 ||
        chdir(sandbox->scratch) < 0 || add_memory("/tmp", "1777", sandbox->small) ||
        add_memory("/dev", "755", sandbox->small) || add_memory("/dev/shm", "1777", sandbox->small) ||
        make_place("/proc", true))
        return -1;
    for (size_t i = 0; i < view->count; i++)
        if (attach(&view->pieces[i]))
            return -1;
    return add_links();
}

int view_build(const struct sandbox *sandbox, bool nobody, int mapped, const char **refused)
{
    size_t most = COUNT(system_folders) + COUNT(system_settings) + COUNT(system_devices) + sandbox->n_seen +
                  sandbox->n_written + 1;
    struct view view = {
        .pieces = calloc(most, sizeof *view.pieces), .nobody = nobody, .mapped = mapped, .given = -1};
    int result = view.pieces ? assemble(&view, sandbox) : -1;
    free(view.pieces);
    *refused = view.refused;
    return result;
}

int view_mount_proc(void)
{
    return mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL);
}

int view_show_proc(void)
{
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                               MOUNT_ATTR_NOEXEC};
    if (mount("/proc", "proc", NULL, MS_BIND | MS_REC, NULL) < 0)
        return -1;
    return mount_setattr(AT_FDCWD, "proc", AT_RECURSIVE, &read_only, sizeof read_only);
}

int view_enter(void)
{
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return -1;
    return mount_setattr(AT_FDCWD, "/dev", 0, &read_only, sizeof read_only) < 0 ||
                   mount_setattr(AT_FDCWD, "/", 0, &read_only, sizeof read_only) < 0
               ? -1
               : 0;
}
