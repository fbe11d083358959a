/*
 * Figures of campaigns in Prometheus' text format, version 0.0.4: for each, a line of help, its type, and a
 * line for each campaign.
 */
#ifndef REPORT_CAMPAIGN_METRICS_H
#define REPORT_CAMPAIGN_METRICS_H

#include "base/str.h"
#include "findings/campaign_view.h"

#include <stddef.h>

/* Appends them; `seconds` is how long reading all of the views took. */
void campaign_metrics(struct str *out, const struct campaign_view *views, size_t count, double seconds);

#endif
