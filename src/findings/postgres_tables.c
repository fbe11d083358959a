#include "findings/postgres_tables.h"

#include "findings/schema.h"

#include <string.h>

#define BOOK_COLUMNS "name text, tables bigint, made bigint"
enum { MOST_TABLES = 32, NAME_SIZE = 64 /* PostgreSQL's names are shorter */ };

/*
 * A row for each relation. pg_class tells of rules, triggers (foreign keys are some), children and check
 * constraints. A default is compared as a number, whether or not the server writes it in quotes and with its
 * type; the one condition of an index is that of leases_open.
 */
static const char relations_sql[] =
    "SELECT n.nspname, c.relname, "
    "CASE WHEN c.relkind IN ('v', 'm') THEN 'it is a view' "
    "WHEN c.relkind <> 'r' OR c.relpersistence <> 'p' OR c.reloftype <> 0 THEN 'it is no plain table' "
    "WHEN c.relispartition OR c.relhassubclass THEN 'it has parts in other tables' "
    "WHEN c.relowner <> n.nspowner THEN 'it belongs to another role than its schema' "
    "WHEN c.relrowsecurity OR c.relforcerowsecurity THEN 'it has row security' "
    "WHEN c.relhastriggers THEN 'it has a trigger or a foreign key' "
    "WHEN c.relhasrules THEN 'it has a rule' "
    "WHEN c.relchecks <> 0 THEN 'it has a check' "
    "WHEN EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND (i.indexprs IS NOT NULL OR "
    "pg_get_expr(i.indpred, i.indrelid) <> '(finished = (0)::double precision)')) "
    "THEN 'it has an index of an expression' ELSE '' END, "
    "(SELECT string_agg(concat(a.attname, ' ', format_type(a.atttypid, a.atttypmod), "
    "CASE WHEN a.attgenerated <> '' OR a.attidentity <> '' THEN ' generated' END, "
    "(SELECT concat(' default ', regexp_replace(pg_get_expr(d.adbin, d.adrelid), "
    "'^''?(-?[0-9]+)''?(::integer|::bigint)?$', '\\1')) FROM pg_attrdef d "
    "WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum)), ', ' ORDER BY a.attnum) "
    "FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), "
    "o.rolname, "
    "CASE WHEN o.rolsuper OR o.rolname = session_user THEN 'trusted' "
    "WHEN pg_has_role(session_user, 'pg_execute_server_program', 'MEMBER') "
    "OR pg_has_role(session_user, 'pg_write_server_files', 'MEMBER') "
    "OR pg_has_role(session_user, 'pg_read_server_files', 'MEMBER') THEN 'refused' ELSE 'other' END "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner "
    "WHERE (n.nspname = 'assay' AND c.relname = 'campaigns') OR (n.nspname = $1 "
    "AND c.relkind IN ('r', 'v', 'm', 'f', 'p'))";

struct expected {
    char schema[NAME_SIZE], table[NAME_SIZE];
    struct str columns;
    bool found;
};

struct check {
    const char *schema;
    size_t count;
    struct expected tables[MOST_TABLES];
    char owner[NAME_SIZE]; /* of the book; "": not seen yet */
    bool trusted;
};

static void expect(struct check *check, const char *schema, const char *table, const char *columns)
{
    if (check->count == MOST_TABLES)
        return;
    struct expected *expected = &check->tables[check->count++];
    str_init(&expected->columns);
    str_add(&expected->columns, columns);
    strncpy(expected->schema, schema, NAME_SIZE - 1);
    strncpy(expected->table, table, NAME_SIZE - 1);
}

static int expect_table(void *context, const char *table, const char *columns)
{
    struct check *check = context;
    expect(check, check->schema, table, columns);
    return 0;
}

static struct expected *find(struct check *check, const char *schema, const char *table)
{
    for (size_t i = 0; i < check->count; i++)
        if (text_equal(check->tables[i].schema, schema) && text_equal(check->tables[i].table, table))
            return &check->tables[i];
    return NULL;
}

static int check_owner(struct check *check, const char *schema, const char *owner, const char *standing,
                       struct error *err)
{
    if (!*check->owner)
        strncpy(check->owner, owner, NAME_SIZE - 1);
    if (!text_equal(check->owner, owner))
        return error_set(err, ERROR_UNSUPPORTED,
                         "the schema %.60s belongs to the role %.60s, and the list of campaigns (or another "
                         "table) to %.60s: one role has to own a database's campaigns",
                         schema, owner, check->owner);
    if (text_equal(standing, "refused"))
        return error_set(err, ERROR_UNSUPPORTED,
                         "the campaigns belong to the role %.60s, and you are connected with the rights of a "
                         "superuser, which %.60s might borrow: connect as another role, such as assay_reader "
                         "(docs/scale.md)",
                         owner, owner);
    check->trusted = check->trusted && text_equal(standing, "trusted");
    return 0;
}

/* Relations that Assay does not know are not looked at: no statement names them. */
static int check_row(void *context, const struct cell *cells, size_t count, struct error *err)
{
    struct check *check = context;
    if (count != 6)
        return error_set(err, ERROR_UNSUPPORTED, "a table is described by %zu columns", count);
    const char *schema = cell_as_text(&cells[0]), *table = cell_as_text(&cells[1]);
    const char *why = cell_as_text(&cells[2]), *columns = cell_as_text(&cells[3]);
    struct expected *expected = find(check, schema, table);
    if (!expected)
        return 0;
    expected->found = true;
    if (*why)
        return error_set(err, ERROR_UNSUPPORTED, "the table %s.%s is not as Assay makes it: %s", schema,
                         table, why);
    if (!text_equal(columns, expected->columns.data))
        return error_set(err, ERROR_UNSUPPORTED,
                         "the table %s.%s is not as Assay makes it: it has the columns %.300s", schema, table,
                         columns);
    return check_owner(check, schema, cell_as_text(&cells[4]), cell_as_text(&cells[5]), err);
}

static int check_all_found(const struct check *check, struct error *err)
{
    for (size_t i = 0; i < check->count; i++)
        if (!check->tables[i].found)
            return error_set(err, ERROR_UNSUPPORTED, "the table %s.%s is missing", check->tables[i].schema,
                             check->tables[i].table);
    return 0;
}

int postgres_tables_check(struct database *database, const char *schema, int version, bool *trusted,
                          struct error *err)
{
    struct check check = {.schema = schema, .trusted = true};
    expect(&check, POSTGRES_BOOK, "campaigns", BOOK_COLUMNS);
    if (schema)
        schema_tables(version, expect_table, &check);
    int status = database_run(database, relations_sql, CELLS(cell_text(schema)), check_row, &check, err);
    if (!status)
        status = check_all_found(&check, err);
    for (size_t i = 0; i < check.count; i++)
        str_release(&check.tables[i].columns);
    *trusted = !status && check.trusted;
    return status;
}

struct locking {
    struct str *sql;
    const char *place, *between;
};

static int add_name(void *context, const char *table, const char *columns)
{
    struct locking *locking = context;
    (void)columns;
    str_printf(locking->sql, "%s%s%s", locking->between, locking->place, table);
    locking->between = ", ";
    return 0;
}

void postgres_tables_lock(struct str *sql, const char *place, int version, bool for_writing)
{
    struct locking locking = {sql, place, "LOCK TABLE "};
    schema_tables(version, add_name, &locking);
    /* The weaker one keeps tables from being replaced, the stronger one triggers and indices away as well. */
    str_printf(sql, " IN %s MODE", for_writing ? "ROW EXCLUSIVE" : "ACCESS SHARE");
}
