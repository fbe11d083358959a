/*
 * Whether an adapter keeps the protocol (docs/writing-an-engine.md), step by step: it starts, says hello,
 * loads and runs models of one node, gives the wanted outputs, refuses what it should, ends. Nothing is said
 * about the engine's numbers beyond that a value passes through unchanged: that is for `conform`.
 */
#ifndef ENGINE_ADAPTER_CHECK_H
#define ENGINE_ADAPTER_CHECK_H

#include "engine/registry.h"

enum check_state { CHECK_NOT_TRIED, CHECK_HOLDS, CHECK_FAILS };

struct check_step {
    const char *name; /* "loads a model of one node" */
    enum check_state state;
    const char *found; /* what was seen, or why it was not tried; may be "" */
    const char *mend;  /* what to do when it fails */
};

struct adapter_check {
    struct arena arena;
    struct check_step *steps;
    size_t count, failed, not_tried;
};

/* deadline: seconds for each answer. */
void adapter_check(struct adapter_check *check, const struct engine_spec *spec, double deadline);
void adapter_check_release(struct adapter_check *check);

#endif
