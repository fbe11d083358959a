#include "findings/campaign_view.h"

#include "base/base64.h"
#include "base/memory.h"
#include "findings/database.h"
#include "findings/signature.h"
#include "findings/work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The least seconds over which the present rate is computed. A worker is stuck when its range takes
 * STUCK_FACTOR times as long as usual and at least STUCK_LEAST seconds, or STUCK_UNKNOWN seconds where it is
 * not known what is usual. */
static const double RATE_SECONDS = 60, STUCK_FACTOR = 10, STUCK_LEAST = 120, STUCK_UNKNOWN = 1800;
static const double IDLE_SECONDS = 60, HOUR = 3600;

#define TEXT(column, limit) "substr(CAST(" column " AS TEXT), 1, " #limit ")"

const char *worker_state_word(enum worker_state state)
{
    static const char *const words[WORKER_STATES] = {
        [WORKER_ALIVE] = "alive", [WORKER_STUCK] = "stuck", [WORKER_LOST] = "lost", [WORKER_IDLE] = "idle"};
    return words[state];
}

static bool consists_of(const char *text, const char *letters, size_t most)
{
    size_t length = strlen(text);
    return length > 0 && length <= most && strspn(text, letters) == length;
}

bool campaign_name_is_plain(const char *name)
{
    return consists_of(name, "abcdefghijklmnopqrstuvwxyz0123456789_-", 40);
}

bool finding_name_is_plain(const char *name)
{
    return name[0] != '.' && name[0] != '-' &&
           consists_of(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
                       SIGNATURE_NAME_SIZE);
}

/* What a statement's rows are read into. */
struct reader {
    struct campaign_view *view;
    struct database *database;
    double begun;
    size_t capacity;
};

/* A number from the database that may be added and divided. */
static double number_of(const struct cell *cell)
{
    double value = cell_as_real(cell);
    return isfinite(value) ? value : 0;
}

static double count_of(const struct cell *cell)
{
    return fmax(number_of(cell), 0);
}

static const char *text_of(struct reader *reader, const struct cell *cell)
{
    return arena_strdup(&reader->view->arena, cell_as_text(cell));
}

static int ask(struct reader *reader, const char *sql, const struct cell *params, size_t count,
               database_row *row, struct error *err)
{
    return database_run(reader->database, sql, params, count, row, reader, err);
}

struct book {
    int (*visit)(void *context, const struct campaign_entry *entry, struct error *err);
    void *context;
};

static int book_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    const struct book *book = context;
    if (count != 2)
        return error_set(err, ERROR_FORMAT, "a campaign has %zu columns", count);
    struct campaign_entry entry = {.name = cell_as_text(&cells[0]), .made = cell_as_int(&cells[1])};
    return campaign_name_is_plain(entry.name) ? book->visit(book->context, &entry, err) : 0;
}

int campaign_visit(const char *url,
                   int (*visit)(void *context, const struct campaign_entry *entry, struct error *err),
                   void *context, struct error *err)
{
    struct book book = {.visit = visit, .context = context};
    struct database *database;
    struct error why = {0};
    if (database_open_postgres(&database, url, NULL, DATABASE_READ, &why))
        return why.code == ERROR_NOT_FOUND ? 0 : error_set(err, why.code, "%s", why.message);
    int status = database_run(
        database, "SELECT " TEXT("name", 100) ", made FROM assay.campaigns ORDER BY made, name LIMIT 10000",
        NULL, 0, book_row, &book, err);
    database->driver->close(database);
    return status;
}

static int totals_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct reader *reader = context;
    struct campaign_view *view = reader->view;
    if (count != 5)
        return error_set(err, ERROR_FORMAT, "the totals have %zu columns", count);
    view->now = number_of(&cells[0]);
    reader->begun = number_of(&cells[1]);
    if (!(reader->begun > 0 && reader->begun <= view->now))
        reader->begun = view->now;
    view->elapsed = view->now - reader->begun;
    view->ranges = count_of(&cells[2]);
    view->cases = count_of(&cells[3]);
    view->usual = view->ranges > 0 ? count_of(&cells[4]) / view->ranges : 0;
    return 0;
}

static int read_totals(struct reader *reader, struct error *err)
{
    return ask(
        reader,
        "SELECT {now}, min(since), CAST(count(CASE WHEN finished > 0 THEN 1 END) AS DOUBLE PRECISION), "
        "CAST(sum(CASE WHEN finished > 0 THEN cases ELSE 0 END) AS DOUBLE PRECISION), "
        "sum(CASE WHEN finished > since THEN finished - since ELSE 0 END) FROM @leases",
        NULL, 0, totals_row, err);
}

static int rate_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct reader *reader = context;
    (void)err;
    reader->view->rate = count ? count_of(&cells[0]) : 0;
    return 0;
}

static int read_rate(struct reader *reader, struct error *err)
{
    struct campaign_view *view = reader->view;
    double span = fmin(fmax(RATE_SECONDS, 5 * view->usual), fmax(view->elapsed, 1));
    int status =
        ask(reader,
            "SELECT CAST(sum(cases) AS DOUBLE PRECISION) FROM @leases WHERE finished > $1 AND finished <= $2",
            CELLS(cell_real(view->now - span), cell_real(view->now)), rate_row, err);
    view->rate /= span;
    return status;
}

static int point_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct reader *reader = context;
    struct campaign_view *view = reader->view;
    int64_t at = count == 2 ? cell_as_int(&cells[0]) : -1;
    if (count != 2)
        return error_set(err, ERROR_FORMAT, "a point has %zu columns", count);
    at = at < 0 ? 0 : at < (int64_t)view->n_points ? at : (int64_t)view->n_points - 1;
    view->points[at].rate += count_of(&cells[1]) * (double)view->n_points / view->elapsed;
    return 0;
}

/* Rates of all parts of the campaign's time. */
static int read_points(struct reader *reader, struct error *err)
{
    struct campaign_view *view = reader->view;
    if (!(view->elapsed > 1))
        return 0;
    /* Several ranges for each, so that the line shows the rate and not the moments of their return. */
    double points = fmax(fmin(fmin(view->ranges / 4, view->elapsed), VIEW_POINTS), 1);
    view->n_points = (size_t)points;
    view->points = arena_array(&view->arena, view->n_points, sizeof *view->points);
    double width = view->elapsed / (double)view->n_points;
    for (size_t i = 0; i < view->n_points; i++)
        view->points[i].seconds = width * (double)(i + 1);
    return ask(reader,
               "SELECT CAST((finished - $1) / $2 - 0.5 AS BIGINT), CAST(sum(cases) AS DOUBLE PRECISION) "
               "FROM @leases WHERE finished > $1 AND finished <= $3 GROUP BY 1",
               CELLS(cell_real(reader->begun), cell_real(width), cell_real(view->now)), point_row, err);
}

static int coverage_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct reader *reader = context;
    struct campaign_view *view = reader->view;
    if (count != 4)
        return error_set(err, ERROR_FORMAT, "a point of coverage has %zu columns", count);
    view->coverage =
        memory_grow(view->coverage, &reader->capacity, view->n_coverage + 1, sizeof *view->coverage);
    view->coverage[view->n_coverage++] = (struct coverage_view){.seconds = count_of(&cells[0]),
                                                                .olc = count_of(&cells[1]),
                                                                .pairs = count_of(&cells[2]),
                                                                .cases = count_of(&cells[3])};
    return 0;
}

/* Reads coverage over time: of many values only every n-th. */
static int read_coverage(struct reader *reader, struct error *err)
{
    struct campaign_view *view = reader->view;
    reader->capacity = 0;
    if (ask(reader,
            "SELECT seconds, olc, pairs, CAST(cases AS DOUBLE PRECISION) FROM (SELECT o.cases, o.seconds, "
            "o.value AS olc, p.value AS pairs "
            "FROM @coverage o JOIN @coverage p ON p.cases = o.cases AND p.name = 'pairs' WHERE o.name = "
            "'OLC' "
            "ORDER BY o.cases DESC LIMIT 20000) newest ORDER BY cases",
            NULL, 0, coverage_row, err))
        return -1;
    size_t step = view->n_coverage / VIEW_POINTS + 1, kept = 0;
    for (size_t i = 0; i < view->n_coverage; i++)
        if (i % step == 0 || i + 1 == view->n_coverage)
            view->coverage[kept++] = view->coverage[i];
    view->n_coverage = kept;
    return 0;
}

#define FINDING_SELECT                                                                                       \
    "SELECT " TEXT("f.name", 100) ", " TEXT("f.title", 400) ", " TEXT("f.engine", 200) ", " TEXT(            \
        "COALESCE(s.value, '')",                                                                             \
        40) ", " TEXT("f.kind",                                                                              \
                      40) ", " TEXT("f.status",                                                              \
                                    200) ", " TEXT("f.recipe",                                               \
                                                   1000) ", f.nodes, f.first_seen, "                         \
                                                         "(SELECT count(*) FROM @files m WHERE m.signature " \
                                                         "= f.signature AND m.path = 'map.svg'), "           \
                                                         "(SELECT count(*) FROM @files r WHERE r.signature " \
                                                         "= f.signature AND r.path = 'report.md') "          \
                                                         "FROM @findings f LEFT JOIN @state s ON s.name = "  \
                                                         "'class ' || f.signature "

static int read_finding(struct campaign_finding *finding, struct arena *arena, const struct cell *cells,
                        size_t count, struct error *err)
{
    if (count != 11)
        return error_set(err, ERROR_FORMAT, "a finding has %zu columns", count);
    *finding = (struct campaign_finding){
        .name = arena_strdup(arena, cell_as_text(&cells[0])),
        .title = arena_strdup(arena, cell_as_text(&cells[1])),
        .engine = arena_strdup(arena, cell_as_text(&cells[2])),
        .class = store_class_word(cell_as_text(&cells[3]), cell_as_text(&cells[4])),
        .status = arena_strdup(arena, cell_as_text(&cells[5])),
        .recipe = arena_strdup(arena, cell_as_text(&cells[6])),
        .nodes = cell_as_int(&cells[7]),
        .first_seen = cell_as_int(&cells[8]),
        .has_map = cell_as_int(&cells[9]) > 0,
        .has_report = cell_as_int(&cells[10]) > 0,
    };
    return 0;
}

static int finding_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct reader *reader = context;
    struct campaign_view *view = reader->view;
    view->findings =
        memory_grow(view->findings, &reader->capacity, view->n_findings + 1, sizeof *view->findings);
    return read_finding(&view->findings[view->n_findings++], &view->arena, cells, count, err);
}

static int read_findings(struct reader *reader, struct error *err)
{
    reader->capacity = 0;
    return ask(reader,
               FINDING_SELECT "WHERE f.same_as = '' AND f.status <> 'gone' ORDER BY f.status LIKE 'known%', "
                              "f.first_seen DESC, f.name "
                              "LIMIT 10000",
               NULL, 0, finding_row, err);
}

static struct campaign_group *group_of(struct campaign_view *view, size_t *capacity, const char *engine,
                                       const char *class)
{
    for (size_t i = 0; i < view->n_groups; i++)
        if (text_equal(view->groups[i].engine, engine) && text_equal(view->groups[i].class, class))
            return &view->groups[i];
    if (view->n_groups == VIEW_GROUPS)
        return &view->groups[VIEW_GROUPS - 1];
    if (view->n_groups + 1 == VIEW_GROUPS)
        engine = "(others)";
    view->groups = memory_grow(view->groups, capacity, view->n_groups + 1, sizeof *view->groups);
    view->groups[view->n_groups] = (struct campaign_group){.engine = engine, .class = class};
    return &view->groups[view->n_groups++];
}

static int compare_groups(const void *a, const void *b)
{
    const struct campaign_group *x = a, *y = b;
    int order = strcmp(x->engine, y->engine);
    return order ? order : strcmp(x->class, y->class);
}

/* What follows from the list of findings. */
static void count_findings(struct reader *reader)
{
    struct campaign_view *view = reader->view;
    size_t capacity = 0;
    view->last_new = -1;
    for (size_t i = 0; i < view->n_findings; i++) {
        const struct campaign_finding *f = &view->findings[i];
        bool known = text_starts(f->status, finding_state_word(STATE_KNOWN));
        /* It was seen in a second that is not over yet, or by a clock that is ahead. */
        double age = fmax(0, view->now - (double)f->first_seen), at = view->elapsed - age;
        struct campaign_group *group = group_of(view, &capacity, f->engine, f->class);
        group->count++;
        group->known += known;
        if (finding_is_apart(f->class))
            view->apart++;
        else
            view->known += known;
        view->waiting += text_equal(f->status, finding_state_word(STATE_NEW));
        if (view->last_new < 0 || age < view->last_new)
            view->last_new = age;
        for (size_t k = 0; k < view->n_points; k++)
            view->points[k].findings += at <= view->points[k].seconds || k + 1 == view->n_points;
    }
    if (view->n_groups)
        qsort(view->groups, view->n_groups, sizeof *view->groups, compare_groups);
}

static struct campaign_worker *worker_of(struct reader *reader, const struct cell *owner)
{
    struct campaign_view *view = reader->view;
    const char *name = cell_as_text(owner);
    for (size_t i = 0; i < view->n_workers; i++)
        if (text_equal(view->workers[i].owner, name))
            return &view->workers[i];
    view->workers = memory_grow(view->workers, &reader->capacity, view->n_workers + 1, sizeof *view->workers);
    view->workers[view->n_workers] =
        (struct campaign_worker){.owner = text_of(reader, owner), .state = WORKER_IDLE, .reduces = ""};
    return &view->workers[view->n_workers++];
}

/* Leases that are open. */
static int lease_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct reader *reader = context;
    const struct campaign_view *view = reader->view;
    if (count != 5)
        return error_set(err, ERROR_FORMAT, "a lease has %zu columns", count);
    struct campaign_worker *worker = worker_of(reader, &cells[0]);
    double since = number_of(&cells[3]), until = number_of(&cells[4]);
    double longest = view->usual > 0 ? fmax(STUCK_FACTOR * view->usual, STUCK_LEAST) : STUCK_UNKNOWN;
    worker->first = cell_as_int(&cells[1]);
    worker->count = cell_as_int(&cells[2]);
    worker->since = since > 0 && since <= view->now ? view->now - since : 0;
    worker->state = until < view->now ? WORKER_LOST : worker->since > longest ? WORKER_STUCK : WORKER_ALIVE;
    return 0;
}

static int follow_up_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct reader *reader = context;
    if (count != 3)
        return error_set(err, ERROR_FORMAT, "a finding's lease has %zu columns", count);
    struct campaign_worker *worker = worker_of(reader, &cells[0]);
    bool lost = number_of(&cells[2]) < reader->view->now;
    if (worker->state == WORKER_IDLE)
        worker->state = lost ? WORKER_LOST : WORKER_ALIVE;
    worker->reduces = text_of(reader, &cells[1]);
    return 0;
}

/* What each worker returned in the last hour. */
static int returned_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct reader *reader = context;
    struct campaign_view *view = reader->view;
    if (count != 3)
        return error_set(err, ERROR_FORMAT, "a worker has %zu columns", count);
    bool there = view->now - number_of(&cells[2]) < IDLE_SECONDS;
    for (size_t i = 0; i < view->n_workers && !there; i++)
        there = text_equal(view->workers[i].owner, cell_as_text(&cells[0]));
    if (there)
        worker_of(reader, &cells[0])->cases = count_of(&cells[1]);
    return 0;
}

static int compare_workers(const void *a, const void *b)
{
    return strcmp(((const struct campaign_worker *)a)->owner, ((const struct campaign_worker *)b)->owner);
}

static int read_workers(struct reader *reader, struct error *err)
{
    struct campaign_view *view = reader->view;
    reader->capacity = 0;
    if (ask(reader,
            "SELECT " TEXT("owner", 200) ", first, number, since, until FROM @leases "
                                         "WHERE finished = 0 AND owner <> '' ORDER BY until LIMIT 2000",
            NULL, 0, lease_row, err) ||
        ask(reader,
            "SELECT " TEXT("u.owner", 200) ", " TEXT(
                "COALESCE(f.name, '')",
                100) ", u.until FROM @follow_ups u "
                     "LEFT JOIN @findings f ON f.signature = u.signature "
                     "WHERE u.finished = 0 AND u.owner <> '' ORDER BY u.until DESC LIMIT 2000",
            NULL, 0, follow_up_row, err) ||
        ask(reader,
            "SELECT " TEXT(
                "owner",
                200) ", CAST(sum(cases) AS DOUBLE PRECISION), max(finished) FROM @leases "
                     "WHERE finished > $1 AND finished <= $2 GROUP BY owner ORDER BY 3 DESC LIMIT 2000",
            CELLS(cell_real(view->now - HOUR), cell_real(view->now)), returned_row, err))
        return -1;
    for (size_t i = 0; i < view->n_workers; i++)
        view->states[view->workers[i].state]++;
    if (view->n_workers)
        qsort(view->workers, view->n_workers, sizeof *view->workers, compare_workers);
    return 0;
}

static int size_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct reader *reader = context;
    (void)err;
    reader->view->bytes = count ? count_of(&cells[0]) : 0;
    return 0;
}

static int options_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct reader *reader = context;
    (void)err;
    reader->view->options = count ? text_of(reader, &cells[0]) : "";
    return 0;
}

static int read_options(struct reader *reader, struct error *err)
{
    return ask(reader, "SELECT " TEXT("value", 400) " FROM @state WHERE name = 'fuzz-options'", NULL, 0,
               options_row, err);
}

static int read_about(struct reader *reader, struct store *store, struct error *err)
{
    struct campaign_view *view = reader->view;
    struct work_settings settings;
    bool found;
    char schema[60];
    snprintf(schema, sizeof schema, "assay_%.40s", view->name);
    if (read_options(reader, err) ||
        ask(reader,
            "SELECT CAST(sum(pg_total_relation_size(c.oid)) AS DOUBLE PRECISION) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'",
            CELLS(cell_text(schema)), size_row, err) ||
        work_is_stopped(store, &view->stopped, err) || work_settings(store, &settings, &found, err))
        return -1;
    view->count = found ? (double)settings.count : 0;
    return 0;
}

static void view_init(struct campaign_view *view, const char *name)
{
    *view = (struct campaign_view){.options = "", .last_new = -1};
    arena_init(&view->arena);
    view->name = arena_strdup(&view->arena, name);
}

static int begun_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct reader *reader = context;
    (void)err;
    reader->begun = count ? count_of(&cells[0]) : 0;
    return 0;
}

/* The course of a campaign of one process: cases and coverage are noted together. */
static void take_course(struct reader *reader)
{
    struct campaign_view *view = reader->view;
    view->points = arena_array(&view->arena, view->n_coverage, sizeof *view->points);
    for (size_t i = 0; i < view->n_coverage; i++) {
        const struct coverage_view *at = &view->coverage[i], *before = i ? at - 1 : NULL;
        double seconds = at->seconds - (before ? before->seconds : 0);
        double cases = at->cases - (before ? before->cases : 0);
        view->cases = fmax(view->cases, at->cases);
        view->elapsed = fmax(view->elapsed, at->seconds);
        view->points[view->n_points++] = (struct campaign_point){
            .seconds = at->seconds, .rate = seconds > 0 ? fmax(cases, 0) / seconds : 0};
    }
    view->now = reader->begun + view->elapsed;
    view->rate = view->elapsed > 0 ? view->cases / view->elapsed : 0;
}

int campaign_view_read_folder(struct campaign_view *view, struct store *store, const char *name,
                              struct error *err)
{
    view_init(view, name);
    struct reader reader = {.view = view, .database = store_database(store)};
    if (read_options(&reader, err) || read_coverage(&reader, err) ||
        ask(&reader, "SELECT CAST(min(first_seen) AS DOUBLE PRECISION) FROM @engines", NULL, 0, begun_row,
            err))
        return -1;
    take_course(&reader);
    return 0;
}

int campaign_view_read(struct campaign_view *view, const char *url, const char *name, struct error *err)
{
    struct store *store;
    view_init(view, name);
    if (store_open_campaign(&store, url, name, STORE_READ, err))
        return -1;
    struct reader reader = {.view = view, .database = store_database(store)};
    int status = 0;
    if (reader.database->version < 2)
        status = error_set(
            err, ERROR_UNSUPPORTED,
            "the campaign '%s' is of an older version; 'assay campaign init URL %s' upgrades it", name, name);
    else
        status = read_about(&reader, store, err) || read_totals(&reader, err) || read_rate(&reader, err) ||
                         read_points(&reader, err) || read_coverage(&reader, err) ||
                         read_findings(&reader, err) || read_workers(&reader, err)
                     ? -1
                     : 0;
    store_close(store);
    if (status)
        return error_prefix(err, "the campaign '%s'", name);
    count_findings(&reader);
    view->over = view->count > 0 && view->cases >= view->count;
    return 0;
}

void campaign_view_release(struct campaign_view *view)
{
    free(view->workers);
    free(view->findings);
    free(view->groups);
    free(view->coverage);
    arena_release(&view->arena);
}

struct one_finding {
    struct campaign_finding *finding;
    struct arena *arena;
    bool found;
};

static int one_finding_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct one_finding *one = context;
    one->found = true;
    return read_finding(one->finding, one->arena, cells, count, err);
}

int campaign_finding_read(struct store *store, const char *name, struct campaign_finding *finding,
                          struct arena *arena, struct error *err)
{
    struct one_finding one = {finding, arena, false};
    if (database_run(store_database(store), FINDING_SELECT "WHERE f.name = $1 LIMIT 1",
                     CELLS(cell_text(name)), one_finding_row, &one, err))
        return -1;
    return one.found ? 0 : error_set(err, ERROR_NOT_FOUND, "there is no finding '%s'", name);
}

static int file_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    size_t size = 0;
    uint8_t *data = base64_read(count ? cell_as_text(&cells[0]) : "", &size);
    if (!data)
        return error_set(err, ERROR_FORMAT, "the file in the database is damaged");
    str_append(context, data, size);
    free(data);
    return 0;
}

int campaign_finding_file(struct store *store, const char *name, const char *path, struct str *text,
                          struct error *err)
{
    return database_run(
        store_database(store),
        "SELECT b.content FROM @files b JOIN @findings f ON f.signature = b.signature "
        "WHERE f.name = $1 AND b.path = $2 AND length(CAST(b.content AS TEXT)) <= 8000000 LIMIT 1",
        CELLS(cell_text(name), cell_text(path)), file_row, text, err);
}
