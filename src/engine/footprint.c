#define _GNU_SOURCE
#include "engine/footprint.h"

#include "base/memory.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PROCESSES = 4096, PIECE = 1 << 16, KB = 1024 };

struct family {
    pid_t *pids;
    size_t count, room;
};

static bool is_member(const struct family *family, pid_t pid)
{
    for (size_t i = 0; i < family->count; i++)
        if (family->pids[i] == pid)
            return true;
    return false;
}

static void add_member(struct family *family, pid_t pid)
{
    if (family->count == MOST_PROCESSES || is_member(family, pid))
        return;
    family->pids = memory_grow(family->pids, &family->room, family->count + 1, sizeof *family->pids);
    family->pids[family->count++] = pid;
}

/* The start of a small file, as text. */
static void read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
}

/* The kernel lists children by the thread that started them. */
static void add_children(struct family *family, pid_t pid, const char *thread)
{
    char path[80], text[PIECE], *end = text;
    snprintf(path, sizeof path, "/proc/%ld/task/%.20s/children", (long)pid, thread);
    read_text(path, text, sizeof text);
    for (const char *at = text;; at = end) {
        long child = strtol(at, &end, 10);
        if (end == at)
            return;
        add_member(family, (pid_t)child);
    }
}

static void find_family(struct family *family, pid_t process)
{
    add_member(family, process);
    for (size_t i = 0; i < family->count; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%ld/task", (long)family->pids[i]);
        DIR *threads = opendir(path);
        for (struct dirent *thread; threads && (thread = readdir(threads));)
            if (*thread->d_name != '.')
                add_children(family, family->pids[i], thread->d_name);
        if (threads)
            closedir(threads);
    }
}

/* The number of a line "NAME:  NUMBER kB". */
static size_t amount(const char *text, const char *name)
{
    const char *line = strstr(text, name);
    return line ? (size_t)strtoull(line + strlen(name), NULL, 10) * KB : 0;
}

static void read_status(pid_t pid, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    read_text(path, text, size);
}

static size_t quick_count(pid_t pid)
{
    char text[4096];
    read_status(pid, text, sizeof text);
    return amount(text, "\nRssAnon:") + amount(text, "\nRssShmem:") + amount(text, "\nVmSwap:") +
           amount(text, "\nHugetlbPages:");
}

/* Whether a mapping, by the line that begins it, is of a file that somebody could have saved: neither
 * anonymous nor of memory that looks like a file. */
static bool is_of_file(const char *line)
{
    static const char *const memory[] = {"/memfd:", "/SYSV", "/dev/zero", "/anon_hugepage"};
    const char *name = strchr(line, '/');
    for (size_t i = 0; name && i < sizeof memory / sizeof *memory; i++)
        if (text_starts(name, memory[i]))
            return false;
    return name != NULL;
}

/* What one line of smaps adds, in bytes. */
static size_t exact_line(const char *line, bool *of_file)
{
    const char *colon = strchr(line, ':'), *space = strchr(line, ' ');
    if (!colon || (space && space < colon)) {
        *of_file = is_of_file(line); /* "7f01-7f02 rw-p 00000000 00:00 0  NAME" */
        return 0;
    }
    bool counts = text_starts(line, *of_file ? "Anonymous:" : "Pss:") || text_starts(line, "SwapPss:") ||
                  text_starts(line, "Shared_Hugetlb:") || text_starts(line, "Private_Hugetlb:");
    return counts ? (size_t)strtoull(colon + 1, NULL, 10) * KB : 0;
}

/* Returns what quick_count says where the process does not let itself be looked at. */
static size_t exact_count(pid_t pid)
{
    char path[64], *line = NULL;
    size_t sum = 0, room = 0;
    bool of_file = false;
    snprintf(path, sizeof path, "/proc/%ld/smaps", (long)pid);
    FILE *file = fopen(path, "re");
    bool any = file && getline(&line, &room, file) > 0;
    if (any)
        do
            sum += exact_line(line, &of_file);
        while (getline(&line, &room, file) > 0);
    free(line);
    if (file)
        fclose(file);
    return any ? sum : quick_count(pid);
}

size_t footprint_of(pid_t process, size_t most)
{
    struct family family = {0};
    size_t sum = 0;
    find_family(&family, process);
    for (size_t i = 0; i < family.count; i++)
        sum += quick_count(family.pids[i]);
    if (sum > most) {
        sum = 0;
        for (size_t i = 0; i < family.count && sum <= most; i++)
            sum += exact_count(family.pids[i]);
    }
    free(family.pids);
    return sum;
}

size_t footprint_address_peak(pid_t process)
{
    struct family family = {0};
    size_t most = 0;
    find_family(&family, process);
    for (size_t i = 0; i < family.count; i++) {
        char text[4096];
        read_status(family.pids[i], text, sizeof text);
        size_t peak = amount(text, "\nVmPeak:");
        most = peak > most ? peak : most;
    }
    free(family.pids);
    return most;
}

uint64_t footprint_kills(void)
{
    char text[PIECE];
    read_text("/proc/vmstat", text, sizeof text);
    const char *line = strstr(text, "\noom_kill ");
    return line ? strtoull(line + strlen("\noom_kill "), NULL, 10) : 0;
}
