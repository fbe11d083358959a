/* Completion in shells (completion.h). */
#include "cli/completion.h"
#include "engine/label.h"
#include "engine/registry.h"

#include <stdlib.h>
#include <string.h>

static const char bash_script[] =
#include "assay.bash.inc"
    ;
static const char zsh_script[] =
#include "assay.zsh.inc"
    ;
static const char fish_script[] =
#include "assay.fish.inc"
    ;
static const struct {
    const char *shell, *script;
} scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
enum { SCRIPTS = sizeof scripts / sizeof *scripts };

const char *completion_script(const char *shell)
{
    for (size_t i = 0; i < SCRIPTS; i++)
        if (text_equal(scripts[i].shell, shell))
            return scripts[i].script;
    return NULL;
}

/* What is being completed. */
struct completion {
    struct arena arena;
    const struct cli_list *words;
    const struct command *command;
    const char *begun;  /* the word, without `before` */
    const char *before; /* what every candidate begins with: "--format=" */
    bool files;
    struct str *out; /* the candidates */
};

/* A candidate, where it begins as the word does. */
static void offer(struct completion *at, const char *text, const char *about)
{
    if (text_starts(text, at->begun))
        str_printf(at->out, "%s%s\t%s\n", at->before, text, about);
}

/* The parts of a list with `separator` between, each behind `stem`. */
static void offer_parts(struct completion *at, const char *stem, const char *list, char separator,
                        const char *about)
{
    struct str text;
    str_init(&text);
    for (const char *word = list; word;) {
        const char *end = strchr(word, separator);
        int length = end ? (int)(end - word) : (int)strlen(word);
        str_clear(&text);
        str_printf(&text, "%s%.*s", stem, length, word);
        /* A range, or a word that the engine finds in a list of its own, is nothing to offer. */
        if (!strstr(text.data + strlen(stem), "..") && text.data[strlen(stem)] != '{')
            offer(at, text.data, about);
        word = end ? end + 1 : NULL;
    }
    str_release(&text);
}

/* A label with this version and no knobs. */
static void offer_version(struct completion *at, const char *name, const char *version, const char *about)
{
    char *label = label_at(name, version);
    offer(at, label, about);
    free(label);
}

static int visit_release(void *context, const char *name, const char *version, const char *path)
{
    struct completion *at = context;
    (void)path;
    /* The releases of an engine are many, and offered once it is named. */
    if (!version || text_starts(at->begun, name))
        offer_version(at, name, version, version ? "a release of this engine" : "an engine");
    return 0;
}

static bool is_given(struct label_part knobs, const char *name)
{
    struct label_knob knob;
    while (label_next_knob(&knobs, &knob) > 0)
        if (label_part_is(knob.name, name))
            return true;
    return false;
}

/* The values of a knob: one of several, or several of them. `stem`: the label up to the value. */
static void offer_values(struct completion *at, const struct declared_knob *knob, const char *stem,
                         const char *value)
{
    if (knob->choice == CHOOSES_FILE) {
        at->files = true;
        return;
    }
    if (!strchr(knob->values, '+')) {
        offer_parts(at, stem, knob->values, '|', knob->name);
        return;
    }
    const char *last = strrchr(value, '+');
    struct str several;
    str_init(&several);
    str_printf(&several, "%s%.*s", stem, last ? (int)(last + 1 - value) : 0, value);
    offer_parts(at, several.data, knob->values, '+', knob->name);
    str_release(&several);
}

/* What may follow in the knobs of a label, whose text is the end of the word. */
static void offer_knobs(struct completion *at, const struct engine_profile *profile, struct label_part knobs)
{
    static const char *const choices[] = {[CHOOSES_KERNELS] = "chooses kernels",
                                          [CHOOSES_GRAPH] = "transforms the graph",
                                          [CHOOSES_SCHEDULE] = "schedules the work",
                                          [CHOOSES_FILE] = "a file that the engine writes"};
    const char *comma = strrchr(knobs.text, ','), *knob = comma ? comma + 1 : knobs.text,
               *equals = strchr(knob, '=');
    struct label_part before = {knobs.text, (size_t)(knob - knobs.text)};
    struct str stem;
    str_init(&stem);
    for (const struct declared_knob *one = profile ? profile->knobs : NULL; one; one = one->next) {
        str_clear(&stem);
        str_printf(&stem, "%.*s%s=", (int)(knob - at->begun), at->begun, one->name);
        if (!equals && !is_given(before, one->name))
            offer(at, stem.data, choices[one->choice]);
        else if (equals && text_starts(at->begun, stem.data))
            offer_values(at, one, stem.data, equals + 1);
    }
    str_release(&stem);
}

/* Whether there is the engine, whether it has releases, and whether the word is it or one of them. */
struct found {
    struct label label;
    bool is, releases, whole;
};

static int visit_name(void *context, const char *name, const char *version, const char *path)
{
    struct found *found = context;
    (void)path;
    if (!label_part_is(found->label.name, name))
        return 0;
    found->is = true;
    found->releases |= version != NULL;
    found->whole |= !found->label.version.text || (version && label_part_is(found->label.version, version));
    return 0;
}

/* Behind a name or a release: that more may follow. */
static void offer_endings(struct completion *at, const struct engine_spec *spec, const struct found *found)
{
    if (found->releases)
        offer_version(at, spec->name, "all", "every release at hand");
    if (found->releases && !found->label.version.text)
        offer_version(at, spec->name, "", "a release");
    if (found->whole && spec->profile && spec->profile->knobs) {
        struct label label = found->label;
        struct str text;
        str_init(&text);
        label.knobs = label_part("");
        label_print(&text, &label);
        offer(at, text.data, "knobs");
        str_release(&text);
    }
}

static void offer_labels(struct completion *at, struct registry *registry)
{
    struct found found = {.label = label_parse(at->begun)};
    const struct engine_spec *spec = NULL;
    struct error err;
    registry_each(registry, visit_name, &found);
    char *name = arena_strdup(&at->arena, at->begun);
    name[found.label.name.length] = '\0';
    if (found.is && registry_find(registry, given_typed(registry_arena(registry), name), &spec, &err))
        spec = NULL;
    if (!found.label.knobs.text)
        registry_each(registry, visit_release, at);
    if (spec && found.label.knobs.text)
        offer_knobs(at, spec->profile, found.label.knobs);
    else if (spec)
        offer_endings(at, spec, &found);
}

static void offer_engines(struct completion *at)
{
    struct cli_list files = {0};
    const char **items = arena_array(&at->arena, at->words->count + 1, sizeof *items);
    for (size_t i = 0; i + 2 < at->words->count; i++)
        if (text_equal(at->words->items[i], "-E") || text_equal(at->words->items[i], "--engines"))
            items[files.count++] = at->words->items[i + 1];
    struct registry *registry = NULL;
    struct error err;
    if (registry_open(&registry, items, files.count, &err) == 0)
        offer_labels(at, registry);
    if (registry)
        registry_free(registry);
}

/* Whether help's name of an argument stands for a path. */
static bool is_path(const char *argument)
{
    return text_equal(argument, "FILE") || text_equal(argument, "DIR") || text_equal(argument, "PATH") ||
           text_ends(argument, ".onnx") || text_equal(argument, "PAGE");
}

static void offer_argument(struct completion *at, const struct cli_option *option)
{
    if (option->kind == OPTION_CHOICE)
        offer_parts(at, "", option->argument, '|', option->name);
    else if (option->kind == OPTION_LABELS)
        offer_engines(at);
    else if (option->kind == OPTION_TEXT || option->kind == OPTION_MAYBE || option->kind == OPTION_LIST)
        at->files = is_path(option->argument);
}

static const struct cli_option *option_of(const struct command *command, const char *word, size_t length)
{
    for (size_t i = 0; i < command->n_options; i++) {
        const struct cli_option *option = &command->options[i];
        if (length == 2 && word[0] == '-' && word[1] == option->letter)
            return option;
        if (length == strlen(option->name) + 2 && text_starts(word, "--") &&
            strncmp(word + 2, option->name, length - 2) == 0)
            return option;
    }
    return NULL;
}

/* Whether the option's value is the next word. */
static bool takes_next(const struct cli_option *option)
{
    return option && option->kind != OPTION_FLAG && option->kind != OPTION_MAYBE;
}

static void offer_options(struct completion *at)
{
    struct str text;
    str_init(&text);
    for (size_t i = 0; i < at->command->n_options; i++) {
        const struct cli_option *option = &at->command->options[i];
        str_clear(&text);
        str_printf(&text, "--%s", option->name);
        offer(at, text.data, option->help);
    }
    offer(at, "--help", "show the help of this command");
    str_release(&text);
}

/* A word that belongs to no option; `before` others stand before it. */
static void offer_word(struct completion *at, size_t before)
{
    const char *choices = at->command->words;
    if (choices && text_equal(choices, "ENGINE"))
        offer_engines(at);
    else if (choices && before == 0)
        offer_parts(at, "", choices, '|', at->command->name);
    else
        at->files = true;
}

static void offer_for_command(struct completion *at)
{
    const struct cli_option *open = NULL;
    size_t before = 0;
    bool only_words = false;
    for (size_t i = 1; i + 1 < at->words->count; i++) {
        const char *word = at->words->items[i];
        if (open)
            open = NULL;
        else if (only_words || word[0] != '-')
            before++;
        else if (text_equal(word, "--"))
            only_words = true;
        else if (takes_next(option_of(at->command, word, strlen(word))))
            open = option_of(at->command, word, strlen(word));
    }
    const char *equals = text_starts(at->begun, "--") ? strchr(at->begun, '=') : NULL;
    const struct cli_option *own = NULL;
    if (equals)
        own = option_of(at->command, at->begun, (size_t)(equals - at->begun));
    if (open)
        offer_argument(at, open);
    else if (only_words || at->begun[0] != '-')
        offer_word(at, before);
    else if (own) {
        char *name = arena_strdup(&at->arena, at->begun);
        name[equals + 1 - at->begun] = '\0';
        at->before = name;
        at->begun = equals + 1;
        offer_argument(at, own);
    } else if (!equals)
        offer_options(at);
}

static void offer_commands(struct completion *at, bool all)
{
    for (size_t i = 0; i < cli_n_commands; i++)
        offer(at, cli_commands[i]->name, cli_commands[i]->summary);
    if (!all)
        return;
    offer(at, "help", "list the commands, or explain one");
    offer(at, "completion", "print a script that completes these words");
    offer(at, "--version", "print the version");
}

void completion_answer(const struct cli_list *words, struct str *out)
{
    struct str candidates;
    struct completion at = {.words = words, .before = "", .out = &candidates};
    arena_init(&at.arena);
    str_init(&candidates);
    at.begun = words->count ? words->items[words->count - 1] : "";
    if (words->count > 1)
        at.command = cli_find(words->items[0]);
    if (words->count <= 1)
        offer_commands(&at, true);
    else if (at.command)
        offer_for_command(&at);
    else if (text_equal(words->items[0], "help"))
        offer_commands(&at, false);
    else if (text_equal(words->items[0], "completion"))
        for (size_t i = 0; i < SCRIPTS; i++)
            offer(&at, scripts[i].shell, "a shell");
    str_printf(out, "%s\n%s", at.files ? "files" : "words", candidates.data ? candidates.data : "");
    str_release(&candidates);
    arena_release(&at.arena);
}
