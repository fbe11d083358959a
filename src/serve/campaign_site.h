/*
 * The pages of `assay campaign serve`: a list of the database's campaigns, one live page for each, and of
 * each finding its report and its map, from the bundles in the database. Links are relative, as all lies
 * below the server's token.
 *
 *     /                         the campaigns; the page itself when there is only one
 *     /metrics                  figures of all campaigns, for Prometheus
 *     /healthz                  "ok" while the database answers
 *     /NAME/                    one campaign, live
 *     /NAME/events              its status as server-sent events
 *     /NAME/status.json         its status once (docs/json.md)
 *     /NAME/FINDING/            a finding with its report
 *     /NAME/FINDING/map.svg     its drawing
 *
 * Whatever comes from the database is escaped, and no page may run any script but the one that Assay brings.
 */
#ifndef SERVE_CAMPAIGN_SITE_H
#define SERVE_CAMPAIGN_SITE_H

#include "serve/http_server.h"
#include "serve/webhook.h"

struct campaign_site {
    const char *url;         /* of the database */
    struct webhook *webhook; /* borrowed; NULL: none */
    /* the newest status of one campaign, which several streams share */
    char topic[HTTP_TOPIC];
    struct str status;
    double read; /* when */
};

void campaign_site_init(struct campaign_site *site, const char *url);
void campaign_site_release(struct campaign_site *site);

/* The functions of struct http_site. */
void campaign_site_answer(void *site, const struct http_request *request, struct http_answer *answer);
void campaign_site_news(void *site, const char *topic, struct str *out);
void campaign_site_beside(void *site);

#endif
