/*
 * Figures of campaigns in Prometheus' text format, version 0.0.4: for each, a line of help, its type, and a
 * line for each campaign.
 */
#ifndef REPORT_CAMPAIGN_METRICS_H
#define REPORT_CAMPAIGN_METRICS_H

#include "base/str.h"
#include "findings/campaign_view.h"
#include "findings/engine_deaths.h"

#include <stddef.h>

/* What is told of a database. `deaths` has the lines that campaign_metrics_deaths made for its campaigns, and
 * `seconds` is how long it took to read it all. */
struct measured {
    const struct campaign_view *views;
    size_t count;
    size_t unreadable; /* campaigns besides these, of an older version or damaged */
    const char *deaths;
    double seconds;
};
void campaign_metrics(struct str *out, const struct measured *measured);

/* Appends the lines on an engine of a campaign. */
void campaign_metrics_deaths(struct str *lines, const char *campaign, const struct engine_deaths *deaths);

#endif
