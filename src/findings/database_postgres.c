/*
 * PostgreSQL through libpq. A campaign is a schema of its own, and statements name it in full, so that
 * connections may be shared by a pooler that gives each transaction another one.
 *
 * What passes by itself (a lost connection, a server that restarts or is full, a deadlock, a conflict of
 * transactions) is tried again with growing pauses for up to PATIENCE seconds. Outside a transaction the
 * statement alone is repeated, inside one the whole transaction, by database_transact. It is not known of a
 * commit whose answer is lost whether it took place: so whatever is repeated must do no harm when it is done
 * twice.
 */
#include "findings/database.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/str.h"
#include "findings/schema.h"

#include <errno.h>
#include <libpq-fe.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_COLUMNS = 32, MAX_NAME = 40, TYPE_TEXT = 25, TYPE_INT = 20, TYPE_REAL = 701 };
/* Who only looks is rather told at once. */
static const double PATIENCE = 600, READERS_PATIENCE = 3, FIRST_PAUSE = 0.05, LONGEST_PAUSE = 5;

struct postgres {
    struct database base;
    char *url, *place;
    PGconn *connection;
    enum database_mode mode;
    bool inside;  /* a transaction is under way */
    bool passing; /* what failed inside it may be tried again */
    double since; /* when the present trouble began; 0: there is none */
    double pause; /* the next one */
};

/* Classes and codes of SQLSTATE for troubles that pass. */
static bool is_passing(const char *code)
{
    static const char *const codes[] = {"08",    "40001", "40P01", "53",   "55P03",
                                        "57P01", "57P02", "57P03", "58030"};
    for (size_t i = 0; code && i < sizeof codes / sizeof *codes; i++)
        if (strncmp(code, codes[i], strlen(codes[i])) == 0)
            return true;
    return false;
}

/* libpq's messages end with line breaks, and may have several lines. */
static int fail(struct error *err, enum error_code code, const char *text)
{
    int length = (int)strcspn(text, "\n");
    return error_set(err, code, "PostgreSQL: %.*s", length, text);
}

/* Waits before the next attempt. False when the trouble has lasted too long. */
static bool wait_a_little(struct postgres *pg)
{
    double now = clock_seconds();
    if (!(pg->since > 0)) {
        pg->since = now;
        pg->pause = FIRST_PAUSE;
    }
    if (now - pg->since > (pg->mode == DATABASE_READ ? READERS_PATIENCE : PATIENCE))
        return false;
    struct timespec pause = {(time_t)pg->pause, (long)((pg->pause - floor(pg->pause)) * 1e9)};
    nanosleep(&pause, NULL);
    pg->pause = fmin(pg->pause * 2, LONGEST_PAUSE);
    return true;
}

/* What fails is said by errors. */
static void no_notice(void *context, const char *message)
{
    (void)context;
    (void)message;
}

static int connect_once(struct postgres *pg, struct error *err)
{
    static const char *const words[] = {"dbname",           "connect_timeout", "client_encoding",
                                        "application_name", "keepalives_idle", NULL};
    const char *const values[] = {pg->url, "10", "UTF8", "assay", "30", NULL};
    if (pg->connection && PQstatus(pg->connection) == CONNECTION_OK)
        return 0;
    PQfinish(pg->connection);
    pg->connection = PQconnectdbParams(words, values, 1);
    PQsetNoticeProcessor(pg->connection, no_notice, NULL);
    return PQstatus(pg->connection) == CONNECTION_OK ? 0
                                                     : fail(err, ERROR_IO, PQerrorMessage(pg->connection));
}

/* Parameters as texts. */
struct sent {
    struct str texts[DATABASE_MAX_PARAMS];
    const char *values[DATABASE_MAX_PARAMS];
    Oid types[DATABASE_MAX_PARAMS];
};

/* What is not UTF-8 becomes U+FFFD: the server refuses it. */
static void add_clean(struct str *out, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t length = utf8_length(s);
        if (length)
            str_append(out, (const char *)s, length);
        else
            str_add(out, "\xEF\xBF\xBD");
        s += length ? length : 1;
    }
}

static void add_real(struct str *out, double real)
{
    if (isnan(real))
        str_add(out, "NaN");
    else if (isinf(real))
        str_add(out, real < 0 ? "-Infinity" : "Infinity");
    else
        str_printf(out, "%.17g", real);
}

static void send_init(struct sent *sent, const struct cell *params, size_t count)
{
    static const Oid types[] = {
        [CELL_NULL] = 0, [CELL_INT] = TYPE_INT, [CELL_REAL] = TYPE_REAL, [CELL_TEXT] = TYPE_TEXT};
    for (size_t i = 0; i < count; i++) {
        const struct cell *cell = &params[i];
        struct str *text = &sent->texts[i];
        str_init(text);
        if (cell->kind == CELL_INT)
            str_printf(text, "%lld", (long long)cell->number);
        else if (cell->kind == CELL_REAL)
            add_real(text, cell->real);
        else if (cell->kind == CELL_TEXT)
            add_clean(text, cell->text);
        sent->values[i] = cell->kind == CELL_NULL ? NULL : text->data;
        sent->types[i] = types[cell->kind];
    }
}

static void send_release(struct sent *sent, size_t count)
{
    for (size_t i = 0; i < count; i++)
        str_release(&sent->texts[i]);
}

static struct cell read_cell(const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return (struct cell){0};
    const char *text = PQgetvalue(result, row, column);
    switch (PQftype(result, column)) {
    case TYPE_INT:
        return cell_int(strtoll(text, NULL, 10));
    case TYPE_REAL:
        return cell_real(strtod(text, NULL));
    default: /* text; a column whose type was changed is read as its text, which no number is */
        return cell_text(text);
    }
}

static int give_rows(const PGresult *result, database_row *row, void *context, struct error *err)
{
    int columns = PQnfields(result), status = 0;
    if (columns > MAX_COLUMNS)
        columns = MAX_COLUMNS;
    for (int r = 0; r < PQntuples(result) && row && status == 0; r++) {
        struct cell cells[MAX_COLUMNS];
        for (int c = 0; c < columns; c++) {
            if (PQgetlength(result, r, c) > DATABASE_TEXT_LIMIT)
                return error_set(err, ERROR_LIMIT, "PostgreSQL: a text is longer than %d MB",
                                 DATABASE_TEXT_LIMIT >> 20);
            cells[c] = read_cell(result, r, c);
        }
        status = row(context, cells, (size_t)columns, err);
    }
    return status;
}

/* One attempt. *passing: it failed, but may be tried again. */
static int run_once(struct postgres *pg, const char *sql, const struct sent *sent, size_t count,
                    PGresult **out, bool *passing, struct error *err)
{
    /* What was begun on a lost connection cannot go on on another one. */
    bool lost = pg->inside && (!pg->connection || PQstatus(pg->connection) != CONNECTION_OK);
    *passing = true;
    if (lost)
        return error_set(err, ERROR_IO, "PostgreSQL: the connection was lost inside a transaction");
    if (connect_once(pg, err))
        return -1;
    PGresult *result =
        PQexecParams(pg->connection, sql, (int)count, sent->types, sent->values, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        *out = result;
        return 0;
    }
    const char *code = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    *passing = PQstatus(pg->connection) != CONNECTION_OK || is_passing(code);
    fail(err, ERROR_IO, result ? PQresultErrorMessage(result) : PQerrorMessage(pg->connection));
    if (err && code && strcmp(code, "53100") == 0)
        err->cause = ENOSPC;
    PQclear(result);
    return -1;
}

static int run(struct database *database, const char *sql, const struct cell *params, size_t count,
               database_row *row, void *context, struct error *err)
{
    struct postgres *pg = (struct postgres *)database;
    struct sent sent = {0};
    PGresult *result = NULL;
    bool passing;
    if (count > DATABASE_MAX_PARAMS)
        return error_set(err, ERROR_LIMIT, "a statement has more than %d parameters", DATABASE_MAX_PARAMS);
    if (pg->mode == DATABASE_READ && strncmp(sql, "SELECT ", 7) != 0)
        return error_set(err, ERROR_USAGE, "the database was opened for reading");
    send_init(&sent, params, count);
    int status = run_once(pg, sql, &sent, count, &result, &passing, err);
    while (status && passing && !pg->inside && wait_a_little(pg))
        status = run_once(pg, sql, &sent, count, &result, &passing, err);
    send_release(&sent, count);
    pg->passing |= status && passing;
    if (status)
        return -1;
    if (!pg->inside)
        pg->since = 0;
    status = give_rows(result, row, context, err);
    PQclear(result);
    return status;
}

static int begin(struct database *database, struct error *err)
{
    struct postgres *pg = (struct postgres *)database;
    double since = pg->since, pause = pg->pause;
    pg->passing = false;
    if (run(database, "BEGIN", NULL, 0, NULL, NULL, err))
        return -1;
    /* That it can begin again does not end the trouble of the attempts before. */
    pg->since = since;
    pg->pause = pause;
    pg->inside = true;
    return 0;
}

/* After a failure the server itself has given the transaction up, or its connection is gone. */
static int end(struct database *database, bool commit, struct error *err)
{
    struct postgres *pg = (struct postgres *)database;
    int status = run(database, commit ? "COMMIT" : "ROLLBACK", NULL, 0, NULL, NULL, err);
    pg->inside = false;
    if (status == 0 && commit)
        pg->since = 0;
    if (status) {
        PQfinish(pg->connection);
        pg->connection = NULL;
    }
    return commit ? status : 0;
}

static bool again(struct database *database)
{
    struct postgres *pg = (struct postgres *)database;
    return pg->passing && wait_a_little(pg);
}

static int reserve(struct database *database, struct error *err)
{
    return database_run(database,
                        "SELECT pg_advisory_xact_lock(5641280, hashtext($1)), "
                        "set_config('synchronous_commit', 'off', true)",
                        CELLS(cell_text(database->place)), NULL, NULL, err);
}

static int lock(struct database *database, const char *name, struct error *err)
{
    return database_run(database, "SELECT pg_advisory_xact_lock(5641281, hashtext($1 || $2))",
                        CELLS(cell_text(database->place), cell_text(name)), NULL, NULL, err);
}

static void close_it(struct database *database)
{
    struct postgres *pg = (struct postgres *)database;
    PQfinish(pg->connection);
    free(pg->url);
    free(pg->place);
    free(pg);
}

static const struct database_driver driver = {
    .run = run,
    .begin = begin,
    .end = end,
    .again = again,
    .reserve = reserve,
    .lock = lock,
    .close = close_it,
    .now = "extract(epoch FROM clock_timestamp())::double precision",
    .row = "signature",
};

/* A password in the address would be seen by everyone who lists processes. */
static int check_url(const char *url, struct error *err)
{
    char *text = NULL;
    bool password = false;
    PQconninfoOption *options = PQconninfoParse(url, &text);
    if (!options) {
        fail(err, ERROR_USAGE, text ? text : "no memory");
        PQfreemem(text);
        return -1;
    }
    for (const PQconninfoOption *o = options; o->keyword; o++)
        password |= o->val && strcmp(o->keyword, "password") == 0;
    PQconninfoFree(options);
    return password ? error_set(err, ERROR_USAGE,
                                "the address of the database holds a password; put it into ~/.pgpass, a "
                                "service file or PGPASSWORD, and leave it out of the address")
                    : 0;
}

static int check_name(const char *campaign, struct error *err)
{
    size_t length = strlen(campaign);
    if (length == 0 || length > MAX_NAME ||
        strspn(campaign, "abcdefghijklmnopqrstuvwxyz0123456789_-") != length)
        return error_set(err, ERROR_USAGE,
                         "a campaign's name has 1 to %d small letters, digits, '-' and '_', not '%.60s'",
                         MAX_NAME, campaign);
    return 0;
}

static int take_number(void *context, const struct cell *cells, size_t count, struct error *err)
{
    (void)err;
    *(int64_t *)context = count ? cell_as_int(&cells[0]) : 0;
    return 0;
}

struct campaign {
    struct postgres *pg;
    const char *name;
};

/* The book of campaigns counts the statements that were applied to each one; -1: it is new. */
static int read_version(const struct campaign *campaign, int *version, struct error *err)
{
    int64_t statements = -1;
    *version = -1;
    if (database_run(&campaign->pg->base, "SELECT tables FROM assay.campaigns WHERE name = $1",
                     CELLS(cell_text(campaign->name)), take_number, &statements, err))
        return -1;
    if (statements > (int64_t)schema_statements(schema_version()))
        return error_set(err, ERROR_FORMAT, "the campaign '%s' was made by a newer version of Assay",
                         campaign->name);
    for (int v = 1; v <= schema_version(); v++)
        if (statements == (int64_t)schema_statements(v))
            *version = v;
    return statements < 0 || *version > 0
               ? 0
               : error_set(err, ERROR_FORMAT, "the campaign '%s' has no version that was ever made",
                           campaign->name);
}

/* What a campaign lacks, from nothing or from an older version. */
static int upgrade_tables(const struct campaign *campaign, int version, struct error *err)
{
    struct database *database = &campaign->pg->base;
    struct str sql;
    str_init(&sql);
    str_printf(&sql, "CREATE SCHEMA IF NOT EXISTS \"assay_%s\"", campaign->name);
    int status = version < 0 ? database_run(database, sql.data, NULL, 0, NULL, NULL, err) : 0;
    for (size_t i = schema_statements(version); i < schema_statements(schema_version()) && status == 0; i++)
        status = database_run(database, schema_statement(i), NULL, 0, NULL, NULL, err);
    str_release(&sql);
    return status;
}

/* Two that begin at once must not both make or change tables. */
static int lock_book(const struct campaign *campaign, struct error *err)
{
    return database_run(&campaign->pg->base, "SELECT pg_advisory_xact_lock(5641279)", NULL, 0, NULL, NULL,
                        err);
}

static int upgrade_campaign(void *context, struct error *err)
{
    const struct campaign *campaign = context;
    struct database *database = &campaign->pg->base;
    int version;
    if (lock_book(campaign, err) || read_version(campaign, &version, err))
        return -1;
    database->version = schema_version();
    if (version == schema_version())
        return 0;
    if (upgrade_tables(campaign, version, err))
        return -1;
    return database_run(database,
                        "INSERT INTO assay.campaigns (name, tables, made) VALUES ($1, $2, $3) "
                        "ON CONFLICT (name) DO UPDATE SET tables = excluded.tables",
                        CELLS(cell_text(campaign->name),
                              cell_int((int64_t)schema_statements(schema_version())),
                              cell_int((int64_t)time(NULL))),
                        NULL, NULL, err);
}

/* The book of all campaigns, and the tables of this one. Whoever comes second finds everything there. */
static int make_campaign(void *context, struct error *err)
{
    const struct campaign *campaign = context;
    struct database *database = &campaign->pg->base;
    return lock_book(campaign, err) ||
                   database_run(database, "CREATE SCHEMA IF NOT EXISTS assay", NULL, 0, NULL, NULL, err) ||
                   database_run(database,
                                "CREATE TABLE IF NOT EXISTS assay.campaigns (name TEXT PRIMARY KEY, "
                                "tables BIGINT NOT NULL, made BIGINT NOT NULL)",
                                NULL, 0, NULL, NULL, err) ||
                   upgrade_campaign(context, err)
               ? -1
               : 0;
}

static int find_campaign(struct campaign *campaign, struct error *err)
{
    struct database *database = &campaign->pg->base;
    int64_t book = 0;
    database->version = -1;
    if (database_run(database,
                     "SELECT count(*) FROM pg_tables WHERE schemaname = 'assay' AND tablename = 'campaigns'",
                     NULL, 0, take_number, &book, err) ||
        (book && read_version(campaign, &database->version, err)))
        return -1;
    if (database->version < 0)
        return error_set(err, ERROR_NOT_FOUND, "the database has no campaign '%s'", campaign->name);
    return campaign->pg->mode == DATABASE_READ || database->version == schema_version()
               ? 0
               : database_transact(database, upgrade_campaign, campaign, err);
}

int database_open_postgres(struct database **database, const char *url, const char *campaign,
                           enum database_mode mode, struct error *err)
{
    *database = NULL;
    if (check_url(url, err) || (campaign && check_name(campaign, err)))
        return -1;
    struct postgres *pg = memory_zeroed(1, sizeof *pg);
    struct campaign wanted = {.pg = pg, .name = campaign};
    struct str place;
    str_init(&place);
    str_printf(&place, "\"assay_%s\".", campaign ? campaign : "");
    pg->base.driver = &driver;
    pg->base.place = pg->place = memory_strdup(place.data);
    pg->url = memory_strdup(url);
    pg->mode = mode;
    str_release(&place);
    /* A wrong address is said at once; only later troubles are waited out. */
    int status = connect_once(pg, err);
    if (status == 0 && campaign)
        status = mode == DATABASE_CREATE ? database_transact(&pg->base, make_campaign, &wanted, err)
                                         : find_campaign(&wanted, err);
    if (status) {
        close_it(&pg->base);
        return -1;
    }
    *database = &pg->base;
    return 0;
}
