/*
 * A relational database, as little of one as the store needs: statements with parameters, rows, transactions.
 * One driver a kind of database; the SQL that goes through is written so that SQLite and PostgreSQL both take
 * it: parameters are $1, $2 ..., numbered in the order of their first use; conflicts by ON CONFLICT, results
 * of changes by RETURNING; types are TEXT, BIGINT and DOUBLE PRECISION.
 *
 * What is read is hostile: a damaged file is an error with a message, never a crash, and no text is longer
 * than DATABASE_TEXT_LIMIT.
 */
#ifndef FINDINGS_DATABASE_H
#define FINDINGS_DATABASE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATABASE_TEXT_LIMIT = 16 << 20, DATABASE_MAX_PARAMS = 24 };

enum cell_kind { CELL_NULL, CELL_INT, CELL_REAL, CELL_TEXT };

struct cell {
    enum cell_kind kind;
    int64_t number;
    double real;
    const char *text; /* CELL_TEXT; from a row: until the row function returns */
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

/* A cell read as what is needed, whatever the file holds there: "" and 0 where it is something else. */
const char *cell_as_text(const struct cell *cell);
int64_t cell_as_int(const struct cell *cell);
double cell_as_real(const struct cell *cell);

/* Called for each row; other than 0 ends the statement with that result. */
typedef int database_row(void *context, const struct cell *cells, size_t count, struct error *err);

struct database;
struct database_driver {
    int (*run)(struct database *database, const char *sql, const struct cell *params, size_t count,
               database_row *row, void *context, struct error *err);
    int (*begin)(struct database *database, struct error *err); /* for writing */
    int (*end)(struct database *database, bool commit, struct error *err);
    void (*close)(struct database *database);
    /* Behind a SELECT whose row is about to be changed: "" or " FOR UPDATE SKIP LOCKED". */
    const char *lock_row;
};

struct database {
    const struct database_driver *driver;
    /* the driver's own members follow in its own struct */
};

enum database_mode { DATABASE_READ, DATABASE_WRITE, DATABASE_CREATE };

/*
 * A database in a file. schema: the statements that make its tables, each a CREATE TABLE, NULL-terminated; a
 * new file gets them, one that exists must have been made by exactly these, and is else refused with
 * ERROR_FORMAT. So no file can bring views, triggers or columns of its own. Another process may have it open,
 * too; a process killed at any point leaves it whole.
 */
int database_open_sqlite(struct database **database, const char *path, enum database_mode mode,
                         const char *const *schema, struct error *err);

#endif
