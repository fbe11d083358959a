/*
 * libpq, which is loaded when a database of PostgreSQL is asked for: it brings some twenty libraries along,
 * and who has no such database need not have it.
 */
#ifndef FINDINGS_POSTGRES_LIBRARY_H
#define FINDINGS_POSTGRES_LIBRARY_H

#include "base/error.h"

#include <libpq-fe.h>

#define POSTGRES_FUNCTIONS(F) \
    F(PQclear)                \
    F(PQconnectdbParams)      \
    F(PQconninfoFree)         \
    F(PQconninfoParse)        \
    F(PQconsumeInput)         \
    F(PQerrorMessage)         \
    F(PQfinish)               \
    F(PQflush)                \
    F(PQfreemem)              \
    F(PQftype)                \
    F(PQgetResult)            \
    F(PQgetisnull)            \
    F(PQgetlength)            \
    F(PQgetvalue)             \
    F(PQisBusy)               \
    F(PQnfields)              \
    F(PQntuples)              \
    F(PQresultErrorField)     \
    F(PQresultErrorMessage)   \
    F(PQresultStatus)         \
    F(PQsendQuery)            \
    F(PQsendQueryParams)      \
    F(PQserverVersion)        \
    F(PQsetNoticeProcessor)   \
    F(PQsetnonblocking)       \
    F(PQsocket)               \
    F(PQstatus)

struct postgres_library {
#define POSTGRES_MEMBER(name) __typeof__(&name) name;
    POSTGRES_FUNCTIONS(POSTGRES_MEMBER)
#undef POSTGRES_MEMBER
};

/* Stays loaded until the process ends. Fails with ERROR_UNSUPPORTED where libpq is not installed. */
int postgres_library_load(struct postgres_library *library, struct error *err);

#endif
