#define _GNU_SOURCE
#include "landlock.h"

#include "paths.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of Debian 12, and the versions of Landlock that brought them. */
#define ACCESS_REFER (1ULL << 13)
#define ACCESS_TRUNCATE (1ULL << 14)
#define ACCESS_IOCTL (1ULL << 15)
#define SCOPE_SIGNAL (1ULL << 1)
enum { WITH_REFER = 2, WITH_TRUNCATE = 3, WITH_IOCTL = 5, WITH_SIGNAL = 6 };

struct rules {
    uint64_t files, ports, scoped;
};

static const uint64_t reading =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t writing =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
    LANDLOCK_ACCESS_FS_MAKE_SYM | ACCESS_REFER | ACCESS_TRUNCATE;
static const uint64_t of_single_files = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
                                        LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL;

static int version(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static int make_rules(struct rules *rules, int known)
{
    if (known < WITH_REFER)
        rules->files &= ~ACCESS_REFER;
    if (known < WITH_TRUNCATE)
        rules->files &= ~ACCESS_TRUNCATE;
    if (known < WITH_IOCTL)
        rules->files &= ~ACCESS_IOCTL;
    if (known < WITH_SIGNAL)
        rules->scoped = 0;
    if (known < 1 || !(rules->files | rules->scoped))
        return -1;
    return (int)syscall(SYS_landlock_create_ruleset, rules, sizeof *rules, 0);
}

static bool restrict_self(int rules)
{
    bool restricted = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return restricted;
}

bool landlock_scope_signals(void)
{
    struct rules rules = {.scoped = SCOPE_SIGNAL};
    int made = make_rules(&rules, version());
    return made >= 0 && restrict_self(made);
}

static void allow(int made, const struct rules *rules, const char *path, uint64_t access)
{
    struct stat status;
    struct landlock_path_beneath_attr rule = {.allowed_access = access & rules->files,
                                              .parent_fd = open(path, O_PATH | O_CLOEXEC)};
    if (rule.parent_fd < 0)
        return; /* not there */
    if (fstat(rule.parent_fd, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.allowed_access &= of_single_files;
    syscall(SYS_landlock_add_rule, made, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

static void allow_all(int made, const struct rules *rules, const struct sandbox *sandbox)
{
    static const char *const own[] = {"/proc/self", "/proc/cpuinfo", "/proc/meminfo"};
    const uint64_t device = reading | LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL;
    for (size_t i = 0; i < COUNT(system_folders); i++)
        allow(made, rules, system_folders[i], reading);
    for (size_t i = 0; i < COUNT(system_settings); i++)
        allow(made, rules, system_settings[i], reading);
    for (size_t i = 0; i < COUNT(system_devices); i++)
        allow(made, rules, system_devices[i], device);
    for (size_t i = 0; i < COUNT(own); i++)
        allow(made, rules, own[i], reading);
    for (size_t i = 0; i < sandbox->n_seen; i++)
        allow(made, rules, sandbox->seen[i], is_device(sandbox->seen[i]) ? device : reading);
    for (size_t i = 0; i < sandbox->n_written; i++)
        allow(made, rules, sandbox->written[i], reading | writing);
    allow(made, rules, sandbox->scratch, reading | writing);
}

void landlock_enter(const struct sandbox *sandbox, struct walls *walls)
{
    struct rules rules = {.files = reading | writing | ACCESS_IOCTL, .scoped = SCOPE_SIGNAL};
    int made = make_rules(&rules, version());
    if (made < 0)
        return;
    allow_all(made, &rules, sandbox);
    walls->landlock = restrict_self(made);
    walls->lengths = walls->landlock && (rules.files & ACCESS_TRUNCATE);
    walls->signals = walls->signals || (walls->landlock && rules.scoped);
}
