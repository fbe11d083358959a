/*
 * What an engine's registry section declares about the engine itself, besides how to start it: how its
 * messages read, which settings do not tell its bugs apart, and the program of a report. An engine that
 * declares nothing has the profile of all zeros; so has NULL wherever a profile is asked for.
 */
#ifndef ENGINE_PROFILE_H
#define ENGINE_PROFILE_H

#include "engine/message_pattern.h"

/* Strings live in the registry. A list of words is a text with spaces between them (profile_lists). */
struct engine_profile {
    const char
        *signature_without; /* knobs with which the same bugs show, so that signatures leave them out */
    struct message_pattern *around;    /* what it puts around every message, for signatures */
    struct message_pattern *reason;    /* what else only says where, for titles; behind it is why */
    struct message_pattern *names;     /* where it names nodes and values */
    struct message_pattern *no_kernel; /* its wordings for: no kernel for OPERATOR */
    struct message_pattern *operators; /* where it names the operator that it speaks of */
    struct message_pattern *inserted;  /* texts that stand for an operator which it inserts itself */
    const char *made_by_several;       /* operators that several parts of it make */
    const char *program; /* path of the template of a report's program, which the registry sets */
};

/*
 * Sets what a key declares. Returns 1 for a key that is none of a profile's, -1 with an error for a value
 * that is not right.
 */
int profile_set(struct engine_profile *profile, struct arena *arena, const char *key, const char *value,
                struct error *err);

/* The keys that profile_set knows, for messages. */
extern const char profile_keys[];

/* Whether a list of words holds the first `length` bytes of `word`; false for the list NULL. */
bool profile_lists(const char *list, const char *word, size_t length);

#endif
