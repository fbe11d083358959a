#define _GNU_SOURCE
#include "adapter.h"
#include "bare.h"

#include "base/clock.h"
#include "base/memory.h"
#include "guard.h"
#include "guarded_inputs.h"
#include "memcheck.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_SIZE = 256 * 1024 };

/* The adapter at work. */
struct session {
    struct adapter *adapter;
    struct adapter_call call;
    int in, out;
    bool started, loaded;
    bool times; /* replies say what processor time they took */
    int64_t call_began,
        call_ns; /* of that, the library's: when the present call began, and since the last reply */
    struct wire_out reply;
    struct wire_decoder *decoder;
    uint8_t *shared; /* memory that Assay maps, too; NULL: none */
};

int adapter_fail(struct adapter_call *call, enum adapter_class error_class, const char *format, ...)
{
    char text[4000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    call->error_class = error_class;
    str_clear(&call->message);
    str_add(&call->message, text);
    return -1;
}

void adapter_trace(struct adapter_call *call, const struct trace_step *step)
{
    if (adapter_traces(call))
        trace_add(call->trace, step);
}

void adapter_trace_kernel(struct adapter_call *call, const char *name, const char *device, const char *output)
{
    adapter_trace(call, &(struct trace_step){.kind = TRACE_KERNEL,
                                             .name = name,
                                             .device = device,
                                             .n_outputs = output ? 1 : 0,
                                             .outputs = &output});
}

bool adapter_says(const char *message, const char *const *texts)
{
    for (; *texts; texts++)
        if (strstr(message, *texts))
            return true;
    return false;
}

struct value *adapter_output(struct adapter_outputs *outputs, const char *name)
{
    size_t capacity = outputs->capacity;
    outputs->values =
        memory_grow(outputs->values, &outputs->capacity, outputs->count + 1, sizeof *outputs->values);
    if (outputs->bounds) {
        outputs->bounds =
            memory_grow(outputs->bounds, &capacity, outputs->count + 1, sizeof *outputs->bounds);
        wire_bounds_init(&outputs->bounds[outputs->count]);
    }
    struct value *value = &outputs->values[outputs->count++];
    value_init(value);
    value_set_name(value, name);
    return value;
}

struct wire_bounds *adapter_output_bounds(struct adapter_outputs *outputs)
{
    if (!outputs->bounds) {
        outputs->bounds = memory_zeroed(outputs->capacity, sizeof *outputs->bounds);
        for (size_t i = 0; i < outputs->count; i++)
            wire_bounds_init(&outputs->bounds[i]);
    }
    struct wire_bounds *bounds = &outputs->bounds[outputs->count - 1];
    bounds->present = true;
    return bounds;
}

void adapter_outputs_release(struct adapter_outputs *outputs)
{
    for (size_t i = 0; outputs->lent && i < outputs->count; i++)
        for (size_t j = 0; j < outputs->values[i].count; j++)
            outputs->values[i].tensors[j].data = NULL;
    wire_bounds_free(outputs->bounds, outputs->count);
    values_free(outputs->values, outputs->count);
    memset(outputs, 0, sizeof *outputs);
}

void adapter_list_add(struct str *list, const char *name)
{
    str_append(list, name, strlen(name) + 1);
}

static struct adapter_knob *find_knob(const struct adapter *adapter, const char *name)
{
    for (struct adapter_knob *knob = adapter->knobs; knob && knob->name; knob++)
        if (text_equal(knob->name, name))
            return knob;
    return NULL;
}

const char *adapter_knob(const struct adapter *adapter, const char *name)
{
    const struct adapter_knob *knob = find_knob(adapter, name);
    return knob ? knob->value : NULL;
}

/* "on or off", "none, basic or all" */
static int refuse_choice(struct adapter_call *call, const struct adapter_knob *knob)
{
    struct str choices;
    str_init(&choices);
    for (const char *at = knob->values; *at;) {
        size_t length = strcspn(at, "|");
        bool last = !at[length];
        str_add(&choices, at == knob->values ? "" : last ? " or " : ", ");
        str_append(&choices, at, length);
        at += length + !last;
    }
    int result = adapter_fail(call, ADAPTER_REJECTED, "%s=%s: the values are %s", knob->name, knob->value,
                              choices.data);
    str_release(&choices);
    return result;
}

int adapter_choice(struct adapter_call *call, const char *name)
{
    const struct adapter_knob *knob = find_knob(call->adapter, name);
    int number = 0;
    for (const char *at = knob->values;; number++) {
        size_t length = strcspn(at, "|");
        if (strlen(knob->value) == length && strncmp(at, knob->value, length) == 0)
            return number;
        if (!at[length])
            return refuse_choice(call, knob);
        at += length + 1;
    }
}

int adapter_number(struct adapter_call *call, const char *name, int least, int most)
{
    const char *text = adapter_knob(call->adapter, name);
    long long number;
    if (text_int64(text, &number) && number >= least && number <= most)
        return (int)number;
    return adapter_fail(call, ADAPTER_REJECTED, "%s=%s: it must be a number from %d to %d", name, text, least,
                        most);
}

static int send_replies(struct session *session)
{
    struct error err;
    if (wire_out_write(&session->reply, session->out, &err) < 0) {
        fprintf(stderr, "%s: %s\n", session->adapter->name, err.message);
        return -1;
    }
    return 0;
}

/* Around every call of the library. */
static void begin_call(struct session *session)
{
    session->call_began = session->times ? clock_process_ns() : 0;
}

static void end_call(struct session *session)
{
    if (session->times)
        session->call_ns += clock_process_ns() - session->call_began;
}

static void tell_times(struct session *session)
{
    if (session->times)
        wire_out_times(&session->reply, (uint64_t)session->call_ns, (uint64_t)clock_process_ns());
    session->call_ns = 0;
}

/* From now on, until the next load, every reply tells what was done since the one before; or none does. */
static void set_tracing(struct session *session, bool asked)
{
    trace_free(session->call.trace);
    session->call.trace = asked ? trace_new() : NULL;
}

static void reply_error(struct session *session, uint64_t id, Assay__Error__Stage stage)
{
    static const Assay__Error__Class classes[] = {
        [ADAPTER_FAILED] = ASSAY__ERROR__CLASS__FAILED,
        [ADAPTER_UNSUPPORTED] = ASSAY__ERROR__CLASS__UNSUPPORTED,
        [ADAPTER_REJECTED] = ASSAY__ERROR__CLASS__REJECTED,
        [ADAPTER_AT_FAULT] = ASSAY__ERROR__CLASS__ADAPTER,
    };
    Assay__Reply reply = ASSAY__REPLY__INIT;
    Assay__Error error = ASSAY__ERROR__INIT;
    reply.id = id;
    reply.error = &error;
    error.stage = stage;
    error.class_ = classes[session->call.error_class];
    error.message = session->call.message.data;
    tell_times(session);
    wire_out_trace(&session->reply, session->call.trace);
    wire_put_reply(&session->reply, &reply);
}

static int unknown_knob(struct session *session, const char *name)
{
    struct str known;
    str_init(&known);
    for (struct adapter_knob *knob = session->adapter->knobs; knob && knob->name; knob++)
        str_printf(&known, "%s%s", known.length ? ", " : "", knob->name);
    int result = adapter_fail(&session->call, ADAPTER_REJECTED, "no knob '%s'; there %s", name,
                              known.length ? "are: " : "are none");
    str_add(&session->call.message, known.data);
    str_release(&known);
    return result;
}

static int set_knobs(struct session *session, const Assay__Hello *hello)
{
    for (size_t i = 0; i < hello->n_knobs; i++) {
        struct adapter_knob *knob = find_knob(session->adapter, hello->knobs[i]->name);
        if (!knob)
            return unknown_knob(session, hello->knobs[i]->name);
        knob->value = memory_strdup(hello->knobs[i]->value); /* lives as long as the process */
    }
    return 0;
}

static void welcome_knobs(Assay__Welcome *welcome, const struct adapter_knob *knobs, const char **defaults,
                          struct arena *arena)
{
    static const Assay__KnobInfo__Kind kinds[] = {
        [KNOB_KERNELS] = ASSAY__KNOB_INFO__KIND__KERNELS,
        [KNOB_GRAPH] = ASSAY__KNOB_INFO__KIND__GRAPH,
        [KNOB_SCHEDULE] = ASSAY__KNOB_INFO__KIND__SCHEDULE,
    };
    while (knobs && knobs[welcome->n_knobs].name)
        welcome->n_knobs++;
    welcome->knobs = arena_array(arena, welcome->n_knobs, sizeof *welcome->knobs);
    for (size_t i = 0; i < welcome->n_knobs; i++) {
        Assay__KnobInfo *info = arena_alloc(arena, sizeof *info);
        assay__knob_info__init(info);
        info->name = arena_strdup(arena, knobs[i].name);
        info->values = arena_strdup(arena, knobs[i].values ? knobs[i].values : "");
        info->default_value = arena_strdup(arena, defaults[i] ? defaults[i] : "");
        info->help = arena_strdup(arena, knobs[i].help ? knobs[i].help : "");
        info->kind = kinds[knobs[i].kind];
        info->plain = arena_strdup(arena, knobs[i].plain ? knobs[i].plain : "");
        welcome->knobs[i] = info;
    }
}

static void reply_welcome(struct session *session, uint64_t id, const char *version, const char **defaults)
{
    struct arena arena;
    arena_init(&arena);
    Assay__Reply reply = ASSAY__REPLY__INIT;
    Assay__Welcome welcome = ASSAY__WELCOME__INIT;
    reply.id = id;
    reply.result_case = ASSAY__REPLY__RESULT_WELCOME;
    reply.welcome = &welcome;
    welcome.protocol = WIRE_PROTOCOL;
    welcome.shared = session->shared != NULL;
    welcome.name = arena_strdup(&arena, session->adapter->name);
    welcome.version = arena_strdup(&arena, version);
    welcome_knobs(&welcome, session->adapter->knobs, defaults, &arena);
    const char *const *operators = session->adapter->operators;
    while (operators && operators[welcome.n_operators])
        welcome.n_operators++;
    welcome.operators = (char **)(uintptr_t)operators;
    const int32_t *types = session->adapter->types;
    while (types && types[welcome.n_types])
        welcome.n_types++;
    welcome.types = (int32_t *)(uintptr_t)types;
    tell_times(session);
    wire_put_reply(&session->reply, &reply);
    arena_release(&arena);
}

static const char **default_values(const struct adapter_knob *knobs)
{
    size_t count = 0;
    while (knobs && knobs[count].name)
        count++;
    const char **values = memory_zeroed(count, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = knobs[i].value;
    return values;
}

/* Maps the memory that hello offers. A wrapper around the adapter may have closed it: then payloads come
 * through the pipe. */
static void map_shared(struct session *session, uint64_t size)
{
    struct stat status;
    int seals = size ? fcntl(WIRE_SHARED_FILE, F_GET_SEALS) : -1;
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(WIRE_SHARED_FILE, &status) < 0 ||
        (uint64_t)status.st_size < size)
        return;
    void *memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, WIRE_SHARED_FILE, 0);
    close(WIRE_SHARED_FILE);
    if (memory == MAP_FAILED)
        return;
    session->shared = memory;
    wire_decoder_share(session->decoder, memory, (struct wire_place){0, (size_t)size});
}

static int start_engine(struct session *session, struct str *version)
{
    begin_call(session);
    int result = session->adapter->start(&session->call, &session->call.engine, version);
    end_call(session);
    return result;
}

static void do_hello(struct session *session, uint64_t id, const Assay__Hello *hello)
{
    struct adapter *adapter = session->adapter;
    const char **defaults = default_values(adapter->knobs);
    struct str version;
    str_init(&version);
    int result = 0;
    session->times = hello->times;
    if (session->started)
        result = adapter_fail(&session->call, ADAPTER_FAILED, "hello came twice");
    else if (hello->protocol != WIRE_PROTOCOL)
        result =
            adapter_fail(&session->call, ADAPTER_FAILED, "Assay asks for protocol %u, this adapter speaks %d",
                         hello->protocol, WIRE_PROTOCOL);
    else if (set_knobs(session, hello) || start_engine(session, &version))
        result = -1;
    else if (!adapter->may_spawn && guard_deny_spawn())
        result =
            adapter_fail(&session->call, ADAPTER_FAILED, "cannot deny exec and fork: %s", strerror(errno));
    if (result) {
        reply_error(session, id, ASSAY__ERROR__STAGE__STAGE_UNKNOWN);
    } else {
        session->started = true;
        map_shared(session, hello->shared_size);
        reply_welcome(session, id, version.data, defaults);
    }
    str_release(&version);
    free(defaults);
}

static void unload(struct session *session)
{
    begin_call(session);
    if (session->loaded && session->adapter->unload)
        session->adapter->unload(&session->call);
    end_call(session);
    session->loaded = false;
}

/* Pointers into a NUL-separated list. */
static char **list_items(struct str *list, size_t *count, struct arena *arena)
{
    *count = 0;
    for (size_t i = 0; i < list->length; i++)
        *count += list->data[i] == '\0';
    char **items = arena_array(arena, *count, sizeof *items);
    char *at = list->data;
    for (size_t i = 0; i < *count; i++) {
        items[i] = at;
        at += strlen(at) + 1;
    }
    return items;
}

static void reply_loaded(struct session *session, uint64_t id, struct adapter_loaded *names)
{
    struct arena arena;
    arena_init(&arena);
    Assay__Reply reply = ASSAY__REPLY__INIT;
    Assay__Loaded loaded = ASSAY__LOADED__INIT;
    reply.id = id;
    reply.result_case = ASSAY__REPLY__RESULT_LOADED;
    reply.loaded = &loaded;
    loaded.inputs = list_items(&names->inputs, &loaded.n_inputs, &arena);
    loaded.outputs = list_items(&names->outputs, &loaded.n_outputs, &arena);
    loaded.borrowed = list_items(&names->borrowed, &loaded.n_borrowed, &arena);
    tell_times(session);
    wire_out_trace(&session->reply, session->call.trace);
    wire_put_reply(&session->reply, &reply);
    arena_release(&arena);
}

static void do_load(struct session *session, const struct wire_message *message)
{
    const Assay__Load *load = message->request->load;
    struct adapter_model model = {
        .data = message->model,
        .size = message->model_size,
        .path = message->model ? NULL : load->path,
        .n_outputs = load->n_outputs,
        .outputs = load->outputs,
    };
    struct adapter_loaded loaded;
    str_init(&loaded.inputs);
    str_init(&loaded.outputs);
    str_init(&loaded.borrowed);
    unload(session);
    set_tracing(session, load->trace);
    guarded_memory_begin();
    begin_call(session);
    int failed = session->adapter->load(&session->call, &model, &loaded);
    end_call(session);
    if (failed) {
        reply_error(session, message->request->id, ASSAY__ERROR__STAGE__LOAD);
    } else {
        session->loaded = true;
        reply_loaded(session, message->request->id, &loaded);
    }
    str_release(&loaded.inputs);
    str_release(&loaded.outputs);
    str_release(&loaded.borrowed);
}

bool adapter_wants(const struct adapter_gradient *request, const char *name)
{
    for (size_t i = 0; i < request->n_wanted; i++)
        if (text_equal(request->wanted[i], name))
            return true;
    return request->n_wanted == 0;
}

static int call_gradient(struct session *session, const struct wire_message *message,
                         const struct value *values, struct adapter_outputs *outputs)
{
    const struct adapter *adapter = session->adapter;
    const Assay__Gradient *asked = message->request->gradient;
    if (!adapter->gradient)
        return adapter_fail(&session->call, ADAPTER_UNSUPPORTED, "%s has no gradients", adapter->name);
    struct adapter_gradient request = {
        .inputs = values,
        .n_inputs = asked->n_inputs,
        .upstream = values ? values + asked->n_inputs : NULL,
        .n_upstream = asked->n_output_gradients,
        .wanted = asked->wanted,
        .n_wanted = asked->n_wanted,
        .bounds = asked->bounds,
    };
    return adapter->gradient(&session->call, &request, outputs);
}

/* `guarded` gets the inputs where they are guarded; they are released when the outputs have been. */
static int call_run(struct session *session, const struct wire_message *message,
                    struct guarded_inputs *guarded, struct adapter_outputs *outputs)
{
    const struct adapter *adapter = session->adapter;
    const struct value *values = message->values;
    if (!session->loaded)
        return adapter_fail(&session->call, ADAPTER_FAILED, "no model is loaded");
    if (guarded_inputs_wanted()) {
        if (guarded_inputs_make(guarded, values, message->count))
            return adapter_fail(&session->call, ADAPTER_AT_FAULT, "no memory for inputs between guards");
        values = guarded->values;
    }
    bool forward = message->request->verb_case == ASSAY__REQUEST__VERB_RUN;
    session->call.narrow = forward && message->request->run->narrow;
    session->call.only_judged = forward && message->request->run->only_judged;
    if (forward)
        return adapter->run(&session->call, values, message->count, message->request->run->bounds, outputs);
    return call_gradient(session, message, values, outputs);
}

static void put_outputs(struct session *session, const struct wire_message *message,
                        const struct adapter_outputs *outputs)
{
    const Assay__Place *room = message->request->room;
    if (room)
        wire_out_place(&session->reply, session->shared,
                       (struct wire_place){(size_t)room->offset, (size_t)room->size});
    tell_times(session);
    wire_out_trace(&session->reply, session->call.trace);
    wire_put_values(&session->reply, message->request->id, outputs->values, outputs->count, outputs->bounds);
}

static int do_run(struct session *session, const struct wire_message *message)
{
    struct adapter_outputs outputs = {0};
    struct guarded_inputs guarded = {0};
    uint64_t id = message->request->id;
    set_tracing(session, adapter_traces(&session->call));
    begin_call(session);
    int failed = call_run(session, message, &guarded, &outputs);
    end_call(session);
    if (!failed && memcheck_wanted())
        failed = memcheck_outputs(&session->call, &outputs);
    if (failed)
        reply_error(session, id, ASSAY__ERROR__STAGE__RUN);
    else
        put_outputs(session, message, &outputs);
    int result =
        send_replies(session); /* before the outputs go: large ones are written from where they are */
    adapter_outputs_release(&outputs);
    guarded_inputs_release(&guarded);
    return result;
}

static void do_unload(struct session *session, uint64_t id)
{
    unload(session);
    Assay__Reply reply = ASSAY__REPLY__INIT;
    Assay__Done done = ASSAY__DONE__INIT;
    reply.id = id;
    reply.result_case = ASSAY__REPLY__RESULT_DONE;
    reply.done = &done;
    tell_times(session);
    wire_put_reply(&session->reply, &reply);
}

/* Every reply is written before the next request is read, so that a crash is attributed to the right request.
 */
static int handle(struct session *session, const struct wire_message *message)
{
    const Assay__Request *request = message->request;
    session->call.error_class = ADAPTER_FAILED;
    str_clear(&session->call.message);
    if (!session->started && request->verb_case != ASSAY__REQUEST__VERB_HELLO) {
        adapter_fail(&session->call, ADAPTER_FAILED, "the engine is not started");
        reply_error(session, request->id, ASSAY__ERROR__STAGE__STAGE_UNKNOWN);
        return send_replies(session);
    }
    switch (request->verb_case) {
    case ASSAY__REQUEST__VERB_HELLO:
        do_hello(session, request->id, request->hello);
        break;
    case ASSAY__REQUEST__VERB_LOAD:
        do_load(session, message);
        break;
    case ASSAY__REQUEST__VERB_RUN:
    case ASSAY__REQUEST__VERB_GRADIENT:
        return do_run(session, message);
    default:
        do_unload(session, request->id);
        break;
    }
    return send_replies(session);
}

static int handle_bytes(struct session *session, const uint8_t *data, size_t size)
{
    while (size) {
        struct wire_message message;
        struct error err;
        size_t used;
        int result = wire_decode(session->decoder, data, size, &used, &message, &err);
        if (result < 0)
            fprintf(stderr, "%s: %s\n", session->adapter->name, err.message);
        if (result > 0)
            result = handle(session, &message);
        wire_message_release(&message);
        if (result < 0)
            return -1;
        data += used;
        size -= used;
    }
    return 0;
}

static int serve(struct session *session)
{
    uint8_t *buffer = memory_zeroed(1, READ_SIZE);
    int result = 0;
    while (!result) {
        ssize_t got = read(session->in, buffer, READ_SIZE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        result = handle_bytes(session, buffer, (size_t)got);
    }
    free(buffer);
    return result;
}

/* The library may print to stdout and read stdin as it likes: the protocol has moved away from there. */
static int take_descriptors(struct session *session)
{
    session->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    session->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (session->in < 0 || session->out < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return -1;
    close(null);
    setvbuf(stdout, NULL, _IOLBF, 0);
    return 0;
}

static int print_usage(const struct adapter *adapter)
{
    printf("%s is an engine of Assay: it speaks the protocol of engine.proto over stdin and stdout.\n",
           adapter->name);
    for (const struct adapter_knob *knob = adapter->knobs; knob && knob->name; knob++)
        printf("  %s=%s  %s\n", knob->name, knob->values ? knob->values : "", knob->help ? knob->help : "");
    return 0;
}

int adapter_main(struct adapter *adapter, int argc, char **argv)
{
    if (argc > 1 && text_equal(argv[1], "--help"))
        return print_usage(adapter);
    if (argc > 1 && text_equal(argv[1], "--bare"))
        return adapter_bare(adapter, argc - 1, argv + 1);
    struct session session = {.adapter = adapter, .call = {.adapter = adapter}};
    if (take_descriptors(&session)) {
        perror(adapter->name);
        return 1;
    }
    guard_die_with_parent();
    guard_print_crashes();
    str_init(&session.call.message);
    wire_out_init(&session.reply);
    session.decoder = wire_decoder_new(false, NULL);
    int result = serve(&session);
    unload(&session);
    if (session.started && adapter->stop)
        adapter->stop(session.call.engine);
    wire_out_release(&session.reply);
    wire_decoder_free(session.decoder);
    str_release(&session.call.message);
    trace_free(session.call.trace);
    return result ? 1 : 0;
}
