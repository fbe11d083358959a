#include "engine/pool.h"

int pool_starts(struct pool *pool, int engine, struct error *err)
{
    const struct engine_info *info = pool_engine(pool, engine);
    if (info->welcome)
        return 0;
    /* An engine that is down tells why with its next job; one that comes up now does not see this one. */
    struct job job = {.engine = engine};
    struct result result;
    result_init(&result);
    int status = pool_run_one(pool, &job, &result, err);
    if (status == 0 && !info->welcome)
        status = error_set(err, ERROR_NOT_FOUND, "%s",
                           result.message ? result.message : outcome_name(result.outcome));
    result_release(&result);
    return status;
}
