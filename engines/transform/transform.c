/*
 * assay-engine-transform: a tool that makes one model from another, as an engine.
 *
 *     assay-engine-transform [--lacks TEXT]... TOOL ARGUMENT... -- COMMAND...
 *
 * It stands between Assay and the engine that COMMAND starts, and hands every message on as it is, but for
 * the models: each is written to a file, the tool is run with {in} and {out} in its arguments, and the engine
 * is given what the tool wrote. So the engine's answer is the tool's answer. How the tool ends is told as for
 * any engine: a signal that ends it ends this process, a tool that does not come back is a hang, and one that
 * ends with another status than 0 refuses the model, by the last lines of its stderr, or lacks something if
 * they contain a TEXT. A model that breaks ONNX's rules, or has other inputs or outputs, is a failure of the
 * tool.
 *
 * One request is answered before the next is read. The shared memory is not used.
 */
#define _GNU_SOURCE
#include "base/file.h"
#include "base/memory.h"
#include "engine/wire.h"
#include "guard.h"
#include "model/model.h"
#include "model/valid.h"
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_STDERR = 16 * 1024, MOST_LACKS = 32, MOST_MODEL = 64 << 20 };

extern char **environ;

struct relay {
    char **tool, **command;
    const char *lacks[MOST_LACKS];
    size_t n_lacks;
    struct relay_stream requests; /* from Assay */
    struct relay_child engine;
    char *folder, *in, *out;
    bool failed; /* the last load: requests to run are answered by the same error */
    Assay__Error__Class class;
    struct str why;
};

/* written: what the tool wrote, for the answer to a load that asks for a trace; NULL: the reply as it is. */
static void hand_reply_on(struct relay *relay, const char *written, size_t written_size)
{
    struct wire_message message;
    size_t size = relay_next(&relay->engine.replies, &message);
    bool good;
    if (!size)
        relay_end(&relay->engine);
    if (written && message.reply->result_case == ASSAY__REPLY__RESULT_LOADED) {
        struct wire_out out;
        wire_out_init(&out);
        wire_put_loaded(&out, message.reply, written, written_size);
        good = relay_write_out(&out, STDOUT_FILENO);
    } else {
        good = relay_write(STDOUT_FILENO, relay->engine.replies.bytes.data, size);
    }
    if (!good)
        exit(0);
    relay_forget(&relay->engine.replies, &message, size);
}

/* ---- The tool ---- */

static char *replaced(const struct relay *relay, const char *word)
{
    struct str text;
    str_init(&text);
    while (*word) {
        bool in = text_starts(word, "{in}"), out = text_starts(word, "{out}");
        if (in || out) {
            str_add(&text, in ? relay->in : relay->out);
            word += strlen(in ? "{in}" : "{out}");
        } else {
            str_append(&text, word++, 1);
        }
    }
    return str_detach(&text);
}

static void replies_failure(struct relay *relay, Assay__Error__Class class, const char *before,
                            const char *text)
{
    relay->failed = true;
    relay->class = class;
    str_clear(&relay->why);
    str_printf(&relay->why, "%s%s", before, text);
}

/* What the tool writes to stderr goes to ours too, from where Assay keeps it. */
static void read_words(int fd, struct str *said)
{
    char buffer[4096];
    ssize_t got;
    while ((got = read(fd, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR)) {
        if (got < 0)
            continue;
        relay_write(STDERR_FILENO, buffer, (size_t)got);
        str_append(said, buffer, (size_t)got);
        if (said->length > 2 * MOST_STDERR) {
            memmove(said->data, said->data + said->length - MOST_STDERR, MOST_STDERR + 1);
            said->length = MOST_STDERR;
        }
    }
}

/* The last line that says something. */
static const char *last_line(struct str *said)
{
    size_t end = said->length;
    while (end && strchr(" \t\r\n", said->data[end - 1]))
        said->data[--end] = '\0';
    char *line = strrchr(said->data, '\n');
    return line ? line + 1 : said->data;
}

static pid_t start_tool(struct relay *relay, int words)
{
    size_t count = 0;
    while (relay->tool[count])
        count++;
    char **argv = memory_zeroed(count + 1, sizeof *argv);
    for (size_t i = 0; i < count; i++)
        argv[i] = replaced(relay, relay->tool[i]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, words, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, words, STDERR_FILENO);
    pid_t pid;
    errno = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    if (errno)
        relay_trouble(argv[0], strerror(errno));
    posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 0; i < count; i++)
        free(argv[i]);
    free(argv);
    return pid;
}

static bool lacks(const struct relay *relay, const char *said)
{
    for (size_t i = 0; i < relay->n_lacks; i++)
        if (strstr(said, relay->lacks[i]))
            return true;
    return false;
}

/* Runs the tool. False, with the failure set, when it refuses the model. */
static bool run_tool(struct relay *relay)
{
    int words[2], status = 0;
    struct str said;
    if (pipe2(words, O_CLOEXEC))
        relay_trouble("no pipe for the tool", strerror(errno));
    unlink(relay->out);
    pid_t pid = start_tool(relay, words[1]);
    close(words[1]);
    str_init(&said);
    read_words(words[0], &said);
    close(words[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "assay-engine-transform: %s was ended by signal %d\n", relay->tool[0],
                WTERMSIG(status));
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!good)
        replies_failure(
            relay, lacks(relay, said.data) ? ASSAY__ERROR__CLASS__UNSUPPORTED : ASSAY__ERROR__CLASS__REJECTED,
            "", *last_line(&said) ? last_line(&said) : "the tool refuses the model and says nothing");
    str_release(&said);
    return good;
}

static bool has_name(Onnx__ValueInfoProto *const *infos, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(infos[i]->name, name))
            return true;
    return false;
}

static bool is_initializer(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (text_equal(graph->initializer[i]->name, name))
            return true;
    return false;
}

/* Inputs may go where nothing depends on them, and none may be added that somebody has to give. */
static bool same_face(struct relay *relay, const struct model *before, const struct model *after)
{
    const Onnx__GraphProto *was = before->graph, *is = after->graph;
    for (size_t i = 0; i < was->n_output; i++)
        if (!has_name(is->output, is->n_output, was->output[i]->name)) {
            replies_failure(relay, ASSAY__ERROR__CLASS__FAILED, "invalid model: it has lost the output ",
                            was->output[i]->name);
            return false;
        }
    for (size_t i = 0; i < is->n_input; i++)
        if (!has_name(was->input, was->n_input, is->input[i]->name) &&
            !is_initializer(is, is->input[i]->name)) {
            replies_failure(relay, ASSAY__ERROR__CLASS__FAILED, "invalid model: it wants a new input ",
                            is->input[i]->name);
            return false;
        }
    return true;
}

/* The name of the file differs from case to case. */
static const char *without_path(const struct relay *relay, const char *text)
{
    size_t length = strlen(relay->out);
    return text_starts(text, relay->out) && text[length] ? text + length + 1 : text;
}

static bool check_written(struct relay *relay)
{
    struct model *before = NULL, *after = NULL;
    struct error err = {0};
    bool good = false;
    if (!file_exists(relay->out))
        replies_failure(relay, ASSAY__ERROR__CLASS__FAILED, "invalid model: ", "the tool wrote none");
    else if (model_load(&after, relay->out, &err) || model_valid(after, &err))
        replies_failure(relay, ASSAY__ERROR__CLASS__FAILED,
                        "invalid model: ", without_path(relay, err.message));
    else
        good = model_load(&before, relay->in, &err) || same_face(relay, before, after);
    model_free(before);
    model_free(after);
    return good;
}

/* ---- Requests ---- */

static void hand_load_on(struct relay *relay, const struct wire_message *message)
{
    const Assay__Load *load = message->request->load;
    struct wire_out out;
    char *bytes = NULL;
    size_t size = 0;
    /* A large model has its weights in files beside it. */
    bool small = file_read(relay->out, MOST_MODEL, &bytes, &size, NULL) == 0;
    wire_out_init(&out);
    wire_put_load(&out, message->request->id,
                  &(struct wire_load){.model = small ? bytes : NULL,
                                      .size = size,
                                      .path = small ? NULL : relay->out,
                                      .outputs = (const char *const *)load->outputs,
                                      .n_outputs = load->n_outputs,
                                      .trace = load->trace});
    if (!relay_write_out(&out, relay->engine.requests))
        relay_end(&relay->engine);
    hand_reply_on(relay, load->trace && small ? bytes : NULL, size);
    free(bytes);
}

static void answer_failure(const struct relay *relay, uint64_t id)
{
    Assay__Error error = ASSAY__ERROR__INIT;
    Assay__Reply reply = ASSAY__REPLY__INIT;
    struct wire_out out;
    error.stage = ASSAY__ERROR__STAGE__LOAD;
    error.class_ = relay->class;
    error.message = relay->why.data;
    reply.id = id;
    reply.error = &error;
    wire_out_init(&out);
    wire_put_reply(&out, &reply);
    if (!relay_write_out(&out, STDOUT_FILENO))
        exit(0);
}

static void do_load(struct relay *relay, const struct wire_message *message)
{
    const char *path = message->request->load->path;
    struct error err;
    relay->failed = false;
    free(relay->in);
    relay->in = *path ? memory_strdup(path) : file_join(relay->folder, "in.onnx");
    if (!*path && file_write(relay->in, message->model, message->model_size, &err))
        relay_trouble("no file for the tool", err.message);
    if (run_tool(relay) && check_written(relay))
        hand_load_on(relay, message);
    else
        answer_failure(relay, message->request->id);
}

static void do_hello(struct relay *relay, const struct wire_message *message)
{
    const Assay__Hello *hello = message->request->hello;
    const char **names = memory_zeroed(hello->n_knobs + 1, sizeof *names);
    const char **values = memory_zeroed(hello->n_knobs + 1, sizeof *values);
    struct wire_out out;
    for (size_t i = 0; i < hello->n_knobs; i++) {
        names[i] = hello->knobs[i]->name;
        values[i] = hello->knobs[i]->value;
    }
    wire_out_init(&out);
    wire_put_hello(&out, message->request->id, hello->n_knobs, names, values, 0, hello->times);
    if (!relay_write_out(&out, relay->engine.requests))
        relay_end(&relay->engine);
    free(names);
    free(values);
    hand_reply_on(relay, NULL, 0);
}

static void do_request(struct relay *relay, const struct wire_message *message, size_t size)
{
    const Assay__Request *request = message->request;
    if (request->verb_case == ASSAY__REQUEST__VERB_HELLO) {
        do_hello(relay, message);
    } else if (request->verb_case == ASSAY__REQUEST__VERB_LOAD) {
        do_load(relay, message);
    } else if (relay->failed && request->verb_case != ASSAY__REQUEST__VERB_UNLOAD) {
        answer_failure(relay, request->id);
    } else {
        if (!relay_write(relay->engine.requests, relay->requests.bytes.data, size))
            relay_end(&relay->engine);
        hand_reply_on(relay, NULL, 0);
    }
}

/* The worker's scratch folder is its TMPDIR; elsewhere the number of the process keeps workers apart. */
static void make_folder(struct relay *relay)
{
    const char *folder = getenv("TMPDIR");
    struct error err;
    struct str path;
    str_init(&path);
    str_printf(&path, "%s/transform-%ld", folder && *folder ? folder : "/tmp", (long)getpid());
    relay->folder = str_detach(&path);
    relay->out = file_join(relay->folder, "out.onnx");
    if (file_make_folders(relay->folder, &err))
        relay_trouble("no file for the tool", err.message);
}

static void parse(struct relay *relay, int argc, char **argv)
{
    int i = 1;
    for (; i + 1 < argc && text_equal(argv[i], "--lacks") && relay->n_lacks < MOST_LACKS; i += 2)
        relay->lacks[relay->n_lacks++] = argv[i + 1];
    relay->tool = argv + i;
    while (i < argc && !text_equal(argv[i], "--"))
        i++;
    if (i + 1 >= argc || relay->tool == argv + i) {
        fprintf(
            stderr,
            "usage: assay-engine-transform [--lacks TEXT]... TOOL ARGUMENT... -- COMMAND...\n"
            "It is started by Assay for a section with 'transform' of an engine file (docs/engines.md).\n");
        exit(2);
    }
    argv[i] = NULL;
    relay->command = argv + i + 1;
}

int main(int argc, char **argv)
{
    struct relay relay = {0};
    struct wire_message message;
    size_t size;
    parse(&relay, argc, argv);
    guard_die_with_parent();
    signal(SIGPIPE, SIG_IGN);
    make_folder(&relay);
    relay_start(&relay.engine, relay.command);
    relay_stream_init(&relay.requests, STDIN_FILENO, false);
    str_init(&relay.why);
    while ((size = relay_next(&relay.requests, &message)) > 0) {
        do_request(&relay, &message, size);
        relay_forget(&relay.requests, &message, size);
    }
    file_remove_tree(relay.folder, NULL);
    relay_end(&relay.engine);
}
