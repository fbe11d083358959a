#include "cli/shared_options.h"

#include <inttypes.h>
#include <string.h>

static bool is_named(const char *const *names, const char *name, size_t length)
{
    for (size_t i = 0; names[i]; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

/* The word of a choice by its number. */
static void write_choice(struct str *out, const char *words, int number)
{
    for (; number > 0 && strchr(words, '|'); number--)
        words = strchr(words, '|') + 1;
    str_append(out, words, strcspn(words, "|"));
}

static void write_text(struct str *out, const char *name, const char *text)
{
    str_printf(out, "--%s=", name);
    for (const char *c = text; *c; c++)
        str_append(out, *c == '\n' ? " " : c, 1);
    str_add(out, "\n");
}

static void write_list(struct str *out, const char *name, const struct cli_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        write_text(out, name, list->items[i]);
}

static void write_labels(struct str *out, const char *name, const struct given_labels *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        write_text(out, name, given_text(labels->items[i]));
}

static size_t size_of(enum option_kind kind)
{
    static const size_t sizes[] = {
        [OPTION_FLAG] = sizeof(bool),
        [OPTION_TEXT] = sizeof(char *),
        [OPTION_MAYBE] = sizeof(char *),
        [OPTION_LIST] = sizeof(struct cli_list),
        [OPTION_LABELS] = sizeof(struct given_labels),
        [OPTION_COUNT] = sizeof(long long),
        [OPTION_SEVERAL] = sizeof(long long),
        [OPTION_NUMBER] = sizeof(double),
        [OPTION_TIME] = sizeof(double),
        [OPTION_SIZE] = sizeof(long long),
        [OPTION_CHOICE] = sizeof(int),
        [OPTION_SEED] = sizeof(uint64_t),
    };
    return sizes[kind];
}

static void write_option(struct str *out, const struct cli_option *option, const void *member)
{
    const char *text =
        option->kind == OPTION_TEXT || option->kind == OPTION_MAYBE ? *(const char *const *)member : NULL;
    switch (option->kind) {
    case OPTION_FLAG:
        str_printf(out, "--%s\n", option->name);
        break;
    case OPTION_TEXT:
    case OPTION_MAYBE:
        if (text)
            write_text(out, option->name, text);
        break;
    case OPTION_LIST:
        write_list(out, option->name, member);
        break;
    case OPTION_LABELS:
        write_labels(out, option->name, member);
        break;
    case OPTION_COUNT:
    case OPTION_SEVERAL:
        str_printf(out, "--%s=%lld\n", option->name, *(const long long *)member);
        break;
    case OPTION_SEED:
        str_printf(out, "--%s=%" PRIu64 "\n", option->name, *(const uint64_t *)member);
        break;
    case OPTION_SIZE:
        str_printf(out, "--%s=%lld\n", option->name, *(const long long *)member);
        break;
    case OPTION_NUMBER:
    case OPTION_TIME:
        str_printf(out, "--%s=%.17g\n", option->name, *(const double *)member);
        break;
    case OPTION_CHOICE:
        str_printf(out, "--%s=", option->name);
        write_choice(out, option->argument, *(const int *)member);
        str_add(out, "\n");
        break;
    }
}

void shared_options_write(const struct command *command, const char *const *names, const void *settings,
                          struct str *out)
{
    for (size_t i = 0; i < command->n_options; i++) {
        const struct cli_option *option = &command->options[i];
        const char *member = (const char *)settings + option->offset,
                   *usual = (const char *)command->defaults + option->offset;
        if (is_named(names, option->name, strlen(option->name)) &&
            memcmp(member, usual, size_of(option->kind)) != 0)
            write_option(out, option, member);
    }
}

static bool has_line(const char *text, const char *line, size_t length)
{
    while (*text) {
        size_t own = strcspn(text, "\n");
        if (own == length && memcmp(text, line, length) == 0)
            return true;
        text += own + (text[own] != '\0');
    }
    return false;
}

/* Whatever was given on the command line must be among what is stored. */
static int check_given(const char *given, const char *stored, struct error *err)
{
    while (*given) {
        size_t length = strcspn(given, "\n");
        if (!has_line(stored, given, length)) {
            struct str all;
            str_init(&all);
            for (const char *c = stored; *c; c++)
                str_append(&all, *c == '\n' ? " " : c, 1);
            error_set(err, ERROR_USAGE,
                      "the campaign was begun with other options, and not with %.*s; leave them out, or take "
                      "another name. Its options are: %.400s",
                      (int)(length < 200 ? length : 200), given, all.data);
            str_release(&all);
            return -1;
        }
        given += length + (given[length] != '\0');
    }
    return 0;
}

/* The engines among the named options; NULL: there are none. */
static struct given_labels *labels_of(const struct command *command, const char *const *names, void *settings)
{
    for (size_t i = 0; i < command->n_options; i++) {
        const struct cli_option *option = &command->options[i];
        if (option->kind == OPTION_LABELS && is_named(names, option->name, strlen(option->name)))
            return (void *)((char *)settings + option->offset);
    }
    return NULL;
}

/* What a campaign gives to engines: several times the usual, but no more, unless the user typed the same. */
static int check_limits(const struct command *command, const struct limits *typed, const char *campaign,
                        const void *settings, struct error *err)
{
    enum { TIMES = 10 };
    struct limits usual = cli_limits(command, command->defaults), read = cli_limits(command, settings);
    if (read.seconds > TIMES * usual.seconds && read.seconds != typed->seconds)
        return error_set(err, ERROR_USAGE,
                         "the campaign %s gives an engine %.4g s for a request, and others may set %.4g s at "
                         "most; type --deadline=%.17g, too, if you want that",
                         campaign, read.seconds, TIMES * usual.seconds, read.seconds);
    if (read.bytes / TIMES > usual.bytes && read.bytes != typed->bytes)
        return error_set(
            err, ERROR_USAGE,
            "the campaign %s gives an engine %zu MB of memory, and others may set %zu MB at most; "
            "type --memory=%zu, too, if you want that",
            campaign, read.bytes >> 20, TIMES * (usual.bytes >> 20), read.bytes);
    return 0;
}

/* Puts the named options back to their defaults, then reads the lines. Engines in them are foreign, unless
 * the user typed the same. */
static int read_lines(const struct command *command, const char *const *names, const char *stored,
                      const char *campaign, void *settings, struct arena *arena, struct error *err)
{
    enum { MOST = 200 };
    char *words[MOST];
    int count = 0;
    struct given_labels *labels = labels_of(command, names, settings);
    struct given_labels typed = labels ? *labels : (struct given_labels){0};
    struct limits limits = cli_limits(command, settings);
    for (size_t i = 0; i < command->n_options; i++) {
        const struct cli_option *option = &command->options[i];
        if (is_named(names, option->name, strlen(option->name)))
            memcpy((char *)settings + option->offset, (const char *)command->defaults + option->offset,
                   size_of(option->kind));
    }
    for (char *line = arena_strdup(arena, stored); *line;) {
        char *end = line + strcspn(line, "\n"), *next = *end ? end + 1 : end;
        *end = '\0';
        if (count == MOST || !text_starts(line, "--") || !is_named(names, line + 2, strcspn(line + 2, "=")))
            return error_set(err, ERROR_FORMAT, "the options of the campaign are damaged near '%.60s'", line);
        words[count++] = line;
        line = next;
    }
    struct cli_list none = {0};
    struct cli_arguments arguments = {count, words, arena_printf(arena, "the campaign %s", campaign)};
    bool help = false;
    if (cli_parse(command, &arguments, arena, settings, &none, &help, err))
        return error_prefix(err, "the options of the campaign are damaged");
    if (labels)
        given_vouched(labels, &typed);
    return check_limits(command, &limits, campaign, settings, err);
}

int shared_options_agree(const struct command *command, const char *const *names,
                         const struct fuzz_shared_options *shared, void *settings, struct arena *arena,
                         struct str *text, struct error *err)
{
    struct store *store = NULL;
    struct error why = {0};
    struct str stored;
    bool found = false;
    str_init(&stored);
    shared_options_write(command, names, settings, text);
    int status = fuzz_shared_store(&store, shared, STORE_READ, &why);
    if (status && why.code != ERROR_NOT_FOUND) {
        str_release(&stored);
        *err = why;
        return -1;
    }
    if (!status)
        status = store_get(store, FUZZ_SHARED_WORDS, &stored, &found, err);
    else
        status = 0; /* there is no campaign yet */
    store_close(store);
    if (!status && found)
        status = check_given(text->data, stored.data, err) ||
                         read_lines(command, names, stored.data, shared->campaign, settings, arena, err)
                     ? -1
                     : 0;
    if (!status && found) {
        str_clear(text);
        str_add(text, stored.data);
    }
    str_release(&stored);
    return status;
}

int shared_options_check(const struct fuzz_shared_options *shared, const char *output, struct error *err)
{
    if (shared->database && output)
        return error_set(err, ERROR_USAGE, "--db excludes -o: the campaign lives in the database");
    if (shared->database && !shared->campaign)
        return error_set(err, ERROR_USAGE, "name the campaign in the database with --campaign");
    if (!shared->database && (shared->campaign || shared->range || shared->lease > 0))
        return error_set(err, ERROR_USAGE, "--campaign, --range and --lease go with --db");
    if (!shared->database && !output)
        return error_set(err, ERROR_USAGE, "name the campaign's folder with -o");
    return 0;
}

int shared_options_take_part(const struct command *command, const char *const *names,
                             const struct fuzz_shared_options *shared, void *settings,
                             const struct cli_list *words, shared_run *run, struct error *err)
{
    if (!shared->database)
        return run(settings, NULL, words, err);
    struct fuzz_shared_options own = *shared;
    struct arena arena;
    struct str text;
    arena_init(&arena);
    str_init(&text);
    int status = shared_options_agree(command, names, shared, settings, &arena, &text, err);
    own.words = text.data;
    if (status == 0)
        status = run(settings, &own, words, err);
    str_release(&text);
    arena_release(&arena);
    return status;
}
