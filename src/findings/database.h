/*
 * As much of a relational database as the store needs: statements with parameters, rows and transactions.
 * There is one driver for each kind of database. The SQL is written so that both SQLite and PostgreSQL accept
 * it: parameters are $1, $2 and so on, numbered in the order of their first use; tables are named @findings,
 * where @ stands for the place of the campaign; {now} is the database's clock, in seconds since 1970; {row}
 * is a column that puts rows in the order in which they came, where the database has one, or else
 * "signature"; conflicts are handled by ON CONFLICT, results of changes by RETURNING; the types are TEXT,
 * BIGINT and DOUBLE PRECISION.
 *
 * The tables are those of findings/schema.h. An older database is upgraded in place, in one transaction, when
 * it is opened for writing; when it is opened for reading it stays as it is, and `version` tells what it has.
 * One of a newer version is refused.
 *
 * Files are not trusted: a damaged one causes an error with a message, never a crash, and no text that is
 * read is longer than DATABASE_TEXT_LIMIT.
 */
#ifndef FINDINGS_DATABASE_H
#define FINDINGS_DATABASE_H

#include "base/folder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATABASE_TEXT_LIMIT = 16 << 20, DATABASE_MAX_PARAMS = 24 };

enum cell_kind { CELL_NULL, CELL_INT, CELL_REAL, CELL_TEXT };

struct cell {
    enum cell_kind kind;
    int64_t number;
    double real;
    const char *text; /* CELL_TEXT; in a row it lives until the row function returns */
};

static inline struct cell cell_text(const char *text) /* NULL: an SQL null */
{
    return (struct cell){.kind = text ? CELL_TEXT : CELL_NULL, .text = text};
}
static inline struct cell cell_int(int64_t number)
{
    return (struct cell){.kind = CELL_INT, .number = number};
}
static inline struct cell cell_real(double real)
{
    return (struct cell){.kind = CELL_REAL, .real = real};
}

/* Read a cell as the type that is needed. A cell of another type is read as "" or 0. */
const char *cell_as_text(const struct cell *cell);
int64_t cell_as_int(const struct cell *cell);
double cell_as_real(const struct cell *cell);

/* Is called for each row. A result other than 0 ends the statement, which then returns it. */
typedef int database_row(void *context, const struct cell *cells, size_t count, struct error *err);

/* Rows of one column, for statements that ask little: the context is a bool that becomes true when there is a
 * row, an int64_t that becomes the number in it unless that is null, or a struct str to which the text is
 * appended. */
database_row row_noted, row_number, row_text;

struct database;
struct database_driver {
    int (*run)(struct database *database, const char *sql, const struct cell *params, size_t count,
               database_row *row, void *context, struct error *err);
    int (*begin)(struct database *database, struct error *err); /* for writing */
    int (*end)(struct database *database, bool commit, struct error *err);
    /* Whether the transaction that has just failed may succeed when it is run again; waits a little before.
     * NULL: never. */
    bool (*again)(struct database *database);
    /* Called at the start of a transaction that hands out work: until it ends, no other transaction of the
     * campaign that begins with this call can run. What it writes may be lost when the server dies, but never
     * only a part of it. NULL: every transaction is like that. */
    int (*reserve)(struct database *database, struct error *err);
    /* Until the transaction ends, no other one of the campaign gets the lock of this name. NULL: there is
     * only one transaction at a time. */
    int (*lock)(struct database *database, const char *name, struct error *err);
    void (*close)(struct database *database);
    const char *now, *row; /* what {now} and {row} stand for */
};

struct database {
    const struct database_driver *driver;
    const char *place; /* what @ in a statement stands for: "" or "\"assay_night\"." */
    int version;       /* of its tables */
    /* the driver's own members follow in its own struct */
};

/* A list of parameters and their number. */
#define CELLS(...) \
    (const struct cell[]){__VA_ARGS__}, sizeof((struct cell[]){__VA_ARGS__}) / sizeof(struct cell)

/* Runs one statement. Rows are given to `row`, unless that is NULL. */
int database_run(struct database *database, const char *sql, const struct cell *params, size_t count,
                 database_row *row, void *context, struct error *err);

/* Runs a transaction, again and again while the driver says that this may help: so `body` must begin anew
 * each time, and do no harm when it is run after it has already succeeded. */
int database_transact(struct database *database, int (*body)(void *context, struct error *err), void *context,
                      struct error *err);

/* Within a transaction: waits until no other one has the lock of this name. */
int database_lock(struct database *database, const char *name, struct error *err);

/* The same as database_transact, after the driver's `reserve`. */
int database_reserve(struct database *database, int (*body)(void *context, struct error *err), void *context,
                     struct error *err);

enum database_mode { DATABASE_READ, DATABASE_WRITE, DATABASE_CREATE };

/*
 * Opens a database in a file of a folder; the caller closes it through its driver. Neither the file nor those
 * that SQLite has beside it may be a link, or have names elsewhere (base/folder.h). An existing file must
 * have been made with exactly the words of its version's schema, else it is refused with ERROR_FORMAT, so
 * that no file can bring views, triggers or columns of its own. Other processes may have the file open at the
 * same time, and a process that is killed leaves it intact.
 */
int database_open_sqlite(struct database **database, const struct folder *in, const char *name,
                         enum database_mode mode, struct error *err);

/*
 * Opens the tables of one campaign in a PostgreSQL database, of which there may be many in one database.
 * `url` is what libpq takes ("postgresql://user@host/name", "service=assay"); it must not hold a password.
 * Without a campaign (NULL) only what belongs to none can be read: the book, assay.campaigns; then
 * ERROR_NOT_FOUND means that there is none. Fails with ERROR_UNSUPPORTED where libpq is missing, here or
 * where Assay was built, and when the tables may run code of their owner's (findings/postgres_tables.h).
 *
 * A reader is one transaction that changes nothing and lasts until it is closed; it is told when a statement
 * takes longer than half a minute, and gives up when a signal to end has come (base/interrupt.h).
 */
int database_open_postgres(struct database **database, const char *url, const char *campaign,
                           enum database_mode mode, struct error *err);

#endif
