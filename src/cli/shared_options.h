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

/* Rows for the option table of such a command, whose settings have a struct fuzz_shared_options named
 * `shared`: what its campaign is called, what is leased, and how many at a time unless --range says it. */
/* clang-format off */
#define SHARED_OPTIONS(type, campaign_word, leased, usual)                                          \
    {0, "db", OPTION_TEXT, "URL", offsetof(type, shared.database),                                  \
     "take part in a " campaign_word " that many workers share, in this PostgreSQL database; no password in it"}, \
    {0, "campaign", OPTION_TEXT, "NAME", offsetof(type, shared.campaign),                           \
     "with --db: the " campaign_word "'s name; the first worker begins it, others may leave its options out"}, \
    {0, "range", OPTION_SEVERAL, "N", offsetof(type, shared.range),                                 \
     "with --db, for the first worker: " leased " that are leased at a time (default " usual ")"},  \
    {0, "lease", OPTION_TIME, "TIME", offsetof(type, shared.lease),                                 \
     "with --db: after this long without a sign of life, " leased " are another worker's (default 60s)"}
/* clang-format on */

/* Fails with ERROR_USAGE unless the campaign is either in the folder of -o (`output`) or in a database. */
int shared_options_check(const struct fuzz_shared_options *shared, const char *output, struct error *err);

/*
 * A command as one worker of many: agrees on the options and calls `run` with what was agreed on. The words
 * of `shared` are filled in. Without a database `run` is called at once, with NULL.
 */
typedef int shared_run(void *settings, const struct fuzz_shared_options *shared, const struct cli_list *words,
                       struct error *err);
int shared_options_take_part(const struct command *command, const char *const *names,
                             const struct fuzz_shared_options *shared, void *settings,
                             const struct cli_list *words, shared_run *run, struct error *err);

#endif
