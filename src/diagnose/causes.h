/*
 * The findings of a campaign by their cause (diagnose/table.h). Causes stand in the order in which they
 * were first seen, and so do the findings of one cause, which are its variants.
 */
#ifndef DIAGNOSE_CAUSES_H
#define DIAGNOSE_CAUSES_H

#include "base/arena.h"
#include "findings/store.h"

struct cause_variant {
    struct stored stored;
    struct cause_variant *next;
};

struct finding_cause {
    const char *key;
    size_t count;                /* variants */
    int64_t seen;                /* occurrences of all variants */
    struct cause_variant *first; /* in the order in which they were seen */
    struct cause_variant *last;
    struct cause_variant *lead; /* the one to show: that with the fewest nodes, the first of several */
};

struct finding_causes {
    struct arena arena; /* everything lives here, copies of the findings included */
    size_t count, capacity;
    struct finding_cause *items; /* heap */
    size_t n_findings;
};

/* Whether all that has this cause is listed apart from what is counted (finding_is_apart). */
bool cause_is_apart(const struct finding_cause *cause);

void causes_init(struct finding_causes *causes);
void causes_release(struct finding_causes *causes);

/*
 * Adds a finding, whose evidence is read from the store. Findings that one known issue explains have one
 * cause: `document` names it (known_document); NULL: none does.
 */
int causes_add(struct finding_causes *causes, struct store *store, const struct stored *stored,
               const char *document, struct error *err);

/* Appends the key of the finding's cause, as causes_add finds it. */
int causes_key(struct str *out, struct store *store, const struct stored *stored, const char *document,
               struct error *err);

#endif
