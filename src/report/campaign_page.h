/*
 * A campaign as one HTML page that needs nothing but itself: no script, no other file, no network. What is
 * not known comes first: each cause with the map and the minimal model of its smallest case and with the
 * commands that show it again; then operators by engines, and the course of the campaign. Known causes are
 * folded away.
 *
 * All texts of a campaign are foreign: they are escaped, drawings are pictures that cannot run anything, and
 * the page forbids the browser all that it does not need. What cannot be read of a finding is left out.
 */
#ifndef REPORT_CAMPAIGN_PAGE_H
#define REPORT_CAMPAIGN_PAGE_H

#include "base/folder.h"
#include "diagnose/causes.h"
#include "findings/campaign_view.h"

struct campaign_page {
    struct campaign_view *view; /* its points will count causes */
    const struct finding_causes *causes;
    struct store *store;
    const struct folder *folder; /* in which bundles are findings/NAME; NULL: they are in the store */
    const char *path;            /* of the campaign's folder, for commands */
    const char *before;          /* a command that makes this folder; NULL: it is there */
    const char *options;         /* that name the engine files, "-E FILE"; or "" */
};

/* Appends the page. */
int campaign_page_write(struct str *out, const struct campaign_page *page, struct error *err);

#endif
