/* How `assay check --determinism` writes its result, as text and as JSON. */
#ifndef CLI_CHECK_DETERMINISM_H
#define CLI_CHECK_DETERMINISM_H

#include "base/json.h"
#include "check/determinism.h"
#include "judge/standing.h"

/* What was found on one model, and its samples in words. */
struct determinism_entry {
    const char *path;
    const char *described;
    const struct determinism *found;
};

/* Reports to *standing what it means for the exit status: bytes that differ are a finding. */
void determinism_stand(const struct determinism_entry *entry, const char *const *labels,
                       struct standing *standing);

/* Appends the answer with its evidence and doubts, separated by `between`. */
void determinism_answer_add(const struct determinism_entry *entry, const char *const *labels,
                            const char *between, struct str *out);

/* Appends a table for each engine. */
void determinism_print(const struct determinism_entry *entry, const char *const *labels, struct str *out,
                       bool colour);

/* The members "samples" and "engines" of the model's object. */
void determinism_json(const struct determinism_entry *entry, const char *const *labels, struct json *json);

#endif
