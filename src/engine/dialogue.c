#include "engine/dialogue.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/outcome.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BUFFER = 1 << 20, TICK_MS = 50, GRACE_MS = 500 };

static const size_t default_memory = (size_t)4 << 30;

int dialogue_start(struct dialogue *dialogue, const struct engine_spec *spec, const char *libexec,
                   double deadline, struct error *err)
{
    *dialogue = (struct dialogue){.deadline = deadline, .buffer = memory_zeroed(1, BUFFER)};
    char *folder = NULL;
    signal(SIGPIPE, SIG_IGN);
    if (scratch_open(&dialogue->scratch, err) || scratch_add(&dialogue->scratch, &folder, err))
        return -1;
    struct worker_box box = {.spec = spec,
                             .libexec = libexec,
                             .scratch = folder,
                             .memory = spec->memory ? spec->memory : default_memory};
    int status = worker_start(&dialogue->worker, &box, err);
    free(folder);
    dialogue->up = status == 0;
    return status;
}

/* It was killed, or has ended. */
static void wait_for_end(struct dialogue *dialogue)
{
    struct worker *worker = &dialogue->worker;
    while (!worker_reap(worker)) {
        worker_read_log(worker, dialogue->buffer, BUFFER);
        if (poll(&(struct pollfd){.fd = worker->process, .events = POLLIN}, 1, GRACE_MS) == 0)
            worker_signal(worker, SIGKILL);
    }
    uint64_t before;
    do {
        before = worker->log_total;
        worker_read_log(worker, dialogue->buffer, BUFFER);
    } while (worker->log_total != before);
}

void dialogue_close(struct dialogue *dialogue)
{
    if (dialogue->up) {
        worker_signal(&dialogue->worker, SIGKILL);
        wait_for_end(dialogue);
        worker_release(&dialogue->worker);
    }
    scratch_close(&dialogue->scratch);
    free(dialogue->buffer);
    *dialogue = (struct dialogue){0};
}

static void add_last_lines(struct dialogue *dialogue, struct str *why)
{
    char *log = worker_log_since(&dialogue->worker, 0);
    struct str lines;
    str_init(&lines);
    result_last_lines(log, &lines);
    if (lines.length)
        str_printf(why, "; last on stderr: %s", lines.data);
    str_release(&lines);
    free(log);
}

/* Ends the dialogue: kills the process if necessary, and says what was the matter. */
static int give_up(struct dialogue *dialogue, enum dialogue_stop stop, const char *reason, struct str *why)
{
    struct worker *worker = &dialogue->worker;
    dialogue->stop = stop;
    if (reason)
        worker_signal(worker, SIGKILL);
    wait_for_end(dialogue);
    if (reason)
        str_add(why, reason);
    else
        worker_describe_end(worker, why);
    struct str rest;
    str_init(&rest);
    wire_decoder_rest(worker->decoder, &rest); /* nothing after a broken message */
    if (rest.length)
        str_printf(why, "; it %s", rest.data);
    str_release(&rest);
    add_last_lines(dialogue, why);
    return -1;
}

/* Sends and receives what can be now. False when its output has ended. */
static bool exchange(struct dialogue *dialogue, double seconds)
{
    struct worker *worker = &dialogue->worker;
    bool sending = worker->in >= 0 && !wire_out_empty(&worker->pending);
    struct pollfd polls[] = {
        {.fd = worker->out, .events = POLLIN},
        {.fd = worker->err, .events = POLLIN},
        {.fd = sending ? worker->in : -1, .events = POLLOUT},
    };
    poll(polls, 3, (int)(seconds * 1000) + 1);
    if (polls[1].revents)
        worker_read_log(worker, dialogue->buffer, BUFFER); /* which is empty: all was decoded */
    if (polls[2].revents && wire_out_write(&worker->pending, worker->in, NULL) < 0)
        worker_close_input(worker);
    if (!polls[0].revents)
        return true;
    ssize_t got = read(worker->out, dialogue->buffer, BUFFER);
    dialogue->at = 0;
    dialogue->end = got > 0 ? (size_t)got : 0;
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

int dialogue_hear(struct dialogue *dialogue, struct wire_message *message, struct str *why)
{
    double began = clock_seconds(), waited;
    memset(message, 0, sizeof *message);
    for (;;) {
        struct error err;
        size_t used;
        int result = wire_decode(dialogue->worker.decoder, dialogue->buffer + dialogue->at,
                                 dialogue->end - dialogue->at, &used, message, &err);
        dialogue->at += used;
        waited = clock_seconds() - began;
        if (result < 0)
            return give_up(dialogue, DIALOGUE_GARBLED, err.message, why);
        if (result > 0)
            break;
        if (waited > dialogue->deadline) {
            char reason[60];
            snprintf(reason, sizeof reason, "no answer within %g s", dialogue->deadline);
            return give_up(dialogue, DIALOGUE_SILENT, reason, why);
        }
        if (!exchange(dialogue, dialogue->deadline - waited)) {
            double until = clock_seconds() + 1;
            while (!worker_reap(&dialogue->worker) && clock_seconds() < until)
                exchange(dialogue, (double)TICK_MS / 1000);
            bool ended = dialogue->worker.ended;
            return give_up(dialogue, ended ? DIALOGUE_ENDED : DIALOGUE_GARBLED,
                           ended ? NULL : "closed its output and stayed", why);
        }
    }
    dialogue->slowest = waited > dialogue->slowest ? waited : dialogue->slowest;
    return 0;
}

bool dialogue_was_unread(const struct dialogue *dialogue)
{
    int left = 0;
    if (dialogue->worker.in < 0)
        return true; /* writing failed: it was gone already */
    return ioctl(dialogue->worker.in, FIONREAD, &left) == 0 && left > 0;
}

int dialogue_end(struct dialogue *dialogue, double seconds, struct str *why)
{
    struct worker *worker = &dialogue->worker;
    double until = clock_seconds() + seconds;
    worker_close_input(worker);
    while (!worker_reap(worker) && clock_seconds() < until) {
        worker_read_log(worker, dialogue->buffer, BUFFER);
        poll(&(struct pollfd){.fd = worker->process, .events = POLLIN}, 1, TICK_MS);
    }
    if (!worker->ended) {
        str_printf(why, "it is still there %g s after the end of its input", seconds);
        return -1;
    }
    wait_for_end(dialogue);
    if (worker->exit_status == 0)
        return 0;
    worker_describe_end(worker, why);
    add_last_lines(dialogue, why);
    return -1;
}
