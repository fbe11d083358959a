/* What the commands that run campaigns share: the screen while it runs, Ctrl-C, and the summary. */
#ifndef CLI_CAMPAIGN_RUN_H
#define CLI_CAMPAIGN_RUN_H

#include "campaign/fuzz.h"
#include "cli/common.h"

/* What is written besides the summary. */
struct campaign_wanted {
    const char *junit, *sarif; /* files for the findings at the end of a campaign in a folder, or NULL */
    bool metrics;              /* the figures of the papers, with a legend */
};

/* clang-format off */
#define CAMPAIGN_METRICS(type)                                                                      \
    {0, "metrics", OPTION_FLAG, NULL, offsetof(type, metrics),                                      \
     "also show the figures of the papers (MCF, IF, DCF, DCP, coverages), and what each word means"}
/* clang-format on */

/*
 * Runs the campaign of the options, shows its status on stderr, and writes the summary to stdout. Fills in
 * panel, folder, registry, the bundles' drawings and the watcher. Returns the exit status, or -1 for an
 * error.
 */
int campaign_run(struct fuzz_options *options, const struct common *common,
                 const struct campaign_wanted *wanted, struct session *session, struct error *err);

#endif
