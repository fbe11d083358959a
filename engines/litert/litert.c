/*
 * LiteRT, as TensorFlow Lite is called now, in WebAssembly: the rows and nets of engines/tflite, whose models
 * are computed by another adapter, litert.js. It speaks the protocol of engines too, with models of LiteRT in
 * place of ONNX, and is this program's child.
 */
#include "relay.h"
#include "tflite.h"

#include "base/file.h"
#include "base/memory.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct engine {
    struct lite lite;
    struct relay_child child;
    char *command[3]; /* ends with NULL */
    uint64_t sent;
};

/* Its next reply; relay_forget ends its use. */
static size_t reply(struct engine *engine, struct wire_message *message)
{
    size_t size = relay_next(&engine->child.replies, message);
    if (!size)
        relay_end(&engine->child);
    return size;
}

static void send_all(struct engine *engine, struct wire_out *out)
{
    if (!relay_write_out(out, engine->child.requests))
        relay_end(&engine->child);
}

/* The graph's inputs, in order. Returns how many; what they point to stays the net's. */
static size_t list_inputs(const struct net *net, struct value *values, struct tensor *tensors)
{
    size_t count = 0;
    for (size_t i = 0; i < net->n_tensors; i++) {
        const struct net_tensor *t = &net->tensors[i];
        if (!t->runtime)
            continue;
        tensors[count] = (struct tensor){.type = t->type,
                                         .shape = shape_make(t->rank, t->dims),
                                         .count = t->size / dtype_size(t->type),
                                         .size = t->size,
                                         .data = t->data};
        values[count] = (struct value){.kind = VALUE_TENSOR, .count = 1, .tensors = &tensors[count]};
        count++;
    }
    return count;
}

static int take_outputs(const struct net *net, const struct wire_message *message)
{
    size_t index = 0;
    for (size_t i = 0; i < net->n_tensors; i++) {
        const struct net_tensor *t = &net->tensors[i];
        if (!t->target)
            continue;
        const struct tensor *y = index < message->count ? message->values[index].tensors : NULL;
        index++;
        if (net_take(net, t, y && y->type == t->type ? y->data : NULL, y ? y->size : 0))
            return -1;
    }
    return 0;
}

enum stage { LOAD, RUN, UNLOAD, STAGES };

static int take_error(const struct net *net, enum stage stage, const Assay__Error *error)
{
    str_add(&net->lite->said, error->message);
    if (error->class_ == ASSAY__ERROR__CLASS__ADAPTER)
        return error_set(net->call->err, ERROR_USAGE, "%s", error->message);
    if (stage == LOAD)
        return net_refused(net, "load");
    return error->class_ == ASSAY__ERROR__CLASS__UNSUPPORTED ? net_refused(net, "run") : net_failed(net);
}

/* The requests are sent together; what is answered after a failure is of no interest. */
static int compute(const struct net *net, const struct flat *file)
{
    struct engine *engine = (struct engine *)net->lite;
    struct value values[NET_TENSORS];
    struct tensor tensors[NET_TENSORS];
    struct wire_out out;
    int result = 0;
    size_t count = list_inputs(net, values, tensors);
    wire_out_init(&out);
    wire_put_load(&out, ++engine->sent, &(struct wire_load){.model = file->data, .size = file->size});
    wire_put_run(&out, ++engine->sent, values, count, WIRE_NO_BOUNDS);
    wire_put_unload(&out, ++engine->sent);
    send_all(engine, &out);
    for (enum stage stage = LOAD; stage < STAGES; stage++) {
        struct wire_message message;
        size_t size = reply(engine, &message);
        if (!result && message.reply->error)
            result = take_error(net, stage, message.reply->error);
        else if (!result && stage == RUN)
            result = take_outputs(net, &message);
        relay_forget(&engine->child.replies, &message, size);
    }
    return result;
}

/* The types of its class Tensor. */
static dtype_set types_of(const char *version)
{
    bool old = text_starts(version, "0.");
    return DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_INT32) | (old ? 0 : DTYPE_BIT(DTYPE_UINT8));
}

/* Says hello. The version is the library's. */
static int meet(struct adapter_call *call, struct engine *engine, struct str *version)
{
    static const char *const names[] = {"build", "errors"};
    const char *values[] = {adapter_knob(call->adapter, names[0]), adapter_knob(call->adapter, names[1])};
    struct wire_out out;
    struct wire_message message;
    int result = 0;
    wire_out_init(&out);
    wire_put_hello(&out, ++engine->sent, 2, names, values, 0, false);
    send_all(engine, &out);
    size_t size = reply(engine, &message);
    if (message.reply->result_case == ASSAY__REPLY__RESULT_WELCOME)
        str_add(version, message.reply->welcome->version);
    else if (message.reply->error)
        result = adapter_fail(call, ADAPTER_FAILED, "%s", message.reply->error->message);
    else
        result = adapter_fail(call, ADAPTER_AT_FAULT, "litert.js answers hello by something else");
    relay_forget(&engine->child.replies, &message, size);
    return result;
}

static int start(struct adapter_call *call, void **state, struct str *version)
{
    struct engine *engine = memory_zeroed(1, sizeof *engine);
    const char *libexec = getenv("ASSAY_LITERT");
    *state = engine;
    str_init(&engine->lite.said);
    engine->lite.compute = compute;
    engine->lite.save = adapter_knob(call->adapter, "save");
    int fixed = adapter_choice(call, "fixed");
    if (fixed < 0)
        return -1;
    engine->lite.fixed = fixed == 1;
    if (!libexec)
        return adapter_fail(call, ADAPTER_AT_FAULT, "ASSAY_LITERT does not say where litert.js is");
    engine->command[0] = file_join(libexec, "sdk/js/assay-node");
    engine->command[1] = file_join(libexec, "litert/litert.js");
    signal(SIGPIPE, SIG_IGN);
    relay_start(&engine->child, engine->command);
    int result = meet(call, engine, version);
    engine->lite.takes = types_of(version->data);
    return result;
}

static void stop(void *state)
{
    struct engine *engine = state;
    free(engine->command[0]);
    free(engine->command[1]);
    str_release(&engine->lite.said);
    free(engine);
}

int main(int argc, char **argv)
{
    static const struct adapter_knob knobs[] = {
        {.name = "build",
         .values = "plain|relaxed",
         .value = "plain",
         .help = "compiled without or with the instructions of relaxed SIMD, which round otherwise"},
        {.name = "errors",
         .values = "printed|thrown",
         .value = "printed",
         .help = "whether a run fails by what the library prints, or only by what it throws"},
        {.name = "fixed",
         .values = "off|on",
         .value = "off",
         .help = "whether QLinearConv and QLinearMatMul are computed, which the library rounds twice"},
        {.name = "save",
         .values = "PATH",
         .value = "",
         .help = "where to write the model of the last node, as LiteRT reads it",
         .kind = KNOB_SCHEDULE},
        {0},
    };
    struct walk_library library = {
        .name = "litert", .rows = lite_rows, .knobs = knobs, .start = start, .stop = stop};
    return walker_main(&library, argc, argv);
}
