#define _GNU_SOURCE
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_LAUNCH = 125, SMALL = 64 << 20 };

/* What every program may need of the system. */
static const char *const system_folders[] = {"/usr",   "/bin", "/sbin",  "/lib",
                                             "/lib32", "/opt", "/lib64", "/sys/devices/system"};
static const char *const settings[] = {"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf",
                                       "/etc/ld.so.conf.d", "/etc/localtime",   "/etc/OpenCL"};
static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

/* One mount of the new file system. */
struct piece {
    const char *path;
    int tree; /* a copy of the mount, attached nowhere */
};

struct view {
    struct piece pieces[SANDBOX_MAX_SEEN + SANDBOX_MAX_WRITTEN + 32];
    size_t count;
};

static void note(struct walls *walls, const char *what)
{
    snprintf(walls->why, sizeof walls->why, "%s: %s", what, strerror(errno));
}

static int write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t written = write(fd, text, strlen(text));
    close(fd);
    return written == (ssize_t)strlen(text) ? 0 : -1;
}

/* The user stays who it is, and has capabilities only inside. */
static int map_user(uid_t user, gid_t group)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "%ld %ld 1\n", (long)user, (long)user);
    snprintf(groups, sizeof groups, "%ld %ld 1\n", (long)group, (long)group);
    write_text("/proc/self/setgroups", "deny"); /* older kernels have no such file, and root needs none */
    return write_text("/proc/self/uid_map", users) || write_text("/proc/self/gid_map", groups);
}

static int make_namespaces(struct walls *walls)
{
    const int others = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    uid_t user = geteuid();
    gid_t group = getegid();
    if (unshare(CLONE_NEWUSER | others) == 0) {
        if (map_user(user, group) == 0)
            return 0;
        note(walls, "cannot map the user");
        return -1;
    }
    note(walls, "cannot make namespaces");
    return user == 0 ? unshare(others) : -1; /* root needs no user namespace for the others */
}

static int take(struct view *view, const char *path, bool read_only, bool device)
{
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID | (device ? 0 : MOUNT_ATTR_NODEV) |
                                                (read_only ? MOUNT_ATTR_RDONLY : 0)};
    struct piece *piece = &view->pieces[view->count];
    if (view->count == sizeof view->pieces / sizeof *view->pieces) {
        errno = E2BIG;
        return -1;
    }
    piece->path = path;
    piece->tree = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (piece->tree < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1; /* not there: not seen */
    if (mount_setattr(piece->tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) < 0) {
        close(piece->tree);
        return -1;
    }
    view->count++;
    return 0;
}

static bool is_device(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0;
}

/* Whether it is seen already as a part of the system. */
static bool is_system(const char *path)
{
    for (size_t i = 0; i < sizeof system_folders / sizeof *system_folders; i++) {
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
    for (size_t i = 0; i < sizeof system_folders / sizeof *system_folders; i++)
        if (!is_link(system_folders[i]) && take(view, system_folders[i], true, false))
            return -1;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (take(view, settings[i], true, false))
            return -1;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (take(view, devices[i], false, true))
            return -1;
    for (size_t i = 0; i < sandbox->n_seen; i++)
        if (!is_system(sandbox->seen[i]) &&
            take(view, sandbox->seen[i], !is_device(sandbox->seen[i]), is_device(sandbox->seen[i])))
            return -1;
    for (size_t i = 0; i < sandbox->n_written; i++)
        if (take(view, sandbox->written[i], false, false))
            return -1;
    if (take(view, sandbox->scratch, false, false))
        return -1;
    qsort(view->pieces, view->count, sizeof *view->pieces, by_path);
    return 0;
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

static int add_memory(const char *folder, const char *mode)
{
    char options[64];
    snprintf(options, sizeof options, "mode=%s,size=%d", mode, SMALL);
    if (make_place(folder, true))
        return -1;
    return mount("tmpfs", folder + 1, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

static int add_links(void)
{
    char target[PATH_MAX];
    for (size_t i = 0; i < sizeof system_folders / sizeof *system_folders; i++) {
        ssize_t length = readlink(system_folders[i], target, sizeof target - 1);
        if (length < 0)
            continue;
        target[length] = '\0';
        if (symlink(target, system_folders[i] + 1) < 0)
            return -1;
    }
    return symlink("/proc/self/fd", "dev/fd");
}

/* Builds the new file system over the scratch folder, which is copied before, and leaves it as the present
 * folder. */
static int build_view(const struct sandbox *sandbox)
{
    struct view view = {.count = 0};
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || take_all(&view, sandbox) ||
        mount("tmpfs", sandbox->scratch, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m") < 0 ||
        chdir(sandbox->scratch) < 0 || add_memory("/tmp", "1777") || add_memory("/dev", "755") ||
        add_memory("/dev/shm", "1777") || make_place("/proc", true))
        return -1;
    for (size_t i = 0; i < view.count; i++)
        if (attach(&view.pieces[i]))
            return -1;
    return add_links();
}

/* The new file system becomes the root, and the old one is gone. */
static int enter_view(void)
{
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return -1;
    return mount_setattr(AT_FDCWD, "/dev", 0, &read_only, sizeof read_only) < 0 ||
                   mount_setattr(AT_FDCWD, "/", 0, &read_only, sizeof read_only) < 0
               ? -1
               : 0;
}

/* The first process of its namespace: with its end all others in it end. It has nothing to do but to be
 * there, and to bury processes that lost their parents. */
static pid_t start_first(bool *sees_proc)
{
    int told[2];
    char answer = 0;
    if (pipe2(told, O_CLOEXEC) < 0)
        return -1;
    pid_t first = fork();
    if (first == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        answer = mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0 ? 'y' : 'n';
        ssize_t ignored = write(told[1], &answer, 1);
        (void)ignored;
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        close_range(3, UINT_MAX, 0);
        signal(SIGCHLD, SIG_IGN);
        for (;;)
            pause();
    }
    close(told[1]);
    if (first > 0 && read(told[0], &answer, 1) != 1)
        answer = 0;
    close(told[0]);
    *sees_proc = answer == 'y';
    return first;
}

/* Ends as the engine did, when nothing of it is left. */
__attribute__((noreturn)) static void end_alike(pid_t engine, pid_t first)
{
    int status;
    sigset_t none;
    signal(SIGTERM, SIG_IGN); /* it goes to the whole group, and is the engine's to answer */
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    close_range(3, UINT_MAX, 0);
    while (waitpid(engine, &status, 0) < 0)
        if (errno != EINTR)
            _exit(EXIT_LAUNCH);
    kill(first, SIGKILL);
    waitpid(first, NULL, 0); /* returns when all processes of the namespace are gone */
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    signal(WTERMSIG(status), SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    kill(getpid(), WTERMSIG(status));
    _exit(EXIT_LAUNCH);
}

/* No capability, not even inside its namespaces, and no way to get one by executing something. */
static int drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
        if (prctl(PR_CAPBSET_DROP, capability) < 0)
            return -1;
    if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED) < 0)
        return -1;
    return (int)syscall(SYS_capset, &header, none);
}

static void die(const char *what)
{
    fprintf(stderr, "assay-launch: %s: %s\n", what, strerror(errno));
    _exit(EXIT_LAUNCH);
}

/* Enters the view, and goes on in a child that is in the new namespace of processes. */
static void go_on_inside(const struct sandbox *sandbox, struct walls *walls)
{
    bool sees_proc = false;
    pid_t first = start_first(&sees_proc);
    if (first < 0)
        die("cannot start the first process of a namespace");
    if (walls->view) {
        /* A container may forbid a /proc of one's own; then the engine has the container's, to read. */
        if (!sees_proc && mount("/proc", "proc", NULL, MS_BIND | MS_REC, NULL) < 0)
            die("cannot give the engine /proc");
        if (enter_view())
            die("cannot enter the sandbox");
        walls->processes = sees_proc;
    }
    pid_t engine = fork();
    if (engine < 0)
        die("cannot start a process in a namespace");
    if (engine > 0)
        end_alike(engine, first);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (walls->view && chdir(sandbox->scratch) < 0)
        die(sandbox->scratch);
    if (drop_capabilities())
        die("cannot give up capabilities");
    walls->network = true;
}

static const uint64_t reading =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t writing = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

static void allow(int rules, const char *path, uint64_t access)
{
    struct stat status;
    struct landlock_path_beneath_attr rule = {.allowed_access = access,
                                              .parent_fd = open(path, O_PATH | O_CLOEXEC)};
    if (rule.parent_fd < 0)
        return; /* not there */
    if (fstat(rule.parent_fd, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.allowed_access &=
            LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

/* The same view of files by the kernel's other means. */
static bool lock_files(const struct sandbox *sandbox)
{
    struct landlock_ruleset_attr handled = {.handled_access_fs = reading | writing};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (rules < 0)
        return false;
    for (size_t i = 0; i < sizeof system_folders / sizeof *system_folders; i++)
        allow(rules, system_folders[i], reading);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        allow(rules, settings[i], reading);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        allow(rules, devices[i], reading | writing);
    for (size_t i = 0; i < sandbox->n_seen; i++)
        allow(rules, sandbox->seen[i], is_device(sandbox->seen[i]) ? reading | writing : reading);
    allow(rules, "/proc/self", reading);
    allow(rules, "/proc/cpuinfo", reading);
    allow(rules, "/proc/meminfo", reading);
    for (size_t i = 0; i < sandbox->n_written; i++)
        allow(rules, sandbox->written[i], reading | writing);
    allow(rules, sandbox->scratch, reading | writing);
    bool locked = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return locked;
}

void sandbox_enter(const struct sandbox *sandbox, struct walls *walls)
{
    *walls = (struct walls){0};
    if (make_namespaces(walls) == 0) {
        walls->view = build_view(sandbox) == 0;
        if (!walls->view) {
            note(walls, "cannot build a file system of its own");
            umount2(sandbox->scratch, MNT_DETACH); /* if it had come that far */
            if (chdir(sandbox->scratch) < 0)
                die(sandbox->scratch);
        }
        go_on_inside(sandbox, walls);
    } else
        drop_capabilities(); /* which only root has */
    if (!walls->view)
        walls->landlock = lock_files(sandbox);
}
