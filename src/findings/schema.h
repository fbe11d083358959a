/*
 * The tables of a campaign, as the numbered files in src/findings/schema make them: file 1 makes a new
 * database, and each further one changes what the one before it left. A database has the version of the last
 * file that was applied to it. A file that was released is never changed; what is new comes in a new file.
 */
#ifndef FINDINGS_SCHEMA_H
#define FINDINGS_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

int schema_version(void); /* the newest, which this program writes */

/* The number of statements of all files up to this version. */
size_t schema_statements(int version);

/* A statement, with @ before each table's name as in findings/database.h. */
const char *schema_statement(size_t number);

/* Whether the text, in which @ is left out, is that of a table or index of a database of this version. */
bool schema_has(int version, const char *text);

/*
 * Visits the tables of such a database. `columns` has them as PostgreSQL describes them: "signature text,
 * factor double precision, number bigint default -1". A result other than 0 ends this and is returned.
 */
int schema_tables(int version, int (*visit)(void *context, const char *table, const char *columns),
                  void *context);

/* How many tables and indices such a database has. */
size_t schema_objects(int version);

#endif
