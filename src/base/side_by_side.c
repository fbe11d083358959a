#define _GNU_SOURCE /* sched_getaffinity */

#include "base/side_by_side.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64, ALIGNMENT = 64 };

static size_t processes = 1;

void side_by_side_use(size_t wanted)
{
    cpu_set_t cores;
    size_t count = 1;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0)
        count = (size_t)CPU_COUNT(&cores);
    processes = wanted ? wanted : count > 1 ? count - 1 : 1;
    processes = processes < MOST ? processes : MOST;
}

size_t side_by_side_processes(void)
{
    return processes;
}

/* The number of the next piece that nobody has begun. */
struct head {
    atomic_size_t next;
};

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool make_room(struct side_by_side *run, size_t count, size_t size)
{
    size = aligned(size);
    if (count > (SIZE_MAX / 2 - 2 * ALIGNMENT) / (size + 1))
        return false;
    size_t head = aligned(sizeof(struct head)), done = aligned(count);
    run->bytes = head + done + count * size;
    run->shared = mmap(NULL, run->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run->shared == MAP_FAILED) {
        run->shared = NULL;
        return false;
    }
    run->count = count;
    run->size = size;
    run->done = (unsigned char *)run->shared + head;
    run->results = run->done + done;
    atomic_init(&((struct head *)run->shared)->next, 0);
    return true;
}

static void take_pieces(struct side_by_side *run, size_t chunk, side_by_side_work *work, void *context)
{
    struct head *head = run->shared;
    size_t piece;
    while ((piece = atomic_fetch_add(&head->next, chunk)) < run->count)
        for (size_t end = piece + chunk < run->count ? piece + chunk : run->count; piece < end; piece++)
            run->done[piece] = work(context, piece, run->results + piece * run->size);
}

/* A fork ends with this process, and a crash of it is no crash of this process: the piece is computed here
 * again. */
static void be_fork(pid_t parent)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        signal(faults[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
}

void side_by_side_run(struct side_by_side *run, size_t count, size_t chunk, size_t size,
                      side_by_side_work *work, void *context)
{
    pid_t forks[MOST], parent = getpid();
    size_t n = 0;
    *run = (struct side_by_side){0};
    if (processes < 2 || count <= chunk || !make_room(run, count, size))
        return;
    for (; n + 1 < processes && (n + 1) * chunk < count; n++) {
        forks[n] = fork();
        if (forks[n] < 0)
            break;
        if (forks[n] == 0) {
            be_fork(parent);
            take_pieces(run, chunk, work, context);
            _exit(0);
        }
    }
    if (n)
        take_pieces(run, chunk, work, context);
    for (size_t i = 0; i < n; i++)
        while (waitpid(forks[i], NULL, 0) < 0 && errno == EINTR)
            continue;
}

const void *side_by_side_result(const struct side_by_side *run, size_t piece)
{
    return run->shared && piece < run->count && run->done[piece] ? run->results + piece * run->size : NULL;
}

void side_by_side_release(struct side_by_side *run)
{
    if (run->shared)
        munmap(run->shared, run->bytes);
    *run = (struct side_by_side){0};
}
