/*
 * Completion in shells. A script for each shell (share/completion) asks `assay complete WORD...` what may
 * stand in place of the last of the words. So what there is to complete has one source: the commands' tables
 * of options and the registry of engines.
 *
 * The answer is lines. The first is "files" where the shell should offer files, else "words". Each further
 * line is a candidate for the whole word, a tab, and what it is. A candidate that ends with = : or @ is only
 * the beginning of a word.
 */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "cli/cli.h"

/* The script for a shell: bash, zsh or fish; NULL for another. */
const char *completion_script(const char *shell);

/* Appends the answer. words: what stands behind `assay`, the last one begun or empty. Engine files that
 * cannot be read offer nothing. */
void completion_answer(const struct cli_list *words, struct str *out);

#endif
