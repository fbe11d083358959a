/* assay salute: the smallest subcommand. */
#include "cli/common.h"

#include <stdio.h>

struct settings {
    struct common common;
};

static int run(void *settings, const struct cli_list *words, struct error *err)
{
    (void)settings;
    if (words->count != 1)
        return error_set(err, ERROR_USAGE, "give one name");
    printf("Hello, %s\n", words->items[0]);
    return STATUS_AGREE;
}

static const struct settings defaults = {0};

const struct command command_salute = {
    .name = "salute",
    .summary = "greet somebody",
    .usage = "NAME",
    .about = "Prints a greeting.\n",
    .examples = "  assay salute Ada\n",
    .defaults = &defaults,
    .settings_size = sizeof defaults,
    .run = run,
};
