/*
 * Witnesses of known issues (findings/known_issues.h). An issue that was muted carries the case on which the
 * engine failed, and holds only on engines that still fail on it in that way: then a finding that only looks
 * like the muted one, on an engine where that is mended, is another bug.
 *
 * A witness is one line of text: the verdict, and how the case is made.
 *
 *     wrong case MODEL INPUT...      the model and its inputs, as in .onnx and .pb files, in base64
 *     wrong recipe plan seed=1 ...   a recipe (rules/rewriting.h), where the case is not small
 *
 * It comes from files that anybody may have written.
 */
#ifndef FINDINGS_KNOWN_WITNESS_H
#define FINDINGS_KNOWN_WITNESS_H

#include "engine/panel.h"
#include "findings/known_issues.h"

enum { WITNESS_SIZE = 16 << 10 }; /* bytes of a witness: what is longer is written as a recipe */

/* Appends the witness of a finding: of its bundle, which lies in the folder of the campaign, or else of its
 * recipe. Appends nothing where it has none that can be run again: a case that is kept in the campaign's
 * folder alone, answers that differ from run to run. */
void witness_write(struct str *out, const struct folder *campaign, const struct stored *stored);

/* Makes the case. The caller frees *test; err is not NULL. */
int witness_case(const char *witness, struct test_case **test, struct error *err);

bool known_has_witnesses(const struct known_issues *known);

/*
 * Runs the witnesses of all issues on those engines of the panel that they are about, and notes in *known
 * what comes of it; also in the store, unless that is NULL. A witness that cannot be run is no failure: its
 * issue does not hold then.
 */
int witnesses_try(struct known_issues *known, const struct panel *panel, struct store *store,
                  struct error *err);

/*
 * Notes what the store knows of the witnesses, where no engine is run. In the campaign in which a finding
 * was muted that finding is the witness, and fails; `campaign` is its folder, or NULL.
 */
int witnesses_load(struct known_issues *known, struct store *store, const struct folder *campaign,
                   struct error *err);

#endif
