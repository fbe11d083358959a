#include "findings/work.h"

#include "base/memory.h"
#include "findings/database.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static const char settings_key[] = "work", stopped_key[] = "work-stopped";

enum {
    USUAL_RANGE = 2000, /* seconds of work, and two rows */
    LEAST_RANGE = 50,
    USUAL_WIDTH = 8,
    MOST_WIDTH = 1 << 20,
    MOST_ISLANDS = 4096,
    GROWTH = 4,            /* a generation is this part of all before it */
    FOLD_SECONDS = 60,     /* how long the lease of a snapshot is */
    RANGES_PER_COUNT = 64, /* of a campaign whose number of cases is given */
};
static const int64_t MOST_CASES = INT64_C(1) << 50;

static bool settings_are_sound(const struct work_settings *s)
{
    return s->range >= 1 && s->range <= WORK_RANGE_MOST && s->width >= 1 && s->width <= MOST_WIDTH &&
           s->islands >= 0 && s->islands <= MOST_ISLANDS && s->count >= 0 && s->count <= MOST_CASES;
}

/* A campaign of few cases has short ranges, so that several workers have something to do. */
static void fill_settings(struct work_settings *s)
{
    int64_t share = (s->count + RANGES_PER_COUNT - 1) / RANGES_PER_COUNT;
    if (!s->range)
        s->range = !s->count || share > USUAL_RANGE ? USUAL_RANGE : share < LEAST_RANGE ? LEAST_RANGE : share;
    if (!s->width)
        s->width = USUAL_WIDTH;
}

static int read_settings(const char *text, struct work_settings *s, struct error *err)
{
    int end = 0;
    bool good = sscanf(text, "range %" SCNd64 " width %" SCNd64 " islands %" SCNd64 " count %" SCNd64 "%n",
                       &s->range, &s->width, &s->islands, &s->count, &end) == 4 &&
                !text[end] && settings_are_sound(s);
    return good ? 0 : error_set(err, ERROR_FORMAT, "the campaign's settings of ranges are damaged");
}

int work_agree(struct store *store, struct work_settings *settings, struct error *err)
{
    struct str text, agreed;
    fill_settings(settings);
    if (!settings_are_sound(settings))
        return error_set(err, ERROR_USAGE, "a range has 1 to %d cases", WORK_RANGE_MOST);
    str_init(&text);
    str_init(&agreed);
    str_printf(&text, "range %" PRId64 " width %" PRId64 " islands %" PRId64 " count %" PRId64,
               settings->range, settings->width, settings->islands, settings->count);
    int status = store_agree(store, settings_key, text.data, &agreed, err);
    if (!status)
        status = read_settings(agreed.data, settings, err);
    str_release(&text);
    str_release(&agreed);
    return status;
}

int work_settings(struct store *store, struct work_settings *settings, bool *found, struct error *err)
{
    struct str text;
    str_init(&text);
    *settings = (struct work_settings){0};
    int status = store_get(store, settings_key, &text, found, err);
    if (!status && *found)
        status = read_settings(text.data, settings, err);
    str_release(&text);
    return status;
}

static int64_t width_at(const struct work_settings *settings, int64_t ranges_before)
{
    if (settings->islands)
        return settings->islands;
    return ranges_before / GROWTH > settings->width ? ranges_before / GROWTH : settings->width;
}

void work_generation_span(const struct work_settings *settings, int64_t generation, int64_t *first,
                          int64_t *count)
{
    *first = settings->islands ? generation * settings->islands : 0;
    for (int64_t i = 0; i < generation && !settings->islands && *first < MOST_CASES; i++)
        *first += width_at(settings, *first);
    *count = width_at(settings, *first);
}

int64_t work_generation_of(const struct work_settings *settings, int64_t range)
{
    int64_t generation = 0, end = width_at(settings, 0);
    if (settings->islands)
        return range / settings->islands;
    for (; end <= range; generation++)
        end += width_at(settings, end);
    return generation;
}

int work_set_stopped(struct store *store, bool stopped, struct error *err)
{
    return store_set(store, stopped_key, stopped ? "1" : "0", err);
}

int work_is_stopped(struct store *store, bool *stopped, struct error *err)
{
    struct str text;
    bool found;
    str_init(&text);
    int status = store_get(store, stopped_key, &text, &found, err);
    *stopped = found && text_equal(text.data, "1");
    str_release(&text);
    return status;
}

void work_owner(struct str *owner)
{
    struct utsname system;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    str_printf(owner, "%s:%d:%lld.%03ld", uname(&system) == 0 ? system.nodename : "unknown", (int)getpid(),
               (long long)now.tv_sec, now.tv_nsec / 1000000);
}

struct work {
    struct store *store;
    const char *owner;
    double seconds;
    struct work_settings settings;
};

int work_open(struct work **work, struct store *store, const char *owner, double seconds, struct error *err)
{
    bool found;
    struct work_settings settings;
    *work = NULL;
    if (work_settings(store, &settings, &found, err))
        return -1;
    if (!found)
        return error_set(err, ERROR_NOT_FOUND, "no worker has begun the campaign yet");
    *work = memory_zeroed(1, sizeof **work);
    **work = (struct work){.store = store, .owner = owner, .seconds = seconds, .settings = settings};
    return 0;
}

void work_close(struct work *work)
{
    free(work);
}

const struct work_settings *work_settings_of(const struct work *work)
{
    return &work->settings;
}

struct store *work_store_of(const struct work *work)
{
    return work->store;
}

const char *work_owner_of(const struct work *work)
{
    return work->owner;
}

/* What the database holds at the moment of a lease. */
struct book {
    bool stopped;
    int64_t last;    /* the highest first case of a range that was ever leased; -1: none */
    int64_t newest;  /* the newest generation with a snapshot */
    int64_t expired; /* first case of a range whose lease is over; -1: none */
};

static int64_t number_or(const struct cell *cell, int64_t otherwise)
{
    int64_t number = cell_as_int(cell);
    return cell->kind == CELL_NULL || number < 0 || number > MOST_CASES ? otherwise : number;
}

static int take_book(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct book *book = context;
    if (count != 4)
        return error_set(err, ERROR_FORMAT, "the campaign's book has %zu columns", count);
    *book = (struct book){
        .stopped = text_equal(cell_as_text(&cells[0]), "1"),
        .last = number_or(&cells[1], -1),
        .newest = number_or(&cells[2], WORK_LAG - 1),
        .expired = number_or(&cells[3], -1),
    };
    if (book->newest < WORK_LAG - 1)
        book->newest = WORK_LAG - 1;
    return 0;
}

static int read_book(struct store *store, struct book *book, struct error *err)
{
    return store_run(store,
                     "SELECT (SELECT value FROM @state WHERE name = $1), (SELECT max(first) FROM @leases), "
                     "(SELECT max(number) FROM @generations), (SELECT first FROM @leases WHERE finished = 0 "
                     "AND until < {now} ORDER BY until LIMIT 1)",
                     CELLS(cell_text(stopped_key)), take_book, book, err);
}

struct leasing {
    struct work *work;
    struct work_lease *lease;
};

static int take_lease(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct work_lease *lease = context;
    if (count != 4)
        return error_set(err, ERROR_FORMAT, "a lease has %zu columns", count);
    *lease = (struct work_lease){
        .kind = WORK_RANGE,
        .first = cell_as_int(&cells[0]),
        .count = cell_as_int(&cells[1]),
        .generation = cell_as_int(&cells[2]),
        .attempts = cell_as_int(&cells[3]),
    };
    if (lease->first < 0 || lease->count < 1 || lease->count > WORK_RANGE_MOST || lease->generation < 0)
        return error_set(err, ERROR_FORMAT, "a range of the campaign is damaged");
    return 0;
}

/* A range whose lease was lost before may be one that takes long between two renewals, as where engines hang:
 * it gets a longer one each time, up to ten times as long. */
#define LEASE_OF(parameter, attempts)                                                               \
    "{now} + CAST(" parameter " AS DOUBLE PRECISION) * (CASE WHEN " attempts " < 10 THEN " attempts \
    " ELSE 10 END)"

static int take_expired(const struct leasing *leasing, int64_t first, struct error *err)
{
    const struct work *work = leasing->work;
    return store_run(
        work->store,
        "UPDATE @leases SET owner = $1, attempts = attempts + 1, since = {now}, until = " LEASE_OF(
            "$2", "(attempts + 1)") " "
                                    "WHERE first = $3 AND finished = 0 RETURNING first, number, "
                                    "generation, attempts",
        CELLS(cell_text(work->owner), cell_real(work->seconds), cell_int(first)), take_lease, leasing->lease,
        err);
}

static int take_new(const struct leasing *leasing, int64_t range, struct error *err)
{
    const struct work *work = leasing->work;
    const struct work_settings *s = &work->settings;
    int64_t first = range * s->range, count = s->range;
    if (s->count && s->count - first < count)
        count = s->count - first;
    return store_run(
        work->store,
        "INSERT INTO @leases (first, number, generation, owner, attempts, since, until, finished, "
        "cases, findings, counters, result) VALUES ($1, $2, $3, $4, 1, {now}, {now} + $5, 0, 0, 0, "
        "'', '') ON CONFLICT (first) DO NOTHING RETURNING first, number, generation, attempts",
        CELLS(cell_int(first), cell_int(count), cell_int(work_generation_of(s, range)),
              cell_text(work->owner), cell_real(work->seconds)),
        take_lease, leasing->lease, err);
}

/* The number of ranges of the campaign. */
static int64_t ranges_of(const struct work_settings *s)
{
    return s->count ? (s->count + s->range - 1) / s->range : MOST_CASES / s->range;
}

/* Whether all ranges before this case that were leased are returned. */
static int are_returned(const struct work *work, int64_t before, bool *returned, struct error *err)
{
    int64_t open = 0;
    int status = store_run(work->store, "SELECT count(*) FROM @leases WHERE finished = 0 AND first < $1",
                           CELLS(cell_int(before)), row_number, &open, err);
    *returned = !open;
    return status;
}

int work_task(struct work *work, const char *name, double seconds, bool *mine, struct error *err)
{
    *mine = false;
    return store_run(
        work->store,
        "INSERT INTO @follow_ups (signature, number, target, nodes, owner, attempts, until, finished) "
        "VALUES ($1, -1, '', 0, $2, 1, {now} + $3, 0) "
        "ON CONFLICT (signature) DO UPDATE SET owner = excluded.owner, until = "
        "excluded.until WHERE follow_ups.finished = 0 AND (follow_ups.until < {now} OR "
        "follow_ups.owner = excluded.owner) RETURNING signature",
        CELLS(cell_text(name), cell_text(work->owner), cell_real(seconds)), row_noted, mine, err);
}

int work_task_is_done(struct work *work, const char *name, bool *done, struct error *err)
{
    *done = false;
    return store_run(work->store, "SELECT 1 FROM @follow_ups WHERE signature = $1 AND finished > 0",
                     CELLS(cell_text(name)), row_noted, done, err);
}

/* One worker folds, and the others wait for it; when it dies, the next one does. */
static int lease_fold(const struct leasing *leasing, int64_t generation, struct error *err)
{
    const struct work *work = leasing->work;
    char name[40];
    bool mine = false, returned;
    int64_t first, count;
    leasing->lease->generation = generation;
    work_generation_span(&work->settings, generation - WORK_LAG, &first, &count); /* all are leased */
    if (are_returned(work, (first + count) * work->settings.range, &returned, err))
        return -1;
    if (!returned)
        return 0;
    snprintf(name, sizeof name, "generation %" PRId64, generation);
    if (work_task(leasing->work, name, FOLD_SECONDS, &mine, err))
        return -1;
    leasing->lease->kind = mine ? WORK_FOLD : WORK_WAIT;
    return 0;
}

/* The next range of the campaign, when its snapshot is there. At the end the last snapshots are made still,
 * so that the newest is of all cases. */
static int lease_next(const struct leasing *leasing, const struct book *book, struct error *err)
{
    const struct work_settings *s = &leasing->work->settings;
    int64_t next = book->last < 0 ? 0 : book->last / s->range + 1;
    if (next < ranges_of(s)) {
        int64_t generation = work_generation_of(s, next);
        return generation <= book->newest ? take_new(leasing, next, err)
                                          : lease_fold(leasing, book->newest + 1, err);
    }
    bool returned;
    if (are_returned(leasing->work, INT64_MAX, &returned, err))
        return -1;
    if (!returned)
        return 0;
    if (book->newest < work_generation_of(s, ranges_of(s) - 1) + WORK_LAG)
        return lease_fold(leasing, book->newest + 1, err);
    leasing->lease->kind = WORK_OVER;
    return 0;
}

/* Which ranges of the generations that can be under way are leased and returned. */
struct islands {
    int64_t range, base, count; /* cases of a range; the first range, and their number */
    char *marks;                /* 0: free, 1: leased, 2: returned */
};

static int mark_island(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct islands *islands = context;
    (void)err;
    int64_t at = count == 2 ? cell_as_int(&cells[0]) / islands->range - islands->base : -1;
    if (at >= 0 && at < islands->count)
        islands->marks[at] = cell_as_real(&cells[1]) > 0 ? 2 : 1;
    return 0;
}

/* Free, and the one that it goes on from is returned; no island is more than WORK_LAG ranges ahead of
 * another. */
static bool is_ready(const struct islands *islands, int64_t width, int64_t at)
{
    if (islands->marks[at] || (at >= width && islands->marks[at - width] != 2))
        return false;
    int64_t before = (at / width - WORK_LAG) * width;
    for (int64_t i = before; before >= 0 && i < before + width; i++)
        if (islands->marks[i] != 2)
            return false;
    return true;
}

static int lease_island(const struct leasing *leasing, const struct book *book, struct error *err)
{
    const struct work *work = leasing->work;
    const struct work_settings *s = &work->settings;
    enum { BACK = WORK_LAG + 1 };
    int64_t generation = book->last < 0 ? 0 : book->last / s->range / s->islands, found = -1;
    struct islands islands = {.range = s->range, .count = (2 * BACK + 1) * s->islands};
    islands.base = (generation > BACK ? generation - BACK : 0) * s->islands;
    islands.marks = memory_zeroed((size_t)islands.count, 1);
    int status = store_run(work->store, "SELECT first, finished FROM @leases WHERE first >= $1",
                           CELLS(cell_int(islands.base * s->range)), mark_island, &islands, err);
    for (int64_t i = 0; i < islands.count && found < 0 && islands.base + i < ranges_of(s); i++)
        if (is_ready(&islands, s->islands, i))
            found = islands.base + i;
    free(islands.marks);
    if (status)
        return -1;
    if (found >= 0)
        return take_new(leasing, found, err);
    bool returned;
    if (are_returned(work, INT64_MAX, &returned, err))
        return -1;
    if (returned)
        leasing->lease->kind = WORK_OVER;
    return 0;
}

static int lease_inside(void *context, struct error *err)
{
    const struct leasing *leasing = context;
    struct book book = {0};
    *leasing->lease = (struct work_lease){.kind = WORK_WAIT};
    if (read_book(leasing->work->store, &book, err))
        return -1;
    if (book.stopped) {
        leasing->lease->kind = WORK_STOPPED;
        return 0;
    }
    if (book.expired >= 0)
        return take_expired(leasing, book.expired, err);
    return leasing->work->settings.islands ? lease_island(leasing, &book, err)
                                           : lease_next(leasing, &book, err);
}

int work_lease(struct work *work, struct work_lease *lease, struct error *err)
{
    struct leasing leasing = {work, lease};
    return database_reserve(store_database(work->store), lease_inside, &leasing, err);
}

int work_renew(struct work *work, int64_t first, bool *held, struct error *err)
{
    *held = false;
    return store_run(work->store,
                     "UPDATE @leases SET until = " LEASE_OF(
                         "$1", "attempts") " WHERE first = $2 AND owner = $3 AND finished = 0 "
                                           "RETURNING first",
                     CELLS(cell_real(work->seconds), cell_int(first), cell_text(work->owner)), row_noted,
                     held, err);
}

int work_hand_back(struct work *work, int64_t first, struct error *err)
{
    return store_run(
        work->store,
        "UPDATE @leases SET owner = '', until = 0 WHERE first = $1 AND owner = $2 AND finished = 0",
        CELLS(cell_int(first), cell_text(work->owner)), NULL, NULL, err);
}

struct returning {
    struct work *work;
    const struct work_return *range;
    const size_t *order; /* of the findings */
    bool held;
    int attempts;
};

static int end_lease(struct returning *returning, struct error *err)
{
    const struct work_return *range = returning->range;
    const struct work *work = returning->work;
    returning->held = false;
    return store_run(
        work->store,
        "UPDATE @leases SET finished = {now}, cases = $1, findings = $2, counters = $3, result = $4 "
        "WHERE first = $5 AND owner = $6 AND finished = 0 RETURNING first",
        CELLS(cell_int(range->cases), cell_int((int64_t)range->n_findings),
              cell_text(range->counters ? range->counters : ""),
              cell_text(range->result ? range->result : ""), cell_int(range->first), cell_text(work->owner)),
        row_noted, &returning->held, err);
}

/* The answer to a commit may be lost: then the second attempt finds that it took place. */
static int took_place(struct returning *returning, struct error *err)
{
    return store_run(returning->work->store,
                     "SELECT first FROM @leases WHERE first = $1 AND owner = $2 AND finished > 0",
                     CELLS(cell_int(returning->range->first), cell_text(returning->work->owner)), row_noted,
                     &returning->held, err);
}

static int add_findings(const struct returning *returning, struct error *err)
{
    const struct work_return *range = returning->range;
    for (size_t i = 0; i < range->n_findings; i++) {
        size_t at = returning->order[i];
        bool is_new;
        if (store_add_case(returning->work->store, &range->findings[at], WORK_OCCURRENCES, &is_new, err))
            return -1;
        if (range->is_new)
            range->is_new[at] = is_new;
    }
    return 0;
}

static int return_inside(void *context, struct error *err)
{
    struct returning *returning = context;
    if (end_lease(returning, err))
        return -1;
    if (!returning->held)
        return returning->attempts++ ? took_place(returning, err) : 0;
    returning->attempts++;
    return add_findings(returning, err);
}

/* All workers write findings in the same order: otherwise two could wait for each other. */
static size_t *sorted(const struct work_return *range)
{
    size_t *order = memory_zeroed(range->n_findings + 1, sizeof *order);
    for (size_t i = 0; i < range->n_findings; i++) {
        size_t at = i;
        for (; at && strcmp(range->findings[order[at - 1]].signature, range->findings[i].signature) > 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

int work_return(struct work *work, const struct work_return *range, bool *held, struct error *err)
{
    size_t *order = sorted(range);
    struct returning returning = {.work = work, .range = range, .order = order};
    for (size_t i = 0; i < range->n_findings && range->is_new; i++)
        range->is_new[i] = false;
    int status = database_transact(store_database(work->store), return_inside, &returning, err);
    *held = status == 0 && returning.held;
    free(order);
    return status;
}

struct ending {
    struct returning returning;
    const char *name;
};

static int end_task(void *context, struct error *err)
{
    struct ending *ending = context;
    struct returning *returning = &ending->returning;
    const struct work *work = returning->work;
    returning->held = false;
    if (store_run(
            work->store,
            "UPDATE @follow_ups SET finished = {now} WHERE signature = $1 AND owner = $2 AND finished = 0 "
            "RETURNING signature",
            CELLS(cell_text(ending->name), cell_text(work->owner)), row_noted, &returning->held, err))
        return -1;
    return returning->held ? add_findings(returning, err) : 0;
}

int work_task_return(struct work *work, const char *name, const struct finding *findings, size_t count,
                     bool *held, struct error *err)
{
    struct work_return what = {.n_findings = count, .findings = findings};
    size_t *order = sorted(&what);
    struct ending ending = {.returning = {.work = work, .range = &what, .order = order}, .name = name};
    int status = database_transact(store_database(work->store), end_task, &ending, err);
    *held = status == 0 && ending.returning.held;
    free(order);
    return status;
}

int work_snapshot(struct store *store, int64_t generation, struct str *snapshot, bool *found,
                  struct error *err)
{
    str_clear(snapshot);
    *found = generation < WORK_LAG;
    if (*found)
        return 0;
    int status = store_run(store, "SELECT snapshot FROM @generations WHERE number = $1",
                           CELLS(cell_int(generation)), row_text, snapshot, err);
    *found = snapshot->length > 0;
    return status;
}

int work_newest_snapshot(struct store *store, int64_t *generation, struct error *err)
{
    int64_t number = 0;
    int status = store_run(store, "SELECT max(number) FROM @generations", NULL, 0, row_number, &number, err);
    *generation = number < WORK_LAG ? WORK_LAG - 1 : number;
    return status;
}

static int take_real(void *context, const struct cell *cells, size_t count, struct error *err)
{
    (void)err;
    if (count)
        *(double *)context = cell_as_real(&cells[0]);
    return 0;
}

int work_elapsed(struct store *store, double *seconds, struct error *err)
{
    *seconds = 0;
    return store_run(store, "SELECT {now} - since FROM @leases WHERE first = 0", NULL, 0, take_real, seconds,
                     err);
}

struct making {
    struct store *store;
    int64_t generation;
    const char *snapshot;
};

static int make_inside(void *context, struct error *err)
{
    const struct making *making = context;
    char name[40];
    snprintf(name, sizeof name, "generation %" PRId64, making->generation);
    /* Ranges of the generation before may still be under way, those of older ones cannot. */
    return store_run(making->store,
                     "INSERT INTO @generations (number, snapshot, made) VALUES ($1, $2, {now}) "
                     "ON CONFLICT (number) DO NOTHING",
                     CELLS(cell_int(making->generation), cell_text(making->snapshot)), NULL, NULL, err) ||
                   store_run(making->store,
                             "UPDATE @generations SET snapshot = '' WHERE number <= $1 AND snapshot <> ''",
                             CELLS(cell_int(making->generation - WORK_LAG)), NULL, NULL, err) ||
                   store_run(making->store, "DELETE FROM @follow_ups WHERE signature = $1",
                             CELLS(cell_text(name)), NULL, NULL, err)
               ? -1
               : 0;
}

int work_make_snapshot(struct store *store, int64_t generation, const char *snapshot, struct error *err)
{
    struct making making = {store, generation, snapshot};
    return database_transact(store_database(store), make_inside, &making, err);
}

/* Results are read some at a time: those of a large generation would fill the memory. */
struct result_listing {
    int (*visit)(void *context, const struct work_result *result, struct error *err);
    void *context;
    int64_t next; /* the first case behind those that were visited */
    int64_t read;
};

static int result_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct result_listing *listing = context;
    if (count != 4)
        return error_set(err, ERROR_FORMAT, "a range has %zu columns", count);
    struct work_result result = {
        .first = cell_as_int(&cells[0]),
        .cases = cell_as_int(&cells[1]),
        .counters = cell_as_text(&cells[2]),
        .result = cell_as_text(&cells[3]),
    };
    listing->next = result.first + 1;
    listing->read++;
    return listing->visit(listing->context, &result, err);
}

int work_results(struct store *store, const struct work_settings *settings, int64_t generation,
                 int (*visit)(void *context, const struct work_result *result, struct error *err),
                 void *context, struct error *err)
{
    enum { PAGE = 200 };
    int64_t first, count;
    work_generation_span(settings, generation, &first, &count);
    struct result_listing listing = {visit, context, first * settings->range, PAGE};
    int status = 0;
    while (status == 0 && listing.read == PAGE) {
        listing.read = 0;
        status = store_run(
            store,
            "SELECT first, cases, counters, result FROM @leases WHERE first >= $1 AND first < $2 "
            "AND finished > 0 ORDER BY first LIMIT $3",
            CELLS(cell_int(listing.next), cell_int((first + count) * settings->range), cell_int(PAGE)),
            result_row, &listing, err);
    }
    return status;
}

struct got_text {
    struct str *text;
    bool found;
};

static int take_result(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct got_text *got = context;
    got->found = true;
    return row_text(got->text, cells, count, err);
}

int work_result_of(struct store *store, int64_t first, struct str *result, bool *found, struct error *err)
{
    struct got_text got = {.text = result};
    str_clear(result);
    int status = store_run(store, "SELECT result FROM @leases WHERE first = $1 AND finished > 0",
                           CELLS(cell_int(first)), take_result, &got, err);
    *found = got.found;
    return status;
}
