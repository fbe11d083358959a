#define _GNU_SOURCE
#include "engine/cgroup.h"

#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "assay-"; /* of a group's name, before the process and a number */

/* The kernel's own files, which are small. */
static bool read_kernel(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static bool write_kernel(const char *folder, const char *name, const char *text)
{
    char *path = file_join(folder, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t written = fd < 0 ? -1 : write(fd, text, strlen(text));
    if (fd >= 0)
        close(fd);
    free(path);
    return written == (ssize_t)strlen(text);
}

/* Whether a list with commas or spaces has the word. */
static bool has_word(const char *list, const char *word)
{
    for (const char *at = list; (at = strstr(at, word)); at++) {
        char before = at == list ? ',' : at[-1], after = at[strlen(word)];
        if (strchr(", \n", before) && (!after || strchr(", \n", after)))
            return true;
    }
    return false;
}

/* The group of this process: below which mount it lies, as /proc/self/cgroup tells ("4:memory:/path",
 * "0::/path"). */
static bool find_group(bool unified, char *group, size_t size)
{
    char text[8192], *rest = NULL;
    if (!read_kernel("/proc/self/cgroup", text, sizeof text))
        return false;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path = '\0';
        if (unified ? controllers[1] == '\0' : has_word(controllers + 1, "memory"))
            return snprintf(group, size, "%s", path + 1) < (int)size;
    }
    return false;
}

/* One line of mountinfo: "36 35 98:0 ROOT PLACE OPTIONS ... - TYPE SOURCE OPTIONS". */
static bool is_mount(char *line, bool unified, char **root, char **place)
{
    char *dash = strstr(line, " - "), *rest = NULL, *word = strtok_r(line, " ", &rest);
    for (int i = 1; word && i <= 4; i++) {
        word = strtok_r(NULL, " ", &rest);
        if (i == 3)
            *root = word;
    }
    *place = word;
    if (!dash || !word)
        return false;
    if (unified)
        return text_starts(dash + 3, "cgroup2 ");
    const char *options = strrchr(dash + 3, ' ');
    return text_starts(dash + 3, "cgroup ") && options && has_word(options + 1, "memory");
}

/* The folder of this process's group; NULL: it is mounted nowhere. */
static char *find_folder(bool unified)
{
    char group[4096], *line = NULL, *folder = NULL;
    size_t room = 0;
    FILE *mounts = find_group(unified, group, sizeof group) ? fopen("/proc/self/mountinfo", "re") : NULL;
    while (mounts && !folder && getline(&line, &room, mounts) > 0) {
        char *root = NULL, *place;
        line[strcspn(line, "\n")] = '\0';
        if (!is_mount(line, unified, &root, &place))
            continue;
        size_t length = text_equal(root, "/") ? 0 : strlen(root);
        if (strncmp(group, root, length) == 0)
            folder = file_join(place, group + length + (group[length] == '/'));
    }
    free(line);
    if (mounts)
        fclose(mounts);
    return folder;
}

/* In version 2 a group has either processes or subgroups, so a new group is made beside that of this process.
 * The owner of the folder must have delegated the control of memory. */
static bool step_out(char *folder)
{
    char text[512], *path = file_join(folder, "cgroup.type"); /* which the first group of all has not */
    if (access(path, F_OK) == 0)
        *strrchr(folder, '/') = '\0';
    free(path);
    path = file_join(folder, "cgroup.subtree_control");
    bool fits = read_kernel(path, text, sizeof text) && has_word(text, "memory");
    free(path);
    return fits;
}

static bool may_use(const char *folder)
{
    char *path = file_join(folder, "cgroup.procs");
    bool may = access(folder, W_OK) == 0 && access(path, W_OK) == 0;
    free(path);
    return may;
}

static void remove_abandoned(const char *folder)
{
    char **names;
    size_t count;
    if (file_list(folder, &names, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        long owner = text_starts(names[i], prefix) ? strtol(names[i] + strlen(prefix), NULL, 10) : 0;
        if (owner <= 0 || kill((pid_t)owner, 0) == 0 || errno != ESRCH)
            continue;
        char *path = file_join(folder, names[i]);
        rmdir(path);
        free(path);
    }
    file_names_free(names, count);
}

void cgroup_home_find(struct cgroup_home *home)
{
    *home = (struct cgroup_home){.folder = find_folder(false)};
    if (!home->folder) {
        home->folder = find_folder(true);
        home->unified = true;
    }
    if (home->folder && ((home->unified && !step_out(home->folder)) || !may_use(home->folder)))
        cgroup_home_release(home);
    if (home->folder)
        remove_abandoned(home->folder);
}

void cgroup_home_release(struct cgroup_home *home)
{
    free(home->folder);
    home->folder = NULL;
}

/* The kernel's limit is a little above the one that Assay watches, because the kernel also counts its own
 * memory for the processes. */
static bool set_limit(const struct cgroup_home *home, const char *folder, size_t memory)
{
    char most[32];
    snprintf(most, sizeof most, "%zu", memory + memory / 8 + ((size_t)16 << 20));
    if (home->unified) {
        write_kernel(folder, "memory.swap.max", "0");
        write_kernel(folder, "memory.oom.group", "1");
        return write_kernel(folder, "memory.max", most);
    }
    bool set = write_kernel(folder, "memory.limit_in_bytes", most);
    write_kernel(folder, "memory.memsw.limit_in_bytes", most); /* where swap is counted */
    return set;
}

char *cgroup_make(struct cgroup_home *home, size_t memory)
{
    struct str folder;
    if (!home->folder)
        return NULL;
    str_init(&folder);
    str_printf(&folder, "%s/%s%ld-%zu", home->folder, prefix, (long)getpid(), home->made++);
    if (mkdir(folder.data, 0755) == 0) {
        if (set_limit(home, folder.data, memory))
            return folder.data;
        rmdir(folder.data);
    }
    str_release(&folder);
    cgroup_home_release(home); /* none of the next ones would do better */
    return NULL;
}

static uint64_t read_kills(const char *folder, const char *name)
{
    char text[1024], *path = file_join(folder, name);
    bool read = read_kernel(path, text, sizeof text);
    const char *line = read ? strstr(text, "oom_kill ") : NULL;
    free(path);
    return line ? strtoull(line + strlen("oom_kill "), NULL, 10) : 0;
}

uint64_t cgroup_kills(const char *folder)
{
    return read_kills(folder, "memory.events") + read_kills(folder, "memory.oom_control");
}

void cgroup_remove(const char *folder)
{
    rmdir(folder);
}
