/*
 * Verdicts on cases kept on disk, so that the next run asks engines only what is new: a case, a release, an
 * adapter or library that has changed. They are texts in files of answers (engine/answer_cache.h), one for
 * each engine: FOLDER/conform-JUDGE/ENGINE-VERSION.answers.
 *
 * A verdict is found again by what the case's files hold and what the engine is made of (engine/spec_hash.h),
 * below a hash of whoever judges: this program, the reference and the limits and tolerances. So it must not
 * hang on what other engines answered: each engine is judged by itself. What may end otherwise another time,
 * such as a hang, is not kept.
 */
#ifndef CONFORM_KEPT_VERDICTS_H
#define CONFORM_KEPT_VERDICTS_H

#include "conform/conform.h"

struct kept_verdicts;

/* judge: a hash of what the verdicts hang on besides, such as options; this program and the panel's reference
 * are added. The panel must outlive it. */
int kept_open(struct kept_verdicts **kept, const char *folder, uint64_t judge, const struct panel *panel,
              struct error *err);
void kept_close(struct kept_verdicts *kept); /* NULL is fine */

/* What a case's files hold, as a hash; 0 where they cannot be read. */
uint64_t kept_case(const struct suite_case *entry);

/* The verdict on the case from the engine at this place of the panel, with its strings in the arena; false:
 * it is not there. */
bool kept_get(const struct kept_verdicts *kept, uint64_t hash, size_t place, struct arena *arena,
              struct conform_result *result);
int kept_put(struct kept_verdicts *kept, uint64_t hash, size_t place, const struct conform_result *result,
             struct error *err);

/* Makes of a verdict what would come back from the disk: the judge's words and a few facts in the arena, in
 * place of all that he knows. */
void kept_shorten(struct conform_result *result, struct arena *arena);

#endif
