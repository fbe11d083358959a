#include "engine/outcome.h"

#include <stdlib.h>

const char *outcome_name(enum outcome outcome)
{
    static const char *const names[OUTCOME_COUNT] = {
        [OUTCOME_UNTESTED] = "untested",   [OUTCOME_OK] = "ok",         [OUTCOME_UNSUPPORTED] = "unsupported",
        [OUTCOME_REJECTED] = "rejected",   [OUTCOME_FAILED] = "failed", [OUTCOME_CRASH] = "crash",
        [OUTCOME_HANG] = "hang",           [OUTCOME_MEMORY] = "memory", [OUTCOME_GARBAGE] = "garbage",
        [OUTCOME_NO_ENGINE] = "no engine",
    };
    return outcome < OUTCOME_COUNT ? names[outcome] : "unknown";
}

const char *stage_name(enum stage stage)
{
    static const char *const names[] = {
        [STAGE_NONE] = "none", [STAGE_START] = "start",   [STAGE_LOAD] = "load",
        [STAGE_RUN] = "run",   [STAGE_UNLOAD] = "unload",
    };
    return stage <= STAGE_UNLOAD ? names[stage] : "unknown";
}

void result_init(struct result *result)
{
    *result = (struct result){.outcome = OUTCOME_UNTESTED, .exit_status = -1};
}

void result_release(struct result *result)
{
    free(result->message);
    free(result->log);
    for (size_t i = 0; result->borrowed && result->borrowed[i]; i++)
        free(result->borrowed[i]);
    free(result->borrowed);
    wire_bounds_free(result->bounds, result->count);
    if (result->outputs)
        values_free(result->outputs, result->count);
    result_init(result);
}
