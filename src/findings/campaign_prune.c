#include "findings/campaign_prune.h"

#include "base/str.h"
#include "findings/database.h"
#include "findings/schema.h"
#include "findings/store.h"

#include <math.h>

struct pruning {
    struct database *database;
    const char *name;
    double most_recent;
    struct campaign_rest *rest;
    bool *removed;
};

static int rest_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct campaign_rest *rest = context;
    if (count != 2)
        return error_set(err, ERROR_FORMAT, "a campaign's rest has %zu columns", count);
    double seconds = cell_as_real(&cells[0]);
    rest->seconds = isfinite(seconds) ? fmax(seconds, 0) : 0;
    rest->at_work = cell_as_int(&cells[1]) > 0;
    return 0;
}

static int look(const struct pruning *pruning, struct error *err)
{
    return database_run(
        pruning->database,
        "SELECT {now} - greatest(CAST(max(c.made) AS DOUBLE PRECISION), max(l.finished), max(l.since)), "
        "(SELECT count(*) FROM @leases o WHERE o.finished = 0 AND o.owner <> '' AND o.until > {now}) + "
        "(SELECT count(*) FROM @follow_ups u WHERE u.finished = 0 AND u.owner <> '' AND u.until > {now}) "
        "FROM assay.campaigns c LEFT JOIN @leases l ON true WHERE c.name = $1",
        CELLS(cell_text(pruning->name)), rest_row, pruning->rest, err);
}

struct listing {
    struct str sql;
    const char *between;
};

static int list_table(void *context, const char *table, const char *columns)
{
    struct listing *listing = context;
    (void)columns;
    str_add(&listing->sql, listing->between);
    str_append(&listing->sql, "@", 1);
    str_add(&listing->sql, table);
    listing->between = ", ";
    return 0;
}

/* Runs "WORDS all tables END". */
static int run_on_all(const struct pruning *pruning, const char *words, const char *end, struct error *err)
{
    struct listing listing = {.between = words};
    str_init(&listing.sql);
    schema_tables(pruning->database->version, list_table, &listing);
    str_add(&listing.sql, end);
    int status = database_run(pruning->database, listing.sql.data, NULL, 0, NULL, NULL, err);
    str_release(&listing.sql);
    return status;
}

static int drop(const struct pruning *pruning, struct error *err)
{
    struct str sql;
    str_init(&sql);
    str_printf(&sql, "DROP SCHEMA \"assay_%s\"", pruning->name);
    int status = run_on_all(pruning, "DROP TABLE ", "", err) ||
                         database_run(pruning->database, sql.data, NULL, 0, NULL, NULL, err) ||
                         database_run(pruning->database, "DELETE FROM assay.campaigns WHERE name = $1",
                                      CELLS(cell_text(pruning->name)), NULL, NULL, err)
                     ? -1
                     : 0;
    str_release(&sql);
    return status;
}

static int prune(void *context, struct error *err)
{
    const struct pruning *pruning = context;
    /* Nobody begins a range while the tables are locked, and who waits for them finds none. */
    if (run_on_all(pruning, "LOCK TABLE ", " IN ACCESS EXCLUSIVE MODE", err) || look(pruning, err))
        return -1;
    *pruning->removed = !pruning->rest->at_work && pruning->rest->seconds >= pruning->most_recent;
    return *pruning->removed ? drop(pruning, err) : 0;
}

int campaign_prune(const char *url, const char *name, double most_recent, struct campaign_rest *rest,
                   bool *removed, struct error *err)
{
    bool removes = most_recent >= 0;
    struct store *store;
    *rest = (struct campaign_rest){0};
    *removed = false;
    if (store_open_campaign(&store, url, name, removes ? STORE_WRITE : STORE_READ, err))
        return -1;
    struct pruning pruning = {store_database(store), name, most_recent, rest, removed};
    int status = removes ? database_transact(pruning.database, prune, &pruning, err) : look(&pruning, err);
    store_close(store);
    return status;
}
