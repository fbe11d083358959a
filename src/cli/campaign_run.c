#include "cli/campaign_run.h"

#include "base/clock.h"
#include "base/progress.h"
#include "base/wrap.h"
#include "campaign/fuzz_shared.h"
#include "base/interrupt.h"
#include "cli/keys.h"
#include "report/fault_map.h"
#include "report/finding_export.h"
#include "report/fuzz_report.h"
#include "report/search_report.h"
#include "report/text_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Seconds between two drawings of the screen, and between two lines of a log. */
#define DRAW_SECONDS 0.5
#define LOG_SECONDS 60

/* Where and when the watcher shows the status of the campaign. */
struct view {
    bool terminal, colour;
    double drawn;
    size_t lines; /* of the screen that stands there now */
    struct progress
        line; /* the line below the screen: what happened since the screen was drawn, if that was long ago */
    struct pool *pool;
    struct keys keys;
    bool metrics; /* shown, with what they mean; the key ? turns them on and off */
};

static void draw(struct view *view, const struct fuzz_status *status)
{
    struct str text, screen;
    size_t width = terminal_width(STDERR_FILENO);
    str_init(&text);
    str_init(&screen);
    fuzz_screen(&text, status, view->colour, view->metrics, width);
    if (view->keys.open)
        style_print(&text, view->colour, STYLE_DIM, "  ? %s\n",
                    view->metrics ? "hides the legend" : "explains the words and shows the metrics");
    if (view->lines)
        terminal_back(stderr, view->lines);
    wrap_text(&screen, text.data, width);
    view->lines = 0;
    for (size_t i = 0; i < screen.length; i++)
        view->lines += screen.data[i] == '\n';
    wrap_plain(stderr, screen.data);
    str_release(&screen);
    str_release(&text);
}

static void log_line(const struct fuzz_status *status)
{
    struct str text;
    str_init(&text);
    fuzz_line(&text, status);
    wrap_printf(stderr, "%s\n", text.data);
    str_release(&text);
}

static bool watch(void *context, const struct fuzz_status *status)
{
    struct view *view = context;
    double now = clock_seconds();
    bool asked = false;
    if (view->terminal && !view->line.line) {
        progress_begin(&view->line, "at work", 0);
        pool_show(view->pool, &view->line);
    }
    progress_restart(&view->line);
    for (int key; view->terminal && (key = keys_next(&view->keys));)
        asked |= key == '?';
    if (asked) {
        view->metrics = !view->metrics;
        view->drawn = 0;
    }
    if (now - view->drawn >= (view->terminal ? DRAW_SECONDS : LOG_SECONDS)) {
        view->drawn = now;
        if (view->terminal)
            draw(view, status);
        else
            log_line(status);
    }
    /* So a campaign always ends between two cases. */
    return interrupt_pending();
}

/* The last line: the commands to use next. */
static void add_next(struct str *text, const struct fuzz_status *status,
                     const struct fuzz_shared_options *shared)
{
    if (shared) {
        str_printf(text, "  next       'assay campaign status %s %s' shows the campaign\n", shared->database,
                   shared->campaign);
        return;
    }
    bool any = status->findings || status->apart;
    if (any)
        str_printf(text, "  next       'assay findings %s' lists the findings", status->folder);
    if (status->waiting)
        str_printf(text, ", 'assay report %s' writes up those not reduced yet (%zu)", status->folder,
                   status->waiting);
    if (any)
        str_add(text, "\n");
}

static int write_summary(const struct common *common, const struct fuzz_status *status,
                         const struct fuzz_shared_options *shared, const struct standing *standing,
                         const struct engine_settings *settings, struct view *view, bool metrics,
                         struct error *err)
{
    struct common to_stdout = {.format = common->format};
    struct str text;
    str_init(&text);
    if (view->terminal && view->lines)
        terminal_back(stderr, view->lines);
    if (common->format == FORMAT_JSON)
        fuzz_json(&text, status, standing, settings);
    else {
        if (status->n_searched) {
            search_answer(&text, status, standing, "\n");
            str_add(&text, "\n\n");
        } else {
            if (!shared) /* of a campaign that many share, this is one worker's part */
                fuzz_answer(&text, status);
            standing_print(standing, &text, output_colour(&to_stdout));
        }
        fuzz_screen(&text, status, output_colour(&to_stdout), metrics, 0);
        add_next(&text, status, shared);
    }
    int result = output_result(&to_stdout, settings, &text, err);
    str_release(&text);
    return result;
}

static int add_finding(void *context, const struct stored *stored, struct error *err)
{
    (void)err;
    finding_export_add(context, stored, stored->state == STATE_KNOWN);
    return 0;
}

/* Engines on which nothing was found pass. */
static void add_passes(struct finding_export *export, const struct fuzz_status *status)
{
    struct str what;
    str_init(&what);
    str_printf(&what, "%" PRIu64 " cases", status->cases);
    for (size_t i = 0; i < status->judged_engines && export->junit_path; i++)
        if (!status->engines[i].findings)
            finding_export_pass(export, status->engines[i].label, what.data);
    str_release(&what);
}

/* The findings of the campaign for CI servers and code hosts. */
static int write_files(struct finding_export *export, const struct fuzz_status *status,
                       const struct standing *standing, struct error *err)
{
    struct store *store = NULL;
    if (!export->junit_path && !export->sarif_path)
        return 0;
    int result = store_open(&store, status->folder, STORE_READ, err);
    if (!result)
        result = store_list(store, &(struct store_filter){0}, add_finding, export, err);
    store_close(store);
    add_passes(export, status);
    return result ? -1 : finding_export_write(export, standing->reason, err);
}

int campaign_run(struct fuzz_options *options, const struct common *common,
                 const struct campaign_wanted *wanted, struct session *session, struct error *err)
{
    struct finding_export export;
    const char *objection = getenv("NO_COLOR");
    struct view view = {.terminal = isatty(STDERR_FILENO),
                        .drawn = clock_seconds(),
                        .pool = session->panel.pool,
                        .metrics = wanted->metrics};
    view.colour = view.terminal && !(objection && *objection);
    if (options->reduce)
        panel_add_fresh(&session->panel);
    options->panel = &session->panel;
    options->folder = common->output;
    options->draw = fault_map_svg;
    options->registry = session->registry;
    options->watch = watch;
    options->context = &view;
    struct fuzz_status status = {0};
    struct standing standing = {.strict = common->strict};
    int result =
        finding_export_open(&export, wanted->junit, wanted->sarif, common->output, common->force, err);
    interrupt_block();
    if (!result) {
        keys_open(&view.keys);
        result = fuzz_run(options, &status, err);
        keys_close(&view.keys);
        pool_show(view.pool, NULL);
        progress_end(&view.line);
    }
    if (!result) {
        fuzz_stands(&status, &standing);
        result = write_files(&export, &status, &standing, err);
    }
    if (!result)
        result = write_summary(common, &status, options->shared, &standing, &session->settings, &view,
                               wanted->metrics, err);
    finding_export_release(&export);
    fuzz_status_release(&status);
    return result ? -1 : standing_status(&standing);
}
