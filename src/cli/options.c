/* Options of the command line, read into a subcommand's settings (cli.h). */
#include "cli/cli.h"

#include "base/file.h"
#include "base/output.h"
#include "base/seed.h"
#include "engine/pool.h"

#include <string.h>

static const struct cli_option *find_long(const struct command *command, const char *name, size_t length)
{
    for (size_t i = 0; i < command->n_options; i++) {
        const char *candidate = command->options[i].name;
        if (strlen(candidate) == length && memcmp(candidate, name, length) == 0)
            return &command->options[i];
    }
    return NULL;
}

static const struct cli_option *find_letter(const struct command *command, char letter)
{
    for (size_t i = 0; i < command->n_options; i++)
        if (command->options[i].letter == letter)
            return &command->options[i];
    return NULL;
}

/* The edit distance of two names: letters to change, add or remove. Names are short. */
static size_t distance(const char *a, size_t length, const char *b)
{
    enum { LONGEST = 40 };
    size_t row[LONGEST + 1], other = strlen(b);
    if (length > LONGEST || other > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= other; j++)
        row[j] = j;
    for (size_t i = 1; i <= length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= other; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[other];
}

bool cli_nearer(const char *name, size_t length, const char *candidate, size_t *least)
{
    size_t apart = strncmp(candidate, name, length) == 0 ? 0 : distance(name, length, candidate);
    if (apart >= *least || apart >= length)
        return false;
    *least = apart;
    return true;
}

static int no_option(const struct command *command, const char *name, size_t length, struct error *err)
{
    const char *nearest = NULL;
    size_t least = CLI_NEAR;
    for (size_t i = 0; i < command->n_options; i++)
        if (cli_nearer(name, length, command->options[i].name, &least))
            nearest = command->options[i].name;
    int shown = (int)(length < 100 ? length : 100);
    return nearest ? error_set(err, ERROR_USAGE, "there is no option --%.*s; did you mean --%s?", shown, name,
                               nearest)
                   : error_set(err, ERROR_USAGE, "there is no option --%.*s", shown, name);
}

static void list_add(struct cli_list *list, struct arena *arena, const char *item)
{
    /* Command lines are short: growing by one copy each keeps the list a plain array. */
    const char **items = arena_array(arena, list->count + 1, sizeof *items);
    if (list->count)
        memcpy(items, list->items, list->count * sizeof *items);
    items[list->count++] = item;
    list->items = items;
}

/* "90", "90s", "5m", "8h" and "500M", "4G": a number and perhaps one of the letters in units. */
static bool scaled(const char *text, const char *units, const double *factors, double *value)
{
    char number[40];
    size_t length = strlen(text);
    if (length == 0 || length >= sizeof number)
        return false;
    memcpy(number, text, length + 1);
    double factor = 1;
    const char *unit = strchr(units, text[length - 1]);
    if (unit) {
        factor = factors[unit - units];
        number[length - 1] = '\0';
    }
    if (!text_double(number, value) || !(*value > 0))
        return false;
    *value *= factor;
    return true;
}

static int choose(const struct cli_option *option, const char *text)
{
    size_t length = strlen(text);
    int number = 0;
    for (const char *word = option->argument; word; number++) {
        const char *end = strchr(word, '|');
        size_t size = end ? (size_t)(end - word) : strlen(word);
        if (size == length && memcmp(word, text, size) == 0)
            return number;
        word = end ? end + 1 : NULL;
    }
    return -1;
}

static int bad_value(const struct cli_option *option, const char *text, struct error *err)
{
    static const char *const wanted[] = {
        [OPTION_COUNT] = "a whole number",
        [OPTION_SEED] = "a whole number of 64 bits",
        [OPTION_SEVERAL] = "a whole number of at least 1",
        [OPTION_NUMBER] = "a number of at least 0",
        [OPTION_TIME] = "a time above 0 such as 90, 90s, 5m or 8h",
        [OPTION_SIZE] = "a size such as 500M or 4G",
    };
    if (option->kind == OPTION_CHOICE)
        return error_set(err, ERROR_USAGE, "--%s takes %s, not '%s'", option->name, option->argument, text);
    return error_set(err, ERROR_USAGE, "--%s takes %s, not '%s'", option->name, wanted[option->kind], text);
}

/* Arguments while they are read. */
struct cursor {
    int next;
    const struct cli_arguments *arguments;
    struct arena *arena;
    void *settings;
};

static int store(const struct cli_option *option, const char *text, const struct cursor *at,
                 struct error *err)
{
    static const double second[] = {1, 60, 3600}, byte[] = {0x1p10, 0x1p20, 0x1p30};
    void *member = (char *)at->settings + option->offset;
    const char *source = at->arguments->source;
    double number = 0;
    long long whole = 0;
    bool good = true;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)member = true;
        break;
    case OPTION_TEXT:
    case OPTION_MAYBE:
        *(const char **)member = text;
        break;
    case OPTION_LIST:
        list_add(member, at->arena, text);
        break;
    case OPTION_LABELS:
        given_add(at->arena, member,
                  source ? given_foreign(at->arena, text, source) : given_typed(at->arena, text));
        break;
    case OPTION_COUNT:
    case OPTION_SEVERAL:
        good = text_int64(text, &whole) && whole >= (option->kind == OPTION_SEVERAL);
        *(long long *)member = whole;
        break;
    case OPTION_SEED:
        good = seed_parse(text, member);
        break;
    case OPTION_NUMBER:
        good = text_double(text, &number) && number >= 0;
        *(double *)member = number;
        break;
    case OPTION_TIME:
        good = scaled(text, "smh", second, &number);
        *(double *)member = number;
        break;
    case OPTION_SIZE:
        good = scaled(text, "KMG", byte, &number) && number < 0x1p62;
        *(long long *)member = good ? (long long)number : 0;
        break;
    case OPTION_CHOICE:
        *(int *)member = choose(option, text);
        good = *(int *)member >= 0;
        break;
    }
    return good ? 0 : bad_value(option, text, err);
}

static int take(const struct command *command, const struct cli_option *option, const char *attached,
                struct cursor *at, struct error *err)
{
    const struct cli_arguments *all = at->arguments;
    if (option->kind == OPTION_FLAG) {
        if (attached)
            return error_set(err, ERROR_USAGE, "--%s takes no value", option->name);
        return store(option, NULL, at, err);
    }
    if (option->kind == OPTION_MAYBE)
        return store(option, attached ? attached : "", at, err);
    if (!attached && at->next == all->count)
        return error_set(err, ERROR_USAGE, "--%s needs a value: %s", option->name, option->argument);
    if (!attached && text_starts(all->items[at->next], "--") &&
        find_long(command, all->items[at->next] + 2, strcspn(all->items[at->next] + 2, "=")))
        return error_set(err, ERROR_USAGE, "--%s needs a value: %s, and %s is an option", option->name,
                         option->argument, all->items[at->next]);
    return store(option, attached ? attached : all->items[at->next++], at, err);
}

static int take_long(const struct command *command, const char *text, struct cursor *at, struct error *err)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    const struct cli_option *option = find_long(command, text, length);
    if (!option)
        return no_option(command, text, length, err);
    return take(command, option, equals ? equals + 1 : NULL, at, err);
}

static int take_letters(const struct command *command, const char *letters, struct cursor *at,
                        struct error *err)
{
    for (; *letters; letters++) {
        const struct cli_option *option = find_letter(command, *letters);
        if (!option)
            return error_set(err, ERROR_USAGE, "there is no option -%c", *letters);
        if (option->kind != OPTION_FLAG)
            return take(command, option, letters[1] ? letters + 1 : NULL, at, err);
        if (take(command, option, NULL, at, err))
            return -1;
    }
    return 0;
}

int cli_parse(const struct command *command, const struct cli_arguments *arguments, struct arena *arena,
              void *settings, struct cli_list *words, bool *help, struct error *err)
{
    struct cursor at = {.arguments = arguments, .arena = arena, .settings = settings};
    bool only_words = false;
    while (at.next < arguments->count) {
        const char *text = arguments->items[at.next++];
        int status = 0;
        if (!*text)
            status = error_set(err, ERROR_USAGE, "argument %d is empty: ''", at.next);
        else if (only_words || text[0] != '-' || !text[1])
            list_add(words, arena, text);
        else if (text_equal(text, "--"))
            only_words = true;
        else if (text_equal(text, "--help") || text_equal(text, "-h"))
            *help = true;
        else if (text[1] == '-')
            status = take_long(command, text + 2, &at, err);
        else
            status = take_letters(command, text + 1, &at, err);
        if (status)
            return -1;
    }
    return 0;
}

static int spare(const char *output, const char *input, struct error *err)
{
    if (!output_is_within(output, input))
        return 0;
    if (output_is_within(input, output))
        return error_set(err, ERROR_IO,
                         "%s is read by this command and would be overwritten; name another output", output);
    /* In a folder that the command reads, only an existing file can be one of its inputs. */
    if (file_is_folder(output) || output_file_check(output, false, NULL) == 0)
        return 0;
    return error_set(err, ERROR_IO, "%s is in %s, which this command reads; name another output", output,
                     input);
}

static int spare_option(const char *output, const struct cli_option *option, const void *settings,
                        struct error *err)
{
    const void *member = (const char *)settings + option->offset;
    const struct cli_list *list = member;
    const char *text = option->kind == OPTION_TEXT ? *(const char *const *)member : NULL;
    if (text && spare(output, text, err))
        return -1;
    for (size_t i = 0; option->kind == OPTION_LIST && i < list->count; i++)
        if (spare(output, list->items[i], err))
            return -1;
    return 0;
}

int cli_spare_inputs(const struct command *command, const void *settings, const struct cli_list *words,
                     struct error *err)
{
    const struct cli_option *option = find_long(command, "output", strlen("output"));
    const char *output = option ? *(const char *const *)((const char *)settings + option->offset) : NULL;
    if (!output || !file_exists(output))
        return 0;
    for (size_t i = 0; i < words->count; i++)
        if (spare(output, words->items[i], err))
            return -1;
    for (size_t i = 0; i < command->n_options; i++)
        if (&command->options[i] != option && spare_option(output, &command->options[i], settings, err))
            return -1;
    return 0;
}

static const void *member_of(const struct command *command, const void *settings, const char *name)
{
    const struct cli_option *option = find_long(command, name, strlen(name));
    return option ? (const char *)settings + option->offset : NULL;
}

struct limits cli_limits(const struct command *command, const void *settings)
{
    const double *seconds = member_of(command, settings, "deadline");
    const long long *bytes = member_of(command, settings, "memory");
    return (struct limits){.seconds = seconds && *seconds > 0 ? *seconds : POOL_DEADLINE,
                           .bytes = bytes && *bytes > 0 ? (size_t)*bytes : POOL_MEMORY};
}
