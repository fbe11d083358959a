/*
 * The options of a command that make a campaign what it is. The first worker of a shared campaign stores them
 * as lines "--name=value"; others may leave them out, and what they give must be the same.
 */
#ifndef CLI_SHARED_OPTIONS_H
#define CLI_SHARED_OPTIONS_H

#include "campaign/fuzz_shared.h"
#include "cli/cli.h"

/* Appends those of the named options (a NULL-terminated list) that differ from the command's defaults. */
void shared_options_write(const struct command *command, const char *const *names, const void *settings,
                          struct str *out);

/*
 * When the campaign exists, sets the named options to what its first worker gave; fails with ERROR_USAGE when
 * `settings` has something else. *text: the lines that are, or are to be, stored. Texts live in the arena.
 * What is read is not trusted: other options are refused, and engines are foreign (engine/given_label.h)
 * unless `settings` has the same.
 */
int shared_options_agree(const struct command *command, const char *const *names,
                         const struct fuzz_shared_options *shared, void *settings, struct arena *arena,
                         struct str *text, struct error *err);

/*
 * A command as one worker of many: agrees on the options and calls `run` with what was agreed on. The words
 * of `shared` are filled in.
 */
typedef int shared_run(void *settings, const struct fuzz_shared_options *shared, const struct cli_list *words,
                       struct error *err);
int shared_options_take_part(const struct command *command, const char *const *names,
                             const struct fuzz_shared_options *shared, void *settings,
                             const struct cli_list *words, shared_run *run, struct error *err);

#endif
