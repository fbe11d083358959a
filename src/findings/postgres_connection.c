#include "findings/postgres_connection.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/str.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum { NAP_MS = 100 };

int postgres_fail(struct error *err, enum error_code code, const char *text)
{
    int length = (int)strcspn(text, "\n");
    return error_set(err, code, "PostgreSQL: %.*s", length, text);
}

/* libpq marks what programs should not show, and newer releases know secrets that they do not mark. */
static bool is_secret(const PQconninfoOption *option)
{
    static const char *const secrets[] = {"oauth_client_secret", "scram_client_key", "scram_server_key"};
    bool secret = strchr(option->dispchar, '*') != NULL;
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        secret |= text_equal(option->keyword, secrets[i]);
    return secret;
}

int postgres_check_address(const struct postgres_library *pq, const char *url, struct error *err)
{
    char *text = NULL;
    bool secret = false;
    PQconninfoOption *options = pq->PQconninfoParse(url, &text);
    if (!options) {
        postgres_fail(err, ERROR_USAGE, text ? text : "no memory");
        pq->PQfreemem(text);
        return -1;
    }
    for (const PQconninfoOption *o = options; o->keyword; o++)
        secret |= o->val && is_secret(o);
    pq->PQconninfoFree(options);
    return secret ? error_set(err, ERROR_USAGE,
                              "the address of the database holds a password; put it into ~/.pgpass, a "
                              "service file or PGPASSWORD, and leave it out of the address")
                  : 0;
}

/* What fails is said by errors. */
static void no_notice(void *context, const char *message)
{
    (void)context;
    (void)message;
}

int postgres_connect(const struct postgres_library *pq, PGconn **connection, const char *url,
                     struct error *err)
{
    static const char *const words[] = {"dbname",
                                        "connect_timeout",
                                        "client_encoding",
                                        "application_name",
                                        "keepalives_idle",
                                        "tcp_user_timeout",
                                        NULL};
    const char *const values[] = {url, "10", "UTF8", "assay", "30", "60000", NULL};
    if (*connection && pq->PQstatus(*connection) == CONNECTION_OK)
        return 0;
    pq->PQfinish(*connection);
    *connection = pq->PQconnectdbParams(words, values, 1);
    pq->PQsetNoticeProcessor(*connection, no_notice, NULL);
    if (pq->PQstatus(*connection) != CONNECTION_OK || pq->PQsetnonblocking(*connection, 1))
        return postgres_fail(err, ERROR_IO, pq->PQerrorMessage(*connection));
    return 0;
}

/* Sends what is left to send, and waits until there is something to read or the time is over. */
static int wait_for_server(const struct postgres_library *pq, PGconn *connection, double until,
                           bool heeds_signals, struct error *err)
{
    int unsent = pq->PQflush(connection);
    if (unsent < 0)
        return postgres_fail(err, ERROR_IO, pq->PQerrorMessage(connection));
    struct pollfd poller = {.fd = pq->PQsocket(connection),
                            .events = (short)(POLLIN | (unsent ? POLLOUT : 0))};
    if (poll(&poller, 1, NAP_MS) < 0 && errno != EINTR)
        return error_errno(err, "PostgreSQL: cannot wait for the server");
    if (heeds_signals && interrupt_pending())
        return error_set(err, ERROR_IO, "PostgreSQL: interrupted while waiting for the server");
    if (clock_seconds() > until)
        return error_set(err, ERROR_IO, "PostgreSQL: the server gives no answer");
    if (poller.revents && !pq->PQconsumeInput(connection))
        return postgres_fail(err, ERROR_IO, pq->PQerrorMessage(connection));
    return 0;
}

static bool is_done(const struct postgres_library *pq, const PGresult *result)
{
    ExecStatusType status = pq->PQresultStatus(result);
    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

/* Takes all results of what was sent. A server may answer by what was not asked for, such as COPY without
 * end: that is a failure. */
static int take_results(const struct postgres_library *pq, PGconn *connection,
                        const struct postgres_patience *patience, PGresult **kept, struct error *err)
{
    double until = clock_seconds() + patience->seconds;
    for (;;) {
        while (pq->PQisBusy(connection))
            if (wait_for_server(pq, connection, until, patience->heeds_signals, err))
                return -1;
        PGresult *result = pq->PQgetResult(connection);
        if (!result)
            return 0;
        bool failed = *kept && !is_done(pq, *kept);
        if (failed) {
            pq->PQclear(result);
        } else {
            pq->PQclear(*kept);
            *kept = result;
        }
        ExecStatusType status = pq->PQresultStatus(*kept);
        if (!is_done(pq, *kept) && status != PGRES_FATAL_ERROR)
            return error_set(err, ERROR_IO, "PostgreSQL: the server answers what was not asked for");
    }
}

PGresult *postgres_execute(const struct postgres_library *pq, PGconn **connection, const char *sql,
                           const struct postgres_values *values, const struct postgres_patience *patience,
                           struct error *err)
{
    PGresult *result = NULL;
    int sent = values ? pq->PQsendQueryParams(*connection, sql, (int)values->count, values->types,
                                              values->texts, NULL, NULL, 0)
                      : pq->PQsendQuery(*connection, sql);
    int status = sent ? take_results(pq, *connection, patience, &result, err)
                      : postgres_fail(err, ERROR_IO, pq->PQerrorMessage(*connection));
    if (!status && !result)
        status = postgres_fail(err, ERROR_IO, pq->PQerrorMessage(*connection));
    if (status) {
        pq->PQclear(result);
        /* What it still answers would be taken for the answer to the next statement. */
        pq->PQfinish(*connection);
        *connection = NULL;
        return NULL;
    }
    return result;
}
