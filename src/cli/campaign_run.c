#include "cli/campaign_run.h"

#include "base/clock.h"
#include "base/wrap.h"
#include "campaign/fuzz_shared.h"
#include "cli/interrupt.h"
#include "report/fault_map.h"
#include "report/fuzz_report.h"
#include "report/text_table.h"

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
};

static void draw(struct view *view, const struct fuzz_status *status)
{
    struct str text;
    str_init(&text);
    if (view->lines)
        str_printf(&text, "\033[%zuA\033[J", view->lines);
    size_t start = text.length;
    fuzz_screen(&text, status, view->colour, terminal_width(STDERR_FILENO));
    view->lines = 0;
    for (size_t i = start; i < text.length; i++)
        view->lines += text.data[i] == '\n';
    fputs(text.data, stderr);
    str_release(&text);
}

static void log_line(const struct fuzz_status *status)
{
    struct str text;
    str_init(&text);
    fuzz_line(&text, status);
    fprintf(stderr, "%s\n", text.data);
    str_release(&text);
}

static bool watch(void *context, const struct fuzz_status *status)
{
    struct view *view = context;
    double now = clock_seconds();
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
    if (status->findings)
        str_printf(text, "  next       'assay findings %s' lists the findings", status->folder);
    if (status->waiting)
        str_printf(text, ", 'assay report %s' writes up those not reduced yet (%zu)", status->folder,
                   status->waiting);
    if (status->findings)
        str_add(text, "\n");
}

static int write_summary(const struct common *common, const struct fuzz_status *status,
                         const struct fuzz_shared_options *shared, const struct standing *standing,
                         struct view *view, struct error *err)
{
    struct common to_stdout = {.format = common->format};
    struct str text;
    str_init(&text);
    if (view->terminal && view->lines)
        fprintf(stderr, "\033[%zuA\033[J", view->lines);
    if (common->format == FORMAT_JSON)
        fuzz_json(&text, status, standing);
    else {
        standing_print(standing, &text, output_colour(&to_stdout));
        fuzz_screen(&text, status, output_colour(&to_stdout), 0);
        add_next(&text, status, shared);
    }
    int result = output_write(&to_stdout, &text, err);
    str_release(&text);
    return result;
}

int campaign_run(struct fuzz_options *options, const struct common *common, struct session *session,
                 struct error *err)
{
    const char *objection = getenv("NO_COLOR");
    struct view view = {.terminal = isatty(STDERR_FILENO), .drawn = clock_seconds()};
    view.colour = view.terminal && !(objection && *objection);
    if (options->reduce)
        panel_add_fresh(&session->panel);
    options->panel = &session->panel;
    options->folder = common->output;
    options->draw = fault_map_svg;
    options->registry = session->registry;
    options->watch = watch;
    options->context = &view;
    struct fuzz_status status;
    struct standing standing = {0};
    interrupt_block();
    int result = fuzz_run(options, &status, err);
    if (!result) {
        fuzz_stands(&status, &standing);
        result = write_summary(common, &status, options->shared, &standing, &view, err);
    }
    fuzz_status_release(&status);
    return result ? -1 : standing_status(&standing);
}
