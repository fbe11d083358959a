/*
 * The status of a campaign in a database, for people and for programs. All functions append to *out.
 */
#ifndef REPORT_CAMPAIGN_REPORT_H
#define REPORT_CAMPAIGN_REPORT_H

#include "base/json.h"
#include "base/str.h"
#include "findings/campaign_view.h"

/* What the campaign does now, one sentence: "The campaign 'night' is running: 4 workers are alive, ...". */
void campaign_sentence(struct str *out, const struct campaign_view *view);

/* What it does now, in a few words: "is running". */
const char *campaign_state_words(const struct campaign_view *view);

/* One screen: the sentence, figures, findings by engine and class, workers. `height` is the number of lines
 * for workers (0: no limit). */
void campaign_screen(struct str *out, const struct campaign_view *view, bool colour, size_t height);

/* The members of a JSON object, as docs/json.md describes them; at most `findings` of the findings. */
void campaign_json(struct json *json, const struct campaign_view *view, size_t findings);

/* A worker's present task: "cases 500 to 999", "reduces wrong-relu-0123456789ab". */
void campaign_task(struct str *out, const struct campaign_worker *worker);

/* The charts of HTML pages: cases a second, coverage and `findings` (what view->points count) over time. */
void campaign_charts(struct str *out, const struct campaign_view *view, const char *findings);

/* "1:02:03", hours first. */
void campaign_time(struct str *out, double seconds);

/* "1.5 MB". */
void campaign_bytes(struct str *out, double bytes);

#endif
