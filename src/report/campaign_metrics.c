#include "report/campaign_metrics.h"

/* A value of a label: what would end it is escaped, the rest is UTF-8 and may stand. */
static void add_label(struct str *out, const char *name, const char *value)
{
    str_printf(out, "%s=\"", name);
    for (const char *at = value; *at; at++) {
        if (*at == '\\' || *at == '"')
            str_append(out, "\\", 1);
        if (*at == '\n')
            str_add(out, "\\n");
        else
            str_append(out, at, 1);
    }
    str_add(out, "\"");
}

static void add_head(struct str *out, const char *name, const char *type, const char *help)
{
    str_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Begins a line, whose labels may go on. */
static void begin_line(struct str *out, const char *name, const char *campaign)
{
    str_printf(out, "%s{", name);
    add_label(out, "campaign", campaign);
}

/* Of a campaign: one number, and none where it does not apply. */
struct figure {
    const char *name, *type, *help;
    double (*value)(const struct campaign_view *view);
};

static double cases(const struct campaign_view *view)
{
    return view->cases;
}
static double limit(const struct campaign_view *view)
{
    return view->count;
}
static double rate(const struct campaign_view *view)
{
    return view->rate;
}
static double ranges(const struct campaign_view *view)
{
    return view->ranges;
}
static double range_seconds(const struct campaign_view *view)
{
    return view->usual;
}
static double elapsed(const struct campaign_view *view)
{
    return view->elapsed;
}
static double bytes(const struct campaign_view *view)
{
    return view->bytes;
}
static double stopped(const struct campaign_view *view)
{
    return view->stopped;
}
static double over(const struct campaign_view *view)
{
    return view->over;
}
static double waiting(const struct campaign_view *view)
{
    return (double)view->waiting;
}
static double since_new(const struct campaign_view *view)
{
    return view->last_new;
}

static double operators_covered(const struct campaign_view *view)
{
    return view->n_coverage ? view->coverage[view->n_coverage - 1].olc : -1;
}

static const struct figure figures[] = {
    {"assay_campaign_cases_total", "counter", "Cases that workers returned.", cases},
    {"assay_campaign_cases_limit", "gauge", "Cases after which the campaign is over; 0 means no limit.",
     limit},
    {"assay_campaign_cases_per_second", "gauge", "Cases returned a second, of late.", rate},
    {"assay_campaign_ranges_total", "counter", "Ranges of cases that workers returned.", ranges},
    {"assay_campaign_range_seconds", "gauge", "What a range takes on average.", range_seconds},
    {"assay_campaign_elapsed_seconds", "gauge", "Time since the first range was leased.", elapsed},
    {"assay_campaign_tables_bytes", "gauge", "Size of the campaign's tables in the database.", bytes},
    {"assay_campaign_stopped", "gauge", "1 while no work is given out.", stopped},
    {"assay_campaign_over", "gauge", "1 when all cases are done.", over},
    {"assay_campaign_findings_waiting", "gauge", "Findings that are not reduced yet.", waiting},
    {"assay_campaign_last_finding_seconds", "gauge", "Time since the newest finding.", since_new},
    {"assay_campaign_operators_covered_ratio", "gauge", "Operator level coverage (OLC).", operators_covered},
};

static void add_figure(struct str *out, const struct figure *figure, const struct campaign_view *views,
                       size_t count)
{
    add_head(out, figure->name, figure->type, figure->help);
    for (size_t i = 0; i < count; i++) {
        double value = figure->value(&views[i]);
        if (value < 0)
            continue;
        begin_line(out, figure->name, views[i].name);
        str_printf(out, "} %.17g\n", value);
    }
}

static void add_workers(struct str *out, const struct campaign_view *views, size_t count)
{
    static const char name[] = "assay_campaign_workers";
    add_head(out, name, "gauge", "Workers by what they do: alive has a lease, lost let it run out.");
    for (size_t i = 0; i < count; i++)
        for (int state = 0; state < WORKER_STATES; state++) {
            begin_line(out, name, views[i].name);
            str_add(out, ",");
            add_label(out, "state", worker_state_word(state));
            str_printf(out, "} %zu\n", views[i].states[state]);
        }
}

static void add_group(struct str *out, const char *name, const struct campaign_view *view,
                      const struct campaign_group *group, const char *known, size_t value)
{
    begin_line(out, name, view->name);
    str_add(out, ",");
    add_label(out, "engine", group->engine);
    str_add(out, ",");
    add_label(out, "class", group->class);
    str_printf(out, ",known=\"%s\"} %zu\n", known, value);
}

static void add_findings(struct str *out, const struct campaign_view *views, size_t count)
{
    static const char name[] = "assay_campaign_findings";
    add_head(out, name, "gauge", "Distinct findings, by engine, by class, and by whether an issue is known.");
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < views[i].n_groups; j++) {
            const struct campaign_group *group = &views[i].groups[j];
            add_group(out, name, &views[i], group, "no", group->count - group->known);
            add_group(out, name, &views[i], group, "yes", group->known);
        }
}

static const char deaths_name[] = "assay_campaign_engine_deaths_total";

void campaign_metrics_deaths(struct str *lines, const char *campaign, const struct engine_deaths *deaths)
{
    for (size_t i = 0; i < deaths->count; i++) {
        begin_line(lines, deaths_name, campaign);
        str_add(lines, ",");
        add_label(lines, "engine", deaths->engine);
        str_add(lines, ",");
        add_label(lines, "kind", deaths->kinds[i].kind);
        str_printf(lines, "} %.17g\n", deaths->kinds[i].cases);
    }
}

void campaign_metrics(struct str *out, const struct measured *measured)
{
    add_head(out, "assay_database_read_seconds", "gauge", "How long the database took to tell all of this.");
    str_printf(out, "assay_database_read_seconds %.6f\n", measured->seconds);
    add_head(out, "assay_campaigns", "gauge", "Campaigns in the database.");
    str_printf(out, "assay_campaigns %zu\n", measured->count + measured->unreadable);
    add_head(out, "assay_campaigns_unreadable", "gauge",
             "Campaigns of which nothing is told: of an older version, or damaged.");
    str_printf(out, "assay_campaigns_unreadable %zu\n", measured->unreadable);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        add_figure(out, &figures[i], measured->views, measured->count);
    add_workers(out, measured->views, measured->count);
    add_findings(out, measured->views, measured->count);
    add_head(out, deaths_name, "counter",
             "Cases on which an engine was lost, by verdict: it crashed, hung, lacked memory, broke the "
             "protocol.");
    str_add(out, measured->deaths);
}
