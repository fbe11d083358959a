/* What the commands that run campaigns share: the screen while it runs, Ctrl-C, and the summary. */
#ifndef CLI_CAMPAIGN_RUN_H
#define CLI_CAMPAIGN_RUN_H

#include "campaign/fuzz.h"
#include "cli/common.h"

/* Files for the findings at the end of a campaign in a folder; NULL: not wanted. */
struct campaign_files {
    const char *junit, *sarif;
};

/*
 * Runs the campaign of the options, shows its status on stderr, and writes the summary to stdout. Fills in
 * panel, folder, registry, the bundles' drawings and the watcher. Returns the exit status, or -1 for an
 * error.
 */
int campaign_run(struct fuzz_options *options, const struct common *common,
                 const struct campaign_files *files, struct session *session, struct error *err);

#endif
