#include "serve/campaign_site.h"

#include "base/clock.h"
#include "base/markup.h"
#include "base/memory.h"
#include "base/output.h"
#include "findings/campaign_view.h"
#include "report/campaign_metrics.h"
#include "report/campaign_report.h"
#include "report/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_FINDINGS = 200, MEASURED_CAMPAIGNS = 100 };
static const double FRESH_SECONDS = 1;

static const char page_html[] =
#include "campaign_page_html.inc"
    ;
static const char page_js[] =
#include "campaign_page_js.inc"
    ;

#define GUARD "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
static const char live_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " GUARD;
static const char still_policy[] = "default-src 'none'; style-src 'self'; img-src 'self'; " GUARD;
/* A drawing that is opened by itself has no origin and runs nothing. */
static const char drawing_policy[] = "default-src 'none'; style-src 'unsafe-inline'; sandbox; " GUARD;

static const char html_type[] = "text/html; charset=utf-8";

void campaign_site_init(struct campaign_site *site, const char *url)
{
    *site = (struct campaign_site){.url = url};
    str_init(&site->status);
}

void campaign_site_beside(void *context)
{
    struct campaign_site *site = context;
    if (site->webhook)
        webhook_go_on(site->webhook);
}

void campaign_site_release(struct campaign_site *site)
{
    str_release(&site->status);
}

static void give(struct http_answer *answer, const char *type, const char *policy, const char *text)
{
    answer->type = type;
    answer->policy = policy;
    str_add(&answer->body, text);
}

static void refuse(struct http_answer *answer, enum http_status status, const char *message)
{
    answer->status = status;
    answer->type = "text/plain; charset=utf-8";
    answer->policy = NULL;
    str_clear(&answer->body);
    str_printf(&answer->body, "%s\n", message);
}

static void refuse_error(struct http_answer *answer, const struct error *err)
{
    refuse(answer, err->code == ERROR_NOT_FOUND ? HTTP_NOT_FOUND : HTTP_TROUBLE, err->message);
}

static void add_charts(struct json *json, const struct campaign_view *view)
{
    struct str charts;
    str_init(&charts);
    campaign_charts(&charts, view, "Distinct findings");
    json_string(json, "charts", charts.data);
    str_release(&charts);
}

/* The status as one line of JSON. */
static int write_status(const struct campaign_site *site, const char *name, bool drawn, struct str *out,
                        struct error *err)
{
    struct campaign_view view;
    struct json json;
    int status = campaign_view_read(&view, site->url, name, err);
    if (!status) {
        output_json(&json, out, false);
        campaign_json(&json, &view, SHOWN_FINDINGS);
        if (drawn)
            add_charts(&json, &view);
        json_end(&json);
    }
    campaign_view_release(&view);
    return status;
}

static void write_event(const struct campaign_site *site, const char *name, struct str *out)
{
    struct error err = {0};
    struct str status;
    str_init(&status);
    if (write_status(site, name, true, &status, &err) == 0) {
        str_printf(out, "data: %s\n\n", status.data);
    } else {
        struct json json;
        str_clear(&status);
        json_init(&json, &status, false);
        json_object(&json, NULL);
        json_string(&json, "message", err.message);
        json_end(&json);
        str_printf(out, "event: trouble\ndata: %s\n\n", status.data);
    }
    str_release(&status);
}

/* Many who ask at once get the same. */
static const char *fresh_event(struct campaign_site *site, const char *name)
{
    if (!text_equal(site->topic, name) || clock_seconds() - site->read > FRESH_SECONDS) {
        str_clear(&site->status);
        write_event(site, name, &site->status);
        snprintf(site->topic, sizeof site->topic, "%s", name);
        site->read = clock_seconds();
    }
    return site->status.data;
}

void campaign_site_news(void *context, const char *topic, struct str *out)
{
    str_add(out, fresh_event(context, topic));
}

/* `root` leads from the page to the list of campaigns. */
static void begin_page(struct str *out, const char *root, const char *title)
{
    str_add(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>");
    markup_escape(out, title);
    str_printf(out, " · Assay campaign</title>\n<link rel=\"stylesheet\" href=\"%spage.css\">\n<body>\n",
               root);
}

struct listed {
    struct str items;
    size_t count;
    char first[HTTP_TOPIC];
};

static int list_campaign(void *context, const struct campaign_entry *entry, struct error *err)
{
    struct listed *listed = context;
    (void)err;
    if (!listed->count++)
        snprintf(listed->first, sizeof listed->first, "%s", entry->name);
    str_add(&listed->items, "<li><a href=\"");
    markup_escape(&listed->items, entry->name);
    str_add(&listed->items, "/\">");
    markup_escape(&listed->items, entry->name);
    str_add(&listed->items, "</a>\n");
    return 0;
}

static void answer_list(const struct campaign_site *site, struct http_answer *answer)
{
    struct listed listed = {0};
    struct error err = {0};
    str_init(&listed.items);
    if (campaign_visit(site->url, list_campaign, &listed, &err)) {
        refuse_error(answer, &err);
    } else if (listed.count == 1) {
        answer->status = HTTP_FOUND;
        snprintf(answer->location, sizeof answer->location, "/%s/", listed.first);
    } else {
        give(answer, html_type, still_policy, "");
        begin_page(&answer->body, "", "All");
        str_add(&answer->body, "<h1>Campaigns</h1>\n<ul>\n");
        str_add(&answer->body, listed.items.data);
        str_add(&answer->body, "</ul>\n");
        str_add(&answer->body, listed.count ? "" : "<p>The database has no campaign yet.</p>\n");
    }
    str_release(&listed.items);
}

static void write_finding(struct str *out, const char *campaign, const struct campaign_finding *finding,
                          const struct str *report)
{
    begin_page(out, "../../", finding->name);
    str_add(out, "<p><a href=\"../\">Campaign ");
    markup_escape(out, campaign);
    str_add(out, "</a></p>\n<h1>");
    markup_escape(out, finding->title);
    str_add(out, "</h1>\n<dl>\n");
    page_add_fact(out, "finding", finding->name);
    page_add_fact(out, "engine", finding->engine);
    page_add_fact(out, "class", finding->class);
    page_add_fact(out, "status", finding->status);
    page_add_fact(out, "recipe", finding->recipe);
    str_add(out, "</dl>\n");
    if (finding->has_map)
        str_add(out, "<p><a href=\"map.svg\"><img class=\"map\" src=\"map.svg\" alt=\"the model's graph, "
                     "nodes at fault "
                     "marked\"></a></p>\n");
    str_add(out, "<pre>");
    markup_escape(out,
                  report->length ? report->data : "There is no report yet: the finding was not reduced.");
    str_add(out, "</pre>\n");
}

static void answer_finding(const struct campaign_site *site, const char *campaign, const char *name,
                           bool drawing, struct http_answer *answer)
{
    struct store *store;
    struct campaign_finding finding;
    struct arena arena;
    struct str text;
    struct error err = {0};
    if (store_open_campaign(&store, site->url, campaign, STORE_READ, &err)) {
        refuse_error(answer, &err);
        return;
    }
    arena_init(&arena);
    str_init(&text);
    if (campaign_finding_read(store, name, &finding, &arena, &err) ||
        campaign_finding_file(store, name, drawing ? "map.svg" : "report.md", &text, &err)) {
        refuse_error(answer, &err);
    } else if (drawing && !text.length) {
        refuse(answer, HTTP_NOT_FOUND,
               "The finding has no map: its case is a single node, or was not reduced yet.");
    } else if (drawing) {
        give(answer, "image/svg+xml", drawing_policy, text.data);
    } else {
        give(answer, html_type, still_policy, "");
        write_finding(&answer->body, campaign, &finding, &text);
    }
    str_release(&text);
    arena_release(&arena);
    store_close(store);
}

static void answer_live(struct campaign_site *site, const char *campaign, const char *rest,
                        struct http_answer *answer)
{
    struct error err = {0};
    if (!*rest) {
        give(answer, html_type, live_policy, page_html);
    } else if (text_equal(rest, "events")) {
        snprintf(answer->topic, sizeof answer->topic, "%s", campaign);
        str_add(&answer->body, fresh_event(site, campaign));
    } else if (write_status(site, campaign, false, &answer->body, &err)) {
        refuse_error(answer, &err);
    } else {
        answer->type = "application/json";
    }
}

struct measuring {
    const char *url;
    size_t count, unreadable;
    struct campaign_view views[MEASURED_CAMPAIGNS];
    const char *name; /* of the campaign whose engines are visited */
    struct str deaths;
};

static int measure_engine(void *context, const struct engine_deaths *deaths, struct error *err)
{
    struct measuring *measuring = context;
    (void)err;
    campaign_metrics_deaths(&measuring->deaths, measuring->name, deaths);
    return 0;
}

static int measure_campaign(void *context, const struct campaign_entry *entry, struct error *err)
{
    struct measuring *measuring = context;
    (void)err;
    if (measuring->count == MEASURED_CAMPAIGNS)
        return 0;
    struct campaign_view *view = &measuring->views[measuring->count];
    measuring->name = entry->name;
    if (campaign_view_read(view, measuring->url, entry->name, NULL) ||
        engine_deaths_visit(measuring->url, entry->name, measure_engine, measuring, NULL)) {
        campaign_view_release(view);
        *view = (struct campaign_view){0};
        measuring->unreadable++; /* which does not hide the others */
    } else {
        measuring->count++;
    }
    return 0;
}

/* Of the first campaigns, by age. Where the database does not answer, nothing is told: what was measured
 * before is no news. */
static void answer_metrics(const struct campaign_site *site, struct http_answer *answer)
{
    struct measuring *measuring = memory_zeroed(1, sizeof *measuring);
    struct error err = {0};
    double begin = clock_seconds();
    measuring->url = site->url;
    str_init(&measuring->deaths);
    if (campaign_visit(site->url, measure_campaign, measuring, &err)) {
        refuse_error(answer, &err);
    } else {
        struct measured measured = {.views = measuring->views,
                                    .count = measuring->count,
                                    .unreadable = measuring->unreadable,
                                    .deaths = measuring->deaths.data,
                                    .seconds = clock_seconds() - begin};
        give(answer, "text/plain; version=0.0.4; charset=utf-8", NULL, "");
        campaign_metrics(&answer->body, &measured);
    }
    for (size_t i = 0; i < measuring->count; i++)
        campaign_view_release(&measuring->views[i]);
    str_release(&measuring->deaths);
    free(measuring);
}

static int see_campaign(void *context, const struct campaign_entry *entry, struct error *err)
{
    (void)context, (void)entry, (void)err;
    return 0;
}

static void answer_health(const struct campaign_site *site, struct http_answer *answer)
{
    struct error err = {0};
    if (campaign_visit(site->url, see_campaign, NULL, &err))
        refuse_error(answer, &err);
    else
        give(answer, "text/plain; charset=utf-8", NULL, "ok\n");
}

/* Takes the name before the next slash. False when there is no slash, or it is not plain. */
static bool take_name(const char **rest, char name[HTTP_PATH_LIMIT], bool (*is_plain)(const char *))
{
    size_t length = strcspn(*rest, "/");
    if (!(*rest)[length])
        return false;
    memcpy(name, *rest, length);
    name[length] = '\0';
    *rest += length + 1;
    return is_plain(name);
}

void campaign_site_answer(void *context, const struct http_request *request, struct http_answer *answer)
{
    struct campaign_site *site = context;
    const char *rest = request->path + 1;
    char campaign[HTTP_PATH_LIMIT], finding[HTTP_PATH_LIMIT];
    if (!*rest)
        answer_list(site, answer);
    else if (text_equal(rest, "page.css"))
        give(answer, "text/css; charset=utf-8", NULL, page_style());
    else if (text_equal(rest, "page.js"))
        give(answer, "text/javascript; charset=utf-8", NULL, page_js);
    else if (text_equal(rest, "metrics"))
        answer_metrics(site, answer);
    else if (text_equal(rest, "healthz"))
        answer_health(site, answer);
    else if (!take_name(&rest, campaign, campaign_name_is_plain))
        refuse(answer, HTTP_NOT_FOUND, "There is no such page; / lists the campaigns.");
    else if (!*rest || text_equal(rest, "events") || text_equal(rest, "status.json"))
        answer_live(site, campaign, rest, answer);
    else if (take_name(&rest, finding, finding_name_is_plain) && (!*rest || text_equal(rest, "map.svg")))
        answer_finding(site, campaign, finding, *rest, answer);
    else
        refuse(answer, HTTP_NOT_FOUND, "There is no such page.");
}
