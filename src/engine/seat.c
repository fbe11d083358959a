#define _GNU_SOURCE
#include "engine/seat.h"

#include "base/clean.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/str.h"
#include "base/wrap.h"
#include "engine/footprint.h"
#include "tensor/identical.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EXIT_LAUNCH = 125, /* of assay-launch, when it cannot execute the engine */
    MS = 1000 * 1000,
    MOST_NAME = 200,        /* bytes of an engine's name, version, operators */
    MOST_WORDS = 64 * 1024, /* and of what it says of a knob */
    LOOK_PART = 20,         /* looks at its memory take at most this part of the time */
    PACE_TASKS = 8,         /* of which its pace is the mean, about */
};

static const int64_t term_grace = 500 * (int64_t)MS; /* between SIGTERM and SIGKILL: time to print a stack */
static const int64_t retire_grace = 2000 * (int64_t)MS; /* to exit after the end of its input */
static const int64_t watch_every = 200 * (int64_t)MS;
static const int64_t watch_closely = 5 * (int64_t)MS; /* where nothing else limits it */
static const double taking_rate =
    4; /* bytes a nanosecond: as fast as processes on several cores touch memory */

int seat_start(struct seat **result, const struct worker_box *box, const struct seat_limits *limits,
               struct error *err)
{
    struct seat *seat = memory_zeroed(1, sizeof *seat);
    if (worker_start(&seat->worker, box, err)) {
        free(seat);
        return -1;
    }
    seat->limits = limits;
    result_init(&seat->news.start);
    wire_put_hello(&seat->worker.pending, ++seat->sent, box->spec->knobs, box->spec->knob_names,
                   box->spec->knob_values, seat->worker.shared_size, box->times);
    seat->head_since = clock_ns();
    /* What a launcher takes is not the engine's. */
    seat->watch_at = box->spec->launcher ? INT64_MAX : seat->head_since;
    seat->watch_every = box->watched ? watch_closely : watch_every;
    seat_write(seat);
    *result = seat;
    return 0;
}

void seat_free(struct seat *seat)
{
    worker_release(&seat->worker);
    result_release(&seat->news.start);
    free(seat->reason);
    free(seat);
}

bool seat_is_starting(const struct seat *seat)
{
    return seat->answered == 0;
}

static struct job_set set_of(const struct task *task, size_t step)
{
    const struct job *job = &task->job;
    if (job->n_sets)
        return job->sets[task_set_at(task, step)];
    return (struct job_set){job->n_inputs, job->inputs, job->gradient};
}

static void put_run(struct seat *seat, const struct job_set *set, const struct job *job)
{
    struct wire_out *out = &seat->worker.pending;
    const struct job_gradient *gradient = set->gradient;
    unsigned bounds = !job->bounds ? WIRE_NO_BOUNDS : job->narrow ? WIRE_NARROW_BOUNDS : WIRE_BOUNDS;
    if (!gradient) {
        wire_put_run(out, ++seat->sent, set->inputs, set->n_inputs,
                     bounds | (bounds && job->only_judged ? WIRE_ONLY_JUDGED : 0));
        return;
    }
    struct wire_gradient request = {
        .inputs = set->inputs,
        .n_inputs = set->n_inputs,
        .upstream = gradient->upstream,
        .n_upstream = gradient->n_upstream,
        .wanted = gradient->wanted,
        .n_wanted = gradient->n_wanted,
        .bounds = job->bounds,
    };
    wire_put_gradient(out, ++seat->sent, &request);
}

static size_t payload_size(const struct task *task, size_t step)
{
    if (step == 0)
        return task->job.model ? task->job.model_size : 0;
    if (step == task_last_step(task))
        return 0;
    struct job_set set = set_of(task, step);
    size_t size = values_size(set.inputs, set.n_inputs);
    return set.gradient ? size + values_size(set.gradient->upstream, set.gradient->n_upstream) : size;
}

/* The half for a request that is to be sent now; NULL: the request that used it last is not answered. */
static struct seat_half *take_half(struct seat *seat)
{
    int number = seat->next_half;
    struct seat_half *half = &seat->halves[number];
    size_t size = seat->worker.shared_size / 2;
    if (half->request > seat->answered)
        return NULL;
    half->request = seat->sent + 1;
    wire_out_place(&seat->worker.pending, seat->worker.shared,
                   (struct wire_place){(size_t)number * size, size});
    seat->next_half = !number;
    return half;
}

static void put_step(struct seat *seat, const struct task *task, size_t step)
{
    const struct job *job = &task->job;
    struct wire_out *out = &seat->worker.pending;
    struct job_set set;
    if (step == 0) {
        wire_put_load(out, ++seat->sent,
                      &(struct wire_load){.model = job->model,
                                          .size = job->model_size,
                                          .path = job->path,
                                          .n_outputs = job->n_outputs,
                                          .outputs = job->outputs,
                                          .trace = job->trace});
    } else if (step == task_last_step(task)) {
        wire_put_unload(out, ++seat->sent);
    } else {
        set = set_of(task, step);
        put_run(seat, &set, job);
    }
}

/* Whether a step needs no request: the model is still loaded, or stays so. */
static bool is_left_out(const struct seat *seat, const struct task *task, size_t step)
{
    size_t stay = task->job.stay;
    return stay && ((step == 0 && seat->stays == stay) || step == task_last_step(task));
}

/* Puts requests into the pipe until one must wait for shared memory. */
static void put_requests(struct seat *seat)
{
    while (seat->unsent) {
        struct task *task = seat->unsent;
        struct seat_half *half = NULL;
        bool asked = !is_left_out(seat, task, seat->unsent_step);
        if (asked && seat->worker.shared && payload_size(task, seat->unsent_step) >= WIRE_SHARED_LEAST &&
            !(half = take_half(seat)))
            break;
        if (asked)
            put_step(seat, task, seat->unsent_step);
        else if (seat->unsent_step == 0)
            task->step = 1;
        if (asked && seat->unsent_step == 0)
            seat->stays = task->job.stay;
        if (half)
            half->room = seat->worker.pending.place;
        if (seat->unsent_step++ == task_last_step(task)) {
            seat->unsent = task->next;
            seat->unsent_step = 0;
        }
    }
    seat_write(seat);
}

void seat_give(struct seat *seat, struct task *task)
{
    task->step = 0;
    if (!seat->tasks.count) {
        seat->head_since = clock_ns();
        seat->excused = 0;
        seat->log_mark = seat->worker.log_total;
    }
    task_list_push(&seat->tasks, task);
    if (!seat->unsent) {
        seat->unsent = task;
        seat->unsent_step = 0;
    }
    put_requests(seat);
}

void seat_look(struct seat *seat, int64_t away, bool readable)
{
    if (readable || !wire_out_empty(&seat->worker.pending))
        seat->excused += away;
    seat->log_before = seat->log_now;
    seat->log_now = seat->worker.log_total;
}

static enum stage stage_of(const struct seat *seat)
{
    if (seat->answered == 0)
        return STAGE_START;
    if (!seat->tasks.count)
        return STAGE_NONE;
    const struct task *task = seat->tasks.first;
    return task->step == 0 ? STAGE_LOAD : task->step == task_last_step(task) ? STAGE_UNLOAD : STAGE_RUN;
}

static double deadline_of(const struct seat *seat)
{
    if (seat->state == SEAT_STARTING)
        return seat->limits->start_deadline;
    double own = seat->tasks.first->job.deadline;
    return own > 0 ? own : seat->limits->deadline;
}

static bool is_waiting(const struct seat *seat)
{
    return seat->state == SEAT_STARTING || (seat->state == SEAT_READY && seat->tasks.count);
}

static int64_t expiry(const struct seat *seat)
{
    return seat->head_since + seat->excused + (int64_t)(deadline_of(seat) * 1e9);
}

int64_t seat_due(const struct seat *seat)
{
    int64_t due = INT64_MAX;
    if (seat->kill_at)
        due = seat->kill_at;
    if (is_waiting(seat)) {
        int64_t expires = expiry(seat);
        due = expires < due ? expires : due;
        due = seat->watch_at < due ? seat->watch_at : due;
    }
    return due;
}

/* What is not yet begun goes to another worker, in order. */
static void hand_back(struct seat *seat, bool keep_first)
{
    struct task *first = keep_first ? task_list_pop(&seat->tasks) : NULL;
    task_list_append(&seat->news.returned, &seat->tasks);
    seat->unsent = NULL;
    if (first)
        task_list_push(&seat->tasks, first);
    seat->news.any = true;
}

void seat_end(struct seat *seat, enum cause cause, const char *reason)
{
    if (seat->state == SEAT_ENDING)
        return;
    seat->state = SEAT_ENDING;
    seat->cause = cause;
    seat->reason = reason ? memory_strdup(reason) : NULL;
    int64_t grace = cause == CAUSE_NONE || cause == CAUSE_RETIRED ? retire_grace : term_grace;
    seat->kill_at = clock_ns() + grace;
    if (cause == CAUSE_HANG)
        worker_signal(&seat->worker, SIGTERM);
    else if (cause == CAUSE_GARBAGE || cause == CAUSE_MEMORY)
        worker_signal(&seat->worker, SIGKILL);
    worker_close_input(&seat->worker);
    hand_back(seat, true); /* now, not when this one is gone */
}

static void garbage(struct seat *seat, const char *reason)
{
    seat_end(seat, CAUSE_GARBAGE, reason);
}

static void set_message(struct result *result, const char *text)
{
    struct str clean;
    str_init(&clean);
    clean_add(&clean, text);
    free(result->message);
    result->message = str_detach(&clean);
}

static void set_error(struct result *result, const Assay__Error *error, enum stage stage)
{
    static const enum outcome outcomes[] = {
        [ASSAY__ERROR__CLASS__FAILED] = OUTCOME_FAILED,
        [ASSAY__ERROR__CLASS__UNSUPPORTED] = OUTCOME_UNSUPPORTED,
        [ASSAY__ERROR__CLASS__REJECTED] = OUTCOME_REJECTED,
        [ASSAY__ERROR__CLASS__ADAPTER] = OUTCOME_ADAPTER,
    };
    unsigned number = (unsigned)error->class_;
    result->outcome = number < sizeof outcomes / sizeof *outcomes ? outcomes[number] : OUTCOME_FAILED;
    result->stage = stage;
    set_message(result, error->message);
}

/* What an engine says of itself, of a length that tables and reports bear: names in one line, what it says of
 * its knobs in several. A text that may stay is left alone, as the empty ones are protobuf-c's own. */
static void tame(char **text, bool is_name)
{
    size_t most = is_name ? MOST_NAME : MOST_WORDS;
    if (strlen(*text) < most && !clean_find_hidden(*text))
        return;
    char *word = memory_zeroed(1, most);
    struct str clean;
    str_init(&clean);
    (is_name ? clean_line : clean_add)(&clean, *text);
    text_fit(word, most, clean.data);
    str_release(&clean);
    free(*text);
    *text = word;
}

static Assay__Welcome *copy_welcome(const Assay__Welcome *welcome)
{
    size_t size = assay__welcome__get_packed_size(welcome);
    uint8_t *packed = memory_zeroed(1, size);
    assay__welcome__pack(welcome, packed);
    Assay__Welcome *copy = assay__welcome__unpack(NULL, size, packed);
    free(packed);
    if (!copy)
        memory_exhausted(size);
    tame(&copy->name, true);
    tame(&copy->version, true);
    for (size_t i = 0; i < copy->n_operators; i++)
        tame(&copy->operators[i], true);
    for (size_t i = 0; i < copy->n_knobs; i++) {
        tame(&copy->knobs[i]->name, true);
        tame(&copy->knobs[i]->values, false);
        tame(&copy->knobs[i]->default_value, false);
        tame(&copy->knobs[i]->help, false);
        tame(&copy->knobs[i]->plain, false);
    }
    return copy;
}

static void on_welcome(struct seat *seat, const Assay__Reply *reply)
{
    struct seat_news *news = &seat->news;
    if (reply->error) {
        news->start_failed = true;
        news->hopeless = true; /* it said so itself: no use in asking again */
        set_error(&news->start, reply->error, STAGE_START);
        seat_end(seat, CAUSE_RETIRED, NULL);
        return;
    }
    if (reply->result_case == ASSAY__REPLY__RESULT_WELCOME && reply->welcome->protocol != WIRE_PROTOCOL) {
        char why[100];
        snprintf(why, sizeof why, "it speaks protocol %u and Assay speaks %d: build both of one version",
                 reply->welcome->protocol, WIRE_PROTOCOL);
        garbage(seat, why);
        return;
    }
    if (reply->result_case != ASSAY__REPLY__RESULT_WELCOME) {
        garbage(seat, "its answer to hello is no welcome of this protocol");
        return;
    }
    news->any = true;
    news->start_ns = reply->process_ns;
    news->welcome = copy_welcome(reply->welcome);
    seat->state = SEAT_READY;
    if (!reply->welcome->shared)
        worker_unshare(&seat->worker);
}

static char *one_line(const char *text)
{
    struct str clean;
    str_init(&clean);
    clean_line(&clean, text);
    return str_detach(&clean);
}

static void keep_borrowed(struct result *result, const Assay__Loaded *loaded)
{
    if (!loaded->n_borrowed)
        return;
    result->borrowed = memory_zeroed(loaded->n_borrowed + 1, sizeof *result->borrowed);
    for (size_t i = 0; i < loaded->n_borrowed; i++)
        result->borrowed[i] = one_line(loaded->borrowed[i]);
}

/* Load and run each tell their part. */
static void keep_trace(const struct task *task, struct result *result, const struct wire_message *message)
{
    if (!task->job.trace || (!message->reply->n_trace && !message->model))
        return;
    if (!result->trace)
        result->trace = trace_new();
    wire_read_trace(message->reply, result->trace);
    if (message->model && !result->trace->written && (result->trace->written = malloc(message->model_size)))
        memcpy(result->trace->written, message->model, result->trace->written_size = message->model_size);
}

/* Gradients come back by name, and are kept in the order in which they were asked for; those not asked for,
 * behind. */
static void order_gradients(const struct job_gradient *gradient, struct wire_message *message)
{
    for (size_t i = 0; i < gradient->n_wanted && i < message->count; i++) {
        size_t at = i;
        while (at < message->count && !text_equal(message->values[at].name, gradient->wanted[i]))
            at++;
        if (at == message->count || at == i)
            continue;
        struct value value = message->values[i];
        message->values[i] = message->values[at];
        message->values[at] = value;
        if (!message->bounds)
            continue;
        struct wire_bounds bounds = message->bounds[i];
        message->bounds[i] = message->bounds[at];
        message->bounds[at] = bounds;
    }
}

static void keep_values(struct result *result, struct wire_message *message)
{
    values_free(result->outputs, result->count);
    wire_bounds_free(result->bounds, result->count);
    result->count = message->count;
    result->outputs = message->values;
    result->bounds = message->bounds;
    message->count = 0;
    message->values = NULL;
    message->bounds = NULL;
}

/* The first run's values are the result; a repeated run's are only compared with them, unless the first that
 * differ are asked for. */
static void on_values(struct task *task, struct wire_message *message, int64_t took)
{
    struct task_result *kept = &task->results[task_set(task)];
    struct result *result = &kept->result;
    const struct job_gradient *gradient = set_of(task, task->step).gradient;
    if (gradient)
        order_gradients(gradient, message);
    if (task_is_repeat(task)) {
        if (kept->differ || result->outcome != OUTCOME_OK ||
            values_identical(result->outputs, result->count, message->values, message->count))
            return;
        kept->differ = true;
        if (task->job.keep_other)
            keep_values(result, message);
        return;
    }
    result->outcome = OUTCOME_OK;
    result->stage = STAGE_RUN;
    result->run_ns = took;
    result->gradients = gradient != NULL;
    keep_values(result, message);
}

static void finish_task(struct seat *seat)
{
    struct task *task = task_list_pop(&seat->tasks);
    seat->pace += (seat->spent - seat->pace) / PACE_TASKS;
    seat->spent = 0;
    /* The next task may have written before we read this answer, but not before the look at stdout before
     * that. */
    seat->log_mark = seat->log_before;
    seat->jobs += task->sets - task->from;
    if (seat->jobs >= seat->limits->recycle)
        seat->tired = true;
    task_list_push(&seat->news.finished, task);
    seat->news.any = true;
}

/* Whether the reply answers what was asked at this step. */
static bool reply_fits(const struct task *task, const Assay__Reply *reply)
{
    if (reply->error)
        return true;
    if (task->step == 0)
        return reply->result_case == ASSAY__REPLY__RESULT_LOADED;
    if (task->step == task_last_step(task))
        return reply->result_case == ASSAY__REPLY__RESULT_DONE;
    return reply->result_case == ASSAY__REPLY__RESULT_VALUES;
}

/* The answer to a load concerns every set that is to come. */
static void on_loaded(struct task *task, const struct wire_message *message, int64_t took)
{
    const Assay__Reply *reply = message->reply;
    for (size_t set = task->from; set < task->sets; set++) {
        keep_trace(task, &task->results[set].result, message);
        if (reply->error)
            set_error(&task->results[set].result, reply->error, STAGE_LOAD);
        else
            keep_borrowed(&task->results[set].result, reply->loaded);
    }
    task->results[task->from].result.load_ns = took;
}

/* What the library took of it belongs to the step, the rest to the adapter. */
static void add_times(const struct seat *seat, struct result_times *times, const Assay__Reply *reply)
{
    uint64_t *steps[] = {
        [STAGE_LOAD] = &times->load, [STAGE_RUN] = &times->run, [STAGE_UNLOAD] = &times->unload};
    if (!reply->process_ns)
        return;
    *steps[stage_of(seat)] += reply->call_ns;
    times->adapter += reply->process_ns - seat->process_ns - reply->call_ns;
}

static void on_answer(struct seat *seat, struct wire_message *message)
{
    const Assay__Reply *reply = message->reply;
    struct task *task = seat->tasks.first;
    struct result *result = &task->results[task_set(task)].result;
    int64_t now = clock_ns(), took = now - seat->head_since;
    if (!reply_fits(task, reply)) {
        garbage(seat, "its answer is to another question");
        return;
    }
    add_times(seat, &result->cpu, reply);
    seat->spent += took;
    /* After a failed load, runs can only fail too: the first failure is the result. */
    bool failed = result->outcome != OUTCOME_UNTESTED && result->outcome != OUTCOME_OK;
    if (task->step == 0 && reply->error)
        seat->stays = 0;
    if (stage_of(seat) == STAGE_RUN && !failed && !task_is_repeat(task))
        keep_trace(task, result, message);
    if (task->step == 0)
        on_loaded(task, message, took);
    else if (reply->error && !failed)
        set_error(result, reply->error, stage_of(seat));
    else if (!failed && message->reply->result_case == ASSAY__REPLY__RESULT_VALUES)
        on_values(task, message, took);
    if (stage_of(seat) == STAGE_RUN) {
        seat->news.answers++;
        seat->news.any = true;
    }
    seat->head_since = now;
    seat->excused = 0;
    size_t last = task_last_step(task) - (task->job.stay ? 1 : 0);
    if (task->step++ == last)
        finish_task(seat);
}

static void on_reply(struct seat *seat, struct wire_message *message)
{
    if (message->reply->id != seat->answered + 1 || seat->answered == seat->sent) {
        garbage(seat, "an answer to nothing that was asked");
        return;
    }
    seat->answered++;
    if (seat->state == SEAT_STARTING)
        on_welcome(seat, message->reply);
    else
        on_answer(seat, message);
    seat->process_ns = message->reply->process_ns;
}

/* Where the payloads of the next answer may lie. */
static struct wire_place reply_room(const struct seat *seat)
{
    for (int i = 0; i < 2; i++)
        if (seat->halves[i].request == seat->answered + 1)
            return seat->halves[i].room;
    return (struct wire_place){0};
}

static void take_bytes(struct seat *seat, const uint8_t *data, size_t size)
{
    while (size && seat->state != SEAT_ENDING) {
        struct wire_message message;
        struct error err;
        size_t used;
        wire_decoder_share(seat->worker.decoder, seat->worker.shared, reply_room(seat));
        int result = wire_decode(seat->worker.decoder, data, size, &used, &message, &err);
        if (result < 0)
            seat_end(seat, err.code == ERROR_MEMORY ? CAUSE_MEMORY : CAUSE_GARBAGE, err.message);
        if (result > 0)
            on_reply(seat, &message);
        wire_message_release(&message);
        data += used;
        size -= used;
        if (seat->unsent && result > 0)
            put_requests(seat);
    }
}

static void output_closed(struct seat *seat)
{
    close(seat->worker.out);
    seat->worker.out = -1;
    seat_end(seat, CAUSE_NONE, NULL); /* it is on its way out; if not, expected SIGKILL */
}

/* One read, or, when the process has ended, all that it may have left in the pipe; another one that holds the
 * pipe open may write for ever. */
void seat_read(struct seat *seat, uint8_t *buffer, size_t size)
{
    struct worker *worker = &seat->worker;
    size_t drained = 0;
    while (worker->out >= 0) {
        int64_t before = clock_ns();
        ssize_t got = read(worker->out, buffer, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            output_closed(seat);
            return;
        }
        drained += (size_t)got;
        take_bytes(seat, buffer, (size_t)got);
        if (got >= WORKER_PIPE)
            seat->excused += clock_ns() - before; /* the pipe was full: it waits for us */
        if (!worker->ended || drained >= WORKER_PIPE)
            return;
    }
}

void seat_write(struct seat *seat)
{
    /* A failed write means that it is going away; its end tells more than EPIPE does. */
    if (seat->worker.in >= 0 && wire_out_write(&seat->worker.pending, seat->worker.in, NULL) < 0)
        worker_close_input(&seat->worker);
}

/* What it began to say and did not. */
static void add_rest(const struct seat *seat, struct str *text)
{
    struct str rest;
    str_init(&rest);
    wire_decoder_rest(seat->worker.decoder, &rest);
    if (rest.length)
        str_printf(text, "; it %s", rest.data);
    str_release(&rest);
}

/* The deadline is for the whole answer, from the request to the last byte. */
static void check_deadline(struct seat *seat, int64_t now)
{
    double deadline = deadline_of(seat);
    int64_t waited = now - seat->head_since - seat->excused;
    if ((double)waited <= deadline * 1e9)
        return;
    struct str reason;
    str_init(&reason);
    str_printf(&reason, "no answer within %g s", deadline);
    add_rest(seat, &reason);
    seat_end(seat, CAUSE_HANG, reason.data);
    str_release(&reason);
}

/* When to look at its memory again: before it could have taken all that is left, but no sooner than a look is
 * worth. */
static int64_t next_look(const struct seat *seat, int64_t now, size_t left)
{
    int64_t took = clock_ns() - now, wait = (int64_t)((double)left / taking_rate);
    wait = wait > LOOK_PART * took ? wait : LOOK_PART * took;
    wait = wait > watch_closely ? wait : watch_closely;
    return now + (wait < seat->watch_every ? wait : seat->watch_every);
}

static void check_memory(struct seat *seat, int64_t now)
{
    if (now < seat->watch_at)
        return;
    size_t most = seat->limits->memory, taken = footprint_of(seat->worker.pid, most);
    seat->watch_at = next_look(seat, now, taken < most ? most - taken : 0);
    if (taken > most || worker_exceeded(&seat->worker)) {
        char reason[100];
        taken = taken > most ? taken : most;
        snprintf(reason, sizeof reason, "took %zu MB of memory, %zu MB are allowed (--memory)", taken >> 20,
                 most >> 20);
        seat_end(seat, CAUSE_MEMORY, reason);
    } else if (taken > most / 2) {
        seat->tired = true; /* it leaks, or keeps what it had: a fresh one next */
    }
}

void seat_check(struct seat *seat, int64_t now)
{
    if (seat->kill_at && now >= seat->kill_at) {
        if (seat->cause == CAUSE_NONE && seat->reason == NULL)
            seat->reason = memory_strdup("closed its output and stayed");
        worker_signal(&seat->worker, SIGKILL);
        seat->kill_at = now + term_grace;
    }
    if (is_waiting(seat))
        check_deadline(seat, now);
    if (is_waiting(seat))
        check_memory(seat, now);
}

/* Whether a death that looks like a crash came of the memory limit: only what was measured counts, not what
 * it says or how it died. What cannot be told here is seen again without the limit (limit_check.h). */
static bool died_of_memory(const struct seat *seat)
{
    const struct worker *worker = &seat->worker;
    bool killed = worker->signal == SIGKILL && !worker->killed;
    return worker->peak > seat->limits->memory || worker_exceeded(worker) ||
           (killed && worker_was_starved(worker));
}

static enum outcome outcome_of(const struct seat *seat)
{
    switch (seat->cause) {
    case CAUSE_HANG:
        return OUTCOME_HANG;
    case CAUSE_GARBAGE:
        return OUTCOME_GARBAGE;
    case CAUSE_MEMORY:
        return OUTCOME_MEMORY;
    default:
        if (seat->reason)
            return OUTCOME_GARBAGE; /* had to be killed after it closed its output */
        return died_of_memory(seat) ? OUTCOME_MEMORY : OUTCOME_CRASH;
    }
}

static void describe_end(struct result *result, const struct seat *seat)
{
    struct str text;
    str_init(&text);
    if (seat->reason)
        str_add(&text, seat->reason);
    else
        worker_describe_end(&seat->worker, &text);
    if (!seat->reason)
        add_rest(seat, &text);
    set_message(result, text.data);
    str_release(&text);
}

/* Takes over `log`. */
static void blame(struct result *result, const struct seat *seat, enum outcome outcome, enum stage stage,
                  char *log)
{
    result->outcome = outcome;
    result->stage = stage;
    result->signal = seat->worker.signal;
    result->exit_status = seat->worker.exit_status;
    free(result->log);
    result->log = log;
    describe_end(result, seat);
}

/* The set it died on is to blame, at load all of them; the sets behind go to a successor. */
static void conclude_task(struct seat *seat, enum outcome outcome, char *log)
{
    enum stage stage = stage_of(seat);
    struct task *task = task_list_pop(&seat->tasks);
    size_t first = task_set(task), end = stage == STAGE_LOAD ? task->sets : first + 1;
    for (size_t set = first; set < end; set++)
        blame(&task->results[set].result, seat, outcome, stage, log ? memory_strdup(log) : NULL);
    free(log);
    if (end == task->sets) {
        task_list_push(&seat->news.finished, task);
        return;
    }
    task->from = end;
    for (size_t set = end; set < task->sets; set++) {
        result_release(&task->results[set].result);
        result_init(&task->results[set].result);
    }
    task_list_push_front(&seat->news.returned, task);
}

/* The launcher could not execute it, and said why: that is the message, and nothing else is to be said. */
static void describe_launch(struct result *result)
{
    static const char name[] = "assay-launch: ";
    if (!result->log || !text_starts(result->log, name))
        return; /* an engine may end with this status, too */
    struct str text;
    str_init(&text);
    const char *said = result->log + strlen(name);
    str_add(&text, "cannot run its command: ");
    str_append(&text, said, strcspn(said, "\n"));
    set_message(result, text.data);
    str_release(&text);
    free(result->log);
    result->log = NULL;
}

static void conclude_start(struct seat *seat, char *log)
{
    struct seat_news *news = &seat->news;
    news->start_failed = true;
    blame(&news->start, seat, OUTCOME_NO_ENGINE, STAGE_START, log);
    if (seat->worker.exit_status == EXIT_LAUNCH)
        describe_launch(&news->start);
    /* Only a death may be bad luck, as when somebody else kills it; who hangs or babbles at the start, or
     * could not be executed, would do so again. */
    bool died = seat->cause == CAUSE_NONE && !seat->reason;
    news->hopeless = !died || seat->worker.exit_status == EXIT_LAUNCH;
}

void seat_conclude(struct seat *seat, uint8_t *buffer, size_t size)
{
    seat_read(seat, buffer, size); /* answers given before its end count */
    bool started = seat->answered > 0;
    if (seat->state != SEAT_ENDING)
        seat_end(seat, CAUSE_NONE, NULL); /* somebody else holds its stdout open */
    uint64_t before, first = seat->worker.log_total;
    do {
        before = seat->worker.log_total;
        worker_read_log(&seat->worker, buffer, size);
    } while (seat->worker.log_total != before && before - first < WORKER_PIPE);
    seat->finished = true;
    if (seat->cause != CAUSE_RETIRED) {
        char *log = worker_log_since(&seat->worker, seat->log_mark);
        seat->news.ended = true;
        seat->news.outcome = outcome_of(seat);
        if (!started)
            conclude_start(seat, log);
        else if (seat->tasks.count)
            conclude_task(seat, seat->news.outcome, log);
        else
            free(log);
    }
    hand_back(seat, false);
}
