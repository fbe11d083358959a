/* The list of subcommands, and the help of each (cli.h). */
#include "cli/cli.h"
#include "config.h"
#include "judge/standing.h"
#include "report/text_table.h"

#include <string.h>

#define COMMAND(name) extern const struct command command_##name;
#include "commands.inc"
#undef COMMAND
#define COMMAND(name) &command_##name,
const struct command *const cli_commands[] = {
#include "commands.inc"
};
#undef COMMAND
const size_t cli_n_commands = sizeof cli_commands / sizeof *cli_commands;

const struct command *cli_find(const char *name)
{
    for (size_t i = 0; i < cli_n_commands; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

void cli_overview(struct str *out)
{
    str_printf(out, "assay %s: tests deep-learning engines against each other\n\n", ASSAY_VERSION);
    str_add(out, "Usage: assay COMMAND [OPTION...] [ARGUMENT...]\n\nCommands:\n");
    struct table table;
    table_init(&table, "ll");
    for (size_t i = 0; i < cli_n_commands; i++) {
        table_add(&table, STYLE_PLAIN, "%s", cli_commands[i]->name);
        table_add(&table, STYLE_PLAIN, "%s", cli_commands[i]->summary);
    }
    table_print(&table, out, false, 2);
    table_release(&table);
    str_add(out, "\n'assay COMMAND --help' explains a command with examples.\n"
                 "'assay completion bash' prints what completes these words in bash, also for zsh and fish.\n"
                 "An engine is name[@version][:knob=value,...]; 'assay engines' lists what there is.\n"
                 "Exit status: 0 all agree, 1 something was found, 2 trouble.\n");
}

static void add_option(struct table *table, const struct cli_option *option)
{
    struct str text;
    str_init(&text);
    if (option->letter)
        str_printf(&text, "-%c, ", option->letter);
    else
        str_add(&text, "    ");
    str_printf(&text, "--%s", option->name);
    if (option->kind == OPTION_MAYBE)
        str_printf(&text, "[=%s]", option->argument);
    else if (option->kind != OPTION_FLAG)
        str_printf(&text, " %s", option->argument);
    table_add(table, STYLE_PLAIN, "%s", text.data);
    table_add(table, STYLE_PLAIN, "%s", option->help);
    str_release(&text);
}

/* What status 0 means. */
static void add_promise(struct str *out, const struct promise *promise)
{
    if (!promise)
        return;
    str_printf(out,
               "\nStatus 0 promises, of every engine:\n  answered   %s\n  judged     %s\n  operators  %s\n",
               promise->answered, promise->judged, promise->operators);
}

void cli_help(const struct command *command, struct str *out)
{
    str_printf(out, "assay %s: %s\n\nUsage: assay %s %s\n", command->name, command->summary, command->name,
               command->usage);
    if (command->about)
        str_printf(out, "\n%s", command->about);
    add_promise(out, standing_promise(command->name));
    str_add(out, "\nOptions:\n");
    struct table table;
    table_init(&table, "ll");
    for (size_t i = 0; i < command->n_options; i++)
        add_option(&table, &command->options[i]);
    table_add(&table, STYLE_PLAIN, "-h, --help");
    table_add(&table, STYLE_PLAIN, "show this");
    table_print(&table, out, false, 2);
    table_release(&table);
    str_printf(out, "\nExamples:\n%s", command->examples);
}
