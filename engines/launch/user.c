#define _GNU_SOURCE
#include "user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_text(int folder, const char *path, const char *text)
{
    int fd = openat(folder, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t written = write(fd, text, strlen(text));
    close(fd);
    return written == (ssize_t)strlen(text) ? 0 : -1;
}

bool user_is_root(void)
{
    unsigned long inside, outside;
    FILE *map = geteuid() == 0 ? fopen("/proc/self/uid_map", "re") : NULL;
    bool root = map && fscanf(map, "%lu %lu", &inside, &outside) == 2 && inside == 0 && outside == 0;
    if (map)
        fclose(map);
    return root;
}

int user_map_root(void)
{
    /* All others stay who they are; nobody's own files are nobody's no more. */
    static const char map[] = "0 65534 1\n1 1 65533\n65535 65535 4294901760\n";
    char folder[64];
    int made = -1;
    pid_t holder = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (holder == 0)
        for (;;)
            pause();
    if (holder < 0)
        return -1;
    snprintf(folder, sizeof folder, "/proc/%ld", (long)holder);
    int proc = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (proc >= 0 && !write_text(proc, "uid_map", map) && !write_text(proc, "gid_map", map))
        made = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC);
    if (proc >= 0)
        close(proc);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    return made;
}

int user_enter_namespaces(int proc, int further, const char **failed)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "%ld %ld 1\n", (long)geteuid(), (long)geteuid());
    snprintf(groups, sizeof groups, "%ld %ld 1\n", (long)getegid(), (long)getegid());
    *failed = "cannot make namespaces";
    if (unshare(CLONE_NEWUSER | further) < 0)
        return -1;
    *failed = "cannot map the user";
    write_text(proc, "self/setgroups", "deny"); /* older kernels have no such file */
    return write_text(proc, "self/uid_map", users) || write_text(proc, "self/gid_map", groups) ? -1 : 0;
}

/* What executing something could give back. */
static int empty_bounding_set(void)
{
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
        if (prctl(PR_CAPBSET_DROP, capability) < 0)
            return -1;
    return 0;
}

int user_clear_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    return (int)syscall(SYS_capset, &header, none);
}

int user_drop_capabilities(void)
{
    if (empty_bounding_set() ||
        prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED) < 0)
        return -1;
    return user_clear_capabilities();
}

int user_become_nobody(int proc, bool *apart)
{
    const char *failed;
    if (empty_bounding_set() || setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) < 0) /* which takes the other capabilities */
        return -1;
    prctl(PR_SET_DUMPABLE, 1); /* its files in /proc are root's otherwise, and there it says who it is */
    *apart = user_enter_namespaces(proc, 0, &failed) == 0;
    return *apart ? user_drop_capabilities() : user_clear_capabilities();
}
