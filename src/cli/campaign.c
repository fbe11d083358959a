/* assay campaign: campaigns of many machines, which live in a PostgreSQL database. */
#include "base/memory.h"
#include "base/wrap.h"
#include "cli/common.h"
#include "base/interrupt.h"
#include "findings/campaign_export.h"
#include "findings/campaign_prune.h"
#include "findings/campaign_view.h"
#include "findings/work.h"
#include "report/campaign_report.h"
#include "report/text_table.h"
#include "serve/campaign_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define TOP_SECONDS 2
#define PATIENCE_SECONDS 10

struct settings {
    struct common common;
    long long port, count, older;
    const char *token, *webhook;
    bool yes;
};

/* What a word of the command does. */
struct request {
    const struct settings *settings;
    const char *url;
    const char *name; /* of the campaign, or NULL */
};
struct action {
    const char *word;
    int (*run)(const struct request *request, struct error *err);
    bool one; /* it is about one campaign: where the database has no other, its name may be left out */
};

static int print(const struct str *text, struct error *err)
{
    struct common to_stdout = {0};
    return output_write_plain(&to_stdout, text, err);
}

/* The names of a database's campaigns. */
struct names {
    struct arena arena;
    size_t count, capacity;
    struct campaign_entry *items;
};

static int add_name(void *context, const struct campaign_entry *entry, struct error *err)
{
    struct names *names = context;
    (void)err;
    names->items = memory_grow(names->items, &names->capacity, names->count + 1, sizeof *names->items);
    names->items[names->count++] =
        (struct campaign_entry){.name = arena_strdup(&names->arena, entry->name), .made = entry->made};
    return 0;
}

static int names_read(struct names *names, const char *url, struct error *err)
{
    *names = (struct names){0};
    arena_init(&names->arena);
    return campaign_visit(url, add_name, names, err);
}

static void names_release(struct names *names)
{
    free(names->items);
    arena_release(&names->arena);
}

static int no_campaign(const char *url, struct error *err)
{
    return error_set(
        err, ERROR_NOT_FOUND,
        "the database has no campaign yet; 'assay campaign init %s NAME' makes one, and so does the "
        "first 'assay fuzz --db %s --campaign NAME'",
        url, url);
}

/* The only campaign of the database, on the heap. */
static int only_name(const char *url, char **name, struct error *err)
{
    struct names names;
    int status = names_read(&names, url, err);
    if (!status && names.count == 0)
        status = no_campaign(url, err);
    else if (!status && names.count > 1)
        status = error_set(err, ERROR_USAGE,
                           "the database has %zu campaigns: name one; 'assay campaign list %s' lists them",
                           names.count, url);
    else if (!status)
        *name = memory_strdup(names.items[0].name);
    names_release(&names);
    return status;
}

static void date(double seconds, char buffer[32])
{
    time_t moment = (time_t)seconds;
    struct tm parts;
    if (!gmtime_r(&moment, &parts) || !strftime(buffer, 32, "%Y-%m-%d %H:%MZ", &parts))
        strcpy(buffer, "?");
}

static void list_row(struct table *table, const struct campaign_entry *entry,
                     const struct campaign_view *view)
{
    struct str size;
    char made[32];
    date((double)entry->made, made);
    str_init(&size);
    campaign_bytes(&size, view->bytes);
    table_add(table, STYLE_PLAIN, "%s", entry->name);
    table_add(table, STYLE_PLAIN, "%s", made);
    table_add(table, STYLE_PLAIN, "%.0f", view->cases);
    table_add(table, STYLE_PLAIN, "%.0f", view->rate);
    table_add(table, STYLE_PLAIN, "%zu", view->n_findings - view->apart);
    table_add(table, STYLE_PLAIN, "%zu", view->states[WORKER_ALIVE] + view->states[WORKER_STUCK]);
    table_add(table, STYLE_PLAIN, "%s", size.data);
    table_add(table, STYLE_PLAIN, "%s", campaign_state_words(view));
    str_release(&size);
}

/* One that cannot be read does not hide the others. */
static void list_trouble(struct table *table, const struct campaign_entry *entry, const struct error *trouble)
{
    char made[32];
    date((double)entry->made, made);
    table_add(table, STYLE_PLAIN, "%s", entry->name);
    table_add(table, STYLE_PLAIN, "%s", made);
    for (int i = 0; i < 5; i++)
        table_add(table, STYLE_PLAIN, "%s", "");
    table_add(table, STYLE_BAD, "%s", trouble->message);
}

static void list_json(struct json *json, const struct campaign_entry *entry, const struct campaign_view *view,
                      const struct error *trouble)
{
    json_object(json, NULL);
    json_string(json, "campaign", entry->name);
    json_int(json, "made", entry->made);
    json_string(json, "state", trouble ? NULL : campaign_state_words(view));
    json_string(json, "trouble", trouble ? trouble->message : NULL);
    if (!trouble) {
        json_double(json, "cases", view->cases);
        json_double(json, "rate", view->rate);
        json_int(json, "findings", (int64_t)(view->n_findings - view->apart));
        json_int(json, "workers", (int64_t)(view->states[WORKER_ALIVE] + view->states[WORKER_STUCK]));
        json_double(json, "bytes", view->bytes);
    }
    json_end(json);
}

static void list_all(const struct request *request, const struct names *names, struct table *table,
                     struct json *json)
{
    for (size_t i = 0; i < names->count; i++) {
        struct campaign_view view;
        struct error trouble = {0};
        bool bad = campaign_view_read(&view, request->url, names->items[i].name, &trouble) != 0;
        if (json)
            list_json(json, &names->items[i], &view, bad ? &trouble : NULL);
        else if (bad)
            list_trouble(table, &names->items[i], &trouble);
        else
            list_row(table, &names->items[i], &view);
        campaign_view_release(&view);
    }
}

static int run_list(const struct request *request, struct error *err)
{
    struct names names;
    struct table table;
    struct json json;
    struct str out;
    if (names_read(&names, request->url, err)) {
        names_release(&names);
        return -1;
    }
    str_init(&out);
    table_init(&table, "llrrrrrl");
    if (request->settings->common.format == FORMAT_JSON) {
        output_json(&json, &out, true);
        json_array(&json, "campaigns");
        list_all(request, &names, NULL, &json);
        json_end(&json);
        json_end(&json);
    } else if (names.count) {
        table_head(&table, "campaign|made|cases|cases/s|findings|workers|size|state");
        list_all(request, &names, &table, NULL);
        table_print(&table, &out, output_colour(&request->settings->common), 0);
    } else {
        str_printf(&out, "The database has no campaign yet; 'assay campaign init %s NAME' makes one.\n",
                   request->url);
    }
    int status = print(&out, err);
    table_release(&table);
    names_release(&names);
    str_release(&out);
    return status;
}

static int run_status(const struct request *request, struct error *err)
{
    struct campaign_view view;
    struct str out;
    str_init(&out);
    int status = campaign_view_read(&view, request->url, request->name, err);
    if (!status && request->settings->common.format == FORMAT_JSON) {
        struct json json;
        output_json(&json, &out, true);
        campaign_json(&json, &view, view.n_findings);
        json_end(&json);
    } else if (!status) {
        campaign_screen(&out, &view, output_colour(&request->settings->common), 0);
        if (view.n_findings)
            str_printf(&out, "\n  next      'assay campaign export %s %s -o DIR' writes them to a folder\n",
                       request->url, request->name);
    }
    if (!status)
        status = print(&out, err);
    campaign_view_release(&view);
    str_release(&out);
    return status;
}

/* Lines of the terminal that are left for workers, 0 where there is none. */
static size_t terminal_lines(void)
{
    enum { OTHER_LINES = 16, LEAST = 5 };
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row)
        return 0;
    return size.ws_row > OTHER_LINES + LEAST ? (size_t)size.ws_row - OTHER_LINES : LEAST;
}

/* The screen in place of the one before. On trouble the last one stays, and what is wrong is said below it.
 */
static int draw_top(const struct request *request, bool terminal, struct str *last, struct error *err)
{
    struct campaign_view view;
    struct error trouble = {0};
    struct str out;
    str_init(&out);
    if (terminal)
        terminal_back(stdout, 0);
    if (campaign_view_read(&view, request->url, request->name, &trouble) == 0) {
        str_clear(last);
        campaign_screen(last, &view, output_colour(&request->settings->common), terminal_lines());
    }
    str_printf(&out, "%s\n", last->data);
    if (trouble.code)
        text_print(&out, trouble.message, 0);
    str_add(&out, trouble.code ? "\n" : "");
    bool ever = last->length > 0;
    int status = ever ? print(&out, err) : error_set(err, trouble.code, "%s", trouble.message);
    campaign_view_release(&view);
    str_release(&out);
    return status;
}

static int run_top(const struct request *request, struct error *err)
{
    struct str last;
    int status = 0;
    str_init(&last);
    interrupt_block();
    for (long long i = 0; !status; i++) {
        status = draw_top(request, isatty(STDOUT_FILENO), &last, err);
        if (status || i + 1 == request->settings->count || interrupt_wait(TOP_SECONDS))
            break;
    }
    str_release(&last);
    return status;
}

static int set_stopped(const struct request *request, bool stopped, struct error *err)
{
    struct store *store;
    if (store_open_campaign(&store, request->url, request->name, STORE_WRITE, err))
        return -1;
    int status = work_set_stopped(store, stopped, err);
    store_close(store);
    return status;
}

static int run_stop(const struct request *request, struct error *err)
{
    if (set_stopped(request, true, err))
        return -1;
    wrap_printf(
        stdout,
        "The campaign '%s' is stopped: its workers end when they have returned the ranges that they have.\n"
        "'assay campaign resume %s %s' lets workers go on with it.\n",
        request->name, request->url, request->name);
    return 0;
}

static int run_resume(const struct request *request, struct error *err)
{
    if (set_stopped(request, false, err))
        return -1;
    wrap_printf(stdout,
                "The campaign '%s' gives out work again.\n"
                "Workers that have ended do not come back by themselves: 'assay fuzz --db %s --campaign %s' "
                "starts one.\n",
                request->name, request->url, request->name);
    return 0;
}

static int run_export(const struct request *request, struct error *err)
{
    const char *folder = request->settings->common.output;
    struct export_result result;
    if (!folder)
        return error_set(err, ERROR_USAGE, "name the folder to write to with -o");
    if (campaign_export(request->url, request->name, folder, &result, err))
        return -1;
    struct str said;
    str_init(&said);
    str_printf(&said, "%s: %zu finding%s, %zu with a bundle", folder, result.findings,
               result.findings == 1 ? "" : "s", result.bundles);
    if (result.apart)
        str_printf(&said, ", %zu listed apart", result.apart);
    if (result.cases)
        str_printf(&said, ", %zu case%s of a search", result.cases, result.cases == 1 ? "" : "s");
    str_printf(&said, "; 'assay findings %s' lists them\n", folder);
    wrap_print(stdout, said.data);
    str_release(&said);
    if (result.left_out) {
        struct str text;
        str_init(&text);
        str_printf(
            &text,
            "%zu row%s, bundles or cases of the database were left out, as Assay does not write such: ",
            result.left_out, result.left_out == 1 ? "" : "s");
        text_print(&text, result.why, 0);
        wrap_printf(stderr, "assay campaign: %s\n", text.data);
        str_release(&text);
    }
    return 0;
}

/* Opening a campaign for writing upgrades it. */
static int upgrade(const char *url, const char *name, enum store_mode mode, struct error *err)
{
    struct store *store;
    if (store_open_campaign(&store, url, name, mode, err))
        return -1;
    store_close(store);
    wrap_printf(stdout, "The campaign '%s' has the tables of this version of Assay.\n", name);
    return 0;
}

static int run_init(const struct request *request, struct error *err)
{
    struct names names;
    if (request->name) {
        if (upgrade(request->url, request->name, STORE_CREATE, err))
            return -1;
        wrap_printf(stdout, "'assay fuzz --db %s --campaign %s -e ENGINE' starts a worker.\n", request->url,
                    request->name);
        return 0;
    }
    int status = names_read(&names, request->url, err);
    if (!status && !names.count)
        status = no_campaign(request->url, err);
    for (size_t i = 0; i < names.count && !status; i++)
        status = upgrade(request->url, names.items[i].name, STORE_WRITE, err);
    names_release(&names);
    return status;
}

static bool stop_serving(void *context)
{
    (void)context;
    return interrupt_pending();
}

/* Serves at an open port, until a signal comes. */
static int serve(const struct request *request, struct http_server *server, const char *token,
                 struct webhook *webhook, struct error *err)
{
    struct campaign_site site;
    campaign_site_init(&site, request->url);
    site.webhook = webhook;
    struct http_site pages = {.token = token,
                              .answer = campaign_site_answer,
                              .news = campaign_site_news,
                              .stop = stop_serving,
                              .beside = campaign_site_beside,
                              .period = TOP_SECONDS,
                              .patience = PATIENCE_SECONDS,
                              .context = &site};
    int status = http_serve(server, &pages, err);
    campaign_site_release(&site);
    return status;
}

static int run_serve(const struct request *request, struct error *err)
{
    const struct settings *settings = request->settings;
    struct names names;
    struct http_server *server = NULL;
    struct webhook *webhook = NULL;
    char token[HTTP_TOKEN];
    int port = (int)settings->port;
    if (settings->port > 65535)
        return error_set(err, ERROR_USAGE, "--port takes 0 to 65535, not %lld", settings->port);
    int status = names_read(&names, request->url, err); /* a wrong address is told at once */
    names_release(&names);
    if (!status)
        status = settings->token ? http_token_keep(token, settings->token, err) : http_token_draw(token, err);
    if (!status && settings->webhook)
        status = webhook_open(&webhook, settings->webhook, request->url, err);
    if (!status)
        status = http_server_open(&server, &port, err);
    interrupt_block();
    if (!status) {
        wrap_printf(
            stdout,
            "http://127.0.0.1:%d/%s/%s%s shows the campaigns of the database to who knows this address; "
            "Ctrl-C ends this.\n",
            port, token, request->name ? request->name : "", request->name ? "/" : "");
        status = serve(request, server, token, webhook, err);
    }
    http_server_close(server);
    webhook_close(webhook);
    return status;
}

/* One line on a campaign, and its end where that is asked for. */
static int prune_one(const struct request *request, const char *name, size_t *count, struct error *err)
{
    const double days = 86400;
    const struct settings *settings = request->settings;
    struct campaign_rest rest;
    bool removed;
    double longest = (double)settings->older * days;
    if (campaign_prune(request->url, name, settings->yes ? longest : -1, &rest, &removed, err))
        return -1;
    bool ripe = !rest.at_work && rest.seconds >= longest;
    *count += ripe;
    if (rest.at_work)
        wrap_printf(stdout, "%s: stays, workers are at it\n", name);
    else
        wrap_printf(stdout, "%s: %s, nobody has worked on it for %.1f days\n", name,
                    removed ? "removed"
                    : ripe  ? "would be removed"
                            : "stays",
                    rest.seconds / days);
    return 0;
}

static int run_prune(const struct request *request, struct error *err)
{
    struct names names;
    size_t count = 0, unread = 0;
    int status = names_read(&names, request->url, err);
    bool there = !request->name;
    for (size_t i = 0; i < names.count && !status; i++) {
        if (request->name && !text_equal(names.items[i].name, request->name))
            continue;
        there = true;
        status = prune_one(request, names.items[i].name, &count, err);
        if (status && !request->name) { /* the others are no worse for it */
            wrap_printf(stdout, "%s: stays, it cannot be read: %s\n", names.items[i].name, err->message);
            error_clear(err);
            unread++;
            status = 0;
        }
    }
    if (!status && unread)
        status = error_set(err, ERROR_FORMAT, "%zu of %zu campaigns could not be read", unread, names.count);
    if (!status && !there)
        status = error_set(err, ERROR_NOT_FOUND,
                           "the database has no campaign '%s'; 'assay campaign list %s' lists what it has",
                           request->name, request->url);
    if (!status && count && !request->settings->yes)
        wrap_printf(
            stdout,
            "Nothing was removed: --yes does it. 'assay campaign export %s NAME -o DIR' keeps findings.\n",
            request->url);
    names_release(&names);
    return status;
}

static const struct action actions[] = {
    {"list", run_list, false},   {"status", run_status, true}, {"top", run_top, true},
    {"stop", run_stop, true},    {"resume", run_resume, true}, {"export", run_export, true},
    {"serve", run_serve, false}, {"init", run_init, false},    {"prune", run_prune, false},
};

static const struct action *find_action(const char *word, struct error *err)
{
    const struct action *nearest = NULL;
    size_t least = CLI_NEAR;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (text_equal(actions[i].word, word))
            return &actions[i];
        if (cli_nearer(word, strlen(word), actions[i].word, &least))
            nearest = &actions[i];
    }
    error_set(err, ERROR_USAGE, "there is no 'assay campaign %.60s'%s%s%s", word,
              nearest ? "; did you mean " : "", nearest ? nearest->word : "", nearest ? "?" : "");
    return NULL;
}

static int run(void *raw, const struct cli_list *words, struct error *err)
{
    if (words->count == 0)
        return error_set(err, ERROR_USAGE,
                         "say what to do: list, status, top, stop, resume, export, serve, init or prune");
    const struct action *action = find_action(words->items[0], err);
    if (!action)
        return -1;
    if (words->count < 2)
        return error_set(err, ERROR_USAGE,
                         "name the database: 'assay campaign %s postgresql://HOST/DATABASE%s'", action->word,
                         action->one ? " NAME" : "");
    if (words->count > 3)
        return error_set(err, ERROR_USAGE, "campaign %s takes a database and a campaign, not also '%s'",
                         action->word, words->items[3]);
    struct request request = {
        .settings = raw, .url = words->items[1], .name = words->count > 2 ? words->items[2] : NULL};
    char *only = NULL;
    if (action->one && !request.name) {
        if (only_name(request.url, &only, err))
            return -1;
        request.name = only;
    }
    int status = action->run(&request, err);
    if (status < 0 && action->one && err->code == ERROR_NOT_FOUND) {
        struct error cause = *err;
        error_set(err, ERROR_NOT_FOUND, "%s; 'assay campaign list %s' lists what it has", cause.message,
                  request.url);
    }
    free(only);
    return status;
}

static const struct cli_option options[] = {
    {'o', "output", OPTION_TEXT, "DIR", offsetof(struct settings, common.output),
     "export: the folder to write, new or empty"},
    {'n', "count", OPTION_SEVERAL, "N", offsetof(struct settings, count), "top: end after N screens"},
    {0, "port", OPTION_COUNT, "N", offsetof(struct settings, port),
     "serve: the port on 127.0.0.1 (default 8642; 0: any that is free)"},
    {0, "token", OPTION_TEXT, "FILE", offsetof(struct settings, token),
     "serve: the token in the address is that of FILE, which nobody else may read; it is drawn where there "
     "is no such file"},
    {0, "webhook", OPTION_TEXT, "FILE", offsetof(struct settings, webhook),
     "serve: tell of each new cause by a POST of JSON to the address in FILE, which nobody else may read"},
    {0, "older", OPTION_COUNT, "DAYS", offsetof(struct settings, older),
     "prune: for how many days nobody has worked on a campaign (default 30)"},
    {'y', "yes", OPTION_FLAG, NULL, offsetof(struct settings, yes), "prune: remove them"},
    {0, "format", OPTION_CHOICE, "text|json", offsetof(struct settings, common.format),
     "list, status: how the result is written"},
};

static const struct settings defaults = {.port = 8642, .older = 30};

const struct command command_campaign = {
    .name = "campaign",
    .summary = "look after campaigns that many machines share",
    .words = "list|status|top|stop|resume|export|serve|init|prune",
    .usage = "list|status|top|stop|resume|export|serve|init|prune URL [NAME] [OPTION...]",
    .about =
        "Campaigns of many machines live in a PostgreSQL database, each under a name; 'assay fuzz --db URL\n"
        "--campaign NAME' is a worker (docs/scale.md). URL is what PostgreSQL's programs take; passwords\n"
        "belong into ~/.pgpass, a service file or PGPASSWORD, never into the URL. NAME may be left out\n"
        "where the database has only one campaign.\n\n"
        "  list     all campaigns of the database, one line each\n"
        "  status   one screen: what the campaign is, cases, findings by engine and class, workers\n"
        "  top      the same, live\n"
        "  stop     give out no more work: workers end when they have returned their ranges\n"
        "  resume   give out work again\n"
        "  export   write the findings to a folder as 'assay fuzz -o' makes it, bundles included\n"
        "  serve    the same as a live page for the browser of this machine, with reports and maps\n"
        "  init     make the campaign NAME, or bring it to this version; without NAME, bring all to it\n"
        "  prune    remove campaigns, or NAME alone, on which nobody has worked for 30 days (--older), with "
        "all\n"
        "           that they found; without --yes it says which these are, and removes nothing\n\n"
        "A worker is alive while it renews its lease, stuck when it does so for much longer than ranges\n"
        "usually take, lost when its lease has run out (another worker takes the range), and idle for a\n"
        "minute after it returned one. The page is served on loopback alone, at an address with a token "
        "that\n"
        "is drawn anew each time (or kept, --token), so that no other user of the machine and no other\n"
        "website reads it; from another machine, use 'ssh -L 8642:localhost:8642 HOST'. Below the token,\n"
        "/metrics has the figures for Prometheus, and /healthz says whether the database answers.\n",
    .examples = "  assay campaign init postgresql://db.example/assay night\n"
                "  assay campaign status postgresql://db.example/assay night\n"
                "  assay campaign top service=assay\n"
                "  assay campaign serve service=assay --port 8080\n"
                "  assay campaign serve service=assay --token ~/.assay-token --webhook ~/.assay-webhook\n"
                "  assay campaign prune service=assay --older 90 --yes\n"
                "  assay campaign stop service=assay night\n"
                "  assay campaign export service=assay night -o night && assay findings night\n",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .defaults = &defaults,
    .settings_size = sizeof(struct settings),
    .run = run,
};
