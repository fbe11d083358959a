/*
 * What maintainers of a compiler of models ask of a report on a wrong number: how far eager and compiled
 * answers are from float64. An engine's file names the knob that stands for them (`float64 = mode`,
 * docs/engines.md); the case is run with each of its values, and the model in float64 (model/retype.h) on the
 * setting that runs graphs as they are written.
 */
#ifndef CAMPAIGN_FLOAT64_ANSWERS_H
#define CAMPAIGN_FLOAT64_ANSWERS_H

#include "case/test_case.h"
#include "engine/pool.h"
#include "findings/bundle.h"

struct float64_answers {
    struct arena arena;
    struct bundle_float64 said;
    struct result *wide, *answers; /* those of `said` */
};

/*
 * Asks the engine. False, with nothing to be released, when its file names no such knob, or when it does not
 * compute the model in float64.
 */
bool float64_ask(struct float64_answers *answers, struct registry *registry, const struct engine_info *engine,
                 const struct test_case *test);
void float64_release(struct float64_answers *answers);

#endif
