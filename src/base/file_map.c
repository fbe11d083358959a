#include "base/file_map.h"

#include "base/file_format.h"
#include "base/memory.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Mapped files, for the guard. */
static struct file_map *maps;
static size_t n_maps, map_room;
static volatile sig_atomic_t maps_cut;
static struct sigaction before_guard;

static bool is_mapped(const uint8_t *at)
{
    for (size_t i = 0; i < n_maps; i++)
        if (at >= maps[i].data && (size_t)(at - maps[i].data) < maps[i].size)
            return true;
    return false;
}

/* Only system calls, so that it may interrupt anything. */
static void put_zeros(int number, siginfo_t *info, void *context)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uint8_t *at = info->si_addr;
    void *start = (void *)((uintptr_t)at / page * page);
    if (is_mapped(at) &&
        mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
        maps_cut = 1;
        return;
    }
    if (before_guard.sa_flags & SA_SIGINFO) {
        before_guard.sa_sigaction(number, info, context);
        return;
    }
    sigaction(number, &before_guard, NULL); /* the access is made once more, now without the guard */
}

void file_guard_maps(void)
{
    struct sigaction guard = {.sa_sigaction = put_zeros, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &guard, &before_guard);
}

bool file_maps_were_cut(void)
{
    return maps_cut;
}

int file_map_fd(struct file_map *map, int fd, struct error *err)
{
    struct stat info;
    *map = (struct file_map){0};
    if (fstat(fd, &info) < 0)
        return error_errno(err, "cannot stat a file");
    if (info.st_size == 0)
        return 0;
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return error_errno(err, "cannot map a file");
    *map = (struct file_map){data, (size_t)info.st_size};
    maps = memory_grow(maps, &map_room, n_maps + 1, sizeof *maps);
    maps[n_maps++] = *map;
    if (!file_is_lfs_pointer(map->data, map->size))
        return 0;
    file_map_close(map);
    return error_set(err, ERROR_UNSUPPORTED,
                     "this is a Git LFS pointer, which stands for the file; 'git lfs pull' brings the file");
}

void file_map_close(struct file_map *map)
{
    for (size_t i = 0; map->data && i < n_maps; i++)
        if (maps[i].data == map->data) {
            maps[i] = maps[--n_maps];
            break;
        }
    if (n_maps == 0) {
        free(maps);
        maps = NULL;
        map_room = 0;
    }
    if (map->data)
        munmap((void *)(uintptr_t)map->data, map->size);
    *map = (struct file_map){0};
}

void file_map_forget(const void *data, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)data, to = from + size;
    from = (from + page - 1) / page * page;
    to = to / page * page;
    if (from < to && is_mapped((const uint8_t *)data) && is_mapped((const uint8_t *)data + size - 1))
        madvise((void *)from, to - from, MADV_DONTNEED);
}
