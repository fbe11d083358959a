/*
 * PostgreSQL through libpq. A campaign is a schema of its own, and statements name it in full, so that
 * connections may be shared by a pooler that gives each transaction another one. So all settings are those of
 * a transaction, and a single statement is one as well.
 *
 * A reader is one transaction that can change nothing, from the opening to the end. What the owner of the
 * tables could put there to run with the caller's rights is kept out by settings, and by a look at the tables
 * when they are opened; where the owner is another role, at the start of every transaction.
 *
 * What passes by itself (a lost connection, a server that restarts or is full, a deadlock, a conflict of
 * transactions) is tried again with growing pauses for up to PATIENCE seconds: the whole transaction. It is
 * not known of a commit whose answer is lost whether it took place: so whatever is repeated must do no harm
 * when it is done twice.
 */
#include "findings/database.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/str.h"
#include "findings/postgres_connection.h"
#include "findings/postgres_tables.h"
#include "findings/schema.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_COLUMNS = 32, MAX_NAME = 40, TYPE_TEXT = 25, TYPE_INT = 20, TYPE_REAL = 701 };
/* Seconds for which trouble is waited out. A reader is told soon, because nothing is lost when it ends. */
static const double PATIENCE = 600, READERS_PATIENCE = 3, FIRST_PAUSE = 0.05, LONGEST_PAUSE = 5;
/* Seconds for a statement of a writer, of a reader, for a reader's wait for locks, for a transaction in which
 * nothing happens (its process hangs, or its machine is gone), and for the server to say that one of them is
 * over. */
enum {
    STATEMENT_SECONDS = 600,
    READERS_STATEMENT_SECONDS = 30,
    READERS_LOCK_SECONDS = 5,
    IDLE_SECONDS = 600,
    ANSWER_SECONDS = 10
};

struct postgres {
    struct database base;
    struct postgres_library pq;
    char *url, *place;
    PGconn *connection;
    enum database_mode mode;
    bool open;    /* the tables were found and checked */
    bool trusted; /* their owner may do all that the caller may, so it is enough to check them once */
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

/* Waits before the next attempt. False when the trouble has lasted too long, or a reader is to end. */
static bool wait_a_little(struct postgres *pg)
{
    double now = clock_seconds();
    if (pg->mode == DATABASE_READ && interrupt_pending())
        return false;
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

static struct cell read_cell(const struct postgres_library *pq, const PGresult *result, int row, int column)
{
    if (pq->PQgetisnull(result, row, column))
        return (struct cell){0};
    const char *text = pq->PQgetvalue(result, row, column);
    switch (pq->PQftype(result, column)) {
    case TYPE_INT:
        return cell_int(strtoll(text, NULL, 10));
    case TYPE_REAL:
        return cell_real(strtod(text, NULL));
    default: /* text; a column whose type was changed is read as its text, which no number is */
        return cell_text(text);
    }
}

/* Runs a statement, or where `sent` is NULL several, on the present connection. */
static int execute(struct postgres *pg, const char *sql, const struct sent *sent, size_t count,
                   PGresult **out, struct error *err)
{
    bool reads = pg->mode == DATABASE_READ;
    const struct postgres_patience patience = {
        .seconds = (reads ? READERS_STATEMENT_SECONDS : STATEMENT_SECONDS) + ANSWER_SECONDS,
        .heeds_signals = reads};
    const struct postgres_values values = {count, sent ? sent->types : NULL, sent ? sent->values : NULL};
    /* A transaction that was begun on a lost connection cannot be continued on another one. */
    bool lost = !pg->connection || pg->pq.PQstatus(pg->connection) != CONNECTION_OK;
    if (lost)
        error_set(err, ERROR_IO, "PostgreSQL: the connection was lost inside a transaction");
    PGresult *result =
        lost ? NULL : postgres_execute(&pg->pq, &pg->connection, sql, sent ? &values : NULL, &patience, err);
    if (!result) {
        pg->passing = true;
        return -1;
    }
    ExecStatusType status = pg->pq.PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        *out = result;
        return 0;
    }
    const char *code = pg->pq.PQresultErrorField(result, PG_DIAG_SQLSTATE);
    pg->passing |= pg->pq.PQstatus(pg->connection) != CONNECTION_OK || is_passing(code);
    postgres_fail(err, ERROR_IO, pg->pq.PQresultErrorMessage(result));
    if (err && code && strcmp(code, "53100") == 0)
        err->cause = ENOSPC;
    pg->pq.PQclear(result);
    return -1;
}

/* Statements without parameters and rows. */
static int command(struct postgres *pg, const char *sql, struct error *err)
{
    PGresult *result = NULL;
    int status = execute(pg, sql, NULL, 0, &result, err);
    pg->pq.PQclear(result);
    return status;
}

/* Whether the server can be told to keep views and foreign tables out of statements. */
static bool restricts_kinds(int version)
{
    static const int since[] = {120020, 130016, 140013, 150008, 160004};
    for (size_t i = 0; i < sizeof since / sizeof *since; i++)
        if (version / 10000 == since[i] / 10000)
            return version >= since[i];
    return version >= 170000;
}

/*
 * Begins a transaction in which names without a schema are PostgreSQL's own, views are refused, and rows are
 * never chosen by functions of the tables' owner.
 */
static int begin_once(struct postgres *pg, struct error *err)
{
    bool reads = pg->mode == DATABASE_READ;
    struct str sql;
    if (postgres_connect(&pg->pq, &pg->connection, pg->url, err)) {
        pg->passing = true;
        return -1;
    }
    str_init(&sql);
    str_printf(&sql,
               "BEGIN%s; SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL row_security = off; "
               "SET LOCAL standard_conforming_strings = on; SET LOCAL statement_timeout = '%ds'; "
               "SET LOCAL lock_timeout = '%ds'; SET LOCAL idle_in_transaction_session_timeout = '%ds'",
               reads ? " READ ONLY" : "", reads ? READERS_STATEMENT_SECONDS : STATEMENT_SECONDS,
               reads ? READERS_LOCK_SECONDS : STATEMENT_SECONDS, IDLE_SECONDS);
    if (restricts_kinds(pg->pq.PQserverVersion(pg->connection)))
        str_add(&sql, "; SET LOCAL restrict_nonsystem_relation_kind = 'view, foreign-table'");
    int status = command(pg, sql.data, err);
    str_release(&sql);
    pg->inside = status == 0;
    return status;
}

/* After a failure the server itself has given the transaction up, or its connection is gone. */
static int end(struct database *database, bool commit, struct error *err)
{
    struct postgres *pg = (struct postgres *)database;
    bool passing = pg->passing;
    int status = command(pg, commit ? "COMMIT" : "ROLLBACK", err);
    pg->inside = false;
    if (!commit)
        pg->passing = passing;
    if (status == 0 && commit)
        pg->since = 0;
    if (status) {
        pg->pq.PQfinish(pg->connection);
        pg->connection = NULL;
    }
    return commit ? status : 0;
}

static int give_rows(const struct postgres_library *pq, const PGresult *result, database_row *row,
                     void *context, struct error *err)
{
    int columns = pq->PQnfields(result), status = 0;
    if (columns > MAX_COLUMNS)
        columns = MAX_COLUMNS;
    for (int r = 0; r < pq->PQntuples(result) && row && status == 0; r++) {
        struct cell cells[MAX_COLUMNS];
        for (int c = 0; c < columns; c++) {
            if (pq->PQgetlength(result, r, c) > DATABASE_TEXT_LIMIT)
                return error_set(err, ERROR_LIMIT, "PostgreSQL: a text is longer than %d MB",
                                 DATABASE_TEXT_LIMIT >> 20);
            cells[c] = read_cell(pq, result, r, c);
        }
        status = row(context, cells, (size_t)columns, err);
    }
    return status;
}

/* A statement that is a transaction of its own. */
struct alone {
    struct postgres *pg;
    const char *sql;
    const struct sent *sent;
    size_t count;
    PGresult *result;
};

static int execute_alone(void *context, struct error *err)
{
    struct alone *alone = context;
    alone->pg->pq.PQclear(alone->result);
    alone->result = NULL;
    return execute(alone->pg, alone->sql, alone->sent, alone->count, &alone->result, err);
}

static int run(struct database *database, const char *sql, const struct cell *params, size_t count,
               database_row *row, void *context, struct error *err)
{
    struct postgres *pg = (struct postgres *)database;
    struct sent sent = {0};
    struct alone alone = {.pg = pg, .sql = sql, .sent = &sent, .count = count};
    if (count > DATABASE_MAX_PARAMS)
        return error_set(err, ERROR_LIMIT, "a statement has more than %d parameters", DATABASE_MAX_PARAMS);
    if (pg->mode == DATABASE_READ && strncmp(sql, "SELECT ", 7) != 0)
        return error_set(err, ERROR_USAGE, "the database was opened for reading");
    send_init(&sent, params, count);
    int status =
        pg->inside ? execute_alone(&alone, err) : database_transact(database, execute_alone, &alone, err);
    send_release(&sent, count);
    if (!status)
        status = give_rows(&pg->pq, alone.result, row, context, err);
    pg->pq.PQclear(alone.result);
    return status;
}

/* Checks the tables, and locks them so that they stay like this until the transaction ends. */
static int check_tables(struct postgres *pg, int version, struct error *err)
{
    struct str sql;
    char schema[MAX_NAME + 10];
    str_init(&sql);
    postgres_tables_lock(&sql, pg->place, version, pg->mode != DATABASE_READ);
    snprintf(schema, sizeof schema, "%.*s", (int)strlen(pg->place) - 3, pg->place + 1); /* "schema". */
    int status = command(pg, sql.data, err);
    if (!status)
        status = postgres_tables_check(&pg->base, schema, version, &pg->trusted, err);
    str_release(&sql);
    return status;
}

static int begin_checked(struct postgres *pg, struct error *err)
{
    pg->passing = false;
    if (begin_once(pg, err))
        return -1;
    if (!pg->open || pg->trusted || check_tables(pg, pg->base.version, err) == 0)
        return 0;
    end(&pg->base, false, NULL);
    return -1;
}

static int begin(struct database *database, struct error *err)
{
    struct postgres *pg = (struct postgres *)database;
    if (pg->mode == DATABASE_READ)
        return error_set(err, ERROR_USAGE, "the database was opened for reading");
    int status = begin_checked(pg, err);
    while (status && pg->passing && wait_a_little(pg))
        status = begin_checked(pg, err);
    return status;
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
    if (pg->inside) /* a reader; a pooler gives up connections that are left inside a transaction */
        end(database, true, NULL);
    pg->pq.PQfinish(pg->connection);
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
                     CELLS(cell_text(campaign->name)), row_number, &statements, err))
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

/* The book as it is locked here stays what it is until the transaction ends. */
static int check_book(const struct campaign *campaign, const char *lock, struct error *err)
{
    bool trusted;
    return command(campaign->pg, lock, err) ||
                   postgres_tables_check(&campaign->pg->base, NULL, 0, &trusted, err)
               ? -1
               : 0;
}

static int make_book(const struct campaign *campaign, struct error *err)
{
    return command(campaign->pg,
                   "CREATE SCHEMA IF NOT EXISTS assay; CREATE TABLE IF NOT EXISTS assay.campaigns "
                   "(name TEXT PRIMARY KEY, tables BIGINT NOT NULL, made BIGINT NOT NULL)",
                   err);
}

/* Makes a campaign, or brings it to the newest version, unless somebody was first. */
static int upgrade_campaign(const struct campaign *campaign, bool has_book, struct error *err)
{
    struct postgres *pg = campaign->pg;
    int version;
    /* Two that begin at once must not both make or change tables. */
    if (database_run(&pg->base, "SELECT pg_advisory_xact_lock(5641279)", NULL, 0, NULL, NULL, err) ||
        (!has_book && make_book(campaign, err)) ||
        check_book(campaign, "LOCK TABLE assay.campaigns IN ROW EXCLUSIVE MODE", err) ||
        read_version(campaign, &version, err))
        return -1;
    pg->base.version = schema_version();
    if (version == schema_version())
        return 0;
    if ((version > 0 && check_tables(pg, version, err)) || upgrade_tables(campaign, version, err))
        return -1;
    return database_run(&pg->base,
                        "INSERT INTO assay.campaigns (name, tables, made) VALUES ($1, $2, $3) "
                        "ON CONFLICT (name) DO UPDATE SET tables = excluded.tables",
                        CELLS(cell_text(campaign->name),
                              cell_int((int64_t)schema_statements(schema_version())),
                              cell_int((int64_t)time(NULL))),
                        NULL, NULL, err);
}

/* The book of all campaigns, and the tables of this one. Inside a transaction. */
static int find_campaign(void *context, struct error *err)
{
    const struct campaign *campaign = context;
    struct postgres *pg = campaign->pg;
    struct database *database = &pg->base;
    int64_t book = 0;
    database->version = -1;
    if (database_run(database,
                     "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                     "WHERE n.nspname = 'assay' AND c.relname = 'campaigns'",
                     NULL, 0, row_number, &book, err) ||
        (book && check_book(campaign, "LOCK TABLE assay.campaigns IN ACCESS SHARE MODE", err)) ||
        (book && campaign->name && read_version(campaign, &database->version, err)))
        return -1;
    if (!campaign->name)
        return book ? 0 : error_set(err, ERROR_NOT_FOUND, "the database has no campaign yet");
    if (database->version < 0 && pg->mode != DATABASE_CREATE)
        return error_set(err, ERROR_NOT_FOUND, "the database has no campaign '%s'", campaign->name);
    if (pg->mode != DATABASE_READ && database->version < schema_version() &&
        upgrade_campaign(campaign, book, err))
        return -1;
    return check_tables(pg, database->version, err);
}

/* Begins the one transaction of a reader. */
static int start_reading(struct campaign *campaign, struct error *err)
{
    struct postgres *pg = campaign->pg;
    for (;;) {
        pg->passing = false;
        int status = begin_once(pg, err) || find_campaign(campaign, err) ? -1 : 0;
        if (!status || !pg->passing || !wait_a_little(pg))
            return status;
        end(&pg->base, false, NULL);
    }
}

int database_open_postgres(struct database **database, const char *url, const char *campaign,
                           enum database_mode mode, struct error *err)
{
    struct postgres_library pq;
    *database = NULL;
    if (postgres_library_load(&pq, err) || postgres_check_address(&pq, url, err) ||
        (campaign && check_name(campaign, err)))
        return -1;
    struct postgres *pg = memory_zeroed(1, sizeof *pg);
    pg->pq = pq;
    struct campaign wanted = {.pg = pg, .name = campaign};
    struct str place;
    str_init(&place);
    str_printf(&place, "\"assay_%s\".", campaign ? campaign : "");
    pg->base.driver = &driver;
    pg->base.place = pg->place = memory_strdup(place.data);
    pg->url = memory_strdup(url);
    pg->mode = mode;
    str_release(&place);
    /* A wrong address is reported at once; only later trouble is waited out. */
    int status = postgres_connect(&pg->pq, &pg->connection, pg->url, err);
    if (!status)
        status = mode == DATABASE_READ ? start_reading(&wanted, err)
                                       : database_transact(&pg->base, find_campaign, &wanted, err);
    if (status) {
        close_it(&pg->base);
        return -1;
    }
    pg->open = true;
    *database = &pg->base;
    return 0;
}
