/*
 * A case in an engine's own language. Adapters that translate models (libtorch's writes TorchScript) have a
 * knob `source`, the path of a file where they write lines of programs that make the model, those in each
 * language after a line "@LANGUAGE"; the report's programs are made around them (findings/program.h).
 */
#ifndef CAMPAIGN_ENGINE_SOURCE_H
#define CAMPAIGN_ENGINE_SOURCE_H

#include "case/test_case.h"
#include "engine/pool.h"

/*
 * Runs the case with that knob and returns the lines, on the heap; NULL when the engine has no such knob or
 * wrote nothing, which is not a failure.
 */
char *engine_source_of(struct registry *registry, const struct engine_info *engine,
                       const struct test_case *test);

#endif
