/* Where libpq is not installed: campaigns live in SQLite files alone. */
#include "findings/database.h"

int database_open_postgres(struct database **database, const char *url, const char *campaign,
                           enum database_mode mode, struct error *err)
{
    (void)url;
    (void)campaign;
    (void)mode;
    *database = NULL;
    return error_set(err, ERROR_UNSUPPORTED,
                     "this build of Assay has no PostgreSQL; install libpq-dev and build it again");
}
