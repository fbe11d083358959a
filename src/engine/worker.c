#define _GNU_SOURCE
#include "engine/worker.h"

#include "base/clean.h"
#include "base/file.h"
#include "base/memory.h"
#include "engine/cgroup.h"
#include "engine/footprint.h"
#include "engine/orphans.h"
#include "engine/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SHARED_SIZE = 64 << 20,
    SHARED_PART = 16, /* of the engine's address space, at most this part */
};

struct pipes {
    int in[2], out[2], err[2];
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void pipes_close(struct pipes *pipes)
{
    int *all[] = {pipes->in, pipes->out, pipes->err};
    for (size_t i = 0; i < 3; i++) {
        close_fd(&all[i][0]);
        close_fd(&all[i][1]);
    }
}

static int pipes_open(struct pipes *pipes, struct error *err)
{
    int *all[] = {pipes->in, pipes->out, pipes->err};
    for (size_t i = 0; i < 3; i++)
        all[i][0] = all[i][1] = -1;
    for (size_t i = 0; i < 3; i++)
        if (pipe2(all[i], O_CLOEXEC) < 0) {
            int result = error_errno(err, "cannot make a pipe");
            pipes_close(pipes);
            return result;
        }
    /* Larger pipes mean fewer wake-ups for large tensors; a user's quota may refuse them, and then 64 KB do.
     */
    fcntl(pipes->in[1], F_SETPIPE_SZ, WORKER_PIPE);
    fcntl(pipes->out[0], F_SETPIPE_SZ, WORKER_PIPE);
    fcntl(pipes->in[1], F_SETFL, O_NONBLOCK);
    fcntl(pipes->out[0], F_SETFL, O_NONBLOCK);
    fcntl(pipes->err[0], F_SETFL, O_NONBLOCK);
    return 0;
}

/*
 * Memory that the worker inherits as a file. It is sealed, so that the engine can neither cut off what we
 * have mapped nor fill the machine's memory through it. Only pages that are used take memory. Returns -1 when
 * there is none, which the pipes make up for.
 */
static int share(struct worker *worker, const struct worker_box *box)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), most = box->memory / SHARED_PART / page * page;
    size_t size = most < SHARED_SIZE ? most : SHARED_SIZE;
    int file = box->spec->launcher || !size ? -1 : memfd_create("assay", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return -1;
    void *memory = MAP_FAILED;
    if (ftruncate(file, (off_t)size) == 0 &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        close_fd(&file);
        return -1;
    }
    worker->shared = memory;
    worker->shared_size = size;
    return file;
}

void worker_unshare(struct worker *worker)
{
    if (worker->shared)
        munmap(worker->shared, worker->shared_size);
    worker->shared = NULL;
    worker->shared_size = 0;
}

static enum sandbox_mode mode_of(const struct worker_box *box)
{
    return box->spec->launcher ? SANDBOX_OFF : sandbox_mode_for(box->sandbox, box->spec);
}

static size_t count_of(const char *const *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    return count;
}

/* Adds the option before each of the values. Returns how many arguments there are then. */
static size_t add_options(char **argv, size_t n, const char *option, const char *const *values,
                          struct arena *arena)
{
    for (size_t i = 0; values[i]; i++) {
        argv[n++] = arena_strdup(arena, option);
        argv[n++] = arena_strdup(arena, values[i]);
    }
    return n;
}

static char **make_arguments(const struct worker_box *box, struct arena *arena)
{
    const char *const *seen = sandbox_sees(box->spec, box->libexec, box->seen, arena);
    static const char *const none[] = {NULL};
    const char *const *written = box->spec->writes ? box->spec->writes : none;
    size_t n = 0, count = count_of(box->spec->argv);
    char **argv = arena_array(arena, count + 2 * count_of(seen) + 2 * count_of(written) + 15, sizeof *argv);
    argv[n++] = arena_printf(arena, "%s/assay-launch", box->libexec);
    argv[n++] = arena_strdup(arena, "--parent");
    argv[n++] = arena_printf(arena, "%ld", (long)getpid());
    if (box->spec->launcher) {
        argv[n++] = arena_strdup(arena, "--plain");
    } else {
        argv[n++] = arena_strdup(arena, "--scratch");
        argv[n++] = arena_strdup(arena, box->scratch);
        argv[n++] = arena_strdup(arena, "--memory");
        argv[n++] = arena_printf(arena, "%zu", box->memory);
        if (box->watched)
            argv[n++] = arena_strdup(arena, "--watched");
        if (box->group) {
            argv[n++] = arena_strdup(arena, "--group");
            argv[n++] = arena_strdup(arena, box->group);
        }
        argv[n++] = arena_strdup(arena, "--sandbox");
        argv[n++] = arena_strdup(arena, sandbox_mode_name(mode_of(box)));
        n = add_options(argv, n, "--see", seen, arena);
        n = add_options(argv, n, "--write", written, arena);
    }
    argv[n++] = arena_strdup(arena, "--");
    for (size_t i = 0; i < count; i++)
        argv[n++] = arena_strdup(arena, box->spec->argv[i]);
    return argv;
}

static int spawn(struct worker *worker, const struct worker_box *box, const struct pipes *pipes, int shared,
                 struct error *err)
{
    struct arena arena;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    arena_init(&arena);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes->in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipes->out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipes->err[1], STDERR_FILENO);
    if (shared >= 0)
        posix_spawn_file_actions_adddup2(&actions, shared, WIRE_SHARED_FILE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID); /* a group to kill from the first moment on */
    char **argv = make_arguments(box, &arena);
    errno = posix_spawn(&worker->pid, argv[0], &actions, &attributes, argv,
                        sandbox_environment(box->spec, mode_of(box), &arena));
    int result = errno ? error_errno(err, "cannot start %s", argv[0]) : 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    arena_release(&arena);
    return result;
}

static long own_peak(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

int worker_start(struct worker *worker, const struct worker_box *box, struct error *err)
{
    struct pipes pipes;
    memset(worker, 0, sizeof *worker);
    worker->process = worker->in = worker->out = worker->err = -1;
    worker->exit_status = -1;
    worker->resident_before = own_peak();
    worker->kills_before = footprint_kills();
    worker->walled = mode_of(box) != SANDBOX_OFF;
    worker->kept = !box->spec->launcher;
    if (pipes_open(&pipes, err))
        return -1;
    orphans_worker_comes(box->spec->launcher);
    int shared = share(worker, box), spawned = spawn(worker, box, &pipes, shared, err);
    close_fd(&shared);
    if (spawned) {
        orphans_worker_ended(NO_WORKER);
        worker_unshare(worker);
        pipes_close(&pipes);
        return -1;
    }
    orphans_worker_lives(worker->pid, box->spec->launcher);
    worker->in = pipes.in[1];
    worker->out = pipes.out[0];
    worker->err = pipes.err[0];
    close_fd(&pipes.in[0]);
    close_fd(&pipes.out[1]);
    close_fd(&pipes.err[1]);
    worker->process = (int)syscall(SYS_pidfd_open, worker->pid, 0);
    struct wire_limits limits = wire_default_limits;
    if (!box->spec->launcher && box->memory < limits.payload)
        limits.payload = box->memory; /* it cannot hold more */
    worker->decoder = wire_decoder_new(true, &limits);
    wire_out_init(&worker->pending);
    worker->log = memory_zeroed(1, 2 * WORKER_LOG);
    worker->scratch = memory_strdup(box->scratch);
    worker->group = box->group ? memory_strdup(box->group) : NULL;
    return 0;
}

void worker_release(struct worker *worker)
{
    close_fd(&worker->in);
    close_fd(&worker->out);
    close_fd(&worker->err);
    close_fd(&worker->process);
    worker_unshare(worker);
    wire_out_release(&worker->pending);
    wire_decoder_free(worker->decoder);
    if (worker->scratch)
        file_remove_tree(worker->scratch, NULL);
    if (worker->group)
        cgroup_remove(worker->group);
    free(worker->group);
    free(worker->scratch);
    free(worker->log);
    memset(worker, 0, sizeof *worker);
}

void worker_signal(struct worker *worker, int number)
{
    if (worker->ended)
        return; /* the number may be somebody else's by now */
    bool ask = number == SIGKILL && worker->kept && !worker->killed;
    kill(ask ? worker->pid : -worker->pid, ask ? SIGHUP : number);
    worker->killed = worker->killed || number == SIGKILL;
}

void worker_close_input(struct worker *worker)
{
    wire_out_clear(&worker->pending);
    close_fd(&worker->in);
}

static void keep_status(struct worker *worker, int status)
{
    if (WIFSIGNALED(status))
        worker->signal = WTERMSIG(status);
    else
        worker->exit_status = WEXITSTATUS(status);
}

bool worker_reap(struct worker *worker)
{
    siginfo_t info = {0};
    if (worker->ended)
        return true;
    /* Look first, and kill what is left of the group while the zombie still holds its number. */
    if (waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
        return false;
    kill(-worker->pid, SIGKILL);
    struct rusage usage;
    int status;
    if (wait4(worker->pid, &status, 0, &usage) < 0)
        return false;
    worker->ended = true;
    orphans_worker_ended(worker->pid);
    keep_status(worker, status);
    if (usage.ru_maxrss > worker->resident_before)
        worker->peak = (size_t)usage.ru_maxrss * 1024;
    return true;
}

static void keep_log(struct worker *worker, const char *data, size_t size)
{
    worker->log_total += size;
    if (size > WORKER_LOG) {
        data += size - WORKER_LOG;
        size = WORKER_LOG;
    }
    if (worker->log_length + size > 2 * WORKER_LOG) {
        size_t keep = WORKER_LOG;
        memmove(worker->log, worker->log + worker->log_length - keep, keep);
        worker->log_length = keep;
    }
    memcpy(worker->log + worker->log_length, data, size);
    worker->log_length += size;
}

void worker_read_log(struct worker *worker, void *buffer, size_t size)
{
    if (worker->err < 0)
        return;
    ssize_t got = read(worker->err, buffer, size);
    if (got > 0)
        keep_log(worker, buffer, (size_t)got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        close_fd(&worker->err);
}

char *worker_log_since(const struct worker *worker, uint64_t mark)
{
    uint64_t wanted = worker->log_total - mark;
    size_t size = wanted < WORKER_LOG ? (size_t)wanted : WORKER_LOG;
    if (size > worker->log_length)
        size = worker->log_length;
    if (size == 0)
        return NULL;
    char *text = memory_zeroed(1, size + 1);
    memcpy(text, worker->log + worker->log_length - size, size);
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\0')
            text[i] = ' '; /* else the string would end here */
    struct str clean;
    str_init(&clean);
    clean_add(&clean, text);
    free(text);
    return str_detach(&clean);
}

/* What glibc's loader says of a program whose library is not here: an adapter that was installed without its
 * engine. */
static bool describe_missing_library(const struct worker *worker, struct str *out)
{
    static const char begin[] = "error while loading shared libraries: ",
                      end[] = ": cannot open shared object file";
    char *log = worker->exit_status == 127 ? worker_log_since(worker, 0) : NULL;
    const char *name = log ? strstr(log, begin) : NULL, *rest = name ? strstr(name, end) : NULL;
    if (rest) {
        name += sizeof begin - 1;
        str_printf(out, "needs the library %.*s, which is not on this system", (int)(rest - name), name);
    }
    free(log);
    return rest != NULL;
}

void worker_describe_end(const struct worker *worker, struct str *out)
{
    if (worker->signal)
        str_printf(out, "died by SIG%s (%s)", sigabbrev_np(worker->signal), strsignal(worker->signal));
    else if (!describe_missing_library(worker, out))
        str_printf(out, "ended with exit status %d", worker->exit_status);
}

bool worker_exceeded(const struct worker *worker)
{
    return worker->group && cgroup_kills(worker->group) > 0;
}

bool worker_was_starved(const struct worker *worker)
{
    return footprint_kills() > worker->kills_before;
}
