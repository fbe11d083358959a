/* assay fetch: brings releases of engines. */
#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "cli/common.h"
#include "engine/label.h"
#include "engine/registry.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct settings {
    bool list, available;
};

/* NAME, NAME==VERSION as pip writes it, or NAME@VERSION as everywhere else. On the heap; version may be NULL.
 */
static void split_word(const char *word, char **name, char **version)
{
    const char *equals = strstr(word, "==");
    if (equals) {
        *name = memory_strdup(word);
        (*name)[equals - word] = '\0';
        *version = memory_strdup(equals + 2);
        return;
    }
    struct label label = label_parse(word);
    *name = memory_strdup(label.name.text);
    (*name)[label.name.length] = '\0';
    *version = label.version.text ? memory_strdup(label.version.text) : NULL;
    if (*version)
        (*version)[label.version.length] = '\0';
}

/* Runs the program, which writes to our stdout and stderr; fails when it does, having said why. */
static int run_fetcher(const char *program, const char *argument, struct error *err)
{
    char *argv[] = {memory_strdup(program), memory_strdup(argument), NULL};
    posix_spawnattr_t attributes;
    sigset_t usual;
    pid_t pid;
    int status = -1;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE); /* which we ignore */
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    errno = posix_spawn(&pid, program, NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    free(argv[0]);
    free(argv[1]);
    if (errno)
        return error_errno(err, "cannot start %s", program);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? 0
               : error_set(err, ERROR_IO, "%s did not succeed", file_base(program));
}

static int fetch(const struct settings *settings, struct registry *registry, const char *word,
                 struct error *err)
{
    char *name, *version;
    int result = 0;
    split_word(word, &name, &version);
    const char *program = registry_fetcher(registry, name);
    if (!registry_file(registry, name))
        result = error_set(err, ERROR_NOT_FOUND, "there is no engine '%s'; 'assay engines' lists them", name);
    else if (!program)
        result = error_set(err, ERROR_UNSUPPORTED,
                           "releases of %s cannot be fetched alone: docs/engines.md says how they are built "
                           "from a checkout of Assay",
                           name);
    else if (version && (!*version || *version == '-'))
        result = error_set(err, ERROR_USAGE, "'%s' names no version; write %s==1.2.3", word, name);
    else
        result = run_fetcher(program,
                             settings->list        ? "--list"
                             : settings->available ? "--available"
                             : version             ? version
                                                   : "--newest",
                             err);
    free(name);
    free(version);
    return result;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    const struct settings *settings = raw;
    struct registry *registry;
    if (!words->count)
        return error_set(err, ERROR_USAGE, "which engine? 'assay fetch onnxruntime' brings ONNX Runtime");
    if (registry_open(&registry, NULL, 0, err))
        return -1;
    int status = 0;
    for (size_t i = 0; i < words->count && !status; i++)
        status = fetch(settings, registry, words->items[i], err);
    registry_free(registry);
    return status ? -1 : STATUS_AGREE;
}

static const struct cli_option options[] = {
    {0, "list", OPTION_FLAG, NULL, offsetof(struct settings, list), "list the releases that are here"},
    {0, "available", OPTION_FLAG, NULL, offsetof(struct settings, available),
     "list the releases that can be fetched"},
};

const struct command command_fetch = {
    .name = "fetch",
    .summary = "bring a release of an engine",
    .words = "ENGINE",
    .usage = "ENGINE[==VERSION]...",
    .about =
        "Brings releases of engines whose libraries npm has (ONNX Runtime, also for browsers, TensorFlow.js\n"
        "and others), whose hash is checked, into the data folder: $ASSAY_DATA, else ~/.local/share/assay.\n"
        "Without a version it is the newest one that Assay is tested with. An ONNX\n"
        "Runtime that is installed in the same Python environment as Assay needs no fetching.\n",
    .examples = "  assay fetch onnxruntime\n"
                "  assay fetch onnxruntime==1.23.2 onnxruntime==1.12.0\n"
                "  assay fetch opencv-js@4.12.0\n"
                "  assay fetch onnxruntime --available\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run,
};
