/*
 * A connection to a PostgreSQL server, which may hang and need not be a friend: nothing is waited for longer
 * than it is given, and who only reads gives up when a signal to end has come.
 */
#ifndef FINDINGS_POSTGRES_CONNECTION_H
#define FINDINGS_POSTGRES_CONNECTION_H

#include "findings/postgres_library.h"

#include <stdbool.h>
#include <stddef.h>

/* Fails unless the address is one, and holds no password: everyone who lists processes would see it. */
int postgres_check_address(const struct postgres_library *pq, const char *url, struct error *err);

/* Connects, unless *connection is alive already. The caller frees it by PQfinish, also after a failure. */
int postgres_connect(const struct postgres_library *pq, PGconn **connection, const char *url,
                     struct error *err);

/* How long an answer is waited for. */
struct postgres_patience {
    double seconds;
    bool heeds_signals; /* see base/interrupt.h */
};

struct postgres_values {
    size_t count;
    const Oid *types;
    const char *const *texts;
};

/*
 * Runs a statement, or where `values` is NULL one or several, and gives the result of the last one or of the
 * first that failed, to be freed by PQclear. NULL with an error, and a dead connection: it was lost, or gave
 * no answer in time.
 */
PGresult *postgres_execute(const struct postgres_library *pq, PGconn **connection, const char *sql,
                           const struct postgres_values *values, const struct postgres_patience *patience,
                           struct error *err);

/* The first line of what libpq says. */
int postgres_fail(struct error *err, enum error_code code, const char *text);

#endif
