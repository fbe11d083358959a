/* Known issues (findings/known_issues.h) and the findings of a store: which finding is of which issue, by its
 * facts or by its cause. */
#ifndef DIAGNOSE_KNOWN_FINDINGS_H
#define DIAGNOSE_KNOWN_FINDINGS_H

#include "diagnose/causes.h"
#include "findings/known_issues.h"

/*
 * Saves the facts of a finding in the store, for known_again, and adds to them its name and cause as the
 * store knows it. If an issue matches, the status of the finding becomes "known: DOCUMENT".
 */
int known_mark(const struct known_issues *known, struct store *store, const char *signature,
               struct finding_facts *facts, struct error *err);

/* Tries the issues on all findings of the store that are not known yet. Where all that an issue lacks to
 * match is the parameter to blame, and nobody will look for that any more (`last`), the finding counts as
 * known. */
int known_again(const struct known_issues *known, struct store *store, bool last, struct error *err);

/*
 * What a finding of the store is with these issues: where one explains it that the store does not know of,
 * its state, detail and status change, the latter to what *status then holds. Returns what the issue is
 * called (known_document), or NULL when none explains it.
 */
const char *known_now(const struct known_issues *known, struct store *store, struct stored *stored,
                      struct str *status);

/* Adds the findings of a store that pass the filter to the causes (initialised), with the status that the
 * issues of these files give them now. `campaign` is the folder of the store, or NULL. */
int known_causes(struct finding_causes *causes, struct store *store, const struct folder *campaign,
                 const struct known_files *files, const struct store_filter *filter, struct error *err);

/*
 * Reads the facts of a finding from the store, with its name and its cause. Fails with ERROR_NOT_FOUND when
 * it has none. The caller releases *facts, except after a failure.
 */
int known_facts(struct finding_facts *facts, struct store *store, const char *signature, struct error *err);

/* Appends a finding of the store as an issue, the text of a section for a file: its name, the names of
 * findings that turned out to be the same when they were reduced, and its cause as far as experiments showed
 * it (diagnose/table.h), with its witness (findings/known_witness.h); `campaign` is the folder of the
 * store. Accidental properties of its case become no conditions. */
int known_write(struct str *out, struct store *store, const struct folder *campaign,
                const struct stored *stored, const char *because, struct error *err);

/* Appends the key of a cause as an issue holds it: on one line, in which nothing begins a comment. */
void known_cause_text(struct str *out, const char *key);

#endif
