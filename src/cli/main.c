/* The program: finds the subcommand and runs it. */
#define _GNU_SOURCE /* close_range */
#include "base/file.h"
#include "base/heap.h"
#include "base/memory.h"
#include "base/wrap.h"
#include "cli/completion.h"
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int trouble(const struct command *command, const struct error *err)
{
    wrap_printf(stderr, "assay %s: %s\n", command->name, err->message);
    const char *advice = error_advice(err);
    if (err->code == ERROR_USAGE)
        wrap_printf(stderr, "Try 'assay %s --help'.\n", command->name);
    else if (advice)
        wrap_printf(stderr, "%s\n", advice);
    return STATUS_TROUBLE;
}

static int print(void (*write)(struct str *))
{
    struct str text;
    str_init(&text);
    write(&text);
    int status = wrap_plain(stdout, text.data) ? STATUS_AGREE : STATUS_TROUBLE;
    str_release(&text);
    return status;
}

static int print_help(const struct command *command)
{
    struct str text;
    str_init(&text);
    cli_help(command, &text);
    int status = wrap_plain(stdout, text.data) ? STATUS_AGREE : STATUS_TROUBLE;
    str_release(&text);
    return status;
}

static int no_command(const char *word)
{
    const char *nearest = NULL;
    size_t least = CLI_NEAR;
    for (size_t i = 0; i < cli_n_commands; i++)
        if (cli_nearer(word, strlen(word), cli_commands[i]->name, &least))
            nearest = cli_commands[i]->name;
    wrap_printf(stderr, "assay: there is no command '%s'%s%s%s 'assay help' lists the commands.\n", word,
                nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : ".");
    return STATUS_TROUBLE;
}

/* assay help --manual NAME: for the build. */
static int print_manual(const char *name)
{
    const struct command *command = cli_find(name);
    struct str text;
    if (!command && !text_equal(name, "assay"))
        return no_command(name);
    str_init(&text);
    if (command)
        cli_manual(command, &text);
    else
        cli_manual_overview(&text);
    int status = wrap_plain(stdout, text.data) ? STATUS_AGREE : STATUS_TROUBLE;
    str_release(&text);
    return status;
}

/* assay completion [SHELL] */
static int print_completion(int count, char **argv)
{
    const char *shell = count ? argv[0] : "bash", *script = completion_script(shell);
    if (!script || count > 1) {
        wrap_print(stderr,
                   "assay: completion is for bash, zsh and fish: 'assay completion zsh' prints a script.\n");
        return STATUS_TROUBLE;
    }
    return wrap_plain(stdout, script) ? STATUS_AGREE : STATUS_TROUBLE;
}

/* assay complete WORD...: what the script asks. */
static int print_candidates(int count, char **argv)
{
    struct str text;
    str_init(&text);
    completion_answer(&(struct cli_list){(size_t)count, (const char **)argv}, &text);
    int status = wrap_plain(stdout, text.data) ? STATUS_AGREE : STATUS_TROUBLE;
    str_release(&text);
    return status;
}

static int run(const struct command *command, int count, char **argv)
{
    struct arena arena;
    arena_init(&arena);
    struct error err = {0};
    struct cli_list words = {0};
    bool help = false;
    void *settings = memory_zeroed(1, command->settings_size);
    if (command->defaults)
        memcpy(settings, command->defaults, command->settings_size);
    int status =
        cli_parse(command, &(struct cli_arguments){count, argv, NULL}, &arena, settings, &words, &help, &err);
    if (help)
        status = print_help(command);
    else if (status == 0 && cli_spare_inputs(command, settings, &words, &err) == 0) {
        limits_set(cli_limits(command, settings));
        status = command->run(settings, &words, &err);
    } else
        status = -1;
    if (file_maps_were_cut())
        status =
            error_set(&err, ERROR_IO, "a file was cut off while it was read, so nothing here is certain");
    if (status < 0)
        status = trouble(command, &err);
    free(settings);
    arena_release(&arena);
    return status;
}

/* Whoever starts Assay may have closed stdin, stdout or stderr, whose numbers then go to other files, and may
 * have left files open, which are no engine's business. What is written to a stdout that was closed fails. */
static void settle_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
    for (int standard = 0; standard <= STDERR_FILENO; standard++)
        fcntl(standard, F_SETFD, 0);
    close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
}

int main(int argc, char **argv)
{
    settle_descriptors();
    file_guard_maps();
    /* A worker that dies while we write to it must not end this process too. */
    signal(SIGPIPE, SIG_IGN);
    heap_keep_freed();
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) {
        wrap_print(stderr, "assay: which command? 'assay help' lists them.\n");
        return STATUS_TROUBLE;
    }
    if (text_equal(word, "--version")) {
        wrap_print(stdout, "assay " ASSAY_VERSION "\n");
        return STATUS_AGREE;
    }
    if (text_equal(word, "help") && argc == 4 && text_equal(argv[2], "--manual"))
        return print_manual(argv[3]);
    if (text_equal(word, "help") && argc > 2 && argv[2][0] != '-') {
        const struct command *which = cli_find(argv[2]);
        return which ? print_help(which) : no_command(argv[2]);
    }
    if (text_equal(word, "help") || text_equal(word, "--help") || text_equal(word, "-h"))
        return print(cli_overview);
    if (text_equal(word, "completion"))
        return print_completion(argc - 2, argv + 2);
    if (text_equal(word, "complete"))
        return print_candidates(argc - 2, argv + 2);
    const struct command *command = cli_find(word);
    if (!command)
        return no_command(word);
    return run(command, argc - 2, argv + 2);
}
