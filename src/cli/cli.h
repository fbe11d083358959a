/*
 * The command line: each subcommand is one file and one row in meson.build.
 *
 * A subcommand is a `const struct command command_NAME`: its texts, a table of options that binds each to a
 * member of its settings, and its function. Help, manual pages, usage errors and completion derive from it.
 *
 * The exit status follows diff (judge/standing.h): 0 every engine answered, every answer was judged and all
 * agree; 1 something was found; 2 trouble (usage, no such engine, unreadable file, nothing judged).
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/given_label.h"
#include "judge/standing.h"

#include <stdbool.h>
#include <stddef.h>

enum option_kind {
    OPTION_FLAG,    /* bool */
    OPTION_TEXT,    /* const char * */
    OPTION_MAYBE,   /* const char *: --name=TEXT, or --name alone for "" */
    OPTION_LIST,    /* struct cli_list; repeatable */
    OPTION_LABELS,  /* struct given_labels: engines; repeatable */
    OPTION_COUNT,   /* long long, >= 0 */
    OPTION_SEED,    /* uint64_t: any number of 64 bits, with or without a sign */
    OPTION_SEVERAL, /* long long, >= 1 */
    OPTION_NUMBER,  /* double, >= 0 */
    OPTION_TIME,    /* double, seconds, > 0: 90, 90s, 5m, 8h */
    OPTION_SIZE,    /* long long, bytes, > 0: 500M, 4G */
    OPTION_CHOICE,  /* int, the number of the word in `argument`: "text|json|junit" */
};

struct cli_option {
    char letter; /* 0: none */
    const char *name;
    enum option_kind kind;
    const char *argument; /* what help calls the argument; for a choice, the words */
    size_t offset;        /* of the member in the command's settings */
    const char *help;
};

struct cli_list {
    size_t count;
    const char **items;
};

struct command {
    const char *name;
    const char *summary;  /* one line of `assay help` */
    const char *usage;    /* what follows the name: "MODEL... -e ENGINE..." */
    const char *words;    /* what its words are, for shells: NULL files, "ENGINE", or the first one's choices:
                             "list|show" */
    const char *about;    /* paragraphs for --help */
    const char *examples; /* lines, each starting with two spaces */
    const struct cli_option *options;
    size_t n_options;
    const void *defaults; /* settings_size bytes, from which the settings are copied before parsing */
    size_t settings_size;

    /*
     * Returns the exit status, or -1 with *err set: main then prints the message and ends with
     * STATUS_TROUBLE. words: the arguments that are no options.
     */
    int (*run)(void *settings, const struct cli_list *words, struct error *err);
};

/* The generated table of all commands, and their number. */
extern const struct command *const cli_commands[];
extern const size_t cli_n_commands;

/* NULL when there is no such command. */
const struct command *cli_find(const char *name);

/*
 * Suggestions for misspelt names. cli_nearer tells whether `candidate` begins with the `length` letters of
 * `name`, or differs from them in fewer than *least letters, and then lowers *least; a search starts with
 * CLI_NEAR.
 */
enum { CLI_NEAR = 3 };
bool cli_nearer(const char *name, size_t length, const char *candidate, size_t *least);

/* Arguments, and where they come from if the user did not type them: engines that they name are then foreign
 * (engine/given_label.h). NULL: the user did. */
struct cli_arguments {
    int count;
    char **items;
    const char *source;
};

/*
 * Fills settings and *words from the arguments. Options and words may be mixed; after "--" everything is a
 * word. Lists live in the arena, texts in the arguments. When --help is given, sets *help and does not fail.
 */
int cli_parse(const struct command *command, const struct cli_arguments *arguments, struct arena *arena,
              void *settings, struct cli_list *words, bool *help, struct error *err);

/*
 * What a command reads is never overwritten, whatever the options. Fails when the file of --output exists and
 * is also named as a word or by another option, or lies in a folder that is named so and is not a report that
 * Assay wrote.
 */
int cli_spare_inputs(const struct command *command, const void *settings, const struct cli_list *words,
                     struct error *err);

/* The limits on what the command itself computes: those of --deadline and --memory, where it has these
 * options and they are given, else 30 s and 4 GB. */
struct limits cli_limits(const struct command *command, const void *settings);

/* The texts of `assay COMMAND --help` and `assay help`, appended to *out. */
void cli_help(const struct command *command, struct str *out);
void cli_overview(struct str *out);

/* The manual pages assay-COMMAND(1) and assay(1), which the build installs, appended to *out. */
void cli_manual(const struct command *command, struct str *out);
void cli_manual_overview(struct str *out);

#endif
