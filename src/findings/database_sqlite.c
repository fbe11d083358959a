/* SQLite, in WAL mode: readers never wait for the writer, and a killed writer leaves nothing half done. */
#include "findings/database.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/str.h"
#include "findings/schema.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUSY_MILLISECONDS = 20 * 1000,
    APPLICATION = 0x41534159, /* "ASAY" in the file's header */
    MAX_COLUMNS = 32,
};

struct sqlite {
    struct database base;
    sqlite3 *handle;
};

static int fail(struct sqlite *sqlite, struct error *err)
{
    int code = sqlite3_errcode(sqlite->handle) & 0xff;
    enum error_code kind = code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? ERROR_FORMAT
                           : code == SQLITE_TOOBIG                         ? ERROR_LIMIT
                           : code == SQLITE_NOMEM                          ? ERROR_MEMORY
                                                                           : ERROR_IO;
    error_set(err, kind, "%s%s", kind == ERROR_FORMAT ? "the database is damaged: " : "",
              sqlite3_errmsg(sqlite->handle));
    if (err && kind == ERROR_IO)
        err->cause = code == SQLITE_FULL       ? ENOSPC
                     : code == SQLITE_READONLY ? EACCES
                                               : sqlite3_system_errno(sqlite->handle);
    return -1;
}

static int bind(struct sqlite *sqlite, sqlite3_stmt *statement, const struct cell *params, size_t count,
                struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        int at = (int)i + 1, code = SQLITE_OK;
        switch (params[i].kind) {
        case CELL_NULL:
            code = sqlite3_bind_null(statement, at);
            break;
        case CELL_INT:
            code = sqlite3_bind_int64(statement, at, params[i].number);
            break;
        case CELL_REAL:
            code = sqlite3_bind_double(statement, at, params[i].real);
            break;
        case CELL_TEXT:
            code = sqlite3_bind_text(statement, at, params[i].text, -1, SQLITE_STATIC);
            break;
        }
        if (code != SQLITE_OK)
            return fail(sqlite, err);
    }
    return 0;
}

static struct cell read_cell(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        return cell_int(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
        return cell_real(sqlite3_column_double(statement, column));
    case SQLITE_NULL:
        return (struct cell){0};
    default: /* text; a blob comes as its bytes up to the first zero */
        return cell_text((const char *)sqlite3_column_text(statement, column));
    }
}

static int give_row(sqlite3_stmt *statement, database_row *row, void *context, struct error *err)
{
    struct cell cells[MAX_COLUMNS];
    int count = sqlite3_column_count(statement);
    if (count > MAX_COLUMNS)
        count = MAX_COLUMNS;
    for (int i = 0; i < count; i++)
        cells[i] = read_cell(statement, i);
    return row ? row(context, cells, (size_t)count, err) : 0;
}

static int run(struct database *database, const char *sql, const struct cell *params, size_t count,
               database_row *row, void *context, struct error *err)
{
    struct sqlite *sqlite = (struct sqlite *)database;
    sqlite3_stmt *statement = NULL;
    int status = -1, code;
    if (sqlite3_prepare_v2(sqlite->handle, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail(sqlite, err);
        goto out;
    }
    if (bind(sqlite, statement, params, count, err))
        goto out;
    status = 0;
    while (status == 0 && (code = sqlite3_step(statement)) != SQLITE_DONE)
        status = code == SQLITE_ROW ? give_row(statement, row, context, err) : fail(sqlite, err);
out:
    sqlite3_finalize(statement);
    return status;
}

static int begin(struct database *database, struct error *err)
{
    return run(database, "BEGIN IMMEDIATE", NULL, 0, NULL, NULL, err);
}

static int end(struct database *database, bool commit, struct error *err)
{
    return run(database, commit ? "COMMIT" : "ROLLBACK", NULL, 0, NULL, NULL, err);
}

static void close_it(struct database *database)
{
    struct sqlite *sqlite = (struct sqlite *)database;
    sqlite3_close_v2(sqlite->handle);
    free(sqlite);
}

static const struct database_driver driver = {
    .run = run,
    .begin = begin,
    .end = end,
    .close = close_it,
    .now = "((julianday('now') - 2440587.5) * 86400.0)",
    .row = "rowid",
};

static int read_number(void *context, const struct cell *cells, size_t count, struct error *err)
{
    (void)err;
    *(int64_t *)context = count ? cell_as_int(&cells[0]) : 0;
    return 0;
}

static int pragma(struct sqlite *sqlite, const char *sql, struct error *err)
{
    return run(&sqlite->base, sql, NULL, 0, NULL, NULL, err);
}

/* Each object of the file must be one of ours, word for word. */
struct comparison {
    int version;
    size_t found;
};

static const char foreign[] = "made by another version of Assay, or by another program";

static int compare_object(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct comparison *comparison = context;
    if (count != 2)
        return error_set(err, ERROR_FORMAT, "the database's table of contents is damaged");
    /* The index that belongs to a primary key has no text of its own. */
    if (cells[1].kind == CELL_NULL && strcmp(cell_as_text(&cells[0]), "index") == 0)
        return 0;
    if (!schema_has(comparison->version, cell_as_text(&cells[1])))
        return error_set(err, ERROR_FORMAT, "%s", foreign);
    comparison->found++;
    return 0;
}

static int check_schema(struct sqlite *sqlite, int version, struct error *err)
{
    struct comparison comparison = {.version = version};
    if (run(&sqlite->base, "SELECT type, sql FROM sqlite_master", NULL, 0, compare_object, &comparison, err))
        return -1;
    return comparison.found == schema_objects(version) ? 0 : error_set(err, ERROR_FORMAT, "%s", foreign);
}

/* The version of the file's tables, which are checked; 0: it has none. */
static int read_version(struct sqlite *sqlite, int *version, struct error *err)
{
    int64_t objects = 0, user = 0, application = 0;
    *version = 0;
    if (run(&sqlite->base, "SELECT count(*) FROM sqlite_master", NULL, 0, read_number, &objects, err) ||
        run(&sqlite->base, "PRAGMA user_version", NULL, 0, read_number, &user, err) ||
        run(&sqlite->base, "PRAGMA application_id", NULL, 0, read_number, &application, err))
        return -1;
    if (!objects)
        return 0;
    if (user > schema_version() && application == APPLICATION)
        return error_set(err, ERROR_FORMAT,
                         "made by a newer version of Assay (its tables are of version %lld, and this program "
                         "knows them up to %d)",
                         (long long)user, schema_version());
    *version = user <= 0 ? 1 : user > schema_version() ? schema_version() : (int)user; /* 1 had no number */
    return check_schema(sqlite, *version, err);
}

static int set_number(struct sqlite *sqlite, const char *name, int number, struct error *err)
{
    char text[60];
    sqlite3_snprintf(sizeof text, text, "PRAGMA %s = %d", name, number);
    return pragma(sqlite, text, err);
}

/* What the file lacks, from nothing or from an older version. Another process may have been first. */
static int upgrade(void *context, struct error *err)
{
    struct sqlite *sqlite = context;
    int version;
    if (read_version(sqlite, &version, err))
        return -1;
    sqlite->base.version = schema_version();
    if (version == schema_version())
        return 0;
    for (size_t i = schema_statements(version); i < schema_statements(schema_version()); i++)
        if (database_run(&sqlite->base, schema_statement(i), NULL, 0, NULL, NULL, err))
            return -1;
    return set_number(sqlite, "application_id", APPLICATION, err) ||
                   set_number(sqlite, "user_version", schema_version(), err)
               ? -1
               : 0;
}

static int check_tables(struct sqlite *sqlite, enum database_mode mode, struct error *err)
{
    int *version = &sqlite->base.version;
    if (mode == DATABASE_CREATE)
        return database_transact(&sqlite->base, upgrade, sqlite, err);
    if (read_version(sqlite, version, err))
        return -1;
    if (!*version)
        return error_set(err, ERROR_FORMAT, "%s", foreign);
    return mode == DATABASE_READ || *version == schema_version()
               ? 0
               : database_transact(&sqlite->base, upgrade, sqlite, err);
}

static int prepare(struct sqlite *sqlite, enum database_mode mode, struct error *err)
{
    sqlite3_busy_timeout(sqlite->handle, BUSY_MILLISECONDS);
    sqlite3_limit(sqlite->handle, SQLITE_LIMIT_LENGTH, DATABASE_TEXT_LIMIT);
    sqlite3_db_config(sqlite->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(sqlite->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if (pragma(sqlite, "PRAGMA cell_size_check = ON", err) || pragma(sqlite, "PRAGMA mmap_size = 0", err))
        return -1;
    if (check_tables(sqlite, mode, err))
        return -1;
    if (mode == DATABASE_READ)
        return pragma(sqlite, "PRAGMA query_only = ON", err);
    /* NORMAL: a killed process loses nothing; a machine that loses power may lose its last seconds. */
    return pragma(sqlite, "PRAGMA journal_mode = WAL", err) ||
                   pragma(sqlite, "PRAGMA synchronous = NORMAL", err)
               ? -1
               : 0;
}

/* SQLite opens files by path: the folder's has no link, and with this flag SQLite refuses one at the end. */
enum { OPEN_FLAGS = SQLITE_OPEN_NOFOLLOW };

/* A folder that cannot be written to has no place for the WAL's index: the file is then read as it is. */
static int open_unchanging(struct sqlite *sqlite, const char *path)
{
    struct str uri;
    str_init(&uri);
    str_add(&uri, "file:");
    for (const char *c = path; *c; c++)
        str_printf(&uri, strchr("%?#", *c) ? "%%%02x" : "%c", (unsigned char)*c);
    str_add(&uri, "?immutable=1");
    sqlite3_close_v2(sqlite->handle);
    int flags = OPEN_FLAGS | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    int code = sqlite3_open_v2(uri.data, &sqlite->handle, flags, NULL);
    str_release(&uri);
    return code;
}

static bool is_unwritable(const struct sqlite *sqlite)
{
    int code = sqlite3_errcode(sqlite->handle) & 0xff;
    return code == SQLITE_CANTOPEN || code == SQLITE_READONLY;
}

/* The file and those that SQLite makes or reads beside it. */
static int check_files(const struct folder *in, const char *name, struct error *err)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    struct str file;
    int status = 0;
    str_init(&file);
    for (size_t i = 0; i < sizeof endings / sizeof *endings && !status; i++) {
        str_clear(&file);
        str_printf(&file, "%s%s", name, endings[i]);
        status = folder_check_in_place(in, file.data, err);
    }
    str_release(&file);
    return status;
}

static int open_file(struct sqlite *sqlite, const char *path, enum database_mode mode, struct error *err)
{
    /* A reader may write where it can: the last one to leave takes the WAL's files along. */
    int flags = OPEN_FLAGS | SQLITE_OPEN_READWRITE | (mode == DATABASE_CREATE ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(path, &sqlite->handle, flags, NULL) != SQLITE_OK) {
        fail(sqlite, err);
        return -1;
    }
    int status = prepare(sqlite, mode, err);
    if (status && mode == DATABASE_READ && is_unwritable(sqlite) &&
        open_unchanging(sqlite, path) == SQLITE_OK)
        status = prepare(sqlite, mode, err);
    return status;
}

int database_open_sqlite(struct database **database, const struct folder *in, const char *name,
                         enum database_mode mode, struct error *err)
{
    *database = NULL;
    if (check_files(in, name, err))
        return -1;
    char *folder = folder_real_path(in, err), *path = folder ? file_join(folder, name) : NULL;
    struct sqlite *sqlite = memory_zeroed(1, sizeof *sqlite);
    sqlite->base.driver = &driver;
    sqlite->base.place = "";
    int status = path ? open_file(sqlite, path, mode, err) : -1;
    if (status && path)
        folder_prefix(in, name, err);
    if (status)
        close_it(&sqlite->base);
    else
        *database = &sqlite->base;
    free(path);
    free(folder);
    return status;
}
