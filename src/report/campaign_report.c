#include "report/campaign_report.h"

#include "base/clock.h"
#include "base/markup.h"
#include "base/memory.h"
#include "locate/classify.h"
#include "report/chart.h"
#include "report/text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whole numbers in the text, as far as they are exact. */
static double shown(double number)
{
    return fmin(floor(number), 1e15);
}

void campaign_time(struct str *out, double seconds)
{
    double whole = seconds > 0 ? shown(seconds) : 0;
    str_printf(out, "%.0f:%02d:%02d", floor(whole / 3600), (int)fmod(floor(whole / 60), 60),
               (int)fmod(whole, 60));
}

void campaign_bytes(struct str *out, double bytes)
{
    static const char *const units[] = {"KB", "MB", "GB", "TB"};
    size_t unit = 0;
    double number = bytes / 1e3;
    while (number >= 1e3 && unit + 1 < sizeof units / sizeof *units) {
        number /= 1e3;
        unit++;
    }
    str_printf(out, "%.*f %s", number < 10 ? 1 : 0, fmin(number, 1e15), units[unit]);
}

const char *campaign_state_words(const struct campaign_view *view)
{
    if (view->over)
        return "is complete";
    if (view->stopped)
        return "is stopped";
    if (!(view->ranges > 0) && !view->n_workers)
        return "has not begun";
    return view->states[WORKER_ALIVE] + view->states[WORKER_STUCK] ? "is running" : "has no worker";
}

void campaign_sentence(struct str *out, const struct campaign_view *view)
{
    str_printf(out, "The campaign '%s' %s: ", view->name, campaign_state_words(view));
    size_t alive = view->states[WORKER_ALIVE];
    str_printf(out, "%zu worker%s alive, %zu stuck, %zu lost", alive, alive == 1 ? " is" : "s are",
               view->states[WORKER_STUCK], view->states[WORKER_LOST]);
    if (view->states[WORKER_IDLE])
        str_printf(out, ", %zu idle", view->states[WORKER_IDLE]);
    str_add(out, ".");
}

static void add_row(struct str *out, const char *word)
{
    str_printf(out, "  %-10s", word);
}

static void add_figures(struct str *out, const struct campaign_view *view)
{
    add_row(out, "run time");
    campaign_time(out, view->elapsed);
    str_printf(out, "    cases  %.0f", shown(view->cases));
    if (view->count > 0)
        str_printf(out, " of %.0f", shown(view->count));
    str_printf(out, " (%.0f/s)    last new finding  ", fmin(view->rate, 1e15));
    if (view->last_new >= 0) {
        campaign_time(out, view->last_new);
        str_add(out, " ago\n");
    } else {
        str_add(out, "none yet\n");
    }
    if (view->n_coverage) {
        const struct coverage_view *c = &view->coverage[view->n_coverage - 1];
        add_row(out, "coverage");
        str_printf(out, "OLC %.1f %%   pairs %.1f %%\n", 100 * fmin(c->olc, 1), 100 * fmin(c->pairs, 1));
    }
    add_row(out, "database");
    campaign_bytes(out, view->bytes);
    str_printf(out, " in %.0f range%s returned", shown(view->ranges), view->ranges == 1 ? "" : "s");
    if (view->usual > 0)
        str_printf(out, ", %.3g s each", view->usual);
    str_add(out, "\n");
}

static size_t group_count(const struct campaign_view *view, const char *engine, const char *class)
{
    size_t count = 0;
    for (size_t i = 0; i < view->n_groups; i++)
        if (text_equal(view->groups[i].engine, engine) &&
            (!class || text_equal(view->groups[i].class, class)))
            count += view->groups[i].count;
    return count;
}

/* A row for each engine, a column for each class. */
static void add_groups(struct str *out, const struct campaign_view *view, bool colour)
{
    enum { CLASSES = FINDING_CLASS_COUNT - FINDING_UNCLASSIFIED - 1 };
    char align[CLASSES + 3] = "l";
    struct table table;
    if (!view->n_groups)
        return;
    memset(align + 1, 'r', CLASSES + 1);
    table_init(&table, align);
    table_add(&table, STYLE_HEAD, "findings of");
    for (int c = FINDING_UNCLASSIFIED + 1; c < FINDING_CLASS_COUNT; c++)
        table_add(&table, STYLE_HEAD, "%s", finding_class_row((enum finding_class)c)->word);
    table_add(&table, STYLE_HEAD, "all");
    for (size_t i = 0; i < view->n_groups; i++) {
        const char *engine = view->groups[i].engine;
        if (i && text_equal(engine, view->groups[i - 1].engine))
            continue;
        table_add(&table, STYLE_PLAIN, "%s", engine);
        for (int c = FINDING_UNCLASSIFIED + 1; c < FINDING_CLASS_COUNT; c++)
            table_add(&table, STYLE_PLAIN, "%zu",
                      group_count(view, engine, finding_class_row((enum finding_class)c)->word));
        table_add(&table, STYLE_BAD, "%zu", group_count(view, engine, NULL));
    }
    str_add(out, "\n");
    table_print(&table, out, colour, 2);
    table_release(&table);
}

static void add_findings(struct str *out, const struct campaign_view *view, bool colour)
{
    str_add(out, "\n");
    add_row(out, "findings");
    size_t counted = view->n_findings - view->apart;
    style_print(out, colour, counted ? STYLE_BAD : STYLE_GOOD, "%zu%s", counted,
                view->n_findings == VIEW_FINDINGS ? " or more" : "");
    if (view->known)
        str_printf(out, " (%zu known)", view->known);
    if (view->waiting)
        str_printf(out, ", %zu not reduced yet", view->waiting);
    if (view->apart)
        str_printf(out, ", %zu listed apart", view->apart);
    str_add(out, "\n");
    if (!view->n_findings)
        return;
    add_row(out, "newest");
    text_print(out, view->findings[0].title, 100);
    str_add(out, "\n");
}

void campaign_task(struct str *out, const struct campaign_worker *worker)
{
    if (*worker->reduces)
        str_printf(out, "reduces %s", worker->reduces);
    else if (worker->count > 0 && worker->first >= 0 && worker->first < INT64_MAX - worker->count)
        str_printf(out, "cases %lld to %lld", (long long)worker->first,
                   (long long)(worker->first + worker->count - 1));
}

static enum style state_style(enum worker_state state)
{
    return state == WORKER_ALIVE ? STYLE_GOOD : state == WORKER_IDLE ? STYLE_DIM : STYLE_BAD;
}

/* Those that need a look come first. */
static const enum worker_state order[] = {WORKER_STUCK, WORKER_LOST, WORKER_ALIVE, WORKER_IDLE};

static void add_workers(struct str *out, const struct campaign_view *view, bool colour, size_t height)
{
    struct table table;
    size_t lines = 0;
    if (!view->n_workers)
        return;
    table_init(&table, "llrrl");
    table_head(&table, "worker|state|for|cases in an hour|at work on");
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (size_t i = 0; i < view->n_workers; i++) {
            const struct campaign_worker *worker = &view->workers[i];
            if (worker->state != order[k] || (height && lines >= height))
                continue;
            struct str text;
            str_init(&text);
            table_add(&table, STYLE_PLAIN, "%s", worker->owner);
            table_add(&table, state_style(worker->state), "%s", worker_state_word(worker->state));
            campaign_time(&text, worker->since);
            table_add(&table, STYLE_PLAIN, "%s", worker->count ? text.data : "");
            table_add(&table, STYLE_PLAIN, "%.0f", shown(worker->cases));
            str_clear(&text);
            campaign_task(&text, worker);
            table_add(&table, STYLE_PLAIN, "%s", text.data);
            str_release(&text);
            lines++;
        }
    str_add(out, "\n");
    table_print(&table, out, colour, 2);
    table_release(&table);
    if (lines < view->n_workers)
        str_printf(out, "  and %zu more\n", view->n_workers - lines);
}

void campaign_screen(struct str *out, const struct campaign_view *view, bool colour, size_t height)
{
    struct str sentence;
    str_init(&sentence);
    campaign_sentence(&sentence, view);
    style_print(out, colour, STYLE_HEAD, "%s", sentence.data);
    str_release(&sentence);
    str_add(out, "\n\n");
    add_row(out, "what");
    text_print(out, *view->options ? view->options : "no worker has begun it", 0);
    str_add(out, "\n");
    add_figures(out, view);
    add_groups(out, view, colour);
    add_findings(out, view, colour);
    add_workers(out, view, colour, height);
}

static void add_chart(struct str *out, const char *caption, const char *key, const struct chart_line *lines,
                      size_t count, double end)
{
    str_add(out, "<figure><figcaption>");
    markup_escape(out, caption);
    str_add(out, key);
    str_add(out, "</figcaption>");
    chart_svg(out, caption, lines, count, end, 1);
    str_add(out, "</figure>\n");
}

void campaign_charts(struct str *out, const struct campaign_view *view, const char *findings)
{
    size_t n = view->n_points, c = view->n_coverage;
    struct chart_point *rate = memory_zeroed(n + 1, sizeof *rate),
                       *found = memory_zeroed(n + 1, sizeof *found);
    struct chart_point *olc = memory_zeroed(c + 1, sizeof *olc), *pairs = memory_zeroed(c + 1, sizeof *pairs);
    for (size_t i = 0; i < n; i++) {
        rate[i] = (struct chart_point){view->points[i].seconds, view->points[i].rate};
        found[i + 1] = (struct chart_point){view->points[i].seconds, (double)view->points[i].findings};
    }
    for (size_t i = 0; i < c; i++) {
        olc[i] = (struct chart_point){view->coverage[i].seconds, 100 * view->coverage[i].olc};
        pairs[i] = (struct chart_point){view->coverage[i].seconds, 100 * view->coverage[i].pairs};
    }
    if (c) { /* as it is until now */
        olc[c] = (struct chart_point){view->elapsed, olc[c - 1].value};
        pairs[c] = (struct chart_point){view->elapsed, pairs[c - 1].value};
    }
    const struct chart_line covered[] = {{c ? c + 1 : 0, olc}, {c ? c + 1 : 0, pairs}};
    add_chart(out, "Cases a second", "", &(struct chart_line){n, rate}, 1, view->elapsed);
    add_chart(out, "Coverage, %",
              " <span class=\"key\"><i class=\"a\"></i>operators <i class=\"b\"></i>pairs</span>", covered, 2,
              view->elapsed);
    add_chart(out, findings, "", &(struct chart_line){n + 1, found}, 1, view->elapsed);
    free(rate);
    free(found);
    free(olc);
    free(pairs);
}

static void json_date(struct json *json, const char *name, double seconds)
{
    char buffer[CLOCK_DATE_SIZE];
    json_string(json, name, clock_date((int64_t)fmin(fmax(seconds, 0), 1e11), buffer));
}

static void json_worker(struct json *json, const struct campaign_worker *worker)
{
    struct str task;
    str_init(&task);
    campaign_task(&task, worker);
    json_object(json, NULL);
    json_string(json, "worker", worker->owner);
    json_string(json, "state", worker_state_word(worker->state));
    json_string(json, "task", task.length ? task.data : NULL);
    json_double(json, "seconds", worker->since);
    json_double(json, "cases", worker->cases);
    json_end(json);
    str_release(&task);
}

static void json_finding(struct json *json, const struct campaign_finding *finding)
{
    json_object(json, NULL);
    json_string(json, "name", finding->name);
    json_string(json, "title", finding->title);
    json_string(json, "engine", finding->engine);
    json_string(json, "class", finding->class);
    json_string(json, "status", finding->status);
    json_int(json, "nodes", finding->nodes);
    json_date(json, "first_seen", (double)finding->first_seen);
    json_bool(json, "map", finding->has_map && finding_name_is_plain(finding->name));
    json_bool(json, "report", finding->has_report && finding_name_is_plain(finding->name));
    json_end(json);
}

static void json_point(struct json *json, const struct campaign_point *point)
{
    json_object(json, NULL);
    json_double(json, "seconds", point->seconds);
    json_double(json, "rate", point->rate);
    json_int(json, "findings", (int64_t)point->findings);
    json_end(json);
}

static void json_coverage(struct json *json, const struct coverage_view *coverage)
{
    json_object(json, NULL);
    json_double(json, "seconds", coverage->seconds);
    json_double(json, "olc", coverage->olc);
    json_double(json, "pairs", coverage->pairs);
    json_end(json);
}

static void json_group(struct json *json, const struct campaign_group *group)
{
    json_object(json, NULL);
    json_string(json, "engine", group->engine);
    json_string(json, "class", group->class);
    json_int(json, "count", (int64_t)group->count);
    json_int(json, "known", (int64_t)group->known);
    json_end(json);
}

/* An array of so many objects, each written by `one`. */
#define JSON_ARRAY(json, name, one, items, count) \
    do {                                          \
        json_array(json, name);                   \
        for (size_t i = 0; i < (count); i++)      \
            one(json, &(items)[i]);               \
        json_end(json);                           \
    } while (0)

void campaign_json(struct json *json, const struct campaign_view *view, size_t findings)
{
    struct str sentence;
    str_init(&sentence);
    campaign_sentence(&sentence, view);
    json_string(json, "campaign", view->name);
    json_string(json, "sentence", sentence.data);
    str_release(&sentence);
    json_string(json, "options", *view->options ? view->options : NULL);
    json_bool(json, "stopped", view->stopped);
    json_bool(json, "complete", view->over);
    json_double(json, "seconds", view->elapsed);
    json_double(json, "cases", view->cases);
    json_double(json, "of_cases", view->count);
    json_double(json, "rate", view->rate);
    json_double(json, "ranges", view->ranges);
    json_double(json, "bytes", view->bytes);
    json_int(json, "findings", (int64_t)(view->n_findings - view->apart));
    json_int(json, "known", (int64_t)view->known);
    json_int(json, "apart", (int64_t)view->apart);
    json_int(json, "waiting", (int64_t)view->waiting);
    json_double(json, "last_new", view->last_new);
    json_object(json, "worker_states");
    for (int i = 0; i < WORKER_STATES; i++)
        json_int(json, worker_state_word((enum worker_state)i), (int64_t)view->states[i]);
    json_end(json);
    JSON_ARRAY(json, "workers", json_worker, view->workers, view->n_workers);
    JSON_ARRAY(json, "groups", json_group, view->groups, view->n_groups);
    JSON_ARRAY(json, "over_time", json_point, view->points, view->n_points);
    JSON_ARRAY(json, "coverage", json_coverage, view->coverage, view->n_coverage);
    JSON_ARRAY(json, "newest", json_finding, view->findings,
               view->n_findings < findings ? view->n_findings : findings);
}
