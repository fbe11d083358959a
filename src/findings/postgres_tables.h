/*
 * Whether the tables of a campaign in PostgreSQL are what Assay makes: plain tables of the expected columns,
 * which all belong to one role, with nothing that runs anyone's code when they are read or written: no views,
 * rules, triggers, row security, inheritance, constraints, defaults or indices of expressions. Their owner
 * could otherwise run functions with the rights of whoever reads or works on the campaign.
 *
 * What was checked can be changed a moment later. So the tables are locked before they are checked, and stay
 * so until the transaction ends.
 */
#ifndef FINDINGS_POSTGRES_TABLES_H
#define FINDINGS_POSTGRES_TABLES_H

#include "base/str.h"
#include "findings/database.h"

/* The schema of the book of campaigns and of no campaign. */
#define POSTGRES_BOOK "assay"

/* Appends the statement that locks the tables of a campaign of this version. */
void postgres_tables_lock(struct str *sql, const char *place, int version, bool for_writing);

/*
 * Checks the book and, unless it is NULL, the schema of a campaign of this version. *trusted: the owner may
 * do everything with which the caller is connected, so that later changes of the tables gain nothing. Fails
 * with ERROR_UNSUPPORTED when a table is not as Assay makes it, and when the caller is connected with the
 * rights of the server itself and the owner has them not.
 */
int postgres_tables_check(struct database *database, const char *schema, int version, bool *trusted,
                          struct error *err);

#endif
