#define _GNU_SOURCE
#include "engine/cgroup.h"
#include "engine/footprint.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const size_t mb = (size_t)1 << 20;

static void *taken(size_t size, int flags, int file)
{
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, file, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    for (size_t at = 0; at < size; at += 4096)
        memory[at] = 1;
    return memory;
}

static void tell_and_stay(int told)
{
    if (write(told, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

/* A child with 32 MB that its own child, which has 64 MB besides, shares. Both stay. */
static pid_t start_family(void)
{
    int told[2];
    char byte;
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        char *shared = taken(32 * mb, MAP_SHARED | MAP_ANONYMOUS, -1);
        if (fork() == 0) {
            memset(shared, 2, 32 * mb);
            taken(64 * mb, MAP_PRIVATE | MAP_ANONYMOUS, -1);
            setsid();
        }
        tell_and_stay(told[1]);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(read(told[0], &byte, 1), 1);
    close(told[0]);
    close(told[1]);
    return child;
}

static void end_family(pid_t child)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)child, (long)child);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0 && read(file, text, sizeof text - 1) > 0);
    close(file);
    kill((pid_t)strtol(text, NULL, 10), SIGKILL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* What is shared counts twice at first sight, and once when it matters. */
static void all_generations_count(void **state)
{
    (void)state;
    size_t own = footprint_of(getpid(), SIZE_MAX); /* which children have, too, until they write to it */
    pid_t child = start_family();
    size_t quick = footprint_of(child, SIZE_MAX), exact = footprint_of(child, quick - 1);
    end_family(child);
    print_message("[          ] %zu MB at first sight, %zu MB exactly\n", quick / mb, exact / mb);
    assert_true(quick >= 120 * mb); /* it counts in batches */
    assert_in_range(exact, 90 * mb, 104 * mb + own);
}

static void mapped_files_do_not_count(void **state)
{
    (void)state;
    char path[] = "/var/tmp/assay-test-XXXXXX";
    int file = mkstemp(path), told[2];
    char byte;
    assert_true(file >= 0 && unlink(path) == 0 && ftruncate(file, (off_t)(64 * mb)) == 0 && pipe(told) == 0);
    size_t own = footprint_of(getpid(), SIZE_MAX);
    pid_t child = fork();
    if (child == 0) {
        taken(64 * mb, MAP_SHARED, file);
        tell_and_stay(told[1]);
    }
    assert_int_equal(read(told[0], &byte, 1), 1);
    size_t size = footprint_of(child, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(told[0]);
    close(told[1]);
    close(file);
    assert_in_range(size, 1, 16 * mb + own);
}

static void enter(const char *group)
{
    char path[600];
    snprintf(path, sizeof path, "%s/cgroup.procs", group);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "0", 1) != 1)
        _exit(1);
    close(file);
}

/* Where a group can be had, the kernel ends what takes more than it may, and says so. */
static void groups_are_limited(void **state)
{
    (void)state;
    struct cgroup_home home;
    int status;
    cgroup_home_find(&home);
    char *group = cgroup_make(&home, 64 * mb);
    if (!group) {
        cgroup_home_release(&home);
        print_message("[          ] no groups can be made here\n");
        skip();
    }
    assert_int_equal(cgroup_kills(group), 0);
    pid_t child = fork();
    if (child == 0) {
        enter(group);
        taken(256 * mb, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(cgroup_kills(group) > 0);
    cgroup_remove(group);
    assert_int_equal(access(group, F_OK), -1);
    free(group);
    cgroup_home_release(&home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_generations_count),
        cmocka_unit_test(mapped_files_do_not_count),
        cmocka_unit_test(groups_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
