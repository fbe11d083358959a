/*
 * How often each engine of a campaign in PostgreSQL died or was not there, by verdict (CLASS_DEATH,
 * CLASS_TROUBLE): what the counters of its ranges say together. The database adds them up, so that no list of
 * ranges has to be read.
 */
#ifndef FINDINGS_ENGINE_DEATHS_H
#define FINDINGS_ENGINE_DEATHS_H

#include "base/error.h"

#include <stddef.h>

enum { DEATH_KINDS = 12, DEATH_LABEL = 200 };

struct engine_deaths {
    char engine[DEATH_LABEL]; /* its label */
    size_t count;
    struct death_count {
        const char *kind; /* the verdict's word: "crash", "hang" */
        double cases;
    } kinds[DEATH_KINDS];
};

/* Visits the engines in the order of the campaign's panel. */
int engine_deaths_visit(const char *url, const char *campaign,
                        int (*visit)(void *context, const struct engine_deaths *deaths, struct error *err),
                        void *context, struct error *err);

#endif
