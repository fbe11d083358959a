/* assay engines --check: whether adapters keep the protocol, for their authors. */
#ifndef CLI_ENGINES_CHECK_H
#define CLI_ENGINES_CHECK_H

#include "cli/common.h"

/* Checks the engines that the words name, and those of engine files among them; writes the result. Returns
 * the exit status, or -1 for an error. */
int engines_check(const struct common *common, const struct cli_list *words, struct error *err);

#endif
